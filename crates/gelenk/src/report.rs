//! The report of a run as JSON, with the stable names that programs read. `docs/commands.md` lists them.

use gelenk_model::{Flight, Model, RowKind, RunReport, RunSettings};
use serde_json::{Map, Value, json};

use crate::actuator::Metered;

/// What the actuators of a model did: `{name: {unit, peak, peak_time, rms, peak_power, work}}`; numbers that are not finite are null.
pub fn actuators_json(list: &[Metered]) -> Value {
    let entry = |one: &Metered| {
        json!({
            "unit": one.unit,
            "peak": one.peak,
            "peak_time": one.peak_time,
            "rms": one.rms,
            "peak_power": one.peak_power,
            "work": one.work,
        })
    };
    Value::Object(list.iter().map(|one| (one.name.clone(), entry(one))).collect())
}

/// The report of a run as JSON object. `wall_seconds` is what the run took on the clock.
pub fn run_json(
    model: &Model,
    settings: &RunSettings,
    report: &RunReport,
    wall_seconds: f64,
) -> Map<String, Value> {
    let ledger = &report.ledger;
    let simulated = report.t - model.start.t;
    let events: Vec<Value> = report
        .events
        .iter()
        .map(|event| {
            json!({
                "time": event.time,
                "kind": event.kind,
                "between": event.between,
                "detail": event.detail,
            })
        })
        .collect();
    let value = json!({
        "model": model.name,
        "engine": report.engine,
        "settings": settings_json(settings),
        "duration": simulated,
        "steps": report.steps,
        "wall_seconds": wall_seconds,
        "real_time_factor": quotient(simulated, wall_seconds),
        "energy": {
            "initial": ledger.initial,
            "final": ledger.total(),
            "mean_abs_error": report.energy_mean_abs_error,
            "max_abs_error": report.energy_max_abs_error,
            "kinetic": ledger.kinetic,
            "potential": ledger.potential,
            "work": ledger.work,
            "dissipation": ledger.dissipation,
            "impact_loss": ledger.impact_loss,
            "integrator_error": ledger.integrator_error(),
        },
        "constraint": {
            "max_position_error": largest(&report.worst_gaps),
            "max_velocity_error": largest(&report.worst_velocity_errors),
            "worst_penetration": report.worst_penetration,
            "elements": gaps_json(model, settings, report),
        },
        "corrections": {
            "total": report.corrections,
            "mean_per_step": quotient(report.corrections as f64, report.steps as f64),
        },
        "events": events,
        "state_hash": crate::hash::state_hash(&report.state),
    });
    let mut map = match value {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    if !report.ways.is_empty() {
        let ways = report.ways.iter().map(|&(name, count)| (name.to_owned(), json!(count)));
        map.insert("ways".to_owned(), Value::Object(ways.collect()));
    }
    if let Some(s) = &report.statistics {
        let statistics = json!({
            "steps": s.steps,
            "rejected": s.rejected,
            "evaluations": s.evaluations,
            "factorizations": s.factorizations,
            "projections": s.projections,
            "events": s.events,
            "stiff_at": s.stiff_at,
        });
        map.insert("statistics".to_owned(), statistics);
    }
    map
}

/// Settings as JSON, named as in `[run]`.
pub fn settings_json(settings: &RunSettings) -> Value {
    let flight = match settings.flight {
        Flight::Exact => "exact".to_owned(),
        Flight::Taylor(order) => format!("taylor:{order}"),
    };
    let mut value = json!({
        "engine": settings.engine,
        "duration": settings.duration,
        "step": settings.step,
        "order": settings.order,
        "solver": settings.solver,
        "tolerance": settings.tolerance,
        "velocity_tolerance": settings.velocity_tolerance,
        "flight": flight,
        "velocity_correction": settings.velocity_correction,
        "gentle": settings.gentle,
        "sample": settings.sample,
        "accuracy": settings.accuracy,
        "estimated_error": settings.estimated_error,
    });
    if crate::engine::find(&settings.engine).is_some_and(crate::engine::EngineKind::has_rtol) {
        value["rtol"] = json!(settings.rtol);
        value["atol"] = json!(settings.atol);
        value["integrator"] = json!(settings.integrator);
    }
    value
}

/// The largest errors of each joint, coupling and constraint, with what is allowed.
fn gaps_json(model: &Model, settings: &RunSettings, report: &RunReport) -> Vec<Value> {
    let errors = report.worst_gaps.iter().zip(&report.worst_velocity_errors);
    let blocks = model.rows.iter().zip(errors);
    blocks
        .map(|(block, (position, velocity))| {
            json!({
                "name": block.name,
                "kind": kind_name(&block.kind),
                "position_error": position,
                "tolerance": block.tolerance.unwrap_or(settings.tolerance),
                "velocity_error": velocity,
            })
        })
        .collect()
}

/// What a row block comes from, in a word.
pub fn kind_name(kind: &RowKind) -> &'static str {
    match kind {
        RowKind::Joint(_) => "joint",
        RowKind::Tie(_) => "coupling",
        RowKind::Equation(_) => "constraint",
        RowKind::Stop(_) => "stop",
        RowKind::Friction(_) => "friction",
    }
}

/// The largest value; not-a-number wins, 0 without any.
pub fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, |a, b| if b > a || b.is_nan() { b } else { a })
}

/// a / b, 0 where b is 0.
fn quotient(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}
