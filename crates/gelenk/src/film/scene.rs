//! What there is to draw of a mechanism at an instant, in the world.

use gelenk_model::force::{ForceKind, PointPair};
use gelenk_model::math::Vec3;
use gelenk_model::shape::{Geometry, Shape};
use gelenk_model::{BodyId, BodyKind, Instant, JointKind, Model, Pose, RowKind, State, Twist};

use crate::svg::Color;

/// Something to draw.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    /// A round bar between two points.
    Bar { ends: [Vec3; 2], radius: f64, color: Color },
    /// The outline of points, with edges.
    Hull { points: Vec<Vec3>, edges: Vec<[usize; 2]>, color: Color },
    /// A ball.
    Ball { centre: Vec3, radius: f64, color: Color },
    /// A point mass.
    Dot { at: Vec3, color: Color },
    /// A floor, which may be larger than the picture.
    Floor { corners: Vec<Vec3> },
    /// A massless rod, rope or equation between two points.
    Thread { ends: [Vec3; 2] },
    /// A spring.
    Coil { ends: [Vec3; 2] },
}

impl Item {
    /// The points that its place on the screen follows from.
    pub(crate) fn points(&self) -> &[Vec3] {
        match self {
            Item::Bar { ends, .. } | Item::Thread { ends } | Item::Coil { ends } => ends,
            Item::Hull { points, .. } | Item::Floor { corners: points } => points,
            Item::Ball { centre, .. } => std::slice::from_ref(centre),
            Item::Dot { at, .. } => std::slice::from_ref(at),
        }
    }

    /// How far it reaches around its points, m.
    pub(crate) fn radius(&self) -> f64 {
        match self {
            Item::Bar { radius, .. } | Item::Ball { radius, .. } => *radius,
            _ => 0.0,
        }
    }
}

/// A mechanism at an instant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    /// Time, s.
    pub(crate) t: f64,
    /// What moves.
    pub(crate) items: Vec<Item>,
    /// What stands still.
    pub(crate) fixed: Vec<Item>,
    /// Joints between two moving bodies.
    pub(crate) rings: Vec<Vec3>,
    /// Joints, threads and springs on the ground: the point there, and a point of what is on it.
    pub(crate) supports: Vec<[Vec3; 2]>,
    /// Points that slide along something fixed.
    pub(crate) sliding: Vec<Vec3>,
    /// Points whose paths are drawn, with their colours.
    pub(crate) tips: Vec<(Vec3, Color)>,
    /// The tips are joints, for want of free ends: one path is enough.
    pub(crate) tips_are_joints: bool,
}

/// Bars thinner than this part of their length are drawn as lines with round ends.
const SLENDER: f64 = 0.2;

/// Colour of what stands still.
const GROUND: Color = Color(0x6d, 0x74, 0x80);

impl Scene {
    /// The mechanism in a state.
    pub(crate) fn new(model: &Model, state: &State) -> Self {
        let n = model.n_bodies();
        let (mut poses, mut twists) = (vec![Pose::identity(); n], vec![Twist::zero(); n]);
        state.write_poses(&mut poses);
        state.write_twists(&mut twists);
        let at =
            Instant { t: state.t, poses: &poses, twists: &twists, coordinates: &state.coordinate };
        let mut scene = Scene { t: state.t, ..Scene::default() };
        let joint_points = scene.joints(model, &at);
        scene.bodies(model, &at, &joint_points);
        scene.threads(model, &at);
        scene.markers(model, &at);
        scene
    }

    /// Takes in the joints; gives the joint points of each body.
    fn joints(&mut self, model: &Model, at: &Instant<'_>) -> Vec<Vec<Vec3>> {
        let mut points = vec![Vec::new(); model.n_bodies()];
        for joint in &model.joints {
            let [a, b] = joint.bodies.map(BodyId::index);
            let near = joint.near(at.coordinates);
            let p = near.equations().force_point(&at.poses[a], &at.poses[b]);
            if matches!(joint.kind, JointKind::Distance(_) | JointKind::Rope(_)) {
                continue; // Their two ends are apart: a thread shows them.
            }
            if model.bodies[b].is_charge {
                continue; // It has no place in space.
            }
            points[a].push(p);
            points[b].push(p);
            let held = match [a, b].map(|body| model.bodies[body].fixed) {
                [true, true] => continue,
                [false, false] => {
                    self.rings.push(p);
                    continue;
                }
                [true, false] => b,
                [false, true] => a,
            };
            match &joint.kind {
                JointKind::Slider(_)
                | JointKind::Cylindrical(_)
                | JointKind::Screw(_)
                | JointKind::Rail(_)
                | JointKind::PointOnCurve(_) => self.sliding.push(p),
                JointKind::Planar(_)
                | JointKind::Translation(_)
                | JointKind::PlanePoint(_)
                | JointKind::PointOnSurface(_) => {}
                _ => self.supports.push([p, at.poses[held].s]),
            }
        }
        points
    }

