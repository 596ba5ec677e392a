//! The printed page of a system, with the headings of the original.

use gelenk_expr::{Expr, Pool};
use serde_json::{Map, Value, json};

use super::derive::{Derived, SystemResult, Work};
use super::potential::{ForceFunction, Source};
use super::print::{Page, formac};
use super::{Formula, List, System};

pub(super) fn write_page(
    page: &mut Page,
    number: usize,
    system: &System,
    result: &SystemResult,
    work: &Work<'_>,
) {
    page.heading(&format!("SYSTEM {number}"));
    page.line(if system.relative {
        "EINGABE DER RELATIVBEWEGUNG"
    } else {
        "EINGABE DER ABSOLUTBEWEGUNG"
    });
    page.heading("BEWEGUNG DES KOERPERS 0");
    rows(page, &system.ground);
    for (i, body) in system.bodies.iter().enumerate() {
        page.heading(&format!("KINEMATIK DES KOERPERS {}", i + 1));
        if let Some(k) = body.reference {
            page.line(&format!("BEZUGSKOERPER {k}"));
        }
        rows(page, &body.motion);
        match &body.forces {
            None => page.line("KEINE KRAEFTE UND MOMENTE"),
            Some(forces) => {
                let axes = if body.in_body_axes { " (KOERPERACHSEN)" } else { "" };
                page.line(&format!("KRAEFTE UND MOMENTE DES KOERPERS: {}{axes}", i + 1));
                rows(page, forces);
            }
        }
    }
    for (i, damper) in system.dampers.iter().enumerate() {
        page.heading(&format!("DAEMPFER {}", i + 1));
        page.line(&format!("{} {}", damper.l, damper.n));
        list(page, damper.first.as_ref());
    }
    for (spring, potential) in system.springs.iter().zip(&result.potentials) {
        page.heading(&format!("FEDER {} {}", spring.l, spring.n));
        list(page, spring.first.as_ref());
        list(page, spring.second.as_ref());
        page.line(&format!("POTENTIAL DER FEDER: {} {}", spring.l, spring.n));
        page.equation("POT", &work.text(potential.potential));
    }
    page.heading("BERECHNETE DATEN");
    for (i, kinetics) in result.kinetics.iter().enumerate() {
        page.heading("KOEFFIZIENTEN DER KINETISCHEN ENERGIE");
        list(page, i.checked_sub(1).and_then(|i| system.kinetic_lists.get(i)));
        for (mu, row) in kinetics.g.iter().enumerate() {
            for (nu, &e) in row.iter().enumerate().filter(|e| *e.1 != Expr::ZERO) {
                page.equation(&format!("G({mu},{nu})"), &work.text(e));
            }
        }
        page.heading("CHRISTOFFELSYMBOLE");
        for (rho, plane) in kinetics.gamma.iter().enumerate() {
            for (mu, row) in plane.iter().enumerate() {
                for (nu, &e) in row.iter().enumerate().filter(|e| *e.1 != Expr::ZERO) {
                    page.equation(&format!("GAM({},{mu},{nu})", rho + 1), &work.text(e));
                }
            }
        }
        if let Some(open) = &kinetics.undetermined {
            let names: Vec<String> = open.coordinates.iter().map(|k| format!("QPP({k})")).collect();
            page.heading(&format!(
                "METRIK SINGULAER: RANG {} STATT {}, UNBESTIMMT {}",
                open.rank,
                result.f,
                names.join(", ")
            ));
        }
    }
    page.heading("GENERALISIERTE KRAEFTE");
    for (i, forces) in result.forces.iter().enumerate() {
        if let Some(list_of) = i.checked_sub(1).and_then(|i| system.force_lists.get(i)) {
            page.heading(&format!("ERSETZUNGSLISTE: {}", list_of.text));
        }
        for (rho, &e) in forces.q.iter().enumerate().filter(|e| *e.1 != Expr::ZERO) {
            page.equation(&format!("KU({})", rho + 1), &work.text(e));
        }
    }
    if !result.conditions.is_empty() {
        page.heading("BEDINGUNGEN");
    }
    for (k, condition) in result.conditions.iter().enumerate() {
        page.equation(&format!("C({})", k + 1), &work.text(condition.c));
        for (mu, &e) in condition.slopes.iter().enumerate().filter(|e| *e.1 != Expr::ZERO) {
            page.equation(&format!("DC({},{mu})", k + 1), &work.text(e));
        }
    }
    page.heading("POTENTIALE UND DISSIPATIONSFUNKTIONEN");
    for functions in &result.functions {
        page.line(&match functions.source {
            Source::Body(l) => format!("KRAEFTE DES KOERPERS {l}"),
            Source::Damper(l, n) => format!("DAEMPFER {l} {n}"),
            Source::All => "ALLE KRAEFTE".to_owned(),
        });
        function(page, work, ("POT", "KEIN POTENTIAL", "Q"), &functions.potential);
        function(page, work, ("DIS", "KEINE DISSIPATIONSFUNKTION", "QP"), &functions.dissipation);
    }
}

