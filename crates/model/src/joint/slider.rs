//! Slider.

use super::elements::Axis::{X, Y, Z};
use super::elements::{FrameJoint, FramePair, Motion, Row};
use super::{Coordinate, CoordinateKind, JointFrame};

/// Slider (prismatic joint, sledge): b slides along z_a and does not turn against a. Takes away 5 degrees of freedom.
///
/// ```text
/// C = [ x_a·Δ ; y_a·Δ ; z_a·y_b ; x_a·z_b ; y_a·x_b ]                                Δ = p_b − p_a
/// J = [ −u  −((p_b − s_a) × u)  u  r_b × u ; 0  u × w  0  −(u × w) ]
/// γ = [ −( (ω_a×(ω_a×u))·Δ + 2 (ω_a×u)·Δ̇ + u·(ω_b×(ω_b×r_b) − ω_a×(ω_a×r_a)) ) ;
///       −( (ω_a×(ω_a×u))·w + 2 (ω_a×u)·(ω_b×w) + u·(ω_b×(ω_b×w)) ) ]
/// ```
/// p: origins of the joint frames; r = p − s. The coordinate is position = z_a·Δ, zero where the origins coincide.
///
/// \[Schmitt 2003\] section 10 ("Schlitten") builds it of parallel rails and advises a type of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slider {
    frames: FramePair,
}

impl Slider {
    /// The slider along z of the frame on a.
    pub fn new(a: &JointFrame, b: &JointFrame) -> Self {
        Slider { frames: FramePair::new(a, b) }
    }
}

impl FrameJoint for Slider {
    const ROWS: &'static [(Row, &'static str)] = &[
        (Row::Along(X), "across x"),
        (Row::Along(Y), "across y"),
        (Row::Right(Z, Y), "turn about x"),
        (Row::Right(X, Z), "turn about y"),
        (Row::Right(Y, X), "turn about z"),
    ];
    const COORDINATES: &'static [Coordinate] =
        &[Coordinate { name: "position", kind: CoordinateKind::Length }];
    const MOTIONS: &'static [Motion] = &[Motion::Along(Z)];

    fn frames(&self) -> &FramePair {
        &self.frames
    }
}
