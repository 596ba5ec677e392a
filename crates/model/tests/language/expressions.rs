//! Parameters, signals, equations.

use gelenk_model::force::ForceKind;
use gelenk_model::signal::Value;
use gelenk_model::{LoadOptions, RowKind, load_text};

use crate::common::{
    at_start, close, close_vec, faults, faults_with, load, load_with, set, signals, worst_gap,
};

const POINT: &str =
    "[[point]]\nname = \"P\"\nmass = 1\nposition = [1, 2, 3]\nvelocity = [4, 5, 6]\n";

#[test]
fn parameters_in_any_order() {
    let text = format!(
        "[parameters]\nc = \"a + b\"\nb = {{ value = \"2*a\", unit = \"m\", min = 0, max = 10, description = \"twice\" }}\na = 1.5\n{POINT}"
    );
    let model = load(&text).model;
    let value = |name: &str| model.parameters.iter().find(|p| p.name == name).unwrap();
    close(value("c").value, 4.5);
    assert_eq!(value("b").unit.as_deref(), Some("m"));
    assert_eq!(value("b").max, Some(10.0));
    assert!(value("a").definition.is_none());
    let definition = value("c").definition.unwrap();
    assert_eq!(model.pool.display(definition).to_string(), "a + b");
    // The command line speaks last; what depends on it follows.
    let model = load_with(&text, &set(&[("a", "2"), ("b", "a/4")])).model;
    close(model.parameters.iter().find(|p| p.name == "c").unwrap().value, 2.5);
    assert_eq!(faults_with(&text, &set(&[("d", "2")])), ["unknown-parameter"]);
    assert_eq!(faults_with(&text, &set(&[("a", "6")])), ["out-of-range"]);
    assert_eq!(faults_with(&text, &set(&[("a", "c")])), ["parameter-cycle"]);
    let faults = load_text("m.toml", &text, &set(&[("a", "2*q")])).unwrap_err();
    assert_eq!(faults.list[0].place.as_ref().unwrap().file, "--set");
    assert_eq!(faults.list[0].place.as_ref().unwrap().column, 5);
}

#[test]
fn long_chains_of_parameters_need_no_stack() {
    let mut text = String::from("[parameters]\n");
    for i in 0..20_000 {
        text.push_str(&format!("p{i} = \"p{} + 1\"\n", i + 1));
    }
    text.push_str("p20000 = 1\n");
    text.push_str(POINT);
    let model = load(&text).model;
    close(model.parameters.iter().find(|p| p.name == "p0").unwrap().value, 20_001.0);
}

/// Every kind of state in one force, against values by hand.
#[test]
fn state_in_expressions() {
    let text = "[parameters]\nk = 2\n\
        [[body]]\nname = \"arm\"\nmass = 1\ninertia = [1, 1, 1]\ncenter_of_mass = [0, 0, 1]\nposition = [1, 0, 0]\n\
        rotation = { axis = [0, 0, 1], angle_deg = 90 }\nvelocity = [0, 7, 0]\nangular_velocity = [0, 0, 3]\n\
        [[marker]]\nname = \"tip\"\nbody = \"arm\"\nposition = [2, 0, 0]\n\
        [[joint]]\nname = \"h\"\ntype = \"hinge\"\nbetween = [\"world\", \"arm\"]\npoint = [1, 0, 0]\naxis = [0, 0, 1]\nstart_deg = 90\n\
        [[force]]\nbody = \"arm\"\nforce = [\"k*body.arm.position.x + t\", \"body.arm.velocity.y\", \"body.arm.angular_velocity.z\"]\n\
        torque = [\"marker.tip.y\", \"marker.tip.velocity.x\", \"body.arm.x_axis.y\"]\n\
        [[force]]\nbody = \"arm\"\nforce = [\"joint.h.angle\", \"joint.h.velocity\", \"arm.z\"]\ntorque = [\"body.arm.center_of_mass.z\", 0, 0]\n";
    let loaded = load(text);
    let values = signals(&loaded.model, 0.5);
    let expected = [2.5, 7.0, 3.0, 2.0, -6.0, 1.0, std::f64::consts::FRAC_PI_2, 3.0, 0.0, 1.0];
    assert_eq!(values.len(), expected.len());
    for (value, expected) in values.iter().zip(expected) {
        close(*value, expected);
    }
}

