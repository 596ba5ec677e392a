//! `gelenk papers`: every claim of the papers, ours beside the published numbers.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::Mutex;

use gelenk::papers::{Claim, Paper, PaperOptions, PapersError, papers};
use gelenk::tables::TablesError;
use serde_json::{Value, json};

use super::tables;
use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::PapersArgs;
use crate::interrupt;
use crate::progress::Progress;
use crate::show::{BAD, BOLD, DIM, GOOD, styled, width};
use crate::text::{Align, Table as Columns, sig, wrap};

pub(crate) fn run(args: &PapersArgs, manner: Manner) -> Result<Answer, Failure> {
    let only = args.only.iter().map(|name| paper(name)).collect::<Result<_, _>>()?;
    let options = PaperOptions { only, quick: args.quick };
    interrupt::be_graceful();
    let progress = Mutex::new(Progress::of_work("papers", 1.0, manner.quiet));
    let measured = papers(&options, &|share| {
        // A bar that is busy is told the next time.
        if let Ok(mut progress) = progress.try_lock() {
            progress.reached(share);
        }
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if let Ok(progress) = progress.lock() {
        progress.clear();
    }
    let measured = measured.map_err(|error| failure(&error))?;
    let failures = measured.failures();
    let json = json!({
        "quick": options.quick,
        "holds": failures.is_empty(),
        "failures": failures,
        "tables": measured.tables.iter().map(tables::to_json).collect::<Vec<_>>(),
        "claims": measured.claims.iter().map(to_json).collect::<Vec<_>>(),
    });
    let mut text = String::new();
    for paper in Paper::ALL {
        let claims: Vec<&Claim> = measured.claims.iter().filter(|c| c.paper == paper).collect();
        if claims.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{}\n", styled(BOLD, paper.title()));
        if paper == Paper::Schmitt2003 {
            for table in &measured.tables {
                let _ = writeln!(text, "{}", tables::to_text(table));
            }
        }
        for claim in claims {
            let _ = writeln!(text, "{}", to_text(claim));
        }
    }
    let holding = measured.claims.iter().filter(|claim| claim.holds()).count();
    let all = measured.claims.len();
    let style = if holding == all { GOOD } else { BAD };
    let _ = writeln!(text, "{}", styled(style, format!("{holding} of {all} claims hold")));
    for failure in &failures {
        text.push_str(&wrap(failure, 2, width()));
    }
    let exit = if failures.is_empty() { Exit::Done } else { Exit::Negative };
    Ok(Answer::done(json, text).exit(exit))
}

fn paper(name: &str) -> Result<Paper, Failure> {
    let known = Paper::ALL.into_iter().find(|paper| paper.key() == name);
    known.ok_or_else(|| {
        let names = Paper::ALL.map(Paper::key).join(", ");
        Failure::input(format!("there is no paper `{name}`; there are {names}"))
    })
}

fn failure(error: &PapersError) -> Failure {
    match error {
        PapersError::Stopped | PapersError::Tables(TablesError::Stopped) => {
            Failure::new(Exit::Stopped, "by Ctrl-C; claims have no result before their end")
        }
        _ => Failure::new(Exit::Failed, error.to_string()),
    }
}

fn to_json(claim: &Claim) -> Value {
    let lines: Vec<Value> = claim
        .lines
        .iter()
        .map(|line| {
            let finite = |x: f64| x.is_finite().then_some(x);
            json!({
                "what": line.what,
                "paper": line.paper,
                "ours": finite(line.ours),
                "low": finite(line.low),
                "high": finite(line.high),
                "holds": line.holds(),
            })
        })
        .collect();
    json!({
        "paper": claim.paper.key(),
        "place": claim.place,
        "claim": claim.claim,
        "command": claim.command,
        "holds": claim.holds(),
        "lines": lines,
    })
}

fn to_text(claim: &Claim) -> String {
    let mark = if claim.holds() { styled(GOOD, "holds") } else { styled(BAD, "does not hold") };
    let mut out = wrap(&format!("{}: {}", claim.place, claim.claim), 0, width());
    let mut lines = Columns::new(&[Align::Left, Align::Right, Align::Right, Align::Left]);
    lines.styled(BOLD, ["", "paper", "ours", ""]);
    for line in &claim.lines {
        let bad = if line.holds() { "" } else { "misses" };
        let paper = line.paper.map_or(String::new(), |x| sig(x, 6));
        lines.row([line.what.clone(), paper, sig(line.ours, 6), bad.to_owned()]);
    }
    out.push_str(&lines.render(width()));
    let _ = writeln!(out, "  {mark}; {}", styled(DIM, claim.command));
    out
}
