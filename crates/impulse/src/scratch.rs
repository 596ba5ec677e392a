//! Memory of a step: can be thrown away at any time, and grows no more after it is made.
#![expect(clippy::inline_always, reason = "the hot sweep: measured a third faster")]

use gelenk_model::force::Account;
use gelenk_model::math::{Mat3, Quat, Vec3};
use gelenk_model::signal::{StateRef, Work};
use gelenk_model::state::{Pose, State, Twist, Wrench};
use gelenk_model::{Flight, Model};
use nalgebra::Quaternion;

use crate::balls::Balls;
use crate::drives::Drives;
use crate::flight::{self, Spinner, Top};
use crate::graph::Graph;
use crate::lanes::{F, LANES, M, Q, V};
use crate::method::Method;
use crate::rows::Rows;
use crate::singular::Watch;
use crate::solver::{Anderson, Crossing, Factor, Sharing, eliminate_in_turns, neighbours};
use crate::stops::Stops;
use crate::touching::Touching;

/// Everything a step needs besides model and state.
#[derive(Clone, Debug)]
pub struct Scratch {
    /// Bodies as flat arrays.
    pub bodies: Bodies,
    /// Rows as flat arrays.
    pub rows: Rows,
    /// Loads of the force elements.
    pub loads: Loads,
    /// Memory of slow sweeps.
    pub anderson: Anderson,
    /// Memory of the model's tapes.
    pub work: Work,
    /// The mechanism where ball joints alone hold it; the general rows are then prepared only where K is singular.
    pub(crate) balls: Option<Box<Balls>>,
    /// Whether ball joints are swept as other joints are, since the leaner path does not know how their bodies turn; written with
    /// the modes.
    pub(crate) plain_sweeps: bool,
    /// Factor of the direct solver; made when it first solves.
    pub direct: Option<Box<Factor>>,
    /// Memory of the graph; made when it first solves.
    pub(crate) graph: Option<Box<Graph>>,
    /// Memory to share loads between redundant rows; made when there first are any.
    pub sharing: Option<Box<Sharing>>,
    /// Impulse and angular impulse about its point that each joint gave to body b over the step, world frame, N s and
    /// N m s; written by [`step`](crate::step). (n_joints)
    pub joint_impulses: Vec<Wrench>,
    /// Kinetic energy and that of weight after the last stage, where it knows them, J.
    pub(crate) energies: Option<(f64, f64)>,
    /// Memory of the rounds in which forces and velocities settle; written by [`step`](crate::step).
    pub(crate) rounds: Anderson,
    /// Velocities in one row; written by [`step`](crate::step). (6 n_bodies where laws read velocities)
    pub(crate) flat_twists: Vec<f64>,
    /// Velocities of the round before, where laws read velocities; written by [`step`](crate::step). (n_bodies)
    pub(crate) previous_twists: Vec<Twist>,
    /// Tries of the running asked step; written by [`Simulation`](crate::Simulation).
    pub(crate) tries: u32,
    /// Memory of the end stops; written by [`Simulation`](crate::Simulation).
    pub(crate) stops: Stops,
    /// The mechanism of ball joints while one of them is not there.
    pub(crate) idle_balls: Option<Box<Balls>>,
    /// What can touch, if anything can.
    pub(crate) touching: Option<Box<Touching>>,
    /// The state before the step, to go back to; written by [`step`](crate::step).
    pub(crate) saved: State,
    /// Looks out for singular positions, where there may be any.
    pub(crate) watch: Option<Box<Watch>>,
    /// The singular position that is being passed; written by the watch.
    pub(crate) crossing: Option<Box<Crossing>>,
}

