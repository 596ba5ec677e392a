//! Exact derivatives: of the right-hand side on the whole gallery, and of motions, against internal numerical differentiation.

use gelenk_dae::sensitivity::{Derivatives, Varied, Wronski, sensitivities};
use gelenk_dae::tangent::{Direction, Tangents};
use gelenk_dae::{Equations, Options};
use gelenk_model::{LoadOptions, Model, load_text};
use nalgebra::DMatrix;

fn load_with(name: &str, text: &str, overrides: &[(&str, f64)]) -> Model {
    let overrides = overrides.iter().map(|(n, v)| ((*n).to_owned(), format!("{v:?}"))).collect();
    let options = LoadOptions { overrides, ..LoadOptions::default() };
    load_text(name, text, &options).unwrap_or_else(|e| panic!("{name}: {e}")).model
}

fn text(name: &str) -> &'static str {
    gelenk_scenes::scene(name).expect("a scene of the gallery").text
}

fn scene(name: &str) -> Model {
    load_with(name, text(name), &[])
}

/// ∂f/∂y and ∂f/∂u of every scene against central differences, along all coordinates at a state where everything moves.
#[test]
fn right_hand_sides_of_the_gallery() {
    let mut seen = 0;
    for scene in gelenk_scenes::SCENES {
        let overrides: &[(&str, f64)] = if scene.name == "chain-100" { &[("n", 4.0)] } else { &[] };
        let model = load_with(scene.name, scene.text, overrides);
        let singular =
            ["eight-loop-flat", "eight-loop-paper", "coordinate-cross", "degenerate-crank", "cusp"];
        if model.bodies.iter().any(|body| body.contact.collide) || singular.contains(&scene.name) {
            continue;
        }
        seen += 1;
        let mut equations = Equations::new(&model, &model.start);
        let mut y = equations.y_of(&model.start);
        let n = equations.layout().n;
        for (i, v) in y[n..2 * n].iter_mut().enumerate() {
            *v += 0.3 * (1.7 * i as f64).sin();
        }
        let t = 0.37;
        if equations.project(t, &mut y).is_err() {
            continue;
        }
        let mut tangents = Tangents::new(&equations);
        let dim = equations.dim();
        let mut f = vec![0.0; dim];
        assert!(equations.rates(t, &y, &mut f), "{}", scene.name);
        let mut jac = vec![0.0; dim * dim];
        equations.jacobian(&mut tangents, t, &y, &mut jac);
        // Where conditions are redundant, a derivative across them means nothing.
        let freedoms = equations.tangents(t, &y).ncols();
        let free: usize = model
            .bodies
            .iter()
            .filter(|b| !b.fixed)
            .map(|b| if b.kind == gelenk_model::BodyKind::Rigid { 6 } else { 3 })
            .sum();
        let redundant = freedoms + model.n_rows() != free;
        // Along everything at once, and in turn along a coordinate out of seven.
        let mut ways = vec![(0..2 * n).map(|i| (0.9 * i as f64).cos()).collect::<Vec<f64>>()];
        for j in (0..2 * n).step_by(7) {
            ways.push((0..2 * n).map(|i| f64::from(u8::from(i == j))).collect());
        }
        for mut way in ways {
            if redundant {
                equations.project_columns(&mut tangents, t, &y, &mut [&mut way]);
            }
            let differences = [1e-4, 2e-4].map(|h| {
                let mut ends = [vec![0.0; dim], vec![0.0; dim]];
                for (end, h) in ends.iter_mut().zip([h, -h]) {
                    let mut moved = y.clone();
                    for i in 0..2 * n {
                        moved[i] += h * way[i];
                    }
                    if redundant {
                        equations.project(t, &mut moved).unwrap();
                    }
                    assert!(equations.rates(t, &moved, end));
                }
                (0..dim).map(|i| (ends[0][i] - ends[1][i]) / (2.0 * h)).collect::<Vec<f64>>()
            });
            // Of order 4.
            let expected: Vec<f64> =
                (0..dim).map(|i| (4.0 * differences[0][i] - differences[1][i]) / 3.0).collect();
            let size = expected.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
            for i in 0..dim {
                let exact: f64 = (0..2 * n).map(|j| jac[i * dim + j] * way[j]).sum();
                assert!(
                    (exact - expected[i]).abs() < 1e-7 * size,
                    "{}, {i}: {exact} {} of {size}",
                    scene.name,
                    expected[i]
                );
            }
        }
        // By inputs and time.
        let inputs = vec![1.0; model.inputs.len()];
        equations.rates(t, &y, &mut f);
        let mut by_time = vec![0.0; dim];
        let direction = Direction { y: &[], inputs: &inputs, t: 1.0 };
        equations.rates_along(&mut tangents, t, &y, &[direction], &mut [&mut by_time]);
        if model.inputs.is_empty() {
            let h = 1e-5;
            let ends = [h, -h].map(|h| {
                let mut f = vec![0.0; dim];
                equations.rates(t + h, &y, &mut f);
                f
            });
            for i in 0..dim {
                let expected = (ends[0][i] - ends[1][i]) / (2.0 * h);
                let size = expected.abs().max(1.0);
                assert!((by_time[i] - expected).abs() < 1e-5 * size, "{}, {i}", scene.name);
            }
        }
    }
    assert!(seen > 30, "{seen}");
}

