//! Mechanisms held together by ball joints alone: chains, trees and loops of links.
//!
//! The same equations as everywhere, laid out for speed: a [`Group`] holds all that four bodies need in one place, its
//! [`Slot`]s are the joint points on them, and a joint's K is 3 × 3. Rows of numbers and Jacobians are not needed. The direct
//! solver comes to the same numbers as with the general rows, but for rounding; sweeps to the same within tolerance.
#![expect(clippy::inline_always, reason = "the hot loops: measured")]

mod direct;
mod factor;
mod group;
mod sweep;

use gelenk_model::joint::JointKind;
use gelenk_model::math::Vec3;
use gelenk_model::rows::{RowBlock, RowKind};
use gelenk_model::{BodyId, Flight, Model, State, Twist, Wrench};

use crate::error::StepError;
use crate::flight::Top;
use crate::lanes::{LANES, V};
use crate::scratch::Bodies;
use factor::Factor;
use group::{Group, Slot, groups};
use sweep::{Moved, Pair, pairs};

/// Ball joints and the bodies they hold.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "what is ready, and what there is")]
pub(crate) struct Balls {
    /// In elimination order.
    joints: Vec<Joint>,
    /// Joints in the order of the model's row blocks, for sweeps; which of them each joint is; and how far impulses have moved the links, and the ground.
    pairs: Vec<Pair>,
    pair_of: Vec<usize>,
    moved: Vec<Moved>,
    /// Links four at a time, and their ends.
    groups: Vec<Group>,
    slots: Vec<Slot>,
    /// Impulses of the last solve, not applied yet, then right sides of the next one; as `joints`, and one more.
    x: Vec<Vec3>,
    /// Errors of a look; as `x`.
    e: Vec<Vec3>,
    /// Impulses of the running correction, N s; as `joints`.
    p: Vec<Vec3>,
    /// |C|² when last looked at; as `joints`.
    gap_squared: Vec<f64>,
    /// The errors wanted at t+h, unless they are 0 as after a whole step; as `joints`.
    target: Vec<Vec3>,
    /// The part of C that stands still: points of fixed bodies, for the joints that have one.
    still: Vec<(usize, Vec3)>,
    /// Whether a joint has a tolerance of its own.
    own_tolerances: bool,
    factor: Factor,
    /// Entries of the factor for each pair of slots of a group, in the order of [`assemble`](Balls::assemble); constant.
    couplings: Vec<[usize; LANES]>,
    /// Points of fixed bodies: joint, body, place in its frame, sign; constant.
    anchors: Vec<(usize, usize, Vec3, f64)>,
    /// Whether all links are spheres or thin rods; constant.
    evenly: bool,
    /// Whether every body that moves is a link; constant.
    whole: bool,
    gravity: Vec3,
    /// Time of the state written last, and its kinetic and potential energy, J; none where the groups have another.
    written: Option<(f64, f64, f64)>,
    /// Whether groups and joints belong to the poses of the bodies.
    ready: bool,
    /// Whether `factor` does.
    factor_ready: bool,
    /// Its weakest pivot: 1 is strong, 0 singular.
    weakest: f64,
}

/// A body that moves.
#[derive(Clone, Debug)]
struct Link {
    body: usize,
    first_end: usize,
    last_end: usize,
    /// 1 − J_axis/J of a symmetric top, 0 for a spherical one; `axis` is the axis.
    slip: f64,
    axis: usize,
    /// Neither: it turns by its Taylor series.
    asymmetric: bool,
}

/// The point of a joint on a link.
#[derive(Clone, Debug)]
struct End {
    joint: usize,
    /// 1 if the link is the joint's body b, −1 if it is a.
    sign: f64,
    r_body: Vec3,
}

/// A ball joint. C = p_b − p_a; the impulse acts on b, its opposite on a.
#[derive(Clone, Debug)]
struct Joint {
    /// Joint, row block and first row in the model.
    id: usize,
    block: usize,
    row: usize,
    tolerance: Option<f64>,
}

