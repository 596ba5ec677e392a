//! Wronski matrices: by hand, by runs from other starts, through impacts; as many directions as degrees of freedom.

use std::fmt::Write;

use gelenk_dae::sensitivity::wronski;
use gelenk_dae::{Equations, Options, Simulation};
use gelenk_model::{LoadOptions, Model, load_text};

fn load(name: &str, text: &str) -> Model {
    load_text(name, text, &LoadOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}")).model
}

fn scene(name: &str) -> Model {
    load(name, gelenk_scenes::scene(name).expect("a scene of the gallery").text)
}

/// A mass on a spring: rows [cos ωt, sin ωt/ω; −ω sin ωt, cos ωt].
#[test]
fn oscillator_by_hand() {
    let text = r#"
        [inputs]
        push = 0
        [model]
        gravity = [0, 0, 0]
        [[body]]
        name = "mass"
        mass = 2
        inertia = [0.1, 0.1, 0.1]
        velocity = [1, 0, 0]
        [[joint]]
        name = "rail"
        type = "slider"
        between = ["world", "mass"]
        point = [0, 0, 0]
        axis = [1, 0, 0]
        stiffness = 18
        motor = { force = "input.push" }
    "#;
    let model = load("oscillator", text);
    let t = 0.7;
    let found = wronski(&model, &model.start, t, &Options::default()).unwrap();
    assert_eq!(found.freedoms, 1);
    let (sin, cos) = (3.0 * t).sin_cos();
    let matrix = found.matrix();
    // x and ẋ are coordinates 0 and 12.
    let expected = [[cos, sin / 3.0], [-3.0 * sin, cos]];
    for (i, row) in [0, 12].iter().zip(expected) {
        for (j, value) in [0, 12].iter().zip(row) {
            assert!((matrix[(*i, *j)] - value).abs() < 1e-9, "{i} {j}: {}", matrix[(*i, *j)]);
        }
    }
    // Across the rail nothing counts.
    assert!(matrix.column(1).amax() < 1e-12 && matrix.column(5).amax() < 1e-12);
    // A constant push u: x = (u/k)(1 − cos ωt).
    assert!((found.inputs[(0, 0)] - (1.0 - cos) / 18.0).abs() < 1e-9, "{}", found.inputs);
    assert!((found.inputs[(12, 0)] - 3.0 * sin / 18.0).abs() < 1e-9);
    // Over a period all comes back.
    let period = std::f64::consts::TAU / 3.0;
    let found = wronski(&model, &model.start, period, &Options::default()).unwrap();
    for multiplier in found.multipliers() {
        assert!((multiplier - nalgebra::Complex::new(1.0, 0.0)).norm() < 1e-8, "{multiplier}");
    }
    let unit = nalgebra::DMatrix::<f64>::identity(2, 2);
    assert!((found.monodromy() - unit).amax() < 1e-8);
}

/// A ball that falls on its stop: h = h₀ + v₀ t − g t²/2, ẋ⁺ = −ε ẋ⁻. The end by the start, through two bounces, by hand.
#[test]
fn bounces_salt_the_derivative() {
    let (h, v, e, g) = (1.0_f64, 0.3_f64, 0.7_f64, 9.81_f64);
    let text = format!(
        r#"
        [[body]]
        name = "ball"
        mass = 1
        inertia = [0.1, 0.1, 0.1]
        position = [0, 0, {h}]
        velocity = [0, 0, {v}]
        [[joint]]
        name = "mast"
        type = "slider"
        between = ["world", "ball"]
        point = [0, 0, {h}]
        axis = [0, 0, 1]
        limits = {{ min = {}, restitution = {e} }}
        "#,
        -h
    );
    let model = load("ball", &text);
    let exact = |h: f64, v: f64, t: f64| {
        let down = (v * v + 2.0 * g * h).sqrt();
        let mut at = (v + down) / g;
        let mut up = e * down;
        if t < at {
            return (h + v * t - 0.5 * g * t * t, v - g * t);
        }
        loop {
            let flight = 2.0 * up / g;
            if t < at + flight {
                let s = t - at;
                return (up * s - 0.5 * g * s * s, up - g * s);
            }
            at += flight;
            up *= e;
        }
    };
    let d = 1e-6;
    for t in [0.3, 0.8, 1.4] {
        let found = wronski(&model, &model.start, t, &Options::default()).unwrap();
        assert_eq!(found.freedoms, 1);
        let matrix = found.matrix();
        let by_h = [exact(h + d, v, t), exact(h - d, v, t)];
        let by_v = [exact(h, v + d, t), exact(h, v - d, t)];
        for (column, [a, b]) in [(2, by_h), (14, by_v)] {
            let expected = [(a.0 - b.0) / (2.0 * d), (a.1 - b.1) / (2.0 * d)];
            for (row, expected) in [(2, expected[0]), (14, expected[1])] {
                let value = matrix[(row, column)];
                assert!(
                    (value - expected).abs() < 1e-6,
                    "t {t}, {row} {column}: {value} {expected}"
                );
            }
        }
    }
}