impl Scratch {
    /// Memory for steps of `model`.
    pub fn new(model: &Model) -> Self {
        let loads = Loads::new(model);
        let (bodies, mut rows) = (Bodies::new(model), Rows::new(model));
        rows.held_spin = bodies.held_spin;
        let balls = if rows.held_spin {
            None
        } else {
            Balls::new(model, || eliminate_in_turns(neighbours(&rows, &bodies.fixed)))
        };
        let touching = Touching::new(model).map(Box::new);
        let n_flat = if loads.velocity_dependent { 6 * model.n_bodies() } else { 0 };
        let watch = if balls.is_some() { None } else { Watch::new(model).map(Box::new) };
        Scratch {
            watch,
            crossing: None,
            bodies,
            tries: 0,
            stops: Stops::new(model, &rows.stops),
            idle_balls: None,
            rows,
            balls: balls.map(Box::new),
            plain_sweeps: false,
            loads,
            rounds: Anderson::new(n_flat),
            flat_twists: vec![0.0; n_flat],
            anderson: Anderson::new(model.n_rows()),
            work: model.work(),
            direct: None,
            graph: None,
            sharing: None,
            joint_impulses: vec![Wrench::zero(); model.joints.len()],
            energies: None,
            previous_twists: vec![Twist::zero(); model.n_bodies()],
            touching,
            saved: model.start.clone(),
        }
    }
}

impl Scratch {
    /// Marks all that follows from the poses as out of date.
    pub(crate) fn forget_poses(&mut self) {
        self.rows.ready = false;
        self.loads.known = false;
        self.loads.drives.ready = false;
        if let Some(balls) = &mut self.balls {
            balls.forget_poses();
        }
    }

    /// What each block does from the state on; see [`Rows::set_modes`]. Rows are ready where there are bounds.
    pub(crate) fn set_modes(&mut self, model: &Model, state: &State, method: &Method) {
        self.rows.set_modes(model, &self.bodies, state, method);
        self.plain_sweeps = method.solver.sweep().is_some()
            && [&self.balls, &self.idle_balls]
                .into_iter()
                .flatten()
                .any(|b| !b.can_sweep(method.flight));
        self.choose_path();
    }

    /// The leaner path knows ball joints that are there, and no contacts.
    pub(crate) fn choose_path(&mut self) {
        let idle = self.rows.any_off || !self.rows.contacts.is_empty() || self.plain_sweeps;
        if idle && self.balls.is_some() {
            self.idle_balls = self.balls.take();
        } else if !idle && self.idle_balls.is_some() {
            self.balls = self.idle_balls.take();
            self.forget_poses();
        }
    }

    /// The mechanism of ball joints, its K factorized, if it is one and K is regular.
    pub(crate) fn regular_balls(&mut self) -> Option<(&mut Balls, &mut Rows, &mut Bodies)> {
        let balls = self.balls.as_deref_mut()?;
        balls.factorize().then_some((balls, &mut self.rows, &mut self.bodies))
    }

    /// J and M⁻¹ Jᵀ of the general rows at the poses of `bodies`, unless they are there.
    pub(crate) fn prepare_rows(&mut self, model: &Model, t: f64, coordinates: &[f64]) {
        if !self.rows.ready {
            self.rows.prepare(model, &self.bodies, t, coordinates, &mut self.work);
            self.forget_factors();
        }
    }

    fn forget_factors(&mut self) {
        if let Some(factor) = &mut self.direct {
            factor.ready = false;
        }
        if let Some(graph) = &mut self.graph {
            graph.forget();
        }
    }

    /// Whether the end of a stage corrects velocities: where it is asked for at the end of a step, and in every stage
    /// where laws read velocities or book work, or rows have bounds, which need velocities that fit the joints.
    pub(crate) fn corrects_velocities(&self, method: &Method, last: bool) -> bool {
        method.velocity_correction && last
            || self.loads.booked
            || self.loads.velocity_dependent
            || self.rows.any_bounded
            || self.rows.held_spin
    }
}

