//! Rows of all joints as flat arrays: Jacobians, responses M⁻¹ Jᵀ, and the inverse of each block's K = J M⁻¹ Jᵀ.

use gelenk_model::factor::{BlockPlace, ResponseRows};
use gelenk_model::math::Vec3;
use gelenk_model::rows::{Instant, RowKind};
use gelenk_model::run::Stop;
use gelenk_model::signal::Work;
use gelenk_model::{Flight, Model, State, Twist};

use crate::bounds::{Bound, Mode};
use crate::contact::{Contact, Part};
use crate::hinges::Hinges;
use crate::lanes::{F, mul_add};
use crate::scratch::Bodies;
use crate::small;

/// All rows of a model.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "what is ready, and what there is")]
pub struct Rows {
    /// Whether the numbers below belong to the poses of the bodies; written by [`prepare`](Rows::prepare).
    pub ready: bool,
    /// Whether someone wants to stop: loops that may be long give up then.
    pub(crate) stop: Stop,
    /// Where each block's numbers lie; constant. (n blocks)
    pub blocks: Vec<Block>,
    /// Whether any block may depend on time; constant.
    pub rheonomic: bool,
    /// Whether any block has bounds; constant.
    pub any_bounded: bool,
    /// Whether joints hold the spin of a rod about its axis, which K = J M⁻¹ Jᵀ does not know; constant.
    pub(crate) held_spin: bool,
    /// Blocks of end stops; constant.
    pub stops: Vec<usize>,
    /// What each block does in the running step; written by `set_modes`. (n blocks)
    pub mode: Vec<Mode>,
    /// Blocks that take no part in the running correction: open stops, slack ropes, joints that are not there; written
    /// before every correction. (n blocks)
    pub inactive: Vec<bool>,
    /// Blocks that the direct solver leaves out: inactive, or at a bound; written before every solve. (n blocks)
    pub out: Vec<bool>,
    /// Impulses of its joint's rows that go with an impulse 1 of a stop or friction, so that the joint stays closed; written
    /// by [`invert_blocks`](Rows::invert_blocks). (6 a block)
    pub carry: Vec<[f64; small::MAX]>,
    /// The block of its joint, for stops and friction; constant. (n blocks)
    pub carrier: Vec<Option<usize>>,
    /// Impulses when a correction with bounds began, and the rates J v it wants; written by it. (n_rows)
    pub(crate) begun: Vec<f64>,
    /// Velocities then, to go back to without the rounding of large impulses. (n bodies)
    pub(crate) begun_twists: Vec<Twist>,
    pub(crate) wanted: Vec<f64>,
    /// Friction of coordinates whose motion is prescribed; constant. (n blocks)
    pub prescribed: Vec<bool>,
    /// Smallest impulse that each row may have in the running correction, N s or N m s; written before it. (n_rows)
    pub lower: Vec<f64>,
    /// Largest impulse. (n_rows)
    pub upper: Vec<f64>,
    /// Sum of the friction impulses of the running step, N s or N m s; written by the stages. (n blocks)
    pub spent: Vec<f64>,
    /// Whether a joint is not there; written by `set_modes`.
    pub any_off: bool,
    /// Stops that are reached in the running step, and stay; written by `set_modes`. (n blocks of the model)
    pub(crate) landing: Vec<bool>,
    /// The joints there were when the modes were written.
    pub(crate) known_active: Vec<bool>,
    /// Bodies of all blocks, one block after the other; constant.
    pub body_list: Vec<usize>,
    /// Jacobians, row-major, 6 columns a body; written by [`prepare`](Rows::prepare).
    pub jac: Vec<f64>,
    /// Responses M⁻¹ Jᵀ in the same layout; written by [`prepare`](Rows::prepare), those of equations where a solver asks for them.
    pub response: Vec<f64>,
    /// K⁻¹ of each block, n_rows × n_rows; written by [`invert_blocks`](Rows::invert_blocks).
    pub k_inv: Vec<f64>,
    /// ∂C/∂t; written by [`prepare`](Rows::prepare). (n_rows)
    pub c_t: Vec<f64>,
    /// What C(t+h) is to be: 0 after a whole step, a part of C(t) after a part of it; written by
    /// [`set_target`](Rows::set_target). (n_rows)
    pub target: Vec<f64>,
    /// Whether targets of joints are not all 0; written there too.
    pub(crate) keeps: bool,
    /// Work of the impulses over the gaps that a position correction may leave, Σ |p C|/h, J; written by
    /// [`Simulation`](crate::Simulation), infinite but for gentle steps.
    pub work_allowed: f64,
    /// Whether a one-sided block is slack, C < −tolerance; written by [`set_slack`](Rows::set_slack). (n blocks)
    pub slack: Vec<bool>,
    /// Whether `response` of equations, and `k_inv`, belong to the poses of the bodies.
    responds: bool,
    k_ready: bool,
    /// Whether the damped factor of the direct solver does.
    pub(crate) shared: bool,
    /// Impulses at time t that a position correction may begin with; written by [`step`](crate::step). (n_rows)
    pub guess: Vec<f64>,
    /// Right side of the direct solver. (n_rows)
    pub error: Vec<f64>,
    /// Its solution. (n_rows)
    pub solution: Vec<f64>,
    /// Impulses at time t of the running position correction, N s or N m s. (n_rows)
    pub impulse: Vec<f64>,
    /// Impulses of the running velocity correction. (n_rows)
    pub velocity_impulse: Vec<f64>,
    /// Position error of each block at the last look-ahead, m or rad. (n blocks)
    pub gap: Vec<f64>,
    /// Velocity error of each block when it was last looked at, m/s or rad/s. (n blocks)
    pub velocity_error: Vec<f64>,
    /// Contacts, whose blocks follow those of the model.
    pub(crate) contacts: Vec<Contact>,
    /// Whether all contacts are taken as lasting ones, also those with room.
    pub(crate) at_once: bool,
    /// Contacts that are left more slowly than this last, m/s; written by the adaptive step.
    pub(crate) slow_leaving: f64,
    /// Overlaps up to this are within tolerance, m; written with the contacts.
    pub(crate) overlap_allowed: f64,
    /// How far what friction holds may be from where it holds, m or rad; constant.
    pub(crate) held_band: f64,
    /// The asked step, s; written with the contacts.
    pub(crate) whole_step: f64,
    /// Energy that went through the normals of contacts, or into bodies and out of them by drives and dampers, in the running step, J.
    pub(crate) exchanged: f64,
    /// The part of it that went through normals, but for deep overlaps, J.
    pub(crate) through_contacts: f64,
    /// Energy that pushing deep overlaps out gave in the running step, J: in steps of any length, so that no shorter one would do.
    pub(crate) pushed_out: f64,
    /// What contacts that do took at the start of the running stage, J.
    pub(crate) pushing_loss: f64,
    /// How fast contacts opened while they pushed, m/s, where the law found no answer in the running step.
    pub(crate) loose: f64,
    /// Contact and part of each of their blocks.
    pub(crate) roles: Vec<(usize, Part)>,
    /// Those of hinges, which are looked at four at a time; constant.
    pub(crate) hinges: Hinges,
    /// Largest eigenvalue of K of each of their blocks; written by [`prepare`](Rows::prepare).
    pub(crate) stiffest: Vec<f64>,
    /// What belongs to the model alone; constant.
    pub(crate) model_size: ModelSize,
    /// Whether `error` is what the last look of a position correction found, with the velocities there are.
    pub(crate) looked: bool,
    /// Energy that the blocks of contacts took at the running instant, J, and whether that is known. (n blocks of contacts)
    pub(crate) taken: Vec<f64>,
    pub(crate) taken_known: bool,
}

