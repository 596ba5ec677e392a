//! Motion through singular positions, against minimal coordinates.
#![allow(clippy::print_stderr, reason = "counts and errors, for who looks")]
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use std::f64::consts::{FRAC_PI_2, PI};

use gelenk_blowup::{CrossOptions, CrossRun, Error, Mechanism, Method, System, run};
use gelenk_expr::Rational;
use gelenk_ode::{Failure, Integrator, Options};

const G: f64 = 9.81;

fn mechanism(names: &[&str], constraints: &[&str], potential: &str) -> Mechanism {
    let system = System::parse(names, constraints).unwrap();
    let potential = System::parse(names, &[potential]).unwrap().equations.remove(0);
    Mechanism::new(system, vec![Rational::ONE; names.len()], potential).unwrap()
}

fn cross(m: &Mechanism, x: &[f64], v: &[f64], duration: f64, options: CrossOptions) -> CrossRun {
    run(m, x, v, duration, &options, &mut |_, _, _| {}).unwrap()
}

/// q̈ = a(q, q̇) in one coordinate, to the last digits.
fn reference(a: impl Fn(f64, f64) -> f64, q: f64, q_dot: f64, duration: f64) -> (f64, f64) {
    struct One<F>(F);
    impl<F: Fn(f64, f64) -> f64> gelenk_ode::System for One<F> {
        fn dim(&self) -> usize {
            2
        }
        fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), Failure> {
            (dy[0], dy[1]) = (y[1], (self.0)(y[0], y[1]));
            Ok(())
        }
    }
    let mut one = One(a);
    let mut i = Integrator::new(Options::with_tolerance(1e-13), 0.0, &[q, q_dot]).unwrap();
    i.run(&mut one, duration).unwrap();
    (i.y()[0], i.y()[1])
}

/// The eight by its angle: x = cos u, y = sin u cos u, L = ½ s u̇² − g y with s = sin²u + cos²2u.
fn eight_reference(duration: f64) -> (f64, f64) {
    let a = |u: f64, w: f64| {
        let s = u.sin().powi(2) + (2.0 * u).cos().powi(2);
        let s_u = (2.0 * u).sin() - 2.0 * (4.0 * u).sin();
        (-G * (2.0 * u).cos() - 0.5 * s_u * w * w) / s
    };
    // At u = 0: ẏ = u̇.
    reference(a, 0.0, 4.0, duration)
}

#[test]
fn lying_eight_in_85_steps() {
    let eight = mechanism(&["x", "y"], &["y^2 = x^2*(1 - x^2)"], "9.81*y");
    for method in [Method::Curve, Method::Polar] {
        let options = CrossOptions { method, tolerance: 2e-8, ..CrossOptions::default() };
        let mut error = 0.0f64;
        let mut observe = |t: f64, x: &[f64], _: &[f64]| {
            if t > 0.0 {
                let (u, _) = eight_reference(t);
                error = error.max((x[0] - u.cos()).hypot(x[1] - u.sin() * u.cos()));
            }
        };
        let r = run(&eight, &[1.0, 0.0], &[0.0, 4.0], 2.0, &options, &mut observe).unwrap();
        eprintln!(
            "{method:?}: {} steps ({} refused), {} evaluations, {} expansions, error {error:e}, energy {:e} ({:e} taken away), gap {:e}",
            r.steps,
            r.rejected,
            r.evaluations,
            r.expansions,
            r.energy_error,
            r.energy_corrected,
            r.constraint_error
        );
        // The thesis: 85 steps and 1190 evaluations with its DOP85.
        assert!(r.steps <= 85 && r.evaluations <= 1190, "{} {}", r.steps, r.evaluations);
        assert!(error < 1e-8, "{error:e}");
        assert!(r.energy_error < 1e-9, "{:e}", r.energy_error);
        // The times, by the angle: u = π/2, 3π/2, … in turn.
        let (u, _) = eight_reference(2.0);
        let turns = ((u + FRAC_PI_2) / PI).floor();
        assert!((r.crossings.len() as f64 - turns).abs() < 0.5, "{} {turns}", r.crossings.len());
        for (k, c) in r.crossings.iter().enumerate() {
            let (u, u_dot) = eight_reference(c.time);
            let late = (u - FRAC_PI_2 - k as f64 * PI) / u_dot;
            assert!(late.abs() < 1e-8, "{} {late:e}", c.time);
            assert_eq!(c.place.exact, Some(vec![Rational::ZERO; 2]));
        }
    }
}

#[test]
fn energy_holds_by_itself() {
    // Without the projection onto the energy the error falls with the tolerance.
    let eight = mechanism(&["x", "y"], &["y^2 = x^2*(1 - x^2)"], "9.81*y");
    let options = CrossOptions { keep_energy: false, ..CrossOptions::default() };
    let r = cross(&eight, &[1.0, 0.0], &[0.0, 4.0], 2.0, options);
    assert!(r.energy_error < 1e-9, "{:e}", r.energy_error);
    assert!(r.energy_error > 1e-13 && r.energy_corrected == 0.0);
}

