//! Mesh files: STL and OBJ here, Collada beside.

use std::io::Cursor;

use super::{MeshError, TriMesh};
use crate::math::Vec3;

impl TriMesh {
    /// Reads an STL, OBJ, Collada (`dae`) or MuJoCo (`msh`) file, told apart by the extension. Equal corners become one.
    pub fn read(extension: &str, bytes: &[u8], most_triangles: usize) -> Result<Self, MeshError> {
        let mut mesh = match extension.to_ascii_lowercase().as_str() {
            "stl" => read_stl(bytes, most_triangles)?,
            "obj" => read_obj(bytes, most_triangles)?,
            "dae" => super::collada::read_collada(bytes, most_triangles)?,
            "msh" => read_msh(bytes, most_triangles)?,
            _ => return Err(MeshError::UnknownFormat(extension.to_owned())),
        };
        mesh.weld(0.0);
        if mesh.triangles.is_empty() {
            return Err(MeshError::Empty);
        }
        Ok(mesh)
    }
}

/// Reads STL, text or binary.
fn read_stl(bytes: &[u8], most_triangles: usize) -> Result<TriMesh, MeshError> {
    let malformed = |error: std::io::Error| MeshError::Malformed(format!("bad STL file: {error}"));
    let mut copy;
    let mut bytes = bytes;
    // Binary files may also begin with the word `solid`; their size gives them away.
    if let Some(count) = bytes.get(80..84)
        && let Ok(count) = <[u8; 4]>::try_from(count)
        && u64::from(u32::from_le_bytes(count)) * 50 + 84 == bytes.len() as u64
        && bytes.starts_with(b"solid")
    {
        copy = bytes.to_vec();
        copy[..80].fill(0);
        bytes = &copy;
    }
    let text = bytes.starts_with(b"solid");
    if let (false, Some(count)) = (text, bytes.get(80..84))
        && let Ok(count) = <[u8; 4]>::try_from(count)
    {
        let (count, room) = (u32::from_le_bytes(count), (bytes.len() - 84) / 50);
        if count as usize != room {
            return Err(MeshError::Malformed(format!(
                "bad STL file: it says that it has {count} triangles, but there are {room}"
            )));
        }
    }
    let mut cursor = Cursor::new(bytes);
    let mut mesh = TriMesh { vertices: Vec::new(), triangles: Vec::new() };
    for triangle in stl_io::create_stl_reader(&mut cursor).map_err(malformed)? {
        let triangle = triangle.map_err(malformed)?;
        let first = next_vertex(&mesh)?;
        for vertex in triangle.vertices {
            mesh.vertices.push(finite(Vec3::from(vertex.0.map(f64::from)), "STL", None)?);
        }
        push_triangle(&mut mesh, [first, first + 1, first + 2], most_triangles)?;
    }
    Ok(mesh)
}

/// Reads MuJoCo's binary format: the numbers of corners, normals, texture coordinates and faces, then all of them, 4 bytes each.
fn read_msh(bytes: &[u8], most_triangles: usize) -> Result<TriMesh, MeshError> {
    let bad = |what: &str| MeshError::Malformed(format!("bad MSH file: {what}"));
    let (words, rest) = bytes.as_chunks::<4>();
    let [corners, normals, places, faces, words @ ..] = words else {
        return Err(bad("it breaks off"));
    };
    let count = |word: &[u8; 4]| usize::try_from(i32::from_le_bytes(*word)).ok();
    let counts = [corners, normals, places, faces].map(count);
    let [Some(corners), Some(normals), Some(places), Some(faces)] = counts else {
        return Err(bad("a count is negative"));
    };
    // Products of 31 bits by 3: no overflow.
    let ends = [3 * corners, 3 * normals, 2 * places, 3 * faces];
    if !rest.is_empty() || ends.iter().sum::<usize>() != words.len() {
        return Err(bad("its counts do not fit its length"));
    }
    if faces > most_triangles {
        return Err(MeshError::TooManyTriangles(most_triangles));
    }
    let (positions, words) = words.split_at(ends[0]);
    let (_, triangles) = words.split_at(ends[1] + ends[2]);
    let mut mesh = TriMesh { vertices: Vec::new(), triangles: Vec::new() };
    for corner in positions.as_chunks::<3>().0 {
        let corner = corner.map(|word| f64::from(f32::from_le_bytes(word)));
        mesh.vertices.push(finite(Vec3::from(corner), "MSH", None)?);
    }
    for triangle in triangles.as_chunks::<3>().0 {
        let corners = triangle.map(u32::from_le_bytes);
        if corners.iter().any(|i| *i as usize >= mesh.vertices.len()) {
            return Err(bad("a face names a corner that does not exist"));
        }
        push_triangle(&mut mesh, corners, most_triangles)?;
    }
    if faces == 0 && !mesh.vertices.is_empty() {
        return Err(bad("it has corners but no faces"));
    }
    Ok(mesh)
}

