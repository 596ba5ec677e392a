//! Two solvers, one motion.

mod common;

use common::{eight_loop, hinge, rod, settings};
use gelenk_impulse::Simulation;
use gelenk_model::math::Vec3;
use gelenk_model::{BodyId, Builder, Model, RunSettings};

fn distance_after(model: &Model, settings: &RunSettings, steps: usize) -> f64 {
    let direct = RunSettings { solver: "direct".to_owned(), ..settings.clone() };
    let mut one = Simulation::new(model, settings).expect("starts");
    let mut two = Simulation::new(model, &direct).expect("starts");
    for _ in 0..steps {
        one.step().expect("iterative step");
        two.step().expect("direct step");
    }
    one.state().s.iter().zip(&two.state().s).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

/// A chain of n rods, held at one end, let go from the horizontal.
fn hanging(n: u32) -> Model {
    let mut builder = Builder::new("chain");
    let mut last = BodyId::WORLD;
    for i in 0..n {
        let at = |k: u32| Vec3::new(0.4 * f64::from(k), 0.0, 0.0);
        let body = rod(&mut builder, &format!("rod {i}"), at(i), at(i + 1));
        common::ball(&mut builder, &format!("joint {i}"), last, body, at(i));
        last = body;
    }
    builder.finish()
}

#[test]
fn loop_of_ball_joints() {
    let distance = distance_after(&eight_loop(), &settings(0.005, 1e-12), 100);
    assert!(distance < 1e-8, "{distance:e}");
}

#[test]
fn hanging_chain() {
    let model = hanging(6);
    let distance = distance_after(&model, &settings(0.005, 1e-12), 100);
    assert!(distance < 1e-8, "{distance:e}");
}

/// Hinges and balls mixed in a loop with redundant rows: four hinges with parallel axes.
#[test]
fn four_bar_with_redundant_rows() {
    let mut builder = Builder::new("four-bar");
    let p = [
        Vec3::new(0.0, 0.0, 0.0),
        Vec3::new(0.0, 0.0, 0.4),
        Vec3::new(1.0, 0.0, 0.9),
        Vec3::new(1.1, 0.0, 0.0),
    ];
    let bodies: Vec<BodyId> = (0..3)
        .map(|i| {
            let length = (p[i + 1] - p[i]).norm();
            let mut def = gelenk_model::BodyDef::new(
                &format!("bar {i}"),
                1.0,
                gelenk_model::math::Mat3::from_diagonal(&Vec3::new(
                    0.01,
                    length * length / 12.0,
                    length * length / 12.0,
                )),
            )
            .at((p[i] + p[i + 1]) / 2.0);
            def.rotation =
                gelenk_model::math::Quat::rotation_between(&Vec3::x(), &(p[i + 1] - p[i]))
                    .expect("not opposite");
            builder.body(&def)
        })
        .collect();
    let y = Vec3::y();
    hinge(&mut builder, "A", BodyId::WORLD, bodies[0], p[0], y);
    hinge(&mut builder, "B", bodies[0], bodies[1], p[1], y);
    hinge(&mut builder, "C", bodies[1], bodies[2], p[2], y);
    hinge(&mut builder, "D", BodyId::WORLD, bodies[2], p[3], y);
    let distance = distance_after(&builder.finish(), &settings(0.005, 1e-11), 200);
    assert!(distance < 1e-7, "{distance:e}");
}

/// Gives link i of a model factor(i) times its mass and inertia.
fn weigh(model: &mut Model, factor: impl Fn(usize) -> f64) {
    for (i, body) in model.bodies.iter_mut().enumerate().skip(1) {
        let factor = factor(i);
        body.mass *= factor;
        body.inertia *= factor;
        body.mass_inv /= factor;
        body.inertia_inv /= factor;
    }
}

/// Chains whose links differ in mass by a million meet the tolerance with both solvers: a heavy last link, and heavy and light ones in
/// turn.
#[test]
fn mass_ratio_of_a_million() {
    let heavy_last = |i: usize| if i == 6 { 1e6 } else { 1.0 };
    let in_turn = |i: usize| if i.is_multiple_of(2) { 1e6 } else { 1.0 };
    for factor in [&heavy_last as &dyn Fn(usize) -> f64, &in_turn] {
        let mut model = hanging(6);
        weigh(&mut model, factor);
        for (solver, steps) in [("direct", 500), ("sweep-accelerated", 50)] {
            let settings = RunSettings { solver: solver.to_owned(), ..settings(0.002, 1e-9) };
            let mut simulation = Simulation::new(&model, &settings).expect("starts");
            for _ in 0..steps {
                simulation.step().unwrap_or_else(|failure| panic!("{solver}: {failure:?}"));
            }
            assert!(simulation.worst_gaps().iter().all(|&gap| gap <= 1e-9));
            let (kinetic, error) = (simulation.ledger().kinetic, simulation.energy_errors().1);
            assert!(error < 1e-3 * kinetic, "{solver}: {error} J of {kinetic} J");
        }
    }
}

/// A door at rest on two equal hinges: ten rows where five would do. Each hinge carries half of the weight, and the couple that holds
/// the door's overhang is the same whichever of them is called first.
#[test]
fn redundant_hinges_share_the_load() {
    let mass = 10.0;
    let model = |heights: [f64; 2]| {
        let mut builder = Builder::new("door");
        let inertia = gelenk_model::math::Mat3::from_diagonal(&Vec3::new(3.0, 4.0, 1.0));
        let def = gelenk_model::BodyDef::new("door", mass, inertia).at(Vec3::new(0.5, 0.0, 0.0));
        let door = builder.body(&def);
        for (name, height) in ["one", "two"].iter().zip(heights) {
            let point = Vec3::new(0.0, 0.0, height);
            hinge(&mut builder, name, BodyId::WORLD, door, point, Vec3::z());
        }
        builder.finish()
    };
    let forces = [[0.6, -0.6], [-0.6, 0.6]].map(|heights| {
        let settings = RunSettings { solver: "direct".to_owned(), ..settings(0.01, 1e-10) };
        let model = model(heights);
        let mut simulation = Simulation::new(&model, &settings).expect("starts");
        for _ in 0..3 {
            simulation.step().expect("steps");
        }
        assert!(simulation.state().omega[1].norm() < 1e-12, "it stays at rest");
        let [one, two] = simulation.reactions() else { panic!("two joints") };
        let weight = mass * 9.81;
        for reaction in [one, two] {
            assert!((reaction.force.z - weight / 2.0).abs() < 1e-5 * weight, "{reaction:?}");
        }
        // Moments about the origin hold the weight at x = 0.5.
        let moment =
            one.torque.y + two.torque.y + heights[0] * one.force.x + heights[1] * two.force.x;
        assert!((moment.abs() - 0.5 * weight).abs() < 1e-6 * weight, "{moment}");
        (one.force, two.force, one.torque, two.torque)
    });
    let [(one, two, torque_one, torque_two), (two_other, one_other, ..)] = forces;
    assert!((one - one_other).norm() < 1e-4 && (two - two_other).norm() < 1e-4, "{forces:?}");
    assert!((torque_one - torque_two).norm() < 1e-4, "{torque_one} {torque_two}");
}

/// Chains of thin rods that spin about their axes, of balls, of cylinders and of bricks, whose joints lie off every axis: each shape turns in its
/// own way in free flight, and sweeps know the first two by heart.
#[test]
fn links_of_every_shape() {
    let shapes = [
        [Vec3::new(0.0, 0.02, 0.02); 4],
        [Vec3::new(0.01, 0.01, 0.01); 4],
        [Vec3::new(0.005, 0.02, 0.02); 4],
        [Vec3::new(0.01, 0.02, 0.025); 4],
        [
            Vec3::new(0.0, 0.02, 0.02),
            Vec3::new(0.01, 0.01, 0.01),
            Vec3::new(0.005, 0.02, 0.02),
            Vec3::new(0.01, 0.02, 0.025),
        ],
    ];
    for (case, moments) in shapes.iter().enumerate() {
        let mut builder = Builder::new("links");
        let (mut last, mut point) = (BodyId::WORLD, Vec3::zeros());
        for (i, moments) in (0_u32..).zip(moments) {
            let inertia = gelenk_model::math::Mat3::from_diagonal(moments);
            let next = point + Vec3::new(0.4, 0.1, if i % 2 == 0 { 0.05 } else { -0.1 });
            let centre = (point + next) / 2.0 + Vec3::new(0.0, 0.05, 0.03);
            let mut def = gelenk_model::BodyDef::new(&format!("link {i}"), 1.0, inertia).at(centre);
            def.angular_velocity = Vec3::new(3.0, 0.5, -0.4);
            let body = builder.body(&def);
            common::ball(&mut builder, &format!("joint {i}"), last, body, point);
            (last, point) = (body, next);
        }
        let model = builder.finish();
        let distance = distance_after(&model, &settings(0.005, 1e-12), 60);
        assert!(distance < 1e-8, "case {case}: {distance:e}");
        let plain =
            RunSettings { flight: gelenk_model::Flight::Taylor(4), ..settings(0.005, 1e-12) };
        let distance = distance_after(&model, &plain, 60);
        assert!(distance < 1e-8, "case {case} by series: {distance:e}");
    }
}

/// Two rods held together at two places, which holds one direction twice: sweeps must not let the two joints pull against each other until
/// nothing is left of the velocities.
#[test]
fn two_joints_between_two_rods() {
    let mut builder = Builder::new("twice");
    let points = [0.0, 1.0, 2.0].map(|x| Vec3::new(x, 0.0, 0.0));
    let bodies = [0, 1].map(|i| {
        let centre = (points[i] + points[i + 1]) / 2.0;
        // Not thin: in line, thin rods have no inertia that could turn one about the other.
        let inertia =
            gelenk_model::math::Mat3::from_diagonal(&Vec3::new(0.01, 1.0 / 12.0, 1.0 / 12.0));
        let mut def = gelenk_model::BodyDef::new(&format!("rod {i}"), 1.0, inertia).at(centre);
        def.angular_velocity = Vec3::new(0.0, 3.0, 1.0);
        builder.body(&def)
    });
    common::ball(&mut builder, "hung", BodyId::WORLD, bodies[0], points[0]);
    common::ball(&mut builder, "one", bodies[0], bodies[1], points[1]);
    common::ball(&mut builder, "other", bodies[0], bodies[1], Vec3::new(1.0, 0.2, 0.0));
    let model = builder.finish();
    // Energy is off by the error of the method alone, which falls with h²: nothing is lost in the direction that is held twice.
    let errors = [(0.01, 50), (0.002, 250)].map(|(h, steps)| {
        let mut swept = Simulation::new(&model, &settings(h, 1e-9)).expect("starts");
        for step in 0..steps {
            swept.step().expect("a step");
            let gaps = swept.worst_gaps();
            assert!(gaps.iter().all(|gap| *gap <= 1e-9), "step {step}: {gaps:?}");
        }
        swept.ledger().integrator_error().abs() / swept.ledger().initial.abs()
    });
    assert!(errors[1] < 2e-3 && errors[0] / errors[1] > 20.0, "{errors:?}");
}

/// The plain sweep is the accelerated one until it is slow, and its earlier name still reads.
#[test]
fn sweeps_by_name() {
    let model = common::scene("eight-loop");
    let run = |solver: &str, tolerance: f64| {
        let settings = RunSettings {
            solver: solver.to_owned(),
            step: 0.01,
            tolerance,
            ..RunSettings::default()
        };
        let mut simulation = Simulation::new(&model, &settings).expect("starts");
        for _ in 0..30 {
            simulation.step().expect("a step");
        }
        (simulation.totals().corrections, simulation.state().s.clone())
    };
    let plain = run("sweep", 1e-3);
    assert!(plain.0 >= 30 * 9, "{}", plain.0);
    assert_eq!(plain, run("iterative", 1e-3));
    let (count, places) = run("sweep-accelerated", 1e-3);
    assert_eq!(plain.0, count);
    let apart = plain.1.iter().zip(&places).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    assert!(apart < 1e-8, "{apart:e}");
    // Where it is slow, acceleration saves sweeps.
    let (slow, fast) = (run("sweep", 1e-10).0, run("sweep-accelerated", 1e-10).0);
    assert!(fast < slow, "{fast} {slow}");
}
