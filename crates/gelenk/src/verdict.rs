//! The verdict: whether the result of a run can be relied on, by what was measured during the run.
//!
//! [`Judge`] watches a run step by step and compares, at its end, energy error, signs of dissipation and impact losses, gaps,
//! velocity errors, overlaps and the estimate of the error with their limits. A run is as good as its worst [`Finding`].
//!
//! ```text
//! at work = max(largest kinetic energy, spread of the potential energy, |work|, dissipation, impact losses)
//! failed    energy error > 1 % of what is at work; gap or overlap > 10 x tolerance; anything not finite; a run that ended early;
//!           a start at rest in a singular position that several motions leave; a force beside the axis of a thin rod whose spin nothing holds
//! doubtful  from a tenth of that; velocity error > 10 x tolerance; contacts that open while they push; steps taken although
//!           their energy is wrong, since halving did not help; an estimate above the accuracy asked for
//! ```
//!
//! Energy errors below what the tolerances allow, 10 x weight x tolerance, count as none: a model at rest has nothing at work.
//! The limits can be set: [`VerdictLimits`].

use std::fmt;

use gelenk_model::{Ledger, Model, RunReport, RunSettings, Sample};
use serde::{Deserialize, Serialize};

use crate::engine::{self, EngineKind, Refused};
use crate::idle::idle_turn;
use crate::lagrange::look::stuck_start;
use crate::recording::number;

/// Energy errors below this multiple of weight x tolerance count as none.
const NOISE: f64 = 10.0;
/// Gaps below this fraction of the coordinates' size are rounding.
const ROUNDING: f64 = 1e-13;
/// Room for rounding beside a tolerance that a value may reach.
const REACHED: f64 = 1.0 + 1e-6;

/// From where on a result is failed or doubtful.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerdictLimits {
    /// Energy errors above this fraction of the energy at work fail a run.
    pub energy: f64,
    /// Gaps above this multiple of their tolerance fail a run; velocity errors above it make it doubtful.
    pub gap: f64,
    /// Overlaps of bodies above this multiple of their tolerance fail a run.
    pub overlap: f64,
    /// From this fraction of a limit a result is doubtful.
    pub doubt: f64,
}

impl Default for VerdictLimits {
    fn default() -> Self {
        VerdictLimits { energy: 0.01, gap: 10.0, overlap: 10.0, doubt: 0.1 }
    }
}

impl VerdictLimits {
    /// The names that [`VerdictLimits::set`] knows.
    pub const NAMES: [&str; 4] = ["energy", "gap", "overlap", "doubt"];

    /// Sets a limit by name; an error says what is wrong.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), String> {
        if !(value > 0.0 && value.is_finite()) {
            return Err(format!("{value} is not a positive number"));
        }
        let slot = match name {
            "energy" => &mut self.energy,
            "gap" => &mut self.gap,
            "overlap" => &mut self.overlap,
            "doubt" if value <= 1.0 => &mut self.doubt,
            "doubt" => return Err(format!("{value} is above 1, the limit itself")),
            _ => {
                return Err(format!(
                    "there is none of that name; there is {}",
                    Self::NAMES.join(", ")
                ));
            }
        };
        *slot = value;
        Ok(())
    }

    /// Whether these are the usual limits.
    pub fn are_usual(&self) -> bool {
        *self == VerdictLimits::default()
    }
}

/// How far a result can be relied on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Nothing speaks against it.
    #[default]
    Good,
    /// Something is worse than it should be.
    Doubtful,
    /// It is wrong.
    Failed,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Good => "good",
            Level::Doubtful => "doubtful",
            Level::Failed => "failed",
        })
    }
}

/// Something measured that is not good.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// How bad it is: [`Level::Doubtful`] or [`Level::Failed`].
    #[serde(alias = "grade")]
    pub level: Level,
    /// What was measured: `energy`, `dissipation`, `impact-loss`, `gap`, `velocity-error`, `overlap`, `finite`,
    /// `singular-start`, `idle-spin`, `contact-loose`, `refused-steps`, `accuracy`, `run`; of comparisons `difference`, of optimizations `status`, `replay`.
    pub quantity: String,
    /// Its value, in its unit.
    #[serde(with = "number")]
    pub value: f64,
    /// The value above which it is not good any more, or has failed.
    #[serde(with = "number")]
    pub limit: f64,
    /// When, s, if known.
    #[serde(default)]
    pub time: Option<f64>,
    /// The element, by name, if known.
    #[serde(default)]
    pub element: Option<String>,
    /// What is wrong, in a sentence, with the likely cause where it is known.
    #[serde(alias = "message")]
    pub cause: String,
    /// What to try.
    #[serde(alias = "help")]
    pub remedy: String,
}

