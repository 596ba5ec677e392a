//! Pictures of a motion as PNG, drawn without a display: shapes as triangles with a depth buffer, light from one side.
//!
//! Several instants go into one picture, the earlier the paler; or one instant alone. The view is that of the film strip. The
//! same recording gives the same bytes everywhere.

mod png;
mod raster;

use gelenk_model::math::Vec3;
use gelenk_model::shape::Geometry;
use gelenk_model::{Model, Pose, State};

use crate::export::gltf::{colors, rgb, shapes, speck};
use crate::export::surface::Triangles;
use crate::film::view::View;
use crate::svg::Color;
use raster::{Canvas, Corner};

/// How a picture looks.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureOptions {
    /// Pixels across, 16 to 8192.
    pub width: u32,
    /// Pixels down, 16 to 8192.
    pub height: u32,
    /// How many instants are shown.
    pub instants: usize,
    /// Only the instant nearest to this time, s.
    pub at: Option<f64>,
}

impl Default for PictureOptions {
    fn default() -> Self {
        PictureOptions { width: 1280, height: 800, instants: 5, at: None }
    }
}

/// Paper, and how far the palest instant is from it.
const PAPER: Color = Color(0xfd, 0xfc, 0xf9);
const PALEST: f64 = 0.28;
/// Part of the picture that stays free around what is drawn.
const MARGIN: f64 = 0.06;
/// Tiles of a floor along each side.
const TILES: i32 = 24;

/// A surface in the world.
struct Piece {
    surface: Triangles,
    color: Color,
    body: usize,
    shape: usize,
    /// A floor: drawn in tiles around the motion, no part of the frame.
    floor: bool,
}

/// The motion as a PNG file; an empty motion is an empty sheet.
pub fn picture(model: &Model, states: &[(f64, State)], options: &PictureOptions) -> Vec<u8> {
    let (width, height) = (options.width.clamp(16, 8192), options.height.clamp(16, 8192));
    let mut canvas = Canvas::new(width, height, PAPER);
    let n = model.n_bodies();
    let fits = |state: &State| {
        state.s.len() == n && state.s.iter().all(|s| s.iter().all(|x| x.is_finite()))
    };
    let states: Vec<&(f64, State)> = states.iter().filter(|(_, state)| fits(state)).collect();
    if states.is_empty() {
        return png::encode(width, height, &canvas.pixels());
    }
    let chosen = choose(&states, options);
    let owned: Vec<(f64, State)> = chosen.iter().map(|state| (**state).clone()).collect();
    let pieces = pieces(model, speck(model, &owned));
    let paths: Vec<Vec<Vec3>> = (0..n)
        .filter(|i| !model.bodies[*i].fixed)
        .map(|i| states.iter().map(|(_, state)| state.s[i]).collect())
        .collect();
    let view = View::of_motion(&paths, &model.gravity);
    let places: Vec<Vec<Pose>> = chosen.iter().map(|(_, state)| frames(model, state)).collect();
    let Some(window) = Window::around(&view, model, &pieces, &places, (width, height)) else {
        return png::encode(width, height, &canvas.pixels());
    };
    let light = (view.toward + 0.7 * view.up - 0.5 * view.right).normalize();
    for piece in pieces.iter().filter(|piece| model.bodies[piece.body].fixed) {
        if let Some(place) = places.last() {
            draw(
                &mut canvas,
                &window,
                &view,
                &light,
                model,
                piece,
                &place[piece.body],
                piece.color,
            );
        }
    }
    let last = places.len().saturating_sub(1);
    for (k, place) in places.iter().enumerate() {
        let strength = if last == 0 {
            1.0
        } else {
            PALEST + (1.0 - PALEST) * (k as f64 / last as f64).powi(2)
        };
        for piece in pieces.iter().filter(|piece| !model.bodies[piece.body].fixed) {
            let color = PAPER.toward(piece.color, strength);
            draw(&mut canvas, &window, &view, &light, model, piece, &place[piece.body], color);
        }
    }
    png::encode(width, height, &canvas.pixels())
}

/// The instants to show.
fn choose<'s>(states: &[&'s (f64, State)], options: &PictureOptions) -> Vec<&'s (f64, State)> {
    if let Some(at) = options.at {
        let nearest = states.iter().min_by(|a, b| (a.0 - at).abs().total_cmp(&(b.0 - at).abs()));
        return nearest.into_iter().copied().collect();
    }
    let count = options.instants.clamp(1, 100).min(states.len());
    if count == 1 {
        return states.last().into_iter().copied().collect();
    }
    (0..count).map(|k| states[k * (states.len() - 1) / (count - 1)]).collect()
}

/// File frames of all bodies.
fn frames(model: &Model, state: &State) -> Vec<Pose> {
    let mut poses = vec![Pose::identity(); model.n_bodies()];
    state.write_poses(&mut poses);
    model.bodies.iter().zip(&poses).map(|(body, pose)| body.frame_pose(pose)).collect()
}

fn pieces(model: &Model, speck: f64) -> Vec<Piece> {
    let palette = colors(model);
    let mut list = Vec::new();
    for body in 0..model.n_bodies() {
        for (shape, spec) in shapes(model, body, speck).iter().enumerate() {
            let mut surface = Triangles::of(&spec.geometry);
            for corner in &mut surface.corners {
                *corner = spec.rotation * *corner + spec.position;
            }
            for normal in &mut surface.normals {
                *normal = spec.rotation * *normal;
            }
            let color = spec.color.map_or(palette[body], rgb);
            let floor = matches!(spec.geometry, Geometry::Plane { .. });
            list.push(Piece { surface, color, body, shape, floor });
        }
    }
    list
}

