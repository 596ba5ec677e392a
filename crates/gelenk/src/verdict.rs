//! The verdict: whether the result of a run can be relied on, by what was measured during the run.
//!
//! [`Judge`] watches a run and compares, at its end, energy error, signs of dissipation and impact losses, gaps, overlaps and
//! the estimate of the error with their limits. A run is as good as its worst [`Finding`].
//!
//! ```text
//! at work = max(largest kinetic energy, spread of the potential energy, |work|, dissipation, impact losses)
//! failed    energy error > 1 % of what is at work; gap or overlap > 10 x tolerance; anything not finite
//! doubtful  from a tenth of that; contacts that open while they push; an estimate above the accuracy asked for
//! ```
//!
//! Energy errors below what the tolerances allow, 10 x weight x tolerance, count as none: a model at rest has nothing at work.

use std::fmt;

use gelenk_model::{Model, RunReport, RunSettings, Sample};
use serde::{Deserialize, Serialize};

use crate::recording::number;

/// Energy errors above this fraction of the energy at work fail a run.
pub const ENERGY_LIMIT: f64 = 0.01;
/// Gaps and overlaps above this multiple of their tolerance fail a run.
pub const GAP_LIMIT: f64 = 10.0;
/// From this fraction of a limit a result is doubtful.
const DOUBT: f64 = 0.1;
/// Gaps below this fraction of the coordinates' size are rounding.
const ROUNDING: f64 = 1e-13;

/// How far a result can be relied on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Nothing speaks against it.
    #[default]
    Good,
    /// Something is worse than it should be.
    Doubtful,
    /// It is wrong.
    Failed,
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Grade::Good => "good",
            Grade::Doubtful => "doubtful",
            Grade::Failed => "failed",
        })
    }
}

/// Something measured that is not good.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// How bad it is: [`Grade::Doubtful`] or [`Grade::Failed`].
    pub grade: Grade,
    /// What was measured: `energy`, `dissipation`, `impact-loss`, `gap`, `overlap`, `finite`, `contact-loose`, `accuracy`.
    pub quantity: String,
    /// Its value, in its unit.
    #[serde(with = "number")]
    pub value: f64,
    /// The value above which the run has failed.
    #[serde(with = "number")]
    pub limit: f64,
    /// When, s, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// The element, by name, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<String>,
    /// A sentence for people.
    pub message: String,
    /// What to try.
    pub help: String,
}

/// The verdict on a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// That of the worst finding.
    pub grade: Grade,
    /// All that is not good, worst first.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// Whether nothing speaks against the result.
    pub fn is_good(&self) -> bool {
        self.grade == Grade::Good
    }

    /// The worst finding, if the run has failed by it.
    pub fn failure(&self) -> Option<&Finding> {
        self.findings.first().filter(|finding| finding.grade == Grade::Failed)
    }

    fn of(mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.grade));
        let grade = findings.first().map_or(Grade::Good, |finding| finding.grade);
        Verdict { grade, findings }
    }
}

/// Sees the energies of a run: give it every sample, then ask for the verdict.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    /// Largest kinetic energy, J.
    kinetic: f64,
    /// Smallest and largest potential energy, J.
    potential: Option<[f64; 2]>,
    /// The largest energy error of a sample, J, and its time, s.
    error: (f64, Option<f64>),
}

impl Judge {
    /// Looks at a sample.
    pub fn sample(&mut self, sample: &Sample<'_>) {
        let ledger = &sample.ledger;
        self.kinetic = self.kinetic.max(ledger.kinetic);
        let [low, high] = self.potential.unwrap_or([ledger.potential; 2]);
        self.potential = Some([low.min(ledger.potential), high.max(ledger.potential)]);
        let error = ledger.integrator_error().abs();
        if !(error <= self.error.0) && !self.error.0.is_nan() {
            self.error = (error, Some(sample.state.t));
        }
    }

    /// The verdict on a run that ended so.
    pub fn verdict(&self, model: &Model, settings: &RunSettings, report: &RunReport) -> Verdict {
        let mut findings = Vec::new();
        let finite = is_finite(report);
        if finite {
            self.energies(model, settings, report, &mut findings);
        } else {
            findings.push(Finding {
                grade: Grade::Failed,
                quantity: "finite".to_owned(),
                value: f64::NAN,
                limit: f64::MAX,
                time: Some(report.t),
                element: None,
                message: "a state or an energy is not finite".to_owned(),
                help: remedy(settings, report),
            });
        }
        gaps(model, settings, report, &mut findings);
        overlap(settings, report, &mut findings);
        if let Some(event) = report.events.iter().find(|event| event.kind == "contact-loose") {
            findings.push(Finding {
                grade: Grade::Doubtful,
                quantity: "contact-loose".to_owned(),
                value: 1.0,
                limit: f64::MAX,
                time: Some(event.time),
                element: None,
                message: event.detail.clone(),
                help: remedy(settings, report),
            });
        }
        if let (Some(accuracy), Some(estimate)) = (settings.accuracy, settings.estimated_error)
            && !(estimate <= accuracy)
        {
            findings.push(Finding {
                grade: Grade::Doubtful,
                quantity: "accuracy".to_owned(),
                value: estimate,
                limit: f64::MAX,
                time: None,
                element: None,
                message: format!(
                    "the error is estimated at {estimate:.1e}, above the accuracy of {accuracy:.1e}"
                ),
                help: "ask for a coarser --accuracy or a shorter --duration".to_owned(),
            });
        }
        Verdict::of(findings)
    }