/// The verdict on a result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// That of the worst finding.
    #[serde(alias = "grade")]
    pub level: Level,
    /// All that is not good, worst first.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// The verdict that findings make.
    pub fn of(mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
        let level = findings.first().map_or(Level::Good, |finding| finding.level);
        Verdict { level, findings }
    }

    /// The verdict on a result made of several: all that was found, each with the name of its part as element where it has none.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = (&'a str, &'a Verdict)>) -> Self {
        let mut findings = Vec::new();
        for (name, verdict) in parts {
            findings.extend(verdict.findings.iter().map(|finding| Finding {
                element: finding.element.clone().or_else(|| Some(name.to_owned())),
                cause: format!("{name}: {}", finding.cause),
                ..finding.clone()
            }));
        }
        Verdict::of(findings)
    }

    /// Adds a finding.
    pub fn push(&mut self, finding: Finding) {
        let mut findings = std::mem::take(&mut self.findings);
        findings.push(finding);
        *self = Verdict::of(findings);
    }

    /// Whether nothing speaks against the result.
    pub fn is_good(&self) -> bool {
        self.level == Level::Good
    }

    /// The worst finding, if the result has failed by it.
    pub fn failure(&self) -> Option<&Finding> {
        self.findings.first().filter(|finding| finding.level == Level::Failed)
    }
}

/// Sees the energies of a run, then gives the verdict.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    limits: VerdictLimits,
    /// Largest kinetic energy, J.
    kinetic: f64,
    /// Smallest and largest potential energy, J.
    potential: Option<[f64; 2]>,
    /// The largest energy error, J, and its time, s.
    error: (f64, Option<f64>),
    /// The smallest dissipation so far, J, and its time, s: below 0 dampers and friction have made energy.
    dissipation: (f64, Option<f64>),
    /// The same of impact losses.
    impact_loss: (f64, Option<f64>),
}

impl Judge {
    /// A judge with limits of its own.
    pub fn new(limits: VerdictLimits) -> Self {
        Judge { limits, ..Judge::default() }
    }

    /// Looks at a sample.
    pub fn sample(&mut self, sample: &Sample<'_>) {
        self.ledger(sample.state.t, &sample.ledger);
    }

    /// Looks at the ledger at time t.
    pub fn ledger(&mut self, t: f64, ledger: &Ledger) {
        self.kinetic = self.kinetic.max(ledger.kinetic);
        let [low, high] = self.potential.unwrap_or([ledger.potential; 2]);
        self.potential = Some([low.min(ledger.potential), high.max(ledger.potential)]);
        let error = ledger.integrator_error().abs();
        if !(error <= self.error.0) && !self.error.0.is_nan() {
            self.error = (error, Some(t));
        }
        if ledger.dissipation < self.dissipation.0 {
            self.dissipation = (ledger.dissipation, Some(t));
        }
        if ledger.impact_loss < self.impact_loss.0 {
            self.impact_loss = (ledger.impact_loss, Some(t));
        }
    }

    /// The verdict on a run that ended with this report, `failure` saying why where it ended early; `refused` are the steps that
    /// were taken although they were bad.
    pub fn verdict(
        &mut self,
        model: &Model,
        settings: &RunSettings,
        report: &RunReport,
        failure: Option<&str>,
        refused: Option<Refused>,
    ) -> Verdict {
        self.ledger(report.t, &report.ledger);
        let kind = engine::find(report.engine);
        let case = Case { model, settings, report, limits: self.limits, kind };
        let mut findings = Vec::new();
        if is_finite(report) {
            self.energies(&case, &mut findings);
        } else {
            let cause = "a state or an energy is not finite".to_owned();
            let finding = case.finding(Level::Failed, "finite", [f64::NAN, f64::MAX], cause);
            findings.push(Finding { time: Some(report.t), ..finding });
        }
        case.start(&mut findings);
        case.gaps(&mut findings);
        case.velocity_errors(&mut findings);
        case.overlap(&mut findings);
        if let Some(event) = report.events.iter().find(|event| event.kind == "contact-loose") {
            let many = report.events.iter().filter(|event| event.kind == "contact-loose").count();
            let values = [many as f64, 0.0];
            let finding =
                case.finding(Level::Doubtful, "contact-loose", values, event.detail.clone());
            findings.push(Finding { time: Some(event.time), ..finding });
        }
        if let Some(Refused { steps, time }) = refused {
            let cause = format!(
                "{steps} parts of steps make or lose energy, however often they are halved, and were taken as they are"
            );
            let values = [steps as f64, 0.0];
            let finding = case.finding(Level::Doubtful, "refused-steps", values, cause);
            findings.push(Finding { time: Some(time), ..finding });
        }
        if let (Some(accuracy), Some(estimate)) = (settings.accuracy, settings.estimated_error)
            && !(estimate <= accuracy)
        {
            let cause = format!(
                "the error is estimated at {estimate:.1e}, above the accuracy of {accuracy:.1e}"
            );
            findings.push(Finding {
                remedy: "ask for a coarser --accuracy or a shorter --duration".to_owned(),
                ..case.finding(Level::Doubtful, "accuracy", [estimate, accuracy], cause)
            });
        }
        if let Some(reason) = failure {
            let reached = report.t - model.start.t;
            let values = [reached, settings.duration];
            let finding = case.finding(Level::Failed, "run", values, reason.to_owned());
            findings.push(Finding { time: Some(report.t), ..finding });
        }
        Verdict::of(findings)
    }

