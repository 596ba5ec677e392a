//! Optimal motions: problems by name or file, answers, recordings and checkpoints.

mod again;
mod gait;
mod recorded;

use std::io::Write;
use std::path::{Path, PathBuf};

use gelenk_model::math::Vec3;
use gelenk_model::{
    BodyKind, Diagnostics, Ledger, LoadOptions, Loaded, Model, Observer, Reaction, RunReport,
    Sample, State, load_path, load_text,
};
use gelenk_optimize::interior::Status;
use gelenk_optimize::problem::{Checkpoint, Finished, Found, Problem, Solution};
use gelenk_optimize::program::{Program, RowAt, all_values};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::files::{self, Kind, Refusal, WriteError};
use crate::verdict::{Finding, Level, Verdict};

pub use again::{DaeCertificate, certify_by_dae};
pub use gait::{Gait, gait};
pub use gelenk_optimize::{gallery, interior, problem};
pub use recorded::{Recorded, record, record_found, replay_settings};

/// Reads a problem; models it names come from the gallery or from files beside it.
pub fn read(
    name: &str,
    text: &str,
    set: &[(String, String)],
    folder: Option<&Path>,
) -> Result<Problem, Diagnostics> {
    let load = |model: &str, asked: &LoadOptions| -> Result<Loaded, Diagnostics> {
        let options = LoadOptions { allow_open: true, ..asked.clone() };
        match crate::scenes::scene(model) {
            Some(scene) => load_text(scene.name, scene.text, &options),
            None => load_path(&folder.unwrap_or(Path::new(".")).join(model), &options),
        }
    };
    Problem::read(name, text, set, &load)
}

/// The word for how a start ended.
pub fn status_word(status: &Status) -> &'static str {
    match status {
        Status::Optimal => "optimal",
        Status::Infeasible => "infeasible",
        Status::IterationLimit => "iteration-limit",
        Status::Stalled => "stalled",
        Status::Stopped => "stopped",
        Status::Faulty => "fault",
    }
}

/// Above this the states of a motion that the dae engine has run again are apart, relative to 1 + |x|: it is doubtful.
const REPLAYED: f64 = 1e-6;

/// The verdict on the best motion found: whether it is an optimum, and whether the dae engine makes the same motion of its nodes.
pub fn verdict_on(finished: &Finished, again: Option<&DaeCertificate>) -> Verdict {
    let best = &finished.found[finished.best];
    let mut findings = Vec::new();
    if best.status != Status::Optimal {
        let why =
            if best.message.is_empty() { String::new() } else { format!(": {}", best.message) };
        let missed = best.violated.first().map(|(name, by)| (name.clone(), *by));
        findings.push(Finding {
            value: missed.as_ref().map_or(best.infeasibility, |(_, by)| by.abs()),
            element: missed.map(|(name, _)| name),
            ..no_optimum(status_word(&best.status), &why)
        });
    }
    findings.extend(again.and_then(replay_finding));
    Verdict::of(findings)
}

/// What is to be said of a motion that is not an optimum, `why` beside its status.
pub(crate) fn no_optimum(status: &str, why: &str) -> Finding {
    Finding {
        level: Level::Failed,
        quantity: "status".to_owned(),
        value: 0.0,
        limit: 0.0,
        time: None,
        element: None,
        cause: format!("the motion is not an optimum: {status}{why}"),
        remedy: "more iterations, another guess, more starts or a homotopy may help".to_owned(),
    }
}

/// What is to be said where the dae engine makes another motion of the nodes.
pub fn replay_finding(again: &DaeCertificate) -> Option<Finding> {
    let error = again.state_error;
    if error <= REPLAYED {
        return None;
    }
    let failed = !(error <= 100.0 * REPLAYED);
    Some(Finding {
        level: if failed { Level::Failed } else { Level::Doubtful },
        quantity: "replay".to_owned(),
        value: error,
        limit: if failed { 100.0 * REPLAYED } else { REPLAYED },
        time: None,
        element: None,
        cause: format!(
            "the dae engine ends interval {} {error:.1e} away from its node",
            again.worst_interval
        ),
        remedy: "try more intervals".to_owned(),
    })
}

