//! Speed, in time of the processor, with the error beside it.
//!
//! A [`Group`] is a family of runs: the 8-loop with both solvers and several orders, chains, trees and rows of four-bars of growing size,
//! bodies that touch, many worlds on several threads. The same code serves `gelenk bench` and `cargo bench -p gelenk`.

mod contact;
mod models;

use std::time::Instant;

use cpu_time::{ProcessTime, ThreadTime};
use gelenk_impulse::{Failure, Simulation};
use gelenk_model::{Model, RunSettings, State};

use crate::hash::state_hash;
use crate::worlds::Worlds;

pub use contact::{ContactErrors, boxes};
pub use models::{chain, eight_loop, four_bars, tree};

/// The groups there are.
pub const GROUPS: [&str; 6] = ["eight-loop", "chain", "tree", "four-bars", "contact", "worlds"];

/// A run is timed this many times.
pub const REPEATS: u32 = 5;

/// A position error at t = 1 s that counts as the same motion, m.
pub const SAME_MOTION: f64 = 0.01;

/// Runs its argument and says how many allocations that took.
pub type CountAllocations = dyn Fn(&mut dyn FnMut()) -> u64;

/// How to measure.
pub struct BenchOptions<'a> {
    /// Shorter runs and smaller models.
    pub quick: bool,
    /// Counts allocations, where the program can.
    pub count_allocations: Option<&'a CountAllocations>,
    /// Is told the name of each run before it starts.
    pub watch: &'a dyn Fn(&str),
}

impl std::fmt::Debug for BenchOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BenchOptions").field("quick", &self.quick).finish_non_exhaustive()
    }
}

/// A family of runs.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name.
    pub name: &'static str,
    /// What is run, in a sentence.
    pub about: &'static str,
    /// The runs.
    pub lines: Vec<Line>,
    /// The power of the size with which the time of a step grows, least squares over the runs, where the size grows.
    pub exponent: Option<f64>,
    /// Worlds on several threads.
    pub worlds: Vec<WorldsLine>,
    /// Centres of mass after 1 s of the reference run, m (8-loop only).
    pub reference: Vec<[f64; 3]>,
    /// How far a second reference with twice the step is from it, m.
    pub reference_error: Option<f64>,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Line {
    /// The model.
    pub model: String,
    /// Moving bodies.
    pub n_bodies: usize,
    /// Solver, order, step (s) and tolerance (m).
    pub settings: RunSettings,
    /// Steps measured.
    pub steps: u64,
    /// Time of the processor for one step, mean over the run, s: that of the fastest of [`REPEATS`] runs, since other programs disturb
    /// even that.
    pub seconds_per_step: f64,
    /// Corrections of single joints (sweep) or solves of all joints (direct) per step.
    pub corrections_per_step: f64,
    /// Largest gap of a joint, m.
    pub gap: f64,
    /// Mean of |energy error| over the steps, J.
    pub energy: f64,
    /// Largest distance of a centre of mass from the reference at t = 1 s, m.
    pub position_error: Option<f64>,
    /// Errors of contact, where bodies touch.
    pub contact: Option<ContactErrors>,
    /// Allocations in all steps after the first, where they are counted.
    pub allocations: Option<u64>,
}

/// Many worlds at once.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldsLine {
    /// Threads.
    pub threads: usize,
    /// Worlds.
    pub worlds: usize,
    /// World-steps a second on the clock.
    pub steps_per_second: f64,
    /// Over that of one thread; on a machine that others use, less than it could be.
    pub gain: f64,
    /// Time of the processor for a world-step, all threads together, s: where it is that of one thread, nothing is lost by threads.
    pub processor_seconds_per_step: f64,
    /// A hash over all final states, in order; the same for any number of threads.
    pub hash: String,
}

/// Why a bench did not come to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// There is no such group.
    #[error("there is no bench `{name}`; there are {}", GROUPS.join(", "))]
    UnknownGroup {
        /// As given.
        name: String,
    },
    /// A run failed.
    #[error("{model}: {failure}")]
    Failed {
        /// The model and its settings.
        model: String,
        /// Why.
        failure: Failure,
    },
    /// The system gives no threads.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// Why not.
        reason: String,
    },
}

impl Line {
    /// Simulated time over time of the processor.
    pub fn real_time(&self) -> f64 {
        self.settings.step / self.seconds_per_step
    }

