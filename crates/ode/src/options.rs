//! Settings and statistics.

use crate::error::Error;

/// Which method steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Explicit, order 8.
    #[default]
    Dop853,
    /// Implicit, order 5, for stiff systems.
    Radau5,
    /// Order 8 until the system is found stiff, then Radau; see [`Stats::stiff_at`].
    Auto,
}

/// Settings of an integration.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The method.
    pub method: Method,
    /// Relative tolerance of each component.
    pub rtol: f64,
    /// Absolute tolerance of each component.
    pub atol: f64,
    /// Absolute tolerances one by one, instead of `atol`.
    pub atol_each: Option<Vec<f64>>,
    /// First step; found by the method if none.
    pub first_step: Option<f64>,
    /// Longest step.
    pub max_step: f64,
    /// Most steps tried, rejected ones included.
    pub max_steps: usize,
    /// How exactly event times are found, times max(1, |t|).
    pub event_tolerance: f64,
    /// At how many inner points of a step the switching functions are looked at. Two sign
    /// changes of one function in a step are found if it has no more than one extremum between
    /// three neighbouring points.
    pub samples: usize,
    /// A switching function whose smallest value within a step is below this part of the
    /// largest it has had touches zero: [`EventKind::Grazing`](crate::EventKind).
    pub graze_tolerance: f64,
    /// So many events within `chatter_time` are chattering
    /// ([`Stop::Chattering`](crate::Stop)).
    pub chatter_events: usize,
    /// The time for it, times max(1, |t|).
    pub chatter_time: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            method: Method::Dop853,
            rtol: 1e-9,
            atol: 1e-9,
            atol_each: None,
            first_step: None,
            max_step: f64::INFINITY,
            max_steps: 1_000_000,
            event_tolerance: 1e-12,
            samples: 8,
            graze_tolerance: 1e-10,
            chatter_events: 100,
            chatter_time: 1e-9,
        }
    }
}

impl Options {
    /// Both tolerances set to one number.
    #[must_use]
    pub fn with_tolerance(tolerance: f64) -> Self {
        Self { rtol: tolerance, atol: tolerance, ..Self::default() }
    }

    /// The same with another method.
    #[must_use]
    pub fn method(self, method: Method) -> Self {
        Self { method, ..self }
    }

    /// The absolute tolerances of all components.
    pub(crate) fn check(&self, dim: usize) -> Result<Tolerance, Error> {
        let bad = |text: String| Err(Error::BadOption(text));
        let positive = |x: f64| x > 0.0;
        if !(self.rtol >= 10.0 * f64::EPSILON && self.rtol < 1.0) {
            return bad(format!("rtol is {}, not between 2.3e-15 and 1", self.rtol));
        }
        let atol = match &self.atol_each {
            Some(each) if each.len() != dim => {
                return bad(format!("{} absolute tolerances for {dim} components", each.len()));
            }
            Some(each) => each.clone(),
            None => vec![self.atol; dim],
        };
        if let Some(x) = atol.iter().find(|x| !(x.is_finite() && **x > 0.0)) {
            return bad(format!("an absolute tolerance is {x}, not above 0"));
        }
        if !positive(self.max_step) {
            return bad(format!("max_step is {}, not above 0", self.max_step));
        }
        if self.first_step.is_some_and(|h| !(positive(h) && h.is_finite())) {
            return bad("first_step is not above 0".into());
        }
        if !(positive(self.event_tolerance) && positive(self.chatter_time)) {
            return bad("event_tolerance and chatter_time must be above 0".into());
        }
        if self.samples == 0 || self.samples > 1000 {
            return bad(format!("samples is {}, not from 1 to 1000", self.samples));
        }
        Ok(Tolerance { rtol: self.rtol, atol })
    }
}

/// Tolerances as the methods use them.
#[derive(Clone, Debug)]
pub(crate) struct Tolerance {
    pub(crate) rtol: f64,
    pub(crate) atol: Vec<f64>,
}

impl Tolerance {
    /// The error of component i that counts as 1.
    pub(crate) fn scale(&self, i: usize, y: f64) -> f64 {
        self.atol[i] + self.rtol * y.abs()
    }
}

/// What an integration has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// Accepted steps.
    pub steps: usize,
    /// Steps refused: error too large, no value, or Newton's iteration without convergence.
    pub rejected: usize,
    /// Evaluations of the right-hand side, those for differences included.
    pub evaluations: usize,
    /// Evaluations of the Jacobian.
    pub jacobians: usize,
    /// Factorizations, the real and the complex matrix together as one.
    pub factorizations: usize,
    /// Events: stops at sign changes and touches.
    pub events: usize,
    /// Steps of the method spent on event times.
    pub event_steps: usize,
    /// Steps after which the system changed y.
    pub corrections: usize,
    /// Where the explicit method was first found held back by stability.
    pub stiff_at: Option<f64>,
}
