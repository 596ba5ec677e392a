//! Point-mass systems: the paper's functions against the engine, against exact series, and their orders.

use gelenk_impulse::Simulation;
use gelenk_impulse::points::{
    PointState, PointSystem, RANK_TOLERANCE, correct_velocities, from_model, impulse_step,
    independent, newton_step, taylor_series, taylor_step,
};
use gelenk_model::math::{Quat, Vec3};
use gelenk_model::{LoadOptions, Model, RunSettings, load_text};
use proptest::prelude::*;

fn scene(name: &str) -> Model {
    load(gelenk_scenes::scene(name).expect("a scene").text)
}

fn load(text: &str) -> Model {
    load_text("points", text, &LoadOptions::default()).expect("a good model").model
}

/// A spatial double pendulum of point masses whose lower mass also runs on a surface of fourth degree.
const BOWL: &str = r#"
[[point]]
name = "a"
mass = 2
position = [0.6, 0, -0.8]
velocity = [0, 1.5, 0]

[[point]]
name = "b"
mass = 0.7
position = [0.6, 0.9, -1.2]

[[joint]]
name = "upper"
type = "distance"
between = ["world", "a"]
points = [[0, 0, 0], [0.6, 0, -0.8]]

[[joint]]
name = "lower"
type = "distance"
between = ["a", "b"]

[[constraint]]
name = "bowl"
equation = "b.x^4 + b.y^4 + 2*b.z^2 + b.x*b.y*b.z = 0.6^4 + 0.9^4 + 2*1.2^2 - 0.6*0.9*1.2"
"#;

/// Three masses in space on rods, without fixed points in between.
fn chain() -> (PointSystem, PointState) {
    let mut system = PointSystem::new(Vec3::new(0.0, 0.0, -9.81));
    let places = [[0.0, 0.0, 0.0], [0.8, 0.0, -0.6], [0.8, 1.0, -0.6], [0.8, 1.6, -1.4]];
    system.point("hook", None);
    for (k, mass) in [1.0, 2.0, 0.5].into_iter().enumerate() {
        system.point(&format!("p{k}"), Some(mass));
        system.distance(&format!("rod{k}"), k, k + 1, 1.0).expect("a rod");
    }
    let p: Vec<Vec3> = places.map(Vec3::from).to_vec();
    let mut p_dot = vec![Vec3::zeros(); 4];
    p_dot[3] = Vec3::new(1.0, 0.4, -0.7);
    let mut state = PointState { t: 0.0, p, p_dot };
    let set = independent(&system, &state, RANK_TOLERANCE);
    correct_velocities(&system, &mut state, &set).expect("regular");
    (system, state)
}

#[test]
fn the_velocity_correction_is_the_papers_equation() {
    // Two rods hook-a-b: M of (4.9) by hand, X, and the impulses ±A x on the masses.
    let (system, mut state) = chain();
    let set = independent(&system, &state, RANK_TOLERANCE);
    assert_eq!((set.kept.len(), set.removed.len()), (3, 0));
    let before =
        [Vec3::zeros(), Vec3::new(0.3, 1.0, 0.2), Vec3::new(-1.0, 2.0, 0.5), Vec3::zeros()];
    state.p_dot.copy_from_slice(&before);
    correct_velocities(&system, &mut state, &set).expect("regular");
    let a: Vec<Vec3> = (0..3).map(|k| state.p[k + 1] - state.p[k]).collect();
    let m_inv = [0.0, 1.0, 0.5, 2.0];
    let mut matrix = nalgebra::Matrix3::zeros();
    for r in 0..3 {
        // M[r, r] = −(1/m_j + 1/m_i) d², and neighbours: j_r = i_s gives +(1/m_j) A_r·A_s.
        matrix[(r, r)] = -(m_inv[r + 1] + m_inv[r]);
        if r < 2 {
            matrix[(r, r + 1)] = m_inv[r + 1] * a[r].dot(&a[r + 1]);
            matrix[(r + 1, r)] = matrix[(r, r + 1)];
        }
    }
    let b = Vec3::from_fn(|r, _| -a[r].dot(&(before[r + 1] - before[r])));
    let x = matrix.lu().solve(&b).expect("regular");
    for r in 0..3 {
        let next = if r < 2 { a[r + 1] * x[r + 1] } else { Vec3::zeros() };
        let expected = before[r + 1] + (next - a[r] * x[r]) * m_inv[r + 1];
        assert!((state.p_dot[r + 1] - expected).norm() < 1e-14);
        assert!(a[r].dot(&(state.p_dot[r + 1] - state.p_dot[r])).abs() < 1e-14);
    }
}