/// From the screen in metres to pixels.
struct Window {
    scale: f64,
    centre: (f64, f64),
    middle: (f64, f64),
    /// Centre and size of what is drawn, m.
    about: (Vec3, f64),
}

impl Window {
    fn around(
        view: &View,
        model: &Model,
        pieces: &[Piece],
        places: &[Vec<Pose>],
        (width, height): (u32, u32),
    ) -> Option<Self> {
        let (mut low, mut high) = ((f64::MAX, f64::MAX), (f64::MIN, f64::MIN));
        let (mut from, mut to) = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
        // Things that stand still may be much larger than what moves; they count only where nothing moves.
        let moving = pieces.iter().any(|piece| !model.bodies[piece.body].fixed);
        for place in places {
            for piece in pieces {
                if piece.floor || moving && model.bodies[piece.body].fixed {
                    continue;
                }
                for corner in &piece.surface.corners {
                    let p = place[piece.body].rot * corner + place[piece.body].s;
                    let at = view.project(&p);
                    low = (low.0.min(at.x), low.1.min(at.y));
                    high = (high.0.max(at.x), high.1.max(at.y));
                    (from, to) = (from.inf(&p), to.sup(&p));
                }
            }
        }
        if low.0 > high.0 {
            return None;
        }
        let (w, h) = (f64::from(width), f64::from(height));
        let free = 1.0 - 2.0 * MARGIN;
        let across = (high.0 - low.0).max(1e-9);
        let up = (high.1 - low.1).max(1e-9);
        let scale = (free * w / across).min(free * h / up);
        let centre = (f64::midpoint(low.0, high.0), f64::midpoint(low.1, high.1));
        let about = ((from + to) / 2.0, (to - from).norm());
        Some(Window { scale, centre, middle: (w / 2.0, h / 2.0), about })
    }

    fn corner(&self, view: &View, p: &Vec3, shade: f64) -> Corner {
        let at = view.project(p);
        Corner {
            x: self.middle.0 + (at.x - self.centre.0) * self.scale,
            y: self.middle.1 - (at.y - self.centre.1) * self.scale,
            // In perspective the zoom is what is linear on the screen.
            near: if view.distance.is_some() { at.zoom } else { at.depth },
            shade,
        }
    }
}

fn draw(
    canvas: &mut Canvas,
    window: &Window,
    view: &View,
    light: &Vec3,
    model: &Model,
    piece: &Piece,
    place: &Pose,
    color: Color,
) {
    if piece.floor {
        let shape = &model.bodies[piece.body].shapes[piece.shape];
        let normal = place.rot * (shape.rotation * Vec3::z());
        let origin = place.rot * shape.position + place.s;
        floor(canvas, window, view, &origin, &normal, color);
        return;
    }
    let corners: Vec<Corner> = piece
        .surface
        .corners
        .iter()
        .zip(&piece.surface.normals)
        .map(|(corner, normal)| {
            let normal = place.rot * normal;
            let lit =
                0.42 + 0.5 * normal.dot(light).max(0.0) + 0.14 * normal.dot(&view.up).max(-0.5);
            window.corner(view, &(place.rot * corner + place.s), lit.clamp(0.0, 1.15))
        })
        .collect();
    for [a, b, c] in &piece.surface.indices {
        canvas.triangle([corners[*a as usize], corners[*b as usize], corners[*c as usize]], color);
    }
}

/// A floor in tiles around the motion, fading outwards.
fn floor(
    canvas: &mut Canvas,
    window: &Window,
    view: &View,
    origin: &Vec3,
    normal: &Vec3,
    color: Color,
) {
    let Some(normal) = normal.try_normalize(1e-9) else { return };
    let (u, w) = gelenk_model::math::perpendicular_frame(&normal);
    let size = window.about.1.max(1e-6);
    let power = 10_f64.powf((size / 6.0).log10().floor());
    let tile = [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter().find(|t| *t >= size / 6.0);
    let tile = tile.unwrap_or(size / 6.0);
    let below = window.about.0 - normal * normal.dot(&(window.about.0 - origin));
    let snap = |d: &Vec3| (d.dot(&(below - origin)) / tile).round();
    let (i0, j0) = (snap(&u), snap(&w));
    for i in -TILES / 2..TILES / 2 {
        for j in -TILES / 2..TILES / 2 {
            let (x, y) = (f64::from(i) + i0, f64::from(j) + j0);
            let far = f64::from(i).hypot(f64::from(j)) / f64::from(TILES / 2);
            let parity = (x + y).rem_euclid(2.0) < 0.5;
            let tint = if parity { 0.55 } else { 0.38 } * (1.0 - far * far).max(0.0);
            if tint <= 0.0 {
                continue;
            }
            let place = |a: f64, b: f64| origin + u * ((x + a) * tile) + w * ((y + b) * tile);
            let square = [place(0.0, 0.0), place(1.0, 0.0), place(1.0, 1.0), place(0.0, 1.0)];
            // What lies near the eye or behind it is not drawn.
            let behind = |p: &Vec3| {
                view.distance.is_some_and(|d| view.toward.dot(&(p - view.centre)) > 0.8 * d)
            };
            if square.iter().any(behind) {
                continue;
            }
            let [a, b, c, d] = square.map(|p| window.corner(view, &p, 1.0));
            let paint = PAPER.toward(color, tint);
            canvas.triangle([a, b, c], paint);
            canvas.triangle([a, c, d], paint);
        }
    }
}