/// Lengths of the arrays of [`Rows`] without contacts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ModelSize {
    pub blocks: usize,
    pub rows: usize,
    pub bodies: usize,
    pub jac: usize,
    pub k: usize,
    pub bounded: bool,
}

/// Where a block's numbers lie.
#[derive(Clone, Debug)]
pub struct Block {
    /// First row, and number of rows.
    pub first_row: usize,
    /// Number of rows.
    pub n_rows: usize,
    /// First body in `body_list`.
    pub first_body: usize,
    /// Number of bodies.
    pub n_bodies: usize,
    /// Start of its Jacobian and response.
    pub jac: usize,
    /// Start of its K⁻¹.
    pub k: usize,
    /// Largest allowed error; `None`: the run's.
    pub tolerance: Option<f64>,
    /// What bounds its single row has, if any.
    pub bound: Bound,
}

impl ResponseRows for Rows {
    fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    fn place(&self, i: usize) -> BlockPlace {
        let Block { first_row, n_rows, n_bodies, jac, .. } = self.blocks[i];
        BlockPlace { first_row, n_rows, n_bodies, jac }
    }

    fn bodies(&self, i: usize) -> &[usize] {
        let block = &self.blocks[i];
        &self.body_list[block.first_body..][..block.n_bodies]
    }

