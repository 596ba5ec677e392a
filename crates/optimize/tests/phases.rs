//! Several phases of a model: known optima, phases that go on where others end, impacts, jumps, resuming, faults.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::f64::consts::{FRAC_PI_2, PI};
use std::ops::ControlFlow;

use gelenk_model::{Diagnostics, LoadOptions, Loaded, load_text};
use gelenk_optimize::interior::Status;
use gelenk_optimize::problem::{Checkpoint, Found, Live, Problem, RunOptions, optimize};
use gelenk_optimize::{ControlShape, Duration, Mechanism, Motion, Shooting, Source, gallery};

/// A ball that begins 0.6 m beside its pivot, so that the thread of 1 m is slack, and a floor at z = -2 as a constraint.
const BALL: &str = "[model]\nname = \"ball\"\ngravity = [0, 0, \"-g\"]\n[parameters]\ng = 9.81\nx = 0.6\n[inputs]\npush = 0\n\
    [[point]]\nname = \"ball\"\nmass = 2\nposition = [\"x\", 0, 0]\n\
    [[constraint]]\nname = \"thread\"\nequation = \"ball.x^2 + ball.y^2 + ball.z^2 = 1\"\n\
    [[constraint]]\nname = \"floor\"\nequation = \"ball.z = -2\"\n\
    [[force]]\nname = \"wind\"\nbody = \"ball\"\nforce = [\"input.push\", 0, 0]\n";

fn load(model: &str, options: &LoadOptions) -> Result<Loaded, Diagnostics> {
    let text = if model == "ball" { BALL } else { gelenk_scenes::scene(model).unwrap().text };
    // Ranges of sliders are not those of units.
    let text = text.replace("min = 0.1, max = 10, ", "");
    load_text(model, &text, &LoadOptions { allow_open: true, ..options.clone() })
}

fn read(text: &str) -> Problem {
    Problem::read("test.toml", text, &[], &load).unwrap_or_else(|faults| panic!("{faults}"))
}

fn run(text: &str) -> Found {
    let mut watch = |live: &Live<'_>| {
        println!(
            "{} {:3} {:15.9e} {:9.2e} {:9.2e} α {:7.1e} μ {:8.1e} δ {:8.1e} {} {}",
            live.stage.round,
            live.iteration,
            live.objective,
            live.infeasibility,
            live.kkt,
            live.step,
            live.mu,
            live.delta,
            live.active,
            live.restoring
        );
        ControlFlow::Continue(())
    };
    let finished = optimize(&read(text), &RunOptions::default(), None, &mut watch).unwrap();
    let found = finished.found[finished.best].clone();
    println!("{:?} {} {} {:?}", found.status, found.objective, found.message, found.violated);
    found
}

/// The optimum, run again; every phase begins where the one before it ends.
fn optimum(text: &str) -> Found {
    let found = run(text);
    assert_eq!(found.status, Status::Optimal, "{}", found.message);
    let again = found.certificate.as_ref().unwrap();
    assert!(again.state_error < 1e-7, "{again:?}");
    assert!((again.objective - found.objective).abs() < 1e-6, "{again:?}");
    found
}

fn named(name: &str) -> Found {
    let found = optimum(gallery::problem(name).unwrap().text);
    for pair in found.solution.phases.windows(2) {
        let (end, start) = (pair[0].states.last().unwrap(), &pair[1].states[0]);
        let apart = end.iter().zip(start).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        assert!(apart < 1e-8, "{name}: phases are {apart:e} apart");
    }
    found
}

#[test]
fn a_rod_that_may_not_turn_fast_in_the_second_phase() {
    let found = named("rod-turn-slow");
    let exact = 4.0 * 4.0 * (5.0 / 8.0 * PI).powi(2) / (3.0 * 0.6);
    assert!((found.objective - exact).abs() < 1e-6 * exact, "{} {exact}", found.objective);
    // From 0.6 s on nothing turns it.
    let torques = &found.solution.phases[1].controls;
    assert!(torques[1..].iter().all(|(a, b)| a[0].abs().max(b[0].abs()) < 1e-4), "{torques:?}");
}

