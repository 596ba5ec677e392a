//! A robot as both formats mean it: a tree of links, joints on them, conditions beside the tree.

use gelenk_model::Span;
use gelenk_model::math::{Quat, Vec3};

use crate::mass::{Mass, Pose};

/// A robot.
#[derive(Clone, Debug)]
pub(crate) struct Robot {
    pub(crate) format: &'static str,
    pub(crate) name: String,
    pub(crate) gravity: Vec3,
    /// Time step, s.
    pub(crate) step: Option<f64>,
    /// Links, each after its parent; the first is the world.
    pub(crate) links: Vec<Link>,
    pub(crate) closures: Vec<Closure>,
    pub(crate) couplings: Vec<Coupling>,
    pub(crate) cords: Vec<Cord>,
    /// Pairs of links that do not touch.
    pub(crate) excludes: Vec<[usize; 2]>,
    /// Pairs of shapes with values of their own.
    pub(crate) pairs: Vec<Pair>,
    /// Whether links of the robot may touch each other.
    pub(crate) touches_itself: bool,
    /// Inputs of actuators and the value each begins with.
    pub(crate) inputs: Vec<(String, f64)>,
    /// Forces on links, TOML lines without the name of the body.
    pub(crate) forces: Vec<(usize, String)>,
}

/// A link: a frame in that of its parent, moved by its joints in their order.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) name: String,
    /// Whether the file gives the name.
    pub(crate) named: bool,
    pub(crate) parent: usize,
    /// Its frame in the parent's while all joints are at their reference.
    pub(crate) pose: Pose,
    pub(crate) joints: Vec<Joint>,
    pub(crate) mass: Mass,
    pub(crate) shapes: Vec<Shape>,
    /// Named points.
    pub(crate) marks: Vec<(String, Vec3)>,
    /// The part of its weight that is held up.
    pub(crate) gravity_held: f64,
    /// Whether its mass is given, so that shapes add none.
    pub(crate) weighed: bool,
    /// The file it is from: 0, or a model that is attached.
    pub(crate) scope: usize,
    pub(crate) span: Span,
}

/// What a joint allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Freedom {
    Hinge,
    Slide,
    Ball,
    Free,
}

/// A joint of a link.
#[derive(Clone, Debug)]
pub(crate) struct Joint {
    pub(crate) name: String,
    pub(crate) freedom: Freedom,
    /// In the link's frame.
    pub(crate) anchor: Vec3,
    pub(crate) axis: Vec3,
    /// Its coordinate where the link is drawn, rad or m.
    pub(crate) reference: f64,
    /// Its coordinate at the start.
    pub(crate) start: f64,
    /// Velocity at the start: one number, three of a ball (link axes), six of a free joint (world; then link axes).
    pub(crate) rate: [f64; 6],
    /// Free: place in the world at the start.
    pub(crate) start_pose: Option<Pose>,
    /// Ball: rotation at the start.
    pub(crate) start_turn: Quat,
    pub(crate) limits: Option<[f64; 2]>,
    pub(crate) damping: f64,
    pub(crate) stiffness: f64,
    pub(crate) rest: f64,
    pub(crate) friction: f64,
    pub(crate) armature: f64,
    /// The largest effort that the file allows, and where it does.
    pub(crate) strength: Option<(f64, Span)>,
    /// Held at its start.
    pub(crate) locked: bool,
    /// TOML tables.
    pub(crate) drives: Vec<String>,
    pub(crate) motors: Vec<String>,
    pub(crate) span: Span,
}

impl Joint {
    pub(crate) fn new(name: &str, freedom: Freedom, span: Span) -> Self {
        Joint {
            name: name.to_owned(),
            freedom,
            anchor: Vec3::zeros(),
            axis: Vec3::z(),
            reference: 0.0,
            start: 0.0,
            rate: [0.0; 6],
            start_pose: None,
            start_turn: Quat::identity(),
            limits: None,
            damping: 0.0,
            stiffness: 0.0,
            rest: 0.0,
            friction: 0.0,
            armature: 0.0,
            strength: None,
            locked: false,
            drives: Vec::new(),
            motors: Vec::new(),
            span,
        }
    }

    /// Numbers of its velocity.
    pub(crate) fn velocities(&self) -> usize {
        match self.freedom {
            Freedom::Hinge | Freedom::Slide => 1,
            Freedom::Ball => 3,
            Freedom::Free => 6,
        }
    }

    /// What expressions call its coordinate.
    pub(crate) fn coordinate(&self) -> &'static str {
        if self.freedom == Freedom::Slide { "position" } else { "angle" }
    }
}

/// A shape on a link.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// TOML of the geometry: `box = { size = [...] }`.
    pub(crate) geometry: String,
    pub(crate) pose: Pose,
    /// It touches others.
    pub(crate) touches: bool,
    pub(crate) color: Option<[f64; 3]>,
    pub(crate) surface: Option<Surface>,
}

/// How a shape touches: MuJoCo's masks and friction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Surface {
    /// 32 bits of the file; those above are for pairs.
    pub(crate) contype: u128,
    pub(crate) conaffinity: u128,
    /// Of two surfaces the values of the one with the higher priority hold.
    pub(crate) priority: i32,
    /// The number of a shape that pairs name: its surface is its own.
    pub(crate) own: Option<usize>,
    /// 1 without friction, 3 sliding, 4 and turning on the spot, 6 and rolling.
    pub(crate) dimension: u8,
    pub(crate) friction: [f64; 3],
}

/// Values with which two shapes touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pair {
    /// The numbers of their surfaces.
    pub(crate) own: [usize; 2],
    pub(crate) dimension: u8,
    pub(crate) friction: [f64; 3],
}

/// A joint that closes a loop.
#[derive(Clone, Debug)]
pub(crate) struct Closure {
    pub(crate) name: String,
    /// `ball`, `hinge`, `slider`, ... or `fixed`.
    pub(crate) kind: &'static str,
    pub(crate) links: [usize; 2],
    /// On each link.
    pub(crate) anchors: [Vec3; 2],
    /// On each link, where the type has an axis.
    pub(crate) axes: Option<[Vec3; 2]>,
}

/// Σ ratio q = constant, over joints named by link and place on it.
#[derive(Clone, Debug)]
pub(crate) struct Coupling {
    pub(crate) name: String,
    pub(crate) terms: Vec<(f64, [usize; 2])>,
}

/// A spring, damper or rope between two points.
#[derive(Clone, Debug)]
pub(crate) struct Cord {
    pub(crate) name: String,
    pub(crate) links: [usize; 2],
    pub(crate) anchors: [Vec3; 2],
    /// Stiffness and length without load.
    pub(crate) spring: Option<(f64, Option<f64>)>,
    pub(crate) damping: f64,
    /// Largest length.
    pub(crate) longest: Option<f64>,
}
