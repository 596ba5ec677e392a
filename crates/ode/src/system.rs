//! What is integrated.

/// Which sign changes of a switching function count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Every sign change.
    #[default]
    Both,
    /// From negative to positive.
    Rising,
    /// From positive to negative.
    Falling,
    /// From positive to negative, of a function that is on the positive side whenever a step begins, though rounding may put it a
    /// little below zero: a body that leaves what it touched. It cannot come back unseen, however short it was away.
    Leaving,
}

/// Why a system could not be evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Not here: the step is tried again, shorter. A value that is not finite counts as this.
    Domain,
    /// Nowhere: the integration ends with this message.
    Stop(String),
}

/// A system ẏ = f(t, y) with switching functions g(t, y).
pub trait System {
    /// Length of y.
    fn dim(&self) -> usize;

    /// dy = f(t, y).
    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), Failure>;

    /// ∂f/∂y, row by row, into `jac`; `false` where there is none, which makes the implicit
    /// method take differences of f.
    fn jacobian(&mut self, _t: f64, _y: &[f64], _jac: &mut [f64]) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Number of switching functions.
    fn n_switches(&self) -> usize {
        0
    }

    /// The switching functions; where one changes its sign a step ends.
    fn switches(&mut self, _t: f64, _y: &[f64], _g: &mut [f64]) -> Result<(), Failure> {
        Ok(())
    }

    /// Which sign changes of a switching function count.
    fn direction(&self, _switch: usize) -> Direction {
        Direction::Both
    }

    /// Called after each accepted step; may change y a little, as a projection to invariants
    /// does, and then returns `true`.
    fn accepted(&mut self, _t: f64, _y: &mut [f64]) -> Result<bool, Failure> {
        Ok(false)
    }
}