    fn bodies(&mut self, model: &Model, at: &Instant<'_>, joint_points: &[Vec<Vec3>]) {
        let shown = || model.bodies.iter().enumerate().filter(|(_, body)| !body.is_charge);
        let n_moving = shown().filter(|(_, body)| !body.fixed).count();
        let mut moving = 0;
        for (i, body) in shown() {
            let color = if body.fixed { GROUND } else { Color::of(moving, n_moving) };
            let color = body.color.map_or(color, rgb);
            let (pose, joints) = (&at.poses[i], &joint_points[i]);
            let mut items: Vec<_> = body
                .shapes
                .iter()
                .filter_map(|shape| shape_item(shape, &body.frame_pose(pose), color))
                .collect();
            if items.is_empty() && body.kind == BodyKind::Rigid {
                items = bare_body(&pose.s, joints, color);
            } else if !body.fixed {
                let links: Vec<_> = joints.iter().filter_map(|p| link(p, &items, color)).collect();
                items.splice(0..0, links);
            }
            if body.kind == BodyKind::Point {
                items.push(Item::Dot { at: pose.s, color });
            }
            if body.fixed {
                self.fixed.append(&mut items);
            } else {
                moving += 1;
                if body.kind == BodyKind::Point {
                    self.tips.push((pose.s, color));
                } else if joints.len() <= 1 {
                    self.tips.extend(free_end(&items, joints.first(), &pose.s).map(|p| (p, color)));
                }
                self.items.append(&mut items);
            }
        }
    }

    /// Rods without mass, ropes, equations between two points, springs and dampers.
    fn threads(&mut self, model: &Model, at: &Instant<'_>) {
        for joint in &model.joints {
            let points = match &joint.kind {
                JointKind::Distance(joint) => joint.points(),
                JointKind::Rope(joint) => joint.points(),
                _ => continue,
            };
            let ends = self.ends(&PointPair { bodies: joint.bodies, points }, model, at);
            self.items.push(Item::Thread { ends });
        }
        for block in &model.rows {
            let RowKind::Equation(equation) = &block.kind else { continue };
            let mut vectors = Vec::new();
            for (vector, _) in &equation.coordinates {
                if !vectors.contains(vector) {
                    vectors.push(*vector);
                }
            }
            if let [a, b] = vectors[..]
                && a.is_point
                && b.is_point
            {
                self.items.push(Item::Thread { ends: [a.value(at), b.value(at)] });
            }
        }
        for force in &model.forces {
            match &force.kind {
                ForceKind::Spring(spring) => {
                    let ends = self.ends(&spring.ends, model, at);
                    self.items.push(Item::Coil { ends });
                }
                ForceKind::Damper(damper) => {
                    let ends = self.ends(&damper.ends, model, at);
                    self.items.push(Item::Thread { ends });
                }
                _ => {}
            }
        }
    }

    /// The two ends of a force element or massless rod; one on the ground gets a support.
    fn ends(&mut self, pair: &PointPair, model: &Model, at: &Instant<'_>) -> [Vec3; 2] {
        let bodies = pair.bodies.map(BodyId::index);
        let ends = [0, 1].map(|side| at.poses[bodies[side]].point(&pair.points[side]));
        match bodies.map(|body| model.bodies[body].fixed) {
            [true, false] => self.supports.push(ends),
            [false, true] => self.supports.push([ends[1], ends[0]]),
            _ => {}
        }
        ends
    }

    /// Markers have paths. Where nothing has one, the joints between moving bodies do.
    fn markers(&mut self, model: &Model, at: &Instant<'_>) {
        let points = model.markers.iter().filter(|marker| marker.vector.is_point);
        self.tips.extend(points.map(|marker| (marker.vector.value(at), GROUND)));
        if self.tips.is_empty() {
            self.tips.extend(self.rings.iter().map(|p| (*p, GROUND)));
            self.tips_are_joints = true;
        }
    }
}

/// A colour given as parts of one.
fn rgb(parts: [f64; 3]) -> Color {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 255")]
    let [r, g, b] = parts.map(|part| (255.0 * part.clamp(0.0, 1.0)).round() as u8);
    Color(r, g, b)
}

/// A body without shapes: bars between its joints, or from its only joint to its centre of mass.
fn bare_body(s: &Vec3, joints: &[Vec3], color: Color) -> Vec<Item> {
    let bar = |a: &Vec3, b: &Vec3| Item::Bar { ends: [*a, *b], radius: 0.0, color };
    match joints {
        [] => vec![Item::Dot { at: *s, color }],
        [p] if (p - s).norm() < 1e-12 => vec![Item::Dot { at: *s, color }],
        [p] => vec![bar(p, s), Item::Dot { at: *s, color }],
        [p, q] => vec![bar(p, q)],
        several => several.iter().map(|p| bar(p, s)).collect(),
    }
}

