//! What problem files can say, and what happens when they cannot be met.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::ops::ControlFlow;

use gelenk_model::LoadOptions;
use gelenk_optimize::gallery;
use gelenk_optimize::interior::Status;
use gelenk_optimize::problem::{Checkpoint, Found, Live, Problem, RunOptions, optimize};

fn read(text: &str) -> Problem {
    let load = |model: &str, _: &LoadOptions| panic!("no model `{model}` here");
    Problem::read("test.toml", text, &[], &load).unwrap_or_else(|faults| panic!("{faults}"))
}

fn run_with(text: &str, options: &RunOptions) -> Found {
    let mut watch = |live: &Live<'_>| {
        println!(
            "{} {:3} {:15.9e} {:9.2e} {:9.2e} α {:7.1e} μ {:8.1e} {} {}",
            live.stage.round,
            live.iteration,
            live.objective,
            live.infeasibility,
            live.kkt,
            live.step,
            live.mu,
            live.active,
            live.restoring
        );
        ControlFlow::Continue(())
    };
    let finished = optimize(&read(text), options, None, &mut watch).unwrap();
    let found = finished.found[finished.best].clone();
    println!("{:?} {} {} {:?}", found.status, found.objective, found.message, found.violated);
    found
}

fn run(text: &str) -> Found {
    run_with(text, &RunOptions::default())
}

fn optimum(text: &str) -> f64 {
    let found = run(text);
    assert_eq!(found.status, Status::Optimal, "{}", found.message);
    found.objective
}

/// A cart over 1 m in 1 s, from rest to rest, with least ∫u² (12), and something else.
fn cart(more: &str) -> String {
    format!(
        "[states]\nx = {{ rate = \"v\", start = 0, end = 1 }}\nv = {{ rate = \"u\", start = 0, end = 0 }}\n\
         [objective]\nintegral = \"u^2\"\n[grid]\nduration = 1\nintervals = 10\ncontrols = \"linear\"\n{more}"
    )
}

#[test]
fn ten_problems_without_a_solution_are_named_as_such() {
    let plain = "[objective]\nintegral = \"u^2\"\n[grid]\nduration = 1\nintervals = 8\n";
    let cases: Vec<(&str, String, &str)> = vec![
        (
            "too little time",
            gallery::problem("double-integrator")
                .unwrap()
                .text
                .replace("lower = 0.01 }", "lower = 0.01, upper = 1 }"),
            "end of",
        ),
        (
            "nothing moves it",
            format!(
                "[states]\nx = {{ rate = \"0*u\", start = 0, end = 1 }}\n[controls]\nu = {{}}\n{plain}"
            ),
            "end of x",
        ),
        (
            "a bound below the goal",
            cart(
                "[controls]\nu = {}\n[[condition]]\nname = \"wall\"\nvalue = \"x\"\nupper = 0.4\n",
            ),
            "",
        ),
        (
            "two goals at once",
            cart(
                "[controls]\nu = {}\n[[condition]]\nname = \"elsewhere\"\nvalue = \"x\"\nequals = 2\nat = \"end\"\n",
            ),
            "",
        ),
        (
            "a sum of squares below zero",
            cart(
                "[controls]\nu = {}\n[[condition]]\nname = \"ghost\"\nvalue = \"x^2 + v^2\"\nupper = -1\nat = [5]\n",
            ),
            "`ghost` at node 5",
        ),
        ("a push too weak", cart("[controls]\nu = { lower = -0.5, upper = 0.5 }\n"), "end of"),
        (
            "a period that cannot close",
            format!(
                "[states]\nx = {{ rate = \"-1 - u^2\" }}\n[controls]\nu = {{}}\n[periodic]\nx = \"start.x + 1\"\n{plain}"
            ),
            "periodic x",
        ),
        (
            "a free number out of reach",
            cart(
                "[controls]\nu = {}\n[free]\np = { guess = 0.5, lower = -1, upper = 1 }\n[[condition]]\nname = \"large\"\nvalue = \"p^2\"\nlower = 4\nat = \"start\"\n",
            ),
            "`large` at node 0",
        ),
        (
            "up without energy",
            gallery::problem("brachistochrone")
                .unwrap()
                .text
                .replace("end = 5", "end = -1")
                .replace("lower = 0.1 }", "lower = 0.1, upper = 3 }"),
            // A jump of the velocity is the cheapest way there.
            "continuity of `v`",
        ),
        (
            "inequalities that exclude each other",
            cart(
                "[controls]\nu = {}\n[[condition]]\nname = \"fast\"\nvalue = \"v\"\nlower = 3\nat = [5]\n[[condition]]\nname = \"slow\"\nvalue = \"v\"\nupper = 1\nat = [5]\n",
            ),
            "at node 5",
        ),
    ];
    assert_eq!(cases.len(), 10);
    for (what, text, named) in cases {
        println!("--- {what}");
        let found = run(&text);
        assert_eq!(found.status, Status::Infeasible, "{what}: {}", found.message);
        let first = &found.violated.first().unwrap_or_else(|| panic!("{what}")).0;
        assert!(first.contains(named), "{what}: {:?}", found.violated);
        assert!(found.message.contains(first), "{}", found.message);
    }
}

