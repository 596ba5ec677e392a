//! From a pair of solids to its touches: every two features that can come together, each looked at where they would meet.

use gelenk_model::math::Vec3;
use gelenk_model::state::{Pose, Twist};

use crate::convex::Separation;
use crate::crossing::separation_up_to;
use crate::features::{N as LOOKS, Scratch};
use crate::solid::{CORNER, FACE, Kind, Placed, RIM, Solid, WITNESS, index};
use crate::touch::{Feature, Place, Touch, TouchKey};

/// Sharp features and rounded ones must face each other to this angle, rad: a ball that rolls over an edge feels the
/// edge only once it is there.
pub(crate) const STRICT: f64 = 1e-6;
/// Corners on faces: a corner may not pass a face whatever the angle, so that this only limits the number of touches.
pub(crate) const LOOSE: f64 = 0.2;
/// Crossing edges.
pub(crate) const CROSSING: f64 = 0.02;
/// How far beyond the end of an edge or face a touch still counts, as a part of the smaller solid's radius.
pub(crate) const OVER: f64 = 1e-6;
/// Touches nearer than this part of the smaller solid's radius are one.
const MERGE: f64 = 1e-4;
/// Depth up to which features are taken for touching, as a part of the smaller solid's radius.
const DEEP: f64 = 0.1;
/// The same for surfaces, which may be thin.
const SHALLOW: f64 = 0.02;

/// Pairs of features beyond which it is worth to ask first where two convex solids are near each other. (Two boxes have 240.)
const MANY: usize = 1000;

/// Two planes between which convex solids can come together: no point of a that is beyond `high` by more than the reach comes to b within it, and no
/// point of b so far below `low` comes to a.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slab {
    /// From b to a; any direction will do, that of the distance leaves least between the planes.
    normal: Vec3,
    /// n·x of the lowest point of a.
    low: f64,
    /// n·x of the highest point of b.
    high: f64,
}

impl Slab {
    /// m and c of solid `k` at its pose: how far a point p (body frame) is from the other solid at least, m·p + c.
    pub(crate) fn seen_from(&self, k: usize, pose: &Pose) -> (Vec3, f64) {
        let at = self.normal.dot(&pose.s);
        let m = pose.rot.tr_mul(&self.normal);
        if k == 0 { (m, at - self.high) } else { (-m, self.low - at) }
    }
}

/// Which features of a pair are worth a look.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Near {
    /// All that are in the boxes of both.
    Boxes,
    /// Those between two planes.
    Slab(Slab),
    /// The two are so deep in each other that no feature tells the way out.
    Deep(Separation),
    /// None.
    Nothing,
}

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

/// Touches of a pair and where they are.
pub(crate) struct Found<'a> {
    touches: &'a mut Vec<Touch>,
    places: &'a mut Vec<Place>,
}

impl Found<'_> {
    fn push(&mut self, touch: Touch, place: Place) {
        self.touches.push(touch);
        self.places.push(place);
    }
}

