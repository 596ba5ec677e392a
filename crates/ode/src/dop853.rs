//! The explicit method of order 8 of Dormand and Prince with step control of order 5 and 3.
//!
//! \[Hairer, Nørsett, Wanner 1993\] section II.5 and II.10.

#[expect(
    clippy::excessive_precision,
    clippy::unreadable_literal,
    reason = "coefficients are kept as published"
)]
#[rustfmt::skip]
mod tableau;

use crate::error::Error;
use crate::options::{Stats, Tolerance};
use crate::system::{Failure, System};
use tableau::{A, B, BHH, C, D, E5, Row};

/// f(t, y) into `dy`; false where it has no finite value.
pub(crate) fn evaluate<S: System + ?Sized>(
    system: &mut S,
    stats: &mut Stats,
    t: f64,
    y: &[f64],
    dy: &mut [f64],
) -> Result<bool, Error> {
    stats.evaluations += 1;
    match system.rhs(t, y, dy) {
        Ok(()) => Ok(dy.iter().all(|x| x.is_finite())),
        Err(Failure::Domain) => Ok(false),
        Err(Failure::Stop(message)) => Err(Error::System { t, message }),
    }
}

/// What came of a step that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Trial {
    /// Its error in units of the tolerance.
    Error(f64),
    /// No result; try again with the step times this factor.
    Failed(f64),
}

/// Workspace of the method: stages and interpolant of the last step.
#[derive(Clone, Debug)]
pub(crate) struct Dop853 {
    n: usize,
    /// f at the stages, each n long; 0 is the start, 12 the end.
    k: Vec<f64>,
    stage: Vec<f64>,
    /// The state at the end of the step.
    y_new: Vec<f64>,
    /// Coefficients of the interpolant.
    cont: Vec<f64>,
    /// The largest rate seen in the last step.
    lambda: f64,
    stiff_steps: u32,
    calm_steps: u32,
}

impl Dop853 {
    /// |h λ| where the region of stability ends.
    const STABILITY: f64 = 6.1;

    pub(crate) fn new(n: usize) -> Self {
        Self {
            n,
            k: vec![0.0; 16 * n],
            stage: vec![0.0; n],
            y_new: vec![0.0; n],
            cont: vec![0.0; 8 * n],
            lambda: 0.0,
            stiff_steps: 0,
            calm_steps: 0,
        }
    }

    pub(crate) fn y_new(&mut self) -> &mut Vec<f64> {
        &mut self.y_new
    }

    /// f at the end of the step, after [`finish`](Self::finish).
    pub(crate) fn f_new(&self) -> &[f64] {
        &self.k[12 * self.n..13 * self.n]
    }

    /// stage = y + h Σ a_j k_j.
    fn combine(&mut self, y: &[f64], h: f64, row: Row) {
        let n = self.n;
        self.stage.fill(0.0);
        for &(j, a) in row {
            let k = &self.k[j * n..(j + 1) * n];
            for i in 0..n {
                self.stage[i] += a * k[i];
            }
        }
        for i in 0..n {
            self.stage[i] = y[i] + h * self.stage[i];
        }
    }