#[test]
fn free_durations_share_the_time() {
    let found = named("push-and-brake");
    let t1 = (PI / 3.0).sqrt();
    let [push, brake] = found.solution.free[..] else { panic!("two durations") };
    assert!((found.objective - 3.0 * t1).abs() < 1e-6, "{}", found.objective);
    assert!((push - t1).abs() < 1e-5 && (brake - 2.0 * t1).abs() < 1e-5, "{push} {brake}");
}

/// Distance and time of flight of a ball that swings from the height of the pivot on a thread of 1 m and is let go at an angle behind the
/// lowest point, to the ground 2 m below the pivot.
fn throw(angle: f64) -> (f64, f64) {
    let g: f64 = 9.81;
    let speed = (2.0 * g * angle.cos()).sqrt();
    let (along, up) = (speed * angle.cos(), speed * angle.sin());
    let time = (up + (up * up + 2.0 * g * (2.0 - angle.cos())).sqrt()) / g;
    (angle.sin() + along * time, time)
}

#[test]
fn a_thread_that_is_let_go() {
    let found = named("sling");
    let (mut low, mut high) = (0.0, 1.5);
    for _ in 0..200 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if throw(a).0 < throw(b).0 { low = a } else { high = b }
    }
    let (far, time) = throw(low);
    assert!((found.objective - far).abs() < 1e-7, "{} {far}", found.objective);
    assert!((found.solution.free[1] - time).abs() < 1e-4, "{:?} {time}", found.solution.free);
    let bob = &found.solution.phases[1].states[0];
    assert!(((-bob[0]).atan2(-bob[2]) - low).abs() < 1e-4, "{bob:?} {low}");
}

/// Phases that change nothing change nothing: rod-turn as a model in one, two and three phases.
#[test]
fn as_many_phases_as_one_likes() {
    let exact = 3.0 * 4.0 * FRAC_PI_2.powi(2);
    for n in 1..=3 {
        let mut text = "[problem]\nmodel = \"turning-rod\"\n[controls]\ntorque = { lower = -100, upper = 100, guess = 5 }\n\
            [objective]\nintegral = \"torque^2\"\n\
            [[condition]]\nname = \"turned\"\nvalue = \"a.x\"\nat = \"end\"\nequals = 0\n\
            # At all nodes, and only once where phases meet.\n\
            [[condition]]\nname = \"level\"\nvalue = \"a.y - a.z\"\nlower = -0.1\n"
            .to_owned();
        for i in 0..n {
            text += &format!(
                "[[phase]]\nname = \"p{i}\"\nduration = \"1/{n}\"\nintervals = {}\ncontrols = \"linear\"\n",
                6 / n
            );
        }
        let found = optimum(&text);
        assert!((found.objective - exact).abs() < 1e-6 * exact, "{n}: {}", found.objective);
        assert!(found.iterations < 25, "{n}: {} iterations", found.iterations);
    }
}

/// A ball falls until its thread is taut; what goes along the thread is lost, what goes across stays: 0.6 of the speed.
#[test]
fn a_thread_becomes_taut() {
    let text = "[problem]\nmodel = \"ball\"\n[free]\nT = { guess = 0.3, lower = 0.01, upper = 2 }\n\
        [controls]\npush = { lower = 0, upper = 0 }\n[objective]\nend = \"ball.z\"\n\
        [[phase]]\nname = \"fall\"\nduration = \"T\"\nintervals = 3\nwithout = [\"thread\", \"floor\"]\n\
        [[phase]]\nname = \"swing\"\nduration = 0.2\nintervals = 2\nwithout = [\"floor\"]\n";
    let found = optimum(text);
    let [fall, swing] = &found.solution.phases[..] else { panic!("two phases") };
    let (before, after) = (fall.states.last().unwrap(), &swing.states[0]);
    let speed = (2.0 * 9.81_f64 * 0.8).sqrt();
    assert!((found.solution.free[0] - speed / 9.81).abs() < 1e-8, "{:?}", found.solution.free);
    let known = [0.6, 0.0, -0.8, 0.0, 0.0, -speed];
    assert!(before.iter().zip(known).all(|(a, b)| (a - b).abs() < 1e-7), "{before:?}");
    let across = 0.6 * speed;
    let known = [0.6, 0.0, -0.8, -0.8 * across, 0.0, -0.6 * across];
    assert!(after.iter().zip(known).all(|(a, b)| (a - b).abs() < 1e-7), "{after:?}");
    // A thread that can never become taut is named.
    let found = run(&text.replace("[free]", "[parameters]\nx = 1.5\n[free]"));
    assert_eq!(found.status, Status::Infeasible, "{}", found.message);
    assert!(
        found.message.contains("`thread begins to hold` at node 3 of phase `fall`"),
        "{found:?}"
    );
}

