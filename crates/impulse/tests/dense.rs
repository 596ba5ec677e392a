//! The motion between steps.

use gelenk_impulse::{Dense, Simulation};
use gelenk_model::{LoadOptions, Model, RunSettings, State, load_text};

fn scene(name: &str) -> Model {
    let text = gelenk_scenes::scene(name).expect("a scene").text;
    load_text(name, text, &LoadOptions::default()).expect("a good model").model
}

/// A simulation some steps on its way, of an order so high that the method itself does not count.
fn under_way(model: &Model, h: f64, t: f64) -> Simulation<'_> {
    let settings = RunSettings {
        step: h,
        order: 8,
        tolerance: 1e-14,
        velocity_tolerance: 1e-13,
        ..RunSettings::default()
    };
    let mut simulation = Simulation::new(model, &settings).expect("a good start");
    while simulation.state().t < t - 0.5 * h {
        simulation.step().expect("it runs");
    }
    simulation
}

/// Largest differences of positions, velocities, rotations and angular velocities.
fn apart(a: &State, b: &State) -> [f64; 4] {
    let mut worst = [0.0_f64; 4];
    for i in 0..a.s.len() {
        worst[0] = worst[0].max((a.s[i] - b.s[i]).norm());
        worst[1] = worst[1].max((a.s_dot[i] - b.s_dot[i]).norm());
        worst[2] = worst[2].max(a.rot[i].angle_to(&b.rot[i]));
        worst[3] = worst[3].max((a.omega[i] - b.omega[i]).norm());
    }
    worst
}

#[test]
fn the_error_falls_with_h6_and_velocities_with_h5() {
    for (name, h) in [("double-pendulum", 0.05), ("heavy-top", 0.016), ("slider-crank", 0.01)] {
        let model = scene(name);
        let error = |h: f64| {
            let before = under_way(&model, h, 0.16);
            let (mut plain, mut after) = (before.clone(), before.clone());
            plain.step().expect("it runs");
            let dense = after.step_dense().expect("it runs");
            assert_eq!(after.state(), plain.state(), "the run does not notice");
            let span = [before.state().t, after.state().t];
            assert_eq!(dense.span().map(f64::to_bits), span.map(f64::to_bits));
            assert_eq!(&dense.state(&model, after.state().t), after.state());
            let mut worst = [0.0_f64; 4];
            for part in [0.13, 0.31, 0.77] {
                let exact = before.clone().peek(part * h, |sample| sample.state.clone());
                let between = dense.state(&model, before.state().t + part * h);
                let exact = exact.expect("a side step");
                for (worst, error) in worst.iter_mut().zip(apart(&between, &exact)) {
                    *worst = worst.max(error);
                }
                for (q, exact) in between.coordinate.iter().zip(&exact.coordinate) {
                    assert!((q - exact).abs() < 1e-4, "{name}: {q} {exact}");
                }
            }
            worst
        };
        let (coarse, fine) = (error(h), error(h / 2.0));
        for (k, order) in [6.0, 5.0, 6.0, 5.0].into_iter().enumerate() {
            let slope = (coarse[k] / fine[k]).log2();
            assert!(
                slope > order - 0.5,
                "{name}, {k}: {:.1e} {:.1e}: {slope:.2}",
                coarse[k],
                fine[k]
            );
        }
    }
}

#[test]
fn states_that_are_kept_anyway_make_a_dense_motion_too() {
    let model = scene("pendulum");
    let mut simulation = under_way(&model, 0.02, 0.1);
    let mut nodes = vec![simulation.state().clone()];
    for _ in 0..2 {
        simulation.step().expect("it runs");
        nodes.push(simulation.state().clone());
    }
    let nodes: [State; 3] = nodes.try_into().expect("three");
    let dense = Dense::new(nodes.clone());
    let between = dense.state(&model, nodes[1].t + 0.008);
    // The thread keeps its length between the steps.
    assert!((between.s[1].norm() - 1.0).abs() < 1e-9, "{}", between.s[1].norm());
    assert_eq!(dense.state(&model, nodes[1].t), nodes[1]);
}
