//! `gelenk export`: a recording as tables and pictures, a model as a unit for other programs.

use std::fmt::Write;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use gelenk::export::{
    ExportError, plot_svg, to_glb, to_gltf, write_csv, write_foxglove, write_parquet,
};
use gelenk::files::Kind;
use gelenk::film::film_strip;
use gelenk::fmu::{LIBRARY, Version, package};
use gelenk::model::State;
use gelenk::picture::{PictureOptions, picture};
use gelenk::recording::Header;
use gelenk::thin::Thinned;
use gelenk::{Recording, RecordingError};
use serde_json::{Map, Value, json};

use super::run::MOST_FRAMES;
use crate::answer::{Answer, Exit, Failure};
use crate::args::{ExportArgs, ModelArgs};
use crate::source::Start;
use crate::text::counted;
use crate::{Manner, files, show, source};

/// The longest library that goes into a unit, bytes.
const MOST_LIBRARY: u64 = 1 << 30;

/// Frames of an animation: more are thinned out.
const MOST_KEYS: usize = 20_000;

pub(crate) fn run(args: &ExportArgs, manner: Manner) -> Result<Answer, Failure> {
    if let Some(output) = &args.fmu {
        return fmu(args, output, manner);
    }
    let path = &args.recording;
    files::must_exist(path, "recording")?;
    let outputs = [
        (&args.csv, Kind::Csv),
        (&args.parquet, Kind::Parquet),
        (&args.film, Kind::Svg),
        (&args.plot, Kind::Svg),
        (&args.gltf, Kind::Gltf),
        (&args.foxglove, Kind::Scene),
        (&args.png, Kind::Png),
    ];
    let outputs = outputs.iter().filter_map(|(output, kind)| Some((output.as_ref()?, *kind)));
    let outputs = outputs.filter(|(output, kind)| *kind != Kind::Csv || !is_stdout(output));
    files::check_places(outputs, &path.display().to_string(), manner)?;
    let to_stdout = args.csv.as_deref().is_some_and(is_stdout);
    if to_stdout && manner.json {
        return Err(Failure::input("--csv - and --json both want standard output")
            .help("write the table to a file"));
    }
    let mut recording = Recording::open(path).map_err(|error| reading(path, &error))?;
    let limits = source::limits(&args.limit)?;
    let loaded = recording.header().load(limits);
    let model = loaded.map_err(|why| Failure::input(format!("`{}`: {why}", path.display())))?.model;
    let mut warnings = Vec::new();
    if recording.truncated() {
        let warning =
            format!("the recording is {}: what is there is exported", recording.integrity());
        if manner.talks() {
            show::warning(&warning);
        }
        warnings.push(warning);
    }
    let mut written = Map::new();
    let mut text = String::new();
    let mut tell = |format: &str, output: &Path| {
        let _ = writeln!(text, "{format}: {}", output.display());
        written.insert(format.to_owned(), output.display().to_string().into());
    };
    if let Some(output) = &args.csv {
        let samples = recording.samples();
        if is_stdout(output) {
            quiet_pipe(write_csv(&model, samples, std::io::stdout().lock()))
                .map_err(|error| writing(output, &error))?;
        } else {
            let fill = |file: &mut _| write_csv(&model, samples, file).map(drop);
            files::write_with(output, Kind::Csv, manner, fill, |error| writing(output, &error))?;
            tell("csv", output);
        }
    }
    if let Some(output) = &args.parquet {
        let samples = recording.samples();
        let fill = |file: &mut _| write_parquet(&model, samples, file).map(drop);
        files::write_with(output, Kind::Parquet, manner, fill, |error| writing(output, &error))?;
        tell("parquet", output);
    }
    if let Some(output) = &args.plot {
        let svg = plot_svg(&model, recording.samples(), &args.of);
        let svg = svg.map_err(|error| writing(output, &error))?;
        files::write(output, Kind::Svg, manner, svg.as_bytes())?;
        tell("plot", output);
    }
    if let Some(output) = &args.foxglove {
        let samples = recording.samples();
        let fill = |file: &mut _| write_foxglove(&model, samples, file).map(drop);
        files::write_with(output, Kind::Scene, manner, fill, |error| writing(output, &error))?;
        tell("foxglove", output);
    }
    let mut states = |most: usize| -> Result<Vec<(f64, State)>, Failure> {
        let mut film = Thinned::new(most);
        for sample in recording.samples() {
            film.push(&sample.map_err(|error| reading(path, &error))?.state);
        }
        Ok(film.into_states())
    };
    if let Some(output) = &args.film {
        let svg = film_strip(&model, &states(MOST_FRAMES)?, &args.strip.options());
        files::write(output, Kind::Svg, manner, svg.as_bytes())?;
        tell("film", output);
    }
    if let Some(output) = &args.gltf {
        let states = states(MOST_KEYS)?;
        let json = output.extension().is_some_and(|e| e.eq_ignore_ascii_case("gltf"));
        let bytes =
            if json { to_gltf(&model, &states).into_bytes() } else { to_glb(&model, &states) };
        files::write(output, Kind::Gltf, manner, &bytes)?;
        tell("gltf", output);
    }
    if let Some(output) = &args.png {
        let (width, height) = args.size;
        let instants = usize::from(args.instants);
        let options = PictureOptions { width, height, instants, at: args.at };
        let bytes = picture(&model, &states(MOST_KEYS)?, &options);
        files::write(output, Kind::Png, manner, &bytes)?;
        tell("png", output);
    }
    let samples = recording.n_samples();
    let _ = writeln!(text, "{} of `{}`", counted(samples, "sample", "samples"), model.name);
    let json = json!({
        "recording": path.display().to_string(),
        "model": model.name,
        "samples": samples,
        "whole": !recording.truncated(),
        "written": Value::Object(written),
        "warnings": warnings,
    });
    let text = if to_stdout { String::new() } else { text };
    Ok(Answer::done(json, text))
}

fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A reader that went away is no error.
fn quiet_pipe(result: Result<u64, ExportError>) -> Result<(), ExportError> {
    match result {
        Err(ExportError::Write(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.map(drop),
    }
}

fn reading(path: &Path, error: &RecordingError) -> Failure {
    let exit = if error.is_io() { Exit::Io } else { Exit::Input };
    Failure::new(exit, format!("`{}`: {error}", path.display()))
}

fn writing(path: &Path, error: &ExportError) -> Failure {
    let exit = if error.is_io() { Exit::Io } else { Exit::Input };
    Failure::new(exit, format!("`{}`: {error}", path.display()))
}

/// A model as a functional mock-up unit.
fn fmu(args: &ExportArgs, output: &Path, manner: Manner) -> Result<Answer, Failure> {
    let model = args.recording.display().to_string();
    files::check_place(output, Kind::Fmu, &model, manner)?;
    let asked = ModelArgs {
        model,
        set: args.set.clone(),
        limit: args.limit.clone(),
        ..ModelArgs::default()
    };
    let loaded = source::load(&asked, Start::MustClose, manner)?;
    let version = if args.fmi == 2 { Version::Two } else { Version::Three };
    let library = library(args)?;
    let bytes = files::read(&library, MOST_LIBRARY)?;
    let header = Header::of_loaded(&loaded, &args.set, &loaded.model.run);
    let unit =
        package(&header, version, &bytes).map_err(|error| Failure::input(error.to_string()))?;
    files::write(output, Kind::Fmu, manner, &unit)?;
    let warnings = source::warnings(&loaded);
    let json = json!({
        "model": loaded.model.name,
        "fmi": args.fmi,
        "step": loaded.model.run.step,
        "written": { "fmu": output.display().to_string() },
        "warnings": warnings,
    });
    Ok(Answer::done(json, format!("fmu: {}\n", output.display())))
}

/// Where the library for units lies: beside the program, unless another place is given.
fn library(args: &ExportArgs) -> Result<PathBuf, Failure> {
    if let Some(path) = &args.library {
        files::must_exist(path, "library")?;
        return Ok(path.clone());
    }
    let name = format!("{}{LIBRARY}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let program = std::env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent).map(|folder| folder.join(&name));
    beside.filter(|path| path.is_file()).ok_or_else(|| {
        Failure::input(format!("the library for units, {name}, is not beside the program"))
            .help("build it with `cargo build --release -p gelenk-fmi`, or name it with --library")
    })
}