/// Bodies as parallel arrays, all of length n_bodies.
#[derive(Clone, Debug)]
pub struct Bodies {
    /// Held in space; constant.
    pub fixed: Vec<bool>,
    /// How it turns in free flight; constant.
    pub top: Vec<Top>,
    /// m, kg; constant.
    pub mass: Vec<f64>,
    /// Sum over the bodies that move, kg; constant.
    pub total_mass: f64,
    /// Twice the mean distance (root of the mean square) of joints from the centres of their bodies that move, m; infinite where there
    /// are none; constant.
    pub link_length: f64,
    /// 1/m, 1/kg; constant.
    pub mass_inv: Vec<f64>,
    /// Principal moments, kg m²; constant.
    pub inertia: Vec<Vec3>,
    /// Their inverses; constant.
    pub inertia_inv: Vec<Vec3>,
    /// Whether joints hold the spin of a rod about its axis, where it has no inertia of its own; constant.
    pub(crate) held_spin: bool,
    /// The axes of these spins: body and principal axis; constant.
    held_axes: Vec<(usize, usize)>,
    /// Impulses of loads about these axes, which change no velocity of the rod alone and go to the bodies joined to it, N m s; written by the kicks, taken by the
    /// correction that follows. (n_bodies, or none)
    pub(crate) couples: Vec<Vec3>,
    /// Whether all that move have inertia about all axes; constant.
    pub(crate) all_turn: bool,
    /// Gravity on it, 0 if fixed, m/s²; constant.
    pub gravity: Vec<Vec3>,
    /// Time and place of the state read last.
    known_t: Option<f64>,
    known_s: Vec<Vec3>,
    known_rot: Vec<Quat>,
    /// Poses at time t; written by [`read_state`](Bodies::read_state).
    pub poses: Vec<Pose>,
    /// J̃⁻¹ = R J⁻¹ Rᵀ at time t; written by [`read_state`](Bodies::read_state).
    pub inertia_inv_world: Vec<Mat3>,
    /// Velocities at time t, on which impulses act; written by every stage.
    pub twists: Vec<Twist>,
    /// Velocities before the impulses of an instant, for the ledger; written by the kicks.
    pub twists_before: Vec<Twist>,
    /// Where free flight takes the body: its centre and, where `pose_ready`, its axes; written by the look-ahead.
    pub ahead: Vec<Pose>,
    /// Its turn in free flight; written by the look-ahead.
    pub turn: Vec<Quaternion<f64>>,
    /// Whether `turn` and `ahead.s` belong to `twists`.
    turn_ready: Vec<bool>,
    /// Whether `ahead.rot` belongs to `twists`.
    pose_ready: Vec<bool>,
    /// Bodies that move and turn in closed form, four at a time; the others that move. Constant.
    fours: Vec<Four>,
    singles: Vec<usize>,
}

/// Four symmetric tops; the last is repeated where there are fewer.
#[derive(Clone, Debug)]
struct Four {
    bodies: [usize; LANES],
    axis: [usize; LANES],
    slip: F,
    gravity: V,
    /// Their places, axes and axes of symmetry at time t; written by [`read_state`](Bodies::read_state).
    s: V,
    rot: M,
    e: V,
}

impl Four {
    fn all(model: &Model) -> (Vec<Four>, Vec<usize>) {
        let (mut tops, mut singles) = (Vec::new(), Vec::new());
        for (i, body) in model.bodies.iter().enumerate().filter(|(_, body)| !body.fixed) {
            match Top::new(&body.inertia) {
                Top::Spherical => tops.push((i, 0, 0.0)),
                Top::Symmetric { axis, slip } => tops.push((i, axis, slip)),
                Top::Asymmetric => singles.push(i),
            }
        }
        let four = |own: &[(usize, usize, f64)]| {
            let lane = |k: usize| own[k.min(own.len() - 1)];
            Four {
                bodies: std::array::from_fn(|k| lane(k).0),
                axis: std::array::from_fn(|k| lane(k).1),
                slip: F::new(std::array::from_fn(|k| lane(k).2)),
                gravity: V::splat(&model.gravity),
                s: V::ZERO,
                rot: M { x: V::ZERO, y: V::ZERO, z: V::ZERO },
                e: V::ZERO,
            }
        };
        (tops.chunks(LANES).map(four).collect(), singles)
    }

    fn place(&mut self, poses: &[Pose]) {
        let own = self.bodies.map(|i| &poses[i]);
        let e: [[f64; 3]; LANES] = std::array::from_fn(|k| own[k].rot.data.0[self.axis[k]]);
        let entry = |row: usize| F::new([e[0][row], e[1][row], e[2][row], e[3][row]]);
        self.e = V { x: entry(0), y: entry(1), z: entry(2) };
        self.s = V::gather(|k| &own[k].s);
        self.rot = matrices(|k| &own[k].rot);
    }
}