    /// Energy error and the signs of what dampers, friction and impacts take.
    fn energies(&self, case: &Case<'_>, findings: &mut Vec<Finding>) {
        let Case { model, settings, report, limits, .. } = *case;
        let ledger = &report.ledger;
        let [low, high] = self.potential.unwrap_or([ledger.potential; 2]);
        let moved = self.kinetic.max(high - low).max(ledger.work.abs());
        let at_work = moved.max(ledger.dissipation).max(ledger.impact_loss);
        let weight: f64 = model.bodies.iter().map(|body| body.mass).filter(|m| m.is_finite()).sum();
        let tolerance = settings.tolerance.max(f64::EPSILON);
        let noise = NOISE * weight * model.gravity.norm() * tolerance
            + 1e-12 * (ledger.initial.abs() + at_work);
        let mut judge = |quantity: &str, value: f64, scale: f64, time, what: &str| {
            let limit = (limits.energy * scale).max(noise);
            let level = level(value, limit, (limits.doubt * limits.energy * scale).max(noise));
            if level > Level::Good {
                let part = percent(value / scale);
                let cause = format!("{what} {value:.2e} J, {part} of the {scale:.2e} J at work");
                let finding = case.finding(level, quantity, [value, limit], cause);
                findings.push(Finding { time, ..finding });
            }
        };
        let error = report.energy_max_abs_error.max(ledger.integrator_error().abs());
        judge("energy", error, at_work, self.error.1, "the energy is off by up to");
        let (least, time) = self.dissipation;
        judge("dissipation", -least, moved, time, "dampers and friction gave");
        let (least, time) = self.impact_loss;
        judge("impact-loss", -least, moved, time, "impacts gave");
    }
}

/// What is judged.
#[derive(Clone, Copy)]
struct Case<'a> {
    model: &'a Model,
    settings: &'a RunSettings,
    report: &'a RunReport,
    limits: VerdictLimits,
    kind: Option<&'static dyn EngineKind>,
}

