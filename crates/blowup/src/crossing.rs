//! Motion through singular positions: \[Laufen\] IV §3-4.
//!
//! The motion is integrated in the original formulation until its constraints come near a loss of rank. There
//! the Taylor expansion of the motion itself tells where rank is lost and along which branch; that position is
//! blown up, the motion goes on in the blown-up formulation, whose new variables have no mass, and comes
//! back to the original one when that is regular again.

use gelenk_expr::Rational;
use gelenk_ode::{Integrator, Options, Stop};

use crate::blow::{Judge, Method, Resolution, blow_up};
use crate::branches::{Branch, branches};
use crate::error::Error;
use crate::groebner::Work;
use crate::inertia::admits_smooth_motion;
use crate::mechanics::{Flow, Formulation, Mechanism, about, at};
use crate::place::{Place, nearest_loss, polish, singular_place};

/// Order of the Taylor expansion that serves as the traversing curve.
const TAYLOR_ORDER: usize = 12;

/// Settings of a run.
#[derive(Clone, Copy, Debug)]
pub struct CrossOptions {
    /// Relative and absolute tolerance of the integration.
    pub tolerance: f64,
    /// Below this part of the largest smallest singular value of G so far the original formulation
    /// counts as near a loss of rank.
    pub near: f64,
    /// Whether each step is projected onto the energy of the start.
    pub keep_energy: bool,
    /// Which blow-up.
    pub method: Method,
    /// Most coefficient operations of the exact algebra at one position.
    pub work: usize,
}

impl Default for CrossOptions {
    fn default() -> Self {
        Self {
            tolerance: 1e-10,
            near: 0.25,
            keep_energy: true,
            method: Method::Curve,
            work: 2_000_000,
        }
    }
}

/// A singular position that was crossed.
#[derive(Clone, Debug)]
pub struct Crossing {
    /// When, s.
    pub time: f64,
    /// Where.
    pub place: Place,
    /// The velocities there.
    pub velocity: Vec<f64>,
    /// The blow-up: exact numbers where the position is rational, rounded for use.
    pub resolution: Resolution<f64>,
    /// When the blown-up formulation was taken and left, s.
    pub from_to: [f64; 2],
}

/// How a run went.
#[derive(Clone, Debug)]
pub struct CrossRun {
    /// Coordinates at the end.
    pub x: Vec<f64>,
    /// Velocities at the end.
    pub v: Vec<f64>,
    /// Singular positions in the order of time.
    pub crossings: Vec<Crossing>,
    /// Steps of the integration, all formulations together.
    pub steps: usize,
    /// Steps refused.
    pub rejected: usize,
    /// Evaluations of the accelerations.
    pub evaluations: usize,
    /// Taylor expansions of the motion.
    pub expansions: usize,
    /// Largest |E(t) − E(0)| after a step, J.
    pub energy_error: f64,
    /// Σ |ΔE| that the projections onto the energy took away, J: what the integration itself lost.
    pub energy_corrected: f64,
    /// Largest |g| after a step, of the original constraints.
    pub constraint_error: f64,
}

/// Sees (t, x, v) after a step.
pub type Observe<'a> = &'a mut dyn FnMut(f64, &[f64], &[f64]);

/// Integrates from (x, v) at t = 0 to `duration`; `observe` sees (t, x, v) at the start and after every step.
pub fn run(
    mechanism: &Mechanism,
    x: &[f64],
    v: &[f64],
    duration: f64,
    options: &CrossOptions,
    observe: Observe<'_>,
) -> Result<CrossRun, Error> {
    let mut runner = Runner::new(mechanism, x, v, options)?;
    observe(0.0, x, v);
    let mut t = 0.0;
    while t < duration {
        let approach = runner.original(&mut t, duration, observe)?;
        if let Some(resolved) = approach {
            runner.blown_up(&mut t, duration, resolved, observe)?;
        }
    }
    Ok(runner.run)
}

/// A position ahead, blown up.
struct Resolved {
    place: Place,
    resolution: Resolution<f64>,
}

struct Runner<'a> {
    mechanism: &'a Mechanism,
    options: CrossOptions,
    original: Formulation,
    run: CrossRun,
    energy: f64,
    /// The largest smallest singular value seen.
    rank_scale: f64,
    /// Length of the last step, for the start of the next formulation.
    h: Option<f64>,
}

