//! Film strips: a picture of a motion without a display.
//!
//! [`film_strip`] draws the mechanism at some instants, either over each other like a stroboscopic photograph or side
//! by side like the frames of a film, as SVG. The view is chosen from the motion: planar ones are seen face-on. Equal
//! input gives equal bytes.

mod draw;
mod pick;
mod scene;
pub(crate) mod view;

use gelenk_model::math::Vec3;
use gelenk_model::{Model, State};

use crate::svg::{Anchor, FAINT, GRID, INK, Point, Svg, nice_below, text_width, with_decimals};
use draw::{Canvas, Track};
use pick::{longest_paths, pick_frames, point_paths, thin_out};
use scene::{Item, Scene};
use view::View;

/// How the instants are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Over each other, the older the fainter.
    Overlaid,
    /// Side by side, in rows.
    SideBySide,
}

/// How a film strip looks.
#[derive(Clone, Debug, PartialEq)]
pub struct FilmOptions {
    /// Width of the picture, px.
    pub width: f64,
    /// Largest height of the picture, px.
    pub max_height: f64,
    /// Layout.
    pub layout: Layout,
    /// Number of instants that are drawn.
    pub frames: usize,
    /// Heading; `None`: the model's name.
    pub title: Option<String>,
    /// Whether the paths of free ends, points and markers are drawn.
    pub paths: bool,
    /// Direction to the viewer; `None`: chosen from the motion.
    pub toward: Option<Vec3>,
}

impl Default for FilmOptions {
    fn default() -> Self {
        FilmOptions {
            width: 880.0,
            max_height: 560.0,
            layout: Layout::Overlaid,
            frames: 12,
            title: None,
            paths: true,
            toward: None,
        }
    }
}

/// Room around the drawing, px.
const MARGIN: f64 = 36.0;
/// Height of the heading, px.
const HEADING: f64 = 30.0;
/// Height of the time line below an overlaid drawing, px.
const TIME_LINE: f64 = 52.0;
/// Height of a frame's label, px.
const LABEL: f64 = 22.0;

/// Draws a motion as an SVG picture.
///
/// `states`: (time, state) in order of time, of this model. States with numbers that are not finite are left out.
pub fn film_strip(model: &Model, states: &[(f64, State)], options: &FilmOptions) -> String {
    let title = options.title.as_deref().unwrap_or(&model.name);
    let scenes: Vec<Scene> = states
        .iter()
        .filter(|(_, state)| fits(model, state))
        .map(|(t, state)| Scene { t: *t, ..Scene::new(model, state) })
        .collect();
    let Some(motion) = Motion::new(model, scenes, options) else {
        let mut svg = Svg::new(options.width, 120.0, title);
        svg.text([options.width / 2.0, 66.0], "nothing to draw", 15.0, FAINT, Anchor::Middle);
        return svg.finish();
    };
    match options.layout {
        Layout::Overlaid => motion.overlaid(title, options),
        Layout::SideBySide => motion.side_by_side(title, options),
    }
}

/// Whether a state belongs to the model and all its numbers are finite.
fn fits(model: &Model, state: &State) -> bool {
    let n = model.n_bodies();
    let finite = |v: &[f64]| v.iter().all(|x| x.is_finite());
    [state.s.len(), state.s_dot.len(), state.rot.len(), state.omega.len()] == [n; 4]
        && state.coordinate.len() == model.n_coordinates()
        && state.s.iter().all(|v| finite(v.as_slice()))
        && state.rot.iter().all(|q| finite(q.coords.as_slice()))
}

/// A motion, ready to draw.
struct Motion {
    scenes: Vec<Scene>,
    /// Which scenes are drawn.
    frames: Vec<usize>,
    view: View,
    /// Left, right, bottom, top of everything on the screen, m.
    bounds: [f64; 4],
    /// Indices into the scenes' tips of the paths that are drawn.
    paths: Vec<usize>,
    /// Whether the body stands on each support; else it hangs.
    stands: Vec<bool>,
}

