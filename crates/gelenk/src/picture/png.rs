//! PNG files (<https://www.w3.org/TR/png-3/>): 8 bits a channel, red, green, blue.

/// A picture as a PNG file; `pixels` has three bytes a pixel, row by row.
pub(super) fn encode(width: u32, height: u32, pixels: &[u8]) -> Vec<u8> {
    let mut out = vec![0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
    let mut header = Vec::with_capacity(13);
    header.extend_from_slice(&width.to_be_bytes());
    header.extend_from_slice(&height.to_be_bytes());
    header.extend_from_slice(&[8, 2, 0, 0, 0]);
    chunk(&mut out, *b"IHDR", &header);
    // Whose it is: such a file may be replaced by another of ours.
    chunk(&mut out, *b"tEXt", b"Software\0gelenk");
    let row_length = width as usize * 3;
    let mut filtered = Vec::with_capacity((row_length + 1) * height as usize);
    let blank = vec![0; row_length];
    let mut above: &[u8] = &blank;
    for row in pixels.chunks_exact(row_length.max(1)) {
        // Against the row above: large areas of one colour become zeros.
        filtered.push(2);
        filtered.extend(row.iter().zip(above).map(|(x, up)| x.wrapping_sub(*up)));
        above = row;
    }
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(&filtered, 6);
    chunk(&mut out, *b"IDAT", &packed);
    chunk(&mut out, *b"IEND", &[]);
    out
}

fn chunk(out: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    out.extend_from_slice(&u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
    let start = out.len();
    out.extend_from_slice(&kind);
    out.extend_from_slice(data);
    let crc = crc32fast::hash(&out[start..]);
    out.extend_from_slice(&crc.to_be_bytes());
}
