//! Ordinary differential equations ẏ = f(t, y) to a tolerance, with dense output and events.
//!
//! Two methods of \[Hairer, Nørsett, Wanner 1993\] and \[Hairer, Wanner 1996\]: Dormand and
//! Prince's explicit one of order 8 with error estimates of order 5 and 3 (`DOP853`), and Radau
//! IIA, implicit, of order 5, for stiff systems (`RADAU5`). [`Method::Auto`] begins with the
//! first and changes to the second where the first is held back by stability alone, and says so.
//!
//! A [`System`] gives the right-hand side, and if it likes its Jacobian, its switching functions
//! and a correction after each step. An [`Integrator`] steps it:
//!
//! ```
//! use gelenk_ode::{Failure, Integrator, Options, Stop, System};
//!
//! /// A ball over the floor: y = [height, velocity].
//! struct Ball;
//!
//! impl System for Ball {
//!     fn dim(&self) -> usize {
//!         2
//!     }
//!     fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), Failure> {
//!         (dy[0], dy[1]) = (y[1], -9.81);
//!         Ok(())
//!     }
//!     fn n_switches(&self) -> usize {
//!         1
//!     }
//!     fn switches(&mut self, _t: f64, y: &[f64], g: &mut [f64]) -> Result<(), Failure> {
//!         g[0] = y[0];
//!         Ok(())
//!     }
//! }
//!
//! let mut ball = Ball;
//! let mut run = Integrator::new(Options::default(), 0.0, &[1.0, 0.0]).unwrap();
//! let stop = run.run(&mut ball, 1.0).unwrap();
//! assert_eq!(stop, Stop::Event);
//! assert!((run.t() - (2.0 / 9.81f64).sqrt()).abs() < 1e-12);
//! run.set_state(&[0.0, -0.8 * run.y()[1]]); // it bounces
//! ```
//!
//! After the first step nothing is allocated. Same input, same bits.

mod dop853;
mod error;
mod events;
mod integrator;
mod lu;
mod options;
mod radau;
mod system;

pub use error::Error;
pub use events::{Event, EventKind};
pub use integrator::{Integrator, Stop};
pub use options::{Method, Options, Stats};
pub use system::{Direction, Failure, System};
