//! The contact scenes of the gallery: what they show, in numbers. Nothing ever penetrates beyond the tolerance of contacts.

mod common;

use common::{scene, scene_with};
use gelenk_collide::World;
use gelenk_impulse::Simulation;
use gelenk_model::math::Vec3;
use gelenk_model::state::Pose;
use gelenk_model::{Model, RunSettings};

/// A run that looks at what overlaps.
struct Watched<'m> {
    model: &'m Model,
    simulation: Simulation<'m>,
    world: World,
    poses: Vec<Pose>,
    step: f64,
    tolerance: f64,
}

/// The run of a model with every impact located.
fn exact(model: &Model) -> RunSettings {
    RunSettings { contact: "exact".to_owned(), ..model.run.clone() }
}

impl<'m> Watched<'m> {
    fn new(model: &'m Model) -> Self {
        Self::with(model, &model.run)
    }

    fn with(model: &'m Model, settings: &RunSettings) -> Self {
        Watched {
            model,
            simulation: Simulation::new(model, settings).expect("the scene starts"),
            world: World::new(model).expect("shapes"),
            poses: vec![Pose::identity(); model.n_bodies()],
            step: settings.step,
            tolerance: settings.overlap_tolerance(),
        }
    }

    /// Goes on until `t`, and looks about every `every` seconds.
    fn go(&mut self, t: f64, every: f64, mut see: impl FnMut(&Simulation<'m>)) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small count"
        )]
        let per_look = (every / self.step).round() as u64;
        while self.simulation.state().t < t - 0.5 * self.step {
            if let Err(error) = self.simulation.step() {
                panic!("{}: {error}", self.model.name);
            }
            if self.simulation.steps() % per_look == 0 {
                self.check_overlap();
                see(&self.simulation);
            }
        }
    }

    fn check_overlap(&mut self) {
        let state = self.simulation.state();
        state.write_poses(&mut self.poses);
        let mut found = Vec::new();
        self.world.overlaps(&self.poses, self.tolerance, &mut found);
        for touch in found {
            let [a, b] = touch.bodies;
            let depth = -touch.gap(&self.poses[a], &self.poses[b]);
            let names = [a, b].map(|i| &self.model.bodies[i].name);
            assert!(depth <= self.tolerance, "t = {}: {names:?} overlap by {depth:e} m", state.t);
        }
    }

    fn place(&self, name: &str) -> Vec3 {
        self.simulation.state().s[self.index(name)]
    }

    fn index(&self, name: &str) -> usize {
        self.model.body(name).expect("a body of that name").index()
    }

    /// How far the body has moved that has moved farthest, m.
    fn drift(&self) -> f64 {
        let ways = self.simulation.state().s.iter().zip(&self.model.start.s);
        ways.map(|(now, then)| (now - then).norm()).fold(0.0, f64::max)
    }
}

#[test]
fn a_stack_stands_for_a_minute() {
    let model = scene("stack");
    let mut run = Watched::new(&model);
    run.go(60.0, 1.0, |_| {});
    assert!(run.drift() < 1e-6, "{:e}", run.drift());
}

#[test]
fn a_pyramid_stands() {
    let model = scene_with("pyramid", &[("n", "5")]);
    let mut run = Watched::new(&model);
    run.go(2.0, 0.1, |_| {});
    assert!(run.drift() < 1e-6, "{:e}", run.drift());
}

#[test]
fn an_arch_stands() {
    let model = scene("arch");
    let mut run = Watched::new(&model);
    run.go(5.0, 0.1, |_| {});
    assert!(run.drift() < 1e-6, "{:e}", run.drift());
}

