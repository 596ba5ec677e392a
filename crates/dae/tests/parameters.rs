//! Derivatives by parameters are exact: every number of a model carries its derivative. Against internal numerical differentiation, and against formulas.

use gelenk_dae::Options;
use gelenk_dae::sensitivity::{Derivatives, Varied, Wronski, sensitivities};
use gelenk_model::variation::Variation;
use gelenk_model::{LoadOptions, Loaded, load_text};

fn load(text: &str, set: &[(String, String)]) -> Loaded {
    // Lengths of rods that are varied alone open a loop; the start is then put on the conditions.
    let allow_open = !set.is_empty();
    let options = LoadOptions { overrides: set.to_vec(), allow_open, ..LoadOptions::default() };
    load_text("test.toml", text, &options)
        .unwrap_or_else(|faults| panic!("{}", faults.render(false)))
}

/// Derivatives by the named parameters at time t: exact, and by neighbours.
fn both(text: &str, names: &[&str], t: f64, rtol: f64) -> [Wronski; 2] {
    let loaded = load(text, &[]);
    let model = &loaded.model;
    let mut pairs = Vec::new();
    for name in names {
        let parameter = model.parameters.iter().find(|p| p.name == *name).expect("a parameter");
        let step = 1e-5 * parameter.value.abs().max(1e-3);
        let with = |value: f64| load(text, &[((*name).to_owned(), format!("{value:?}"))]).model;
        pairs.push((with(parameter.value + step), with(parameter.value - step), step));
    }
    let variations: Vec<Variation> = names
        .chunks(gelenk_expr::LANES)
        .map(|names| Variation::new(&loaded, names).expect("exact derivatives"))
        .collect();
    let varied: Vec<Varied<'_>> = pairs
        .iter()
        .enumerate()
        .map(|(i, (larger, smaller, step))| Varied {
            larger: (larger, &larger.start),
            smaller: (smaller, &smaller.start),
            step: *step,
            exact: Some((&variations[i / gelenk_expr::LANES], i % gelenk_expr::LANES)),
        })
        .collect();
    let options = Options { rtol, atol: rtol, ..Options::default() };
    [Derivatives::Exact, Derivatives::Internal].map(|kind| {
        sensitivities(model, &model.start, t, &options, kind, &varied)
            .unwrap_or_else(|error| panic!("{kind:?}: {error}"))
    })
}

/// The largest difference of the two kinds, by parameter, relative to the largest entry of its column.
fn worst(found: &[Wronski; 2], counts: impl Fn(usize) -> bool) -> Vec<f64> {
    let [exact, other] = found.each_ref().map(|w| &w.parameters);
    (0..exact.ncols())
        .map(|k| {
            let size = exact.column(k).amax().max(1e-3);
            let off = (exact.column(k) - other.column(k))
                .into_iter()
                .enumerate()
                .filter(|(i, _)| counts(*i))
                .fold(0.0, |a: f64, (_, x)| a.max(x.abs()));
            off / size
        })
        .collect()
}

fn agree(name: &str, text: &str, names: &[&str], t: f64, bound: f64) {
    let found = both(text, names, t, 1e-11);
    for (k, (parameter, off)) in names.iter().zip(worst(&found, |_| true)).enumerate() {
        let size = found[0].parameters.column(k).amax();
        assert!(size > 0.0, "{name}: nothing changes with {parameter}");
        assert!(off < bound, "{name}: by {parameter} the two kinds differ by {off:e} of {size:e}");
    }
}

fn scene(name: &str) -> &'static str {
    gelenk_scenes::scene(name).expect("a scene").text
}

#[test]
fn scenes_agree_with_their_neighbours() {
    for (name, t) in [
        ("pendulum", 0.5),
        ("double-pendulum", 0.5),
        ("slider-crank", 0.5),
        ("four-bar", 0.5),
        ("walking-mechanism", 0.1),
    ] {
        let text = scene(name);
        let loaded = load(text, &[]);
        let names: Vec<&str> = loaded
            .model
            .parameters
            .iter()
            .filter(|p| {
                p.definition.as_ref().is_none_or(|d| loaded.model.pool.symbols_of(*d).is_empty())
            })
            .map(|p| p.name.as_str())
            .collect();
        let found = both(text, &names, t, 1e-10);
        for (parameter, off) in names.iter().zip(worst(&found, |_| true)) {
            assert!(off < 1e-7, "{name}: by {parameter} the two kinds differ by {off:e}");
        }
    }
}

