//! Joints that break, are removed, put back and added while a model runs.

use gelenk_model::joint::{JointFrame, JointId, JointProperties};
use gelenk_model::math::Vec3;
use gelenk_model::rows::{Instant, RowKind};
use gelenk_model::run::{Event, Reaction};
use gelenk_model::{
    BodyId, CheckOptions, CheckReport, IdleAxes, JointKind, Model, State, Wrench, check_state,
};

use crate::explain::{Failure, explain};
use crate::scratch::Scratch;
use crate::simulation::Simulation;
use crate::small;
use crate::step::{correct_velocities, energies};

/// How far a row block is open in a state whose poses `scratch` has read, m or rad: 0 for a slack rope, a stop with room and
/// friction, which holds wherever it is.
pub(crate) fn gap(model: &Model, state: &State, scratch: &mut Scratch, i: usize) -> f64 {
    let block = &model.rows[i];
    if matches!(block.kind, RowKind::Friction(_)) {
        return 0.0;
    }
    let Scratch { bodies, work, .. } = scratch;
    let (poses, twists) = (&bodies.poses, &bodies.twists);
    let at = Instant { t: state.t, poses, twists, coordinates: &state.coordinate };
    let mut c = [0.0; small::MAX];
    block.error(model, &at, work, &mut c[..block.n_rows]);
    if block.one_sided(model) {
        c[0] = c[0].max(0.0);
    }
    c[..block.n_rows].iter().map(|x| x * x).sum::<f64>().sqrt()
}

