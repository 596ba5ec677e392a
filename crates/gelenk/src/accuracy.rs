//! Accuracy as an input: step and order chosen so that a run is off by no more than asked.
//!
//! The error of a run is how far its bodies are from where they should be, at worst over the whole run (at up to 4096 even times, at all
//! steps of the coarsest run where it has no more): the root mean square distance over the mass of a body, so that rotations count by what
//! they move,
//!
//! ```text
//! e² = |Δs|² + Σ_k (X_k²/m) |ΔR e_k|²        X_k² = ∫ x_k² dm in the principal frame
//! ```
//!
//! It is estimated by runs with steps 4h, 2h and h: with d₂ between the first two and d₁ between the last two, r = d₂/d₁
//! is 2^p where the order p shows, and the run with h is off by about d₁/(r − 1). Coarse trials with all orders tell which
//! of them needs the least work; that one is refined until its estimate is within the accuracy, and confirmed by a run
//! with ⅔ h, from which the estimate that is told comes, by the order that the last three runs show. The step is the same over the whole run, which keeps the good
//! behaviour of the energy. Choosing costs four to five times as much as the run itself.

use std::ops::ControlFlow;

use gelenk_model::math::{Quat, Vec3};
use gelenk_model::{Model, Observer, RunSettings, Sample, State};

use crate::simulate::simulate_as_told;

/// Times at which runs are compared, at most. With 20 a stiff servo's swing was over before the first of them: 1.1e-5 m off with an accuracy of 1e-7 m.
const TIMES: u64 = 4096;
/// The same for large models: snapshots of so many bodies are kept of a run (14 MB).
const MOST_SHOTS: u64 = 1 << 18;
/// But so many times at least.
const FEWEST_TIMES: u64 = 20;
/// Steps of a run at least.
const FEWEST: f64 = 32.0;
/// Orders and the stages of a step.
const ORDERS: [(u32, u64); 4] = [(2, 1), (4, 5), (6, 9), (8, 17)];
/// The estimate must be below the accuracy by this factor.
const SAFETY: f64 = 2.0;
/// Stages of the longest run that is tried.
const MOST_STAGES: u64 = 6_000_000;
/// Steps of the first trials at most.
const MOST_FIRST: f64 = 1e5;
/// Refinements at most.
const MOST_ROUNDS: usize = 12;
/// Finer steps that do not help, one after the other, before giving up: what happens within a step is sometimes met by luck.
const MOST_VAIN: usize = 3;
/// Joints are closed to this part of the accuracy, but not below `ROUNDING`, m.
const GAP_PART: f64 = 1e-3;
const ROUNDING: f64 = 1e-13;

/// Change of velocities that shows how much a motion magnifies, m/s.
const TRACE: f64 = 1e-9;
/// What long runs of some models do.
const CHAOS: &str =
    "the motion magnifies small errors (it is chaotic, or has jumps): take a shorter duration";

/// Why no step was found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AccuracyError {
    /// The accuracy is no positive number.
    #[error("`accuracy` is {0}: it must be a positive number of metres")]
    Bad(f64),
    /// No step reaches it.
    #[error(
        "an accuracy of {asked:.1e} m cannot be reached over {duration} s: {why}; reached: about {reached:.1e} m with order \
         {order} and a step of {step:.3e} s"
    )]
    NotReached {
        /// The accuracy asked for, m.
        asked: f64,
        /// The run's duration, s.
        duration: f64,
        /// The best estimate, m.
        reached: f64,
        /// Its order.
        order: u32,
        /// Its step, s.
        step: f64,
        /// What stands in the way.
        why: &'static str,
    },
    /// Rounding alone is larger.
    #[error(
        "an accuracy of {asked:.1e} m cannot be reached over {duration} s: rounding alone gives {floor:.1e} m or more (the motion \
         magnifies small changes {growth:.1e} times or more)"
    )]
    Rounding {
        /// The accuracy asked for, m.
        asked: f64,
        /// The run's duration, s.
        duration: f64,
        /// What rounding makes at least, m.
        floor: f64,
        /// How much the motion magnifies a change of velocity, beyond the way it takes; at least.
        growth: f64,
    },
    /// No trial run came to its end.
    #[error("no trial run came to its end: {0}")]
    Failed(String),
    /// The watcher stopped it.
    #[error("stopped")]
    Stopped,
}

