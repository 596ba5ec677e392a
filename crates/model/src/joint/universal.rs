//! Universal joint.

use super::elements::Axis::{X, Y, Z};
use super::elements::{FrameJoint, FramePair, Motion, Row};
use super::{Coordinate, CoordinateKind, JointFrame};
use crate::math::Vec3;

/// Universal joint (Cardan, Hooke): a cross turns about z_a in a and about x_b in b, at a right angle. Takes away 4
/// degrees of freedom.
///
/// ```text
/// C = [ p_b − p_a ; z_a·x_b ]
/// J = [ −E  r_a×  E  −r_b× ; 0  (z_a × x_b)ᵀ  0  −(z_a × x_b)ᵀ ]
/// γ = [ ball ; −( (ω_a×(ω_a×z_a))·x_b + 2 (ω_a×z_a)·(ω_b×x_b) + z_a·(ω_b×(ω_b×x_b)) ) ]
/// ```
/// Coordinates: the cross in a and b in the cross, so that the axes of b in a are R_z(angle1) R_x(angle2):
/// ```text
/// angle1 = atan2(y_a·x_b, x_a·x_b)      its rate z_a·(ω_b − ω_a)
/// angle2 = atan2(z_a·y_b, z_a·z_b)      its rate x_b·(ω_b − ω_a)
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Universal {
    frames: FramePair,
}

impl Universal {
    /// The joint with the cross along z of the frame on a and x of the frame on b.
    pub fn new(a: &JointFrame, b: &JointFrame) -> Self {
        Universal { frames: FramePair::new(a, b) }
    }

    /// The axes of the cross: z_a in a's principal frame, x_b in b's, of length 1.
    pub fn axes(&self) -> [Vec3; 2] {
        [self.frames.a.z(), self.frames.b.x()]
    }
}

impl FrameJoint for Universal {
    const ROWS: &'static [(Row, &'static str)] = &[
        (Row::Gap(X), "x"),
        (Row::Gap(Y), "y"),
        (Row::Gap(Z), "z"),
        (Row::Right(Z, X), "angle of the cross"),
    ];
    const COORDINATES: &'static [Coordinate] = &[
        Coordinate { name: "angle1", kind: CoordinateKind::Angle },
        Coordinate { name: "angle2", kind: CoordinateKind::Angle },
    ];
    const MOTIONS: &'static [Motion] = &[Motion::TurnZ, Motion::TurnX];

    fn frames(&self) -> &FramePair {
        &self.frames
    }
}
