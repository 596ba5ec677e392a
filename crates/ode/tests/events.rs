//! Events: times to 1e-12, touches, switches at almost the same time, chattering.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::Switched;
use gelenk_ode::{Direction, Event, EventKind, Integrator, Method, Options, Stop};

const G: f64 = 9.81;

fn falling(_t: f64, y: &[f64], dy: &mut [f64]) {
    (dy[0], dy[1]) = (y[1], -G);
}

fn bounce(options: Options, direction: Direction) -> (Vec<f64>, Integrator) {
    let mut system = Switched {
        dim: 2,
        f: falling,
        n_switches: 1,
        g: |_: f64, y: &[f64], g: &mut [f64]| g[0] = y[0],
        direction,
    };
    let mut run = Integrator::new(options, 0.0, &[1.0, 0.0]).unwrap();
    let mut times = Vec::new();
    for _ in 0..20 {
        assert_eq!(run.run(&mut system, 100.0).unwrap(), Stop::Event);
        assert_eq!(run.events(), [Event { switch: 0, kind: EventKind::Falling }]);
        times.push(run.t());
        let v = run.y()[1];
        run.set_state(&[0.0, -0.9 * v]);
    }
    (times, run)
}

#[test]
fn a_bouncing_ball_to_twelve_digits() {
    for method in [Method::Dop853, Method::Radau5] {
        for direction in [Direction::Both, Direction::Falling] {
            let (times, run) = bounce(Options::with_tolerance(1e-13).method(method), direction);
            let mut t = (2.0 / G).sqrt();
            let mut flight = 2.0 * 0.9 * t;
            for (k, &found) in times.iter().enumerate() {
                assert!(
                    (found - t).abs() < 1e-12 * t.max(1.0),
                    "{method:?} bounce {k}: {:e}",
                    found - t
                );
                t += flight;
                flight *= 0.9;
            }
            assert_eq!(run.stats().events, 20);
        }
    }
}

/// With drag ẏ₁ = -g - c ẏ₁ the time of impact is a root of y(t) = 0 known in closed form.
#[test]
fn a_ball_with_drag() {
    let c = 0.7;
    let height = |t: f64| 1.0 - G / c * t + G / (c * c) * (1.0 - (-c * t).exp());
    let (mut low, mut high): (f64, f64) = (0.1, 2.0);
    while high - low > 4e-16 {
        let t = 0.5 * (low + high);
        if height(t) > 0.0 {
            low = t;
        } else {
            high = t;
        }
    }
    for method in [Method::Dop853, Method::Radau5] {
        let mut system = Switched {
            dim: 2,
            f: |_: f64, y: &[f64], dy: &mut [f64]| (dy[0], dy[1]) = (y[1], -G - c * y[1]),
            n_switches: 1,
            g: |_: f64, y: &[f64], g: &mut [f64]| g[0] = y[0],
            direction: Direction::Both,
        };
        let options = Options::with_tolerance(1e-13).method(method);
        let mut run = Integrator::new(options, 0.0, &[1.0, 0.0]).unwrap();
        assert_eq!(run.run(&mut system, 10.0).unwrap(), Stop::Event);
        assert!((run.t() - low).abs() < 1e-12, "{method:?} {:e}", run.t() - low);
    }
}

/// sin t - level: crosses twice in a short time, touches, or misses.
fn dome(level: f64, end: f64, direction: Direction) -> Vec<(f64, EventKind)> {
    let mut system = Switched {
        dim: 2,
        f: |_: f64, y: &[f64], dy: &mut [f64]| (dy[0], dy[1]) = (y[1], -y[0]),
        n_switches: 1,
        g: |_: f64, y: &[f64], g: &mut [f64]| g[0] = y[0] - level,
        direction,
    };
    let mut run = Integrator::new(Options::with_tolerance(1e-12), 0.0, &[0.0, 1.0]).unwrap();
    let mut found = Vec::new();
    while run.run(&mut system, end).unwrap() != Stop::End {
        found.extend(run.events().iter().map(|e| (run.t(), e.kind)));
        assert!(found.len() < 100);
    }
    found
}

#[test]
fn two_crossings_within_a_step() {
    for depth in [1e-2, 1e-4, 1e-6, 1e-8] {
        let found = dome(1.0 - depth, 6.0, Direction::Both);
        let t = (1.0 - depth).asin();
        assert_eq!(found.len(), 2, "{depth:e}: {found:?}");
        assert_eq!((found[0].1, found[1].1), (EventKind::Rising, EventKind::Falling));
        // dt = dy / cos t: at the top an error of the state counts more.
        let allowed = 1e-11 / (2.0 * depth).sqrt();
        assert!((found[0].0 - t).abs() < allowed, "{depth:e} {:e}", found[0].0 - t);
        assert!((found[1].0 - (std::f64::consts::PI - t)).abs() < allowed);
        let falling = dome(1.0 - depth, 6.0, Direction::Falling);
        assert_eq!(falling.len(), 1, "{depth:e}: {falling:?}");
        assert!((falling[0].0 - (std::f64::consts::PI - t)).abs() < allowed);
    }
}

#[test]
fn a_touch_is_reported_and_a_miss_is_not() {
    let found = dome(1.0, 12.0, Direction::Both);
    // Twice at the top; rounding may make each a touch or a short crossing, never nothing.
    assert!(found.iter().any(|(t, _)| (t - std::f64::consts::FRAC_PI_2).abs() < 1e-4), "{found:?}");
    assert!(found.iter().any(|(t, _)| (t - 2.5 * std::f64::consts::PI).abs() < 1e-4), "{found:?}");
    assert!(found.len() <= 4, "{found:?}");
    assert_eq!(dome(1.0 + 1e-6, 12.0, Direction::Both), []);
}

