//! A motion on another grid: new nodes are states of the motion itself, also where nodes are half a turn apart and a line between them meets no posture.
#![allow(clippy::unwrap_used)]

use std::f64::consts::PI;

use gelenk_model::{Diagnostics, LoadOptions, Loaded, load_text};
use gelenk_optimize::problem::{PhaseSolution, Problem, Solution};

/// Two masses of 1 kg on a rod of 1 m without gravity.
const DUMBBELL: &str = r#"
[model]
name = "dumbbell"
gravity = [0, 0, 0]

[inputs]
push = 0

[[point]]
name = "a"
mass = 1
position = [0.5, 0, 0]

[[point]]
name = "b"
mass = 1
position = [-0.5, 0, 0]

[[constraint]]
name = "rod"
equation = "(a.x - b.x)^2 + (a.y - b.y)^2 + (a.z - b.z)^2 = 1"

[[force]]
name = "pusher"
body = "a"
force = ["input.push", 0, 0]
"#;

fn load(model: &str, options: &LoadOptions) -> Result<Loaded, Diagnostics> {
    load_text(model, DUMBBELL, options)
}

/// The dumbbell after it turned by this angle, at 2π a second, while its centre moves along x at 3 m/s.
fn turned(angle: f64) -> Vec<f64> {
    let (s, c) = angle.sin_cos();
    let (far, rate) = (3.0 * angle / (2.0 * PI), PI);
    let mut state = vec![far + 0.5 * c, 0.5 * s, 0.0, far - 0.5 * c, -0.5 * s, 0.0];
    state.extend([3.0 - rate * s, rate * c, 0.0, 3.0 + rate * s, -rate * c, 0.0]);
    state
}

#[test]
fn new_nodes_are_on_the_motion() {
    // Twice as many nodes, and grids that share none with the motion but its ends.
    for intervals in [4, 3, 7, 8] {
        let text = format!(
            "[problem]\nmodel = \"dumbbell\"\nstart = \"free\"\n[controls]\npush = {{ lower = -1, upper = 1 }}\n[objective]\nend = \"-a.x\"\n\
             [grid]\nduration = 1\nintervals = {intervals}\ncontrols = \"linear-with-jumps\"\nsteps = 8\n"
        );
        let problem =
            Problem::read("grid.toml", &text, &[], &load).unwrap_or_else(|e| panic!("{e}"));
        let mut instance = problem.instance(0, None).unwrap_or_else(|e| panic!("{e}"));
        let motion = Solution {
            phases: vec![PhaseSolution {
                name: String::new(),
                times: vec![0.0, 0.5, 1.0],
                states: [0.0, PI, 2.0 * PI].map(turned).to_vec(),
                controls: vec![(vec![0.0], vec![0.0]); 2],
            }],
            free: Vec::new(),
        };
        instance.warm(&motion);
        let there = instance.solution(&instance.x).unwrap();
        for (t, state) in there.phases[0].times.iter().zip(&there.phases[0].states) {
            for (found, exact) in state.iter().zip(turned(2.0 * PI * t)) {
                let apart = (found - exact).abs();
                assert!(apart < 1e-6, "{intervals} intervals, t = {t}: {apart:e}");
            }
        }
    }
}

/// The same path in half the time: twice the velocities, and four times the forces, as inertia asks.
#[test]
fn a_pressed_motion_keeps_its_path() {
    let text = "[problem]\nmodel = \"dumbbell\"\nstart = \"free\"\n[controls]\npush = { lower = -1, upper = 1 }\n[objective]\nend = \"-a.x\"\n\
                [grid]\nduration = 0.5\nintervals = 2\ncontrols = \"linear-with-jumps\"\nsteps = 8\n";
    let problem = Problem::read("grid.toml", text, &[], &load).unwrap_or_else(|e| panic!("{e}"));
    let mut instance = problem.instance(0, None).unwrap_or_else(|e| panic!("{e}"));
    let angles = [0.0, PI, 2.0 * PI];
    instance.warm(&Solution {
        phases: vec![PhaseSolution {
            name: String::new(),
            times: vec![0.0, 0.5, 1.0],
            states: angles.map(turned).to_vec(),
            controls: vec![(vec![0.1], vec![0.2]); 2],
        }],
        free: Vec::new(),
    });
    let there = instance.solution(&instance.x).unwrap();
    let phase = &there.phases[0];
    for (state, angle) in phase.states.iter().zip(angles) {
        for (i, (found, slow)) in state.iter().zip(turned(angle)).enumerate() {
            let exact = if i < 6 { slow } else { 2.0 * slow };
            assert!(
                (found - exact).abs() < 1e-9,
                "number {i} at {angle} rad: {found}, not {exact}"
            );
        }
    }
    for (start, end) in &phase.controls {
        assert!((start[0] - 0.4).abs() < 1e-6 && (end[0] - 0.8).abs() < 1e-6, "{start:?} {end:?}");
    }
}
