//! Shapes: sizes, volumes and moments.

use std::sync::Arc;

use gelenk_expr::Expr;

use super::context::{Context, Quantity, Site};
use super::frame::{Frame, rotate};
use super::rotation::LONGEST;
use super::sources::Sources;
use crate::contact::MaterialId;
use crate::mesh::{MeshError, Surface, TriMesh};
use crate::shape::{Geometry, Shape};
use crate::source::Span;
use crate::spec::tables::{HeightfieldSpec, MeshSpec, RoundSpec, ShapeSpec};
use crate::spec::{Scalar, Text};

/// Inertia tensor as xx, yy, zz, xy, xz, yz.
pub(crate) type Tensor = [Expr; 6];

/// What a shape adds to its body's mass.
#[derive(Clone, Debug)]
pub(crate) struct Solid {
    /// Volume, m³, or length of a rod, m.
    pub(crate) volume: Expr,
    /// The volume is a rod's length.
    pub(crate) is_rod: bool,
    /// Centre of mass in the body's frame, m.
    pub(crate) center: [Expr; 3],
    /// Inertia about that centre over mass, axes of the body, m².
    pub(crate) inertia: Tensor,
}

/// A shape with all that follows from it.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    pub(crate) shape: Shape,
    /// `None`: the shape has no mass (planes, height fields, open meshes).
    pub(crate) solid: Option<Solid>,
}

/// What the geometry alone gives: geometry, volume, rod, centre and inertia over mass in the shape's own frame.
type Raw = (Geometry, Option<(Expr, bool, [Expr; 3], Tensor)>);