impl Case<'_> {
    /// A finding without time and element, with the usual remedy.
    fn finding(
        &self,
        level: Level,
        quantity: &str,
        [value, limit]: [f64; 2],
        cause: String,
    ) -> Finding {
        let remedy = self.kind.map_or_else(String::new, |kind| kind.remedy(self.settings));
        Finding {
            level,
            quantity: quantity.to_owned(),
            value,
            limit,
            time: None,
            element: None,
            cause,
            remedy,
        }
    }

    /// A start from which no engine knows the way.
    fn start(&self, findings: &mut Vec<Finding>) {
        let Case { model, settings, .. } = *self;
        if settings.duration == 0.0 {
            return;
        }
        if let Some(turn) = idle_turn(model) {
            let cause = format!(
                "`{}` turns `{}` about its own axis, about which the rod has no inertia and no joint gives it any: its spin is not determined",
                turn.force, turn.body
            );
            let finding = self.finding(Level::Failed, "idle-spin", [1.0, 0.0], cause);
            findings.push(Finding {
                time: Some(model.start.t),
                element: Some(turn.force),
                remedy: "give the body a thickness, or let the force act on its axis".to_owned(),
                ..finding
            });
        }
        let Some(stuck) = stuck_start(model, &model.start) else { return };
        let cause = format!(
            "the model begins at rest in a singular position, in which the joints lose {} of their rank: several motions leave it, joint forces grow \
             without bound towards it, and which motion is taken is left to rounding",
            stuck.lost
        );
        let finding = self.finding(Level::Failed, "singular-start", [stuck.bend, 0.0], cause);
        let remedy = "begin beside it, or with a velocity (`[[start]]`, `gelenk assemble`)";
        findings.push(Finding {
            time: Some(model.start.t),
            element: Some(stuck.element),
            remedy: remedy.to_owned(),
            ..finding
        });
    }

    fn gaps(&self, findings: &mut Vec<Finding>) {
        let Case { model, settings, report, limits, kind } = *self;
        let size = report.state.s.iter().fold(1.0_f64, |size, s| size.max(s.amax()));
        let allowed = |own: Option<f64>| {
            let tolerance = own.unwrap_or(settings.tolerance);
            tolerance.max(kind.map_or(0.0, |kind| kind.allowed_gap(settings, own)))
        };
        let worst = model
            .rows
            .iter()
            .zip(&report.worst_gaps)
            .map(|(block, &gap)| (block, gap, allowed(block.tolerance)))
            .map(|(block, gap, tolerance)| (block, gap, tolerance, gap / tolerance))
            .max_by(|a, b| a.3.total_cmp(&b.3));
        let Some((block, gap, tolerance, _)) = worst else { return };
        let limit = (limits.gap * tolerance).max(10.0 * ROUNDING * size);
        let level = level(gap, limit, limits.doubt * limits.gap * tolerance * REACHED);
        if level > Level::Good {
            let rounding = tolerance < ROUNDING * size;
            let why = if rounding { ": rounding leaves no less" } else { "" };
            let cause = format!(
                "`{}` is open by {gap:.1e}, above its tolerance of {tolerance:.1e}{why}",
                block.name
            );
            let finding = self.finding(level, "gap", [gap, limit], cause);
            findings.push(Finding { element: Some(block.name.clone()), ..finding });
        }
    }

    /// What the corrections of velocities left.
    fn velocity_errors(&self, findings: &mut Vec<Finding>) {
        let Case { model, settings, report, limits, kind } = *self;
        if !settings.velocity_correction {
            return;
        }
        let speed = report.state.s_dot.iter().fold(1.0_f64, |speed, v| speed.max(v.amax()));
        let own = kind.map_or(0.0, |kind| kind.allowed_gap(settings, None));
        let tolerance = settings.velocity_tolerance.max(own).max(ROUNDING * speed);
        let errors = model.rows.iter().zip(&report.worst_velocity_errors);
        let Some((block, &error)) = errors.max_by(|a, b| a.1.total_cmp(b.1)) else { return };
        let limit = limits.gap * tolerance;
        if !(error <= limit) {
            let cause = format!(
                "the velocity error of `{}` is {error:.1e} /s, above its tolerance of {tolerance:.1e}",
                block.name
            );
            let finding = self.finding(Level::Doubtful, "velocity-error", [error, limit], cause);
            findings.push(Finding { element: Some(block.name.clone()), ..finding });
        }
    }

    fn overlap(&self, findings: &mut Vec<Finding>) {
        let Case { settings, report, limits, .. } = *self;
        let Some(depth) = report.worst_penetration else { return };
        let tolerance = settings.overlap_tolerance();
        let limit = limits.overlap * tolerance;
        let mut level = level(depth, limit, limits.doubt * limits.overlap * tolerance * REACHED);
        // Bodies that begin inside each other are pushed out slowly.
        let start = report.events.iter().find(|event| event.kind == "start-overlap");
        if start.is_some() {
            level = level.min(Level::Doubtful);
        }
        if level > Level::Good {
            let why = if start.is_some() { "; they overlap at the start" } else { "" };
            let cause = format!(
                "bodies overlap by {depth:.1e} m, above the tolerance of {tolerance:.1e} m{why}"
            );
            let finding = self.finding(level, "overlap", [depth, limit], cause);
            findings.push(Finding { time: start.map(|event| event.time), ..finding });
        }
    }
}

