//! The paper's pendulum: periods, orders, velocity correction.

mod common;

use common::{after, double_pendulum, pendulum, settings, slope};
use gelenk_impulse::Simulation;
use gelenk_model::math::Vec3;
use gelenk_model::{Model, RunSettings};

const T0: f64 = 2.009_892_627_298_6;

/// \[Schmitt 2003\] table 9.1: h and T0 − T.
const TABLE_9_1: [(f64, f64); 9] = [
    (0.04, 0.001_348_102_396_66),
    (0.02, 0.000_336_598_739_43),
    (0.01, 8.371_325_49e-5),
    (0.005, 2.092_568_899e-5),
    (0.0025, 5.231_631_19e-6),
    (0.00125, 1.306_137_21e-6),
    (0.000_625, 3.273_384e-7),
    (0.000_312_5, 8.061_132e-8),
    (0.000_156_25, 1.779_746e-8),
];

/// The time between two crossings of x = 0 in the same direction, by cubic Hermite interpolation.
fn period(model: &Model, settings: &RunSettings) -> f64 {
    let mut simulation = Simulation::new(model, settings).expect("starts");
    let mut crossings = Vec::new();
    while crossings.len() < 2 {
        let (t, x0, v0) = sample(&simulation);
        simulation.step().expect("step");
        let (t1, x1, v1) = sample(&simulation);
        if x0 > 0.0 && x1 <= 0.0 {
            let h = t1 - t;
            let cubic = |u: f64| {
                let (a, b) = (2.0 * u * u * u - 3.0 * u * u + 1.0, u * u * u - 2.0 * u * u + u);
                let (c, d) = (-2.0 * u * u * u + 3.0 * u * u, u * u * u - u * u);
                a * x0 + b * h * v0 + c * x1 + d * h * v1
            };
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if cubic(middle) > 0.0 {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            crossings.push(t + low * h);
        }
    }
    crossings[1] - crossings[0]
}

fn sample(simulation: &Simulation<'_>) -> (f64, f64, f64) {
    let state = simulation.state();
    (state.t, state.s[1].x, state.s_dot[1].x)
}

/// Every period of table 9.1 within 5 % of the paper's error, and errors that fall by 4 with each halving.
///
/// The paper's last figure leaves its own h² law (ratio 4.53); there ours is held to the law alone, since no error can be
/// within 5 % of the last two figures and fall by 4 within 2 %.
#[test]
fn table_9_1() {
    let model = pendulum();
    let mut last = None;
    for (h, paper) in TABLE_9_1 {
        let error = T0 - period(&model, &settings(h, 1e-13));
        if h > 0.000_31 {
            assert!((error / paper - 1.0).abs() < 0.05, "h = {h}: {error:e}, paper {paper:e}");
        }
        if let Some(last) = last {
            let ratio: f64 = last / error;
            assert!((ratio / 4.0 - 1.0).abs() < 0.02, "h = {h}: ratio {ratio}");
        }
        last = Some(error);
    }
}

/// Angle of the mathematical pendulum after t seconds by the equation φ̈ = −g sin φ, integrated with steps so small and an order so
/// high (Gragg-Bulirsch-Stoer) that only rounding is left.
fn exact_angle(t: f64) -> f64 {
    let f = |y: &[f64]| vec![y[1], -9.81 * y[0].sin()];
    common::extrapolated(f, vec![10.0_f64.to_radians(), 0.0], t)[0]
}

/// Orders 2, 4, 6 and 8 on the pendulum, 2 s: slopes as published for the method, errors as measured before.
#[test]
fn orders_on_the_pendulum() {
    let model = pendulum();
    let exact = exact_angle(2.0);
    for (order, steps, expected) in [
        (2, &[0.0125, 0.00625, 0.003_125][..], 2.0),
        (4, &[0.1, 0.05, 0.025, 0.0125], 3.99),
        (6, &[0.1, 0.05, 0.025], 6.02),
        (8, &[0.2, 0.1], 8.04),
    ] {
        let error = |h: &f64| {
            let settings = RunSettings { order, ..settings(*h, 1e-15) };
            let simulation = after(&model, &settings, 2.0);
            let s = simulation.state().s[1];
            (s.x.atan2(-s.z) - exact).abs()
        };
        let errors: Vec<f64> = steps.iter().map(error).collect();
        let slope = slope(&errors);
        assert!((slope - expected).abs() < 0.1, "order {order}: slope {slope}, {errors:?}");
    }
}

/// The double pendulum of two thin rods: φ1, φ2 from the vertical, by Lagrange's equations.
fn double_pendulum_angles(t: f64) -> [f64; 2] {
    let f = |y: &[f64]| {
        let (a, b, p, q) = (y[0], y[1], y[2], y[3]);
        let g = 9.81;
        // [4/3, c/2; c/2, 1/3] φ̈ = rhs with c = cos(a − b)
        let (s, c) = (a - b).sin_cos();
        let r1 = -0.5 * s * q * q - 1.5 * g * a.sin();
        let r2 = 0.5 * s * p * p - 0.5 * g * b.sin();
        let (m11, m12, m22) = (4.0 / 3.0, 0.5 * c, 1.0 / 3.0);
        let det = m11 * m22 - m12 * m12;
        vec![p, q, (m22 * r1 - m12 * r2) / det, (m11 * r2 - m12 * r1) / det]
    };
    let half_pi = std::f64::consts::FRAC_PI_2;
    let y = common::extrapolated(f, vec![half_pi, half_pi, 0.0, 0.0], t);
    [y[0], y[1]]
}

#[test]
fn orders_on_the_double_pendulum() {
    let model = double_pendulum();
    let [a, b] = double_pendulum_angles(1.0);
    let upper = 0.5 * Vec3::new(a.sin(), 0.0, -a.cos());
    let lower = 2.0 * upper + 0.5 * Vec3::new(b.sin(), 0.0, -b.cos());
    for (order, h) in [(2, 0.0025), (4, 0.01), (6, 0.02), (8, 0.03125)] {
        let error = |h: f64| {
            let settings = RunSettings { order, ..settings(h, 1e-15) };
            let simulation = after(&model, &settings, 1.0);
            let s = &simulation.state().s;
            (s[1] - upper).norm().max((s[2] - lower).norm())
        };
        let errors = [error(h), error(h / 2.0)];
        let slope = slope(&errors);
        assert!((slope - f64::from(order)).abs() < 0.25, "order {order}: {slope} {errors:?}");
    }
}

/// Positions do not depend on the velocity correction: impulses along the rows at an instant are forgotten by the next position
/// correction.
#[test]
fn velocity_correction_changes_no_position() {
    for model in [pendulum(), double_pendulum(), common::eight_loop()] {
        let on = settings(0.005, 1e-14);
        let off = RunSettings { velocity_correction: false, ..on.clone() };
        let (one, two) = (after(&model, &on, 0.5), after(&model, &off, 0.5));
        for (a, b) in one.state().s.iter().zip(&two.state().s) {
            assert!((a - b).norm() < 1e-10, "{}: {:e}", model.name, (a - b).norm());
        }
    }
}
