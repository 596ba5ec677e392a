//! Bodies that begin inside each other.

mod common;

use common::{settings, toml};
use gelenk_impulse::Simulation;

/// A box of 8 kg that begins 0.3 mm inside the floor goes out of it slowly: no step is halved for it, and what lifts it is booked as work, m g times the depth.
/// No impact gives anything.
#[test]
fn an_overlap_at_the_start_goes_without_halved_steps() {
    let depth = 3e-4;
    let model = toml(&format!(
        r#"
[model]
name = "sunk"
gravity = [0, 0, -9.81]

[[body]]
name = "floor"
fixed = true
collide = true
shape = {{ plane = {{}} }}

[[body]]
name = "box"
density = 1000
collide = true
position = [0, 0, {}]
shape = {{ box = {{ size = [0.2, 0.2, 0.2] }} }}
"#,
        0.1 - depth
    ));
    let mut simulation = Simulation::new(&model, &settings(1e-3, 1e-9)).unwrap();
    let told = simulation.take_events();
    let overlap = told.iter().find(|event| event.kind == "start-overlap").expect("an event");
    assert_eq!(overlap.between, ["floor", "box"]);
    assert!(overlap.detail.contains("3.00e-4 m"), "{}", overlap.detail);
    for _ in 0..1000 {
        simulation.step().unwrap();
    }
    let halved = simulation.take_events().into_iter().filter(|event| event.kind == "step-halved");
    assert_eq!(halved.count(), 0);
    let height = simulation.state().s[2].z;
    assert!((height - 0.1).abs() < 1e-7, "{height}");
    let ledger = simulation.ledger();
    let lift = 8.0 * 9.81 * depth;
    assert!((ledger.work / lift - 1.0).abs() < 1e-4, "{} of {lift} J", ledger.work);
    // The last two tolerances of it are no overlap any more.
    assert!(ledger.impact_loss > -1e-5 * lift, "{ledger:?}");
    assert!(ledger.integrator_error().abs() < 1e-6 * lift, "{ledger:?}");
}