#[test]
fn cross_goes_straight_through() {
    let m = mechanism(&["x", "y"], &["x*y"], "0");
    for method in [Method::Curve, Method::Polar] {
        let options = CrossOptions { method, ..CrossOptions::default() };
        let r = cross(&m, &[-1.0, 0.0], &[1.0, 0.0], 2.0, options);
        assert!((r.x[0] - 1.0).abs() < 1e-12 && r.x[1].abs() < 1e-12, "{:?}", r.x);
        assert_eq!(r.crossings.len(), 1);
        assert!((r.crossings[0].time - 1.0).abs() < 1e-10, "{}", r.crossings[0].time);
    }
}

#[test]
fn crank_passes_upright() {
    let m = mechanism(
        &["x1", "y1", "x2", "y2"],
        &["x1^2 + y1^2 = 1", "(x1 - x2)^2 + (y1 - y2)^2 = 1", "y2 = 0"],
        "9.81*y1",
    );
    // x1 = sin θ, y1 = cos θ, x2 = 2 sin θ: T = ½ θ̇² (1 + 4 cos²θ).
    let theta: f64 = -0.8;
    let speed = 3.0;
    let a = |q: f64, w: f64| {
        (G * q.sin() + 4.0 * q.sin() * q.cos() * w * w) / (1.0 + 4.0 * q.cos().powi(2))
    };
    let (q, _) = reference(a, theta, speed, 0.6);
    let x = [theta.sin(), theta.cos(), 2.0 * theta.sin(), 0.0];
    let v = [speed * theta.cos(), -speed * theta.sin(), 2.0 * speed * theta.cos(), 0.0];
    for method in [Method::Curve, Method::Polar] {
        let options = CrossOptions { method, ..CrossOptions::default() };
        let r = cross(&m, &x, &v, 0.6, options);
        let exact = [q.sin(), q.cos(), 2.0 * q.sin(), 0.0];
        let error = r.x.iter().zip(exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        eprintln!("{method:?} {} {} {error:e} {:e}", r.steps, r.evaluations, r.energy_error);
        assert!(error < 1e-8, "{error:e}");
        assert!(r.energy_error < 1e-8);
        assert_eq!(r.crossings.len(), 1);
        assert_eq!(r.crossings[0].place.exact, Some([0, 1, 0, 0].map(Rational::from).to_vec()));
    }
}

#[test]
fn crank_passes_upright_with_the_slider_at_rest() {
    let m = mechanism(
        &["x1", "y1", "x2", "y2"],
        &["x1^2 + y1^2 = 1", "(x1 - x2)^2 + (y1 - y2)^2 = 1", "y2 = 0"],
        "9.81*y1",
    );
    // The other branch: a pendulum, θ̈ = g sin θ.
    let theta: f64 = -0.8;
    let (q, _) = reference(|q, _| G * q.sin(), theta, 4.0, 0.6);
    let x = [theta.sin(), theta.cos(), 0.0, 0.0];
    let v = [4.0 * theta.cos(), -4.0 * theta.sin(), 0.0, 0.0];
    let r = cross(&m, &x, &v, 0.6, CrossOptions::default());
    assert!((r.x[0] - q.sin()).abs() < 1e-8 && r.x[2].abs() < 1e-10, "{:?}", r.x);
    assert_eq!(r.crossings.len(), 1);
}

#[test]
fn four_bars_pass_flat() {
    // n + 1 bars of length 1, all parallel: a pendulum.
    for n in [1usize, 2, 4] {
        let mut names = Vec::new();
        let mut equations = Vec::new();
        let mut potential = Vec::new();
        let (mut x, mut v) = (Vec::new(), Vec::new());
        let theta: f64 = 1.0; // from the vertical, y = cos θ
        for i in 0..=n {
            names.extend([format!("x{i}"), format!("y{i}")]);
            equations.push(format!("(x{i} - {i})^2 + y{i}^2 - 1"));
            potential.push(format!("9.81*y{i}"));
            x.extend([i as f64 + theta.sin(), theta.cos()]);
            v.extend([theta.cos(), -theta.sin()]);
        }
        for i in 0..n {
            let j = i + 1;
            equations.push(format!("(x{j} - x{i})^2 + (y{j} - y{i})^2 - 1"));
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let equations: Vec<&str> = equations.iter().map(String::as_str).collect();
        let m = mechanism(&names, &equations, &potential.join(" + "));
        // It falls through θ = π/2 and passes 3π/2 if it swings far enough.
        let (q, _) = reference(|q, _| G * q.sin(), theta, 1.0, 1.5);
        let r = cross(&m, &x, &v, 1.5, CrossOptions::default());
        let error = (0..=n)
            .map(|i| (r.x[2 * i] - i as f64 - q.sin()).hypot(r.x[2 * i + 1] - q.cos()))
            .fold(0.0, f64::max);
        eprintln!(
            "n = {n}: {} steps, {} evaluations, error {error:e}, energy {:e}, crossings {:?}",
            r.steps,
            r.evaluations,
            r.energy_error,
            r.crossings.iter().map(|c| c.time).collect::<Vec<_>>()
        );
        assert!(error < 1e-8, "{error:e}");
        assert!(!r.crossings.is_empty());
    }
}

#[test]
fn cusp_is_refused() {
    let cusp = mechanism(&["x", "y"], &["y^2 = x^3"], "9.81*y");
    // From rest at (1, 1): it slides down into the point.
    let error =
        run(&cusp, &[1.0, 1.0], &[0.0, 0.0], 2.0, &CrossOptions::default(), &mut |_, _, _| {})
            .unwrap_err();
    eprintln!("{error}");
    let Error::NoSmoothMotion { time, place, reason } = &error else { panic!("{error}") };
    assert_eq!(place, "x = 0, y = 0");
    assert!(reason.contains("whole matrix"), "{reason}");
    assert!(*time > 0.3 && *time < 1.5);
}

#[test]
fn touching_branches_are_told_apart() {
    // y² = x⁴: the parabola y = x² is kept, not left for y = -x².
    let m = mechanism(&["x", "y"], &["y^2 = x^4"], "0");
    let v = 1.0 / 5f64.sqrt();
    let r = cross(&m, &[-1.0, 1.0], &[v, -2.0 * v], 3.0, CrossOptions::default());
    assert!(r.x[0] > 0.5, "{:?}", r.x);
    assert!((r.x[1] - r.x[0].powi(2)).abs() < 1e-9, "{:?}", r.x);
    assert_eq!(r.crossings[0].resolution.rounds.len(), 2);
}

#[test]
fn irrational_places_are_crossed_too() {
    // y = x² - 2 and y = 2 - x² meet in (±√2, 0).
    let m = mechanism(&["x", "y"], &["y^2 = (x^2 - 2)^2"], "0");
    let r = cross(&m, &[1.0, -1.0], &[1.0, 2.0], 1.0, CrossOptions::default());
    assert!(r.x[0] > 1.5 && (r.x[1] - (r.x[0].powi(2) - 2.0)).abs() < 1e-9, "{:?}", r.x);
    assert_eq!(r.crossings.len(), 1);
    assert!(r.crossings[0].place.exact.is_none());
}

#[test]
fn bad_starts_are_refused() {
    let m = mechanism(&["x", "y"], &["x*y"], "0");
    let go = |x: &[f64], v: &[f64]| {
        run(&m, x, v, 1.0, &CrossOptions::default(), &mut |_, _, _| {}).unwrap_err()
    };
    assert!(matches!(go(&[1.0, 1.0], &[0.0, 0.0]), Error::BadStart { index: 1, .. }));
    assert!(matches!(go(&[1.0, 0.0], &[0.0, 1.0]), Error::BadStart { index: 1, .. }));
    assert!(matches!(go(&[0.0, 0.0], &[1.0, 0.0]), Error::SingularStart));
    assert!(matches!(go(&[0.0], &[1.0]), Error::WrongLength { .. }));
    let system = System::parse(&["x"], &[]).unwrap();
    let potential = gelenk_blowup::Poly::zero(1);
    let massless = Mechanism::new(system, vec![Rational::ZERO], potential);
    assert!(matches!(massless, Err(Error::BadMass { .. })));
}

#[test]
fn long_steps_do_not_leap_over() {
    // At a coarse tolerance a step is longer than the way through.
    let m = mechanism(&["x", "y"], &["x*y"], "0");
    let options = CrossOptions { tolerance: 1e-3, near: 0.02, ..CrossOptions::default() };
    let r = cross(&m, &[-1.0, 0.0], &[1.0, 0.0], 4.0, options);
    assert!((r.x[0] - 3.0).abs() < 1e-9, "{:?}", r.x);
    assert_eq!(r.crossings.len(), 1);
    assert!((r.crossings[0].time - 1.0).abs() < 1e-9);
}

#[test]
fn planes_are_crossed_where_the_motion_meets_them() {
    // Two upright planes; a ball thrown on one of them passes the line where they meet as if it were not there.
    let m = mechanism(&["x", "y", "z"], &["x*y"], "9.81*z");
    for method in [Method::Curve, Method::Polar] {
        let options = CrossOptions { method, ..CrossOptions::default() };
        let r = cross(&m, &[-1.0, 0.0, 0.0], &[2.0, 0.0, 3.0], 1.0, options);
        let exact = [1.0, 0.0, 3.0 - 0.5 * G];
        let error = r.x.iter().zip(exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(error < 1e-9, "{method:?} {:?}", r.x);
        assert_eq!(r.crossings.len(), 1, "{method:?}");
        let place = &r.crossings[0].place.x;
        assert!((place[2] - (1.5 - 0.125 * G)).abs() < 1e-6, "{place:?}");
    }
}
