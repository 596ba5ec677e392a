//! Collada files (`.dae`): the triangles of the scene, in metres.
//!
//! Read are triangles, polylists, polygons, strips and fans of every geometry that the scene shows, moved by the nodes above it
//! (matrix, translate, rotate, scale) and multiplied by the unit of the file. `up_axis` is not applied: programs that read robot files do not either, and meshes are drawn for that.
//! Colours, skins and animations are passed over.

use std::collections::BTreeMap;

use nalgebra::Matrix4;
use roxmltree::{Document, Node, ParsingOptions};

use super::read::{finite, next_vertex, push_triangle};
use super::{MeshError, TriMesh};
use crate::math::Vec3;

/// Most elements of a file.
const MOST_NODES: u32 = 4_000_000;
/// Most nodes of the scene that are visited, those shown again included, and how deep they may lie.
const MOST_VISITS: usize = 100_000;
const MOST_DEPTH: usize = 100;

type Elements<'a> = BTreeMap<&'a str, Node<'a, 'a>>;

/// Reads a Collada file.
pub(super) fn read_collada(bytes: &[u8], most_triangles: usize) -> Result<TriMesh, MeshError> {
    let text = std::str::from_utf8(bytes).map_err(|_| bad("it is not UTF-8 text"))?;
    let options =
        ParsingOptions { allow_dtd: false, nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|e| bad(&e.to_string()))?;
    let root = document.root_element();
    if root.tag_name().name() != "COLLADA" {
        return Err(bad("its root is not <COLLADA>"));
    }
    let unit = child(root, "asset").and_then(|asset| child(asset, "unit"));
    let unit = unit.and_then(|unit| unit.attribute("meter")).map_or(Ok(1.0), number)?;
    if !(unit.is_finite() && unit > 0.0) {
        return Err(bad("the unit of length is not a positive number"));
    }
    let mut elements = Elements::new();
    for node in root.descendants().filter(Node::is_element) {
        if let Some(id) = node.attribute("id") {
            elements.entry(id).or_insert(node);
        }
    }
    let mut mesh = TriMesh { vertices: Vec::new(), triangles: Vec::new() };
    let places = places(root, &elements)?;
    if places.is_empty() {
        // A file without a scene: its geometries as they are.
        for library in all(root, "library_geometries") {
            for geometry in all(library, "geometry") {
                add(&mut mesh, geometry, &elements, &Matrix4::identity(), most_triangles)?;
            }
        }
    }
    for (geometry, place) in places {
        add(&mut mesh, geometry, &elements, &place, most_triangles)?;
    }
    mesh.scale(&Vec3::repeat(unit));
    Ok(mesh)
}

fn bad(what: &str) -> MeshError {
    MeshError::Malformed(format!("bad Collada file: {what}"))
}

fn child<'a>(node: Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    node.children().find(|child| child.tag_name().name() == name)
}

fn all<'a>(node: Node<'a, 'a>, name: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children().filter(move |child| child.tag_name().name() == name)
}

fn number(word: &str) -> Result<f64, MeshError> {
    word.trim().parse().map_err(|_| bad(&format!("`{word}` is not a number")))
}

fn numbers(node: Node<'_, '_>) -> Result<Vec<f64>, MeshError> {
    node.text().unwrap_or("").split_whitespace().map(number).collect()
}

fn integers(node: Node<'_, '_>) -> Result<Vec<usize>, MeshError> {
    let words = node.text().unwrap_or("").split_whitespace();
    words.map(|word| word.parse().map_err(|_| bad(&format!("`{word}` is no index")))).collect()
}

/// What a reference `#id` in an attribute is about.
fn target<'a>(
    node: Node<'a, 'a>,
    attribute: &str,
    elements: &Elements<'a>,
) -> Result<Node<'a, 'a>, MeshError> {
    let name = node.attribute(attribute).unwrap_or("");
    let found = name.strip_prefix('#').and_then(|id| elements.get(id)).copied();
    found.ok_or_else(|| {
        bad(&format!("<{}> refers to `{name}`, which is not in the file", node.tag_name().name()))
    })
}

/// Geometries of the scene with their places, in the order of the file.
fn places<'a>(
    root: Node<'a, 'a>,
    elements: &Elements<'a>,
) -> Result<Vec<(Node<'a, 'a>, Matrix4<f64>)>, MeshError> {
    let shown = child(root, "scene").and_then(|scene| child(scene, "instance_visual_scene"));
    let scene = match shown {
        Some(instance) => Some(target(instance, "url", elements)?),
        None => child(root, "library_visual_scenes").and_then(|list| child(list, "visual_scene")),
    };
    let mut found = Vec::new();
    let mut open: Vec<(Node<'a, 'a>, Matrix4<f64>, usize)> =
        scene.into_iter().map(|scene| (scene, Matrix4::identity(), 0)).collect();
    let mut visits = 0;
    // Depth first, the first child first: the list of open nodes is a stack.
    while let Some((node, above, depth)) = open.pop() {
        visits += 1;
        if visits > MOST_VISITS || depth > MOST_DEPTH {
            return Err(bad("its scene has too many nodes, or shows itself"));
        }
        // Movements stand before what they move.
        let mut place = above;
        let mut below = Vec::new();
        for part in node.children().filter(Node::is_element) {
            match part.tag_name().name() {
                "matrix" | "translate" | "rotate" | "scale" => place *= transform(part)?,
                "instance_geometry" => found.push((target(part, "url", elements)?, place)),
                "node" => below.push((part, place, depth + 1)),
                "instance_node" => below.push((target(part, "url", elements)?, place, depth + 1)),
                _ => {}
            }
        }
        open.extend(below.into_iter().rev());
    }
    Ok(found)
}

