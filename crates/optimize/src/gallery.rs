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
    "van-der-pol",
    "goddard",
    "cart-pole",
];

/// The problem of a name.
pub fn problem(name: &str) -> Option<&'static Named> {
    PROBLEMS.iter().find(|p| p.name == name)
}
