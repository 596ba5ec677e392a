//! The DAE engine of Gelenk: natural coordinates, the index-1 system, adaptive high order, projection, switching functions.
//!
//! ```text
//! [ M  Gᵀ ] [ a ]   [ F(t, p, v) ]
//! [ G  0  ] [ λ ] = [ γ(p, v)    ],    ṗ = v,  v̇ = a,    invariants g(p) = 0, G v = 0
//! ```
//! [`Simulation`] runs a model; [`Equations`] are its right-hand side; [`constraints`] writes every condition as a polynomial; [`relax`]
//! starts from values that do not fit the conditions. Singular positions on the way are blown up and crossed ([`Passage`]). Source: \[Laufen\] chapters
//! I to IV.
//!
//! ```
//! use gelenk_dae::{Options, Simulation};
//! use gelenk_model::{LoadOptions, load_text};
//!
//! let text = gelenk_scenes::scene("double-pendulum").ok_or("no such model")?.text;
//! let model = load_text("double-pendulum", text, &LoadOptions::default())?.model;
//! let mut simulation = Simulation::new(&model, &model.start, &Options::default())?;
//! let state = simulation.run(1.0)?;
//! let energy = |s| model.kinetic_energy(s) + model.potential_energy(s);
//! assert!((energy(&state) - energy(&model.start)).abs() < 1e-10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod crossing;
pub mod descriptor;
pub mod equations;
mod passage;
pub mod project;
pub mod quantity;
pub mod relax;
mod rows;
pub mod sensitivity;
mod simulation;
mod switch;
pub mod tangent;
mod varied;
mod watch;

pub use equations::{Equations, Mode, Ramp};
pub use gelenk_natural::{constraints, layout, polynomial};
pub use gelenk_ode::{Method, Stop};
pub use layout::Layout;
pub use passage::Passage;
pub use project::Invariants;
pub use simulation::{DaeError, Options, Simulation, check_model};
