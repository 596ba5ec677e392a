//! Mesh files: where they lie, what they weigh.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::mesh::TriMesh;
use gelenk_model::{Diagnostic, Span};

use crate::context::Context;
use crate::mass::Mass;

/// Meshes read so far, by path below the folder.
pub(crate) type Cache = BTreeMap<String, Result<Arc<TriMesh>, String>>;

/// Schemes of addresses that name files of this computer.
const LOCAL: [&str; 3] = ["package", "model", "file"];

/// How the volume of a mesh is summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Volume {
    /// Signed: right for closed surfaces.
    Exact,
    /// Absolute values seen from the surface's centre, MuJoCo's older rule: right for surfaces that are seen whole from there.
    Legacy,
    /// The surface alone, as a shell.
    Shell,
}

impl Context {
    /// Finds and reads a mesh; gives its path below the folder, or why it cannot be used.
    pub(crate) fn find_mesh(
        &mut self,
        path: &str,
        from: &Path,
    ) -> Result<(String, Arc<TriMesh>), String> {
        let plain = path.trim().replace('\\', "/");
        if plain.split_once("://").is_some_and(|(scheme, _)| !LOCAL.contains(&scheme)) {
            return Err(format!("`{path}` is an address: nothing is fetched"));
        }
        let extension = plain.rsplit_once('.').map_or("", |(_, e)| e).to_ascii_lowercase();
        if !matches!(extension.as_str(), "stl" | "obj" | "dae" | "msh") {
            let text = "meshes are read from STL, OBJ, Collada and MSH files, not from";
            return Err(format!("{text} `.{extension}`"));
        }
        let Some(folder) = self.folder.clone() else {
            return Err("mesh files of a text without a folder cannot be read".to_owned());
        };
        let mut why = None;
        for (base, relative) in candidates(&plain, from, folder.root()) {
            match folder.read(&base, &relative, self.options.limits.file) {
                Ok(opened) => {
                    let name = opened.name.clone();
                    let limit = self.options.limits.triangles;
                    let read = self.mesh_cache.entry(name.clone()).or_insert_with(|| {
                        TriMesh::read(&extension, &opened.bytes, limit)
                            .map(Arc::new)
                            .map_err(|error| format!("mesh `{name}`: {error}"))
                    });
                    return read.clone().map(|mesh| (name, mesh));
                }
                // A file that lies outside tells more than one that is not there.
                Err(fault) if why.is_none() || fault.code == "outside-folder" => {
                    why = Some(fault.message);
                }
                Err(_) => {}
            }
        }
        Err(why.unwrap_or_else(|| format!("`{path}` is no path of a file")))
    }

    /// The shape of a mesh in a model file.
    pub(crate) fn mesh_geometry(&mut self, name: &str, scale: &Vec3) -> String {
        if !self.meshes.iter().any(|known| known == name) {
            self.meshes.push(name.to_owned());
        }
        let file = crate::number::quoted(name);
        if (scale - Vec3::repeat(1.0)).amax() == 0.0 {
            format!("mesh = {{ file = {file} }}")
        } else if scale.max() <= scale.min() {
            format!("mesh = {{ file = {file}, scale = {} }}", crate::number::number(scale.x))
        } else {
            format!("mesh = {{ file = {file}, scale = {} }}", crate::number::vector(scale))
        }
    }

    /// Reads a text file that a robot file includes, from the folder `from` or else from that of the robot file; gives its
    /// elements and its folder.
    pub(crate) fn read_include(
        &mut self,
        path: &str,
        from: &Path,
        span: Span,
    ) -> Option<(crate::xml::Element, PathBuf)> {
        if self.files >= self.options.limits.files {
            let message =
                format!("more than the limit of {} files are included", self.options.limits.files);
            let help = "raise it with `--limit files=COUNT`";
            self.error("limit-files", "include", span, message, help);
            return None;
        }
        let Some(folder) = self.folder.clone() else {
            let help = "import it from a file";
            self.error("no-folder", "include", span, "a text without a folder includes none", help);
            return None;
        };
        let plain = path.replace('\\', "/");
        let most = self.options.limits.file;
        let near = folder.read(from, &plain, most);
        let opened = match near.or_else(|fault| {
            let other =
                if from == self.own { None } else { folder.read(&self.own, &plain, most).ok() };
            other.ok_or(fault)
        }) {
            Ok(opened) => opened,
            Err(fault) => {
                self.fault(&fault, Some(span));
                return None;
            }
        };
        let Ok(text) = String::from_utf8(opened.bytes) else {
            let message = format!("`{path}` is not UTF-8 text");
            self.errors.push(Diagnostic::error("not-text", message).at(&self.sources, span));
            return None;
        };
        let place = folder.root().join(&opened.name);
        let place = place.parent().map_or_else(|| from.to_owned(), Path::to_owned);
        Some((self.parse(&opened.name, &text)?, place))
    }
}

