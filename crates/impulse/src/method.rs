//! How steps are made: the settings of a run, checked.

use gelenk_model::{Flight, ImpactLaw, RunSettings, solver_today};

use crate::compose::Order;
use crate::flight::MAX_ORDER;
use crate::solver::{Direct, Solver, Sweep};

/// The choices that make a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Method {
    /// Largest joint gap after a step, m (rad counted at 1 m).
    pub tolerance: f64,
    /// Gaps and overlaps of bodies that touch which count as none, m.
    pub contact_tolerance: f64,
    /// Largest velocity error of a joint after a step, m/s.
    pub velocity_tolerance: f64,
    /// Order of the step.
    pub order: Order,
    /// Which solver finds the impulses.
    pub solver: SolverKind,
    /// How bodies turn in free flight.
    pub flight: Flight,
    /// Correct velocities at the end of a step.
    ///
    /// Positions do not depend on it. Models with laws that read velocities or book work are always corrected:
    /// the laws need velocities that fit the joints.
    pub velocity_correction: bool,
    /// Which impacts are located in time.
    pub landing: Landing,
    /// What the coefficient of restitution means.
    pub impact: ImpactLaw,
    /// Halve steps in which joints kick, and hold the work of joint forces over gaps, not the gaps alone. It is for steps of
    /// order 2 with corrected velocities.
    pub gentle: bool,
}

/// Which impacts of bodies, and arrivals at end stops, are located in time.
///
/// What does not bounce needs no location: with the gap at the end of the step in the law nothing overlaps beyond the tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Landing {
    /// Those that bounce; at orders above 2 all.
    Auto,
    /// All.
    Exact,
    /// None: what bounces does at the end of the step.
    Coarse,
}

/// The solvers there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SolverKind {
    /// The papers' sweep, joint by joint.
    Sweep,
    /// The same; where it is slow, the last sweeps tell where it goes.
    SweepAccelerated,
    /// Newton on all joints at once.
    Direct,
}

impl SolverKind {
    /// The sweep it is, if it is one.
    pub(crate) fn sweep(self) -> Option<Sweep> {
        match self {
            SolverKind::Sweep => Some(Sweep { accelerated: false }),
            SolverKind::SweepAccelerated => Some(Sweep { accelerated: true }),
            SolverKind::Direct => None,
        }
    }

    /// The solver.
    pub fn solver(self) -> &'static dyn Solver {
        match self {
            SolverKind::Sweep => &Sweep { accelerated: false },
            SolverKind::SweepAccelerated => &Sweep { accelerated: true },
            SolverKind::Direct => &Direct,
        }
    }
}

/// A setting that cannot be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{key}` is {value}: {help}")]
pub struct BadSetting {
    /// The key in `[run]`.
    pub key: &'static str,
    /// What it says.
    pub value: String,
    /// What it may be.
    pub help: &'static str,
}

impl Method {
    /// Whether position corrections go on within tolerance while that is cheap, so that what they leave does not add up over many
    /// steps. Without corrected velocities the energy is blurred anyway, and gentle steps bound the work of the gaps.
    /// Nor is there room for it where the tolerance is near `floor`, what rounding leaves.
    pub(crate) fn converges_fine(&self, floor: f64) -> bool {
        /// Least ratio of the tolerance to rounding.
        const ROOM: f64 = 2e4;
        self.velocity_correction && !self.gentle && self.tolerance > ROOM * floor
    }

    /// The method that `settings` asks for.
    pub fn new(settings: &RunSettings) -> Result<Self, BadSetting> {
        let bad = |key, value: String, help| BadSetting { key, value, help };
        let positive = |key, value: f64| {
            if value > 0.0 && value.is_finite() {
                Ok(value)
            } else {
                Err(bad(key, value.to_string(), "it must be a positive number"))
            }
        };
        positive("step", settings.step)?;
        if !(settings.duration >= 0.0 && settings.duration.is_finite()) {
            let value = settings.duration.to_string();
            return Err(bad("duration", value, "it must be a number of seconds, 0 or more"));
        }
        if let Some(sample) = settings.sample {
            positive("sample", sample)?;
        }
        let order = Order::new(settings.order).ok_or_else(|| {
            bad("order", settings.order.to_string(), "the impulse engine has orders 2, 4, 6 and 8")
        })?;
        let solver = match solver_today(&settings.solver) {
            "sweep" => SolverKind::Sweep,
            "sweep-accelerated" => SolverKind::SweepAccelerated,
            "direct" => SolverKind::Direct,
            other => {
                let help =
                    "the impulse engine has the solvers `direct`, `sweep` and `sweep-accelerated`";
                return Err(bad("solver", format!("`{other}`"), help));
            }
        };
        if let Flight::Taylor(order) = settings.flight
            && order > MAX_ORDER
        {
            let help = "Taylor flight goes to order 60; take `exact` for more";
            return Err(bad("flight", format!("taylor of order {order}"), help));
        }
        let tolerance = positive("tolerance", settings.tolerance)?;
        positive("contact_tolerance", settings.contact_tolerance)?;
        let landing = match settings.contact.as_str() {
            "auto" | "none" | "exact" if settings.locates_all() => Landing::Exact,
            "auto" | "none" => Landing::Auto,
            "coarse" => Landing::Coarse,
            other => {
                let help = "contacts are `auto`, `exact`, `coarse` or `none`";
                return Err(bad("contact", format!("`{other}`"), help));
            }
        };
        Ok(Method {
            tolerance,
            velocity_tolerance: positive("velocity_tolerance", settings.velocity_tolerance)?,
            order,
            solver,
            flight: settings.flight,
            velocity_correction: settings.velocity_correction,
            contact_tolerance: settings.overlap_tolerance(),
            landing,
            impact: settings.impact,
            gentle: settings.gentle && settings.velocity_correction && order == Order::Two,
        })
    }
}
