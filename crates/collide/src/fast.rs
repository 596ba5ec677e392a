//! Which motions are too fast to be seen by what touches at their ends.

use gelenk_model::state::Pose;

use crate::solid::{Kind, Solid};
use crate::touch::Touch;
use crate::world::{Collider, World};

/// Half the thickness of a solid, m; infinite for planes and surfaces.
fn half_thickness(solid: &Solid) -> f64 {
    if matches!(solid.kind, Kind::Plane | Kind::Surface) {
        return f64::INFINITY;
    }
    solid.half.column_iter().map(|edge| edge.norm()).fold(f64::INFINITY, f64::min)
}

/// Half the thickness of the thinnest one, m.
pub(crate) fn thinnest(colliders: &[Collider]) -> f64 {
    colliders.iter().map(|c| half_thickness(&c.solid)).fold(f64::INFINITY, f64::min)
}

/// How far points within `extent` of the origin have moved, at most, where a frame went from one pose to another: R' − R stretches by twice the sine of half
/// the angle, which is the norm of all its entries over √2.
fn way(from: &Pose, to: &Pose, extent: f64) -> f64 {
    let turn = (to.rot - from.rot).norm() * std::f64::consts::FRAC_1_SQRT_2;
    // Half spaces have no extent, and do not turn.
    (to.s - from.s).norm() + if turn > 0.0 { turn * extent } else { 0.0 }
}

/// The pose of `a` in the frame of `b`.
fn seen_from(a: &Pose, b: &Pose) -> Pose {
    let to_b = b.rot.transpose();
    Pose { s: to_b * (a.s - b.s), rot: to_b * a.rot }
}

impl World {
    /// Whether one side of a touch is a half space, which has no end.
    pub fn is_on_plane(&self, touch: &Touch) -> bool {
        let is_plane = |k: u32| self.colliders[k as usize].solid.kind == Kind::Plane;
        touch.key.colliders.into_iter().any(is_plane)
    }

    /// The first crossing ([`World::first_crossing`]) among pairs that may have gone through each other unseen: those whose points have moved against
    /// each other by more than half the thickness of the thinner one. (What is behind a plane overlaps it, and is seen.)
    pub fn first_passing(
        &mut self,
        from: &[Pose],
        to: &[Pose],
        tolerance: f64,
    ) -> Option<(f64, Touch)> {
        // Two that move towards each other share the way.
        let fast = |c: &Collider| {
            let i = c.body.index();
            way(&from[i], &to[i], c.solid.extent) > 0.5 * self.thinnest
        };
        if !self.colliders.iter().any(fast) {
            return None;
        }
        self.first_crossing_where(from, to, tolerance, |world, pair| {
            let [a, b] = world.pairs[pair].colliders.map(|k| &world.colliders[k as usize]);
            if [a, b].iter().any(|c| c.solid.kind == Kind::Plane) {
                return false;
            }
            let most = half_thickness(&a.solid).min(half_thickness(&b.solid));
            // No point of one passes the other where none of them goes so far in its frame: of both frames the one that shows less counts, so that what
            // turns about a common hinge has hardly moved.
            let moved = |a: &Collider, b: &Collider| {
                let [i, j] = [a, b].map(|c| c.body.index());
                let [from, to] = [from, to].map(|poses| seen_from(&poses[i], &poses[j]));
                way(&from, &to, a.solid.extent)
            };
            moved(a, b) > most && moved(b, a) > most
        })
    }

    /// The overlaps deeper than `tolerance` at the poses `to` of pairs that have moved against each other by more than that since `from`, and were not sunk
    /// into each other as deeply there: what has gone in on the way, seen or not. As [`World::overlaps`].
    pub fn overlaps_after(
        &mut self,
        from: &[Pose],
        to: &[Pose],
        tolerance: f64,
        out: &mut Vec<Touch>,
    ) {
        let moved = |world: &World, k: u32| {
            let collider = &world.colliders[k as usize];
            let i = collider.body.index();
            way(&from[i], &to[i], collider.solid.extent)
        };
        let still = |k: &u32| moved(self, *k) <= 0.5 * tolerance;
        if self.is_empty() || self.boxed.iter().all(still) {
            out.clear();
            return;
        }
        self.overlaps_where(
            to,
            Some(from),
            tolerance,
            |world, i, j| moved(world, i) + moved(world, j) > tolerance,
            out,
        );
    }
}
