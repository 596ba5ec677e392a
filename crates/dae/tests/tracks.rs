//! Curves, surfaces and couplings as polynomials: on the conditions g = A C to first order, so that G = A J and, for velocities that fit, v·∂G·v = −A γ. What is no polynomial is refused by name.

use gelenk_dae::constraints::conditions;
use gelenk_dae::{Layout, Options, Simulation};
use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::rows::Instant;
use gelenk_model::{LoadOptions, Model, Pose, Twist, load_text};
use nalgebra::{DMatrix, DVector};

fn load(text: &str) -> Model {
    match load_text("test", text, &LoadOptions::default()) {
        Ok(loaded) => loaded.model,
        Err(faults) => panic!("{}", faults.render(false)),
    }
}

/// Numbers from −1 to 1, the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    }
    fn vector(&mut self) -> Vec3 {
        Vec3::new(self.next(), self.next(), self.next())
    }
}

/// Compares block `name` of a model with its polynomials at several times of its motion.
fn compare(model: &Model, name: &str, degree: u32) {
    let block = model.rows.iter().position(|b| b.name == name).expect("the block");
    let rows = &model.rows[block];
    let layout = Layout::new(model);
    let mut numbers = Numbers(11);
    for t in [0.0, 0.13, 0.31] {
        let mut run = Simulation::new(model, &model.start, &Options::default()).expect("a run");
        let state = run.run(t).expect("moves");
        let found = conditions(model, &state);
        let own: Vec<_> = found.list.iter().filter(|c| c.block == Some(block)).collect();
        assert_eq!(own.len(), rows.n_rows, "{name}: {:?}", found.left_out);
        assert_eq!(own.iter().map(|c| c.g.degree()).max(), Some(degree), "{name}");
        let n = model.n_bodies();
        let (mut poses, mut twists) = (vec![Pose::identity(); n], vec![Twist::zero(); n]);
        state.write_poses(&mut poses);
        state.write_twists(&mut twists);
        let at = Instant { t, poses: &poses, twists: &twists, coordinates: &state.coordinate };
        let mut work = model.work();
        let width = 6 * rows.bodies.len();
        let mut jac = vec![0.0; rows.n_rows * width];
        rows.jacobian(model, &at, &mut work, &mut jac);
        let mut gamma = vec![0.0; rows.n_rows];
        rows.gamma(model, &at, &mut work, &mut gamma);
        let (mut p, mut v) = (vec![0.0; layout.n], vec![0.0; layout.n]);
        layout.write(&state, &mut p, &mut v);
        // Rates of both along twists of all bodies.
        let rates = |twists: &[Twist]| {
            let mut moved = state.clone();
            for (i, twist) in twists.iter().enumerate() {
                (moved.s_dot[i], moved.omega[i]) = (twist.s_dot, twist.omega);
            }
            let mut w = vec![0.0; layout.n];
            layout.write(&moved, &mut vec![0.0; layout.n], &mut w);
            let c = DVector::from_fn(rows.n_rows, |i, _| {
                let row = &jac[i * width..][..width];
                row.chunks(6)
                    .zip(&rows.bodies)
                    .map(|(row, body)| {
                        let twist = &twists[body.index()];
                        Vec3::from_row_slice(&row[..3]).dot(&twist.s_dot)
                            + Vec3::from_row_slice(&row[3..]).dot(&twist.omega)
                    })
                    .sum()
            });
            let g = DVector::from_fn(rows.n_rows, |i, _| {
                let mut gradient = vec![0.0; layout.n];
                own[i].g.add_gradient(&p, &mut gradient);
                gradient.iter().zip(&w).map(|(g, w)| g * w).sum()
            });
            (c, g)
        };
        let mut anyhow = || -> Vec<Twist> {
            model
                .bodies
                .iter()
                .map(|body| {
                    if body.fixed {
                        Twist::zero()
                    } else {
                        Twist { s_dot: numbers.vector(), omega: numbers.vector() }
                    }
                })
                .collect()
        };
        let first: Vec<_> = (0..rows.n_rows).map(|_| rates(&anyhow())).collect();
        let c = DMatrix::from_columns(&first.iter().map(|f| f.0.clone()).collect::<Vec<_>>());
        let g = DMatrix::from_columns(&first.iter().map(|f| f.1.clone()).collect::<Vec<_>>());
        let a: DMatrix<f64> = g * c.try_inverse().expect("independent directions");
        assert!(a.determinant().abs() > 1e-6, "{name}: no slope, {a}");
        for _ in 0..5 {
            let (c, g) = rates(&anyhow());
            let off = (&a * &c - &g).amax();
            assert!(off < 1e-9 * (1.0 + g.amax()), "{name} at {t}: G is off by {off:e}");
        }
        let mut bend = vec![0.0; layout.n];
        for place in layout.places.iter().filter(|place| place.rigid) {
            let omega = twists[place.body].omega.cross_matrix();
            let turn: Mat3 = omega * omega * poses[place.body].rot;
            bend[place.first + 3..place.first + 12].copy_from_slice(turn.as_slice());
        }
        let gamma = &a * DVector::from_vec(gamma);
        for (i, condition) in own.iter().enumerate() {
            let value = condition.g.value(&p);
            assert!(value.abs() < 1e-10, "{name} at {t}: g is {value:e}");
            let mut gradient = vec![0.0; layout.n];
            condition.g.add_gradient(&p, &mut gradient);
            let along: f64 = gradient.iter().zip(&bend).map(|(g, w)| g * w).sum();
            let found = along + condition.g.second(&p, &v, &v);
            let off = (found + gamma[i]).abs();
            assert!(off < 1e-8 * (1.0 + gamma[i].abs()), "{name} at {t}: γ is off by {off:e}");
        }
    }
}