/// Reads corners (`v`) and faces (`f`) of an OBJ file; colours, normals, groups and materials are passed over.
fn read_obj(bytes: &[u8], most_triangles: usize) -> Result<TriMesh, MeshError> {
    let mut mesh = TriMesh { vertices: Vec::new(), triangles: Vec::new() };
    for (number, line) in (1..).zip(bytes.split(|b| *b == b'\n')) {
        let line = String::from_utf8_lossy(line);
        let line = line.split('#').next().unwrap_or("");
        let mut words = line.split_whitespace();
        let bad = |what: &str| MeshError::Malformed(format!("bad OBJ file: line {number}: {what}"));
        match words.next() {
            Some("v") => {
                let mut v = Vec3::zeros();
                for x in v.iter_mut() {
                    let word = words.next().ok_or_else(|| bad("a corner needs three numbers"))?;
                    *x = word.parse().map_err(|_| bad(&format!("`{word}` is not a number")))?;
                }
                next_vertex(&mesh)?;
                mesh.vertices.push(finite(v, "OBJ", Some(number))?);
            }
            Some("f") => {
                let mut corners = Vec::new();
                for word in words {
                    let index = word.split('/').next().unwrap_or("");
                    let index: i64 =
                        index.parse().map_err(|_| bad(&format!("bad corner `{word}`")))?;
                    let n = i64::try_from(mesh.vertices.len()).unwrap_or(i64::MAX);
                    // Counted from 1, or backwards from the last with a minus sign.
                    let index = if index < 0 { n.saturating_add(index) } else { index - 1 };
                    if index < 0 || index >= n {
                        return Err(bad(&format!("corner `{word}` does not exist")));
                    }
                    corners.push(u32::try_from(index).map_err(|_| bad("too many corners"))?);
                }
                if corners.len() < 3 {
                    return Err(bad("a face needs three corners"));
                }
                for pair in corners[1..].windows(2) {
                    push_triangle(&mut mesh, [corners[0], pair[0], pair[1]], most_triangles)?;
                }
            }
            _ => {}
        }
    }
    Ok(mesh)
}

pub(super) fn next_vertex(mesh: &TriMesh) -> Result<u32, MeshError> {
    // Two below the end, so that a triangle's other corners can be counted from it.
    u32::try_from(mesh.vertices.len())
        .ok()
        .filter(|n| *n < u32::MAX - 2)
        .ok_or_else(|| MeshError::Malformed("too many corners".to_owned()))
}

pub(super) fn push_triangle(
    mesh: &mut TriMesh,
    triangle: [u32; 3],
    most: usize,
) -> Result<(), MeshError> {
    if mesh.triangles.len() >= most {
        return Err(MeshError::TooManyTriangles(most));
    }
    mesh.triangles.push(triangle);
    Ok(())
}

