//! What a list of touches may have missed: overlaps at given poses, and the first crossing on the way between two.

use gelenk_model::math::{Quat, Vec3};
use gelenk_model::state::{Pose, Twist};
use nalgebra::Rotation3;

use crate::convex::{self, Separation, Support};
use crate::features::Scratch;
use crate::narrow::Meeting;
use crate::nearby::{Asked, Between, Ground};
use crate::solid::{Kind, Placed, Solid};
use crate::touch::Touch;
use crate::world::World;

/// A body on its way between two poses: the centre straight, the rotation about one axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Motion {
    from: Pose,
    /// Way of the centre.
    way: Vec3,
    /// Angle times axis, world.
    turn: Vec3,
}

impl Motion {
    pub(crate) fn new(from: &Pose, to: &Pose) -> Self {
        let between = Rotation3::from_matrix_unchecked(to.rot * from.rot.transpose());
        // The quaternion is exact near half turns too, where the matrix's antisymmetric part vanishes.
        let turn = Quat::from_rotation_matrix(&between).scaled_axis();
        Motion { from: *from, way: to.s - from.s, turn }
    }

    /// The pose at time t from 0 to 1.
    pub(crate) fn at(&self, t: f64) -> Pose {
        let turned = Rotation3::new(self.turn * t).into_inner();
        Pose { s: self.from.s + self.way * t, rot: turned * self.from.rot }
    }

    /// Bound on the rate at which points within `extent` of the centre move against n:
    /// −n·ṡ + extent |n × ω|, since (ω × r)·n = r·(n × ω).
    fn rate_against(&self, n: &Vec3, extent: f64) -> f64 {
        -n.dot(&self.way) + extent * n.cross(&self.turn).norm()
    }
}

/// A triangle at a pose.
struct Triangle<'a> {
    corners: &'a [Vec3; 3],
    pose: &'a Pose,
}

impl Support for Triangle<'_> {
    fn support(&self, d: &Vec3) -> Vec3 {
        let d = self.pose.rot.tr_mul(d);
        let mut best = &self.corners[0];
        for p in &self.corners[1..] {
            if d.dot(p) > d.dot(best) {
                best = p;
            }
        }
        self.pose.point(best)
    }
}

/// Two things on their way, with what tells their separation at given poses (radii included), starting from a normal.
struct Approach<'a> {
    motions: [Motion; 2],
    extents: [f64; 2],
    separation: &'a dyn Fn(&Pose, &Pose, &Vec3) -> Separation,
    /// A better one where features face each other, asked for when the two seem to be near.
    refined: &'a dyn Fn(&Pose, &Pose, Separation) -> Separation,
}

impl Approach<'_> {
    /// The time before `end` at which they come nearer than `tolerance`, by conservative advancement: from a separation
    /// d along n they need at least d / (bound on the rate at which they approach along n). \[Mirtich 1996\]
    ///
    /// d never exceeds the distance, so that nothing is missed. `None` also if they are that near at the start.
    fn crossing(&self, tolerance: f64, smallest: f64, end: f64) -> Option<(f64, Separation)> {
        let poses = |t: f64| self.motions.map(|motion| motion.at(t));
        let [a, b] = poses(0.0);
        let mut now = (self.separation)(&a, &b, &(a.s - b.s));
        let near = tolerance.max(smallest);
        if now.distance <= near {
            now = (self.refined)(&a, &b, now);
        }
        // NaN counts as near.
        if now.distance <= near || !now.distance.is_finite() {
            return None;
        }
        let mut t = 0.0;
        for _ in 0..MOST_STEPS {
            let n = now.normal;
            let rate = self.motions[0].rate_against(&n, self.extents[0])
                + self.motions[1].rate_against(&-n, self.extents[1]);
            if rate <= 0.0 {
                return None;
            }
            t += (now.distance - 0.5 * near) / rate;
            if t >= end {
                return None;
            }
            let [a, b] = poses(t);
            now = (self.separation)(&a, &b, &n);
            if now.distance <= near {
                now = (self.refined)(&a, &b, now);
            }
            if now.distance <= near || !now.distance.is_finite() {
                return Some((t, now));
            }
        }
        // So slow an approach is as good as there.
        Some((t, now))
    }
}

