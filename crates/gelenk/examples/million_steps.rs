//! No drift: every model of the gallery over many steps of order 2. Prints, for each, the worst gap beside its tolerance and how the
//! energy error goes on: its largest values in the first and the last tenth of the steps, and its trend with the standard error. A step of order 2
//! keeps not H but H̃ = H + h²/24 Σ(m a² + αᵀ J̃ α) + O(h⁴), with a and α the accelerations that joints give: where a motion gets rougher, H
//! falls. So the trend of H̃ stands beside that of H, for models that only joints and gravity move.
//!
//! ```sh
//! cargo run --release -p gelenk --example million_steps -- 1000000
//! cargo run --release -p gelenk --example million_steps -- 1000000 four-bar heavy-top
//! cargo run --release -p gelenk --example million_steps -- 1000000 1e-12 four-bar    # with this tolerance, not the model's
//! cargo run --release -p gelenk --example million_steps -- 1000000 my.toml           # a model of your own
//! ```
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example shows what it found, and how far it is"
)]

use std::error::Error;
use std::io::Write;
use std::ops::ControlFlow;
use std::time::Instant;

use gelenk::model::math::Vec3;
use gelenk::model::{LoadOptions, Model, Observer, RunSettings, Sample, State, load_text};
use gelenk::scenes::{SCENES, Scene};
use gelenk::simulate;

/// A model that gets farther away than this begins anew: what falls or flies for ever says nothing about drift, m.
const FAR: f64 = 100.0;

/// So often long runs say how far they are, in steps.
const TOLD: usize = 100_000;

/// Parts of a run whose means give the trend.
const BLOCKS: usize = 100;

/// What a long run shows.
struct Found {
    steps: u64,
    /// How often the model began.
    laps: u32,
    /// Largest gap of any joint over its tolerance.
    gap: f64,
    /// Neither drives nor dampers nor impacts: the energy is to stay.
    conservative: bool,
    /// Largest kinetic energy, J.
    kinetic: f64,
    /// Largest energy error in the first and the last tenth of the steps, J.
    first: f64,
    last: f64,
    /// The same in both halves, J.
    halves: [f64; 2],
    /// Change of the energy error over all steps by the line through the means of the parts, and its standard error, with the
    /// correlation of neighbouring parts, J.
    trend: f64,
    deviation: f64,
    /// The same of the modified energy H̃, J.
    modified: Option<(f64, f64)>,
    /// Steps that were halved.
    halved: usize,
}

/// Sees every step.
struct Watch<'a> {
    n: u64,
    done: u64,
    errors: &'a mut Vec<f64>,
    modified: Option<Modified<'a>>,
    kinetic: f64,
    far: bool,
}

/// Gives the modified energy of each step once the next one is there.
struct Modified<'a> {
    model: &'a Model,
    h: f64,
    /// The step before the last and the last, with its energy error.
    before: Option<State>,
    last: Option<(State, f64)>,
    errors: &'a mut Vec<f64>,
}

impl Modified<'_> {
    fn see(&mut self, next: &State, error: f64) {
        if let (Some(before), Some((at, error))) = (&self.before, &self.last) {
            self.errors.push(error + self.h * self.h / 24.0 * self.force_squared(before, at, next));
        }
        // No new memory from the third step on.
        let spare = self.before.take();
        let mut kept = spare.unwrap_or_else(|| next.clone());
        kept.clone_from(next);
        self.before = self.last.replace((kept, error)).map(|(state, _)| state);
    }

    /// Σ (m a² + αᵀ J̃ α), the joints' forces squared in the norm of M⁻¹; accelerations by central differences, without those of free flight.
    fn force_squared(&self, before: &State, at: &State, next: &State) -> f64 {
        let mut sum = 0.0;
        for (i, body) in self.model.bodies.iter().enumerate().filter(|(_, body)| !body.fixed) {
            let rate = |after: &Vec3, before: &Vec3| (after - before) / (2.0 * self.h);
            let a = rate(&next.s_dot[i], &before.s_dot[i]) - self.model.gravity;
            let omega = at.rot[i].inverse_transform_vector(&at.omega[i]);
            let spin = body.inertia.component_mul(&omega).cross(&omega);
            let alpha = rate(&next.omega[i], &before.omega[i]);
            let alpha =
                at.rot[i].inverse_transform_vector(&alpha) - body.inertia_inv.component_mul(&spin);
            sum += body.mass * a.norm_squared() + body.inertia.component_mul(&alpha).dot(&alpha);
        }
        sum
    }
}

