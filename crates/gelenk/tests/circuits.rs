//! Circuits: charges as coordinates, in all engines, against solutions in closed form.

use gelenk::model::{LoadOptions, Loaded, RunReport, RunSettings, load_text};
use gelenk::scenes::scene;
use gelenk::simulate_loaded;

fn parse(text: &str) -> Loaded {
    load_text("test", text, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn gallery(name: &str) -> Loaded {
    parse(scene(name).unwrap_or_else(|| panic!("no scene {name}")).text)
}

/// The end of a run: by an engine that chooses its steps, or by impulses of order 6 in steps of `step`.
fn run(loaded: &Loaded, engine: &str, duration: f64, step: f64) -> RunReport {
    let settings = RunSettings {
        engine: engine.to_owned(),
        duration,
        step,
        order: if engine == "impulse" { 6 } else { 2 },
        tolerance: 1e-13,
        velocity_tolerance: 1e-12,
        ..loaded.model.run.clone()
    };
    simulate_loaded(loaded, &settings, &mut ()).unwrap_or_else(|error| panic!("{engine}: {error}"))
}

/// Coordinate of a joint and the speed of its second body at the end of a run: charge and current of a circuit.
fn charge(loaded: &Loaded, report: &RunReport, name: &str) -> [f64; 2] {
    let joint = loaded.model.joint(name).unwrap_or_else(|| panic!("no joint {name}"));
    let joint = &loaded.model.joints[joint.index()];
    let velocity = report.state.s_dot[joint.bodies[1].index()];
    [report.state.coordinate[joint.first_coordinate], velocity.sum()]
}

const ENGINES: [&str; 3] = ["lagrange", "dae", "impulse"];

fn close(what: &str, ours: f64, exact: f64, within: f64) {
    assert!((ours - exact).abs() <= within, "{what}: {ours:.15e}, exact {exact:.15e}");
}

/// L q″ + R q′ + q/C = 0 from q(0) = q0, q′(0) = i0.
#[test]
fn a_damped_circuit_swings_as_its_formula_says() {
    let (l, r, c, q0, i0) = (0.2_f64, 0.4, 0.01, 0.003, 0.05);
    let text = format!(
        "[[circuit]]\nname = \"a\"\ncharge = {q0}\ncurrent = {i0}\n[[inductor]]\ncircuit = \"a\"\ninductance = {}\n\
         [[inductor]]\ncircuit = \"a\"\ninductance = {}\n[[resistor]]\ncircuit = \"a\"\nresistance = {r}\n\
         [[capacitor]]\ncircuit = \"a\"\ncapacitance = {c}\n",
        0.25 * l,
        0.75 * l
    );
    let loaded = parse(&text);
    let (alpha, t) = (0.5 * r / l, 0.7);
    let omega = (1.0 / (l * c) - alpha * alpha).sqrt();
    let b = (i0 + alpha * q0) / omega;
    let (sin, cos) = (omega * t).sin_cos();
    let decay = (-alpha * t).exp();
    let exact = [
        decay * (q0 * cos + b * sin),
        decay * ((b * omega - alpha * q0) * cos - (q0 * omega + alpha * b) * sin),
    ];
    for engine in ENGINES {
        let report = run(&loaded, engine, t, 0.001);
        let found = charge(&loaded, &report, "a");
        close(engine, found[0], exact[0], 1e-11);
        close(engine, found[1], exact[1], 1e-9);
        // What the resistor took is booked as dissipation; nothing else is lost.
        let ledger = &report.ledger;
        let lost = 0.5 * (l * i0 * i0 + q0 * q0 / c)
            - 0.5 * (l * exact[1] * exact[1] + exact[0] * exact[0] / c);
        close(engine, ledger.dissipation.abs(), lost, 1e-8);
        assert!(ledger.integrator_error().abs() < 1e-9, "{engine}: {ledger:?}");
    }
}

/// Two equal circuits with a capacitor, a resistor or an inductor in common: the symmetric motion does not feel it, the antisymmetric one feels it twice.
#[test]
fn shared_elements_are_felt_by_the_difference_of_the_currents() {
    let both = "[[circuit]]\nname = \"a\"\ncharge = 0.002\n[[circuit]]\nname = \"b\"\n\
                [[inductor]]\ncircuit = \"a\"\ninductance = 0.1\n[[inductor]]\ncircuit = \"b\"\ninductance = 0.1\n\
                [[capacitor]]\ncircuit = \"a\"\ncapacitance = 0.02\n[[capacitor]]\ncircuit = \"b\"\ncapacitance = 0.02\n";
    let (l, k, q0, t) = (0.1_f64, 50.0_f64, 0.002, 0.37);
    // q of L q″ + R q′ + k q = 0 from q0 at rest.
    let mode = |l: f64, r: f64, k: f64| -> f64 {
        let alpha = 0.5 * r / l;
        let omega = (k / l - alpha * alpha).sqrt();
        q0 * (-alpha * t).exp() * ((omega * t).cos() + alpha / omega * (omega * t).sin())
    };
    let symmetric = mode(l, 0.0, k);
    let cases = [
        (
            "[[capacitor]]\ncircuit = \"a\"\nagainst = \"b\"\ncapacitance = 0.05\n",
            mode(l, 0.0, k + 40.0),
        ),
        ("[[resistor]]\ncircuit = \"a\"\nagainst = \"b\"\nresistance = 0.3\n", mode(l, 0.6, k)),
        (
            "[[inductor]]\ncircuit = \"a\"\nagainst = \"b\"\ninductance = 0.04\n",
            mode(l + 0.08, 0.0, k),
        ),
    ];
    for (element, antisymmetric) in cases {
        let loaded = parse(&format!("{both}{element}"));
        for engine in ENGINES {
            let report = run(&loaded, engine, t, 0.0005);
            let (a, b) = (charge(&loaded, &report, "a")[0], charge(&loaded, &report, "b")[0]);
            close(&format!("{engine}, {element}"), a, 0.5 * (symmetric + antisymmetric), 1e-10);
            close(&format!("{engine}, {element}"), b, 0.5 * (symmetric - antisymmetric), 1e-10);
        }
    }
}

/// J ω′ = K i − b ω − m g r, L i′ = U − R i − K ω from rest.
#[test]
fn a_motor_with_its_circuit_turns_as_its_formula_says() {
    let loaded = gallery("dc-motor");
    let (voltage, r, l, k, b) = (12.0, 0.8_f64, 0.02, 0.25, 0.002);
    let (inertia, load) = (0.01 + 2.0 * 0.04 * 0.04, 2.0 * 9.81 * 0.04);
    // The rest (ω, i) that it comes to, and the rates of its two modes.
    let steady_omega = (k * voltage - r * load) / (k * k + r * b);
    let steady_current = (b * voltage + k * load) / (k * k + r * b);
    let (trace, determinant) = (-(b / inertia + r / l), (b * r + k * k) / (inertia * l));
    let root = (0.25 * trace * trace - determinant).sqrt();
    let rates = [0.5 * trace + root, 0.5 * trace - root];
    // (ω, i) − rest = Σ c_j (K, J λ_j + b) e^{λ_j t}
    let weight = |j: usize| inertia * rates[j] + b;
    let c_1 = (steady_omega / k * weight(1) - steady_current) / (weight(0) - weight(1));
    let c = [c_1, -steady_omega / k - c_1];
    let t = 0.3;
    let sum = |of: &dyn Fn(usize) -> f64| {
        (0..2).map(|j| c[j] * of(j) * (rates[j] * t).exp()).sum::<f64>()
    };
    let omega = steady_omega + sum(&|_| k);
    let current = steady_current + sum(&weight);
    let angle = steady_omega * t
        + (0..2).map(|j| c[j] * k / rates[j] * ((rates[j] * t).exp() - 1.0)).sum::<f64>();
    for engine in ENGINES {
        let report = run(&loaded, engine, t, 0.0005);
        let rotor = loaded.model.body("rotor").expect("a rotor").index();
        close(engine, report.state.omega[rotor].y, omega, 1e-7);
        close(engine, charge(&loaded, &report, "shaft")[0], angle, 1e-8);
        close(engine, charge(&loaded, &report, "armature")[1].abs(), current, 1e-7);
    }
}

/// Charges are told in C and A, and have no place in pictures.
#[test]
fn charges_have_units_of_their_own_and_no_place_in_space() {
    let loaded = gallery("dc-motor");
    let model = &loaded.model;
    let units = |name: &str| {
        let id = model.joint(name).unwrap_or_else(|| panic!("no joint {name}"));
        model.coordinate_units(&model.joints[id.index()], 0)
    };
    assert_eq!((units("armature"), units("shaft")), (["C", "A"], ["rad", "rad/s"]));
    let body = model.body("armature").expect("a charge").index();
    assert!(model.bodies[body].is_charge);
    let states = [(0.0, model.start.clone())];
    let gltf = gelenk::export::to_gltf(model, &states);
    assert!(gltf.contains("rotor") && !gltf.contains("armature"), "{gltf}");
}

/// The same numbers as LAGR's deck of a loudspeaker, whose equations are derived from punched cards.
#[test]
fn a_loudspeaker_moves_as_the_one_on_cards() {
    let loaded = gallery("loudspeaker");
    let deck = gelenk::deck::read(
        gelenk::deck::DECKS.iter().find(|d| d.0 == "loudspeaker").expect("a deck").1,
    )
    .unwrap_or_else(|faults| panic!("{faults:?}"));
    let mut pool = gelenk::expr::Pool::new();
    let derived = deck.derive(&mut pool).unwrap_or_else(|faults| panic!("{faults:?}"));
    let tau = std::f64::consts::TAU;
    let values = [
        ("M(1)", 0.012),
        ("M(2)", 0.0006),
        ("S", 1200.0),
        ("D", 1.1),
        ("R", 5.6),
        ("CAP", 0.0002),
        ("BL", 6.5),
        ("U0", 8.0),
        ("OM", 120.0 * tau),
    ];
    let settings = gelenk::decks::DeckSettings {
        values: values.iter().map(|(name, x)| ((*name).to_owned(), *x)).collect(),
        duration: 0.1,
        step: 0.1,
        tolerance: 1e-12,
        kinetic_list: 0,
        force_list: 0,
    };
    let motion = gelenk::decks::run_deck(&mut pool, &derived.systems[0], &settings)
        .unwrap_or_else(|error| panic!("{error}"));
    let last = &motion.samples.last().expect("samples").y;
    for (engine, within) in [("lagrange", 1e-11), ("dae", 1e-11), ("impulse", 1e-9)] {
        let report = run(&loaded, engine, 0.1, 0.00002);
        close(engine, charge(&loaded, &report, "suspension")[0], last[0], within);
        close(engine, charge(&loaded, &report, "coil")[0], last[1], within);
    }
}

/// Plates that pull at each other, and a magnet that moves freely before a coil: no energy is lost between circuit and motion.
#[test]
fn couplings_keep_the_energy() {
    let plates = "[[point]]\nname = \"plate\"\nmass = 0.01\nposition = [0.02, 0, 0]\n\
                  [[joint]]\nname = \"slide\"\ntype = \"rail\"\nbetween = [\"world\", \"plate\"]\npoint = [0.02, 0, 0]\naxis = [1, 0, 0]\nstiffness = 30\n\
                  [[circuit]]\nname = \"a\"\ncharge = 0.0004\n[[inductor]]\ncircuit = \"a\"\ninductance = 0.5\n\
                  [[capacitor]]\ncircuit = \"a\"\ncapacitance = \"0.0000004/(0.02 + joint.slide.position)\"\n";
    let magnet = "[[body]]\nname = \"magnet\"\nmass = 0.1\ninertia = [0.001, 0.002, 0.0025]\nvelocity = [1, 0.2, 0]\nangular_velocity = [1, 2, 3]\n\
                  [[marker]]\nname = \"pole\"\nbody = \"magnet\"\nposition = [0.05, 0, 0.02]\n\
                  [[circuit]]\nname = \"a\"\n[[inductor]]\ncircuit = \"a\"\ninductance = 0.1\n\
                  [[capacitor]]\ncircuit = \"a\"\ncapacitance = 0.01\n\
                  [[coupling]]\ncircuit = \"a\"\nflux = \"0.8*exp(-4*(pole.x^2 + pole.y^2))*pole.y\"\n";
    for text in [plates, magnet] {
        let loaded = parse(text);
        let mut ends = Vec::new();
        for engine in ENGINES {
            let report = run(&loaded, engine, 0.5, 0.0005);
            let ledger = &report.ledger;
            assert!(ledger.integrator_error().abs() < 1e-9, "{engine}: {ledger:?}");
            ends.push((charge(&loaded, &report, "a")[0], report.state.s[1]));
        }
        for (q, s) in &ends[1..] {
            close("charge", *q, ends[0].0, 1e-9);
            assert!((s - ends[0].1).norm() < 1e-9, "{s:?} {:?}", ends[0].1);
        }
        assert!(ends[0].0.abs() > 1e-6, "the circuit takes part");
    }
}
