//! Problems that the program carries with it.

/// A named problem.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// The text of its file.
    pub text: &'static str,
}

macro_rules! problems {
    ($($name:literal),* $(,)?) => {
        /// All named problems.
        pub const PROBLEMS: &[Named] = &[$(Named { name: $name, text: include_str!(concat!("../problems/", $name, ".toml")) }),*];
    };
}

problems![
    "double-integrator",
    "brachistochrone",
    "bryson-denham",
    "rod-turn",
    "rod-turn-slow",
    "push-and-brake",
    "sling",
    "van-der-pol",
    "goddard",
    "cart-pole",
    "walk-0.1",
    "walk-0.2",
    "walk-0.3",
    "walk-0.4",
    "walk-0.5",
    "walk-0.6",
    "walk-0.7",
    "walk-upright",
    "walk-low",
    "walk-periodic",
    "run-periodic",
    "walk-effort",
    "walk-free-time",
    "quadruped",
];

/// The problem of a name.
pub fn problem(name: &str) -> Option<&'static Named> {
    PROBLEMS.iter().find(|p| p.name == name)
}
