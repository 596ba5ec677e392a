//! Parameters stay symbols through the derivation.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use gelenk_lagrange::{Equations, Options, from_model};
use gelenk_model::{LoadOptions, Loaded, load_text};
use gelenk_scenes::SCENES;

/// A mechanism that leaves out what can be left out: lengths of a rod and a spring, rests of joint springs, the sum of a gear.
const LEFT_OUT: &str = r#"
    [model]
    name = "left-out"
    gravity = [0, 0, "-g"]
    [parameters]
    g = 9.81
    l = 2.0
    d = 0.7
    m = 3.0
    k = 40.0
    phi = 0.3
    [[body]]
    name = "arm"
    mass = "m"
    position = ["d", 0, "-l"]
    inertia = ["0.1*m*l^2", "0.1*m*l^2", "0.02*m*l^2"]
    [[body]]
    name = "sledge"
    mass = 1.5
    position = ["3*d", 0, "l/2"]
    inertia = [0.1, 0.2, 0.3]
    [[body]]
    name = "weight"
    mass = 0.5
    position = ["3*d", "d", "l/2-d"]
    inertia = [0.01, 0.01, 0.01]
    [[joint]]
    name = "pivot"
    type = "hinge"
    between = ["world", "arm"]
    point = [0, 0, 0]
    axis = [0, -1, 0]
    drawn_at = "phi"
    stiffness = "k"
    [[joint]]
    name = "guide"
    type = "slider"
    between = ["world", "sledge"]
    anchors = [["d", 0, "l/2"], [0, 0, 0]]
    axis = [1, 0, 0]
    stiffness = "2*k"
    [[joint]]
    name = "rod"
    type = "distance"
    between = ["sledge", "weight"]
    anchors = [[0, 0, 0], [0, 0, 0]]
    [[gear]]
    name = "belt"
    joints = ["pivot", "guide"]
    ratio = "d"
    [[spring]]
    name = "pull"
    between = ["arm", "sledge"]
    anchors = [[0, 0, "-l/3"], [0, "d", 0]]
    stiffness = "3*k"
    [[marker]]
    name = "tip"
    body = "arm"
    position = ["d/2", 0, "-l"]
    [[force]]
    name = "wind"
    body = "arm"
    force = ["-k*marker.tip.position.z*marker.tip.velocity.x", 0, 0]
"#;

fn load(name: &str, text: &str, overrides: &[(String, String)]) -> Option<Loaded> {
    let options = LoadOptions { overrides: overrides.to_vec(), ..LoadOptions::default() };
    load_text(name, text, &options).ok()
}

/// The closed form; `None` where there is none.
fn derive(loaded: &Loaded) -> Option<Equations> {
    let equations = from_model(loaded).ok()?.derive(&Options::default()).ok()?;
    equations.closed.is_some().then_some(equations)
}

/// Compares metric, forces and accelerations with a parameter changed in the equations, and in the model before they are derived. Gives the number of
/// parameters.
fn compare(name: &str, text: &str) -> usize {
    let own = load(name, text, &[]).unwrap();
    // Larger ones take their time and show nothing else.
    if own.model.n_bodies() > 4 {
        return 0;
    }
    let Some(plain) = derive(&own) else { return 0 };
    let n = plain.n();
    let mut compared = 0;
    for (i, parameter) in own.model.parameters.iter().enumerate() {
        if parameter.definition.is_some_and(|e| !own.model.pool.symbols_of(e).is_empty()) {
            continue;
        }
        let value = parameter.value * 1.0123 + 0.0021;
        let changed = [(parameter.name.clone(), format!("{value:?}"))];
        // Some parameters are numbers of bodies, or a change of theirs opens a joint.
        let Some(other) = load(name, text, &changed) else { continue };
        if other.model.n_bodies() != own.model.n_bodies() {
            continue;
        }
        let Some(other) = derive(&other) else { continue };
        let q: Vec<f64> = (0..n).map(|k| 0.2 + 0.1 * (k as f64 + i as f64).sin()).collect();
        let qd: Vec<f64> = (0..n).map(|k| 0.3 * (1.3 * k as f64 + 0.4).cos()).collect();
        let want = other.evaluate(&q, &qd, 0.3, &[]).unwrap();
        let got = plain.evaluate(&q, &qd, 0.3, &[(parameter.name.clone(), value)]).unwrap();
        let lists = [
            ("g", want.g.concat(), got.g.concat()),
            ("Q", want.q, got.q),
            ("qdd", want.qdd.unwrap_or_default(), got.qdd.unwrap_or_default()),
        ];
        for (key, want, got) in lists {
            assert_eq!(want.len(), got.len(), "{name}, {}, {key}", parameter.name);
            let size = want.iter().fold(1.0, |a: f64, x| a.max(x.abs()));
            for (a, b) in want.iter().zip(&got) {
                let close = (a - b).abs() <= 1e-9 * size || a.is_nan() && b.is_nan();
                assert!(close, "{name}: {} in {key}: {a} {b}", parameter.name);
            }
        }
        compared += 1;
    }
    compared
}

#[test]
fn what_is_left_out_follows_parameters() {
    assert_eq!(compare("left-out", LEFT_OUT), 6);
}

#[test]
fn parameters_of_the_gallery_stay_symbols() {
    let compared: usize = SCENES.iter().map(|s| compare(s.name, s.text)).sum();
    assert!(compared > 40, "{compared}");
}
