//! Rows of all joints as flat arrays: Jacobians, responses M⁻¹ Jᵀ, and the inverse of each block's K = J M⁻¹ Jᵀ.
#![expect(clippy::inline_always, reason = "the hot sweep: measured a third faster")]

use gelenk_model::joint::JointKind;
use gelenk_model::math::{Mat3, Vec3, cross_matrix};
use gelenk_model::rows::{Instant, RowKind};
use gelenk_model::signal::Work;
use gelenk_model::{BodyId, Flight, Model, Twist};

use crate::bounds::{Bound, Mode};
use crate::flight::rotate;
use crate::scratch::Bodies;
use crate::small;

/// All rows of a model.
#[derive(Clone, Debug)]
pub struct Rows {
    /// Whether the numbers below belong to the poses of the bodies; written by [`prepare`](Rows::prepare).
    pub ready: bool,
    /// Where each block's numbers lie; constant. (n blocks)
    pub blocks: Vec<Block>,
    /// Whether any block has bounds; constant.
    pub any_bounded: bool,
    /// Blocks of end stops; constant.
    pub stops: Vec<usize>,
    /// What each block does in the running step; written by `set_modes`. (n blocks)
    pub mode: Vec<Mode>,
    /// Blocks that take no part in the running correction: open stops, slack ropes, joints that are not there; written
    /// before every correction. (n blocks)
    pub inactive: Vec<bool>,
    /// Smallest impulse that each row may have in the running correction, N s or N m s; written before it. (n_rows)
    pub lower: Vec<f64>,
    /// Largest impulse. (n_rows)
    pub upper: Vec<f64>,
    /// Sum of the friction impulses of the running step, N s or N m s; written by the stages. (n blocks)
    pub spent: Vec<f64>,
    /// Whether a joint is not there; written by `set_modes`.
    pub any_off: bool,
    /// The joints there were when the modes were written.
    pub(crate) known_active: Vec<bool>,
    /// Bodies of all blocks, one block after the other; constant.
    pub body_list: Vec<usize>,
    /// Jacobians, row-major, 6 columns a body; written by [`prepare`](Rows::prepare).
    pub jac: Vec<f64>,
    /// Responses M⁻¹ Jᵀ in the same layout; written by [`prepare`](Rows::prepare).
    pub response: Vec<f64>,
    /// K⁻¹ of each block, n_rows × n_rows; written by [`prepare`](Rows::prepare).
    pub k_inv: Vec<f64>,
    /// ∂C/∂t; written by [`prepare`](Rows::prepare). (n_rows)
    pub c_t: Vec<f64>,
    /// Ball joints, which need none of the above; written by [`prepare`](Rows::prepare).
    pub balls: Vec<BallBlock>,
    /// What C(t+h) is to be: 0 after a whole step, a part of C(t) after a part of it; written by
    /// [`set_target`](Rows::set_target). (n_rows)
    pub target: Vec<f64>,
    /// Whether a one-sided block is slack, C < −tolerance; written by [`set_slack`](Rows::set_slack). (n blocks)
    pub slack: Vec<bool>,
    /// Whether ball joints need their rows in `jac` and `response` too, for the direct solver.
    pub ball_rows: bool,
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
}

/// Where a block's numbers lie.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its kind.
    pub shape: Shape,
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

/// What kind of block it is to the solvers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A ball joint, `balls[i]`.
    Ball(usize),
    /// Rows like any other.
    General,
}

/// A ball joint at time t. With r = p − s of each body:
/// ```text
/// K = (1/m_a + 1/m_b) E − r_a× J̃_a⁻¹ r_a× − r_b× J̃_b⁻¹ r_b×
/// Δω_b = J̃_b⁻¹ (r_b × p) = W_b p,   Δω_a = −W_a p
/// ```
/// \[Schmitt 2003\] (4.9).
#[derive(Clone, Copy, Debug)]
pub struct BallBlock {
    /// Body a.
    pub a: usize,
    /// Body b.
    pub b: usize,
    /// Joint point in a's principal frame, m; constant.
    pub r_a_body: Vec3,
    /// Joint point in b's principal frame, m; constant.
    pub r_b_body: Vec3,
    /// Lever on a, world frame, m.
    pub r_a: Vec3,
    /// Lever on b, world frame, m.
    pub r_b: Vec3,
    /// W_a = J̃_a⁻¹ r_a×.
    pub w_a: Mat3,
    /// W_b = J̃_b⁻¹ r_b×.
    pub w_b: Mat3,
    /// K⁻¹.
    pub k_inv: Mat3,
    /// 1/m_a; constant.
    pub m_a_inv: f64,
    /// 1/m_b; constant.
    pub m_b_inv: f64,
}

