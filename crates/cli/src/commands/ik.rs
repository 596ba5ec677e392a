//! `gelenk ik`: joint coordinates with which a marker is at a place.

use std::fmt::Write;

use gelenk::model::math::{Quat, Vec3};
use gelenk::model::reach::{ReachOptions, Reached, Target, reach};
use gelenk::model::signal::BodyVector;
use gelenk::model::{Model, joint::CoordinateKind};
use serde_json::{Map, Value, json};

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::IkArgs;
use crate::show::{BOLD, DIM, HINT, styled, width};
use crate::source::{self, Start};
use crate::text::{Align, Table, counted, sig};

pub(crate) fn run(args: &IkArgs, manner: Manner) -> Result<Answer, Failure> {
    let loaded = source::load(&args.model, Start::MustClose, manner)?;
    let model = &loaded.model;
    let rotation = match args.rotation {
        Some([w, x, y, z]) => {
            let q = gelenk::model::math::quaternion(w, x, y, z);
            Some(q.ok_or_else(|| Failure::input("--rotation is zero; no rotation is 1,0,0,0"))?)
        }
        None => None,
    };
    let target = Target { point: point(model, args)?, position: Vec3::from(args.to), rotation };
    let options = ReachOptions {
        tolerance: args.tolerance.unwrap_or(ReachOptions::default().tolerance),
        ..ReachOptions::default()
    };
    let found =
        reach(model, &target, &options).map_err(|error| Failure::input(error.to_string()))?;
    let (json, text) = (to_json(model, &found), to_text(model, args, &found, rotation));
    Ok(Answer::done(json, text).exit(if found.there { Exit::Done } else { Exit::Negative }))
}

/// The point of `--marker` or `--body`.
fn point(model: &Model, args: &IkArgs) -> Result<BodyVector, Failure> {
    let unknown = |what: &str, name: &str, known: Vec<&str>| {
        let failure = Failure::input(format!("there is no {what} `{name}`"));
        match gelenk::nearest(name, known.iter().copied()) {
            Some(near) => failure.help(format!("did you mean `{near}`?")),
            None => failure.help(format!("there are: {}", known.join(", "))),
        }
    };
    match (&args.marker, &args.body) {
        (Some(name), _) => {
            let found = model.markers.iter().find(|marker| marker.name == *name);
            let known = || model.markers.iter().map(|marker| marker.name.as_str()).collect();
            found.map(|marker| marker.vector).ok_or_else(|| unknown("marker", name, known()))
        }
        (None, Some(name)) => {
            let known = || model.bodies.iter().skip(1).map(|body| body.name.as_str()).collect();
            let body = model.body(name).ok_or_else(|| unknown("body", name, known()))?;
            let local = model.bodies[body.index()].frame_origin;
            Ok(BodyVector { body, local, is_point: true })
        }
        (None, None) => Err(Failure::input("name what is to be there: --marker or --body")),
    }
}

/// Names and values of the coordinates: joint, coordinate, whether it is an angle.
fn values<'m>(model: &'m Model, found: &Reached) -> Vec<(&'m str, &'static str, bool, usize, f64)> {
    let list = found.coordinates.iter().map(|&(axis, value)| {
        let joint = &model.joints[axis.joint.index()];
        let all = joint.kind.equations().coordinates();
        let coordinate = all[axis.which];
        let angle = coordinate.kind == CoordinateKind::Angle;
        (joint.name.as_str(), coordinate.name, angle, all.len(), value)
    });
    list.collect()
}

/// What `--start` takes.
fn starts(model: &Model, found: &Reached) -> Vec<String> {
    let start = |(joint, coordinate, _, n, value): (&str, &str, bool, usize, f64)| {
        if n == 1 {
            format!("{joint}={value:?}")
        } else {
            format!("{joint}.{coordinate}={value:?}")
        }
    };
    values(model, found).into_iter().map(start).collect()
}

fn to_json(model: &Model, found: &Reached) -> Value {
    let mut joints = Map::new();
    for (joint, coordinate, _, _, value) in values(model, found) {
        let entry = joints.entry(joint.to_owned()).or_insert_with(|| json!({}));
        entry[coordinate] = json!(value);
    }
    json!({
        "model": model.name,
        "there": found.there,
        "distance": found.distance,
        "angle": found.angle,
        "joints": joints,
        "start": starts(model, found),
        "steps": found.rounds,
        "final": gelenk::start::start_json(model, &found.state),
    })
}

fn to_text(model: &Model, args: &IkArgs, found: &Reached, rotation: Option<Quat>) -> String {
    let name = args.marker.as_ref().or(args.body.as_ref()).map_or("", String::as_str);
    let mut out = format!("{}\n", styled(BOLD, &model.name));
    let turned = match rotation {
        Some(_) => format!(" and {} rad", sig(found.angle, 2)),
        None => String::new(),
    };
    let off = format!("{} m{turned}", sig(found.distance, 2));
    let steps = counted(u64::from(found.rounds), "step", "steps");
    let _ = if found.there {
        writeln!(out, "  `{name}` is there, to {off}, after {steps}")
    } else {
        writeln!(
            out,
            "  `{name}` does not get there: {off} remain at the nearest place found, after {steps}"
        )
    };
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right]);
    table.styled(DIM, ["", "rad or m", "degrees"]);
    for (joint, coordinate, angle, _, value) in values(model, found) {
        let degrees = if angle { sig(value.to_degrees(), 6) } else { String::new() };
        table.row([format!("{joint}.{coordinate}"), sig(value, 8), degrees]);
    }
    let _ = write!(out, "\n{}", table.render(width()));
    if found.there {
        let starts: Vec<String> =
            starts(model, found).iter().map(|start| format!("--start {start}")).collect();
        let _ = writeln!(
            out,
            "\n{}  gelenk run {} {}",
            styled(HINT, "next:"),
            args.model.model,
            starts.join(" ")
        );
    }
    out
}
