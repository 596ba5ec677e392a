//! Maps from node to node: their values against an adaptive integrator, their derivatives against differences.

use gelenk_expr::{Expr, Pool};
use gelenk_model::{LoadOptions, load_text};
use gelenk_ode::{Failure, Integrator, Options, System};
use gelenk_optimize::{ControlShape, Duration, Formulas, Mechanism, Motion, Shooting, Source};
use nalgebra::{DMatrix, DVector};

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| (*s).to_owned()).collect()
}

/// A motion by formulas: states with rates, controls, parameters, cost.
fn formulas(
    states: &[(&str, &str)],
    controls: &[&str],
    parameters: &[&str],
    cost: &str,
) -> Formulas {
    let mut pool = Pool::new();
    let symbol = |pool: &mut Pool, list: &[&str]| -> Vec<Expr> {
        list.iter().map(|n| pool.symbol(n)).collect()
    };
    let (u, p) = (symbol(&mut pool, controls), symbol(&mut pool, parameters));
    let pairs: Vec<(Expr, Expr)> = states
        .iter()
        .map(|(name, rate)| (pool.symbol(name), pool.parse(rate).expect("a formula")))
        .collect();
    let cost = pool.parse(cost).expect("a formula");
    Formulas::new(&mut pool, &pairs, &u, &p, cost).expect("all symbols are known")
}

/// A pendulum with a moving mass, a time-dependent push and a free duration: nothing is linear.
fn swing(shape: ControlShape) -> Shooting<Formulas> {
    let flow = formulas(
        &[
            ("q", "v"),
            ("r", "w"),
            ("v", "-k*sin(q)*(1 + r^2) + u.a*cos(t) - v*w"),
            ("w", "q*v - r^3 + u.b*u.a + k*t"),
            ("s", "exp(-q^2)*v + u.b^2*s"),
        ],
        &["u.a", "u.b"],
        &["k", "T"],
        "u.a^2*q + v^2*s + t*k",
    );
    let durations = vec![
        Duration::Part { parameter: 1, part: 0.4 },
        Duration::Part { parameter: 1, part: 0.6 },
        Duration::Fixed(0.3),
    ];
    Shooting::new(
        flow,
        shape,
        durations,
        3,
        &names(&["q", "r", "v", "w", "s"]),
        &names(&["a", "b"]),
        &names(&["k", "T"]),
    )
}

fn point(n: usize, scale: f64) -> Vec<f64> {
    (0..n).map(|i| scale * (0.3 + (i as f64 * 1.7).sin())).collect()
}

/// Jacobian and curvature of a function with values and derivatives, against central differences of fourth order. The largest errors,
/// relative to the largest entry.
fn differences(
    f: &dyn Fn(&[f64], Option<&[f64]>) -> (DVector<f64>, DMatrix<f64>, Option<DMatrix<f64>>),
    z: &[f64],
    step: f64,
) -> (f64, f64) {
    let (values, jacobian, _) = f(z, None);
    let weights: Vec<f64> = point(values.len(), 1.0);
    let w = DVector::from_vec(weights.clone());
    let curvature = f(z, Some(&weights)).2.expect("it was asked for");
    let (mut first, mut second) = (0.0f64, 0.0f64);
    for j in 0..z.len() {
        let at = |k: f64| {
            let mut moved = z.to_vec();
            moved[j] += k * step;
            let (values, jacobian, _) = f(&moved, None);
            (values, jacobian.transpose() * &w)
        };
        let ((a, da), (b, db), (c, dc), (d, dd)) = (at(-2.0), at(-1.0), at(1.0), at(2.0));
        let slope = (&a - &b * 8.0 + &c * 8.0 - &d) / (12.0 * step);
        let bend = (&da - &db * 8.0 + &dc * 8.0 - &dd) / (12.0 * step);
        first = first.max((slope - jacobian.column(j)).amax());
        second = second.max((bend - curvature.column(j)).amax());
    }
    assert!((&curvature - curvature.transpose()).amax() < 1e-12 * curvature.amax());
    (first / jacobian.amax(), second / curvature.amax())
}