    /// Corrections a second of the processor.
    pub fn corrections_per_second(&self) -> f64 {
        self.corrections_per_step / self.seconds_per_step
    }
}

/// Measures a group.
pub fn bench(name: &str, options: &BenchOptions<'_>) -> Result<Group, BenchError> {
    match name {
        "eight-loop" => eight_loops(options),
        "chain" => {
            let sizes: &[usize] =
                if options.quick { &[10, 100, 1000] } else { &[10, 100, 1000, 10_000] };
            let about = "chains of n links let go from the horizontal; direct, order 2, h = 1 ms, gaps within 1e-9 m";
            sizes_group("chain", about, sizes, &chain, options)
        }
        "tree" => {
            let sizes: &[usize] =
                if options.quick { &[15, 127, 1023] } else { &[15, 127, 1023, 8191] };
            let about = "binary trees of n rods; direct, order 2, h = 1 ms, gaps within 1e-9 m";
            sizes_group("tree", about, sizes, &tree, options)
        }
        "four-bars" => {
            let sizes: &[usize] = if options.quick { &[5, 40] } else { &[5, 40, 320] };
            let about = "n four-bars in a row, hinges, 3 n rows redundant; direct, order 2, h = 1 ms, gaps within 1e-9 m";
            sizes_group("four-bars", about, sizes, &four_bars, options)
        }
        "contact" => contact::contact(options),
        "worlds" => worlds(options),
        _ => Err(BenchError::UnknownGroup { name: name.to_owned() }),
    }
}

fn empty(name: &'static str, about: &'static str) -> Group {
    Group {
        name,
        about,
        lines: Vec::new(),
        exponent: None,
        worlds: Vec::new(),
        reference: Vec::new(),
        reference_error: None,
    }
}

/// The 8-loop: the paper's setting with both solvers, then the step of each order that keeps the motion for a second.
fn eight_loops(options: &BenchOptions<'_>) -> Result<Group, BenchError> {
    let model = eight_loop();
    let about = if options.quick {
        "8-loop with a regular start, 2 s; position error at t = 1 s against order 8 with a fine step"
    } else {
        "8-loop with a regular start, 10 s; position error at t = 1 s against order 8 with a fine step"
    };
    let mut group = empty("eight-loop", about);
    let duration = if options.quick { 2.0 } else { 10.0 };
    let reference = |h: f64| {
        let settings = settings("direct", 8, h, 1e-13);
        (options.watch)(&format!("eight-loop, reference with h = {h} s"));
        after(&model, &settings, 1.0)
    };
    let fine = if options.quick { 1.0 / 400.0 } else { 1.0 / 800.0 };
    let (state, second) = (reference(fine)?, reference(2.0 * fine)?);
    group.reference = state.s[1..].iter().map(|s| [s.x, s.y, s.z]).collect();
    group.reference_error = Some(distance(&state, &second));
    let mut wanted =
        vec![settings("direct", 2, 0.01, 1e-5), settings("sweep-accelerated", 2, 0.01, 1e-5)];
    // Gaps that leave the error of the motion as it is, and those that nobody sees.
    wanted.extend([150.0, 200.0].map(|n| settings("direct", 2, 1.0 / n, 1e-4)));
    for (order, steps) in [
        (2, &[1.0 / 150.0, 1.0 / 200.0, 1.0 / 300.0, 1.0 / 400.0][..]),
        (4, &[1.0 / 30.0, 1.0 / 40.0, 1.0 / 60.0, 1.0 / 80.0, 1.0 / 100.0]),
        (6, &[1.0 / 20.0, 1.0 / 30.0, 1.0 / 40.0]),
    ] {
        wanted.extend(steps.iter().map(|&h| settings("direct", order, h, 1e-9)));
    }
    for (k, settings) in wanted.into_iter().enumerate() {
        let error = match after(&model, &settings, 1.0) {
            Ok(at_one) => distance(&at_one, &state),
            Err(_) => f64::NAN,
        };
        match measure(&model, &settings, duration, options) {
            Ok(mut line) => {
                line.position_error = Some(error);
                group.lines.push(line);
            }
            // A step too long for this motion is no line of the table.
            Err(_) if k >= 2 => {}
            Err(error) => return Err(error),
        }
    }
    Ok(group)
}

