//! Maps as SVG: a number over two others, as colour.

use super::axis::{Axis, Scale};
use super::{BOTTOM, LEFT, TOP};
use crate::svg::{Anchor, Color, FAINT, INK, PAPER, Svg, number};

/// Colours from the lowest value to the highest: their lightness grows, so that they are told apart without hue.
const STOPS: [Color; 5] = [
    Color(0x2b, 0x1d, 0x5c),
    Color(0x22, 0x5e, 0xa8),
    Color(0x1b, 0x9e, 0x8a),
    Color(0x8f, 0xcc, 0x4a),
    Color(0xfd, 0xe7, 0x4c),
];
/// Room on the right, for the scale of colours, px.
const RIGHT: f64 = 118.0;
/// Places on an axis beyond which points are drawn as points, not as cells of a grid.
const MOST_CELLS: usize = 400;

/// A map of points (x, y, value): cells where they are a grid, else coloured points.
///
/// ```
/// use gelenk::plot::Map;
///
/// let grid = (0..12).map(|i| [f64::from(i % 4), f64::from(i / 4), f64::from(i)]);
/// assert!(Map::new("height", grid).axes("x", "y").to_svg().starts_with("<svg"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    title: String,
    axes: [String; 2],
    log: [bool; 2],
    points: Vec<[f64; 3]>,
}

impl Map {
    /// A map of 720 by 520 px.
    pub fn new(title: &str, points: impl IntoIterator<Item = [f64; 3]>) -> Self {
        Map {
            title: title.to_owned(),
            axes: Default::default(),
            log: [false; 2],
            points: points.into_iter().collect(),
        }
    }

    /// Names the axes.
    #[must_use]
    pub fn axes(mut self, x: &str, y: &str) -> Self {
        self.axes = [x.to_owned(), y.to_owned()];
        self
    }

    /// Which axes are logarithmic.
    #[must_use]
    pub fn log(mut self, log: [bool; 2]) -> Self {
        self.log = log;
        self
    }

    fn shows(&self, point: &[f64; 3]) -> bool {
        (0..2).all(|k| point[k].is_finite() && (!self.log[k] || point[k] > 0.0))
    }

    /// The picture. Points without a finite value stay empty.
    pub fn to_svg(&self) -> String {
        let (width, height) = (720.0, 520.0);
        let shown = || self.points.iter().filter(|point| self.shows(point));
        let scale = |k: usize| if self.log[k] { Scale::Log } else { Scale::Linear };
        let x = Axis::new(scale(0), shown().map(|p| p[0]), [LEFT, width - RIGHT]);
        let y = Axis::new(scale(1), shown().map(|p| p[1]), [height - BOTTOM, TOP]);
        let values = || shown().map(|p| p[2]).filter(|value| value.is_finite());
        let (low, high) = values()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let color = |value: f64| {
            // Halves, so that the difference stays finite.
            let range = 0.5 * high - 0.5 * low;
            let part = if range > 0.0 { (0.5 * value - 0.5 * low) / range } else { 0.5 };
            shade(part)
        };
        let mut svg = Svg::new(width, height, &self.title);
        svg.text([20.0, 30.0], &self.title, 16.0, INK, Anchor::Start);
        svg.clip("area", [LEFT, TOP], [width - RIGHT - LEFT, height - BOTTOM - TOP]);
        let places: Vec<[f64; 2]> = shown().map(|p| [x.place(p[0]), y.place(p[1])]).collect();
        let (columns, rows) = (steps(&places, 0), steps(&places, 1));
        let grid = columns.len() * rows.len() == places.len()
            && columns.len().max(rows.len()) <= MOST_CELLS;
        for (place, point) in places.iter().zip(shown()) {
            if !point[2].is_finite() {
                continue;
            }
            if grid {
                let [left, right] = edges(&columns, place[0], [LEFT, width - RIGHT]);
                let [top, bottom] = edges(&rows, place[1], [TOP, height - BOTTOM]);
                let [a, b, c, d] = [left, top, right - left, bottom - top].map(number);
                svg.raw(format_args!(
                    "<rect x=\"{a}\" y=\"{b}\" width=\"{c}\" height=\"{d}\" fill=\"{}\" shape-rendering=\"crispEdges\"/>",
                    color(point[2])
                ));
            } else {
                svg.circle(*place, 4.0, &color(point[2]).to_string(), PAPER, 0.6);
            }
        }
        svg.end_group();
        let (bottom, right) = (height - BOTTOM, width - RIGHT);
        for tick in &x.ticks {
            if let Some(label) = &tick.label {
                svg.line([tick.at, bottom], [tick.at, bottom + 4.0], INK, 1.0);
                svg.text([tick.at, bottom + 18.0], label, 12.0, FAINT, Anchor::Middle);
            }
        }
        for tick in &y.ticks {
            if let Some(label) = &tick.label {
                svg.line([LEFT - 4.0, tick.at], [LEFT, tick.at], INK, 1.0);
                svg.text([LEFT - 8.0, tick.at + 4.0], label, 12.0, FAINT, Anchor::End);
            }
        }
        svg.polyline(&[[LEFT, TOP], [LEFT, bottom], [right, bottom]], INK, 1.2, "");
        let named = |axis: &Axis, name: &str| match axis.factor_label() {
            None => name.to_owned(),
            Some(factor) => format!("{name} [{factor}]"),
        };
        let middle = f64::midpoint(LEFT, right);
        svg.text([middle, height - 14.0], &named(&x, &self.axes[0]), 13.0, INK, Anchor::Middle);
        let at = [22.0, f64::midpoint(bottom, TOP)];
        let turned = format!(" transform=\"rotate(-90 {} {})\"", number(at[0]), number(at[1]));
        svg.text_with(at, &named(&y, &self.axes[1]), 13.0, INK, Anchor::Middle, &turned);
        if low <= high {
            legend(&mut svg, [low, high], [right + 24.0, TOP, bottom]);
        }
        svg.finish()
    }
}

