//! Drawing the parts of a mechanism.

use gelenk_model::math::Vec3;

use super::scene::{Item, Scene};
use super::view::View;
use crate::svg::{Color, INK, PAPER, Point, Svg};

/// Maps the world to the picture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Canvas<'a> {
    pub(crate) view: &'a View,
    /// Pixels per metre.
    pub(crate) scale: f64,
    /// Where the screen's origin is in the picture, px.
    pub(crate) origin: Point,
}

/// The path of a point.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    pub(crate) points: Vec<Vec3>,
    pub(crate) color: Color,
}

/// Thinnest bar, px.
const BAR: f64 = 5.0;
/// Bars from this width on are drawn with a light core.
const WIDE_BAR: f64 = 9.0;
/// Radius of a point mass, px.
const DOT: f64 = 5.0;
/// Radius of a joint's ring, px.
const RING: f64 = 4.0;
/// Half width and height of a support, px.
const SUPPORT: [f64; 2] = [11.0, 14.0];
const THREAD: &str = "#59616e";
const SUPPORT_FILL: &str = "#d9d6cd";
const FLOOR: &str = "#f1efe8";

impl Canvas<'_> {
    fn place(&self, p: &Vec3) -> Point {
        let q = self.view.project(p);
        [self.origin[0] + self.scale * q.x, self.origin[1] - self.scale * q.y]
    }

    /// Draws what moves, far things first, joints last.
    pub(crate) fn draw_scene(&self, scene: &Scene, svg: &mut Svg) {
        let depth = |item: &Item| {
            let points = item.points();
            let sum: f64 = points.iter().map(|p| self.view.project(p).depth).sum();
            sum / points.len().max(1) as f64
        };
        let mut items: Vec<(&Item, f64)> =
            scene.items.iter().map(|item| (item, depth(item))).collect();
        // A stable sort: what is equally deep stays in the model's order. Rounding must not decide.
        let coarse = 1e-6 / self.scale.max(1e-300);
        items.sort_by(|a, b| (a.1 / coarse).round().total_cmp(&(b.1 / coarse).round()));
        for (item, _) in items {
            self.draw_item(item, svg);
        }
        for p in &scene.rings {
            self.draw_ring(p, svg);
        }
    }

    pub(crate) fn draw_item(&self, item: &Item, svg: &mut Svg) {
        match item {
            Item::Bar { ends, radius, color } => {
                let [a, b] = ends.map(|p| self.place(&p));
                let zoom =
                    0.5 * (self.view.project(&ends[0]).zoom + self.view.project(&ends[1]).zoom);
                let width = (2.0 * radius * self.scale * zoom).max(BAR);
                svg.line(a, b, &color.to_string(), width);
                if width >= WIDE_BAR {
                    svg.line(a, b, &color.tint().to_string(), width - 3.0);
                }
            }
            Item::Hull { points, edges, color } => self.draw_hull(points, edges, *color, svg),
            Item::Floor { corners } => {
                let places: Vec<Point> = corners.iter().map(|p| self.place(p)).collect();
                svg.polygon(&convex_hull(&places), FLOOR, SUPPORT_FILL, 3.0);
            }
            Item::Ball { centre, radius, color } => {
                let r = (radius * self.scale * self.view.project(centre).zoom).max(DOT);
                svg.circle(
                    self.place(centre),
                    r,
                    &color.tint().to_string(),
                    &color.to_string(),
                    1.6,
                );
            }
            Item::Dot { at, color } => {
                svg.circle(self.place(at), DOT, &color.to_string(), PAPER, 1.0);
            }
            Item::Thread { ends } => {
                let [a, b] = ends.map(|p| self.place(&p));
                svg.line(a, b, THREAD, 2.0);
            }
            Item::Coil { ends } => {
                let [a, b] = ends.map(|p| self.place(&p));
                svg.polyline(&coil(a, b), THREAD, 1.5, "");
            }
        }
    }

    fn draw_hull(&self, points: &[Vec3], edges: &[[usize; 2]], color: Color, svg: &mut Svg) {
        let places: Vec<Point> = points.iter().map(|p| self.place(p)).collect();
        let outline = convex_hull(&places);
        svg.polygon(&outline, &color.tint().to_string(), &color.to_string(), 1.6);
        // Edges of the side that is seen: both ends nearer than the middle, and not on the outline.
        let depth = |p: &Vec3| self.view.project(p).depth;
        let middle = points.iter().map(depth).sum::<f64>() / points.len().max(1) as f64;
        let spread = points.iter().map(|p| (depth(p) - middle).abs()).fold(0.0, f64::max);
        for &[i, j] in edges {
            if let (Some(p), Some(q), Some(&a), Some(&b)) =
                (points.get(i), points.get(j), places.get(i), places.get(j))
                && depth(p) + depth(q) > 2.0 * middle + 1e-3 * spread
                && !(on_outline(a, &outline)
                    && on_outline(b, &outline)
                    && along_outline(a, b, &outline))
            {
                svg.line(a, b, &color.to_string(), 0.9);
            }
        }
    }

    /// The path of a point, fading into the past.
    pub(crate) fn draw_track(&self, track: &Track, svg: &mut Svg) {
        const PIECES: usize = 24;
        let places: Vec<Point> = track.points.iter().map(|p| self.place(p)).collect();
        if places.len() < 2 {
            return;
        }
        let length = (places.len() - 1).div_ceil(PIECES);
        let n = (places.len() - 1).div_ceil(length);
        let color = track.color.to_string();
        for piece in 0..n {
            let start = piece * length;
            let end = (start + length).min(places.len() - 1);
            let opacity = 0.12 + 0.5 * (piece + 1) as f64 / n as f64;
            let extra = format!(" opacity=\"{}\"", crate::svg::number(opacity));
            svg.polyline(places.get(start..=end).unwrap_or_default(), &color, 1.4, &extra);
        }
    }

    /// What something slides on.
    pub(crate) fn draw_rail(&self, points: &[Vec3], svg: &mut Svg) {
        let places: Vec<Point> = points.iter().map(|p| self.place(p)).collect();
        svg.polyline(&places, SUPPORT_FILL, 7.0, "");
    }

    /// What a joint on the ground is held by: a triangle with hatching, above or below its point.
    pub(crate) fn draw_support(&self, p: &Vec3, stands: bool, svg: &mut Svg) {
        let [x, y] = self.place(p);
        let [half, height] = SUPPORT;
        let down = if stands { 1.0 } else { -1.0 };
        let base = y + down * height;
        let corners = [[x, y], [x - half, base], [x + half, base]];
        svg.polygon(&corners, SUPPORT_FILL, INK, 1.3);
        svg.line([x - half - 5.0, base], [x + half + 5.0, base], INK, 1.6);
        for k in 0..5 {
            let start = x - half - 1.0 + 6.0 * f64::from(k);
            svg.line([start, base], [start - 5.0, base + down * 6.0], INK, 1.0);
        }
    }

    /// A joint.
    pub(crate) fn draw_ring(&self, p: &Vec3, svg: &mut Svg) {
        svg.circle(self.place(p), RING, PAPER, INK, 1.6);
    }
}

