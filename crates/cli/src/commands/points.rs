//! `gelenk points`: rigid bodies as point masses.

use gelenk::files::Kind;
use gelenk::points::{PointModel, PointModelError, point_model_of};
use serde_json::{Value, json};

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::PointsArgs;
use crate::files;
use crate::source::{self, Start};
use crate::text::counted;

pub(crate) fn run(args: &PointsArgs, manner: Manner) -> Result<Answer, Failure> {
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
