//! Singular positions crossed in a run, beside motions that are known.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use gelenk_dae::{DaeError, Options, Passage, Simulation, Stop};
use gelenk_model::{Event, LoadOptions, Model, State, load_text};
use gelenk_ode::{Failure, Integrator, System};

fn scene(name: &str, parameters: &[(&str, f64)]) -> Model {
    let text = gelenk_scenes::scene(name).unwrap().text;
    let mut options = LoadOptions::default();
    let list = parameters.iter().map(|(name, x)| ((*name).to_owned(), x.to_string()));
    options.overrides.extend(list);
    load_text(name, text, &options).unwrap().model
}

struct Run {
    state: State,
    events: Vec<Event>,
    /// Largest |E − E(0)| after a step, J.
    energy: f64,
    steps: u64,
    evaluations: u64,
    passages: Vec<Passage>,
}

fn run(model: &Model, t_end: f64, rtol: f64) -> Result<Run, DaeError> {
    let options = Options { rtol, atol: rtol, ..Options::default() };
    let mut simulation = Simulation::new(model, &model.start, &options)?;
    let energy = |s: &State| model.kinetic_energy(s) + model.potential_energy(s);
    let start = energy(&model.start);
    let (mut events, mut worst) = (Vec::new(), 0.0_f64);
    loop {
        let stop = simulation.advance(t_end)?;
        let (t, y) = (simulation.t(), simulation.y().to_vec());
        let state = simulation.look(t, &y);
        worst = worst.max((energy(&state) - start).abs());
        simulation.switch()?;
        events.extend(simulation.take_events());
        if stop == Stop::End {
            let statistics = simulation.statistics();
            let (steps, evaluations) = (statistics.steps, statistics.evaluations);
            let passages = simulation.passages().to_vec();
            return Ok(Run { state, events, energy: worst, steps, evaluations, passages });
        }
    }
}

fn passages(run: &Run) -> Vec<f64> {
    run.events.iter().filter(|e| e.kind == "singularity").map(|e| e.time).collect()
}

/// q″ = f(q, q′), one coordinate.
struct One<F>(F);

impl<F: Fn(f64, f64) -> f64> System for One<F> {
    fn dim(&self) -> usize {
        2
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), Failure> {
        (dy[0], dy[1]) = (y[1], self.0(y[0], y[1]));
        Ok(())
    }
}

/// [q, q′] at `t_end`.
fn one(f: impl Fn(f64, f64) -> f64, start: [f64; 2], t_end: f64) -> [f64; 2] {
    let mut integrator =
        Integrator::new(gelenk_ode::Options::with_tolerance(1e-13), 0.0, &start).unwrap();
    integrator.run(&mut One(f), t_end).unwrap();
    [integrator.y()[0], integrator.y()[1]]
}

/// x(t) = −1 + t, straight through the crossing at t = 1.
#[test]
fn coordinate_cross() {
    let model = scene("coordinate-cross", &[]);
    let run = run(&model, 2.0, 1e-10).unwrap();
    let times = passages(&run);
    assert_eq!(times.len(), 1);
    assert!((times[0] - 1.0).abs() < 1e-9);
    let event = run.events.iter().find(|e| e.kind == "singularity").unwrap();
    assert!(event.detail.contains("P.x = 0, P.y = 0, P.z = 0"), "{}", event.detail);
    assert_eq!(event.between, ["cross"]);
    assert!(event.point.unwrap().norm() < 1e-12);
    let p = run.state.s[model.body("P").unwrap().index()];
    assert!((p.x - 1.0).abs() < 1e-12 && p.z.abs() < 1e-12);
}

