//! The certificate: what a run was, how it ended and how good it is, with hashes that a re-run must meet.

use gelenk_model::{Event, Ledger, RunFailure, RunReport, RunSettings};
use serde::{Deserialize, Serialize};

use crate::hash::{model_hash, state_hash};
use crate::recording::{Header, number};
use crate::verdict::Verdict;

/// The last message of a finished recording. `gelenk verify` runs the model again and compares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Version of Gelenk that ran.
    pub gelenk: String,
    /// Name of the model.
    pub model: String,
    /// BLAKE3 of the model's sources and overrides: [`model_hash`].
    pub model_hash: String,
    /// Engine that ran.
    pub engine: String,
    /// All settings of the run.
    pub settings: RunSettings,
    /// How it ended.
    pub end: End,
    /// Time reached, s.
    #[serde(with = "number")]
    pub time: f64,
    /// Steps done.
    pub steps: u64,
    /// Joint corrections or solves done.
    pub corrections: u64,
    /// States recorded.
    pub samples: u64,
    /// The largest gap of all and whose it is; `None` without joints and constraints.
    pub worst_gap: Option<Worst>,
    /// The largest velocity error of all and whose it is.
    pub worst_velocity_error: Option<Worst>,
    /// The largest errors of each joint, tie and equation.
    pub gaps: Vec<Gap>,
    /// Deepest that bodies have overlapped after a step, m; none where none touched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_penetration: Option<f64>,
    /// Whether the result can be relied on; left out where it is good.
    #[serde(default, skip_serializing_if = "Verdict::is_good")]
    pub verdict: Verdict,
    /// The energy ledger at the end.
    pub ledger: LedgerEntry,
    /// What happened, in order.
    pub events: Vec<EventEntry>,
    /// BLAKE3 of the last good state: [`state_hash`].
    pub state_hash: String,
    /// BLAKE3 of all `gelenk.State` messages in order.
    pub samples_hash: String,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum End {
    /// It reached its duration.
    Finished,
    /// It was stopped.
    Stopped {
        /// Time reached, s.
        #[serde(with = "number")]
        time: f64,
    },
    /// It could not go on.
    Failed {
        /// What happened.
        reason: String,
        /// The element at fault, by name, if known.
        element: Option<String>,
    },
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Finished => write!(f, "finished"),
            End::Stopped { time } => write!(f, "stopped at t = {time} s"),
            End::Failed { reason, .. } => write!(f, "failed: {reason}"),
        }
    }
}

/// A largest error and the element that has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worst {
    /// The joint or constraint.
    pub name: String,
    /// Its error, m or rad, or per second.
    #[serde(with = "number")]
    pub value: f64,
}

/// The largest errors of a joint, tie or equation over the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// The element.
    pub name: String,
    /// Largest position error, m or rad.
    #[serde(with = "number")]
    pub position: f64,
    /// Largest velocity error, m/s or rad/s.
    #[serde(with = "number")]
    pub velocity: f64,
}

/// The energy ledger with its errors, J.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// Kinetic plus potential energy at the start.
    #[serde(with = "number")]
    pub initial: f64,
    /// Kinetic energy at the end.
    #[serde(with = "number")]
    pub kinetic: f64,
    /// Potential energy at the end.
    #[serde(with = "number")]
    pub potential: f64,
    /// Work of drives, applied forces and prescribed motions.
    #[serde(with = "number")]
    pub work: f64,
    /// Taken by dampers and friction.
    #[serde(with = "number")]
    pub dissipation: f64,
    /// Lost in impacts.
    #[serde(with = "number")]
    pub impact_loss: f64,
    /// What nobody accounts for: the method's own error.
    #[serde(with = "number")]
    pub integrator_error: f64,
    /// Mean of its size over the steps.
    #[serde(with = "number")]
    pub mean_abs_error: f64,
    /// Its largest size.
    #[serde(with = "number")]
    pub max_abs_error: f64,
}

/// An event as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventEntry {
    /// When, s.
    #[serde(with = "number")]
    pub time: f64,
    /// What: `step-halved`, `singularity`, `impact`, ...
    pub kind: String,
    /// Between which elements, by name.
    pub between: Vec<String>,
    /// A sentence for people.
    pub detail: String,
    /// Where, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<[f64; 3]>,
    /// Impulse on the first of `between`, N s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impulse: Option<[f64; 3]>,
}