#[test]
fn two_switches_at_almost_the_same_time() {
    for gap in [0.0, 1e-15, 1e-13, 1e-11, 1e-9, 1e-6, 1e-3] {
        let mut system = Switched {
            dim: 2,
            f: |_: f64, y: &[f64], dy: &mut [f64]| (dy[0], dy[1]) = (y[1], -y[0]),
            n_switches: 2,
            g: |_: f64, y: &[f64], g: &mut [f64]| (g[0], g[1]) = (y[0] - 0.5 - gap, 0.5 - y[0]),
            direction: Direction::Both,
        };
        let mut run = Integrator::new(Options::with_tolerance(1e-12), 0.0, &[0.0, 1.0]).unwrap();
        let mut found = Vec::new();
        while run.run(&mut system, 1.5).unwrap() != Stop::End {
            found.extend(run.events().iter().map(|e| (e.switch, run.t())));
            assert!(found.len() < 10, "{found:?}");
        }
        found.sort_by_key(|f| f.0);
        assert_eq!(found.len(), 2, "{gap:e}: {found:?}");
        let times = [(0.5 + gap).asin(), 0.5f64.asin()];
        for (switch, t) in found {
            assert!((t - times[switch]).abs() < 2e-12, "{gap:e} {switch}: {:e}", t - times[switch]);
        }
    }
}

/// ẏ = -m, and m changes its sign at y = 0: a relay that flutters at once.
#[test]
fn a_relay_chatters_and_is_reported() {
    for method in [Method::Dop853, Method::Radau5] {
        let mode = std::cell::Cell::new(1.0);
        let mut system = Switched {
            dim: 1,
            f: |_: f64, _: &[f64], dy: &mut [f64]| dy[0] = -mode.get(),
            n_switches: 1,
            g: |_: f64, y: &[f64], g: &mut [f64]| g[0] = y[0],
            direction: Direction::Both,
        };
        let mut run = Integrator::new(Options::default().method(method), 0.0, &[1.0]).unwrap();
        let stop = loop {
            match run.run(&mut system, 3.0).unwrap() {
                Stop::Event => mode.set(-mode.get()),
                stop => break stop,
            }
        };
        assert_eq!(stop, Stop::Chattering, "{method:?}");
        assert!((run.t() - 1.0).abs() < 1e-8);
        assert!(run.stats().events <= 101);
    }
}

/// A ball that bounces ever lower comes to rest at a time that the sum of its flights gives.
#[test]
fn bounces_without_end_are_bounded() {
    let mut system = Switched {
        dim: 2,
        f: falling,
        n_switches: 1,
        g: |_: f64, y: &[f64], g: &mut [f64]| g[0] = y[0],
        direction: Direction::Falling,
    };
    let mut run = Integrator::new(Options::default(), 0.0, &[1.0, 0.0]).unwrap();
    let (mut events, mut chattered) = (0, false);
    while !chattered {
        match run.run(&mut system, 10.0).unwrap() {
            Stop::Event => {
                events += 1;
                let v = run.y()[1];
                run.set_state(&[0.0, -0.5 * v]);
            }
            Stop::Chattering => chattered = true,
            _ => break,
        }
        assert!(events < 1000);
    }
    let rest = (2.0 / G).sqrt() * 3.0;
    assert!(chattered, "t = {}, y = {:?}", run.t(), run.y());
    assert!((run.t() - rest).abs() < 1e-7, "{}", run.t() - rest);
}

#[test]
fn events_at_the_start_and_the_end() {
    // g is zero at the start and rises; zero again exactly at the end.
    let mut system = Switched {
        dim: 1,
        f: |_: f64, _: &[f64], dy: &mut [f64]| dy[0] = 1.0,
        n_switches: 1,
        g: |_: f64, y: &[f64], g: &mut [f64]| g[0] = y[0] * (1.0 - y[0]),
        direction: Direction::Both,
    };
    let mut run = Integrator::new(Options::default(), 0.0, &[0.0]).unwrap();
    assert_eq!(run.run(&mut system, 1.0).unwrap(), Stop::Event);
    assert!((run.t() - 1.0).abs() < 1e-12);
    assert_eq!(run.events()[0].kind, EventKind::Falling);
    assert_eq!(
        run.run(&mut system, 1.0).unwrap(),
        Stop::End,
        "{:e} {:?}",
        run.t() - 1.0,
        run.stats()
    );
    assert_eq!(run.run(&mut system, 2.0).unwrap(), Stop::End);
}

/// Backward in time the same zeros are met.
#[test]
fn events_backward() {
    let mut system = Switched {
        dim: 2,
        f: |_: f64, y: &[f64], dy: &mut [f64]| (dy[0], dy[1]) = (y[1], -y[0]),
        n_switches: 1,
        g: |_: f64, y: &[f64], g: &mut [f64]| g[0] = y[0] - 0.5,
        direction: Direction::Both,
    };
    let mut run =
        Integrator::new(Options::with_tolerance(1e-13), 1.2, &[1.2f64.sin(), 1.2f64.cos()])
            .unwrap();
    assert_eq!(run.run(&mut system, 0.0).unwrap(), Stop::Event);
    assert!((run.t() - 0.5f64.asin()).abs() < 1e-12);
}
