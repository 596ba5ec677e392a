//! Radau IIA with three stages, order 5, for stiff systems.
//!
//! \[Hairer, Wanner 1996\] section IV.8: the stages z of
//!
//! ```text
//! z = h (A ⊗ E) f(y + z)
//! ```
//!
//! are found by simplified Newton iterations on w = (T⁻¹ ⊗ E) z, where T splits A⁻¹ into one real
//! and one complex pair of eigenvalues, so that a real and a complex matrix of size n are
//! factored instead of one of size 3n. The interpolant is the collocation polynomial.

use crate::dop853::{Trial, evaluate};
use crate::error::Error;
use crate::lu::{self, Complex};
use crate::options::{Stats, Tolerance};
use crate::system::{Failure, System};

const SQRT6: f64 = 2.449_489_742_783_178;
const C: [f64; 3] = [(4.0 - SQRT6) / 10.0, (4.0 + SQRT6) / 10.0, 1.0];
/// Weights of the stages in the error estimate.
const E: [f64; 3] = [(-13.0 - 7.0 * SQRT6) / 3.0, (-13.0 + 7.0 * SQRT6) / 3.0, -1.0 / 3.0];
/// Eigenvalues of A⁻¹: 3 + 3^(2/3) - 3^(1/3), and 3 + (3^(1/3) - 3^(2/3))/2 ± i (3^(5/6) + 3^(7/6))/2.
const MU_REAL: f64 = 3.637_834_252_744_496;
const MU_COMPLEX: Complex = Complex::new(2.681_082_873_627_752_3, -3.050_430_199_247_410_5);
/// Eigenvectors, in real form.
#[expect(clippy::excessive_precision, reason = "kept as published")]
const T: [[f64; 3]; 3] = [
    [0.094_438_762_488_975_24, -0.141_255_295_020_954_21, 0.030_029_194_105_147_42],
    [0.250_213_122_965_333_32, 0.204_129_352_293_799_94, -0.382_942_112_757_261_92],
    [1.0, 1.0, 0.0],
];
#[expect(clippy::excessive_precision, reason = "kept as published")]
const T_INV: [[f64; 3]; 3] = [
    [4.178_718_591_551_904_28, 0.327_682_820_761_062_37, 0.523_376_445_499_449_51],
    [-4.178_718_591_551_904_28, -0.327_682_820_761_062_37, 0.476_623_554_500_550_44],
    [0.502_872_634_945_786_82, -2.571_926_949_855_605_22, 0.596_039_204_828_224_92],
];
const MAX_ITERATIONS: u8 = 7;

/// Workspace of the method and what it keeps from step to step.
#[derive(Clone, Debug)]
pub(crate) struct Radau {
    n: usize,
    jac: Vec<f64>,
    /// The Jacobian belongs to the start of this step.
    jac_is_new: bool,
    /// There is a Jacobian that may serve.
    jac_is_good: bool,
    real: Vec<f64>,
    real_pivots: Vec<usize>,
    complex: Vec<Complex>,
    complex_pivots: Vec<usize>,
    /// The step that the factors are for; 0 if there are none.
    factored_h: f64,
    z: Vec<f64>,
    w: Vec<f64>,
    f: Vec<f64>,
    rhs_real: Vec<f64>,
    rhs_complex: Vec<Complex>,
    y_stage: Vec<f64>,
    y_new: Vec<f64>,
    f_new: Vec<f64>,
    error: Vec<f64>,
    weighted: Vec<f64>,
    /// Stages of the last accepted step, its length and its start: the next one's guess.
    last_z: Vec<f64>,
    last_h: f64,
    /// Start of the step whose interpolant is kept.
    y_start: Vec<f64>,
    iterations: u8,
    rate: f64,
}

impl Radau {
    pub(crate) fn new(n: usize) -> Self {
        let vector = || vec![0.0; n];
        Self {
            n,
            jac: vec![0.0; n * n],
            jac_is_new: false,
            jac_is_good: false,
            real: vec![0.0; n * n],
            real_pivots: vec![0; n],
            complex: vec![Complex::default(); n * n],
            complex_pivots: vec![0; n],
            factored_h: 0.0,
            z: vec![0.0; 3 * n],
            w: vec![0.0; 3 * n],
            f: vec![0.0; 3 * n],
            rhs_real: vector(),
            rhs_complex: vec![Complex::default(); n],
            y_stage: vector(),
            y_new: vector(),
            f_new: vector(),
            error: vector(),
            weighted: vector(),
            last_z: vec![0.0; 3 * n],
            last_h: 0.0,
            y_start: vector(),
            iterations: 0,
            rate: 0.0,
        }
    }

