//! The statements of the papers that the methods come from, measured and set beside the published numbers.
//!
//! The tables of \[Schmitt 2003\] are those of [`tables`](crate::tables); [`papers`] adds what the papers say in sentences: a [`Claim`] says
//! where it stands, which command shows it, and holds the numbers, ours beside theirs. `docs/papers.md` is the list for readers.

mod lagr;
mod schmitt_2003;
mod schmitt_2005;
mod thesis;

use std::ops::ControlFlow;

use crate::tables::{Table, TableOptions, TablesError, tables};

/// One of the papers, by its key in REFERENCES.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    /// \[Schmitt 2003\]
    Schmitt2003,
    /// \[Schmitt, Bender, Prautzsch 2005\]
    Schmitt2005,
    /// \[LAGR 1978\]
    Lagr1978,
    /// \[Laufen\]
    Laufen,
}

impl Paper {
    /// All of them.
    pub const ALL: [Paper; 4] =
        [Paper::Schmitt2003, Paper::Schmitt2005, Paper::Lagr1978, Paper::Laufen];

    /// Its name on the command line.
    pub fn key(self) -> &'static str {
        match self {
            Paper::Schmitt2003 => "2003",
            Paper::Schmitt2005 => "2005",
            Paper::Lagr1978 => "lagr",
            Paper::Laufen => "thesis",
        }
    }

    /// Its name in texts.
    pub fn title(self) -> &'static str {
        match self {
            Paper::Schmitt2003 => "Schmitt (2003), impulse method for rigid bodies",
            Paper::Schmitt2005 => {
                "Schmitt, Bender, Prautzsch (2005), convergence of the impulse method"
            }
            Paper::Lagr1978 => "LAGR (1978), Lagrange's equations in closed form",
            Paper::Laufen => "dissertation on optimal walking, singular positions",
        }
    }
}

/// A statement of a paper and what we measure of it.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The paper.
    pub paper: Paper,
    /// Section, table or equation.
    pub place: &'static str,
    /// The statement.
    pub claim: &'static str,
    /// The command that shows more of it.
    pub command: &'static str,
    /// The numbers.
    pub lines: Vec<Line>,
}

/// A number of a claim.
#[derive(Clone, Debug)]
pub struct Line {
    /// What is measured, with its unit.
    pub what: String,
    /// The paper's number, if it prints one.
    pub paper: Option<f64>,
    /// Ours.
    pub ours: f64,
    /// The smallest value that agrees with the claim.
    pub low: f64,
    /// The largest one.
    pub high: f64,
}

impl Line {
    /// Whether the number agrees with the claim.
    pub fn holds(&self) -> bool {
        self.low <= self.ours && self.ours <= self.high
    }

    /// A number that the paper does not print, or prints as a bound.
    fn within(what: impl Into<String>, ours: f64, low: f64, high: f64) -> Self {
        Line { what: what.into(), paper: None, ours, low, high }
    }

    /// A number of the paper that ours should come within a part of.
    fn near(what: impl Into<String>, paper: f64, ours: f64, part: f64) -> Self {
        let reach = part * paper.abs();
        Line {
            what: what.into(),
            paper: Some(paper),
            ours,
            low: paper - reach,
            high: paper + reach,
        }
    }

    /// A number of the paper that ours should be.
    fn equal(what: impl Into<String>, paper: f64, ours: f64) -> Self {
        Line::near(what, paper, ours, 0.0)
    }
}

impl Claim {
    /// Whether all its numbers agree.
    pub fn holds(&self) -> bool {
        !self.lines.is_empty() && self.lines.iter().all(Line::holds)
    }
}

/// What to measure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaperOptions {
    /// Papers; empty: all.
    pub only: Vec<Paper>,
    /// A few steps and tolerances of the tables only.
    pub quick: bool,
}

/// Tables and claims.
#[derive(Clone, Debug)]
pub struct Papers {
    /// The tables of \[Schmitt 2003\].
    pub tables: Vec<Table>,
    /// The claims, in the order of the papers.
    pub claims: Vec<Claim>,
}

impl Papers {
    /// What does not hold, a sentence each.
    pub fn failures(&self) -> Vec<String> {
        let of_claims = self.claims.iter().flat_map(|claim| {
            claim.lines.iter().filter(|line| !line.holds()).map(move |line| {
                format!(
                    "{}, {}: {}: {:.4e}, should be {:.4e} to {:.4e}",
                    claim.paper.key(),
                    claim.place,
                    line.what,
                    line.ours,
                    line.low,
                    line.high
                )
            })
        });
        self.tables.iter().flat_map(Table::failures).chain(of_claims).collect()
    }
}

/// Why the claims could not be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PapersError {
    /// A table could not.
    #[error(transparent)]
    Tables(#[from] TablesError),
    /// A run or derivation failed.
    #[error("{what}: {reason}")]
    Failed {
        /// Which claim.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// The watcher stopped it.
    #[error("stopped")]
    Stopped,
}

fn failed(what: &'static str) -> impl Fn(&dyn std::fmt::Display) -> PapersError {
    move |error| PapersError::Failed { what, reason: error.to_string() }
}

/// Measures the claims of the papers. `watch` gets the share of the work done and may stop it.
pub fn papers(
    options: &PaperOptions,
    watch: &(dyn Fn(f64) -> ControlFlow<()> + Sync),
) -> Result<Papers, PapersError> {
    let wants = |paper| options.only.is_empty() || options.only.contains(&paper);
    let mut papers = Papers { tables: Vec::new(), claims: Vec::new() };
    if wants(Paper::Schmitt2003) {
        let table_options = TableOptions { quick: options.quick, ..TableOptions::default() };
        papers.tables = tables(&table_options, watch)?;
        // What is computed from the periods needs two rows in any case.
        papers.claims.extend(schmitt_2003::claims(&papers.tables)?);
    }
    let more: [(Paper, fn() -> Result<Vec<Claim>, PapersError>); 3] = [
        (Paper::Schmitt2005, schmitt_2005::claims),
        (Paper::Lagr1978, lagr::claims),
        (Paper::Laufen, thesis::claims),
    ];
    for (paper, claims) in more {
        if watch(1.0).is_break() {
            return Err(PapersError::Stopped);
        }
        if wants(paper) {
            papers.claims.extend(claims()?);
        }
    }
    Ok(papers)
}

/// Order with which an error falls from one step to half of it.
fn order(whole: f64, half: f64) -> f64 {
    (whole / half).log2()
}

/// A model of the gallery with parameters of its own.
fn gallery(
    what: &'static str,
    name: &str,
    set: &[(&str, &str)],
) -> Result<gelenk_model::Loaded, PapersError> {
    let scene = crate::scenes::scene(name)
        .ok_or(PapersError::Failed { what, reason: format!("no model {name}") })?;
    let overrides = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let options = gelenk_model::LoadOptions { overrides, ..gelenk_model::LoadOptions::default() };
    gelenk_model::load_text(name, scene.text, &options).map_err(|e| failed(what)(&e))
}
