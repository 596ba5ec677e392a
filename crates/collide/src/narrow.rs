//! From a pair of solids to its touches: every two features that can come together, each looked at where they would meet.

use gelenk_model::math::Vec3;
use gelenk_model::state::{Pose, Twist};

use crate::solid::{CONE, CORNER, EDGE, FACE, Kind, RIM, SECOND, Solid, index};
use crate::touch::{Feature, PARALLEL, Place, Touch, TouchKey};

/// Sharp features and rounded ones must face each other to this angle, rad: a ball that rolls over an edge feels the
/// edge only once it is there.
const STRICT: f64 = 1e-6;
/// Corners on faces: a corner may not pass a face whatever the angle, so that this only limits the number of touches.
const LOOSE: f64 = 0.2;
/// Crossing edges.
const CROSSING: f64 = 0.02;
/// How far beyond the end of an edge or face a touch still counts, as a part of the smaller solid's radius.
const OVER: f64 = 1e-6;
/// Touches nearer than this part of the smaller solid's radius are one.
const MERGE: f64 = 1e-4;
/// Depth up to which features are taken for touching, as a part of the smaller solid's radius.
const DEEP: f64 = 0.1;

/// One pair of solids at one moment.
pub(crate) struct Meeting<'a> {
    pub(crate) solids: [&'a Solid; 2],
    pub(crate) poses: [&'a Pose; 2],
    pub(crate) twists: [&'a Twist; 2],
    pub(crate) bodies: [usize; 2],
    pub(crate) colliders: [u32; 2],
    pub(crate) pair: usize,
    pub(crate) h: f64,
    /// What the gap may be now for it to close within h.
    pub(crate) reach: f64,
    /// Touches with a smaller gap are listed even when they open.
    pub(crate) margin: f64,
}

/// Memory for the features of a pair in the world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    corners: [Vec<Vec3>; 2],
    edges: [Vec<[Vec3; 2]>; 2],
    faces: [Vec<[Vec3; 2]>; 2],
    places: Vec<Place>,
}

impl Meeting<'_> {
    /// Lists the touches of the pair.
    pub(crate) fn list(&self, scratch: &mut Scratch, out: &mut Vec<Touch>) {
        let first = out.len();
        match [self.solids[0].kind, self.solids[1].kind] {
            [_, Kind::Plane] => self.on_plane(0, out),
            [Kind::Plane, _] => self.on_plane(1, out),
            _ => {
                self.move_features(scratch);
                self.corners_and_faces(0, scratch, out);
                self.corners_and_faces(1, scratch, out);
                self.lines(scratch, out);
                self.points(scratch, out);
                self.curves(out);
                self.thin_out(first, scratch, out);
            }
        }
    }

    /// A solid on a half space: its corners, rounded or not, and the lowest points of its rims. The plane has no end, so
    /// that every point of the solid is held by it.
    fn on_plane(&self, a: usize, out: &mut Vec<Touch>) {
        let (solid, plane) = (self.solids[a], &self.solids[1 - a].faces[0]);
        let n = self.poses[1 - a].rot * plane.n;
        let offset = n.dot(&(self.poses[a].s - self.poses[1 - a].point(&plane.p)));
        // The plane in the body's frame: gap = n·p + offset − round.
        let n = self.poses[a].rot.tr_mul(&n);
        if n.dot(&solid.middle) + offset - solid.radius > self.reach {
            return;
        }
        let spin = self.twists[0].omega.norm() + self.twists[1].omega.norm();
        for (i, corner) in solid.corners.iter().enumerate() {
            if n.dot(&corner.p) + offset - corner.round <= self.reach
                && (!corner.mark || Self::is_flat(solid, i, &n, FLAT + spin * self.h))
            {
                out.push(self.touch(a, CORNER | index(i), FACE));
            }
        }
        for (i, rim) in solid.rims.iter().enumerate() {
            let along = n.dot(&rim.axis);
            let sine = (n - rim.axis * along).norm();
            if sine > EXACTLY_FLAT && n.dot(&rim.centre) + offset - rim.radius * sine <= self.reach
            {
                out.push(self.touch(a, RIM | index(i), FACE));
            }
        }
    }

    /// Whether the rim of mark `i` lies flat against the direction n (in the body's frame) to a sine.
    fn is_flat(solid: &Solid, i: usize, n: &Vec3, sine: f64) -> bool {
        // Marks come first, four a rim.
        let axis = solid.rims[i / 4].axis;
        let along = n.dot(&axis);
        along < 0.0 && (n - axis * along).norm() < sine
    }

    /// Two features as a touch; `a` is the side of the first, the order is put right.
    fn touch(&self, a: usize, of_a: u32, of_b: u32) -> Touch {
        let features = if a == 0 { [of_a, of_b] } else { [of_b, of_a] };
        let (fa, ra) = self.solids[0].feature(features[0]);
        let (fb, rb) = self.solids[1].feature(features[1]);
        Touch {
            bodies: self.bodies,
            features: [fa, fb],
            round: [ra, rb],
            side: 1.0,
            near: Vec3::zeros(),
            key: TouchKey { colliders: self.colliders, features },
            pair: self.pair,
        }
    }

    fn move_features(&self, scratch: &mut Scratch) {
        for k in 0..2 {
            let (solid, pose) = (self.solids[k], self.poses[k]);
            scratch.corners[k].clear();
            scratch.corners[k].extend(solid.corners.iter().map(|c| pose.point(&c.p)));
            scratch.edges[k].clear();
            scratch.edges[k].extend(solid.edges.iter().map(|e| [pose.point(&e.p), pose.rot * e.e]));
            scratch.faces[k].clear();
            scratch.faces[k].extend(solid.faces.iter().map(|f| [pose.point(&f.p), pose.rot * f.n]));
        }
    }

    /// The smaller of the two solids sets the scale of small lengths.
    fn scale(&self) -> f64 {
        self.solids[0].radius.min(self.solids[1].radius)
    }

    fn depth(&self) -> f64 {
        self.reach.max(DEEP * self.scale())
    }

    /// Corners and rims of solid `a` on the faces of the other.
    fn corners_and_faces(&self, a: usize, scratch: &Scratch, out: &mut Vec<Touch>) {
        let b = 1 - a;
        let (solid, other) = (self.solids[a], self.solids[b]);
        let depth = self.depth();
        for (j, [q, n]) in scratch.faces[b].iter().enumerate() {
            for (i, p) in scratch.corners[a].iter().enumerate() {
                let corner = &solid.corners[i];
                let distance = n.dot(&(p - q));
                let gap = distance - corner.round;
                if gap > self.reach || gap < -depth {
                    continue;
                }
                // Inside the other solid: only the face it is nearest to can have let it in.
                if distance < 0.0 && other.kind == Kind::Polytope {
                    let nearest =
                        |[q, n]: &[Vec3; 2]| n.dot(&(p - q)) <= distance + OVER * other.radius;
                    if !scratch.faces[b].iter().all(nearest) {
                        continue;
                    }
                }
                if corner.mark {
                    let n = self.poses[a].rot.tr_mul(n);
                    let spin = self.twists[0].omega.norm() + self.twists[1].omega.norm();
                    if !Self::is_flat(solid, i, &n, FLAT + spin * self.h) {
                        continue;
                    }
                }
                self.consider(self.touch(a, CORNER | index(i), FACE | index(j)), LOOSE, out);
            }
            for (i, rim) in solid.rims.iter().enumerate() {
                let n = self.poses[a].rot.tr_mul(n);
                let sine = (n - rim.axis * n.dot(&rim.axis)).norm();
                if sine > EXACTLY_FLAT {
                    self.consider(self.touch(a, RIM | index(i), FACE | index(j)), LOOSE, out);
                }
            }
        }
    }

    /// Edges against edges, rounded or not.
    fn lines(&self, scratch: &Scratch, out: &mut Vec<Touch>) {
        let depth = self.depth();
        for (i, [p, u]) in scratch.edges[0].iter().enumerate() {
            let edge = &self.solids[0].edges[i];
            for (j, [q, w]) in scratch.edges[1].iter().enumerate() {
                let other = &self.solids[1].edges[j];
                let c = u.cross(w);
                let square = c.norm_squared();
                if square < NEARLY_PARALLEL * NEARLY_PARALLEL {
                    continue;
                }
                let d = q - p;
                let round = edge.round + other.round;
                let distance = c.dot(&d) / square.sqrt();
                if distance.abs() - round > self.reach
                    || distance.abs() - round < -depth && round > 0.0
                    || round == 0.0 && distance.abs() > depth.max(self.reach)
                {
                    continue;
                }
                // How far the crossing may lie outside and still come in.
                let slack = self.reach + OVER * self.scale();
                let s = d.dot(&w.cross(&c)) / square;
                let t = d.dot(&u.cross(&c)) / square;
                if s < -slack || s > edge.length + slack || t < -slack || t > other.length + slack {
                    continue;
                }
                let mut touch = self.touch(0, EDGE | index(i), EDGE | index(j));
                touch.side = if round > 0.0 {
                    // n·(p_a − p_b) = −side·distance must be positive.
                    if distance > 0.0 { -1.0 } else { 1.0 }
                } else {
                    let n = c / square.sqrt();
                    let worst = |side: f64| {
                        let m = [-n * side, n * side];
                        (0..2)
                            .flat_map(|k| {
                                let e = if k == 0 { edge } else { other };
                                e.into.map(|into| (self.poses[k].rot * into).dot(&m[k]))
                            })
                            .fold(0.0, f64::max)
                    };
                    if worst(1.0) <= worst(-1.0) { 1.0 } else { -1.0 }
                };
                self.consider(touch, CROSSING, out);
            }
        }
    }

    /// Balls and the ends of capsules against corners, edges, rims and the sides of cones; corners against round sides.
    fn points(&self, scratch: &Scratch, out: &mut Vec<Touch>) {
        for a in 0..2 {
            let (solid, other) = (self.solids[a], self.solids[1 - a]);
            for (i, p) in scratch.corners[a].iter().enumerate() {
                let corner = &solid.corners[i];
                if corner.mark {
                    continue;
                }
                let number = CORNER | index(i);
                for (j, [q, w]) in scratch.edges[1 - a].iter().enumerate() {
                    let edge = &other.edges[j];
                    let round = corner.round + edge.round;
                    if round == 0.0 {
                        continue;
                    }
                    let d = p - q;
                    let along = w.dot(&d);
                    if along < -self.reach || along > edge.length + self.reach {
                        continue;
                    }
                    if (d - w * along).norm() - round <= self.reach {
                        self.consider(self.touch(a, number, EDGE | index(j)), STRICT, out);
                    }
                }
                for j in 0..other.cones.len() {
                    self.consider(self.touch(a, number, CONE | index(j)), STRICT, out);
                }
                if corner.round > 0.0 {
                    for j in 0..other.rims.len() {
                        self.consider(self.touch(a, number, RIM | index(j)), STRICT, out);
                    }
                }
                if a == 0 {
                    for (j, q) in scratch.corners[1].iter().enumerate() {
                        let round = corner.round + other.corners[j].round;
                        if round > 0.0
                            && !other.corners[j].mark
                            && (p - q).norm() - round <= self.reach
                        {
                            self.consider(self.touch(0, number, CORNER | index(j)), STRICT, out);
                        }
                    }
                }
            }
        }
    }

    /// Rims and sides of cones against edges, rims and sides of cones.
    fn curves(&self, out: &mut Vec<Touch>) {
        let round_ones = |k: usize| {
            let solid = self.solids[k];
            let rims = (0..solid.rims.len()).map(|i| RIM | index(i));
            rims.chain((0..solid.cones.len()).map(|i| CONE | index(i)))
        };
        let edges = |k: usize| (0..self.solids[k].edges.len()).map(|i| EDGE | index(i));
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
    fn curve_pair(&self, mut touch: Touch, out: &mut Vec<Touch>) {
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
        // Local minima of the distance around the circle.
        let (x, y) = gelenk_model::math::perpendicular_frame(&axis);
        let other = touch.features[1 - k].moved(self.poses[1 - k]);
        let round = touch.round[1 - k];
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

    /// By how much a touch lies beyond the reach of its features: a length, and a sine for each.
    fn beyond(&self, touch: &Touch, place: &Place, poses: [&Pose; 2]) -> (f64, [f64; 2]) {
        beyond(self.solids, touch, place, poses)
    }

    /// Lists a touch if its features would meet within their reach: now, or where the gap closes.
    fn consider(&self, touch: Touch, angle: f64, out: &mut Vec<Touch>) {
        let place = touch.place(self.poses[0], self.poses[1]);
        if place.gap > self.reach || place.gap < -self.depth() {
            return;
        }
        let over = OVER * self.scale();
        let spin = self.twists[0].omega.norm() + self.twists[1].omega.norm();
        // A sharp feature against a rounded one has to be met exactly.
        let angles = [0, 1].map(|k| {
            let strict = touch.round[k] == 0.0 && touch.round[1 - k] > 0.0;
            if strict { STRICT } else { angle + 2.0 * spin * self.h }
        });
        let within = |beyond: (f64, [f64; 2]), more: f64, turn: f64| {
            beyond.0 <= over + more && (0..2).all(|k| beyond.1[k] <= angles[k] + turn)
        };
        if place.gap <= self.margin && within(self.beyond(&touch, &place, self.poses), 0.0, 0.0) {
            out.push(touch);
            return;
        }
        // Where it closes, by Newton's method on the motion at constant velocity.
        let (mut t, mut place, mut poses) = (0.0, place, [*self.poses[0], *self.poses[1]]);
        for _ in 0..3 {
            let rate = self.rate(&place, &poses);
            if rate >= 0.0 {
                break;
            }
            t = f64::clamp(t - place.gap / rate, 0.0, self.h);
            poses = [0, 1].map(|k| moved(self.poses[k], self.twists[k], t));
            place = touch.place(&poses[0], &poses[1]);
        }
        let there = self.beyond(&touch, &place, [&poses[0], &poses[1]]);
        let turned = (spin * t) * (spin * t) * self.scale();
        if place.gap <= self.margin + turned && within(there, turned, spin * t) {
            out.push(touch);
        }
    }

    /// Rate of the gap at a place.
    fn rate(&self, place: &Place, poses: &[Pose; 2]) -> f64 {
        let velocity = |k: usize| {
            self.twists[k].s_dot + self.twists[k].omega.cross(&(place.points[k] - poses[k].s))
        };
        place.normal.dot(&(velocity(0) - velocity(1)))
    }

    /// Keeps one of several touches at the same place, and of overlapping ones only those with the normal of the least
    /// overlap: the others were not the way in.
    fn thin_out(&self, first: usize, scratch: &mut Scratch, out: &mut Vec<Touch>) {
        if out.len() - first < 2 {
            return;
        }
        let places = &mut scratch.places;
        places.clear();
        places.extend(out[first..].iter().map(|t| t.place(self.poses[0], self.poses[1])));
        let least =
            places.iter().filter(|p| p.gap < 0.0).max_by(|a, b| a.gap.total_cmp(&b.gap)).copied();
        let near = MERGE * self.scale();
        let mut kept = 0;
        for i in 0..places.len() {
            let place = places[i];
            let wrong_way = least.is_some_and(|least| {
                place.gap < least.gap - OVER * self.scale() && place.normal.dot(&least.normal) < 0.9
            });
            let double = places[..kept].iter().any(|other| {
                (other.points[0] - place.points[0]).norm_squared() < near * near
                    && other.normal.dot(&place.normal) > 0.99
            });
            if !wrong_way && !double {
                places[kept] = place;
                out[first + kept] = out[first + i];
                kept += 1;
            }
        }
        out.truncate(first + kept);
    }
}

/// By how much a touch lies beyond the reach of its features at the poses: a length, and a sine for each.
pub(crate) fn beyond(
    solids: [&Solid; 2],
    touch: &Touch,
    place: &Place,
    poses: [&Pose; 2],
) -> (f64, [f64; 2]) {
    let mut over = 0.0_f64;
    let mut sines = [0.0; 2];
    for k in 0..2 {
        let out = if k == 0 { -place.normal } else { place.normal };
        let p = poses[k].rot.tr_mul(&(place.points[k] - poses[k].s));
        let m = poses[k].rot.tr_mul(&out);
        let (length, sine) = solids[k].beyond(touch.key.features[k], &p, &m);
        over = over.max(length);
        sines[k] = sine;
    }
    (over, sines)
}

/// The pose after a time at constant velocity, to first order in the turn.
fn moved(pose: &Pose, twist: &Twist, t: f64) -> Pose {
    let mut rot = pose.rot;
    for i in 0..3 {
        let column: Vec3 = pose.rot.column(i).into();
        rot.set_column(i, &(column + twist.omega.cross(&column) * t));
    }
    Pose { s: pose.s + twist.s_dot * t, rot }
}

/// Directions around a rim in which a place that comes close is looked for.
const N: usize = 24;
/// Marks take part while the rim lies flat to this sine.
const FLAT: f64 = 0.02;
/// A rim that lies flat to this sine has no lowest point.
const EXACTLY_FLAT: f64 = 1e-6;
/// Edges that make a smaller angle meet by their corners.
const NEARLY_PARALLEL: f64 = 1e-3;
const _: () = assert!(PARALLEL < NEARLY_PARALLEL);
