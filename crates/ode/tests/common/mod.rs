//! Systems for tests.

#![allow(dead_code, reason = "each test file uses some")]

use gelenk_ode::{Direction, Failure, System};

/// A right-hand side as a closure.
pub(crate) struct Plain<F>(pub(crate) usize, pub(crate) F);

impl<F: FnMut(f64, &[f64], &mut [f64])> System for Plain<F> {
    fn dim(&self) -> usize {
        self.0
    }
    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), Failure> {
        (self.1)(t, y, dy);
        Ok(())
    }
}

/// A right-hand side and switching functions as closures.
pub(crate) struct Switched<F, G> {
    pub(crate) dim: usize,
    pub(crate) f: F,
    pub(crate) n_switches: usize,
    pub(crate) g: G,
    pub(crate) direction: Direction,
}

impl<F, G> System for Switched<F, G>
where
    F: FnMut(f64, &[f64], &mut [f64]),
    G: FnMut(f64, &[f64], &mut [f64]),
{
    fn dim(&self) -> usize {
        self.dim
    }
    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), Failure> {
        (self.f)(t, y, dy);
        Ok(())
    }
    fn n_switches(&self) -> usize {
        self.n_switches
    }
    fn switches(&mut self, t: f64, y: &[f64], g: &mut [f64]) -> Result<(), Failure> {
        (self.g)(t, y, g);
        Ok(())
    }
    fn direction(&self, _switch: usize) -> Direction {
        self.direction
    }
}

pub(crate) fn pendulum(t: f64, y: &[f64], dy: &mut [f64]) {
    dy[0] = y[1];
    dy[1] = -y[0].sin() + 0.1 * (2.0 * t).cos();
}

pub(crate) fn lorenz(_t: f64, y: &[f64], dy: &mut [f64]) {
    dy[0] = 10.0 * (y[1] - y[0]);
    dy[1] = y[0] * (28.0 - y[2]) - y[1];
    dy[2] = y[0] * y[1] - 8.0 / 3.0 * y[2];
}

pub(crate) fn robertson(_t: f64, y: &[f64], dy: &mut [f64]) {
    let (a, b, c) = (0.04 * y[0], 3e7 * y[1] * y[1], 1e4 * y[1] * y[2]);
    (dy[0], dy[1], dy[2]) = (-a + c, a - b - c, b);
}

pub(crate) fn oregonator(_t: f64, y: &[f64], dy: &mut [f64]) {
    dy[0] = 77.27 * (y[1] + y[0] * (1.0 - 8.375e-6 * y[0] - y[1]));
    dy[1] = (y[2] - (1.0 + y[0]) * y[1]) / 77.27;
    dy[2] = 0.161 * (y[0] - y[2]);
}

/// Van der Pol's oscillator in Liénard's time: ε ÿ = (1 - y²) ẏ - y.
pub(crate) fn van_der_pol(epsilon: f64) -> impl Fn(f64, &[f64], &mut [f64]) {
    move |_, y, dy| {
        dy[0] = y[1];
        dy[1] = ((1.0 - y[0] * y[0]) * y[1] - y[0]) / epsilon;
    }
}

/// Restricted three-body problem, \[Hairer, Nørsett, Wanner 1993\] (0.1).
pub(crate) fn arenstorf(_t: f64, y: &[f64], dy: &mut [f64]) {
    let mu = 0.012_277_471;
    let rest = 1.0 - mu;
    let d1 = ((y[0] + mu).powi(2) + y[1].powi(2)).powf(1.5);
    let d2 = ((y[0] - rest).powi(2) + y[1].powi(2)).powf(1.5);
    dy[0] = y[2];
    dy[1] = y[3];
    dy[2] = y[0] + 2.0 * y[3] - rest * (y[0] + mu) / d1 - mu * (y[0] - rest) / d2;
    dy[3] = y[1] - 2.0 * y[2] - rest * y[1] / d1 - mu * y[1] / d2;
}