/// Times at which dominoes are hit, by the theory of a row that leans on itself without friction and does not slip on the table (\[van Leeuwen 2010\]): all that
/// have been hit have one degree of freedom, the angle of the foremost, since the upper edge of each is on the back of the next,
///
/// ```text
/// h sin(θ_i − θ_{i+1}) = L cos θ_{i+1} − d
/// ```
/// Energy is kept between hits, and a hit without rebound takes θ̇ to θ̇ S/(S + m_{n+1}), S = Σ m_i (dθ_i/dθ_n)².
fn domino_theory(mass: &[f64], start: f64) -> Vec<f64> {
    let (h, d, pitch, g) = (0.048_f64, 0.0075_f64, 0.025_f64, 9.81_f64);
    let inertia = (h * h + d * d) / 3.0;
    let reached = ((pitch - d) / h).asin();
    let potential = |angle: f64| g * 0.5 * (h * angle.cos() + d * angle.sin());
    // Inertia and potential energy where the foremost is `n`, at an angle.
    let row = |n: usize, angle: f64| {
        let (mut angle, mut part) = (angle, 1.0);
        let (mut sum, mut v) = (mass[n], mass[n] * potential(angle));
        for i in (0..n).rev() {
            let behind = angle + ((pitch * angle.cos() - d) / h).asin();
            part *= 1.0 - pitch * angle.sin() / (h * (behind - angle).cos());
            angle = behind;
            sum += mass[i] * part * part;
            v += mass[i] * potential(angle);
        }
        (sum, v)
    };
    // The first one from rest.
    let (mut angle, mut rate, mut t) = (start, 0.0_f64, 0.0);
    let push = |a: f64| 0.5 * g * (h * a.sin() - d * a.cos()) / inertia;
    while angle < reached {
        let dt = 1e-6;
        rate += 0.5 * dt * push(angle);
        angle += dt * rate;
        rate += 0.5 * dt * push(angle);
        t += dt;
    }
    t -= (angle - reached) / rate;
    let mut times = vec![t];
    for n in 1..mass.len() - 1 {
        let sum = row(n - 1, reached).0;
        rate *= sum / (sum + mass[n]);
        let (sum, v) = row(n, 0.0);
        let energy = 0.5 * inertia * sum * rate * rate + v;
        let speed = |angle: f64| {
            let (sum, v) = row(n, angle);
            (2.0 * (energy - v) / (inertia * sum)).sqrt()
        };
        // Simpson's rule for dθ/θ̇.
        let pieces = 100;
        let width = reached / f64::from(pieces);
        for k in 0..pieces {
            let from = f64::from(k) * width;
            let sum =
                1.0 / speed(from) + 4.0 / speed(from + 0.5 * width) + 1.0 / speed(from + width);
            t += sum * width / 6.0;
        }
        rate = speed(reached);
        times.push(t);
    }
    times
}

/// All thirty fall, one after the other at the times of the theory; the wave runs at 1.78 √(g h).
#[test]
fn dominoes_fall() {
    let model = scene("dominoes");
    let mut run = Watched::with(&model, &exact(&model));
    let ids: Vec<usize> = (0..30).map(|i| run.index(&format!("domino{i}"))).collect();
    let begun = run.simulation.ledger().total();
    let mut hits = vec![None; 30];
    let mut least = begun;
    while run.simulation.state().t < 1.6 - 1e-9 {
        let t = run.simulation.state().t;
        run.go(t + 0.001, 0.001, |_| {});
        for event in run.simulation.take_events().iter().filter(|e| e.kind == "impact") {
            let number = |name: &String| name.strip_prefix("domino").and_then(|n| n.parse().ok());
            let pair: Vec<usize> = event.between.iter().filter_map(number).collect();
            if let [_, hit] = pair[..] {
                hits[hit].get_or_insert(event.time);
            }
        }
        let total = run.simulation.ledger().total();
        assert!(total < least + 1e-6 * begun, "t = {t}: {total} after {least}");
        least = least.min(total);
    }
    let mass: Vec<f64> = ids.iter().map(|&i| model.bodies[i].mass).collect();
    for (i, theory) in domino_theory(&mass, 0.17).into_iter().enumerate() {
        let hit = hits[i + 1].expect("it is hit");
        assert!((hit - theory).abs() < 1e-4, "domino {}: {hit} s, {theory} s", i + 1);
    }
    let time = (hits[29].expect("hit") - hits[19].expect("hit")) / 10.0;
    let speed = 0.025 / time / (9.81_f64 * 0.048).sqrt();
    assert!((speed - 1.78).abs() < 0.01, "{speed}");
    let state = run.simulation.state();
    for (i, &id) in ids.iter().enumerate() {
        let up = if i == 0 { Vec3::new(0.17_f64.sin(), 0.0, 0.17_f64.cos()) } else { Vec3::z() };
        let up = state.rot[id] * model.start.rot[id].inverse_transform_vector(&up);
        assert!(up.z < 0.5 && up.x > 0.8, "domino {i} points to {up}");
    }
}

