//! Singular positions on the way: seen ahead, told, and passed on the curve of positions.
//!
//! Where conditions lose rank, C = 0 has branches that cross, and a gap within tolerance no longer says which one a body is on: of z² = x² a gap of 1e-9 leaves
//! |z − x| free to 1e-9/2x. The rows then give a wrong direction, the velocity correction takes what stands across it, and energy is gone. A loop of one degree
//! of freedom has a curve of positions that needs no rows ([`gelenk_natural`]); near such a position it moves on that
//! ([`Along`](crate::solver::Along)), by the same equations of a step.
//!
//! ```text
//! μ² = min( pivots of K over their own diagonal,  K_ii of equations over their largest so far )
//! ```
//! costs nothing, since K is factorized anyway, but where rows are redundant it may vanish for nothing: other rows take over. Where it falls so that it would be zero soon, or is
//! small, the [`nearness`] is looked at in the same way, in which redundant rows have no say; and where that falls as well, the curve is followed ahead and
//! tells by full rank whether there is a singular position.

use gelenk_model::graph::Graph;
use gelenk_model::rows::RowKind;
use gelenk_model::{Event, Model, State};
use gelenk_natural::near::nearness;
use gelenk_natural::{Branch, Layout, Lookout, Outlook};

use crate::bounds::Bound;
use crate::error::StepError;
use crate::method::{Method, SolverKind};
use crate::scratch::Scratch;
use crate::solver::{Crossing, Factor, factorize};
use crate::step::prepare;

/// So many steps before a singular position, at the speed there is, the motion goes over to the curve, and so many after it comes back.
const STEPS_ABOUT: f64 = 6.0;

/// How much farther the curve is followed than that.
const REACH: f64 = 2.0;

/// Below this part of its largest value μ is looked at in any case: slow motions come as near as this in many steps.
const NEAR: f64 = 0.02;

/// Above this part of its largest value the nearness tells that rows are regular again.
const REGULAR: f64 = 0.04;

/// A position without smooth motion is refused where it is no more than so many steps ahead.
const REFUSE: f64 = 1.5;

/// Damping of K for the nearness, as a part of its diagonal.
const DAMPING: f64 = 1e-8;

/// A number that vanishes in singular positions, step by step.
#[derive(Clone, Copy, Debug, Default)]
struct Trace {
    /// The largest so far.
    most: f64,
    /// Time and value at the step before.
    last: Option<(f64, f64)>,
}

impl Trace {
    /// Takes the value at time t; true where it is small, or would be zero within [`STEPS_ABOUT`] steps of length h.
    fn falls(&mut self, t: f64, mu: f64, h: f64) -> bool {
        self.most = self.most.max(mu);
        let soon = self.last.is_some_and(|(before, last)| {
            mu < last && t > before && mu * (t - before) < STEPS_ABOUT * h * (last - mu)
        });
        self.last = Some((t, mu));
        soon || mu < NEAR * self.most
    }
}

/// Looks out for singular positions.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    layout: Layout,
    lookout: Lookout,
    /// Blocks of equations, whose gradients may vanish.
    equations: Vec<usize>,
    /// Their largest K_ii so far. (equations)
    sizes: Vec<f64>,
    /// The fewest pivots seen that are lost in rounding.
    blurred: usize,
    /// μ by the pivots.
    pivots: Trace,
    /// The nearness, where the pivots ask for it; memory for it.
    near: Trace,
    damped: Option<Box<Factor>>,
    row_sizes: Vec<f64>,
    /// No look ahead before this time.
    not_before: f64,
    /// Natural coordinates and rates. (n each)
    p: Vec<f64>,
    v: Vec<f64>,
    /// Offset from the position before a step and its rate.
    before: Option<(f64, f64)>,
}

