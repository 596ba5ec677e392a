//! `gelenk singularities`: where constraints lose rank, and how a motion passes.

use std::fmt::Write;

use gelenk::expr::Rational;
use gelenk::model::Model;
use gelenk::singular::{
    Analysis, Branch, CrossOptions, CrossRun, Error, Field, Method, Passage, PointConstraints,
    Position, Resolution, SingularError, System, analyse_model, cross_model, follow, place_text,
    point_constraints,
};
use serde_json::{Map, Value, json};

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::SingularitiesArgs;
use crate::source::{self, Start};
use crate::text::sig;

pub(crate) fn run(args: &SingularitiesArgs, manner: Manner) -> Result<Answer, Failure> {
    let loaded = source::load(&args.model, Start::MustClose, manner)?;
    let constraints = match point_constraints(&loaded) {
        Err(SingularError::Body(_)) => return Ok(followed(args, &loaded.model)),
        found => found.map_err(|error| failure(&error))?,
    };
    if args.duration.is_some() && !args.cross {
        return Err(Failure::input(
            "--duration says how long to move the model: point masses move with --cross",
        ));
    }
    let analysis = analyse_model(&constraints, args.work).map_err(|error| failure(&error))?;
    let mut text = analysis.to_string();
    if !constraints.free.is_empty() {
        let _ = writeln!(text, "in no constraint: {}", constraints.free.join(", "));
    }
    let mut json = to_json(&loaded.model.name, &constraints, &analysis, args.polar);
    if args.polar {
        write_polar(&mut text, &analysis);
    }
    if args.cross {
        let duration = args.duration.unwrap_or(loaded.model.run.duration);
        let method = if args.polar { Method::Polar } else { Method::Curve };
        let options = CrossOptions { tolerance: args.tolerance, method, ..CrossOptions::default() };
        match cross_model(&constraints, &analysis, duration, &options, &mut |_, _, _| {}) {
            Ok(run) => {
                write_run(&mut text, &constraints, duration, &run);
                json["crossing"] = run_json(&constraints, duration, &run);
            }
            Err(error) => return Ok(Answer::done(json, text).failed(failure(&error))),
        }
    }
    Ok(Answer::done(json, text))
}

/// Models of rigid bodies: the singular positions on the way of the run.
fn followed(args: &SingularitiesArgs, model: &Model) -> Answer {
    let duration = args.duration.unwrap_or(model.run.duration);
    let (passages, end) = follow(model, duration, args.tolerance);
    let mut text = format!(
        "{}: rigid bodies in natural coordinates, followed from the start for {duration} s\n",
        model.name
    );
    if passages.is_empty() {
        text.push_str("  no singular position is met\n");
    }
    for passage in &passages {
        write_passage(&mut text, passage);
    }
    let positions: Vec<Value> = passages.iter().map(passage_json).collect();
    let json = json!({ "model": model.name, "duration": duration, "passages": positions });
    let answer = Answer::done(json, text);
    match end {
        Some(error) => answer.failed(Failure::new(Exit::Failed, error.to_string())),
        None => answer,
    }
}

/// A direction in named coordinates: "A.x : B.x = 1 : 2".
fn direction(names: &[String], values: &[f64]) -> String {
    let values: Vec<String> = values.iter().map(|x| sig(*x, 6)).collect();
    format!("{} = {}", names.join(" : "), values.join(" : "))
}

fn write_passage(text: &mut String, passage: &Passage) {
    let centres = passage.place.iter().filter(|(name, _)| !name.contains(".R."));
    let place: Vec<String> = centres
        .map(|(name, x)| {
            let x = if x.abs() < 5e-10 { 0.0 } else { *x };
            format!("{} = {}", name.replace(".s.", "."), sig(x, 9))
        })
        .collect();
    let _ = writeln!(text, "\nsingular position at t = {:.9} s", passage.time);
    let _ = writeln!(text, "  {}", place.join(", "));
    let _ = writeln!(
        text,
        "  {} independent conditions on {} coordinates, ranks lost here: {}, t-order {}",
        passage.independent,
        passage.place.len(),
        passage.lost,
        passage.order
    );
    if !passage.redundant.is_empty() {
        let _ = writeln!(text, "  redundant everywhere: {}", passage.redundant.join("; "));
    }
    let _ = writeln!(text, "  what is left of the conditions in lowest order:");
    for line in &passage.reduced {
        let _ = writeln!(text, "    {line}");
    }
    if let Some(chart) = passage.variables.first() {
        let _ = writeln!(text, "  blown up along {chart}, {} round(s):", passage.rounds);
    }
    for line in &passage.blown_up {
        let _ = writeln!(text, "    {line}");
    }
    for branch in &passage.branches {
        let _ = writeln!(text, "  branch {}", direction(&passage.variables, branch));
    }
    let _ = writeln!(text, "  taken  {}", direction(&passage.variables, &passage.taken));
}