/// Steps of conservative advancement.
const MOST_STEPS: usize = 10_000;
/// Nearer than this part of the smaller radius counts as touching, whatever the tolerance.
const SMALLEST: f64 = 1e-10;

/// Two that overlap by more than this part of the smaller radius are sunk into each other: features that go in elsewhere make no difference. What touches keeps
/// within the tolerance of contact, far below it.
const SUNK: f64 = 1e-2;

/// Part of the smaller radius within which normals are refined.
const REFINED: f64 = 1e-2;

/// The separation of two solids, their radii included.
pub(crate) fn separation(solids: [&Solid; 2], a: &Pose, b: &Pose, hint: &Vec3) -> Separation {
    separation_up_to(f64::MAX, solids, a, b, hint)
}

/// The same, where it is not asked how far they are apart beyond `enough`: hulls of many corners take a tenth of the time then.
pub(crate) fn separation_up_to(
    enough: f64,
    solids: [&Solid; 2],
    a: &Pose,
    b: &Pose,
    hint: &Vec3,
) -> Separation {
    let [placed_a, placed_b] =
        [Placed { solid: solids[0], pose: a }, Placed { solid: solids[1], pose: b }];
    let mut found = match [solids[0].kind, solids[1].kind] {
        [_, Kind::Plane] => on_plane(&placed_a, solids[1], b),
        [Kind::Plane, _] => {
            let seen = on_plane(&placed_b, solids[0], a);
            let [p, q] = seen.points;
            Separation { normal: -seen.normal, distance: seen.distance, points: [q, p] }
        }
        _ => {
            let enough = enough + placed_a.round() + placed_b.round();
            convex::separation(&placed_a, &placed_b, hint, enough)
        }
    };
    found.distance -= placed_a.round() + placed_b.round();
    found
}

fn on_plane(placed: &Placed<'_>, plane: &Solid, pose: &Pose) -> Separation {
    let face = &plane.faces[0];
    let normal = pose.rot * face.n;
    let p = placed.support(&-normal);
    let distance = normal.dot(&(p - pose.point(&face.p)));
    Separation { normal, distance, points: [p, p - normal * distance] }
}

impl World {
    /// The touches at the poses whose overlap exceeds `tolerance`, in the order of their keys. A pair that overlaps more
    /// deeply than its features tell gives one touch along its least overlap.
    pub fn overlaps(&mut self, poses: &[Pose], tolerance: f64, out: &mut Vec<Touch>) {
        self.overlaps_where(poses, None, tolerance, |_, _, _| true, out);
    }