impl Watch {
    /// A watch over a model; none where no loop can have one degree of freedom.
    pub(crate) fn new(model: &Model) -> Option<Self> {
        let equations: Vec<usize> = (0..model.rows.len())
            .filter(|k| matches!(model.rows[*k].kind, RowKind::Equation(_)))
            .collect();
        let graph = Graph::new(model);
        let may_lose = |cluster: &gelenk_model::graph::Cluster| {
            let rows: usize = cluster.blocks.iter().map(|k| model.rows[*k].n_rows).sum();
            let freedoms = |b: &usize| {
                // A point mass may have coordinates that nothing names.
                let rigid = model.bodies[*b].kind == gelenk_model::BodyKind::Rigid;
                if rigid { 6 } else { 1 }
            };
            rows + 1 >= cluster.bodies.iter().map(freedoms).sum()
        };
        if equations.is_empty() && !graph.clusters.iter().any(may_lose) {
            return None;
        }
        let layout = Layout::new(model);
        Some(Watch {
            lookout: Lookout::default(),
            sizes: vec![0.0; equations.len()],
            equations,
            blurred: usize::MAX,
            pivots: Trace::default(),
            near: Trace::default(),
            damped: None,
            row_sizes: Vec::new(),
            not_before: f64::NEG_INFINITY,
            p: vec![0.0; layout.n],
            v: vec![0.0; layout.n],
            before: None,
            layout,
        })
    }

    /// Before an asked step of length `h`: goes over to the curve, or comes back from it.
    fn before_step(
        &mut self,
        model: &Model,
        state: &State,
        scratch: &mut Scratch,
        h: f64,
    ) -> Result<(), StepError> {
        prepare(model, state, scratch);
        if let Some(crossing) = &scratch.crossing {
            self.layout.write(state, &mut self.p, &mut self.v);
            self.before = crossing.branch.offset(&self.p).map(|(x, i)| (x, self.v[i]));
            let gone = self
                .before
                .is_none_or(|(x, rate)| x * rate > 0.0 && x.abs() > STEPS_ABOUT * (rate * h).abs());
            if gone && self.nearness(model, scratch) >= REGULAR * self.near.most {
                scratch.crossing = None;
                (self.pivots.last, self.near.last) = (None, None);
            }
            return Ok(());
        }
        let mu = self.measure(scratch);
        let begins = self.near.most == 0.0;
        let falls = self.pivots.falls(state.t, mu, h);
        if !(falls || begins) {
            self.near.last = None;
            return Ok(());
        }
        let near = self.nearness(model, scratch);
        if self.near.falls(state.t, near, h) && h > 0.0 && state.t >= self.not_before {
            self.look(model, state, scratch, h)?;
        }
        Ok(())
    }

    fn nearness(&mut self, model: &Model, scratch: &Scratch) -> f64 {
        let Scratch { rows, bodies, .. } = scratch;
        let make = || Box::new(Factor::new(rows, &bodies.fixed));
        let damped = self.damped.get_or_insert_with(make);
        damped.refresh_damped(rows, DAMPING);
        nearness(model, rows, damped, &mut self.row_sizes)
    }

    /// μ at the poses that `scratch` is prepared for.
    fn measure(&mut self, scratch: &mut Scratch) -> f64 {
        let Scratch { rows, bodies, direct, .. } = scratch;
        let factor = factorize(rows, bodies, direct);
        self.blurred = self.blurred.min(factor.blurred);
        let mut square = if factor.blurred > self.blurred { 0.0 } else { factor.clear };
        for (k, most) in self.equations.iter().zip(&mut self.sizes) {
            let block = &rows.blocks[*k];
            let range = block.jac..block.jac + 6 * block.n_bodies;
            let pairs = rows.jac[range.clone()].iter().zip(&rows.response[range]);
            let size: f64 = pairs.map(|(j, r)| j * r).sum();
            *most = most.max(size);
            if *most > 0.0 {
                square = square.min(size / *most);
            }
        }
        square.sqrt()
    }

