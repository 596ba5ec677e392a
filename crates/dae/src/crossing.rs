//! Motion through a singular position, in the blown-up formulation.
//!
//! There the bodies of the loop have one coordinate s together, that of the curve of their positions, whose blown-up equations keep
//! their rank ([`gelenk_natural::blow`]). With p(s), τ = p′, κ = p″ in twists of the bodies, the new variables having no mass,
//! ```text
//! v = τ ṡ,   a = τ s̈ + κ ṡ²,   τᵀ M τ s̈ = τᵀ (F − M κ ṡ²) + (J τ)ᵀ λ
//! ```
//! where J are the rows that are not the loop's own: of bodies that hang on it, drives, friction that sticks. \[Laufen\] IV §2-4.

use gelenk_model::factor::ResponseRows;
use gelenk_model::graph::Graph;
use gelenk_model::joint::MAX_ROWS;
use gelenk_model::math::Vec3;
use gelenk_model::{Model, Twist};
use gelenk_natural::blow::least_squares;
use gelenk_natural::{Branch, Slide};
use nalgebra::{DMatrix, DVector};

use crate::equations::{Equations, instant};
use crate::project::{NotClosed, rotation};
use crate::rows::dot;

/// Singular values of dense matrices below this part of the largest are redundant rows.
const CUT: f64 = 1e-12;

/// A loop on its way through a singular position.
#[derive(Clone, Debug)]
pub(crate) struct Crossing {
    pub(crate) branch: Branch,
    /// Blocks of the loop, which the curve takes the place of. (n blocks)
    replaced: Vec<bool>,
    /// Other blocks that touch what moves with the loop.
    beside: Vec<usize>,
    /// Blocks of all that moves with the loop. (n blocks)
    together: Vec<bool>,
}

/// Rows beside the loop's own, and their K.
struct Beside {
    /// (block, row in the block).
    rows: Vec<(usize, usize)>,
    /// J τ. (rows)
    along: Vec<f64>,
    k: DMatrix<f64>,
}

impl Crossing {
    /// A loop that enters; the curve must have been found.
    pub(crate) fn new(model: &Model, branch: Branch) -> Self {
        let parts = &branch.parts;
        let graph = Graph::new(model);
        let own = parts.bodies.first().and_then(|b| graph.component_of[*b]);
        let mut together = vec![false; model.rows.len()];
        for (k, block) in model.rows.iter().enumerate() {
            let component = block.bodies.iter().find_map(|b| graph.component_of[b.index()]);
            together[k] = component.is_some() && component == own;
        }
        let mut replaced = vec![false; model.rows.len()];
        for k in &parts.blocks {
            replaced[*k] = true;
        }
        let beside = (0..model.rows.len()).filter(|k| together[*k] && !replaced[*k]).collect();
        Crossing { branch, replaced, beside, together }
    }

    fn slide(&mut self, equations: &Equations<'_>) -> Option<Slide> {
        let Equations { model, layout, poses, .. } = equations;
        let target = self.branch.coordinates(layout, poses);
        self.branch.slide(model, layout, &target, poses)
    }

    /// The rows beside and their K = J̃ M̃⁻¹ J̃ᵀ, the loop having the mass τᵀ M τ.
    fn beside(&self, equations: &Equations<'_>, slide: &Slide) -> Beside {
        let all = &equations.rows;
        let mut rows = Vec::new();
        for &block in self.beside.iter().filter(|k| !all.out[**k]) {
            rows.extend((0..all.place(block).n_rows).map(|i| (block, i)));
        }
        let mut along = vec![0.0; rows.len()];
        // By body: the rows that touch it, with J and M⁻¹Jᵀ there.
        let n = equations.poses.len();
        let mut touching: Vec<Vec<(usize, [f64; 6], [f64; 6])>> = vec![Vec::new(); n];
        for (r, &(block, i)) in rows.iter().enumerate() {
            for (body, jac, response) in row(all, block, i) {
                if !self.branch.parts.bodies.contains(&body) {
                    touching[body].push((r, jac, response));
                    continue;
                }
                along[r] += dot(&jac, &slide.tau[body]);
                for (b, axis) in &slide.spare {
                    if *b == body {
                        let mut only = ([0.0; 6], [0.0; 6]);
                        only.0[*axis] = jac[*axis];
                        only.1[*axis] = response[*axis];
                        touching[body].push((r, only.0, only.1));
                    }
                }
            }
        }
        let mut k =
            DMatrix::from_fn(rows.len(), rows.len(), |a, b| along[a] * along[b] / slide.mass);
        for list in &touching {
            for (a, jac, _) in list {
                for (b, _, response) in list {
                    k[(*a, *b)] += jac.iter().zip(response).map(|(x, y)| x * y).sum::<f64>();
                }
            }
        }
        Beside { rows, along, k }
    }

