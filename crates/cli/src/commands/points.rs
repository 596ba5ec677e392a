//! `gelenk points`: rigid bodies as point masses.

use gelenk::files::Kind;
use gelenk::model::{BodyKind, Loaded};
use gelenk::points::{PointModel, PointModelError, point_model_of, six_masses};
use serde_json::{Value, json};

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::PointsArgs;
use crate::files;
use crate::show::width;
use crate::source::{self, Start};
use crate::text::{Align, Table, counted, sig};

pub(crate) fn run(args: &PointsArgs, manner: Manner) -> Result<Answer, Failure> {
    if args.six {
        return Ok(six(&source::load(&args.model, Start::MayBeOpen, manner)?));
    }
    let loaded = source::load(&args.model, Start::MustClose, manner)?;
    if let Some(path) = &args.output {
        files::check_place(path, Kind::Text, &args.model.model, manner)?;
    }
    let converted = point_model_of(&loaded).map_err(|error| match error {
        PointModelError::Start(why) => Failure::new(Exit::Failed, why),
        other => Failure::input(other.to_string()),
    })?;
    let text = converted.to_toml();
    let mut json = to_json(&converted);
    match &args.output {
        None => {
            json["text"] = text.clone().into();
            Ok(Answer::done(json, text).asked())
        }
        Some(path) => {
            files::write(path, Kind::Text, manner, text.as_bytes())?;
            json["output"] = path.display().to_string().into();
            let told = format!(
                "{} with {} and {}, {} left out: {}\n",
                counted(converted.points.len() as u64, "point mass", "point masses"),
                counted(converted.distances.len() as u64, "distance", "distances"),
                counted(converted.equations.len() as u64, "equation", "equations"),
                counted(
                    converted.redundant.len() as u64,
                    "redundant constraint",
                    "redundant constraints"
                ),
                path.display()
            );
            Ok(Answer::done(json, told))
        }
    }
}

/// The six masses of every body that moves, in its own frame.
fn six(loaded: &Loaded) -> Answer {
    let mut table =
        Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]);
    table.row(["body", "mass, kg", "x, m", "y", "z"]);
    let mut json = serde_json::Map::new();
    for body in loaded.model.bodies.iter().filter(|b| !b.fixed && b.kind == BodyKind::Rigid) {
        let masses = six_masses(body.mass, &body.inertia);
        let places = masses.map(|point| {
            let place = body.frame_rot.inverse_transform_vector(&(point.place - body.frame_origin));
            let [x, y, z] = [0, 1, 2].map(|k| place[k]);
            let numbers = [point.mass, x, y, z].map(|number| sig(number, 6));
            table.row(std::iter::once(body.name.clone()).chain(numbers));
            json!({ "mass": point.mass, "position": [x, y, z] })
        });
        json.insert(body.name.clone(), json!(places));
    }
    let text = table.render(width());
    Answer::done(json!({ "name": loaded.model.name, "bodies": json }), text).asked()
}

fn to_json(converted: &PointModel) -> Value {
    let bodies = converted.bodies.iter().map(|(name, points)| {
        let names: Vec<&str> =
            points.iter().map(|p| converted.points[p.point].name.as_str()).collect();
        (name.clone(), json!(names))
    });
    json!({
        "name": converted.name,
        "points": converted.points.len(),
        "distances": converted.distances.len(),
        "equations": converted.equations.len(),
        "forces": converted.forces.len(),
        "redundant": converted.redundant,
        "bodies": Value::Object(bodies.collect()),
    })
}
