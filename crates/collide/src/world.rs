//! The world of colliders: built once from a model, asked at every step.

use gelenk_model::body::BodyId;
use gelenk_model::contact::{ContactValues, MaterialId};
use gelenk_model::model::Model;
use gelenk_model::state::{Pose, Twist};
use rustc_hash::FxHashMap;

use crate::broad::Sweep;
use crate::build;
use crate::error::CollideError;
use crate::fast;
use crate::features::Scratch;
use crate::filter::Filter;
use crate::narrow::{self, Meeting};
use crate::nearby::{Asked, Between, Candidate, Ground, Nearby};
use crate::solid::{Kind, Solid, index};
use crate::touch::Touch;

/// A shape that takes part in contact.
#[derive(Clone, Debug)]
pub struct Collider {
    /// Its body.
    pub body: BodyId,
    /// The number of the shape on the body ([`Body::shapes`](gelenk_model::Body::shapes)).
    pub shape: usize,
    /// Its material.
    pub material: Option<MaterialId>,
    pub(crate) solid: Solid,
}

/// Two colliders that have come near each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Indices of the bodies.
    pub bodies: [usize; 2],
    /// Numbers of the shapes on them.
    pub shapes: [usize; 2],
    /// Numbers of the colliders, the first smaller.
    pub colliders: [u32; 2],
    /// Friction and restitution between them.
    pub values: ContactValues,
}

/// Everything that can touch.
#[derive(Clone, Debug)]
pub struct World {
    pub(crate) colliders: Vec<Collider>,
    /// Half spaces, which have no box.
    pub(crate) planes: Vec<u32>,
    /// Colliders with a box, by their number in the sweep.
    pub(crate) boxed: Vec<u32>,
    pub(crate) pairs: Vec<Pair>,
    /// Index into `pairs`, or `NEVER`.
    found: FxHashMap<(u32, u32), u32>,
    pub(crate) filter: Filter,
    contact: gelenk_model::contact::ContactSettings,
    pub(crate) fixed: Vec<bool>,
    pub(crate) gravity: f64,
    empty: bool,
    /// Half the thickness of the thinnest solid, m.
    pub(crate) thinnest: f64,
    pub(crate) sweep: Sweep,
    /// Pairs that may be near, and whether they have been found.
    pub(crate) nearby: Nearby,
    pub(crate) nearby_known: bool,
    pub(crate) near: Vec<(u32, u32)>,
    pub(crate) scratch: Scratch,
    pub(crate) list: Vec<Touch>,
}

/// Marks a pair that may not touch.
const NEVER: u32 = u32::MAX;

impl World {
    /// Reads the shapes of all bodies that take part in contact.
    pub fn new(model: &Model) -> Result<World, CollideError> {
        let mut colliders = Vec::new();
        for (i, body) in (0..).zip(&model.bodies) {
            if !body.contact.collide {
                continue;
            }
            for (number, shape) in body.shapes.iter().enumerate() {
                if shape.physical {
                    colliders.push(Collider {
                        body: BodyId(i),
                        shape: number,
                        material: shape.material.or(body.contact.material),
                        solid: build::solid(body, number, shape)?,
                    });
                }
            }
        }
        let numbers = |plane: bool| -> Vec<u32> {
            (0..)
                .zip(&colliders)
                .filter(|(_, c)| (c.solid.kind == Kind::Plane) == plane)
                .map(|(i, _)| i)
                .collect()
        };
        let (planes, boxed) = (numbers(true), numbers(false));
        let filter = Filter::new(model, &[]);
        let mut bodies: Vec<usize> = colliders.iter().map(|c| c.body.index()).collect();
        bodies.dedup();
        let can_touch = |(k, &a): (usize, &usize)| bodies[..k].iter().any(|&b| filter.allows(a, b));
        let empty = !bodies.iter().enumerate().any(can_touch);
        Ok(World {
            sweep: Sweep::new(boxed.len()),
            nearby: Nearby::new(boxed.iter().map(|&i| &colliders[i as usize])),
            nearby_known: false,
            thinnest: fast::thinnest(&colliders),
            colliders,
            planes,
            boxed,
            pairs: Vec::new(),
            found: FxHashMap::default(),
            filter,
            contact: model.contact.clone(),
            fixed: model.bodies.iter().map(|b| b.fixed).collect(),
            gravity: model.gravity.norm(),
            empty,
            near: Vec::new(),
            scratch: Scratch::default(),
            list: Vec::new(),
        })
    }

    /// Whether no pair can ever touch.
    pub fn is_empty(&self) -> bool {
        self.empty
    }

    /// The shapes that take part in contact.
    pub fn colliders(&self) -> &[Collider] {
        &self.colliders
    }

    /// The pairs that have come near each other so far; [`Touch::pair`] counts in this list, which only grows.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Takes note of the joints that are there: bodies whose joint has broken or been removed may touch.
    pub fn set_joints(&mut self, model: &Model, active: &[bool]) {
        self.filter = Filter::new(model, active);
        self.found.clear();
        self.nearby_known = false;
        for (i, pair) in (0..).zip(&self.pairs) {
            let allowed = self.filter.allows(pair.bodies[0], pair.bodies[1]);
            self.found.insert(pair.colliders.into(), if allowed { i } else { NEVER });
        }
    }

