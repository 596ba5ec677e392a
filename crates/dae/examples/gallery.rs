//! Every scene of the gallery that the engine takes, over some seconds: energy, invariants, cost.
use gelenk_dae::{Options, Simulation};
use gelenk_model::{LoadOptions, load_text};

#[allow(clippy::print_stdout)]
fn main() {
    let seconds: f64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(1.0);
    let only = std::env::args().nth(2);
    for scene in gelenk_scenes::SCENES {
        if only.as_ref().is_some_and(|o| o != scene.name) {
            continue;
        }
        let Ok(loaded) = load_text(scene.name, scene.text, &LoadOptions::default()) else {
            println!("{:28} does not load", scene.name);
            continue;
        };
        let model = &loaded.model;
        let clock = std::time::Instant::now();
        let mut sim = match Simulation::new(model, &model.start, &Options::default()) {
            Ok(sim) => sim,
            Err(error) => {
                println!("{:28} {error}", scene.name);
                continue;
            }
        };
        let (t, y) = (sim.t(), sim.y().to_vec());
        let start = sim.look(t, &y);
        let energy = model.kinetic_energy(&start) + model.potential_energy(&start);
        match sim.run(seconds) {
            Err(error) => println!("{:28} FAILED {error}", scene.name),
            Ok(state) => {
                let now = model.kinetic_energy(&state) + model.potential_energy(&state);
                let y = sim.y().to_vec();
                let n = sim.equations().layout().n;
                let booked = if y.len() > 2 * n { y[2 * n] - y[2 * n + 1] } else { 0.0 };
                let error = now - energy - booked + sim.impact_loss();
                let s = sim.statistics();
                println!(
                    "{:28} dE {:9.1e} of {:9.2e}  steps {:6} rej {:4} eval {:7} proj {:5} events {:4} stiff {:?} {:.2}s",
                    scene.name,
                    error,
                    model.kinetic_energy(&state).max(energy.abs()),
                    s.steps,
                    s.rejected,
                    s.evaluations,
                    s.projections,
                    s.events,
                    s.stiff_at,
                    clock.elapsed().as_secs_f64()
                );
            }
        }
        for event in sim.take_events().iter().take(6) {
            println!("    {:.6} {} {}", event.time, event.kind, event.detail);
        }
    }
}