fn sizes_group(
    name: &'static str,
    about: &'static str,
    sizes: &[usize],
    model: &dyn Fn(usize) -> Model,
    options: &BenchOptions<'_>,
) -> Result<Group, BenchError> {
    let mut group = empty(name, about);
    for &n in sizes {
        let model = model(n);
        let settings = settings("direct", 2, 0.001, 1e-9);
        // About the same time for every size; 0.2 s at most, before rows of four-bars lie flat.
        let steps = (200_000 / model.n_bodies().max(1)).clamp(20, 200);
        group.lines.push(measure(&model, &settings, steps as f64 * settings.step, options)?);
    }
    group.exponent = exponent(&group.lines);
    Ok(group)
}

/// Least squares on log t = a + b log n.
fn exponent(lines: &[Line]) -> Option<f64> {
    let points: Vec<[f64; 2]> =
        lines.iter().map(|l| [(l.n_bodies as f64).ln(), l.seconds_per_step.ln()]).collect();
    let n = points.len() as f64;
    let mean = |k: usize| points.iter().map(|p| p[k]).sum::<f64>() / n;
    let (x, y) = (mean(0), mean(1));
    let over: f64 = points.iter().map(|p| (p[0] - x) * (p[1] - y)).sum();
    let under: f64 = points.iter().map(|p| (p[0] - x).powi(2)).sum();
    (points.len() > 1 && under > 0.0).then(|| over / under)
}

/// 8-loops from different moments of one motion, on one and on more threads.
fn worlds(options: &BenchOptions<'_>) -> Result<Group, BenchError> {
    let model = eight_loop();
    let mut group = empty(
        "worlds",
        "8-loops from different moments of one motion, direct, order 2, h = 5 ms, gaps within 1e-9 m",
    );
    let settings = settings("direct", 2, 0.005, 1e-9);
    let (n, steps) = if options.quick { (32, 100) } else { (128, 400) };
    let failed = |failure| BenchError::Failed { model: "eight-loop".to_owned(), failure };
    let mut simulation = Simulation::new(&model, &settings).map_err(failed)?;
    let mut states = Vec::with_capacity(n);
    for _ in 0..n {
        states.push(simulation.state().clone());
        simulation.step().map_err(failed)?;
    }
    let most = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut threads = vec![1];
    while let Some(next) = threads.last().map(|t| 2 * t).filter(|t| *t <= most) {
        threads.push(next);
    }
    let mut first = None;
    for threads in threads {
        (options.watch)(&format!("{n} worlds on {threads} thread(s)"));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|e| BenchError::Threads { threads, reason: e.to_string() })?;
        let (mut best, mut least, mut hash) = (f64::INFINITY, f64::INFINITY, String::new());
        for _ in 0..3 {
            let worlds =
                pool.install(|| Worlds::of_states(&model, &settings, states.iter().cloned()));
            let mut worlds = worlds.map_err(|f| failed(f.failure))?;
            let (begin, used) = (Instant::now(), ProcessTime::now());
            pool.install(|| worlds.advance(steps)).map_err(|f| failed(f.failure))?;
            best = best.min(begin.elapsed().as_secs_f64());
            least = least.min(used.elapsed().as_secs_f64());
            hash = worlds_hash(&worlds);
        }
        let rate = n as f64 * steps as f64 / best;
        let one = *first.get_or_insert(rate);
        group.worlds.push(WorldsLine {
            threads,
            worlds: n,
            steps_per_second: rate,
            gain: rate / one,
            processor_seconds_per_step: least / (n as f64 * steps as f64),
            hash,
        });
    }
    Ok(group)
}

