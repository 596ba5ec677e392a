//! The report of `gelenk optimize`.

use std::ops::ControlFlow;

use gelenk::model::{Model, Observer, Sample};
use gelenk::optimize::interior::Status;
use gelenk::optimize::problem::{Finished, Found, Live, Problem, RunOptions, Stage};
use gelenk::optimize::{conditions, replay, replay_settings, status_word};
use gelenk::plot::Plot;
use gelenk_viewer::report::{Motion, Report, Table};
use serde_json::json;

use crate::text::{grouped, sig};

/// Seconds between frames of the motion.
const FRAME: f64 = 0.005;
/// Most lines of a plot, and most plots of a kind.
const LINES: usize = 4;
const PLOTS: usize = 12;
/// Most rows of a table.
const MOST: usize = 200;

/// The iterations of a run, start after start.
#[derive(Debug, Default)]
pub(crate) struct History {
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    stage: Stage,
    objective: f64,
    infeasibility: f64,
    kkt: f64,
    restoring: bool,
}

impl History {
    pub(crate) fn see(&mut self, live: &Live<'_>) {
        self.lines.push(Line {
            stage: live.stage,
            objective: live.objective,
            infeasibility: live.infeasibility,
            kkt: live.kkt,
            restoring: live.restoring,
        });
    }

    /// Iterations of one start, counted through all its homotopy steps and rounds.
    fn of(&self, start: usize) -> impl Iterator<Item = (f64, &Line)> {
        let own = self.lines.iter().filter(move |line| line.stage.start == start);
        own.enumerate().map(|(i, line)| (i as f64, line))
    }
}

/// The report of an optimal motion.
pub(crate) fn of_optimum(
    problem: &Problem,
    text: &str,
    options: &RunOptions,
    finished: &Finished,
    history: &History,
    wall_seconds: f64,
) -> Report {
    let best = &finished.found[finished.best];
    let subtitle = format!(
        "optimal control, {}: objective {}, {} iterations in {} s",
        status_word(&best.status),
        sig(best.objective, 8),
        grouped(best.iterations as u64),
        sig(wall_seconds, 2)
    );
    let mut report = Report::new(&problem.name, &subtitle);
    motion(&mut report, problem, best);
    if !problem.description().is_empty() {
        report.paragraph(problem.description());
    }
    verdict(&mut report, best);
    result(&mut report, problem, finished, wall_seconds);
    certificate(&mut report, best);
    controls(&mut report, problem, finished);
    if problem.model().is_none() {
        states(&mut report, finished);
    }
    condition_table(&mut report, problem, best);
    iterations(&mut report, history, finished.best, best);
    starts(&mut report, finished);
    report.heading("Settings");
    report.facts(&json!({
        "starts": finished.found.len(),
        "seed of random starts": options.seed.map_or("as the problem says".to_owned(), |s| s.to_string()),
        "intervals": best.solution.phases.iter().map(|p| p.controls.len()).sum::<usize>(),
        "tolerance": options.tolerance.map_or("as the problem says".to_owned(), |t| sig(t, 3)),
        "begins with": if options.warm.is_some() { "a motion of before" } else { "the guess of the file" },
    }));
    report.heading("Problem");
    report.folded(&format!("{}.toml", problem.name), text);
    if let Some(loaded) = problem.model() {
        report.model(loaded);
    }
    report
}

/// The motion, where the problem has a model.
fn motion(report: &mut Report, problem: &Problem, best: &Found) {
    struct Watch<'m>(&'m Model, Motion);
    impl Observer for Watch<'_> {
        fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
            self.1.sample(self.0, sample);
            ControlFlow::Continue(())
        }
    }
    let Some(loaded) = problem.model() else { return };
    if best.status == Status::Faulty {
        return;
    }
    let mut watch = Watch(&loaded.model, Motion::default());
    match replay(problem, &best.solution, FRAME, &mut watch) {
        Ok(_) => {
            let settings = replay_settings(loaded, &best.solution);
            let facts =
                json!({ "settings": { "engine": "optimize", "duration": settings.duration } });
            report.motion("optimal motion", &loaded.model, watch.1, &facts);
        }
        Err(why) => report.paragraph(&format!("The motion cannot be shown: {why}.")),
    }
}

fn verdict(report: &mut Report, best: &Found) {
    match best.status {
        Status::Optimal => report.verdict(
            true,
            &format!(
                "Optimal: the conditions of first order hold to {}, all others to {}.",
                sig(best.kkt, 2),
                sig(best.infeasibility, 2)
            ),
        ),
        _ if best.message.is_empty() => report.verdict(false, status_word(&best.status)),
        _ => report.verdict(false, &format!("{}: {}", status_word(&best.status), best.message)),
    }
}