impl Meeting<'_> {
    /// Lists the touches of the pair.
    pub(crate) fn list(&self, scratch: &mut Scratch, out: &mut Vec<Touch>) {
        match [self.solids[0].kind, self.solids[1].kind] {
            [_, Kind::Plane] => self.on_plane(0, out),
            [Kind::Plane, _] => self.on_plane(1, out),
            _ => self.list_near(self.near(), scratch, out),
        }
    }

    /// Lists those of the features that are `near`.
    fn list_near(&self, near: Near, scratch: &mut Scratch, out: &mut Vec<Touch>) {
        let first = out.len();
        if let Near::Deep(found) = &near {
            return out.push(self.witness(found));
        }
        if !self.gather(near, scratch) {
            return;
        }
        let mut places = std::mem::take(&mut scratch.places);
        places.clear();
        let mut found = Found { touches: out, places: &mut places };
        self.corners_and_faces(0, scratch, &mut found);
        self.corners_and_faces(1, scratch, &mut found);
        self.lines(scratch, &mut found);
        self.points(scratch, &mut found);
        self.curves(scratch, &mut found);
        self.thin_out(first, &mut places, out);
        scratch.places = places;
    }

    /// Where the two are near each other. Few features are looked at one by one sooner than this is known.
    fn near(&self) -> Near {
        let [a, b] = self.solids;
        let round = |solid: &Solid| LOOKS * (solid.rims.len() + solid.cones.len());
        let many = a.corners.len() * b.faces.len()
            + b.corners.len() * a.faces.len()
            + a.edges.len() * b.edges.len()
            + round(a) * b.edges.len()
            + round(b) * a.edges.len()
            > MANY;
        if !many || self.solids.iter().any(|s| matches!(s.kind, Kind::Surface | Kind::Plane)) {
            return Near::Boxes;
        }
        let [pose_a, pose_b] = self.poses;
        let found =
            separation_up_to(self.reach, self.solids, pose_a, pose_b, &(pose_a.s - pose_b.s));
        if !found.distance.is_finite() {
            return Near::Boxes;
        }
        if found.distance > self.reach {
            return Near::Nothing;
        }
        if found.distance < -self.depth() {
            return Near::Deep(found);
        }
        let [round_a, round_b] =
            [0, 1].map(|k| Placed { solid: self.solids[k], pose: self.poses[k] }.round());
        let [p, q] = found.points.map(|p| found.normal.dot(&p));
        Near::Slab(Slab { normal: found.normal, low: p - round_a, high: q + round_b })
    }

    /// A touch made of the points of a separation, for pairs no features of which face each other.
    pub(crate) fn witness(&self, found: &Separation) -> Touch {
        let [a, b] = self.poses;
        let features = [
            Feature::Point(a.rot.tr_mul(&(found.points[0] - a.s))),
            Feature::Plane {
                point: b.rot.tr_mul(&(found.points[1] - b.s)),
                normal: b.rot.tr_mul(&found.normal),
            },
        ];
        Touch {
            bodies: self.bodies,
            features,
            round: [0, 1].map(|k| Placed { solid: self.solids[k], pose: self.poses[k] }.round()),
            side: 1.0,
            near: Vec3::zeros(),
            key: TouchKey { colliders: self.colliders, features: [WITNESS; 2] },
            pair: self.pair,
        }
    }

    /// A solid on a half space: its corners, rounded or not, and the lowest points of its rims. The plane has no end, so
    /// that every point of the solid is held by it.
    fn on_plane(&self, a: usize, out: &mut Vec<Touch>) {
        let (plane, pose) = (&self.solids[1 - a].faces[0], self.poses[1 - a]);
        self.over_plane(a, &(pose.rot * plane.n), &pose.point(&plane.p), out);
    }

    /// The same over the plane through `p` with the normal `n`, in the world.
    pub(crate) fn over_plane(&self, a: usize, n: &Vec3, p: &Vec3, out: &mut Vec<Touch>) {
        let solid = self.solids[a];
        let offset = n.dot(&(self.poses[a].s - p));
        // The plane in the body's frame: gap = n·p + offset − round.
        let n = self.poses[a].rot.tr_mul(n);
        if n.dot(&solid.middle) + offset - solid.radius > self.reach {
            return;
        }
        for (i, corner) in solid.corners.iter().enumerate() {
            if n.dot(&corner.p) + offset - corner.round <= self.reach
                && (!corner.mark || Self::is_flat(solid, i, &n, FLAT + self.spin() * self.h))
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
    pub(crate) fn is_flat(solid: &Solid, i: usize, n: &Vec3, sine: f64) -> bool {
        // Marks come first, four a rim.
        let axis = solid.rims[i / 4].axis;
        let along = n.dot(&axis);
        along < 0.0 && (n - axis * along).norm() < sine
    }

    /// Two features as a touch; `a` is the side of the first, the order is put right.
    pub(crate) fn touch(&self, a: usize, of_a: u32, of_b: u32) -> Touch {
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

    /// The smaller of the two solids sets the scale of small lengths.
    pub(crate) fn scale(&self) -> f64 {
        self.solids[0].radius.min(self.solids[1].radius)
    }

    /// Depth up to which features are taken for touching.
    pub(crate) fn depth(&self) -> f64 {
        let surface = self.solids.iter().any(|solid| solid.kind == Kind::Surface);
        self.reach.max(if surface { SHALLOW } else { DEEP } * self.scale())
    }

    /// How fast the two turn against each other at most, rad/s.
    pub(crate) fn spin(&self) -> f64 {
        self.twists[0].omega.norm() + self.twists[1].omega.norm()
    }

    /// By how much a touch lies beyond the reach of its features: a length, and a sine for each.
    pub(crate) fn beyond(
        &self,
        touch: &Touch,
        place: &Place,
        poses: [&Pose; 2],
    ) -> (f64, [f64; 2]) {
        beyond(self.solids, touch, place, poses)
    }

    /// Lists a touch if its features would meet within their reach: now, or where the gap closes.
    pub(crate) fn consider(&self, touch: Touch, angle: f64, out: &mut Found<'_>) {
        let place = touch.place(self.poses[0], self.poses[1]);
        if place.gap > self.reach || place.gap < -self.depth() {
            return;
        }
        let over = OVER * self.scale();
        let spin = self.spin();
        // A sharp feature against a rounded one has to be met exactly.
        let angles = [0, 1].map(|k| {
            let strict = touch.round[k] == 0.0 && touch.round[1 - k] > 0.0;
            if strict { STRICT } else { angle + 2.0 * spin * self.h }
        });
        let within = |beyond: (f64, [f64; 2]), more: f64, turn: f64| {
            beyond.0 <= over + more && (0..2).all(|k| beyond.1[k] <= angles[k] + turn)
        };
        if place.gap <= self.margin && within(self.beyond(&touch, &place, self.poses), 0.0, 0.0) {
            out.push(touch, place);
            return;
        }
        // Where it closes, by Newton's method on the motion at constant velocity.
        let now = place;
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
            out.push(touch, now);
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
    fn thin_out(&self, first: usize, places: &mut [Place], out: &mut Vec<Touch>) {
        if places.len() < 2 {
            return;
        }
        // The best separation among those whose normals are right: convex solids are not nearer than that.
        let mut least: Option<Place> = None;
        if places.iter().any(|place| place.gap < -OVER * self.scale()) {
            for (touch, place) in out[first..].iter().zip(&*places) {
                let (over, sines) = self.beyond(touch, place, self.poses);
                let holds = over <= OVER * self.scale() && sines.iter().all(|sine| *sine < STRICT);
                if holds && least.is_none_or(|least| place.gap > least.gap) {
                    least = Some(*place);
                }
            }
        }
        let near = MERGE * self.scale();
        let convex = self.solids.iter().all(|solid| solid.kind != Kind::Surface);
        let mut kept = 0;
        for i in 0..places.len() {
            let place = places[i];
            let wrong_way = convex
                && least.is_some_and(|least| {
                    place.gap < least.gap.min(0.0) - OVER * self.scale()
                        && place.normal.dot(&least.normal) < 0.9
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

/// Marks take part while the rim lies flat to this sine.
pub(crate) const FLAT: f64 = 0.02;
/// A rim that lies flat to this sine has no lowest point.
pub(crate) const EXACTLY_FLAT: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use gelenk_model::math::{Mat3, Quat};

    use super::*;
    use crate::crossing::separation;
    use crate::mesh::hull;

    /// SplitMix64: small, and the same everywhere.
    struct Random(u64);

    impl Random {
        fn between(&mut self, low: f64, high: f64) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            low + (high - low) * ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn vector(&mut self) -> Vec3 {
            Vec3::from_fn(|_, _| self.between(-1.0, 1.0))
        }

        fn rot(&mut self) -> Mat3 {
            Quat::from_scaled_axis(self.vector() * 3.0).to_rotation_matrix().into_inner()
        }

        /// A body like an egg that was cut, with some hundred faces.
        fn egg(&mut self) -> Solid {
            let axes = Vec3::new(0.1, 0.06, 0.03);
            let points: Vec<Vec3> = (0..80)
                .map(|_| self.vector().normalize().component_mul(&axes))
                .map(|p| Vec3::new(p.x, p.y, p.z.max(-0.01)))
                .collect();
            hull(&points).expect("an egg has a volume")
        }
    }

    /// Between the planes lies all that can touch: the list is the one of all features in the boxes.
    #[test]
    fn touches_of_many_features_lie_between_two_planes() {
        let mut random = Random(2003);
        let (mut listed, mut nothing) = (0, 0);
        for case in 0..400 {
            let [a, b] = [random.egg(), random.egg()];
            let solids = [&a, &b];
            let mut poses = [
                Pose { s: Vec3::zeros(), rot: random.rot() },
                Pose { s: random.vector().normalize(), rot: random.rot() },
            ];
            let far = separation(solids, &poses[0], &poses[1], &poses[1].s);
            // As deep as features are looked for, touching, or apart by more than the reach.
            let gap = random.between(-0.004, 0.006);
            poses[1].s += far.normal * (far.distance - gap);
            let twists = [0, 1].map(|_| Twist { s_dot: random.vector(), omega: random.vector() });
            let meeting = Meeting {
                solids,
                poses: [&poses[0], &poses[1]],
                twists: [&twists[0], &twists[1]],
                bodies: [0, 1],
                colliders: [0, 1],
                pair: 0,
                h: 1e-3,
                reach: 0.004,
                margin: 1e-6,
            };
            let mut scratch = Scratch::default();
            let (mut all, mut some) = (Vec::new(), Vec::new());
            meeting.list_near(Near::Boxes, &mut scratch, &mut all);
            match meeting.near() {
                Near::Boxes => panic!("case {case}: few features"),
                Near::Deep(found) => {
                    assert!(found.distance < -meeting.depth(), "case {case}: {gap} is not deep");
                    meeting.list_near(Near::Deep(found), &mut scratch, &mut some);
                    assert!((some[0].gap(&poses[0], &poses[1]) - found.distance).abs() < 1e-12);
                }
                Near::Nothing => {
                    assert!(gap > 0.004 - 1e-6, "case {case}: at {gap} nothing is near");
                    nothing += 1;
                }
                near @ Near::Slab(_) => {
                    meeting.list_near(near, &mut scratch, &mut some);
                    assert_eq!(all, some, "case {case}, gap {gap}");
                    listed += all.len();
                }
            }
        }
        assert!(listed > 100 && nothing > 30, "{listed} touches, {nothing} times nothing");
    }
}