/// The bead in one coordinate: x = cos φ, z = sin φ cos φ; at rtol 2e-8 no more than the 85 steps and 1190 evaluations published.
#[test]
fn lying_eight() {
    let model = scene("lying-eight", &[]);
    // r′ = (−sin φ, cos 2φ), r″ = (−cos φ, −2 sin 2φ); r′·r′ φ″ = −r′·r″ φ′² − g cos 2φ.
    let bend = |f: f64, w: f64| {
        let (a, b) = (f.sin() * f.cos() - 2.0 * (2.0 * f).cos() * (2.0 * f).sin(), (2.0 * f).cos());
        (-a * w * w - 9.81 * b) / (f.sin() * f.sin() + b * b)
    };
    let [angle, _] = one(bend, [0.0, 4.0], 2.0);
    for (rtol, error, energy) in [(1e-12, 2e-10, 1e-9), (2e-8, 2e-7, 1e-6)] {
        let run = run(&model, 2.0, rtol).unwrap();
        let times = passages(&run);
        assert_eq!(times.len(), 2, "{rtol}");
        assert!((times[0] - 0.491_682_97).abs() < 2e-7, "{times:?}");
        let p = run.state.s[model.body("P").unwrap().index()];
        let off = (p.x - angle.cos()).hypot(p.z - angle.sin() * angle.cos());
        assert!(off < error, "{rtol}: off by {off:e}");
        assert!(run.energy < energy, "{rtol}: {:e} J", run.energy);
        if rtol > 1e-9 {
            assert!(
                run.steps <= 85 && run.evaluations <= 1190,
                "{} {}",
                run.steps,
                run.evaluations
            );
        }
    }
}

/// The slider goes on, B.x = 2 A.x: the branch that the motion came on.
#[test]
fn degenerate_crank() {
    let model = scene("degenerate-crank", &[]);
    let run = run(&model, 1.0, 1e-12).unwrap();
    assert_eq!(passages(&run).len(), 2);
    // λ (λ − 2) = 0 with λ = B.x/A.x, here as μ = A.x/B.x: μ (…) and the two directions.
    let passage = &run.passages[0];
    assert_eq!((passage.lost, passage.order, passage.rounds, passage.independent), (1, 1, 1, 5));
    assert_eq!(passage.variables, ["B.x", "A.x"]);
    assert_eq!(passage.reduced, ["-0.5*B.x^2 + B.x*A.x = 0"]);
    assert_eq!(passage.blown_up, ["-0.5 + l_A.x = 0"]);
    assert!(passage.branches.contains(&vec![1.0, 0.5]), "{:?}", passage.branches);
    assert!((passage.taken[1] - 0.5).abs() < 1e-12);
    let [a, b] = ["A", "B"].map(|name| run.state.s[model.body(name).unwrap().index()]);
    assert!((b.x - 2.0 * a.x).abs() < 1e-11);
    assert!(run.energy < 1e-9, "{:e}", run.energy);
}

#[test]
fn the_cusp_is_refused() {
    let model = scene("cusp", &[]);
    let error = run(&model, 1.0, 1e-10).err().unwrap();
    let DaeError::NoSmoothMotion { t, element, .. } = &error else { panic!("{error}") };
    assert!((t - 0.6044).abs() < 1e-3, "{error}");
    assert_eq!(element, "constraint `wire`");
    assert!(error.to_string().contains("the velocity would have to jump"), "{error}");
    // It ends before it gets there.
    run(&model, 0.5, 1e-10).unwrap();
}

