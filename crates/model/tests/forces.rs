//! Every force law: its force is the slope of its energy, its pairs keep momentum, its dampers take energy.

use gelenk_expr::{Pool, Tape};
use gelenk_model::force::{
    Account, AppliedForce, Axes, Branch, Damper, Drag, ForceContext, ForceKind, JointAxis,
    JointDamper, JointSpring, Motor, PointPair, RodTorque, Servo, Spring,
};
use gelenk_model::joint::{JointKind, JointParameters};
use gelenk_model::math::{Mat3, Quat, Vec3};
use gelenk_model::signal::{BodyVector, Signals, StateRef, Value};
use gelenk_model::{BodyDef, BodyId, Builder, Instant, JointId, Model, Pose, Twist, Wrench};

/// Two bodies and a joint of a type between them, closed at the start.
fn pair(joint: &str) -> Model {
    let mut builder = Builder::new(joint);
    let mut bodies = [BodyId::WORLD; 2];
    for (i, id) in bodies.iter_mut().enumerate() {
        let shift = i as f64;
        let mut def = BodyDef::new(["a", "b"][i], 2.0, Mat3::from_diagonal_element(0.3));
        def.position = Vec3::new(0.3 - shift, 0.5 * shift, 0.2);
        def.rotation = Quat::from_scaled_axis(Vec3::new(0.4, -0.7 * shift, 1.1));
        def.center_of_mass = Vec3::new(0.1, 0.2, -0.1);
        *id = builder.body(&def);
    }
    let point = Vec3::new(0.2, 0.4, -0.1);
    let frames = builder.joint_frames(bodies, &point, &Vec3::new(1.0, 2.0, -0.5));
    let parameters = JointParameters { pitch: Some(0.5), ..JointParameters::default() };
    let kind = JointKind::from_type(joint, &frames, &parameters).expect("a good joint");
    builder.joint("joint", bodies, kind, None);
    builder.finish()
}

const JOINT: JointId = JointId(0);
const A: BodyId = BodyId(1);
const B: BodyId = BodyId(2);

fn axis(which: usize) -> JointAxis {
    JointAxis { joint: JOINT, which }
}

/// Points off the centres of the two bodies.
fn ends() -> PointPair {
    let points = [Vec3::new(0.3, -0.2, 0.5), Vec3::new(-0.1, 0.4, 0.2)];
    PointPair { bodies: [A, B], points }
}

fn point(body: BodyId) -> BodyVector {
    BodyVector { body, local: Vec3::new(0.3, -0.2, 0.5), is_point: true }
}

fn constants(v: [f64; 3]) -> [Value; 3] {
    v.map(Value::Constant)
}

/// Where and how fast the bodies are.
struct Place {
    poses: Vec<Pose>,
    twists: Vec<Twist>,
    coordinates: Vec<f64>,
    signals: Vec<f64>,
}

impl Place {
    /// The model's start with velocities of order one.
    fn new(model: &Model) -> Self {
        let mut poses = vec![Pose::identity(); model.n_bodies()];
        model.start.write_poses(&mut poses);
        let mut twists = vec![Twist::zero(); model.n_bodies()];
        for i in 1..twists.len() {
            let k = i as f64;
            twists[i].s_dot = Vec3::new(0.5 * k, -1.0, 0.3 - k);
            twists[i].omega = Vec3::new(1.0 - k, 0.7 * k, 0.2);
        }
        Place { poses, twists, coordinates: model.start.coordinate.clone(), signals: Vec::new() }
    }

    fn context<'a>(&'a self, model: &'a Model) -> ForceContext<'a> {
        let (poses, twists) = (&self.poses, &self.twists);
        let at = Instant { t: 0.0, poses, twists, coordinates: &self.coordinates };
        ForceContext { model, at, signals: &self.signals }
    }

