//! Verdicts in answers: for people, for programs, as exit code.

use std::fmt::Write;

use gelenk::verdict::{Finding, Level, Verdict};
use gelenk_viewer::report::Report;
use serde_json::json;

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::show::{self, styled};

/// A finding as a warning.
fn warning(finding: &Finding) -> String {
    format!("{}; {}", finding.cause, finding.remedy)
}

/// Puts the verdict into an answer: JSON, a line for people, a warning for each doubt.
pub(crate) fn tell(answer: &mut Answer, verdict: &Verdict, manner: Manner) {
    let warnings = answer.json.entry("warnings").or_insert_with(|| json!([]));
    for finding in &verdict.findings {
        // The failure is shown by itself.
        if manner.talks() && finding.level == Level::Doubtful {
            show::warning(&warning(finding));
        }
        if let Some(warnings) = warnings.as_array_mut() {
            warnings.push(json!(warning(finding)));
        }
    }
    answer.json.insert("verdict".to_owned(), json!(verdict));
    let _ = writeln!(answer.text, "\nverdict: {}", word(verdict));
}

/// The word for it, in its colour.
pub(crate) fn word(verdict: &Verdict) -> String {
    let style = match verdict.level {
        Level::Good => show::GOOD,
        Level::Doubtful => show::WARN,
        Level::Failed => show::BAD,
    };
    styled(style, verdict.level)
}

/// The failure that a verdict is: always where the result has failed, also a doubtful one where `strict`.
pub(crate) fn refused(verdict: &Verdict, strict: bool) -> Option<Failure> {
    let finding = verdict.findings.first()?;
    let wrong = finding.level == Level::Failed || strict;
    wrong.then(|| {
        let message = format!("the result is {}: {}", finding.level, finding.cause);
        Failure::new(Exit::Failed, message).help(finding.remedy.clone())
    })
}

/// Puts the verdict into a report.
pub(crate) fn report(report: &mut Report, verdict: &Verdict) {
    report.verdict(verdict.is_good(), &format!("Verdict: {}.", verdict.level));
    for finding in &verdict.findings {
        let time = finding.time.map_or_else(String::new, |t| format!(" (t = {t} s)"));
        report.paragraph(&format!(
            "{}, `{}`{time}: {}; {}.",
            finding.level, finding.quantity, finding.cause, finding.remedy
        ));
    }
}
