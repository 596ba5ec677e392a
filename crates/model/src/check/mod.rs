//! Checking a mechanism: degrees of freedom, rank, redundant rows by name, singular positions.
//!
//! Works on the rows of the compiled model and knows no joint types. The rank is that of D J M^-½: the Jacobian with
//! columns weighted by the inverse roots of masses and principal moments (so that directions without inertia vanish:
//! the spin of a thin rod, the rotation of a point mass) and rows scaled to length 1. A pivot of its orthogonal
//! factorization counts as zero when it is at most [`CheckOptions::rank_tolerance`].

mod component;

use component::ComponentCheck;

use crate::assemble::{AssembleOptions, Inconsistency, Outcome, assemble, initial_inconsistency};
use crate::graph::Graph;
use crate::linear::Posture;
use crate::model::Model;
use crate::state::State;

/// Settings of [`check`].
#[derive(Clone, Debug, PartialEq)]
pub struct CheckOptions {
    /// Pivots of the rows, scaled to length 1 and weighted by mass, up to this count as zero.
    pub rank_tolerance: f64,
    /// Rows with pivots up to this are reported as nearly redundant.
    pub near_tolerance: f64,
    /// Other postures tried to tell "always" from "only in this pose".
    pub samples: u64,
    /// The most operations spent on the rank of one connected part.
    pub max_work: f64,
}

impl Default for CheckOptions {
    fn default() -> Self {
        CheckOptions { rank_tolerance: 1e-9, near_tolerance: 1e-6, samples: 3, max_work: 2e11 }
    }
}

/// What checking found.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// Coordinates less rank: how many velocities can be chosen freely in this pose.
    pub degrees_of_freedom: usize,
    /// Velocities of free bodies: 6 a body, 3 a point mass, 5 a rod without moment about its axis that no joint holds off it.
    pub coordinates: usize,
    /// Number of rows.
    pub constraints: usize,
    /// Number of independent rows.
    pub rank: usize,
    /// Rows that depend on earlier ones, in file order.
    pub redundant: Vec<RedundantRow>,
    /// Rows that almost depend on earlier ones, in file order: the mechanism may jam, or its numbers are rounded.
    pub nearly_redundant: Vec<RedundantRow>,
    /// Parts that move independently of each other, in the order of their first body.
    pub components: Vec<ComponentReport>,
    /// Number of independent loops.
    pub loops: usize,
    /// Elements whose start is off by more than its tolerance, in file order.
    pub inconsistencies: Vec<Inconsistency>,
    /// The rank is lower here than in nearby poses.
    pub singular: bool,
    /// By how much.
    pub rank_lost: usize,
    /// Free bodies that cannot move, in file order.
    pub immovable: Vec<String>,
    /// The smallest pivot that counted towards the rank, relative; infinite without rows.
    pub smallest_pivot: f64,
    /// Sentences for the user.
    pub warnings: Vec<String>,
}

/// A row that others already imply.
#[derive(Clone, Debug, PartialEq)]
pub struct RedundantRow {
    /// The element it belongs to.
    pub element: String,
    /// The row in words: "joint `elbow`, tilt x".
    pub row: String,
    /// Index among all rows.
    pub index: usize,
    /// Redundant in nearby poses too; else only in this pose.
    pub always: bool,
    /// Elements whose rows imply it, in file order. Empty where the row moves nothing with inertia.
    pub depends_on: Vec<String>,
}

/// A part that moves independently of others.
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentReport {
    /// Its bodies by name, in file order.
    pub bodies: Vec<String>,
    /// Whether it is held to a fixed body.
    pub grounded: bool,
    /// Number of independent loops.
    pub loops: usize,
    /// Coordinates less rank.
    pub degrees_of_freedom: usize,
    /// Number of rows.
    pub constraints: usize,
    /// Number of independent rows.
    pub rank: usize,
    /// The rank is lower here than in nearby poses.
    pub singular: bool,
    /// By how much.
    pub rank_lost: usize,
}

/// Counts degrees of freedom and finds redundant rows, singular positions and inconsistent starts.
///
/// Where the start is off, the joints are closed first and the rank is taken there.
pub fn check(model: &Model, options: &CheckOptions) -> CheckReport {
    let graph = Graph::new(model);
    let mut report = CheckReport {
        degrees_of_freedom: 0,
        coordinates: 0,
        constraints: model.rows.iter().filter(|b| !b.is_bound()).map(|b| b.n_rows).sum(),
        rank: 0,
        redundant: Vec::new(),
        nearly_redundant: Vec::new(),
        components: Vec::new(),
        loops: graph.components.iter().map(|c| c.loops).sum(),
        inconsistencies: inconsistencies(model),
        singular: false,
        rank_lost: 0,
        immovable: Vec::new(),
        smallest_pivot: f64::INFINITY,
        warnings: Vec::new(),
    };
    massless(model, &mut report.warnings);
    let mut posture = start_posture(model, &mut report);
    for component in &graph.components {
        let checker = ComponentCheck::new(model, component, options);
        let found = checker.run(&mut posture);
        report.coordinates += found.coordinates;
        report.rank += found.component.rank;
        report.degrees_of_freedom += found.component.degrees_of_freedom;
        report.singular |= found.component.singular;
        report.rank_lost += found.component.rank_lost;
        report.smallest_pivot = report.smallest_pivot.min(found.smallest_pivot);
        report.redundant.extend(found.redundant);
        report.nearly_redundant.extend(found.nearly_redundant);
        report.immovable.extend(found.immovable);
        report.warnings.extend(found.warnings);
        report.components.push(found.component);
    }
    for &block in &graph.idle_blocks {
        idle_rows(model, block, &mut report);
    }
    report.redundant.sort_by_key(|row| row.index);
    report.nearly_redundant.sort_by_key(|row| row.index);
    summarize(&mut report);
    report
}