    fn jac(&self) -> &[f64] {
        &self.jac
    }

    fn response(&self) -> &[f64] {
        &self.response
    }

    fn is_out(&self, i: usize) -> bool {
        self.out[i]
    }
}

impl Rows {
    pub(crate) fn new(model: &Model) -> Self {
        let mut blocks = Vec::with_capacity(model.rows.len());
        let mut body_list = Vec::new();
        let (mut jac, mut k) = (0, 0);
        for block in &model.rows {
            blocks.push(Block {
                first_row: block.first_row,
                n_rows: block.n_rows,
                first_body: body_list.len(),
                n_bodies: block.bodies.len(),
                jac,
                k,
                tolerance: block.tolerance,
                bound: Bound::new(model, block),
            });
            body_list.extend(block.bodies.iter().map(|b| b.index()));
            jac += block.n_rows * 6 * block.bodies.len();
            k += block.n_rows * block.n_rows;
        }
        let (n_rows, n_blocks) = (model.n_rows(), blocks.len());
        let any_bounded = blocks.iter().any(|b: &Block| b.bound != Bound::None);
        let model_size = ModelSize {
            blocks: n_blocks,
            rows: n_rows,
            bodies: body_list.len(),
            jac,
            k,
            bounded: any_bounded,
        };
        Rows {
            ready: false,
            rheonomic: model.rows.iter().any(|r| !matches!(r.kind, RowKind::Joint(_))),
            any_bounded,
            held_spin: false,
            stops: (0..n_blocks).filter(|&i| blocks[i].bound == Bound::Stop).collect(),
            mode: vec![Mode::Equal; n_blocks],
            carry: vec![[0.0; small::MAX]; n_blocks],
            carrier: Bound::carriers(model),
            begun: vec![0.0; n_rows],
            begun_twists: Vec::new(),
            wanted: vec![0.0; n_rows],
            prescribed: Bound::prescribed(model),
            inactive: vec![false; n_blocks],
            out: vec![false; n_blocks],
            lower: vec![f64::NEG_INFINITY; n_rows],
            upper: vec![f64::INFINITY; n_rows],
            spent: vec![0.0; n_blocks],
            any_off: false,
            landing: vec![false; n_blocks],
            known_active: vec![true; model.joints.len()],
            blocks,
            body_list,
            jac: vec![0.0; jac],
            response: vec![0.0; jac],
            k_inv: vec![0.0; k],
            c_t: vec![0.0; n_rows],
            target: vec![0.0; n_rows],
            work_allowed: f64::INFINITY,
            slack: vec![false; n_blocks],
            responds: false,
            k_ready: false,
            shared: false,
            guess: vec![0.0; n_rows],
            error: vec![0.0; n_rows],
            solution: vec![0.0; n_rows],
            impulse: vec![0.0; n_rows],
            velocity_impulse: vec![0.0; n_rows],
            gap: vec![0.0; n_blocks],
            velocity_error: vec![0.0; n_blocks],
            contacts: Vec::new(),
            at_once: false,
            stop: Stop::default(),
            slow_leaving: 0.0,
            overlap_allowed: 0.0,
            held_band: 0.0,
            whole_step: 0.0,
            loose: 0.0,
            exchanged: 0.0,
            through_contacts: 0.0,
            pushed_out: 0.0,
            pushing_loss: 0.0,
            roles: Vec::new(),
            hinges: Hinges::new(model),
            stiffest: Vec::new(),
            model_size,
            keeps: false,
            looked: false,
            taken: Vec::new(),
            taken_known: false,
        }
    }

