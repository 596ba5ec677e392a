//! Bounds on the impulses of rows: ropes, end stops, dry friction, and joints that are not there.
//!
//! A solver sees of all this `lower` ≤ p ≤ `upper` of each row and whether a block is `inactive`; both are written before
//! every solve. A bounded row has one of three answers: p within its bounds and no error, or p at a bound and an error
//! that only an impulse beyond it would take away.
//!
//! ```text
//! position phase        e = (C(t+h) − target)/h         velocity phase        e = J v
//! taut rope, stop       h p ≤ 0                         the same, where it is not slack
//! dry friction          |p| ≤ F |h|/2                   the same
//! ```
//! The impulse of a phase stands for the force over half a stage. Where a stage goes back in time, one-sided impulses change
//! their sign with it.

use gelenk_model::rows::RowKind;
use gelenk_model::{Model, State};

use crate::compose::Order;
use crate::method::{Landing, Method};
use crate::rows::Rows;
use crate::scratch::Bodies;

/// Impulses of friction that slips are found to this part of the tolerances: what they are off by adds up, where gaps are taken back
/// in the next step.
pub(crate) const SLIP_PART: f64 = 1e-4;

/// Impacts of bodies that would bounce back more slowly than gravity makes them in this part of the asked step give nothing
/// back: the bodies stay in contact.
pub(crate) const SLOWEST_BOUNCE: f64 = 0.05;

/// Stops farther away than twice the way of a step, and than what this acceleration (rad/s² or m/s²) does in it, take no part in it. One that is
/// reached all the same is located.
const REACH: f64 = 1000.0;

/// What kind of bounds a block has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// None: its rows are equations.
    None,
    /// An end stop, or a rope with the end of its length: C ≤ 0, p ≤ 0, with impacts.
    Stop,
    /// Dry friction: |p| ≤ F h/2.
    Friction,
    /// The normal of a contact: C = −gap ≤ 0, p ≤ 0, with impacts.
    Contact,
    /// Friction of a contact: |p| ≤ μ |p_n|, p_n that of its normal.
    Disk,
}

impl Bound {
    /// Where a bounded row is to go, given what the step wants, and how far from there it may be.
    ///
    /// What rests at a stop keeps away from the tolerance, beyond which it would have been passed.
    pub(crate) fn target(self, target: f64, tolerance: f64) -> (f64, f64) {
        let stops = matches!(self, Bound::Stop | Bound::Contact);
        let allowed = if stops { 0.5 * tolerance } else { tolerance };
        match self {
            Bound::None | Bound::Friction | Bound::Disk => (target, allowed),
            // A deep overlap, which is to go slowly.
            Bound::Contact if target > tolerance => (target, allowed),
            Bound::Stop | Bound::Contact => (target.clamp(0.0, 0.5 * allowed), allowed),
        }
    }

    /// Where the errors of a one-sided row count from: 0, or the target within a deep overlap.
    pub(crate) fn counts_from(target: f64, tolerance: f64) -> f64 {
        if target > tolerance { target } else { 0.0 }
    }

    /// The blocks of the joints that stops and friction belong to. (n blocks)
    pub(crate) fn carriers(model: &Model) -> Vec<Option<usize>> {
        let own = |block: &gelenk_model::RowBlock| {
            let joint = block.joint().filter(|_| block.is_bound())?;
            let of_joint =
                |b: &gelenk_model::RowBlock| matches!(b.kind, RowKind::Joint(j) if j == joint);
            model.rows.iter().position(of_joint)
        };
        model.rows.iter().map(own).collect()
    }

    /// Whether a block is friction of a coordinate whose motion is prescribed. (n blocks)
    pub(crate) fn prescribed(model: &Model) -> Vec<bool> {
        let driven = |joint, which| {
            model.rows.iter().any(|block| match &block.kind {
                RowKind::Tie(tie) => {
                    matches!(tie.terms[..], [(j, w, _)] if j == joint && w == which)
                }
                _ => false,
            })
        };
        let own = |block: &gelenk_model::RowBlock| match &block.kind {
            RowKind::Friction(friction) => driven(friction.joint, friction.which),
            _ => false,
        };
        model.rows.iter().map(own).collect()
    }