/// Folders and relative paths at which a mesh may lie. `package://NAME/...` is looked for below the folder of that name (or of
/// any later part of the path), without the name, and with it.
fn candidates(path: &str, from: &Path, root: &Path) -> Vec<(PathBuf, String)> {
    let Some(inside) = path.strip_prefix("package://").or_else(|| path.strip_prefix("model://"))
    else {
        let plain = path.strip_prefix("file://").unwrap_or(path);
        return vec![(from.to_owned(), plain.to_owned()), (root.to_owned(), plain.to_owned())];
    };
    let parts: Vec<&str> = inside.split('/').filter(|part| !part.is_empty()).collect();
    let root_name = root.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut found = Vec::new();
    let at = parts.iter().position(|part| root_name.as_deref() == Some(*part));
    for start in at.map(|at| at + 1).into_iter().chain([1, 0]) {
        if start < parts.len() {
            found.push((root.to_owned(), parts[start..].join("/")));
        }
    }
    found
}

/// Whether all corners of a mesh lie in one plane, or nearly.
pub(crate) fn is_flat(mesh: &TriMesh) -> bool {
    let n = mesh.vertices.len().max(1) as f64;
    let center = mesh.vertices.iter().sum::<Vec3>() / n;
    let spread: Mat3 = mesh.vertices.iter().map(|v| (v - center) * (v - center).transpose()).sum();
    let moments = spread.symmetric_eigenvalues();
    moments.min() <= 1e-16 * moments.max()
}

/// Mass properties of a mesh for density 1, in its own frame; `None` if it has no volume.
///
/// Sums over the tetrahedra between a point o and the triangles, with their volumes v = (a−o)·((b−o)×(c−o))/6 signed or
/// absolute; a shell takes the triangles' areas. As in MuJoCo, o is first the centre of the surface, Σ A (a+b+c)/3 / Σ A,
/// and then the centre of mass found from there, which matters for surfaces that are not closed.
pub(crate) fn mesh_mass(mesh: &TriMesh, scale: &Vec3, rule: Volume) -> Option<Mass> {
    let mut mesh = mesh.clone();
    mesh.scale(scale);
    let area = |[a, b, c]: &[Vec3; 3]| 0.5 * (b - a).cross(&(c - a)).norm();
    let triangles: Vec<[Vec3; 3]> = mesh.triangles.iter().map(|t| mesh.corners(t)).collect();
    let whole: f64 = triangles.iter().map(area).sum();
    if whole.is_nan() || whole <= 0.0 {
        return None;
    }
    let middle = |t: &[Vec3; 3]| (t[0] + t[1] + t[2]) * (area(t) / 3.0);
    let surface = triangles.iter().map(middle).sum::<Vec3>() / whole;
    let sums = |o: &Vec3| {
        let (mut volume, mut first, mut second) = (0.0, Vec3::zeros(), Mat3::zeros());
        for triangle in &triangles {
            let [a, b, c] = triangle.map(|p| p - o);
            let signed = a.dot(&b.cross(&c)) / 6.0;
            // Corners besides o, and what the integrals of a simplex divide by.
            let (part, one, two) = match rule {
                Volume::Shell => (area(triangle), 3.0, 12.0),
                Volume::Legacy => (signed.abs(), 4.0, 20.0),
                Volume::Exact => (signed, 4.0, 20.0),
            };
            let sum = a + b + c;
            let squares = a * a.transpose() + b * b.transpose() + c * c.transpose();
            volume += part;
            first += sum * (part / one);
            second += (squares + sum * sum.transpose()) * (part / two);
        }
        let sign = if volume < 0.0 { -1.0 } else { 1.0 };
        (volume * sign, first * sign, second * sign)
    };
    let (volume, first, _) = sums(&surface);
    if volume.is_nan() || volume <= 1e-30 {
        return None;
    }
    let center = surface + first / volume;
    let (volume, _, second) = sums(&center);
    if volume.is_nan() || volume <= 1e-30 {
        return None;
    }
    let inertia = Mat3::identity() * second.trace() - second;
    Some(Mass { mass: volume, center, inertia })
}
