//! How a model wants to be run.

use serde::{Deserialize, Serialize};

use crate::impact::ImpactLaw;

/// Settings of `[run]`; the command line may change each.
///
/// Recordings carry them as JSON; a setting that an older recording lacks has its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSettings {
    /// Engine: `impulse`, `dae` or `lagrange`.
    pub engine: String,
    /// Simulated time, s.
    pub duration: f64,
    /// Time step h, s.
    pub step: f64,
    /// Largest joint gap, m.
    pub tolerance: f64,
    /// Largest velocity error of joints, m/s.
    pub velocity_tolerance: f64,
    /// Gaps and overlaps of bodies that touch which count as none, m; at least `tolerance`. With `contact = "exact"` it is `tolerance`.
    pub contact_tolerance: f64,
    /// Order of the method: 2, 4, 6 or 8.
    pub order: u32,
    /// Solver of the impulse engine: `direct`, `sweep` or `sweep-accelerated`.
    pub solver: String,
    /// Rotation in free flight: `exact`, or `taylor` of the given order.
    pub flight: Flight,
    /// Correct velocities at the end of each step (positions do not depend on it).
    pub velocity_correction: bool,
    /// Impacts of bodies and arrivals at end stops: `auto`, those that bounce located in time, `exact`, all, `coarse`, none, or `none`: nothing
    /// touches.
    pub contact: String,
    /// What the coefficient of restitution means: [`ImpactLaw`].
    #[serde(skip_serializing_if = "ImpactLaw::is_usual")]
    pub impact: ImpactLaw,
    /// Halve steps in which joints act harder than the bodies' size and speed explain, and hold the work of joint forces over
    /// gaps, not the gaps alone (order 2, corrected velocities).
    pub gentle: bool,
    /// Seconds between recorded samples; `None`: every step.
    pub sample: Option<f64>,
    /// Times at which exact states are wanted, s, ascending.
    pub at: Vec<f64>,
    /// Largest position error wanted over the run, m: step and order are then chosen, and those given are but hints.
    pub accuracy: Option<f64>,
    /// The estimated error of the step and order that were chosen for `accuracy`, m. With it, `step` and `order` are used
    /// as they are.
    pub estimated_error: Option<f64>,
    /// Relative tolerance of the local error, of the dae engine; 1e-12 if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtol: Option<f64>,
    /// Absolute tolerance of the local error, of the dae engine; `None`: the relative one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atol: Option<f64>,
    /// Integrator of the dae engine: `dop853`, `radau` or `auto`, which is meant by `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integrator: Option<String>,
}

impl RunSettings {
    /// Whether all impacts are located in time: asked for, or by an order above 2, which what lands within a step would not have.
    pub fn locates_all(&self) -> bool {
        self.contact == "exact" || self.contact != "coarse" && self.order > 2
    }

    /// Overlaps of bodies that touch which count as none, m.
    pub fn overlap_tolerance(&self) -> f64 {
        if self.locates_all() { self.tolerance } else { self.contact_tolerance.max(self.tolerance) }
    }
}

impl Default for RunSettings {
    fn default() -> Self {
        RunSettings {
            engine: "impulse".to_owned(),
            duration: 10.0,
            step: 0.01,
            tolerance: 1e-9,
            velocity_tolerance: 1e-9,
            contact_tolerance: 1e-7,
            order: 2,
            solver: "direct".to_owned(),
            flight: Flight::Exact,
            velocity_correction: true,
            contact: "auto".to_owned(),
            impact: ImpactLaw::default(),
            gentle: false,
            sample: None,
            at: Vec::new(),
            accuracy: None,
            estimated_error: None,
            rtol: None,
            atol: None,
            integrator: None,
        }
    }
}

/// How a free body's rotation is advanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flight {
    /// The exact torque-free solution.
    Exact,
    /// Taylor series of this order.
    Taylor(u32),
}
