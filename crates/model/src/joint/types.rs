//! The joint types by name: what a file may ask for, what each needs, and what it leaves free.

use super::{
    Ball, Cylindrical, Distance, Fixed, Hinge, JointFrame, JointKind, Path, Planar, PlanePoint,
    PointOnCurve, PointOnSurface, Rail, Rope, Screw, Slider, Surface, Translation, Universal,
};

/// What is known of a joint type by its name; for help, documentation and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JointType {
    /// The name in model files.
    pub name: &'static str,
    /// Names it has elsewhere, offered as "did you mean".
    pub aliases: &'static [&'static str],
    /// One sentence.
    pub summary: &'static str,
    /// Its parameters beyond the joint frames.
    pub parameters: &'static [JointParameter],
    /// Names of its coordinates.
    pub coordinates: &'static [&'static str],
    /// Degrees of freedom it leaves between two rigid bodies.
    pub freedoms: usize,
}

/// A parameter of a joint type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JointParameter {
    /// The name in model files.
    pub name: &'static str,
    /// One sentence with the unit.
    pub summary: &'static str,
}

/// Values of the parameters that joint types may need.
#[derive(Clone, Debug, Default)]
pub struct JointParameters {
    /// Length of a rod or rope, m.
    pub length: Option<f64>,
    /// Movement of a screw a turn, m.
    pub pitch: Option<f64>,
    /// The curve of a point on a curve, in the frame on a.
    pub path: Option<Path>,
    /// The surface of a point on a surface, in the frame on a.
    pub surface: Option<Surface>,
}

const LENGTH: JointParameter =
    JointParameter { name: "length", summary: "distance of the two points, m" };

/// Every joint type, in the order of the documentation.
pub const JOINT_TYPES: &[JointType] = &[
    JointType {
        name: "ball",
        aliases: &["spherical", "socket", "ball-and-socket", "point"],
        summary: "a point of each body coincide",
        parameters: &[],
        coordinates: &[],
        freedoms: 3,
    },
    JointType {
        name: "hinge",
        aliases: &["revolute", "pin", "continuous", "rotational"],
        summary: "the bodies turn about a common axis",
        parameters: &[],
        coordinates: &["angle"],
        freedoms: 1,
    },
    JointType {
        name: "fixed",
        aliases: &["weld", "rigid", "lock"],
        summary: "the bodies are welded together",
        parameters: &[],
        coordinates: &[],
        freedoms: 0,
    },
    JointType {
        name: "universal",
        aliases: &["cardan", "hooke", "cross"],
        summary: "a cross with two axes at a right angle, z of the first body and x of the second",
        parameters: &[],
        coordinates: &["angle1", "angle2"],
        freedoms: 2,
    },
    JointType {
        name: "slider",
        aliases: &["prismatic", "sledge", "slide", "linear"],
        summary: "the second body slides along an axis of the first without turning",
        parameters: &[],
        coordinates: &["position"],
        freedoms: 1,
    },
    JointType {
        name: "cylindrical",
        aliases: &["cylinder", "slide-turn"],
        summary: "the second body slides along an axis of the first and turns about it",
        parameters: &[],
        coordinates: &["position", "angle"],
        freedoms: 2,
    },
    JointType {
        name: "planar",
        aliases: &["plane"],
        summary: "the second body glides on a plane across the axis of the first and turns about the axis",
        parameters: &[],
        coordinates: &["x", "y", "angle"],
        freedoms: 3,
    },
    JointType {
        name: "screw",
        aliases: &["helical", "thread"],
        summary: "turning about the axis moves the second body along it",
        parameters: &[JointParameter {
            name: "pitch",
            summary: "movement a turn, m; negative for a left-hand thread",
        }],
        coordinates: &["angle", "position"],
        freedoms: 1,
    },
    JointType {
        name: "rail",
        aliases: &["point-on-line", "guide", "line"],
        summary: "a point of the second body stays on a straight line of the first",
        parameters: &[],
        coordinates: &["position"],
        freedoms: 4,
    },
    JointType {
        name: "plane-point",
        aliases: &["point-on-plane", "point-in-plane", "point-plane"],
        summary: "a point of the second body stays in a plane of the first across the axis",
        parameters: &[],
        coordinates: &[],
        freedoms: 5,
    },
    JointType {
        name: "distance",
        aliases: &["rod", "link", "bar"],
        summary: "a massless rod keeps two points at a distance",
        parameters: &[LENGTH],
        coordinates: &[],
        freedoms: 5,
    },
    JointType {
        name: "rope",
        aliases: &["cable", "string", "tether"],
        summary: "two points are at most the length of the rope apart",
        parameters: &[LENGTH],
        coordinates: &["length"],
        freedoms: 5,
    },
    JointType {
        name: "translation",
        aliases: &["parallel", "parallel-axes", "orientation"],
        summary: "the bodies keep their orientation to each other and move freely otherwise",
        parameters: &[],
        coordinates: &["x", "y", "z"],
        freedoms: 3,
    },
    JointType {
        name: "curve",
        aliases: &["point-on-curve", "wire", "spline", "bead"],
        summary: "a point of the second body stays on a curve of the first",
        parameters: &[JointParameter {
            name: "curve",
            summary: "points of a spline, or formulas x(u), y(u), z(u) with the range of u; m",
        }],
        coordinates: &["position"],
        freedoms: 4,
    },
    JointType {
        name: "surface",
        aliases: &["point-on-surface"],
        summary: "a point of the second body stays on a surface of the first",
        parameters: &[JointParameter {
            name: "surface",
            summary: "an equation in x, y, z of the first body's joint frame, m",
        }],
        coordinates: &[],
        freedoms: 5,
    },
];