impl Rows {
    pub(crate) fn new(model: &Model) -> Self {
        let mut blocks = Vec::with_capacity(model.rows.len());
        let (mut body_list, mut balls) = (Vec::new(), Vec::new());
        let (mut jac, mut k) = (0, 0);
        for block in &model.rows {
            let ball = match &block.kind {
                RowKind::Joint(id) => {
                    let joint = &model.joints[id.index()];
                    match &joint.kind {
                        JointKind::Ball(ball) => Some((joint.bodies.map(BodyId::index), *ball)),
                        _ => None,
                    }
                }
                _ => None,
            };
            let shape = match ball {
                Some(([a, b], ball)) => {
                    balls.push(BallBlock {
                        a,
                        b,
                        r_a_body: ball.r_a_body,
                        r_b_body: ball.r_b_body,
                        r_a: Vec3::zeros(),
                        r_b: Vec3::zeros(),
                        w_a: Mat3::zeros(),
                        w_b: Mat3::zeros(),
                        k_inv: Mat3::zeros(),
                        m_a_inv: model.bodies[a].mass_inv,
                        m_b_inv: model.bodies[b].mass_inv,
                    });
                    Shape::Ball(balls.len() - 1)
                }
                None => Shape::General,
            };
            blocks.push(Block {
                shape,
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
        Rows {
            ready: false,
            any_bounded: blocks.iter().any(|b| b.bound != Bound::None),
            stops: (0..n_blocks).filter(|&i| blocks[i].bound == Bound::Stop).collect(),
            mode: vec![Mode::Equal; n_blocks],
            inactive: vec![false; n_blocks],
            lower: vec![f64::NEG_INFINITY; n_rows],
            upper: vec![f64::INFINITY; n_rows],
            spent: vec![0.0; n_blocks],
            any_off: false,
            known_active: vec![true; model.joints.len()],
            blocks,
            body_list,
            jac: vec![0.0; jac],
            response: vec![0.0; jac],
            k_inv: vec![0.0; k],
            c_t: vec![0.0; n_rows],
            balls,
            target: vec![0.0; n_rows],
            slack: vec![false; n_blocks],
            ball_rows: false,
            error: vec![0.0; n_rows],
            solution: vec![0.0; n_rows],
            impulse: vec![0.0; n_rows],
            velocity_impulse: vec![0.0; n_rows],
            gap: vec![0.0; n_blocks],
            velocity_error: vec![0.0; n_blocks],
        }
    }

    /// Fills J, M⁻¹ Jᵀ, K⁻¹ and C_t at the poses of `bodies`, time `t`.
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
        for (block, rows) in self.blocks.iter().zip(&model.rows) {
            if let Shape::Ball(i) = block.shape {
                self.balls[i].prepare(bodies);
                continue;
            }
            let (n, width) = (block.n_rows, 6 * block.n_bodies);
            let jac = &mut self.jac[block.jac..block.jac + n * width];
            rows.jacobian(model, &at, work, jac);
            let c_t = &mut self.c_t[block.first_row..block.first_row + n];
            if !matches!(rows.kind, RowKind::Joint(_)) {
                rows.time_rate(&at, work, c_t);
            }
            let response = &mut self.response[block.jac..block.jac + n * width];
            let list = &self.body_list[block.first_body..block.first_body + block.n_bodies];
            for row in 0..n {
                for (slot, &body) in list.iter().enumerate() {
                    let at = row * width + 6 * slot;
                    for k in 0..3 {
                        response[at + k] = bodies.mass_inv[body] * jac[at + k];
                    }
                    let torque = Vec3::new(jac[at + 3], jac[at + 4], jac[at + 5]);
                    let turn = bodies.inertia_inv_world[body] * torque;
                    response[at + 3..at + 6].copy_from_slice(turn.as_slice());
                }
            }
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
        if self.ball_rows {
            self.write_ball_rows(bodies);
        }
    }

    /// Writes J and M⁻¹ Jᵀ of the ball joints.
    pub(crate) fn write_ball_rows(&mut self, bodies: &Bodies) {
        for block in &self.blocks {
            let Shape::Ball(i) = block.shape else { continue };
            let ball = &self.balls[i];
            let (cross_a, cross_b) = (cross_matrix(&ball.r_a), cross_matrix(&ball.r_b));
            for k in 0..3 {
                let at = block.jac + 12 * k;
                let (jac, response) = (&mut self.jac[at..at + 12], &mut self.response[at..at + 12]);
                jac.fill(0.0);
                response.fill(0.0);
                (jac[k], jac[6 + k]) = (-1.0, 1.0);
                (response[k], response[6 + k]) = (-ball.m_a_inv, ball.m_b_inv);
                let (r_a, r_b) = (cross_a.row(k).transpose(), -cross_b.row(k).transpose());
                jac[3..6].copy_from_slice(r_a.as_slice());
                jac[9..12].copy_from_slice(r_b.as_slice());
                let turn_a = bodies.inertia_inv_world[ball.a] * r_a;
                let turn_b = bodies.inertia_inv_world[ball.b] * r_b;
                response[3..6].copy_from_slice(turn_a.as_slice());
                response[9..12].copy_from_slice(turn_b.as_slice());
            }
        }
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
        for (i, block) in self
            .blocks
            .iter()
            .enumerate()
            .filter(|(_, b)| matches!(b.bound, Bound::Rope | Bound::Stop))
        {
            let mut c = [0.0];
            model.rows[i].error(model, &at, work, &mut c);
            self.slack[i] = c[0] < -block.tolerance.unwrap_or(tolerance);
        }
    }

    /// Sets the target of the position correction to `keep` · C(t).
    ///
    /// Of friction the target is where it holds, `held`, and `keep` · (q(t) − held) of the way from there.
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
        if keep == 0.0 {
            self.target.fill(0.0);
            for block in model.rows.iter().filter(|_| self.any_bounded) {
                if let RowKind::Friction(friction) = &block.kind {
                    self.target[block.first_row] = held[friction.slot];
                }
            }
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
            for c in target {
                *c = from + keep * (*c - from);
            }
        }
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
        let at = Instant {
            t: look.t,
            poses: &bodies.ahead,
            twists: &bodies.twists,
            coordinates: look.coordinates,
        };
        model.rows[i].error(model, &at, work, c);
    }

    /// J v + C_t of block `i`. (n_rows)
    pub fn error_rate(&self, i: usize, twists: &[Twist], e: &mut [f64]) {
        let block = &self.blocks[i];
        let width = 6 * block.n_bodies;
        let list = &self.body_list[block.first_body..block.first_body + block.n_bodies];
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
        if let Shape::Ball(ball) = block.shape {
            self.balls[ball].apply(&Vec3::new(p[0], p[1], p[2]), bodies);
            return;
        }
        let width = 6 * block.n_bodies;
        let list = &self.body_list[block.first_body..block.first_body + block.n_bodies];
        for (slot, &body) in list.iter().enumerate() {
            let mut delta = [0.0; 6];
            for (row, p) in p.iter().enumerate() {
                let response = &self.response[block.jac + row * width + 6 * slot..][..6];
                for k in 0..6 {
                    delta[k] += response[k] * p;
                }
            }
            let twist = &mut bodies.twists[body];
            twist.s_dot += Vec3::new(delta[0], delta[1], delta[2]);
            twist.omega += Vec3::new(delta[3], delta[4], delta[5]);
            bodies.touch(body);
        }
    }
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

impl BallBlock {
    fn prepare(&mut self, bodies: &Bodies) {
        self.r_a = bodies.poses[self.a].rot * self.r_a_body;
        self.r_b = bodies.poses[self.b].rot * self.r_b_body;
        let (cross_a, cross_b) = (cross_matrix(&self.r_a), cross_matrix(&self.r_b));
        self.w_a = bodies.inertia_inv_world[self.a] * cross_a;
        self.w_b = bodies.inertia_inv_world[self.b] * cross_b;
        let k = Mat3::from_diagonal_element(self.m_a_inv + self.m_b_inv)
            - cross_a * self.w_a
            - cross_b * self.w_b;
        // The masses alone make K regular, unless both bodies are fixed.
        self.k_inv = k.try_inverse().unwrap_or_else(Mat3::zeros);
    }

    /// C(t+h) = p_b − p_a where free flight takes the joint's points.
    #[inline(always)]
    pub fn error_ahead(&self, bodies: &mut Bodies, flight: Flight, h: f64) -> Vec3 {
        bodies.look_ahead(self.a, flight, h);
        bodies.look_ahead(self.b, flight, h);
        let p_a = bodies.ahead[self.a].s + rotate(&bodies.turn[self.a], &self.r_a);
        let p_b = bodies.ahead[self.b].s + rotate(&bodies.turn[self.b], &self.r_b);
        p_b - p_a
    }

    /// ṗ_b − ṗ_a.
    #[inline(always)]
    pub fn error_rate(&self, bodies: &Bodies) -> Vec3 {
        let (a, b) = (&bodies.twists[self.a], &bodies.twists[self.b]);
        b.s_dot + b.omega.cross(&self.r_b) - a.s_dot - a.omega.cross(&self.r_a)
    }

    /// The impulse p on b, −p on a.
    #[inline(always)]
    pub fn apply(&self, p: &Vec3, bodies: &mut Bodies) {
        let a = &mut bodies.twists[self.a];
        a.s_dot -= p * self.m_a_inv;
        a.omega -= self.w_a * p;
        let b = &mut bodies.twists[self.b];
        b.s_dot += p * self.m_b_inv;
        b.omega += self.w_b * p;
        bodies.touch(self.a);
        bodies.touch(self.b);
    }
}
