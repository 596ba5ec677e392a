//! J, M⁻¹ Jᵀ and K = J M⁻¹ Jᵀ of all conditions, and its solution.

use gelenk_model::factor::{BlockPlace, Factor, ResponseRows};
use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::rows::Instant;
use gelenk_model::signal::Work;
use gelenk_model::{Model, Twist};

/// Rows of all blocks at an instant.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    blocks: Vec<Block>,
    body_list: Vec<usize>,
    /// Jacobians, row-major, 6 columns a body.
    jac: Vec<f64>,
    /// M⁻¹ Jᵀ in the same layout.
    response: Vec<f64>,
    /// Blocks that hold nothing now. (n blocks)
    pub(crate) out: Vec<bool>,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    place: BlockPlace,
    first_body: usize,
}

impl ResponseRows for Rows {
    fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    fn place(&self, i: usize) -> BlockPlace {
        self.blocks[i].place
    }

    fn bodies(&self, i: usize) -> &[usize] {
        let block = &self.blocks[i];
        &self.body_list[block.first_body..][..block.place.n_bodies]
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
        let (mut blocks, mut body_list, mut jac) = (Vec::new(), Vec::new(), 0);
        for block in &model.rows {
            let (first_row, n_rows, n_bodies) = (block.first_row, block.n_rows, block.bodies.len());
            let place = BlockPlace { first_row, n_rows, n_bodies, jac };
            blocks.push(Block { place, first_body: body_list.len() });
            body_list.extend(block.bodies.iter().map(|b| b.index()));
            jac += n_rows * 6 * n_bodies;
        }
        let n = blocks.len();
        Rows {
            blocks,
            body_list,
            jac: vec![0.0; jac],
            response: vec![0.0; jac],
            out: vec![false; n],
        }
    }

    /// J and M⁻¹ Jᵀ at an instant; `inertia_inv`: J̃⁻¹ of the bodies in world axes.
    pub(crate) fn prepare(
        &mut self,
        model: &Model,
        at: &Instant<'_>,
        inertia_inv: &[Mat3],
        work: &mut Work,
    ) {
        for (block, rows) in self.blocks.iter().zip(&model.rows) {
            let place = block.place;
            let width = 6 * place.n_bodies;
            let jac = &mut self.jac[place.jac..][..place.n_rows * width];
            rows.jacobian(model, at, work, jac);
            let response = &mut self.response[place.jac..][..place.n_rows * width];
            let list = &self.body_list[block.first_body..][..place.n_bodies];
            for (jac, response) in jac.chunks_exact(width).zip(response.chunks_exact_mut(width)) {
                for (slot, &body) in list.iter().enumerate() {
                    let k = 6 * slot;
                    let mass_inv = model.bodies[body].mass_inv;
                    for i in 0..3 {
                        response[k + i] = mass_inv * jac[k + i];
                    }
                    let turn = inertia_inv[body] * Vec3::from_column_slice(&jac[k + 3..k + 6]);
                    response[k + 3..k + 6].copy_from_slice(turn.as_slice());
                }
            }
        }
    }

    /// J alone.
    pub(crate) fn prepare_jacobians(&mut self, model: &Model, at: &Instant<'_>, work: &mut Work) {
        for (block, rows) in self.blocks.iter().zip(&model.rows) {
            let place = block.place;
            let jac = &mut self.jac[place.jac..][..place.n_rows * 6 * place.n_bodies];
            rows.jacobian(model, at, work, jac);
        }
    }

    /// J of block `i`.
    pub(crate) fn jacobian(&self, i: usize) -> &[f64] {
        let place = self.blocks[i].place;
        &self.jac[place.jac..][..place.n_rows * 6 * place.n_bodies]
    }

    /// J u of block `i` for twists u. (n_rows)
    pub(crate) fn rate(&self, i: usize, twists: &[Twist], out: &mut [f64]) {
        let width = 6 * self.blocks[i].place.n_bodies;
        for (jac, out) in self.jacobian(i).chunks_exact(width.max(1)).zip(out) {
            *out = 0.0;
            for (row, &body) in jac.chunks_exact(6).zip(self.bodies(i)) {
                *out += dot(row, &twists[body]);
            }
        }
    }

    /// u += M⁻¹ Jᵀ λ for all blocks that hold. (n_rows)
    pub(crate) fn apply(&self, lambda: &[f64], twists: &mut [Twist]) {
        for i in (0..self.blocks.len()).filter(|&i| !self.out[i]) {
            let place = self.blocks[i].place;
            let width = 6 * place.n_bodies;
            for k in 0..place.n_rows {
                let l = lambda[place.first_row + k];
                if l == 0.0 {
                    continue;
                }
                let response = &self.response[place.jac + k * width..][..width];
                for (r, &body) in response.chunks_exact(6).zip(self.bodies(i)) {
                    let twist = &mut twists[body];
                    twist.s_dot += Vec3::new(r[0], r[1], r[2]) * l;
                    twist.omega += Vec3::new(r[3], r[4], r[5]) * l;
                }
            }
        }
    }

    /// wanted − J u for all blocks that hold, 0 for others. (n_rows)
    pub(crate) fn missing(&self, wanted: &[f64], twists: &[Twist], out: &mut [f64]) {
        for i in 0..self.blocks.len() {
            let place = self.blocks[i].place;
            let range = place.first_row..place.first_row + place.n_rows;
            if self.out[i] {
                out[range].fill(0.0);
                continue;
            }
            self.rate(i, twists, &mut out[range.clone()]);
            for k in range {
                out[k] = wanted[k] - out[k];
            }
        }
    }
}

