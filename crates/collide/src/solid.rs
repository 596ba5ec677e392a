//! Solids: the features of a shape and how far each of them reaches, in the body's principal frame.

use gelenk_model::math::{Mat3, Vec3, perpendicular_frame};
use gelenk_model::state::Pose;

use crate::convex::Support;
use crate::curve;
use crate::mesh::Surface;
use crate::touch::Feature;

/// Kinds of features, in the upper bits of a feature's number.
pub(crate) const CORNER: u32 = 0;
pub(crate) const EDGE: u32 = 1 << 28;
pub(crate) const FACE: u32 = 2 << 28;
pub(crate) const RIM: u32 = 3 << 28;
pub(crate) const CONE: u32 = 4 << 28;
/// The bits that tell the kind.
pub(crate) const KIND: u32 = 7 << 28;
/// Stands for the closest points where no features face each other.
pub(crate) const WITNESS: u32 = KIND;
/// Set where one edge crosses a rim a second time.
pub(crate) const SECOND: u32 = 1 << 27;

/// A point of the surface, or the centre of a ball.
#[derive(Clone, Debug)]
pub(crate) struct Corner {
    pub(crate) p: Vec3,
    pub(crate) round: f64,
    /// Directions along the edges that leave it, unit vectors in [`Solid::rays`]: the normals here have m·ray ≤ 0.
    pub(crate) rays: [u32; 2],
    /// One of the fixed points that stand for a rim lying flat.
    pub(crate) mark: bool,
}

/// An edge, or the axis of a capsule or cylinder.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) p: Vec3,
    pub(crate) e: Vec3,
    pub(crate) length: f64,
    pub(crate) round: f64,
    /// Directions into its two faces, across the edge: the normals here have m·into ≤ 0. Zero on smooth sides.
    pub(crate) into: [Vec3; 2],
}

/// A flat face.
#[derive(Clone, Debug)]
pub(crate) struct Face {
    pub(crate) p: Vec3,
    pub(crate) n: Vec3,
    /// Its sides in [`Solid::sides`].
    pub(crate) sides: [u32; 2],
    /// Radius around p of a round face; infinite for polygons and planes.
    pub(crate) radius: f64,
    /// Middle and radius of a ball around it; infinite for planes.
    pub(crate) ball: (Vec3, f64),
}

/// A side of a face: the inside has s·x ≥ c.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) s: Vec3,
    pub(crate) c: f64,
}

/// The rim between a round face and a round side.
#[derive(Clone, Debug)]
pub(crate) struct Rim {
    pub(crate) centre: Vec3,
    /// Out of the face.
    pub(crate) axis: Vec3,
    pub(crate) radius: f64,
    /// Half angle of the side: it leaves the rim along −axis·cosine − û·sine.
    pub(crate) sine: f64,
    pub(crate) cosine: f64,
}

/// The side of a cone.
#[derive(Clone, Debug)]
pub(crate) struct Cone {
    pub(crate) apex: Vec3,
    pub(crate) axis: Vec3,
    pub(crate) sine: f64,
    pub(crate) cosine: f64,
    /// Length from tip to base along the side.
    pub(crate) slant: f64,
}

/// What the narrow phase has to know about a solid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A ball or capsule: corners and edges with a radius.
    Round,
    /// Corners, edges and faces.
    Polytope,
    /// A cylinder or cone.
    Turned,
    /// A half space.
    Plane,
    /// Triangles of a fixed body.
    Surface,
}

/// The features of a shape.
#[derive(Clone, Debug)]
pub(crate) struct Solid {
    pub(crate) kind: Kind,
    pub(crate) corners: Vec<Corner>,
    /// The same points, four at a time and coordinate by coordinate; the last is repeated.
    fours: Vec<[[f64; 4]; 3]>,
    pub(crate) rays: Vec<Vec3>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) faces: Vec<Face>,
    pub(crate) sides: Vec<Side>,
    pub(crate) rims: Vec<Rim>,
    pub(crate) cones: Vec<Cone>,
    /// The triangles of a surface.
    pub(crate) surface: Option<Box<Surface>>,
    /// Half edges of a box around it, with their directions, columns in the body's frame.
    pub(crate) half: Mat3,
    /// Middle of that box and of a ball around it.
    pub(crate) middle: Vec3,
    /// Radius of that ball.
    pub(crate) radius: f64,
    /// Largest distance of a point of it from the body's centre of mass.
    pub(crate) extent: f64,
}

