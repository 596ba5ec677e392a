//! Which bodies touch: contacts enter and leave the rows between steps.

use gelenk_collide::{Touch, World};
use gelenk_model::math::Vec3;
use gelenk_model::state::{ContactMemory, State};
use gelenk_model::{BodyId, ContactForce, Model, Pose, Twist};

use crate::bounds::Mode;
use crate::contact::Contact;
use crate::method::{Landing, Method};
use crate::scratch::Scratch;

/// Features nearer than this many tolerances are looked at even if nothing moves.
const MARGIN: f64 = 4.0;

/// Overlaps of more than this many tolerances are looked for after a step; contacts keep within one.
const OVERLAP: f64 = 1.01;

/// What can touch, and memory to find what does.
#[derive(Clone, Debug)]
pub(crate) struct Touching {
    pub world: World,
    /// What can touch within the step.
    pub near: Vec<Touch>,
    /// What touches now.
    contacts: Vec<Contact>,
    /// The joints there were when the world was told.
    active: Vec<bool>,
    /// Poses before a step.
    pub from: Vec<Pose>,
    /// What has gone into something else within the step.
    pub unseen: Vec<Touch>,
    /// What no list had, found inside something else: it is listed until the running part ends.
    extra: Vec<Touch>,
}

impl Touching {
    /// None where nothing can touch. ([`Simulation`](crate::Simulation) refuses shapes that cannot take part.)
    pub(crate) fn new(model: &Model) -> Option<Self> {
        let world = World::new(model).ok().filter(|world| !world.is_empty())?;
        let active = vec![true; model.joints.len()];
        let from = vec![Pose::identity(); model.n_bodies()];
        Some(Touching {
            world,
            near: Vec::new(),
            contacts: Vec::new(),
            active,
            from,
            unseen: Vec::new(),
            extra: Vec::new(),
        })
    }
}

/// What a step has gone into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nothing that was not listed.
    All,
    /// Something that is listed now.
    More,
    /// Something that was beside it and behind its plane when the step began, as where a ball rolls over one edge onto the face behind the
    /// next, or that had no place on it at all, as where a capsule comes to lie along the side of a cone: the way there was too long to be seen.
    Beside,
}

impl Touching {
    /// Whether all that may touch within the step is on planes, which have no end: there a touch that is listed holds wherever it is.
    pub(crate) fn is_plain(&self) -> bool {
        self.near.iter().all(|touch| self.world.is_on_plane(touch))
    }
}

/// C = −gap of a touch and its rate.
pub(crate) fn place(touch: &Touch, poses: &[Pose], twists: &[Twist]) -> (f64, f64) {
    let place = touch.place(&poses[touch.bodies[0]], &poses[touch.bodies[1]]);
    let velocity = |k: usize| {
        let body = touch.bodies[k];
        twists[body].s_dot + twists[body].omega.cross(&(place.points[k] - poses[body].s))
    };
    (-place.gap, -place.normal.dot(&(velocity(0) - velocity(1))))
}

/// The name of a touch as a state keeps it.
pub(crate) fn key(touch: &Touch) -> [u32; 4] {
    let [a, b] = touch.key.colliders;
    let [c, d] = touch.key.features;
    [a, b, c, d]
}

/// Contact forces of a step, summed over its parts and impacts.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContactLog {
    /// By key, in order.
    keys: Vec<[u32; 4]>,
    forces: Vec<ContactForce>,
    /// Deepest overlap after a part of a step so far.
    pub worst: Option<f64>,
}

impl ContactLog {
    pub(crate) fn begin_step(&mut self) {
        self.keys.clear();
        self.forces.clear();
    }

    /// Shows what a step before gave; the next one begins anew.
    pub(crate) fn restore(&mut self, forces: &[ContactForce], worst: Option<f64>) {
        self.begin_step();
        self.forces.extend_from_slice(forces);
        self.worst = worst;
    }

    /// Adds what contacts gave in a part of the step.
    pub(crate) fn add(&mut self, contacts: &[Contact]) {
        for contact in contacts.iter().filter(|contact| contact.given != Vec3::zeros()) {
            let key = contact.memory.key;
            let gap = contact.place.gap;
            self.worst = Some(self.worst.map_or(-gap, |worst| worst.max(-gap)).max(0.0));
            let at = match self.keys.binary_search(&key) {
                Ok(at) => at,
                Err(at) => {
                    let body = |i: usize| BodyId(u32::try_from(i).unwrap_or(u32::MAX));
                    self.keys.insert(at, key);
                    self.forces.insert(
                        at,
                        ContactForce {
                            bodies: contact.touch.bodies.map(body),
                            point: Vec3::zeros(),
                            normal: Vec3::zeros(),
                            force: Vec3::zeros(),
                            gap: 0.0,
                        },
                    );
                    at
                }
            };
            let own = &mut self.forces[at];
            (own.point, own.normal, own.gap) = (contact.point(), contact.place.normal, gap);
            own.force += contact.given;
        }
    }

    /// Ends a step of length `h`: impulses become mean forces.
    pub(crate) fn end_step(&mut self, h: f64) {
        for own in &mut self.forces {
            own.force /= h;
        }
    }

    pub(crate) fn forces(&self) -> &[ContactForce] {
        &self.forces
    }
}