    /// Fills J, M⁻¹ Jᵀ and C_t at the poses of `bodies`, time `t`.
    pub fn prepare(
        &mut self,
        model: &Model,
        bodies: &Bodies,
        t: f64,
        coordinates: &[f64],
        work: &mut Work,
    ) {
        let at = Instant { t, poses: &bodies.poses, twists: &bodies.twists, coordinates };
        self.ready = true;
        self.prepare_contacts(&bodies.poses);
        for (i, block) in self.blocks.iter().enumerate() {
            let (n, width) = (block.n_rows, 6 * block.n_bodies);
            let jac = &mut self.jac[block.jac..block.jac + n * width];
            if let Some(rows) = model.rows.get(i) {
                rows.jacobian(model, &at, work, jac);
                let c_t = &mut self.c_t[block.first_row..block.first_row + n];
                if !matches!(rows.kind, RowKind::Joint(_)) {
                    rows.time_rate(&at, work, c_t);
                }
            }
        }
        for i in 0..self.blocks.len() {
            if self.blocks[i].bound != Bound::None {
                self.respond(i, bodies);
            }
        }
        self.responds = false;
        self.find_stiffest();
        self.k_ready = false;
        self.shared = false;
    }

    /// M⁻¹ Jᵀ of block `i`.
    fn respond(&mut self, i: usize, bodies: &Bodies) {
        let block = &self.blocks[i];
        let own = block.jac..block.jac + 6 * block.n_rows * block.n_bodies;
        let list = &self.body_list[block.first_body..block.first_body + block.n_bodies];
        let (rows, _) = self.jac[own.clone()].as_chunks::<6>();
        let (answers, _) = self.response[own].as_chunks_mut::<6>();
        for (slot, &body) in list.iter().enumerate() {
            let own = rows.iter().zip(&mut *answers).skip(slot).step_by(list.len());
            if bodies.fixed[body] {
                own.for_each(|(_, answer)| *answer = [0.0; 6]);
                continue;
            }
            let (mass_inv, inertia_inv) = (bodies.mass_inv[body], &bodies.inertia_inv_world[body]);
            for (row, answer) in own {
                let turn = inertia_inv * Vec3::new(row[3], row[4], row[5]);
                let [x, y, z] = [row[0], row[1], row[2]].map(|x| mass_inv * x);
                *answer = [x, y, z, turn.x, turn.y, turn.z];
            }
        }
    }

    /// M⁻¹ Jᵀ of the equations too, for solvers with K of the rows; the graph needs none.
    pub(crate) fn respond_all(&mut self, bodies: &Bodies) {
        if !self.responds {
            for i in 0..self.blocks.len() {
                if self.blocks[i].bound == Bound::None {
                    self.respond(i, bodies);
                }
            }
            self.responds = true;
        }
    }

    /// J v + C_t of all blocks that take part. (n_rows)
    pub(crate) fn rates(&self, twists: &[Twist], e: &mut [f64]) {
        for (i, block) in self.blocks.iter().enumerate() {
            if !self.inactive[i] {
                let own = block.first_row..block.first_row + block.n_rows;
                self.error_rate(i, twists, &mut e[own]);
            }
        }
    }

    /// Begins a position correction: no impulses yet, and as a guess `part` of those of the whole step before.
    pub(crate) fn begin(&mut self, before: &[f64], part: f64) {
        self.impulse.fill(0.0);
        for (guess, before) in self.guess.iter_mut().zip(before) {
            *guess = before * part;
        }
        self.guess_contacts(part);
    }

    /// Fills K⁻¹ of each block, for solvers that go block by block.
    pub fn invert_blocks(&mut self, bodies: &Bodies) {
        if self.k_ready {
            return;
        }
        self.respond_all(bodies);
        for block in &self.blocks {
            let (n, width) = (block.n_rows, 6 * block.n_bodies);
            let jac = &self.jac[block.jac..block.jac + n * width];
            let response = &self.response[block.jac..block.jac + n * width];
            let k = &mut self.k_inv[block.k..block.k + n * n];
            for i in 0..n {
                for j in 0..n {
                    let (row, column) =
                        (&jac[i * width..][..width], &response[j * width..][..width]);
                    k[i * n + j] = row.iter().zip(column).map(|(x, y)| x * y).sum();
                }
            }
            small::invert(k, n);
        }
        self.carry_bounded();
        self.k_ready = true;
    }