/// Twice the distance of joints from the centres of their bodies, at the start.
fn link_length(model: &Model) -> f64 {
    let (mut squares, mut n) = (0.0, 0);
    for joint in &model.joints {
        let poses = joint.bodies.map(|id| model.start.pose(id));
        let point = joint.kind.equations().force_point(&poses[0], &poses[1]);
        for (id, pose) in joint.bodies.iter().zip(&poses) {
            if !model.bodies[id.index()].fixed {
                squares += (point - pose.s).norm_squared();
                n += 1;
            }
        }
    }
    if n == 0 { f64::INFINITY } else { 2.0 * (squares / f64::from(n)).sqrt() }
}

impl Bodies {
    /// Kinetic energy of `twists`, J.
    pub(crate) fn kinetic(&self) -> f64 {
        let mut kinetic = 0.0;
        for i in (0..self.fixed.len()).filter(|&i| !self.fixed[i]) {
            let twist = &self.twists[i];
            let omega_body = self.poses[i].rot.tr_mul(&twist.omega);
            let spin = self.inertia[i].component_mul(&omega_body).dot(&omega_body);
            kinetic += 0.5 * (self.mass[i] * twist.s_dot.norm_squared() + spin);
        }
        kinetic
    }

    fn new(model: &Model) -> Self {
        let n = model.n_bodies();
        let bodies = &model.bodies;
        let (fours, singles) = Four::all(model);
        Bodies {
            fours,
            singles,
            fixed: bodies.iter().map(|b| b.fixed).collect(),
            top: bodies.iter().map(|b| Top::new(&b.inertia)).collect(),
            total_mass: bodies.iter().filter(|b| !b.fixed).map(|b| b.mass).sum(),
            link_length: link_length(model),
            mass: bodies.iter().map(|b| b.mass).collect(),
            mass_inv: bodies.iter().map(|b| b.mass_inv).collect(),
            inertia: bodies.iter().map(|b| b.inertia).collect(),
            // The graph inverts no body alone, and needs no stand-in for moments that joined bodies give.
            inertia_inv: bodies
                .iter()
                .map(|b| {
                    b.inertia_inv.zip_map(&b.inertia, |inv, j| if j == 0.0 { 0.0 } else { inv })
                })
                .collect(),
            held_spin: !model.held_spins().is_empty(),
            held_axes: model.held_spins().iter().map(|spin| (spin.body, spin.axis)).collect(),
            couples: if model.held_spins().is_empty() {
                Vec::new()
            } else {
                vec![Vec3::zeros(); n]
            },
            all_turn: bodies.iter().all(|b| b.fixed || b.inertia_inv.min() > 0.0),
            gravity: bodies
                .iter()
                .map(|b| if b.fixed { Vec3::zeros() } else { model.gravity })
                .collect(),
            known_t: None,
            known_s: vec![Vec3::zeros(); n],
            known_rot: vec![Quat::identity(); n],
            poses: vec![Pose::identity(); n],
            inertia_inv_world: vec![Mat3::zeros(); n],
            twists: vec![Twist::zero(); n],
            twists_before: vec![Twist::zero(); n],
            ahead: vec![Pose::identity(); n],
            turn: vec![Quaternion::identity(); n],
            turn_ready: vec![true; n],
            pose_ready: vec![true; n],
        }
    }