/// Constants over parameters are numbers; equal expressions share a signal.
#[test]
fn constants_are_not_signals() {
    let text = format!(
        "[parameters]\nk = 3\n{POINT}[[spring]]\nname = \"s\"\nbetween = [\"world\", \"P\"]\nstiffness = \"2*k\"\nlength = \"1 + sin(t)\"\n\
         [[spring]]\nbetween = [\"world\", \"P\"]\nstiffness = 1\nlength = \"sin(t) + 1\"\ndamping = 0.5\n"
    );
    let loaded = load(&text);
    let model = &loaded.model;
    assert_eq!(model.signals.n, 1);
    let ForceKind::Spring(spring) = &model.forces[0].kind else { panic!() };
    assert_eq!(spring.stiffness, Value::Constant(6.0));
    assert_eq!(spring.length, Value::Signal(0));
    let names: Vec<&str> = model.forces.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["s", "spring1", "spring1.damping"]);
    let (name, stiffness) = loaded.description.forces[0].values[1];
    assert_eq!(name, "stiffness");
    assert_eq!(model.pool.display(stiffness).to_string(), "2*k");
}

/// The lying eight of the singularity spec, its Jacobian and γ against differences.
#[test]
fn equation_over_a_point() {
    let text = "[parameters]\na = 1\n[[point]]\nname = \"P\"\nmass = 1\nposition = [0.6, 0.48, 0]\nvelocity = [0.3, 0.1, 0.7]\n\
        [[constraint]]\nname = \"eight\"\nequation = \"P.y^2 = P.x^2*(a - P.x^2)\"\ntolerance = 1e-10\n\
        [[constraint]]\nname = \"plane\"\nequation = \"point.P.z = sin(2*t)\"\n";
    let model = load(text).model;
    assert!(worst_gap(&model) < 1e-15);
    assert_eq!(model.rows[0].tolerance, Some(1e-10));
    let RowKind::Equation(eight) = &model.rows[0].kind else { panic!() };
    let (x, y, vx, vy) = (0.6, 0.48, 0.3, 0.1);
    at_start(&model, 0.0, |at, work| {
        let mut jac = [0.0; 6];
        eight.jacobian(at, work, &model.rows[0].bodies, &mut jac);
        close(jac[0], -2.0 * x + 4.0 * x * x * x);
        close(jac[1], 2.0 * y);
        close(eight.gamma(at, work), -((-2.0 + 12.0 * x * x) * vx * vx + 2.0 * vy * vy));
        let RowKind::Equation(plane) = &model.rows[1].kind else { panic!() };
        close(plane.time_rate(at, work), -2.0);
    });
    at_start(&model, 0.3, |at, work| {
        let RowKind::Equation(plane) = &model.rows[1].kind else { panic!() };
        close(plane.gamma(at, work), -4.0 * 0.6_f64.sin());
    });
}

/// A rigid body held by equations alone: gradient against central differences of the error.
#[test]
fn equation_over_a_body() {
    let text = "[[body]]\nname = \"b\"\nmass = 1\ninertia = [1, 2, 2.5]\nposition = [0.3, 0.2, 0.1]\ncenter_of_mass = [0.1, 0, 0.2]\n\
        rotation = { euler = [0.3, 0.2, 0.1] }\nangular_velocity = [1, 2, 3]\n\
        [[marker]]\nname = \"m\"\nbody = \"b\"\nposition = [0.5, 0, 0]\n\
        [[constraint]]\nname = \"c\"\nequation = \"m.x*body.b.z_axis.y + body.b.position.z^2 = 1\"\n";
    let options = gelenk_model::LoadOptions { allow_open: true, ..Default::default() };
    let model = load_with(text, &options).model;
    let RowKind::Equation(equation) = &model.rows[0].kind else { panic!() };
    let mut jac = [0.0; 6];
    at_start(&model, 0.0, |at, work| equation.jacobian(at, work, &model.rows[0].bodies, &mut jac));
    for k in 0..6 {
        let h = 1e-6;
        let error = |sign: f64| {
            let mut moved = model.clone();
            if k < 3 {
                moved.start.s[1][k] += sign * h;
            } else {
                let mut axis = gelenk_model::math::Vec3::zeros();
                axis[k - 3] = sign * h;
                let turn = gelenk_model::math::Quat::from_scaled_axis(axis);
                moved.start.rot[1] = turn * moved.start.rot[1];
            }
            at_start(&moved, 0.0, |at, work| equation.error(at, work))
        };
        let difference = (error(1.0) - error(-1.0)) / (2.0 * h);
        assert!((difference - jac[k]).abs() < 1e-9, "{k}: {difference} {}", jac[k]);
    }
    assert_eq!(faults(text), ["open-joint"]);
}

