//! What drives, springs, friction and the like do, beside closed forms, in every engine.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;

use gelenk::actuator::{Meter, Metered};
use gelenk::model::{LoadOptions, Loaded, Observer, RunSettings, Sample, load_text};
use gelenk::quantity::{Quantities, Quantity, Reader, name_today, reference};
use gelenk::recording::RecordedSample;

/// A body of moment 0.5 kg m² about the hinge and 2 kg along the slider, without gravity.
const MODEL: &str = r#"
[model]
gravity = [0, 0, 0]

[run]
step = 0.001
duration = 1
sample = 0.01

[inputs]
push = 3

[[body]]
name = "wheel"
mass = 1
inertia = [0.5, 0.5, 0.5]

[[joint]]
name = "axle"
type = "hinge"
between = ["world", "wheel"]
point = [0, 0, 0]
axis = [0, 1, 0]
KEYS

[[point]]
name = "bead"
mass = 2
position = [0, 1, 0]
velocity = [SPEED, 0, 0]

[[joint]]
name = "wire"
type = "rail"
between = ["world", "bead"]
point = [0, 1, 0]
axis = [1, 0, 0]
WIRE
MORE
"#;

fn load(keys: &str, wire: &str, speed: f64, more: &str) -> Loaded {
    let text = MODEL.replace("KEYS", keys).replace("WIRE", wire).replace("MORE", more);
    let text = text.replace("SPEED", &format!("{speed:?}"));
    load_text("actuators", &text, &LoadOptions::default()).unwrap()
}

struct Watch<'m> {
    loaded: &'m Loaded,
    wanted: Vec<Quantity>,
    reader: Reader,
    rows: Vec<Vec<f64>>,
    meter: Option<Meter>,
    last: Option<RecordedSample>,
}

impl Observer for Watch<'_> {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        let mut row = vec![sample.state.t];
        self.reader.read(&self.loaded.model, sample, &self.wanted, &mut row);
        self.rows.push(row);
        if let Some(meter) = &mut self.meter {
            meter.sample(&self.loaded.model, sample);
        }
        self.last = Some(RecordedSample::new(sample));
        ControlFlow::Continue(())
    }
}

/// Samples of quantities, time first, and what the meter says.
fn watch(loaded: &Loaded, engine: &str, names: &[&str]) -> (Vec<Vec<f64>>, Vec<Metered>) {
    let model = &loaded.model;
    let all = Quantities::new(model);
    let wanted = names.iter().map(|name| all.one(model, name).unwrap_or_else(|| panic!("{name}")));
    let mut watch = Watch {
        loaded,
        wanted: wanted.collect(),
        reader: Reader::new(model),
        rows: Vec::new(),
        meter: Meter::new(model),
        last: None,
    };
    let settings = RunSettings { engine: engine.to_owned(), ..model.run.clone() };
    gelenk::simulate_loaded(loaded, &settings, &mut watch)
        .unwrap_or_else(|e| panic!("{engine}: {e}"));
    (watch.rows, watch.meter.map(|meter| meter.results()).unwrap_or_default())
}

#[track_caller]
fn close(what: &str, a: f64, b: f64, within: f64) {
    assert!((a - b).abs() <= within, "{what}: {a} is not {b}");
}

#[test]
fn a_motor_and_a_servo_give_what_their_formulas_say() {
    let keys = "motor = { torque = \"2*sin(3*t)\" }";
    let loaded = load(keys, "", 0.0, "");
    for engine in ["impulse", "dae", "lagrange"] {
        let (rows, meter) =
            watch(&loaded, engine, &["motor.axle.torque", "motor.axle.power", "joint.axle.rate"]);
        for row in &rows {
            let [t, torque, power, rate] = row[..] else { panic!("{row:?}") };
            // q̇ = ∫ τ / I = 2 (1 − cos 3t) / (3 · 0.5).
            let speed = 2.0 * (1.0 - (3.0 * t).cos()) / 1.5;
            close("torque", torque, 2.0 * (3.0 * t).sin(), 1e-12);
            close("rate", rate, speed, 1e-5);
            close("power", power, torque * speed, 1e-4);
        }
        let motor = meter.iter().find(|one| one.name == "motor.axle").unwrap();
        let speed = 2.0 * (1.0 - 3.0_f64.cos()) / 1.5;
        close("work", motor.work, 0.25 * speed * speed, 1e-3);
        // Samples are 0.01 s apart: the largest is at most 2 (1 − cos(3 · 0.005)) below the peak.
        close("peak", motor.peak, 2.0, 2.3e-4);
        // RMS² = 4 · (1/2 − sin 6 / 12).
        close("rms", motor.rms, (4.0 * (0.5 - 6.0_f64.sin() / 12.0)).sqrt(), 1e-4);
        assert_eq!(motor.unit, "N m");
    }
    let keys = "drive = { angle = 1, stiffness = 8, damping = 1.5, max_torque = 5, brake = 0.25 }";
    let loaded = load(keys, "", 0.0, "");
    for engine in ["impulse", "dae", "lagrange"] {
        let names =
            ["drive.axle.torque", "brake.axle.torque", "joint.axle.angle", "joint.axle.rate"];
        let (rows, _) = watch(&loaded, engine, &names);
        for row in &rows {
            let [_, drive, brake, q, rate] = row[..] else { panic!("{row:?}") };
            let asked = (8.0 * (1.0 - q) - 1.5 * rate).clamp(-5.0, 5.0);
            close("brake", brake, -0.25 * rate, 1e-12);
            close("drive", drive, asked - 0.25 * rate, 1e-9);
        }
    }
}

