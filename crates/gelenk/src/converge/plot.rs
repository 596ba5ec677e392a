//! A study as a picture: error against step, and error against what it costs.

use gelenk_model::Model;

use super::Study;
use crate::svg::{Anchor, Color, FAINT, GRID, INK, Point, Svg};

const WIDTH: f64 = 880.0;
/// Height of a row of the legend, px.
const ROW: f64 = 18.0;
/// Left edges of the two panels, their width, top and bottom, px.
const LEFT: [f64; 2] = [70.0, 490.0];
const PANEL: f64 = 360.0;
const TOP: f64 = 70.0;
const BOTTOM: f64 = 350.0;
/// Where the legend begins, px, and its columns.
const LEGEND: f64 = 418.0;
const COLUMNS: usize = 3;

/// Draws a study as SVG: both panels have logarithmic axes, so that a method of order p is a line of slope p.
///
/// Errors that say nothing about the method (rounding, reference) are drawn faint. Error against cost shows times on
/// the clock, so that one picture is never quite the next.
pub fn plot_svg(model: &Model, study: &Study) -> String {
    let title = format!("{}: convergence of order {}", model.name, study.settings.order);
    let rows = study.quantities.len().div_ceil(COLUMNS) as f64;
    let height = LEGEND + rows * ROW + 10.0;
    let mut svg = Svg::new(WIDTH, height, &title);
    svg.text([24.0, 34.0], &title, 16.0, INK, Anchor::Start);
    let errors: Vec<f64> = study.levels.iter().flat_map(|level| level.errors.clone()).collect();
    let Some(error_axis) = Axis::around(&errors, [BOTTOM, TOP]) else {
        svg.text([WIDTH / 2.0, height / 2.0], "no error to draw", 15.0, FAINT, Anchor::Middle);
        return svg.finish();
    };
    let costs: [Vec<f64>; 2] = [
        study.levels.iter().map(|level| level.step).collect(),
        study.levels.iter().map(|level| level.wall_seconds).collect(),
    ];
    let labels = ["step, s", "time on the clock, s"];
    for (panel, (costs, label)) in costs.iter().zip(labels).enumerate() {
        let left = LEFT[panel];
        let Some(axis) = Axis::around(costs, [left, left + PANEL]) else { continue };
        grid(&mut svg, &axis, &error_axis, label);
        if panel == 0 {
            guide(&mut svg, study, &axis, &error_axis);
        }
        series(&mut svg, study, costs, &axis, &error_axis);
    }
    svg.text([LEFT[0], TOP - 12.0], "error", 12.0, FAINT, Anchor::Start);
    legend(&mut svg, study);
    svg.finish()
}

/// A logarithmic axis over whole decades.
struct Axis {
    /// Exponents at both ends.
    low: f64,
    high: f64,
    /// Pixels at both ends.
    pixels: Point,
}

impl Axis {
    /// The decades around all positive values; `None` if there is none.
    fn around(values: &[f64], pixels: Point) -> Option<Self> {
        let good = || values.iter().copied().filter(|v| v.is_finite() && *v > 0.0);
        let low = good().fold(f64::INFINITY, f64::min);
        let high = good().fold(0.0, f64::max);
        if high <= 0.0 {
            return None;
        }
        let (low, mut high) = (low.log10().floor(), high.log10().ceil());
        if high - low < 1.0 {
            high = low + 1.0;
        }
        Some(Axis { low, high, pixels })
    }

    fn place(&self, value: f64) -> f64 {
        let part = (value.log10() - self.low) / (self.high - self.low);
        self.pixels[0] + part * (self.pixels[1] - self.pixels[0])
    }

    /// Exponents to label: at most eight of them.
    fn decades(&self) -> Vec<i32> {
        #[expect(clippy::cast_possible_truncation, reason = "exponents of finite numbers")]
        let (low, high) = (self.low as i32, self.high as i32);
        let every = ((high - low) / 8 + 1).max(1);
        (low..=high).filter(|e| (e - low) % every == 0).collect()
    }
}

