//! Zip archives, with their files as they are (a unit is small, and what recognizes our files reads their text).

/// 1980-01-01, the first day that zip knows: archives have no dates of their own.
const DATE: u16 = (1 << 5) | 1;

/// An archive of files by name.
pub(super) fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
    let short = |n: usize| u16::try_from(n).unwrap_or(u16::MAX).to_le_bytes();
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for (name, bytes) in files {
        let place = out.len();
        // Version 2.0, no flags, stored; time, date, checksum, sizes, length of the name, no extra field.
        let mut about = Vec::new();
        about.extend(20_u16.to_le_bytes());
        about.extend([0; 4]);
        about.extend([0; 2]);
        about.extend(DATE.to_le_bytes());
        about.extend(crc32fast::hash(bytes).to_le_bytes());
        about.extend(size(bytes.len()));
        about.extend(size(bytes.len()));
        about.extend(short(name.len()));
        about.extend([0; 2]);
        out.extend(b"PK\x03\x04");
        out.extend(&about);
        out.extend(name.as_bytes());
        out.extend_from_slice(bytes);
        directory.extend(b"PK\x01\x02");
        // Made by version 2.0.
        directory.extend(20_u16.to_le_bytes());
        directory.extend(&about);
        // No comment, first disk, no attributes.
        directory.extend([0; 10]);
        directory.extend(size(place));
        directory.extend(name.as_bytes());
    }
    let start = out.len();
    out.extend(&directory);
    out.extend(b"PK\x05\x06");
    out.extend([0; 4]);
    out.extend(short(files.len()));
    out.extend(short(files.len()));
    out.extend(size(directory.len()));
    out.extend(size(start));
    out.extend([0; 2]);
    out
}
