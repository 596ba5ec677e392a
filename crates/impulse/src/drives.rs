//! Force laws along joint coordinates: drives, springs and dampers at joints, evaluated together.

use gelenk_model::force::{Account, AxisForce, ForceKind, JointAxis};
use gelenk_model::joint::{JointKind, PairRow};
use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::rows::Instant;
use gelenk_model::signal::Value;
use gelenk_model::state::{Twist, Wrench};
use gelenk_model::{BodyId, Model};

/// The joint coordinates along which laws act.
#[derive(Clone, Debug)]
pub(crate) struct Drives {
    /// Whether rows and coordinates belong to the poses of the bodies.
    pub ready: bool,
    pub axes: Vec<Driven>,
    /// The axis of each force. (n forces)
    of_force: Vec<Option<usize>>,
    /// Whether all laws act along joint coordinates, and whether all that read velocities do; constant.
    all_along: bool,
    complete: bool,
    /// Where all laws are torques of hinges: each with its axis and its ledger line; constant. (n forces)
    torques: Vec<Torque>,
    /// Whether they are one plain servo for each axis, in the order of the axes; constant.
    one_servo_each: bool,
    /// Axes of the hinges of each body, with 1 where it is b, −1 where it is a; constant. (n_bodies)
    pub of_body: Vec<Vec<(usize, f64)>>,
}

/// A law whose torque acts about the axis of a hinge.
#[derive(Clone, Copy, Debug)]
struct Torque {
    axis: usize,
    line: usize,
    /// The law, if it is a servo with constant gains, without bound and brake.
    plain: Option<PlainServo>,
}

/// τ = k (q_soll − q) + d (q̇_soll − q̇).
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainServo {
    pub stiffness: f64,
    pub damping: f64,
    target: Value,
    velocity: Value,
}

impl PlainServo {
    fn of(kind: &ForceKind) -> Option<PlainServo> {
        let ForceKind::Servo(servo) = kind else { return None };
        let (Value::Constant(stiffness), Value::Constant(damping), Value::Constant(brake)) =
            (servo.stiffness, servo.damping, servo.brake)
        else {
            return None;
        };
        let (target, velocity) = (servo.target, servo.target_velocity);
        let plain = !servo.is_bounded() && brake == 0.0;
        plain.then_some(PlainServo { stiffness, damping, target, velocity })
    }

    /// q_soll and q̇_soll.
    #[inline]
    pub(crate) fn wanted(&self, signals: &[f64]) -> (f64, f64) {
        (self.target.get(signals), self.velocity.get(signals))
    }

    /// As [`Servo::force_at`](gelenk_model::force::Servo::force_at), to the bit.
    #[inline]
    fn at(&self, q: f64, rate: f64, signals: &[f64]) -> AxisForce {
        let (target, velocity) = self.wanted(signals);
        let (error, slower) = (target - q, velocity - rate);
        AxisForce { force: self.stiffness * error + self.damping * slower, damping: self.damping }
    }
}

/// The place of a ledger line among the three.
pub(crate) fn line_of(account: Account) -> usize {
    match account {
        Account::Potential => 0,
        Account::Work => 1,
        Account::Dissipation => 2,
    }
}

/// A joint coordinate along which laws act.
#[derive(Clone, Debug)]
pub(crate) struct Driven {
    pub axis: JointAxis,
    pub bodies: [usize; 2],
    /// W and q; written by [`Drives::look`].
    pub row: PairRow,
    /// Whether W has parts along ṡ, as those of hinges have not.
    slides: bool,
    pub q: f64,
    /// Where q is among the coordinates of the state, which are those of its poses.
    slot: usize,
    /// q̇ at the last look.
    pub rate: f64,
    /// Sum of −∂τ/∂q̇ of its laws at the last look.
    pub damping: f64,
    /// Sum of τ of its laws at the last look, all and by ledger line.
    force: f64,
    lines: [f64; 3],
    /// Its laws at a look before: [`Driven::law`].
    pub read: [f64; 3],
    /// Sum over both bodies of the largest answer to a torque or a force, 1/(kg m²) or 1/kg; constant.
    pub lightest: f64,
}