impl Context<'_> {
    /// Reads a shape. `needs_mass`: the body's mass or inertia comes from it. `span`: the distance of the body's ends.
    pub(crate) fn shape(
        &mut self,
        site: &Site<'_>,
        spec: &ShapeSpec,
        sources: &Sources,
        material: Option<MaterialId>,
        fixed: bool,
        needs_mass: bool,
        span: Option<Quantity>,
    ) -> Option<Built> {
        let frame = self.frame(&site.on("shape"), spec.position.as_ref(), spec.rotation.as_ref());
        let color = spec.color.as_ref().and_then(|c| self.color(site, c));
        let physical = spec.physical.unwrap_or(true);
        let raw = self.geometry(site, spec, sources, fixed, needs_mass && physical, span);
        let (frame, (geometry, solid)) = (frame?, raw?);
        let solid = solid.filter(|_| physical).map(|solid| self.placed(&frame, solid));
        let shape = Shape {
            geometry,
            position: frame.position,
            rotation: frame.rotation,
            physical,
            material,
            color,
        };
        Some(Built { shape, solid })
    }

    /// Moves centre and inertia from the shape's frame to the body's.
    fn placed(
        &mut self,
        frame: &Frame,
        (volume, is_rod, center, inertia): (Expr, bool, [Expr; 3], Tensor),
    ) -> Solid {
        let center = frame.point_expr(&mut self.pool, &center);
        let inertia = match &frame.rotation_expr {
            None => inertia,
            Some(r) => {
                let [xx, yy, zz, xy, xz, yz] = inertia;
                let rows = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
                // R Θ Rᵀ, column by column: Θ is symmetric, so its rows are its columns.
                let turned = rows.map(|column| rotate(&mut self.pool, &Some(*r), &column));
                let transposed = [0, 1, 2].map(|i| [0, 1, 2].map(|j| turned[j][i]));
                let full = transposed.map(|row| rotate(&mut self.pool, &Some(*r), &row));
                [full[0][0], full[1][1], full[2][2], full[0][1], full[0][2], full[1][2]]
            }
        };
        Solid { volume, is_rod, center, inertia }
    }

    fn geometry(
        &mut self,
        site: &Site<'_>,
        spec: &ShapeSpec,
        sources: &Sources,
        fixed: bool,
        needs_mass: bool,
        span: Option<Quantity>,
    ) -> Option<Raw> {
        let given = [
            spec.cuboid.is_some(),
            spec.sphere.is_some(),
            spec.cylinder.is_some(),
            spec.capsule.is_some(),
            spec.cone.is_some(),
            spec.rod.is_some(),
            spec.plane.is_some(),
            spec.heightfield.is_some(),
            spec.mesh.is_some(),
        ];
        let n = given.iter().filter(|g| **g).count();
        if n != 1 {
            let message = if n == 0 {
                "the shape has no geometry"
            } else {
                "the shape has more than one geometry"
            };
            let help = "give one of box, sphere, cylinder, capsule, cone, rod, plane, heightfield, mesh; \
                        several shapes go into `shapes = [{...}, {...}]`";
            self.error("bad-shape", site, spec.span, message, help);
            return None;
        }
        if let Some(size) = spec.cuboid.as_ref().map(|b| &b.size) {
            let size = size.each_ref().map(|s| self.length(&site.on("size"), s));
            let [x, y, z] = size;
            let size = [x?, y?, z?];
            let volume = self.pool.mul(&size.map(|s| s.expr));
            let squares = size.map(|s| self.pool.mul(&[s.expr, s.expr]));
            let twelfth = self.pool.rational(1, 12);
            let moments = [[1, 2], [0, 2], [0, 1]].map(|[i, j]| {
                let sum = self.pool.add(&[squares[i], squares[j]]);
                self.pool.mul(&[twelfth, sum])
            });
            let geometry = Geometry::Box { size: size.map(|s| s.value).into() };
            return Some((geometry, Some(centered(volume, diagonal(moments)))));
        }
        if let Some(sphere) = &spec.sphere {
            let r = self.length(&site.on("radius"), &sphere.radius)?;
            let four_thirds = self.pool.rational(4, 3);
            let cube = self.power(r.expr, 3);
            let volume = self.pool.mul(&[four_thirds, Expr::PI, cube]);
            let two_fifths = self.pool.rational(2, 5);
            let square = self.power(r.expr, 2);
            let moment = self.pool.mul(&[two_fifths, square]);
            let geometry = Geometry::Sphere { radius: r.value };
            return Some((geometry, Some(centered(volume, diagonal([moment; 3])))));
        }
        if let Some(round) = &spec.cylinder {
            let (r, l) = self.round(site, round, span)?;
            let [rr, ll] = [r.expr, l.expr].map(|x| self.power(x, 2));
            let volume = self.pool.mul(&[Expr::PI, rr, l.expr]);
            let along = self.pool.mul(&[Expr::HALF, rr]);
            let across = self.combination(&[(1, 4, rr), (1, 12, ll)]);
            let geometry = Geometry::Cylinder { radius: r.value, length: l.value };
            return Some((geometry, Some(centered(volume, diagonal([across, across, along])))));
        }
        if let Some(round) = &spec.capsule {
            return self.capsule(site, round, span);
        }
        if let Some(round) = &spec.cone {
            let (r, l) = self.round(site, round, span)?;
            let [rr, ll] = [r.expr, l.expr].map(|x| self.power(x, 2));
            let third = self.pool.rational(1, 3);
            let volume = self.pool.mul(&[third, Expr::PI, rr, l.expr]);
            let along = self.combination(&[(3, 10, rr)]);
            let across = self.combination(&[(3, 20, rr), (3, 80, ll)]);
            let z = self.combination(&[(-1, 4, l.expr)]);
            let geometry = Geometry::Cone { radius: r.value, length: l.value };
            let center = [Expr::ZERO, Expr::ZERO, z];
            return Some((
                geometry,
                Some((volume, false, center, diagonal([across, across, along]))),
            ));
        }
        if let Some(rod) = &spec.rod {
            let l = self.length_or_span(site, rod.length.as_ref(), span, rod.span);
            let radius = match &rod.radius {
                Some(radius) => self.length(&site.on("radius"), radius).map(|r| r.value),
                None => l.map(|l| l.value / 50.0),
            };
            let (l, radius) = (l?, radius?);
            let ll = self.power(l.expr, 2);
            let across = self.combination(&[(1, 12, ll)]);
            let inertia = diagonal([across, across, Expr::ZERO]);
            let geometry = Geometry::Rod { length: l.value, radius };
            return Some((geometry, Some((l.expr, true, [Expr::ZERO; 3], inertia))));
        }
        if (spec.plane.is_some() || spec.heightfield.is_some()) && !fixed {
            let what = if spec.plane.is_some() { "plane" } else { "heightfield" };
            let message = format!("a {what} cannot move");
            let help = "write `fixed = true`, or use a box";
            self.error("moving-plane", site, spec.span, message, help);
            return None;
        }
        if let Some(plane) = &spec.plane {
            let size = match &plane.size {
                Some([x, y]) => {
                    let (x, y) =
                        (self.length(&site.on("size"), x), self.length(&site.on("size"), y));
                    [x?.value, y?.value]
                }
                None => [10.0, 10.0],
            };
            return Some((Geometry::Plane { size }, None));
        }
        if let Some(field) = &spec.heightfield {
            return self.heightfield(site, field);
        }
        let mesh = spec.mesh.as_ref()?;
        self.mesh(site, mesh, sources, needs_mass)
    }

    /// Capsule: cylinder and two half balls, masses as their volumes. With m_c + m_s = 1:
    /// J_z = m_c r²/2 + m_s 2r²/5, J_x = m_c (r²/4 + l²/12) + m_s (2r²/5 + l²/4 + 3lr/8).
    fn capsule(
        &mut self,
        site: &Site<'_>,
        round: &RoundSpec,
        span: Option<Quantity>,
    ) -> Option<Raw> {
        let (r, l) = self.round(site, round, span)?;
        let geometry = Geometry::Capsule { radius: r.value, length: l.value };
        let (r, l) = (r.expr, l.expr);
        let [rr, ll, rl] = [[r, r], [l, l], [r, l]].map(|f| self.pool.mul(&f));
        // Volumes over π r².
        let ends = self.combination(&[(4, 3, r)]);
        let whole = self.pool.add(&[l, ends]);
        let volume = self.pool.mul(&[Expr::PI, rr, whole]);
        let cylinder = self.combination(&[(1, 4, rr), (1, 12, ll)]);
        let balls = self.combination(&[(2, 5, rr), (1, 4, ll), (3, 8, rl)]);
        let ball_along = self.combination(&[(2, 5, rr)]);
        let cylinder_along = self.combination(&[(1, 2, rr)]);
        let mut mean = |a: Expr, b: Expr| {
            let a = self.pool.mul(&[l, a]);
            let b = self.pool.mul(&[ends, b]);
            let sum = self.pool.add(&[a, b]);
            self.pool.div(sum, whole)
        };
        let across = mean(cylinder, balls);
        let along = mean(cylinder_along, ball_along);
        Some((geometry, Some(centered(volume, diagonal([across, across, along])))))
    }

    fn round(
        &mut self,
        site: &Site<'_>,
        round: &RoundSpec,
        span: Option<Quantity>,
    ) -> Option<(Quantity, Quantity)> {
        let r = self.length(&site.on("radius"), &round.radius);
        let l = self.length_or_span(site, round.length.as_ref(), span, round.span);
        Some((r?, l?))
    }

    /// The length given, or the distance of the body's ends.
    fn length_or_span(
        &mut self,
        site: &Site<'_>,
        given: Option<&Scalar>,
        span: Option<Quantity>,
        place: Span,
    ) -> Option<Quantity> {
        if let Some(length) = given {
            return self.length(&site.on("length"), length);
        }
        if span.is_none() {
            let help = "give `length`, or the body's `ends`";
            self.error("missing-key", site, place, "the shape has no length", help);
        }
        span
    }

    fn power(&mut self, x: Expr, n: i64) -> Expr {
        let n = self.pool.num(n);
        self.pool.pow(x, n)
    }

    /// Σ n/d x.
    fn combination(&mut self, terms: &[(i64, i64, Expr)]) -> Expr {
        let terms: Vec<Expr> = terms
            .iter()
            .map(|(n, d, x)| {
                let factor = self.pool.rational(*n, *d);
                self.pool.mul(&[factor, *x])
            })
            .collect();
        self.pool.add(&terms)
    }

    /// A length: positive and not absurd, m.
    pub(crate) fn length(&mut self, site: &Site<'_>, scalar: &Scalar) -> Option<Quantity> {
        let length = self.quantity(site, scalar)?;
        if length.value <= 0.0 {
            let message = format!("{} is {}, but a length is positive", site.what, length.value);
            self.error(
                "not-positive",
                site,
                scalar.span,
                message,
                "give a length above 0, in metres",
            );
            return None;
        }
        if !(1e-9..=LONGEST).contains(&length.value) {
            let message = format!("{} is {:e} m", site.what, length.value);
            let help = format!("lengths reach from 1e-9 m to {LONGEST:e} m; is it in metres?");
            self.error("absurd-length", site, scalar.span, message, help);
            return None;
        }
        Some(length)
    }

    fn heightfield(&mut self, site: &Site<'_>, spec: &HeightfieldSpec) -> Option<Raw> {
        let [x, y] = spec.size.each_ref().map(|s| self.length(&site.on("size"), s));
        let n_x = spec.heights.first().map_or(0, Vec::len);
        if spec.heights.len() < 2 || n_x < 2 || spec.heights.iter().any(|row| row.len() != n_x) {
            let message = "the heights are not a grid";
            let help = "give at least two rows of equal length, two or more heights each";
            self.error("bad-shape", site, spec.span, message, help);
            return None;
        }
        let mut heights = Vec::with_capacity(n_x * spec.heights.len());
        for height in spec.heights.iter().flatten() {
            heights.push(self.number(&site.on("height"), height)?);
        }
        let size = [x?.value, y?.value];
        Some((Geometry::Heightfield { size, n_x, heights: heights.into() }, None))
    }

    fn mesh(
        &mut self,
        site: &Site<'_>,
        spec: &MeshSpec,
        sources: &Sources,
        needs_mass: bool,
    ) -> Option<Raw> {
        let scale = match &spec.scale {
            Some(scale) => self.vector(&site.on("scale"), &scale.0),
            None => Some(crate::math::Vec3::repeat(1.0)),
        };
        let loaded = self.read_mesh(site, &spec.file, sources);
        let (scale, loaded) = (scale?, loaded?);
        if scale.iter().any(|s| *s == 0.0) {
            let message = "the scale is zero";
            self.error(
                "not-positive",
                site,
                spec.span,
                message,
                "use 0.001 for a mesh in millimetres",
            );
            return None;
        }
        let mut mesh = TriMesh::clone(&loaded);
        mesh.scale(&scale);
        let (low, high) = mesh.bounds();
        if low.amax().max(high.amax()) > LONGEST {
            let message = "the mesh is larger than 1e9 m";
            let help = "use `scale` if its coordinates are not in metres";
            self.error("absurd-length", site, spec.span, message, help);
            return None;
        }
        let span = spec.file.span;
        if mesh.surface() != Surface::Closed {
            // Exporters round corners differently in neighbouring triangles.
            let mut welded = mesh.clone();
            welded.weld(1e-6 * (high - low).norm());
            if welded.surface() == Surface::Closed {
                mesh = welded;
            }
        }
        let surface = mesh.surface();
        let mut solid = None;
        if surface == Surface::Closed {
            let mut moments = mesh.moments();
            if moments.volume < 0.0 {
                let message = format!("the mesh `{}` is inside out", spec.file.text);
                let help = "it is turned; export it with normals pointing outwards";
                self.warn("mesh-inside-out", site, span, message, help);
                mesh.flip();
                moments = mesh.moments();
            }
            if moments.volume > 0.0 {
                let volume = self.pool.float(moments.volume);
                let center = [0, 1, 2].map(|i| self.pool.float(moments.center[i]));
                let inertia = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
                    .map(|ij| self.pool.float(moments.inertia[ij] / moments.volume));
                solid = Some((volume, false, center, inertia));
            }
        }
        if solid.is_none() && needs_mass {
            self.open_mesh(site, span, &spec.file.text, surface);
            return None;
        }
        let file = spec.file.text.clone();
        Some((Geometry::Mesh { mesh: Arc::new(mesh), file }, solid))
    }

    fn open_mesh(&mut self, site: &Site<'_>, span: Span, file: &str, surface: Surface) {
        let place = |at: &crate::math::Vec3| format!("({:.4}, {:.4}, {:.4})", at.x, at.y, at.z);
        let message = match surface {
            Surface::Open { edges, at } => {
                format!(
                    "the mesh `{file}` is not closed: {edges} open edges, one near {}",
                    place(&at)
                )
            }
            Surface::Tangled { edges, at } => format!(
                "the triangles of `{file}` do not agree on the outside: {edges} bad edges, one near {}",
                place(&at)
            ),
            Surface::Closed => format!("the mesh `{file}` has no volume"),
        };
        let help =
            "repair the mesh, or give the body `mass`, `center_of_mass` and `inertia` itself";
        self.error("open-mesh", site, span, message, help);
    }

    fn read_mesh(
        &mut self,
        site: &Site<'_>,
        file: &Text,
        sources: &Sources,
    ) -> Option<Arc<TriMesh>> {
        if file.poisoned {
            return None;
        }
        let key = (file.span.file, file.text.clone());
        if let Some(known) = self.meshes.get(&key) {
            return known.clone();
        }
        let read = self.read_new_mesh(site, file, sources);
        self.meshes.insert(key, read.clone());
        read
    }

    fn read_new_mesh(
        &mut self,
        site: &Site<'_>,
        file: &Text,
        sources: &Sources,
    ) -> Option<Arc<TriMesh>> {
        let (Some(folder), Some(from)) = (&self.folder, sources.folder_of(file.span.file)) else {
            let message = format!("`{}` cannot be read: this model has no folder", file.text);
            let help = "load the model from a file, or give the loader a base folder";
            self.error("no-folder", site, file.span, message, help);
            return None;
        };
        let opened = match folder.read(from, &file.text, self.options.limits.file) {
            Ok(opened) => opened,
            Err(fault) => {
                let help = fault.help.unwrap_or_default();
                self.error(fault.code, site, file.span, fault.message, help);
                return None;
            }
        };
        let extension = file.text.rsplit_once('.').map_or("", |(_, e)| e);
        let limit = self.options.limits.triangles;
        match TriMesh::read(extension, &opened.bytes, limit) {
            Ok(mesh) => {
                let digest = blake3::hash(&opened.bytes).to_hex().to_string();
                self.mesh_digests.push((opened.name.clone(), digest));
                self.mesh_files.push((opened.name, opened.bytes));
                Some(Arc::new(mesh))
            }
            Err(error) => {
                let (code, help) = match &error {
                    MeshError::TooManyTriangles(limit) => {
                        let help = format!("raise it with `--limit triangles={}`", 2 * limit);
                        ("limit-triangles", help)
                    }
                    MeshError::UnknownFormat(_) => {
                        ("bad-mesh", "convert the mesh to STL, OBJ or Collada".to_owned())
                    }
                    _ => ("bad-mesh", "export the mesh again".to_owned()),
                };
                self.error(code, site, file.span, format!("`{}`: {error}", file.text), help);
                None
            }
        }
    }
}

fn centered(volume: Expr, inertia: Tensor) -> (Expr, bool, [Expr; 3], Tensor) {
    (volume, false, [Expr::ZERO; 3], inertia)
}

fn diagonal([x, y, z]: [Expr; 3]) -> Tensor {
    [x, y, z, Expr::ZERO, Expr::ZERO, Expr::ZERO]
}