/// A swinging board, on which a bead goes.
fn board(track: &str, start: &str) -> String {
    format!(
        r#"
        [parameters]
        k = 0.3
        [[body]]
        name = "board"
        mass = 2
        inertia = [0.2, 0.3, 0.4]
        position = [0.2, 0.1, -0.3]
        rotation = {{ axis = [1, 2, 3], angle_deg = 40 }}
        angular_velocity = [0.2, 0.4, -0.3]
        [[joint]]
        name = "pivot"
        type = "ball"
        between = ["world", "board"]
        point = [0, 0, 0]
        [[body]]
        name = "bead"
        mass = 1
        inertia = [0.01, 0.02, 0.03]
        angular_velocity = [0, 1, 0]
        [[joint]]
        name = "track"
        {track}
        between = ["board", "bead"]
        anchors = [[0, 0, 0], [0.1, 0, 0.05]]
        [[start]]
        body = "bead"
        position = {start}
        "#
    )
}

/// The bead's file frame so that its anchor is at a place on the board.
fn on_board(x: [f64; 3]) -> String {
    let turn = nalgebra::Rotation3::from_axis_angle(
        &nalgebra::Unit::new_normalize(Vec3::new(1.0, 2.0, 3.0)),
        40f64.to_radians(),
    );
    let at = Vec3::new(0.2, 0.1, -0.3) + turn * Vec3::from(x) - Vec3::new(0.1, 0.0, 0.05);
    format!("[{:?}, {:?}, {:?}]", at.x, at.y, at.z)
}

#[test]
fn surfaces_by_polynomials() {
    for (surface, place, degree) in [
        ("x^2 + y^2/4 + z^2 = 1", [0.6, 0.0, 0.8], 4),
        ("z = k*x^2 - x*y", [1.0, 0.5, -0.2], 4),
        ("x^3 - 3*x*y^2 = z*k", [0.5, 0.2, 0.065 / 0.3], 6),
    ] {
        let track = format!("type = \"surface\"\nsurface = \"{surface}\"");
        compare(&load(&board(&track, &on_board(place))), "track", degree);
    }
}

#[test]
fn curves_by_polynomials() {
    for (formula, place, degree) in [
        (["u", "k*u^2", "u^3 - u"], [0.5, 0.075, -0.375], 6),
        (["0.4*u^2", "2*u - 1", "1"], [0.1, 0.0, 1.0], 4),
        // The nodal cubic, off its crossing.
        (["u^2 - 1", "u^3 - u", "0"], [1.25, 1.875, 0.0], 6),
        // In space, no coordinate linear in u.
        (["u^2", "u^3 - u", "u^3 + k*u^2"], [2.25, 1.875, 4.05], 6),
    ] {
        let track =
            format!("type = \"curve\"\ncurve = {{ formula = {formula:?}, range = [-3, 3] }}");
        compare(&load(&board(&track, &on_board(place))), "track", degree);
    }
}