fn check_motion(motion: &dyn Motion, stage: usize, z: &[f64], step: f64, bounds: (f64, f64)) {
    let map = |z: &[f64], weights: Option<&[f64]>| {
        let l = motion.linearize(stage, z, weights).expect("it runs");
        (l.values, l.jacobian, l.curvature)
    };
    let look = |z: &[f64], weights: Option<&[f64]>| {
        let l = motion.observe(stage, z, weights).expect("it is near");
        (l.values, l.jacobian, l.curvature)
    };
    let (first, second) = differences(&map, z, step);
    assert!(first < bounds.0 && second < bounds.1, "interval {stage}: {first:e} {second:e}");
    let arrival = motion.advance(stage, z).expect("it runs");
    let values = motion.linearize(stage, z, None).expect("it runs").values;
    let n = values.len() - 1;
    let apart = (values.rows(0, n) - &arrival.state).amax().max((values[n] - arrival.cost).abs());
    assert!(apart < 1e-12 * values.amax().max(1.0), "{apart:e}");
    // Quantities are linear for plain states; then both curvatures are zero.
    let weights = vec![1.0; motion.quantities().len()];
    if look(z, Some(&weights)).2.expect("asked for").amax() > 0.0 {
        let (first, second) = differences(&look, z, step);
        assert!(first < bounds.0 && second < bounds.1, "node {stage}: {first:e} {second:e}");
    }
}

#[test]
fn derivatives_of_formulas_are_those_of_the_map() {
    for shape in [ControlShape::Constant, ControlShape::Linear] {
        let motion = swing(shape);
        for interval in 0..3 {
            let mut z = point(motion.sizes(interval).total(), 0.7);
            let n = z.len();
            z[n - 1] = 0.9;
            check_motion(&motion, interval, &z, 1e-3, (1e-9, 1e-9));
        }
    }
}

struct Swing {
    p: [f64; 2],
    u: [[f64; 2]; 2],
    t: [f64; 2],
}

impl System for Swing {
    fn dim(&self) -> usize {
        6
    }
    fn rhs(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), Failure> {
        let tau = (t - self.t[0]) / (self.t[1] - self.t[0]);
        let u: [f64; 2] =
            std::array::from_fn(|i| self.u[0][i] + tau * (self.u[1][i] - self.u[0][i]));
        let (q, r, v, w, s, k) = (x[0], x[1], x[2], x[3], x[4], self.p[0]);
        dx[0] = v;
        dx[1] = w;
        dx[2] = -k * q.sin() * (1.0 + r * r) + u[0] * t.cos() - v * w;
        dx[3] = q * v - r.powi(3) + u[1] * u[0] + k * t;
        dx[4] = (-q * q).exp() * v + u[1] * u[1] * s;
        dx[5] = u[0] * u[0] * q + v * v * s + t * k;
        Ok(())
    }
}

#[test]
fn maps_agree_with_the_adaptive_integrator_and_have_order_five() {
    let mut motion = swing(ControlShape::Linear);
    let interval = 1;
    let mut z = point(motion.sizes(interval).total(), 0.7);
    let n = z.len();
    z[n - 1] = 0.9;
    let times = [0.36, 0.9];
    let mut system = Swing { p: [z[n - 2], z[n - 1]], u: [[z[5], z[6]], [z[7], z[8]]], t: times };
    let start = [&z[..5], &[0.0]].concat();
    let options = Options { rtol: 1e-13, atol: 1e-14, ..Options::default() };
    let mut run = Integrator::new(options, times[0], &start).expect("options are fine");
    run.run(&mut system, times[1]).expect("it runs");
    let exact = DVector::from_column_slice(run.y());
    let mut errors = Vec::new();
    for steps in [2, 4, 8] {
        let durations = vec![
            Duration::Part { parameter: 1, part: 0.4 },
            Duration::Part { parameter: 1, part: 0.6 },
            Duration::Fixed(0.3),
        ];
        let finer = Shooting::new(
            motion.flow().clone(),
            ControlShape::Linear,
            durations,
            steps,
            &names(&["q", "r", "v", "w", "s"]),
            &names(&["a", "b"]),
            &names(&["k", "T"]),
        );
        let end = finer.advance(interval, &z).expect("it runs");
        let end = DVector::from_iterator(6, end.state.iter().copied().chain([end.cost]));
        errors.push((end - &exact).amax());
    }
    let orders = [(errors[0] / errors[1]).log2(), (errors[1] / errors[2]).log2()];
    assert!(orders.iter().all(|o| (4.5..6.5).contains(o)), "{errors:?} {orders:?}");
    // Steps by error control.
    let points: Vec<DVector<f64>> =
        (0..3).map(|k| DVector::from_vec(z[..motion.sizes(k).total()].to_vec())).collect();
    motion.choose_steps(&points, 1e-10).expect("it runs");
    let end = motion.advance(interval, &z).expect("it runs");
    let error =
        (DVector::from_iterator(6, end.state.iter().copied().chain([end.cost])) - &exact).amax();
    assert!(
        error < 1e-9 && motion.n_steps(interval) > 2,
        "{error:e} in {} steps",
        motion.n_steps(interval)
    );
}