/// The engine's direct solver and the paper's functions solve the same equations.
#[test]
fn the_engine_gives_the_same_motion() {
    for (model, h, steps) in
        [(scene("pendulum"), 0.01, 300), (scene("cuboid"), 0.005, 200), (load(BOWL), 0.005, 300)]
    {
        let settings = RunSettings {
            step: h,
            tolerance: 1e-13,
            velocity_tolerance: 1e-12,
            solver: "direct".to_owned(),
            ..RunSettings::default()
        };
        let mut simulation = Simulation::new(&model, &settings).expect("a good start");
        let (system, mut state) = from_model(&model).expect("points");
        let mut set = independent(&system, &state, RANK_TOLERANCE);
        correct_velocities(&system, &mut state, &set).expect("regular");
        for _ in 0..steps {
            simulation.step().expect("it runs");
            let solves = impulse_step(&system, &mut state, &mut set, h, 1e-13).expect("it runs");
            assert!(solves <= 5, "{solves} solves");
        }
        let engine = simulation.state();
        for k in 1..model.n_bodies() {
            let apart = (engine.s[k] - state.p[k]).norm();
            assert!(apart < 2e-11, "{}: {apart:.1e} m", model.bodies[k].name);
            assert!((engine.s_dot[k] - state.p_dot[k]).norm() < 1e-9);
        }
    }
}

/// Without the distances that `check` names the cuboid moves as with all of them.
#[test]
fn the_removable_distances_change_no_motion() {
    let whole = scene("cuboid");
    let named = gelenk_model::check(&whole, &gelenk_model::CheckOptions::default()).redundant;
    assert_eq!(named.len(), 10);
    let text = gelenk_scenes::scene("cuboid").expect("a scene").text;
    let mut blocks: Vec<&str> = text.split("\n\n").collect();
    blocks.retain(|block| !named.iter().any(|row| block.contains(&format!("\"{}\"", row.element))));
    let rest = load(&blocks.join("\n\n"));
    assert_eq!((whole.joints.len(), rest.joints.len()), (28, 18));
    let settings = RunSettings { step: 0.005, tolerance: 1e-12, ..RunSettings::default() };
    let ends = [&whole, &rest].map(|model| {
        let mut simulation = Simulation::new(model, &settings).expect("a good start");
        (0..200).for_each(|_| simulation.step().expect("it runs"));
        simulation.state().s.clone()
    });
    for (a, b) in ends[0].iter().zip(&ends[1]) {
        assert!((a - b).norm() < 1e-9, "{:.1e}", (a - b).norm());
    }
}

/// Positions do not depend on the velocity correction, as the paper says of its step (section 5 starts from any state).
#[test]
fn a_step_starts_from_any_velocities() {
    let (system, start) = chain();
    let set = independent(&system, &start, RANK_TOLERANCE);
    let (mut clean, mut pushed) = (start.clone(), start);
    // An impulse along a rod changes nothing that a step does.
    let along = pushed.p[2] - pushed.p[1];
    pushed.p_dot[1] += along * 0.3;
    pushed.p_dot[2] -= along * 0.15;
    newton_step(&system, &mut clean, &set, 0.01, 1e-14).expect("it runs");
    newton_step(&system, &mut pushed, &set, 0.01, 1e-14).expect("it runs");
    for (a, b) in clean.p.iter().zip(&pushed.p) {
        assert!((a - b).norm() < 1e-13);
    }
}

#[test]
fn taylor_coefficients_of_a_circle_are_exact() {
    // Without gravity a mass on a rod turns evenly: P = (cos ωt, sin ωt), tension −λ = ω².
    let omega = 1.7;
    for equation in [false, true] {
        let mut system = PointSystem::new(Vec3::zeros());
        system.point("hook", None);
        system.point("p", Some(3.0));
        if equation {
            system.equation("circle", "(p.x^2 + p.y^2 + p.z^2)/2 = 1/2").expect("an equation");
        } else {
            system.distance("rod", 0, 1, 1.0).expect("a rod");
        }
        let p = vec![Vec3::zeros(), Vec3::x()];
        let state = PointState { t: 0.0, p, p_dot: vec![Vec3::zeros(), Vec3::y() * omega] };
        let set = independent(&system, &state, RANK_TOLERANCE);
        let series = taylor_series(&system, &state, &set, 12).expect("regular");
        let mut exact = 1.0;
        for k in 0..14 {
            let (x, y) = match k % 4 {
                0 => (exact, 0.0),
                1 => (0.0, exact),
                2 => (-exact, 0.0),
                _ => (0.0, -exact),
            };
            assert!((series.p[k][1] - Vec3::new(x, y, 0.0)).norm() < 1e-14, "{k}");
            exact *= omega / (k + 1) as f64;
        }
        // F = −G λ: 3 kg · ω² towards the hook, and constant.
        assert!((series.lambda[0][0] - 3.0 * omega * omega).abs() < 1e-12);
        assert!(series.lambda[1..].iter().all(|lambda| lambda[0].abs() < 1e-12));
    }
}