    /// Looks ahead; true if the motion goes on along a curve.
    fn look(
        &mut self,
        model: &Model,
        state: &State,
        scratch: &mut Scratch,
        h: f64,
    ) -> Result<bool, StepError> {
        self.layout.write(state, &mut self.p, &mut self.v);
        let out: Vec<bool> = (model.rows.iter().zip(&scratch.rows.blocks))
            .map(|(row, block)| !row.is_active(&state.active) || block.bound != Bound::None)
            .collect();
        let reach = REACH * STEPS_ABOUT * h;
        let seen = self.lookout.look(model, state, &out, (&self.p, &self.v), reach);
        let wait = match seen {
            Outlook::Branch(branch, _) => {
                self.before = branch.offset(&self.p).map(|(x, i)| (x, self.v[i]));
                scratch.crossing = Some(Box::new(Crossing::new(model, *branch, &scratch.rows)));
                return Ok(true);
            }
            Outlook::Refused(why, arrival) if arrival < REFUSE * h => {
                return Err(StepError::NoMotion { why: Box::new(why), t: state.t + arrival });
            }
            Outlook::Refused(_, arrival) => arrival,
            Outlook::Nothing(wait) => wait,
            Outlook::Blind => 100.0 * reach,
        };
        self.not_before = state.t + 0.3 * wait.min(reach);
        Ok(false)
    }

    /// The event of a position that the step from `t` has passed.
    fn passed(&self, model: &Model, state: &State, branch: &Branch, t: f64) -> Option<Event> {
        let (from, rate_from) = self.before?;
        let (mut p, mut v) = (vec![0.0; self.layout.n], vec![0.0; self.layout.n]);
        self.layout.write(state, &mut p, &mut v);
        let (to, i) = branch.offset(&p)?;
        if from == 0.0 || from * to > 0.0 {
            return None;
        }
        let h = state.t - t;
        let part = hermite_root([from, rate_from * h, to, v[i] * h]);
        let id = |body: usize| gelenk_model::BodyId(u32::try_from(body).unwrap_or(u32::MAX));
        let how = "passed along the branch the motion came on";
        Some(branch.event(model, &self.layout, t + part * h, how, |body| state.pose(id(body))))
    }
}

/// Where in [0, 1] the cubic with values a, b and slopes a′, b′ at the ends is zero; a and b have different signs.
fn hermite_root([a, slope_a, b, slope_b]: [f64; 4]) -> f64 {
    let value = |x: f64| {
        let y = 1.0 - x;
        a * y * y * (1.0 + 2.0 * x) + slope_a * x * y * y + b * x * x * (3.0 - 2.0 * x)
            - slope_b * x * x * y
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if value(middle) * a > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

impl Scratch {
    /// Before an asked step of length `h`: looks out for singular positions.
    pub(crate) fn watch_ahead(
        &mut self,
        model: &Model,
        method: &Method,
        state: &State,
        h: f64,
    ) -> Result<(), StepError> {
        self.watched(method, |watch, scratch| watch.before_step(model, state, scratch, h))
            .unwrap_or(Ok(()))
    }

    /// After a step of length `h` from `state` could not be made: true if a singular position was the reason and the motion goes on along a curve.
    pub(crate) fn finds_branch(
        &mut self,
        model: &Model,
        method: &Method,
        state: &State,
        h: f64,
    ) -> Result<bool, StepError> {
        if self.crossing.is_some() || h <= 0.0 {
            return Ok(false);
        }
        self.watched(method, |watch, scratch| {
            prepare(model, state, scratch);
            watch.look(model, state, scratch, h)
        })
        .unwrap_or(Ok(false))
    }

    /// The event of a singular position that the step from `t` to `state` has passed.
    pub(crate) fn passage(&self, model: &Model, state: &State, t: f64) -> Option<Event> {
        let branch = &self.crossing.as_ref()?.branch;
        self.watch.as_ref()?.passed(model, state, branch, t)
    }

    fn watched<T>(
        &mut self,
        method: &Method,
        f: impl FnOnce(&mut Watch, &mut Scratch) -> T,
    ) -> Option<T> {
        if method.solver != SolverKind::Direct {
            return None;
        }
        let mut watch = self.watch.take()?;
        let found = f(&mut watch, self);
        self.watch = Some(watch);
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::hermite_root;

    #[test]
    fn root_of_a_cubic() {
        // (x − 0.3)(x² + 1): values −0.3 and 1.4, slopes 1 and 3.4 at the ends.
        assert!((hermite_root([-0.3, 1.0, 1.4, 3.4]) - 0.3).abs() < 1e-15);
    }
}
