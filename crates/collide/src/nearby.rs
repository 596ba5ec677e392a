//! Pairs of colliders worth a look: a list made once that serves until something has moved far.
//!
//! Whoever asks looks at every pair of the list anew, so that it saves work and changes no result.

use gelenk_model::math::Vec3;
use gelenk_model::state::{Pose, Twist};

use crate::world::{Collider, World};

/// Boxes have room for the way of so many steps more,
const STEPS: f64 = 7.0;
/// and for this part of the solid's radius,
const SHARE: f64 = 0.05;
/// but for no more than this part of it, or fast bodies would be near all others.
const MOST: f64 = 0.3;

/// What two colliders are to each other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Between {
    /// Two with boxes, their numbers in the sweep.
    Boxes([u32; 2]),
    /// A solid, which of the two it is, over a plane, its number in [`Nearby::planes`].
    Plane { solid: usize, plane: usize },
}

/// A plane when the list was made, and while it serves.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    body: usize,
    pose: Pose,
    /// Its normal and a point of it in the world.
    pub(crate) n: Vec3,
    pub(crate) p: Vec3,
}

/// Two colliders that may come near each other while the list serves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    /// Their numbers, the first smaller.
    pub(crate) colliders: [u32; 2],
    pub(crate) kind: Between,
    /// Index into [`World::pairs`], once it is there.
    pub(crate) pair: Option<usize>,
}

/// Where a collider was when the list was made.
#[derive(Clone, Debug)]
struct Noted {
    body: usize,
    pose: Pose,
    /// Square of the largest distance of a point of it from the centre of mass.
    extent2: f64,
    /// How much its box was grown, m.
    skin: f64,
}

/// The list, and what it holds for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nearby {
    /// In the order of their colliders.
    pub(crate) pairs: Vec<Candidate>,
    /// The boxes that occur in `pairs`, ascending.
    pub(crate) boxes: Vec<u32>,
    /// All colliders with a box.
    noted: Vec<Noted>,
    pub(crate) planes: Vec<Ground>,
    /// Room of every box beside what motion takes, m.
    slack: f64,
}

/// What is asked for: where all bodies are and how much they need around them.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) poses: &'a [Pose],
    /// Velocities and the time for which they count.
    pub(crate) motion: Option<(&'a [Twist], f64)>,
    pub(crate) margin: f64,
}

impl Noted {
    /// Whether all points of the collider, with what they go in the step and `room`, are in its box of then. With d and v bounds on where they have
    /// gone and on their speed, d + h v ≤ 2 √(d²/2 + h² v²/2).
    #[inline(always)]
    fn holds(&self, pose: &Pose, motion: Option<(&Twist, f64)>, room: f64) -> bool {
        let left = self.skin - room;
        let mut square = square(pose, &self.pose, self.extent2);
        if let Some((twist, h)) = motion {
            let speed = twist.s_dot.norm_squared() + twist.omega.norm_squared() * self.extent2;
            square += h * h * speed;
        }
        left >= 0.0 && 4.0 * square <= left * left
    }
}

/// Square of the way between two poses and of their turn, the latter times `weight`.
#[inline(always)]
fn square(a: &Pose, b: &Pose, weight: f64) -> f64 {
    let (way, turn) = (a.s - b.s, a.rot - b.rot);
    way.norm_squared() + turn.norm_squared() * weight
}

impl Nearby {
    /// No list yet, for these colliders with a box.
    pub(crate) fn new<'a>(colliders: impl Iterator<Item = &'a Collider>) -> Self {
        let noted = colliders.map(|collider| Noted {
            body: collider.body.index(),
            pose: Pose::identity(),
            extent2: collider.solid.extent.powi(2),
            skin: 0.0,
        });
        Nearby { noted: noted.collect(), ..Nearby::default() }
    }

    /// Whether no pair but those of the list can have come near.
    fn serves(&self, asked: &Asked<'_>, room: f64) -> bool {
        let Asked { poses, motion, .. } = *asked;
        room <= self.slack
            && self.planes.iter().all(|plane| square(&poses[plane.body], &plane.pose, 1.0) == 0.0)
            && match motion {
                Some((twists, h)) => self.noted.iter().all(|noted| {
                    noted.holds(&poses[noted.body], Some((&twists[noted.body], h)), room)
                }),
                None => self.noted.iter().all(|noted| noted.holds(&poses[noted.body], None, room)),
            }
    }
}