#[test]
fn a_moving_wall_is_followed_exactly() {
    // A mass held at x = t² by an equation of time: P₂ = 1, nothing beyond.
    let mut system = PointSystem::new(Vec3::new(0.0, 0.0, -1.0));
    system.point("p", Some(2.0));
    system.equation("wall", "p.x = t^2").expect("an equation");
    let v = vec![Vec3::new(1.0, 0.0, 3.0)];
    let state = PointState { t: 0.5, p: vec![Vec3::new(0.25, 1.0, 0.0)], p_dot: v };
    let set = independent(&system, &state, RANK_TOLERANCE);
    let series = taylor_series(&system, &state, &set, 4).expect("regular");
    assert!((series.p[2][0] - Vec3::new(1.0, 0.0, -0.5)).norm() < 1e-15);
    assert!(series.p[3..].iter().all(|p| p[0].norm() < 1e-15));
}

/// The measured exponent of e(h) over the last halving.
fn slope(e: &[f64]) -> f64 {
    (e[e.len() - 2] / e[e.len() - 1]).log2()
}

#[test]
fn a_taylor_step_of_order_n_is_off_by_h_to_n_plus_1() {
    let model = load(BOWL);
    let systems = [chain(), from_model(&model).expect("points")];
    for (system, mut state) in systems {
        let set = independent(&system, &state, RANK_TOLERANCE);
        correct_velocities(&system, &mut state, &set).expect("regular");
        for n in 1..=6 {
            // Small enough to see the order, large enough to stay above rounding.
            let h = [0.001, 0.001, 0.001, 0.008, 0.02, 0.02][n - 1];
            let (mut velocity, mut position) = (Vec::new(), Vec::new());
            for h in [h, h / 2.0] {
                let (mut one, mut exact) = (state.clone(), state.clone());
                taylor_step(&system, &mut one, &set, n, h).expect("regular");
                taylor_step(&system, &mut exact, &set, n + 12, h).expect("regular");
                let apart = |a: &[Vec3], b: &[Vec3]| {
                    a.iter().zip(b).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
                };
                velocity.push(apart(&one.p_dot, &exact.p_dot));
                position.push(apart(&one.p, &exact.p));
            }
            let order = n as f64;
            assert!((slope(&velocity) - order - 1.0).abs() < 0.2, "order {n}: {velocity:?}");
            assert!((slope(&position) - order - 2.0).abs() < 0.2, "order {n}: {position:?}");
        }
    }
}

/// Runs to time `t` by the Taylor method (n > 0) or the impulse method (n = 0); the largest constraint errors on the way.
fn drift(
    system: &PointSystem,
    start: &PointState,
    n: usize,
    h: f64,
    t: f64,
) -> (PointState, Vec<f64>) {
    let mut state = start.clone();
    let mut set = independent(system, &state, RANK_TOLERANCE);
    let mut errors = Vec::new();
    while state.t < t - 0.5 * h {
        if n == 0 {
            impulse_step(system, &mut state, &mut set, h, 1e-12).expect("it runs");
        } else {
            taylor_step(system, &mut state, &set, n, h).expect("regular");
        }
        errors.push(system.worst_error(&state).0);
    }
    (state, errors)
}

#[test]
fn the_taylor_method_drifts_and_the_impulse_method_does_not() {
    let (system, start) = chain();
    for n in 1..=4 {
        let (_, errors) = drift(&system, &start, n, 0.005, 2.0);
        let quarter = errors.len() / 4;
        let largest =
            |from: usize| errors[from..from + quarter].iter().copied().fold(0.0, f64::max);
        let quarters = [0, 1, 2, 3].map(|q| largest(q * quarter));
        assert!(quarters.windows(2).all(|pair| pair[1] > pair[0]), "order {n}: {quarters:?}");
        assert!(quarters[3] > 3.0 * quarters[0], "order {n}: {quarters:?}");
        assert!(quarters[3] > 1e-9, "order {n}: {quarters:?}");
    }
    let (_, errors) = drift(&system, &start, 0, 0.005, 2.0);
    assert!(errors.iter().all(|error| *error <= 1e-12));
}