    /// Whether a joint connects the bodies of a touch, or what they are welded to, so that it cannot part them. (From the ground it can.)
    pub fn are_linked(&self, touch: &Touch) -> bool {
        let open = touch
            .key
            .colliders
            .iter()
            .any(|&i| matches!(self.colliders[i as usize].solid.kind, Kind::Plane));
        !open && self.filter.links(touch.bodies[0], touch.bodies[1])
    }

    /// The index of a pair in [`World::pairs`], unless its colliders may not touch.
    pub(crate) fn pair(&mut self, i: u32, j: u32) -> Option<usize> {
        if let Some(&known) = self.found.get(&(i, j)) {
            return (known != NEVER).then_some(known as usize);
        }
        let [a, b] = [i, j].map(|k| &self.colliders[k as usize]);
        let bodies = [a.body.index(), b.body.index()];
        if !self.filter.allows(bodies[0], bodies[1]) {
            self.found.insert((i, j), NEVER);
            return None;
        }
        let number = self.pairs.len();
        self.found.insert((i, j), index(number));
        self.pairs.push(Pair {
            bodies,
            shapes: [a.shape, b.shape],
            colliders: [i, j],
            values: self.contact.values(a.material, b.material),
        });
        Some(number)
    }

    /// The same of a pair of the list.
    pub(crate) fn pair_of(&mut self, candidate: &mut Candidate) -> Option<usize> {
        if candidate.pair.is_none() {
            let [i, j] = candidate.colliders;
            candidate.pair = self.pair(i, j);
        }
        candidate.pair
    }

    /// Bound on the way a point of the collider goes in h: h (|ṡ| + |ω| extent + |g| h).
    pub(crate) fn way(&self, collider: &Collider, twists: &[Twist], h: f64) -> f64 {
        let i = collider.body.index();
        if self.fixed[i] {
            return 0.0;
        }
        let twist = &twists[i];
        let spin = twist.omega.norm() * collider.solid.extent;
        h * (twist.s_dot.norm() + spin + self.gravity * h)
    }

    /// Lists all touches whose gap can become zero within `h`, in the order of their keys: broad phase on boxes around
    /// what each collider can reach, then all features nearer than `margin` and what the pair can move in h,
    /// h (|ṡ| + |ω| extent + |g| h) of both bodies.
    ///
    /// Features that are apart by more than `margin` are looked at where they would meet at their present velocity, so
    /// that a corner that passes beside a face is not caught by its plane.
    pub fn touches(
        &mut self,
        poses: &[Pose],
        twists: &[Twist],
        h: f64,
        margin: f64,
        out: &mut Vec<Touch>,
    ) {
        out.clear();
        if self.empty {
            return;
        }
        self.find_nearby(&Asked { poses, motion: Some((twists, h)), margin });
        self.set_boxes(poses, |world, collider| margin / 2.0 + world.way(collider, twists, h));
        let mut nearby = std::mem::take(&mut self.nearby);
        let mut scratch = std::mem::take(&mut self.scratch);
        // Keys begin with the colliders, in the order of which the pairs are.
        for candidate in &mut nearby.pairs {
            if let Between::Boxes([k, l]) = candidate.kind
                && !self.sweep.meet(k, l)
            {
                continue;
            }
            let Some(pair) = self.pair_of(candidate) else { continue };
            let [i, j] = candidate.colliders;
            let [a, b] = [i, j].map(|k| &self.colliders[k as usize]);
            let bodies = [a.body.index(), b.body.index()];
            let reach = margin + self.way(a, twists, h) + self.way(b, twists, h);
            let meeting = Meeting {
                solids: [&a.solid, &b.solid],
                poses: bodies.map(|k| &poses[k]),
                twists: bodies.map(|k| &twists[k]),
                bodies,
                colliders: [i, j],
                pair,
                h,
                reach,
                margin,
            };
            let first = out.len();
            match candidate.kind {
                Between::Boxes(_) => meeting.list(&mut scratch, out),
                Between::Plane { solid, plane } => {
                    let Ground { n, p, .. } = &nearby.planes[plane];
                    meeting.over_plane(solid, n, p, out);
                }
            }
            out[first..].sort_unstable_by_key(|touch| touch.key);
        }
        self.scratch = scratch;
        self.nearby = nearby;
    }

    /// Whether two features have closest points at these poses, or the lines and cones they lie on. No plane touches both a cone and a line that makes a
    /// smaller angle with its axis than its side: the line comes ever nearer to the cone, or goes into it. [`Touch::place`] is a number there, and no more.
    pub fn has_place(&self, touch: &Touch, a: &Pose, b: &Pose) -> bool {
        let solids = touch.key.colliders.map(|k| &self.colliders[k as usize].solid);
        let (_, sines) = narrow::beyond(solids, touch, &touch.place(a, b), [a, b]);
        sines.iter().all(|sine| sine.is_finite())
    }

    /// Whether the closest points of a touch lie within the faces, edges and rims it stands for at these poses, up to the
    /// length `over`, m, and the sine `over`/(radius of the smaller solid).
    pub fn holds(&self, touch: &Touch, a: &Pose, b: &Pose, over: f64) -> bool {
        let solids = touch.key.colliders.map(|k| &self.colliders[k as usize].solid);
        let (length, sines) = narrow::beyond(solids, touch, &touch.place(a, b), [a, b]);
        let scale = solids[0].radius.min(solids[1].radius);
        length <= over && sines.iter().all(|sine| sine * scale <= over)
    }
}
