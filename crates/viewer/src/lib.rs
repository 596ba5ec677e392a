//! Gelenk in the browser: a local server that shows a model as it runs, or a recording; and reports, pages that stand alone.
//!
//! [`serve`] blocks and serves; [`spawn`] does so in a thread. [`report`] writes one HTML file with motion, plots, tables
//! and equations. `docs/view.md` describes what server and page say to each other.

mod carry;
mod client;
mod engine;
pub mod frame;
mod ghost;
mod guard;
mod hub;
mod live;
pub mod message;
mod page;
mod replay;
pub mod report;
pub mod scene;
mod server;
mod store;
pub mod token;

pub use live::Loader;
pub use server::{Running, ServeOptions, Subject, ViewError, serve, spawn};
