//! The gallery: named models, embedded in the program, for tests, benches, examples and the curious.

/// A model of the gallery.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// The name to run it by: `gelenk run eight-loop`.
    pub name: &'static str,
    /// What it shows, in one line.
    pub summary: &'static str,
    /// The model file.
    pub text: &'static str,
}

macro_rules! scenes {
    ($($name:literal: $summary:literal;)*) => {
        /// All scenes, simple ones first.
        pub const SCENES: &[Scene] = &[
            $(Scene {
                name: $name,
                summary: $summary,
                text: include_str!(concat!("../models/", $name, ".toml")),
            },)*
        ];
    };
}

scenes! {
    "pendulum": "point mass on a 1 m thread, 10 degrees";
    "rod-pendulum": "rod with a mass at each end on a ball joint: table 9.1 of the paper";
    "spherical-pendulum": "point mass on a thread with a sideways push";
    "double-pendulum": "two bars on hinges, chaotic";
    "spherical-double-pendulum": "two bars on ball joints, thrown sideways: for accuracy work";
    "spring-oscillator": "mass on a spring, y = cos t: table 10.1 of the paper";
    "spring-bodies": "two bodies in free space tied by a spring";
    "spring-swing": "board hung from four springs with a bar below it";
    "eight-loop": "closed chain of eight rods, regular start: for accuracy work";
    "eight-loop-flat": "eight rods on one line: starts in a singular position";
    "eight-loop-paper": "the 8-loop of the paper: tables 9.2 to 9.5";
    "heavy-top": "spinning disc on an axle: precession and nutation";
    "gyroscope": "rotor in two gimbals with a weight: regular precession";
    "dzhanibekov-nut": "free body spinning about its middle axis: it flips";
    "bead-on-rod": "bead on a rod that is turned at constant speed: r = r0 cosh";
    "bead-on-hoop": "bead on a turning hoop: it climbs when the hoop turns fast";
    "screw-nut": "nut running down a smooth spindle";
    "cardan-shaft": "two universal joints in a row: uneven in the middle, even at the end";
    "four-bar": "crank and rocker: a loop of four hinges, three rows redundant";
    "four-bar-ladder": "parallelograms in a row, passing positions where all bars are in line";
    "bricard": "six hinges in a loop: moves although the count says it cannot";
    "slider-crank": "crank with flywheel, connecting rod and piston";
    "flyball-governor": "Watt's governor: two balls lift a collar";
    "stewart-platform": "six pistons move a platform";
    "cart-triple-pendulum": "cart on a rail with three pendulums below it";
    "turning-rod": "two masses on a rod in free space, turned by a torque, its input";
    "three-link-arm": "column, shoulder and elbow, with motors as inputs";
    "robot-arm": "six axes with servos";
    "dc-motor": "motor with its circuit lifts a weight on a drum";
    "loudspeaker": "cone and coil: a charge as a coordinate";
    "walker": "six legs with eighteen servos, walking in the air";
    "walking-mechanism": "ten point masses on two legs, with five muscles as inputs, on soft ground";
    "quadruped": "fourteen point masses on four legs, with nine muscles as inputs, on soft ground";
    "sliding-rod": "rod whose tip glides in a tilted plane: its centre follows a parabola";
    "rope-bridge": "planks tied by ropes that catch them";
    "chain-100": "hanging chain of 100 links (any number: --set n=1000)";
    "coordinate-cross": "bead on two crossing lines: goes straight through a singular position";
    "lying-eight": "bead on a lying eight: crosses itself, and the bead crosses with it";
    "degenerate-crank": "crank and rod of one length: two motions part where both stand upright";
    "cusp": "bead sliding into a cusp: no smooth motion leaves it";
    "cuboid": "eight point masses, 28 rods, rank 18";
    "free-body": "a thrown, tumbling box: the Newton-Euler equations";
    "stack": "ten boxes on one another stand still";
    "pyramid": "fifty-five bricks in ten rows";
    "arch": "loose wedge stones, held by weight and friction alone";
    "dominoes": "thirty dominoes fall one after the other";
    "newtons-cradle": "five hanging balls: what goes in comes out";
    "spinning-top": "top on a table: precession with a tip free to slide";
    "tippe-top": "ball with a low centre of mass: it turns over";
    "bowl": "ball rolling in a bowl, a height field";
    "falling-chain": "chain let go above the floor: it falls into a heap";
    "rolling-wheel": "leaning disc that rolls in a circle";
    "car": "car with springs and steering on rough ground";
    "bullet": "small fast ball against a thin sheet";
    "hexapod": "six legs with eighteen servos, walking on the floor";
}

/// The scene of that name.
pub fn scene(name: &str) -> Option<&'static Scene> {
    SCENES.iter().find(|scene| scene.name == name)
}
