//! Links four at a time.

use gelenk_model::math::Vec3;
use gelenk_model::{Flight, Model, State};

use super::{End, Link};
use crate::flight::{self, Spinner, Top};
use crate::lanes::{F, LANES, Q, S, V, lanes};

/// Four links, or fewer: what is left over has no mass and no joints.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// How many there are, and their bodies.
    n: usize,
    bodies: [usize; LANES],
    pub(super) first_slot: usize,
    pub(super) last_slot: usize,
    mass: F,
    pub(super) mass_inv: F,
    inertia: V,
    inertia_inv_body: V,
    /// 1 − J_axis/J of symmetric tops, 0 of spherical ones; the axis is where `axis` has its 1.
    slip: F,
    axis: V,
    /// Some link has neither and turns by its Taylor series.
    asymmetric: bool,
    /// Centres, rotations and what follows from them at time t. (Rotation matrices do too, and are made where they are needed:
    /// long chains wait for memory.)
    s: V,
    q: Q,
    e: V,
    pub(super) inertia_inv: S,
    /// Velocities at time t, on which impulses act.
    pub(super) s_dot: V,
    pub(super) omega: V,
    /// Where free flight takes them: centres and turns; written by the last look.
    pub(super) s_ahead: V,
    pub(super) turn: Q,
}

/// An end of each of four links.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// Their joints; one beyond the last where a link has no such end.
    pub(super) joint: [usize; LANES],
    /// 1 for body b of the joint, −1 for a, 0 where there is none.
    pub(super) sign: F,
    r_body: V,
    /// Levers at time t, world frame, m.
    pub(super) r: V,
}

/// Groups of all links, and their slots.
pub(super) fn groups(
    model: &Model,
    links: &[Link],
    ends: &[End],
    n_joints: usize,
) -> (Vec<Group>, Vec<Slot>) {
    let (mut groups, mut slots) = (Vec::new(), Vec::new());
    let zero = Vec3::zeros();
    for four in links.chunks(LANES) {
        let most = four.iter().map(|link| link.last_end - link.first_end).max().unwrap_or(0);
        let first_slot = slots.len();
        for k in 0..most {
            let end = |lane: usize| {
                let link = four.get(lane)?;
                ends[link.first_end..link.last_end].get(k)
            };
            slots.push(Slot {
                joint: std::array::from_fn(|i| end(i).map_or(n_joints, |end| end.joint)),
                sign: lanes(|i| end(i).map_or(0.0, |end| end.sign)),
                r_body: V::gather(|i| end(i).map_or(&zero, |end| &end.r_body)),
                r: V::ZERO,
            });
        }
        let body = |lane: usize| four.get(lane).map(|link| &model.bodies[link.body]);
        let axes = [Vec3::x(), Vec3::y(), Vec3::z()];
        groups.push(Group {
            n: four.len(),
            bodies: std::array::from_fn(|i| four.get(i).map_or(0, |link| link.body)),
            first_slot,
            last_slot: slots.len(),
            mass: lanes(|i| body(i).map_or(0.0, |b| b.mass)),
            mass_inv: lanes(|i| body(i).map_or(0.0, |b| b.mass_inv)),
            inertia: V::gather(|i| body(i).map_or(&zero, |b| &b.inertia)),
            inertia_inv_body: V::gather(|i| body(i).map_or(&zero, |b| &b.inertia_inv)),
            slip: lanes(|i| four.get(i).map_or(0.0, |link| link.slip)),
            axis: V::gather(|i| four.get(i).map_or(&axes[0], |link| &axes[link.axis])),
            asymmetric: four.iter().any(|link| link.asymmetric),
            s: V::ZERO,
            q: Q::IDENTITY,
            e: V::ZERO,
            inertia_inv: S::ZERO,
            s_dot: V::ZERO,
            omega: V::ZERO,
            s_ahead: V::ZERO,
            turn: Q::IDENTITY,
        });
    }
    (groups, slots)
}

