//! What is to be derived: a tree of elementary motions with bodies on it, loads, and closure conditions.
//!
//! Every joint is a chain of turns and slides. A node is one of them; its frame moves with what hangs on it. Unless a node
//! says otherwise its axes are the world's in the drawing, so that parallel axes stay parallel and their angles add up.

use gelenk_expr::{Expr, Pool};

/// A vector of expressions.
pub type VecExpr = [Expr; 3];
/// A matrix of expressions, row by row.
pub type MatExpr = [[Expr; 3]; 3];

/// Why equations cannot be derived.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeriveError {
    /// The model has something the engine does not know how to derive.
    #[error("{element}: {reason}")]
    Unsupported {
        /// The element, such as "joint `elbow`".
        element: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The closed form is larger than the limit.
    #[error("the closed form is too large ({what}); the recursive form serves instead")]
    TooLarge {
        /// What grew too large.
        what: String,
    },
    /// An expression cannot be compiled.
    #[error("the equations cannot be compiled: {0}")]
    Compile(String),
    /// Nothing can move.
    #[error("the model has no coordinate: nothing in it can move")]
    NothingMoves,
}

/// What a generalized coordinate measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// An angle, rad.
    Angle,
    /// A length, m.
    Length,
    /// The parameter of a curve.
    Parameter,
}

/// A generalized coordinate q with its rate and acceleration.
#[derive(Clone, Debug)]
pub struct Coordinate {
    /// q.
    pub symbol: Expr,
    /// q̇.
    pub rate: Expr,
    /// q̈.
    pub acceleration: Expr,
    /// Angle or length.
    pub measure: Measure,
    /// What it is, for people: "joint `shoulder`, angle".
    pub meaning: String,
    /// Where the equations are singular in it, for people.
    pub singular: Option<String>,
}

/// The motion of a node in its parent.
#[derive(Clone, Debug)]
pub enum Motion {
    /// None.
    Fixed,
    /// A turn about a unit vector.
    Turn(VecExpr),
    /// A slide along a unit vector.
    Slide(VecExpr),
    /// A turn about a unit vector and a slide along it, m for each rad.
    Screw(VecExpr, Expr),
    /// A displacement that is a function of the value's symbol.
    Path(VecExpr),
}

/// A node of the tree.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its parent; the root, node 0, is its own.
    pub parent: usize,
    /// Its origin at value 0, in the parent's frame, m.
    pub offset: VecExpr,
    /// How it moves.
    pub motion: Motion,
    /// How far: an expression over one coordinate or over time.
    pub value: Expr,
    /// The coordinate that `value` contains.
    pub coordinate: Option<usize>,
}

/// A body on the tree.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Its index in the model's bodies.
    pub body: usize,
    /// The node it moves with.
    pub node: usize,
    /// Mass, kg.
    pub mass: Expr,
    /// Centre of mass in the node's frame, m.
    pub center: VecExpr,
    /// Inertia about the centre of mass in the node's axes, kg m².
    pub inertia: MatExpr,
    /// Turns vectors of the model's principal frame to the node's axes.
    pub principal: gelenk_model::math::Mat3,
    /// Whether it is a point mass, without moments of inertia.
    pub is_point: bool,
    /// The axis of a thin rod, about which it has no moment of inertia, in the model's principal frame.
    pub thin: Option<gelenk_model::math::Vec3>,
}

/// A joint of the tree.
#[derive(Clone, Debug)]
pub struct TreeJoint {
    /// Its name.
    pub name: String,
    /// The body towards the root.
    pub from: String,
    /// The body it carries.
    pub on: String,
    /// The first of its nodes; its origin is the joint's point on `from`.
    pub first: usize,
    /// Its coordinates.
    pub coordinates: Vec<usize>,
    /// Whether it turns freely about every axis: a ball, a thread.
    pub is_ball: bool,
}

/// A point of a link, in its node's frame.
#[derive(Clone, Debug)]
pub struct LinkPoint {
    /// The node.
    pub node: usize,
    /// The point, m.
    pub place: VecExpr,
}

/// The axes of a given force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axes {
    /// The world's.
    World,
    /// Those of the body's file frame.
    Body,
}

/// A load on the mechanism.
#[derive(Clone, Debug)]
pub enum Law {
    /// Linear spring between two points: U = ½ c (λ − λ0)².
    Spring {
        /// Its ends.
        ends: [LinkPoint; 2],
        /// c, N/m.
        stiffness: Expr,
        /// λ0, m.
        length: Expr,
    },
    /// Axial damper between two points: F = −d λ̇ along the line.
    Damper {
        /// Its ends.
        ends: [LinkPoint; 2],
        /// d, N s/m.
        damping: Expr,
    },
    /// The damper of the 1978 program, \[LAGR\] (35)-(37): Q_ρ = −k ∂_ρΔ·∂_νΔ q̇^ν, against the full relative velocity.
    FullDamper {
        /// Its ends.
        ends: [LinkPoint; 2],
        /// k, N s/m.
        damping: Expr,
    },
    /// Damper against the relative velocity of b's point as seen from a's body: a pair that turns together is not damped.
    BodyDamper {
        /// Its ends; the first gives the axes.
        ends: [LinkPoint; 2],
        /// k, N s/m.
        damping: Expr,
    },
    /// A force along a function of the coordinates: Q_ρ = τ ∂_ρs.
    Along {
        /// s.
        displacement: Expr,
        /// τ over coordinates, rates and time.
        force: Expr,
        /// What it is.
        kind: AlongKind,
    },
    /// A given force at a point and a given torque.
    Applied {
        /// Where.
        point: LinkPoint,
        /// N.
        force: VecExpr,
        /// N m.
        torque: VecExpr,
        /// World, or the node's axes.
        axes: Axes,
    },
    /// Viscous drag: F = −c v, T = −c_r ω.
    Drag {
        /// Where.
        point: LinkPoint,
        /// c, N s/m.
        linear: Expr,
        /// c_r, N m s/rad.
        angular: Expr,
    },
    /// Torque on the massless rod between two points.
    RodTorque {
        /// Its ends.
        ends: [LinkPoint; 2],
        /// N m, world axes.
        torque: VecExpr,
    },
}