    /// The same of those pairs of colliders that `wanted` says, and but for those that were sunk into each other as deeply at the poses `before`.
    pub(crate) fn overlaps_where(
        &mut self,
        poses: &[Pose],
        before: Option<&[Pose]>,
        tolerance: f64,
        wanted: impl Fn(&World, u32, u32) -> bool,
        out: &mut Vec<Touch>,
    ) {
        out.clear();
        if self.is_empty() {
            return;
        }
        self.find_nearby(&Asked { poses, motion: None, margin: 0.0 });
        self.set_boxes(poses, |_, _| 0.0);
        let mut nearby = std::mem::take(&mut self.nearby);
        for candidate in &mut nearby.pairs {
            let [i, j] = candidate.colliders;
            let near = match candidate.kind {
                Between::Boxes([k, l]) => self.sweep.meet(k, l),
                Between::Plane { solid, plane } => {
                    let collider = &self.colliders[candidate.colliders[solid] as usize];
                    let Ground { n, p, .. } = &nearby.planes[plane];
                    // Half of it is left for rounding.
                    collider.solid.above(&poses[collider.body.index()], n, p) < -0.5 * tolerance
                }
            };
            if !near || !wanted(self, i, j) {
                continue;
            }
            let [of_a, of_b] = [i, j].map(|k| &self.colliders[k as usize]);
            let solids = [&of_a.solid, &of_b.solid];
            let [a, b] = [of_a, of_b].map(|collider| &poses[collider.body.index()]);
            let surface = solids.iter().any(|solid| solid.kind == Kind::Surface);
            let known = (!surface).then(|| separation_up_to(0.0, solids, a, b, &(a.s - b.s)));
            if known.is_some_and(|s| s.distance >= -tolerance) {
                continue;
            }
            if let (Some(known), Some(before)) = (known, before) {
                let [a, b] = [of_a, of_b].map(|collider| &before[collider.body.index()]);
                let sunk = SUNK * solids[0].radius.min(solids[1].radius);
                let was = separation_up_to(0.0, solids, a, b, &known.normal).distance;
                if was < -sunk && known.distance >= was - tolerance {
                    continue;
                }
            }
            let Some(pair) = self.pair_of(candidate) else { continue };
            let first = out.len();
            self.list_at(pair, [a, b], 0.0, out);
            let deep = |touch: &Touch| touch.gap(a, b) < -tolerance;
            let mut kept = first;
            for k in first..out.len() {
                if deep(&out[k]) {
                    out[kept] = out[k];
                    kept += 1;
                }
            }
            out.truncate(kept);
            if let (true, Some(known)) = (kept == first, known) {
                // The direction found may not be that of the least overlap.
                let known = self.refined(pair, [a, b], known);
                if known.distance < -tolerance {
                    out.push(self.witness(pair, &known, [a, b]));
                }
            }
        }
        self.nearby = nearby;
        out.sort_unstable_by_key(|touch| touch.key);
    }

    /// The best separation along the normals of features that face each other, or the one found: the library's normals
    /// on curved surfaces are not exact, and the separation along a wrong normal is too small.
    fn refined(&self, pair: usize, poses: [&Pose; 2], found: Separation) -> Separation {
        let about = &self.pairs[pair];
        let solids = about.colliders.map(|k| &self.colliders[k as usize].solid);
        let mut list = Vec::new();
        let reach = REFINED * solids[0].radius.min(solids[1].radius);
        self.meeting(pair, poses, [&Twist::zero(); 2], reach)
            .list(&mut Scratch::default(), &mut list);
        let [a, b] = [0, 1].map(|k| Placed { solid: solids[k], pose: poses[k] });
        let mut best = found;
        for touch in &list {
            let normal = touch.place(poses[0], poses[1]).normal;
            let mut next = match [solids[0].kind, solids[1].kind] {
                [Kind::Plane, _] | [_, Kind::Plane] => continue,
                _ => convex::along(&a, &b, normal),
            };
            next.distance -= a.round() + b.round();
            if next.distance > best.distance {
                best = next;
            }
        }
        best
    }

    /// A pair for the narrow phase, at rest or nearly so.
    fn meeting<'a>(
        &'a self,
        pair: usize,
        poses: [&'a Pose; 2],
        twists: [&'a Twist; 2],
        reach: f64,
    ) -> Meeting<'a> {
        let about = &self.pairs[pair];
        Meeting {
            solids: about.colliders.map(|k| &self.colliders[k as usize].solid),
            poses,
            twists,
            bodies: about.bodies,
            colliders: about.colliders,
            pair,
            h: 0.0,
            reach,
            margin: reach,
        }
    }

    /// Lists the touches of a pair at rest whose gap is at most `reach`.
    fn list_at(&mut self, pair: usize, poses: [&Pose; 2], reach: f64, out: &mut Vec<Touch>) {
        let mut scratch = std::mem::take(&mut self.scratch);
        self.meeting(pair, poses, [&Twist::zero(); 2], reach).list(&mut scratch, out);
        self.scratch = scratch;
    }

