//! Which motions are too fast to be seen by what touches at their ends.

use gelenk_model::state::Pose;

use crate::solid::Kind;
use crate::touch::Touch;
use crate::world::{Collider, World};

/// Those that have a thickness.
fn solids(colliders: &[Collider]) -> impl Iterator<Item = &Collider> {
    colliders.iter().filter(|c| !matches!(c.solid.kind, Kind::Plane | Kind::Surface))
}

/// Half the thickness of the thinnest one, m.
pub(crate) fn thinnest(colliders: &[Collider]) -> f64 {
    let half = solids(colliders).map(|c| {
        let edges = c.solid.half.column_iter().map(|edge| edge.norm());
        edges.fold(f64::INFINITY, f64::min)
    });
    half.fold(f64::INFINITY, f64::min)
}

impl World {
    /// Whether one side of a touch is a half space, which has no end.
    pub fn is_on_plane(&self, touch: &Touch) -> bool {
        let is_plane = |k: u32| self.colliders[k as usize].solid.kind == Kind::Plane;
        touch.key.colliders.into_iter().any(is_plane)
    }

    /// Whether a collider has moved farther between two sets of poses than half the thickness of the thinnest one, so that it may have
    /// gone through something unseen.
    pub fn is_fast(&self, from: &[Pose], to: &[Pose]) -> bool {
        solids(&self.colliders).any(|c| {
            let i = c.body.index();
            // |R' − R| is at least 2/√2 times the sine of half the angle, in the norm of all entries.
            let turn = (to[i].rot - from[i].rot).norm();
            (to[i].s - from[i].s).norm() + turn * c.solid.extent > self.thinnest
        })
    }

    /// The overlaps deeper than `tolerance` at the poses `to` of pairs that have moved against each other by more than that since `from`:
    /// what has gone in on the way, seen or not. As [`World::overlaps`].
    pub fn overlaps_after(
        &mut self,
        from: &[Pose],
        to: &[Pose],
        tolerance: f64,
        out: &mut Vec<Touch>,
    ) {
        let way = |world: &World, k: u32| {
            let collider = &world.colliders[k as usize];
            let i = collider.body.index();
            let turn = (to[i].rot - from[i].rot).norm() * collider.solid.extent;
            (to[i].s - from[i].s).norm() + if turn > 0.0 { turn } else { 0.0 }
        };
        let still = |k: &u32| way(self, *k) <= 0.5 * tolerance;
        if self.is_empty() || self.boxed.iter().all(still) {
            out.clear();
            return;
        }
        self.overlaps_where(
            to,
            tolerance,
            |world, i, j| way(world, i) + way(world, j) > tolerance,
            out,
        );
    }
}