const SPRINGS: &str = r#"
[model]
gravity = [0, 0, "-g"]
[parameters]
g = 9.81
k = 40
d = 0.7
l = 0.8
m = 1.3
a = 0.2
v = 0.4
rate = 2.0
[[body]]
name = "block"
mass = "m"
inertia = ["0.1*m", 0.2, 0.3]
position = ["0.5 + a", 0.1, "-l"]
rotation = { axis = [0, 1, 0], angle_deg = "20*a" }
velocity = ["v", 0, 0.1]
angular_velocity = [0, "v", 0]
[[point]]
name = "bead"
mass = "0.5*m"
position = [0, 0.4, "-2*l"]
[[marker]]
name = "tip"
body = "block"
position = ["a", 0, 0.3]
[[spring]]
between = ["world", "block"]
anchors = [["a", 0, 0], ["0.1*a", 0.05, 0.2]]
length = "0.5*l"
stiffness = "k"
damping = "d"
[[spring]]
between = ["block", "bead"]
anchors = [[0, "a", 0], [0, 0, 0]]
stiffness = "2*k"
[[force]]
body = "block"
anchor = [0, 0, "a"]
force = [0, "k*sin(rate*t)*0.1", "-d*marker.tip.velocity.z"]
[[force]]
body = "bead"
force = ["-d*body.block.position.x", "if(bead.z < -1.7, -k*(bead.z + 1.7), 0)", 0]
[[drag]]
body = "block"
linear = "0.1*d"
angular = "0.05*d"
"#;

#[test]
fn springs_forces_and_signals() {
    agree("springs", SPRINGS, &["g", "k", "d", "l", "m", "a", "v", "rate"], 0.6, 1e-7);
}

const SHAPES: &str = r#"
[model]
gravity = [0, 0, -9.81]
[parameters]
r = 0.05
l = 0.6
rho = 900
w = 0.3
tilt = 0.2
[[material]]
name = "wood"
density = "rho"
[[body]]
name = "rod"
material = "wood"
collide = false
shape = { cylinder = { radius = "r", length = "l" } }
ends = [[0, 0, 0], ["l*sin(tilt)", 0, "-l*cos(tilt)"]]
[[body]]
name = "plate"
material = "wood"
collide = false
position = ["l*sin(tilt)", 0, "-l*cos(tilt) - w/2"]
shapes = [
  { box = { size = ["w", "r", "w"] } },
  { sphere = { radius = "2*r" }, position = ["w/2", 0.1, "r"] },
]
[[joint]]
name = "shoulder"
type = "hinge"
between = ["world", "rod"]
point = [0, 0, 0]
axis = ["sin(0.1*tilt)", 1, "0.3*tilt"]
stiffness = "0.2*rho*r"
friction = "0.1*r"
[[joint]]
name = "elbow"
type = "ball"
between = ["rod", "plate"]
point = ["l*sin(tilt)", 0, "-l*cos(tilt)"]
"#;

#[test]
fn mass_and_inertia_from_shapes() {
    // The principal axes of the plate turn with its size, so that its R means something else with another size: centres alone are compared.
    let names = ["r", "l", "rho", "w", "tilt"];
    let found = both(SHAPES, &names, 0.4, 1e-11);
    let n = found[0].y.len() / 2;
    for (parameter, off) in names.iter().zip(worst(&found, |i| i % n % 12 < 3)) {
        assert!(off < 1e-7, "by {parameter} the two kinds differ by {off:e}");
    }
    // Those of the rod stay.
    for (parameter, off) in names.iter().zip(worst(&found, |i| i % n < 12)) {
        assert!(off < 1e-7, "rod: by {parameter} the two kinds differ by {off:e}");
    }
}

