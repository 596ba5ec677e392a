//! Any text as a model file: faults come back as diagnostics that point into the file, never as a panic.
#![no_main]

use gelenk_model::LoadOptions;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match gelenk_model::load_text("fuzz.toml", text, &LoadOptions::default()) {
        Ok(loaded) => {
            let _ = gelenk_model::assemble::initial_inconsistency(&loaded.model);
        }
        Err(diagnostics) => assert!(!diagnostics.to_string().is_empty()),
    }
});
