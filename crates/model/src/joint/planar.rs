//! Planar joint.

use super::elements::Axis::{X, Y, Z};
use super::elements::{FrameJoint, FramePair, Motion, Row};
use super::{Coordinate, CoordinateKind, JointFrame};

/// Planar joint: b glides on the xy plane of the frame on a and turns about its normal. Takes away 3 degrees of
/// freedom.
///
/// ```text
/// C = [ z_a·Δ ; z_a·x_b ; z_a·y_b ]                                                  Δ = p_b − p_a
/// J = [ −z_a  −((p_b − s_a) × z_a)  z_a  r_b × z_a ; 0  z_a × w  0  −(z_a × w) ]
/// γ = [ −( (ω_a×(ω_a×z_a))·Δ + 2 (ω_a×z_a)·Δ̇ + z_a·(ω_b×(ω_b×r_b) − ω_a×(ω_a×r_a)) ) ;
///       −( (ω_a×(ω_a×z_a))·w + 2 (ω_a×z_a)·(ω_b×w) + z_a·(ω_b×(ω_b×w)) ) ]
/// ```
/// w = x_b, y_b; r = p − s. Coordinates: x = x_a·Δ, y = y_a·Δ, angle = atan2(y_a·x_b, x_a·x_b).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planar {
    frames: FramePair,
}

impl Planar {
    /// The joint on the xy plane of the frame on a.
    pub fn new(a: &JointFrame, b: &JointFrame) -> Self {
        Planar { frames: FramePair::new(a, b) }
    }
}

impl FrameJoint for Planar {
    const ROWS: &'static [(Row, &'static str)] =
        &[(Row::Along(Z), "height"), (Row::Right(Z, X), "tilt x"), (Row::Right(Z, Y), "tilt y")];
    const COORDINATES: &'static [Coordinate] = &[
        Coordinate { name: "x", kind: CoordinateKind::Length },
        Coordinate { name: "y", kind: CoordinateKind::Length },
        Coordinate { name: "angle", kind: CoordinateKind::Angle },
    ];
    const MOTIONS: &'static [Motion] = &[Motion::Along(X), Motion::Along(Y), Motion::TurnZ];

    fn frames(&self) -> &FramePair {
        &self.frames
    }
}
