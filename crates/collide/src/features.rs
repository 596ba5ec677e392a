//! The pairs of features of two solids, kind by kind.

use gelenk_model::math::{Vec3, perpendicular_frame};
use gelenk_model::state::Pose;

use crate::curve::point_cone;
use crate::mesh::NONE;
use crate::narrow::{CROSSING, EXACTLY_FLAT, FLAT, Found, LOOSE, Meeting, Near, OVER};
use crate::solid::{CONE, CORNER, EDGE, FACE, Kind, RIM, SECOND, index};
use crate::touch::{Feature, PARALLEL, Place, Touch};

/// A feature of a solid in the world: its number and its vectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved<const N: usize> {
    i: u32,
    v: [Vec3; N],
}

/// Memory for the features of a pair in the world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    /// Position.
    corners: [Vec<Moved<1>>; 2],
    /// Point, direction, and the directions into the two faces.
    edges: [Vec<Moved<4>>; 2],
    /// Point and normal.
    faces: [Vec<Moved<2>>; 2],
    triangles: Vec<u32>,
    numbers: Vec<u32>,
    /// How far corners are outside the other solid, where that is known.
    outside: Vec<f64>,
    /// Used by `thin_out`.
    pub(crate) places: Vec<Place>,
}

/// A box along the axes of the world or a body.
#[derive(Clone, Copy, Debug)]
struct Region {
    middle: Vec3,
    half: Vec3,
}

impl Region {
    /// The box around it along the axes of a body.
    fn seen_from(&self, pose: &Pose) -> Region {
        let to_body = pose.rot.transpose();
        Region { middle: to_body * (self.middle - pose.s), half: to_body.abs() * self.half }
    }

    /// Whether the box, grown by `room`, holds a point.
    fn holds(&self, p: &Vec3, room: f64) -> bool {
        let d = p - self.middle;
        d.x.abs() <= self.half.x + room
            && d.y.abs() <= self.half.y + room
            && d.z.abs() <= self.half.z + room
    }

    /// Whether the box around a line segment meets the box.
    fn meets(&self, p: &Vec3, along: &Vec3, room: f64) -> bool {
        let d = p + along * 0.5 - self.middle;
        d.x.abs() <= self.half.x + room + 0.5 * along.x.abs()
            && d.y.abs() <= self.half.y + room + 0.5 * along.y.abs()
            && d.z.abs() <= self.half.z + room + 0.5 * along.z.abs()
    }

    /// Whether a plane passes through the box.
    fn meets_plane(&self, p: &Vec3, n: &Vec3) -> bool {
        n.dot(&(self.middle - p)).abs() <= self.half.dot(&n.abs())
    }
}