/// Every scene of the gallery in which something can touch, for a while: nothing is in anything else by more than the tolerance.
#[test]
fn nothing_overlaps_in_any_scene() {
    let mut seen = 0;
    for scene in gelenk_scenes::SCENES {
        let model = common::scene(scene.name);
        if World::new(&model).is_ok_and(|world| world.is_empty()) {
            continue;
        }
        seen += 1;
        let mut run = Watched::new(&model);
        let t = (100.0 * run.step).min(0.2);
        run.go(t, run.step, |_| {});
    }
    assert!(seen >= 13, "{seen}");
}

/// The first ball stops and the last one rises as high as the first was; and back.
#[test]
fn the_cradle_swings() {
    let model = scene("newtons-cradle");
    let mut run = Watched::new(&model);
    let names = ["first_ball", "p1_ball", "p2_ball", "p3_ball", "p4_ball"];
    let ids = names.map(|name| run.index(name));
    let height = model.start.s[ids[0]].z;
    let mut highest = [f64::NEG_INFINITY; 5];
    run.go(3.0, 0.005, |simulation| {
        for (highest, id) in highest.iter_mut().zip(ids) {
            *highest = highest.max(simulation.state().s[id].z);
        }
    });
    assert!((highest[4] - height).abs() < 1e-4, "{} {height}", highest[4]);
    for middle in &highest[1..4] {
        assert!(middle + 0.2 < 1e-6, "{middle}");
    }
}

/// Where the tip slides freely, the axis goes round at W with (J3 w3 − J1 W cos θ) W = m g l, about the centre of mass, which stays where
/// it is. What the angle is off by is of second order in the step.
#[test]
fn a_top_precesses() {
    let model = scene_with("spinning-top", &[("mu", "0")]);
    let (j1, j3, spin, tilt, mgl) = (2.2e-5, 4e-5, 150.0, 0.3_f64, 0.1 * 9.81 * 0.03);
    let (a, b) = (j1 * tilt.cos(), j3 * spin);
    let rate = (b - (b * b - 4.0 * a * mgl).sqrt()) / (2.0 * a);
    // Slow precession is m g l/(J3 w3) but for some per cent.
    assert!((rate / (mgl / b) - 1.0).abs() < 0.05);
    let off = [0.001, 0.0005].map(|step| {
        let mut run = Watched::with(&model, &RunSettings { step, ..model.run.clone() });
        let top = run.index("top");
        let mut worst = [0.0_f64; 3];
        run.go(5.0, 0.01, |simulation| {
            let state = simulation.state();
            let axis = state.rot[top] * Vec3::z();
            let angle = axis.y.atan2(axis.x) - rate * state.t;
            worst[0] = worst[0].max(angle.sin().abs());
            worst[1] = worst[1].max((axis.z.acos() - tilt).abs());
            worst[2] = worst[2].max(state.s[top].xy().norm());
        });
        assert!(worst[1] < 1e-4, "tilt {worst:?}");
        assert!(worst[2] < 1e-9, "centre {worst:?}");
        worst[0]
    });
    // Of some 25 rad.
    assert!(off[0] < 5e-3 && (3.0..5.0).contains(&(off[0] / off[1])), "{off:?}");
}