impl World {
    /// Sees to it that `nearby` has every pair whose boxes, grown by half the margin and what they go, overlap.
    pub(crate) fn find_nearby(&mut self, asked: &Asked<'_>) {
        let h = asked.motion.map_or(0.0, |(_, h)| h);
        let room = 0.5 * asked.margin + self.gravity * h * h;
        if !(self.nearby_known && self.nearby.serves(asked, room)) {
            self.make_nearby(asked, room);
        }
    }

    /// Makes the list anew.
    fn make_nearby(&mut self, asked: &Asked<'_>, room: f64) {
        let mut nearby = std::mem::take(&mut self.nearby);
        let mut sweep = std::mem::take(&mut self.sweep);
        nearby.slack = if asked.motion.is_some() { 4.0 * room } else { nearby.slack.max(room) };
        nearby.pairs.clear();
        nearby.planes.clear();
        nearby.planes.extend(self.planes.iter().map(|&plane| self.ground(plane, asked.poses)));
        for (k, &i) in self.boxed.iter().enumerate() {
            let collider = &self.colliders[i as usize];
            let body = collider.body.index();
            let pose = asked.poses[body];
            let skin = self.skin(collider, asked, nearby.slack, nearby.noted[k].skin);
            let middle = pose.point(&collider.solid.middle);
            let half = collider.solid.half_box(&pose.rot).add_scalar(skin);
            sweep.set(k, &middle, &half);
            for (k, (&plane, Ground { n, p, .. })) in
                self.planes.iter().zip(&nearby.planes).enumerate()
            {
                let high = n.dot(&(middle - p));
                let low = collider.solid.radius.min(half.dot(&n.abs())) + skin + nearby.slack;
                if high <= low && self.may_touch(i, plane) {
                    let colliders = [i.min(plane), i.max(plane)];
                    let kind = Between::Plane { solid: usize::from(i > plane), plane: k };
                    nearby.pairs.push(Candidate { colliders, kind, pair: None });
                }
            }
            (nearby.noted[k].pose, nearby.noted[k].skin) = (pose, skin);
        }
        sweep.pairs(|k, l| {
            let colliders = [k, l].map(|k| self.boxed[k as usize]);
            if self.may_touch(colliders[0], colliders[1]) {
                let kind = Between::Boxes([k, l]);
                nearby.pairs.push(Candidate { colliders, kind, pair: None });
            }
        });
        nearby.pairs.sort_unstable_by_key(|pair| pair.colliders);
        nearby.boxes.clear();
        for pair in &nearby.pairs {
            if let Between::Boxes(boxes) = pair.kind {
                nearby.boxes.extend(boxes);
            }
        }
        nearby.boxes.sort_unstable();
        nearby.boxes.dedup();
        self.nearby = nearby;
        self.sweep = sweep;
        self.nearby_known = true;
    }

    /// How much a collider's box is grown; `known` is what it was before, which stays where velocities are not known.
    fn skin(&self, collider: &Collider, asked: &Asked<'_>, slack: f64, known: f64) -> f64 {
        if self.fixed[collider.body.index()] {
            return slack;
        }
        let radius = collider.solid.radius;
        let Some((twists, h)) = asked.motion else {
            return known.max(slack + SHARE * radius);
        };
        let way = self.way(collider, twists, h.abs());
        slack + way + f64::min(STEPS * way + SHARE * radius, MOST * radius)
    }

    /// The boxes of all colliders that are near others, grown by `room`.
    pub(crate) fn set_boxes(&mut self, poses: &[Pose], room: impl Fn(&World, &Collider) -> f64) {
        let mut sweep = std::mem::take(&mut self.sweep);
        for &k in &self.nearby.boxes {
            let collider = &self.colliders[self.boxed[k as usize] as usize];
            let pose = &poses[collider.body.index()];
            let half = collider.solid.half_box(&pose.rot).add_scalar(room(self, collider));
            sweep.set(k as usize, &pose.point(&collider.solid.middle), &half);
        }
        self.sweep = sweep;
    }

    /// A plane at the poses.
    fn ground(&self, plane: u32, poses: &[Pose]) -> Ground {
        let collider = &self.colliders[plane as usize];
        let (face, body) = (&collider.solid.faces[0], collider.body.index());
        let pose = poses[body];
        Ground { body, pose, n: pose.rot * face.n, p: pose.point(&face.p) }
    }

    /// Whether two colliders may touch.
    fn may_touch(&self, i: u32, j: u32) -> bool {
        let [a, b] = [i, j].map(|k| self.colliders[k as usize].body.index());
        self.filter.allows(a, b)
    }
}