/// The matrix of a movement.
fn transform(node: Node<'_, '_>) -> Result<Matrix4<f64>, MeshError> {
    let list = numbers(node)?;
    let name = node.tag_name().name();
    let matrix = match (name, list.as_slice()) {
        ("matrix", list) if list.len() == 16 => Matrix4::from_row_slice(list),
        ("translate", &[x, y, z]) => Matrix4::new_translation(&Vec3::new(x, y, z)),
        ("scale", &[x, y, z]) => Matrix4::new_nonuniform_scaling(&Vec3::new(x, y, z)),
        ("rotate", &[x, y, z, degrees]) => {
            let axis = Vec3::new(x, y, z);
            let axis = axis.try_normalize(0.0).unwrap_or_else(Vec3::zeros);
            Matrix4::new_rotation(axis * degrees.to_radians())
        }
        _ => return Err(bad(&format!("<{name}> has {} numbers", list.len()))),
    };
    Ok(matrix)
}

/// Adds the triangles of a geometry.
fn add<'a>(
    mesh: &mut TriMesh,
    geometry: Node<'a, 'a>,
    elements: &Elements<'a>,
    place: &Matrix4<f64>,
    most: usize,
) -> Result<(), MeshError> {
    let Some(own) = child(geometry, "mesh") else { return Ok(()) };
    // A mirror image would turn the outside in.
    let mirrored = place.fixed_view::<3, 3>(0, 0).determinant() < 0.0;
    for part in own.children().filter(Node::is_element) {
        let kind = part.tag_name().name();
        if !matches!(kind, "triangles" | "polylist" | "polygons" | "tristrips" | "trifans") {
            continue;
        }
        let Some(input) =
            all(part, "input").find(|input| input.attribute("semantic") == Some("VERTEX"))
        else {
            return Err(bad(&format!("<{kind}> has no corners")));
        };
        let mut stride = 1;
        for input in all(part, "input") {
            stride = stride.max(1 + offset(input)?);
        }
        let at = offset(input)?;
        let corners = positions(target(input, "source", elements)?, elements)?;
        let first = next_vertex(mesh)?;
        u32::try_from(corners.len())
            .ok()
            .and_then(|n| first.checked_add(n))
            .ok_or_else(|| bad("too many corners"))?;
        for corner in &corners {
            let moved = place.transform_point(&nalgebra::Point3::from(*corner)).coords;
            mesh.vertices.push(finite(moved, "Collada", None)?);
        }
        let mut put = |[a, b, c]: [usize; 3]| -> Result<(), MeshError> {
            let mut triangle = [0; 3];
            for (to, from) in triangle.iter_mut().zip([a, b, c]) {
                let exists = from < corners.len();
                let number = u32::try_from(from).ok().filter(|_| exists);
                *to =
                    first + number.ok_or_else(|| bad(&format!("corner {from} does not exist")))?;
            }
            if mirrored {
                triangle.swap(1, 2);
            }
            push_triangle(mesh, triangle, most)
        };
        for face in faces(part, stride, at)? {
            match kind {
                "triangles" => {
                    for three in face.chunks_exact(3) {
                        put([three[0], three[1], three[2]])?;
                    }
                }
                "tristrips" => {
                    for (i, three) in face.windows(3).enumerate() {
                        let [b, c] = if i % 2 == 0 { [1, 2] } else { [2, 1] };
                        put([three[0], three[b], three[c]])?;
                    }
                }
                // Convex, as Collada wants them.
                _ => {
                    for pair in face.get(1..).unwrap_or(&[]).windows(2) {
                        put([face[0], pair[0], pair[1]])?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn offset(input: Node<'_, '_>) -> Result<usize, MeshError> {
    let word = input.attribute("offset").unwrap_or("0");
    word.parse().ok().filter(|n| *n < 1000).ok_or_else(|| bad(&format!("`{word}` is no offset")))
}

/// Corner numbers, face by face; all triangles are one list.
fn faces(part: Node<'_, '_>, stride: usize, at: usize) -> Result<Vec<Vec<usize>>, MeshError> {
    let mut lists = Vec::new();
    for p in part.descendants().filter(|node| node.tag_name().name() == "p") {
        let list = integers(p)?;
        lists.push(list.chunks_exact(stride).map(|one| one[at]).collect::<Vec<_>>());
    }
    if part.tag_name().name() != "polylist" {
        return Ok(lists);
    }
    let counts = child(part, "vcount").map_or(Ok(Vec::new()), integers)?;
    let all = lists.concat();
    let (mut out, mut from) = (Vec::new(), 0_usize);
    for count in counts {
        let face = from.checked_add(count).and_then(|to| all.get(from..to));
        out.push(
            face.ok_or_else(|| bad("<vcount> asks for more corners than there are"))?.to_vec(),
        );
        from += count;
    }
    Ok(out)
}

/// The positions that `<vertices>` names.
fn positions<'a>(vertices: Node<'a, 'a>, elements: &Elements<'a>) -> Result<Vec<Vec3>, MeshError> {
    let input = all(vertices, "input").find(|i| i.attribute("semantic") == Some("POSITION"));
    let input = input.ok_or_else(|| bad("corners without positions"))?;
    let source = target(input, "source", elements)?;
    let array = child(source, "float_array").ok_or_else(|| bad("positions without numbers"))?;
    let accessor = child(source, "technique_common").and_then(|t| child(t, "accessor"));
    let stride = accessor.and_then(|a| a.attribute("stride")).map_or(Ok(3.0), number)?;
    let list = numbers(array)?;
    if stride < 3.0 {
        return Err(bad("positions with fewer than three numbers"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number")]
    let stride = stride.min(1e6) as usize;
    Ok(list.chunks_exact(stride).map(|v| Vec3::new(v[0], v[1], v[2])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square in inches, of one polygon, shown twice: 2 in to the right, and turned and mirrored.
    const SQUARE: &str = r##"<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="inch" meter="0.0254"/><up_axis>Z_UP</up_axis></asset>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="a" count="12">0 0 0 1 0 0 1 1 0 0 1 0</float_array>
      <technique_common><accessor source="#a" count="4" stride="3"/></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <polylist count="1"><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>
      <vcount>4</vcount><p>0 0 1 0 2 0 3 0</p></polylist>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s">
    <node><translate>2 0 0</translate><instance_geometry url="#g"/></node>
    <node><rotate>0 0 1 90</rotate><scale>-1 1 1</scale><node><instance_geometry url="#g"/></node></node>
  </visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>"##;

    #[test]
    fn a_scene_is_read_in_metres_with_its_movements() {
        let mesh = read_collada(SQUARE.as_bytes(), 10).expect("a mesh");
        assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (8, 4));
        let corners: Vec<Vec3> = mesh.vertices.iter().map(|v| v / 0.0254).collect();
        assert!((corners[2] - Vec3::new(3.0, 1.0, 0.0)).amax() < 1e-12);
        // (1, 1, 0) mirrored is (−1, 1, 0), turned (−1, −1, 0).
        assert!((corners[6] - Vec3::new(-1.0, -1.0, 0.0)).amax() < 1e-12);
        for triangle in &mesh.triangles {
            let [a, b, c] = mesh.corners(triangle);
            assert!((b - a).cross(&(c - a)).z > 0.0, "seen from above they run to the left");
        }
    }

    #[test]
    fn what_is_wrong_is_told_and_nothing_runs_away() {
        let fault = |text: &str| read_collada(text.as_bytes(), 10).unwrap_err().to_string();
        assert!(fault("<x/>").contains("not <COLLADA>"));
        assert!(
            fault(&SQUARE.replace("<?xml version=\"1.0\"?>", "<!DOCTYPE x [<!ENTITY a \"b\">]>"))
                .contains("DTD")
        );
        assert!(fault(&SQUARE.replace("0 0 1 0 2 0 3 0", "0 0 1 0 2 0 9 0")).contains("corner 9"));
        assert!(fault(&SQUARE.replace("<vcount>4", "<vcount>5")).contains("vcount"));
        assert!(
            fault(&SQUARE.replace("<vcount>4", "<vcount>18446744073709551615")).contains("vcount")
        );
        assert!(fault(&SQUARE.replace("meter=\"0.0254\"", "meter=\"nan\"")).contains("unit"));
        assert!(fault(&SQUARE.replace("1 1 0 0", "1 NaN 0 0")).contains("not a finite"));
        assert!(
            fault(&SQUARE.replace("offset=\"1\"", "offset=\"99999999999\"")).contains("offset")
        );
        assert!(
            fault(&SQUARE.replace("2 0 0</translate>", "2 0</translate>")).contains("translate")
        );
        assert!(matches!(read_collada(SQUARE.as_bytes(), 3), Err(MeshError::TooManyTriangles(3))));
        // A node that shows itself.
        let endless = SQUARE
            .replace("<node><translate>", "<node id=\"n\"><instance_node url=\"#n\"/><translate>");
        assert!(fault(&endless).contains("shows itself"));
    }
}
