//! Walking runs by hand, without problem files: `walk SECONDS NODES STARTS [STEPS]`.

use std::ops::ControlFlow;
use std::time::Instant;

use gelenk_expr::Pool;
use gelenk_model::{LoadOptions, load_text};
use gelenk_optimize::interior::{InteriorOptions, Status, solve};
use gelenk_optimize::program::Program;
use gelenk_optimize::scale::{Scaled, Scales};
use gelenk_optimize::{
    ControlKind, ControlShape, Duration, Mechanism, Motion, Names, NodeTerms, Phase, Reads, Role,
    Shooting, Source, Terms, Transcription,
};
use nalgebra::DVector;

fn dot(a: &str, b: &str, to: &str) -> String {
    // (a − b)·to with to = c or d
    let part = |axis: &str| format!("({a}.{axis} - {b}.{axis})*{}", vector(to, axis));
    format!("({} + {} + {})", part("x"), part("y"), part("z"))
}

fn vector(which: &str, axis: &str) -> String {
    let b = |axis: &str| format!("(right_hip.{axis} - left_hip.{axis})");
    let c = |axis: &str| format!("((neck.{axis} - hip.{axis})/2)");
    match which {
        "c" => c(axis),
        _ => {
            let (i, j) = match axis {
                "x" => ("y", "z"),
                "y" => ("z", "x"),
                _ => ("x", "y"),
            };
            format!("({}*{} - {}*{})", b(i), c(j), b(j), c(i))
        }
    }
}

