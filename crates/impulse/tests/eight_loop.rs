//! The paper's 8-loop.

mod common;

use common::{Nobody, eight_loop, settings};
use gelenk_impulse::run;

/// The energy error falls with h²; the gap never exceeds the tolerance.
#[test]
fn regular_loop_converges() {
    let model = eight_loop();
    let mut last = f64::INFINITY;
    for (h, tolerance) in [(0.005, 1e-6), (0.0025, 1e-7), (0.00125, 1e-8)] {
        let mut settings = settings(h, tolerance);
        settings.duration = 2.0;
        let report = run(&model, &settings, &mut Nobody).expect("runs");
        let gap = report.worst_gaps.iter().fold(0.0_f64, |a, b| a.max(*b));
        assert!(gap <= tolerance);
        assert!(report.energy_mean_abs_error < 0.3 * last);
        last = report.energy_mean_abs_error;
    }
}
