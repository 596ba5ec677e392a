//! Sweeps: one model run for many values of parameters, starts and inputs, and one table of the results.
//!
//! A [`Plan`] is a sweep file that has been read, with the model inside: it can be sent to another machine as it is. Its
//! [members](Plan::values) are numbered from 0; [`Plan::member`] runs one of them and gives a [`Row`], which depends on the plan and
//! the number alone. [`run`] does all that are missing on the cores of this machine, with a [`Journal`] on disk from which a sweep that
//! was stopped goes on. [`write_table`] writes the rows in order: the same bytes for any number of workers.
//!
//! ```
//! use gelenk::sweep::{Plan, run, write_table};
//! use gelenk::model::Stop;
//!
//! let text = r#"
//!     [sweep]
//!     model = "pendulum"
//!     [run]
//!     duration = 0.1
//!     [[vary]]
//!     parameter = "l"
//!     from = 0.5
//!     to = 2
//!     count = 4
//!     [[keep]]
//!     name = "speed"
//!     value = "energy.kinetic"
//!     over = "max"
//! "#;
//! let plan = Plan::read("lengths.toml", text, None, None).map_err(|faults| faults.render(false))?;
//! let done = run(&plan, None, Vec::new(), None, &Stop::default(), &|_, _| ())?;
//! assert!(done.complete && done.rows.len() == 4);
//! let mut table = Vec::new();
//! write_table(&plan, &done.rows, &mut table)?;
//! assert!(table.starts_with(b"PAR1"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod design;
mod journal;
mod member;
mod picture;
mod read;
mod table;
mod work;

use gelenk_model::RunSettings;
use serde::{Deserialize, Serialize};

use crate::recording::Header;

pub use journal::{Journal, JournalError};
pub use picture::{PictureError, pictures};
pub use table::{write_table, write_table_file};
pub use work::{Done, WorkError, run};

/// The most members of a sweep: their rows are kept in memory.
pub const MOST_MEMBERS: u64 = 10_000_000;

/// A sweep: what is varied, what is kept, and the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of Gelenk: rows of another version may differ.
    gelenk: String,
    /// Its name.
    pub name: String,
    /// How members are chosen.
    pub sample: Sample,
    /// What is varied, in the order of the file.
    pub vary: Vec<Vary>,
    /// What is kept of each member.
    pub keep: Vec<Keep>,
    /// Settings that replace those of the model.
    pub settings: Settings,
    /// Whether loops are closed for each member, by the least movement.
    pub assemble: bool,
    /// The model.
    model: Header,
}

/// How the members of a sweep are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "method")]
pub enum Sample {
    /// Every value with every other; what stands last in the file changes fastest.
    Grid,
    /// The first values of all, then the second ones, ...
    List,
    /// Independent random values.
    Random {
        /// How many members.
        count: u64,
        /// Of the random numbers.
        seed: u64,
    },
    /// Latin hypercube: each value has one member in each of `count` equal parts of its range.
    Latin {
        /// How many members.
        count: u64,
        /// Of the random numbers.
        seed: u64,
    },
    /// Points of Sobol's sequence; with a seed, shifted bit by bit.
    Sobol {
        /// How many members.
        count: u64,
        /// Of the shift; none without.
        seed: Option<u64>,
    },
}

/// Something that is varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vary {
    /// What.
    pub what: Varied,
    /// Its values.
    pub range: Range,
}

/// What can be varied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Varied {
    /// A parameter of the model.
    Parameter(String),
    /// A start value: `body.NAME.position.x`, `.velocity.x`, `.angular_velocity.x`; of points `point.NAME....`.
    Start(String),
    /// An input, held at the value.
    Input(String),
}

impl Varied {
    /// Its column in the table: the name of a parameter, `input.NAME`, or the start value.
    pub fn column(&self) -> String {
        match self {
            Varied::Parameter(name) | Varied::Start(name) => name.clone(),
            Varied::Input(name) => format!("input.{name}"),
        }
    }
}

/// The values that something takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Range {
    /// These.
    Values(Vec<f64>),
    /// Between two numbers.
    Between {
        /// The first value.
        from: f64,
        /// The last value.
        to: f64,
        /// How many, in a grid.
        count: u64,
        /// Equal ratios instead of equal differences.
        log: bool,
    },
}

/// A number that is kept of each member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keep {
    /// Its column.
    pub name: String,
    /// A formula over quantities, inputs, parameters and `t`.
    pub value: String,
    /// Over the samples of the run.
    pub over: Over,
}

/// How the samples of a run become one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// At the end.
    #[default]
    End,
    /// At the start.
    Start,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The mean over time, by the trapezoidal rule.
    Mean,
}

/// Settings of all members; what is not given is the model's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    engine: Option<String>,
    duration: Option<f64>,
    step: Option<f64>,
    order: Option<u32>,
    solver: Option<String>,
    tolerance: Option<f64>,
    contact: Option<String>,
    accuracy: Option<f64>,
    sample: Option<f64>,
    rtol: Option<f64>,
    atol: Option<f64>,
    integrator: Option<String>,
}

impl Settings {
    /// The settings of a model with these.
    fn over(&self, model: &RunSettings) -> RunSettings {
        let mut settings = model.clone();
        if self.step.is_some() || self.order.is_some() {
            settings.accuracy = None;
        }
        settings.engine = self.engine.clone().unwrap_or(settings.engine);
        settings.duration = self.duration.unwrap_or(settings.duration);
        settings.step = self.step.unwrap_or(settings.step);
        settings.order = self.order.unwrap_or(settings.order);
        settings.solver = self.solver.clone().unwrap_or(settings.solver);
        settings.tolerance = self.tolerance.unwrap_or(settings.tolerance);
        settings.contact = self.contact.clone().unwrap_or(settings.contact);
        settings.accuracy = self.accuracy.or(settings.accuracy);
        settings.rtol = self.rtol.or(settings.rtol);
        settings.atol = self.atol.or(settings.atol);
        settings.integrator = self.integrator.clone().or(settings.integrator);
        match self.sample {
            Some(0.0) => settings.sample = None,
            Some(sample) => settings.sample = Some(sample),
            None => {}
        }
        settings
    }
}

/// What a member gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Which member, from 0.
    pub member: u64,
    /// The verdict on its run: `good`, `doubtful` or `failed`; `failed` too where there was none.
    pub verdict: String,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The time reached, s.
    pub time: f64,
    /// Steps made.
    pub steps: u64,
    /// What is kept, in the order of [`Plan::keep`]; empty where the run did not reach its end.
    #[serde(with = "numbers")]
    pub results: Vec<f64>,
}

impl Row {
    /// Whether it failed.
    pub fn failed(&self) -> bool {
        self.verdict == "failed"
    }
}

/// Numbers as texts: JSON has neither NaN nor infinity, and every digit counts.
mod numbers {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(list: &[f64], out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(list.iter().map(|x| format!("{x:?}")))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        let list = Vec::<String>::deserialize(from)?;
        list.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
    }
}

impl Plan {
    /// The plan as JSON, for another machine: with the model inside.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// A plan from its JSON.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// What tells a sweep from another one: a hash of all that its rows depend on.
    pub fn hash(&self) -> Result<String, serde_json::Error> {
        Ok(blake3::hash(self.to_json()?.as_bytes()).to_hex().to_string())
    }
}