    /// The bounds of a block of the model.
    pub(crate) fn new(model: &Model, block: &gelenk_model::RowBlock) -> Self {
        match &block.kind {
            RowKind::Friction(_) => Bound::Friction,
            _ if block.one_sided(model) => Bound::Stop,
            _ => Bound::None,
        }
    }
}

/// What a block does during a step; written before every step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Its rows are equations.
    Equal,
    /// A rope that is taut, or an end stop that is touched: one-sided.
    OneSided,
    /// A slack rope, or an end stop with room: the step goes on as if it were not there, and is cut where it arrives.
    Open,
    /// Dry friction that finds out in every stage whether it holds or slips.
    Coulomb,
    /// Dry friction with a sliding direction that is known, the sign of q̇, through all stages of a step.
    Slip(f64),
    /// Dry friction of a coordinate whose motion is prescribed: the sign of q̇, 0 at rest. It has no say in the motion.
    Driven(f64),
    /// Dry friction that holds through all stages of a step.
    Stick,
    /// Friction of a contact, which finds out whether it holds or slips.
    Cone,
    /// The joint is not there.
    Off,
}

impl Rows {
    /// Whether there is what only the graph solves: rows with bounds, joints that are not there, rods whose spin joints hold.
    pub(crate) fn has_bounds(&self) -> bool {
        self.any_bounded || self.any_off || self.held_spin
    }

    /// Whether there is dry friction.
    pub(crate) fn any_friction(&self) -> bool {
        self.blocks.iter().any(|block| block.bound == Bound::Friction)
    }

    /// Finds out which blocks take part, which stops are touched and which friction slips, at the poses and velocities of
    /// `bodies`, where the rows are ready.
    pub(crate) fn set_modes(
        &mut self,
        model: &Model,
        bodies: &Bodies,
        state: &State,
        method: &Method,
    ) {
        self.follow_active(model, state);
        if !self.any_bounded {
            return;
        }
        let slow = rest_speed(bodies, method);
        let floor = bodies.position_floor();
        self.held_band = HELD_PART * method.contact_tolerance;
        self.spent.fill(0.0);
        for i in 0..self.blocks.len() {
            if self.mode[i] == Mode::Off {
                continue;
            }
            self.mode[i] = match self.blocks[i].bound {
                Bound::None => Mode::Equal,
                Bound::Disk => Mode::Cone,
                Bound::Contact if self.at_once => Mode::OneSided,
                Bound::Stop | Bound::Contact => {
                    let (c, rate) = self.stop_place(i, model, bodies, state);
                    let tolerance = self.bound_tolerance(i, floor, method);
                    let bound = self.blocks[i].bound;
                    let slow =
                        if bound == Bound::Contact { slow.max(self.slow_leaving) } else { slow };
                    let rests = c >= -tolerance && rate >= -slow;
                    let lands = method.landing == Landing::Auto
                        && self.lands(i, model, c, rate, bound == Bound::Contact);
                    if bound == Bound::Stop {
                        self.landing[i] = lands && c < -tolerance;
                    }
                    if c > tolerance || rests || lands { Mode::OneSided } else { Mode::Open }
                }
                Bound::Friction if self.prescribed[i] => {
                    let rate = self.rate(i, bodies);
                    Mode::Driven(if rate.abs() > slow { rate.signum() } else { 0.0 })
                }
                Bound::Friction if method.order == Order::Two => Mode::Coulomb,
                Bound::Friction => {
                    let rate = self.rate(i, bodies);
                    if rate.abs() > slow { Mode::Slip(rate.signum()) } else { Mode::Stick }
                }
            };
        }
    }

