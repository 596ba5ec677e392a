//! Functional mock-up units (FMI 3.0 and 2.0, co-simulation): the model as a part of other programs' simulations.
//!
//! [`package`] makes the file: the description of all variables, the model, and a library, which the crate `gelenk-fmi` is. [`Machine`] is
//! what that library runs; it knows nothing of C.
//!
//! ```
//! use gelenk::fmu::Machine;
//! use gelenk::model::{LoadOptions, load_text};
//! use gelenk::recording::Header;
//!
//! let text = gelenk::scenes::scene("three-link-arm").ok_or("no such model")?.text;
//! let loaded = load_text("three-link-arm", text, &LoadOptions::default())?;
//! let header = Header::of_loaded(&loaded, &[], &loaded.model.run);
//! let mut machine = Machine::new(header)?;
//! let find = |name: &str| machine.variables().iter().find(|v| v.name == name).map(|v| v.reference);
//! let (input, angle) = (find("input.tau1").ok_or("no input")?, find("joint.elbow.angle").ok_or("no angle")?);
//! machine.set(input, 1.5)?;
//! machine.initialize(0.0)?;
//! machine.step(0.0, 10.0 * loaded.model.run.step)?;
//! let mut values = [0.0];
//! machine.get(&[angle], &mut values)?;
//! assert!(values[0].is_finite() && machine.time() > 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod description;
mod machine;
mod zip;

use crate::recording::Header;

pub use machine::{Machine, MachineError, Saved, Variable, VariableKind};

/// The name of the library in a unit, without its ending.
pub const LIBRARY: &str = "gelenk_fmi";

/// A version of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// FMI 2.0.
    Two,
    /// FMI 3.0.
    Three,
}

/// The name of this platform's folder for libraries, by version; `None` where there is none.
pub fn platform(version: Version) -> Option<&'static str> {
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    match (version, system, processor) {
        (Version::Three, "linux", "x86_64") => Some("x86_64-linux"),
        (Version::Three, "linux", "aarch64") => Some("aarch64-linux"),
        (Version::Three, "macos", "x86_64") => Some("x86_64-darwin"),
        (Version::Three, "macos", "aarch64") => Some("aarch64-darwin"),
        (Version::Three, "windows", "x86_64") => Some("x86_64-windows"),
        (Version::Two, "linux", "x86_64") => Some("linux64"),
        (Version::Two, "macos", "x86_64") => Some("darwin64"),
        (Version::Two, "windows", "x86_64") => Some("win64"),
        _ => None,
    }
}

/// A unit: the bytes of its file. `library`: the library's bytes, for this platform.
pub fn package(header: &Header, version: Version, library: &[u8]) -> Result<Vec<u8>, MachineError> {
    let place = platform(version).ok_or(MachineError::Platform)?;
    let machine = Machine::new(header.clone())?;
    let description = description::xml(&machine, version);
    let ending = std::env::consts::DLL_SUFFIX;
    let library_name = format!("binaries/{place}/{LIBRARY}{ending}");
    let json = machine.header_json()?;
    Ok(zip::archive(&[
        ("modelDescription.xml", description.as_bytes()),
        ("resources/model.json", json.as_bytes()),
        (&library_name, library),
    ]))
}