impl Observer for Watch<'_> {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        let error = sample.ledger.integrator_error();
        if let Some(modified) = &mut self.modified {
            modified.see(sample.state, error);
        }
        if sample.step > 0 {
            self.errors.push(error);
            self.done += 1;
            let all = self.errors.len();
            if all.is_multiple_of(TOLD) {
                let gap = sample.worst_gaps.iter().copied().fold(0.0, f64::max);
                eprintln!("{all} steps: largest gap {gap:.1e}, energy error {error:.1e} J");
            }
        }
        self.kinetic = self.kinetic.max(sample.ledger.kinetic);
        self.far = sample.state.s.iter().any(|s| s.amax() > FAR);
        if self.far || self.done >= self.n {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

fn load(scene: &Scene, overrides: &[(&str, &str)]) -> Result<Model, Box<dyn Error>> {
    load_from(scene.name, scene.text, overrides)
}

fn load_from(name: &str, text: &str, overrides: &[(&str, &str)]) -> Result<Model, Box<dyn Error>> {
    let overrides = overrides.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let options = LoadOptions { overrides, ..LoadOptions::default() };
    Ok(load_text(name, text, &options)?.model)
}

/// Runs a model for `n` steps of order 2, as it asks to be run or with another tolerance.
fn long_run(model: &Model, n: u64, tolerance: Option<f64>) -> Result<Found, Box<dyn Error>> {
    let mut settings = RunSettings {
        engine: "impulse".to_owned(),
        duration: n as f64 * model.run.step,
        order: 2,
        sample: None,
        ..model.run.clone()
    };
    if let Some(tolerance) = tolerance {
        // Rows that follow from others are as good as the gaps let them, in velocities too.
        (settings.tolerance, settings.velocity_tolerance) = (tolerance, 10.0 * tolerance);
    }
    let (mut errors, mut modified) = (Vec::new(), Vec::new());
    let free = model.forces.is_empty() && settings.velocity_correction;
    let mut found = Found {
        steps: 0,
        laps: 0,
        gap: 0.0,
        conservative: true,
        kinetic: 0.0,
        first: 0.0,
        last: 0.0,
        halves: [0.0; 2],
        trend: 0.0,
        deviation: 0.0,
        modified: None,
        halved: 0,
    };
    while found.steps < n {
        let modified = free.then_some(Modified {
            model,
            h: settings.step,
            before: None,
            last: None,
            errors: &mut modified,
        });
        let (errors, n) = (&mut errors, n - found.steps);
        let mut watch = Watch { n, done: 0, errors, modified, kinetic: 0.0, far: false };
        let report = simulate(model, &settings, &mut watch)?;
        found.steps += report.steps;
        found.kinetic = found.kinetic.max(watch.kinetic);
        found.laps += 1;
        for (gap, block) in report.worst_gaps.iter().zip(&model.rows) {
            let tolerance = block.tolerance.unwrap_or(settings.tolerance);
            found.gap = found.gap.max(gap / tolerance);
        }
        let ledger = report.ledger;
        let taken = ledger.work.abs() + ledger.dissipation.abs() + ledger.impact_loss.abs();
        found.conservative &= taken == 0.0;
        found.halved += report.events.iter().filter(|e| e.kind == "step-halved").count();
    }
    let largest = |part: &[f64]| part.iter().fold(0.0_f64, |a, e| a.max(e.abs()));
    let tenth = errors.len().div_ceil(10);
    found.first = largest(&errors[..tenth]);
    found.last = largest(&errors[errors.len() - tenth..]);
    let (one, two) = errors.split_at(errors.len() / 2);
    found.halves = [largest(one), largest(two)];
    (found.trend, found.deviation) = trend(&errors);
    found.modified = (free && found.conservative && found.halved == 0).then(|| trend(&modified));
    Ok(found)
}

/// The rise of the line through the means of [`BLOCKS`] parts from the first value to the last, and its standard error.
fn trend(values: &[f64]) -> (f64, f64) {
    let size = (values.len() / BLOCKS).max(1);
    let means: Vec<f64> =
        values.chunks_exact(size).map(|part| part.iter().sum::<f64>() / size as f64).collect();
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    // x from −½ to ½ over all values.
    let x = |i: usize| (i as f64 + 0.5) / n - 0.5;
    let xx: f64 = (0..means.len()).map(|i| x(i) * x(i)).sum();
    let rise = means.iter().enumerate().map(|(i, m)| x(i) * (m - mean)).sum::<f64>() / xx;
    let rest = |i: usize| means[i] - mean - rise * x(i);
    let squares: f64 = (0..means.len()).map(|i| rest(i) * rest(i)).sum();
    let pairs: f64 = (1..means.len()).map(|i| rest(i - 1) * rest(i)).sum();
    // Means of neighbouring parts that swing together say less than independent ones: with their correlation ρ, n of them count as
    // n (1 − ρ)/(1 + ρ). Without this a slow swing, or the random walk of a chaotic motion, would pass for a trend.
    let correlation = if squares > 0.0 { (pairs / squares).clamp(0.0, 0.98) } else { 0.0 };
    let fewer = (1.0 + correlation) / (1.0 - correlation);
    (rise, (fewer * squares / (n - 2.0) / xx).sqrt())
}

impl Found {
    /// Whether the energy error has a trend: one that stands out of its standard error, and is more than a hundredth of the largest
    /// error of the first tenth; and which the modified energy, where it is known, has too.
    fn drifts(&self) -> bool {
        let rises = |(trend, deviation): (f64, f64)| {
            trend.abs() > 3.0 * deviation && trend.abs() > 0.01 * self.first
        };
        rises((self.trend, self.deviation)) && self.modified.is_none_or(rises)
    }

    fn modified(&self) -> String {
        let text = |(trend, deviation)| format!("{trend:+.0e} ± {deviation:.0e}");
        self.modified.map_or_else(|| "–".to_owned(), text)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let n: u64 = args.next().map_or(Ok(20_000), |text| text.parse())?;
    let mut wanted: Vec<String> = args.collect();
    let tolerance = wanted.first().and_then(|text| text.parse().ok());
    if tolerance.is_some() {
        wanted.remove(0);
    }
    println!(
        "| model | steps | gap / tolerance | largest energy error: first tenth, J | last tenth, J | trend over all steps, J | of H̃, J | largest error over the \
         largest kinetic energy | begun | halved | steps/s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let is_file =
        |name: &String| std::path::Path::new(name).extension().is_some_and(|e| e == "toml");
    let mut models = Vec::new();
    for scene in SCENES.iter().filter(|s| wanted.is_empty() || wanted.iter().any(|w| w == s.name)) {
        models.push((scene.name.to_owned(), load(scene, &[])?));
    }
    for file in wanted.iter().filter(|name| is_file(name)) {
        models.push((file.clone(), load_from(file, &std::fs::read_to_string(file)?, &[])?));
    }
    for (name, model) in models {
        let begin = Instant::now();
        match long_run(&model, n, tolerance) {
            Ok(found) => {
                let speed = found.steps as f64 / begin.elapsed().as_secs_f64();
                let Found { steps, laps, gap, first, last, trend, deviation, halved, .. } = found;
                println!(
                    "| {}{} | {steps} | {gap:.2} | {first:.1e} | {last:.1e} | {trend:+.0e} ± {deviation:.0e}{} | {} | {:.0e} | {laps} | \
                     {halved} | {speed:.0} |",
                    name,
                    if found.conservative { "" } else { " (driven or damped)" },
                    if found.drifts() { ", a trend" } else { "" },
                    found.modified(),
                    first.max(last) / found.kinetic.max(f64::MIN_POSITIVE),
                );
            }
            Err(error) => println!("| {name} | {error} |"),
        }
        std::io::stdout().flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{SCENES, load, load_from, long_run, trend};
    use gelenk::scenes::scene;

    /// Steps of the short form of the study; fewer where a step is slow.
    fn steps(name: &str) -> u64 {
        match name {
            "rope-bridge" => 80,
            "walker" | "stewart-platform" | "robot-arm" | "chain-100" | "quadruped" => 400,
            name if name.starts_with("eight-loop") => 1000,
            "four-bar-ladder" | "cuboid" | "flyball-governor" | "lying-eight"
            | "degenerate-crank" => 1000,
            _ => 4000,
        }
    }

    #[test]
    fn gaps_stay_within_tolerance() {
        for scene in SCENES {
            let overrides: &[_] = if scene.name == "chain-100" { &[("n", "10")] } else { &[] };
            let model = load(scene, overrides).expect("a model of the gallery");
            // Contact has long runs of its own.
            if model.bodies.iter().any(|body| body.contact.collide) {
                continue;
            }
            let found = match (scene.name, long_run(&model, steps(scene.name), None)) {
                // No smooth motion passes its tip.
                ("cusp", found) => {
                    let why = found.err().expect("it has no long run").to_string();
                    assert!(why.contains("no smooth motion"), "{why}");
                    continue;
                }
                (_, found) => found.expect("runs"),
            };
            assert!(found.gap <= 1.0, "{}: gap of {} tolerances", scene.name, found.gap);
            assert_eq!(found.steps, steps(scene.name));
        }
    }

    /// Conservative models with a regular motion: the energy error swings, and what it rises by is a small part of that.
    #[test]
    fn the_energy_stays_where_it_was() {
        for (name, n) in [
            ("pendulum", 20_000),
            ("spherical-pendulum", 20_000),
            ("spring-oscillator", 20_000),
            ("heavy-top", 20_000),
            ("slider-crank", 5000),
            ("four-bar", 5000),
            ("bricard", 5000),
            ("spring-swing", 10_000),
        ] {
            let scene = scene(name).expect("a scene of that name");
            let model = load(scene, &[]).expect("a model of the gallery");
            let found = long_run(&model, n, Some(1e-12)).expect("runs");
            assert!(found.conservative && found.halved == 0, "{name}");
            let [one, two] = found.halves;
            assert!(two < 1.5 * one, "{name}: {one:e} J, then {two:e} J");
            assert!(found.trend.abs() < 0.2 * one, "{name}: trend {:e} of {one:e} J", found.trend);
        }
    }

    /// The same with the tolerances of the files: what position corrections leave does not add up. (Before they went on within
    /// tolerance, the gyroscope fell by 9e-9 ± 3e-10 J here.)
    #[test]
    fn no_energy_adds_up_within_tolerance() {
        for (name, n) in
            [("gyroscope", 20_000), ("spherical-pendulum", 20_000), ("eight-loop-paper", 10_000)]
        {
            let model = load(scene(name).expect("a scene of that name"), &[]).expect("a model");
            let found = long_run(&model, n, None).expect("runs");
            assert!(found.gap < 0.01, "{name}: gaps of {} tolerances", found.gap);
            assert!(!found.drifts(), "{name}: {:e} ± {:e} J", found.trend, found.deviation);
        }
    }

    /// A chain whose motion gets rougher loses energy, but not of the modified energy.
    #[test]
    fn a_rough_motion_keeps_the_modified_energy() {
        let model = |step: &str| {
            let text = scene("chain-100").expect("a scene").text.replace("step = 0.0002", step);
            load_from("chain", &text, &[("n", "6")]).expect("a model")
        };
        let run = |step: &str, n| {
            let found = long_run(&model(step), n, Some(1e-13)).expect("runs");
            (found.last, found.modified.expect("only joints and gravity"))
        };
        let (energy, (coarse, _)) = run("step = 0.001", 4000);
        let (fine_energy, (fine, _)) = run("step = 0.0005", 8000);
        assert!(coarse.abs() < 0.1 * energy, "{coarse:e} of {energy:e}");
        assert!(fine.abs() < 0.1 * fine_energy, "{fine:e} of {fine_energy:e}");
    }

    /// The walk of a chaotic motion is seldom a trend, though the line through it rises: 15 of 50 walks pass for one, 44 where
    /// neighbouring parts are taken for independent.
    #[test]
    fn a_random_walk_is_seldom_a_trend() {
        let (mut seed, mut x) = (1_u64, 0.0);
        let mut found = 0;
        for _ in 0..50 {
            let values: Vec<f64> = (0..10_000)
                .map(|_| {
                    seed = seed
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    x += if seed >> 63 == 0 { 1.0 } else { -1.0 };
                    x
                })
                .collect();
            let (rise, deviation) = trend(&values);
            found += u32::from(rise.abs() > 3.0 * deviation);
        }
        assert!(found <= 20, "{found} of 50 walks");
    }

    #[test]
    fn a_trend_is_found() {
        let noise = |i: u32| (f64::from(i) * 12.9898).sin() * 0.3;
        let values: Vec<f64> = (0..10_000).map(|i| noise(i) + 1e-5 * f64::from(i)).collect();
        let (rise, deviation) = trend(&values);
        assert!((rise - 0.1).abs() < 3.0 * deviation && deviation < 0.02, "{rise} {deviation}");
        let (rise, deviation) = trend(&(0..10_000).map(noise).collect::<Vec<_>>());
        assert!(rise.abs() < 3.0 * deviation, "{rise} {deviation}");
    }
}