    fn wrench(&self, model: &Model, law: &ForceKind) -> Vec<Wrench> {
        let mut wrench = vec![Wrench::zero(); model.n_bodies()];
        law.law().add_wrench(&self.context(model), &mut wrench);
        wrench
    }

    fn energy(&self, model: &Model, law: &ForceKind) -> f64 {
        law.law().potential_energy(&self.context(model))
    }

    fn power(&self, model: &Model, law: &ForceKind) -> f64 {
        let wrench = self.wrench(model, law);
        let pairs = wrench.iter().zip(&self.twists);
        pairs.map(|(f, v)| f.force.dot(&v.s_dot) + f.torque.dot(&v.omega)).sum()
    }
}

/// Turns body `i` by a small angle or shifts it.
fn nudge(place: &mut Place, i: usize, k: usize, h: f64) {
    let mut step = Vec3::zeros();
    step[k % 3] = h;
    if k < 3 {
        place.poses[i].s += step;
    } else {
        let turn = Quat::from_scaled_axis(step).to_rotation_matrix().into_inner();
        place.poses[i].rot = turn * place.poses[i].rot;
    }
}

/// Force and torque are −∂U/∂s and −∂U/∂θ.
fn check_potential(model: &Model, law: &ForceKind) {
    let mut place = Place::new(model);
    assert_eq!(law.law().account(), Account::Potential);
    assert!(!law.law().depends_on_velocity());
    assert!(place.energy(model, law) > 0.0);
    let wrench = place.wrench(model, law);
    let h = 1e-5;
    for i in [A.index(), B.index()] {
        for k in 0..6 {
            nudge(&mut place, i, k, h);
            let above = place.energy(model, law);
            nudge(&mut place, i, k, -2.0 * h);
            let below = place.energy(model, law);
            nudge(&mut place, i, k, h);
            let want = -(above - below) / (2.0 * h);
            let got = if k < 3 { wrench[i].force[k] } else { wrench[i].torque[k - 3] };
            let name = law.type_name();
            assert!((got - want).abs() < 1e-8, "{name}, body {i}, {k}: {got}, not {want}");
        }
    }
}

/// No resultant, no torque about the world's origin.
fn check_momentum(model: &Model, law: &ForceKind) {
    let place = Place::new(model);
    let wrench = place.wrench(model, law);
    let (mut force, mut torque) = (Vec3::zeros(), Vec3::zeros());
    let mut size = 0.0;
    for (wrench, pose) in wrench.iter().zip(&place.poses) {
        force += wrench.force;
        torque += wrench.torque + pose.s.cross(&wrench.force);
        size += wrench.force.norm() + wrench.torque.norm();
    }
    assert!(size > 0.1, "{} does nothing", law.type_name());
    assert!(force.norm() < 1e-13 * size, "{} has a resultant", law.type_name());
    assert!(torque.norm() < 1e-13 * size, "{} has a torque", law.type_name());
}

#[test]
fn springs_pull_down_their_energy() {
    let (length, stiffness) = (Value::Constant(0.4), Value::Constant(30.0));
    check_potential(&pair("ball"), &ForceKind::Spring(Spring { ends: ends(), length, stiffness }));
    let rest = Value::Constant(-0.7);
    for (joint, n) in
        [("hinge", 1), ("slider", 1), ("cylindrical", 2), ("universal", 2), ("screw", 2)]
    {
        for which in 0..n {
            let law = JointSpring { axis: axis(which), rest, stiffness };
            check_potential(&pair(joint), &ForceKind::JointSpring(law));
        }
    }
}

