//! Try-out.
#[path = "../tests/common/mod.rs"]
mod common;
use common::*;
use gelenk_impulse::run;
fn main() {
    for (name, model) in [("flat", eight_loop_flat()), ("regular", eight_loop())] {
        for vc in [true] {
            println!("{name} vc {vc}");
            let mut h = 0.02;
            for _ in 0..8 {
                let mut line = format!("{h:<10}");
                for tol in [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8] {
                    let mut settings = settings(h, tol);
                    settings.velocity_correction = vc;
                    settings.velocity_tolerance = 1e-9;
                    settings.duration = 10.0;
                    match run(&model, &settings, &mut Nobody) {
                        Ok(r) => {
                            line += &format!(
                                " {:7.2} {:.2e} {:2}|",
                                r.corrections as f64 / r.steps as f64,
                                r.energy_mean_abs_error,
                                r.events.len()
                            )
                        }
                        Err(f) => {
                            line += &format!(
                                "FAIL {} t={:.2}|",
                                f.reason.chars().take(30).collect::<String>(),
                                f.report.t
                            )
                        }
                    }
                }
                println!("{line}");
                h /= 2.0;
            }
        }
    }
}
