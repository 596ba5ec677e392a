//! End stops: where they hold, what they throw back, what they take.

mod common;

use common::{settings, toml};
use gelenk_impulse::Simulation;
use gelenk_model::joint::{JointParameters, JointProperties, Limit};
use gelenk_model::math::{Mat3, Vec3, perpendicular_frame};
use gelenk_model::{BodyDef, BodyId, Builder, Event, JointKind, Model, RunSettings};

/// A block of 2 kg that slides along x, with what the joint says.
fn block(gravity: &str, velocity: f64, joint: &str) -> Model {
    toml(&format!(
        r#"
[model]
name = "block"
gravity = {gravity}

[[body]]
name = "block"
mass = 2
inertia = [0.1, 0.2, 0.3]
position = [0.3, 0, 0]
velocity = [{velocity}, 0, 0]

[[joint]]
name = "slide"
type = "slider"
between = ["world", "block"]
point = [0, 0, 0]
axis = [1, 0, 0]
{joint}
"#
    ))
}

fn impacts(events: &[Event]) -> Vec<&Event> {
    events.iter().filter(|event| event.kind == "impact").collect()
}

/// The three numbers of an impact's sentence: velocity before, after, impulse.
fn numbers(event: &Event) -> [f64; 3] {
    let after = |word: &str| {
        let rest = event.detail.split_once(word).expect("the word").1.trim_start();
        let end = rest.find([' ', ',']).unwrap_or(rest.len());
        rest[..end].parse().expect("a number")
    };
    [after("velocity"), after("before,"), after("impulse")]
}

/// Between two elastic stops a block goes back and forth for ever: every crossing takes l/v, and nothing is lost.
#[test]
fn elastic_stops_keep_speed_and_period() {
    let model = block(
        "[0, 0, 0]",
        1.7,
        "drawn_at = 0.3\nlimits = { min = -0.5, max = 0.8, restitution = 1 }",
    );
    for order in [2, 4] {
        let settings = RunSettings { order, ..settings(0.03, 1e-10) };
        let mut simulation = Simulation::new(&model, &settings).unwrap();
        for _ in 0..1000 {
            simulation.step().unwrap();
        }
        let events = simulation.take_events();
        let times: Vec<f64> = impacts(&events).iter().map(|event| event.time).collect();
        assert_eq!(times.len(), 39);
        for (i, t) in times.iter().enumerate() {
            let exact = (0.5 + 1.3 * i as f64) / 1.7;
            assert!((t - exact).abs() < 1e-9 * (i + 1) as f64, "{i}: {t} {exact}");
        }
        let ledger = simulation.ledger();
        assert!((ledger.kinetic - 2.0 * 1.7 * 1.7 / 2.0).abs() < 1e-12, "{ledger:?}");
        assert!(ledger.impact_loss.abs() < 1e-12, "{ledger:?}");
    }
}

/// The stop gives back ε of the speed, and takes (1 − ε²) of the energy.
#[test]
fn a_stop_gives_back_its_part() {
    for restitution in [0.0, 0.3, 0.85] {
        let joint =
            format!("drawn_at = 0.3\nlimits = {{ max = 0.8, restitution = {restitution} }}");
        let model = block("[0, 0, 0]", 1.7, &joint);
        let mut simulation = Simulation::new(&model, &settings(0.01, 1e-10)).unwrap();
        for _ in 0..50 {
            simulation.step().unwrap();
        }
        let v = simulation.state().s_dot[1].x;
        assert!((v + restitution * 1.7).abs() < 1e-9, "{restitution}: {v}");
        let events = simulation.take_events();
        let hits = impacts(&events);
        assert_eq!(hits.len(), 1, "{events:?}");
        assert_eq!(hits[0].between, ["slide"]);
        assert!(hits[0].detail.contains("`slide.max`"), "{}", hits[0].detail);
        let [before, after, impulse] = numbers(hits[0]);
        assert!((before - 1.7).abs() < 1e-6 && (after + restitution * 1.7).abs() < 1e-6);
        assert!((impulse + 2.0 * 1.7 * (1.0 + restitution)).abs() < 1e-5, "{impulse}");
        let lost = 1.7 * 1.7 * (1.0 - restitution * restitution);
        let ledger = simulation.ledger();
        assert!((ledger.impact_loss - lost).abs() < 1e-9, "{ledger:?}");
        assert!(ledger.integrator_error().abs() < 1e-12, "{ledger:?}");
    }
}