/// A potential or dissipation function, or why there is none.
fn function(
    page: &mut Page,
    work: &Work<'_>,
    (name, none, variable): (&str, &str, &str),
    function: &ForceFunction,
) {
    match function {
        ForceFunction::Zero => {}
        ForceFunction::Is(e) => page.equation(name, &work.text(*e)),
        ForceFunction::Missing { rho, sigma } => page.line(&format!(
            "  {none}: DKU({rho})/D{variable}({sigma}) IST NICHT DKU({sigma})/D{variable}({rho})"
        )),
        ForceFunction::NotFound => page.line(&format!("  {name} NICHT GEFUNDEN")),
    }
}

fn rows(page: &mut Page, rows: &[[Formula; 3]]) {
    for row in rows {
        let texts: Vec<String> = row.iter().map(|f| format!("'{}'", f.text)).collect();
        page.line(&format!("  {}", texts.join("  ")));
    }
}

fn list(page: &mut Page, list: Option<&List>) {
    if let Some(list) = list {
        page.line(&format!("ERSETZUNGSLISTE: {}", list.text));
    }
}

impl Derived {
    /// The results for programs: `systems [{freedoms, potentials [{between, potential}], kinetics [{list, G, GAM,
    /// undetermined}], forces [{list, KU}], functions [{of, potential, dissipation}]}]`, expressions in FORMAC's language, entries that are zero left out.
    pub fn to_json(&self, pool: &Pool) -> Value {
        let text = |e: Expr| Value::from(formac(&pool.display(e).to_string()));
        let systems = self.systems.iter().map(|system| {
            let kinetics = system.kinetics.iter().enumerate().map(|(i, kinetics)| {
                let (mut g, mut gamma) = (Map::new(), Map::new());
                for (mu, row) in kinetics.g.iter().enumerate() {
                    for (nu, &e) in row.iter().enumerate().filter(|e| *e.1 != Expr::ZERO) {
                        g.insert(format!("{mu},{nu}"), text(e));
                    }
                }
                for (rho, plane) in kinetics.gamma.iter().enumerate() {
                    for (mu, row) in plane.iter().enumerate() {
                        for (nu, &e) in row.iter().enumerate().filter(|e| *e.1 != Expr::ZERO) {
                            gamma.insert(format!("{},{mu},{nu}", rho + 1), text(e));
                        }
                    }
                }
                let open = kinetics.undetermined.as_ref();
                json!({
                    "list": i,
                    "G": g,
                    "GAM": gamma,
                    "undetermined": open.map_or_else(Vec::new, |u| u.coordinates.clone()),
                })
            });
            let forces = system.forces.iter().enumerate().map(|(i, forces)| {
                let entries = forces.q.iter().enumerate().filter(|e| *e.1 != Expr::ZERO);
                let ku: Map<String, Value> =
                    entries.map(|(rho, &e)| ((rho + 1).to_string(), text(e))).collect();
                json!({ "list": i, "KU": ku })
            });
            let potentials = system
                .potentials
                .iter()
                .map(|p| json!({ "between": [p.l, p.n], "potential": text(p.potential) }));
            let functions = system.functions.iter().map(|functions| {
                let of = match functions.source {
                    Source::Body(l) => json!({ "body": l }),
                    Source::Damper(l, n) => json!({ "damper": [l, n] }),
                    Source::All => json!("all"),
                };
                let function = |function: &ForceFunction| match function {
                    ForceFunction::Zero => json!({ "exists": true, "text": "0" }),
                    ForceFunction::Is(e) => json!({ "exists": true, "text": text(*e) }),
                    ForceFunction::Missing { rho, sigma } => {
                        json!({ "exists": false, "text": null, "asymmetric": [rho, sigma] })
                    }
                    ForceFunction::NotFound => json!({ "exists": true, "text": null }),
                };
                json!({
                    "of": of,
                    "potential": function(&functions.potential),
                    "dissipation": function(&functions.dissipation),
                })
            });
            json!({
                "freedoms": system.f,
                "functions": functions.collect::<Vec<_>>(),
                "potentials": potentials.collect::<Vec<_>>(),
                "kinetics": kinetics.collect::<Vec<_>>(),
                "forces": forces.collect::<Vec<_>>(),
            })
        });
        json!({ "systems": systems.collect::<Vec<_>>() })
    }
}
