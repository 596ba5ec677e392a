//! The model with its parameters as symbols, for engines that derive equations.
//!
//! Numbers in [`Model`](crate::Model) are these expressions evaluated. Each list runs parallel to the model's.

use gelenk_expr::Expr;

use crate::body::BodyId;

/// A vector of expressions.
pub type VecExpr = [Expr; 3];
/// A matrix of expressions, row by row.
pub type MatExpr = [[Expr; 3]; 3];

/// A model as its file describes it, parts put in place, numbers as expressions over parameters.
#[derive(Clone, Debug)]
pub struct Description {
    /// Gravity, m/s².
    pub gravity: VecExpr,
    /// Start placements, parallel to [`Model::bodies`](crate::Model::bodies); the world first.
    pub bodies: Vec<BodyPlacement>,
    /// Geometry of joints, parallel to [`Model::joints`](crate::Model::joints).
    pub joints: Vec<JointGeometry>,
    /// Values of force elements, parallel to [`Model::forces`](crate::Model::forces).
    pub forces: Vec<ForceValues>,
}

impl Default for Description {
    /// The world alone, without gravity.
    fn default() -> Self {
        let world = BodyPlacement { position: [Expr::ZERO; 3], rotation: None };
        Description {
            gravity: [Expr::ZERO; 3],
            bodies: vec![world],
            joints: Vec::new(),
            forces: Vec::new(),
        }
    }
}

/// Where a body's file frame is at the start.
#[derive(Clone, Debug)]
pub struct BodyPlacement {
    /// Origin, m.
    pub position: VecExpr,
    /// Rotation, file frame to world; `None`: the identity.
    pub rotation: Option<MatExpr>,
}

/// Where a joint sits on its bodies, in their file frames.
#[derive(Clone, Debug)]
pub struct JointGeometry {
    /// The joint point on each body, m.
    pub anchors: [VecExpr; 2],
    /// The joint's axis on each body, any length; universal joints: first axis on a, second on b.
    pub axes: Option<[VecExpr; 2]>,
    /// `length`, `pitch` and the like by name.
    pub parameters: Vec<(&'static str, Expr)>,
}

/// The values of a force element.
#[derive(Clone, Debug, Default)]
pub struct ForceValues {
    /// Bodies and points in their file frames at which it acts, m; empty for forces along joint coordinates.
    pub points: Vec<(BodyId, VecExpr)>,
    /// `stiffness`, `length`, `force.x` and the like by name. Over parameters, time and state.
    pub values: Vec<(&'static str, Expr)>,
}