    /// Takes poses and velocities from the state and turns the inertia tensors with them. Returns false if the poses
    /// (and the time) are those it had already, so that all that follows from them is there too.
    pub fn read_state(&mut self, state: &State) -> bool {
        state.write_twists(&mut self.twists);
        self.forget_flights();
        if self.known_t == Some(state.t)
            && same(&self.known_s, &state.s, |a, b| [(a.x, b.x), (a.y, b.y), (a.z, b.z)])
            && same(&self.known_rot, &state.rot, |a, b| {
                [(a.i, b.i), (a.j, b.j), (a.k, b.k), (a.w, b.w)]
            })
        {
            return false;
        }
        self.known_t = Some(state.t);
        self.known_s.copy_from_slice(&state.s);
        self.known_rot.copy_from_slice(&state.rot);
        for first in (0..self.poses.len()).step_by(LANES) {
            // Of fewer than four the last is repeated.
            let last = self.poses.len() - 1;
            let own: [usize; LANES] = std::array::from_fn(|k| (first + k).min(last));
            let rot = Q::gather(|k| state.rot[own[k]].into_inner()).matrix();
            let inertia = rot.turned(V::gather(|k| &self.inertia_inv[own[k]]));
            let columns = [rot.x, rot.y, rot.z, inertia.x, inertia.y, inertia.z].map(V::each);
            for (k, i) in own.into_iter().enumerate() {
                let matrix = |c: usize| {
                    Mat3::from_columns(&[columns[c][k], columns[c + 1][k], columns[c + 2][k]])
                };
                self.poses[i] = Pose { s: state.s[i], rot: matrix(0) };
                self.inertia_inv_world[i] = matrix(3);
                if self.fixed[i] {
                    self.ahead[i] = self.poses[i];
                }
            }
        }
        self.fours.iter_mut().for_each(|four| four.place(&self.poses));
        true
    }

    /// Writes the velocities to the state.
    pub fn write_velocities(&self, state: &mut State) {
        let velocities = state.s_dot.iter_mut().zip(&mut state.omega);
        for (twist, (s_dot, omega)) in self.twists.iter().zip(velocities) {
            (*s_dot, *omega) = (twist.s_dot, twist.omega);
        }
    }

    /// Keeps what an angular impulse on body `i` has about axes without inertia that joints hold.
    #[inline]
    pub(crate) fn add_couple(&mut self, i: usize, impulse: &Vec3) {
        for &(_, k) in self.held_axes.iter().filter(|(body, _)| *body == i) {
            let axis = self.poses[i].rot.column(k).into_owned();
            self.couples[i] += axis * axis.dot(impulse);
        }
    }

    /// Marks every look-ahead as out of date.
    pub fn forget_flights(&mut self) {
        self.turn_ready.copy_from_slice(&self.fixed);
        self.pose_ready.copy_from_slice(&self.fixed);
    }

    /// Marks the look-ahead of body `i` as out of date: its velocity has changed.
    #[inline]
    pub fn touch(&mut self, i: usize) {
        self.turn_ready[i] = self.fixed[i];
        self.pose_ready[i] = self.fixed[i];
    }

    /// Below this a gap is rounding of positions, m.
    pub(crate) fn position_floor(&self) -> f64 {
        // Four numbers that lie together are read at once; the last does not count.
        let places = self.poses.iter().map(|Pose { s, rot }| [s.x, s.y, s.z, rot.m11]);
        8.0 * f64::EPSILON * largest_of_three(places)
    }

    /// Below this a velocity error is rounding of velocities, m/s.
    pub(crate) fn velocity_floor(&self) -> f64 {
        let speeds = self.twists.iter().map(|Twist { s_dot: v, omega }| [v.x, v.y, v.z, omega.x]);
        32.0 * f64::EPSILON * largest_of_three(speeds)
    }

    /// Bodies that move and have three different moments.
    pub(crate) fn tumbling(&self) -> &[usize] {
        &self.singles
    }

