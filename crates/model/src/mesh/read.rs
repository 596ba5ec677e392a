//! Mesh files: STL and OBJ here, Collada beside.

use std::io::Cursor;

use super::{MeshError, TriMesh};
use crate::math::Vec3;

impl TriMesh {
    /// Reads an STL, OBJ or Collada file (`dae`), told apart by the extension. Equal corners become one.
    pub fn read(extension: &str, bytes: &[u8], most_triangles: usize) -> Result<Self, MeshError> {
        let mut mesh = match extension.to_ascii_lowercase().as_str() {
            "stl" => read_stl(bytes, most_triangles)?,
            "obj" => read_obj(bytes, most_triangles)?,
            "dae" => super::collada::read_collada(bytes, most_triangles)?,
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
}