    pub(crate) fn y_new(&mut self) -> &mut Vec<f64> {
        &mut self.y_new
    }

    pub(crate) fn f_new(&self) -> &[f64] {
        &self.f_new
    }

    /// Newton's iterations of the last step, as a factor of caution for the next.
    pub(crate) fn safety(&self) -> f64 {
        let most = f64::from(2 * MAX_ITERATIONS + 1);
        0.9 * most / (most - 1.0 + f64::from(self.iterations))
    }

    /// After a change of the state nothing of the past serves.
    pub(crate) fn restart(&mut self) {
        self.jac_is_good = false;
        self.jac_is_new = false;
        self.factored_h = 0.0;
        self.last_h = 0.0;
    }

    /// The tolerance for the estimate, which is of order 3 where the step is of order 5.
    pub(crate) fn tolerance(wanted: &Tolerance) -> Tolerance {
        let rtol = 0.1 * wanted.rtol.powf(2.0 / 3.0);
        let ratio = rtol / wanted.rtol;
        Tolerance { rtol, atol: wanted.atol.iter().map(|a| a * ratio).collect() }
    }

    /// Tries a step; `exact` iterates to the rounding error, for event times.
    pub(crate) fn attempt<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        stats: &mut Stats,
        (t, y, f): (f64, &[f64], &[f64]),
        h: f64,
        tolerance: &Tolerance,
        (first, exact): (bool, bool),
    ) -> Result<Trial, Error> {
        loop {
            if !self.jac_is_good {
                if !self.differentiate(system, stats, (t, y, f))? {
                    return Ok(Trial::Failed(0.25));
                }
                self.factored_h = 0.0;
            }
            // Bits, since any other step needs other factors.
            if self.factored_h.to_bits() != h.to_bits() && !self.factor(stats, h) {
                return Ok(Trial::Failed(0.5));
            }
            self.guess(h);
            if self.iterate(system, stats, (t, y), h, tolerance, exact)? {
                break;
            }
            if self.jac_is_new {
                return Ok(Trial::Failed(0.5));
            }
            self.jac_is_good = false;
        }
        let n = self.n;
        for i in 0..n {
            self.y_new[i] = y[i] + self.z[2 * n + i];
        }
        let error = self.estimate(system, stats, (t, y, f), h, tolerance, first)?;
        Ok(if error.is_finite() { Trial::Error(error) } else { Trial::Failed(0.25) })
    }

    fn differentiate<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        stats: &mut Stats,
        (t, y, f): (f64, &[f64], &[f64]),
    ) -> Result<bool, Error> {
        let n = self.n;
        stats.jacobians += 1;
        match system.jacobian(t, y, &mut self.jac) {
            Ok(true) => {}
            Ok(false) => {
                self.y_stage.copy_from_slice(y);
                for j in 0..n {
                    let wanted = (f64::EPSILON * y[j].abs().max(1e-5)).sqrt();
                    self.y_stage[j] = y[j] + wanted;
                    let step = self.y_stage[j] - y[j];
                    if !evaluate(system, stats, t, &self.y_stage, &mut self.weighted)? {
                        return Ok(false);
                    }
                    self.y_stage[j] = y[j];
                    for i in 0..n {
                        self.jac[i * n + j] = (self.weighted[i] - f[i]) / step;
                    }
                }
            }
            Err(Failure::Domain) => return Ok(false),
            Err(Failure::Stop(message)) => return Err(Error::System { t, message }),
        }
        (self.jac_is_new, self.jac_is_good) = (true, true);
        Ok(self.jac.iter().all(|x| x.is_finite()))
    }

    fn factor(&mut self, stats: &mut Stats, h: f64) -> bool {
        let n = self.n;
        stats.factorizations += 1;
        let (real, complex) = (MU_REAL / h, Complex::new(MU_COMPLEX.re / h, MU_COMPLEX.im / h));
        for i in 0..n * n {
            self.real[i] = -self.jac[i];
            self.complex[i] = Complex::new(-self.jac[i], 0.0);
        }
        for i in 0..n {
            self.real[i * n + i] += real;
            self.complex[i * n + i] = self.complex[i * n + i] + complex;
        }
        let fine = lu::factor(n, &mut self.real, &mut self.real_pivots)
            && lu::factor(n, &mut self.complex, &mut self.complex_pivots);
        self.factored_h = if fine { h } else { 0.0 };
        fine
    }

    /// First z: the last step's polynomial, continued.
    fn guess(&mut self, h: f64) {
        let n = self.n;
        if self.last_h == 0.0 {
            self.z.fill(0.0);
        } else {
            for s in 0..3 {
                let weights = weights(1.0 + C[s] * h / self.last_h);
                for i in 0..n {
                    let last = |k: usize| self.last_z[k * n + i];
                    let sum = weights[0] * last(0) + weights[1] * last(1) + weights[2] * last(2);
                    self.z[s * n + i] = sum - last(2);
                }
            }
        }
        for i in 0..n {
            for s in 0..3 {
                self.w[s * n + i] = (0..3).map(|k| T_INV[s][k] * self.z[k * n + i]).sum();
            }
        }
    }

    fn iterate<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        stats: &mut Stats,
        (t, y): (f64, &[f64]),
        h: f64,
        tolerance: &Tolerance,
        exact: bool,
    ) -> Result<bool, Error> {
        let n = self.n;
        let floor = 10.0 * f64::EPSILON / tolerance.rtol;
        let enough = if exact { floor } else { floor.max(tolerance.rtol.sqrt().min(0.03)) };
        let mut last = 0.0;
        self.rate = 0.0;
        for k in 0..MAX_ITERATIONS {
            self.iterations = k + 1;
            for s in 0..3 {
                for i in 0..n {
                    self.y_stage[i] = y[i] + self.z[s * n + i];
                }
                let f = &mut self.f[s * n..(s + 1) * n];
                if !evaluate(system, stats, t + C[s] * h, &self.y_stage, f)? {
                    return Ok(false);
                }
            }
            for i in 0..n {
                let row =
                    |r: usize| -> f64 { (0..3).map(|s| T_INV[r][s] * self.f[s * n + i]).sum() };
                let w = Complex::new(self.w[n + i], self.w[2 * n + i]);
                let m = Complex::new(MU_COMPLEX.re / h, MU_COMPLEX.im / h);
                self.rhs_real[i] = row(0) - MU_REAL / h * self.w[i];
                self.rhs_complex[i] = Complex::new(row(1), row(2)) - m * w;
            }
            lu::solve(n, &self.real, &self.real_pivots, &mut self.rhs_real);
            lu::solve(n, &self.complex, &self.complex_pivots, &mut self.rhs_complex);
            let mut sum = 0.0;
            for i in 0..n {
                let scale = tolerance.scale(i, y[i]);
                let (a, b) = (self.rhs_real[i], self.rhs_complex[i]);
                sum += (a * a + b.re * b.re + b.im * b.im) / (scale * scale);
                self.w[i] += a;
                self.w[n + i] += b.re;
                self.w[2 * n + i] += b.im;
            }
            for i in 0..n {
                for s in 0..3 {
                    self.z[s * n + i] = (0..3).map(|k| T[s][k] * self.w[k * n + i]).sum();
                }
            }
            let change = (sum / (3 * n.max(1)) as f64).sqrt();
            if !change.is_finite() {
                return Ok(false);
            }
            if change <= floor {
                return Ok(true);
            }
            if k > 0 {
                self.rate = change / last;
                if self.rate >= 1.0 {
                    // At the rounding error nothing gets better.
                    return Ok(exact && change < 1e3 * floor);
                }
                let left = self.rate / (1.0 - self.rate) * change;
                if left <= enough {
                    return Ok(true);
                }
                let at_the_end = left * self.rate.powi(i32::from(MAX_ITERATIONS - 1 - k));
                if !exact && at_the_end > enough {
                    return Ok(false);
                }
            }
            last = change;
        }
        Ok(exact)
    }

    fn estimate<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        stats: &mut Stats,
        (t, y, f): (f64, &[f64], &[f64]),
        h: f64,
        tolerance: &Tolerance,
        first: bool,
    ) -> Result<f64, Error> {
        let n = self.n;
        for i in 0..n {
            let sum: f64 = (0..3).map(|s| E[s] * self.z[s * n + i]).sum();
            self.weighted[i] = sum / h;
            self.error[i] = f[i] + self.weighted[i];
        }
        lu::solve(n, &self.real, &self.real_pivots, &mut self.error);
        let mut error = self.norm(y, tolerance);
        if error >= 1.0 && first {
            for i in 0..n {
                self.y_stage[i] = y[i] + self.error[i];
            }
            if !evaluate(system, stats, t, &self.y_stage, &mut self.error)? {
                return Ok(error);
            }
            for i in 0..n {
                self.error[i] += self.weighted[i];
            }
            lu::solve(n, &self.real, &self.real_pivots, &mut self.error);
            error = self.norm(y, tolerance);
        }
        Ok(error)
    }

    fn norm(&self, y: &[f64], tolerance: &Tolerance) -> f64 {
        let n = self.n;
        let square = |i: usize| {
            let size = y[i].abs().max(self.y_new[i].abs());
            (self.error[i] / tolerance.scale(i, size)).powi(2)
        };
        ((0..n).map(square).sum::<f64>() / n.max(1) as f64).sqrt().max(1e-10)
    }

    /// f at the end of an accepted step; the interpolant is kept for the next guess.
    pub(crate) fn finish<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        stats: &mut Stats,
        (t, y): (f64, &[f64]),
        h: f64,
    ) -> Result<bool, Error> {
        self.y_start.copy_from_slice(y);
        let fine = evaluate(system, stats, t + h, &self.y_new, &mut self.f_new)?;
        Ok(fine)
    }

    /// The step is final: what the next one starts from.
    pub(crate) fn commit(&mut self, h: f64) {
        self.last_z.copy_from_slice(&self.z);
        self.last_h = h;
        self.jac_is_new = false;
        // A quick iteration shows that the Jacobian is still good.
        self.jac_is_good = self.iterations <= 1 || self.rate <= 1e-3;
    }

    /// A step near the last one is not worth new factors.
    pub(crate) fn settle(&self, h: f64, factor: f64) -> f64 {
        if self.jac_is_good && (1.0..=1.2).contains(&factor) { h } else { h * factor }
    }

    /// The interpolant at t + θ h.
    pub(crate) fn at(&self, theta: f64, y: &mut [f64]) {
        let n = self.n;
        let weights = weights(theta);
        for i in 0..n {
            let z = |s: usize| self.z[s * n + i];
            y[i] = self.y_start[i] + (weights[0] * z(0) + weights[1] * z(1) + weights[2] * z(2));
        }
    }
}

