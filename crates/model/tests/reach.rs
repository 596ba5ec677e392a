//! Inverse kinematics of an arm with six axes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;

use gelenk_model::math::{Quat, Vec3};
use gelenk_model::posing::{CoordinateStart, begin_joints};
use gelenk_model::reach::{ReachError, ReachOptions, Target, reach};
use gelenk_model::{BodyId, JointId, LoadOptions, Model, load_text};

/// An arm like those of factories: turning base, shoulder, elbow, and a wrist of three axes that meet.
fn arm() -> Model {
    let mut text = String::new();
    // Name, joint at, axis, tip, limits in degrees.
    let links = [
        ("base", [0.0, 0.0, 0.0], "z", [0.0, 0.0, 0.4], 170),
        ("upper", [0.05, 0.0, 0.4], "y", [0.05, 0.0, 0.85], 120),
        ("fore", [0.05, 0.0, 0.85], "y", [0.45, 0.0, 0.9], 150),
        ("roll", [0.45, 0.0, 0.9], "x", [0.5, 0.0, 0.9], 170),
        ("pitch", [0.5, 0.0, 0.9], "y", [0.55, 0.0, 0.9], 120),
        ("hand", [0.5, 0.0, 0.9], "x", [0.6, 0.0, 0.9], 170),
    ];
    let mut before = "world";
    for (name, at, axis, tip, most) in links {
        write!(
            text,
            "[[body]]\nname = \"{name}\"\nmass = 1\nends = [{at:?}, {tip:?}]\nshape = {{ capsule = {{ radius = 0.02 }} }}\n\
             [[joint]]\nname = \"j_{name}\"\ntype = \"hinge\"\nbetween = [\"{before}\", \"{name}\"]\npoint = {at:?}\naxis = \"{axis}\"\n\
             limits = {{ min_deg = -{most}, max_deg = {most} }}\n"
        )
        .unwrap();
        before = name;
    }
    text.push_str("[[marker]]\nname = \"tip\"\nbody = \"hand\"\nposition = [0, 0, 0.05]\n");
    load_text("arm", &text, &LoadOptions::default()).unwrap_or_else(|f| panic!("{f}")).model
}

fn posed(model: &Model, angles: &[f64]) -> Model {
    let mut model = model.clone();
    let wanted: Vec<CoordinateStart> = (0..)
        .zip(angles)
        .map(|(i, &value)| CoordinateStart {
            axis: gelenk_model::force::JointAxis { joint: JointId(i), which: 0 },
            value: Some(value),
            rate: None,
        })
        .collect();
    begin_joints(&mut model, &wanted).unwrap();
    model
}

fn spot(model: &Model) -> (Vec3, Quat) {
    let marker = &model.markers[0].vector;
    let i = marker.body.index();
    (
        model.start.pose(marker.body).point(&marker.local),
        model.start.rot[i] * model.bodies[i].frame_rot,
    )
}

#[test]
fn a_thousand_reachable_poses_are_reached_within_the_end_stops() {
    let model = arm();
    let mut seed = 7_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut rounds = 0;
    for k in 0..1000 {
        let angles: Vec<f64> = model
            .joints
            .iter()
            .map(|joint| {
                let limit = joint.properties.limits[0];
                limit.min + (limit.max - limit.min) * random()
            })
            .collect();
        let (position, rotation) = spot(&posed(&model, &angles));
        let target = Target { point: model.markers[0].vector, position, rotation: Some(rotation) };
        let found = reach(&model, &target, &ReachOptions::default()).unwrap();
        assert!(found.there, "{k}: {} m, {} rad", found.distance, found.angle);
        // As the model itself sees it.
        let values: Vec<f64> = found.coordinates.iter().map(|(_, value)| *value).collect();
        let (at, turned) = spot(&posed(&model, &values));
        assert!((at - position).norm() < 2e-9 && turned.angle_to(&rotation) < 2e-8, "{k}");
        for (joint, value) in model.joints.iter().zip(&values) {
            let limit = joint.properties.limits[0];
            assert!(*value >= limit.min && *value <= limit.max, "{k}: {} {value}", joint.name);
        }
        rounds += found.rounds;
    }
    assert!(rounds < 200_000, "{rounds}");
}

#[test]
fn what_cannot_be_reached_is_refused_at_the_nearest_place() {
    let model = arm();
    let options = ReachOptions { attempts: 10, ..ReachOptions::default() };
    // Stretched, the tip is 0.45 + 0.4031... + 0.15 from the shoulder at most, whose axis is 0.05 from the first.
    for far in [Vec3::new(3.0, 0.0, 0.4), Vec3::new(0.0, -2.0, 1.5), Vec3::new(0.3, 0.3, 2.5)] {
        let target = Target { point: model.markers[0].vector, position: far, rotation: None };
        let found = reach(&model, &target, &options).unwrap();
        assert!(!found.there);
        let most = 0.45 + 0.4_f64.hypot(0.05) + 0.15 + 0.05;
        let least = (far - Vec3::new(0.0, 0.0, 0.4)).norm() - most;
        assert!(
            found.distance > least && found.distance < least + 0.12,
            "{} {least}",
            found.distance
        );
    }
    // A point on the first axis does not move with it, and a place beside it is out of reach.
    let target = Target {
        point: gelenk_model::signal::BodyVector {
            body: BodyId(1),
            local: model.bodies[1].frame_origin,
            is_point: true,
        },
        position: Vec3::new(0.1, 0.0, 0.2),
        rotation: None,
    };
    let found = reach(&model, &target, &options).unwrap();
    assert!(!found.there && (found.distance - 0.1).abs() < 1e-9, "{}", found.distance);
}

#[test]
fn the_same_question_has_the_same_answer() {
    let model = arm();
    let target = Target {
        point: model.markers[0].vector,
        position: Vec3::new(0.3, 0.4, 0.5),
        rotation: None,
    };
    let once = reach(&model, &target, &ReachOptions::default()).unwrap();
    assert!(once.there && once == reach(&model, &target, &ReachOptions::default()).unwrap());
    let still = Target {
        point: gelenk_model::signal::BodyVector { body: BodyId::WORLD, ..target.point },
        ..target
    };
    assert_eq!(reach(&model, &still, &ReachOptions::default()).unwrap_err(), ReachError::Still);
}