/// A rod that falls on a stop from the horizontal: at the impact ω² = 3 g sin φ/l, to the order of the step; the rebound is ε ω
/// at the very instant.
#[test]
fn a_pendulum_rebounds_with_its_part_of_the_speed() {
    let text = r#"
[model]
name = "rod"
[[body]]
name = "rod"
mass = 1.5
shape = { cylinder = { radius = 0.02 } }
ends = [[0, 0, 0], [1, 0, 0]]
[[joint]]
name = "hinge"
type = "hinge"
between = ["world", "rod"]
point = [0, 0, 0]
axis = [0, 1, 0]
limits = { max_deg = 60, restitution = 0.6 }
"#;
    let model = toml(text);
    let inertia = 1.5 / 12.0 + 1.5 * 0.02 * 0.02 / 4.0 + 1.5 / 4.0;
    let exact = (2.0 * 1.5 * 9.81 * 0.5 * 60.0_f64.to_radians().sin() / inertia).sqrt();
    let mut errors = Vec::new();
    for h in [0.01, 0.005, 0.0025] {
        let mut simulation = Simulation::new(&model, &settings(h, 1e-11)).unwrap();
        while simulation.state().t < 0.7 {
            simulation.step().unwrap();
            let q = simulation.state().coordinate[0];
            assert!(q <= 60.0_f64.to_radians() + 1e-11, "{q}");
        }
        let events = simulation.take_events();
        let [before, after, _] = numbers(impacts(&events)[0]);
        assert!((after + 0.6 * before).abs() < 2e-6 * before, "{before} {after}");
        errors.push((before - exact).abs());
        let loss = 0.5 * inertia * before * before * (1.0 - 0.36);
        assert!((simulation.ledger().impact_loss - loss).abs() < 1e-5 * loss);
    }
    let slope = common::slope(&errors);
    assert!((slope - 2.0).abs() < 0.1, "{errors:?} {slope}");
}

/// Pressed against a stop by a constant load a block stays, and the joint's force is the load.
#[test]
fn a_stop_holds_under_load() {
    for (order, restitution) in [(2, 0.0), (2, 0.7), (4, 0.5), (6, 0.0)] {
        let joint =
            format!("drawn_at = 0.3\nlimits = {{ max = 0.31, restitution = {restitution} }}");
        let model = block("[3, 0, -9.81]", 0.0, &joint);
        let settings = RunSettings { order, ..settings(0.01, 1e-10) };
        let mut simulation = Simulation::new(&model, &settings).unwrap();
        for _ in 0..200 {
            simulation.step().unwrap();
        }
        assert!((simulation.state().coordinate[0] - 0.31).abs() < 1e-10);
        assert!(simulation.state().s_dot[1].norm() < 1e-9);
        let reaction = simulation.reactions()[0];
        assert!((reaction.force.x + 6.0).abs() < 1e-6, "{reaction:?}");
        assert!((reaction.force.z - 2.0 * 9.81).abs() < 1e-6, "{reaction:?}");
        let ledger = simulation.ledger();
        assert!((ledger.impact_loss - 6.0 * 0.01).abs() < 1e-8, "{ledger:?}");
        assert!(ledger.integrator_error().abs() < 1e-8, "{ledger:?}");
    }
}

/// A ball-like bounce: rests after v₀/g (1 + 2ε + 2ε² + …) seconds, in finite time and with finitely many steps.
#[test]
fn ever_shorter_bounces_come_to_rest() {
    let joint = "drawn_at = 0.3\nlimits = { max = 0.8, restitution = 0.5 }";
    let model = block("[10, 0, 0]", 0.0, joint);
    let mut simulation = Simulation::new(&model, &settings(0.01, 1e-10)).unwrap();
    // It falls 0.5 m, then bounces.
    let fall = (2.0_f64 * 0.5 / 10.0).sqrt();
    let end = fall * (1.0 + 2.0 * 0.5 / (1.0 - 0.5));
    while simulation.state().t < end - 0.01 {
        simulation.step().unwrap();
    }
    while simulation.state().t < end + 0.02 {
        simulation.step().unwrap();
    }
    assert!((simulation.state().coordinate[0] - 0.8).abs() < 1e-9);
    assert!(simulation.state().s_dot[1].norm() < 1e-8);
    let events = simulation.take_events();
    let times: Vec<f64> = impacts(&events).iter().map(|event| event.time).collect();
    assert!((8..40).contains(&times.len()), "{}", times.len());
    for (n, t) in times.iter().take(8).enumerate() {
        let exact = fall * (1.0 + 2.0 * (1.0 - 0.5_f64.powi(i32::try_from(n).unwrap())));
        assert!((t - exact).abs() < 1e-7, "{n}: {t} {exact}");
    }
    let ledger = simulation.ledger();
    assert!((ledger.impact_loss - 2.0 * 10.0 * 0.5).abs() < 1e-6, "{ledger:?}");
}

