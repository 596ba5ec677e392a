//! A simulation that is written down and taken up again goes on with the same bits.

use gelenk_impulse::{Checkpoint, Simulation};
use gelenk_model::{LoadOptions, Model, load_text};

fn load(name: &str) -> Model {
    let scene = gelenk_scenes::scene(name).expect("a scene");
    load_text(name, scene.text, &LoadOptions::default()).expect("it loads").model
}

#[test]
fn checkpoints_resume_bit_by_bit() {
    for name in ["double-pendulum", "four-bar", "hexapod", "stack", "car", "three-link-arm"] {
        let model = load(name);
        let mut whole = Simulation::new(&model, &model.run).expect("it starts");
        for input in &model.inputs {
            whole.inputs().set(&input.name, 0.25).expect("an input");
        }
        let steps = |simulation: &mut Simulation<'_>| {
            (0..40).for_each(|_| simulation.step().expect("it goes on"));
        };
        steps(&mut whole);
        let kept = whole.checkpoint();
        let bytes = kept.to_bytes();
        let read = Checkpoint::from_bytes(&bytes).expect("its own bytes");
        assert_eq!(read, kept, "{name}");
        assert_eq!(read.to_bytes(), bytes, "{name}");
        let mut other = Simulation::owned(model.clone(), &model.run).expect("it starts");
        other.restore(&read).expect("the same model");
        assert_eq!(other.checkpoint(), kept, "{name}");
        steps(&mut whole);
        steps(&mut other);
        assert_eq!(other.checkpoint().to_bytes(), whole.checkpoint().to_bytes(), "{name}");
    }
}

#[test]
fn bytes_that_are_none_of_a_checkpoint_are_refused() {
    let (model, other) = (load("double-pendulum"), load("four-bar"));
    let mut simulation = Simulation::new(&model, &model.run).expect("it starts");
    simulation.step().expect("a step");
    let bytes = simulation.checkpoint().to_bytes();
    for n in 0..bytes.len() {
        assert!(Checkpoint::from_bytes(&bytes[..n]).is_none(), "cut at {n}");
    }
    assert!(Checkpoint::from_bytes(&[&bytes[..], &[0]].concat()).is_none(), "too long");
    // Whatever a byte becomes, nothing panics, and a checkpoint of another shape is refused.
    for i in 0..bytes.len() {
        let mut wrong = bytes.clone();
        wrong[i] ^= 0xff;
        if let Some(read) = Checkpoint::from_bytes(&wrong) {
            let _ = simulation.restore(&read);
        }
    }
    let mut foreign = Simulation::new(&other, &other.run).expect("it starts");
    let kept = Checkpoint::from_bytes(&bytes).expect("its own bytes");
    let error = foreign.restore(&kept).expect_err("another model");
    assert!(error.to_string().contains("another model"), "{error}");
}