impl Drives {
    pub(crate) fn new(model: &Model) -> Self {
        let mut axes: Vec<Driven> = Vec::new();
        let mut of_force = Vec::with_capacity(model.forces.len());
        for force in &model.forces {
            let own = force.kind.axis().map(|axis| {
                axes.iter().position(|known| known.axis == axis).unwrap_or_else(|| {
                    let bodies = model.joints[axis.joint.index()].bodies.map(BodyId::index);
                    let slot = model.joints[axis.joint.index()].first_coordinate + axis.which;
                    let row = [0.0; 12];
                    axes.push(Driven {
                        axis,
                        bodies,
                        row,
                        slides: true,
                        q: 0.0,
                        slot,
                        rate: 0.0,
                        damping: 0.0,
                        force: 0.0,
                        lines: [0.0; 3],
                        read: [0.0; 3],
                        lightest: bodies
                            .iter()
                            .map(|&i| &model.bodies[i])
                            .map(|body| body.inertia_inv.max().max(body.mass_inv))
                            .sum(),
                    });
                    axes.len() - 1
                })
            });
            of_force.push(own);
        }
        let mut laws = model.forces.iter().zip(&of_force);
        let complete = laws.all(|(f, own)| own.is_some() || !f.kind.law().depends_on_velocity());
        // On bodies with mass about all axes a torque at a joint gives what it gives along the joint's coordinate.
        let heavy = model.bodies.iter().all(|b| b.fixed || b.inertia_inv.min() > 0.0);
        let torque = |(force, own): (&gelenk_model::force::Force, &Option<usize>)| {
            let axis = (*own)?;
            let joint = &model.joints[axes[axis].axis.joint.index()];
            let turns = matches!(joint.kind, JointKind::Hinge(_));
            let line = line_of(force.kind.law().account());
            (turns && heavy).then(|| Torque { axis, line, plain: PlainServo::of(&force.kind) })
        };
        let torques: Option<Vec<Torque>> = model.forces.iter().zip(&of_force).map(torque).collect();
        let torques = torques.unwrap_or_default();
        let in_order = torques.iter().enumerate().all(|(k, law)| law.axis == k);
        let plain = |law: &Torque| law.plain.is_some() && law.line == torques[0].line;
        let one_servo_each = in_order && torques.iter().all(plain);
        let mut of_body = vec![Vec::new(); model.n_bodies()];
        for (k, own) in axes.iter().enumerate() {
            of_body[own.bodies[0]].push((k, -1.0));
            of_body[own.bodies[1]].push((k, 1.0));
        }
        let all_along = !of_force.contains(&None);
        Drives {
            ready: false,
            axes,
            of_force,
            all_along,
            complete,
            torques,
            one_servo_each,
            of_body,
        }
    }

    /// Whether all laws are torques of hinges: then they are kept by axis, and bodies have no wrenches.
    pub(crate) fn are_torques(&self) -> bool {
        !self.torques.is_empty()
    }

    /// The laws at the rates of the last look, where they [are](Drives::are_torques) torques; false if one is not a finite number.
    pub(crate) fn read_torques(&mut self, model: &Model, signals: &[f64], active: &[bool]) -> bool {
        let mut sum = 0.0;
        if self.one_servo_each {
            for (own, law) in self.axes.iter_mut().zip(&self.torques) {
                (own.damping, own.force, own.lines) = (0.0, 0.0, [0.0; 3]);
                let Some(servo) = law.plain.as_ref().filter(|_| active[own.axis.joint.index()])
                else {
                    continue;
                };
                let found = servo.at(own.q, own.rate, signals);
                (own.damping, own.force, own.lines[law.line]) =
                    (found.damping, found.force, found.force);
                sum += found.force;
            }
            return sum.is_finite();
        }
        for own in &mut self.axes {
            (own.damping, own.force, own.lines) = (0.0, 0.0, [0.0; 3]);
        }
        for (force, law) in model.forces.iter().zip(&self.torques) {
            let own = &mut self.axes[law.axis];
            if !active[own.axis.joint.index()] {
                continue;
            }
            let found = match &law.plain {
                Some(servo) => servo.at(own.q, own.rate, signals),
                None => match force.kind.along(own.q, own.rate, signals) {
                    Some(found) => found,
                    None => continue,
                },
            };
            own.damping += found.damping;
            own.force += found.force;
            own.lines[law.line] += found.force;
            sum += found.force;
        }
        sum.is_finite()
    }

    /// For hinges: whether the laws at the last look are straight lines from what they were when [`Driven::read`] was written, so that
    /// velocities change by less than `near` in `dt` seconds with the ones in place of the others: τ(q̇) = τ(q̇₀) − d (q̇ − q̇₀).
    pub(crate) fn are_straight(&self, dt: f64, near: f64) -> bool {
        self.complete
            && self.axes.iter().all(|own| {
                let [force, rate, damping] = own.read;
                // What would drive the motion is no damper of the factor, as in stages that go back.
                let damping = if dt * damping > 0.0 { damping } else { 0.0 };
                let off = own.force - (force - damping * (own.rate - rate));
                (off * own.lightest * dt).abs() <= near
            })
    }

