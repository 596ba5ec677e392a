//! A small mechanism and a closed-form motion for it, in place of an engine.

#![allow(dead_code, reason = "each test file uses its part")]

use std::ops::ControlFlow;

use gelenk::model::joint::{Ball, Hinge};
use gelenk::model::math::{Mat3, Quat, Vec3};
use gelenk::model::shape::{Geometry, Shape};
use gelenk::model::{
    BodyDef, BodyId, Builder, Event, JointId, JointKind, Ledger, Model, Observer, Reaction,
    RunFailure, RunReport, RunSettings, Sample, State,
};
use gelenk::recording::{Header, Override, SourceFile};

/// A rod hung on a hinge, a second one on a ball joint below it, and a lone point mass.
pub(crate) fn double_pendulum() -> Model {
    let mut builder = Builder::new("double pendulum");
    let rod = Shape::new(Geometry::Cylinder { radius: 0.03, length: 1.0 });
    let inertia = Mat3::from_diagonal(&Vec3::new(0.1, 0.1, 0.001));
    let mut add = |name: &str, z: f64| {
        let mut def = BodyDef::new(name, 1.0, inertia).at(Vec3::new(0.0, 0.0, z));
        def.center_of_mass = Vec3::new(0.0, 0.0, -0.5);
        let body = builder.body(&def);
        builder.shapes(body, vec![Shape { position: def.center_of_mass, ..rod.clone() }]);
        body
    };
    let (upper, lower) = (add("upper", 0.0), add("lower, \"last\"", -1.0));
    builder.point("bead", 0.2, Vec3::new(1.0, 0.0, -0.5), Vec3::zeros(), false);
    let [a, b] = builder.joint_frames([BodyId::WORLD, upper], &Vec3::zeros(), &Vec3::y());
    builder.joint("shoulder", [BodyId::WORLD, upper], JointKind::Hinge(Hinge::new(&a, &b)), None);
    let elbow = Vec3::new(0.0, 0.0, -1.0);
    let [a, b] = builder.joint_frames([upper, lower], &elbow, &Vec3::y());
    builder.joint("elbow", [upper, lower], JointKind::Ball(Ball::new(&a, &b)), None);
    builder.marker("tip", lower, Vec3::new(0.0, 0.0, -0.5));
    builder.finish()
}

/// The state at t: both rods swing about y with φ = 0.8 cos 3t and ψ = 0.5 sin 2t, the bead flies.
pub(crate) fn swing(model: &Model, t: f64) -> State {
    let mut state = model.start.clone();
    state.t = t;
    let (phi, phi_dot) = (0.8 * (3.0 * t).cos(), -2.4 * (3.0 * t).sin());
    let (psi, psi_dot) = (0.5 * (2.0 * t).sin(), (2.0 * t).cos());
    let mut origin = (Vec3::zeros(), Vec3::zeros());
    for (body, angle, rate) in [(1, phi, phi_dot), (2, psi, psi_dot)] {
        let rot = Quat::from_axis_angle(&Vec3::y_axis(), angle);
        let omega = rate * Vec3::y();
        let down = rot * Vec3::new(0.0, 0.0, -1.0);
        state.rot[body] = rot * model.start.rot[body];
        state.omega[body] = omega;
        state.s[body] = origin.0 + 0.5 * down;
        state.s_dot[body] = origin.1 + 0.5 * omega.cross(&down);
        origin = (origin.0 + down, origin.1 + omega.cross(&down));
    }
    state.s[3] = Vec3::new(1.0 + 0.1 * t, 0.0, -0.5 - 4.905 * t * t);
    state.s_dot[3] = Vec3::new(0.1, 0.0, -9.81 * t);
    state.coordinate[0] = phi;
    for (i, impulse) in (0u32..).zip(&mut state.impulse) {
        *impulse = f64::from(i) * 0.01 + t;
    }
    state
}

/// Plays [`swing`] as an engine would; stops when asked, fails at `settings.tolerance` > 1 after half the time.
pub(crate) fn run(
    model: &Model,
    settings: &RunSettings,
    observer: &mut dyn Observer,
) -> Result<RunReport, RunFailure> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
    let n = (settings.duration / settings.step).round() as u64;
    let mut events = Vec::new();
    let mut report = None;
    for step in 0..=n {
        let t = step as f64 * settings.step;
        let state = swing(model, t);
        let reactions = [0, 1].map(|i| Reaction {
            joint: JointId(i),
            force: Vec3::new(t, f64::from(i), 9.81),
            torque: Vec3::new(0.0, -t, 0.0),
        });
        let ledger = Ledger { initial: 1.0, kinetic: t, potential: 1.0 - t, ..Ledger::default() };
        let worst_gaps = [1e-10 * t, 2e-10 * t];
        let sample = Sample {
            step,
            state: &state,
            reactions: &reactions,
            ledger,
            worst_gaps: &worst_gaps,
            inputs: &[],
            contacts: &[],
        };
        if step % 50 == 25 {
            let event = Event {
                time: t,
                kind: "step-halved".to_owned(),
                between: vec!["elbow".to_owned()],
                detail: format!("halved at {t}"),
                point: None,
                impulse: None,
            };
            observer.event(&event);
            events.push(event);
        }
        let mut flow = observer.sample(&sample);
        if settings.at.contains(&t) {
            flow = if flow.is_break() { flow } else { observer.at(&sample) };
        }
        if flow.is_continue() {
            flow = observer.step(t);
        }
        report = Some(RunReport {
            engine: "impulse",
            t,
            steps: step,
            corrections: 3 * step,
            stopped: flow.is_break(),
            ledger,
            energy_mean_abs_error: 0.5e-9,
            energy_max_abs_error: 1e-9,
            worst_gaps: worst_gaps.to_vec(),
            worst_velocity_errors: vec![3e-9, 1e-9],
            worst_penetration: None,
            contacts: Vec::new(),
            events: events.clone(),
            ways: Vec::new(),
            statistics: None,
            state,
        });
        if let ControlFlow::Break(()) = flow {
            break;
        }
        if settings.tolerance > 1.0 && 2 * step >= n {
            let reason = format!("joint `elbow` cannot be closed at t = {t} s");
            let report = Box::new(report.expect("set above"));
            return Err(RunFailure { reason, element: Some("elbow".to_owned()), report });
        }
    }
    Ok(report.expect("at least one step"))
}

/// A header with a source and an override.
pub(crate) fn header(model: &Model, settings: &RunSettings) -> Header {
    let source = SourceFile { name: "double.toml".to_owned(), text: "[model]\r\n".to_owned() };
    let given = Override { name: "l".to_owned(), value: "1".to_owned() };
    Header::new(model, settings, vec![source], vec![given])
}

/// 2 s in 400 steps.
pub(crate) fn settings() -> RunSettings {
    RunSettings { duration: 2.0, step: 0.005, at: vec![0.5, 1.0], ..RunSettings::default() }
}