fn both(model: &Model, t: f64, options: &Options, varied: &[Varied<'_>]) -> [Wronski; 2] {
    [Derivatives::Exact, Derivatives::Internal].map(|kind| {
        sensitivities(model, &model.start, t, options, kind, varied)
            .unwrap_or_else(|e| panic!("{} {kind:?}: {e}", model.name))
    })
}

fn close(a: &DMatrix<f64>, b: &DMatrix<f64>, within: f64, what: &str) {
    let size = b.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
    let worst = (a - b).amax();
    assert!(worst <= within * size, "{what}: {worst:.2e} of {size:.2e}");
}

/// Both kinds agree to 1e-7 on motions without events.
#[test]
fn both_kinds_agree() {
    for name in [
        "pendulum",
        "double-pendulum",
        "slider-crank",
        "four-bar",
        "heavy-top",
        "three-link-arm",
        "bead-on-hoop",
    ] {
        let model = scene(name);
        let [exact, internal] = both(&model, 0.5, &Options::default(), &[]);
        close(&exact.start, &internal.start, 1e-9, name);
        close(&exact.end, &internal.end, 1e-7, name);
        close(&exact.inputs, &internal.inputs, 1e-7, name);
        close(&exact.matrix(), &internal.matrix(), 1e-7, name);
    }
}

/// A ball that bounces on its stop, and a rope that catches.
#[test]
fn both_kinds_agree_through_impacts() {
    let ball = r#"
        [inputs]
        push = 0
        [[body]]
        name = "ball"
        mass = 1
        inertia = [0.1, 0.1, 0.1]
        position = [0, 0, 1]
        velocity = [0, 0, 0.3]
        [[joint]]
        name = "mast"
        type = "slider"
        between = ["world", "ball"]
        point = [0, 0, 1]
        axis = [0, 0, 1]
        limits = { min = -1, restitution = 0.7 }
        motor = { force = "input.push" }
    "#;
    let model = load_with("ball", ball, &[]);
    for t in [0.3, 0.8, 1.4] {
        let [exact, internal] = both(&model, t, &Options::default(), &[]);
        close(&exact.end, &internal.end, 1e-7, "ball");
        close(&exact.inputs, &internal.inputs, 1e-7, "ball");
    }
    // A corner of a force law, and friction that comes to rest.
    let sledge = r#"
        [[body]]
        name = "sledge"
        mass = 2
        inertia = [0.1, 0.1, 0.1]
        velocity = [1.5, 0, 0]
        [[joint]]
        name = "way"
        type = "slider"
        between = ["world", "sledge"]
        point = [0, 0, 0]
        axis = [1, 0, 0]
        friction = 3
        motor = { force = "if(joint.way.position > 0.3, -40*(joint.way.position - 0.3), 0)" }
    "#;
    let model = load_with("sledge", sledge, &[]);
    for t in [0.15, 0.4, 2.0] {
        let [exact, internal] = both(&model, t, &Options::default(), &[]);
        close(&exact.end, &internal.end, 1e-7, "sledge");
    }
}

/// The walking mechanism: 22 directions and five inputs, through the moment at which its foot meets the ground.
#[test]
fn walking_mechanism_has_22_directions() {
    let model = scene("walking-mechanism");
    let options = Options { rtol: 1e-10, atol: 1e-10, ..Options::default() };
    let [exact, internal] = both(&model, 0.1, &options, &[]);
    assert_eq!((exact.freedoms, exact.directions.ncols(), exact.directions.nrows()), (11, 22, 60));
    assert_eq!(exact.inputs.ncols(), 5);
    close(&exact.end, &internal.end, 1e-7, "start");
    close(&exact.inputs, &internal.inputs, 1e-7, "inputs");
    close(&exact.matrix(), &internal.matrix(), 1e-7, "matrix");
}

/// By parameters: a length (start, geometry and inertia) and a mass, against the closed formula of small swings and against differences of whole runs.
#[test]
fn parameters() {
    for (name, parameter) in [("pendulum", "l"), ("double-pendulum", "l2"), ("slider-crank", "r")] {
        let model = scene(name);
        let found = model.parameters.iter().find(|p| p.name == parameter);
        let value = found.expect("a parameter").value;
        let h = 1e-5 * value;
        let [larger, smaller] =
            [h, -h].map(|h| load_with(name, text(name), &[(parameter, value + h)]));
        let varied = Varied {
            larger: (&larger, &larger.start),
            smaller: (&smaller, &smaller.start),
            exact: None,
            step: h,
        };
        let [exact, internal] = both(&model, 0.5, &Options::default(), &[varied]);
        close(&exact.parameters, &internal.parameters, 1e-7, name);
        let ends = [&larger, &smaller].map(|model| {
            let mut run =
                gelenk_dae::Simulation::new(model, &model.start, &Options::default()).unwrap();
            run.run(0.5).unwrap();
            run.y().to_vec()
        });
        for i in 0..exact.parameters.nrows() {
            let expected = (ends[0][i] - ends[1][i]) / (2.0 * h);
            let value = exact.parameters[(i, 0)];
            assert!((value - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{name} {i}");
        }
    }
}