    /// W and q at an instant, unless they are there, and q̇ at its velocities.
    pub(crate) fn look(&mut self, model: &Model, at: &Instant<'_>) {
        for own in &mut self.axes {
            if !self.ready {
                let joint = &model.joints[own.axis.joint.index()];
                if let JointKind::Hinge(hinge) = &joint.kind {
                    // The most of them, without looking further: b turns against a about the axis of a.
                    own.turn_about(turned(&at.poses[own.bodies[0]].rot, &hinge.axis()));
                } else {
                    own.row = model.joint_coordinate_row(own.axis.joint, own.axis.which, at);
                }
                own.q = at.coordinates[own.slot];
                let w = &own.row;
                own.slides = [w[0], w[1], w[2], w[6], w[7], w[8]].iter().any(|w| *w != 0.0);
            }
            own.rate = own.rate_of(at.twists);
            (own.damping, own.force, own.lines) = (0.0, 0.0, [0.0; 3]);
        }
        self.ready = true;
    }

    /// The energy that laws that work and laws that dissipate give at an instant, over `dt` seconds, where all laws act along joint coordinates:
    /// τ dt · ½ (q̇⁻ + q̇⁺); and what of it goes in or out, all together. None where some do not.
    pub(crate) fn given(
        &self,
        before: &[Twist],
        after: &[Twist],
        dt: f64,
    ) -> Option<([f64; 2], f64)> {
        if !self.all_along {
            return None;
        }
        let (mut sums, mut size) = ([0.0; 2], 0.0);
        for own in &self.axes {
            let rates = own.rate_of(before) + own.rate_of(after);
            let way = 0.5 * dt * rates;
            let [_, worked, dissipated] = own.lines.map(|force| force * way);
            sums[0] += worked;
            sums[1] += dissipated;
            size += worked.abs() + dissipated.abs();
        }
        Some((sums, size))
    }

    /// Adds the load of force `i`, one of ledger line `line`; false if it does not act along a joint coordinate.
    pub(crate) fn add_wrench(
        &mut self,
        i: usize,
        line: usize,
        model: &Model,
        signals: &[f64],
        wrench: &mut [Wrench],
    ) -> bool {
        let Some(own) = self.of_force[i].map(|k| &mut self.axes[k]) else { return false };
        let Some(law) = model.forces[i].kind.along(own.q, own.rate, signals) else { return false };
        own.damping += law.damping;
        own.force += law.force;
        own.lines[line] += law.force;
        for (w, body) in own.row.chunks_exact(6).zip(own.bodies) {
            let wrench = &mut wrench[body];
            if own.slides {
                wrench.force += Vec3::new(w[0], w[1], w[2]) * law.force;
            }
            wrench.torque += Vec3::new(w[3], w[4], w[5]) * law.force;
        }
        true
    }
}

impl Driven {
    /// τ, q̇ and −∂τ/∂q̇ at the last look.
    pub(crate) fn law(&self) -> [f64; 3] {
        [self.force, self.rate, self.damping]
    }

    /// τ of all its laws, or of those that do not dissipate.
    pub(crate) fn torque(&self, dampers: bool) -> f64 {
        if dampers { self.force } else { self.lines[0] + self.lines[1] }
    }

    /// The axis of a hinge: b turns about it against a.
    pub(crate) fn axis_of_hinge(&self) -> Vec3 {
        Vec3::new(self.row[9], self.row[10], self.row[11])
    }

    /// Writes it.
    pub(crate) fn turn_about(&mut self, [x, y, z]: [f64; 3]) {
        self.row = [0.0, 0.0, 0.0, -x, -y, -z, 0.0, 0.0, 0.0, x, y, z];
    }

    /// W v.
    pub(crate) fn rate_of(&self, twists: &[Twist]) -> f64 {
        if !self.slides {
            // To the bit as four at a time.
            let [a, b] = self.bodies.map(|body| &twists[body].omega);
            let (n, d) = (&self.row[9..12], b - a);
            return n[2].mul_add(d.z, n[1].mul_add(d.y, n[0] * d.x));
        }
        let mut sum = 0.0;
        for (w, body) in self.row.chunks_exact(6).zip(self.bodies) {
            let v = &twists[body];
            sum += w[0] * v.s_dot.x + w[1] * v.s_dot.y + w[2] * v.s_dot.z;
            sum += w[3] * v.omega.x + w[4] * v.omega.y + w[5] * v.omega.z;
        }
        sum
    }
}

/// R n, to the bit as four at a time.
fn turned(rot: &Mat3, n: &Vec3) -> [f64; 3] {
    let [x, y, z] = rot.data.0;
    [0, 1, 2].map(|k| z[k].mul_add(n.z, y[k].mul_add(n.y, x[k] * n.x)))
}