/// A branch of two circuits: here two coordinates of one joint.
#[test]
fn branches_store_or_take_energy() {
    let model = pair("cylindrical");
    let (k, none) = (Value::Constant(30.0), Value::Constant(0.0));
    let axes = [axis(0), axis(1)];
    let capacitor = Branch { axes, stiffness: k, damping: none };
    // 0.3 m along the axis from where the coordinates are zero.
    let mut apart = model.clone();
    apart.start.s[B.index()] += Vec3::new(1.0, 2.0, -0.5).normalize() * 0.3;
    check_potential(&apart, &ForceKind::Branch(capacitor));
    check_momentum(&apart, &ForceKind::Branch(capacitor));
    let resistor = ForceKind::Branch(Branch { axes, stiffness: none, damping: k });
    let place = Place::new(&model);
    let context = place.context(&model);
    let current = axes[0].velocity(&context) - axes[1].velocity(&context);
    let power = place.power(&model, &resistor);
    assert!((power + 30.0 * current * current).abs() < 1e-11 * power.abs(), "{power}");
    assert_eq!(resistor.law().account(), Account::Dissipation);
    assert!(resistor.law().depends_on_velocity() && resistor.axis().is_none());
    let both = Branch { axes, stiffness: k, damping: k };
    assert_eq!(ForceKind::Branch(both).law().account(), Account::Work);
    assert!(place.energy(&model, &ForceKind::Branch(both)) == 0.0);
}

#[test]
fn pairs_keep_momentum() {
    let ball = pair("ball");
    let (one, k) = (Value::Constant(1.0), Value::Constant(30.0));
    check_momentum(&ball, &ForceKind::Spring(Spring { ends: ends(), length: one, stiffness: k }));
    check_momentum(&ball, &ForceKind::Damper(Damper { ends: ends(), damping: k }));
    let torque = constants([1.0, 2.0, 3.0]);
    let rod = RodTorque { ends: ends(), torque };
    // The couple's forces cancel; its torque is no internal one.
    let place = Place::new(&ball);
    let wrench = place.wrench(&ball, &ForceKind::RodTorque(rod));
    assert!((wrench[A.index()].force + wrench[B.index()].force).norm() < 1e-14);
    for joint in ["hinge", "slider", "cylindrical", "universal", "planar", "screw", "rail"] {
        let model = pair(joint);
        let (axis, rest) = (axis(0), Value::Constant(0.5));
        let law = JointSpring { axis, rest, stiffness: k };
        check_momentum(&model, &ForceKind::JointSpring(law));
        check_momentum(&model, &ForceKind::JointDamper(JointDamper { axis, damping: k }));
        check_momentum(&model, &ForceKind::Motor(Motor { axis, force: one }));
        check_momentum(&model, &ForceKind::Servo(Servo::new(axis, rest, k, one)));
    }
}

#[test]
fn dampers_take_energy() {
    let d = Value::Constant(3.0);
    let model = pair("cylindrical");
    let mut place = Place::new(&model);
    let context = place.context(&model);
    let rates: Vec<f64> = (0..2).map(|which| axis(which).velocity(&context)).collect();
    for (which, rate) in rates.iter().enumerate() {
        let law = ForceKind::JointDamper(JointDamper { axis: axis(which), damping: d });
        assert_eq!(law.law().account(), Account::Dissipation);
        let power = place.power(&model, &law);
        assert!((power + 3.0 * rate * rate).abs() < 1e-12 && power < 0.0, "{power}");
    }
    let damper = ForceKind::Damper(Damper { ends: ends(), damping: d });
    let drag = ForceKind::Drag(Drag { point: point(B), linear: d, angular: d });
    assert!(place.power(&model, &damper) < 0.0);
    let v = point(B).rate(&place.context(&model).at);
    let omega = place.twists[B.index()].omega;
    let want = -3.0 * (v.norm_squared() + omega.norm_squared());
    assert!((place.power(&model, &drag) - want).abs() < 1e-12);
    // A motion of the pair as one body leaves dampers within it cold.
    let omega = Vec3::new(0.3, -0.4, 0.9);
    for i in [A.index(), B.index()] {
        place.twists[i] = Twist { s_dot: omega.cross(&place.poses[i].s), omega };
    }
    let law = ForceKind::JointDamper(JointDamper { axis: axis(1), damping: d });
    assert!(place.power(&model, &law).abs() < 1e-14);
    assert!(place.power(&model, &damper).abs() < 1e-14);
}