/// N four-bars in a row through their flat positions are one pendulum.
#[test]
fn four_bars_are_a_pendulum() {
    for n in [1, 3] {
        let model = scene("four-bar-ladder", &[("n", f64::from(n))]);
        let found = run(&model, 1.5, 1e-12).unwrap();
        let times = passages(&found);
        assert_eq!(times.len(), 2, "{n}: {times:?}");
        assert!(found.energy < 1e-9, "{n}: {:e} J", found.energy);
        // Of each four-bar three conditions are redundant, and one more rank is lost where it lies flat.
        let passage = &found.passages[0];
        let count = usize::try_from(n).unwrap();
        assert_eq!((passage.lost, passage.redundant.len()), (count, 3 * count));
        assert_eq!(passage.independent + 1, 12 * (2 * count + 1));
        assert_eq!(passage.variables.len(), count + 1);
        if n == 1 {
            assert_eq!(passage.branches.len(), 2, "{:?}", passage.branches);
        }
        let body = |name: &str| &model.bodies[model.body(name).unwrap().index()];
        let (crank, coupler) = (body("crank0"), body("coupler0"));
        let count = f64::from(n);
        let moment = (count + 1.0) * (crank.mass * 0.25 + crank.inertia[0]) + count * coupler.mass;
        let weight = ((count + 1.0) * crank.mass * 0.5 + count * coupler.mass) * 9.81;
        let [angle, rate] = one(|q, _| weight / moment * q.sin(), [0.0, 1.0], 1.5);
        let crank = model.body("crank0").unwrap().index();
        let s = found.state.s[crank];
        let off = (s.x - 0.5 * angle.sin()).hypot(s.z - 0.5 * angle.cos());
        assert!(off < 1e-9, "{n}: off by {off:e} m");
        assert!((found.state.omega[crank].y - rate).abs() < 2e-9, "{n}");
        // All cranks lie flat when it passes.
        let [angle, _] = one(|q, _| weight / moment * q.sin(), [0.0, 1.0], times[0]);
        assert!((angle - std::f64::consts::FRAC_PI_2).abs() < 1e-9, "{n}: {angle}");
    }
}

const CRANK: &str = r#"
[model]
name = "equal-crank"
[[body]]
name = "crank"
mass = 1
ends = [[0, 0, 0], [-0.6, 0, 0.8]]
shape = { cylinder = { radius = 0.02 } }
velocity = [1.6, 0, 1.2]
angular_velocity = [0, 4, 0]
[[body]]
name = "rod"
mass = 1
ends = [[-0.6, 0, 0.8], [-1.2, 0, 0]]
shape = { cylinder = { radius = 0.02 } }
velocity = [4.8, 0, 1.2]
angular_velocity = [0, -4, 0]
[[body]]
name = "slider"
mass = 2
position = [-1.2, 0, 0]
velocity = [6.4, 0, 0]
shape = { box = { size = [0.1, 0.1, 0.1] } }
[[joint]]
name = "bearing"
type = "hinge"
between = ["world", "crank"]
point = [0, 0, 0]
axis = [0, 1, 0]
[[joint]]
name = "pin"
type = "hinge"
between = ["crank", "rod"]
point = [-0.6, 0, 0.8]
axis = [0, 1, 0]
[[joint]]
name = "end"
type = "hinge"
between = ["rod", "slider"]
point = [-1.2, 0, 0]
axis = [0, 1, 0]
[[joint]]
name = "guide"
type = "slider"
between = ["world", "slider"]
point = [-1.2, 0, 0]
axis = [1, 0, 0]
"#;

/// Crank and rod of one length, rigid: through the upright position, where the slider could stay; beside the same in one angle.
#[test]
fn slider_crank_of_equal_lengths() {
    let model = load_text("equal-crank", CRANK, &LoadOptions::default()).unwrap().model;
    let found = run(&model, 1.0, 1e-12).unwrap();
    assert!(!passages(&found).is_empty());
    assert!(found.energy < 1e-9, "{:e} J", found.energy);
    let body = |name: &str| model.body(name).unwrap().index();
    let inertia = |name: &str| model.bodies[body(name)].inertia[0];
    // Crank at (sin q, cos q), slider at 2 sin q: M(q) = a + b cos² q, V = g cos q.
    let a = 0.25 + inertia("crank") + 0.25 + inertia("rod");
    let b = 2.0 + 8.0;
    let bend = |q: f64, w: f64| {
        let (s, c) = q.sin_cos();
        (9.81 * s + b * c * s * w * w) / (a + b * c * c)
    };
    let start = (-0.6_f64).atan2(0.8);
    let [q, _] = one(bend, [start, 4.0], 1.0);
    let x = found.state.s[body("slider")].x;
    assert!((x - 2.0 * q.sin()).abs() < 1e-9, "{x} {}", 2.0 * q.sin());
}