/// The scale of colours.
fn legend(svg: &mut Svg, [low, high]: [f64; 2], [left, top, bottom]: [f64; 3]) {
    let parts: u32 = 64;
    let tall = (bottom - top) / f64::from(parts);
    for i in 0..parts {
        let part = (f64::from(i) + 0.5) / f64::from(parts);
        let [a, b, c] = [left, bottom - (f64::from(i) + 1.0) * tall, tall + 0.5].map(number);
        svg.raw(format_args!(
            "<rect x=\"{a}\" y=\"{b}\" width=\"14\" height=\"{c}\" fill=\"{}\"/>",
            shade(part)
        ));
    }
    let scale = Axis::new(Scale::Linear, [low, high].into_iter(), [bottom, top]);
    // The axis leaves air above and below; the colours begin at the lowest value.
    let place = |at: f64| {
        let [from, to] = [low, high].map(|value| scale.place(value));
        if (to - from).abs() < 1e-9 {
            f64::midpoint(bottom, top)
        } else {
            bottom + (at - from) / (to - from) * (top - bottom)
        }
    };
    for tick in &scale.ticks {
        let at = place(tick.at);
        if let (Some(label), true) = (&tick.label, (top - 1.0..=bottom + 1.0).contains(&at)) {
            svg.text([left + 20.0, at + 4.0], label, 12.0, FAINT, Anchor::Start);
        }
    }
    if let Some(factor) = scale.factor_label() {
        svg.text([left, top - 8.0], &factor, 12.0, FAINT, Anchor::Start);
    }
}

/// The colour at a part of the way from lowest to highest.
fn shade(part: f64) -> Color {
    let place = part.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the number of stops"
    )]
    let stop = (place.floor() as usize).min(STOPS.len() - 2);
    STOPS[stop].toward(STOPS[stop + 1], place - stop as f64)
}

/// The places on an axis, each once, px.
fn steps(places: &[[f64; 2]], k: usize) -> Vec<f64> {
    let mut list: Vec<f64> = places.iter().map(|place| place[k]).collect();
    list.sort_by(f64::total_cmp);
    list.dedup_by(|a, b| (*a - *b).abs() < 1e-6);
    list
}

/// Half way to the places on both sides; at the ends as far as on the other side, and not beyond the area.
fn edges(list: &[f64], at: f64, ends: [f64; 2]) -> [f64; 2] {
    let i = list.partition_point(|place| *place < at - 1e-6);
    let half = |j: Option<usize>| j.and_then(|j| list.get(j)).map(|place| 0.5 * (place - at).abs());
    let (below, above) = (half(i.checked_sub(1)), half(Some(i + 1)));
    let down = below.or(above).unwrap_or(ends[1] - ends[0]);
    let up = above.or(below).unwrap_or(ends[1] - ends[0]);
    [(at - down).max(ends[0]), (at + up).min(ends[1])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_has_a_cell_for_each_value_and_none_for_what_is_missing() {
        let grid = (0..12).map(|i| [f64::from(i % 4), f64::from(i / 4), f64::from(i)]);
        let svg = Map::new("a grid", grid.clone()).axes("x", "<y>").to_svg();
        let cells = |svg: &str| svg.matches("crispEdges").count();
        assert_eq!(cells(&svg), 12);
        assert!(svg.contains("&lt;y&gt;") && svg.contains("#2b1d5c") && svg.contains("#fde74c"));
        let hole =
            grid.map(|p| if (p[2] - 5.0).abs() < 1e-12 { [p[0], p[1], f64::NAN] } else { p });
        let svg = Map::new("a hole", hole).to_svg();
        assert_eq!(cells(&svg), 11);
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn points_that_are_no_grid_are_points() {
        let points = [[1.0, 1.0, 1.0], [2.0, 3.0, 2.0], [10.0, 100.0, 3.0]];
        let svg = Map::new("points", points).log([true, true]).to_svg();
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(Map::new("none", []).to_svg().ends_with("</svg>\n"));
        let huge =
            Map::new("huge", [[-f64::MAX, 0.0, -f64::MAX], [f64::MAX, 1.0, f64::MAX]]).to_svg();
        assert!(!huge.contains("NaN") && !huge.contains("inf"));
    }
}