/// A bar from a joint to the nearest shape of its body, where it lies apart from all of them.
fn link(joint: &Vec3, items: &[Item], color: Color) -> Option<Item> {
    let mut nearest: Option<(f64, Vec3)> = None;
    for item in items {
        let points = item.points();
        let middle = points.iter().sum::<Vec3>() / points.len().max(1) as f64;
        let reach = points.iter().map(|p| (p - middle).norm()).fold(0.0, f64::max) + item.radius();
        let distance = (joint - middle).norm();
        if distance <= 1.02 * reach {
            return None;
        }
        if nearest.is_none_or(|(least, _)| distance < least) {
            nearest = Some((distance, middle));
        }
    }
    nearest.map(|(_, middle)| Item::Bar { ends: [*joint, middle], radius: 0.0, color })
}

/// The point of a body farthest from its joint: its free end.
fn free_end(items: &[Item], joint: Option<&Vec3>, s: &Vec3) -> Option<Vec3> {
    let Some(joint) = joint else { return Some(*s) };
    let ends = items.iter().flat_map(|item| match item {
        // The middle of a hull, else its corners would tie.
        Item::Hull { points, .. } => vec![points.iter().sum::<Vec3>() / points.len().max(1) as f64],
        _ => item.points().to_vec(),
    });
    let mut best: Option<Vec3> = None;
    for p in ends {
        let farther = |q: &Vec3| (p - joint).norm() > (q - joint).norm() + 1e-9;
        if best.as_ref().is_none_or(farther) {
            best = Some(p);
        }
    }
    best
}

/// A shape as it is drawn, on a body whose file frame is at `frame`.
fn shape_item(shape: &Shape, frame: &Pose, color: Color) -> Option<Item> {
    let world = |p: Vec3| frame.point(&(shape.position + shape.rotation * p));
    let hull = |points: Vec<Vec3>, edges: Vec<[usize; 2]>| {
        Some(Item::Hull { points: points.into_iter().map(world).collect(), edges, color })
    };
    let ends = |length: &f64| [-0.5, 0.5].map(|z| Vec3::new(0.0, 0.0, z * length));
    let color = shape.color.map_or(color, rgb);
    match &shape.geometry {
        Geometry::Sphere { radius } => {
            Some(Item::Ball { centre: world(Vec3::zeros()), radius: *radius, color })
        }
        Geometry::Box { size } => {
            let half = 0.5 * size;
            let corner = |i: usize| {
                let sign = |bit: usize| if i & (1 << bit) == 0 { -1.0 } else { 1.0 };
                half.component_mul(&Vec3::new(sign(0), sign(1), sign(2)))
            };
            let edges = (0..8usize).flat_map(|i| {
                [1, 2, 4].into_iter().filter(move |bit| i & bit == 0).map(move |bit| [i, i | bit])
            });
            hull((0..8).map(corner).collect(), edges.collect())
        }
        Geometry::Cylinder { radius, length } => {
            if *radius <= SLENDER * length {
                return Some(Item::Bar { ends: ends(length).map(world), radius: *radius, color });
            }
            hull(ends(length).into_iter().flat_map(|end| ring(end, *radius)).collect(), rims(2))
        }
        Geometry::Capsule { radius, length } | Geometry::Rod { radius, length } => {
            Some(Item::Bar { ends: ends(length).map(world), radius: *radius, color })
        }
        Geometry::Cone { radius, length } => {
            let [base, tip] = ends(length);
            hull(ring(base, *radius).chain([tip]).collect(), rims(1))
        }
        Geometry::Plane { size: [x, y] } => {
            let corner = |sx: f64, sy: f64| world(Vec3::new(0.5 * sx * x, 0.5 * sy * y, 0.0));
            let corners = [corner(-1., -1.), corner(1., -1.), corner(1., 1.), corner(-1., 1.)];
            Some(Item::Floor { corners: corners.to_vec() })
        }
        Geometry::Heightfield { size: [x, y], n_x, heights } => {
            let columns = (*n_x).max(2);
            let rows = heights.len().div_euclid(columns).max(2);
            let place = |(i, z): (usize, &f64)| {
                let part = |k: usize, n: usize| k as f64 / (n - 1) as f64 - 0.5;
                world(Vec3::new(x * part(i % columns, columns), y * part(i / columns, rows), *z))
            };
            Some(Item::Floor { corners: heights.iter().enumerate().map(place).collect() })
        }
        Geometry::Mesh { mesh, .. } => {
            let every = mesh.vertices.len().div_ceil(MAX_VERTICES).max(1);
            hull(mesh.vertices.iter().step_by(every).copied().collect(), Vec::new())
        }
        _ => None,
    }
}

/// Most corners of a mesh that its outline is made from.
const MAX_VERTICES: usize = 2000;

/// Corners of a circle about z that is drawn.
const CORNERS: usize = 48;

fn ring(centre: Vec3, radius: f64) -> impl Iterator<Item = Vec3> {
    (0..CORNERS).map(move |i| {
        let angle = std::f64::consts::TAU * i as f64 / CORNERS as f64;
        centre + radius * Vec3::new(angle.cos(), angle.sin(), 0.0)
    })
}

/// The edges of circles that follow each other.
fn rims(circles: usize) -> Vec<[usize; 2]> {
    (0..circles * CORNERS).map(|i| [i, i - i % CORNERS + (i + 1) % CORNERS]).collect()
}