/// The answer as the contract has it: `status, objective, kkt, infeasibility, iterations`, free numbers, nodes, certificate, all starts.
pub fn answer_json(problem: &Problem, finished: &Finished) -> Map<String, Value> {
    let best = &finished.found[finished.best];
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| {
        map.insert(key.to_owned(), value);
    };
    put("problem", problem.name.clone().into());
    put("status", status_word(&best.status).into());
    put("objective", best.objective.into());
    put("kkt", best.kkt.into());
    put("infeasibility", best.infeasibility.into());
    put("iterations", best.iterations.into());
    put("active", best.active.into());
    put("message", if best.message.is_empty() { Value::Null } else { best.message.clone().into() });
    let violated: Vec<Value> = best
        .violated
        .iter()
        .map(|(condition, by)| json!({ "condition": condition, "by": by }))
        .collect();
    put("violated", violated.into());
    put("certificate", certificate_json(best));
    let free: Map<String, Value> =
        finished.free.iter().cloned().zip(best.solution.free.iter().map(|v| json!(v))).collect();
    put("free", free.into());
    put("phases", phases_json(&best.solution).into());
    put("nodes", nodes_json(finished, &best.solution).into());
    let starts: Vec<Value> = finished
        .found
        .iter()
        .map(|f| {
            json!({
                "start": f.start,
                "kind": f.kind,
                "status": status_word(&f.status),
                "objective": f.objective,
                "kkt": f.kkt,
                "infeasibility": f.infeasibility,
                "iterations": f.iterations,
                "message": f.message,
            })
        })
        .collect();
    put("starts", starts.into());
    put("best_start", finished.best.into());
    let optima: Vec<Value> = finished
        .distinct
        .iter()
        .map(|&i| json!({ "objective": finished.found[i].objective, "start": i }))
        .collect();
    put("optima", optima.into());
    map
}

fn certificate_json(found: &Found) -> Value {
    match &found.certificate {
        Some(c) => json!({
            "objective": c.objective,
            "state_error": c.state_error,
            "worst_interval": c.worst_interval,
            "tolerance": c.tolerance,
        }),
        None => Value::Null,
    }
}

fn phases_json(solution: &Solution) -> Vec<Value> {
    let mut start = 0.0;
    let mut phases = Vec::new();
    for phase in &solution.phases {
        let duration = phase.times.last().copied().unwrap_or(0.0);
        phases.push(json!({
            "name": phase.name,
            "start": start,
            "duration": duration,
            "intervals": phase.controls.len(),
        }));
        start += duration;
    }
    phases
}

fn nodes_json(finished: &Finished, solution: &Solution) -> Vec<Value> {
    let named = |names: &[String], values: &[f64]| -> Map<String, Value> {
        names.iter().cloned().zip(values.iter().map(|v| json!(v))).collect()
    };
    let mut nodes = Vec::new();
    let mut begun = 0.0;
    for (i, phase) in solution.phases.iter().enumerate() {
        for (k, (time, state)) in phase.times.iter().zip(&phase.states).enumerate() {
            let mut node = Map::new();
            if !phase.name.is_empty() {
                node.insert("phase".into(), phase.name.clone().into());
            }
            node.insert("time".into(), (begun + time).into());
            node.insert("states".into(), named(&finished.states[i], state).into());
            if let Some((start, end)) = phase.controls.get(k) {
                node.insert("controls".into(), named(&finished.controls, start).into());
                if start != end {
                    node.insert("controls_end".into(), named(&finished.controls, end).into());
                }
            }
            nodes.push(node.into());
        }
        begun += phase.times.last().copied().unwrap_or(0.0);
    }
    nodes
}

/// Shows a motion of a problem's model to an observer, with about `every` seconds between samples, as an engine would; none for
/// problems without a model.
pub fn replay(
    problem: &Problem,
    solution: &Solution,
    every: f64,
    observer: &mut dyn Observer,
) -> Result<Option<RunReport>, String> {
    let Some(loaded) = problem.model() else { return Ok(None) };
    let model = &loaded.model;
    let instance = problem.instance_of(solution).map_err(|d| d.to_string())?;
    let samples = instance.samples(solution, every)?;
    let reactions: Vec<Reaction> = (0u32..)
        .zip(&model.joints)
        .map(|(i, _)| Reaction {
            joint: gelenk_model::JointId(i),
            force: Vec3::zeros(),
            torque: Vec3::zeros(),
        })
        .collect();
    let gaps = vec![0.0; model.rows.len()];
    // Controls are not inputs that anyone holds.
    let inputs = vec![f64::NAN; model.inputs.len()];
    let mut report = None;
    for (step, now) in (0u64..).zip(&samples) {
        let state = state_of(model, now.time, &now.state);
        // Energies are those of the phase, whose parameters and forces may be its own.
        let here = problem.model_in(now.phase).map_or(model, |loaded| &loaded.model);
        let mut ledger = Ledger {
            kinetic: here.kinetic_energy(&state),
            potential: here.potential_energy(&state),
            ..Ledger::default()
        };
        ledger.initial = ledger.total();
        let sample = Sample {
            step,
            state: &state,
            reactions: &reactions,
            contacts: &[],
            ledger,
            worst_gaps: &gaps,
            inputs: &inputs,
        };
        if observer.sample(&sample).is_break() {
            break;
        }
        report = Some((step, ledger, state));
    }
    let (steps, ledger, state) = report.unwrap_or((0, Ledger::default(), model.start.clone()));
    Ok(Some(RunReport {
        engine: "optimize",
        t: state.t,
        steps,
        corrections: 0,
        stopped: false,
        ledger,
        energy_mean_abs_error: 0.0,
        energy_max_abs_error: 0.0,
        worst_gaps: gaps.clone(),
        worst_velocity_errors: gaps,
        worst_penetration: None,
        contacts: Vec::new(),
        events: Vec::new(),
        ways: Vec::new(),
        statistics: None,
        state,
    }))
}

