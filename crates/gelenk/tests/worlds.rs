//! Many worlds at once: the same bits as one at a time, on any number of threads, every time.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use gelenk::bench::{chain, eight_loop, worlds_hash};
use gelenk::hash::state_hash;
use gelenk::model::{Model, RunSettings, State};
use gelenk::worlds::{Worlds, simulate_all};

fn settings() -> RunSettings {
    RunSettings { step: 0.005, tolerance: 1e-9, duration: 0.2, ..RunSettings::default() }
}

/// The hashes of the final states, one world after the other, without `Worlds`.
fn one_at_a_time(models: &[Model], steps: u32) -> Vec<String> {
    let run = |model: &Model| {
        let settings = RunSettings { duration: 0.005 * f64::from(steps), ..settings() };
        state_hash(&gelenk::simulate(model, &settings, &mut ()).unwrap().state)
    };
    models.iter().map(run).collect()
}

fn on_threads<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
}

#[test]
fn worlds_have_the_bits_of_one_at_a_time() {
    let models: Vec<Model> = (1..=12).map(chain).chain([eight_loop()]).collect();
    let expected = one_at_a_time(&models, 40);
    for threads in [1, 2, 2, 5] {
        let hashes = on_threads(threads, || {
            let mut worlds = Worlds::new(models.iter().map(|model| (model, settings()))).unwrap();
            worlds.advance(15).unwrap();
            worlds.advance(25).unwrap();
            worlds.states().map(state_hash).collect::<Vec<_>>()
        });
        assert_eq!(hashes, expected, "{threads} threads");
        let jobs: Vec<_> = models.iter().map(|model| (model, settings())).collect();
        let reports = on_threads(threads, || simulate_all(&jobs));
        let hashes: Vec<_> =
            reports.iter().map(|r| state_hash(&r.as_ref().unwrap().state)).collect();
        assert_eq!(hashes, expected, "{threads} threads, whole runs");
    }
}

#[test]
fn states_of_one_model_go_their_own_ways() {
    let model = eight_loop();
    let mut first = Worlds::new([(&model, settings())]).unwrap();
    let mut states: Vec<State> = Vec::new();
    for _ in 0..8 {
        first.advance(1).unwrap();
        states.extend(first.states().cloned());
    }
    let run = |threads| {
        on_threads(threads, || {
            let mut worlds =
                Worlds::of_states(&model, &settings(), states.iter().cloned()).unwrap();
            worlds.advance(20).unwrap();
            worlds_hash(&worlds)
        })
    };
    assert_eq!(run(1), run(2));
    assert_eq!(run(2), run(2));
}

/// A world that cannot go on is named; the others come to their end.
#[test]
fn a_world_that_fails_is_named() {
    let models = [chain(2), chain(3)];
    let mut bad = models[1].start.clone();
    bad.s[2].x += 1.0;
    let error = Worlds::of_states(&models[1], &settings(), [models[1].start.clone(), bad]);
    let error = error.unwrap_err();
    assert_eq!(error.world, 1);
    assert!(error.to_string().contains("is open by"), "{error}");
    let mut worlds = Worlds::new(models.iter().map(|model| (model, settings()))).unwrap();
    worlds.advance(3).unwrap();
    assert_eq!(worlds.simulations()[1].steps(), 3);
}