    /// A touch made of the points of a separation, for pairs no features of which face each other.
    fn witness(&self, pair: usize, found: &Separation, poses: [&Pose; 2]) -> Touch {
        self.meeting(pair, poses, [&Twist::zero(); 2], 0.0).witness(found)
    }

    /// The first crossing on the way between two sets of poses: centres straight, rotations about one axis each, time
    /// from 0 to 1. Gives the earliest time at which a pair that is not nearer than `tolerance` at the start comes nearer
    /// than that, and its touch there. Never misses one: see conservative advancement, \[Mirtich 1996\].
    ///
    /// Triangles of a surface count one by one; those that a solid already on the surface merely slides onto do not.
    pub fn first_crossing(
        &mut self,
        from: &[Pose],
        to: &[Pose],
        tolerance: f64,
    ) -> Option<(f64, Touch)> {
        self.first_crossing_where(from, to, tolerance, |_, _| true)
    }

    /// The same of those pairs for which `counts` holds.
    pub(crate) fn first_crossing_where(
        &mut self,
        from: &[Pose],
        to: &[Pose],
        tolerance: f64,
        counts: impl Fn(&World, usize) -> bool,
    ) -> Option<(f64, Touch)> {
        if self.is_empty() {
            return None;
        }
        self.find_near_between(from, to, tolerance);
        let near = std::mem::take(&mut self.near);
        let mut first: Option<(f64, Separation, usize)> = None;
        for &(i, j) in &near {
            let Some(pair) = self.pair(i, j).filter(|&pair| counts(self, pair)) else { continue };
            let end = first.map_or(1.0, |(t, ..)| t);
            let motions = self.pairs[pair].bodies.map(|k| Motion::new(&from[k], &to[k]));
            if let Some((t, found)) = self.pair_crossing(pair, &motions, tolerance, end) {
                first = Some((t, found, pair));
            }
        }
        self.near = near;
        let (t, found, pair) = first?;
        let [a, b] = self.pairs[pair].bodies.map(|k| Motion::new(&from[k], &to[k]).at(t));
        let mut list = std::mem::take(&mut self.list);
        list.clear();
        let near = tolerance.max(found.distance);
        self.list_at(pair, [&a, &b], near, &mut list);
        let nearest = list.iter().copied().min_by(|x, y| {
            (x.gap(&a, &b), x.key)
                .partial_cmp(&(y.gap(&a, &b), y.key))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        self.list = list;
        // Between two features none may face the other to the last digit.
        let nearest = nearest.filter(|touch| touch.gap(&a, &b) <= near);
        Some((t, nearest.unwrap_or_else(|| self.witness(pair, &found, [&a, &b]))))
    }

    /// The crossing of one pair before `end`.
    fn pair_crossing(
        &self,
        pair: usize,
        motions: &[Motion; 2],
        tolerance: f64,
        end: f64,
    ) -> Option<(f64, Separation)> {
        let solids = self.pairs[pair].colliders.map(|k| &self.colliders[k as usize].solid);
        let smallest = SMALLEST * solids[0].radius.min(solids[1].radius);
        let s = solids.iter().position(|solid| solid.kind == Kind::Surface);
        let Some((s, surface)) = s.and_then(|s| Some((s, solids[s].surface.as_ref()?))) else {
            let approach = Approach {
                motions: *motions,
                // A plane has no extent of its own: its body is fixed.
                extents: solids
                    .map(|solid| if solid.kind == Kind::Plane { 0.0 } else { solid.extent }),
                separation: &|a, b, hint| separation(solids, a, b, hint),
                refined: &|a, b, found| self.refined(pair, [a, b], found),
            };
            return approach.crossing(tolerance, smallest, end);
        };
        let mover = 1 - s;
        let solid = solids[mover];
        let (low, high) = swept_box(solid, &motions[mover], tolerance);
        let ground = motions[s].from;
        let to_ground = ground.rot.transpose();
        let middle = to_ground * ((low + high) / 2.0 - ground.s);
        let half = to_ground.abs() * ((high - low) / 2.0);
        let mut triangles = Vec::new();
        surface.tree.overlapping(&(middle - half), &(middle + half), &mut triangles);
        let order = |x: Separation| {
            if s == 1 {
                return x;
            }
            let [p, q] = x.points;
            Separation { normal: -x.normal, distance: x.distance, points: [q, p] }
        };
        let from_mover = |t: usize, at: &Pose, ground: &Pose, hint: &Vec3| {
            let placed = Placed { solid, pose: at };
            let triangle = Triangle { corners: &surface.triangles[t], pose: ground };
            let mut found = convex::separation(&placed, &triangle, hint, f64::MAX);
            found.distance -= placed.round();
            found
        };
        let start = motions[mover].from;
        let is_near = |t: usize| {
            from_mover(t, &start, &ground, &(start.s - ground.s)).distance
                <= tolerance.max(smallest)
        };
        let on_it = triangles.iter().any(|&t| is_near(t as usize));
        let last = motions[mover].at(1.0);
        let mut first: Option<(f64, Separation)> = None;
        for &t in &triangles {
            let t = t as usize;
            if on_it {
                // A solid that slides over the surface has to go below the triangle's plane.
                let face = &solids[s].faces[t];
                let placed = Placed { solid, pose: &last };
                let n = ground.rot * face.n;
                let lowest = n.dot(&(placed.support(&-n) - ground.point(&face.p))) - placed.round();
                if lowest > -tolerance.max(smallest) {
                    continue;
                }
            }
            let approach = Approach {
                motions: [motions[mover], motions[s]],
                extents: [solid.extent, 0.0],
                separation: &|a, b, hint| from_mover(t, a, b, hint),
                refined: &|_, _, found| found,
            };
            let end = first.map_or(end, |(t, _)| t);
            if let Some(found) = approach.crossing(tolerance, smallest, end) {
                first = Some(found);
            }
        }
        first.map(|(t, found)| (t, order(found)))
    }

    /// Fills `near` with the pairs whose boxes around the whole way, grown by the tolerance, overlap.
    fn find_near_between(&mut self, from: &[Pose], to: &[Pose], tolerance: f64) {
        let mut near = std::mem::take(&mut self.near);
        let mut sweep = std::mem::take(&mut self.sweep);
        near.clear();
        for (k, &i) in self.boxed.iter().enumerate() {
            let collider = &self.colliders[i as usize];
            let body = collider.body.index();
            let motion = Motion::new(&from[body], &to[body]);
            let (low, high) = swept_box(&collider.solid, &motion, tolerance);
            sweep.set(k, &((low + high) / 2.0), &((high - low) / 2.0));
            for &plane in &self.planes {
                let other = &self.colliders[plane as usize];
                let face = &other.solid.faces[0];
                let at = &from[other.body.index()];
                let n = at.rot * face.n;
                let middle = (low + high) / 2.0 - at.point(&face.p);
                if n.dot(&middle) <= ((high - low) / 2.0).dot(&n.abs()) + tolerance {
                    near.push((i.min(plane), i.max(plane)));
                }
            }
        }
        let boxed = &self.boxed;
        sweep.pairs(|i, j| near.push((boxed[i as usize], boxed[j as usize])));
        // The order must not depend on the past, since of two crossings at the same time the first one wins.
        near.sort_unstable();
        self.near = near;
        self.sweep = sweep;
    }
}

/// A box around everything a solid passes on its way, grown by `room`.
fn swept_box(solid: &Solid, motion: &Motion, room: f64) -> (Vec3, Vec3) {
    let (p, q) = (motion.from.point(&solid.middle), motion.at(1.0).point(&solid.middle));
    // The middle goes on an arc about the centre of mass, which leaves its chord by at most R (1 − cos(φ/2)).
    let half_turn = (motion.turn.norm() / 2.0).min(std::f64::consts::PI);
    let sag = solid.middle.norm() * (1.0 - half_turn.cos());
    let room = room + solid.radius + sag;
    (p.inf(&q).add_scalar(-room), p.sup(&q).add_scalar(room))
}