/// A zigzag between two points.
fn coil(a: Point, b: Point) -> Vec<Point> {
    const TURNS: usize = 9;
    let d = [b[0] - a[0], b[1] - a[1]];
    let length = d[0].hypot(d[1]);
    if length < 1e-9 {
        return vec![a, b];
    }
    let across = [-d[1] / length * 6.0, d[0] / length * 6.0];
    let at = |part: f64, side: f64| {
        [a[0] + part * d[0] + side * across[0], a[1] + part * d[1] + side * across[1]]
    };
    let mut points = vec![a, at(0.12, 0.0)];
    for k in 0..TURNS {
        let part = 0.12 + 0.76 * (k as f64 + 0.5) / TURNS as f64;
        points.push(at(part, if k % 2 == 0 { 1.0 } else { -1.0 }));
    }
    points.extend([at(0.88, 0.0), b]);
    points
}

fn turn(o: Point, a: Point, b: Point) -> f64 {
    (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])
}

/// The convex hull of points, around (Andrew's monotone chain).
fn convex_hull(points: &[Point]) -> Vec<Point> {
    let mut sorted: Vec<Point> = points.to_vec();
    sorted.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let half = |points: &mut dyn Iterator<Item = Point>| {
        let mut chain: Vec<Point> = Vec::new();
        for p in points {
            while let [.., o, a] = chain[..]
                && turn(o, a, p) <= 1e-9
            {
                chain.pop();
            }
            chain.push(p);
        }
        chain.pop();
        chain
    };
    let mut hull = half(&mut sorted.iter().copied());
    hull.extend(half(&mut sorted.iter().rev().copied()));
    if hull.is_empty() { points.to_vec() } else { hull }
}

/// Distance of a point from the line through two others.
fn off_line(p: Point, a: Point, b: Point) -> f64 {
    let length = (b[0] - a[0]).hypot(b[1] - a[1]);
    if length < 1e-9 { (p[0] - a[0]).hypot(p[1] - a[1]) } else { turn(a, b, p).abs() / length }
}

fn sides(outline: &[Point]) -> impl Iterator<Item = (Point, Point)> {
    outline.iter().copied().zip(outline.iter().copied().cycle().skip(1))
}

fn on_outline(p: Point, outline: &[Point]) -> bool {
    sides(outline).any(|(a, b)| off_line(p, a, b) < 0.5)
}

fn along_outline(p: Point, q: Point, outline: &[Point]) -> bool {
    sides(outline).any(|(a, b)| off_line(p, a, b) < 0.5 && off_line(q, a, b) < 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hull_of_a_square_with_a_point_inside_is_the_square() {
        let points = [[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [2.0, 2.0], [0.0, 2.0], [1.0, 0.0]];
        assert_eq!(convex_hull(&points), [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]]);
        assert_eq!(convex_hull(&[[1.0, 1.0]]), [[1.0, 1.0]]);
        assert!(convex_hull(&[]).is_empty());
    }
}
