//! Point in a plane.

use super::JointFrame;
use super::elements::Axis::Z;
use super::elements::{FrameJoint, FramePair, Row};

/// Point in a plane: a point of b stays in the plane of a through p_a with the normal n = z_a; b turns freely. Takes away
/// 1 degree of freedom.
///
/// ```text
/// C = n·Δ                                                                            Δ = p_b − p_a
/// J = [ −n  −((p_b − s_a) × n)  n  r_b × n ]
/// γ = −( (ω_a×(ω_a×n))·Δ + 2 (ω_a×n)·Δ̇ + n·(ω_b×(ω_b×r_b) − ω_a×(ω_a×r_a)) )
/// ```
/// r = p − s. World frame. Both bodies are pushed along n at the gliding point p_b, from either side. It is the first row
/// of [`Planar`](super::Planar), and [`PointOnSurface`](super::PointOnSurface) with f = z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanePoint {
    frames: FramePair,
}

impl PlanePoint {
    /// The joint that holds the origin of the frame on b in the xy plane of the frame on a.
    pub fn new(a: &JointFrame, b: &JointFrame) -> Self {
        PlanePoint { frames: FramePair::new(a, b) }
    }
}

impl FrameJoint for PlanePoint {
    const ROWS: &'static [(Row, &'static str)] = &[(Row::Along(Z), "height")];

    fn frames(&self) -> &FramePair {
        &self.frames
    }
}