fn result(report: &mut Report, problem: &Problem, finished: &Finished, wall_seconds: f64) {
    let best = &finished.found[finished.best];
    report.heading("Result");
    let mut table = Table::new(&["", ""]);
    let mut line = |name: &str, value: String| table.row([name.to_owned(), value]);
    line("objective", sig(best.objective, 10));
    if let Some(known) = problem.known() {
        line("known", known.to_owned());
    }
    for (name, value) in finished.free.iter().zip(&best.solution.free) {
        line(name, sig(*value, 10));
    }
    line("KKT error, scaled", sig(best.kkt, 2));
    line("largest violation", sig(best.infeasibility, 2));
    line("active bounds and inequalities", best.active.to_string());
    line("iterations", grouped(best.iterations as u64));
    line("time on the clock, all starts", format!("{} s", sig(wall_seconds, 3)));
    report.table(&table);
    if best.status != Status::Optimal && !best.violated.is_empty() {
        report.heading("Conditions that do not hold");
        let mut table = Table::new(&["condition", "by"]);
        for (name, by) in best.violated.iter().take(MOST) {
            table.row([name.clone(), sig(*by, 3)]);
        }
        report.table(&table);
    }
}

fn certificate(report: &mut Report, best: &Found) {
    report.heading("Certificate");
    let Some(c) = &best.certificate else {
        report.paragraph("The motion was not run again.");
        return;
    };
    report.paragraph("The motion was run again, interval by interval, by the adaptive integrator.");
    let mut table = Table::new(&["", ""]);
    let mut line = |name: &str, value: String| table.row([name.to_owned(), value]);
    line("objective found", sig(best.objective, 12));
    line("objective of the second run", sig(c.objective, 12));
    line("largest difference of a state, relative to 1 + |x|", sig(c.state_error, 3));
    line("in interval", c.worst_interval.to_string());
    line("relative tolerance of the integrator", sig(c.tolerance, 2));
    report.table(&table);
}

/// Points of a quantity that is a line from the start to the end of each interval.
fn course(best: &Found, i: usize) -> Vec<(f64, f64)> {
    let (mut begun, mut points) = (0.0, Vec::new());
    for phase in &best.solution.phases {
        for (k, (start, end)) in phase.controls.iter().enumerate() {
            if let (Some(a), Some(b)) = (start.get(i), end.get(i)) {
                points.push((begun + phase.times[k], *a));
                points.push((begun + phase.times[k + 1], *b));
            }
        }
        begun += phase.times.last().copied().unwrap_or(0.0);
    }
    points
}

fn controls(report: &mut Report, problem: &Problem, finished: &Finished) {
    let best = &finished.found[finished.best];
    if finished.controls.is_empty() {
        return;
    }
    report.heading("Controls");
    let courses: Vec<Vec<(f64, f64)>> =
        (0..finished.controls.len()).map(|i| course(best, i)).collect();
    let names = &finished.controls;
    for (names, courses) in names.chunks(LINES).zip(courses.chunks(LINES)).take(PLOTS) {
        let mut plot = Plot::new(&names.join(", ")).size(720.0, 300.0).x_axis("time", "s");
        if names.len() == 1 {
            plot = plot.y_axis(&names[0], "");
        }
        for (name, points) in names.iter().zip(courses) {
            plot = plot.line(name, points.iter().copied());
        }
        report.svg(&plot.to_svg(), &format!("Controls {}", names.join(", ")));
    }
    let instance = problem.instance(problem.n_steps() - 1, None).ok();
    let mut table = Table::new(&["control", "least", "largest", "allowed"]);
    for (i, (name, points)) in names.iter().zip(&courses).enumerate().take(MOST) {
        let least = points.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
        let most = points.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
        let allowed = instance.as_ref().map(|instance| range(instance.control_range(i)));
        table.row([name.clone(), sig(least, 6), sig(most, 6), allowed.unwrap_or_default()]);
    }
    report.table(&table);
}

