//! Which motions are too fast to be seen by what touches at their ends.

use gelenk_model::state::Pose;

use crate::solid::Kind;
use crate::world::World;

impl World {
    /// Whether a collider has moved farther between two sets of poses than half the thickness of the thinnest one, so that it may have
    /// gone through something unseen.
    pub fn is_fast(&self, from: &[Pose], to: &[Pose]) -> bool {
        let has_thickness = |kind: Kind| !matches!(kind, Kind::Plane | Kind::Surface);
        let solids = || self.colliders.iter().filter(|c| has_thickness(c.solid.kind));
        let half = solids().map(|c| {
            let edges = c.solid.half.column_iter().map(|edge| edge.norm());
            edges.fold(f64::INFINITY, f64::min)
        });
        let thinnest = half.fold(f64::INFINITY, f64::min);
        solids().any(|c| {
            let i = c.body.index();
            // |R' − R| is at least 2/√2 times the sine of half the angle, in the norm of all entries.
            let turn = (to[i].rot - from[i].rot).norm();
            (to[i].s - from[i].s).norm() + turn * c.solid.extent > thinnest
        })
    }
}