    /// The part of its speed that what runs into block `i` gets back.
    pub(crate) fn restitution(&self, model: &Model, i: usize) -> f64 {
        match model.rows.get(i).map(|row| &row.kind) {
            None => self.contact(i).values.restitution,
            Some(RowKind::Stop(stop)) => stop.restitution,
            Some(_) => 0.0,
        }
    }

    /// Whether a stop or a contact with C and Ċ that is reached in the step lasts, without a bounce that could be seen.
    fn lands(&self, i: usize, model: &Model, c: f64, rate: f64, contact: bool) -> bool {
        let h = self.whole_step.abs();
        let fall = model.gravity.norm() * h;
        let bounces = self.restitution(model, i) * (rate + fall) > SLOWEST_BOUNCE * fall;
        let near = contact || c + 2.0 * (rate.abs() * h + REACH * h * h) >= 0.0;
        !bounces && near
    }

    /// Turns blocks off whose joints are not in the state, and on again.
    fn follow_active(&mut self, model: &Model, state: &State) {
        if self.known_active == state.active {
            return;
        }
        // Blocks of contacts are written by those who use them.
        self.known_active.clone_from(&state.active);
        self.any_off = false;
        for (i, block) in model.rows.iter().enumerate() {
            let off = !block.is_active(&state.active);
            self.any_off |= off;
            self.mode[i] = if off { Mode::Off } else { Mode::Equal };
            self.inactive[i] = off;
            let rows = block.first_row..block.first_row + block.n_rows;
            self.lower[rows.clone()].fill(f64::NEG_INFINITY);
            self.upper[rows].fill(f64::INFINITY);
        }
    }

    /// Bounds of the position correction (`velocity` false) or the velocity correction of a stage of length `h`.
    pub(crate) fn set_bounds(&mut self, model: &Model, h: f64, velocity: bool) {
        if !self.any_bounded {
            return;
        }
        for (i, block) in self.blocks.iter().enumerate() {
            let mut inactive = false;
            let (lower, upper) = match self.mode[i] {
                Mode::Off => continue,
                Mode::Equal | Mode::Stick => (f64::NEG_INFINITY, f64::INFINITY),
                Mode::OneSided => {
                    inactive = velocity && self.slack[i];
                    if h > 0.0 { (f64::NEG_INFINITY, 0.0) } else { (0.0, f64::INFINITY) }
                }
                Mode::Open => {
                    inactive = true;
                    (0.0, 0.0)
                }
                Mode::Cone => {
                    inactive = self.inactive[self.normal_of(i)];
                    (f64::NEG_INFINITY, f64::INFINITY)
                }
                Mode::Coulomb => {
                    let most = 0.5 * friction_force(model, i) * h.abs();
                    (-most, most)
                }
                Mode::Slip(sign) | Mode::Driven(sign) => {
                    let p = -sign * 0.5 * friction_force(model, i) * h;
                    (p, p)
                }
            };
            self.inactive[i] = inactive;
            self.lower[block.first_row] = lower;
            self.upper[block.first_row] = upper;
            if block.n_rows > 1 {
                let rows = block.first_row..block.first_row + block.n_rows;
                self.lower[rows.clone()].fill(lower);
                self.upper[rows].fill(upper);
            }
        }
    }

    /// Bounds of a correction at an instant, while no time passes: friction has no
    /// impulse, ropes pull and stops push where `touched` says so.
    pub(crate) fn set_instant_bounds(&mut self, touched: impl Fn(usize) -> bool) {
        if !self.any_bounded {
            return;
        }
        for i in 0..self.blocks.len() {
            if self.mode[i] == Mode::Off {
                continue;
            }
            let row = self.blocks[i].first_row;
            self.inactive[i] = match self.blocks[i].bound {
                Bound::None => continue,
                Bound::Stop | Bound::Contact => !touched(i),
                Bound::Friction => true,
                Bound::Disk => {
                    self.inactive[i] = self.inactive[self.normal_of(i)];
                    continue;
                }
            };
            (self.lower[row], self.upper[row]) = (f64::NEG_INFINITY, 0.0);
        }
    }