/// A row of J over one body times its twist.
pub(crate) fn dot(row: &[f64], twist: &Twist) -> f64 {
    let mut sum = 0.0;
    for k in 0..3 {
        sum += row[k] * twist.s_dot[k] + row[3 + k] * twist.omega[k];
    }
    sum
}

/// K⁻¹ for the rows of an instant, with memory.
#[derive(Clone, Debug)]
pub(crate) struct Solver {
    pub(crate) factor: Factor,
    /// The factor of K + ε diag K, for loads that redundant rows share; made when it is first asked for.
    damped: Option<Factor>,
    error: Vec<f64>,
    step: Vec<f64>,
    /// How often K was factorized.
    pub(crate) factorizations: u64,
}

/// Damping of K where redundant rows share the load, as a part of its diagonal.
const DAMPING: f64 = 1e-8;

/// Rounds of it; each takes away all but the part `DAMPING`/eigenvalue of what is left.
const ROUNDS: usize = 3;

/// Rounds in which the inertia of stand-in moments is given back.
const MOST_GIVEN: usize = 40;

impl Solver {
    pub(crate) fn new(rows: &Rows, fixed: &[bool], n_rows: usize) -> Self {
        Solver {
            factor: Factor::new(rows, fixed),
            damped: None,
            error: vec![0.0; n_rows],
            step: vec![0.0; n_rows],
            factorizations: 0,
        }
    }

    /// Factorizes K of the blocks that hold.
    pub(crate) fn refresh(&mut self, rows: &Rows) {
        self.factor.ready = false;
        self.factor.refresh_without(rows);
        self.factorizations += 1;
    }

    /// λ with J (u + M⁻¹ Jᵀ λ) = wanted, added to `lambda`, and its response to `twists` = u. `rounds` − 1 times refined.
    pub(crate) fn solve(
        &mut self,
        rows: &Rows,
        wanted: &[f64],
        twists: &mut [Twist],
        lambda: &mut [f64],
        rounds: usize,
    ) {
        for _ in 0..rounds {
            rows.missing(wanted, twists, &mut self.error);
            self.factor.solve(&self.error, &mut self.step);
            rows.apply(&self.step, twists);
            for (sum, step) in lambda.iter_mut().zip(&self.step) {
                *sum += step;
            }
        }
    }

    /// [`Solver::solve`] for a mass matrix whose axes without inertia, held by joints, have a stand-in moment: what that adds is given back
    /// ([`gelenk_model::spin`]). `axes` are these axes in the world, `from` the spins about them that belong to no change (0 for accelerations).
    pub(crate) fn solve_held(
        &mut self,
        rows: &Rows,
        axes: &[(usize, Vec3)],
        from: &[f64],
        wanted: &[f64],
        twists: &mut [Twist],
        lambda: &mut [f64],
    ) {
        self.solve(rows, wanted, twists, lambda, 2);
        if axes.is_empty() {
            return;
        }
        let mut given = vec![0.0; axes.len()];
        let mut before = f64::INFINITY;
        for _ in 0..MOST_GIVEN {
            let (mut most, mut size) = (0.0_f64, 0.0_f64);
            for ((body, n), (given, from)) in axes.iter().zip(given.iter_mut().zip(from)) {
                let change = n.dot(&twists[*body].omega) - from - *given;
                *given += change;
                twists[*body].omega += n * change;
                most = most.max(change.abs());
                size = size.max(given.abs());
            }
            self.solve(rows, wanted, twists, lambda, 1);
            // Rounding, or a spin that nothing but its stand-in holds back.
            if most <= f64::EPSILON * size || most > 0.99 * before {
                break;
            }
            before = most;
        }
    }

    /// The factor of K + ε diag K of the blocks that hold.
    pub(crate) fn damped_factor(&mut self, rows: &Rows, fixed: &[bool]) -> &mut Factor {
        let damped = self.damped.get_or_insert_with(|| Factor::new(rows, fixed));
        damped.refresh_damped(rows, DAMPING);
        damped
    }

    /// Of all multipliers with the same response the ones with the least Σ K_ii λ_i²: equal supports carry equal parts.
    ///
    /// ```text
    /// (K + ε diag K) Δλ = K (λ₀ − λ),   λ ← λ + Δλ,   from λ = 0
    /// ```
    pub(crate) fn share(&mut self, rows: &Rows, fixed: &[bool], lambda: &mut [f64]) {
        if self.factor.redundant == 0 {
            return;
        }
        self.damped_factor(rows, fixed);
        let zero = Twist::zero();
        let mut twists = vec![zero; fixed.len()];
        rows.apply(lambda, &mut twists);
        let mut wanted = vec![0.0; lambda.len()];
        for i in (0..rows.n_blocks()).filter(|&i| !rows.out[i]) {
            let place = rows.place(i);
            rows.rate(i, &twists, &mut wanted[place.first_row..][..place.n_rows]);
        }
        lambda.fill(0.0);
        for _ in 0..ROUNDS {
            twists.fill(zero);
            rows.apply(lambda, &mut twists);
            rows.missing(&wanted, &twists, &mut self.error);
            let Some(damped) = &mut self.damped else { return };
            damped.solve(&self.error, &mut self.step);
            for (sum, step) in lambda.iter_mut().zip(&self.step) {
                *sum += step;
            }
        }
    }
}