#[test]
fn torsion_spring_winds_up() {
    let model = pair("hinge");
    let mut place = Place::new(&model);
    let law =
        JointSpring { axis: axis(0), rest: Value::Constant(0.0), stiffness: Value::Constant(2.0) };
    place.coordinates[0] = 3.0 * std::f64::consts::TAU + 0.3;
    let q = 3.0 * std::f64::consts::TAU;
    let energy = place.energy(&model, &ForceKind::JointSpring(law));
    assert!((energy - q * q).abs() < 1e-9, "{energy}");
}

#[test]
fn servo_pulls_to_its_target_within_its_bound() {
    let model = pair("hinge");
    let mut place = Place::new(&model);
    let (k, d) = (Value::Constant(40.0), Value::Constant(2.0));
    let mut servo = Servo::new(axis(0), Value::Signal(0), k, d);
    let velocity = axis(0).velocity(&place.context(&model));
    assert!(velocity.abs() > 0.1);
    let force = |servo: &Servo, target: f64, place: &mut Place| {
        place.signals = vec![target];
        servo.force(&place.context(&model))
    };
    // The angle is zero at the start.
    let free = 40.0 * 0.1 - 2.0 * velocity;
    assert!((force(&servo, 0.1, &mut place) - free).abs() < 1e-12);
    servo.target_velocity = Value::Constant(velocity);
    assert!((force(&servo, 0.1, &mut place) - 4.0).abs() < 1e-12);
    servo.max_force = Value::Constant(3.0);
    assert!((force(&servo, 0.1, &mut place) - 3.0).abs() < 1e-12);
    assert!((force(&servo, -9.0, &mut place) + 3.0).abs() < 1e-12);
    servo.brake = Value::Constant(5.0);
    assert!((force(&servo, 9.0, &mut place) - (3.0 - 5.0 * velocity)).abs() < 1e-12);
    servo.max_force = Value::Constant(0.0);
    assert!(place.power(&model, &ForceKind::Servo(servo)) < 0.0);
    // What is not a number shows, without a panic.
    servo.max_force = Value::Constant(f64::NAN);
    assert!(force(&servo, 0.1, &mut place).is_nan());
    servo.max_force = Value::Constant(1.0);
    assert!(force(&servo, f64::NAN, &mut place).is_nan());
}

#[test]
fn motor_power_is_torque_times_rate() {
    for joint in ["hinge", "slider", "universal", "planar", "screw", "rail"] {
        let model = pair(joint);
        let place = Place::new(&model);
        let motor = ForceKind::Motor(Motor { axis: axis(0), force: Value::Constant(2.5) });
        let rate = axis(0).velocity(&place.context(&model));
        assert!((place.power(&model, &motor) - 2.5 * rate).abs() < 1e-12, "{joint}");
        assert_eq!(motor.law().account(), Account::Work);
    }
}

#[test]
fn applied_force_turns_with_its_body_or_not() {
    let model = pair("ball");
    let place = Place::new(&model);
    let (f, t) = (Vec3::new(1.0, -2.0, 0.5), Vec3::new(0.3, 0.1, -0.7));
    let mut law = AppliedForce {
        point: point(B),
        force: constants(f.into()),
        torque: constants(t.into()),
        axes: Axes::World,
    };
    let lever = place.poses[B.index()].rot * point(B).local;
    let got = place.wrench(&model, &ForceKind::Applied(law))[B.index()];
    assert!((got.force - f).norm() < 1e-15);
    assert!((got.torque - (t + lever.cross(&f))).norm() < 1e-14);
    assert!(!ForceKind::Applied(law).law().depends_on_velocity());
    // In the axes of the file frame, which b was given.
    law.axes = Axes::Body;
    let turn = Quat::from_scaled_axis(Vec3::new(0.4, -0.7, 1.1));
    let got = place.wrench(&model, &ForceKind::Applied(law))[B.index()];
    assert!((got.force - turn * f).norm() < 1e-14);
    assert!((got.torque - (turn * t + lever.cross(&(turn * f)))).norm() < 1e-14);
}