/// The states over time, where no picture shows them.
fn states(report: &mut Report, finished: &Finished) {
    let best = &finished.found[finished.best];
    let Some(names) = finished.states.first() else { return };
    report.heading("States");
    for first in (0..names.len()).step_by(LINES).take(PLOTS) {
        let own = &names[first..names.len().min(first + LINES)];
        let mut plot = Plot::new(&own.join(", ")).size(720.0, 300.0).x_axis("time", "s");
        for (i, name) in own.iter().enumerate() {
            let (mut begun, mut points) = (0.0, Vec::new());
            for phase in &best.solution.phases {
                let at = |(t, state): (&f64, &Vec<f64>)| {
                    state.get(first + i).map(|value| (begun + t, *value))
                };
                points.extend(phase.times.iter().zip(&phase.states).filter_map(at));
                begun += phase.times.last().copied().unwrap_or(0.0);
            }
            plot = plot.marks(name, points);
        }
        report.svg(&plot.to_svg(), &format!("States {}", own.join(", ")));
    }
}

/// From … to …, as a reader writes it.
fn range([low, high]: [f64; 2]) -> String {
    match (low.is_finite(), high.is_finite()) {
        (true, true) if low.total_cmp(&high).is_eq() => format!("= {}", sig(low, 6)),
        (true, true) => format!("{} … {}", sig(low, 6), sig(high, 6)),
        (true, false) => format!("≥ {}", sig(low, 6)),
        (false, true) => format!("≤ {}", sig(high, 6)),
        (false, false) => "any".to_owned(),
    }
}

fn condition_table(report: &mut Report, problem: &Problem, best: &Found) {
    if best.status == Status::Faulty {
        return;
    }
    let list = match conditions(problem, &best.solution) {
        Ok(list) if list.is_empty() => return,
        Ok(list) => list,
        Err(why) => {
            report.heading("Conditions");
            report.paragraph(&format!("They have no value at this motion: {why}."));
            return;
        }
    };
    report.heading("Conditions");
    let head = ["condition", "nodes", "least", "largest", "asked for", "at its bound"];
    let mut table = Table::new(&head);
    for c in list.iter().take(MOST) {
        let equation = c.bounds[0].total_cmp(&c.bounds[1]).is_eq();
        let active = if equation { "always".to_owned() } else { format!("at {}", c.active) };
        let [least, most] = c.values.map(|x| sig(x, 4));
        table.row([c.name.clone(), c.nodes.to_string(), least, most, range(c.bounds), active]);
    }
    report.table(&table);
    report.paragraph("Of an equation: left side less right side.");
    if list.len() > MOST {
        report.paragraph(&format!("The first {MOST} of {}.", list.len()));
    }
}

fn iterations(report: &mut Report, history: &History, start: usize, best: &Found) {
    let lines: Vec<(f64, &Line)> = history.of(start).collect();
    if lines.is_empty() {
        return;
    }
    report.heading("Iterations");
    let outside = lines.iter().filter(|(_, line)| line.restoring).count();
    let plot = Plot::new("Objective").size(720.0, 300.0).x_axis("iteration", "");
    let points = lines.iter().map(|(i, line)| (*i, line.objective));
    let plot = plot.y_axis("objective", "").marks("objective", points);
    report.svg(&plot.to_svg(), "Objective over the iterations");
    let plot = Plot::new("Errors, scaled").size(720.0, 300.0).x_axis("iteration", "").log_y();
    let plot = plot
        .marks("infeasibility", lines.iter().map(|(i, line)| (*i, line.infeasibility)))
        .marks("KKT error", lines.iter().map(|(i, line)| (*i, line.kkt)));
    report.svg(&plot.to_svg(), "Infeasibility and KKT error over the iterations");
    let told = best.iterations.max(lines.len());
    let mut text = format!("{} of {} iterations of the best start", lines.len(), told);
    if lines.iter().any(|(_, line)| line.stage.step > 0 || line.stage.round > 0) {
        text.push_str(", homotopy steps and rounds of finer integration steps one after the other");
    }
    if outside > 0 {
        text.push_str(&format!("; {outside} of them restored feasibility"));
    }
    text.push('.');
    report.paragraph(&text);
}

fn starts(report: &mut Report, finished: &Finished) {
    if finished.found.len() < 2 {
        return;
    }
    report.heading("Starts");
    let mut table =
        Table::new(&["start", "from", "ended", "objective", "violation", "iterations", ""]);
    for (i, f) in finished.found.iter().enumerate().take(MOST) {
        let mark = if i == finished.best {
            "best"
        } else if finished.distinct.contains(&i) {
            "another optimum"
        } else {
            ""
        };
        table.row([
            (f.start + 1).to_string(),
            f.kind.clone(),
            status_word(&f.status).to_owned(),
            sig(f.objective, 10),
            sig(f.infeasibility, 2),
            f.iterations.to_string(),
            mark.to_owned(),
        ]);
    }
    report.table(&table);
}