impl Solid {
    pub(crate) fn empty(kind: Kind) -> Self {
        Solid {
            kind,
            corners: Vec::new(),
            fours: Vec::new(),
            rays: Vec::new(),
            edges: Vec::new(),
            faces: Vec::new(),
            sides: Vec::new(),
            rims: Vec::new(),
            cones: Vec::new(),
            surface: None,
            half: Mat3::zeros(),
            middle: Vec3::zeros(),
            radius: 0.0,
            extent: 0.0,
        }
    }

    pub(crate) fn corner(&mut self, p: Vec3, round: f64, rays: &[Vec3]) {
        let first = index(self.rays.len());
        self.rays.extend_from_slice(rays);
        let rays = [first, index(self.rays.len())];
        let lane = self.corners.len() % 4;
        if lane == 0 {
            self.fours.push([p.x, p.y, p.z].map(|x| [x; 4]));
        } else if let Some(four) = self.fours.last_mut() {
            for (own, x) in four.iter_mut().zip([p.x, p.y, p.z]) {
                own[lane..].fill(x);
            }
        }
        self.corners.push(Corner { p, round, rays, mark: false });
    }

    /// How far the corner that is farthest in direction d is that way, and its number; of several the first. None without corners.
    fn farthest(&self, d: &Vec3) -> Option<(f64, usize)> {
        let (mut best, mut at) = ([f64::NEG_INFINITY; 4], [0_usize; 4]);
        for (i, [x, y, z]) in self.fours.iter().enumerate() {
            for k in 0..4 {
                let along = d.x * x[k] + d.y * y[k] + d.z * z[k];
                let more = along > best[k];
                best[k] = if more { along } else { best[k] };
                at[k] = if more { i } else { at[k] };
            }
        }
        let each = (0..4).map(|k| (best[k], 4 * at[k] + k));
        let better = |a: (f64, usize), b: (f64, usize)| {
            let wins = b.0 > a.0 || b.0 >= a.0 && b.1 < a.1;
            if wins { b } else { a }
        };
        each.reduce(better).filter(|(_, i)| *i < self.corners.len())
    }

    /// A round face, or all of a plane.
    fn disk(&mut self, p: Vec3, n: Vec3, radius: f64) {
        let end = index(self.sides.len());
        self.faces.push(Face { p, n, sides: [end, end], radius, ball: (p, radius) });
    }

    pub(crate) fn rays_of(&self, corner: &Corner) -> &[Vec3] {
        &self.rays[corner.rays[0] as usize..corner.rays[1] as usize]
    }

    pub(crate) fn sides_of(&self, face: &Face) -> &[Side] {
        &self.sides[face.sides[0] as usize..face.sides[1] as usize]
    }

    /// A ball.
    pub(crate) fn ball(centre: Vec3, radius: f64) -> Self {
        let mut solid = Solid::empty(Kind::Round);
        solid.corner(centre, radius, &[]);
        solid.bounded(centre, radius)
    }

    /// A capsule along z of its own frame.
    pub(crate) fn capsule(frame: &Pose, radius: f64, length: f64) -> Self {
        let mut solid = Solid::empty(Kind::Round);
        let z = frame.rot.column(2).into_owned();
        let (low, high) = (frame.s - z * (length / 2.0), frame.s + z * (length / 2.0));
        solid.corner(low, radius, &[z]);
        solid.corner(high, radius, &[-z]);
        solid.edges.push(Edge { p: low, e: z, length, round: radius, into: [Vec3::zeros(); 2] });
        let mut solid = solid.bounded(frame.s, length / 2.0 + radius);
        solid.extent = low.norm().max(high.norm()) + radius;
        solid.in_box(frame, Vec3::new(radius, radius, length / 2.0 + radius))
    }

    /// The half space z ≤ 0 of its own frame.
    pub(crate) fn plane(frame: &Pose) -> Self {
        let mut solid = Solid::empty(Kind::Plane);
        let z = frame.rot.column(2).into_owned();
        solid.disk(frame.s, z, f64::INFINITY);
        solid.bounded(frame.s, f64::INFINITY)
    }