/// The centre of mass rises from below the middle of the ball to above it, and L·(from the centre of mass to the point of contact) stays
/// as it was: Jellett's constant.
#[test]
fn a_tippe_top_turns_over() {
    let model = scene("tippe-top");
    let mut run = Watched::new(&model);
    let top = run.index("top");
    let (radius, a, j) = (0.015, 0.003, 1.3e-6);
    let jellett = |simulation: &Simulation<'_>| {
        let state = simulation.state();
        let axis = state.rot[top] * Vec3::z();
        // From the centre of mass: a up the axis to the middle, then down to the table.
        let arm = axis * a - Vec3::z() * radius;
        (state.omega[top] * j).dot(&arm)
    };
    let before = jellett(&run.simulation);
    assert!(run.place("top").z < radius - 0.99 * a);
    let mut worst = 0.0_f64;
    run.go(3.0, 0.01, |simulation| worst = worst.max((jellett(simulation) / before - 1.0).abs()));
    assert!(run.place("top").z > radius + 0.9 * a, "{}", run.place("top").z);
    assert!(worst < 1e-3, "{worst}");
}

/// Without friction a ball in a bowl loses speed at the edges of the faces alone, and little of it.
#[test]
fn a_ball_in_a_bowl_keeps_its_energy() {
    let model = scene_with("bowl", &[("mu", "0")]);
    let mut run = Watched::new(&model);
    run.go(0.5, 0.02, |_| {});
    let begun = run.simulation.ledger().total();
    let mut before = begun;
    run.go(5.0, 0.02, |simulation| {
        let ledger = simulation.ledger();
        let grown = ledger.total() / before - 1.0;
        assert!(grown < 1e-3, "t = {}: {grown:e}", simulation.state().t);
        assert!(ledger.integrator_error().abs() < 1e-9 * begun);
        before = ledger.total();
    });
    let ledger = run.simulation.ledger();
    assert!((0.9..1.0).contains(&(ledger.total() / begun)), "{}", ledger.total() / begun);
    assert!(ledger.dissipation.abs() < 1e-9);
    assert!(run.place("ball").xy().norm() < 1.0);
}

#[test]
fn a_falling_chain_never_gains_energy() {
    let model = scene("falling-chain");
    let mut run = Watched::new(&model);
    let begun = run.simulation.ledger().total();
    let mut least = begun;
    run.go(2.0, 0.01, |simulation| {
        let total = simulation.ledger().total();
        // What the method itself makes in 10 ms.
        assert!(
            total < least + 1e-3 * begun,
            "t = {}: {total} after {least}",
            simulation.state().t
        );
        least = least.min(total);
    });
}

/// A disc that rolls steadily goes on so: on its circle, without sliding, without loss.
#[test]
fn a_wheel_rolls_in_a_circle() {
    let model = scene("rolling-wheel");
    let mut run = Watched::new(&model);
    let wheel = run.index("wheel");
    let (way, high) = (model.start.s[wheel].xy().norm(), model.start.s[wheel].z);
    let begun = run.simulation.ledger().total();
    let mut worst = [0.0_f64; 3];
    run.go(5.0, 0.02, |simulation| {
        let state = simulation.state();
        worst[0] = worst[0].max((state.s[wheel].xy().norm() / way - 1.0).abs());
        worst[1] = worst[1].max((state.s[wheel].z / high - 1.0).abs());
        worst[2] = worst[2].max((simulation.ledger().total() / begun - 1.0).abs());
    });
    assert!(worst[0] < 1e-3 && worst[1] < 1e-3 && worst[2] < 1e-6, "{worst:?}");
    let turned = (1.5 * run.simulation.state().t).sin_cos();
    let there = Vec3::new(turned.1, turned.0, 0.0) * way;
    assert!((run.place("wheel").xy() - there.xy()).norm() < 0.01, "{}", run.place("wheel"));
}

