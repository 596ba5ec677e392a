//! From the MODEL of the command line to a model.

use std::io::Read;
use std::path::Path;

use gelenk::engine::{Judged, Steps, find as find_engine};
use gelenk::import::{ImportOptions, import_model};
use gelenk::model::{
    Diagnostics, Limits, LoadOptions, Loaded, Model, Observer, RunSettings, load_path, load_text,
};
use gelenk::verdict::VerdictLimits;

use crate::answer::{Exit, Failure, Faults};
use crate::args::{ModelArgs, SettingArgs};
use crate::{Manner, show};

/// What is asked of a model's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Joints must be closed: the model is going to run.
    MustClose,
    /// Joints may be open: the model is going to be looked at or assembled.
    MayBeOpen,
}

/// Loads the model that the user means; warnings are shown at once, unless JSON will carry them.
pub(crate) fn load(args: &ModelArgs, start: Start, manner: Manner) -> Result<Loaded, Failure> {
    let limits = limits(&args.limit)?;
    let options = LoadOptions {
        overrides: args.overrides(),
        data: tables(args, &limits)?,
        limits,
        allow_open: start == Start::MayBeOpen,
        ..LoadOptions::default()
    };
    let loaded = find(&args.model, options, args.lenient)?;
    if manner.talks() {
        tell_warnings(&loaded);
    }
    Ok(loaded)
}

/// The files that inputs of the command line follow.
pub(crate) fn tables(args: &ModelArgs, limits: &Limits) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut read: Vec<(String, Vec<u8>)> = Vec::new();
    for (path, name) in args.tables() {
        let bytes = crate::files::read(&path, limits.file)?;
        match read.iter().find(|(known, _)| *known == name) {
            Some((_, same)) if *same == bytes => {}
            Some(_) => {
                let message = format!("two different files are called `{}`", path.display());
                return Err(Failure::input(message).help("rename one of the files for --input"));
            }
            None => read.push((name, bytes)),
        }
    }
    Ok(read)
}

/// Notes of an import a line each, since they speak of another text; the model's own warnings drawn with its lines.
fn tell_warnings(loaded: &Loaded) {
    let (notes, own): (Vec<_>, Vec<_>) =
        loaded.warnings.iter().cloned().partition(|warning| warning.code.starts_with("import-"));
    for note in notes.iter().take(MOST_NOTES) {
        show::warning(
            note.to_string().replace(": warning: ", ": ").trim_start_matches("warning: "),
        );
    }
    if notes.len() > MOST_NOTES {
        let more = notes.len() - MOST_NOTES;
        show::warning(&format!(
            "{more} more things were changed or dropped: `gelenk import` tells all"
        ));
    }
    if !own.is_empty() {
        let drawn = Diagnostics { list: own, sources: loaded.sources.clone() };
        show::err(drawn.render(show::color_on_stderr()).trim_end());
    }
}

/// Notes of an import that a command shows.
const MOST_NOTES: usize = 12;

/// Finds and loads a model by gallery name, path or `-`; `lenient`: faults of robot files are repaired where that is safe.
pub(crate) fn find(name: &str, mut options: LoadOptions, lenient: bool) -> Result<Loaded, Failure> {
    if name == "-" {
        let text = read_standard_input(options.limits.file)?;
        options.base_dir = Some(".".into());
        return load_text("standard input", &text, &options).map_err(|faults| bad_model(&faults));
    }
    if let Some(scene) = gelenk::scenes::scene(name) {
        return load_text(scene.name, scene.text, &options).map_err(|faults| bad_model(&faults));
    }
    let path = Path::new(name);
    match path.metadata() {
        Ok(_) if gelenk::import::is_robot_file(path) => {
            let limits = options.limits;
            let import = ImportOptions { limits, lenient, ..ImportOptions::default() };
            let imported = import_model(path, &import, &options);
            imported.map(|(_, loaded)| loaded).map_err(|faults| bad_model(&faults))
        }
        Ok(_) => load_path(path, &options).map_err(|faults| bad_model(&faults)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(no_model(name)),
        Err(error) => Err(Failure::io("read", path, &error)),
    }
}

fn no_model(name: &str) -> Failure {
    let is_path = name.contains(['/', '\\', '.']);
    if is_path {
        return Failure::input(format!("there is no file `{name}`"))
            .help("`gelenk models pendulum > my.toml` starts a model");
    }
    let failure = Failure::input(format!("`{name}` is neither a model of the gallery nor a file"));
    let names = gelenk::scenes::SCENES.iter().map(|scene| scene.name);
    match gelenk::nearest(name, names) {
        Some(near) => failure.help(format!("did you mean `{near}`?")),
        None => failure.help("`gelenk models` lists the gallery"),
    }
}

pub(crate) fn read_standard_input(most: u64) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| Failure::new(Exit::Io, format!("cannot read standard input: {error}")))?;
    if bytes.len() as u64 > most {
        let message = format!("standard input is longer than the limit of {most} bytes");
        return Err(Failure::input(message).help("raise it with --limit file=BYTES"));
    }
    String::from_utf8(bytes).map_err(|_| Failure::input("standard input is not UTF-8 text"))
}

