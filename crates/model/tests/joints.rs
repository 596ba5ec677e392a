//! The joint checker: every joint goes through [`check_joint`]. A new joint costs one line in [`every_joint`].

use std::f64::consts::{PI, TAU};

use gelenk_expr::Pool;
use gelenk_model::joint::{
    JOINT_TYPES, JointEquations, JointFrame, JointKind, JointParameters, JointType, PairRow, Path,
    Surface,
};
use gelenk_model::math::{Mat3, Quat, Vec3};
use gelenk_model::{BodyDef, BodyId, Builder, Pose, Twist};
use nalgebra as na;

/// Pseudo-random numbers (SplitMix64), the same in every run.
struct Random(u64);

impl Random {
    /// Uniform in (−1, 1).
    fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        (z >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Clear of ±π, where an angle's finite difference would jump.
    fn angle(&mut self) -> f64 {
        3.0 * self.number()
    }

    fn vector(&mut self) -> Vec3 {
        Vec3::new(self.number(), self.number(), self.number())
    }

    fn rotation(&mut self) -> Mat3 {
        turn(self.vector() * PI)
    }

    fn pose(&mut self) -> Pose {
        Pose { s: self.vector(), rot: self.rotation() }
    }

    fn twist(&mut self) -> Twist {
        Twist { s_dot: self.vector(), omega: self.vector() }
    }

    fn frame(&mut self) -> JointFrame {
        JointFrame { origin: self.vector(), axes: self.rotation() }
    }
}

/// The rotation exp(θ×).
fn turn(theta: Vec3) -> Mat3 {
    Quat::from_scaled_axis(theta).to_rotation_matrix().into_inner()
}

fn rot_x(angle: f64) -> Mat3 {
    turn(Vec3::x() * angle)
}

fn rot_z(angle: f64) -> Mat3 {
    turn(Vec3::z() * angle)
}

/// Where the free motions of a joint take b's frame, in a's frame, and the coordinates they give.
struct Free {
    shift: Vec3,
    turn: Mat3,
    q: Vec<f64>,
}

fn free(shift: Vec3, turn: Mat3, q: &[f64]) -> Free {
    Free { shift, turn, q: q.to_vec() }
}

/// b's pose such that its joint frame is at `free` in a's.
fn place_b(a: &Pose, frames: &[JointFrame; 2], free: &Free) -> Pose {
    let axes = a.rot * frames[0].axes;
    let origin = a.point(&frames[0].origin) + axes * free.shift;
    let rot = axes * free.turn * frames[1].axes.transpose();
    Pose { s: origin - rot * frames[1].origin, rot }
}

/// The pose after a time h of constant twist.
fn moved(pose: &Pose, v: &Twist, h: f64) -> Pose {
    Pose { s: pose.s + v.s_dot * h, rot: turn(v.omega * h) * pose.rot }
}

type Column = na::DVector<f64>;
type Rows = na::DMatrix<f64>;

fn errors(joint: &dyn JointEquations, a: &Pose, b: &Pose) -> Column {
    let mut c = vec![f64::NAN; joint.n_rows()];
    joint.position_error(a, b, &mut c);
    Column::from_vec(c)
}

fn matrix(rows: &[PairRow]) -> Rows {
    Rows::from_fn(rows.len(), 12, |i, k| rows[i][k])
}

fn jacobian(joint: &dyn JointEquations, a: &Pose, b: &Pose) -> Rows {
    let mut rows = vec![[f64::NAN; 12]; joint.n_rows()];
    joint.jacobian(a, b, &mut rows);
    matrix(&rows)
}

fn coordinates(joint: &dyn JointEquations, a: &Pose, b: &Pose) -> Column {
    let mut q = vec![f64::NAN; joint.coordinates().len()];
    joint.coordinate(a, b, &mut q);
    Column::from_vec(q)
}

fn coordinate_jacobian(joint: &dyn JointEquations, a: &Pose, b: &Pose) -> Rows {
    let mut rows = vec![[f64::NAN; 12]; joint.coordinates().len()];
    joint.coordinate_jacobian(a, b, &mut rows);
    matrix(&rows)
}

fn stacked(v_a: &Twist, v_b: &Twist) -> Column {
    let parts = [v_a.s_dot, v_a.omega, v_b.s_dot, v_b.omega];
    Column::from_iterator(12, parts.iter().flat_map(|p| p.iter().copied()))
}

/// Unit twist k of the pair.
fn unit_twists(k: usize) -> (Twist, Twist) {
    let mut parts = [Vec3::zeros(); 4];
    parts[k / 3][k % 3] = 1.0;
    let [s_dot, omega, s_dot_b, omega_b] = parts;
    (Twist { s_dot, omega }, Twist { s_dot: s_dot_b, omega: omega_b })
}

/// df/dt along constant twists, by the central difference of fourth order with step `h`.
fn rate<F>(h: f64, a: &Pose, b: &Pose, v_a: &Twist, v_b: &Twist, f: F) -> Column
where
    F: Fn(&Pose, &Pose) -> Column,
{
    let at = |h: f64| f(&moved(a, v_a, h), &moved(b, v_b, h));
    (at(h) - at(-h)) * (2.0 / (3.0 * h)) - (at(2.0 * h) - at(-2.0 * h)) / (12.0 * h)
}

/// Step of the differences, and the bound that their error h⁴ f⁽⁵⁾/30 plus rounding 1e-16/h stays below for motions of
/// order one.
const STEP: f64 = 5e-4;
const DIFFERENCE: f64 = 1e-9;

fn check_close(what: &str, got: &Column, want: &Column, tolerance: f64) {
    assert_eq!(got.len(), want.len(), "{what}");
    for i in 0..got.len() {
        let gap = (got[i] - want[i]).abs() / 1.0_f64.max(want[i].abs());
        assert!(gap <= tolerance, "{what}, row {i}: {} instead of {}", got[i], want[i]);
    }
}

/// J against differences of C.
fn check_jacobian(name: &str, joint: &dyn JointEquations, a: &Pose, b: &Pose) {
    let jac = jacobian(joint, a, b);
    for k in 0..12 {
        let (v_a, v_b) = unit_twists(k);
        let want = rate(STEP, a, b, &v_a, &v_b, |a, b| errors(joint, a, b));
        let got = jac.column(k).into_owned();
        check_close(&format!("{name}: column {k} of J"), &got, &want, DIFFERENCE);
    }
}

/// γ against differences of J v.
fn check_gamma(
    name: &str,
    joint: &dyn JointEquations,
    a: &Pose,
    b: &Pose,
    v_a: &Twist,
    v_b: &Twist,
) {
    let v = stacked(v_a, v_b);
    let mut gamma = vec![f64::NAN; joint.n_rows()];
    joint.gamma(a, b, v_a, v_b, &mut gamma);
    let want = -rate(STEP, a, b, v_a, v_b, |a, b| jacobian(joint, a, b) * &v);
    check_close(&format!("{name}: γ"), &Column::from_vec(gamma), &want, DIFFERENCE);
}

/// The forces Jᵀλ come in pairs: no resultant, no torque about the world's origin.
fn check_momentum(name: &str, rows: &Rows, a: &Pose, b: &Pose) {
    for i in 0..rows.nrows() {
        let part = |k: usize| Vec3::new(rows[(i, k)], rows[(i, k + 1)], rows[(i, k + 2)]);
        let (f_a, t_a, f_b, t_b) = (part(0), part(3), part(6), part(9));
        assert!((f_a + f_b).norm() < 1e-14, "{name}: row {i} has a resultant");
        let torque = t_a + a.s.cross(&f_a) + t_b + b.s.cross(&f_b);
        assert!(torque.norm() < 1e-13, "{name}: row {i} has a torque of {torque:?}");
    }
}

/// All there is to check of a joint, at random closed places with random velocities.
///
/// `free` gives a random place that the joint allows, with its coordinates there.
fn check_joint<F>(name: &str, parameters: &JointParameters, free: F)
where
    F: Fn(&mut Random) -> Free,
{
    let mut random = Random(17);
    for _ in 0..50 {
        let frames = [random.frame(), random.frame()];
        let kind = JointKind::from_type(name, &frames, parameters).expect("good parameters");
        let joint = kind.equations();
        check_description(name, &kind);

        let a = random.pose();
        let place = free(&mut random);
        let b = place_b(&a, &frames, &place);
        let (v_a, v_b) = (random.twist(), random.twist());
        let v = stacked(&v_a, &v_b);

        // Closed where its free motions lead, with the right coordinates.
        let closed = Column::zeros(joint.n_rows());
        check_close(&format!("{name}: C"), &errors(joint, &a, &b), &closed, 1e-13);
        let q = Column::from_vec(place.q);
        check_close(&format!("{name}: q"), &coordinates(joint, &a, &b), &q, 1e-12);

        // J, γ, rank.
        check_jacobian(name, joint, &a, &b);
        let jac = jacobian(joint, &a, &b);
        check_gamma(name, joint, &a, &b, &v_a, &v_b);
        let singular = jac.singular_values();
        assert!(singular.min() > 1e-3 * singular.max(), "{name}: J has rank below its rows");

        // W and its γ.
        let w = coordinate_jacobian(joint, &a, &b);
        let want = rate(STEP, &a, &b, &v_a, &v_b, |a, b| coordinates(joint, a, b));
        check_close(&format!("{name}: W v"), &(&w * &v), &want, DIFFERENCE);
        let mut gamma = vec![f64::NAN; joint.coordinates().len()];
        joint.coordinate_gamma(&a, &b, &v_a, &v_b, &mut gamma);
        let want = -rate(STEP, &a, &b, &v_a, &v_b, |a, b| coordinate_jacobian(joint, a, b) * &v);
        check_close(&format!("{name}: γ of q"), &Column::from_vec(gamma), &want, DIFFERENCE);

        // Momentum, of joint and drive forces; the force is reported where the joint is.
        check_momentum(name, &jac, &a, &b);
        check_momentum(name, &w, &a, &b);
        let point = b.point(&frames[1].origin);
        assert!((joint.force_point(&a, &b) - point).norm() < 1e-14);

        // J and γ where the joint is open.
        let (off_a, off_b) = (random.twist(), random.twist());
        let (a, b) = (moved(&a, &off_a, 0.05), moved(&b, &off_b, 0.05));
        check_jacobian(&format!("{name}, open"), joint, &a, &b);
        if !["curve", "surface"].contains(&name) {
            // Theirs leaves out third derivatives times the gap.
            check_gamma(&format!("{name}, open"), joint, &a, &b, &v_a, &v_b);
        }
    }
}

/// The list of joint types says what the joint does.
fn check_description(name: &str, kind: &JointKind) {
    let joint = kind.equations();
    let known = JointType::named(name).expect("a type of that name");
    assert_eq!(kind.type_name(), name);
    assert_eq!(known.freedoms, kind.free_dof());
    assert_eq!(known.freedoms, 6 - joint.n_rows());
    let names: Vec<_> = joint.coordinates().iter().map(|q| q.name).collect();
    assert_eq!(names, known.coordinates);
    assert!((0..joint.n_rows()).all(|i| !joint.row_name(i).is_empty()));
    assert_eq!(joint.one_sided(), name == "rope");
}

#[test]
fn every_joint() {
    let (o, z, e) = (Vec3::zeros(), Vec3::z(), Mat3::identity());
    let none = JointParameters::default();
    let length = JointParameters { length: Some(0.7), ..JointParameters::default() };
    let pitch = JointParameters { pitch: Some(-0.8), ..JointParameters::default() };
    let path = Path::spline(&space_loop()).unwrap();
    let curve = JointParameters { path: Some(path.clone()), ..JointParameters::default() };
    check_joint("ball", &none, |r| free(o, r.rotation(), &[]));
    check_joint("hinge", &none, |r| at([r.angle()], |[q]| (o, rot_z(q))));
    check_joint("fixed", &none, |_| free(o, e, &[]));
    check_joint("universal", &none, |r| {
        at([r.angle(), r.angle()], |[p, q]| (o, rot_z(p) * rot_x(q)))
    });
    check_joint("slider", &none, |r| at([r.number()], |[q]| (z * q, e)));
    check_joint("cylindrical", &none, |r| at([r.number(), r.angle()], |[p, q]| (z * p, rot_z(q))));
    check_joint("planar", &none, |r| {
        at([r.number(), r.number(), r.angle()], |[x, y, q]| (Vec3::new(x, y, 0.0), rot_z(q)))
    });
    check_joint("screw", &pitch, |r| {
        let q = 9.0 * r.angle();
        at([q, -0.8 * q / TAU], |[q, p]| (z * p, rot_z(q)))
    });
    check_joint("rail", &none, |r| {
        let turn = r.rotation();
        at([r.number()], |[q]| (z * q, turn))
    });
    check_joint("plane-point", &none, |r| {
        free(Vec3::new(r.number(), r.number(), 0.0), r.rotation(), &[])
    });
    check_joint("distance", &length, |r| free(r.vector().normalize() * 0.7, r.rotation(), &[]));
    check_joint("rope", &length, |r| free(r.vector().normalize() * 0.7, r.rotation(), &[0.7]));
    check_joint("translation", &none, |r| {
        at([r.number(), r.number(), r.number()], |q| (Vec3::from(q), e))
    });
    let wire = wire();
    let formula = JointParameters { path: Some(wire.clone()), ..JointParameters::default() };
    check_joint("curve", &formula, |r| {
        let q = 3.0 * r.number() + 0.3;
        free(wire.point(q), r.rotation(), &[q])
    });
    let bowl = JointParameters { surface: Some(ellipsoid()), ..JointParameters::default() };
    check_joint("surface", &bowl, |r| {
        let on_sphere = r.vector().normalize();
        free(on_sphere.component_mul(&Vec3::new(2.0, 1.0, 1.5)), r.rotation(), &[])
    });
    check_joint("curve", &curve, |r| {
        let q = clear_of_knots(&path, r);
        free(path.point(q), r.rotation(), &[q])
    });
}

/// The place that coordinates `q` tell.
fn at<const N: usize>(q: [f64; N], place: impl Fn([f64; N]) -> (Vec3, Mat3)) -> Free {
    let (shift, turn) = place(q);
    free(shift, turn, &q)
}

/// A helix of growing radius as formulas with a parameter, open; checked on both sides of its start.
fn wire() -> Path {
    let mut pool = Pool::new();
    let mut parse = |text: &str| pool.parse(text).expect("a good formula");
    let xyz = [parse("(r + u/10)*cos(u)"), parse("(r + u/10)*sin(u)"), parse("u/2")];
    let (u, r) = (pool.symbol("u"), pool.symbol("r"));
    Path::formula(&mut pool, xyz, u, [0.0, 8.0], &[(r, 1.5)]).expect("a good curve")
}

/// Half axes 2, 1, 1.5.
fn ellipsoid() -> Surface {
    let mut pool = Pool::new();
    let f = pool.parse("x^2/4 + y^2 + (z/c)^2 - 1").expect("a good formula");
    let [x, y, z, c] = ["x", "y", "z", "c"].map(|name| pool.symbol(name));
    Surface::formula(&mut pool, f, [x, y, z], &[(c, 1.5)]).expect("a good surface")
}

/// 6 points of a closed space curve and the first again.
fn space_loop() -> Vec<Vec3> {
    let mut points: Vec<Vec3> = (0..6)
        .map(|i| {
            let u = TAU * f64::from(i) / 6.0;
            Vec3::new(2.0 * u.cos(), 1.5 * u.sin(), 0.5 * (2.0 * u).sin())
        })
        .collect();
    points.push(points[0]);
    points
}

/// A random position on that curve, where the third derivative does not jump within a difference.
fn clear_of_knots(path: &Path, r: &mut Random) -> f64 {
    loop {
        let q = path.length() * (0.5 + 0.49 * r.number());
        if space_loop().iter().all(|knot| (path.point(q) - knot).norm() > 0.3) {
            return q;
        }
    }
}

#[test]
fn every_type_is_in_the_checker() {
    let source = include_str!("joints.rs");
    for known in JOINT_TYPES {
        let line = format!("check_joint(\"{}\", ", known.name);
        assert!(source.contains(&line), "`{}` does not go through check_joint", known.name);
    }
}

#[test]
fn screw_keeps_its_turns_when_it_knows_them() {
    // A thread of 1 mm that fell 0.7 mm in a step: half a pitch and more off, yet on the same turn.
    let frame = JointFrame { origin: Vec3::zeros(), axes: Mat3::identity() };
    let parameters = JointParameters { pitch: Some(1e-3), ..JointParameters::default() };
    let screw = JointKind::from_type("screw", &[frame, frame], &parameters).unwrap();
    let q = 300.0 * TAU + 1.0;
    let b = Pose { s: Vec3::z() * (q / TAU * 1e-3 - 0.7e-3), rot: rot_z(q) };
    let near = screw.near(&[q - 0.5]);
    let error = errors(near.equations(), &Pose::identity(), &b)[4];
    assert!((error + 0.7e-3).abs() < 1e-12, "{error}");
    let angle = coordinates(near.equations(), &Pose::identity(), &b)[0];
    assert!((angle - q).abs() < 1e-10);
    // Without knowing, it takes the next turn.
    let error = errors(screw.equations(), &Pose::identity(), &b)[4];
    assert!((error - 0.3e-3).abs() < 1e-12, "{error}");
}

/// A figure eight, closed, crossing itself at the origin.
fn figure_eight() -> Path {
    let mut points: Vec<Vec3> = (0..64)
        .map(|i| {
            let u = TAU * (f64::from(i) + 0.5) / 64.0;
            Vec3::new(u.sin(), (2.0 * u).sin(), 0.0)
        })
        .collect();
    points.push(points[0]);
    Path::spline(&points).expect("a good curve")
}

#[test]
fn point_goes_straight_through_a_crossing() {
    let path = figure_eight();
    let frame = JointFrame { origin: Vec3::zeros(), axes: Mat3::identity() };
    let parameters = JointParameters { path: Some(path.clone()), ..JointParameters::default() };
    let joint = JointKind::from_type("curve", &[frame, frame], &parameters).unwrap();
    // Two rounds in steps of a hundredth; position goes on counting.
    let n = 200;
    let mut q = 0.0;
    for i in 0..=n {
        let position = 2.0 * path.length() * f64::from(i) / f64::from(n);
        let b = Pose { s: path.point(position), rot: Mat3::identity() };
        let near = joint.near(&[q]);
        let error = errors(near.equations(), &Pose::identity(), &b).norm();
        assert!(error < 1e-12, "{error} at {position}");
        q = coordinates(near.equations(), &Pose::identity(), &b)[0];
        assert!((q - position).abs() < 1e-9, "{q} instead of {position}");
    }
}

#[test]
fn foot_of_a_far_point_is_the_nearest() {
    // A straight spline: the foot of any point is known.
    let points = [Vec3::zeros(), Vec3::x(), Vec3::x() * 4.0];
    let path = Path::spline(&points).unwrap();
    assert!((path.length() - 4.0).abs() < 1e-14);
    let frame = JointFrame { origin: Vec3::zeros(), axes: Mat3::identity() };
    let parameters = JointParameters { path: Some(path), ..JointParameters::default() };
    let joint = JointKind::from_type("curve", &[frame, frame], &parameters).unwrap();
    for (x, y) in [(0.3, 2.0), (3.9, -7.0), (-2.0, 1.0), (9.0, 0.5)] {
        let b = Pose { s: Vec3::new(x, y, 0.0), rot: Mat3::identity() };
        let q = coordinates(joint.equations(), &Pose::identity(), &b)[0];
        assert!((q - x).abs() < 1e-12, "{q} instead of {x}");
        let error = errors(joint.equations(), &Pose::identity(), &b).norm();
        assert!((error - y.abs()).abs() < 1e-12);
    }
}

#[test]
fn wrong_parameters_are_told() {
    let frame = JointFrame { origin: Vec3::zeros(), axes: Mat3::identity() };
    let message = |name: &str, length: Option<f64>, pitch: Option<f64>| {
        let parameters = JointParameters { length, pitch, ..JointParameters::default() };
        JointKind::from_type(name, &[frame, frame], &parameters).unwrap_err()
    };
    assert!(message("distance", None, None).contains("needs `length`"));
    assert!(message("distance", Some(0.0), None).contains("use a ball joint"));
    assert!(message("rope", Some(f64::NAN), None).contains("positive"));
    assert!(message("rope", Some(f64::INFINITY), None).contains("positive"));
    assert!(message("screw", None, None).contains("needs `pitch`"));
    assert!(message("screw", None, Some(0.0)).contains("use a hinge"));
    assert!(message("curve", None, None).contains("needs `curve`"));
    assert!(message("Revolute", None, None).contains("called `hinge`"));
    assert!(message("wobble", None, None).contains("ball, hinge, fixed"));
}

#[test]
fn distance_stays_finite_where_its_points_meet() {
    let frame = JointFrame { origin: Vec3::zeros(), axes: Mat3::identity() };
    let parameters = JointParameters { length: Some(1.0), ..JointParameters::default() };
    let joint = JointKind::from_type("distance", &[frame, frame], &parameters).unwrap();
    let here = Pose::identity();
    let v = Twist { s_dot: Vec3::x(), omega: Vec3::y() };
    let mut gamma = [f64::NAN];
    joint.equations().gamma(&here, &here, &v, &Twist::zero(), &mut gamma);
    assert!(gamma[0].is_finite());
    assert!((jacobian(joint.equations(), &here, &here).norm() - 2.0_f64.sqrt()).abs() < 1e-14);
}

#[test]
fn curve_of_formulas_knows_its_length_and_its_faults() {
    let mut pool = Pool::new();
    let [u, r] = ["u", "r"].map(|name| pool.symbol(name));
    let mut path = |text: [&str; 3], range: [f64; 2]| {
        let xyz = text.map(|text| pool.parse(text).unwrap());
        Path::formula(&mut pool, xyz, u, range, &[(r, 2.0)])
    };
    let circle = path(["r*cos(u)", "r*sin(u)", "1"], [0.0, TAU]).unwrap();
    assert!(circle.is_closed());
    assert!((circle.length() - 2.0 * TAU).abs() < 1e-13);
    assert!((circle.point(-PI) - Vec3::new(0.0, -2.0, 1.0)).norm() < 1e-13);
    let arc = path(["r*cos(u)", "r*sin(u)", "1"], [0.0, PI]).unwrap();
    assert!(!arc.is_closed());
    // The same place at both ends, but with a corner.
    let drop = path(["u*(1 - u)", "u*(1 - u)*(1 - 2*u)", "0"], [0.0, 1.0]).unwrap();
    assert!(!drop.is_closed());
    // ∫ √(1 + 4u²) du, within its range and a good way beyond it.
    let parabola = path(["u", "u^2", "0"], [0.0, 1.0]).unwrap();
    let length = |u: f64| 0.5 * u * (1.0 + 4.0 * u * u).sqrt() + (2.0 * u).asinh() / 4.0;
    for u in [0.3, 1.0, 1.2, -0.2] {
        assert!((parabola.point(length(u)) - Vec3::new(u, u * u, 0.0)).norm() < 1e-12, "{u}");
    }
    assert!(path(["u^2", "u^3", "0"], [-1.0, 1.0]).unwrap_err().contains("stands still"));
    assert!(path(["1/u", "u", "0"], [-1.0, 1.0]).unwrap_err().contains("no value"));
    assert!(path(["w", "u", "0"], [0.0, 1.0]).unwrap_err().contains("`w`"));
    assert!(path(["u", "u", "0"], [1.0, 0.0]).unwrap_err().contains("range"));
    assert!(path(["u", "u", "0"], [0.0, f64::NAN]).unwrap_err().contains("range"));
}

#[test]
fn surface_without_a_normal_stays_finite() {
    let mut pool = Pool::new();
    let cone = pool.parse("x^2 + y^2 - z^2").unwrap();
    let xyz = ["x", "y", "z"].map(|name| pool.symbol(name));
    let surface = Surface::formula(&mut pool, cone, xyz, &[]).unwrap();
    let frame = JointFrame { origin: Vec3::zeros(), axes: Mat3::identity() };
    let parameters = JointParameters { surface: Some(surface), ..JointParameters::default() };
    let joint = JointKind::from_type("surface", &[frame, frame], &parameters).unwrap();
    let here = Pose::identity();
    assert!(errors(joint.equations(), &here, &here)[0].abs() < 1e-15);
    assert!(jacobian(joint.equations(), &here, &here).norm() < 1e-15);
    let one = pool.parse("1 - 2").unwrap();
    assert!(Surface::formula(&mut pool, one, xyz, &[]).unwrap_err().contains("x, y or z"));
}

#[test]
fn two_axes_must_be_at_a_right_angle() {
    let mut builder = Builder::new("universal");
    let b = builder.body(&BodyDef::new("b", 1.0, Mat3::identity()).at(Vec3::x()));
    let frames = |axis: Vec3, axis2: Vec3| {
        builder.joint_frames_two_axes([BodyId::WORLD, b], &Vec3::zeros(), &axis, &axis2)
    };
    let [a, b] = frames(Vec3::z() * 3.0, Vec3::y()).unwrap();
    assert!((a.x() - Vec3::y()).norm() < 1e-15 && (a.z() - Vec3::z()).norm() < 1e-15);
    assert!((a.axes.determinant() - 1.0).abs() < 1e-15);
    assert!((b.origin + Vec3::x()).norm() < 1e-15);
    assert!(frames(Vec3::z(), Vec3::new(0.0, 1.0, 1.0)).unwrap_err().contains("45.0000°"));
    assert!(frames(Vec3::z(), Vec3::zeros()).unwrap_err().contains("no direction"));
}