/// Numbers between 0 and 1, the same every time (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One of 0 to n − 1.
    fn one_of(&mut self, n: u32) -> usize {
        let x = self.next() * f64::from(n);
        (1..n).take_while(|k| f64::from(*k) <= x).count()
    }

    fn between(&mut self, a: f64, b: f64) -> f64 {
        a + (b - a) * self.next()
    }

    fn vector(&mut self, size: f64) -> Vec3 {
        Vec3::from_fn(|_, _| self.between(-size, size))
    }
}

/// One to four bodies in a row, with joints of any type that has coordinates, each with stops of different restitution.
fn random_chain(random: &mut Random) -> Model {
    let mut builder = Builder::new("chain");
    builder.gravity(random.vector(10.0));
    let mut last = BodyId::WORLD;
    let n = 1 + random.one_of(4);
    for i in 0..n {
        let size = Vec3::from_fn(|_, _| random.between(0.2, 1.0));
        let mass = 10_f64.powf(random.between(-1.0, 1.0));
        let squares = size.component_mul(&size);
        let moments = Vec3::from_element(squares.sum()) - squares;
        let inertia = Mat3::from_diagonal(&(moments * (mass / 12.0)));
        let mut def = BodyDef::new(&format!("body {i}"), mass, inertia).at(random.vector(0.3));
        def.position.x += i as f64;
        def.velocity = random.vector(2.0);
        def.angular_velocity = random.vector(3.0);
        let body = builder.body(&def);
        let point = def.position - Vec3::new(0.5, 0.0, 0.0) + random.vector(0.2);
        let axis = random.vector(1.0);
        let (across, _) = perpendicular_frame(&axis.normalize());
        let frames = builder
            .joint_frames_two_axes([last, body], &point, &axis, &across)
            .expect("right angles");
        let types = ["hinge", "slider", "cylindrical", "planar", "universal", "screw", "rail"];
        let name = types[random.one_of(7)];
        let parameters = JointParameters { pitch: Some(0.3), ..JointParameters::default() };
        let kind = JointKind::from_type(name, &frames, &parameters).expect("a joint");
        let n_coordinates = if name == "screw" { 1 } else { kind.equations().coordinates().len() };
        let limits = (0..n_coordinates).map(|which| Limit {
            which,
            min: -random.between(0.02, 0.3),
            max: random.between(0.02, 0.3),
            restitution: if random.next() < 0.2 { 1.0 } else { random.next() },
        });
        let limits = limits.collect();
        let mut friction = vec![0.0; n_coordinates];
        if random.next() < 0.3 {
            friction.fill_with(|| random.between(0.0, 5.0));
        }
        let properties = JointProperties { limits, friction, ..Default::default() };
        let id = builder.joint(&format!("joint {i}"), [last, body], kind, None);
        builder.joint_properties(id, properties);
        last = body;
    }
    builder.finish()
}

/// Whatever hits whatever: no impact makes energy, and no stop is passed.
#[test]
fn impacts_of_random_mechanisms_make_no_energy() {
    let cases: u32 = std::env::var("STOP_CASES").map_or(60, |n| n.parse().expect("a number"));
    let mut random = Random(2003);
    let mut n_impacts = 0;
    for case in 0..cases {
        let model = random_chain(&mut random);
        let solver = if case % 4 == 0 { "sweep-accelerated" } else { "direct" };
        let settings = RunSettings { solver: solver.to_owned(), ..settings(0.01, 1e-9) };
        let mut simulation = Simulation::new(&model, &settings).unwrap();
        for step in 0..40 {
            let before = simulation.ledger();
            simulation.step().unwrap_or_else(|failure| panic!("{case} {step}: {failure}"));
            let ledger = simulation.ledger();
            let scale = 1.0 + ledger.kinetic.max(before.kinetic);
            let taken = ledger.impact_loss - before.impact_loss;
            assert!(taken >= -1e-9 * scale, "{case} {step}: {taken:e}");
            let made = ledger.integrator_error() - before.integrator_error();
            assert!(made.abs() <= 0.06 * scale, "{case} {step}: {made:e} of {scale}");
            for joint in &model.joints {
                for limit in &joint.properties.limits {
                    let q = simulation.state().coordinate[joint.first_coordinate + limit.which];
                    let over = (q - limit.max).max(limit.min - q);
                    assert!(over <= 1e-9, "{case} {step}: `{}` by {over:e}", joint.name);
                }
            }
        }
        n_impacts += impacts(&simulation.take_events()).len();
    }
    assert!(n_impacts > 3 * cases as usize, "{n_impacts}");
}