    /// Energy error and the signs of what dampers, friction and impacts take.
    fn energies(
        &self,
        model: &Model,
        settings: &RunSettings,
        report: &RunReport,
        findings: &mut Vec<Finding>,
    ) {
        let ledger = &report.ledger;
        let [low, high] = self.potential.unwrap_or([ledger.potential; 2]);
        let [low, high] = [low.min(ledger.potential), high.max(ledger.potential)];
        let moved = self.kinetic.max(ledger.kinetic).max(high - low).max(ledger.work.abs());
        let at_work = moved.max(ledger.dissipation).max(ledger.impact_loss);
        let weight: f64 = model.bodies.iter().map(|body| body.mass).filter(|m| m.is_finite()).sum();
        let tolerance = settings.tolerance.max(f64::EPSILON);
        let noise = GAP_LIMIT * weight * model.gravity.norm() * tolerance
            + 1e-12 * (ledger.initial.abs() + at_work);
        let mut judge = |quantity: &str, value: f64, scale: f64, time, what: &str| {
            let limit = (ENERGY_LIMIT * scale).max(noise);
            let grade = grade(value, limit, (DOUBT * ENERGY_LIMIT * scale).max(noise));
            if grade > Grade::Good {
                let part = percent(value / scale);
                findings.push(Finding {
                    grade,
                    quantity: quantity.to_owned(),
                    value,
                    limit,
                    time,
                    element: None,
                    message: format!("{what} {value:.2e} J, {part} of the {scale:.2e} J at work"),
                    help: remedy(settings, report),
                });
            }
        };
        let error = report.energy_max_abs_error.max(ledger.integrator_error().abs());
        judge("energy", error, at_work, self.error.1, "the energy is off by up to");
        judge("dissipation", -ledger.dissipation, moved, None, "dampers and friction gave");
        judge("impact-loss", -ledger.impact_loss, moved, None, "impacts gave");
    }
}

fn gaps(model: &Model, settings: &RunSettings, report: &RunReport, findings: &mut Vec<Finding>) {
    let size = report.state.s.iter().fold(1.0_f64, |size, s| size.max(s.amax()));
    let worst = model
        .rows
        .iter()
        .zip(&report.worst_gaps)
        .map(|(block, &gap)| (block, gap, block.tolerance.unwrap_or(settings.tolerance)))
        .map(|(block, gap, tolerance)| (block, gap, tolerance, gap / tolerance))
        .max_by(|a, b| a.3.total_cmp(&b.3));
    let Some((block, gap, tolerance, _)) = worst else { return };
    let limit = (GAP_LIMIT * tolerance).max(GAP_LIMIT * ROUNDING * size);
    let grade = grade(gap, limit, tolerance * (1.0 + 1e-6));
    if grade > Grade::Good {
        let rounding = tolerance < ROUNDING * size;
        let why = if rounding { ": rounding leaves no less" } else { "" };
        findings.push(Finding {
            grade,
            quantity: "gap".to_owned(),
            value: gap,
            limit,
            time: None,
            element: Some(block.name.clone()),
            message: format!(
                "`{}` is open by {gap:.1e}, above its tolerance of {tolerance:.1e}{why}",
                block.name
            ),
            help: remedy(settings, report),
        });
    }
}

fn overlap(settings: &RunSettings, report: &RunReport, findings: &mut Vec<Finding>) {
    let Some(depth) = report.worst_penetration else { return };
    let tolerance = settings.overlap_tolerance();
    let limit = GAP_LIMIT * tolerance;
    let mut grade = grade(depth, limit, tolerance * (1.0 + 1e-6));
    // Bodies that begin inside each other are pushed out slowly.
    let start = report.events.iter().find(|event| event.kind == "start-overlap");
    if start.is_some() {
        grade = grade.min(Grade::Doubtful);
    }
    if grade > Grade::Good {
        let why = if start.is_some() { "; they overlap at the start" } else { "" };
        findings.push(Finding {
            grade,
            quantity: "overlap".to_owned(),
            value: depth,
            limit,
            time: start.map(|event| event.time),
            element: None,
            message: format!(
                "bodies overlap by {depth:.1e} m, above the tolerance of {tolerance:.1e} m{why}"
            ),
            help: remedy(settings, report),
        });
    }
}

/// Whether a value is above its limit, above the value from which it is doubtful, or neither.
fn grade(value: f64, limit: f64, doubt: f64) -> Grade {
    if !(value <= limit) {
        Grade::Failed
    } else if value > doubt {
        Grade::Doubtful
    } else {
        Grade::Good
    }
}

