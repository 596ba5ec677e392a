//! Try-out.
#[path = "../tests/common/mod.rs"]
mod common;
use common::*;
use gelenk_impulse::Simulation;
fn main() {
    let args: Vec<f64> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let model = eight_loop_flat();
    let mut settings = settings(args[0], args[1]);
    settings.velocity_tolerance = args[2];
    let mut sim = Simulation::new(&model, &settings).unwrap();
    let mut next = 1e-3;
    while sim.state().t < args[3] {
        let before = sim.totals();
        sim.step().unwrap();
        for e in sim.take_events() {
            println!("   {} {}", e.time, e.detail);
        }
        let c = sim.totals();
        if sim.state().t > next {
            next *= 1.3;
            let l = sim.ledger();
            println!(
                "t {:.5} err {:+.3e} T {:.3e} corr {} vcorr {} z {:?}",
                sim.state().t,
                l.integrator_error(),
                l.kinetic,
                c.corrections - before.corrections,
                c.velocity_corrections - before.velocity_corrections,
                (1..9).map(|i| format!("{:.2e}", sim.state().s[i].z)).collect::<Vec<_>>().join(" ")
            );
        }
    }
}