const CONDITIONS: &str = r#"
[model]
gravity = [0, 0, -9.81]
[parameters]
l = 0.5
ratio = 1.5
pitch = 0.2
c = 1.2
h = 0.3
w = 2.0
[[body]]
name = "wheel"
mass = 1
inertia = [0.02, 0.03, 0.02]
[[joint]]
name = "axle"
type = "hinge"
between = ["world", "wheel"]
point = [0, 0, "0.1*l"]
axis = [0, 1, 0]
[[body]]
name = "arm"
mass = 2
inertia = [0.1, 0.1, 0.01]
position = ["c", 0, "-l/2"]
# The wheel does not follow: the start is put on the conditions.
angular_velocity = [0, 1.2, 0]
velocity = ["-0.6*l", 0, 0]
[[joint]]
name = "pivot"
type = "hinge"
between = ["world", "arm"]
point = ["c", 0, 0]
axis = [0, 1, 0]
drawn_at = "0.3*h"
[[gear]]
name = "belt"
joints = ["axle", "pivot"]
ratio = "ratio"
[[body]]
name = "nut"
mass = 0.5
inertia = [0.01, 0.012, 0.011]
position = [-1, 0, 0]
[[joint]]
name = "thread"
type = "screw"
between = ["world", "nut"]
point = [-1, 0, 0]
axis = [0, 0.2, 1]
pitch = "pitch"
[[body]]
name = "cart"
mass = 1
inertia = [0.01, 0.01, 0.01]
position = [-2, 0, "h"]
[[joint]]
name = "track"
type = "slider"
between = ["world", "cart"]
point = [-2, 0, "h"]
axis = [1, 0, 0]
motion = { position = "h*sin(w*t)" }
[[point]]
name = "bob"
mass = 0.4
position = [-2, 0, "h - l"]
velocity = [0, 0.5, 0]
[[joint]]
name = "string"
type = "distance"
between = ["cart", "bob"]
[[point]]
name = "bead"
mass = 0.2
position = ["c*cos(h)", "sin(h)", 2]
velocity = ["-c*sin(h)", "cos(h)", 0]
[[constraint]]
name = "ellipse"
equation = "bead.x^2/c^2 + bead.y^2 = 1"
[[constraint]]
name = "height"
equation = "bead.z = 2 + 0.1*w*t*(bead.x - c*cos(h))"
[[body]]
name = "flap"
mass = 1
inertia = [0.05, 0.05, 0.01]
position = [3, 0, "-l/2"]
[[joint]]
name = "stop"
type = "hinge"
between = ["world", "flap"]
point = [3, 0, 0]
axis = [0, 1, 0]
drawn_at = 0.4
limits = { min = "-0.2*h", max = 1, restitution = 0.5 }
drive = { angle = "-h*t", stiffness = "10*c", damping = "0.1*w", max_torque = "4*c" }
"#;

#[test]
fn gears_screws_motions_equations_and_stops() {
    agree("conditions", CONDITIONS, &["l", "ratio", "pitch", "c", "h", "w"], 0.5, 1e-7);
}

/// θ̈ = −(3g/2l) sin θ for a rod at its end; at rest at θ = 0 with θ(0) = ε: ∂θ/∂ε = cos ωt. The start is a parameter.
#[test]
fn a_rod_at_rest_answers_with_cos() {
    let text = r#"
[model]
gravity = [0, 0, -9.81]
[parameters]
eps = 0.0
l = 1.0
[[body]]
name = "rod"
mass = 1
inertia = ["l^2/12", "l^2/12", 0]
position = ["-l/2*sin(eps)", 0, "-l/2*cos(eps)"]
rotation = { axis = [0, 1, 0], angle = "eps" }
[[joint]]
name = "pivot"
type = "hinge"
between = ["world", "rod"]
point = [0, 0, 0]
axis = [0, 1, 0]
"#;
    let rtol = 1e-10;
    let [exact, _] = both(text, &["eps"], 2.0, rtol);
    let omega = (1.5 * 9.81_f64).sqrt();
    let (angle, rate) = ((2.0 * omega).cos(), -omega * (2.0 * omega).sin());
    // s = −l/2 (sin θ, 0, cos θ).
    let n = exact.y.len() / 2;
    let (x, v) = (exact.parameters[(0, 0)], exact.parameters[(n, 0)]);
    assert!((x + 0.5 * angle).abs() < 20.0 * rtol, "{x:e} {:e}", -0.5 * angle);
    assert!((v + 0.5 * rate).abs() < 20.0 * rtol * omega, "{v:e} {:e}", -0.5 * rate);
}

/// A curve whose formula has the parameter is said to have no exact derivative.
#[test]
fn a_curve_by_a_parameter_is_refused_by_name() {
    let text = r#"
[model]
gravity = [0, 0, -9.81]
[parameters]
r = 1.0
[[point]]
name = "bead"
mass = 1
position = ["r", 0, 0]
[[joint]]
name = "wire"
type = "curve"
between = ["world", "bead"]
curve = { formula = ["r*cos(u)", "r*sin(u)", "0.1*sin(2*u)"], range = [0, "2*pi"] }
"#;
    let error = Variation::new(&load(text, &[]), &["r"]).expect_err("no derivative");
    assert!(error.contains("wire"), "{error}");
}