    /// λ of the rows beside with J (u + response) = wanted, and the response put into `twists`: of the loop along τ. None if there is none.
    fn solve(
        &self,
        equations: &Equations<'_>,
        slide: &Slide,
        beside: &Beside,
        wanted: &[f64],
        twists: &mut [Twist],
    ) -> Option<Vec<f64>> {
        let mut lambda = vec![0.0; beside.rows.len()];
        if beside.rows.is_empty() {
            return Some(lambda);
        }
        for _ in 0..2 {
            let missing = beside.rows.iter().zip(wanted).map(|(&(block, i), wanted)| {
                let have = row(&equations.rows, block, i)
                    .map(|(body, jac, _)| dot(&jac, &twists[body]))
                    .sum::<f64>();
                wanted - have
            });
            let missing = DVector::from_iterator(beside.rows.len(), missing);
            let step = least_squares(beside.k.clone(), &missing, CUT)?;
            let rate: f64 =
                beside.along.iter().zip(step.iter()).map(|(a, l)| a * l).sum::<f64>() / slide.mass;
            for &body in &self.branch.parts.bodies {
                twists[body].s_dot += slide.tau[body].s_dot * rate;
                twists[body].omega += slide.tau[body].omega * rate;
            }
            for ((&(block, i), l), sum) in beside.rows.iter().zip(step.iter()).zip(&mut lambda) {
                *sum += l;
                for (body, _, response) in row(&equations.rows, block, i) {
                    if !self.branch.parts.bodies.contains(&body) {
                        twists[body].s_dot += Vec3::from_column_slice(&response[..3]) * *l;
                        twists[body].omega += Vec3::from_column_slice(&response[3..]) * *l;
                    }
                    for (_, axis) in slide.spare.iter().filter(|(b, _)| *b == body) {
                        twists[body].s_dot[*axis] += response[*axis] * *l;
                    }
                }
            }
        }
        Some(lambda)
    }
}

/// τᵀ M u.
fn along(slide: &Slide, equations: &Equations<'_>, u: &[Twist]) -> f64 {
    slide.along(equations.model, &equations.poses, u)
}

/// Bodies, J and M⁻¹Jᵀ of row `i` of a block.
fn row(
    rows: &crate::rows::Rows,
    block: usize,
    i: usize,
) -> impl Iterator<Item = (usize, [f64; 6], [f64; 6])> {
    let place = rows.place(block);
    let start = place.jac + i * 6 * place.n_bodies;
    rows.bodies(block).iter().enumerate().map(move |(slot, &body)| {
        let (mut jac, mut response) = ([0.0; 6], [0.0; 6]);
        jac.copy_from_slice(&rows.jac()[start + 6 * slot..][..6]);
        response.copy_from_slice(&rows.response()[start + 6 * slot..][..6]);
        (body, jac, response)
    })
}