impl Motion {
    fn new(model: &Model, scenes: Vec<Scene>, options: &FilmOptions) -> Option<Self> {
        let first = scenes.first()?;
        let view = match &options.toward {
            Some(toward) => {
                let up = (-model.gravity).try_normalize(1e-12).unwrap_or_else(Vec3::z);
                View::along(toward, &up, Vec3::zeros())
            }
            None => View::of_motion(&point_paths(&scenes), &model.gravity),
        };
        let frames = pick_frames(&scenes, options.frames);
        let paths = if options.paths { longest_paths(&scenes) } else { Vec::new() };
        let stands = (0..first.supports.len())
            .map(|i| {
                let lean = |scene: &Scene| {
                    scene.supports.get(i).map_or(0.0, |[p, s]| view.up.dot(&(s - p)))
                };
                scenes.iter().map(lean).sum::<f64>() > 0.0
            })
            .collect();
        let mut motion = Motion { bounds: [0.0; 4], scenes, frames, view, paths, stands };
        motion.bounds = motion.screen_bounds()?;
        Some(motion)
    }

    /// The smallest rectangle on the screen around all that is drawn.
    fn screen_bounds(&self) -> Option<[f64; 4]> {
        let mut bounds = [f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY];
        let mut add = |p: &Vec3, radius: f64| {
            let q = self.view.project(p);
            let r = radius * q.zoom;
            bounds[0] = bounds[0].min(q.x - r);
            bounds[1] = bounds[1].max(q.x + r);
            bounds[2] = bounds[2].min(q.y - r);
            bounds[3] = bounds[3].max(q.y + r);
        };
        for scene in self.frames.iter().filter_map(|&i| self.scenes.get(i)) {
            let floor = |item: &&Item| matches!(item, Item::Floor { .. });
            for item in scene.items.iter().chain(&scene.fixed).filter(|item| !floor(item)) {
                item.points().iter().for_each(|p| add(p, item.radius()));
            }
            scene.supports.iter().for_each(|[p, _]| add(p, 0.0));
            scene.rings.iter().for_each(|p| add(p, 0.0));
        }
        for scene in &self.scenes {
            self.paths.iter().filter_map(|&i| scene.tips.get(i)).for_each(|(p, _)| add(p, 0.0));
        }
        if bounds[0] > bounds[1] {
            return None;
        }
        // A drawing without extent still gets some.
        let least = (0.02 * (bounds[1] - bounds[0]).max(bounds[3] - bounds[2])).max(1e-6);
        for axis in [0, 2] {
            let (low, high) = (bounds[axis], bounds[axis + 1]);
            if high - low < 2.0 * least {
                (bounds[axis], bounds[axis + 1]) = (low - least, high + least);
            }
        }
        Some(bounds)
    }

    /// Width and height on the screen, m.
    fn extent(&self) -> [f64; 2] {
        [self.bounds[1] - self.bounds[0], self.bounds[3] - self.bounds[2]]
    }