    /// What the turn of body `i` depends on.
    pub fn spinner(&self, i: usize) -> Spinner<'_> {
        Spinner {
            top: self.top[i],
            inertia: &self.inertia[i],
            inertia_inv: &self.inertia_inv[i],
            rot: &self.poses[i].rot,
        }
    }

    /// The paper's LookAhead for the centre and the turn of body `i`: free flight over `h`.
    #[inline(always)]
    pub fn look_ahead(&mut self, i: usize, flight: Flight, h: f64) {
        if self.turn_ready[i] {
            return;
        }
        let twist = &self.twists[i];
        let spinner = self.spinner(i);
        self.turn[i] = if flight::is_off(&spinner, &twist.omega, &self.twists_before[i].omega, h) {
            flight::no_turn()
        } else {
            flight::turn(&spinner, &twist.omega, flight, h)
        };
        self.ahead[i].s = self.poses[i].s + (twist.s_dot + self.gravity[i] * (0.5 * h)) * h;
        self.turn_ready[i] = true;
        self.pose_ready[i] = false;
    }

    /// The same with the axes of all bodies, four at a time.
    pub(crate) fn look_ahead_poses(&mut self, flight: Flight, h: f64) {
        if !matches!(flight, Flight::Exact) {
            for i in 0..self.fixed.len() {
                self.look_ahead_pose(i, flight, h);
            }
            return;
        }
        let (step, half) = (F::splat(h), F::splat(0.5 * h));
        for four in &self.fours {
            let Four { bodies: own, slip, gravity, s, rot, e, .. } = four;
            let twists = own.map(|i| &self.twists[i]);
            let omega = V::gather(|k| &twists[k].omega);
            let c = *slip * omega.dot(*e);
            let turn = Q::exp((omega - *e * c) * step) * Q::exp(*e * (c * step));
            let m = turn.matrix();
            let ahead = [(m * rot.x).each(), (m * rot.y).each(), (m * rot.z).each()];
            let fall = V::gather(|k| &twists[k].s_dot) + *gravity * half;
            let s = (*s + fall * step).each();
            let turn = turn.each();
            for (k, &i) in own.iter().enumerate() {
                self.turn[i] = turn[k];
                let pose = &mut self.ahead[i];
                pose.s = s[k];
                for (column, of) in pose.rot.data.0.iter_mut().zip(&ahead) {
                    *column = [of[k].x, of[k].y, of[k].z];
                }
                self.turn_ready[i] = true;
                self.pose_ready[i] = true;
            }
        }
        for k in 0..self.singles.len() {
            self.look_ahead_pose(self.singles[k], flight, h);
        }
    }

    /// The turn of body `i` over the flight that was looked at, if its velocity is still the same.
    pub(crate) fn known_turn(&self, i: usize) -> Option<&Quaternion<f64>> {
        self.turn_ready[i].then_some(&self.turn[i])
    }

    /// The same with the axes.
    pub fn look_ahead_pose(&mut self, i: usize, flight: Flight, h: f64) {
        self.look_ahead(i, flight, h);
        if !self.pose_ready[i] {
            self.ahead[i].rot = flight::matrix(&self.turn[i]) * self.poses[i].rot;
            self.pose_ready[i] = true;
        }
    }
}

/// Loads of the force elements, by the ledger line of their work.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "what is known, and what laws there are")]
pub struct Loads {
    /// Loads of laws with a potential; written by the kicks. (n_bodies)
    pub potential: Vec<Wrench>,
    /// Loads of drives and applied forces; written by the kicks. (n_bodies)
    pub work: Vec<Wrench>,
    /// Loads of dampers and friction; written by the kicks. (n_bodies)
    pub dissipation: Vec<Wrench>,
    /// The model's signals; written by the kicks. (n signals)
    pub signals: Vec<f64>,
    /// When they were evaluated, with which inputs, and whether they depend on time and inputs alone (constant).
    pub(crate) signals_at: Option<f64>,
    pub(crate) held: Vec<f64>,
    pub(crate) timed: bool,
    /// Laws along joint coordinates.
    pub(crate) drives: Drives,
    /// Whether the loads are those at the poses of the bodies with these velocities and joints.
    pub(crate) known: bool,
    pub(crate) twists: Vec<Twist>,
    pub(crate) active: Vec<bool>,
    /// Whether a law reads velocities; constant.
    pub velocity_dependent: bool,
    /// Whether a law books work or dissipation; constant.
    pub booked: bool,
    /// Whether there are laws of each line, in the order of the loads; constant.
    pub(crate) lines: [bool; 3],
}

