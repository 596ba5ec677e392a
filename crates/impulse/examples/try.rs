//! Try-out.
#[path = "../tests/common/mod.rs"]
mod common;
use common::*;
use gelenk_impulse::run;
fn main() {
    let args: Vec<f64> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    for (name, model) in [("regular", eight_loop()), ("flat", eight_loop_flat())] {
        for (h, tol) in [
            (0.02, 1e-8),
            (0.01, 1e-5),
            (0.01, 1e-9),
            (0.005, 1e-6),
            (0.0025, 1e-7),
            (0.00125, 1e-8),
        ] {
            for vc in [false, true] {
                let mut settings = settings(h, tol);
                settings.velocity_correction = vc;
                settings.duration = args.get(0).copied().unwrap_or(2.0);
                let start = std::time::Instant::now();
                match run(&model, &settings, &mut Nobody) {
                    Ok(report) => println!(
                        "{name} h {h} tol {tol:e} vc {vc}: corr/step {:.1} E {:.3e} max {:.3e} gap {:.2e} ev {} wall {:?} x {:?}",
                        report.corrections as f64 / report.steps as f64,
                        report.energy_mean_abs_error,
                        report.energy_max_abs_error,
                        report.worst_gaps.iter().fold(0.0_f64, |a, b| a.max(*b)),
                        report.events.len(),
                        start.elapsed(),
                        report.state.s[4],
                    ),
                    Err(failure) => println!("{name} {h} {tol} {vc}: {failure}"),
                }
            }
        }
    }
}
