//! Cylindrical joint.

use super::elements::Axis::{X, Y, Z};
use super::elements::{FrameJoint, FramePair, Motion, Row};
use super::{Coordinate, CoordinateKind, JointFrame};

/// Cylindrical joint: b slides along z_a and turns about it. Takes away 4 degrees of freedom.
///
/// ```text
/// C = [ x_a·Δ ; y_a·Δ ; z_a·x_b ; z_a·y_b ]                                          Δ = p_b − p_a
/// J = [ −u  −((p_b − s_a) × u)  u  r_b × u ; 0  z_a × w  0  −(z_a × w) ]
/// γ = [ −( (ω_a×(ω_a×u))·Δ + 2 (ω_a×u)·Δ̇ + u·(ω_b×(ω_b×r_b) − ω_a×(ω_a×r_a)) ) ;
///       −( (ω_a×(ω_a×z_a))·w + 2 (ω_a×z_a)·(ω_b×w) + z_a·(ω_b×(ω_b×w)) ) ]
/// ```
/// u = x_a, y_a; w = x_b, y_b; r = p − s. Coordinates: position = z_a·Δ and angle = atan2(y_a·x_b, x_a·x_b).
///
/// \[Schmitt 2003\] section 10 ("Schiebe-Drehelement") builds it of one rail with two points on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cylindrical {
    frames: FramePair,
}

impl Cylindrical {
    /// The joint along and about z of the frame on a.
    pub fn new(a: &JointFrame, b: &JointFrame) -> Self {
        Cylindrical { frames: FramePair::new(a, b) }
    }
}

impl FrameJoint for Cylindrical {
    const ROWS: &'static [(Row, &'static str)] = &[
        (Row::Along(X), "across x"),
        (Row::Along(Y), "across y"),
        (Row::Right(Z, X), "tilt x"),
        (Row::Right(Z, Y), "tilt y"),
    ];
    const COORDINATES: &'static [Coordinate] = &[
        Coordinate { name: "position", kind: CoordinateKind::Length },
        Coordinate { name: "angle", kind: CoordinateKind::Angle },
    ];
    const MOTIONS: &'static [Motion] = &[Motion::Along(Z), Motion::TurnZ];

    fn frames(&self) -> &FramePair {
        &self.frames
    }
}