#[test]
fn springs_and_dampers_balance_the_energy() {
    let more = "[[spring]]\nname = \"cord\"\nbetween = [\"world\", \"bead\"]\nanchors = [[-1, 1, 0], [0, 0, 0]]\nlength = 0.8\nstiffness = 50\n\
                [[damper]]\nname = \"oil\"\nbetween = [\"world\", \"bead\"]\nanchors = [[-1, 1, 0], [0, 0, 0]]\ndamping = 1.5\n";
    let loaded = load("stiffness = 4\nrest = 0.5\ndamping = 0.3", "", 0.5, more);
    let names = [
        "spring.cord.force",
        "spring.cord.length",
        "spring.cord.rate",
        "spring.cord.power",
        "spring.cord.energy",
        "damper.oil.force",
        "damper.oil.power",
        "joint.wire.position",
        "joint.wire.rate",
        "spring.axle.torque",
        "spring.axle.energy",
        "damper.axle.power",
        "joint.axle.angle",
        "joint.axle.rate",
    ];
    for engine in ["impulse", "dae", "lagrange"] {
        let (rows, meter) = watch(&loaded, engine, &names);
        for row in &rows {
            let [_, pull, length, rate, power, energy, drag, lost, x, v, back, stored, heat, q, w] =
                row[..]
            else {
                panic!("{row:?}")
            };
            close("length", length, 1.0 + x, 1e-12);
            close("rate", rate, v, 1e-12);
            close("pull", pull, 50.0 * (length - 0.8), 1e-9);
            close("power", power, -pull * v, 1e-9);
            close("energy", energy, 25.0 * (length - 0.8).powi(2), 1e-9);
            close("drag", drag, 1.5 * v, 1e-9);
            close("lost", lost, -1.5 * v * v, 1e-9);
            close("back", back, -4.0 * (q - 0.5), 1e-9);
            close("stored", stored, 2.0 * (q - 0.5).powi(2), 1e-9);
            close("heat", heat, -0.3 * w * w, 1e-9);
        }
        // What a spring gave is what it no longer stores.
        let (first, last) = (&rows[0], rows.last().unwrap());
        let work = |name: &str| meter.iter().find(|one| one.name == name).unwrap().work;
        close("work of the cord", work("spring.cord"), first[5] - last[5], 2e-3);
        close("work of the spring", work("spring.axle"), first[11] - last[11], 2e-3);
    }
}

#[test]
fn friction_and_prescribed_motions_are_parts_of_the_joint_force() {
    let loaded = load("motion = { angle = \"0.4*(1 - cos(2*t))\" }", "friction = 3", 2.0, "");
    for engine in ["impulse", "dae"] {
        let names = [
            "motion.axle.torque",
            "motion.axle.power",
            "friction.wire.force",
            "friction.wire.power",
            "joint.wire.rate",
        ];
        let (rows, _) = watch(&loaded, engine, &names);
        for row in &rows[2..] {
            let [t, torque, power, force, loss, v] = row[..] else { panic!("{row:?}") };
            // τ = I q̈ = 0.5 · 1.6 cos 2t; the impulse engine gives the mean over its last step.
            let within = if engine == "impulse" { 2e-3 } else { 1e-9 };
            close("torque", torque, 0.8 * (2.0 * t).cos(), within);
            close("power", power, torque * 0.8 * (2.0 * t).sin(), 2e-3);
            // The bead brakes with 1.5 m/s² and is never at rest within a second.
            close("v", v, 2.0 - 1.5 * t, 1e-6);
            close("force", force, -3.0, 1e-6);
            close("loss", loss, -3.0 * v, 1e-5);
        }
    }
    // Where it rests friction bears what pushes.
    let held = load("", "friction = 3\nmotor = { force = 1.25 }", 0.0, "");
    let (rows, _) = watch(&held, "impulse", &["friction.wire.force", "motor.wire.force"]);
    for row in &rows[1..] {
        close("held", row[1], -1.25, 1e-9);
        close("pushed", row[2], 1.25, 0.0);
    }
}

