//! The tables of \[Schmitt 2003\], measured again and set beside the published values.
//!
//! Each table has bars, in words and as numbers; a [`Cell`] or [`Check`] that misses its bar is named by
//! [`Table::failures`]. The published values with their sources stand in `reference/`.
//!
//! Tables 9.2 to 9.5 are about the model 8-loop, whose start the paper does not draw to scale. The gallery's `eight-loop-paper`
//! is the start that gives the paper's numbers; other loops can be put in its place to see what theirs are.

mod measure;
mod paper;
mod plot;

use std::ops::ControlFlow;

pub use plot::plot_svg;

use crate::verdict::{Finding, Level, Verdict};

/// The tables there are, in the order of the paper.
pub const TABLES: [&str; 6] = ["9.1", "9.2", "9.3", "9.4", "9.5", "10.1"];

/// The model that stands for the paper's 8-loop.
pub const PAPERS_LOOP: &str = "eight-loop-paper";

/// What to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct TableOptions {
    /// Tables by number; empty: all.
    pub only: Vec<String>,
    /// A few steps and tolerances only.
    pub quick: bool,
    /// The 8-loop, by its name in the gallery.
    pub model: String,
    /// Correct velocities at the end of every step of the 8-loop; the paper did not, but for table 9.5.
    pub velocity_correction: bool,
    /// Run the 8-loop with the direct solver, corrected velocities and gentle steps ([`RunSettings::gentle`]). A solve
    /// counts as one correction of every joint.
    ///
    /// [`RunSettings::gentle`]: gelenk_model::RunSettings::gentle
    pub gentle: bool,
}

impl Default for TableOptions {
    fn default() -> Self {
        TableOptions {
            only: Vec::new(),
            quick: false,
            model: PAPERS_LOOP.to_owned(),
            velocity_correction: false,
            gentle: false,
        }
    }
}

/// One table, ours beside the paper's.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its number in the paper.
    pub number: &'static str,
    /// What it shows.
    pub title: String,
    /// Unit of the values.
    pub unit: &'static str,
    /// What the rows go by, with its unit: `h, s`.
    pub row_name: &'static str,
    /// What the columns go by, with its unit, if there are several: `D_max, m`.
    pub column_name: &'static str,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
    /// Bars on more than one cell.
    pub checks: Vec<Check>,
    /// The bars in words.
    pub bar: &'static str,
}

/// A row of a table.
#[derive(Clone, Debug)]
pub struct Row {
    /// The step h or the time t, s.
    pub at: f64,
    /// Its cells, one a column.
    pub cells: Vec<Cell>,
}

/// One value of ours beside the paper's.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Measured now; not a number if the run did not come to its end.
    pub ours: f64,
    /// Published.
    pub paper: f64,
    /// Whether it meets its bar.
    pub holds: bool,
}

/// A bar on more than one cell.
#[derive(Clone, Debug)]
pub struct Check {
    /// What is measured.
    pub what: String,
    /// Measured now.
    pub value: f64,
    /// The smallest value allowed.
    pub low: f64,
    /// The largest value allowed.
    pub high: f64,
}

/// Why tables could not be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TablesError {
    /// There is no such table.
    #[error("there is no table `{number}`; there are {}", TABLES.join(", "))]
    UnknownTable {
        /// As given.
        number: String,
    },
    /// The gallery has no such 8-loop.
    #[error("`{name}` is no 8-loop of the gallery; there are {}", LOOPS.join(", "))]
    UnknownLoop {
        /// As given.
        name: String,
    },
    /// A simple model did not run.
    #[error("{what}: {reason}")]
    Failed {
        /// Which table and step.
        what: String,
        /// Why.
        reason: String,
    },
    /// The watcher stopped it.
    #[error("stopped")]
    Stopped,
}

/// Loops of nine joints that can stand for the paper's.
pub const LOOPS: [&str; 3] = [PAPERS_LOOP, "eight-loop-flat", "eight-loop"];

impl Cell {
    /// Ours over the paper's.
    pub fn ratio(&self) -> f64 {
        self.ours / self.paper
    }
}

impl Check {
    /// Whether it is met.
    pub fn holds(&self) -> bool {
        self.low <= self.value && self.value <= self.high
    }
}

impl Table {
    /// What misses its bar, each in a sentence that names the cell.
    pub fn failures(&self) -> Vec<String> {
        self.misses().into_iter().map(|finding| finding.cause).collect()
    }

    /// What misses its bar: a finding for each cell and check.
    fn misses(&self) -> Vec<Finding> {
        let Table { number, unit, .. } = self;
        let mut misses = Vec::new();
        let mut miss = |quantity: &str, value: f64, limit: f64, cause: String| {
            misses.push(Finding {
                level: Level::Failed,
                quantity: quantity.to_owned(),
                value,
                limit,
                time: None,
                element: Some(format!("table {number}")),
                cause,
                remedy: "see what the bar is made for, below the table".to_owned(),
            });
        };
        for row in &self.rows {
            for (cell, column) in row.cells.iter().zip(&self.columns) {
                if cell.holds {
                    continue;
                }
                let mut place = format!("table {number}, {} = {}", self.row_name, row.at);
                if self.columns.len() > 1 {
                    place = match self.column_name {
                        "" => format!("{place}, {column}"),
                        name => format!("{place}, {name} = {column}"),
                    };
                }
                let (ours, paper) = (cell.ours, cell.paper);
                if ours.is_nan() {
                    let cause = format!("{place}: the run did not come to its end");
                    miss("run", ours, paper, cause);
                } else {
                    let cause = format!("{place}: {ours:.4e} {unit}, the paper has {paper:.4e}");
                    miss("bar", ours, paper, cause);
                }
            }
        }
        for check in self.checks.iter().filter(|check| !check.holds()) {
            let Check { what, value, low, high } = check;
            let range = if high.is_finite() {
                format!("{low:.4} to {high:.4}")
            } else {
                format!("at least {low:.4}")
            };
            let limit = if value < low { *low } else { *high };
            let cause = format!("table {number}, {what}: {value:.4}, should be {range}");
            miss("bar", *value, limit, cause);
        }
        misses
    }

    /// How many cells are at or below the paper's, and how many there are.
    pub fn at_or_below(&self) -> (usize, usize) {
        let cells = || self.rows.iter().flat_map(|row| &row.cells);
        (cells().filter(|cell| cell.ours <= cell.paper).count(), cells().count())
    }
}

/// The verdict on tables: failed by each value that misses its bar (`bar`) and each run that did not come to its end (`run`).
///
/// The runs are those of the paper, whose energy errors are in its tables: they are judged by these, not by the limits of a run.
pub fn judge(tables: &[Table]) -> Verdict {
    Verdict::of(tables.iter().flat_map(Table::misses).collect())
}

/// Measures the tables that `options` ask for.
///
/// Cells are run in parallel, but for the one whose speed is measured. `watch` gets the share of the work done and may stop it;
/// the values do not depend on the number of threads.
pub fn tables(
    options: &TableOptions,
    watch: &(dyn Fn(f64) -> ControlFlow<()> + Sync),
) -> Result<Vec<Table>, TablesError> {
    for number in &options.only {
        if !TABLES.contains(&number.as_str()) {
            return Err(TablesError::UnknownTable { number: number.clone() });
        }
    }
    measure::Measure::new(options, watch)?.tables()
}