    /// Notes which one-sided blocks are slack at the poses of `bodies`.
    pub fn set_slack(
        &mut self,
        model: &Model,
        bodies: &Bodies,
        t: f64,
        coordinates: &[f64],
        tolerance: f64,
        work: &mut Work,
    ) {
        if !self.any_bounded {
            return;
        }
        let at = Instant { t, poses: &bodies.poses, twists: &bodies.twists, coordinates };
        for (i, block) in self.blocks.iter().enumerate() {
            let mut c = [0.0];
            match block.bound {
                Bound::Stop => model.rows[i].error(model, &at, work, &mut c),
                Bound::Contact => c[0] = -self.contact(i).place.gap,
                Bound::None | Bound::Friction | Bound::Disk => continue,
            }
            let tolerance = match block.bound {
                Bound::Contact => self.overlap_allowed,
                _ => block.tolerance.unwrap_or(tolerance),
            };
            self.slack[i] = c[0] < -tolerance;
        }
    }

    /// Sets the target of the position correction to `keep` · C(t).
    ///
    /// Of friction the target is where it holds, `held`, and `keep` · (q(t) − held) of the way from there, or all of it where that is within
    /// its `held_band`: what a machine holds by friction in many places at once would else be asked for many places that
    /// contradict each other by what is within tolerance.
    ///
    /// C(t) is within tolerance but not zero. A whole step takes it to zero; a part of a step takes its part of it
    /// away. Otherwise short parts would turn gaps into speeds C/h that have nothing to do with the motion.
    pub fn set_target(
        &mut self,
        keep: f64,
        model: &Model,
        bodies: &Bodies,
        t: f64,
        coordinates: &[f64],
        held: &[f64],
        work: &mut Work,
    ) {
        let band = self.held_band;
        self.keeps = keep != 0.0;
        if keep == 0.0 {
            self.target.fill(0.0);
            for block in model.rows.iter().filter(|_| self.model_size.bounded) {
                if let RowKind::Friction(friction) = &block.kind {
                    let joint = &model.joints[friction.joint.index()];
                    let q = coordinates[joint.first_coordinate + friction.which];
                    let from = held[friction.slot];
                    self.target[block.first_row] = from + held_part(q - from, band) * (q - from);
                }
            }
            self.target_slides(keep);
            self.target_deep(keep);
            return;
        }
        let at = Instant { t, poses: &bodies.poses, twists: &bodies.twists, coordinates };
        for (block, rows) in self.blocks.iter().zip(&model.rows) {
            let target = &mut self.target[block.first_row..][..block.n_rows];
            rows.error(model, &at, work, target);
            let from = match &rows.kind {
                RowKind::Friction(friction) => held[friction.slot],
                _ => 0.0,
            };
            let friction = matches!(rows.kind, RowKind::Friction(_));
            for c in target {
                let kept = if friction { held_part(*c - from, band).max(keep) } else { keep };
                *c = from + kept * (*c - from);
            }
        }
        self.target_contacts(keep, at.poses);
        self.target_slides(keep);
        self.target_deep(keep);
    }

    /// C(t+h) of block `i` where free flight takes its bodies. (n_rows)
    pub fn error_ahead(
        &self,
        i: usize,
        model: &Model,
        bodies: &mut Bodies,
        look: &Look<'_>,
        work: &mut Work,
        c: &mut [f64],
    ) {
        let block = &self.blocks[i];
        for &body in &self.body_list[block.first_body..block.first_body + block.n_bodies] {
            bodies.look_ahead_pose(body, look.flight, look.h);
        }
        let Some(rows) = model.rows.get(i) else {
            return self.contact_error_ahead(i, bodies, look.h, c);
        };
        let at = Instant {
            t: look.t,
            poses: &bodies.ahead,
            twists: &bodies.twists,
            coordinates: look.coordinates,
        };
        rows.error(model, &at, work, c);
    }

    /// Notes impulses and velocities when a correction with bounds begins.
    pub(crate) fn begin_correction(&mut self, velocity: bool, bodies: &Bodies) {
        let found = if velocity { &self.velocity_impulse } else { &self.impulse };
        self.begun.copy_from_slice(found);
        self.begun_twists.clone_from(&bodies.twists);
    }

