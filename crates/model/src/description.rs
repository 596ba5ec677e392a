//! The model with its parameters as symbols, for engines that derive equations.
//!
//! Numbers in [`Model`] are these expressions evaluated. Each list runs parallel to the model's.

use gelenk_expr::{Expr, Node, Pool};

use crate::body::BodyId;
use crate::force::JointAxis;
use crate::joint::JointId;
use crate::model::Model;
use crate::posing::Carried;
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
    /// Joints whose coordinates are charges of circuits.
    pub circuits: Vec<JointId>,
    /// Values of force elements, parallel to [`Model::forces`](crate::Model::forces).
    pub forces: Vec<ForceValues>,
    /// Prescribed motions and gears, in the order of their rows.
    pub ties: Vec<TieValues>,
    /// Equations g = 0, in the order of their rows; their symbols are [`states`](Self::states).
    pub equations: Vec<Expr>,
    /// What symbols of the state in expressions mean, in the order of their first use.
    pub states: Vec<(Expr, StateRef)>,
    /// Velocity of the file frame's origin and angular velocity as drawn, world axes, parallel to
    /// [`Model::bodies`](crate::Model::bodies); the world first.
    pub velocities: Vec<[VecExpr; 2]>,
    /// Start values given apart from the drawing, in their order.
    pub starts: Vec<StartEntry>,
    /// Places of markers in the file frames of their bodies, m, parallel to [`Model::markers`](crate::Model::markers).
    pub markers: Vec<VecExpr>,
    /// End stops of joint coordinates.
    pub limits: Vec<LimitValues>,
    /// Largest dry friction of joint coordinates: joint, which of its coordinates, N m or N.
    pub frictions: Vec<(JointId, usize, Expr)>,
    /// The signals, over [`signal_inputs`](Self::signal_inputs) and parameters.
    pub signals: Vec<Expr>,
    /// Their switching functions.
    pub kinks: Vec<Expr>,
    /// The symbols of the signals' inputs, in the order of [`Signals::inputs`](crate::signal::Signals::inputs).
    pub signal_inputs: Vec<Expr>,
}

/// A start value given apart from the drawing.
#[derive(Clone, Debug)]
pub enum StartEntry {
    /// Of a body.
    Body(StartValues),
    /// Of a joint coordinate.
    Joint(JointStart),
}

/// Where a joint coordinate begins; what is `None` stays.
#[derive(Clone, Debug)]
pub struct JointStart {
    /// The coordinate.
    pub axis: JointAxis,
    /// Its value, rad or m.
    pub value: Option<Expr>,
    /// Its rate, rad/s or m/s.
    pub rate: Option<Expr>,
    /// What moves with it; `None` where loops or couplings were closed around it.
    pub carried: Option<Carried>,
}

/// Where a body begins, apart from where it is drawn; what is `None` stays.
#[derive(Clone, Debug)]
pub struct StartValues {
    /// The body.
    pub body: BodyId,
    /// Origin of its file frame, m.
    pub position: Option<VecExpr>,
    /// Rotation, file frame to world.
    pub rotation: Option<MatExpr>,
    /// Velocity of the origin, m/s.
    pub velocity: Option<VecExpr>,
    /// Angular velocity, rad/s.
    pub angular_velocity: Option<VecExpr>,
}

/// End stops of a joint coordinate.
#[derive(Clone, Debug)]
pub struct LimitValues {
    /// The joint.
    pub joint: JointId,
    /// Which of its coordinates.
    pub which: usize,
    /// Smallest and largest value, rad or m.
    pub ends: [Option<Expr>; 2],
}

impl Description {
    /// The place of the marker whose position or velocity a symbol of the state stands for, in its body's file frame, m.
    pub fn marker_place(&self, model: &Model, pool: &Pool, symbol: Expr) -> Option<&VecExpr> {
        let Node::Symbol(name) = pool.node(symbol) else { return None };
        let (rest, _) = name.strip_prefix("marker.")?.rsplit_once('.')?;
        let (name, word) = rest.rsplit_once('.')?;
        if !matches!(word, "position" | "velocity") {
            return None;
        }
        let i = model.markers.iter().position(|marker| marker.name == name)?;
        self.markers.get(i)
    }
}

impl Default for Description {
    /// The world alone, without gravity.
    fn default() -> Self {
        let world = BodyPlacement { position: [Expr::ZERO; 3], rotation: None, along: None };
        Description {
            gravity: [Expr::ZERO; 3],
            bodies: vec![world],
            joints: Vec::new(),
            circuits: Vec::new(),
            forces: Vec::new(),
            ties: Vec::new(),
            equations: Vec::new(),
            states: Vec::new(),
            velocities: vec![[[Expr::ZERO; 3]; 2]],
            starts: Vec::new(),
            markers: Vec::new(),
            limits: Vec::new(),
            frictions: Vec::new(),
            signals: Vec::new(),
            kinks: Vec::new(),
            signal_inputs: Vec::new(),
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
    /// The length is that of the drawing.
    pub as_drawn: bool,
    /// The joint point on each body as drawn, in the world, m.
    pub world_points: [VecExpr; 2],
    /// The axes as drawn, in the world, any length.
    pub world_axes: Option<[VecExpr; 2]>,
    /// The value that `start` gives to the coordinate of the joint as drawn, rad or m; zero without.
    pub start: Expr,
    /// The curve or surface on which the point stays.
    pub track: Option<Track>,
    /// The expressions of its formula or points as given, in the frame of the first body.
    pub formula: Vec<Expr>,
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
    /// A curve by points, as given, m.
    Spline(Vec<VecExpr>),
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
    /// f is what the sum is as drawn.
    pub as_drawn: bool,
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
    /// The length, or the coordinate at rest, is that of the drawing.
    pub as_drawn: bool,
}
