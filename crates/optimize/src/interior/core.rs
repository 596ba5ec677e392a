//! The state of one barrier problem: iterate, barrier parameter and filter. Everything a checkpoint needs.

use serde::{Deserialize, Serialize};

use super::bounded::{Bounded, Limits};
use crate::motion::Fault;
use crate::program::{Program, all_values, collect};
use crate::shape::Shape;

/// Weight of what elastic rows give way.
const ELASTIC_WEIGHT: f64 = 1000.0;
/// Links weigh so much more, so that conditions give way before the motion breaks: those can be named.
const LINK_WEIGHT: f64 = 10.0;

/// Iterate of a barrier problem with its filter; plain data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Core {
    /// Variables.
    pub(crate) x: Bounded,
    /// Slacks of inequality rows.
    pub(crate) s: Bounded,
    /// Multipliers of equality rows.
    pub(crate) y: Vec<f64>,
    /// Multipliers of inequality rows.
    pub(crate) v: Vec<f64>,
    /// In the elastic problem: what rows give way, up and down, equalities first.
    pub(crate) elastic: Option<Elastic>,
    pub(crate) mu: f64,
    pub(crate) filter: Vec<(f64, f64)>,
    pub(crate) theta_start: f64,
    /// Last regularization that was needed.
    pub(crate) delta: f64,
    /// Accepted steps that were very short, in a row.
    pub(crate) short_steps: usize,
}

/// A barrier opens to this part of what rows are off, and to no more than this.
const OPENED: (f64, f64) = (0.1, 1e-3);

/// Variables of the elastic problem: min ρ Σ(p + n) + ζ/2 |D (x − x_R)|², rows = p − n.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Elastic {
    pub(crate) up: Bounded,
    pub(crate) down: Bounded,
    /// ρ of every row.
    pub(crate) weight: Vec<f64>,
    /// x_R.
    pub(crate) reference: Vec<f64>,
    /// Violation of the rows where restoration began.
    pub(crate) theta: f64,
}

/// Bounds of all lists of a core.
#[derive(Clone, Debug)]
pub(crate) struct AllLimits {
    pub(crate) x: Limits,
    pub(crate) s: Limits,
    pub(crate) elastic: Limits,
    pub(crate) fixed: Vec<bool>,
}

impl AllLimits {
    pub(crate) fn of(program: &dyn Program) -> Self {
        let shape = program.shape();
        let (lower, upper) = program.bounds();
        let fixed: Vec<bool> = lower.iter().zip(upper).map(|(l, u)| u <= l).collect();
        let open = |list: &[f64], value: f64| {
            list.iter().zip(&fixed).map(|(b, f)| if *f { value } else { *b }).collect()
        };
        let x = Limits { lower: open(lower, f64::NEG_INFINITY), upper: open(upper, f64::INFINITY) };
        let (lower, upper) = program.row_bounds();
        let s = Limits { lower: lower.to_vec(), upper: upper.to_vec() };
        let elastic = Limits::not_negative(shape.n_equal() + shape.n_unequal());
        AllLimits { x, s, elastic, fixed }
    }
}

/// Values at a point of a core.
#[derive(Clone, Debug)]
pub(crate) struct Valued {
    /// Objective of the program.
    pub(crate) objective: f64,
    /// Rows c and d − s, less what they give way.
    pub(crate) rows: Vec<f64>,
    /// Σ |rows|.
    pub(crate) theta: f64,
    /// Barrier function.
    pub(crate) phi: f64,
}

/// The lists that a step moves.
#[derive(Clone, Debug)]
pub(crate) struct Primal {
    pub(crate) x: Vec<f64>,
    pub(crate) s: Vec<f64>,
    pub(crate) up: Vec<f64>,
    pub(crate) down: Vec<f64>,
}

impl Primal {
    /// self + α·step.
    pub(crate) fn moved(&self, step: &Primal, alpha: f64) -> Primal {
        let add = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + alpha * b).collect();
        Primal {
            x: add(&self.x, &step.x),
            s: add(&self.s, &step.s),
            up: add(&self.up, &step.up),
            down: add(&self.down, &step.down),
        }
    }
}

impl Core {
    /// The barrier for a program whose rows are off by `violation` where they held: with values as near to bounds as the last program's end left them, only
    /// short steps would lead back to the rows.
    pub(crate) fn open(&mut self, limits: &AllLimits, violation: f64) {
        self.mu = self.mu.max((OPENED.0 * violation).min(OPENED.1));
        self.x.open(&limits.x, self.mu);
        self.s.open(&limits.s, self.mu);
    }

    /// A start: x moved between its bounds, slacks at the rows' values, multipliers 1 and 0 (or μ over the distance near a known solution).
    pub(crate) fn start(
        program: &dyn Program,
        limits: &AllLimits,
        x: &[f64],
        mu: f64,
        share: f64,
    ) -> Result<Core, Fault> {
        let shape = program.shape();
        let lower = program.bounds().0;
        let x: Vec<f64> = (0..x.len())
            .map(|i| if limits.fixed[i] { lower[i] } else { limits.x.inside(i, x[i], share) })
            .collect();
        let (_, rows, unequal) = collect(shape, &all_values(program, &x)?);
        let s: Vec<f64> =
            unequal.iter().enumerate().map(|(i, d)| limits.s.inside(i, *d, share)).collect();
        let unit = mu >= 0.1;
        let theta = rows.iter().map(|r| r.abs()).sum::<f64>()
            + unequal.iter().zip(&s).map(|(d, s)| (d - s).abs()).sum::<f64>();
        Ok(Core {
            x: Bounded::new(&limits.x, x, mu, unit),
            s: Bounded::new(&limits.s, s, mu, unit),
            y: vec![0.0; shape.n_equal()],
            v: vec![0.0; shape.n_unequal()],
            elastic: None,
            mu,
            filter: Vec::new(),
            theta_start: theta,
            delta: 0.0,
            short_steps: 0,
        })
    }