    /// At an instant whose normal impulses are given: friction acts where there are any.
    pub(crate) fn free_friction(&mut self) {
        for i in self.model_size.blocks..self.blocks.len() {
            if self.blocks[i].bound == Bound::Disk {
                let normal = self.normal_of(i);
                self.inactive[i] = self.velocity_impulse[self.blocks[normal].first_row] == 0.0;
            }
        }
    }

    /// For the sweep: an impulse along a coordinate with the impulses of its joint that keep the joint closed,
    ///
    /// ```text
    /// m = −K⁻¹ J M⁻¹ Wᵀ,   k = W M⁻¹ (Wᵀ + Jᵀ m)
    /// ```
    /// J, K of the joint, W of the coordinate. The error along it is that of the coordinate and m times that of the joint.
    /// Coordinates are often hard to move by themselves (a torque on a body that
    /// hangs at a long arm), and the sweep between the two would take for ever.
    pub(crate) fn carry_bounded(&mut self) {
        /// Part of the row's own response below which what is left beside the joint is rounding.
        const FREE: f64 = 1e-10;
        if !self.any_bounded {
            return;
        }
        for i in 0..self.blocks.len() {
            let Some(joint) = self.carrier[i] else { continue };
            let (own, other) = (&self.blocks[i], &self.blocks[joint]);
            let w = &self.jac[own.jac..own.jac + 12];
            let response = &self.response[own.jac..own.jac + 12];
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
            let n = other.n_rows;
            let mut coupling = [0.0; crate::small::MAX];
            for k in 0..n {
                coupling[k] = dot(&self.jac[other.jac + 12 * k..][..12], response);
            }
            let mut carry = [0.0; crate::small::MAX];
            for k in 0..n {
                carry[k] = -dot(&self.k_inv[other.k + n * k..][..n], &coupling[..n]);
            }
            let alone = dot(w, response);
            let together = alone + dot(&carry[..n], &coupling[..n]);
            // Where rounding leaves nothing of it, the row goes by itself.
            let (k, carry) = if together > FREE * alone {
                (together, carry)
            } else {
                (alone, [0.0; crate::small::MAX])
            };
            self.k_inv[own.k] = if k > 0.0 { 1.0 / k } else { 0.0 };
            self.carry[i] = carry;
        }
    }

    /// Gives block `i`, a bounded one, the impulse `p`, and its joint what goes with it.
    pub(crate) fn apply_bounded(&mut self, i: usize, p: f64, velocity: bool, bodies: &mut Bodies) {
        self.apply(i, &[p], bodies);
        let row = self.blocks[i].first_row;
        let sum = if velocity { &mut self.velocity_impulse } else { &mut self.impulse };
        sum[row] += p;
        let Some(joint) = self.carrier[i] else { return };
        let (row, n) = (self.blocks[joint].first_row, self.blocks[joint].n_rows);
        let carried = self.carry[i].map(|m| m * p);
        for k in 0..n {
            sum[row + k] += carried[k];
        }
        self.apply(joint, &carried[..n], bodies);
    }

    /// C and Ċ of an end stop, a rope or a contact in a state with these poses and velocities.
    pub(crate) fn stop_place(
        &self,
        i: usize,
        model: &Model,
        bodies: &Bodies,
        state: &State,
    ) -> (f64, f64) {
        let Some(rows) = model.rows.get(i) else {
            return (-self.contact(i).place.gap, self.rate(i, bodies));
        };
        let c = match &rows.kind {
            RowKind::Stop(stop) => {
                let joint = &model.joints[stop.joint.index()];
                stop.error(state.coordinate[joint.first_coordinate + stop.which])
            }
            RowKind::Joint(id) => {
                let joint = &model.joints[id.index()];
                let [a, b] = joint.bodies.map(|body| &bodies.poses[body.index()]);
                let mut c = [0.0];
                joint.near(&state.coordinate).equations().position_error(a, b, &mut c);
                c[0]
            }
            _ => f64::NEG_INFINITY,
        };
        (c, self.rate(i, bodies))
    }

