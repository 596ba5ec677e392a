//! Plots of any quantity of a recording over time.

use gelenk_model::Model;

use super::{Columns, ExportError};
use crate::plot::Plot;
use crate::quantity::name_today;
use crate::recording::{RecordedSample, RecordingError};

/// Points that a curve keeps; more cannot be seen.
const MOST_POINTS: usize = 4000;

/// Plots columns over time, as SVG: one panel a unit, one below the other.
///
/// `wanted` names columns as tables have them (`body.bob.position.z`) or their beginnings (`joint.elbow`,
/// `energy`), up to a dot. [`ExportError::NoColumn`] names what is not there, with the nearest that is.
pub fn plot_svg(
    model: &Model,
    samples: impl IntoIterator<Item = Result<RecordedSample, RecordingError>>,
    wanted: &[String],
) -> Result<String, ExportError> {
    let mut columns = Columns::new(model);
    let mut chosen: Vec<usize> = Vec::new();
    for name in wanted {
        let today = name_today(model, name);
        let name = today.as_ref().unwrap_or(name);
        let found = columns.columns().iter().enumerate().filter(|(_, column)| {
            let rest = column.name.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        let found: Vec<usize> = found.map(|(i, _)| i).collect();
        if found.is_empty() {
            let names = columns.columns().iter().map(|column| column.name.as_str());
            let near = gelenk_expr::nearest(name, names).map(str::to_owned);
            return Err(ExportError::NoColumn { name: name.clone(), near });
        }
        for i in found {
            if !chosen.contains(&i) {
                chosen.push(i);
            }
        }
    }
    let mut row = Vec::new();
    let mut curves: Vec<Vec<(f64, f64)>> = vec![Vec::new(); chosen.len()];
    let mut every = 1;
    for (n, sample) in samples.into_iter().enumerate() {
        let sample = sample?;
        if n % every != 0 {
            continue;
        }
        columns.row(&sample.as_sample(), &mut row)?;
        for (curve, i) in curves.iter_mut().zip(&chosen) {
            curve.push((row[0], row[*i]));
        }
        if curves.first().is_some_and(|curve| curve.len() >= 2 * MOST_POINTS) {
            every *= 2;
            for curve in &mut curves {
                let mut keep = false;
                curve.retain(|_| {
                    keep = !keep;
                    keep
                });
            }
        }
    }
    let mut units: Vec<&'static str> = Vec::new();
    for i in &chosen {
        let unit = columns.columns()[*i].unit;
        if !units.contains(&unit) {
            units.push(unit);
        }
    }
    let mut panels = Vec::new();
    for (k, unit) in units.iter().enumerate() {
        let title = if k == 0 { model.name.as_str() } else { "" };
        let own = || chosen.iter().map(|i| &columns.columns()[*i]).zip(&curves);
        let mut names = own().filter(|(c, _)| c.unit == *unit).map(|(c, _)| c.name.as_str());
        // One line needs no legend, but a name.
        let name = names.next().filter(|_| names.next().is_none()).unwrap_or("");
        let mut plot = Plot::new(title).x_axis("time", "s").y_axis(name, unit);
        for (column, curve) in own().filter(|(column, _)| column.unit == *unit) {
            plot = plot.line(&column.name, curve.iter().copied());
        }
        panels.push(plot.to_svg());
    }
    Ok(stacked(&panels))
}

/// Pictures one below the other; each says its own size.
fn stacked(panels: &[String]) -> String {
    if let [one] = panels {
        return one.clone();
    }
    let size = |svg: &str, key: &str| -> f64 {
        let start = svg.find(&format!(" {key}=\"")).map(|at| at + key.len() + 3);
        let text = start.and_then(|start| svg[start..].split('"').next());
        text.and_then(|text| text.parse().ok()).unwrap_or(0.0)
    };
    let width = panels.iter().map(|svg| size(svg, "width")).fold(0.0, f64::max);
    let height: f64 = panels.iter().map(|svg| size(svg, "height")).sum();
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n"
    );
    let mut y = 0.0;
    for svg in panels {
        out.push_str(&svg.replacen("<svg ", &format!("<svg y=\"{y}\" "), 1));
        out.push('\n');
        y += size(svg, "height");
    }
    out.push_str("</svg>\n");
    out
}
