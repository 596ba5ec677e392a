//! Which bodies touch: contacts enter and leave the rows between steps.

use gelenk_collide::{Touch, World};
use gelenk_model::math::Vec3;
use gelenk_model::state::{ContactMemory, State};
use gelenk_model::{Model, Pose, Twist};

use crate::contact::Contact;
use crate::method::Method;
use crate::scratch::Scratch;
use crate::solver::Anderson;

/// Features nearer than this many tolerances are looked at even if nothing moves.
const MARGIN: f64 = 4.0;

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
}

impl Touching {
    /// None where nothing can touch.
    pub(crate) fn new(model: &Model) -> Option<Self> {
        let world = World::new(model).ok().filter(|world| !world.is_empty())?;
        let active = vec![true; model.joints.len()];
        Some(Touching { world, near: Vec::new(), contacts: Vec::new(), active })
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

impl Scratch {
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
        let tolerance = method.tolerance.max(2.0 * bodies.position_floor());
        let Touching { world, near, contacts, .. } = &mut **touching;
        world.touches(&bodies.poses, &bodies.twists, h, MARGIN * tolerance, near);
        contacts.clear();
        for touch in near.iter() {
            let gap = touch.gap(&bodies.poses[touch.bodies[0]], &bodies.poses[touch.bodies[1]]);
            if all || gap <= tolerance {
                let key = key(touch);
                let known = state.contacts.binary_search_by_key(&key, |memory| memory.key);
                let fresh =
                    ContactMemory { key, impulse: [0.0; 6], slid: Vec3::zeros(), sticks: false };
                let memory = known.map_or(fresh, |at| state.contacts[at]);
                contacts.push(Contact::new(*touch, world.pairs()[touch.pair].values, memory));
            }
        }
        if rows.set_contacts(contacts) {
            self.direct = None;
            self.anderson = Anderson::new(self.rows.impulse.len());
        }
        self.choose_path();
    }
}
