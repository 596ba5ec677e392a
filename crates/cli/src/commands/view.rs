//! `gelenk view`: the browser shows a model, live, or a recording.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use gelenk::model::LoadOptions;
use gelenk_viewer::{Loader, ServeOptions, Subject, ViewError, serve};
use serde_json::json;

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::ViewArgs;
use crate::show::{BOLD, DIM, styled};
use crate::source::{self, Start};
use crate::{files, interrupt, show};

pub(crate) fn run(args: &ViewArgs, manner: Manner) -> Result<Answer, Failure> {
    let subject = subject(args, manner)?;
    for ghost in &args.ghosts {
        files::must_exist(ghost, "recording")?;
    }
    let options =
        ServeOptions { address: args.listen, port: args.port, ghosts: args.ghosts.clone() };
    interrupt::be_graceful();
    let ready = |address: &str| announce(args, manner, address);
    serve(subject, &options, ready, &interrupt::requested).map_err(|error| failure(&error))?;
    Ok(Answer::told())
}

/// What is to be seen: a recording by its ending, else a model.
fn subject(args: &ViewArgs, manner: Manner) -> Result<Subject, Failure> {
    let name = &args.model.model;
    let limits = source::limits(&args.model.limit)?;
    if Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("mcap")) {
        let recording = PathBuf::from(name);
        files::must_exist(&recording, "recording")?;
        return Ok(Subject::Replay { recording, limits });
    }
    let loaded = source::load(&args.model, Start::MustClose, manner)?;
    let settings = source::settings(&args.settings, &loaded.model);
    source::check(&settings)?;
    let data = source::tables(&args.model, &limits)?;
    let load: Loader = if name == "-" {
        // What was read once cannot be read again.
        let text = loaded.sources.files().first().map_or_else(String::new, |f| f.text.clone());
        Arc::new(move |overrides: &[(String, String)]| {
            let options = LoadOptions {
                overrides: overrides.to_vec(),
                data: data.clone(),
                limits,
                ..LoadOptions::default()
            };
            gelenk::model::load_text("standard input", &text, &options)
                .map_err(|faults| faults.to_string())
        })
    } else {
        let name = name.clone();
        let lenient = args.model.lenient;
        Arc::new(move |overrides: &[(String, String)]| {
            let options = LoadOptions {
                overrides: overrides.to_vec(),
                data: data.clone(),
                limits,
                ..LoadOptions::default()
            };
            source::find(&name, options, lenient).map_err(|failure| failure.message)
        })
    };
    let overrides = args.model.overrides();
    Ok(Subject::Live { load, overrides, loaded: Box::new(loaded), settings: Box::new(settings) })
}

/// Says where it is, and opens it where there is a screen.
fn announce(args: &ViewArgs, manner: Manner, address: &str) {
    let opened = !args.no_open && open_browser(address);
    // Standard output may be closed; the server serves all the same.
    let _ = if manner.json {
        show::json(&json!({
            "command": "view",
            "status": "serving",
            "exit_code": 0,
            "address": address,
            "opened": opened,
        }))
    } else {
        let how = if opened { "opened in the browser" } else { "open it in a browser" };
        show::out(&format!(
            "{}\n{}\n",
            styled(BOLD, address),
            styled(DIM, format!("{how}; Ctrl-C ends it"))
        ))
    };
}

/// Opens an address where there is a screen; false where there is none.
fn open_browser(address: &str) -> bool {
    let programs: &[(&str, &[&str])] = if cfg!(target_os = "macos") {
        &[("open", &[])]
    } else if cfg!(windows) {
        &[("rundll32", &["url.dll,FileProtocolHandler"])]
    } else {
        let screen = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        if !screen("DISPLAY") && !screen("WAYLAND_DISPLAY") {
            return false;
        }
        &[("xdg-open", &[]), ("gio", &["open"])]
    };
    programs.iter().any(|(program, args)| {
        let mut command = Command::new(program);
        command.args(*args).arg(address);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
    })
}

fn failure(error: &ViewError) -> Failure {
    match error {
        ViewError::Serve { .. } => {
            Failure::new(Exit::Io, error.to_string()).help("choose another --port")
        }
        ViewError::Recording(inner) => {
            Failure::new(if inner.is_io() { Exit::Io } else { Exit::Input }, inner.to_string())
        }
        _ => Failure::input(error.to_string()),
    }
}