impl Meeting<'_> {
    /// Moves the features that lie where the boxes of the two solids, grown by the reach, overlap, and that are `near`; false if nowhere.
    pub(crate) fn gather(&self, near: Near, scratch: &mut Scratch) -> bool {
        let slab = match near {
            Near::Boxes => None,
            Near::Slab(slab) => Some(slab),
            Near::Deep(_) | Near::Nothing => return false,
        };
        let depth = self.depth();
        // Corners lie on the border of their own box: rounding must not put them outside.
        let room = self.reach + OVER * self.scale();
        let boxes = [0, 1].map(|k| {
            let middle = self.poses[k].point(&self.solids[k].middle);
            let half = self.solids[k].half_box(&self.poses[k].rot).add_scalar(room);
            [middle - half, middle + half]
        });
        let low = boxes[0][0].sup(&boxes[1][0]);
        let high = boxes[0][1].inf(&boxes[1][1]);
        if (0..3).any(|k| low[k] > high[k]) {
            return false;
        }
        let region = Region { middle: (low + high) * 0.5, half: (high - low) * 0.5 };
        // Faces are looked for as deep as corners may be behind them.
        let deep = Region { half: region.half.add_scalar(depth), ..region };
        for k in 0..2 {
            let (solid, pose) = (self.solids[k], self.poses[k]);
            let Scratch { corners, edges, faces, triangles, numbers, .. } = scratch;
            let (corners, edges, faces) = (&mut corners[k], &mut edges[k], &mut faces[k]);
            corners.clear();
            edges.clear();
            faces.clear();
            // In the body's frame, so that only what is near has to be moved.
            let (region, deep) = (region.seen_from(pose), deep.seen_from(pose));
            let slab = slab.map(|slab| slab.seen_from(k, pose));
            let between =
                |p: &Vec3, more: f64| slab.is_none_or(|(m, c)| m.dot(p) + c <= room + more);
            let mut corner = |i: usize| {
                let corner = &solid.corners[i];
                if between(&corner.p, corner.round) && region.holds(&corner.p, corner.round) {
                    corners.push(Moved { i: index(i), v: [pose.point(&corner.p)] });
                }
            };
            let mut edge = |i: usize| {
                let edge = &solid.edges[i];
                let along = edge.e * edge.length;
                if (between(&edge.p, edge.round) || between(&(edge.p + along), edge.round))
                    && region.meets(&edge.p, &along, edge.round)
                {
                    let [s, t] = edge.into.map(|into| pose.rot * into);
                    let v = [pose.point(&edge.p), pose.rot * edge.e, s, t];
                    edges.push(Moved { i: index(i), v });
                }
            };
            let mut face = |i: usize| {
                let face = &solid.faces[i];
                // A corner may be behind a face by the depth.
                let (middle, radius) = &face.ball;
                let there = slab.is_none()
                    || between(middle, radius + depth) && deep.holds(middle, *radius);
                if there && deep.meets_plane(&face.p, &face.n) {
                    let v = [pose.point(&face.p), pose.rot * face.n];
                    faces.push(Moved { i: index(i), v });
                }
            };
            let Some(surface) = &solid.surface else {
                (0..solid.corners.len()).for_each(&mut corner);
                (0..solid.edges.len()).for_each(&mut edge);
                (0..solid.faces.len()).for_each(&mut face);
                continue;
            };
            let Region { middle, half } = deep;
            surface.tree.overlapping(&(middle - half), &(middle + half), triangles);
            for &t in triangles.iter() {
                face(t as usize);
            }
            let mut each = |of: &[[u32; 3]], visit: &mut dyn FnMut(usize)| {
                numbers.clear();
                numbers
                    .extend(triangles.iter().flat_map(|&t| of[t as usize]).filter(|&i| i != NONE));
                numbers.sort_unstable();
                numbers.dedup();
                for &i in numbers.iter() {
                    visit(i as usize);
                }
            };
            each(&surface.edges, &mut edge);
            each(&surface.corners, &mut corner);
        }
        true
    }

    /// Corners and rims of solid `a` on the faces of the other.
    pub(crate) fn corners_and_faces(&self, a: usize, scratch: &mut Scratch, out: &mut Found<'_>) {
        let b = 1 - a;
        let Scratch { corners, faces, outside, .. } = scratch;
        outside.clear();
        outside.resize(corners[a].len(), f64::NAN);
        let solid = self.solids[a];
        let depth = self.depth();
        let angle = LOOSE + 2.0 * self.spin() * self.h;
        for Moved { i: j, v: [q, n] } in &faces[b] {
            let n_body = self.poses[a].rot.tr_mul(n);
            for (Moved { i, v: [p] }, outside) in corners[a].iter().zip(&mut *outside) {
                let corner = &solid.corners[*i as usize];
                let distance = n.dot(&(p - q));
                let gap = distance - corner.round;
                if gap > self.reach || gap < -depth {
                    continue;
                }
                // The edges of the corner go away from the face; `consider` looks closer, but costs more.
                if solid.rays_of(corner).iter().any(|ray| ray.dot(&n_body) < -2.0 * angle) {
                    continue;
                }
                if distance < 0.0 && !self.way_in(a, *i, p, distance, outside) {
                    continue;
                }
                if corner.mark
                    && !Self::is_flat(solid, *i as usize, &n_body, FLAT + self.spin() * self.h)
                {
                    continue;
                }
                self.consider(self.touch(a, CORNER | i, FACE | j), LOOSE, out);
            }
            for (i, rim) in solid.rims.iter().enumerate() {
                let sine = (n_body - rim.axis * n_body.dot(&rim.axis)).norm();
                if sine > EXACTLY_FLAT {
                    self.consider(self.touch(a, RIM | index(i), FACE | j), LOOSE, out);
                }
            }
        }
    }

    /// Whether corner `i` of solid `a`, at a point inside the other, behind the surface of one of its features by `distance`, can have come in there: it is
    /// no deeper behind any other that it can come in by. (By a face that its edges go through it cannot, however near that is.) `outside` is how far it is
    /// outside, NaN where that is not known yet.
    fn way_in(&self, a: usize, i: u32, p: &Vec3, distance: f64, outside: &mut f64) -> bool {
        let (other, pose) = (self.solids[1 - a], self.poses[1 - a]);
        if matches!(other.kind, Kind::Surface | Kind::Round) {
            return true;
        }
        if outside.is_nan() {
            let (solid, turn) = (self.solids[a], self.poses[a].rot.transpose() * pose.rot);
            let rays = solid.rays_of(&solid.corners[i as usize]);
            let angle = LOOSE + 2.0 * self.spin() * self.h;
            let faces = |n: &Vec3| rays.iter().all(|ray| ray.dot(&(turn * n)) >= -2.0 * angle);
            *outside = other.outside(&pose.rot.tr_mul(&(p - pose.s)), faces);
        }
        *outside <= distance + OVER * other.radius
    }

    /// Edges against edges, rounded or not.
    pub(crate) fn lines(&self, scratch: &Scratch, out: &mut Found<'_>) {
        let depth = self.depth();
        let angle = CROSSING + 3.0 * self.spin() * self.h;
        for Moved { i, v: [p, u, s_a, t_a] } in &scratch.edges[0] {
            let edge = &self.solids[0].edges[*i as usize];
            for Moved { i: j, v: [q, w, s_b, t_b] } in &scratch.edges[1] {
                let other = &self.solids[1].edges[*j as usize];
                let c = u.cross(w);
                let square = c.norm_squared();
                if square < NEARLY_PARALLEL * NEARLY_PARALLEL {
                    continue;
                }
                let round = edge.round + other.round;
                let mut side = 1.0;
                if round == 0.0 {
                    // By how much the normal +c or −c leaves the edges' own: m = −n on a, n on b.
                    let [a, b, e, f] = [s_a.dot(&c), t_a.dot(&c), s_b.dot(&c), t_b.dot(&c)];
                    let plus = (-a).max(-b).max(e).max(f);
                    let minus = a.max(b).max(-e).max(-f);
                    side = if plus <= minus { 1.0 } else { -1.0 };
                    let worst = plus.min(minus);
                    if worst > 0.0 && worst * worst > angle * angle * square {
                        continue;
                    }
                }
                let d = q - p;
                let length = square.sqrt();
                let mut distance = -c.dot(&d) * side / length;
                if round > 0.0 && distance < 0.0 {
                    // Around rounded edges the normal is that of the distance.
                    (side, distance) = (-side, -distance);
                }
                if distance - round > self.reach || distance - round < -depth {
                    continue;
                }
                // How far the crossing may lie outside and still come in.
                let slack = self.reach + OVER * self.scale();
                let s = d.dot(&w.cross(&c)) / square;
                let t = d.dot(&u.cross(&c)) / square;
                if s < -slack || s > edge.length + slack || t < -slack || t > other.length + slack {
                    continue;
                }
                let mut touch = self.touch(0, EDGE | i, EDGE | j);
                touch.side = side;
                self.consider(touch, CROSSING, out);
            }
        }
    }

    /// Balls and the ends of capsules against corners, edges, rims and the sides of cones; corners against round sides.
    pub(crate) fn points(&self, scratch: &Scratch, out: &mut Found<'_>) {
        if self.solids.iter().all(|solid| matches!(solid.kind, Kind::Polytope | Kind::Surface)) {
            return;
        }
        for a in 0..2 {
            let (solid, other) = (self.solids[a], self.solids[1 - a]);
            for Moved { i, v: [p] } in &scratch.corners[a] {
                let corner = &solid.corners[*i as usize];
                if corner.mark {
                    continue;
                }
                let number = CORNER | i;
                let mut outside = f64::NAN;
                for Moved { i: j, v: [q, w, ..] } in &scratch.edges[1 - a] {
                    let edge = &other.edges[*j as usize];
                    let round = corner.round + edge.round;
                    if round == 0.0 {
                        continue;
                    }
                    let d = p - q;
                    let along = w.dot(&d);
                    if along < -self.reach || along > edge.length + self.reach {
                        continue;
                    }
                    let distance = (d - w * along).norm() - edge.round;
                    let deep = distance < 0.0 && !self.way_in(a, *i, p, distance, &mut outside);
                    if distance - corner.round <= self.reach && !deep {
                        self.consider(self.touch(a, number, EDGE | j), LOOSE, out);
                    }
                }
                for (j, cone) in other.cones.iter().enumerate() {
                    let pose = self.poses[1 - a];
                    let q = pose.rot.tr_mul(&(p - pose.s));
                    let distance = point_cone(&q, &cone.apex, &cone.axis, cone.sine, cone.cosine).1;
                    if distance < 0.0 && !self.way_in(a, *i, p, distance, &mut outside) {
                        continue;
                    }
                    self.consider(self.touch(a, number, CONE | index(j)), LOOSE, out);
                }
                if corner.round > 0.0 {
                    for j in 0..other.rims.len() {
                        self.consider(self.touch(a, number, RIM | index(j)), LOOSE, out);
                    }
                }
                if a == 0 {
                    for Moved { i: j, v: [q] } in &scratch.corners[1] {
                        let corner_b = &other.corners[*j as usize];
                        let round = corner.round + corner_b.round;
                        if round > 0.0 && !corner_b.mark && (p - q).norm() - round <= self.reach {
                            self.consider(self.touch(0, number, CORNER | j), LOOSE, out);
                        }
                    }
                }
            }
        }
    }

    /// Rims and sides of cones against edges, rims and sides of cones.
    pub(crate) fn curves(&self, scratch: &Scratch, out: &mut Found<'_>) {
        let round_ones = |k: usize| {
            let solid = self.solids[k];
            let rims = (0..solid.rims.len()).map(|i| RIM | index(i));
            rims.chain((0..solid.cones.len()).map(|i| CONE | index(i)))
        };
        let edges = |k: usize| scratch.edges[k].iter().map(|edge| EDGE | edge.i);
        for of_a in round_ones(0) {
            for of_b in round_ones(1).chain(edges(1)) {
                self.curve_pair(self.touch(0, of_a, of_b), out);
            }
        }
        for of_a in edges(0) {
            for of_b in round_ones(1) {
                self.curve_pair(self.touch(0, of_a, of_b), out);
            }
        }
    }

    /// A pair with a rim or a cone's side: both ways in which they can come close.
    fn curve_pair(&self, mut touch: Touch, out: &mut Found<'_>) {
        let circle = touch.features.iter().position(|f| matches!(f, Feature::Circle { .. }));
        let sharp = touch.round.iter().all(|r| *r == 0.0);
        let Some(k) = circle else {
            for (side, second) in [(1.0, 0), (-1.0, SECOND)] {
                touch.side = side;
                touch.key.features[1] = touch.key.features[1] & !SECOND | second;
                self.consider(touch, CROSSING, out);
            }
            return;
        };
        let Feature::Circle { centre, axis, radius } = touch.features[k] else { return };
        let other = touch.features[1 - k].moved(self.poses[1 - k]);
        let round = touch.round[1 - k];
        // Most are far away.
        let middle = self.poses[k].point(&centre);
        let far = match &other {
            Feature::Circle { centre, radius, .. } => (middle - centre).norm() - radius,
            Feature::Line { point, direction } => (middle - point).cross(direction).norm(),
            _ => f64::NEG_INFINITY,
        };
        if far - radius - round > self.reach {
            return;
        }
        // Local minima of the distance around the circle.
        let (x, y) = perpendicular_frame(&axis);
        let mut distances = [0.0; N];
        let direction = |i: usize| {
            let (sin, cos) = (i as f64 * std::f64::consts::TAU / N as f64).sin_cos();
            x * cos + y * sin
        };
        for (i, distance) in distances.iter_mut().enumerate() {
            let p = self.poses[k].point(&(centre + direction(i) * radius));
            let place = crate::touch::place(&Feature::Point(p), &other, [0.0, round], 1.0, &x);
            *distance = place.gap;
        }
        let step = radius * std::f64::consts::TAU / N as f64;
        let mut count = 0;
        for i in 0..N {
            let (before, after) = (distances[(i + N - 1) % N], distances[(i + 1) % N]);
            if distances[i] > before || distances[i] >= after || distances[i] > self.reach + step {
                continue;
            }
            touch.near = direction(i);
            touch.key.features[1] =
                touch.key.features[1] & !SECOND | if count == 0 { 0 } else { SECOND };
            count += 1;
            if matches!(other, Feature::Cone { .. }) || !sharp {
                self.consider(touch, CROSSING, out);
                continue;
            }
            // The sign that lets both normals point out.
            let worst = |side: f64| {
                let touch = Touch { side, ..touch };
                let place = touch.place(self.poses[0], self.poses[1]);
                self.beyond(&touch, &place, self.poses).1.into_iter().fold(0.0, f64::max)
            };
            touch.side = if worst(1.0) <= worst(-1.0) { 1.0 } else { -1.0 };
            self.consider(touch, CROSSING, out);
        }
    }
}

/// Directions around a rim in which a place that comes close is looked for.
pub(crate) const N: usize = 24;
/// Edges that make a smaller angle meet by their corners.
const NEARLY_PARALLEL: f64 = 1e-3;
const _: () = assert!(PARALLEL < NEARLY_PARALLEL);
