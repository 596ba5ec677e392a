//! Rail.

use super::elements::Axis::{X, Y, Z};
use super::elements::{FrameJoint, FramePair, Motion, Row};
use super::{Coordinate, CoordinateKind, JointFrame};

/// Rail: a point of b stays on the straight line along z_a; b turns freely. Takes away 2 degrees of freedom.
///
/// ```text
/// C = [ x_a·Δ ; y_a·Δ ]                                                              Δ = p_b − p_a
/// J = [ −u  −((p_b − s_a) × u)  u  r_b × u ]                                         u = x_a, y_a
/// γ = −( (ω_a×(ω_a×u))·Δ + 2 (ω_a×u)·Δ̇ + u·(ω_b×(ω_b×r_b) − ω_a×(ω_a×r_a)) )
/// ```
/// r = p − s. Both bodies are pushed at the gliding point p_b. The coordinate is position = z_a·Δ; the ends of the
/// rail are limits of it.
///
/// \[Schmitt 2003\] section 10 ("Schienenführung").
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rail {
    frames: FramePair,
}

impl Rail {
    /// The rail along z of the frame on a, with the origin of the frame on b on it.
    pub fn new(a: &JointFrame, b: &JointFrame) -> Self {
        Rail { frames: FramePair::new(a, b) }
    }
}

impl FrameJoint for Rail {
    const ROWS: &'static [(Row, &'static str)] =
        &[(Row::Along(X), "across x"), (Row::Along(Y), "across y")];
    const COORDINATES: &'static [Coordinate] =
        &[Coordinate { name: "position", kind: CoordinateKind::Length }];
    const MOTIONS: &'static [Motion] = &[Motion::Along(Z)];

    fn frames(&self) -> &FramePair {
        &self.frames
    }
}
