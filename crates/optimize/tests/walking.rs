//! The walking mechanism as a motion: its fall without muscles, derivatives, independence of charts.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::ops::ControlFlow;

use gelenk_model::{LoadOptions, load_text};
use gelenk_optimize::interior::Status;
use gelenk_optimize::problem::{Live, Problem, RunOptions, optimize};
use gelenk_optimize::{ControlShape, Duration, Mechanism, Motion, Shooting, Source};
use nalgebra::DVector;

fn walker(intervals: usize, length: f64, steps: usize) -> (Shooting<Mechanism>, Vec<f64>) {
    machine("walking-mechanism", intervals, length, steps)
}

fn machine(
    name: &str,
    intervals: usize,
    length: f64,
    steps: usize,
) -> (Shooting<Mechanism>, Vec<f64>) {
    let text = gelenk_scenes::scene(name).expect("in the gallery").text;
    let loaded = load_text(name, text, &LoadOptions::default()).expect("a model");
    let source = Source::from_model(&loaded, &[]).expect("point masses");
    let (states, controls, start) =
        (source.names.clone(), source.control_names.clone(), source.start.clone());
    let mechanism = Mechanism::new(source).expect("constraints that do not change");
    let durations = vec![Duration::Fixed(length); intervals];
    let motion =
        Shooting::new(mechanism, ControlShape::Linear, durations, steps, &states, &controls, &[]);
    (motion, start)
}

/// Runs all intervals one after the other; the states at the nodes.
fn run(motion: &mut Shooting<Mechanism>, start: &[f64], u: &[f64]) -> Vec<Vec<f64>> {
    let n = motion.intervals();
    let mut states = vec![start.to_vec()];
    for k in 0..n {
        let mut nodes = states.clone();
        nodes.resize(n + 1, states[k].clone());
        let places = motion.place_nodes(&nodes).expect("on the constraints");
        states[k].clone_from(&places[k]);
        let xi = motion.numbers(k, &states[k]);
        let z = [&xi[..], u].concat();
        let end = motion.advance(k, &z).expect("it runs").state;
        states.push(motion.state(k + 1, end.as_slice()).expect("near"));
    }
    states
}

#[test]
fn without_muscles_it_falls_as_the_thesis_says() {
    let (mut motion, start) = walker(34, 0.025, 2);
    let states = run(&mut motion, &start, &[0.0; 10]);
    // Left foot: coordinates 0..3; hip: 9..12; right foot: 18..21.
    let times: Vec<f64> = (0..states.len()).map(|i| 0.025 * i as f64).collect();
    let at = |t: f64| &states[times.iter().position(|s| (s - t).abs() < 1e-9).expect("a node")];
    assert!((at(0.1)[2] + 0.048).abs() < 0.0005, "{}", at(0.1)[2]);
    for t in [0.3, 0.4, 0.5, 0.6] {
        assert!((-0.18..=-0.14).contains(&at(t)[2]), "{} at {t}", at(t)[2]);
        assert!((-0.18..=-0.14).contains(&at(t)[20]), "{} at {t}", at(t)[20]);
    }
    assert!((at(0.8)[11] + 0.23).abs() < 0.005, "{}", at(0.8)[11]);
    // More steps tell the same.
    let (mut finer, start) = walker(34, 0.025, 8);
    let fine = run(&mut finer, &start, &[0.0; 10]);
    let apart =
        |k: usize| states[k].iter().zip(&fine[k]).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
    assert!(apart(4) < 1e-6, "{:e}", apart(4));
}

#[test]
fn four_legs_have_fifteen_degrees_of_freedom_and_stand_on_two_feet() {
    let (mut motion, start) = machine("quadruped", 8, 0.025, 2);
    let states = run(&mut motion, &start, &[0.0; 18]);
    let sizes = motion.sizes(0);
    assert_eq!((sizes.states, sizes.controls), (30, 18));
    // Left hind and right front foot are the low ones.
    let end = &states[8];
    let z = |point: usize| end[3 * point + 2];
    assert!(
        z(0) < -0.05 && z(13) < -0.05 && z(6) > z(0) && z(11) > z(13),
        "{} {} {} {}",
        z(0),
        z(13),
        z(6),
        z(11)
    );
}