/// A bounce as a jump: h = 2 m, then 0.64 of it; and the wind pushes sideways in the second phase alone.
#[test]
fn a_ball_bounces_and_parameters_change() {
    let text = "[problem]\nmodel = \"ball\"\n\
        [free]\nfall = { guess = 0.5, lower = 0.01, upper = 2 }\nrise = { guess = 0.6, lower = 0.01, upper = 2 }\n\
        [controls]\npush = { lower = -1, upper = 1 }\n[objective]\naim = \"maximize\"\nend = \"ball.z\"\nintegral = \"0*push\"\n\
        [[phase]]\nname = \"fall\"\nduration = \"fall\"\nintervals = 2\nwithout = [\"thread\", \"floor\"]\nintegral = \"-push^2\"\n\
        [[phase]]\nname = \"rise\"\nduration = \"rise\"\nintervals = 2\nwithout = [\"thread\", \"floor\"]\n\
        link = { \"ball.vz\" = \"-0.8*ball.vz\" }\nset = { g = G }\nlimits = { push = { lower = 0.5 } }\nintegral = \"-(push - 0.75)^2\"\n\
        [[condition]]\nname = \"on the floor\"\nphase = \"fall\"\nvalue = \"ball.z\"\nat = \"end\"\nequals = -2\n";
    for g in [9.81, 4.0] {
        let found = optimum(&text.replace('G', &format!("{g:?}")));
        let v = (2.0 * 9.81_f64 * 2.0).sqrt();
        let high = -2.0 + (0.8 * v).powi(2) / (2.0 * g);
        assert!((found.objective - high).abs() < 1e-6, "{g}: {} {high}", found.objective);
        assert!((found.solution.free[0] - v / 9.81).abs() < 1e-7, "{:?}", found.solution.free);
        assert!((found.solution.free[1] - 0.8 * v / g).abs() < 1e-4, "{:?}", found.solution.free);
        let push: Vec<f64> =
            found.solution.phases.iter().flat_map(|p| p.controls.iter().map(|c| c.0[0])).collect();
        let known = [0.0, 0.0, 0.75, 0.75];
        assert!(push.iter().zip(known).all(|(a, b)| (a - b).abs() < 1e-4), "{push:?}");
    }
}

/// First and second derivatives of entering a phase through an impact, by differences.
#[test]
fn derivatives_of_an_impact() {
    let scene = gelenk_scenes::scene("walking-mechanism").unwrap();
    let loaded = load_text("walker", scene.text, &LoadOptions::default()).unwrap();
    let source = Source::from_model(&loaded, &[]).unwrap();
    let (states, start) = (source.names.clone(), source.start.clone());
    let impact = Mechanism::impact(source.clone()).unwrap();
    let flow = Mechanism::new(source).unwrap();
    let durations = vec![Duration::Fixed(0.1)];
    let mut motion = Shooting::new(flow, ControlShape::Constant, durations, 1, &states, &[], &[])
        .with_impact(impact);
    motion.place_nodes(&[start.clone(), start.clone()]).unwrap();
    let n = start.len();
    // Off the constraints, with velocities that they do not allow.
    let y: Vec<f64> = (0u32..)
        .zip(&start)
        .map(|(i, p)| p + if i < 30 { 0.02 } else { 3.0 } * (f64::from(i) * 1.7).sin())
        .collect();
    let weights: Vec<f64> = (0..22u32).map(|i| (f64::from(i) * 0.9).cos()).collect();
    let at = |y: &[f64]| motion.enter(y, Some(&weights)).unwrap();
    let here = at(&y);
    let curvature = here.curvature.as_ref().unwrap();
    let pulled = |l: &gelenk_optimize::Linearized| {
        l.jacobian.transpose() * nalgebra::DVector::from_column_slice(&weights)
    };
    let (mut first, mut second) = (0.0_f64, 0.0_f64);
    for j in 0..n {
        let h = 1e-5;
        let moved = |by: f64| {
            let mut y = y.clone();
            y[j] += by;
            at(&y)
        };
        let (up, down) = (moved(h), moved(-h));
        let slope = (&up.values - &down.values) / (2.0 * h);
        first = first.max((slope - here.jacobian.column(j)).amax());
        let bend = (pulled(&up) - pulled(&down)) / (2.0 * h);
        second = second.max((bend - curvature.column(j)).amax());
    }
    println!(
        "first {first:e} of {:e}, second {second:e} of {:e}",
        here.jacobian.amax(),
        curvature.amax()
    );
    assert!(curvature.amax() > 0.1 && first < 1e-7 && second < 1e-6, "{first:e} {second:e}");
}