/// `settings` with the step and the order that its accuracy needs over the run, and the estimated error. Settings without
/// accuracy, or that were chosen before, stay as they are.
///
/// Joints are held tighter where the accuracy asks for it. `watch` is called in every step of the trial runs and may
/// stop them.
pub fn choose(
    model: &Model,
    settings: &RunSettings,
    watch: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<RunSettings, AccuracyError> {
    let Some(accuracy) = settings.accuracy.filter(|_| settings.estimated_error.is_none()) else {
        return Ok(settings.clone());
    };
    if !(accuracy > 0.0 && accuracy.is_finite()) {
        return Err(AccuracyError::Bad(accuracy));
    }
    let mut chosen = settings.clone();
    let gap = (GAP_PART * accuracy).max(ROUNDING * extent(model));
    chosen.tolerance = chosen.tolerance.min(gap);
    chosen.velocity_tolerance = chosen.velocity_tolerance.min(gap);
    if chosen.duration <= 0.0 {
        chosen.estimated_error = Some(0.0);
        return Ok(chosen);
    }
    let times = (MOST_SHOTS / model.n_bodies().max(1) as u64).clamp(FEWEST_TIMES, TIMES);
    let settings = chosen.clone();
    let mut trials = Trials { model, settings, times, fault: String::new(), watch };
    trials.refuse_chaos(accuracy)?;
    let (order, n) = trials.cheapest(accuracy)?;
    let (n, error) = trials.refine(order, n, accuracy)?;
    chosen.order = order;
    chosen.step = trials.step(n);
    chosen.estimated_error = Some(error);
    Ok(chosen)
}

/// How far the bodies are from the origin at the start, at least 1 m: what rounding is relative to.
fn extent(model: &Model) -> f64 {
    model.start.s.iter().map(Vec3::norm).fold(1.0, f64::max)
}

/// How far two runs are apart: the worst body at the worst of the common times, m; see the [module](self).
pub fn apart(model: &Model, a: &[Snapshot], b: &[Snapshot]) -> f64 {
    let mut worst: f64 = 0.0;
    for (a, b) in a.iter().zip(b) {
        for (i, body) in model.bodies.iter().enumerate().filter(|(_, body)| !body.fixed) {
            let mut square = (a.s[i] - b.s[i]).norm_squared();
            let total = 0.5 * body.inertia.sum();
            for k in 0..3 {
                let spread = (total - body.inertia[k]).max(0.0) / body.mass;
                if spread > 0.0 {
                    let axis = Vec3::ith(k, 1.0);
                    square += spread * (a.rot[i] * axis - b.rot[i] * axis).norm_squared();
                }
            }
            let distance = square.sqrt();
            worst = if distance.is_nan() { f64::INFINITY } else { worst.max(distance) };
        }
    }
    worst
}

/// Where all bodies are at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Centres of mass, m. (n_bodies)
    pub s: Vec<Vec3>,
    /// Rotations of the principal frames. (n_bodies)
    pub rot: Vec<Quat>,
}

impl Snapshot {
    /// Where they are in a state.
    pub fn of(state: &State) -> Self {
        Snapshot { s: state.s.clone(), rot: state.rot.clone() }
    }
}

/// Takes snapshots at every m-th step.
struct Camera<'w> {
    m: u64,
    shots: Vec<Snapshot>,
    stopped: bool,
    watch: &'w mut dyn FnMut() -> ControlFlow<()>,
}

impl Observer for Camera<'_> {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        if sample.step > 0 && sample.step.is_multiple_of(self.m) {
            self.shots.push(Snapshot::of(sample.state));
        }
        ControlFlow::Continue(())
    }

    fn step(&mut self, _t: f64) -> ControlFlow<()> {
        let flow = (self.watch)();
        self.stopped |= flow.is_break();
        flow
    }
}

/// Makes runs to choose a step.
struct Trials<'a> {
    model: &'a Model,
    settings: RunSettings,
    /// Times at which runs are compared, at most.
    times: u64,
    /// Why a run failed last.
    fault: String,
    watch: &'a mut dyn FnMut() -> ControlFlow<()>,
}

/// What three runs tell.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    /// The error with the finest step, m.
    error: f64,
    /// The exponent that it falls with.
    slope: f64,
}