/// Ten seconds over rough ground: the wheels hold it, no energy comes from nowhere, and none from the contacts.
#[test]
fn a_car_drives() {
    let model = scene("car");
    let mut run = Watched::with(&model, &exact(&model));
    let chassis = run.index("chassis");
    let wheels = ["front_left", "front_right", "back_left", "back_right"];
    let wheels = wheels.map(|name| run.index(&format!("{name}_wheel")));
    let begun = run.simulation.ledger();
    let start = run.place("chassis");
    let mut before = begun;
    run.go(10.0, 0.05, |simulation| {
        let (state, ledger) = (simulation.state(), simulation.ledger());
        // Rotations are those of the principal axes.
        let up = state.rot[chassis] * model.start.rot[chassis].inverse_transform_vector(&Vec3::z());
        assert!(up.z > 0.98, "t = {}: it tilts, {up}", state.t);
        for wheel in wheels {
            // The ground is between -0.045 m and 0.045 m.
            let high = state.s[wheel].z - 0.15;
            assert!((-0.046..0.1).contains(&high), "t = {}: wheel at {high}", state.t);
        }
        let taken = ledger.impact_loss + ledger.dissipation;
        let made = before.impact_loss + before.dissipation - taken;
        assert!(made < 1e-3, "t = {}: contacts make {made} J", state.t);
        before = ledger;
    });
    let ledger = run.simulation.ledger();
    // Of 73 J at the start and 65 J of work.
    assert!(ledger.total() <= begun.total() + ledger.work + 0.1, "{ledger:?}");
    assert!(ledger.integrator_error().abs() < 0.1, "{}", ledger.integrator_error());
    assert!(ledger.impact_loss > 0.0 && ledger.dissipation > 0.0, "{ledger:?}");
    let way = run.place("chassis").x - start.x;
    // 2 m/s after a second of start.
    assert!((17.0..18.5).contains(&way), "{way}");
}

/// The ball is thrown back whatever its speed; nothing goes through.
#[test]
fn a_bullet_does_not_go_through() {
    for (v, thick) in [("30", "0.002"), ("300", "0.002"), ("3000", "0.002"), ("1234.5", "0.0005")] {
        let model = scene_with("bullet", &[("v", v), ("thick", thick)]);
        let mut run = Watched::new(&model);
        let ball = run.index("ball");
        let speed = v.parse::<f64>().expect("a number");
        run.go(0.06, 0.001, |simulation| assert!(simulation.state().s[ball].x < 0.0, "{v}"));
        let state = run.simulation.state();
        assert!(state.s_dot[ball].x < -0.35 * speed, "{v}: {}", state.s_dot[ball]);
    }
}

/// The machine walks for a minute: forward, straight, level, at a steady height, and its feet carry it.
#[test]
fn a_hexapod_walks() {
    let model = scene("hexapod");
    let mut run = Watched::new(&model);
    let trunk = run.index("trunk");
    run.go(60.0, 0.05, |simulation| {
        let state = simulation.state();
        let up = state.rot[trunk] * Vec3::z();
        assert!(up.z > 0.99, "t = {}: it tilts, {up}", state.t);
        assert!(state.s[trunk].z.abs() < 0.02, "t = {}: height {}", state.t, state.s[trunk].z);
    });
    // Two steps of the gait go on by four strides of 0.1 m each 2 pi/w, but for what slips.
    let place = run.place("trunk");
    assert!(place.x > 17.0 && place.x < 19.2 && place.y.abs() < 1.0, "{place}");
}

/// Standing, it does not creep.
#[test]
fn a_hexapod_stands() {
    let model = scene_with("hexapod", &[("stride", "0"), ("lift", "0")]);
    let mut run = Watched::new(&model);
    run.go(5.0, 0.5, |_| {});
    let settled = run.place("trunk");
    run.go(15.0, 0.5, |_| {});
    let crept = (run.place("trunk") - settled).norm();
    assert!(crept < 1e-9, "{crept:e} m in 10 s");
}