/// Two masses on rods with a spring, a driven couple and soft ground.
const CRANE: &str = r#"
[model]
name = "crane"
gravity = [0, 0, -9.81]
[parameters]
c = 200
k = 30
[inputs]
push = 0
twist = 0
[[point]]
name = "a"
mass = 2
position = [0.6, 0, 0.8]
[[point]]
name = "b"
mass = 1
position = [0.6, 1.2, -0.1]
[[point]]
name = "c"
mass = 0.5
position = [0.1, 1.2, -0.1]
[[constraint]]
name = "arm"
equation = "a.x^2 + a.y^2 + a.z^2 = 1"
[[constraint]]
name = "rope"
equation = "(a.x - b.x)^2 + (a.y - b.y)^2 + (a.z - b.z)^2 = 2.25"
[[constraint]]
name = "rail"
equation = "c.x*c.y + c.z = 0.02"
[[force]]
name = "pushed"
body = "b"
force = ["input.push", "input.push*a.x", "if(b.z < 0, -c*b.z^3*point.b.velocity.z^2 - 50*c*b.z^3, 0)"]
[[force]]
name = "twisted"
between = ["a", "b"]
torque = ["input.twist*b.x", 0, "input.twist*input.push"]
[[spring]]
name = "spring"
between = ["b", "c"]
stiffness = "k"
length = 0.3
damping = 0.7
[[drag]]
name = "air"
body = "a"
linear = 0.4
"#;

fn crane(shape: ControlShape) -> (Shooting<Mechanism>, Vec<f64>) {
    let options = LoadOptions { allow_open: true, ..LoadOptions::default() };
    let loaded = load_text("crane", CRANE, &options).expect("a model");
    let free = names(&["k", "T"]);
    let mut source = Source::from_model(&loaded, &free).expect("point masses");
    source.set_cost("a.z^2*k + u.push^2*b.vx + t").expect("an expression");
    let (states, controls, start) =
        (source.names.clone(), source.control_names.clone(), source.start.clone());
    let mechanism = Mechanism::new(source).expect("constraints that do not change");
    let durations = vec![
        Duration::Part { parameter: 1, part: 0.3 },
        Duration::Part { parameter: 1, part: 0.7 },
    ];
    let mut motion = Shooting::new(mechanism, shape, durations, 4, &states, &controls, &free);
    let mut states = vec![start; 3];
    for (i, state) in states.iter_mut().enumerate() {
        for (k, y) in state.iter_mut().enumerate() {
            *y += 0.1 * ((i + 1) as f64) * (k as f64 * 1.3 + i as f64).sin();
        }
    }
    let places = motion.place_nodes(&states).expect("near the constraints");
    (motion, places[1].clone())
}

#[test]
fn derivatives_on_the_manifold_are_those_of_the_map() {
    for shape in [ControlShape::Constant, ControlShape::Linear] {
        let (mut motion, _) = crane(shape);
        for interval in 0..2 {
            let sizes = motion.sizes(interval);
            assert_eq!(sizes.states, 12);
            let mut z = point(sizes.total(), 0.2);
            let n = z.len();
            (z[n - 2], z[n - 1]) = (30.0, 0.5);
            check_motion(&motion, interval, &z, 1e-4, (1e-8, 1e-8));
        }
        // The motion does not depend on its charts, but for how an end that is off the constraints by the error of the steps is brought back.
        let mut nodes = vec![DVector::from_vec(point(12, 0.2)); 3];
        let mut z = point(motion.sizes(0).total(), 0.2);
        let n = z.len();
        (z[n - 2], z[n - 1]) = (30.0, 0.5);
        nodes[1] = motion.advance(0, &z).expect("it runs").state;
        let before = motion.state(1, nodes[1].as_slice()).expect("near");
        let moved = motion.recenter(&nodes).expect("near");
        assert!(moved.iter().all(|xi| xi.amax() == 0.0));
        z[..12].fill(0.0);
        let end = motion.advance(0, &z).expect("it runs").state;
        let after = motion.state(1, end.as_slice()).expect("near");
        assert!(end.amax() < 1e-7, "{end}");
        assert!(before.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-7));
    }
}
