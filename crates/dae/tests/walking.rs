//! The walking mechanism: ten point masses, 19 conditions, soft ground under its feet.

use gelenk_dae::{Equations, Method, Options, Simulation};
use gelenk_model::{BodyId, LoadOptions, Model, State, load_text};

fn load() -> Model {
    let text = gelenk_scenes::scene("walking-mechanism").expect("a scene of the gallery").text;
    load_text("walking-mechanism", text, &LoadOptions::default())
        .unwrap_or_else(|e| panic!("{e}"))
        .model
}

fn body(model: &Model, name: &str) -> BodyId {
    model.body(name).unwrap_or_else(|| panic!("no point {name}"))
}

/// The start is the published one, to its digits.
#[test]
fn start_is_the_published_one() {
    let model = load();
    assert_eq!((model.n_bodies() - 1, model.n_rows()), (10, 19));
    let published = [
        ("left_foot", [-0.25844, 0.5, 0.001], 1e-5),
        ("left_knee", [0.0, 0.5, 0.967_025_4], 1e-7),
        ("left_hip", [0.0, 0.5, 1.967_025_4], 1e-7),
        ("hip", [0.0, 0.0, 1.967_025_4], 1e-7),
        ("right_hip", [0.0, -0.5, 1.967_025_4], 1e-7),
        ("right_knee", [0.5, -0.5, 1.101], 1e-12),
        ("right_foot", [0.5, -0.5, 0.101], 1e-12),
        ("neck", [0.0, 0.0, 2.967_025_4], 1e-7),
        ("left_shoulder", [0.0, 0.5, 2.967_025_4], 1e-7),
        ("right_shoulder", [0.0, -0.5, 2.967_025_4], 1e-7),
    ];
    for (name, place, digits) in published {
        let s = model.start.pose(body(&model, name)).s;
        for k in 0..3 {
            assert!((s[k] - place[k]).abs() < digits, "{name}: {s}");
        }
    }
    let mut equations = Equations::new(&model, &model.start);
    let y = equations.y_of(&model.start);
    assert!(equations.invariants(0.0, &y).position < 1e-15);
    assert_eq!(equations.tangents(0.0, &y).ncols(), 11);
}

/// States at times, with the method and tolerance.
fn states(model: &Model, times: &[f64], method: Method, rtol: f64) -> (Vec<State>, u64) {
    let options = Options { rtol, atol: rtol, method, ..Options::default() };
    let mut simulation = Simulation::new(model, &model.start, &options).expect("a start");
    let found = times.iter().map(|&t| simulation.run(t).expect("it runs")).collect();
    (found, simulation.statistics().evaluations)
}

/// Without muscles: the left foot comes to about 0.048 m below ground at 0.1 s, both feet are 0.14 to 0.18 m deep from 0.3 to 0.6 s; the hip is at −0.23 m at 0.8 s.
///
/// The left foot then is 0.196 m deep, not 0.18: masses, lengths, start and constants of the ground are the thesis's (chapter V, VI §2), and with its stiffness D = 100 N/m³ the ground carries 0.8 N at
/// that depth and a foot comes to no rest, it creeps; all engines agree on it.
#[test]
fn falls_as_published_without_muscles() {
    let model = load();
    let times = [0.1, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.8, 0.85];
    let (found, evaluations) = states(&model, &times, Method::Radau5, 1e-8);
    let z = |state: &State, name: &str| state.pose(body(&model, name)).s.z;
    let deep = -z(&found[0], "left_foot");
    assert!((deep - 0.048).abs() < 0.0005, "{deep}");
    for state in &found[1..7] {
        for foot in ["left_foot", "right_foot"] {
            let deep = -z(state, foot);
            assert!((0.14..=0.18).contains(&deep), "{} s: {foot} {deep}", state.t);
        }
    }
    let deep = -z(&found[7], "left_foot");
    assert!((deep - 0.196).abs() < 0.001, "{deep}");
    let hip = z(&found[7], "hip");
    assert!((hip + 0.23).abs() < 0.005, "{hip}");
    assert!(evaluations < 12_000, "{evaluations}");
}

/// Both methods give the same motion.
#[test]
fn methods_agree() {
    let model = load();
    let times = [0.1, 0.4];
    let (radau, _) = states(&model, &times, Method::Radau5, 1e-10);
    let (explicit, _) = states(&model, &times, Method::Dop853, 1e-10);
    for (a, b) in radau.iter().zip(&explicit) {
        for i in 0..a.s.len() {
            assert!((a.s[i] - b.s[i]).norm() < 1e-7, "{} s: {} {}", a.t, a.s[i], b.s[i]);
        }
    }
}