#[test]
fn resumed_from_any_iteration_it_comes_to_the_same() {
    for name in ["push-and-brake", "sling", "rod-turn-slow"] {
        let problem = read(gallery::problem(name).unwrap().text);
        let options = RunOptions::default();
        let mut saved = Vec::new();
        let whole = optimize(&problem, &options, None, &mut |live| {
            saved.push(serde_json::to_string(&(live.checkpoint)().unwrap()).unwrap());
            ControlFlow::Continue(())
        })
        .unwrap();
        let count = saved.len();
        for (stop, text) in saved.iter().enumerate() {
            let checkpoint: Checkpoint = serde_json::from_str(text).unwrap();
            let mut after = 0;
            let resumed = optimize(&problem, &options, Some(checkpoint), &mut |_| {
                after += 1;
                ControlFlow::Continue(())
            })
            .unwrap();
            let (a, b) = (&whole.found[0], &resumed.found[0]);
            assert_eq!(b.status, Status::Optimal, "{name} from {stop}: {}", b.message);
            assert!((a.objective - b.objective).abs() < 1e-8 * (1.0 + a.objective.abs()));
            // Rounding may take an iteration more or less.
            assert!(
                after <= count - stop + 1,
                "{name} from {stop}: {after} after {stop} of {count}"
            );
        }
    }
}

#[test]
fn what_cannot_be_met_is_named_with_its_phase() {
    let push = gallery::problem("push-and-brake").unwrap().text;
    let slow = gallery::problem("rod-turn-slow").unwrap().text;
    let sling = gallery::problem("sling").unwrap().text;
    let fast = "[[condition]]\nname = \"fast\"\nphase = \"limited\"\nvalue = \"a.vx^2 + a.vy^2\"\nlower = \"2*w^2\"\nat = [3]\n";
    let cases = [
        (
            "too little time",
            push.replace(
                "guess = 1.5, lower = 0.1, upper = 10",
                "guess = 0.7, lower = 0.1, upper = 0.8",
            ),
            "at node 6 of phase `brake`",
        ),
        (
            "a motor that only pushes",
            push.replace("upper = 0 }", "lower = 1 }"),
            "at node 6 of phase `brake`",
        ),
        ("both fast and slow", format!("{slow}{fast}"), "at node 3 of phase `limited`"),
        (
            "ground above the pivot",
            sling.replace("equals = -2", "equals = 2"),
            "`on the ground` at node 4 of phase `flight`",
        ),
    ];
    for (what, text, place) in cases {
        println!("--- {what}");
        let found = run(&text);
        assert_eq!(found.status, Status::Infeasible, "{what}: {}", found.message);
        assert!(found.message.contains(place), "{what}: {}", found.message);
    }
}