/// Lines at the decades, with their numbers.
fn grid(svg: &mut Svg, x_axis: &Axis, y_axis: &Axis, label: &str) {
    let [left, right] = x_axis.pixels;
    for e in y_axis.decades() {
        let y = y_axis.place(10_f64.powi(e));
        svg.line([left, y], [right, y], GRID, 1.0);
        power(svg, [left - 8.0, y + 4.0], e, Anchor::End);
    }
    for e in x_axis.decades() {
        let x = x_axis.place(10_f64.powi(e));
        svg.line([x, TOP], [x, BOTTOM], GRID, 1.0);
        power(svg, [x, BOTTOM + 18.0], e, Anchor::Middle);
    }
    svg.text([f64::midpoint(left, right), BOTTOM + 38.0], label, 12.0, FAINT, Anchor::Middle);
}

/// 10 to the power e, as 1e-6.
fn power(svg: &mut Svg, at: Point, e: i32, anchor: Anchor) {
    let text = if (0..=3).contains(&e) {
        10_i32.pow(e.unsigned_abs()).to_string()
    } else {
        format!("1e{e}")
    };
    svg.text(at, &text, 11.0, FAINT, anchor);
}

/// A dashed line with the slope that the method promises, below the smallest errors.
fn guide(svg: &mut Svg, study: &Study, x_axis: &Axis, y_axis: &Axis) {
    let (Some(first), Some(last)) = (study.levels.first(), study.levels.last()) else { return };
    let errors = first.errors.iter().copied().filter(|error| *error > 0.0);
    let error = 0.5 * errors.fold(f64::INFINITY, f64::min);
    if !error.is_finite() {
        return;
    }
    let order = f64::from(study.settings.order);
    let at = |step: f64| {
        let value = error * (step / first.step).powf(order);
        [x_axis.place(step), y_axis.place(value).clamp(TOP, BOTTOM)]
    };
    // Where it would leave the picture below, it ends.
    let floor = 10_f64.powf(y_axis.low);
    let lowest = first.step * (floor / error).powf(1.0 / order);
    let end = at(last.step.max(lowest));
    svg.polyline(&[at(first.step), end], FAINT, 1.0, " stroke-dasharray=\"4 4\"");
    let text = format!("slope {}", study.settings.order);
    svg.text([end[0] + 8.0, end[1] + 4.0], &text, 11.0, FAINT, Anchor::Start);
}

fn series(svg: &mut Svg, study: &Study, costs: &[f64], x_axis: &Axis, y_axis: &Axis) {
    let n = study.quantities.len();
    for k in 0..n {
        let color = Color::of(k, n).to_string();
        let mut points: Vec<(Point, bool)> = Vec::new();
        for (i, (level, &cost)) in study.levels.iter().zip(costs).enumerate() {
            let error = level.errors[k];
            if error > 0.0 && error.is_finite() && cost > 0.0 {
                let at = [x_axis.place(cost), y_axis.place(error)];
                points.push((at, study.is_clean(i, k)));
            }
        }
        for pair in points.windows(2) {
            svg.group(if pair[0].1 && pair[1].1 { 1.0 } else { 0.35 });
            svg.line(pair[0].0, pair[1].0, &color, 2.0);
            svg.end_group();
        }
        for (at, clean) in points {
            svg.group(if clean { 1.0 } else { 0.35 });
            svg.circle(at, 3.5, &color, "none", 0.0);
            svg.end_group();
        }
    }
}

/// The quantities with their measured orders.
fn legend(svg: &mut Svg, study: &Study) {
    let n = study.quantities.len();
    for (k, quantity) in study.quantities.iter().enumerate() {
        let x = LEFT[0] + (k % COLUMNS) as f64 * 260.0;
        let y = LEGEND + (k / COLUMNS) as f64 * ROW;
        svg.circle([x, y - 4.0], 4.0, &Color::of(k, n).to_string(), "none", 0.0);
        let order = study.measured_order(k).map_or("none".to_owned(), |p| format!("{p:.2}"));
        let text = format!("{}, {}: order {order}", quantity.name, quantity.unit);
        svg.text([x + 12.0, y], &text, 12.0, INK, Anchor::Start);
    }
}