impl Scratch {
    /// After a step from `saved`: the part of it after which something first comes within the tolerance of something else, if bodies
    /// have moved so far that features may have passed through each other unseen.
    pub(crate) fn crossing(&mut self, method: &Method) -> Option<f64> {
        let Scratch { bodies, touching: Some(touching), .. } = self else { return None };
        let Touching { world, from, .. } = &mut **touching;
        let tolerance = method.contact_tolerance.max(2.0 * bodies.position_floor());
        // What touches is held within the tolerance already.
        let (part, _) = world.first_passing(from, &bodies.poses, 2.0 * tolerance)?;
        (part > 0.0 && part < 1.0).then_some(part)
    }

    /// After a step from `saved`: what has gone into something else on the way. Velocities change within a step,
    /// so that features may meet that would not have met with those of its start. What was not listed is, from now on.
    ///
    /// `found` says that [`find_unseen`](Scratch::find_unseen) has been here.
    pub(crate) fn list_unseen(&mut self, method: &Method, found: bool) -> Seen {
        if !found {
            self.find_unseen(method);
        }
        let Scratch { rows, bodies, touching: Some(touching), .. } = self else { return Seen::All };
        let Touching { world, from, unseen, near, extra, .. } = &mut **touching;
        if unseen.is_empty() {
            return Seen::All;
        }
        let tolerance = method.contact_tolerance.max(2.0 * bodies.position_floor());
        let mut seen = Seen::All;
        for touch in unseen.iter() {
            // Both lists are in the order of their keys.
            if near.binary_search_by_key(&touch.key, |other| other.key).is_ok()
                || extra.iter().any(|other| other.key == touch.key)
            {
                // It was watched, but not where it is now: beside its face at the end of the step.
                let own = rows.contacts.iter().find(|contact| contact.touch.key == touch.key);
                if own.is_none_or(|contact| rows.mode[contact.first_block] == Mode::Open) {
                    return Seen::Beside;
                }
                continue;
            }
            let [a, b] = touch.bodies.map(|body| &from[body]);
            let behind = touch.gap(a, b) < -tolerance && !world.holds(touch, a, b, tolerance);
            if behind || !world.has_place(touch, a, b) {
                return Seen::Beside;
            }
            extra.push(*touch);
            seen = Seen::More;
        }
        seen
    }

    /// What has gone into something else since `saved`, in [`Touching::unseen`].
    pub(crate) fn find_unseen(&mut self, method: &Method) {
        let tolerance = method.contact_tolerance.max(2.0 * self.bodies.position_floor());
        let Scratch { bodies, touching: Some(touching), .. } = self else { return };
        let Touching { world, from, unseen, .. } = &mut **touching;
        world.overlaps_after(from, &bodies.poses, OVERLAP * tolerance, unseen);
    }

    /// Notes the poses that the bodies have read as those before a step.
    pub(crate) fn note_poses(&mut self) {
        if let Some(touching) = &mut self.touching {
            touching.from.copy_from_slice(&self.bodies.poses);
        }
    }

    /// Begins a part of a step.
    pub(crate) fn forget_unseen(&mut self) {
        if let Some(touching) = &mut self.touching {
            touching.extra.clear();
        }
    }

    /// Finds what touches, or will within `h`, at `state`: the rows get a block for each contact. With `all`, those that do not
    /// touch yet have one too.
    pub(crate) fn find_contacts(
        &mut self,
        model: &Model,
        method: &Method,
        state: &State,
        h: f64,
        all: bool,
    ) {
        if self.touching.is_none() {
            return;
        }
        if self.bodies.read_state(state) {
            self.forget_poses();
        }
        let Scratch { bodies, rows, touching: Some(touching), .. } = self else { return };
        if touching.active != state.active {
            touching.active.clone_from(&state.active);
            touching.world.set_joints(model, &state.active);
        }
        let tolerance = method.contact_tolerance.max(2.0 * bodies.position_floor());
        let Touching { world, near, contacts, extra, .. } = &mut **touching;
        world.touches(&bodies.poses, &bodies.twists, h, MARGIN * tolerance, near);
        world.drop_false(&bodies.poses, MARGIN * tolerance, near);
        for touch in extra.iter() {
            let [a, b] = touch.bodies.map(|body| &bodies.poses[body]);
            if let Err(at) = near.binary_search_by_key(&touch.key, |other| other.key)
                && world.has_place(touch, a, b)
            {
                near.insert(at, *touch);
            }
        }
        rows.overlap_allowed = tolerance;
        contacts.clear();
        // Mostly those that touch are those that are remembered.
        let mut next = 0;
        for touch in near.iter() {
            let gap = || {
                let [a, b] = touch.bodies.map(|body| &bodies.poses[body]);
                touch.gap(a, b)
            };
            if all || gap() <= tolerance {
                let key = key(touch);
                let known = if state.contacts.get(next).is_some_and(|memory| memory.key == key) {
                    Ok(next)
                } else {
                    state.contacts.binary_search_by_key(&key, |memory| memory.key)
                };
                next = known.map_or_else(|at| at, |at| at + 1);
                let fresh =
                    ContactMemory { key, impulse: [0.0; 6], slid: Vec3::zeros(), sticks: false };
                let memory = known.map_or(fresh, |at| state.contacts[at]);
                contacts.push(Contact::new(*touch, world.pairs()[touch.pair].values, memory));
            }
        }
        rows.at_once = all && method.landing != Landing::Auto;
        if rows.set_contacts(contacts) {
            self.direct = None;
            self.anderson.reset();
        }
        self.choose_path();
    }
}
