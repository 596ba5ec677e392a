//! Mesh assets, geoms that are meshes, and primitives fitted to meshes.

use std::path::PathBuf;
use std::sync::Arc;

use gelenk_model::math::{Mat3, Quat, Vec3};
use gelenk_model::mesh::TriMesh;
use nalgebra as na;

use super::geom::{Made, Use, nothing};
use super::{MeshAsset, Reader};
use crate::mass::{Mass, Pose};
use crate::mesh::{Volume, is_flat, mesh_mass};
use crate::xml::Element;

/// A mesh as a geom uses it.
struct Found {
    /// Below the folder of the model.
    path: String,
    mesh: Arc<TriMesh>,
    scale: Vec3,
    /// The mesh in the frame of the geom.
    within: Pose,
    rule: Volume,
}

impl Reader<'_> {
    pub(super) fn mesh_asset(&mut self, mesh: &Element) -> Option<MeshAsset> {
        let file = mesh.text("file").filter(|file| !file.is_empty()).map(str::to_owned);
        if file.is_none() && mesh.get("vertex").is_none() && mesh.get("builtin").is_none() {
            let help = "give `file`";
            self.context.error("missing-file", mesh.called(), mesh.span, "which file?", help);
            return None;
        }
        let scale = self.context.vector(mesh, "scale").unwrap_or(Vec3::repeat(1.0));
        if scale.iter().any(|x| x.abs() < 1e-12) {
            let span = mesh.get("scale").map_or(mesh.span, |a| a.span);
            let message = "a scale of the mesh is zero";
            self.context.error("bad-scale", mesh.called(), span, message, "give a factor");
        }
        let at = self.context.vector(mesh, "refpos").unwrap_or_else(Vec3::zeros);
        let turn = self.context.quaternion(mesh, "refquat").unwrap_or_else(Quat::identity);
        let inertia = mesh.text("inertia").map(str::to_owned);
        let reference = Pose::from_parts(at.into(), turn);
        Some(MeshAsset { file, scale, reference, inertia, span: mesh.span })
    }

    /// The mesh of a geom; where it cannot be used: `Err(true)` if the geom may be left out, `Err(false)` if it is at fault.
    fn find(&mut self, element: &Element, purpose: Use) -> Result<Found, bool> {
        let called = element.called();
        let name = element.text("mesh").unwrap_or("").to_owned();
        let span = element.get("mesh").map_or(element.span, |a| a.span);
        let Some(asset) = self.meshes.get(&(element.scope, name.clone())).cloned() else {
            let own = self.meshes.keys().filter(|(scope, _)| *scope == element.scope);
            let near = gelenk_expr::nearest(&name, own.map(|(_, name)| name.as_str()));
            let help = near.map_or_else(
                || "check the name".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            let message = format!("there is no mesh `{name}`");
            self.context.error("unknown-mesh", called, span, message, help);
            return Err(false);
        };
        let Some(file) = &asset.file else {
            let text = "meshes given by their corners or built in: they have neither mass nor contact here";
            self.context.dropped(text, &called, element.span);
            return Err(true);
        };
        let compiler = self.compiler(element).clone();
        let file = if compiler.strip_path {
            file.rsplit(['/', '\\']).next().unwrap_or(file).to_owned()
        } else {
            file.clone()
        };
        let folder = &compiler.mesh_dir;
        let path = if folder.is_empty() { file } else { format!("{folder}/{file}") };
        let own: PathBuf = compiler.folder.clone();
        match self.context.find_mesh(&path, &own) {
            Ok((path, mesh)) => {
                let rule = match asset.inertia.as_deref() {
                    _ if element.text("shellinertia") == Some("true") => Volume::Shell,
                    Some("exact") => Volume::Exact,
                    Some("shell") => Volume::Shell,
                    Some("convex") => {
                        if purpose.weighs {
                            let text =
                                "mass of meshes by their convex hulls: by the meshes themselves";
                            self.context.changed(text, &called, element.span);
                        }
                        Volume::Exact
                    }
                    _ if compiler.exact_meshes => Volume::Exact,
                    _ => Volume::Legacy,
                };
                let (scale, within) = self.stretched(&asset, &called);
                Ok(Found { path, mesh, scale, within, rule })
            }
            Err(why) if purpose.matters() => {
                let what = if purpose.touches { "touches" } else { "gives its body its mass" };
                let message = format!("mesh `{name}`, which {what}, cannot be used: {why}");
                let help = "mesh files lie below the folder of the model";
                let assumed = "the geom is left out, with the mass it would give";
                let code = "bad-mesh";
                let whose = format!("mesh `{name}`");
                Err(self.context.repairable(code, whose, asset.span, message, help, assumed))
            }
            Err(why) => {
                self.context.dropped(format!("meshes for looks: {why}"), &called, asset.span);
                Err(true)
            }
        }
    }

    /// MuJoCo turns a mesh first and stretches it then: S Rᵀ (v − x) = Rᵀ (D v − D x) with D = R S Rᵀ, where that is diagonal.
    fn stretched(&mut self, asset: &MeshAsset, called: &str) -> (Vec3, Pose) {
        let turn = asset.reference.rotation.to_rotation_matrix();
        let factors = turn.matrix() * Mat3::from_diagonal(&asset.scale) * turn.matrix().transpose();
        let scale = factors.diagonal();
        let sheared = factors - Mat3::from_diagonal(&scale);
        if sheared.amax() > 1e-9 * scale.amax() {
            let text = "meshes that are turned (refquat) and then stretched by unequal factors: stretched and then turned";
            self.context.changed(text, called, asset.span);
        }
        let x = scale.component_mul(&asset.reference.translation.vector);
        (scale, Pose::from_parts(x.into(), asset.reference.rotation).inverse())
    }

    pub(super) fn mesh_geom(&mut self, element: &Element, purpose: Use) -> Option<Made> {
        let found = match self.find(element, purpose) {
            Ok(found) => found,
            Err(left_out) => return left_out.then(nothing),
        };
        let Found { path, mesh, scale, within, rule } = found;
        let solid = mesh_mass(&mesh, &scale, rule).map(|mass| mass.placed(&within));
        if self.flat(element, purpose, &mesh, solid.as_ref()) {
            return self.context.options.lenient.then(nothing);
        }
        let geometry = self.context.mesh_geometry(&path, &scale);
        Some(Made { geometry: Some(geometry), within, solid })
    }

    /// Whether a mesh is flat where a volume is asked for; that is a fault.
    fn flat(
        &mut self,
        element: &Element,
        purpose: Use,
        mesh: &TriMesh,
        solid: Option<&Mass>,
    ) -> bool {
        let moves = purpose.link != 0 && self.moves(purpose.link);
        let flat = purpose.touches && moves && is_flat(mesh) || purpose.weighs && solid.is_none();
        if flat {
            let name = element.text("mesh").unwrap_or("");
            let message = format!("mesh `{name}` is flat: it has no volume");
            let help = "give it thickness, or use a box";
            let assumed = "the geom is left out";
            let (called, span) = (element.called(), element.span);
            self.context.repairable("flat-mesh", called, span, message, help, assumed);
        }
        flat
    }

    /// Sizes and place of a primitive fitted to a mesh: about its centre of mass with the half edges of a box that has its
    /// moments of inertia; or about the box around it.
    pub(super) fn fit(
        &mut self,
        element: &Element,
        kind: &str,
        purpose: Use,
    ) -> Option<(Vec<f64>, Pose)> {
        let Ok(Found { mesh, scale, within, rule, .. }) =
            self.find(element, Use { touches: true, ..purpose })
        else {
            return None;
        };
        let Some(mass) = mesh_mass(&mesh, &scale, rule) else {
            let message = "a mesh without volume has no shape fitted to it";
            let help = "give the geom its own `size`";
            self.context.error("flat-mesh", element.called(), element.span, message, help);
            return None;
        };
        let mass = mass.placed(&within);
        let (moments, axes) = largest_first(&mass.inertia);
        let rotation = Quat::from_rotation_matrix(&na::Rotation3::from_matrix_unchecked(axes));
        let inner = Pose::from_parts(mass.center.into(), rotation);
        let boxed = self.compiler(element).fit_boxes;
        let (half, center) = if boxed {
            let mut mesh = (*mesh).clone();
            mesh.scale(&scale);
            let to_inner = inner.inverse() * within;
            let mut low = Vec3::repeat(f64::INFINITY);
            let mut high = Vec3::repeat(f64::NEG_INFINITY);
            for corner in &mesh.vertices {
                let p = (to_inner * na::Point3::from(*corner)).coords;
                (low, high) = (low.inf(&p), high.sup(&p));
            }
            ((high - low) / 2.0, (high + low) / 2.0)
        } else {
            let [x, y, z] = moments;
            let edge =
                |a: f64, b: f64, c: f64| (6.0 * (a + b - c).max(0.0) / mass.mass).sqrt() / 2.0;
            (Vec3::new(edge(y, z, x), edge(x, z, y), edge(x, y, z)), Vec3::zeros())
        };
        let round = if boxed { half.x.max(half.y) } else { f64::midpoint(half.x, half.y) };
        let overlap = if boxed { round } else { round / 2.0 };
        let factor = self.context.number_or(element, "fitscale", 1.0);
        let size = match kind {
            "sphere" if boxed => vec![half.max(), 0.0, 0.0],
            "sphere" => vec![half.sum() / 3.0, 0.0, 0.0],
            "capsule" => vec![round, (half.z - overlap).max(0.0), 0.0],
            "cylinder" => vec![round, half.z, 0.0],
            "box" | "ellipsoid" => vec![half.x, half.y, half.z],
            _ => {
                let message = format!("a {kind} is not fitted to a mesh");
                let help = "sphere, capsule, cylinder, ellipsoid and box are";
                self.context.error("bad-mesh", element.called(), element.span, message, help);
                return None;
            }
        };
        let place = inner * na::Translation3::from(center);
        let size = size.iter().map(|x| x * factor).collect();
        Some((size, Pose::from_parts(place.translation, place.rotation)))
    }
}

/// Principal moments, the largest first, and their axes, which turn right-handed.
fn largest_first(inertia: &Mat3) -> ([f64; 3], Mat3) {
    let eigen = na::SymmetricEigen::new((inertia + inertia.transpose()) * 0.5);
    let mut order = [0, 1, 2];
    order.sort_by(|a, b| eigen.eigenvalues[*b].total_cmp(&eigen.eigenvalues[*a]));
    let [x, y, _] = order.map(|i| eigen.eigenvectors.column(i).into_owned());
    (order.map(|i| eigen.eigenvalues[i]), Mat3::from_columns(&[x, y, x.cross(&y)]))
}
