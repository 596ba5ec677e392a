//! Line plots as SVG: small, exact (points are not rounded to pixels), and the same bytes for the same data.
//!
//! ```
//! use gelenk::plot::Plot;
//!
//! let times: Vec<f64> = (0..100).map(|i| f64::from(i) * 0.1).collect();
//! let plot = Plot::new("A mass on a spring")
//!     .x_axis("time", "s")
//!     .y_axis("position", "m")
//!     .line("y", times.iter().map(|t| (*t, t.cos())));
//! assert!(plot.to_svg().starts_with("<svg"));
//! ```

mod axis;
mod map;

use crate::svg::{Anchor, COLORS, FAINT, GRID, INK, Point, Svg, text_width};
use axis::{Axis, Scale};
pub use map::Map;

/// A plot; built up call by call, then written with [`Plot::to_svg`].
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    title: String,
    width: f64,
    height: f64,
    labels: [Label; 2],
    log: [bool; 2],
    series: Vec<Series>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Label {
    name: String,
    unit: String,
}

#[derive(Clone, Debug, PartialEq)]
struct Series {
    name: String,
    points: Vec<(f64, f64)>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// A line.
    Line,
    /// A line with its points.
    Marks,
    /// A dashed line y ∝ x^order that touches the data.
    Slope(f64),
}

/// Room on the left, right, top and bottom, px.
const LEFT: f64 = 78.0;
const RIGHT: f64 = 26.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 54.0;
const LEGEND_LINE: f64 = 20.0;

impl Plot {
    /// An empty plot of 720 by 420 px.
    pub fn new(title: &str) -> Self {
        Plot {
            title: title.to_owned(),
            width: 720.0,
            height: 420.0,
            labels: Default::default(),
            log: [false; 2],
            series: Vec::new(),
        }
    }

    /// Sets the size, px.
    #[must_use]
    pub fn size(mut self, width: f64, height: f64) -> Self {
        (self.width, self.height) = (width.clamp(200.0, 1e4), height.clamp(150.0, 1e4));
        self
    }

    /// Names the horizontal axis and its unit (empty: none).
    #[must_use]
    pub fn x_axis(mut self, name: &str, unit: &str) -> Self {
        self.labels[0] = Label { name: name.to_owned(), unit: unit.to_owned() };
        self
    }

    /// Names the vertical axis and its unit (empty: none).
    #[must_use]
    pub fn y_axis(mut self, name: &str, unit: &str) -> Self {
        self.labels[1] = Label { name: name.to_owned(), unit: unit.to_owned() };
        self
    }

    /// Both axes logarithmic; values that are not positive are left out.
    #[must_use]
    pub fn log_log(mut self) -> Self {
        self.log = [true; 2];
        self
    }

    /// The horizontal axis logarithmic.
    #[must_use]
    pub fn log_x(mut self) -> Self {
        self.log[0] = true;
        self
    }

    /// The vertical axis logarithmic.
    #[must_use]
    pub fn log_y(mut self) -> Self {
        self.log[1] = true;
        self
    }

    /// Adds a line. Where a value is not finite the line has a gap.
    #[must_use]
    pub fn line(self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.add(name, points, Kind::Line)
    }

    /// Adds a line that shows its points.
    #[must_use]
    pub fn marks(self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.add(name, points, Kind::Marks)
    }

    /// Adds a dashed line y ∝ x^order through the last point (the one of largest x) of the series before it, to
    /// compare a measured order with. Only on logarithmic axes.
    #[must_use]
    pub fn slope(self, name: &str, order: f64) -> Self {
        self.add(name, [], Kind::Slope(order))
    }

    fn add(mut self, name: &str, points: impl IntoIterator<Item = (f64, f64)>, kind: Kind) -> Self {
        let points = points.into_iter().collect();
        self.series.push(Series { name: name.to_owned(), points, kind });
        self
    }

    /// Whether a point can be drawn.
    fn shows(&self, (x, y): (f64, f64)) -> bool {
        [(x, self.log[0]), (y, self.log[1])]
            .iter()
            .all(|&(value, log)| value.is_finite() && (!log || value > 0.0))
    }

    /// All points that can be drawn.
    fn shown(&self) -> impl Iterator<Item = (f64, f64)> {
        self.series.iter().flat_map(|s| &s.points).copied().filter(|p| self.shows(*p))
    }

