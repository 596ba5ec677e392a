//! Random machines as a judge: engines against each other, energy and momentum, another order of bodies, another frame and other units.
//!
//! A machine is silently wrong where two engines, or two ways to write the same machine, are further apart than ten times the errors that each shows by itself, with
//! half the step or a hundredth of the tolerance, and the verdict on neither of them fails or doubts it. Those that a verdict doubts are counted as warned.
//!
//! `GELENK_RANDOM_MACHINES=10000 cargo test --release -p gelenk --test random_machines -- --nocapture` before a release;
//! `GELENK_RANDOM_FIRST` sets the first seed, `GELENK_RANDOM_SHOW=1` prints the files of those that are wrong.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test ends where its expectation does, and tells what it has seen"
)]

mod random;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use cpu_time::ThreadTime;
use gelenk::accuracy::{Snapshot, apart};
use gelenk::model::math::Vec3;
use gelenk::model::{LoadOptions, Loaded, Model, Observer, RunSettings, Sample, State, load_text};
use gelenk::simulate_judged;
use gelenk::verdict::{Level, VerdictLimits};
use random::{Family, Frame, Machine, Random};
use rayon::prelude::*;

/// Machines of the default run.
const MACHINES: u64 = 300;
/// Simulated time, s, and how often motions are compared in it.
const DURATION: f64 = 0.2;
const TIMES: u32 = 4;
/// Errors above this are chaos or an impact within a step: such machines are counted and left out, m.
const CHAOTIC: f64 = 1e-3;
/// What motions may be apart beside their own errors: rounding, and the gaps that joints are closed to, m.
const FLOOR: f64 = 2e-8;
/// Two motions may be apart by this many times their errors.
const TIMES_ERROR: f64 = 10.0;
/// No run takes longer, of the processor's time: other programs may share it.
const HANG: Duration = Duration::from_secs(20);

/// Sees states and the end of patience.
struct Camera {
    seen: Vec<State>,
    begin: ThreadTime,
    late: bool,
}