/// A condition of a problem over a motion.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Its name.
    pub name: String,
    /// At how many nodes it is asked for.
    pub nodes: usize,
    /// Its least and largest value there.
    pub values: [f64; 2],
    /// What is allowed; both the same for an equation.
    pub bounds: [f64; 2],
    /// At how many nodes it is at a bound.
    pub active: usize,
}

/// The named conditions of a problem at the nodes of a motion, in the order of the file.
pub fn conditions(problem: &Problem, solution: &Solution) -> Result<Vec<Condition>, String> {
    let mut instance = problem.instance_of(solution).map_err(|d| d.to_string())?;
    instance.warm(solution);
    let program = &instance.program;
    let shape = program.shape();
    let (lower, upper) = program.row_bounds();
    let stages = all_values(program, &instance.x).map_err(|e| e.to_string())?;
    let mut list: Vec<Condition> = Vec::new();
    let mut see = |row: RowAt, value: f64, bounds: [f64; 2]| {
        let text = program.describe(row);
        // `name` at node 3 of phase `x`: the node is not part of it.
        let name = text.rsplit_once(" at node").map_or(text.as_str(), |(name, _)| name);
        let bare = name.strip_prefix('`').and_then(|name| name.strip_suffix('`'));
        let name = bare.unwrap_or(name);
        let near = 1e-6 * (1.0 + value.abs());
        let active = bounds.iter().any(|bound| (value - bound).abs() <= near);
        let same = |c: &Condition| c.bounds.map(f64::to_bits) == bounds.map(f64::to_bits);
        let at = list.iter().position(|c| c.name == name && same(c));
        let Some(at) = at else {
            let (name, active) = (name.to_owned(), usize::from(active));
            list.push(Condition { name, nodes: 1, values: [value; 2], bounds, active });
            return;
        };
        let own = &mut list[at];
        own.nodes += 1;
        own.values = [own.values[0].min(value), own.values[1].max(value)];
        own.active += usize::from(active);
    };
    for (k, stage) in stages.iter().enumerate() {
        for (i, value) in stage.equal.iter().enumerate() {
            see(RowAt::Equal(k, i), *value, [0.0; 2]);
        }
        for (i, value) in stage.unequal.iter().enumerate() {
            let row = shape.unequal_at(k) + i;
            see(RowAt::Unequal(k, i), *value, [lower[row], upper[row]]);
        }
    }
    // That a phase begins as the one before it ends is asked of the nodes too; within a phase the motion itself tells.
    for phase in 1..program.phases.len() {
        let k = program.stage_of(phase, 0);
        for (i, (a, b)) in stages[k - 1].left.iter().zip(&stages[k].right).enumerate() {
            see(RowAt::Link(k - 1, i), a - b, [0.0; 2]);
        }
    }
    Ok(list)
}

/// The state of a model of point masses from coordinates and velocities, in the order of its moving bodies.
pub fn state_of(model: &Model, t: f64, y: &[f64]) -> State {
    let mut state = model.start.clone();
    state.t = t;
    let n = y.len() / 2;
    let moving =
        model.bodies.iter().enumerate().filter(|(_, b)| !b.fixed && b.kind != BodyKind::World);
    for (j, (i, _)) in moving.enumerate() {
        if 3 * j + 3 <= n {
            state.s[i] = Vec3::new(y[3 * j], y[3 * j + 1], y[3 * j + 2]);
            state.s_dot[i] = Vec3::new(y[n + 3 * j], y[n + 3 * j + 1], y[n + 3 * j + 2]);
        }
    }
    state
}