impl<'a> Runner<'a> {
    fn new(
        mechanism: &'a Mechanism,
        x: &[f64],
        v: &[f64],
        options: &CrossOptions,
    ) -> Result<Self, Error> {
        let n = mechanism.masses.len();
        for (what, list) in [("start", x), ("velocities", v)] {
            if list.len() != n {
                return Err(Error::WrongLength { what, given: list.len(), variables: n });
            }
        }
        let original = Formulation::new(mechanism, &mechanism.constraints.to_f64());
        for (k, g) in original.g.iter().enumerate() {
            let (what, value) = ("its error is", g.eval(x).abs());
            if value.is_nan() || value >= 1e-6 {
                return Err(Error::BadStart { index: k + 1, what, value });
            }
        }
        let rank_scale = original.least_singular_value(x);
        if rank_scale < 1e-9 {
            return Err(Error::SingularStart);
        }
        let g = original.jacobian(x);
        for k in 0..original.m {
            let rate: f64 = (0..n).map(|i| g[(k, i)] * v[i]).sum();
            if rate.is_nan() || rate.abs() >= 1e-6 {
                let what = "the rate of its error is";
                return Err(Error::BadStart { index: k + 1, what, value: rate.abs() });
            }
        }
        let run = CrossRun {
            x: x.to_vec(),
            v: v.to_vec(),
            crossings: Vec::new(),
            steps: 0,
            rejected: 0,
            evaluations: 0,
            expansions: 0,
            energy_error: 0.0,
            energy_corrected: 0.0,
            constraint_error: 0.0,
        };
        let energy = original.energy(x, v);
        Ok(Self { mechanism, options: *options, original, run, energy, rank_scale, h: None })
    }

    fn integrator(&self, t: f64, y: &[f64]) -> Result<Integrator, Error> {
        let options =
            Options { first_step: self.h, ..Options::with_tolerance(self.options.tolerance) };
        Ok(Integrator::new(options, t, y)?)
    }

    /// Adds what an integrator has cost.
    fn count(&mut self, integrator: &Integrator) {
        let stats = integrator.stats();
        self.run.steps += stats.steps;
        self.run.rejected += stats.rejected;
        self.run.evaluations += stats.evaluations;
        self.h = Some(integrator.next_step()).filter(|h| *h > 0.0);
    }

    /// Looks at the state after a step.
    fn look(&mut self, t: f64, x: &[f64], v: &[f64], observe: Observe<'_>) {
        let n = self.original.n;
        let energy = self.original.energy(&x[..n], &v[..n]);
        self.run.energy_error = self.run.energy_error.max((energy - self.energy).abs());
        for g in &self.original.g {
            self.run.constraint_error = self.run.constraint_error.max(g.eval(&x[..n]).abs());
        }
        self.run.x.copy_from_slice(&x[..n]);
        self.run.v.copy_from_slice(&v[..n]);
        observe(t, &x[..n], &v[..n]);
    }