impl Equations<'_> {
    /// What `f` does with the blocks that move with the loop left out.
    fn without_loop<T>(&mut self, crossing: &Crossing, f: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.rows.out.clone();
        for (out, together) in self.rows.out.iter_mut().zip(&crossing.together) {
            *out |= together;
        }
        let value = f(self);
        self.rows.out = before;
        value
    }

    /// Accelerations in the blown-up formulation, from those without joints. Not finite where the curve has no point near by.
    pub(crate) fn solve_crossing(&mut self) {
        let Some(mut crossing) = self.crossing.take() else { return };
        if self.accelerate_on(&mut crossing).is_none() {
            for &body in &crossing.branch.parts.bodies {
                self.accelerations[body].s_dot.fill(f64::NAN);
            }
        }
        self.crossing = Some(crossing);
    }

    fn accelerate_on(&mut self, crossing: &mut Crossing) -> Option<()> {
        let slide = crossing.slide(self)?;
        self.lambda.fill(0.0);
        if crossing.together.contains(&false) {
            self.without_loop(crossing, |equations| {
                let Equations { rows, solver, gamma, accelerations, lambda, .. } = equations;
                solver.refresh(rows);
                solver.solve(rows, gamma, accelerations, lambda, 2);
            });
        }
        let rate = along(&slide, self, &self.twists) / slide.mass;
        let bend = rate * rate;
        let free = along(&slide, self, &self.accelerations);
        let bent = along(&slide, self, &slide.kappa) * bend;
        let mut accelerations = std::mem::take(&mut self.accelerations);
        slide.put((free - bent) / slide.mass, bend, &mut accelerations);
        let beside = crossing.beside(self, &slide);
        let wanted: Vec<f64> = (beside.rows.iter())
            .map(|&(block, i)| self.gamma[self.rows.place(block).first_row + i])
            .collect();
        let found = crossing.solve(self, &slide, &beside, &wanted, &mut accelerations);
        self.accelerations = accelerations;
        for (&(block, i), l) in beside.rows.iter().zip(&found?) {
            self.lambda[self.rows.place(block).first_row + i] = *l;
        }
        Some(())
    }

    /// Moves y to the curve and to the conditions beside it; leaves y read.
    pub(crate) fn project_crossing(&mut self, t: f64, y: &mut [f64]) -> Result<(), NotClosed> {
        let Some(mut crossing) = self.crossing.take() else { return Ok(()) };
        let result = self.project_on(&mut crossing, t);
        self.crossing = Some(crossing);
        result?;
        self.write(y);
        Ok(())
    }

    fn project_on(&mut self, crossing: &mut Crossing, t: f64) -> Result<(), NotClosed> {
        let lost = |crossing: &Crossing| NotClosed {
            block: crossing.branch.parts.blocks.first().copied().unwrap_or(0),
            gap: f64::NAN,
        };
        if crossing.together.contains(&false) {
            self.without_loop(crossing, |equations| equations.close(t))?;
        }
        let mut before = f64::INFINITY;
        let mut c = [0.0; MAX_ROWS];
        let mut slide;
        let mut rounds = 0;
        loop {
            slide = crossing.slide(self).ok_or_else(|| lost(crossing))?;
            for &(body, pose) in &slide.poses {
                self.poses[body] = pose;
            }
            self.prepare(t);
            let beside = crossing.beside(self, &slide);
            let mut wanted = vec![0.0; beside.rows.len()];
            let (mut gap, mut worst) = (0.0_f64, 0);
            for (r, &(block, i)) in beside.rows.iter().enumerate() {
                let n = self.rows.place(block).n_rows;
                self.error(block, t, &mut c[..n]);
                wanted[r] = -c[i];
                if c[i].abs() > gap || c[i].is_nan() {
                    (gap, worst) = (c[i].abs(), block);
                }
            }
            rounds += 1;
            if gap <= 1e-15 || gap >= 0.5 * before && gap <= 1e-9 {
                break;
            }
            if gap.is_nan() || rounds > 30 || gap > 4.0 * before {
                return Err(NotClosed { block: worst, gap });
            }
            before = gap;
            let mut step = vec![Twist::zero(); self.twists.len()];
            let found = crossing.solve(self, &slide, &beside, &wanted, &mut step);
            found.ok_or(NotClosed { block: worst, gap })?;
            for place in &self.layout.places {
                let (pose, step) = (&mut self.poses[place.body], &step[place.body]);
                pose.s += step.s_dot;
                if place.rigid {
                    pose.rot = rotation(&step.omega) * pose.rot;
                }
            }
        }
        let mut twists = std::mem::take(&mut self.twists);
        let rate = along(&slide, self, &twists) / slide.mass;
        slide.put(rate, 0.0, &mut twists);
        let beside = crossing.beside(self, &slide);
        let mut wanted = vec![0.0; beside.rows.len()];
        for (r, &(block, i)) in beside.rows.iter().enumerate() {
            let rows = &self.model.rows[block];
            let at = instant(t, &self.poses, &twists, &self.coordinates);
            rows.time_rate(&at, &mut self.work, &mut c[..rows.n_rows]);
            wanted[r] = -c[i];
        }
        let found = crossing.solve(self, &slide, &beside, &wanted, &mut twists);
        self.twists = twists;
        found.ok_or_else(|| lost(crossing))?;
        if crossing.together.contains(&false) {
            self.without_loop(crossing, |equations| equations.fit_velocities(t));
        }
        Ok(())
    }

    /// λ of the loop's own rows: of all forces that make the accelerations the smallest, in the norm of K's diagonal. In the position itself
    /// some forces are the limit of none; what is left of them is not told.
    pub(crate) fn crossing_lambda(&mut self) {
        let Some(crossing) = self.crossing.take() else { return };
        let accelerations = self.accelerations.clone();
        self.free_accelerations();
        let free = std::mem::replace(&mut self.accelerations, accelerations);
        // What the rows beside do.
        let mut answer = vec![Twist::zero(); free.len()];
        self.rows.apply(&self.lambda, &mut answer);
        let mut rows = Vec::new();
        for block in
            (0..self.rows.n_blocks()).filter(|k| crossing.replaced[*k] && !self.rows.out[*k])
        {
            rows.extend((0..self.rows.place(block).n_rows).map(|i| (block, i)));
        }
        let m = rows.len();
        let list: Vec<Vec<_>> =
            rows.iter().map(|&(b, i)| row(&self.rows, b, i).collect()).collect();
        let mut k = DMatrix::<f64>::zeros(m, m);
        let mut right = DVector::<f64>::zeros(m);
        for a in 0..m {
            for (body, jac, _) in &list[a] {
                right[a] += dot(jac, &self.accelerations[*body])
                    - dot(jac, &free[*body])
                    - dot(jac, &answer[*body]);
                for b in 0..m {
                    for (other, _, response) in list[b].iter().filter(|x| x.0 == *body) {
                        debug_assert_eq!(other, body);
                        k[(a, b)] += jac.iter().zip(response).map(|(x, y)| x * y).sum::<f64>();
                    }
                }
            }
        }
        let scale: Vec<f64> = (0..m).map(|a| k[(a, a)].max(1e-300).sqrt()).collect();
        let scaled = DMatrix::from_fn(m, m, |a, b| k[(a, b)] / (scale[a] * scale[b]));
        let right = DVector::from_fn(m, |a, _| right[a] / scale[a]);
        if let Some(found) = least_squares(scaled, &right, 1e-10) {
            for (a, &(block, i)) in rows.iter().enumerate() {
                self.lambda[self.rows.place(block).first_row + i] = found[a] / scale[a];
            }
        }
        self.crossing = Some(crossing);
    }
}