impl Balls {
    /// The mechanism, if ball joints alone hold it together.
    ///
    /// `eliminate` gives the order in which joints are eliminated, and for each the later ones that it touches.
    pub(crate) fn new(
        model: &Model,
        eliminate: impl FnOnce() -> (Vec<usize>, Vec<Vec<usize>>),
    ) -> Option<Self> {
        let is_ball = |rows: &RowBlock| match rows.kind {
            RowKind::Joint(id) => matches!(model.joints[id.index()].kind, JointKind::Ball(_)),
            _ => false,
        };
        if model.rows.is_empty() || !model.rows.iter().all(is_ball) {
            return None;
        }
        let (order, touched) = eliminate();
        let mut place = vec![0; order.len()];
        for (k, &block) in order.iter().enumerate() {
            place[block] = k;
        }
        let mut at_body: Vec<Vec<End>> = vec![Vec::new(); model.n_bodies()];
        let mut joints = Vec::with_capacity(order.len());
        let mut between = Vec::with_capacity(order.len());
        for &block in &order {
            let rows = &model.rows[block];
            let RowKind::Joint(id) = rows.kind else { return None };
            let joint = &model.joints[id.index()];
            let JointKind::Ball(ball) = &joint.kind else { return None };
            let bodies = joint.bodies.map(BodyId::index);
            let index = joints.len();
            for (body, r_body, sign) in
                [(bodies[0], ball.r_a_body, -1.0), (bodies[1], ball.r_b_body, 1.0)]
            {
                at_body[body].push(End { joint: index, sign, r_body });
            }
            between.push(bodies);
            joints.push(Joint {
                id: id.index(),
                block,
                row: rows.first_row,
                tolerance: rows.tolerance,
            });
        }
        let (mut links, mut ends, mut anchors) = (Vec::new(), Vec::new(), Vec::new());
        let mut moves = vec![false; joints.len()];
        for (body, own) in at_body.iter().enumerate() {
            let (definition, fixed) = (&model.bodies[body], model.bodies[body].fixed);
            for end in own {
                if fixed {
                    anchors.push((end.joint, body, end.r_body, end.sign));
                } else {
                    moves[end.joint] = true;
                    ends.push(end.clone());
                }
            }
            if !fixed && !own.is_empty() {
                let (slip, axis, asymmetric) = match Top::new(&definition.inertia) {
                    Top::Spherical => (0.0, 0, false),
                    Top::Symmetric { axis, slip } => (slip, axis, false),
                    Top::Asymmetric => (0.0, 0, true),
                };
                links.push(Link {
                    body,
                    first_end: ends.len() - own.len(),
                    last_end: ends.len(),
                    slip,
                    axis,
                    asymmetric,
                });
            }
        }
        // A joint between two points of one body, or of fixed bodies, is no link of a chain.
        if between.iter().any(|[a, b]| a == b) || moves.contains(&false) {
            return None;
        }
        let (n, links_count) = (joints.len(), links.len());
        let factor = Factor::new(&touched, &place);
        let (groups, slots) = groups(model, &links, &ends, n);
        let mut couplings = Vec::new();
        for group in &groups {
            let own = &slots[group.first_slot..group.last_slot];
            for (k, column) in own.iter().enumerate() {
                // Ends of a link are in elimination order, as the joints are.
                couplings.extend(own[k + 1..].iter().map(|row| {
                    std::array::from_fn(|i| match (row.joint[i], column.joint[i]) {
                        (row, column) if row < n && column < n => factor.entry(row, column),
                        _ => factor.spare_entry(),
                    })
                }));
            }
        }
        let (pairs, moved) = pairs(model, &links, &joints, &between);
        Some(Balls {
            pairs,
            pair_of: order,
            moved,
            x: vec![Vec3::zeros(); n + 1],
            e: vec![Vec3::zeros(); n + 1],
            p: vec![Vec3::zeros(); n],
            gap_squared: vec![0.0; n],
            target: Vec::with_capacity(n),
            still: Vec::with_capacity(anchors.len()),
            own_tolerances: joints.iter().any(|joint| joint.tolerance.is_some()),
            evenly: groups.iter().all(Group::turns_evenly),
            groups,
            slots,
            joints,
            couplings,
            whole: links_count == model.bodies.iter().filter(|b| !b.fixed).count(),
            gravity: model.gravity,
            written: None,
            anchors,
            factor,
            ready: false,
            factor_ready: false,
            weakest: 0.0,
        })
    }

