//! URDF, the format of ROS, with what Bullet and Gazebo add to it.

use super::{Becomes, Format, Row, Words};

pub(super) const FORMAT: Format =
    Format { name: "URDF", root: "robot", rows: ROWS, words: WORDS, integers: "", strict: false };

const WORDS: &[Words] = &[];

/// A row without attributes.
const fn bare(
    names: &'static str,
    within: &'static str,
    fate: Becomes,
    becomes: &'static str,
    read: &'static str,
) -> Row {
    Row { names, within, fate, becomes, read, dropped: "", idle: "" }
}

const ROWS: &[Row] = &[
    bare("link", "robot", Becomes::Kept, "`[[body]]`; welded links are one body", "name"),
    bare("inertial", "link", Becomes::Kept, "`mass`, `inertia`, `center_of_mass`", ""),
    bare("mass", "inertial", Becomes::Kept, "`mass`", "value"),
    bare("inertia", "inertial", Becomes::Kept, "`inertia`", "ixx ixy ixz iyy iyz izz"),
    bare("origin", "inertial visual collision joint", Becomes::Kept, "places", "xyz rpy"),
    bare("visual", "link", Becomes::Looks, "`shapes` with `physical = false`", "name"),
    bare("collision", "link", Becomes::Kept, "`shapes`", "name"),
    bare("verbose", "collision", Becomes::Looks, "left out", ""),
    bare("geometry", "visual collision", Becomes::Kept, "the shape", ""),
    bare("box", "geometry", Becomes::Kept, "`box`", "size"),
    bare("sphere", "geometry", Becomes::Kept, "`sphere`", "radius"),
    bare("cylinder capsule", "geometry", Becomes::Kept, "`cylinder`, `capsule`", "radius length"),
    bare("mesh", "geometry", Becomes::Kept, "`mesh`", "filename scale"),
    Row {
        names: "plane",
        within: "geometry",
        fate: Becomes::Dropped,
        becomes: "a plane belongs to the ground",
        read: "",
        dropped: "",
        idle: "normal",
    },
    bare("material", "robot visual collision", Becomes::Looks, "colour of shapes", "name"),
    bare("color", "material", Becomes::Looks, "colour of shapes", "rgba"),
    Row {
        names: "texture",
        within: "material",
        fate: Becomes::Looks,
        becomes: "left out",
        read: "",
        dropped: "",
        idle: "filename",
    },
    bare("joint", "robot", Becomes::Kept, "`[[joint]]`", "name type"),
    bare("parent child", "joint", Becomes::Kept, "`between`", "link"),
    bare("axis", "joint loop_joint", Becomes::Kept, "`axis`", "xyz"),
    bare(
        "limit",
        "joint",
        Becomes::Changed,
        "`limits`; effort bounds the motor of a transmission, velocity is dropped",
        "lower upper effort velocity",
    ),
    bare(
        "dynamics",
        "joint",
        Becomes::Kept,
        "`damping`, `friction`, `stiffness`, `rest`",
        "damping friction spring_stiffness spring_reference",
    ),
    bare("mimic", "joint", Becomes::Kept, "`[[gear]]`", "joint multiplier offset"),
    Row {
        names: "calibration safety_controller",
        within: "joint",
        fate: Becomes::Dropped,
        becomes: "settings of a controller",
        read: "",
        dropped: "",
        idle: "reference_position rising falling soft_lower_limit soft_upper_limit k_position k_velocity",
    },
    bare("loop_joint", "robot", Becomes::Kept, "a joint that closes a loop", "name type"),
    bare("link1 link2", "loop_joint", Becomes::Kept, "`anchors`", "link xyz rpy"),
    bare(
        "transmission",
        "robot",
        Becomes::Changed,
        "of one joint: an input and a `motor`; others are dropped",
        "name type",
    ),
    bare("joint actuator", "transmission", Becomes::Kept, "the joint and its input", "name"),
    bare("mechanicalReduction", "transmission joint actuator", Becomes::Kept, "a factor", ""),
    bare(
        "type hardwareInterface role offset motorTorqueConstant",
        "transmission joint actuator",
        Becomes::Looks,
        "left out",
        "",
    ),
    Row {
        names: "contact",
        within: "link",
        fate: Becomes::Dropped,
        becomes: "friction and stiffness of Bullet",
        read: "",
        dropped: "",
        idle: "",
    },
    bare("gazebo sensor ros2_control", "robot", Becomes::Dropped, "settings of other programs", ""),
    bare("sensor", "link joint", Becomes::Dropped, "bodies and joints are in every recording", ""),
];