    /// Takes the impulses since then back.
    pub(crate) fn take_back(&mut self, velocity: bool, bodies: &mut Bodies) {
        let now = if velocity { &mut self.velocity_impulse } else { &mut self.impulse };
        now.copy_from_slice(&self.begun);
        bodies.twists.copy_from_slice(&self.begun_twists);
        for i in 0..bodies.twists.len() {
            bodies.touch(i);
        }
    }

    /// J v + C_t of block `i`. (n_rows)
    #[inline]
    pub fn error_rate(&self, i: usize, twists: &[Twist], e: &mut [f64]) {
        let block = &self.blocks[i];
        let width = 6 * block.n_bodies;
        let list = &self.body_list[block.first_body..block.first_body + block.n_bodies];
        if let &[a, b] = list {
            // Nearly all blocks.
            let v = both(&twists[a], &twists[b]).map(F::new);
            let n = block.n_rows;
            let (rows, _) = self.jac[block.jac..block.jac + 12 * n].as_chunks::<12>();
            let c_t = &self.c_t[block.first_row..block.first_row + n];
            for ((row, e), c_t) in rows.iter().zip(e).zip(c_t) {
                let (four, _) = row.as_chunks::<4>();
                let sum = mul_add(F::new(four[1]), v[1], F::new(four[0]) * v[0]);
                let [x, y, z, w] = mul_add(F::new(four[2]), v[2], sum).to_array();
                *e = c_t + ((x + y) + (z + w));
            }
            return;
        }
        for row in 0..block.n_rows {
            let mut sum = self.c_t[block.first_row + row];
            for (slot, &body) in list.iter().enumerate() {
                let twist = &twists[body];
                let jac = &self.jac[block.jac + row * width + 6 * slot..][..6];
                sum += jac[0] * twist.s_dot.x + jac[1] * twist.s_dot.y + jac[2] * twist.s_dot.z;
                sum += jac[3] * twist.omega.x + jac[4] * twist.omega.y + jac[5] * twist.omega.z;
            }
            e[row] = sum;
        }
    }

    /// K p = J M⁻¹ Jᵀ p of all rows, by way of the velocities M⁻¹ Jᵀ p. (n_rows)
    pub(crate) fn response_to(&self, p: &[f64], twists: &mut [Twist], answer: &mut [f64]) {
        twists.fill(Twist::zero());
        for block in &self.blocks {
            let width = 6 * block.n_bodies;
            let list = &self.body_list[block.first_body..block.first_body + block.n_bodies];
            for (row, p) in p[block.first_row..][..block.n_rows].iter().enumerate() {
                for (slot, &body) in list.iter().enumerate() {
                    let response = &self.response[block.jac + row * width + 6 * slot..][..6];
                    twists[body].s_dot += Vec3::new(response[0], response[1], response[2]) * *p;
                    twists[body].omega += Vec3::new(response[3], response[4], response[5]) * *p;
                }
            }
        }
        for (i, block) in self.blocks.iter().enumerate() {
            let rows = block.first_row..block.first_row + block.n_rows;
            self.error_rate(i, twists, &mut answer[rows.clone()]);
            for k in rows {
                answer[k] -= self.c_t[k];
            }
        }
    }

    /// p = −K⁻¹ e of block `i`. (n_rows)
    pub fn solve(&self, i: usize, e: &[f64], p: &mut [f64]) {
        let block = &self.blocks[i];
        let n = block.n_rows;
        for row in 0..n {
            let k_inv = &self.k_inv[block.k + row * n..][..n];
            p[row] = -k_inv.iter().zip(e).map(|(k, e)| k * e).sum::<f64>();
        }
    }

    /// v += M⁻¹ Jᵀ p with the rows of block `i`.
    pub fn apply(&self, i: usize, p: &[f64], bodies: &mut Bodies) {
        let block = &self.blocks[i];
        let width = 6 * block.n_bodies;
        let list = &self.body_list[block.first_body..block.first_body + block.n_bodies];
        for (slot, &body) in list.iter().enumerate() {
            if bodies.fixed[body] {
                continue;
            }
            let mut sum = [0.0; 6];
            let (rows, _) = self.jac[block.jac..block.jac + p.len() * width].as_chunks::<6>();
            for (row, p) in rows[slot..].iter().step_by(list.len()).zip(p) {
                (0..6).for_each(|k| sum[k] += row[k] * p);
            }
            let (mass_inv, inertia_inv) = (bodies.mass_inv[body], &bodies.inertia_inv_world[body]);
            let twist = &mut bodies.twists[body];
            twist.s_dot += Vec3::new(sum[0], sum[1], sum[2]) * mass_inv;
            twist.omega += inertia_inv * Vec3::new(sum[3], sum[4], sum[5]);
            bodies.touch(body);
        }
    }