/// [`check`] in a state of a run: with the joints that are there, at its pose.
pub fn check_state(model: &Model, state: &State, options: &CheckOptions) -> CheckReport {
    let mut here = model.clone();
    here.start.clone_from(state);
    here.rows.retain(|block| block.is_active(&state.active));
    let mut first_row = 0;
    for block in &mut here.rows {
        block.first_row = first_row;
        first_row += block.n_rows;
    }
    here.start.impulse = vec![0.0; first_row];
    check(&here, options)
}

/// Elements whose errors at the start exceed their tolerances.
fn inconsistencies(model: &Model) -> Vec<Inconsistency> {
    let errors = initial_inconsistency(model).into_iter().zip(&model.rows);
    errors
        .filter(|(error, block)| {
            let tolerance = block.tolerance.unwrap_or(model.run.tolerance);
            // Written so that what is not a number counts as off.
            !(error.position_error <= tolerance
                && error.velocity_error <= model.run.velocity_tolerance)
        })
        .map(|(error, _)| error)
        .collect()
}

/// The posture at which the rank is taken: the start, its joints closed to rounding if they can be.
fn start_posture<'m>(model: &'m Model, report: &mut CheckReport) -> Posture<'m> {
    /// Errors that rounding explains, and what is asked where they are larger.
    const ROUNDING: f64 = 1e-13;
    const STRICT: f64 = 1e-12;
    let errors = initial_inconsistency(model);
    let worst = errors.iter().map(|e| e.position_error).fold(0.0, f64::max);
    if worst <= ROUNDING && errors.iter().all(|e| e.position_error.is_finite()) {
        return Posture::new(model, model.start.clone());
    }
    let strict = AssembleOptions { tolerance: Some(STRICT), ..AssembleOptions::default() };
    let mut assembled = assemble(model, &strict);
    if assembled.outcome != Outcome::Closed {
        assembled = assemble(model, &AssembleOptions::default());
    }
    if let Outcome::Failed(failures) = &assembled.outcome {
        report.warnings.extend(failures.iter().map(ToString::to_string));
        return Posture::new(model, model.start.clone());
    }
    let off = errors.iter().zip(&model.rows).find(|(error, block)| {
        error.position_error > block.tolerance.unwrap_or(model.run.tolerance)
    });
    if let Some((error, _)) = off {
        report.warnings.push(format!(
            "the start does not close (`{}` is off by {:.3e}): the rank is that of the assembled pose",
            error.element, error.position_error
        ));
    }
    Posture::new(model, assembled.state)
}

fn massless(model: &Model, warnings: &mut Vec<String>) {
    for body in model.bodies.iter().filter(|body| !body.fixed && body.mass_inv == 0.0) {
        warnings.push(format!("`{}` has no mass and is not fixed: nothing can move it", body.name));
    }
}

/// Rows between fixed bodies: all redundant.
fn idle_rows(model: &Model, block: usize, report: &mut CheckReport) {
    let rows = &model.rows[block];
    report.warnings.push(format!("`{}` connects only bodies that cannot move", rows.name));
    report.redundant.extend((0..rows.n_rows).map(|i| RedundantRow {
        element: rows.name.clone(),
        row: rows.row_label(model, i),
        index: rows.first_row + i,
        always: true,
        depends_on: Vec::new(),
    }));
}

/// Adds the sentences that the numbers amount to.
fn summarize(report: &mut CheckReport) {
    let (always, here): (Vec<_>, Vec<_>) = report.redundant.iter().partition(|row| row.always);
    let list = |rows: &[&RedundantRow]| {
        let names: Vec<&str> = rows.iter().take(5).map(|row| row.row.as_str()).collect();
        let more = rows.len().saturating_sub(names.len());
        if more > 0 { format!("{} and {more} more", names.join("; ")) } else { names.join("; ") }
    };
    let mut sentences = Vec::new();
    if !always.is_empty() {
        sentences.push(format!("{} redundant rows: {}", always.len(), list(&always)));
    }
    if !here.is_empty() {
        let text = list(&here);
        sentences.push(format!("{} rows redundant only in this pose: {text}", here.len()));
    }
    if report.singular {
        for part in report.components.iter().filter(|part| part.singular) {
            let (rank, lost) = (part.rank, part.rank_lost);
            let mut bodies: Vec<&str> = part.bodies.iter().take(3).map(String::as_str).collect();
            if part.bodies.len() > bodies.len() {
                bodies.push("…");
            }
            sentences.push(format!(
                "the start is a singular position of the part with {}: the rank is {rank} here and {} nearby ({lost} lost), motions may branch",
                bodies.join(", "),
                rank + lost
            ));
        }
    }
    let near: Vec<&RedundantRow> = report.nearly_redundant.iter().collect();
    if !near.is_empty() {
        let text = "rows almost redundant (rounded numbers? then round less, or remove them)";
        sentences.push(format!("{} {text}: {}", near.len(), list(&near)));
    }
    if !report.immovable.is_empty() {
        sentences.push(format!("cannot move: `{}`", report.immovable.join("`, `")));
    }
    report.warnings.extend(sentences);
}
