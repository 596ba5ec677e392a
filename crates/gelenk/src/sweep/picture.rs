//! Pictures of a sweep: a curve over what is varied, or a map over two things that are.

use super::{Plan, Range, Row, Vary};
use crate::plot::{Map, Plot};

/// Why a sweep has no pictures.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// Too many dimensions, or none.
    #[error("pictures show sweeps of one or two things; this one varies {0}")]
    Dimensions(usize),
    /// No numbers.
    #[error("nothing is kept that could be drawn")]
    Nothing,
}

fn is_log(vary: &Vary) -> bool {
    matches!(vary.range, Range::Between { log: true, .. })
}

/// One SVG picture for each number that is kept, with its name; members that failed leave gaps.
pub fn pictures(plan: &Plan, rows: &[Row]) -> Result<Vec<(String, String)>, PictureError> {
    if plan.keep.is_empty() {
        return Err(PictureError::Nothing);
    }
    let drawn = |k: usize, name: &str| match plan.vary.as_slice() {
        [x] => {
            let mut points: Vec<(f64, f64)> = rows
                .iter()
                .map(|row| {
                    let at = plan.values(row.member).first().copied().unwrap_or(f64::NAN);
                    (at, row.results.get(k).copied().unwrap_or(f64::NAN))
                })
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut plot = Plot::new(&format!("{}: {name}", plan.name))
                .x_axis(&x.what.column(), "")
                .y_axis(name, "");
            if is_log(x) {
                plot = plot.log_x();
            }
            Ok(plot.marks(name, points).to_svg())
        }
        [x, y] => {
            let points = rows.iter().map(|row| {
                let at = plan.values(row.member);
                let z = row.results.get(k).copied().unwrap_or(f64::NAN);
                [at.first().copied().unwrap_or(f64::NAN), at.get(1).copied().unwrap_or(f64::NAN), z]
            });
            let map = Map::new(&format!("{}: {name}", plan.name), points)
                .axes(&x.what.column(), &y.what.column())
                .log([is_log(x), is_log(y)]);
            Ok(map.to_svg())
        }
        other => Err(PictureError::Dimensions(other.len())),
    };
    plan.keep
        .iter()
        .enumerate()
        .map(|(k, keep)| Ok((keep.name.clone(), drawn(k, &keep.name)?)))
        .collect()
}
