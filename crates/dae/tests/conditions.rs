//! The polynomials of joints against the rows of the model, and the dense system in natural coordinates against the engine.

use gelenk_dae::constraints::conditions;
use gelenk_dae::descriptor::Descriptor;
use gelenk_dae::{Equations, Layout};
use gelenk_model::joint::JointKind;
use gelenk_model::math::{Mat3, Quat, Vec3};
use gelenk_model::rows::{Instant, RowKind};
use gelenk_model::{LoadOptions, Model, Pose, State, Twist, load_text};

/// Two bars, askew in space, with a joint of the given kind between them and to the world.
fn pair(joint: &str) -> String {
    let bar = |name: &str, x: f64| {
        format!(
            r#"
            [[body]]
            name = "{name}"
            mass = 2
            inertia = [0.02, 0.03, 0.04]
            position = [{x}, 0.2, -0.3]
            rotation = {{ axis = [1, 2, 3], angle_deg = 40 }}
            "#
        )
    };
    let edge = |name: &str, a: &str, b: &str, x: f64| {
        let place = match joint {
            "distance" => String::new(),
            "rope" => "length = 2.5".to_owned(),
            "ball" => format!("point = [{x}, 0.1, 0.2]"),
            "fixed" | "translation" => format!("point = [{x}, 0.1, 0.2]"),
            _ => format!("point = [{x}, 0.1, 0.2]\naxis = [0.3, -1, 0.5]"),
        };
        format!(
            "[[joint]]\nname = \"{name}\"\ntype = \"{joint}\"\nbetween = [\"{a}\", \"{b}\"]\n{place}\n"
        )
    };
    [
        bar("one", 0.5),
        bar("two", 1.5),
        edge("ground", "world", "one", 0.1),
        edge("link", "one", "two", 1.0),
    ]
    .concat()
}

fn load(name: &str, text: &str) -> Model {
    match load_text(name, text, &LoadOptions::default()) {
        Ok(loaded) => loaded.model,
        Err(faults) => panic!("{name}: {faults:?}"),
    }
}

/// A small generator, the same numbers everywhere.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    }
    fn vector(&mut self) -> Vec3 {
        Vec3::new(self.next(), self.next(), self.next())
    }
}

/// A state somewhere, not on the conditions.
fn anywhere(model: &Model, numbers: &mut Numbers, far: f64) -> State {
    let mut state = model.start.clone();
    for (i, body) in model.bodies.iter().enumerate().filter(|(_, body)| !body.fixed) {
        state.s[i] += numbers.vector() * far;
        state.s_dot[i] = numbers.vector();
        if body.kind == gelenk_model::BodyKind::Rigid {
            state.rot[i] = Quat::from_scaled_axis(numbers.vector() * far) * state.rot[i];
            state.omega[i] = numbers.vector();
        }
    }
    state
}

/// Checks value, G and γ of all polynomials against the rows; how many there were.
fn check(model: &Model, state: &State) -> usize {
    let layout = Layout::new(model);
    let found = conditions(model, state);
    assert_eq!(found.variables.len(), layout.n);
    let (mut p, mut v) = (vec![0.0; layout.n], vec![0.0; layout.n]);
    layout.write(state, &mut p, &mut v);
    let n = model.n_bodies();
    let (mut poses, mut twists) = (vec![Pose::identity(); n], vec![Twist::zero(); n]);
    state.write_poses(&mut poses);
    state.write_twists(&mut twists);
    let at = Instant { t: 0.0, poses: &poses, twists: &twists, coordinates: &state.coordinate };
    let mut work = model.work();
    // R̈ of a body that turns evenly.
    let mut bend = vec![0.0; layout.n];
    for place in layout.places.iter().filter(|place| place.rigid) {
        let omega = twists[place.body].omega.cross_matrix();
        let turn: Mat3 = omega * omega * poses[place.body].rot;
        bend[place.first + 3..place.first + 12].copy_from_slice(turn.as_slice());
    }
    let mut checked = 0;
    for (k, block) in model.rows.iter().enumerate() {
        let own: Vec<_> = found.list.iter().filter(|c| c.block == Some(k)).collect();
        if own.is_empty() {
            assert!(found.left_out.iter().any(|(left, _)| *left == k), "{}", block.name);
            continue;
        }
        assert_eq!(own.len(), block.n_rows);
        let (mut c, mut gamma) = (vec![0.0; block.n_rows], vec![0.0; block.n_rows]);
        block.error(model, &at, &mut work, &mut c);
        block.gamma(model, &at, &mut work, &mut gamma);
        let width = 6 * block.bodies.len();
        let mut jac = vec![0.0; block.n_rows * width];
        block.jacobian(model, &at, &mut work, &mut jac);
        for (i, condition) in own.iter().enumerate() {
            let mut gradient = vec![0.0; layout.n];
            condition.g.add_gradient(&p, &mut gradient);
            let along = |w: &[f64]| gradient.iter().zip(w).map(|(g, w)| g * w).sum::<f64>();
            let mut rate = 0.0;
            for (row, body) in jac[i * width..][..width].chunks(6).zip(&block.bodies) {
                if model.bodies[body.index()].fixed {
                    continue;
                }
                let twist = &twists[body.index()];
                rate += Vec3::new(row[0], row[1], row[2]).dot(&twist.s_dot);
                rate += Vec3::new(row[3], row[4], row[5]).dot(&twist.omega);
            }
            let value = condition.g.value(&p);
            let second = along(&bend) + condition.g.second(&p, &v, &v);
            // The rod is |Δ| − L in the model and Δ² − L² here: g = C (C + 2L), ġ = 2 (C + L) Ċ, g̈ = 2 Ċ² + 2 (C + L) C̈.
            let length = match &block.kind {
                RowKind::Joint(id) => match &model.joints[id.index()].kind {
                    JointKind::Distance(rod) => Some(rod.length()),
                    JointKind::Rope(rope) => Some(rope.length()),
                    _ => None,
                },
                _ => None,
            };
            let expected = match length {
                None => [c[i], rate, -gamma[i]],
                Some(l) => [
                    c[i] * (c[i] + 2.0 * l),
                    2.0 * (c[i] + l) * rate,
                    2.0 * rate * rate - 2.0 * (c[i] + l) * gamma[i],
                ],
            };
            for (found, expected) in [value, along(&v), second].iter().zip(expected) {
                let scale = 1.0 + expected.abs();
                assert!(
                    (found - expected).abs() < 1e-12 * scale,
                    "{}: {found} {expected}",
                    condition.name
                );
            }
            assert!(condition.g.degree() <= 2, "{}", condition.name);
            checked += 1;
        }
    }
    checked
}

