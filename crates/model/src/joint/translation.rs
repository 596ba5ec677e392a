//! Translation joint.

use super::elements::Axis::{X, Y, Z};
use super::elements::{FrameJoint, FramePair, Motion, Row};
use super::{Coordinate, CoordinateKind, JointFrame};

/// Translation joint: b keeps its orientation against a and moves freely otherwise. Takes away 3 degrees of freedom.
///
/// ```text
/// C = [ z_a·y_b ; x_a·z_b ; y_a·x_b ]
/// J = [ 0  u × w  0  −(u × w) ]                       (u, w) = (z_a, y_b), (x_a, z_b), (y_a, x_b)
/// γ = −( (ω_a×(ω_a×u))·w + 2 (ω_a×u)·(ω_b×w) + u·(ω_b×(ω_b×w)) )
/// ```
/// Coordinates: x, y, z, the components of p_b − p_a along the axes of the frame on a.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Translation {
    frames: FramePair,
}

impl Translation {
    /// The joint that keeps the axes of the two frames parallel.
    pub fn new(a: &JointFrame, b: &JointFrame) -> Self {
        Translation { frames: FramePair::new(a, b) }
    }
}

impl FrameJoint for Translation {
    const ROWS: &'static [(Row, &'static str)] = &[
        (Row::Right(Z, Y), "turn about x"),
        (Row::Right(X, Z), "turn about y"),
        (Row::Right(Y, X), "turn about z"),
    ];
    const COORDINATES: &'static [Coordinate] = &[
        Coordinate { name: "x", kind: CoordinateKind::Length },
        Coordinate { name: "y", kind: CoordinateKind::Length },
        Coordinate { name: "z", kind: CoordinateKind::Length },
    ];
    const MOTIONS: &'static [Motion] = &[Motion::Along(X), Motion::Along(Y), Motion::Along(Z)];

    fn frames(&self) -> &FramePair {
        &self.frames
    }
}