#[test]
fn inputs_are_those_that_are_held() {
    let loaded = load("motor = { torque = \"input.push\" }", "", 0.0, "");
    let names = ["motor.axle.torque", "input.push"];
    let (rows, _) = watch(&loaded, "dae", &names);
    assert!(rows.iter().all(|row| row[1..] == [3.0, 3.0]));
    let model = &loaded.model;
    let all = Quantities::new(model);
    let mut watch = Watch {
        loaded: &loaded,
        wanted: names.iter().map(|name| all.one(model, name).unwrap()).collect(),
        reader: Reader::new(model),
        rows: Vec::new(),
        meter: None,
        last: None,
    };
    let mut law = |measured: &gelenk::control::Measured<'_>,
                   inputs: &mut gelenk::control::Inputs<'_>| {
        inputs.set("push", 1.0 + measured.time())
    };
    let mut control = gelenk::control::Control { period: 0.25, law: &mut law };
    gelenk::simulate_controlled(model, &model.run, &mut control, &mut watch).unwrap();
    let at = |t: f64| watch.rows.iter().find(|row| (row[0] - t).abs() < 1e-9).unwrap();
    assert_eq!(at(0.6)[1..], [1.5, 1.5]);
    // A recording has them, too.
    let last = watch.last.unwrap();
    assert_eq!(last.inputs, [2.0]);
    let mut again = Vec::new();
    Reader::new(model).read(model, &last.as_sample(), &watch.wanted, &mut again);
    assert_eq!(again, [2.0, 2.0]);
}

/// A formula in the place of an input is the same as the formula in the model, in every engine.
#[test]
fn an_input_follows_a_formula() {
    let text = MODEL
        .replace("KEYS", "motor = { torque = \"input.push\" }")
        .replace("WIRE", "")
        .replace("MORE", "")
        .replace("SPEED", "0");
    let formula = "2*sin(3*t) - 0.5*joint.axle.rate";
    let options = |value: &str| LoadOptions {
        overrides: vec![("input.push".to_owned(), value.to_owned())],
        ..LoadOptions::default()
    };
    let replaced =
        text.replace("input.push", &formula.replace("joint.axle.rate", "joint.axle.velocity"));
    let direct = load_text("m", &replaced, &LoadOptions::default()).unwrap();
    let given = load_text("m", &text, &options(&formula.replace("rate", "velocity"))).unwrap();
    assert!(given.model.inputs.is_empty());
    for engine in ["impulse", "dae", "lagrange"] {
        let names = ["joint.axle.angle", "motor.axle.torque"];
        assert_eq!(watch(&given, engine, &names).0, watch(&direct, engine, &names).0, "{engine}");
    }
    // A number stays an input; parameters and mistakes are told apart.
    let number = load_text("m", &text, &options("1/4")).unwrap();
    assert_eq!(number.model.inputs[0].value.to_bits(), 0.25_f64.to_bits());
    let fault = |name: &str, value: &str| {
        let overrides = vec![(name.to_owned(), value.to_owned())];
        let options = LoadOptions { overrides, ..LoadOptions::default() };
        load_text("m", &text, &options).unwrap_err().to_string()
    };
    assert!(fault("input.pusch", "1").contains("did you mean `push`?"));
    assert!(fault("push", "1").contains("--input push="));
    assert!(fault("input.push", "input.push + t").contains("over itself"));
    assert!(fault("input.push", "2*").contains("--set"));
}

#[test]
fn old_column_names_are_understood() {
    let loaded = load("", "", 0.0, "");
    let model = &loaded.model;
    for (old, new) in [
        ("joint.axle.coordinate.angle", Some("joint.axle.angle")),
        ("joint.axle.velocity.angle", Some("joint.axle.rate")),
        ("worst_gap.axle", Some("gap.axle")),
        ("energy.integrator_error", Some("energy.error")),
        ("joint.axle.angle", None),
    ] {
        assert_eq!(name_today(model, old).as_deref(), new);
    }
}

/// docs/quantities.md is made from the code, and every quantity of every model of the gallery is in it.
#[test]
fn the_table_of_quantities_is_complete() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/quantities.md");
    let made = reference();
    if std::env::var_os("GELENK_UPDATE_DOCS").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let there = std::fs::read_to_string(path).unwrap();
    assert_eq!(there, made, "GELENK_UPDATE_DOCS=1 cargo test -p gelenk --test actuators");
    for scene in gelenk::scenes::SCENES {
        let Ok(loaded) = load_text(scene.name, scene.text, &LoadOptions::default()) else {
            continue;
        };
        let all = Quantities::new(&loaded.model);
        for (name, unit) in all.names.iter().zip(&all.units) {
            let known = gelenk::quantity::PATTERNS.iter().any(|pattern| pattern.fits(name, unit));
            assert!(known, "{}: `{name}` [{unit}] is not in the table", scene.name);
        }
    }
}