/// A parallelogram with a pendulum at its coupler: two degrees of freedom, of which the blow-up takes the loop's one. Beside it the same without
/// loop: the coupler held parallel, the second crank geared to the first.
#[test]
fn bodies_that_hang_on_the_loop() {
    let text = |closing: &str| {
        let mut text = "[model]\nname = \"hung\"\n".to_owned();
        for (name, ends, velocity, omega) in [
            ("a", "[[0, 0, 0], [0, 0, 1]]", "[0.5, 0, 0]", "[0, 1, 0]"),
            ("b", "[[1, 0, 0], [1, 0, 1]]", "[0.5, 0, 0]", "[0, 1, 0]"),
            ("c", "[[0, 0, 1], [1, 0, 1]]", "[1, 0, 0]", "[0, 0, 0]"),
            ("p", "[[0.5, 0, 1], [0.5, 0, 0.4]]", "[1, 0, 0]", "[0, 0, 0]"),
        ] {
            text += &format!(
                "[[body]]\nname = \"{name}\"\nmass = 1\nends = {ends}\nshape = {{ cylinder = {{ radius = 0.05 }} }}\nvelocity = {velocity}\nangular_velocity = {omega}\n"
            );
        }
        for (name, between, point) in [
            ("foot-a", "[\"world\", \"a\"]", "[0, 0, 0]"),
            ("foot-b", "[\"world\", \"b\"]", "[1, 0, 0]"),
            ("left", "[\"a\", \"c\"]", "[0, 0, 1]"),
            ("hook", "[\"c\", \"p\"]", "[0.5, 0, 1]"),
        ] {
            text += &format!(
                "[[joint]]\nname = \"{name}\"\ntype = \"hinge\"\nbetween = {between}\npoint = {point}\naxis = [0, 1, 0]\n"
            );
        }
        text + closing
    };
    let looped = text(
        "[[joint]]\nname = \"right\"\ntype = \"hinge\"\nbetween = [\"b\", \"c\"]\npoint = [1, 0, 1]\naxis = [0, 1, 0]\n",
    );
    let geared = text(
        "[[joint]]\nname = \"parallel\"\ntype = \"translation\"\nbetween = [\"world\", \"c\"]\n[[gear]]\nname = \"same\"\njoints = [\"foot-a\", \"foot-b\"]\nratio = 1\n",
    );
    let load = |text: &str| load_text("hung", text, &LoadOptions::default()).unwrap().model;
    let (looped, geared) = (load(&looped), load(&geared));
    let found = run(&looped, 1.2, 1e-12).unwrap();
    let expected = run(&geared, 1.2, 1e-12).unwrap();
    assert!(!passages(&found).is_empty());
    assert!(found.energy < 1e-9, "{:e} J", found.energy);
    for name in ["a", "b", "c", "p"] {
        let at = |model: &Model, run: &Run| run.state.s[model.body(name).unwrap().index()];
        let off = (at(&looped, &found) - at(&geared, &expected)).norm();
        assert!(off < 1e-9, "{name}: off by {off:e} m");
    }
}

/// Loops that lose no rank on their way run as before: nothing is told, energy is kept.
#[test]
fn regular_loops_are_left_alone() {
    for (name, t_end) in [("four-bar", 1.0), ("slider-crank", 1.0), ("bricard", 1.0)] {
        let model = scene(name, &[]);
        let found = run(&model, t_end, 1e-12).unwrap();
        assert!(passages(&found).is_empty(), "{name}: {:?}", passages(&found));
        let size = model.kinetic_energy(&model.start) + model.potential_energy(&model.start).abs();
        assert!(found.energy < 1e-9 * (1.0 + size), "{name}: {:e} J", found.energy);
    }
}
