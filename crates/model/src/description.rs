//! The model with its parameters as symbols, for engines that derive equations.
//!
//! Numbers in [`Model`](crate::Model) are these expressions evaluated. Each list runs parallel to the model's.

use gelenk_expr::Expr;

use crate::body::BodyId;
use crate::joint::JointId;
use crate::signal::StateRef;

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
    /// Prescribed motions and gears, in the order of their rows.
    pub ties: Vec<TieValues>,
    /// Equations g = 0, in the order of their rows; their symbols are [`states`](Self::states).
    pub equations: Vec<Expr>,
    /// What symbols of the state in expressions mean, in the order of their first use.
    pub states: Vec<(Expr, StateRef)>,
}

impl Default for Description {
    /// The world alone, without gravity.
    fn default() -> Self {
        let world = BodyPlacement { position: [Expr::ZERO; 3], rotation: None, along: None };
        Description {
            gravity: [Expr::ZERO; 3],
            bodies: vec![world],
            joints: Vec::new(),
            forces: Vec::new(),
            ties: Vec::new(),
            equations: Vec::new(),
            states: Vec::new(),
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
    /// For a body given by its `ends`: the world vector from the first to the second, along the z axis of the file frame, m.
    pub along: Option<VecExpr>,
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
    /// The joint point on each body as drawn, in the world, m.
    pub world_points: [VecExpr; 2],
    /// The axes as drawn, in the world, any length.
    pub world_axes: Option<[VecExpr; 2]>,
    /// The value that `start` gives to the coordinate of the joint as drawn, rad or m; zero without.
    pub start: Expr,
    /// The curve or surface on which the point stays.
    pub track: Option<Track>,
}

/// What a point glides along, as drawn.
#[derive(Clone, Debug)]
pub enum Track {
    /// A curve by formulas over the symbol u, in the world, m.
    Curve {
        /// The symbol.
        u: Expr,
        /// x, y, z.
        place: VecExpr,
    },
    /// A curve by points.
    Spline,
    /// A surface f = 0.
    Surface {
        /// The symbols of the coordinates.
        x: VecExpr,
        /// f over them.
        f: Expr,
        /// The frame in which they are measured.
        frame: BodyPlacement,
    },
}

/// A condition Σ ratio q = f(t) on joint coordinates.
#[derive(Clone, Debug)]
pub struct TieValues {
    /// Joint, which of its coordinates, ratio.
    pub terms: Vec<(JointId, usize, Expr)>,
    /// f over parameters and time.
    pub target: Expr,
}

/// The values of a force element.
#[derive(Clone, Debug, Default)]
pub struct ForceValues {
    /// Bodies and points in their file frames at which it acts, m; empty for forces along joint coordinates.
    pub points: Vec<(BodyId, VecExpr)>,
    /// The same points as drawn, in the world, m.
    pub world_points: Vec<VecExpr>,
    /// `stiffness`, `length`, `force.x` and the like by name. Over parameters, time and state.
    pub values: Vec<(&'static str, Expr)>,
}