impl Group {
    /// Takes the poses of a state, and what follows from them.
    #[inline]
    pub(super) fn read_poses(&mut self, state: &State, slots: &mut [Slot]) {
        let bodies = &self.bodies;
        self.s = V::gather(|i| &state.s[bodies[i]]);
        self.q = Q::gather(|i| *state.rot[bodies[i]].quaternion());
        self.follow_poses(slots);
    }

    #[inline(always)]
    fn follow_poses(&mut self, slots: &mut [Slot]) {
        let rot = self.q.matrix();
        self.e = rot * self.axis;
        self.inertia_inv = S::of(&rot.turned(self.inertia_inv_body));
        for slot in slots {
            slot.r = rot * slot.r_body;
        }
    }

    /// Whether these are the poses of a state.
    #[inline]
    pub(super) fn has_poses(&self, state: &State) -> bool {
        let bodies = &self.bodies;
        self.s == V::gather(|i| &state.s[bodies[i]])
            && self.q == Q::gather(|i| *state.rot[bodies[i]].quaternion())
    }

    /// Takes velocities.
    #[inline]
    pub(super) fn read_velocities<'a>(&mut self, twist: impl Fn(usize) -> (&'a Vec3, &'a Vec3)) {
        let bodies = &self.bodies;
        self.s_dot = V::gather(|i| twist(bodies[i]).0);
        self.omega = V::gather(|i| twist(bodies[i]).1);
    }

    /// Gives velocities.
    #[inline]
    pub(super) fn write_velocities(&self, mut give: impl FnMut(usize, Vec3, Vec3)) {
        let (s_dot, omega) = (self.s_dot.each(), self.omega.each());
        for i in 0..self.n {
            give(self.bodies[i], s_dot[i], omega[i]);
        }
    }

    /// Velocities to the state, and kinetic and potential energy to `energies`, J.
    #[inline(always)]
    pub(super) fn write(&self, gravity: V, state: &mut State, energies: &mut (f64, f64)) {
        self.write_velocities(|i, s_dot, omega| {
            (state.s_dot[i], state.omega[i]) = (s_dot, omega);
        });
        let (kinetic, potential) = self.energies(gravity);
        energies.0 += kinetic;
        energies.1 += potential;
    }

    /// v += M⁻¹ Jᵀ x.
    #[inline(always)]
    pub(super) fn apply(&mut self, slots: &[Slot], x: &[Vec3]) {
        let (mut impulse, mut moment) = (V::ZERO, V::ZERO);
        for slot in slots {
            let p = V::gather(|i| &x[slot.joint[i]]) * slot.sign;
            impulse += p;
            moment += slot.r.cross(p);
        }
        self.s_dot += impulse * self.mass_inv;
        self.omega += self.inertia_inv.matrix() * moment;
    }

    /// The paper's LookAhead: centres and turns after free flight over `h`.
    #[inline(always)]
    pub(super) fn look_ahead(&mut self, gravity: V, flight: Flight, h: f64) {
        let step = F::splat(h);
        self.s_ahead = self.s + (self.s_dot + gravity * F::splat(0.5 * h)) * step;
        self.turn = if self.asymmetric || !matches!(flight, Flight::Exact) {
            self.each_turn(flight, h).0
        } else {
            let c = self.slip * self.omega.dot(self.e);
            // A rod turns across its axis; what c has then is rounding.
            if (c * step).to_array().iter().all(|c| c.abs() <= f64::EPSILON) {
                Q::exp(self.omega * step)
            } else {
                Q::exp((self.omega - self.e * c) * step) * Q::exp(self.e * (c * step))
            }
        };
    }

    /// How many links there are.
    pub(super) fn len(&self) -> usize {
        self.n
    }

    /// Changes the velocities of link `k`.
    pub(super) fn move_on(&mut self, k: usize, s_dot: &Vec3, omega: &Vec3) {
        self.s_dot.add_to(k, s_dot);
        self.omega.add_to(k, omega);
    }

    /// Whether all are spheres or thin rods, whose ω stands still in flight but for a rod's spin about its axis.
    pub(super) fn turns_evenly(&self) -> bool {
        let slip = self.slip.to_array();
        !self.asymmetric && slip.iter().all(|&slip| slip * (1.0 - slip) == 0.0)
    }

    /// Of links that turn evenly: centres after free flight over h, the vectors of their turns without spin, and those of the spin about the
    /// axes of rods, if any; or their velocities.
    pub(super) fn flight(
        &self,
        h: Option<f64>,
        gravity: &Vec3,
    ) -> ([Vec3; LANES], [Vec3; LANES], Option<[Vec3; LANES]>) {
        let Some(h) = h else { return (self.s_dot.each(), self.omega.each(), None) };
        let (step, gravity) = (F::splat(h), V::splat(gravity));
        let s_ahead = self.s + (self.s_dot + gravity * F::splat(0.5 * h)) * step;
        let c = self.slip * self.omega.dot(self.e);
        let turn = (self.omega - self.e * c) * step;
        // A rod turns across its axis; what c has then is rounding.
        let spins = (c * step).to_array().iter().any(|c| c.abs() > f64::EPSILON);
        (s_ahead.each(), turn.each(), spins.then(|| (self.e * (c * step)).each()))
    }

    /// Turns and angular velocities after free flight, link by link.
    fn each_turn(&self, flight: Flight, h: f64) -> (Q, V) {
        let (inertia, inertia_inv) = (self.inertia.each(), self.inertia_inv_body.each());
        let (omega, rot) = (self.omega.each(), self.q.matrix());
        let found: [_; LANES] = std::array::from_fn(|i| {
            let spinner = Spinner {
                top: Top::new(&inertia[i]),
                inertia: &inertia[i],
                inertia_inv: &inertia_inv[i],
                rot: &rot.lane(i),
            };
            flight::fly(&spinner, &omega[i], flight, h)
        });
        (Q::gather(|i| found[i].0), V::gather(|i| &found[i].1))
    }

    /// Free flight over `h`, by the last look; writes the state. Returns the first body whose numbers are not finite.
    #[inline]
    pub(super) fn fly(
        &mut self,
        gravity: V,
        flight: Flight,
        h: f64,
        state: &mut State,
        slots: &mut [Slot],
    ) -> Option<usize> {
        if self.asymmetric || !matches!(flight, Flight::Exact) {
            self.omega = self.each_turn(flight, h).1;
        } else {
            let c = self.slip * self.omega.dot(self.e);
            self.omega += (self.turn.rotate(self.e) - self.e) * c;
        }
        self.s = self.s_ahead;
        self.s_dot += gravity * F::splat(h);
        self.q = (self.turn * self.q).unit();
        self.follow_poses(slots);
        // The sum is finite only where every number is.
        let sum = self.s + self.s_dot + self.omega;
        let sum = (sum.x + sum.y + sum.z + self.q.w).to_array();
        let (s, q) = (self.s.each(), self.q.each());
        for i in 0..self.n {
            if !sum[i].is_finite() {
                return Some(self.bodies[i]);
            }
            let body = self.bodies[i];
            state.s[body] = s[i];
            state.rot[body] = gelenk_model::math::Quat::new_unchecked(q[i]);
        }
        None
    }

    /// Kinetic and potential energy, J.
    #[inline]
    pub(super) fn energies(&self, gravity: V) -> (f64, f64) {
        let rot = self.q.matrix();
        let turn =
            V { x: rot.x.dot(self.omega), y: rot.y.dot(self.omega), z: rot.z.dot(self.omega) };
        let spin = self.inertia.x * turn.x * turn.x
            + self.inertia.y * turn.y * turn.y
            + self.inertia.z * turn.z * turn.z;
        let kinetic = (self.mass * self.s_dot.dot(self.s_dot) + spin) * F::splat(0.5);
        let potential = self.mass * gravity.dot(self.s);
        let sum = |x: [f64; LANES]| ((x[0] + x[1]) + x[2]) + x[3];
        (sum(kinetic.to_array()), -sum(potential.to_array()))
    }
}