#[test]
fn runs_converge_with_their_order_and_to_one_motion() {
    let (system, start) = chain();
    let t = 0.4;
    let (exact, _) = drift(&system, &start, 14, 0.01, t);
    let error = |state: &PointState| {
        state.p.iter().zip(&exact.p).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
    };
    for (n, order) in [(0, 2.0), (1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0)] {
        let errors = [0.005, 0.0025].map(|h| error(&drift(&system, &start, n, h, t).0));
        assert!((slope(&errors) - order).abs() < 0.2, "method {n}: {errors:?}");
    }
}

#[test]
fn what_is_no_point_mass_is_named() {
    let error = from_model(&scene("heavy-top")).expect_err("a rigid body");
    assert_eq!(error.to_string(), "body `top` is a rigid body, not a point mass");
    let mut system = PointSystem::new(Vec3::zeros());
    system.point("p", Some(1.0));
    let error = system.equation("e", "q.x = 1").expect_err("no q");
    assert!(error.to_string().contains("`q.x`"), "{error}");
    assert!(system.distance("d", 0, 0, 1.0).is_err());
}

/// Rank of all distances between `places`, each its own pair.
fn all_distances(places: &[Vec3], masses: &[f64]) -> (PointSystem, PointState) {
    let mut system = PointSystem::new(Vec3::new(0.0, 0.0, -9.81));
    for (k, mass) in masses.iter().take(places.len()).enumerate() {
        system.point(&format!("p{k}"), Some(*mass));
    }
    for j in 0..places.len() {
        for i in 0..j {
            let d = (places[j] - places[i]).norm();
            system.distance(&format!("d{i}-{j}"), i, j, d).expect("apart");
        }
    }
    let omega = Vec3::new(0.7, -1.3, 0.9);
    let p_dot = places.iter().map(|p| omega.cross(p)).collect();
    (system, PointState { t: 0.0, p: places.to_vec(), p_dot })
}

fn place() -> impl Strategy<Value = Vec3> {
    [-1.0..1.0_f64, -1.0..1.0, -1.0..1.0].prop_map(Vec3::from)
}

fn far_apart(places: &[Vec3], least: f64) -> bool {
    (0..places.len()).all(|j| (0..j).all(|i| (places[j] - places[i]).norm() > least))
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    /// n points with all distances: rank 3n − 6 in space, 2n − 3 in a plane, n − 1 on a line; what stays is regular.
    #[test]
    fn clusters_have_the_rank_of_their_shape(
        places in prop::collection::vec(place(), 4..9),
        masses in prop::collection::vec(0.1..5.0_f64, 9),
        flat in 0..3_usize,
        turn in place(),
    ) {
        let n = places.len();
        let keep = Vec3::new(1.0, if flat > 1 { 0.0 } else { 1.0 }, if flat > 0 { 0.0 } else { 1.0 });
        let turn = Quat::from_scaled_axis(turn * 3.0);
        let places: Vec<Vec3> = places.iter().map(|p| turn * p.component_mul(&keep)).collect();
        prop_assume!(far_apart(&places, 0.05));
        let rank = [3 * n - 6, 2 * n - 3, n - 1][flat];
        let (system, mut state) = all_distances(&places, &masses);
        let mut set = independent(&system, &state, RANK_TOLERANCE);
        prop_assume!(set.smallest_kept > 1e-4); // nearly flat clusters are not decided
        prop_assert_eq!(set.kept.len(), rank);
        prop_assert_eq!(set.removed.len(), n * (n - 1) / 2 - rank);
        prop_assert!(set.largest_removed < 1e-12, "{:.1e}", set.largest_removed);
        // Arbitrary velocities become consistent with all constraints, the removed ones too.
        state.p_dot[0] += Vec3::new(1.0, 2.0, -3.0);
        correct_velocities(&system, &mut state, &set).expect("regular");
        for constraint in &system.constraints {
            let (gradient, _) = constraint.gradient(&state);
            let rate: f64 = gradient.iter().map(|(p, g)| g.dot(&state.p_dot[*p])).sum();
            prop_assert!(rate.abs() < 1e-8, "{}: {rate:.1e}", constraint.name);
        }
        // In space the cluster moves on as a rigid body with the regular system.
        if flat == 0 && set.smallest_kept > 1e-2 {
            for _ in 0..20 {
                impulse_step(&system, &mut state, &mut set, 0.005, 1e-10).expect("it runs");
            }
            prop_assert!(system.worst_error(&state).0 <= 1e-10);
        }
    }
}