    /// Marks all that follows from the poses as out of date.
    pub(crate) fn forget_poses(&mut self) {
        (self.ready, self.factor_ready) = (false, false);
        self.written = None;
    }

    /// Whether every body that moves is a link.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Takes a state, poses and velocities.
    pub(crate) fn read_state(&mut self, state: &State) {
        let mut same = self.ready;
        for group in &mut self.groups {
            same &= group.has_poses(state);
            group.read_velocities(|i| (&state.s_dot[i], &state.omega[i]));
        }
        self.take_poses(state, same);
    }

    /// Free flight over `h` to time `t`; poses go to the state at once, velocities too if they stay as they are.
    pub(crate) fn fly(
        &mut self,
        flight: Flight,
        h: f64,
        t: f64,
        velocities: bool,
        state: &mut State,
    ) -> Result<(), StepError> {
        let gravity = V::splat(&self.gravity);
        let mut energies = (0.0, 0.0);
        for group in &mut self.groups {
            let slots = &mut self.slots[group.first_slot..group.last_slot];
            if let Some(body) = group.fly(gravity, flight, h, state, slots) {
                return Err(StepError::NotFinite { body, t });
            }
            if velocities {
                group.write(gravity, state, &mut energies);
            }
        }
        state.t = t;
        self.written = velocities.then_some((t, energies.0, energies.1));
        self.factor_ready = false;
        Ok(())
    }

    /// Velocities to the state.
    pub(crate) fn write_state(&mut self, state: &mut State) {
        let gravity = V::splat(&self.gravity);
        let mut energies = (0.0, 0.0);
        for group in &self.groups {
            group.write(gravity, state, &mut energies);
        }
        self.written = Some((state.t, energies.0, energies.1));
    }

    /// Kinetic and potential energy, J, if the groups have this state.
    pub(crate) fn energies(&self, state: &State) -> Option<(f64, f64)> {
        let (t, kinetic, potential) = self.written?;
        t.total_cmp(&state.t).is_eq().then_some((kinetic, potential))
    }

    /// Kinetic energy, J.
    pub(crate) fn kinetic(&self) -> f64 {
        self.groups.iter().map(|group| group.energies(V::ZERO).0).sum()
    }

    /// Adds the impulses of the last correction to those of the model's joints.
    pub(crate) fn add_impulses(&self, joint_impulses: &mut [Wrench]) {
        for (joint, p) in self.joints.iter().zip(&self.p) {
            joint_impulses[joint.id].force += p;
        }
    }

    /// Takes the poses of a state.
    pub(crate) fn prepare(&mut self, state: &State) {
        let same = self.ready && self.groups.iter().all(|group| group.has_poses(state));
        self.take_poses(state, same);
    }

    /// Takes the poses of a state, unless they are the `same`.
    fn take_poses(&mut self, state: &State, same: bool) {
        self.written = None;
        self.still.clear();
        for (joint, body, r_body, sign) in &self.anchors {
            let point = state.s[*body] + state.rot[*body] * r_body;
            self.still.push((*joint, point * *sign));
        }
        if same {
            return;
        }
        self.forget_poses();
        for group in &mut self.groups {
            group.read_poses(state, &mut self.slots[group.first_slot..group.last_slot]);
        }
        self.ready = true;
    }

    /// Takes velocities from `bodies`.
    pub(crate) fn read_velocities(&mut self, bodies: &Bodies) {
        for group in &mut self.groups {
            group.read_velocities(|i| (&bodies.twists[i].s_dot, &bodies.twists[i].omega));
        }
    }

    /// Gives velocities to `bodies`.
    pub(crate) fn write_velocities(&self, bodies: &mut Bodies) {
        for group in &self.groups {
            group.write_velocities(|i, s_dot, omega| {
                bodies.twists[i] = Twist { s_dot, omega };
                bodies.touch(i);
            });
        }
    }
}
