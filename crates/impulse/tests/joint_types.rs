//! Every joint type holds its order, with a spring and a damper, between two moving bodies.

mod common;

use common::{after, settings, slope, toml};
use gelenk_model::{Model, RunSettings, State};

/// A tumbling block hung from the world by a spring, and a second one joined to it.
fn two_blocks(joint: &str) -> Model {
    toml(&format!(
        r#"
[model]
name = "two blocks"

[[body]]
name = "first"
mass = 2
inertia = [0.3, 0.4, 0.5]
position = [0, 0, 0]
angular_velocity = [0.5, -0.8, 0.3]

[[body]]
name = "second"
mass = 1.5
inertia = [0.2, 0.25, 0.3]
position = [0.6, 0.1, -0.2]
velocity = [0.3, -0.2, 0.4]
angular_velocity = [-0.4, 0.9, 1.2]

[[joint]]
name = "joint"
between = ["first", "second"]
{joint}

[[spring]]
between = ["world", "first"]
points = [[0, 0, 2], [0.1, 0.1, 0.2]]
length = 1.2
stiffness = 40
damping = 1.5

[[spring]]
between = ["world", "second"]
points = [[1, 1, 1], [0.7, 0, -0.3]]
length = 1
stiffness = 20
"#
    ))
}

fn distance(a: &State, b: &State) -> f64 {
    let turn = |i: usize| (a.rot[i].inverse() * b.rot[i]).angle();
    (1..3).map(|i| (a.s[i] - b.s[i]).norm().max(turn(i))).fold(0.0, f64::max)
}

#[test]
fn all_types_have_their_orders() {
    for joint in [
        "type = \"ball\"\npoint = [0.3, 0, 0]",
        "type = \"hinge\"\npoint = [0.3, 0, 0]\naxis = [0, 3, 4]",
        "type = \"fixed\"\npoint = [0.3, 0, 0]",
        "type = \"universal\"\npoint = [0.3, 0, 0]\naxis = [0, 3, 4]\naxis2 = [1, 0, 0]",
        "type = \"slider\"\npoint = [0.3, 0, 0]\naxis = [0, 3, 4]",
        "type = \"cylindrical\"\npoint = [0.3, 0, 0]\naxis = [0, 3, 4]",
        "type = \"planar\"\npoint = [0.3, 0, 0]\naxis = [0, 3, 4]",
        "type = \"screw\"\npoint = [0.3, 0, 0]\naxis = [0, 3, 4]\npitch = 0.2",
        "type = \"rail\"\npoint = [0.3, 0, 0]\naxis = [0, 3, 4]",
        "type = \"plane-point\"\npoint = [0.3, 0, 0]\naxis = [0, 3, 4]",
        "type = \"distance\"\npoints = [[0.1, 0, 0], [0.5, 0.1, 0]]",
        "type = \"translation\"\npoint = [0.3, 0, 0]",
        "type = \"surface\"\npoint = [0.5, 0, 0]\nsurface = \"x^2 + y^2 + 2*z^2 = 0.25\"",
        "type = \"curve\"\npoint = [0.5, 0, 0]\ncurve = { formula = [\"0.5*cos(u)\", \"0.5*sin(u)\", \"0.2*sin(u)\"], range = [-3, 3] }",
    ] {
        let model = two_blocks(joint);
        let t = 0.64;
        let fine = RunSettings { order: 8, ..settings(0.02, 1e-14) };
        let reference = after(&model, &fine, t);
        for (order, h) in [(2, 0.01), (4, 0.04)] {
            let run = |h: f64| {
                let settings = RunSettings { order, ..settings(h, 1e-14) };
                after(&model, &settings, t)
            };
            let (one, two) = (run(h), run(h / 2.0));
            let errors = [&one, &two].map(|run| distance(run.state(), reference.state()));
            let slope_q = slope(&errors);
            let slack = if order == 2 { 0.15 } else { 0.4 };
            assert!(
                (slope_q - f64::from(order)).abs() < slack,
                "{joint}\n{order}: {errors:?} {slope_q}"
            );
            let energies = [&one, &two].map(|run| run.ledger().integrator_error().abs());
            assert!(energies[1] < 1e-3, "{joint}\n{order}: {energies:?}");
        }
    }
}