#[test]
fn names_are_resolved_at_their_own_column() {
    let text = format!("{POINT}[[force]]\nbody = \"P\"\nforce = [0, 0, \"1 + 2*vlocity\"]\n");
    let faults = load_text("m.toml", &text, &LoadOptions::default()).unwrap_err();
    let place = faults.list[0].place.as_ref().unwrap();
    assert_eq!((place.line, place.column), (8, 23));
}

#[test]
fn model_and_run() {
    let text = format!(
        "[model]\nname = \"x\"\ndescription = \"a point\"\ngravity = [0, \"-g\", 0]\n[parameters]\ng = 1.62\n{POINT}\
         [run]\nengine = \"impulse\"\nduration = 2\nstep = 0.125\ntolerance = 1e-8\nvelocity_tolerance = 1e-7\norder = 4\nsolver = \"direct\"\n\
         flight = \"taylor:6\"\nvelocity_correction = false\ngentle = true\nsample = 0.25\n[view]\nanything = [1, {{ goes = true }}]\n"
    );
    let loaded = load(&text);
    let model = &loaded.model;
    assert_eq!((model.name.as_str(), model.description.as_str()), ("x", "a point"));
    close_vec(model.gravity, [0.0, -1.62, 0.0]);
    let run = &model.run;
    assert_eq!((run.duration, run.step, run.tolerance), (2.0, 0.125, 1e-8));
    assert_eq!((run.velocity_tolerance, run.order, run.solver.as_str()), (1e-7, 4, "direct"));
    assert_eq!(run.flight, gelenk_model::Flight::Taylor(6));
    assert_eq!((run.velocity_correction, run.gentle, run.sample), (false, true, Some(0.25)));
    assert_eq!(load(POINT).model.name, "test");
    close_vec(load(POINT).model.gravity, [0.0, 0.0, -9.81]);
}

#[test]
fn inputs_are_numbers_set_from_outside() {
    let force = "[[force]]\nbody = \"P\"\nforce = [0, 0, \"2*input.lift + t\"]\n";
    let text = format!("[inputs]\nlift = \"1 + 1\"\n{POINT}{force}");
    let model = load(&text).model;
    assert_eq!((model.inputs.len(), model.input("lift")), (1, Some(0)));
    close(model.inputs[0].value, 2.0);
    // The default holds until somebody sets it.
    let mut values = vec![0.0; model.signals.n];
    at_start(&model, 0.5, |at, work| {
        model.signals.evaluate(&model, at, work, &mut values);
        close(values[0], 4.5);
        work.held[0] = -1.5;
        model.signals.evaluate(&model, at, work, &mut values);
        close(values[0], -2.5);
    });
    assert_eq!(faults(&format!("{POINT}{force}")), ["unknown-name"]);
    assert_eq!(faults(&format!("[inputs]\n\"a.b\" = 1\n{POINT}")), ["bad-name"]);
    let equation = "[[constraint]]\nname = \"c\"\nequation = \"P.x = input.lift\"\n";
    assert_eq!(faults(&format!("[inputs]\nlift = 1\n{POINT}{equation}")), ["not-a-time-function"]);
}