/// What a force along a coordinate is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlongKind {
    /// −c (s − s0): the stiffness c and the rest s0.
    Spring(Expr, Expr),
    /// −d ṡ.
    Damper(Expr),
    /// A drive or motor.
    Drive,
}

/// A named load.
#[derive(Clone, Debug)]
pub struct Load {
    /// Its name in the model.
    pub name: String,
    /// Its law.
    pub law: Law,
}

/// A condition C(q, t) = 0 beyond the tree: the rows that a cut joint holds.
#[derive(Clone, Debug)]
pub struct Closure {
    /// The element, for people: "joint `crank-pin`".
    pub name: String,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// One row of a closure, over points and directions of two nodes. Δ = p_b − p_a.
#[derive(Clone, Debug)]
pub enum Row {
    /// u·Δ for a direction u fixed in a's node.
    Along {
        /// The points.
        ends: [LinkPoint; 2],
        /// u in a's axes.
        direction: VecExpr,
    },
    /// A component of Δ in the axes of the node where both branches meet.
    Gap {
        /// The points.
        ends: [LinkPoint; 2],
        /// 0, 1, 2 for x, y, z.
        axis: usize,
    },
    /// u·w for a direction u of a's node and w of b's.
    Right {
        /// The nodes.
        nodes: [usize; 2],
        /// u and w.
        directions: [VecExpr; 2],
    },
    /// ½ (Δ·Δ − L²).
    Distance {
        /// The points.
        ends: [LinkPoint; 2],
        /// L, m.
        length: Expr,
    },
    /// f(x) of the coordinates x of b's point in a frame on a.
    Surface {
        /// The frame's origin on a's node, and b's point.
        ends: [LinkPoint; 2],
        /// Axes of the frame in a's axes, as columns; `None`: a's own.
        axes: Option<MatExpr>,
        /// The symbols x, y, z.
        x: VecExpr,
        /// f.
        f: Expr,
    },
    /// An expression over coordinates and time.
    Equation(Expr),
}

/// A parameter of the model.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its symbol.
    pub symbol: Expr,
    /// Its value.
    pub value: f64,
    /// What it is, for people.
    pub description: Option<String>,
}

/// A mechanism ready to be derived.
#[derive(Clone, Debug)]
pub struct System {
    /// Its name.
    pub name: String,
    /// The expressions.
    pub pool: Pool,
    /// Gravity, world axes, m/s².
    pub gravity: VecExpr,
    /// The coordinates q¹ … q^f.
    pub coordinates: Vec<Coordinate>,
    /// The tree; node 0 is the world, parents come first.
    pub nodes: Vec<Node>,
    /// The bodies that move.
    pub links: Vec<Link>,
    /// The joints that carry them.
    pub joints: Vec<TreeJoint>,
    /// Loads but gravity.
    pub loads: Vec<Load>,
    /// Conditions with multipliers.
    pub closures: Vec<Closure>,
    /// Parameters that are symbols in the equations.
    pub parameters: Vec<Parameter>,
    /// Numbers set from outside, with their values till then.
    pub inputs: Vec<(Expr, f64)>,
    /// Symbols known to be positive.
    pub positive: Vec<Expr>,
    /// Choices made and things left out, for people.
    pub notes: Vec<String>,
    /// How coordinates follow from a state of the model.
    pub(crate) readers: Vec<crate::state::Reader>,
}

impl System {
    /// The equations as numbers, by the recursive form. The model chooses the independent closure rows at its start.
    pub fn numeric(
        &mut self,
        model: &gelenk_model::Model,
    ) -> Result<crate::numeric::Numeric, DeriveError> {
        crate::numeric::Numeric::new(self, Some(model))
    }

    /// The coordinates on the way from the root to a node, root first.
    pub fn path(&self, mut node: usize) -> Vec<usize> {
        let mut path = Vec::new();
        while node != 0 {
            path.push(node);
            node = self.nodes[node].parent;
        }
        path.reverse();
        path
    }

    /// Symbols of coordinates that are angles and belong to parallel axes in a row get the same number.
    pub(crate) fn parallel_groups(&self) -> Vec<(Expr, usize)> {
        let mut groups = Vec::new();
        let mut of_node: Vec<Option<(usize, VecExpr)>> = vec![None; self.nodes.len()];
        let mut next = 0;
        for (i, node) in self.nodes.iter().enumerate().skip(1) {
            let above = of_node[node.parent];
            of_node[i] = match &node.motion {
                Motion::Turn(axis) | Motion::Screw(axis, _) => {
                    let same = above.filter(|(_, other)| other == axis);
                    let number = same.map_or_else(
                        || {
                            next += 1;
                            next - 1
                        },
                        |(number, _)| number,
                    );
                    if let Some(k) = node.coordinate {
                        groups.push((self.coordinates[k].symbol, number));
                    }
                    Some((number, *axis))
                }
                _ => above,
            };
        }
        groups
    }
}
