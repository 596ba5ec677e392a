//! `gelenk completions`: what a shell needs to complete our commands.

use clap::CommandFactory;
use clap_complete::Shell;
use serde_json::json;

use crate::answer::Answer;
use crate::args::Cli;

pub(crate) fn run(shell: Shell) -> Answer {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "gelenk", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    Answer::done(json!({ "shell": shell.to_string(), "script": script }), script).asked()
}