    /// Steps in the original formulation until the end, or until a singular position is ahead.
    fn original(
        &mut self,
        t: &mut f64,
        end: f64,
        observe: Observe<'_>,
    ) -> Result<Option<Resolved>, Error> {
        let n = self.original.n;
        let y: Vec<f64> = self.run.x.iter().chain(&self.run.v).copied().collect();
        let mut integrator = self.integrator(*t, &y)?;
        let energy = self.options.keep_energy.then_some(self.energy);
        loop {
            let h = integrator.next_step();
            let y = integrator.y().to_vec();
            let (x, v) = y.split_at(n);
            if integrator.stats().steps > 0 {
                self.rank_scale = self.rank_scale.max(self.original.least_singular_value(x));
                if self.comes_near(x, v, &integrator.f()[n..], h) {
                    let ahead = self.look_ahead(integrator.t(), x, v, 3.0 * h)?;
                    if ahead.is_some() {
                        *t = integrator.t();
                        self.count(&integrator);
                        return Ok(ahead);
                    }
                }
            } else if self.original.least_singular_value(x) < self.options.near * self.rank_scale {
                let ahead = self.look_ahead(integrator.t(), x, v, f64::INFINITY)?;
                if ahead.is_some() {
                    return Ok(ahead);
                }
            }
            let before = (integrator.t(), x.to_vec(), v.to_vec());
            let mut flow = Flow { formulation: &self.original, energy, corrected: 0.0 };
            let stop = integrator.advance(&mut flow, end)?;
            let corrected = flow.corrected;
            let y = integrator.y().to_vec();
            let (x, v) = y.split_at(n);
            if self.jumped(&before, (integrator.t(), x, v)) {
                let (t_before, x, v) = &before;
                let ahead = self.look_ahead(*t_before, x, v, 2.0 * (integrator.t() - t_before))?;
                if ahead.is_some() {
                    // The step leapt over it: go back and take the other way.
                    (*t, self.run.x, self.run.v) = before;
                    self.count(&integrator);
                    return Ok(ahead);
                }
            }
            self.run.energy_corrected += corrected;
            self.look(integrator.t(), x, v, observe);
            *t = integrator.t();
            if stop == Stop::End {
                *t = end;
                self.count(&integrator);
                return Ok(None);
            }
        }
    }

    /// The smallest singular value of G along a path over 0 … 1: nine places, then a search around the least.
    fn least_along(&self, path: impl Fn(f64) -> Vec<f64>) -> f64 {
        let value = |s: f64| self.original.least_singular_value(&path(s));
        let mut best = (0.0, value(0.0));
        for k in 1..=8 {
            let s = f64::from(k) / 8.0;
            let v = value(s);
            if v < best.1 {
                best = (s, v);
            }
        }
        let (mut low, mut high) = ((best.0 - 0.125f64).max(0.0), (best.0 + 0.125f64).min(1.0));
        for _ in 0..12 {
            let (a, b) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
            let (at_a, at_b) = (value(a), value(b));
            best.1 = best.1.min(at_a).min(at_b);
            if at_a < at_b {
                high = b;
            } else {
                low = a;
            }
        }
        best.1
    }

    /// Whether the next step, seen as a parabola, comes near a loss of rank.
    fn comes_near(&self, x: &[f64], v: &[f64], a: &[f64], h: f64) -> bool {
        let path = |s: f64| -> Vec<f64> {
            (0..x.len()).map(|i| x[i] + s * h * (v[i] + 0.5 * s * h * a[i])).collect()
        };
        self.least_along(path) < self.options.near * self.rank_scale
    }

    /// Whether the step made, seen as a cubic curve, came near a loss of rank.
    fn jumped(
        &self,
        (t_0, x_0, v_0): &(f64, Vec<f64>, Vec<f64>),
        (t_1, x_1, v_1): (f64, &[f64], &[f64]),
    ) -> bool {
        let h = t_1 - t_0;
        let path = |s: f64| -> Vec<f64> {
            let hermite = |i: usize| {
                let (d, e) = (x_1[i] - x_0[i], 1.0 - s);
                x_0[i] + s * d + s * e * (e * (h * v_0[i] - d) - s * (h * v_1[i] - d))
            };
            (0..x_0.len()).map(hermite).collect()
        };
        self.least_along(path) < 0.5 * self.options.near * self.rank_scale
    }

    /// The singular position ahead on the Taylor expansion of the motion, blown up along it; none if the motion
    /// does not meet one within `within` seconds.
    fn look_ahead(
        &mut self,
        t: f64,
        x: &[f64],
        v: &[f64],
        within: f64,
    ) -> Result<Option<Resolved>, Error> {
        let Some(taylor) = self.original.taylor(x, v, TAYLOR_ORDER) else { return Ok(None) };
        self.run.expansions += 1;
        let Some((tau, least)) = nearest_loss(&self.original, &taylor) else { return Ok(None) };
        if tau > within || least > self.options.near * self.rank_scale {
            return Ok(None);
        }
        let guess: Vec<f64> = taylor.iter().map(|x| at(x, tau)).collect();
        let Some(place) = singular_place(&self.mechanism.constraints, &guess) else {
            return Ok(None);
        };
        let distance =
            |a: &[f64]| a.iter().zip(&place.x).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
        // On a curve the motion has nowhere else to go; on a surface it may pass by.
        let one_dimensional = self.original.n == self.original.m + 1;
        let allowed = if one_dimensional { 0.2 } else { 1e-5 };
        if distance(&guess) > allowed * distance(x) {
            return Ok(None);
        }
        let time = t + tau;
        let resolution = match &place.exact {
            Some(exact) => self.exact_resolution(exact, &taylor, tau, time)?,
            None => None,
        };
        let resolution = match resolution {
            Some(resolution) => resolution,
            None => self.rounded_resolution(&place, &taylor, tau, time)?,
        };
        Ok(Some(Resolved { place, resolution }))
    }

