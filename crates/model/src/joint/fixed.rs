//! Fixed joint.

use super::JointFrame;
use super::elements::Axis::{X, Y, Z};
use super::elements::{FrameJoint, FramePair, Row};

/// Fixed joint (weld): the joint frames of a and b coincide. Takes away all 6 degrees of freedom.
///
/// ```text
/// C = [ p_b − p_a ; z_a·y_b ; x_a·z_b ; y_a·x_b ]
/// J = [ −E  r_a×  E  −r_b× ; 0  (u × w)ᵀ  0  −(u × w)ᵀ ]      (u, w) = (z_a, y_b), (x_a, z_b), (y_a, x_b)
/// γ = [ ball ; −( (ω_a×(ω_a×u))·w + 2 (ω_a×u)·(ω_b×w) + u·(ω_b×(ω_b×w)) ) ]
/// ```
/// p: joint points; r = p − s; x, y, z: axes of the joint frames. World frame. For a small turn θ of b against a the
/// last three are θ_x, θ_y, θ_z; half turns about an axis also make them zero, but no step comes near those.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fixed {
    frames: FramePair,
}

impl Fixed {
    /// The joint that holds the two frames together.
    pub fn new(a: &JointFrame, b: &JointFrame) -> Self {
        Fixed { frames: FramePair::new(a, b) }
    }
}

impl FrameJoint for Fixed {
    const ROWS: &'static [(Row, &'static str)] = &[
        (Row::Gap(X), "x"),
        (Row::Gap(Y), "y"),
        (Row::Gap(Z), "z"),
        (Row::Right(Z, Y), "turn about x"),
        (Row::Right(X, Z), "turn about y"),
        (Row::Right(Y, X), "turn about z"),
    ];

    fn frames(&self) -> &FramePair {
        &self.frames
    }
}