impl From<&Event> for EventEntry {
    fn from(event: &Event) -> Self {
        let Event { time, kind, between, detail, point, impulse } = event.clone();
        let [point, impulse] = [point, impulse].map(|v| v.map(Into::into));
        EventEntry { time, kind, between, detail, point, impulse }
    }
}

impl From<EventEntry> for Event {
    fn from(entry: EventEntry) -> Self {
        let EventEntry { time, kind, between, detail, point, impulse } = entry;
        let [point, impulse] = [point, impulse].map(|v| v.map(Into::into));
        Event { time, kind, between, detail, point, impulse }
    }
}

impl Certificate {
    /// The certificate of a run that ended so.
    pub fn new(
        header: &Header,
        outcome: Result<&RunReport, &RunFailure>,
        samples: u64,
        samples_hash: String,
    ) -> Self {
        let (report, end) = match outcome {
            Ok(report) if report.stopped => (report, End::Stopped { time: report.t }),
            Ok(report) => (report, End::Finished),
            Err(failure) => {
                let RunFailure { reason, element, report } = failure;
                (&**report, End::Failed { reason: reason.clone(), element: element.clone() })
            }
        };
        let names = || header.rows.iter().map(|block| &block.name);
        let gaps = names()
            .zip(report.worst_gaps.iter().zip(&report.worst_velocity_errors))
            .map(|(name, (&position, &velocity))| Gap { name: name.clone(), position, velocity });
        Certificate {
            gelenk: header.gelenk.clone(),
            model: header.model.clone(),
            model_hash: model_hash(header),
            engine: report.engine.to_owned(),
            settings: header.settings.clone(),
            end,
            time: report.t,
            steps: report.steps,
            corrections: report.corrections,
            samples,
            worst_gap: worst(names().zip(&report.worst_gaps)),
            worst_velocity_error: worst(names().zip(&report.worst_velocity_errors)),
            gaps: gaps.collect(),
            worst_penetration: report.worst_penetration,
            verdict: Verdict::default(),
            ledger: LedgerEntry::new(
                &report.ledger,
                report.energy_mean_abs_error,
                report.energy_max_abs_error,
            ),
            events: report.events.iter().map(EventEntry::from).collect(),
            state_hash: state_hash(&report.state),
            samples_hash,
        }
    }
}

impl LedgerEntry {
    fn new(ledger: &Ledger, mean_abs_error: f64, max_abs_error: f64) -> Self {
        let Ledger { initial, kinetic, potential, work, dissipation, impact_loss } = *ledger;
        LedgerEntry {
            initial,
            kinetic,
            potential,
            work,
            dissipation,
            impact_loss,
            integrator_error: ledger.integrator_error(),
            mean_abs_error,
            max_abs_error,
        }
    }
}

/// The first of the largest; a value that is not a number counts as largest.
fn worst<'a>(values: impl Iterator<Item = (&'a String, &'a f64)>) -> Option<Worst> {
    let mut worst: Option<(&String, f64)> = None;
    for (name, &value) in values {
        let larger =
            worst.is_none_or(|(_, so_far)| value > so_far || (value.is_nan() && !so_far.is_nan()));
        if larger {
            worst = Some((name, value));
        }
    }
    worst.map(|(name, value)| Worst { name: name.clone(), value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_named_and_a_nan_is_worst_of_all() {
        let names = ["a", "b", "c"].map(str::to_owned);
        let of = |values: [f64; 3]| worst(names.iter().zip(&values)).unwrap().name;
        assert_eq!(of([1.0, 3.0, 2.0]), "b");
        assert_eq!(of([2.0, 2.0, 2.0]), "a");
        assert_eq!(of([1.0, f64::NAN, 9.0]), "b");
        assert!(worst(std::iter::empty()).is_none());
    }

    #[test]
    fn numbers_that_json_lacks_come_back() {
        for value in [f64::INFINITY, f64::NEG_INFINITY, 0.1, -0.0, 5e-324] {
            let json = serde_json::to_string(&Worst { name: "w".to_owned(), value }).unwrap();
            let back: Worst = serde_json::from_str(&json).unwrap();
            assert_eq!(back.value.to_bits(), value.to_bits(), "{json}");
        }
        let json = serde_json::to_string(&Worst { name: "w".to_owned(), value: f64::NAN }).unwrap();
        assert!(serde_json::from_str::<Worst>(&json).unwrap().value.is_nan());
    }
}
