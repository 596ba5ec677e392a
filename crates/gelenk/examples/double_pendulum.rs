//! A model from a text, run and watched: `cargo run --example double_pendulum` prints angles and energy.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::ops::ControlFlow;

use gelenk::model::{LoadOptions, Model, Observer, Sample, load_text};

const MODEL: &str = r#"
[model]
name = "double-pendulum"

[parameters]
l = 1.0

[[body]]
name = "upper"
mass = 2
ends = [[0, 0, 0], ["l", 0, 0]]
shape = { cylinder = { radius = 0.02 } }

[[body]]
name = "lower"
mass = 1
ends = [["l", 0, 0], ["2*l", 0, 0]]
shape = { cylinder = { radius = 0.02 } }

[[joint]]
name = "shoulder"
type = "hinge"
between = ["world", "upper"]
point = [0, 0, 0]
axis = [0, 1, 0]

[[joint]]
name = "elbow"
type = "hinge"
between = ["upper", "lower"]
point = ["l", 0, 0]
axis = [0, 1, 0]
"#;

/// Prints every sample.
struct Printer<'a> {
    model: &'a Model,
}

impl Observer for Printer<'_> {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        print!("t = {:.1} s", sample.state.t);
        for joint in &self.model.joints {
            let angle = sample.state.coordinate[joint.first_coordinate];
            print!("   {} {:8.2}°", joint.name, angle.to_degrees());
        }
        let energy = sample.ledger;
        println!("   energy {:7.3} J + {:8.3} J", energy.kinetic, energy.potential);
        ControlFlow::Continue(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // What `--set l=0.7` is on the command line.
    let overrides = vec![("l".to_owned(), "0.7".to_owned())];
    let options = LoadOptions { overrides, ..LoadOptions::default() };
    let model = load_text("double-pendulum", MODEL, &options)?.model;

    let mut settings = model.run.clone();
    settings.duration = 2.0;
    settings.step = 1.0 / 400.0;
    settings.order = 4;
    settings.sample = Some(0.2);
    let report = gelenk::simulate(&model, &settings, &mut Printer { model: &model })?;

    let error = report.energy_max_abs_error;
    println!("{} steps, largest energy error {error:.1e} J", report.steps);
    assert!(error < 1e-4, "order 4 keeps the energy");
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