#[test]
fn derivatives_of_its_intervals() {
    let (mut motion, start) = walker(1, 0.025, 3);
    motion.place_nodes(&[start.clone(), start]).expect("on the constraints");
    let sizes = motion.sizes(0);
    assert_eq!((sizes.states, sizes.controls), (22, 10));
    let mut z: Vec<f64> = (0..32).map(|i| 0.1 * (f64::from(i) * 2.3).sin()).collect();
    for (i, z) in z.iter_mut().enumerate() {
        if i >= 22 {
            *z *= 2000.0;
        } else if i >= 11 {
            *z *= 50.0;
        }
    }
    let map = |z: &[f64], w: Option<&[f64]>| motion.linearize(0, z, w).expect("it runs");
    let w: Vec<f64> = (0..23).map(|i| f64::from(i).cos()).collect();
    let weights = DVector::from_vec(w.clone());
    let l = map(&z, Some(&w));
    let curvature = l.curvature.expect("asked for");
    let (mut first, mut second) = (0.0f64, 0.0f64);
    for j in 0..32 {
        // The sizes of the numbers differ; so do steps and what is compared.
        let size = if j >= 22 {
            100.0
        } else if j >= 11 {
            5.0
        } else {
            0.1
        };
        let step = 1e-4 * size;
        let at = |k: f64| {
            let mut moved = z.clone();
            moved[j] += k * step;
            let l = map(&moved, None);
            (l.values.clone(), l.jacobian.transpose() * &weights)
        };
        let ((a, da), (b, db), (c, dc), (d, dd)) = (at(-2.0), at(-1.0), at(1.0), at(2.0));
        let slope = (&a - &b * 8.0 + &c * 8.0 - &d) / (12.0 * step);
        let bend = (&da - &db * 8.0 + &dc * 8.0 - &dd) / (12.0 * step);
        first = first.max((slope - l.jacobian.column(j)).amax() * size);
        for i in 0..32 {
            let other = if i >= 22 {
                100.0
            } else if i >= 11 {
                5.0
            } else {
                0.1
            };
            second = second.max((bend[i] - curvature[(i, j)]).abs() * size * other);
        }
    }
    println!(
        "first {first:e}, second {second:e}, sizes {:e} {:e}",
        l.jacobian.amax(),
        curvature.amax()
    );
    assert!(first < 1e-7 && second < 1e-6, "{first:e} {second:e}");
}

/// `walk-0.1`: a start of those that the file plans reaches the thesis's value, and no start follows it; running the motion again confirms it.
#[test]
fn the_first_run_of_the_thesis_is_certified() {
    let load = |model: &str, options: &LoadOptions| {
        load_text(model, gelenk_scenes::scene(model).expect("in the gallery").text, options)
    };
    let text = gelenk_optimize::gallery::problem("walk-0.1").expect("a named problem").text;
    let problem = Problem::read("walk-0.1", text, &[], &load).unwrap_or_else(|e| panic!("{e}"));
    let mut watch = |_: &Live<'_>| ControlFlow::Continue(());
    let finished = optimize(&problem, &RunOptions::default(), None, &mut watch)
        .unwrap_or_else(|e| panic!("{e}"));
    let found = &finished.found[finished.best];
    assert_eq!(found.status, Status::Optimal, "{}", found.message);
    let again = found.certificate.as_ref().expect("it was run again");
    assert!(found.objective <= -0.9386 && found.kkt < 1e-6, "{} {:e}", found.objective, found.kkt);
    assert_eq!(finished.best + 1, finished.found.len());
    // The guess has its controls at rest: no second start repeats that.
    let kinds: Vec<&str> = finished.found.iter().map(|f| f.kind.as_str()).collect();
    assert!(kinds[0] == "guess" && !kinds.contains(&"zero controls"), "{kinds:?}");
    assert!(again.state_error < 1e-5, "{again:?}");
    assert!((again.objective - found.objective).abs() < 1e-5, "{again:?}");
}

/// Every walking problem is read and its program built.
#[test]
fn all_walking_problems_are_read() {
    let load = |model: &str, options: &LoadOptions| {
        load_text(model, gelenk_scenes::scene(model).expect("in the gallery").text, options)
    };
    let mut count = 0;
    for named in gelenk_optimize::gallery::PROBLEMS {
        if ["walk-", "run-", "quadruped"].iter().any(|start| named.name.starts_with(start)) {
            Problem::read(named.name, named.text, &[], &load).unwrap_or_else(|e| panic!("{e}"));
            count += 1;
        }
    }
    assert_eq!(count, 14);
}