fn knee(hip: &str, knee: &str, foot: &str) -> String {
    let (x1, y1) = (dot(hip, knee, "c"), dot(hip, knee, "d"));
    let (x2, y2) = (dot(knee, foot, "c"), dot(knee, foot, "d"));
    format!("{y1}*{x2} - {x1}*{y2}")
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number =
        |i: usize, default: f64| arguments.get(i).map_or(default, |a| a.parse().expect("a number"));
    let (end, n, starts, steps) =
        (number(1, 0.1), number(2, 4.0) as usize, number(3, 1.0) as usize, number(4, 3.0) as usize);
    let text = gelenk_scenes::scene("walking-mechanism").expect("in the gallery").text;
    let loaded = load_text("walking-mechanism", text, &LoadOptions::default()).expect("a model");
    let source = Source::from_model(&loaded, &[]).expect("point masses");
    let (states, controls, start) =
        (source.names.clone(), source.control_names.clone(), source.start.clone());
    let mechanism = Mechanism::new(source).expect("constraints that do not change");
    let mut seed = 1u64;
    let mut random = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    };
    for start_number in 0..starts {
        let clock = Instant::now();
        let durations = vec![Duration::Fixed(end / n as f64); n];
        let mut motion = Shooting::new(
            mechanism.clone(),
            ControlShape::Linear,
            durations,
            steps,
            &states,
            &controls,
            &[],
        );
        // Start: constant controls, run from the start.
        let u: Vec<f64> =
            (0..5).map(|_| if start_number == 0 { 0.0 } else { 200.0 * random() }).collect();
        let mut nodes = vec![start.clone(); n + 1];
        for k in 0..n {
            nodes = motion.place_nodes(&nodes).expect("on the constraints");
            let xi = motion.numbers(k, &nodes[k]);
            let z = [&xi[..], &u, &u].concat();
            let arrival = motion.advance(k, &z).expect("it runs");
            let next = motion.state(k + 1, arrival.state.as_slice()).expect("near");
            for node in &mut nodes[k + 1..] {
                node.copy_from_slice(&next);
            }
        }
        motion.place_nodes(&nodes).expect("on the constraints");
        let zero = vec![0.0; 22];
        // Conditions.
        let mut pool = Pool::new();
        let mut roles = Vec::new();
        let mut texts = Vec::new();
        for (i, name) in states.iter().enumerate() {
            let (lower, upper) = if i < 30 { (-1.0, 5.0) } else { (-50.0, 50.0) };
            texts.push(name.clone());
            roles.push(Role::Condition { name: name.clone(), lower, upper });
        }
        let mut at_least = |name: &str, text: String| {
            texts.push(text);
            roles.push(Role::Condition { name: name.into(), lower: 0.0, upper: f64::INFINITY });
        };
        at_least("left knee bends", knee("left_hip", "left_knee", "left_foot"));
        at_least("right knee bends", knee("right_hip", "right_knee", "right_foot"));
        at_least("left knee above foot", "left_knee.z - left_foot.z".into());
        at_least("right knee above foot", "right_knee.z - right_foot.z".into());
        at_least("left knee above ground", "left_knee.z".into());
        at_least("right knee above ground", "right_knee.z".into());
        let expressions: Vec<_> =
            texts.iter().map(|t| pool.parse(t).expect("an expression")).collect();
        let cost = pool.parse("-hip.x").expect("an expression");
        let symbols: Vec<_> = motion.quantities().to_vec().iter().map(|n| pool.symbol(n)).collect();
        let reads = |e| symbols.iter().position(|s| *s == e).map(Reads::Quantity);
        let terms = Terms::new(&mut pool, &expressions, reads).expect("known names");
        let inner = NodeTerms { terms, roles: roles.clone() };
        let mut last: Vec<_> = expressions.clone();
        last.push(cost);
        roles.push(Role::Cost);
        let last =
            NodeTerms { terms: Terms::new(&mut pool, &last, reads).expect("known names"), roles };
        let mut sets = vec![Some(0); n + 1];
        sets[0] = None;
        sets[n] = Some(1);
        let phase = Phase {
            motion,
            kind: ControlKind::Jumping,
            refine: 1,
            controls: 5,
            parameters: vec![],
            smooth: Vec::new(),
            nodes: sets,
            sets: vec![inner, last],
        };
        let mut program = Transcription::new(vec![phase], 0, Names::default());
        let mut x = vec![0.0; program.shape().n_variables()];
        let mut nominal = vec![None; x.len()];
        for k in 0..=n {
            let at = program.state_at(0, k);
            for i in 0..22 {
                x[at + i] = zero[i];
                nominal[at + i] = Some(if i < 11 { 1.0 } else { 20.0 });
                if k == 0 {
                    program.lower[at + i] = 0.0;
                    program.upper[at + i] = 0.0;
                }
            }
            if k < n {
                let (carried, fresh, at) = program.controls_at(0, k);
                assert_eq!((carried, fresh), (0, 10));
                for i in 0..10 {
                    program.lower[at + i] = -1000.0;
                    program.upper[at + i] = 1000.0;
                    x[at + i] = u[i % 5];
                    nominal[at + i] = Some(300.0);
                }
            }
        }
        let scales = Scales::at(&program, &x, &nominal).expect("it runs");
        let mut scaled = Scaled::new(&mut program, &scales);
        let begin: Vec<f64> = x.iter().zip(&scales.variables).map(|(x, s)| x / s).collect();
        let verbose = starts == 1;
        let mut watch = |r: &gelenk_optimize::interior::Report<'_>| {
            if verbose {
                println!(
                    "{:3} {:12.6} {:9.2e} {:9.2e} α {:7.1e} μ {:8.1e} {} {}",
                    r.iteration,
                    r.objective / scales.objective,
                    r.infeasibility,
                    r.kkt,
                    r.step,
                    r.mu,
                    r.active,
                    r.restoring
                );
            }
            ControlFlow::Continue(())
        };
        let options =
            InteriorOptions { max_iterations: 500, tolerance: 1e-7, ..InteriorOptions::default() };
        let outcome = solve(&mut scaled, &begin, None, &options, &mut watch).expect("it begins");
        let optimal = outcome.status == Status::Optimal;
        println!(
            "start {start_number}: {:?}{} objective {:.5} infeasible {:.1e} kkt {:.1e} in {} iterations, {:?}; {:?}",
            outcome.status,
            if optimal { "" } else { " !" },
            outcome.objective / scales.objective,
            outcome.infeasibility,
            outcome.kkt,
            outcome.state.iterations,
            clock.elapsed(),
            outcome.fault,
        );
    }
    let _ = DVector::<f64>::zeros(0);
}