#[test]
fn units_do_not_matter() {
    // Every variable and the objective in turn a thousand times larger and smaller.
    let bryson = |x: f64, v: f64, u: f64, j: f64| {
        format!(
            "[states]\nx = {{ rate = \"v*{x:e}/{v:e}\", start = 0, end = 0, upper = \"{x:e}/9\" }}\n\
             v = {{ rate = \"u*{v:e}/{u:e}\", start = \"{v:e}\", end = \"-{v:e}\" }}\n[controls]\nu = {{}}\n\
             [objective]\nintegral = \"{j:e}*(u/{u:e})^2/2\"\n[grid]\nduration = 1\nintervals = 12\ncontrols = \"linear\"\n"
        )
    };
    let fastest = |x: f64, v: f64, u: f64, t: f64| {
        format!(
            "[free]\nT = {{ guess = \"{t:e}\", lower = \"0.01*{t:e}\" }}\n\
             [states]\nx = {{ rate = \"v*{x:e}/{v:e}/{t:e}\", start = 0, end = \"{x:e}\" }}\n\
             v = {{ rate = \"u*{v:e}/{u:e}/{t:e}\", start = 0, end = 0 }}\n\
             [controls]\nu = {{ lower = \"-{u:e}\", upper = \"{u:e}\" }}\n\
             [objective]\nend = \"T\"\n[grid]\nduration = \"T\"\nintervals = 10\n"
        )
    };
    let oscillator = |x: f64, y: f64, u: f64, j: f64| {
        format!(
            "[states]\nx = {{ rate = \"{x:e}*((1 - (y/{y:e})^2)*x/{x:e} - y/{y:e} + u/{u:e})\", start = 0 }}\n\
             y = {{ rate = \"{y:e}*x/{x:e}\", start = \"{y:e}\", lower = \"-0.25*{y:e}\" }}\n\
             [controls]\nu = {{ lower = \"-{u:e}\", upper = \"{u:e}\" }}\n\
             [objective]\nintegral = \"{j:e}*((x/{x:e})^2 + (y/{y:e})^2 + (u/{u:e})^2)\"\n[grid]\nduration = 10\nintervals = 20\n"
        )
    };
    type Make<'a> = &'a dyn Fn(f64, f64, f64, f64) -> String;
    let makes: [(&str, Make<'_>, f64); 3] = [
        ("bryson", &bryson, 4.0),
        ("fastest", &fastest, 2.0),
        ("oscillator", &oscillator, 2.933_006_94),
    ];
    for (what, make, exact) in makes {
        for which in 0..4 {
            for factor in [1e3, 1e-3] {
                let mut f = [1.0; 4];
                f[which] = factor;
                println!("--- {what} {f:?}");
                let found = run(&make(f[0], f[1], f[2], f[3]));
                assert_eq!(found.status, Status::Optimal, "{what} {f:?}: {}", found.message);
                // The fourth factor is that of the objective: weight or time.
                let objective = found.objective / f[3];
                assert!((objective - exact).abs() < 1e-6 * exact, "{what} {f:?}: {objective}");
            }
        }
    }
}

#[test]
fn a_resumed_run_ends_with_the_same_bits() {
    let problem = read(gallery::problem("van-der-pol").unwrap().text);
    let options = RunOptions { starts: Some(2), ..RunOptions::default() };
    let mut count = 0;
    let whole = optimize(&problem, &options, None, &mut |_| {
        count += 1;
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(count > 20);
    for stop in [0, 1, 7, count / 2, count - 2] {
        let (mut seen, mut saved) = (0, None);
        let _ = optimize(&problem, &options, None, &mut |live| {
            if seen == stop {
                saved = Some(serde_json::to_string(&(live.checkpoint)().unwrap()).unwrap());
                return ControlFlow::Break(());
            }
            seen += 1;
            ControlFlow::Continue(())
        });
        let checkpoint: Checkpoint = serde_json::from_str(&saved.unwrap()).unwrap();
        let mut after = 0;
        let resumed = optimize(&problem, &options, Some(checkpoint), &mut |_| {
            after += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(after, count - stop, "iterations after {stop}");
        for (a, b) in whole.found.iter().zip(&resumed.found) {
            assert_eq!(a.objective.to_bits(), b.objective.to_bits(), "stopped at {stop}");
            assert_eq!(a.solution, b.solution);
            assert_eq!(a.iterations, b.iterations);
        }
    }
}

#[test]
fn threads_change_no_bit() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let problem = read(gallery::problem("cart-pole").unwrap().text);
        pool.install(|| {
            optimize(&problem, &RunOptions::default(), None, &mut |_| ControlFlow::Continue(()))
                .unwrap()
        })
    };
    let one = run(1);
    for threads in [2, 3, 8] {
        assert_eq!(one.found[0].solution, run(threads).found[0].solution);
    }
}

#[test]
fn phases_have_their_own_rates_and_times() {
    // Push with 1 m/s², brake with 1 m/s²: 1 m from rest to rest takes 1 s + 1 s.
    let text = "[free]\nT1 = { guess = 0.5, lower = 0.01 }\nT2 = { guess = 2, lower = 0.01 }\n\
        [states]\nx = { rate = \"v\", start = 0, end = 1 }\nv = { rate = \"1\", start = 0, end = 0 }\n\
        [objective]\nend = \"T1 + T2\"\n\
        [[phase]]\nname = \"push\"\nduration = \"T1\"\nintervals = 3\n\
        [[phase]]\nname = \"brake\"\nduration = \"T2\"\nintervals = 4\nrates = { v = \"-1\" }\n";
    let found = run(text);
    assert_eq!(found.status, Status::Optimal);
    assert!((found.objective - 2.0).abs() < 1e-7, "{}", found.objective);
    assert!((found.solution.free[0] - 1.0).abs() < 1e-6);
    // A jump between phases: half of the velocity is lost. v0 = T1, v = T1/2 − T2 = 0, x = T1²/2 + T2²/2 = 1.
    let text =
        text.replace("rates = { v = \"-1\" }", "rates = { v = \"-1\" }\nlink = { v = \"v/2\" }");
    let exact = 1.5 * (8.0_f64 / 5.0).sqrt();
    let found = optimum(&text);
    assert!((found - exact).abs() < 1e-7, "{found} {exact}");
}

#[test]
fn periods_with_shift_and_mirror() {
    let text = |periodic: &str, more: &str| {
        format!(
            "[states]\nx = {{ rate = \"v\", guess = 0 }}\nv = {{ rate = \"u\", guess = 0{more} }}\n[controls]\nu = {{}}\n\
             [objective]\nintegral = \"u^2\"\n[grid]\nduration = 1\nintervals = 8\n[periodic]\n{periodic}\n\
             [[condition]]\nname = \"anchor\"\nvalue = \"x\"\nequals = 0\nat = \"start\"\n"
        )
    };
    // 1 m further with the same velocity: no push at all.
    let found = run(&text("x = \"start.x + 1\"\nv = \"start.v\"", ""));
    assert_eq!(found.status, Status::Optimal);
    assert!(found.objective.abs() < 1e-9);
    assert!((found.solution.phases[0].states[0][1] - 1.0).abs() < 1e-7);
    // Back at the same place with the opposite velocity: u = −2, ∫u² = 4.
    let found = optimum(&text("x = \"start.x\"\nv = \"-start.v\"", ", start = 1"));
    assert!((found - 4.0).abs() < 1e-7, "{found}");
}

#[test]
fn conditions_on_a_finer_grid() {
    // The wall of Bryson and Denham on a coarse grid of controls: between nodes x passes it, unless looked at there too.
    let text = |at: &str| {
        format!(
            "[states]\nx = {{ rate = \"v\", start = 0, end = 0 }}\nv = {{ rate = \"u\", start = 1, end = -1 }}\n[controls]\nu = {{}}\n\
             [objective]\nintegral = \"u^2/2\"\n[grid]\nduration = 1\nintervals = 5\ncontrols = \"linear-with-jumps\"\nfine = 8\n\
             [[condition]]\nname = \"wall\"\nvalue = \"x\"\nupper = 0.1111111111\nat = \"{at}\"\n"
        )
    };
    let highest =
        |found: &Found| found.solution.phases[0].states.iter().map(|s| s[0]).fold(0.0, f64::max);
    let (coarse, fine) = (run(&text("nodes")), run(&text("path")));
    assert_eq!((&coarse.status, &fine.status), (&Status::Optimal, &Status::Optimal));
    assert_eq!(fine.solution.phases[0].states.len(), 41);
    assert!(highest(&coarse) > 0.112, "{}", highest(&coarse));
    assert!(highest(&fine) < 0.111_111_2, "{}", highest(&fine));
    assert!(fine.objective > coarse.objective);
}

#[test]
fn every_curvature_and_both_methods_come_to_the_same_optimum() {
    let base = gallery::problem("bryson-denham").unwrap().text;
    for solver in
        ["hessian = \"gauss-newton\"", "hessian = \"bfgs\"", "method = \"sqp\"", "polish = true"]
    {
        println!("--- {solver}");
        let found = optimum(&format!("{base}\n[solver]\n{solver}\n"));
        assert!((found - 4.0).abs() < 1e-6, "{solver}: {found}");
    }
    let base = gallery::problem("double-integrator").unwrap().text;
    let found = optimum(&format!("{base}\n[solver]\npolish = true\n"));
    assert!((found - 2.0).abs() < 1e-10, "{found}");
    // From a motion that is already near, SQP alone.
    let cart = gallery::problem("cart-pole").unwrap().text;
    let first = run(cart);
    let options = RunOptions { warm: Some(first.solution.clone()), ..RunOptions::default() };
    let again = run_with(&format!("{cart}\n[solver]\nmethod = \"sqp\"\n"), &options);
    assert_eq!(again.status, Status::Optimal, "{}", again.message);
    assert!((again.objective - first.objective).abs() < 1e-6);
    assert!(again.kkt < 1e-8 && again.iterations <= 12, "{} {}", again.kkt, again.iterations);
}

#[test]
fn smooth_controls_change_less() {
    let text = |weight: &str| {
        format!(
            "[states]\nx = {{ rate = \"v\", start = 0, end = 1 }}\nv = {{ rate = \"u\", start = 0, end = 0 }}\n\
             [controls]\nu = {{ lower = -8, upper = 8, smooth = {weight} }}\n[objective]\nintegral = \"u^2\"\n[grid]\nduration = 1\nintervals = 10\n"
        )
    };
    let change = |found: &Found| {
        let u: Vec<f64> = found.solution.phases[0].controls.iter().map(|c| c.0[0]).collect();
        u.windows(2).map(|w| (w[1] - w[0]).powi(2)).sum::<f64>()
    };
    let (free, smooth) = (run(&text("0")), run(&text("1")));
    assert!(change(&smooth) < change(&free), "{} {}", change(&smooth), change(&free));
    // The weight counts in the objective.
    let effort = |found: &Found| {
        found.solution.phases[0].controls.iter().map(|c| 0.1 * c.0[0] * c.0[0]).sum::<f64>()
    };
    assert!((smooth.objective - effort(&smooth) - change(&smooth)).abs() < 1e-8);
}

#[test]
fn homotopy_and_starts() {
    let base = gallery::problem("bryson-denham").unwrap().text;
    let text = format!(
        "{base}\n[[homotopy]]\nset = {{ l = 0.25 }}\nintervals = 6\ntolerance = 1e-4\n[[homotopy]]\nset = {{ l = 0.15 }}\n"
    );
    let mut steps = Vec::new();
    // At 1e-8 the barrier still shows in the seventh digit.
    let options = RunOptions { tolerance: Some(1e-9), ..RunOptions::default() };
    let finished = optimize(&read(&text), &options, None, &mut |live| {
        assert_eq!(live.of.1, 3);
        steps.push(live.stage.step);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!((finished.found[0].objective - 4.0).abs() < 1e-6);
    steps.dedup();
    assert_eq!(steps, [0, 1, 2]);
    let problem = read(gallery::problem("cart-pole").unwrap().text);
    let options = RunOptions { starts: Some(5), seed: Some(1), ..RunOptions::default() };
    let finished = optimize(&problem, &options, None, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(finished.found.len(), 5);
    assert!(finished.found[4].kind.contains("half the horizon"));
    let best = finished.found[finished.best].objective;
    assert!(finished.distinct.iter().all(|&i| finished.found[i].objective >= best));
    assert!((best - 58.810_317).abs() < 1e-3 || best < 58.81, "{best}");
}

#[test]
fn all_faults_of_a_file_at_once_with_their_places() {
    let text = "[states]\nx = { rate = \"w\", start = 0 }\nv = { rate = \"u +\", start = \"q\" }\n\
        [controls]\nu = { lower = 2, upper = 1 }\n[objective]\naim = \"best\"\nend = \"x\"\n\
        [grid]\nduration = -1\nintervals = 2.5\ncontrols = \"wavy\"\n\
        [[condition]]\nname = \"idle\"\nvalue = \"x\"\nat = \"somewhere\"\n";
    let load = |_: &str, _: &LoadOptions| unreachable!();
    let faults = Problem::read("bad.toml", text, &[], &load).unwrap_err();
    let text = faults.to_string();
    println!("{text}");
    for (line, word) in
        [(2, "`w`"), (3, ""), (10, "above 0"), (11, "whole number"), (12, "linear-with-jumps")]
    {
        assert!(
            faults.list.iter().any(|d| d.line() == line
                && (d.message.contains(word) || d.help.as_ref().is_some_and(|h| h.contains(word)))),
            "line {line}: {word}\n{text}"
        );
    }
    let unknown = Problem::read("bad.toml", "[grid]\nduration = 1\nintervalls = 3\n", &[], &load)
        .unwrap_err();
    assert!(unknown.to_string().contains("did you mean `intervals`?"), "{unknown}");
}

/// The first μ of a step of the homotopy and of the problem itself, where a motion leads to them.
#[test]
fn barriers_begin_where_the_file_tells() {
    let first = |more: &str| {
        let mut seen: Vec<(usize, f64)> = Vec::new();
        let mut watch = |live: &Live<'_>| {
            if seen.last().is_none_or(|(step, _)| *step != live.stage.step) {
                seen.push((live.stage.step, live.mu));
            }
            ControlFlow::Continue(())
        };
        let text = cart(&format!("[controls]\nu = {{ lower = -20, upper = 20 }}\n{more}"));
        optimize(&read(&text), &RunOptions::default(), None, &mut watch).unwrap();
        seen.into_iter().map(|(_, mu)| mu).collect::<Vec<f64>>()
    };
    let steps = "[[homotopy]]\nintervals = 4\n[[homotopy]]\nintervals = 6\n";
    assert_eq!(first(steps), [0.1, 1e-2, 1e-2]);
    let steps = "[[homotopy]]\nintervals = 4\nbarrier = 0.5\n[[homotopy]]\nintervals = 6\nbarrier = 3e-3\n[solver]\nbarrier = 2e-4\n";
    assert_eq!(first(steps), [0.1, 3e-3, 2e-4]);
}

#[test]
fn a_barrier_below_zero_is_refused_with_its_line() {
    let load = |model: &str, _: &LoadOptions| panic!("no model `{model}` here");
    let text = cart("[controls]\nu = { lower = -20, upper = 20 }\n[solver]\nbarrier = -1\n");
    let Err(faults) = Problem::read("test.toml", &text, &[], &load) else {
        panic!("a barrier of -1 was taken")
    };
    let (line, _) = text.lines().enumerate().find(|(_, line)| line.starts_with("barrier")).unwrap();
    assert!(faults.to_string().contains(&format!("test.toml:{}", line + 1)), "{faults}");
}