    /// The picture.
    pub fn to_svg(&self) -> String {
        let legend = self.legend();
        let lines = legend.iter().map(|entry| entry.line + 1).max().unwrap_or(0);
        let top = TOP + LEGEND_LINE * lines as f64;
        let axes = [
            Axis::new(self.scale(0), self.shown().map(|p| p.0), [LEFT, self.width - RIGHT]),
            Axis::new(self.scale(1), self.shown().map(|p| p.1), [self.height - BOTTOM, top]),
        ];
        let mut svg = Svg::new(self.width, self.height, &self.title);
        svg.text([20.0, 30.0], &self.title, 16.0, INK, Anchor::Start);
        self.draw_axes(&axes, &mut svg);
        let area = [self.width - LEFT - RIGHT, self.height - BOTTOM - top];
        svg.clip("area", [LEFT, top], area);
        for i in 0..self.series.len() {
            self.draw_series(i, &axes, &mut svg);
        }
        svg.end_group();
        for entry in &legend {
            self.draw_entry(entry, &mut svg);
        }
        svg.finish()
    }

    fn scale(&self, axis: usize) -> Scale {
        if self.log[axis] { Scale::Log } else { Scale::Linear }
    }

    fn draw_axes(&self, [x, y]: &[Axis; 2], svg: &mut Svg) {
        let (bottom, top) = (y.ends[0], y.ends[1]);
        let (left, right) = (x.ends[0], x.ends[1]);
        for tick in &x.ticks {
            svg.line(
                [tick.at, bottom],
                [tick.at, top],
                GRID,
                if tick.label.is_some() { 1.0 } else { 0.5 },
            );
            if let Some(label) = &tick.label {
                svg.text([tick.at, bottom + 18.0], label, 12.0, FAINT, Anchor::Middle);
            }
        }
        for tick in &y.ticks {
            svg.line(
                [left, tick.at],
                [right, tick.at],
                GRID,
                if tick.label.is_some() { 1.0 } else { 0.5 },
            );
            if let Some(label) = &tick.label {
                svg.text([left - 8.0, tick.at + 4.0], label, 12.0, FAINT, Anchor::End);
            }
        }
        svg.polyline(&[[left, top], [left, bottom], [right, bottom]], INK, 1.2, "");
        let label = |axis: &Axis, label: &Label| match (axis.factor_label(), label.unit.as_str()) {
            (None, "") => label.name.clone(),
            (None, unit) => format!("{} [{unit}]", label.name),
            (Some(factor), "") => format!("{} [{factor}]", label.name),
            (Some(factor), unit) => format!("{} [{factor} {unit}]", label.name),
        };
        let middle = f64::midpoint(left, right);
        let text = label(x, &self.labels[0]);
        svg.text([middle, self.height - 14.0], &text, 13.0, INK, Anchor::Middle);
        let at = [22.0, f64::midpoint(bottom, top)];
        let turned = format!(
            " transform=\"rotate(-90 {} {})\"",
            crate::svg::number(at[0]),
            crate::svg::number(at[1])
        );
        svg.text_with(at, &label(y, &self.labels[1]), 13.0, INK, Anchor::Middle, &turned);
    }

    fn draw_series(&self, i: usize, [x, y]: &[Axis; 2], svg: &mut Svg) {
        let Some(series) = self.series.get(i) else { return };
        let place = |p: (f64, f64)| -> Point { [x.place(p.0), y.place(p.1)] };
        let color = self.color(i);
        match series.kind {
            Kind::Line | Kind::Marks => {
                for run in series.points.split(|p| !self.shows(*p)) {
                    let places: Vec<Point> = run.iter().map(|p| place(*p)).collect();
                    match places[..] {
                        [] => {}
                        [only] => svg.circle(only, 2.0, &color, "none", 0.0),
                        _ => svg.polyline(&places, &color, 1.8, ""),
                    }
                    if series.kind == Kind::Marks {
                        for p in places {
                            svg.circle(p, 3.6, &color, crate::svg::PAPER, 1.0);
                        }
                    }
                }
            }
            Kind::Slope(order) => {
                let before = self.series.get(..i).unwrap_or_default().iter().rev();
                let data =
                    before.map(|s| &s.points).find(|points| points.iter().any(|p| self.shows(*p)));
                let last = data
                    .into_iter()
                    .flatten()
                    .filter(|p| self.shows(**p))
                    .max_by(|a, b| a.0.total_cmp(&b.0));
                if let (Some(&(x0, y0)), [true, true]) = (last, self.log) {
                    // A straight line on logarithmic axes: two points suffice.
                    let ends = x.range().map(|x| place((x, y0 * (x / x0).powf(order))));
                    svg.polyline(&ends, &color, 1.2, " stroke-dasharray=\"5 4\"");
                }
            }
        }
    }

