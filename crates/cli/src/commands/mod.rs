//! One file a command: each turns its arguments into an answer.

mod assemble;
mod bench;
mod check;
mod compare;
mod completions;
mod converge;
mod derive;
mod drift;
mod export;
mod ik;
mod import;
mod lagr;
mod models;
mod optimize;
mod papers;
mod points;
mod run;
mod schema;
mod sensitivity;
mod serve;
mod singularities;
mod sweep;
mod tables;
mod verify;
mod view;
mod workprecision;

use crate::Manner;
use crate::answer::{Answer, Failure};
use crate::args::Command;

/// Does what was asked.
pub(crate) fn dispatch(command: &Command, manner: Manner) -> Result<Answer, Failure> {
    match command {
        Command::Run(args) => run::run(args, manner),
        Command::View(args) => view::run(args, manner),
        Command::Check(args) => check::run(args, manner),
        Command::Assemble(args) => assemble::run(args, manner),
        Command::Ik(args) => ik::run(args, manner),
        Command::Models(args) => models::run(args),
        Command::Converge(args) => converge::run(args, manner),
        Command::Derive(args) => derive::run(args, manner),
        Command::Optimize(args) => optimize::run(args, manner),
        Command::Compare(args) => compare::run(args, manner),
        Command::Sensitivity(args) => sensitivity::run(args, manner),
        Command::Sweep(args) => sweep::run(args, manner),
        Command::Serve(args) => serve::run(args, manner),
        Command::Workprecision(args) => workprecision::run(args, manner),
        Command::Drift(args) => drift::run(args, manner),
        Command::Points(args) => points::run(args, manner),
        Command::Singularities(args) => singularities::run(args, manner),
        Command::Lagr(args) => lagr::run(args),
        Command::Tables(args) => tables::run(args, manner),
        Command::Papers(args) => papers::run(args, manner),
        Command::Bench(args) => bench::run(args, manner),
        Command::Verify(args) => verify::run(args, manner),
        Command::Export(args) => export::run(args, manner),
        Command::Import(args) => import::run(args, manner),
        Command::Schema => schema::run(),
        Command::Completions { shell } => Ok(completions::run(*shell)),
    }
}
