//! The `gelenk` command: parses arguments, calls the library, shows the answer.

mod answer;
mod args;
mod commands;
mod files;
mod interrupt;
mod judged;
mod parse;
mod progress;
mod reports;
mod show;
mod source;
mod summary;
mod text;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use answer::{Answer, Exit, Failure};
use args::{Cli, Color};

/// How answers are to be shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// One JSON object instead of text.
    pub(crate) json: bool,
    /// Neither progress nor summary.
    pub(crate) quiet: bool,
    /// Files that are not ours may be replaced.
    pub(crate) overwrite: bool,
}

impl Manner {
    /// Whether warnings and notes go to standard error now; JSON carries them itself.
    pub(crate) fn talks(self) -> bool {
        !self.json
    }
}

fn main() -> ExitCode {
    // A panic is our own mistake. It must still end as the contract says: one object, one of the exit codes.
    std::panic::set_hook(Box::new(|_| {}));
    let exit = match std::panic::catch_unwind(run) {
        Ok(exit) => exit,
        Err(payload) => internal_fault(&*payload),
    };
    ExitCode::from(exit.code())
}

fn run() -> Exit {
    let cli = match parse_args() {
        Ok(cli) => cli,
        Err(exit) => return exit,
    };
    match cli.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    let manner = Manner { json: cli.json, quiet: cli.quiet, overwrite: cli.overwrite };
    let name = cli.command.name();
    interrupt::install(name, manner.json);
    let result = commands::dispatch(&cli.command, manner);
    finish(name, manner, result)
}

/// Reads the arguments; usage errors are shown here.
fn parse_args() -> Result<Cli, Exit> {
    let matches = Cli::command().try_get_matches();
    let error = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => return Ok(cli),
        Err(error) => error,
    };
    if !error.use_stderr() {
        // Help or version: what was asked for.
        return Err(written(show::out(&error.render().ansi().to_string()), Exit::Done));
    }
    let mut args = std::env::args_os().skip(1);
    if std::env::args_os().take_while(|arg| arg != "--").any(|arg| arg == "--json") {
        let command = args
            .find_map(|arg| arg.into_string().ok().filter(|arg| is_command(arg)))
            .unwrap_or_default();
        let text = error.render().to_string();
        let text = text.trim().strip_prefix("error: ").unwrap_or(text.trim());
        let failure = Failure::input(text);
        return Err(written(show::json(&failure.to_json(&command)), Exit::Input));
    }
    show::err(error.render().ansi().to_string().trim_end());
    Err(Exit::Input)
}

fn is_command(word: &str) -> bool {
    Cli::command().get_subcommands().any(|command| command.get_name() == word)
}

/// Shows how a command ended.
fn finish(command: &str, manner: Manner, result: Result<Answer, Failure>) -> Exit {
    match result {
        Ok(answer) if answer.told => answer.exit,
        Ok(answer) if manner.json => written(show::json(&answer.to_json(command)), answer.exit),
        Ok(answer) => {
            let silent = manner.quiet && !answer.asked;
            let shown = if silent { Ok(()) } else { show::out(&answer.text) };
            if let Some(failure) = &answer.failure {
                complain(failure);
            }
            written(shown, answer.exit)
        }
        Err(failure) if manner.json => written(show::json(&failure.to_json(command)), failure.exit),
        Err(failure) => {
            complain(&failure);
            failure.exit
        }
    }
}

/// `exit`, unless writing failed and nothing worse had happened.
fn written(result: std::io::Result<()>, exit: Exit) -> Exit {
    match result {
        Err(error) if exit == Exit::Done => {
            show::err(&format!(
                "{}error{}: cannot write to standard output: {error}",
                show::BAD,
                show::BAD.render_reset()
            ));
            Exit::Io
        }
        _ => exit,
    }
}

/// A failure on standard error.
fn complain(failure: &Failure) {
    if let Some(faults) = &failure.faults {
        show::err(faults.drawn.trim_end());
        return;
    }
    let style = if failure.exit == Exit::Stopped { show::WARN } else { show::BAD };
    let word = if failure.exit == Exit::Stopped { "stopped" } else { "error" };
    show::err(&format!("{}: {}", show::styled(style, word), failure.message));
    if let Some(help) = &failure.help {
        show::err(&format!("{}: {help}", show::styled(show::HINT, "help")));
    }
}

/// Our own mistake, told as such.
fn internal_fault(payload: &(dyn std::any::Any + Send)) -> Exit {
    let what = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    let failure = Failure::new(Exit::Failed, format!("a fault in gelenk itself: {what}"))
        .help("please report it with the command and the model");
    if std::env::args_os().any(|arg| arg == "--json") {
        let _ = show::json(&failure.to_json(""));
    } else {
        complain(&failure);
    }
    Exit::Failed
}