/// Whether a value is above its limit, above the value from which it is doubtful, or neither.
fn level(value: f64, limit: f64, doubt: f64) -> Level {
    if !(value <= limit) {
        Level::Failed
    } else if value > doubt {
        Level::Doubtful
    } else {
        Level::Good
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
        judge.0.verdict(&model, &settings, &report, None, None)
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
        let level = |change: fn(&mut RunReport, &mut RunSettings)| {
            let verdict = judged(SWING, change);
            (verdict.level, verdict.findings.first().map(|finding| finding.quantity.clone()))
        };
        let doubtful = |name: &str| (Level::Doubtful, Some(name.to_owned()));
        let failed = |name: &str| (Level::Failed, Some(name.to_owned()));
        assert_eq!(level(|_, _| ()), (Level::Good, None));
        assert_eq!(level(|r, _| r.energy_max_abs_error = 1e-4), (Level::Good, None));
        assert_eq!(level(|r, _| r.energy_max_abs_error = 1e-3), doubtful("energy"));
        assert_eq!(level(|r, _| r.energy_max_abs_error = 1e-2), failed("energy"));
        assert_eq!(level(|r, _| r.energy_max_abs_error = f64::NAN), failed("finite"));
        assert_eq!(level(|r, _| r.state.s[1].x = f64::INFINITY), failed("finite"));
        assert_eq!(level(|r, s| r.worst_gaps[0] = 2.0 * s.tolerance), doubtful("gap"));
        assert_eq!(level(|r, s| r.worst_gaps[0] = 11.0 * s.tolerance), failed("gap"));
        assert_eq!(level(|r, _| r.worst_gaps[0] = f64::NAN), failed("gap"));
        assert_eq!(
            level(|r, s| r.worst_penetration = Some(11.0 * s.overlap_tolerance())),
            failed("overlap")
        );
        let estimate = |_: &mut RunReport, s: &mut RunSettings| {
            (s.accuracy, s.estimated_error) = (Some(1e-6), Some(1e-5));
        };
        assert_eq!(level(estimate), doubtful("accuracy"));
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
        assert_eq!(verdict.level, Level::Doubtful, "{verdict:?}");
        assert!(verdict.findings[0].cause.contains("rounding leaves no less"));
    }

    #[test]
    fn limits_can_be_set() {
        let mut limits = VerdictLimits::default();
        limits.set("energy", 0.5).expect("a limit");
        limits.set("gap", 100.0).expect("a limit");
        assert!(limits.set("speed", 1.0).is_err() && limits.set("doubt", 2.0).is_err());
        assert!(limits.set("energy", -1.0).is_err() && limits.set("energy", f64::NAN).is_err());
        let loaded = gelenk_model::load_text("m", SWING, &gelenk_model::LoadOptions::default());
        let model = loaded.expect("a model").model;
        let mut report = crate::simulate(&model, &model.run, &mut ()).expect("it runs");
        (report.energy_max_abs_error, report.worst_gaps[0]) = (0.04, 1.1e-8);
        let level = |limits| {
            let verdict = Judge::new(limits).verdict(&model, &model.run, &report, None, None);
            let of = |name| verdict.findings.iter().find(|f| f.quantity == name).map(|f| f.level);
            (of("energy"), of("gap"))
        };
        assert_eq!(level(VerdictLimits::default()), (Some(Level::Failed), Some(Level::Failed)));
        assert_eq!(level(limits), (Some(Level::Doubtful), Some(Level::Doubtful)));
    }

    #[test]
    fn what_engines_measure_beside_counts() {
        let refused = Some(Refused { steps: 3, time: 0.25 });
        let loaded = gelenk_model::load_text("m", SWING, &gelenk_model::LoadOptions::default());
        let model = loaded.expect("a model").model;
        let report = crate::simulate(&model, &model.run, &mut ()).expect("it runs");
        let verdict = Judge::default().verdict(&model, &model.run, &report, None, refused);
        assert_eq!((verdict.level, verdict.findings[0].time), (Level::Doubtful, Some(0.25)));
        assert_eq!(verdict.findings[0].quantity, "refused-steps");
        let mut slips = report.clone();
        slips.worst_velocity_errors[0] = 1e-6;
        let verdict = Judge::default().verdict(&model, &model.run, &slips, None, None);
        assert_eq!(verdict.findings[0].quantity, "velocity-error");
        let verdict = Judge::default().verdict(&model, &model.run, &report, Some("broke"), None);
        assert_eq!(verdict.failure().map(|f| f.cause.as_str()), Some("broke"));
    }

    #[test]
    fn verdicts_of_older_recordings_are_read() {
        let old = r#"{"grade":"doubtful","findings":[{"grade":"doubtful","quantity":"gap","value":2e-9,"limit":1e-8,
            "message":"open","help":"close it"}]}"#;
        let verdict: Verdict = serde_json::from_str(old).expect("it reads");
        assert_eq!(
            (verdict.level, verdict.findings[0].remedy.as_str()),
            (Level::Doubtful, "close it")
        );
        let text = serde_json::to_value(&verdict).expect("it writes");
        assert_eq!(text["findings"][0]["cause"], "open");
        assert!(text["findings"][0]["time"].is_null() && text.get("grade").is_none());
    }
}