/// What stands in a checkpoint file.
#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    /// Hash of the problem's text and settings.
    problem: String,
    checkpoint: Checkpoint,
}

/// The first word of checkpoint files.
const MAGIC: &str = "gelenk-optimize-checkpoint-1";
/// What it begins with in every version.
pub(crate) const MAGIC_OF_ALL: &str = "gelenk-optimize-checkpoint-";
/// The largest checkpoint that is read, bytes.
const MOST: u64 = 1 << 32;

/// Why a checkpoint could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The system said no.
    #[error("cannot {doing} checkpoint `{path}`: {error}")]
    Io {
        /// read or write.
        doing: &'static str,
        /// Where.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file is there that is not a checkpoint.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Neither the file nor the one before it is whole.
    #[error("`{0}` is not a whole checkpoint")]
    Damaged(PathBuf),
    /// It is another problem's.
    #[error("`{0}` belongs to another problem, or to other settings")]
    Other(PathBuf),
}

/// The name under which the checkpoint before the last is kept.
pub fn older(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".old");
    path.with_file_name(name)
}

/// Writes a checkpoint: whole under a temporary name, then renamed; the one before stays beside it. Files that are not
/// checkpoints are left alone.
pub fn save(
    path: &Path,
    key: &str,
    checkpoint: Checkpoint,
    sync: bool,
) -> Result<(), CheckpointError> {
    let wrong = |error| CheckpointError::Io { doing: "write", path: path.to_owned(), error };
    let saved = Saved { problem: key.to_owned(), checkpoint };
    let body = serde_json::to_string(&saved).map_err(|e| wrong(std::io::Error::other(e)))?;
    let hash = blake3::hash(body.as_bytes()).to_hex();
    let before = older(path);
    files::check(path, Kind::Checkpoint, false)?;
    files::check(&before, Kind::Checkpoint, false)?;
    let (temporary, mut file) = files::temporary(path).map_err(wrong)?;
    let written = (|| {
        file.write_all(format!("{MAGIC} {hash}\n{body}\n").as_bytes())?;
        if sync {
            file.sync_all()?;
        }
        if path.exists() {
            std::fs::rename(path, &before)?;
        }
        Ok(())
    })();
    let published = match written {
        Ok(()) => files::publish(&temporary, path, Kind::Checkpoint, false),
        Err(error) => Err(WriteError::Failed(error)),
    };
    published.map_err(|error| {
        let _ = std::fs::remove_file(&temporary);
        match error {
            WriteError::Failed(error) => wrong(error),
            WriteError::Refused(refusal) => refusal.into(),
        }
    })
}

/// Removes a checkpoint and the one before it; files that are not checkpoints are left alone.
pub fn discard(path: &Path) {
    for file in [older(path), path.to_owned()] {
        let ours = files::check(&file, Kind::Checkpoint, false).is_ok()
            && files::is_ours(&file, Kind::Checkpoint).unwrap_or(false);
        if ours {
            let _ = std::fs::remove_file(&file);
        }
    }
}

/// Reads a checkpoint; if the file is damaged or gone, the one before it.
pub fn restore(path: &Path, key: &str) -> Result<Checkpoint, CheckpointError> {
    let mut first = None;
    for place in [path.to_owned(), older(path)] {
        match files::read(&place, MOST) {
            Ok(bytes) => match str::from_utf8(&bytes).ok().and_then(parse) {
                Some(saved) if saved.problem == key => return Ok(saved.checkpoint),
                Some(_) => return Err(CheckpointError::Other(place)),
                None => {
                    first.get_or_insert(CheckpointError::Damaged(place));
                }
            },
            Err(error) => {
                first.get_or_insert(CheckpointError::Io { doing: "read", path: place, error });
            }
        }
    }
    Err(first.unwrap_or_else(|| CheckpointError::Damaged(path.to_owned())))
}

fn parse(text: &str) -> Option<Saved> {
    let (head, body) = text.split_once('\n')?;
    let hash = head.strip_prefix(MAGIC)?.trim();
    let body = body.strip_suffix('\n')?;
    (blake3::hash(body.as_bytes()).to_hex().as_str() == hash)
        .then(|| serde_json::from_str(body).ok())?
}

/// A hash of all that a checkpoint must fit: the problem's text and the settings that change its way.
pub fn key(text: &str, settings: &str) -> String {
    blake3::hash(format!("{}\n{text}\n{settings}", text.len()).as_bytes()).to_hex().to_string()
}