    /// The elastic problem that begins at this iterate, whose rows are `rows`.
    pub(crate) fn restoration(&self, shape: &Shape, limits: &AllLimits, rows: &[f64]) -> Core {
        let rho = ELASTIC_WEIGHT;
        let mut weight = vec![rho; rows.len()];
        for (k, stage) in shape.stages.iter().enumerate() {
            for i in 0..stage.links {
                weight[shape.link_at(k) + i] = rho * LINK_WEIGHT;
            }
        }
        let most = rows.iter().fold(0.0_f64, |m, r| m.max(r.abs()));
        let mu = self.mu.max(most);
        // p − n = c with p·n on the central path; the smaller one without cancellation.
        let split = |c: f64, rho: f64| {
            let root = (mu * mu + rho * rho * c * c).sqrt();
            let large = (mu + rho * c.abs() + root) / (2.0 * rho);
            let small = (mu + mu * mu / (root + rho * c.abs())) / (2.0 * rho);
            if c > 0.0 { (large, small) } else { (small, large) }
        };
        let (up, down): (Vec<f64>, Vec<f64>) =
            rows.iter().zip(&weight).map(|(&c, &w)| split(c, w)).unzip();
        let theta = rows.iter().map(|r| r.abs()).sum();
        let mut core = self.clone();
        for list in [&mut core.x, &mut core.s] {
            for z in list.below.iter_mut().chain(&mut list.above) {
                *z = z.min(rho);
            }
        }
        core.y.fill(0.0);
        core.v.fill(0.0);
        core.elastic = Some(Elastic {
            up: Bounded::new(&limits.elastic, up, mu, false),
            down: Bounded::new(&limits.elastic, down, mu, false),
            weight,
            reference: self.x.value.clone(),
            theta,
        });
        core.mu = mu;
        core.filter.clear();
        core.theta_start = 0.0;
        core.short_steps = 0;
        core
    }

    pub(crate) fn primal(&self) -> Primal {
        let (up, down) = match &self.elastic {
            Some(e) => (e.up.value.clone(), e.down.value.clone()),
            None => (Vec::new(), Vec::new()),
        };
        Primal { x: self.x.value.clone(), s: self.s.value.clone(), up, down }
    }

    /// ζ D² of the elastic problem's reference term.
    pub(crate) fn pull(&self, i: usize) -> f64 {
        match &self.elastic {
            Some(e) => {
                let d = 1.0_f64.min(1.0 / e.reference[i].abs());
                self.mu.sqrt() * d * d
            }
            None => 0.0,
        }
    }

    /// Values at other primal numbers.
    pub(crate) fn value_at(
        &self,
        program: &dyn Program,
        limits: &AllLimits,
        at: &Primal,
    ) -> Result<Valued, Fault> {
        let values = collect(program.shape(), &all_values(program, &at.x)?);
        Ok(self.value_of(values, limits, at))
    }

    /// The same where objective and rows are known.
    pub(crate) fn value_of(
        &self,
        (objective, mut rows, unequal): (f64, Vec<f64>, Vec<f64>),
        limits: &AllLimits,
        at: &Primal,
    ) -> Valued {
        rows.extend(unequal.iter().zip(&at.s).map(|(d, s)| d - s));
        let mut phi = Bounded::barrier(&limits.x, &at.x, self.mu)
            + Bounded::barrier(&limits.s, &at.s, self.mu);
        if let Some(elastic) = &self.elastic {
            for (r, (p, n)) in rows.iter_mut().zip(at.up.iter().zip(&at.down)) {
                *r += n - p;
            }
            phi += Bounded::barrier(&limits.elastic, &at.up, self.mu)
                + Bounded::barrier(&limits.elastic, &at.down, self.mu)
                + at.up
                    .iter()
                    .zip(&at.down)
                    .zip(&elastic.weight)
                    .map(|((p, n), w)| w * (p + n))
                    .sum::<f64>();
            for (i, (x, r)) in at.x.iter().zip(&elastic.reference).enumerate() {
                phi += 0.5 * self.pull(i) * (x - r) * (x - r);
            }
        } else {
            phi += objective;
        }
        let theta = rows.iter().map(|r| r.abs()).sum();
        Valued { objective, rows, theta, phi }
    }

    /// Whether the filter lets a pair pass.
    pub(crate) fn admits(&self, theta: f64, phi: f64) -> bool {
        let highest = 1e4 * self.theta_start.max(1.0);
        theta <= highest
            && self.filter.iter().all(|&(t, f)| theta <= (1.0 - 1e-5) * t || phi <= f - 1e-8 * t)
    }

    /// Adds a pair with its margin.
    pub(crate) fn shut(&mut self, theta: f64, phi: f64) {
        self.filter.retain(|&(t, f)| t < theta || f < phi);
        self.filter.push((theta, phi));
    }
}