/// Loops, hinges, ball joints: against whole runs from starts moved along each direction.
#[test]
fn agrees_with_runs_from_other_starts() {
    for (name, freedoms) in [
        ("double-pendulum", 2),
        ("spherical-double-pendulum", 6),
        ("four-bar", 1),
        ("slider-crank", 1),
    ] {
        let model = scene(name);
        let t = 0.5;
        let found = wronski(&model, &model.start, t, &Options::default()).unwrap();
        assert_eq!(found.freedoms, freedoms, "{name}");
        let mut equations = Equations::new(&model, &model.start);
        let mut y = equations.y_of(&model.start);
        equations.project(0.0, &mut y).unwrap();
        let n = equations.layout().n;
        let d = 1e-5;
        for k in 0..2 * freedoms {
            let ends = [1.0, -1.0].map(|sign| {
                let mut varied = y.clone();
                for i in 0..2 * n {
                    varied[i] += sign * d * found.directions[(i, k)];
                }
                equations.project(0.0, &mut varied).unwrap();
                let start = equations.state(0.0, &model.start);
                let mut run = Simulation::new(&model, &start, &Options::default()).unwrap();
                run.run(t).unwrap();
                run.y().to_vec()
            });
            let size = found.end.column(k).amax();
            for i in 0..2 * n {
                let expected = (ends[0][i] - ends[1][i]) / (2.0 * d);
                let value = found.end[(i, k)];
                assert!(
                    (value - expected).abs() < 1e-5 * size,
                    "{name} {k} {i}: {value} {expected}"
                );
            }
        }
    }
}

/// Ten point masses with 19 rods: 30 + 30 coordinates, 19 + 19 conditions, 22 directions; all others are zero.
#[test]
fn as_many_directions_as_freedoms() {
    let mut text = String::new();
    for i in 0..10 {
        let x = f64::from(i);
        let _ = write!(
            text,
            "[[point]]\nname = \"p{i}\"\nmass = {}\nposition = [{}, {}, {}]\nvelocity = [0, 0.1, 0]\n",
            1.0 + 0.1 * x,
            0.5 * x,
            (1.3 * x).sin(),
            (2.1 * x).cos()
        );
    }
    let mut rods = Vec::new();
    for i in 1..10 {
        rods.push((i - 1, i));
        if i >= 2 {
            rods.push((i - 2, i));
        }
    }
    rods.extend([(0, 3), (1, 4)]);
    assert_eq!(rods.len(), 19);
    for (a, b) in rods {
        let _ = write!(
            text,
            "[[joint]]\nname = \"r{a}{b}\"\ntype = \"distance\"\nbetween = [\"p{a}\", \"p{b}\"]\n"
        );
    }
    let model = load("masses", &text);
    let found = wronski(&model, &model.start, 0.2, &Options::default()).unwrap();
    assert_eq!(found.y.len(), 60);
    assert_eq!(found.directions.ncols(), 22);
    let matrix = found.matrix();
    assert_eq!(matrix.shape(), (60, 60));
    // Along M⁻¹Gᵀ the derivative is zero.
    let system = gelenk_dae::descriptor::Descriptor::of_model(&model, &model.start).unwrap();
    let mut p = vec![0.0; 30];
    let mut v = vec![0.0; 30];
    gelenk_dae::Layout::new(&model).write(&model.start, &mut p, &mut v);
    let normal = system.jacobian(&p).transpose();
    for k in 0..19 {
        let mut across = nalgebra::DVector::zeros(60);
        for i in 0..30 {
            across[i] = normal[(i, k)] / system.mass[i];
        }
        assert!((&matrix * across).amax() < 1e-8, "{k}");
    }
    assert_eq!(matrix.rank(1e-7), 22);
}