    /// A box, numbered as its corners (±x, ±y, ±z) with x fastest.
    pub(crate) fn cuboid(frame: &Pose, size: &Vec3) -> Self {
        let half = size / 2.0;
        let corners: Vec<Vec3> = (0..8_u32)
            .map(|i| {
                let sign = |bit: u32| if i >> bit & 1 == 1 { 1.0 } else { -1.0 };
                frame.point(&Vec3::new(sign(0) * half.x, sign(1) * half.y, sign(2) * half.z))
            })
            .collect();
        let loops: [[u32; 4]; 6] =
            [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
        let loops = loops.map(|l| l.to_vec());
        // The axes themselves are more exact than normals from products of differences.
        let normals: Vec<Vec3> =
            (0..6).map(|i| frame.rot.column(i / 2) * if i % 2 == 1 { 1.0 } else { -1.0 }).collect();
        let mut solid = Solid::polytope(&corners, &loops, &normals);
        solid.middle = frame.s;
        solid.radius = half.norm();
        solid.in_box(frame, half)
    }

    /// A convex polytope from its corners, its faces as loops of corners seen from outside, and their normals.
    pub(crate) fn polytope(corners: &[Vec3], loops: &[Vec<u32>], normals: &[Vec3]) -> Self {
        let mut solid = Solid::empty(Kind::Polytope);
        let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); corners.len()];
        // (smaller corner, larger corner, direction into the face)
        let mut halves: Vec<(u32, u32, Vec3)> = Vec::new();
        for (l, n) in loops.iter().zip(normals) {
            let p = corners[l[0] as usize];
            let first = index(solid.sides.len());
            for (k, &i) in l.iter().enumerate() {
                let j = l[(k + 1) % l.len()];
                let (x, y) = (corners[i as usize], corners[j as usize]);
                let inward = n.cross(&(y - x)).normalize();
                solid.sides.push(Side { s: inward, c: inward.dot(&x) });
                neighbours[i as usize].push(j);
                halves.push((i.min(j), i.max(j), inward));
            }
            let sides = [first, index(solid.sides.len())];
            let ball = ball_around(l.iter().map(|&i| corners[i as usize]));
            solid.faces.push(Face { p, n: *n, sides, radius: f64::INFINITY, ball });
        }
        halves.sort_by_key(|h| (h.0, h.1));
        for pair in halves.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)) {
            let (p, q) = (corners[pair[0].0 as usize], corners[pair[0].1 as usize]);
            let length = (q - p).norm();
            let into = [pair[0].2, pair.get(1).map_or_else(Vec3::zeros, |h| h.2)];
            solid.edges.push(Edge { p, e: (q - p) / length, length, round: 0.0, into });
        }
        for (p, neighbours) in corners.iter().zip(&mut neighbours) {
            neighbours.sort_unstable();
            let rays: Vec<Vec3> =
                neighbours.iter().map(|&j| (corners[j as usize] - p).normalize()).collect();
            solid.corner(*p, 0.0, &rays);
        }
        let (middle, radius) = ball_around(corners.iter().copied());
        let half = corners.iter().fold(Vec3::zeros(), |half, p| half.sup(&(p - middle).abs()));
        let mut solid = solid.bounded(middle, radius);
        solid.half = Mat3::from_diagonal(&half);
        solid.extent = corners.iter().map(Vec3::norm).fold(0.0, f64::max);
        solid
    }

    /// A cylinder along z of its own frame.
    pub(crate) fn cylinder(frame: &Pose, radius: f64, length: f64) -> Self {
        let mut solid = Solid::empty(Kind::Turned);
        let z = frame.rot.column(2).into_owned();
        for sign in [-1.0, 1.0] {
            let (centre, axis) = (frame.s + z * (sign * length / 2.0), z * sign);
            solid.disk(centre, axis, radius);
            solid.rim(frame, centre, axis, radius, 0.0, 1.0);
        }
        let p = frame.s - z * (length / 2.0);
        solid.edges.push(Edge { p, e: z, length, round: radius, into: [Vec3::zeros(); 2] });
        let solid = solid.bounded(frame.s, radius.hypot(length / 2.0));
        solid.in_box(frame, Vec3::new(radius, radius, length / 2.0))
    }

    /// A cone along z of its own frame, base at −length/2.
    pub(crate) fn cone(frame: &Pose, radius: f64, length: f64) -> Self {
        let mut solid = Solid::empty(Kind::Turned);
        let z = frame.rot.column(2).into_owned();
        let slant = radius.hypot(length);
        let (sine, cosine) = (radius / slant, length / slant);
        let (base, apex) = (frame.s - z * (length / 2.0), frame.s + z * (length / 2.0));
        solid.disk(base, -z, radius);
        solid.rim(frame, base, -z, radius, sine, cosine);
        solid.cones.push(Cone { apex, axis: z, sine, cosine, slant });
        // The tip: its normals are within 90° − α of the axis.
        solid.corner(apex, 0.0, &[]);
        let solid = solid.bounded(frame.s, radius.hypot(length / 2.0));
        solid.in_box(frame, Vec3::new(radius, radius, length / 2.0))
    }

    /// A rim and the fixed points that stand for it when it lies flat.
    fn rim(&mut self, frame: &Pose, centre: Vec3, axis: Vec3, radius: f64, sine: f64, cosine: f64) {
        let (x, y) = (frame.rot.column(0).into_owned(), frame.rot.column(1).into_owned());
        let mark = |i: usize| match i % 4 {
            0 => x,
            1 => y,
            2 => -x,
            _ => -y,
        };
        for i in 0..4 {
            let out = mark(i);
            let rays = [
                (mark(i + 1) - out).normalize(),
                (mark(i + 3) - out).normalize(),
                -axis * cosine - out * sine,
            ];
            self.corner(centre + out * radius, 0.0, &rays);
            if let Some(corner) = self.corners.last_mut() {
                corner.mark = true;
            }
        }
        self.rims.push(Rim { centre, axis, radius, sine, cosine });
    }

    pub(crate) fn bounded(mut self, middle: Vec3, radius: f64) -> Self {
        self.middle = middle;
        self.radius = radius;
        self.half = Mat3::identity() * radius;
        self.extent = middle.norm() + radius;
        self
    }

    /// The box around it in the frame of the shape.
    fn in_box(mut self, frame: &Pose, half: Vec3) -> Self {
        self.half = frame.rot * Mat3::from_diagonal(&half);
        self
    }

    /// Half edges of the box around it along the world's axes.
    pub(crate) fn half_box(&self, rot: &Mat3) -> Vec3 {
        let half = (rot * self.half).abs();
        (half.column(0) + half.column(1) + half.column(2)).map(|x| x.min(self.radius))
    }

    /// How far the solid at a pose is above the plane through `p` with the normal `n`, at least.
    pub(crate) fn above(&self, pose: &Pose, n: &Vec3, p: &Vec3) -> f64 {
        let offset = n.dot(&(pose.s - p));
        let n = pose.rot.tr_mul(n);
        let lower = |low: f64, x: f64| if x < low { x } else { low };
        let low = f64::INFINITY;
        let low = self.corners.iter().fold(low, |low, c| lower(low, n.dot(&c.p) - c.round));
        let low = self.rims.iter().fold(low, |low, r| lower(low, n.dot(&r.centre) - r.radius));
        low + offset
    }

    /// The feature of a number, and the radius of the solid around it.
    pub(crate) fn feature(&self, number: u32) -> (Feature, f64) {
        let i = (number & !(KIND | SECOND)) as usize;
        match number & KIND {
            CORNER => (Feature::Point(self.corners[i].p), self.corners[i].round),
            EDGE => {
                let edge = &self.edges[i];
                (Feature::Line { point: edge.p, direction: edge.e }, edge.round)
            }
            FACE => (Feature::Plane { point: self.faces[i].p, normal: self.faces[i].n }, 0.0),
            RIM => {
                let Rim { centre, axis, radius, .. } = self.rims[i];
                (Feature::Circle { centre, axis, radius }, 0.0)
            }
            _ => {
                let Cone { apex, axis, sine, cosine, .. } = self.cones[i];
                (Feature::Cone { apex, axis, sine, cosine }, 0.0)
            }
        }
    }

    /// How far a point (body frame) is outside a convex solid without its balls and capsules: the largest of its
    /// distances from round sides and from the faces that count, by their normal. Negative inside, where it is the way out.
    pub(crate) fn outside(&self, p: &Vec3, counts: impl Fn(&Vec3) -> bool) -> f64 {
        let mut most = f64::NEG_INFINITY;
        for face in self.faces.iter().filter(|face| counts(&face.n)) {
            most = most.max(face.n.dot(&(p - face.p)));
        }
        for cone in &self.cones {
            most = most.max(curve::point_cone(p, &cone.apex, &cone.axis, cone.sine, cone.cosine).1);
        }
        if self.kind == Kind::Turned {
            for edge in &self.edges {
                let d = p - edge.p;
                most = most.max((d - edge.e * edge.e.dot(&d)).norm() - edge.round);
            }
        }
        most
    }

    /// By how much a point (body frame) and the outward normal m there leave the reach of a feature: 0 if they are within.
    /// The first number is a length, m; the second the sine of an angle.
    pub(crate) fn beyond(&self, number: u32, p: &Vec3, m: &Vec3) -> (f64, f64) {
        if number == WITNESS {
            return (0.0, 0.0);
        }
        let i = (number & !(KIND | SECOND)) as usize;
        match number & KIND {
            CORNER => {
                let corner = &self.corners[i];
                let rays = self.rays_of(corner);
                if rays.is_empty()
                    && let Some(cone) = self.cones.first()
                {
                    // Within 90° − α of the axis: sin(90° − angle) ≥ sinα.
                    return (0.0, (cone.sine - m.dot(&cone.axis)).max(0.0));
                }
                (0.0, rays.iter().fold(0.0, |most: f64, ray| most.max(ray.dot(m))))
            }
            EDGE => {
                let edge = &self.edges[i];
                let along = edge.e.dot(&(p - edge.p));
                let over = (-along).max(along - edge.length).max(0.0);
                (over, edge.into[0].dot(m).max(edge.into[1].dot(m)).max(0.0))
            }
            FACE => {
                let face = &self.faces[i];
                let mut over: f64 = 0.0;
                if face.radius.is_finite() {
                    let d = p - face.p;
                    over = ((d - face.n * face.n.dot(&d)).norm() - face.radius).max(0.0);
                }
                for side in self.sides_of(face) {
                    over = over.max(side.c - side.s.dot(p));
                }
                (over, 0.0)
            }
            RIM => {
                let rim = &self.rims[i];
                let d = p - rim.centre;
                let across = d - rim.axis * rim.axis.dot(&d);
                let out =
                    across.try_normalize(0.0).unwrap_or_else(|| perpendicular_frame(&rim.axis).0);
                let down = -rim.axis * rim.cosine - out * rim.sine;
                (0.0, (-out.dot(m)).max(down.dot(m)).max(0.0))
            }
            _ => {
                let cone = &self.cones[i];
                let along = -(p - cone.apex).dot(&cone.axis) / cone.cosine;
                // All normals of the side make the same angle with the axis: otherwise nothing touches both.
                let off = (m.dot(&cone.axis) - cone.sine).abs();
                let off = if off > 1e-9 { f64::INFINITY } else { 0.0 };
                ((-along).max(along - cone.slant).max(0.0), off)
            }
        }
    }
}

