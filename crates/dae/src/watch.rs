//! When a run changes to the blown-up formulation and back: \[Laufen\] IV §4.
//!
//! How near K = J M⁻¹Jᵀ is to a loss of rank is told by its factor, once a step: K⁻¹ J w is of the order of one over the smallest singular value.
//! Where this μ falls below 0.3 of its largest value, or would reach zero within the next steps, the loop's curve of positions is followed ahead
//! ([`gelenk_natural::approach`]).

use gelenk_model::factor::Factor;
use gelenk_model::{Event, Model, RowBlock, RowKind};
use gelenk_natural::near::nearness;
use gelenk_natural::{Lookout, Outlook};

use crate::crossing::Crossing;
use crate::equations::Equations;
use crate::simulation::DaeError;

/// Below this part of its largest value μ is near a loss of rank.
const NEAR: f64 = 0.3;
/// The same for evaluations within a step.
const NEAR_WITHIN: f64 = 0.1;
/// Below it a position without smooth motion is refused.
const CLOSE: f64 = 0.03;
/// Above this part of it the original formulation is regular again.
const REGULAR: f64 = 0.35;

/// Memory of how near the conditions were to a loss of rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    lookout: Lookout,
    /// The largest μ so far, and that of a step's smallest pivot.
    most: f64,
    most_pivot: f64,
    /// The largest K_ii of each row so far. (n_rows)
    sizes: Vec<f64>,
    /// Time and μ at the last step.
    last: Option<(f64, f64)>,
    /// No look ahead before this time.
    not_before: f64,
}

/// The smallest pivots of the factor of K, evaluation by evaluation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pivots {
    /// The smallest, since it was last set to infinity.
    pub(crate) least: f64,
    /// The fewest blurred pivots seen in the run.
    blurred: usize,
}

impl Default for Pivots {
    fn default() -> Self {
        Pivots { least: f64::INFINITY, blurred: usize::MAX }
    }
}

impl Pivots {
    /// Takes the factor just made.
    pub(crate) fn see(&mut self, factor: &Factor) {
        self.blurred = self.blurred.min(factor.blurred);
        let least = if factor.blurred > self.blurred { 0.0 } else { factor.clear };
        self.least = self.least.min(least);
    }
}

/// A step that is to be judged: where it began.
pub(crate) struct Begun<'a> {
    pub(crate) t: f64,
    pub(crate) y: &'a [f64],
}

impl Watch {
    /// A watch over a model; none where nothing can lose rank.
    pub(crate) fn new(model: &Model) -> Option<Self> {
        let graph = gelenk_model::graph::Graph::new(model);
        let equation = |block: &RowBlock| matches!(block.kind, RowKind::Equation(_));
        let any = !graph.clusters.is_empty() || model.rows.iter().any(equation);
        any.then(Watch::default)
    }

    /// Before a step of length `h`: enters the blown-up formulation, or leaves it.
    pub(crate) fn before_step(
        &mut self,
        equations: &mut Equations<'_>,
        at: &Begun<'_>,
        h: f64,
    ) -> Result<(), DaeError> {
        let mu = self.measure(equations, at);
        let n = equations.layout.n;
        if let Some(crossing) = &equations.crossing {
            let away = crossing.branch.offset(at.y).is_none_or(|(x, i)| x * at.y[n + i] > 0.0);
            if away && mu >= REGULAR * self.most {
                equations.crossing = None;
                self.last = None;
            }
            return Ok(());
        }
        self.most = self.most.max(mu);
        let falls = self.last.is_some_and(|(t, before)| {
            at.t > t && mu < before && mu / (before - mu) * (at.t - t) < 2.0 * h
        });
        self.last = Some((at.t, mu));
        if at.t < self.not_before || !(mu < NEAR * self.most || falls) {
            return Ok(());
        }
        // Only close to it is it known that the motion comes that far.
        let refuse = if mu < CLOSE * self.most { 10.0 * h } else { 1.5 * h };
        self.enter(equations, at, 6.0 * h, refuse).map(drop)
    }

    /// Whether a step that was made came so near to a loss of rank that it is to be looked at again.
    pub(crate) fn suspects(&mut self, equations: &Equations<'_>) -> bool {
        let least = equations.pivots.least;
        self.most_pivot = self.most_pivot.max(least.min(1.0));
        equations.crossing.is_none() && least < NEAR_WITHIN * self.most_pivot
    }

    /// μ at a state.
    fn measure(&mut self, equations: &mut Equations<'_>, at: &Begun<'_>) -> f64 {
        equations.read(at.t, at.y);
        equations.prepare_rows_evenly(at.t);
        let Equations { model, rows, solver, fixed, .. } = equations;
        nearness(model, rows, solver.damped_factor(rows, fixed), &mut self.sizes)
    }

    /// Looks ahead from a state; true if a singular position is there and the blown-up formulation has been taken. Refuses one without smooth motion that is
    /// nearer than `refuse` seconds.
    pub(crate) fn enter(
        &mut self,
        equations: &mut Equations<'_>,
        at: &Begun<'_>,
        reach: f64,
        refuse: f64,
    ) -> Result<bool, DaeError> {
        let model = equations.model();
        let n = equations.layout.n;
        let (p, v) = (&at.y[..n], &at.y[n..2 * n]);
        let out = &equations.rows.out;
        let wait = match self.lookout.look(model, &model.start, out, (p, v), reach) {
            Outlook::Branch(branch, _) => {
                equations.crossing = Some(Box::new(Crossing::new(model, *branch)));
                return Ok(true);
            }
            Outlook::Refused(why, arrival) if arrival < refuse => {
                let t = at.t + arrival;
                let (element, place, reason) = (why.element, why.place, why.reason);
                return Err(DaeError::NoSmoothMotion { t, element, place, reason });
            }
            Outlook::Refused(_, arrival) => 0.5 * arrival,
            Outlook::Nothing(wait) => wait,
            Outlook::Blind => f64::INFINITY,
        };
        self.not_before = at.t + 0.3 * wait.min(reach);
        Ok(false)
    }
}

impl Crossing {
    /// The event of the passage.
    pub(crate) fn event(&self, equations: &Equations<'_>, time: f64) -> Event {
        let rounds = self.branch.curve.rounds.len();
        let how = format!(
            "crossed along the branch the motion came on, in the formulation after {rounds} blow-up{}",
            if rounds == 1 { "" } else { "s" },
        );
        let (model, layout) = (equations.model(), &equations.layout);
        self.branch.event(model, layout, time, &how, |body| equations.poses[body])
    }
}