/// A hash over all states, in order.
pub fn worlds_hash(worlds: &Worlds<'_>) -> String {
    let mut hasher = blake3::Hasher::new();
    for state in worlds.states() {
        hasher.update(state_hash(state).as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

fn settings(solver: &str, order: u32, step: f64, tolerance: f64) -> RunSettings {
    RunSettings {
        solver: solver.to_owned(),
        order,
        step,
        tolerance,
        velocity_tolerance: tolerance,
        velocity_correction: false,
        ..RunSettings::default()
    }
}

fn name(model: &Model, settings: &RunSettings) -> String {
    let RunSettings { solver, order, step, .. } = settings;
    format!("{}, {solver}, order {order}, h = {step:.4} s", model.name)
}

/// The state after `t` seconds.
fn after(model: &Model, settings: &RunSettings, t: f64) -> Result<State, BenchError> {
    let failed = |failure| BenchError::Failed { model: name(model, settings), failure };
    let mut simulation = Simulation::new(model, settings).map_err(failed)?;
    while simulation.state().t < t - 0.5 * settings.step {
        simulation.step().map_err(failed)?;
    }
    Ok(simulation.state().clone())
}

/// Largest distance between centres of mass, m.
fn distance(x: &State, y: &State) -> f64 {
    x.s.iter().zip(&y.s).map(|(x, y)| (x - y).norm()).fold(0.0, f64::max)
}

/// Times a run after its first step, [`REPEATS`] times.
fn measure(
    model: &Model,
    settings: &RunSettings,
    duration: f64,
    options: &BenchOptions<'_>,
) -> Result<Line, BenchError> {
    (options.watch)(&name(model, settings));
    let failed = |failure| BenchError::Failed { model: name(model, settings), failure };
    let mut start = Simulation::new(model, settings).map_err(failed)?;
    start.step().map_err(failed)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of steps")]
    let steps = (duration / settings.step).round().max(1.0) as u64;
    let mut simulation = start.clone();
    let (mut fastest, mut allocations) = (f64::INFINITY, None);
    for _ in 0..REPEATS {
        simulation = start.clone();
        let mut result = Ok(());
        let mut all = || {
            let begin = ThreadTime::now();
            result = (0..steps).try_for_each(|_| simulation.step());
            fastest = fastest.min(begin.elapsed().as_secs_f64() / steps as f64);
        };
        if let Some(count) = options.count_allocations {
            allocations = Some(count(&mut all));
        } else {
            all();
        }
        result.map_err(failed)?;
    }
    let done = simulation.steps() as f64;
    Ok(Line {
        model: model.name.clone(),
        n_bodies: model.bodies.iter().filter(|body| !body.fixed).count(),
        settings: settings.clone(),
        steps: simulation.steps(),
        seconds_per_step: fastest,
        corrections_per_step: simulation.totals().corrections as f64 / done,
        gap: simulation.worst_gaps().iter().copied().fold(0.0, f64::max),
        energy: simulation.energy_errors().0,
        position_error: None,
        contact: ContactErrors::of(&simulation),
        allocations,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> BenchOptions<'static> {
        BenchOptions { quick: true, count_allocations: None, watch: &|_| {} }
    }

    /// A small model of each kind keeps its joints closed and its energy.
    #[test]
    fn models_run() {
        for model in [chain(5), tree(7), four_bars(3), eight_loop()] {
            let settings = settings("direct", 2, 0.001, 1e-9);
            let line = measure(&model, &settings, 0.02, &options()).expect("runs");
            assert_eq!(line.steps, 21);
            assert!(line.gap <= 1e-9, "{}: gap {:e}", line.model, line.gap);
            assert!(line.energy < 1e-4, "{}: {:e} J", line.model, line.energy);
            assert!(line.real_time() > 0.0 && line.corrections_per_step >= 1.0);
        }
    }

    /// Boxes stand where they are, and say so.
    #[test]
    fn contacts_are_told() {
        let settings = RunSettings { step: 0.01, tolerance: 1e-7, ..RunSettings::default() };
        let line = measure(&boxes(3), &settings, 0.05, &options()).expect("runs");
        let errors = line.contact.expect("they touch");
        assert_eq!((line.n_bodies, errors.contacts), (3, 12));
        assert!(errors.moved < 1e-9 && errors.penetration <= 1e-7, "{errors:?}");
        let line = measure(&chain(3), &settings, 0.05, &options()).expect("runs");
        assert_eq!(line.contact, None);
    }

    #[test]
    fn sizes_are_as_asked() {
        for (model, bodies, joints) in [(chain(5), 5, 5), (tree(7), 7, 7), (four_bars(3), 7, 10)] {
            let moving = model.bodies.iter().filter(|b| !b.fixed).count();
            assert_eq!((moving, model.joints.len()), (bodies, joints), "{}", model.name);
        }
    }

    #[test]
    fn the_exponent_is_that_of_a_power_law() {
        let model = chain(2);
        let line = measure(&model, &settings("direct", 2, 0.001, 1e-9), 0.004, &options());
        let line = line.expect("runs");
        let of = |n: usize, t: f64| Line { n_bodies: n, seconds_per_step: t, ..line.clone() };
        let lines = [of(10, 1e-5), of(100, 2e-4), of(1000, 4e-3)];
        let p = exponent(&lines).expect("three sizes");
        assert!((p - (1.0 + 2.0_f64.log10())).abs() < 1e-12, "{p}");
        assert!(exponent(&lines[..1]).is_none());
    }
}