fn is_finite(report: &RunReport) -> bool {
    let state = &report.state;
    let vectors = state.s.iter().chain(&state.s_dot).chain(&state.omega);
    let ledger = &report.ledger;
    vectors.flat_map(|v| v.iter()).all(|x| x.is_finite())
        && ledger.integrator_error().is_finite()
        && report.energy_max_abs_error.is_finite()
}

fn percent(part: f64) -> String {
    if part > 100.0 { format!("{part:.1e} times") } else { format!("{:.2} %", 100.0 * part) }
}

/// What to try against errors of an engine.
fn remedy(settings: &RunSettings, report: &RunReport) -> String {
    match report.engine {
        "impulse" if settings.order > 2 => {
            format!("try --step {:.1e} or --order 2", settings.step / 4.0)
        }
        "impulse" => format!("try --step {:.1e}, or --accuracy 1e-6", settings.step / 4.0),
        _ => "try a smaller --rtol, or --engine impulse".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str, change: impl FnOnce(&mut RunReport, &mut RunSettings)) -> Verdict {
        let loaded = gelenk_model::load_text("m.toml", text, &gelenk_model::LoadOptions::default());
        let model = loaded.expect("a model").model;
        let mut settings = model.run.clone();
        let mut judge = Watching(Judge::default());
        let mut report = crate::simulate(&model, &settings, &mut judge).expect("it runs");
        change(&mut report, &mut settings);
        judge.0.verdict(&model, &settings, &report)
    }

    struct Watching(Judge);

    impl gelenk_model::Observer for Watching {
        fn sample(&mut self, sample: &Sample<'_>) -> std::ops::ControlFlow<()> {
            self.0.sample(sample);
            std::ops::ControlFlow::Continue(())
        }
    }

    /// Falls 0.05 m from rest: 0.48 J at work.
    const SWING: &str = r#"
        [model]
        name = "swing"
        [[point]]
        name = "bob"
        mass = 1
        position = [1, 0, 0]
        [[joint]]
        name = "rod"
        type = "distance"
        between = ["world", "bob"]
        length = 1
        [run]
        duration = 0.1
        step = 0.001
    "#;

    #[test]
    fn each_quantity_has_its_limits() {
        let grade = |change: fn(&mut RunReport, &mut RunSettings)| {
            let verdict = judged(SWING, change);
            (verdict.grade, verdict.findings.first().map(|finding| finding.quantity.clone()))
        };
        let doubtful = |name: &str| (Grade::Doubtful, Some(name.to_owned()));
        let failed = |name: &str| (Grade::Failed, Some(name.to_owned()));
        assert_eq!(grade(|_, _| ()), (Grade::Good, None));
        assert_eq!(grade(|r, _| r.energy_max_abs_error = 1e-4), (Grade::Good, None));
        assert_eq!(grade(|r, _| r.energy_max_abs_error = 1e-3), doubtful("energy"));
        assert_eq!(grade(|r, _| r.energy_max_abs_error = 1e-2), failed("energy"));
        assert_eq!(grade(|r, _| r.energy_max_abs_error = f64::NAN), failed("finite"));
        assert_eq!(grade(|r, _| r.state.s[1].x = f64::INFINITY), failed("finite"));
        assert_eq!(grade(|r, s| r.worst_gaps[0] = 2.0 * s.tolerance), doubtful("gap"));
        assert_eq!(grade(|r, s| r.worst_gaps[0] = 11.0 * s.tolerance), failed("gap"));
        assert_eq!(grade(|r, _| r.worst_gaps[0] = f64::NAN), failed("gap"));
        assert_eq!(
            grade(|r, s| r.worst_penetration = Some(11.0 * s.overlap_tolerance())),
            failed("overlap")
        );
        let estimate = |_: &mut RunReport, s: &mut RunSettings| {
            (s.accuracy, s.estimated_error) = (Some(1e-6), Some(1e-5));
        };
        assert_eq!(grade(estimate), doubtful("accuracy"));
    }

    #[test]
    fn dampers_and_impacts_that_give_energy_fail() {
        // The ledger balances: the energy error alone would not show it.
        let verdict = judged(SWING, |report, _| {
            report.ledger.dissipation -= 5.0;
            report.ledger.kinetic += 5.0;
        });
        assert_eq!(verdict.failure().map(|f| f.quantity.as_str()), Some("dissipation"));
        let verdict = judged(SWING, |report, _| {
            report.ledger.impact_loss -= 5.0;
            report.ledger.kinetic += 5.0;
        });
        assert_eq!(verdict.failure().map(|f| f.quantity.as_str()), Some("impact-loss"));
    }

    #[test]
    fn rest_is_good_and_rounding_is_no_failure() {
        let rest = SWING.replace("[1, 0, 0]", "[0, 0, -1]");
        assert!(judged(&rest, |_, _| ()).is_good());
        let verdict = judged(SWING, |report, settings| {
            settings.tolerance = 1e-16;
            report.worst_gaps[0] = 1e-14;
        });
        assert_eq!(verdict.grade, Grade::Doubtful, "{verdict:?}");
        assert!(verdict.findings[0].message.contains("rounding leaves no less"));
    }
}