    /// What an impulse of block `i` has about axes of thin rods that joints hold goes to the bodies joined to these, in the correction that follows.
    pub(crate) fn give_couple(&self, i: usize, p: &[f64], bodies: &mut Bodies) {
        let block = &self.blocks[i];
        let list = &self.body_list[block.first_body..block.first_body + block.n_bodies];
        let width = 6 * block.n_bodies;
        let (rows, _) = self.jac[block.jac..block.jac + p.len() * width].as_chunks::<6>();
        for (slot, &body) in list.iter().enumerate() {
            if bodies.fixed[body] {
                continue;
            }
            let entries = rows[slot..].iter().step_by(list.len()).zip(p);
            let torque = entries.map(|(row, p)| Vec3::new(row[3], row[4], row[5]) * *p).sum();
            bodies.add_couple(body, &torque);
        }
    }

    /// v += M⁻¹ Jᵀ δ with all rows, δ cut to what their bounds allow and added to the impulses of positions or velocities. Returns
    /// whether bounds have cut any.
    pub(crate) fn apply_all(
        &mut self,
        delta: &mut [f64],
        velocity: bool,
        bodies: &mut Bodies,
    ) -> bool {
        let mut cut = false;
        for i in 0..self.blocks.len() {
            let (row, n) = (self.blocks[i].first_row, self.blocks[i].n_rows);
            let impulse = if velocity { &mut self.velocity_impulse } else { &mut self.impulse };
            if self.inactive[i] {
                delta[row..row + n].fill(0.0);
                continue;
            }
            if self.blocks[i].bound == Bound::Disk {
                cut |= self.cut_to_disk(i, &mut delta[row..row + n], velocity);
            } else if self.blocks[i].bound != Bound::None {
                let (p, wanted) = (impulse[row], impulse[row] + delta[row]);
                let allowed = wanted.clamp(self.lower[row], self.upper[row]);
                cut |= wanted < self.lower[row] || wanted > self.upper[row];
                delta[row] = allowed - p;
            }
            let impulse = if velocity { &mut self.velocity_impulse } else { &mut self.impulse };
            for k in row..row + n {
                impulse[k] += delta[k];
            }
            self.apply(i, &delta[row..row + n], bodies);
        }
        cut
    }
}

/// The part of the way from where friction holds that is kept in a step. What is beyond the band is taken back; of what is within it so little that ways back
/// that contradict each other do not show (5e-11 m), but all of what is rounding, so that it does not add up over the steps.
pub(crate) fn held_part(way: f64, band: f64) -> f64 {
    const BACK: f64 = 1e-3;
    const ROUNDING: f64 = 1e-14;
    let way = way.abs();
    if way <= ROUNDING {
        return 0.0;
    }
    (1.0 - (ROUNDING / way).max(BACK)).min(band / way)
}

/// The velocities of two bodies as a block's rows take them.
#[inline]
fn both(a: &Twist, b: &Twist) -> [[f64; 4]; 3] {
    let ([a, c], [b, d]) = ([&a.s_dot, &a.omega], [&b.s_dot, &b.omega]);
    [[a.x, a.y, a.z, c.x], [c.y, c.z, b.x, b.y], [b.z, d.x, d.y, d.z]]
}

/// What a look-ahead needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// Time looked at, t + h, s.
    pub t: f64,
    /// Step, s; may be negative.
    pub h: f64,
    /// How bodies turn.
    pub flight: Flight,
    /// Joint coordinates at t, to count full turns from.
    pub coordinates: &'a [f64],
}

/// An instant at which velocities are corrected.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// Time, s.
    pub t: f64,
    /// Joint coordinates, to count full turns from.
    pub coordinates: &'a [f64],
}

impl<'a> At<'a> {
    /// The instant of a state.
    pub fn of(state: &'a State) -> Self {
        At { t: state.t, coordinates: &state.coordinate }
    }
}