impl Trials<'_> {
    fn step(&self, n: u64) -> f64 {
        self.settings.duration / n as f64
    }

    /// A number of steps, at least `x`, that runs of a half and a quarter of them can be compared with, to the last of them: 4 q, where the times
    /// divide q.
    fn steps(&self, x: f64) -> u64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let quarter = (x.max(FEWEST) / 4.0).ceil() as u64;
        let every = quarter.div_ceil(self.times);
        quarter.div_ceil(every).saturating_mul(every).saturating_mul(4)
    }

    /// A run of n steps, at every m-th of them; `None` if it fails.
    fn run(&mut self, order: u32, n: u64, m: u64) -> Result<Option<Vec<Snapshot>>, AccuracyError> {
        self.run_model(self.model, order, n, m)
    }

    fn run_model(
        &mut self,
        model: &Model,
        order: u32,
        n: u64,
        m: u64,
    ) -> Result<Option<Vec<Snapshot>>, AccuracyError> {
        let step = self.step(n);
        let settings = RunSettings {
            order,
            step,
            sample: Some(m as f64 * step),
            at: Vec::new(),
            accuracy: None,
            ..self.settings.clone()
        };
        let mut camera = Camera { m, shots: Vec::new(), stopped: false, watch: self.watch };
        let result = simulate_as_told(model, &settings, &mut camera);
        if camera.stopped {
            return Err(AccuracyError::Stopped);
        }
        match result {
            // Steps that were halved are not the steps that are compared.
            Ok(report) if report.events.iter().any(|event| event.kind == "step-halved") => {
                "steps had to be halved".clone_into(&mut self.fault);
                Ok(None)
            }
            Ok(_) => Ok(Some(camera.shots)),
            Err(error) => {
                self.fault = error.to_string();
                Ok(None)
            }
        }
    }

    /// The error with n steps, a number of [`steps`], from runs with n, n/2 and n/4; infinite where one of the finer two
    /// fails.
    fn estimate(&mut self, order: u32, n: u64) -> Result<Estimate, AccuracyError> {
        let every = (n / 4).div_ceil(self.times);
        let coarse = self.run(order, n / 4, every)?;
        let middle = self.run(order, n / 2, 2 * every)?;
        let fine = self.run(order, n, 4 * every)?;
        let distance = |a: &Option<Vec<Snapshot>>, b: &Option<Vec<Snapshot>>| match (a, b) {
            (Some(a), Some(b)) if a.len() == b.len() => apart(self.model, a, b),
            _ => f64::INFINITY,
        };
        let (fine, coarse) = (distance(&fine, &middle), distance(&middle, &coarse));
        let power = 2_f64.powi(i32::try_from(order).unwrap_or(2));
        let ratio = if coarse.is_finite() && fine > 0.0 { coarse / fine } else { power };
        let ratio = ratio.clamp(1.5, power);
        Ok(Estimate { error: fine / (ratio - 1.0), slope: ratio.log2() })
    }

    /// The error with n steps, from a run with 3/2 n steps: coarser runs may not show yet how it falls.
    ///
    /// With d₁ to a run of n/2 steps and d₂ to this one, the error C hᵖ has d₁/d₂ = (2ᵖ − 1)/(1 − (⅔)ᵖ). Where something happens
    /// within a step (friction that comes to hold, a rope that lets go) p is smaller than the order, and d₂ is a smaller part of the error.
    fn confirm(&mut self, order: u32, n: u64) -> Result<f64, AccuracyError> {
        let every = (n / 4).div_ceil(self.times);
        let coarser = self.run(order, n / 2, 2 * every)?;
        let run = self.run(order, n, 4 * every)?;
        let finer = self.run(order, n / 2 * 3, 6 * every)?;
        let (Some(run), Some(finer)) = (run, finer) else { return Ok(f64::INFINITY) };
        let near = apart(self.model, &run, &finer);
        let far = coarser.map_or(f64::INFINITY, |coarser| apart(self.model, &coarser, &run));
        let left = |p: u32| (2.0 / 3.0_f64).powi(p.cast_signed());
        let ratio = |p: u32| (2_f64.powi(p.cast_signed()) - 1.0) / (1.0 - left(p));
        let shown = (1..=order).rev().find(|p| far >= ratio(*p) * near).unwrap_or(1);
        Ok(near / (1.0 - left(shown)))
    }

    /// Refuses an accuracy that rounding alone spoils: a trial run is made twice, the second time with velocities
    /// changed by a trace, to see how much the motion magnifies.
    fn refuse_chaos(&mut self, accuracy: f64) -> Result<(), AccuracyError> {
        let (order, duration) = (4, self.settings.duration);
        let n = self.steps((duration / self.settings.step).min(MOST_FIRST));
        let every = n.div_ceil(self.times);
        let mut touched = self.model.clone();
        for (i, v) in touched.start.s_dot.iter_mut().enumerate() {
            // Some direction, another for every body.
            let phase = i as f64;
            *v += Vec3::new((0.7 * phase).cos(), (1.3 * phase).sin(), (2.1 * phase).cos()) * TRACE;
        }
        let Some(plain) = self.run(order, n, every)? else { return Ok(()) };
        let Some(changed) = self.run_model(&touched, order, n, every)? else { return Ok(()) };
        let growth = apart(self.model, &plain, &changed) / (TRACE * duration.max(1.0));
        // Joints are not closed better than to `ROUNDING`.
        let floor = extent(self.model) * (f64::EPSILON * growth).max(ROUNDING);
        if floor <= accuracy {
            return Ok(());
        }
        Err(AccuracyError::Rounding { asked: accuracy, duration, floor, growth })
    }

    /// The order that promises the accuracy with the least work, and the steps it needs.
    fn cheapest(&mut self, accuracy: f64) -> Result<(u32, u64), AccuracyError> {
        // The step of the model is a hint: the first trial is at 4 times it.
        let hint = self.settings.duration / (4.0 * self.settings.step);
        let mut n = self.steps(hint.clamp(FEWEST, MOST_FIRST));
        loop {
            let mut best: Option<(f64, u32, f64)> = None;
            for (order, stages) in ORDERS {
                let Estimate { error, slope } = self.estimate(order, n)?;
                let need = n as f64 * (SAFETY * error / accuracy).powf(1.0 / slope);
                let cost = need.max(FEWEST) * stages as f64;
                if cost.is_finite() && best.is_none_or(|(other, ..)| cost < other) {
                    best = Some((cost, order, need));
                }
            }
            if let Some((_, order, need)) = best {
                return Ok((order, self.steps(need)));
            }
            if n as f64 >= 4.0 * MOST_FIRST {
                return Err(AccuracyError::Failed(self.fault.clone()));
            }
            n = self.steps(4.0 * n as f64);
        }
    }

    /// Refines until the estimate is good enough; the number of steps and the estimated error.
    fn refine(
        &mut self,
        order: u32,
        first: u64,
        accuracy: f64,
    ) -> Result<(u64, f64), AccuracyError> {
        let stages = ORDERS.iter().find(|(o, _)| *o == order).map_or(1, |(_, stages)| *stages);
        let most = MOST_STAGES / stages;
        let mut n = first.min(self.steps(most as f64));
        let mut best = (n, f64::INFINITY);
        let mut why = "it would take too many steps";
        // Finer steps that did not help, one after the other.
        let mut vain = 0;
        for _ in 0..MOST_ROUNDS {
            let Estimate { mut error, slope } = self.estimate(order, n)?;
            if error * 1.5 <= accuracy {
                error = self.confirm(order, n)?;
                if error * 1.5 <= accuracy {
                    return Ok((n, error));
                }
            }
            let magnifies = error > 1e-3 * extent(self.model);
            if error < 0.7 * best.1 {
                best = (n, error);
                vain = 0;
            } else {
                vain += 1;
            }
            if vain >= MOST_VAIN {
                why = if magnifies { CHAOS } else { "rounding is that large" };
                break;
            }
            let factor = (SAFETY * error / accuracy)
                .powf(1.0 / slope)
                .clamp(if vain > 0 { 3.0 } else { 1.25 }, 16.0);
            let next = self.steps(n as f64 * factor);
            if next > most {
                why = if magnifies { CHAOS } else { why };
                break;
            }
            n = next;
        }
        let (asked, duration) = (accuracy, self.settings.duration);
        let (n, reached) = best;
        Err(AccuracyError::NotReached { asked, duration, reached, order, step: self.step(n), why })
    }
}