/// Two hinged rods and two carts, coupled.
fn coupled(gear: &str) -> String {
    format!(
        r#"
        [[body]]
        name = "one"
        mass = 1
        inertia = [0.1, 0.1, 0.02]
        position = [0.3, 0, -0.4]
        [[joint]]
        name = "a"
        type = "hinge"
        between = ["world", "one"]
        point = [0, 0, 0]
        axis = [0, 1, 0.2]
        drawn_at = 0.3
        [[body]]
        name = "two"
        mass = 2
        inertia = [0.2, 0.1, 0.3]
        position = [1, 0.2, 0.1]
        [[joint]]
        name = "b"
        type = "hinge"
        between = ["one", "two"]
        point = [0.7, 0, 0]
        axis = [0, 1, 0]
        drawn_at = -0.2
        [[body]]
        name = "cart"
        mass = 1
        inertia = [0.1, 0.1, 0.1]
        position = [0, 1, 0]
        [[joint]]
        name = "c"
        type = "slider"
        between = ["world", "cart"]
        point = [0, 1, 0]
        axis = [1, 0, -1]
        [[body]]
        name = "trolley"
        mass = 3
        inertia = [0.1, 0.2, 0.1]
        position = [0, 2, 0]
        [[joint]]
        name = "d"
        type = "cylindrical"
        between = ["cart", "trolley"]
        point = [0, 2, 0]
        axis = [0.1, 0, 1]
        [[gear]]
        name = "gear"
        {gear}
        "#
    )
}

#[test]
fn couplings_by_fractions_and_of_lengths() {
    for (gear, degree) in [
        ("joints = [\"a\", \"b\"]\nratio = -1", 3),
        ("joints = [\"a\", \"b\"]\nratio = 2", 5),
        ("joints = [\"b\", \"a\"]\nratio = 1.5", 7),
        ("joints = [\"c\", \"d\"]\ncoordinates = [\"position\", \"position\"]\nratio = 0.3717", 2),
        (
            "joints = [\"a\", \"b\", \"d\"]\ncoordinates = [\"angle\", \"angle\", \"angle\"]\nratios = [1, 1, -1]",
            5,
        ),
    ] {
        compare(&load(&coupled(gear)), "gear", degree);
    }
}

/// What is no polynomial, with the words that say why.
#[test]
fn what_is_none_is_named() {
    let of = |text: &str, name: &str| -> String {
        let model = load(text);
        let block = model.rows.iter().position(|b| b.name == name).expect("the block");
        let found = conditions(&model, &model.start);
        assert!(!found.list.iter().any(|c| c.block == Some(block)), "{name}");
        found.left_out.into_iter().find(|(k, _)| *k == block).expect("left out").1
    };
    let cases = [
        (
            coupled("joints = [\"a\", \"b\"]\nratio = 1.4142135"),
            "gear",
            ["coupling `gear`", "fraction"],
        ),
        (
            coupled("joints = [\"a\", \"c\"]\nratio = 2"),
            "gear",
            ["coupling `gear`", "an angle with a length"],
        ),
        (coupled("joints = [\"a\", \"b\"]\nratio = 11"), "gear", ["coupling `gear`", "factors"]),
        (
            board(
                "type = \"curve\"\ncurve = { formula = [\"cos(u)\", \"sin(u)\", \"0\"], range = [0, \"2*pi\"] }",
                &on_board([1.0, 0.0, 0.0]),
            ),
            "track",
            ["joint `track`", "no polynomial in u"],
        ),
        (
            board(
                "type = \"curve\"\ncurve = { points = [[0, 0, 0], [1, 0, 0], [2, 1, 0]] }",
                &on_board([1.0, 0.0, 0.0]),
            ),
            "track",
            ["joint `track`", "spline"],
        ),
        (
            board("type = \"surface\"\nsurface = \"z = sin(x)\"", &on_board([0.0; 3])),
            "track",
            ["joint `track`", "no polynomial in x, y, z"],
        ),
        (
            board("type = \"screw\"\npitch = 0.1\naxis = [0, 0, 1]", &on_board([0.0; 3]))
                .replace(
                    "anchors = [[0, 0, 0], [0.1, 0, 0.05]]",
                    "anchors = [[0, 0, 0], [0, 0, 0]]",
                )
                .replace("[[start]]\n        body = \"bead\"\n        position", "#"),
            "track",
            ["joint `track`", "screw"],
        ),
    ];
    for (text, name, words) in cases {
        let text = if text.contains("screw") {
            text.replace(
                "name = \"bead\"",
                "name = \"bead\"\n        position = [0.2, 0.1, -0.3]\n        rotation = { axis = [1, 2, 3], angle_deg = 40 }",
            )
        } else {
            text
        };
        let reason = of(&text, name);
        for word in words {
            assert!(reason.contains(word), "{reason}");
        }
    }
}