#[test]
fn rod_torque_is_a_couple_on_its_ends() {
    let mut builder = Builder::new("rod");
    let (p, q) = (Vec3::new(0.1, 0.2, 0.3), Vec3::new(1.1, -1.0, 0.9));
    let a = builder.point("a", 1.0, p, Vec3::zeros(), false);
    let b = builder.point("b", 1.0, q, Vec3::zeros(), false);
    let model = builder.finish();
    let place = Place::new(&model);
    let torque = Vec3::new(2.0, -1.0, 0.5);
    let ends = PointPair { bodies: [a, b], points: [Vec3::zeros(); 2] };
    let law = ForceKind::RodTorque(RodTorque { ends, torque: constants(torque.into()) });
    let wrench = place.wrench(&model, &law);
    let (f_a, f_b) = (wrench[a.index()].force, wrench[b.index()].force);
    assert!((f_a + f_b).norm() < 1e-15);
    let u = (q - p).normalize();
    let got = p.cross(&f_a) + q.cross(&f_b);
    assert!((got - (torque - u * u.dot(&torque))).norm() < 1e-14);
    // Least forces for the torque: across the rod.
    assert!(f_b.dot(&u).abs() < 1e-15);
}

/// The ground of the walking mechanism: F = C v p_z³ − D p_z³ e_z while p_z < 0, as expressions over the state.
#[test]
fn ground_is_an_applied_force_of_expressions() {
    let mut builder = Builder::new("foot");
    let position = Vec3::new(0.2, 0.0, -0.03);
    let velocity = Vec3::new(0.4, -0.1, -0.5);
    let foot = builder.point("foot", 1.0, position, velocity, false);
    let point = BodyVector { body: foot, local: Vec3::zeros(), is_point: true };
    let mut pool = Pool::new();
    let texts = [
        "if(z < 0, 1e6*vx*z^3, 0)",
        "if(z < 0, 1e6*vy*z^3, 0)",
        "if(z < 0, 8e4*vz*z^3 - 100*z^3, 0)",
    ];
    let outputs = texts.map(|text| pool.parse(text).unwrap());
    let symbols = ["z", "vx", "vy", "vz"].map(|name| pool.symbol(name));
    let tape = Tape::compile(&pool, &outputs, &symbols).unwrap();
    let mut inputs = vec![StateRef::Position(point, 2)];
    inputs.extend((0..3).map(|axis| StateRef::Velocity(point, axis)));
    builder.expressions(
        pool,
        Vec::new(),
        Signals { inputs, tape: Some(tape), n: 3, ..Signals::default() },
    );
    let ground = ForceKind::Applied(AppliedForce {
        point,
        force: [0, 1, 2].map(Value::Signal),
        torque: constants([0.0; 3]),
        axes: Axes::World,
    });
    assert!(ground.law().depends_on_velocity());
    let model = builder.finish();
    let mut place = Place::new(&model);
    place.twists[foot.index()].s_dot = velocity;
    let force = |place: &mut Place| {
        let mut signals = vec![0.0; 3];
        model.signals.evaluate(&model, &place.context(&model).at, &mut model.work(), &mut signals);
        place.signals = signals;
        place.wrench(&model, &ground)[foot.index()].force
    };
    let cube = -0.03_f64.powi(3);
    let want = Vec3::new(4e5 * cube, -1e5 * cube, -4e4 * cube - 100.0 * cube);
    assert!((force(&mut place) - want).norm() < 1e-12);
    place.poses[foot.index()].s.z = 0.01;
    assert!(force(&mut place).norm() < 1e-15);
}