    /// Maps the screen to the picture: `scale` px per m, the drawing centred at `centre`.
    fn canvas(&self, scale: f64, centre: Point) -> Canvas<'_> {
        let [left, right, bottom, top] = self.bounds;
        let middle = [f64::midpoint(left, right), f64::midpoint(bottom, top)];
        Canvas {
            view: &self.view,
            scale,
            origin: [centre[0] - scale * middle[0], centre[1] + scale * middle[1]],
        }
    }

    fn overlaid(&self, title: &str, options: &FilmOptions) -> String {
        let [w, h] = self.extent();
        let top = MARGIN + HEADING;
        let room = [
            (options.width - 2.0 * MARGIN).max(50.0),
            (options.max_height - top - MARGIN - TIME_LINE).max(50.0),
        ];
        let scale = (room[0] / w).min(room[1] / h);
        let drawn = (scale * h).max(60.0);
        let height = top + drawn + MARGIN + TIME_LINE;
        let mut svg = Svg::new(options.width, height, &self.describe(title));
        svg.text([20.0, 30.0], title, 16.0, INK, Anchor::Start);

        let canvas = self.canvas(scale, [options.width / 2.0, top + drawn / 2.0]);
        svg.clip(
            "all",
            [10.0, HEADING + 12.0],
            [options.width - 20.0, height - TIME_LINE - HEADING - 20.0],
        );
        self.ground(&canvas, &mut svg);
        let n = self.frames.len();
        for (k, scene) in self.frames.iter().filter_map(|&i| self.scenes.get(i)).enumerate() {
            if k + 1 == n {
                self.draw_paths(&canvas, &mut svg, self.scenes.len());
            }
            svg.group(fade(k, n));
            canvas.draw_scene(scene, &mut svg);
            svg.end_group();
        }
        self.ground_joints(&canvas, &mut svg);
        svg.end_group();
        self.time_line(&mut svg, options.width, height - TIME_LINE + 8.0);
        scale_bar(&mut svg, scale, [options.width - 20.0, 24.0]);
        svg.finish()
    }

    fn side_by_side(&self, title: &str, options: &FilmOptions) -> String {
        const GAP: f64 = 10.0;
        const PADDING: f64 = 16.0;
        let [w, h] = self.extent();
        let n = self.frames.len();
        let top = 18.0 + HEADING;
        // The number of columns that makes the drawing largest and leaves little empty.
        let panel = |columns: usize| {
            let rows = n.div_ceil(columns) as f64;
            let columns = columns as f64;
            let panel_width = (options.width - 40.0 - (columns - 1.0) * GAP) / columns;
            let room = (options.max_height - top - 20.0 - (rows - 1.0) * GAP) / rows - LABEL;
            let across = (panel_width - 2.0 * PADDING).max(1.0) / w;
            let scale = across.min((room - 2.0 * PADDING).max(1.0) / h);
            (scale, panel_width, scale * h + 2.0 * PADDING)
        };
        let worth = |columns: usize| {
            let filled = n as f64 / (columns * n.div_ceil(columns)) as f64;
            panel(columns).0 * filled.sqrt()
        };
        let mut columns = 1;
        for more in 2..=n {
            if worth(more) > worth(columns) * (1.0 + 1e-9) {
                columns = more;
            }
        }
        let (scale, panel_width, panel_height) = panel(columns);
        let rows = n.div_ceil(columns) as f64;
        let height = top + rows * (panel_height + LABEL) + (rows - 1.0) * GAP + 20.0;
        let mut svg = Svg::new(options.width, height, &self.describe(title));
        svg.text([20.0, 30.0], title, 16.0, INK, Anchor::Start);
        let step = self.time_step();
        for (k, &i) in self.frames.iter().enumerate() {
            let Some(scene) = self.scenes.get(i) else { continue };
            let x = 20.0 + (k % columns) as f64 * (panel_width + GAP);
            let y = top + (k / columns) as f64 * (panel_height + LABEL + GAP);
            svg.raw(format_args!(
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\" fill=\"#ffffff\" stroke=\"{GRID}\"/>",
                crate::svg::number(x),
                crate::svg::number(y),
                crate::svg::number(panel_width),
                crate::svg::number(panel_height)
            ));
            let canvas = self.canvas(scale, [x + panel_width / 2.0, y + panel_height / 2.0]);
            svg.clip(
                &format!("frame{k}"),
                [x + 1.0, y + 1.0],
                [panel_width - 2.0, panel_height - 2.0],
            );
            self.ground(&canvas, &mut svg);
            self.draw_paths(&canvas, &mut svg, i + 1);
            canvas.draw_scene(scene, &mut svg);
            self.ground_joints(&canvas, &mut svg);
            svg.end_group();
            let label = format!("t = {} s", with_decimals(scene.t, step));
            let at = [x + panel_width / 2.0, y + panel_height + 16.0];
            svg.text(at, &label, 12.0, FAINT, Anchor::Middle);
        }
        scale_bar(&mut svg, scale, [options.width - 20.0, 24.0]);
        svg.finish()
    }

    /// What stands still, the tracks of what slides on it, and the supports.
    fn ground(&self, canvas: &Canvas<'_>, svg: &mut Svg) {
        let Some(first) = self.scenes.first() else { return };
        for i in 0..first.sliding.len() {
            let path = self.scenes.iter().filter_map(|scene| scene.sliding.get(i).copied());
            canvas.draw_rail(&thin_out(path.collect()), svg);
        }
        for item in &first.fixed {
            canvas.draw_item(item, svg);
        }
        for ([p, _], stands) in first.supports.iter().zip(&self.stands) {
            canvas.draw_support(p, *stands, svg);
        }
    }

    /// The joints on the ground, on top of all.
    fn ground_joints(&self, canvas: &Canvas<'_>, svg: &mut Svg) {
        for [p, _] in self.scenes.first().iter().flat_map(|scene| &scene.supports) {
            canvas.draw_ring(p, svg);
        }
    }

    /// The paths up to scene `end`.
    fn draw_paths(&self, canvas: &Canvas<'_>, svg: &mut Svg, end: usize) {
        for &i in &self.paths {
            let scenes = self.scenes.get(..end).unwrap_or_default();
            let tips = scenes.iter().filter_map(|scene| scene.tips.get(i));
            let color = tips.clone().next().map_or(crate::svg::COLORS[0], |(_, color)| *color);
            let points = thin_out(tips.map(|(p, _)| *p).collect());
            canvas.draw_track(&Track { points, color }, svg);
        }
    }

    /// Time between frames, s.
    fn time_step(&self) -> f64 {
        let times: Vec<f64> =
            self.frames.iter().filter_map(|&i| self.scenes.get(i)).map(|scene| scene.t).collect();
        match times[..] {
            [first, .., last] => (last - first).abs() / (times.len() - 1) as f64,
            _ => 0.0,
        }
        .max(1e-6)
    }

    /// Dots for the frames, faded as they are, with their times.
    fn time_line(&self, svg: &mut Svg, width: f64, y: f64) {
        let n = self.frames.len();
        let step = self.time_step();
        let labels: Vec<String> = self
            .frames
            .iter()
            .filter_map(|&i| self.scenes.get(i))
            .map(|scene| with_decimals(scene.t, step))
            .collect();
        let widest = labels.iter().map(|text| text_width(text, 12.0)).fold(0.0, f64::max) + 14.0;
        let space = (widest.max(44.0)).min((width - 120.0) / (n.max(2) - 1) as f64);
        let every = (widest / space).ceil().max(1.0);
        let x0 = width / 2.0 - 0.5 * space * (n - 1) as f64;
        let x1 = x0 + space * (n - 1) as f64;
        svg.line([x0, y], [x1, y], GRID, 2.0);
        for (k, label) in labels.iter().enumerate() {
            let x = x0 + space * k as f64;
            svg.group(fade(k, n).max(0.18));
            svg.circle([x, y], 5.0, INK, "none", 0.0);
            svg.end_group();
            // Count from the end, so that the last has its label.
            if ((n - 1 - k) as f64 % every).abs() < 0.5 {
                let unit = if k + 1 == n { " s" } else { "" };
                let text = format!("{label}{unit}");
                svg.text([x, y + 22.0], &text, 12.0, FAINT, Anchor::Middle);
            }
        }
    }

    fn describe(&self, title: &str) -> String {
        let time = |i: Option<&usize>| i.and_then(|&i| self.scenes.get(i)).map_or(0.0, |s| s.t);
        let step = self.time_step();
        format!(
            "{title}: {} instants from t = {} s to {} s",
            self.frames.len(),
            with_decimals(time(self.frames.first()), step),
            with_decimals(time(self.frames.last()), step)
        )
    }
}

/// Opacity of frame k of n.
fn fade(k: usize, n: usize) -> f64 {
    if k + 1 >= n {
        return 1.0;
    }
    let part = k as f64 / (n - 1) as f64;
    0.10 + 0.40 * part * part
}

/// A bar that says how long a metre is; `at` is its right end.
fn scale_bar(svg: &mut Svg, scale: f64, at: Point) {
    let length = nice_below(90.0 / scale);
    let px = length * scale;
    let [x, y] = at;
    svg.line([x - px, y], [x, y], FAINT, 1.5);
    for end in [x - px, x] {
        svg.line([end, y - 3.0], [end, y + 3.0], FAINT, 1.5);
    }
    let label = if length >= 1.0 {
        format!("{} m", crate::svg::number(length))
    } else if length >= 0.01 {
        format!("{} cm", crate::svg::number(100.0 * length))
    } else {
        format!("{} mm", with_decimals(1000.0 * length, 1000.0 * length))
    };
    svg.text([x - px - 8.0, y + 4.0], &label, 12.0, FAINT, Anchor::End);
}
