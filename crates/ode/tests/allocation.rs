//! After the first step nothing is allocated.

mod common;

use common::Switched;
use gelenk_ode::{Direction, Integrator, Method, Options, Stop};

#[test]
fn steps_do_not_allocate() {
    for method in [Method::Dop853, Method::Radau5] {
        let mut system = Switched {
            dim: 2,
            f: common::pendulum,
            n_switches: 2,
            g: |_: f64, y: &[f64], g: &mut [f64]| (g[0], g[1]) = (y[0], y[1] - 0.3),
            direction: Direction::Both,
        };
        let mut run = Integrator::new(Options::default().method(method), 0.0, &[1.0, 0.5]).unwrap();
        run.advance(&mut system, 100.0).unwrap();
        let mut events = 0;
        let count = allocation_counter::measure(|| {
            let mut y = [0.0; 2];
            for _ in 0..500 {
                if run.advance(&mut system, 100.0).unwrap() == Stop::Event {
                    events += 1;
                    run.set_state(&[run.y()[0], run.y()[1]]);
                }
                let (from, to) = run.last_step();
                run.at(&mut system, 0.5 * (from + to), &mut y).unwrap();
            }
        });
        assert_eq!(count.count_total, 0, "{method:?}");
        assert!(events > 10, "{events}");
    }
}