    /// J v of a block with one row.
    pub(crate) fn rate(&self, i: usize, bodies: &Bodies) -> f64 {
        let mut e = [0.0];
        self.error_rate(i, &bodies.twists, &mut e);
        e[0]
    }

    /// How far a stop may be passed, rad or m.
    ///
    /// `floor` is that of the positions, [`Bodies::position_floor`].
    pub(crate) fn bound_tolerance(&self, i: usize, floor: f64, method: &Method) -> f64 {
        let own = match self.blocks[i].bound {
            Bound::Contact => method.contact_tolerance,
            _ => self.blocks[i].tolerance.unwrap_or(method.tolerance),
        };
        own.max(2.0 * floor)
    }

    /// Adds the friction impulses of an instant to what the step has spent; returns what they took of the energy, J:
    /// −p · ½ J (v⁻ + v⁺).
    pub(crate) fn friction_loss(&mut self, bodies: &Bodies, end: bool) -> f64 {
        let mut loss = 0.0;
        for i in 0..self.blocks.len() {
            if self.blocks[i].bound == Bound::Disk && !self.inactive[i] {
                loss += self.work_against(i, bodies, end);
            }
            if self.blocks[i].bound != Bound::Friction || self.inactive[i] {
                continue;
            }
            let row = self.blocks[i].first_row;
            let p = if end { self.velocity_impulse[row] } else { self.impulse[row] };
            let (mut before, mut after) = ([0.0], [0.0]);
            self.error_rate(i, &bodies.twists_before, &mut before);
            self.error_rate(i, &bodies.twists, &mut after);
            loss -= p * 0.5 * (before[0] + after[0]);
            self.spent[i] += p;
        }
        loss
    }

    /// Whether friction did through all stages of a step of length `h` what it was taken to do: the sliding direction
    /// stayed, and what holds needed no more than F.
    pub(crate) fn friction_kept(&self, model: &Model, bodies: &Bodies, h: f64) -> bool {
        (0..self.blocks.len()).all(|i| match self.mode[i] {
            Mode::Slip(sign) => sign * self.rate(i, bodies) > 0.0,
            Mode::Stick => self.spent[i].abs() <= friction_force(model, i) * h.abs(),
            _ => true,
        })
    }

    /// Lets the places where friction holds follow the coordinates that slip.
    pub(crate) fn follow_held(&self, model: &Model, state: &mut State) {
        for (i, block) in model.rows.iter().enumerate() {
            let RowKind::Friction(friction) = &block.kind else { continue };
            let row = block.first_row;
            let holds = match self.mode[i] {
                Mode::Stick => true,
                Mode::Coulomb => {
                    let p = self.impulse[row];
                    self.lower[row] < p && p < self.upper[row]
                }
                _ => false,
            };
            if !holds {
                let joint = &model.joints[friction.joint.index()];
                let q = state.coordinate[joint.first_coordinate + friction.which];
                state.held[friction.slot] = q;
            }
        }
    }
}

/// What friction holds may be from where it holds by this part of the tolerance of contacts, as what touches.
const HELD_PART: f64 = 0.5;

/// Largest friction of a block, N m or N.
fn friction_force(model: &Model, i: usize) -> f64 {
    match &model.rows[i].kind {
        RowKind::Friction(friction) => friction.force,
        _ => 0.0,
    }
}

/// Coordinates slower than this are at rest, rad/s or m/s: what the velocity correction may leave, with room for its effect
/// on other coordinates.
pub(crate) fn rest_speed(bodies: &Bodies, method: &Method) -> f64 {
    10.0 * method.velocity_tolerance.max(bodies.velocity_floor())
}