pub(super) fn finite(v: Vec3, format: &str, line: Option<usize>) -> Result<Vec3, MeshError> {
    if v.iter().all(|x| x.is_finite()) {
        return Ok(v);
    }
    let line = line.map(|n| format!("line {n}: ")).unwrap_or_default();
    Err(MeshError::Malformed(format!(
        "bad {format} file: {line}a coordinate is not a finite number"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TETRAHEDRON: &str = "# corner at the origin\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n\
                               f 1 3 2\nf 1/1 2/2 4/3\nf -4 -1 -2\nf 2//1 3//1 4//1\n";

    #[test]
    fn obj_indices_count_from_one_or_backwards() {
        let mesh = TriMesh::read("OBJ", TETRAHEDRON.as_bytes(), 10).unwrap();
        assert_eq!(mesh.vertices.len(), 4);
        assert_eq!(mesh.triangles, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]);
    }

    #[test]
    fn faults_name_the_line() {
        let fault = |text: &str| TriMesh::read("obj", text.as_bytes(), 10).unwrap_err().to_string();
        assert!(fault("v 0 0\n").contains("line 1: a corner needs three numbers"));
        assert!(fault("v 0 0 0\nf 1 2 3\n").contains("line 2: corner `2` does not exist"));
        assert!(fault("v 0 0 nan\n").contains("not a finite number"));
        assert!(fault("").contains("no triangles"));
        let limit = TriMesh::read("obj", TETRAHEDRON.as_bytes(), 3).unwrap_err();
        assert_eq!(limit, MeshError::TooManyTriangles(3));
    }

    /// The same surface as binary STL, with a header that looks like text.
    #[test]
    fn binary_stl_may_begin_with_solid() {
        let mesh = TriMesh::read("obj", TETRAHEDRON.as_bytes(), 10).unwrap();
        let mut bytes = b"solid but binary".to_vec();
        bytes.resize(80, b' ');
        bytes.extend(4u32.to_le_bytes());
        for triangle in &mesh.triangles {
            bytes.extend([0; 12]);
            for v in mesh.corners(triangle) {
                #[expect(clippy::cast_possible_truncation, reason = "0 and 1 are exact")]
                bytes.extend(v.iter().flat_map(|x| (*x as f32).to_le_bytes()));
            }
            bytes.extend([0; 2]);
        }
        let stl = TriMesh::read("stl", &bytes, 10).unwrap();
        assert_eq!(stl.vertices.len(), 4);
        assert_eq!(stl.triangles.len(), 4);
        bytes.pop();
        assert!(TriMesh::read("stl", &bytes, 10).is_err());
    }

    #[test]
    fn msh_and_false_counts() {
        let words = |ints: &[i32]| ints.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        let corners = [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        let mut bytes = words(&[3, 0, 0, 1]);
        bytes.extend(corners.iter().flat_map(|x| x.to_le_bytes()));
        bytes.extend(words(&[0, 1, 2]));
        let mesh = TriMesh::read("msh", &bytes, 10).unwrap();
        assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (3, 1));
        assert_eq!(mesh.vertices[mesh.triangles[0][1] as usize], Vec3::x());
        // A face of a corner that is not there, counts that do not fit, a negative one, a file that breaks off.
        let mut bad = bytes.clone();
        let last = bad.len() - 4;
        bad[last..].copy_from_slice(&3_i32.to_le_bytes());
        assert!(TriMesh::read("msh", &bad, 10).is_err());
        for counts in [[4, 0, 0, 1], [3, 1, 0, 1], [-3, 0, 0, 1], [i32::MAX; 4]] {
            bad = bytes.clone();
            bad[..16].copy_from_slice(&words(&counts));
            assert!(TriMesh::read("msh", &bad, 10).is_err(), "{counts:?}");
        }
        assert!(TriMesh::read("msh", &bytes[..bytes.len() - 1], 10).is_err());
        assert!(TriMesh::read("msh", &[], 10).is_err());
        // A binary STL file whose header counts one triangle too few, or too many.
        for (count, good) in [(0_u32, false), (1, true), (2, false)] {
            let mut stl = vec![0; 80];
            stl.extend(count.to_le_bytes());
            stl.extend([0; 12]);
            stl.extend(corners.iter().flat_map(|x| x.to_le_bytes()));
            stl.extend([0; 2]);
            assert_eq!(TriMesh::read("stl", &stl, 10).is_ok(), good, "{count}");
        }
    }
}