    fn refuse(&self, time: f64, place: &[f64], reason: impl Into<String>) -> Error {
        let names = &self.mechanism.constraints.names;
        let place: Vec<String> =
            names.iter().zip(place).map(|(name, x)| format!("{name} = {x}")).collect();
        Error::NoSmoothMotion { time, place: place.join(", "), reason: reason.into() }
    }

    /// The branch of the incoming motion among those that exact algebra finds, blown up; none if it finds
    /// none that fits.
    fn exact_resolution(
        &self,
        place: &[Rational],
        taylor: &[Vec<f64>],
        tau: f64,
        time: f64,
    ) -> Result<Option<Resolution<f64>>, Error> {
        let mut work = Work::new("the search for branches", self.options.work);
        let found = match branches(&self.mechanism.constraints, place, &mut work) {
            Ok(found) if found.cuts.is_empty() => found,
            Ok(_) | Err(Error::WorkBound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        // The motion a little before the position.
        let before: Vec<f64> =
            taylor.iter().zip(place).map(|(x, a)| at(x, 0.6 * tau) - a.to_f64()).collect();
        let fits = found.found.iter().map(|b| (misfit(b, &before), b));
        let best = fits.min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((misfit, branch)) = best else { return Ok(None) };
        if misfit > 0.2 {
            return Ok(None);
        }
        let at = |reason: &str| {
            let place: Vec<f64> = place.iter().map(Rational::to_f64).collect();
            self.refuse(time, &place, reason)
        };
        if branch.order.is_none() {
            return Err(at("the constraints lose rank all along the branch taken"));
        }
        let constraints = &self.mechanism.constraints;
        let judge = Judge::exact();
        let resolution = blow_up(constraints, place, &branch.curve, self.options.method, &judge)?;
        if !admits_smooth_motion(&resolution, &self.mechanism.masses, 0.0) {
            return Err(at(NO_INERTIA));
        }
        Ok(Some(resolution.to_f64(Rational::to_f64)))
    }

    /// The same with the Taylor expansion itself as the curve, to a tolerance.
    fn rounded_resolution(
        &self,
        place: &Place,
        taylor: &[Vec<f64>],
        tau: f64,
        time: f64,
    ) -> Result<Resolution<f64>, Error> {
        let mut curve: Vec<Vec<f64>> = taylor.iter().map(|x| about(x, tau)).collect();
        for x in &mut curve {
            x[0] = 0.0;
            // Time in units of the way to the position, so that coefficients can be compared.
            let mut power = 1.0;
            for c in x.iter_mut() {
                *c *= power;
                power *= tau;
            }
        }
        let size = curve.iter().map(|x| x[1].abs()).fold(0.0, f64::max);
        // On a surface the set of singular positions is blown up, which the polar way does not do.
        let locus = self.original.n > self.original.m + 1;
        let judge =
            Judge { epsilon: 1e-7, locus, curve_epsilon: 1e-3 * size, polish: Some(polish) };
        let constraints = self.mechanism.constraints.to_f64();
        let method = if locus { Method::Curve } else { self.options.method };
        let resolution = blow_up(&constraints, &place.x, &curve, method, &judge)
            .map_err(|error| self.refuse(time, &place.x, error.to_string()))?;
        let masses: Vec<f64> = self.mechanism.masses.iter().map(Rational::to_f64).collect();
        if !admits_smooth_motion(&resolution, &masses, 1e-7) {
            return Err(self.refuse(time, &place.x, NO_INERTIA));
        }
        Ok(resolution)
    }

    /// Steps in the blown-up formulation until the original one is regular again.
    fn blown_up(
        &mut self,
        t: &mut f64,
        end: f64,
        resolved: Resolved,
        observe: Observe<'_>,
    ) -> Result<(), Error> {
        let Resolved { place, resolution } = resolved;
        let formulation = Formulation::new(self.mechanism, &resolution.whole);
        let n = formulation.n;
        let lifted = resolution.lift(&self.run.x, &self.run.v);
        let Some((mut z, mut z_dot)) = lifted else {
            return Err(self.refuse(*t, &place.x, "the motion stays in it"));
        };
        if !formulation.project(&mut z, &mut z_dot) {
            return Err(self.refuse(*t, &place.x, "the blown-up constraints cannot be met"));
        }
        let (passing, origin) = resolution.passing().unwrap_or((0, 0.0));
        let from = *t;
        let first = self.run.crossings.len();
        let y: Vec<f64> = z.iter().chain(&z_dot).copied().collect();
        let mut integrator = self.integrator(*t, &y)?;
        let energy = self.options.keep_energy.then_some(self.energy);
        let mut flow = Flow { formulation: &formulation, energy, corrected: 0.0 };
        loop {
            let side = integrator.y()[passing] - origin;
            let stop = integrator.advance(&mut flow, end)?;
            *t = integrator.t();
            let y = integrator.y().to_vec();
            self.look(*t, &y[..n], &y[n..], observe);
            if side * (y[passing] - origin) <= 0.0 && side != 0.0 {
                let (time, state) = passage(&mut integrator, &mut flow, passing, origin)?;
                self.run.crossings.push(Crossing {
                    time,
                    place: place.clone(),
                    velocity: state[n..n + self.original.n].to_vec(),
                    resolution: resolution.clone(),
                    from_to: [from, *t],
                });
            }
            let regular = self.original.least_singular_value(&y[..self.original.n])
                >= self.options.near * self.rank_scale;
            if stop == Stop::End || regular {
                break;
            }
        }
        if *t >= end {
            *t = end;
        }
        self.run.energy_corrected += flow.corrected;
        for crossing in &mut self.run.crossings[first..] {
            crossing.from_to[1] = *t;
        }
        self.count(&integrator);
        Ok(())
    }
}

const NO_INERTIA: &str = "with zero masses for the variables of the blow-up, the whole matrix of the \
     equations of motion has no full rank there, so the velocity would have to jump";

/// How far a point before the position is from a branch, relative to its distance.
fn misfit(branch: &Branch, before: &[f64]) -> f64 {
    let length = before.iter().map(|x| x * x).sum::<f64>().sqrt();
    let curve: Vec<Vec<f64>> =
        branch.curve.iter().map(|x| x.iter().map(Rational::to_f64).collect()).collect();
    let tangent: Vec<f64> = branch.tangent().iter().map(Rational::to_f64).collect();
    let order = curve.iter().filter_map(|x| x.iter().position(|c| *c != 0.0)).min().unwrap_or(1);
    let size = tangent.iter().map(|x| x * x).sum::<f64>().sqrt();
    // The parameter where the branch is about as far; both signs, and a search around.
    let guess = (length / size).powf(1.0 / order as f64);
    let mut best = f64::INFINITY;
    for sign in [-1.0, 1.0] {
        for k in 0..=200 {
            let s = sign * guess * (0.5 + f64::from(k) / 200.0);
            let gap: f64 =
                curve.iter().zip(before).map(|(x, b)| (at(x, s) - b) * (at(x, s) - b)).sum();
            best = best.min(gap.sqrt() / length);
        }
    }
    best
}

/// Time and state in the last step at which a variable passes `origin`, on the interpolant.
fn passage(
    integrator: &mut Integrator,
    flow: &mut Flow<'_>,
    variable: usize,
    origin: f64,
) -> Result<(f64, Vec<f64>), Error> {
    let (mut low, mut high) = integrator.last_step();
    let mut y = vec![0.0; integrator.y().len()];
    integrator.at(flow, low, &mut y)?;
    let side = y[variable] - origin;
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        integrator.at(flow, middle, &mut y)?;
        if (y[variable] - origin) * side > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok((0.5 * (low + high), y))
}
