//! Prints the model of a robot file: `cargo run -p gelenk-import --example import -- robot.urdf`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::Path;
use std::process::ExitCode;

use gelenk_import::{ImportOptions, import_path};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("which file?");
        return ExitCode::from(2);
    };
    let rest: Vec<String> = arguments.collect();
    let has = |flag: &str| rest.iter().any(|word| word == flag);
    let options = ImportOptions {
        keyframe: has("--as-drawn").then(|| "-".to_owned()),
        without_contact: has("--no-contact"),
        without_actuators: has("--no-actuators"),
        lenient: has("--lenient"),
        ..ImportOptions::default()
    };
    match import_path(Path::new(&file), &options) {
        Ok(imported) => {
            eprint!("{}", imported.report.to_text());
            print!("{}", imported.text);
            ExitCode::SUCCESS
        }
        Err(faults) => {
            eprintln!("{faults}");
            ExitCode::FAILURE
        }
    }
}