fn passage_json(passage: &Passage) -> Value {
    let place: Map<String, Value> =
        passage.place.iter().map(|(name, x)| (name.clone(), (*x).into())).collect();
    json!({
        "time": passage.time,
        "kind": "singularity",
        "place": place,
        "independent": passage.independent,
        "redundant": passage.redundant,
        "ranks_lost": passage.lost,
        "t_order": passage.order,
        "rounds": passage.rounds,
        "variables": passage.variables,
        "reduced": passage.reduced,
        "blown_up": passage.blown_up,
        "branches": passage.branches,
        "taken": passage.taken,
    })
}

fn failure(error: &SingularError) -> Failure {
    match error {
        SingularError::Algebra(Error::NoSmoothMotion { .. } | Error::Integration(_)) => {
            Failure::new(Exit::Failed, error.to_string())
        }
        _ => Failure::input(error.to_string()),
    }
}

fn write_polar(text: &mut String, analysis: &Analysis) {
    let names = &analysis.system.names;
    for position in &analysis.positions {
        for (number, resolved) in position.resolved.iter().enumerate() {
            let place = place_text(names, &position.place);
            let _ = writeln!(text, "\npolar, position {place}, branch {}", number + 1);
            for line in resolved.polar.to_string().lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
}

fn write_run(text: &mut String, constraints: &PointConstraints, duration: f64, run: &CrossRun) {
    let names = &constraints.mechanism.constraints.names;
    let _ = writeln!(text, "\nmotion from the start to {duration} s");
    for crossing in &run.crossings {
        let place = place_text(names, &crossing.place.x);
        let _ = writeln!(text, "  singularity at t = {:.9} s: {place}", crossing.time);
    }
    if run.crossings.is_empty() {
        let _ = writeln!(text, "  no singularity is met");
    }
    let _ = writeln!(text, "  at the end {}", place_text(names, &run.x));
    let _ = writeln!(
        text,
        "  {} steps ({} refused), {} evaluations, {} Taylor expansions",
        run.steps, run.rejected, run.evaluations, run.expansions
    );
    let _ = writeln!(
        text,
        "  energy within {} J (projections took away {} J), constraints within {}",
        sig(run.energy_error, 2),
        sig(run.energy_corrected, 2),
        sig(run.constraint_error, 2)
    );
}

fn by_name<T: Clone + Into<Value>>(names: &[String], values: &[T]) -> Value {
    let pairs = names.iter().cloned().zip(values.iter().cloned().map(Into::into));
    Value::Object(pairs.collect::<Map<String, Value>>())
}

fn exact(values: &[Rational]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

fn lines<C: Field>(system: &System<C>) -> Vec<String> {
    system.lines()
}

fn resolution_json(resolution: &Resolution<Rational>) -> Value {
    let rounds: Vec<Value> = resolution
        .rounds
        .iter()
        .map(|round| {
            json!({
                "before": lines(&round.before),
                "triangular": lines(&round.triangular),
                "along": round.before.names[round.chart],
                "substituted": lines(&round.substituted),
                "divided": lines(&round.divided),
                "point": by_name(&round.divided.names, &exact(&round.point)),
                "t_order_before": round.order_before,
                "t_order_after": round.order_after,
            })
        })
        .collect();
    json!({
        "rounds": rounds,
        "equations": lines(&resolution.whole),
        "point": by_name(&resolution.whole.names, &exact(&resolution.point)),
    })
}

fn branch_json(names: &[String], place: &[Rational], branch: &Branch) -> Value {
    json!({
        "curve": branch.lines(names, place, 6),
        "tangent": by_name(names, &exact(&branch.tangent())),
        "t_order": branch.order,
        "traversable": branch.order.is_some(),
    })
}

fn position_json(names: &[String], position: &Position, polar: bool) -> Value {
    let branches: Vec<Value> = position
        .pairs()
        .map(|(branch, resolved)| {
            let mut json = branch_json(names, &position.place, branch);
            if let Some(resolved) = resolved {
                json["smooth_motion"] = resolved.smooth.into();
                let shown = if polar { &resolved.polar } else { &resolved.curve };
                json["blow_up"] = resolution_json(shown);
            }
            json
        })
        .collect();
    let cuts: Vec<String> =
        position.branches.cuts.iter().map(|cut| format!("{} = 0", cut.text(names))).collect();
    let irrational: Vec<Value> = position
        .branches
        .irrational
        .iter()
        .map(|(slope, values)| json!({ "slope": slope, "values": values }))
        .collect();
    json!({
        "place": by_name(names, &exact(&position.place)),
        "rank": position.rank,
        "branches": branches,
        "cuts": cuts,
        "irrational": irrational,
        "branches_complete": !position.branches.incomplete && irrational.is_empty(),
    })
}

fn to_json(model: &str, constraints: &PointConstraints, analysis: &Analysis, polar: bool) -> Value {
    let names = &analysis.system.names;
    let equations = lines(&analysis.system);
    let listed: Vec<Value> = constraints
        .names
        .iter()
        .zip(&equations)
        .map(|(name, equation)| json!({ "name": name, "equation": equation }))
        .collect();
    let redundancy = analysis.redundancy.as_ref();
    let redundant: Vec<&String> = redundancy
        .map(|r| r.members.iter().map(|i| &constraints.names[*i]).collect())
        .unwrap_or_default();
    let squares: Vec<Value> = redundancy
        .map(|r| {
            let texts = |s: &gelenk::singular::Squares| {
                let forms = s.forms.iter().map(|f| format!("{} = 0", f.text(names)));
                json!({
                    "combination": format!("{} = 0", s.combination.text(names)),
                    "forms": forms.collect::<Vec<_>>(),
                })
            };
            r.squares.iter().map(texts).collect()
        })
        .unwrap_or_default();
    let positions: Vec<Value> =
        analysis.positions.iter().map(|p| position_json(names, p, polar)).collect();
    let rounded: Vec<Value> = analysis.rounded.iter().map(|x| by_name(names, x)).collect();
    json!({
        "model": model,
        "constraints": listed,
        "start": by_name(names, &analysis.point),
        "rank": analysis.rank,
        "redundant": redundant,
        "redundancy_decided": redundancy.is_some(),
        "squares": squares,
        "simplified": redundancy.map(|r| lines(&r.simplified)),
        "positions": positions,
        "irrational_positions": rounded,
        "positions_complete": analysis.complete,
        "free": constraints.free,
        "notes": analysis.notes,
    })
}

fn run_json(constraints: &PointConstraints, duration: f64, run: &CrossRun) -> Value {
    let names = &constraints.mechanism.constraints.names;
    let events: Vec<Value> = run
        .crossings
        .iter()
        .map(|crossing| {
            json!({
                "time": crossing.time,
                "kind": "singularity",
                "between": constraints.names,
                "place": by_name(names, &crossing.place.x),
                "velocity": by_name(names, &crossing.velocity),
                "exact": crossing.place.exact.is_some(),
                "blown_up": crossing.from_to,
            })
        })
        .collect();
    json!({
        "duration": duration,
        "steps": run.steps,
        "rejected": run.rejected,
        "evaluations": run.evaluations,
        "expansions": run.expansions,
        "energy": { "max_abs_error": run.energy_error, "corrected": run.energy_corrected },
        "constraint": { "max_position_error": run.constraint_error },
        "events": events,
        "final": { "position": by_name(names, &run.x), "velocity": by_name(names, &run.v) },
    })
}