/// Every unit in turn a thousand times larger and smaller: masses, lengths, times.
#[test]
fn units_of_a_model_do_not_matter() {
    for (mass, length, time) in [
        (1e3, 1.0, 1.0),
        (1e-3, 1.0, 1.0),
        (1.0, 1e3, 1.0),
        (1.0, 1e-3, 1.0),
        (1.0, 1.0, 1e3),
        (1.0, 1.0, 1e-3),
    ] {
        let torque = mass * length * length / (time * time);
        let text = gallery::problem("push-and-brake")
            .unwrap()
            .text
            .replace("[free]", &format!("[parameters]\nm = {mass:e}\nr = {length:e}\ntau = {torque:e}\nsecond = {time:e}\n[free]"))
            .replace("guess = 1.5, lower = 0.1, upper = 10", "guess = \"1.5*second\", lower = \"0.1*second\", upper = \"10*second\"")
            .replace("lower = -1, upper = 2, guess = \"1 - 2*s\"", "lower = \"-tau\", upper = \"2*tau\", guess = \"tau*(1 - 2*s)\"");
        println!("--- {mass} {length} {time}");
        let found = run(&text);
        assert_eq!(found.status, Status::Optimal, "{mass} {length} {time}: {}", found.message);
        let exact = 3.0 * (PI / 3.0).sqrt();
        let objective = found.objective / time;
        assert!((objective - exact).abs() < 1e-6, "{mass} {length} {time}: {objective}");
    }
}

#[test]
fn faults_of_phases_have_their_lines() {
    let text = "[problem]\nmodel = \"ball\"\n[objective]\nend = \"ball.z\"\n\
        [[phase]]\nname = \"a\"\nduration = 1\nintervals = 2\nwithout = [\"treadh\"]\nset = { G = 1 }\nlimits = { pull = { lower = 0 } }\n\
        [[phase]]\nname = \"a\"\nduration = 1\nintervals = 2\nlink = { \"ball.vv\" = \"1\" }\nrates = { x = \"1\" }\n\
        [[condition]]\nname = \"there\"\nvalue = \"ball.z\"\nphase = \"c\"\nequals = 0\n";
    let expect = |text: &str, list: &[(usize, &str)]| {
        let faults = Problem::read("bad.toml", text, &[], &load).unwrap_err();
        println!("{faults}");
        for (line, word) in list {
            let tells = |d: &gelenk_model::Diagnostic| {
                d.message.contains(word) || d.help.as_ref().is_some_and(|h| h.contains(word))
            };
            let found = faults.list.iter().any(|d| d.line() == *line && tells(d));
            assert!(found, "line {line}: {word}\n{faults}");
        }
    };
    expect(text, &[(9, "did you mean `thread`?"), (10, "no parameter `G`")]);
    let text = text.replace("treadh", "thread").replace("G = 1", "g = 1");
    expect(&text, &[(13, "two phases `a`"), (17, "rates are the model's")]);
    let text = text.replacen("\nrates = { x = \"1\" }", "", 1).replacen(
        "\"a\"\nduration = 1\nintervals = 2\nlink",
        "\"b\"\nduration = 1\nintervals = 2\nlink",
        1,
    );
    expect(&text, &[(16, "no state `ball.vv`"), (20, "no phase `c`")]);
    let text =
        text.replace("\"ball.vv\" = \"1\"", "\"ball.vz\" = \"push\"").replace("\"c\"", "\"b\"");
    expect(&text, &[(16, "controls have no value")]);
    let text = text.replace("\"push\"", "\"0\"");
    expect(&text, &[(11, "no control `pull`")]);
    let own = "[states]\nx = { rate = \"1\", start = 0 }\n[objective]\nend = \"x\"\n\
        [[phase]]\nname = \"a\"\nduration = 1\nintervals = 1\nset = { g = 1 }\nwithout = [\"x\"]\n";
    expect(own, &[(9, "no model to change"), (10, "no model to change")]);
    let homotopy = "[problem]\nmodel = \"turning-rod\"\n[objective]\nintegral = \"torque^2\"\n\
        [[homotopy]]\nduration = 2\n[[phase]]\nname = \"a\"\nduration = 1\nintervals = 1\n[[phase]]\nname = \"b\"\nduration = 1\nintervals = 1\n";
    expect(homotopy, &[(6, "which one")]);
}
