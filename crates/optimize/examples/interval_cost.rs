//! Times an interval of the walking mechanism: the map alone, with first, with second derivatives.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::time::Instant;

use gelenk_model::{LoadOptions, load_text};
use gelenk_optimize::{ControlShape, Duration, Mechanism, Motion, Shooting, Source};

fn main() {
    let text = gelenk_scenes::scene("walking-mechanism").expect("in the gallery").text;
    let loaded = load_text("walking-mechanism", text, &LoadOptions::default()).expect("a model");
    let source = Source::from_model(&loaded, &[]).expect("point masses");
    let (states, controls, start) =
        (source.names.clone(), source.control_names.clone(), source.start.clone());
    let clock = Instant::now();
    let mechanism = Mechanism::new(source).expect("constraints that do not change");
    println!("derived in {:?}; operations {:?}", clock.elapsed(), mechanism.operations());
    for steps in [1, 2, 3, 4] {
        let durations = vec![Duration::Fixed(0.025)];
        let mut motion = Shooting::new(
            mechanism.clone(),
            ControlShape::Linear,
            durations,
            steps,
            &states,
            &controls,
            &[],
        );
        motion.place_nodes(&[start.clone(), start.clone()]).expect("on the constraints");
        let mut z = vec![0.05; 22];
        z.extend((0..10).map(|i| 300.0 * f64::from(i).sin()));
        let weights = [1.0; 23];
        let count: u32 = std::env::args().nth(1).map_or(200, |a| a.parse().expect("a number"));
        let time = |f: &dyn Fn()| {
            let clock = Instant::now();
            (0..count).for_each(|_| f());
            clock.elapsed() / count
        };
        let value = time(&|| drop(motion.advance(0, &z).expect("it runs")));
        let first = time(&|| drop(motion.linearize(0, &z, None).expect("it runs")));
        let second = time(&|| drop(motion.linearize(0, &z, Some(&weights)).expect("it runs")));
        println!("{steps} steps: map {value:?}, first {first:?}, second {second:?}");
    }
}