/// A convex solid at a pose, without its radius.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed<'a> {
    pub(crate) solid: &'a Solid,
    pub(crate) pose: &'a Pose,
}

impl Placed<'_> {
    /// The radius around the solid's core.
    pub(crate) fn round(&self) -> f64 {
        if self.solid.kind == Kind::Round { self.solid.corners[0].round } else { 0.0 }
    }
}

impl Support for Placed<'_> {
    fn support(&self, d: &Vec3) -> Vec3 {
        let d = self.pose.rot.tr_mul(d);
        let mut best = match self.solid.farthest(&d) {
            Some((along, i)) => (along, self.solid.corners[i].p),
            None => (f64::NEG_INFINITY, Vec3::zeros()),
        };
        let mut offer = |p: Vec3| {
            let along = d.dot(&p);
            if along > best.0 {
                best = (along, p);
            }
        };
        for rim in &self.solid.rims {
            let across = d - rim.axis * rim.axis.dot(&d);
            // Along the axis all points of the rim are as far; its marks stand for them.
            if let Some(out) = across.try_normalize(0.0) {
                offer(rim.centre + out * rim.radius);
            }
        }
        self.pose.point(&best.1)
    }
}

/// A ball around points, and around the middle of their box.
pub(crate) fn ball_around(points: impl Iterator<Item = Vec3> + Clone) -> (Vec3, f64) {
    let none = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
    let (low, high) = points.clone().fold(none, |(low, high), p| (low.inf(&p), high.sup(&p)));
    let middle = (low + high) / 2.0;
    (middle, points.map(|p| (p - middle).norm()).fold(0.0, f64::max))
}

/// Numbers of features fit into 27 bits: the loader keeps meshes far below.
pub(crate) fn index(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}