impl Loads {
    fn new(model: &Model) -> Self {
        let n = model.n_bodies();
        let zero = vec![Wrench::zero(); n];
        let laws = || model.forces.iter().map(|f| f.kind.law());
        Loads {
            potential: zero.clone(),
            work: zero.clone(),
            dissipation: zero,
            signals: vec![0.0; model.signals.n],
            signals_at: None,
            held: Vec::new(),
            timed: model
                .signals
                .inputs
                .iter()
                .all(|input| matches!(input, StateRef::Time | StateRef::Input(_))),
            drives: Drives::new(model),
            known: false,
            twists: vec![Twist::zero(); n],
            active: Vec::new(),
            velocity_dependent: laws().any(gelenk_model::force::ForceLaw::depends_on_velocity),
            booked: laws().any(|l| l.account() != Account::Potential),
            lines: [Account::Potential, Account::Work, Account::Dissipation]
                .map(|line| laws().any(|l| l.account() == line)),
        }
    }
}

/// Whether two lists are the same to the last bit, given pairs of their numbers.
#[inline(always)]
pub(crate) fn same<T, const N: usize>(
    a: &[T],
    b: &[T],
    pairs: impl Fn(&T, &T) -> [(f64, f64); N],
) -> bool {
    // Without branches: nearly always they are.
    let mut different = [0; N];
    for (a, b) in a.iter().zip(b) {
        for (bits, (x, y)) in different.iter_mut().zip(pairs(a, b)) {
            *bits |= x.to_bits() ^ y.to_bits();
        }
    }
    a.len() == b.len() && different == [0; N]
}

/// Below this a gap of bodies at these places is rounding, m.
pub(crate) fn position_floor(s: &[Vec3]) -> f64 {
    8.0 * f64::EPSILON * largest(s.iter())
}

/// Below this a velocity error of bodies with these velocities is rounding, m/s.
pub(crate) fn velocity_floor(s_dot: &[Vec3]) -> f64 {
    32.0 * f64::EPSILON * largest(s_dot.iter())
}

/// The largest component, and at least 1.
#[inline(always)]
fn largest<'a>(vectors: impl Iterator<Item = &'a Vec3>) -> f64 {
    // Along each axis by itself, so that none waits for the others.
    let most = vectors.fold([1.0; 3], |most, v| [0, 1, 2].map(|k| higher(most[k], v[k])));
    higher(higher(most[0], most[1]), most[2])
}

/// The largest of the first three of all these, and at least 1; what is not a number does not count.
#[inline(always)]
fn largest_of_three(all: impl Iterator<Item = [f64; LANES]>) -> f64 {
    let without_sign = f64::from_bits(u64::MAX >> 1);
    let three = F::new([without_sign, without_sign, without_sign, 0.0]);
    largest_lane(all.fold(F::ONE, |most, four| (F::new(four) & three).fast_max(most)))
}

/// The largest component of these velocities, and at least 1.
pub(crate) fn largest_speed(twists: &[Twist]) -> f64 {
    largest_lane(twists.iter().fold(F::ONE, |most, Twist { s_dot: v, omega: w }| {
        // Four numbers that lie together are read at once, two of them twice.
        let most = F::new([v.x, v.y, v.z, w.x]).abs().fast_max(most);
        F::new([v.z, w.x, w.y, w.z]).abs().fast_max(most)
    }))
}

#[inline(always)]
fn largest_lane(most: F) -> f64 {
    let [a, b, c, d] = most.to_array();
    a.max(b).max(c.max(d))
}

/// The largest component and `most`.
#[inline(always)]
pub(crate) fn larger(most: f64, v: &Vec3) -> f64 {
    higher(higher(higher(most, v.x), v.y), v.z)
}

/// The larger of `most` and |x|: one instruction, and nothing of what is not a number, as `f64::max`.
#[inline(always)]
fn higher(most: f64, x: f64) -> f64 {
    if x.abs() > most { x.abs() } else { most }
}

/// Matrices of four bodies.
#[inline(always)]
pub(crate) fn matrices<'a>(of: impl Fn(usize) -> &'a Mat3) -> M {
    let m: [_; LANES] = std::array::from_fn(|k| &of(k).data.0);
    let entry = |column: usize, row: usize| {
        F::new([m[0][column][row], m[1][column][row], m[2][column][row], m[3][column][row]])
    };
    let column = |c: usize| V { x: entry(c, 0), y: entry(c, 1), z: entry(c, 2) };
    M { x: column(0), y: column(1), z: column(2) }
}