    /// The colour of a series; slopes are grey.
    fn color(&self, i: usize) -> String {
        let data = |series: &&Series| !matches!(series.kind, Kind::Slope(_));
        match self.series.get(i) {
            Some(series) if data(&series) => {
                let before = self.series.get(..i).unwrap_or_default().iter().filter(data).count();
                COLORS[before % COLORS.len()].to_string()
            }
            _ => FAINT.to_owned(),
        }
    }

    /// Where the legend's entries stand; none for a single series.
    fn legend(&self) -> Vec<Entry> {
        if self.series.len() < 2 {
            return Vec::new();
        }
        let (mut x, mut line) = (LEFT, 0);
        let mut entries = Vec::new();
        for (i, series) in self.series.iter().enumerate() {
            let width = 34.0 + text_width(&series.name, 12.5) + 18.0;
            if x + width > self.width - RIGHT && x > LEFT {
                (x, line) = (LEFT, line + 1);
            }
            entries.push(Entry { series: i, x, line });
            x += width;
        }
        entries
    }

    fn draw_entry(&self, entry: &Entry, svg: &mut Svg) {
        let Some(series) = self.series.get(entry.series) else { return };
        let (x, y) = (entry.x, TOP + LEGEND_LINE * entry.line as f64);
        let color = self.color(entry.series);
        let dashes =
            if matches!(series.kind, Kind::Slope(_)) { " stroke-dasharray=\"5 4\"" } else { "" };
        svg.polyline(&[[x, y], [x + 24.0, y]], &color, 1.8, dashes);
        if series.kind == Kind::Marks {
            svg.circle([x + 12.0, y], 3.6, &color, crate::svg::PAPER, 1.0);
        }
        svg.text([x + 31.0, y + 4.0], &series.name, 12.5, INK, Anchor::Start);
    }
}

/// A place in the legend.
struct Entry {
    series: usize,
    x: f64,
    line: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave() -> Plot {
        let points = (0..50).map(|i| f64::from(i) * 0.1).map(|t| (t, t.sin()));
        Plot::new("Wave <1>").x_axis("time", "s").y_axis("angle", "rad").line("φ & ψ", points)
    }

    #[test]
    fn a_plot_names_its_axes_with_units_and_escapes_names() {
        let svg = wave().line("second", [(0.0, 0.0), (5.0, 1.0)]).to_svg();
        for text in ["time [s]", "angle [rad]", "Wave &lt;1&gt;", "φ &amp; ψ", ">second<"] {
            assert!(svg.contains(text), "{text}");
        }
        assert_eq!(svg, wave().line("second", [(0.0, 0.0), (5.0, 1.0)]).to_svg());
    }

    #[test]
    fn gaps_and_empty_plots_are_drawn_without_numbers_that_are_none() {
        let gap = Plot::new("gap").line("a", [(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0), (3.0, 1.0)]);
        let same = Plot::new("same").line("a", [(1.0, 2.0), (1.0, 2.0)]);
        let log = Plot::new("log").log_log().marks("a", [(0.0, 1.0), (-1.0, 2.0)]).slope("b", 2.0);
        let huge = Plot::new("huge").line("a", [(-f64::MAX, 0.0), (f64::MAX, 5e-324)]);
        for plot in [gap, same, log, huge, Plot::new("empty")] {
            let svg = plot.to_svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    /// On logarithmic axes y = x² lies on its slope line: the two have the same places on the left edge.
    #[test]
    fn a_slope_line_lies_on_data_of_that_order() {
        let points = [0.001, 0.01, 0.1].map(|h: f64| (h, 3.0 * h * h));
        let svg = Plot::new("order").log_log().marks("error", points).slope("h²", 2.0).to_svg();
        let lines: Vec<Vec<Point>> = svg
            .lines()
            .filter_map(|line| line.strip_prefix("<polyline points=\""))
            .map(|line| {
                let points = line.split('"').next().unwrap_or_default().split(' ');
                points
                    .map(|p| {
                        let (x, y) = p.split_once(',').unwrap();
                        [x.parse().unwrap(), y.parse().unwrap()]
                    })
                    .collect()
            })
            .collect();
        // The frame, the data, the slope, then the legend.
        let (data, slope) = (&lines[1], &lines[2]);
        let along = |p: &Point| {
            let part = (p[0] - slope[0][0]) / (slope[1][0] - slope[0][0]);
            slope[0][1] + part * (slope[1][1] - slope[0][1])
        };
        for p in data {
            assert!((along(p) - p[1]).abs() < 0.02, "{p:?} {slope:?}");
        }
    }
}