/// All faults of a model: drawn for people, listed for programs.
pub(crate) fn bad_model(faults: &Diagnostics) -> Failure {
    let n = faults.n_errors();
    let first = faults.list.iter().find(|fault| fault.severity == gelenk::model::Severity::Error);
    let first = first.map_or_else(String::new, ToString::to_string);
    let message =
        if n == 1 { first } else { format!("{n} errors in the model; the first: {first}") };
    // The system said no: that is its fault, not the model's.
    let unreadable =
        faults.list.iter().any(|fault| fault.code == "unreadable-file" && fault.place.is_none());
    let mut failure = Failure::new(if unreadable { Exit::Io } else { Exit::Input }, message);
    let (json, drawn) = (faults.to_json(), faults.render(show::color_on_stderr()));
    failure.faults = Some(Box::new(Faults { json, drawn }));
    failure
}

/// The limits with those of the command line.
pub(crate) fn limits(changes: &[(String, u64)]) -> Result<Limits, Failure> {
    let mut limits = Limits::default();
    for (name, value) in changes {
        limits.set(name, *value).map_err(|why| Failure::input(format!("--limit {name}: {why}")))?;
    }
    Ok(limits)
}

/// The warnings of a model as sentences.
pub(crate) fn warnings(loaded: &Loaded) -> Vec<String> {
    loaded.warnings.iter().map(ToString::to_string).collect()
}

/// The model's settings with those of the command line.
pub(crate) fn settings(args: &SettingArgs, model: &Model) -> RunSettings {
    let mut settings = model.run.clone();
    let SettingArgs { engine, duration, step, order, solver, tolerance, .. } = args.clone();
    let set = |slot: &mut f64, value: Option<f64>| *slot = value.unwrap_or(*slot);
    set(&mut settings.duration, duration);
    set(&mut settings.step, step);
    set(&mut settings.tolerance, tolerance);
    set(&mut settings.velocity_tolerance, args.velocity_tolerance);
    set(&mut settings.contact_tolerance, args.contact_tolerance);
    // A step or an order of the command line is meant as given.
    if step.is_some() || order.is_some() {
        settings.accuracy = None;
    }
    settings.engine = engine.unwrap_or(settings.engine);
    if let Some(solver) = solver {
        gelenk::model::solver_today(&solver).clone_into(&mut settings.solver);
    }
    settings.order = order.unwrap_or(settings.order);
    settings.flight = args.flight.unwrap_or(settings.flight);
    settings.velocity_correction &= !args.no_velocity_correction;
    settings.contact = args.contact.clone().unwrap_or(settings.contact);
    let impact = args.impact.as_deref().and_then(gelenk::model::ImpactLaw::named);
    settings.impact = impact.unwrap_or(settings.impact);
    settings.gentle |= args.gentle;
    settings.rtol = args.rtol.or(settings.rtol);
    settings.atol = args.atol.or(settings.atol);
    settings.integrator = args.integrator.clone().or(settings.integrator);
    settings
}

/// Settings for a study of steps: the impulse engine, whatever the model's `[run]` names.
pub(crate) fn stepping(
    args: &SettingArgs,
    mut settings: RunSettings,
) -> Result<RunSettings, Failure> {
    let own = |name: &str| find_engine(name).is_some_and(|kind| kind.steps() == Steps::Own);
    if let Some(engine) = args.engine.as_deref().filter(|name| own(name)) {
        return Err(Failure::input(format!(
            "the {engine} engine chooses its steps itself: there is none to study"
        ))
        .help("`gelenk compare` sets it beside the impulse engine"));
    }
    if own(&settings.engine) {
        settings.engine = RunSettings::default().engine;
    }
    Ok(settings)
}

/// Refuses settings that no engine can run with.
pub(crate) fn check(settings: &RunSettings) -> Result<(), Failure> {
    gelenk::check_settings(settings).map_err(|error| Failure::input(error.to_string()))
}

/// Runs a model: how the run ended, and the verdict on it.
pub(crate) fn simulate(
    loaded: &Loaded,
    settings: &RunSettings,
    limits: VerdictLimits,
    observer: &mut dyn Observer,
) -> Result<Judged, Failure> {
    gelenk::simulate_judged(loaded.into(), settings, limits, observer)
        .map_err(|error| Failure::input(error.to_string()))
}