/// Lagrange's polynomials on 0, c₁, c₂, c₃ without the first, at θ.
fn weights(theta: f64) -> [f64; 3] {
    std::array::from_fn(|s| {
        (0..3)
            .filter(|&k| k != s)
            .fold(theta / C[s], |product, k| product * (theta - C[k]) / (C[s] - C[k]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A⁻¹ = T diag(μ) T⁻¹ must give the nodes: A 1 = c.
    #[test]
    fn the_transformation_belongs_to_the_method() {
        for r in 0..3 {
            for c in 0..3 {
                let unit: f64 = (0..3).map(|k| T[r][k] * T_INV[k][c]).sum();
                assert!((unit - f64::from(u8::from(r == c))).abs() < 1e-14);
            }
        }
        // A⁻¹ c = 1.
        let w: [f64; 3] = std::array::from_fn(|r| (0..3).map(|k| T_INV[r][k] * C[k]).sum());
        let pair = MU_COMPLEX * Complex::new(w[1], w[2]);
        let scaled = [MU_REAL * w[0], pair.re, pair.im];
        for r in 0..3 {
            let one: f64 = (0..3).map(|k| T[r][k] * scaled[k]).sum();
            assert!((one - 1.0).abs() < 1e-13, "{one}");
        }
    }

    #[test]
    fn eigenvalues_to_all_digits() {
        let cube = 3f64.cbrt();
        assert!((MU_REAL - (3.0 + cube * cube - cube)).abs() < 1e-15);
        assert!((MU_COMPLEX.re - (3.0 + (cube - cube * cube) / 2.0)).abs() < 1e-15);
        let im = -(3f64.powf(5.0 / 6.0) + 3f64.powf(7.0 / 6.0)) / 2.0;
        assert!((MU_COMPLEX.im - im).abs() < 1e-15);
    }
}
