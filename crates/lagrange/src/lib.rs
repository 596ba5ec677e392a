//! The Lagrange engine: equations of motion in closed form, derived from energies.
//!
//! ```
//! use gelenk_lagrange::{Options, from_model};
//! use gelenk_model::{LoadOptions, load_text};
//!
//! let scene = gelenk_scenes::scene("spherical-pendulum").unwrap();
//! let loaded = load_text(scene.name, scene.text, &LoadOptions::default()).unwrap();
//! let system = from_model(&loaded)?; // coordinates, tree, loads, closures
//! let mut equations = system.derive(&Options::default())?; // closed form, simplified
//! assert_eq!(equations.q_names(), ["q1", "q2"]);
//! assert!(equations.text().contains("g_11 = l^2*sin(q2)^2"));
//!
//! // Numbers: q̈ = f(q, q̇, t) as a tape, start values, poses of the model's bodies.
//! let numeric = equations.numeric(&loaded.model)?;
//! let (q, qd) = numeric.read_state(&loaded.model, &loaded.model.start);
//! let qdd = numeric.accelerations(&q, &qd, 0.0);
//! assert_eq!(qdd.len(), 2);
//! let poses = numeric.poses(&q, &qd, 0.0);
//! assert!((poses[0].1.s - loaded.model.start.s[1]).norm() < 1e-12);
//! # Ok::<(), gelenk_lagrange::DeriveError>(())
//! ```
//!
//! # What there is
//!
//! - [`from_model`]: a [`System`] from a loaded model. Trees get joint coordinates; joints that close loops become
//!   conditions with multipliers. What has no equations of motion is refused by name ([`DeriveError`]), what they do
//!   not show (end stops, dry friction, contact) is left out with a note. A [`System`] may be built by hand as well.
//! - [`System::derive`]: [`Equations`], with the closed form ([`Closed`]: g, Γ, Q, closures, named quantities) unless it is
//!   larger than [`Options`] allow. [`Equations::text`], `latex`, `markdown`, `json`; [`analysis`]: values at a point, first integrals,
//!   equilibria, linearization, inverse dynamics.
//! - [`Equations::program`]: the recursive form as expressions, for code generators: [`Program`].
//! - [`Equations::numeric`]: [`Numeric`], for runs: the tape of q̈, multipliers, start values, poses, projection onto closures.
//! - [`simplify`]: shorter expressions and exact tests for zero, for any expressions.
//!
//! # How
//!
//! Every joint is a chain of elementary turns and slides. Velocities are carried in body axes, in the canonical [`ring`] whose
//! elements have one form each; so equal is equal, zero is zero, and angles about parallel axes add up by themselves.
//! Results leave the ring in the shortest of several forms, and each is proven by taking it back.

#![allow(clippy::ref_option, reason = "a rotation is an option whose `None` is the identity")]

mod algebra;
pub mod analysis;
pub mod code;
pub mod deck;
pub mod derive;
pub mod equations;
mod factor;
mod forces;
mod kinematics;
mod loops;
pub mod model;
pub mod numeric;
pub mod print;
pub mod program;
pub mod reactions;
mod recombine;
pub mod rest;
pub mod ring;
pub mod simplify;
mod state;
pub mod system;
mod tree;
pub mod typeset;
pub mod write;

pub use derive::{Closed, Options};
pub use equations::Equations;
pub use model::from_model;
pub use numeric::Numeric;
pub use program::Program;
pub use system::{DeriveError, System};
