//! Overlaps: which of the touches that claim one are true.

use gelenk_model::state::Pose;

use crate::crossing::separation;
use crate::solid::Kind;
use crate::touch::Touch;
use crate::world::World;

impl World {
    /// Takes out of a list those touches that claim a deeper overlap than their convex solids have, where they claim one deeper than
    /// `tolerance`. Lines and curves go on beyond the ends of the edges they stand for and behind them, so that two that do not meet may seem
    /// to have passed each other.
    ///
    /// The overlap is that along one direction, and never smaller than the true one, so that no true touch goes.
    pub fn drop_false(&self, poses: &[Pose], tolerance: f64, list: &mut Vec<Touch>) {
        let deep = |touch: &Touch| {
            let [a, b] = touch.bodies.map(|k| &poses[k]);
            -touch.gap(a, b)
        };
        let mut known: Option<(usize, f64)> = None;
        list.retain(|touch| {
            let solids = touch.key.colliders.map(|k| &self.colliders[k as usize].solid);
            if solids.iter().any(|s| matches!(s.kind, Kind::Surface | Kind::Plane)) {
                return true;
            }
            let depth = deep(touch);
            if depth <= tolerance || depth.is_nan() {
                return true;
            }
            let overlap = match known {
                Some((pair, overlap)) if pair == touch.pair => overlap,
                _ => {
                    let [a, b] = touch.bodies.map(|k| &poses[k]);
                    let overlap = -separation(solids, a, b, &(a.s - b.s)).distance;
                    known = Some((touch.pair, overlap));
                    overlap
                }
            };
            // What is no number drops nothing.
            let too_deep = depth > overlap.max(0.0) + tolerance;
            !too_deep
        });
    }
}