impl JointType {
    /// The type of that name.
    pub fn named(name: &str) -> Option<&'static JointType> {
        JOINT_TYPES.iter().find(|t| t.name == name)
    }

    /// The type known elsewhere by that name: `revolute` gives `hinge`. Case does not matter.
    pub fn known_elsewhere_as(name: &str) -> Option<&'static JointType> {
        let same = |other: &&str| other.eq_ignore_ascii_case(name);
        JOINT_TYPES.iter().find(|t| same(&t.name) || t.aliases.iter().any(same))
    }
}

impl JointKind {
    /// The joint of a type by its name. The message of an error has no file and no joint name; its caller knows them.
    pub fn from_type(
        type_name: &str,
        frames: &[JointFrame; 2],
        parameters: &JointParameters,
    ) -> Result<JointKind, String> {
        let [a, b] = frames;
        let missing = |name: &str| format!("a joint of type `{type_name}` needs `{name}`");
        let length = || parameters.length.ok_or_else(|| missing("length"));
        Ok(match type_name {
            "ball" => JointKind::Ball(Ball::new(a, b)),
            "hinge" => JointKind::Hinge(Hinge::new(a, b)),
            "fixed" => JointKind::Fixed(Fixed::new(a, b)),
            "universal" => JointKind::Universal(Universal::new(a, b)),
            "slider" => JointKind::Slider(Slider::new(a, b)),
            "cylindrical" => JointKind::Cylindrical(Cylindrical::new(a, b)),
            "planar" => JointKind::Planar(Planar::new(a, b)),
            "screw" => {
                let pitch = parameters.pitch.ok_or_else(|| missing("pitch"))?;
                JointKind::Screw(Screw::new(a, b, pitch)?)
            }
            "rail" => JointKind::Rail(Rail::new(a, b)),
            "plane-point" => JointKind::PlanePoint(PlanePoint::new(a, b)),
            "distance" => JointKind::Distance(Distance::new(a, b, length()?)?),
            "rope" => JointKind::Rope(Rope::new(a, b, length()?)?),
            "translation" => JointKind::Translation(Translation::new(a, b)),
            "curve" => {
                let path = parameters.path.clone().ok_or_else(|| missing("curve"))?;
                JointKind::PointOnCurve(PointOnCurve::new(a, b, path))
            }
            "surface" => {
                let surface = parameters.surface.clone().ok_or_else(|| missing("surface"))?;
                JointKind::PointOnSurface(PointOnSurface::new(a, b, surface))
            }
            _ => return Err(unknown_type(type_name)),
        })
    }
}

fn unknown_type(name: &str) -> String {
    if let Some(known) = JointType::known_elsewhere_as(name) {
        return format!("there is no joint type `{name}`; it is called `{}` here", known.name);
    }
    let names: Vec<_> = JOINT_TYPES.iter().map(|t| t.name).collect();
    format!("there is no joint type `{name}`; the types are {}", names.join(", "))
}