    fn slope<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        stats: &mut Stats,
        t: f64,
        j: usize,
    ) -> Result<bool, Error> {
        let k = &mut self.k[j * self.n..(j + 1) * self.n];
        evaluate(system, stats, t, &self.stage, k)
    }

    /// Tries a step from (t, y) with f(t, y) = `f`.
    pub(crate) fn attempt<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        stats: &mut Stats,
        (t, y, f): (f64, &[f64], &[f64]),
        h: f64,
        tolerance: &Tolerance,
    ) -> Result<Trial, Error> {
        let n = self.n;
        self.k[..n].copy_from_slice(f);
        for j in 1..12 {
            self.combine(y, h, A[j]);
            if !self.slope(system, stats, t + C[j] * h, j)? {
                return Ok(Trial::Failed(0.25));
            }
        }
        self.y_new.copy_from_slice(&self.stage); // the last stage's argument, for stiffness
        self.combine(y, h, B);
        std::mem::swap(&mut self.stage, &mut self.y_new);
        // Two estimates; their combination behaves like order 7 where both are small.
        let (mut fifth, mut third) = (0.0, 0.0);
        for i in 0..n {
            let scale = tolerance.scale(i, y[i].abs().max(self.y_new[i].abs()));
            let sum = |row: Row| row.iter().fold(0.0, |sum, &(j, e)| sum + e * self.k[j * n + i]);
            let e5 = sum(E5) / scale;
            let e3 = (sum(B) - sum(BHH)) / scale;
            fifth += e5 * e5;
            third += e3 * e3;
        }
        let below = fifth + 0.01 * third;
        let below = if below > 0.0 { below } else { 1.0 };
        let error = h.abs() * fifth / (below * n.max(1) as f64).sqrt();
        if error.is_finite() { Ok(Trial::Error(error)) } else { Ok(Trial::Failed(0.25)) }
    }

    /// f at the end of an accepted step; false if it has no value.
    pub(crate) fn finish<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        stats: &mut Stats,
        t_new: f64,
    ) -> Result<bool, Error> {
        let n = self.n;
        let k = &mut self.k[12 * n..13 * n];
        let fine = evaluate(system, stats, t_new, &self.y_new, k)?;
        let (mut above, mut below) = (0.0, 0.0);
        for i in 0..n {
            above += (self.k[12 * n + i] - self.k[11 * n + i]).powi(2);
            below += (self.y_new[i] - self.stage[i]).powi(2);
        }
        self.lambda = if below > 0.0 { (above / below).sqrt() } else { 0.0 };
        Ok(fine)
    }

    /// Whether steps are held back by stability, after some in a row; call once an accepted
    /// step, after [`finish`](Self::finish).
    ///
    /// h |λ| ≈ h ‖k₁₂ - k₁₁‖ / ‖y₁₂ - y₁₁‖, section IV.2 of \[Hairer, Wanner 1996\].
    pub(crate) fn is_stiff(&mut self, h: f64) -> bool {
        if h.abs() * self.lambda > Self::STABILITY {
            self.calm_steps = 0;
            self.stiff_steps += 1;
        } else {
            self.calm_steps += 1;
            if self.calm_steps == 6 {
                self.stiff_steps = 0;
            }
        }
        self.stiff_steps >= 15
    }

    pub(crate) fn forget_stiffness(&mut self) {
        (self.stiff_steps, self.calm_steps) = (0, 0);
    }

    /// The interpolant of order 7 of an accepted step from (t, y); false where one of its three
    /// evaluations has no value.
    pub(crate) fn interpolate<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        stats: &mut Stats,
        (t, y): (f64, &[f64]),
        h: f64,
    ) -> Result<bool, Error> {
        let n = self.n;
        for j in 13..16 {
            self.combine(y, h, A[j]);
            if !self.slope(system, stats, t + C[j] * h, j)? {
                return Ok(false);
            }
        }
        for i in 0..n {
            let difference = self.y_new[i] - y[i];
            let bend = h * self.k[i] - difference;
            self.cont[i] = y[i];
            self.cont[n + i] = difference;
            self.cont[2 * n + i] = bend;
            self.cont[3 * n + i] = difference - h * self.k[12 * n + i] - bend;
            for (m, row) in D.iter().enumerate() {
                let sum = row.iter().fold(0.0, |sum, &(j, d)| sum + d * self.k[j * n + i]);
                self.cont[(4 + m) * n + i] = h * sum;
            }
        }
        Ok(true)
    }

    /// The interpolant at t + θ h.
    pub(crate) fn at(&self, theta: f64, y: &mut [f64]) {
        let n = self.n;
        let rest = 1.0 - theta;
        for i in 0..n {
            let c = |m: usize| self.cont[m * n + i];
            let high = c(4) + theta * (c(5) + rest * (c(6) + theta * c(7)));
            y[i] = c(0) + theta * (c(1) + rest * (c(2) + theta * (c(3) + rest * high)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Σ_j a_ij = c_i for every stage: a digit lost in a row shows here.
    #[test]
    fn rows_sum_to_their_times() {
        for i in 1..16 {
            let sum: f64 = A[i].iter().map(|&(_, a)| a).sum();
            assert!((sum - C[i]).abs() < 1e-14, "row {i}: {sum}");
        }
        for row in [E5, D[0]] {
            assert!(row.iter().all(|&(j, _)| j < 16));
        }
        let error: f64 = E5.iter().map(|&(_, e)| e).sum();
        assert!(error.abs() < 1e-14, "{error}");
    }

    /// Σ b_i c_i^(q-1) = 1/q for q = 1..8.
    #[test]
    fn quadrature_of_order_eight() {
        for q in 1..=8 {
            let sum: f64 = B.iter().map(|&(i, b)| b * C[i].powi(q - 1)).sum();
            assert!((sum - 1.0 / f64::from(q)).abs() < 1e-14, "{q}: {sum}");
        }
    }
}