impl Simulation<'_> {
    /// Takes a joint out of the mechanism, with its stops, friction, springs, dampers, drives and the couplings that tie its
    /// coordinates. It stays in the model and can be put back. What its springs held is booked as dissipation.
    pub fn remove_joint(&mut self, joint: JointId) -> Result<(), Failure> {
        self.known(joint)?;
        self.open(joint);
        Ok(())
    }

    /// Puts a joint back that was removed or broke. It must be closed in the present pose, to its tolerance, and so must
    /// its stops and couplings; else the error names what is open and by how much. Velocities that do not fit are changed as
    /// by an impact without rebound.
    pub fn restore_joint(&mut self, joint: JointId) -> Result<(), Failure> {
        self.known(joint)?;
        if self.state.active[joint.index()] {
            return Ok(());
        }
        self.state.active[joint.index()] = true;
        let before = self.state.clone();
        let result = self.check_closed(joint).and_then(|()| self.fit_velocities());
        if result.is_err() {
            self.state = before;
            self.state.active[joint.index()] = false;
        }
        result
    }

    /// The joint frames on two bodies that meet at a world point, m, with an axis, in the present pose.
    pub fn joint_frames(&self, bodies: [BodyId; 2], point: &Vec3, axis: &Vec3) -> [JointFrame; 2] {
        self.state().joint_frames(bodies, point, axis)
    }

    /// Adds a joint between two bodies. It must be closed in the present pose, to its tolerance (`None`: the run's), else
    /// the error names the gap. Velocities that do not fit are changed as by an impact without rebound.
    ///
    /// The simulation goes on with a model of its own, [`Simulation::model`], which has the joint and its rows at the end of
    /// its lists.
    ///
    /// ```
    /// # use gelenk_impulse::Simulation;
    /// # use gelenk_model::joint::{Ball, JointProperties};
    /// # use gelenk_model::math::{Mat3, Vec3};
    /// # use gelenk_model::{BodyDef, BodyId, Builder, JointKind, RunSettings};
    /// # let mut builder = Builder::new("stone");
    /// # let stone = builder.body(&BodyDef::new("stone", 1.0, Mat3::identity()));
    /// # let model = builder.finish();
    /// let mut simulation = Simulation::new(&model, &RunSettings::default())?;
    /// simulation.step()?; // it falls freely
    /// let bodies = [BodyId::WORLD, stone];
    /// let [a, b] = simulation.joint_frames(bodies, &Vec3::new(1.0, 0.0, 0.0), &Vec3::z());
    /// let ball = JointKind::Ball(Ball::new(&a, &b));
    /// simulation.add_joint("hook", bodies, ball, None, JointProperties::default())?;
    /// assert_eq!(simulation.check().degrees_of_freedom, 3);
    /// # Ok::<(), gelenk_impulse::Failure>(())
    /// ```
    pub fn add_joint(
        &mut self,
        name: &str,
        bodies: [BodyId; 2],
        kind: JointKind,
        tolerance: Option<f64>,
        properties: JointProperties,
    ) -> Result<JointId, Failure> {
        let failure = |reason: String| Failure { reason, element: Some(name.to_owned()) };
        if self.model.joint(name).is_some() {
            return Err(failure(format!("there is a joint `{name}` already")));
        }
        if bodies[0] == bodies[1] || bodies.iter().any(|b| b.index() >= self.model.n_bodies()) {
            return Err(failure(format!("the joint `{name}` needs two bodies of the model")));
        }
        let coordinates = kind.equations().coordinates().len();
        let (limits, friction) = (&properties.limits, &properties.friction);
        if limits.iter().any(|l| l.which >= coordinates || l.min.is_nan() || l.max.is_nan())
            || limits.iter().any(|l| l.min > l.max || !(0.0..=1.0).contains(&l.restitution))
            || friction.len() > coordinates
            || friction.iter().any(|f| f.is_nan() || *f < 0.0 || f.is_infinite())
        {
            let reason = "has a limit or friction that its coordinates cannot have";
            return Err(failure(format!("the joint `{name}` {reason}")));
        }
        let (old_model, old_state) = (self.model.clone(), self.state.clone());
        let start = self.model.start.clone();
        let model = self.model.to_mut();
        // The joint's coordinates begin where the bodies are now.
        model.start = std::mem::replace(&mut self.state, start);
        let id = model.add_joint(name, bodies, kind, tolerance, properties);
        self.state.clone_from(&model.start);
        self.make_room();
        if let Err(failure) = self.check_closed(id).and_then(|()| self.fit_velocities()) {
            (self.model, self.state) = (old_model, old_state);
            self.make_room();
            return Err(failure);
        }
        Ok(id)
    }

    /// Degrees of freedom, rank and redundant rows in the present pose, with the joints that are there.
    pub fn check(&self) -> CheckReport {
        check_state(&self.model, &self.state, &CheckOptions::default())
    }

    /// Opens the joints whose mean force or torque over the last step is beyond their strength.
    pub(crate) fn break_joints(&mut self) {
        for k in 0..self.breakable.len() {
            let i = self.breakable[k];
            let Reaction { joint, force, torque } = self.reactions[i];
            let properties = &self.model.joints[i].properties;
            let beyond = [
                ("force", "N", force.norm(), properties.break_force),
                ("torque", "N m", torque.norm(), properties.break_torque),
            ];
            let found =
                beyond.into_iter().find(|(_, _, value, most)| most.is_some_and(|m| *value > m));
            let (Some((what, unit, value, Some(most))), true) = (found, self.state.active[i])
            else {
                continue;
            };
            self.events.push(Event {
                time: self.state.t,
                kind: "broken".to_owned(),
                between: vec![self.model.joints[i].name.clone()],
                detail: format!(
                    "its {what} of {value:.6e} {unit}, the mean over the step, is above its strength of {most} {unit}"
                ),
                point: None,
                impulse: None,
            });
            self.open(joint);
        }
    }

    fn known(&self, joint: JointId) -> Result<(), Failure> {
        if joint.index() < self.model.joints.len() {
            return Ok(());
        }
        let n = self.model.joints.len();
        let reason = format!("there is no joint {} in a model of {n} joints", joint.index());
        Err(Failure { reason, element: None })
    }

    /// Opens a joint and books what its springs held.
    fn open(&mut self, joint: JointId) {
        self.state.active[joint.index()] = false;
        for block in self.model.rows.iter().filter(|block| !block.is_active(&self.state.active)) {
            self.state.impulse[block.first_row..block.first_row + block.n_rows].fill(0.0);
        }
        let (_, potential) = energies(&self.model, &self.state, &mut self.scratch);
        let held = self.ledger.potential - potential;
        self.totals.dissipation += held;
        self.ledger.dissipation += held;
        self.ledger.potential = potential;
    }

    /// Refuses a joint whose rows, stops or couplings are open.
    fn check_closed(&mut self, joint: JointId) -> Result<(), Failure> {
        let Simulation { model, state, scratch, method, .. } = self;
        if scratch.bodies.read_state(state) {
            scratch.forget_poses();
        }
        let touches = |kind: &RowKind| match kind {
            RowKind::Tie(tie) => tie.terms.iter().any(|(j, _, _)| *j == joint),
            _ => false,
        };
        for (i, block) in model.rows.iter().enumerate() {
            let concerned = block.joint() == Some(joint) || touches(&block.kind);
            if !concerned || !block.is_active(&state.active) {
                continue;
            }
            let gap = gap(model, state, scratch, i);
            let tolerance = block.tolerance.unwrap_or(method.tolerance);
            if gap.is_nan() || gap > tolerance {
                let reason = format!(
                    "`{}` is open by {gap:.3e} m or rad at t = {} s, more than its tolerance of {tolerance:.1e}: move its \
                     bodies together first, or give it a larger tolerance",
                    block.name, state.t
                );
                return Err(Failure { reason, element: Some(block.name.clone()) });
            }
            if let RowKind::Friction(friction) = &block.kind {
                let first = model.joints[joint.index()].first_coordinate;
                state.held[friction.slot] = state.coordinate[first + friction.which];
            }
        }
        Ok(())
    }

    /// Makes the velocities fit the joints; what that takes is the loss of an impact, and what springs of the joint hold is
    /// work.
    fn fit_velocities(&mut self) -> Result<(), Failure> {
        let before = self.ledger;
        let change =
            correct_velocities(&self.model, &self.method, &mut self.state, &mut self.scratch);
        change.map_err(|error| explain(&self.model, &self.state, self.steps, &error, self.h))?;
        let (kinetic, potential) = energies(&self.model, &self.state, &mut self.scratch);
        let (loss, work) = (before.kinetic - kinetic, potential - before.potential);
        self.totals.impact_loss += loss;
        self.totals.work += work;
        self.ledger.impact_loss += loss;
        self.ledger.work += work;
        (self.ledger.kinetic, self.ledger.potential) = (kinetic, potential);
        Ok(())
    }

    /// Memory for the joints, rows and forces of the model as it is now.
    pub(crate) fn make_room(&mut self) {
        let model: &Model = &self.model;
        // Inputs are held on.
        let held = std::mem::take(&mut self.scratch.work.held);
        self.scratch = Scratch::new(model);
        self.scratch.work.held = held;
        self.worst_gaps.resize(model.rows.len(), 0.0);
        self.worst_velocity_errors.resize(model.rows.len(), 0.0);
        self.joint_impulses.resize(model.joints.len(), Wrench::zero());
        self.reactions.truncate(model.joints.len());
        self.idle = IdleAxes::of(model);
        self.breakable = breakable(model);
        for i in self.reactions.len()..model.joints.len() {
            let joint = JointId(u32::try_from(i).unwrap_or(u32::MAX));
            self.reactions.push(Reaction { joint, force: Vec3::zeros(), torque: Vec3::zeros() });
        }
    }
}

/// The joints that can break.
pub(crate) fn breakable(model: &Model) -> Vec<usize> {
    let breaks = |i: &usize| {
        let properties = &model.joints[*i].properties;
        properties.break_force.is_some() || properties.break_torque.is_some()
    };
    (0..model.joints.len()).filter(breaks).collect()
}

/// Whether the lists of a state are as long as a model wants them.
pub(crate) fn check_lengths(model: &Model, state: &State) -> Result<(), Failure> {
    let n = model.n_bodies();
    let lists = [
        ("bodies", state.s.len(), n),
        ("velocities", state.s_dot.len(), n),
        ("rotations", state.rot.len(), n),
        ("angular velocities", state.omega.len(), n),
        ("impulses", state.impulse.len(), model.n_rows()),
        ("joint coordinates", state.coordinate.len(), model.n_coordinates()),
        ("places where friction holds", state.held.len(), model.start.held.len()),
        ("joints", state.active.len(), model.joints.len()),
    ];
    for (what, found, expected) in lists {
        if found != expected {
            let reason = format!(
                "the state has {found} {what}, the model `{}` {expected}: it is one of another model",
                model.name
            );
            return Err(Failure { reason, element: None });
        }
    }
    Ok(())
}