impl Observer for Camera {
    fn sample(&mut self, _sample: &Sample<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn at(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.seen.push(sample.state.clone());
        ControlFlow::Continue(())
    }
    fn step(&mut self, _t: f64) -> ControlFlow<()> {
        self.late |= self.begin.elapsed() > HANG;
        if self.late { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// What a run shows.
enum Seen {
    /// States, and what the verdict doubts, if anything.
    Motion(Vec<State>, Option<String>),
    /// Refused before the run, failed in it, or failed by its verdict.
    Told(String),
    Hangs,
}

fn run(loaded: &Loaded, engine: &str, length: f64, fine: f64) -> Seen {
    let run = &loaded.model.run;
    let settings = RunSettings {
        engine: engine.to_owned(),
        duration: DURATION,
        // Of the impulse engine; the others have a tolerance each.
        step: 0.002 * fine,
        tolerance: 1e-10 * length,
        velocity_tolerance: 1e-9 * length,
        rtol: (engine == "dae").then_some(1e-8 * fine.powi(6)),
        accuracy: (engine == "lagrange").then_some(1e-6 * fine.powi(6)),
        sample: Some(DURATION),
        at: (0..=TIMES).map(|k| DURATION * f64::from(k) / f64::from(TIMES)).collect(),
        ..run.clone()
    };
    let mut camera = Camera { seen: Vec::new(), begin: ThreadTime::now(), late: false };
    let limits = VerdictLimits::default();
    let judged = match simulate_judged(loaded.into(), &settings, limits, &mut camera) {
        Ok(judged) => judged,
        Err(error) => return Seen::Told(error.to_string()),
    };
    if camera.late || camera.begin.elapsed() > HANG {
        return Seen::Hangs;
    }
    if judged.verdict.level == Level::Failed {
        return Seen::Told(judged.verdict.findings[0].cause.clone());
    }
    let doubt = judged.verdict.findings.first().map(|finding| finding.cause.clone());
    Seen::Motion(camera.seen, doubt)
}

/// A motion with the error that it shows by itself, m.
struct Motion {
    what: &'static str,
    seen: Vec<Snapshot>,
    error: f64,
    /// What a verdict doubts of it.
    doubt: Option<String>,
}

/// What came of a machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    /// So many motions agree.
    Agrees(usize),
    /// Only one engine shows a motion, by itself good.
    Alone,
    /// No engine runs it to its end: all say why.
    Told,
    /// Motions are apart, and the verdict on one of them is doubtful: a warning, not silence.
    Warned,
    Chaotic,
    Wrong,
}

/// All that is told of a machine.
struct Report {
    seed: u64,
    family: Family,
    fate: Fate,
    told: Vec<String>,
    warned: Vec<String>,
    wrong: Vec<String>,
}

struct Judge {
    machine: Machine,
    report: Report,
    motions: Vec<Motion>,
    chaotic: bool,
}

impl Judge {
    /// Runs it with an engine twice, in a frame; the poses as they would be in the frame of the first.
    fn motion(&mut self, what: &'static str, model: &Model, engine: &str, frame: &Frame) {
        let text = self.machine.text(frame);
        let loaded = match load_text("random.toml", &text, &LoadOptions::default()) {
            Ok(loaded) => loaded,
            Err(error) => {
                // What the reader refuses in one frame it refuses in all.
                self.report.told.push(format!("{what}: {error}"));
                return;
            }
        };
        let mut ends = Vec::new();
        let mut doubts = None;
        // Where friction comes to hold within a step errors do not fall evenly: the worst of several steps tells.
        let parts: &[f64] = match self.machine.family {
            Family::Smooth => &[1.0, 0.5],
            Family::Bounded if engine == "impulse" => &[1.0, 0.6, 0.35, 0.2],
            _ => &[1.0, 0.7, 0.5],
        };
        for &fine in parts {
            match run(&loaded, engine, frame.length, fine) {
                Seen::Motion(seen, doubt) => {
                    ends.push(seen);
                    doubts = doubts.or(doubt);
                }
                Seen::Told(why) => {
                    self.report.told.push(format!("{what}: {why}"));
                    return;
                }
                Seen::Hangs => {
                    self.report.wrong.push(format!("{what}: hangs"));
                    return;
                }
            }
        }
        let Some(last) = ends.last() else { return };
        if let Some(fault) = self.momentum(&loaded.model, last, frame) {
            self.report.wrong.push(format!("{what}: {fault}"));
        }
        let mut seen = ends.iter().map(|states| {
            let back = |state| in_first_frame(model, &loaded.model, state, frame);
            states.iter().map(back).collect::<Vec<_>>()
        });
        let Some(best) = seen.next_back() else { return };
        let error = seen.map(|other| apart(model, &other, &best)).fold(0.0, f64::max);
        if !(error <= CHAOTIC) {
            self.chaotic = true;
            return;
        }
        self.motions.push(Motion { what, seen: best, error, doubt: doubts });
    }

    /// What floats keeps its momentum, but for gravity.
    fn momentum(&self, model: &Model, seen: &[State], frame: &Frame) -> Option<String> {
        if !self.machine.floats() {
            return None;
        }
        let moving = || model.bodies.iter().enumerate().filter(|(_, body)| !body.fixed);
        let mass: f64 = moving().map(|(_, body)| body.mass).sum();
        let of = |state: &State| {
            moving().fold([Vec3::zeros(); 2], |[p, l], (i, body)| {
                let v = state.s_dot[i] * body.mass;
                let omega = state.rot[i].inverse_transform_vector(&state.omega[i]);
                let spin = state.rot[i] * body.inertia.component_mul(&omega);
                [p + v, l + state.s[i].cross(&v) + spin]
            })
        };
        let centre = |state: &State| moving().map(|(i, b)| state.s[i] * b.mass).sum::<Vec3>();
        let g = frame.turn * self.machine.gravity() * frame.length;
        let start = of(&seen[0]);
        let (mut torque_before, mut t_before) = (centre(&seen[0]).cross(&g), 0.0);
        let mut turn = start[1];
        for state in &seen[1..] {
            let [p, l] = of(state);
            let unit = mass * frame.length * (1.0 + 3.0 + g.norm() / frame.length);
            let off = (p - start[0] - g * (mass * state.t)).norm() / unit;
            if !(off < 1e-6) {
                return Some(format!("momentum is off by {off:.1e} of {unit:.1e} N s"));
            }
            // The centre of mass falls freely: its torque is linear in time but for a term that is along g.
            let torque = centre(state).cross(&g);
            turn += (torque + torque_before) * (0.5 * (state.t - t_before));
            (torque_before, t_before) = (torque, state.t);
            let off = (l - turn).norm() / (unit * frame.length);
            if !(off < 1e-5) {
                return Some(format!("angular momentum is off by {off:.1e}"));
            }
        }
        None
    }
}

/// The poses of a state in the frame, the units and the order of another model of the same machine.
fn in_first_frame(model: &Model, other: &Model, state: &State, frame: &Frame) -> Snapshot {
    let mut snapshot = Snapshot::of(&model.start);
    for (i, body) in model.bodies.iter().enumerate().filter(|(_, body)| !body.fixed) {
        let j = other.body(&body.name).unwrap().index();
        snapshot.s[i] =
            frame.turn.inverse_transform_vector(&(state.s[j] / frame.length - frame.origin));
        snapshot.rot[i] = frame.turn.inverse() * state.rot[j];
    }
    snapshot
}

fn judge(seed: u64) -> Report {
    let machine = Machine::new(seed);
    let report = Report {
        seed,
        family: machine.family,
        fate: Fate::Told,
        told: Vec::new(),
        warned: Vec::new(),
        wrong: Vec::new(),
    };
    let plain = Frame::default();
    let mut judge = Judge { machine, report, motions: Vec::new(), chaotic: false };
    let text = judge.machine.text(&plain);
    let loaded = match load_text("random.toml", &text, &LoadOptions::default()) {
        Ok(loaded) => loaded,
        Err(error) => {
            judge.report.told.push(error.to_string());
            return judge.report;
        }
    };
    let model = &loaded.model;
    judge.motion("impulse", model, "impulse", &plain);
    if judge.machine.family != Family::Contact {
        judge.motion("dae", model, "dae", &plain);
    }
    if judge.machine.family == Family::Smooth {
        judge.motion("lagrange", model, "lagrange", &plain);
    }
    let mut random = Random(seed);
    // What touches keeps its floor level, so that bits decide as little as they can.
    let elsewhere = Frame {
        turn: random.rotation(),
        origin: random.vector(0.5),
        length: 4.0,
        mass: 0.5,
        backwards: false,
    };
    match seed % 3 {
        0 => judge.motion(
            "impulse, backwards",
            model,
            "impulse",
            &Frame { backwards: true, ..plain },
        ),
        1 => judge.motion("impulse, elsewhere", model, "impulse", &elsewhere),
        _ if judge.machine.family == Family::Contact => {}
        _ => judge.motion("dae, elsewhere", model, "dae", &Frame { backwards: true, ..elsewhere }),
    }
    let Judge { mut report, motions, chaotic, .. } = judge;
    for (i, a) in motions.iter().enumerate() {
        for b in &motions[i + 1..] {
            let off = apart(model, &a.seen, &b.seen);
            let allowed = TIMES_ERROR * (a.error + b.error) + FLOOR;
            if !(off <= allowed) {
                let fault = format!(
                    "{} and {} are apart by {off:.1e} m; by themselves {:.1e} and {:.1e}",
                    a.what, b.what, a.error, b.error
                );
                match a.doubt.as_ref().or(b.doubt.as_ref()) {
                    Some(doubt) => report.warned.push(format!("{fault}; doubtful: {doubt}")),
                    None => report.wrong.push(fault),
                }
            }
        }
    }
    report.fate = match motions.len() {
        _ if !report.wrong.is_empty() => Fate::Wrong,
        _ if chaotic => Fate::Chaotic,
        _ if !report.warned.is_empty() => Fate::Warned,
        0 => Fate::Told,
        1 => Fate::Alone,
        n => Fate::Agrees(n),
    };
    report
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn none_of_the_random_machines_is_silently_wrong() {
    let (n, first) = (number("GELENK_RANDOM_MACHINES", MACHINES), number("GELENK_RANDOM_FIRST", 0));
    let reports: Vec<Report> = (first..first + n)
        .into_par_iter()
        .map(|seed| {
            catch_unwind(AssertUnwindSafe(|| judge(seed))).unwrap_or_else(|_| Report {
                seed,
                family: Machine::new(seed).family,
                fate: Fate::Wrong,
                told: Vec::new(),
                warned: Vec::new(),
                wrong: vec!["panics".to_owned()],
            })
        })
        .collect();
    let mut counts: BTreeMap<(String, Fate), usize> = BTreeMap::new();
    let mut list = String::new();
    for report in &reports {
        *counts.entry((format!("{:?}", report.family), report.fate.clone())).or_default() += 1;
        for fault in &report.wrong {
            let _ = writeln!(list, "seed {}: {fault}", report.seed);
        }
    }
    eprintln!("{n} machines from seed {first}: {counts:#?}");
    let show = number("GELENK_RANDOM_SHOW", 0) > 0;
    for report in &reports {
        if show && (report.fate == Fate::Wrong || report.fate == Fate::Told) {
            let text = Machine::new(report.seed).text(&Frame::default());
            eprintln!("# seed {}: {:?} {:?}\n{text}", report.seed, report.wrong, report.told);
        } else if !report.told.is_empty() {
            eprintln!("seed {}: {:?}", report.seed, report.told);
        }
        for fault in &report.warned {
            eprintln!("seed {}, warned: {fault}", report.seed);
        }
    }
    assert!(list.is_empty(), "silently wrong:\n{list}");
    // The judge has something to judge.
    let agree = reports.iter().filter(|report| matches!(report.fate, Fate::Agrees(_))).count();
    assert!(agree as u64 * 2 > n, "only {agree} of {n} are compared");
}