#[test]
fn every_joint_is_the_same_as_polynomials() {
    let kinds = [
        ("ball", 3),
        ("hinge", 5),
        ("fixed", 6),
        ("universal", 4),
        ("slider", 5),
        ("cylindrical", 4),
        ("planar", 3),
        ("rail", 2),
        ("plane-point", 1),
        ("translation", 3),
        ("distance", 1),
        ("rope", 1),
    ];
    let mut numbers = Numbers(7);
    for (kind, rows) in kinds {
        let model = load(kind, &pair(kind));
        for _ in 0..5 {
            let state = anywhere(&model, &mut numbers, 0.4);
            assert_eq!(check(&model, &state), 2 * rows, "{kind}");
        }
    }
}

/// A polynomial equation over points and bodies, with a parameter: the lemniscate.
#[test]
fn equations_are_polynomials_with_their_parameters() {
    let text = r#"
        [parameters]
        a = 1.5

        [[point]]
        name = "bead"
        mass = 1
        position = ["sqrt(2)*a", 0, 0]

        [[constraint]]
        name = "eight"
        equation = "(bead.x^2 + bead.y^2)^2 = 2*a^2*(bead.x^2 - bead.y^2)"

        [[constraint]]
        name = "plane"
        equation = "bead.z = 0"
    "#;
    let model = load("eight", text);
    let found = conditions(&model, &model.start);
    assert_eq!(found.variables, ["bead.s.x", "bead.s.y", "bead.s.z"]);
    assert_eq!(found.list.len(), 2);
    let g = &found.list[0].g;
    assert_eq!(g.degree(), 4);
    let (x, y) = (0.7_f64, -0.4_f64);
    let r2 = x * x + y * y;
    let expected = r2 * r2 - 2.0 * 2.25 * (x * x - y * y);
    assert!((g.value(&[x, y, 0.3]).abs() - expected.abs()).abs() < 1e-14);
}

/// What has no polynomial is named.
#[test]
fn screws_are_left_out_by_name() {
    let scene = gelenk_scenes::scene("screw-nut").unwrap();
    let model = load(scene.name, scene.text);
    let found = conditions(&model, &model.start);
    assert!(found.left_out.iter().any(|(_, why)| why.contains("screw")), "{:?}", found.left_out);
}

/// [M Gᵀ; G 0] in all natural coordinates gives the accelerations of the engine.
#[test]
fn the_dense_system_agrees_with_the_engine() {
    let mut checked = 0;
    for name in [
        "heavy-top",
        "gyroscope",
        "free-body",
        "spherical-double-pendulum",
        "slider-crank",
        "spring-bodies",
        "spring-swing",
        "cuboid",
        "robot-arm",
    ] {
        let scene = gelenk_scenes::scene(name).unwrap();
        let model = load(name, scene.text);
        let mut equations = Equations::new(&model, &model.start);
        let mut y = equations.y_of(&model.start);
        equations.project(0.0, &mut y).unwrap();
        let n = equations.layout().n;
        let mut dy = vec![0.0; y.len()];
        assert!(equations.rates(0.0, &y, &mut dy));
        let Ok(system) = Descriptor::of_model(&model, &model.start) else { continue };
        let (p, v) = (&y[..n], &y[n..2 * n]);
        assert!(system.value(p).amax() < 1e-13);
        let Ok((a, _)) = system.accelerations(0.0, p, v, &nalgebra::DVector::zeros(system.g.len()))
        else {
            // Redundant rows or thin rods: the dense system is singular.
            continue;
        };
        let size = a.amax().max(1.0);
        for (k, (dense, sparse)) in a.iter().zip(&dy[n..2 * n]).enumerate() {
            assert!((dense - sparse).abs() < 1e-10 * size, "{name} {k}: {dense} {sparse}");
        }
        checked += 1;
    }
    assert!(checked >= 5, "{checked}");
}
