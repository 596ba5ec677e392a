//! Orders by slopes, and problems with published solutions.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::{Plain, Switched, arenstorf, lorenz, pendulum, van_der_pol};
use gelenk_ode::{Direction, Error, Failure, Integrator, Method, Options, Stop, System};

/// Error at t = 3 of the pendulum with n equal steps, against a fine run.
fn error_of(method: Method, n: u32, middle: bool) -> f64 {
    let end = 3.0;
    let reference = |t: f64| {
        let mut system = Plain(2, pendulum);
        let mut run = Integrator::new(Options::with_tolerance(3e-15), 0.0, &[1.0, 0.5]).unwrap();
        run.run(&mut system, t).unwrap();
        run.y().to_vec()
    };
    let h = end / f64::from(n);
    let mut system = Plain(2, pendulum);
    // Tolerances so wide that the longest step is always taken.
    let options = Options {
        method,
        first_step: Some(h),
        max_step: h,
        rtol: 0.9,
        atol: 1e6,
        ..Options::default()
    };
    let mut run = Integrator::new(options, 0.0, &[1.0, 0.5]).unwrap();
    while run.advance(&mut system, end).unwrap() != Stop::End {}
    assert_eq!(run.stats().steps, n as usize);
    let (t, y) = if middle {
        let t = end - 0.4 * h;
        let mut y = vec![0.0; 2];
        run.at(&mut system, t, &mut y).unwrap();
        (t, y)
    } else {
        (end, run.y().to_vec())
    };
    y.iter().zip(reference(t)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn slope(method: Method, n: u32, middle: bool) -> f64 {
    (error_of(method, n, middle) / error_of(method, 2 * n, middle)).log2()
}

#[test]
fn the_explicit_method_has_order_eight() {
    for n in [6, 9] {
        let order = slope(Method::Dop853, n, false);
        assert!((7.5..9.5).contains(&order), "{n}: {order}");
    }
}

#[test]
fn its_interpolant_has_order_seven() {
    for n in [6, 9] {
        // Error of one step of an interpolant of order 7: h^8.
        let order = slope(Method::Dop853, n, true);
        assert!((6.8..9.5).contains(&order), "{n}: {order}");
    }
}

/// Harmonic oscillator by Radau in steps held equal by `max_step`.
#[test]
fn radau_has_order_five() {
    let error = |n: u32| {
        let h = 2.0 / f64::from(n);
        let mut system = Plain(2, |_, y: &[f64], dy: &mut [f64]| (dy[0], dy[1]) = (y[1], -y[0]));
        // Newton's iteration is exact at once: the system is linear.
        let options = Options {
            method: Method::Radau5,
            first_step: Some(h),
            max_step: h,
            rtol: 0.5,
            atol: 0.5,
            ..Options::default()
        };
        let mut run = Integrator::new(options, 0.0, &[1.0, 0.0]).unwrap();
        run.run(&mut system, 2.0).unwrap();
        assert_eq!(run.stats().steps, n as usize);
        (run.y()[0] - 2f64.cos()).abs()
    };
    for n in [5, 10, 20] {
        let order = (error(n) / error(2 * n)).log2();
        assert!((4.7..5.5).contains(&order), "{n}: {order}");
    }
}

#[test]
fn arenstorf_orbit_closes() {
    let y0 = [0.994, 0.0, 0.0, -2.001_585_106_379_082_5];
    let period = 17.065_216_560_157_964;
    for (tolerance, error) in [(1e-7, 3e-2), (1e-10, 1e-5), (1e-13, 1e-7)] {
        let mut system = Plain(4, arenstorf);
        let mut run = Integrator::new(Options::with_tolerance(tolerance), 0.0, &y0).unwrap();
        run.run(&mut system, period).unwrap();
        let worst = (0..2).map(|i| (run.y()[i] - y0[i]).abs()).fold(0.0, f64::max);
        assert!(worst < error, "{tolerance:e}: {worst:e}, {:?}", run.stats());
    }
}

/// The solution at t = 2 for ε = 10⁻⁶ from y = (2, 0), as the test sets for stiff problems give it.
#[test]
fn stiff_van_der_pol() {
    let published = [1.706_167_732_170_483, -0.892_809_701_024_797_5];
    for method in [Method::Radau5, Method::Auto] {
        let mut system = Plain(2, van_der_pol(1e-6));
        let options = Options::with_tolerance(1e-10).method(method);
        let mut run = Integrator::new(options, 0.0, &[2.0, 0.0]).unwrap();
        run.run(&mut system, 2.0).unwrap();
        for i in 0..2 {
            let error = (run.y()[i] - published[i]).abs() / published[i].abs();
            assert!(error < 1e-8, "{method:?}: {error:e}, {:?}", run.stats());
        }
        assert!(run.stats().steps < 6000, "{:?}", run.stats());
        assert_eq!(run.method(), Method::Radau5);
        assert_eq!(run.stats().stiff_at.is_some(), method == Method::Auto);
    }
}

#[test]
fn a_jacobian_saves_evaluations() {
    struct Vdp(bool);
    impl System for Vdp {
        fn dim(&self) -> usize {
            2
        }
        fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), Failure> {
            van_der_pol(1e-6)(t, y, dy);
            Ok(())
        }
        fn jacobian(&mut self, _: f64, y: &[f64], jac: &mut [f64]) -> Result<bool, Failure> {
            let row = [(-2.0 * y[0] * y[1] - 1.0) / 1e-6, (1.0 - y[0] * y[0]) / 1e-6];
            jac.copy_from_slice(&[0.0, 1.0, row[0], row[1]]);
            Ok(self.0)
        }
    }
    let run = |with: bool| {
        let options = Options::with_tolerance(1e-8).method(Method::Radau5);
        let mut run = Integrator::new(options, 0.0, &[2.0, 0.0]).unwrap();
        run.run(&mut Vdp(with), 2.0).unwrap();
        (run.y()[0], *run.stats())
    };
    let ((a, exact), (b, differences)) = (run(true), run(false));
    assert!((a - b).abs() < 1e-6);
    assert!(exact.evaluations < differences.evaluations);
    assert!(exact.factorizations <= exact.steps + exact.rejected + exact.jacobians);
}

#[test]
fn calm_systems_are_not_called_stiff() {
    type Rhs = fn(f64, &[f64], &mut [f64]);
    let systems: [(Rhs, &[f64]); 2] =
        [(pendulum, &[1.0, 0.5]), (arenstorf, &[0.994, 0.0, 0.0, -2.0])];
    for (f, y0) in systems {
        let options = Options::with_tolerance(1e-9).method(Method::Auto);
        let mut run = Integrator::new(options, 0.0, y0).unwrap();
        run.run(&mut Plain(y0.len(), f), 10.0).unwrap();
        assert_eq!(run.stats().stiff_at, None);
        assert_eq!(run.method(), Method::Dop853);
    }
}

/// Watching a switching function does not hide stiffness.
#[test]
fn stiffness_is_seen_beside_switches() {
    let mut system = Switched {
        dim: 2,
        f: van_der_pol(1e-4),
        n_switches: 1,
        g: |_: f64, y: &[f64], g: &mut [f64]| g[0] = y[0] - 1.5,
        direction: Direction::Both,
    };
    let options = Options::with_tolerance(1e-6).method(Method::Auto);
    let mut run = Integrator::new(options, 0.0, &[2.0, 0.0]).unwrap();
    let mut events = 0;
    while run.run(&mut system, 2.0).unwrap() != Stop::End {
        events += 1;
    }
    assert_eq!(run.method(), Method::Radau5);
    assert!(events >= 2, "{events}");
}

#[test]
fn there_and_back() {
    for method in [Method::Dop853, Method::Radau5] {
        let mut system = Plain(3, lorenz);
        let options = Options::with_tolerance(1e-12).method(method);
        let mut run = Integrator::new(options, 0.0, &[1.0, 2.0, 20.0]).unwrap();
        run.run(&mut system, 0.5).unwrap();
        run.run(&mut system, 0.0).unwrap();
        for (a, b) in run.y().iter().zip([1.0, 2.0, 20.0]) {
            assert!((a - b).abs() < 1e-7, "{method:?} {:?}", run.y());
        }
    }
}

/// A projection to x² + y² = 1 after each step keeps the invariant exactly.
#[test]
fn the_hook_corrects() {
    struct Circle;
    impl System for Circle {
        fn dim(&self) -> usize {
            2
        }
        fn rhs(&mut self, _: f64, y: &[f64], dy: &mut [f64]) -> Result<(), Failure> {
            (dy[0], dy[1]) = (-y[1], y[0]);
            Ok(())
        }
        fn accepted(&mut self, _: f64, y: &mut [f64]) -> Result<bool, Failure> {
            let r = y[0].hypot(y[1]);
            (y[0], y[1]) = (y[0] / r, y[1] / r);
            Ok(true)
        }
    }
    let mut run = Integrator::new(Options::with_tolerance(1e-4), 0.0, &[1.0, 0.0]).unwrap();
    run.run(&mut Circle, 100.0).unwrap();
    assert!((run.y()[0].hypot(run.y()[1]) - 1.0).abs() < 1e-15);
    assert_eq!(run.stats().corrections, run.stats().steps);
}

#[test]
fn failures_are_said() {
    // ẏ = y² runs to infinity at t = 1.
    let mut system = Plain(1, |_, y: &[f64], dy: &mut [f64]| dy[0] = y[0] * y[0]);
    let mut run = Integrator::new(Options::default(), 0.0, &[1.0]).unwrap();
    let text = run.run(&mut system, 2.0).unwrap_err().to_string();
    assert!(text.contains("singularity"), "{text}");
    assert!((run.t() - 1.0).abs() < 1e-6);

    let mut system = Plain(1, |t: f64, _: &[f64], dy: &mut [f64]| dy[0] = (0.5 - t).sqrt());
    let mut run = Integrator::new(Options::default(), 0.0, &[1.0]).unwrap();
    assert!(run.run(&mut system, 2.0).is_err());
    assert!(run.t() > 0.49 && run.t() <= 0.5);

    let options = Options { max_steps: 10, ..Options::default() };
    let mut run = Integrator::new(options, 0.0, &[1.0, 0.0]).unwrap();
    let text = run.run(&mut Plain(2, pendulum), 1e3).unwrap_err().to_string();
    assert!(text.contains("10 steps"), "{text}");

    assert!(Integrator::new(Options::with_tolerance(0.0), 0.0, &[1.0]).is_err());
    assert!(Integrator::new(Options::default(), f64::NAN, &[1.0]).is_err());
}

/// Where the right-hand side is not smooth, steps as short as its noise asks for would take forever: that is an error, not a run without end. A narrow place
/// that takes many short steps is passed.
#[test]
fn steps_that_get_nowhere_end() {
    let noise =
        |t: f64| (t.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 * 2f64.powi(-53);
    let options = Options { max_step: 0.1, ..Options::with_tolerance(1e-9) };
    let mut endless = Plain(1, |t: f64, _: &[f64], dy: &mut [f64]| {
        dy[0] = 1.0 + if t > 0.5 { noise(t) } else { 0.0 };
    });
    let mut run = Integrator::new(options.clone(), 0.0, &[0.0]).unwrap();
    let error = run.run(&mut endless, 2.0).unwrap_err();
    let Error::Crawls { t, went, longest, .. } = error else { panic!("{error}") };
    assert!(t > 0.5 && t < 0.51 && went < 1e-2 * longest, "{error}");
    let tried = run.stats().steps + run.stats().rejected;
    assert!(tried < 5_000, "{tried}");
    for method in [Method::Dop853, Method::Radau5] {
        let mut narrow = Plain(1, |t: f64, _: &[f64], dy: &mut [f64]| {
            dy[0] = 1.0 + if (0.5..0.5 + 1e-6).contains(&t) { noise(t) } else { 0.0 };
        });
        let mut run = Integrator::new(options.clone().method(method), 0.0, &[0.0]).unwrap();
        run.run(&mut narrow, 2.0).unwrap();
        assert!((run.y()[0] - 2.0).abs() < 2e-6, "{method:?}: {:?}", run.y());
    }
}

#[test]
fn a_system_without_state_runs() {
    for method in [Method::Dop853, Method::Radau5] {
        let options = Options::default().method(method);
        let mut run = Integrator::new(options, 0.0, &[]).unwrap();
        assert_eq!(
            run.run(&mut Plain(0, |_, _: &[f64], _: &mut [f64]| ()), 1.0).unwrap(),
            Stop::End
        );
    }
}

#[test]
fn the_same_bits_again() {
    let run = || {
        let mut system = Plain(3, lorenz);
        let mut run = Integrator::new(Options::default(), 0.0, &[1.0, 2.0, 20.0]).unwrap();
        run.run(&mut system, 20.0).unwrap();
        run.y().iter().map(|x| x.to_bits()).collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}
