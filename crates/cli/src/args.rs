//! The command line: what can be asked, and the help that teaches it.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

use crate::parse::{
    Times, assignment, frames, levels, limit, not_negative, order, positive, taylor_order, threads,
    times, verdict_limit,
};

/// Multibody dynamics: describe a mechanism in one file and see how it moves.
#[derive(Debug, Parser)]
#[command(
    name = "gelenk",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Start here:
  gelenk run pendulum                 simulate a model of the gallery and sum up
  gelenk models                       what the gallery has
  gelenk models pendulum > my.toml    start a model of your own
  gelenk check my.toml                degrees of freedom, redundant conditions, faults
  gelenk run my.toml                  run it
  gelenk derive my.toml               its equations of motion
  gelenk compare my.toml              engines against each other
  gelenk view my.toml                 see it in the browser, drag bodies, change parameters

A MODEL is a name from the gallery, the path of a .toml, .urdf or .xml (MJCF) file, or - for standard input.
Lengths are in m, masses in kg, times in s, angles in rad.

Output files are new, or replace files of the same kind that gelenk wrote. Other files are refused (exit code 2) unless \
--overwrite is given; devices, pipes and links always. Texts that may have been edited (models, equations, code) count as other files. \
A file is written under a temporary name first: what is there stays until the new one is complete.

Exit codes: 0 done; 1 the answer is no; 2 bad usage, model or limit; 3 the computation failed, what was \
reached is saved; 4 reading or writing failed; 130 stopped by Ctrl-C, what was reached is saved."
)]
pub(crate) struct Cli {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print one JSON object on standard output and nothing else there
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,
    /// No progress bar and no summary; errors and warnings only
    #[arg(long, short, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Let output files replace regular files that gelenk did not write or that were changed since
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) overwrite: bool,
    /// Colours: in terminals (auto; NO_COLOR is respected), always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true,
        help_heading = "Output"
    )]
    pub(crate) color: Color,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Simulate a model: summary, recording, film strip
    Run(Box<RunArgs>),
    /// See a model move in the browser, live, or look at a recording
    View(Box<ViewArgs>),
    /// Count degrees of freedom; find redundant conditions and faults
    Check(CheckArgs),
    /// Make start positions and velocities fit the joints
    Assemble(AssembleArgs),
    /// Find joint coordinates that bring a marker to a place
    Ik(IkArgs),
    /// List the gallery, or print one of its models
    Models(ModelsArgs),
    /// Halve the step again and again; measure the order and the cost of accuracy
    Converge(Box<ConvergeArgs>),
    /// Derive the equations of motion: text, LaTeX, Markdown, JSON or code
    Derive(Box<DeriveArgs>),
    /// Find the best motion: least time, least effort, longest way
    Optimize(Box<OptimizeArgs>),
    /// Run the engines against each other: differences, orders, plot
    Compare(CompareArgs),
    /// How the end of a motion answers to start, inputs and parameters; stability
    Sensitivity(SensitivityArgs),
    /// Run a model for many values of parameters, starts and inputs; one table
    Sweep(SweepArgs),
    /// Run in step with another program: lines of JSON each way
    Serve(Box<ServeArgs>),
    /// What an error costs: error against time for all engines and orders, plots
    Workprecision(WorkPrecisionArgs),
    /// Show the drift of Lagrange multipliers beside the impulse method, on point masses
    Drift(Box<DriftArgs>),
    /// Turn rigid bodies into equivalent point masses
    Points(PointsArgs),
    /// Find positions where constraints lose rank; blow them up; move through them
    Singularities(SingularitiesArgs),
    /// Read a deck of LAGR (1978); print the coefficients of its equations of motion
    Lagr(LagrArgs),
    /// Measure the tables of the paper again and set them beside the published values
    Tables(TablesArgs),
    /// Measure every claim of the papers that the methods come from, ours beside theirs
    Papers(PapersArgs),
    /// Measure speed, with the error beside it
    Bench(BenchArgs),
    /// Run a recording again and compare bit by bit
    Verify(VerifyArgs),
    /// Turn a recording into tables, pictures, glTF or MCAP, a model into an FMU
    Export(ExportArgs),
    /// Turn a URDF or MJCF robot into a model file, with a report
    Import(ImportArgs),
    /// Print the JSON Schema of model files, for editors
    Schema,
    /// Print completions for a shell
    #[command(after_help = "\
Examples:
  gelenk completions bash > ~/.local/share/bash-completion/completions/gelenk
  gelenk completions zsh > ~/.zfunc/_gelenk
  gelenk completions fish > ~/.config/fish/completions/gelenk.fish")]
    Completions {
        /// The shell
        shell: Shell,
    },
}

impl Command {
    /// The word that calls it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Command::Run(_) => "run",
            Command::View(_) => "view",
            Command::Check(_) => "check",
            Command::Assemble(_) => "assemble",
            Command::Ik(_) => "ik",
            Command::Models(_) => "models",
            Command::Converge(_) => "converge",
            Command::Derive(_) => "derive",
            Command::Optimize(_) => "optimize",
            Command::Compare(_) => "compare",
            Command::Sensitivity(_) => "sensitivity",
            Command::Sweep(_) => "sweep",
            Command::Serve(_) => "serve",
            Command::Workprecision(_) => "workprecision",
            Command::Drift(_) => "drift",
            Command::Points(_) => "points",
            Command::Singularities(_) => "singularities",
            Command::Lagr(_) => "lagr",
            Command::Tables(_) => "tables",
            Command::Papers(_) => "papers",
            Command::Bench(_) => "bench",
            Command::Verify(_) => "verify",
            Command::Export(_) => "export",
            Command::Import(_) => "import",
            Command::Schema => "schema",
            Command::Completions { .. } => "completions",
        }
    }
}

/// Which model, and how it is read.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ModelArgs {
    /// Name from the gallery, path of a .toml, .urdf or .xml (MJCF) file, or - for standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) model: String,
    /// Give a parameter of the model another value, in the parameter's unit; may be an expression [repeatable]
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment, help_heading = "Model")]
    pub(crate) set: Vec<(String, String)>,
    /// Begin with a joint at a coordinate, rad or m: elbow=0.5; also elbow.angle_deg=30, elbow.rate=2, foot.x=0.1. The model is posed by its
    /// joints, loops are closed [repeatable]
    #[arg(long = "start", value_name = "JOINT=VALUE", value_parser = assignment, help_heading = "Model")]
    pub(crate) start: Vec<(String, String)>,
    /// Give an input of the model a value, a formula over time, state and parameters (knee=2*sin(t)), or a column of a file over its first one
    /// (knee=gait.csv:knee; with ,held or ,cubic behind it not linear) [repeatable]
    #[arg(long = "input", value_name = "NAME=FORMULA", value_parser = assignment, help_heading = "Model")]
    pub(crate) input: Vec<(String, String)>,
    /// Lift a limit on the model's size: file (bytes), bodies, elements, triangles, ... [repeatable]
    #[arg(long = "limit", value_name = "NAME=COUNT", value_parser = limit, help_heading = "Model")]
    pub(crate) limit: Vec<(String, u64)>,
    /// Robot files: repair faults that have a safe repair, and report what was assumed, instead of refusing them
    #[arg(long, help_heading = "Model")]
    pub(crate) lenient: bool,
}

impl ModelArgs {
    /// What replaces parts of the model: parameters by name, starts as `start.JOINT`, inputs as `input.NAME`.
    pub(crate) fn overrides(&self) -> Vec<(String, String)> {
        let mut all = self.set.clone();
        let starts = self.start.iter();
        all.extend(starts.map(|(name, value)| (format!("start.{name}"), value.clone())));
        let inputs = self.input.iter();
        all.extend(inputs.map(|(name, value)| {
            let value =
                TableInput::of(value).map_or_else(|| value.clone(), |table| table.formula());
            (format!("input.{name}"), value)
        }));
        all
    }

    /// The files that inputs follow, each with the name that formulas know it by.
    pub(crate) fn tables(&self) -> Vec<(PathBuf, String)> {
        let tables = self.input.iter().filter_map(|(_, value)| TableInput::of(value));
        tables.map(|table| (PathBuf::from(table.path), table.name())).collect()
    }
}

/// An input that follows a column of a file: `file.csv:column`, `file.csv:column,held`.
struct TableInput<'a> {
    path: &'a str,
    column: Option<&'a str>,
    between: Option<&'a str>,
}

impl<'a> TableInput<'a> {
    fn of(value: &'a str) -> Option<Self> {
        let (rest, between) = match value.rsplit_once(',') {
            Some((rest, between @ ("linear" | "cubic" | "held"))) => (rest, Some(between)),
            _ => (value, None),
        };
        let ends = [".csv", ".tsv", ".txt", ".dat"];
        let at = ends.iter().filter_map(|end| Some(rest.rfind(end)? + end.len())).max()?;
        let (path, column) = rest.split_at(at);
        let column = match column.strip_prefix(':') {
            Some(column) => Some(column),
            None if column.is_empty() => None,
            None => return None,
        };
        (!path.contains(['"', '\'', '('])).then_some(TableInput { path, column, between })
    }

    /// The file without its folder, below one of its own.
    fn name(&self) -> String {
        let file = self.path.rsplit(['/', '\\']).next().unwrap_or(self.path);
        format!("input/{file}")
    }

    fn formula(&self) -> String {
        let column = self.column.map_or_else(String::new, |column| format!(":{column}"));
        let between = self.between.unwrap_or("linear");
        format!("table(\"{}{column}\", t, \"{between}\")", self.name())
    }
}

/// Settings that replace those of the model's `[run]`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SettingArgs {
    /// Engine: impulse (robust, any step), dae (natural coordinates, to twelve digits) or lagrange (derived equations)
    #[arg(long, value_name = "NAME", help_heading = "Method")]
    pub(crate) engine: Option<String>,
    /// Simulated time, s
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = not_negative, help_heading = "Method")]
    pub(crate) duration: Option<f64>,
    /// What others call the duration
    #[arg(long = "time", hide = true, num_args = 0..=1, value_parser = clap::builder::UnknownArgumentValueParser::suggest_arg("--duration"))]
    pub(crate) time: Option<String>,
    /// Time step, s; may be an expression such as 1/240
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = positive, help_heading = "Method")]
    pub(crate) step: Option<f64>,
    /// Order of the method: 2, 4, 6 or 8
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = order, help_heading = "Method")]
    pub(crate) order: Option<u32>,
    /// Solver of the impulse engine: direct, sweep or sweep-accelerated
    #[arg(long, value_name = "NAME", help_heading = "Method")]
    pub(crate) solver: Option<String>,
    /// Largest gap of a joint, m (of angles, rad)
    #[arg(long, value_name = "M", allow_negative_numbers = true, value_parser = positive, help_heading = "Method")]
    pub(crate) tolerance: Option<f64>,
    /// Largest velocity error of a joint, m/s (of angles, rad/s)
    #[arg(long, value_name = "M/S", allow_negative_numbers = true, value_parser = positive, help_heading = "Method")]
    pub(crate) velocity_tolerance: Option<f64>,
    /// Rotation of free bodies: exact, or taylor:N for a Taylor series of order N
    #[arg(long, value_name = "HOW", value_parser = crate::parse::flight, help_heading = "Method")]
    pub(crate) flight: Option<gelenk::model::Flight>,
    /// Leave velocities at the end of a step as they are (positions do not depend on it)
    #[arg(long, help_heading = "Method")]
    pub(crate) no_velocity_correction: bool,
    /// Gaps and overlaps of bodies that touch which count as none, m [default: 1e-7]
    #[arg(long, value_name = "M", allow_negative_numbers = true, value_parser = positive, help_heading = "Method")]
    pub(crate) contact_tolerance: Option<f64>,
    /// Impacts of bodies and arrivals at end stops: auto, those that bounce located in time; exact, all of them; coarse, none; or none: nothing
    /// touches
    #[arg(long, value_name = "HOW", value_parser = ["auto", "exact", "coarse", "none"], help_heading = "Method")]
    pub(crate) contact: Option<String>,
    /// What the coefficient of restitution means: poisson (impulses), newton (speeds) or stronge (work) [default: poisson]
    #[arg(long, value_name = "LAW", value_parser = ["poisson", "newton", "stronge"], help_heading = "Method")]
    pub(crate) impact: Option<String>,
    /// Halve steps in which joints act harder than size and speed of the bodies explain (order 2)
    #[arg(long, help_heading = "Method")]
    pub(crate) gentle: bool,
    /// Relative tolerance of the local error (dae engine) [default: 1e-12]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = positive, help_heading = "Method")]
    pub(crate) rtol: Option<f64>,
    /// Absolute tolerance of the local error (dae engine) [default: the relative one]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = positive, help_heading = "Method")]
    pub(crate) atol: Option<f64>,
    /// Integrator of the dae engine: auto, dop853 (explicit) or radau (for stiff models)
    #[arg(long, value_name = "NAME", value_parser = ["auto", "dop853", "radau"], help_heading = "Method")]
    pub(crate) integrator: Option<String>,
}

/// `gelenk run`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk run eight-loop
  gelenk run my.toml --duration 5 --step 1/500 --tolerance 1e-10
  gelenk run chain-100 --set n=1000 --no-record
  gelenk run double-pendulum --duration 2 --accuracy 1e-8
  gelenk run pendulum --at 0.5,1,2 --json
  gelenk run pendulum --at 0:2:0.1 --json        every 0.1 s from 0 to 2 s
  gelenk run four-bar --output four-bar.mcap --film four-bar.svg
  gelenk run four-bar --engine dae --rtol 1e-10  with steps of its own choice, as exact as asked
  gelenk run heavy-top --engine lagrange         by its equations of motion, to twelve digits

Settings that are not given are those of the model's [run].

Every run ends with a verdict. Failed (exit code 3): the energy is off by more than 1 % of the energy at work, a gap or overlap is above 10 times its \
tolerance, a number is not finite, or the run ended early. Doubtful (a warning): a tenth of that, velocity errors above 10 times their tolerance, contacts that \
open while they push, or steps taken although their energy is wrong. --verdict-limit sets other limits: --verdict-limit energy=0.02

Ctrl-C stops the run and finishes the recording with what was reached; a second Ctrl-C quits at once. \
An earlier recording is replaced only by a run that reaches its end; one that does not is saved beside it as \
NAME-stopped.mcap or NAME-failed.mcap (films and reports likewise). A recording opens in Foxglove and Rerun; gelenk verify proves it, gelenk export turns it into tables.")]
pub(crate) struct RunArgs {
    /// Which model
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Settings
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    /// Largest position error over the run, m: chooses step and order, and tells the estimated error
    #[arg(long, value_name = "M", allow_negative_numbers = true, value_parser = positive, conflicts_with_all = ["step", "order"], help_heading = "Method")]
    pub(crate) accuracy: Option<f64>,
    /// Seconds between recorded samples; 0 records every step [default: the model's, or every step]
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = not_negative, help_heading = "Output")]
    pub(crate) sample: Option<f64>,
    /// Times at which the exact state is wanted, s: 1,2,5 or FROM:TO:EVERY [in `samples` of --json]
    #[arg(long, value_name = "S,...", allow_negative_numbers = true, value_parser = times, help_heading = "Output")]
    pub(crate) at: Vec<Times>,
    /// Recording to write [default: MODELNAME.mcap in this folder; with --json none]
    #[arg(long, short, value_name = "FILE.mcap", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// End with 3 if the verdict is doubtful, too
    #[arg(long, help_heading = "Output")]
    pub(crate) strict: bool,
    /// Limit of the verdict: energy (fraction of what is at work), gap or overlap (multiples of their tolerance), doubt (fraction of a limit) [repeatable]
    #[arg(long, value_name = "NAME=NUMBER", allow_negative_numbers = true, value_parser = verdict_limit, help_heading = "Output")]
    pub(crate) verdict_limit: Vec<(String, f64)>,
    /// Write no recording
    #[arg(long, conflicts_with = "output", help_heading = "Output")]
    pub(crate) no_record: bool,
    /// Film strip to draw: instants of the run in one picture
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) film: Option<PathBuf>,
    /// Report to write: one page with motion, plots, events, gaps, settings, certificate; opens without a network
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,
    /// Its look
    #[command(flatten)]
    pub(crate) strip: FilmArgs,
}

/// How a film strip looks.
#[derive(Clone, Debug, Args)]
pub(crate) struct FilmArgs {
    /// About how many instants the film strip shows; their times are round numbers
    #[arg(long, value_name = "N", default_value = "12", value_parser = frames, requires = "film", help_heading = "Film strip")]
    pub(crate) frames: usize,
    /// Instants over each other (overlaid) or next to each other (side-by-side)
    #[arg(
        long,
        value_name = "HOW",
        default_value = "overlaid",
        hide_possible_values = true,
        requires = "film",
        help_heading = "Film strip"
    )]
    pub(crate) layout: Layout,
}

impl FilmArgs {
    /// What the library calls it.
    pub(crate) fn options(&self) -> gelenk::film::FilmOptions {
        gelenk::film::FilmOptions {
            frames: self.frames,
            layout: match self.layout {
                Layout::Overlaid => gelenk::film::Layout::Overlaid,
                Layout::SideBySide => gelenk::film::Layout::SideBySide,
            },
            ..gelenk::film::FilmOptions::default()
        }
    }
}

/// How the instants of a film strip are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Layout {
    Overlaid,
    SideBySide,
}

/// `gelenk view`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk view four-bar                        live: drag bodies, move sliders, switch engines
  gelenk view my.toml --engine dae
  gelenk view run.mcap                        a recording
  gelenk view impulse.mcap dae.mcap           two recordings, the second as a ghost
  gelenk view four-bar --no-open --port 8080

The address that is printed has a token; without it nobody can see or change anything. The server listens on this machine only, \
unless --listen says otherwise. Ctrl-C ends it.")]
pub(crate) struct ViewArgs {
    /// Which model; or a recording, FILE.mcap
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Recordings to lie over the motion as ghosts
    #[arg(value_name = "GHOST.mcap", value_hint = ValueHint::FilePath)]
    pub(crate) ghosts: Vec<PathBuf>,
    /// Settings
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    /// Port [default: any that is free]
    #[arg(
        long,
        value_name = "N",
        default_value = "0",
        hide_default_value = true,
        help_heading = "Server"
    )]
    pub(crate) port: u16,
    /// Address to listen on; others than 127.0.0.1 let other machines in who know the token
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", help_heading = "Server")]
    pub(crate) listen: std::net::IpAddr,
    /// Do not open a browser
    #[arg(long, help_heading = "Server")]
    pub(crate) no_open: bool,
}

/// `gelenk sweep`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk sweep lengths.toml
  gelenk sweep lengths.toml --output lengths.parquet --plot lengths.svg
  gelenk sweep lengths.toml --threads 4 --log lengths.log
  gelenk sweep lengths.toml --recordings runs          a recording of every member, runs/member-000000.mcap

A sweep file:
  [sweep]
  model = \"four-bar\"            a model of the gallery, or a path beside the file
  sample = \"grid\"               or list, random, latin, sobol (these with count and seed)
  [run]
  duration = 2
  [[vary]]
  parameter = \"crank\"           or start = \"body.NAME.velocity.x\", or input = \"NAME\"
  from = 0.3
  to = 0.5
  count = 21                     or values = [0.3, 0.4, 0.5]
  [[keep]]
  name = \"force\"
  value = \"joint.A.force.z\"     a formula over quantities, inputs, parameters and t
  over = \"max\"                  or end, start, min, mean

Members are run on all cores. Each one that is done is noted in OUTPUT.journal: after any stop the same command goes on from there. \
The table is written at the end, and has the same bytes for any number of threads. \
Ends with 2 if the sweep file is wrong, with 1 if members failed; the others are done all the same.")]
pub(crate) struct SweepArgs {
    /// Path of a sweep file, or - for standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: String,
    /// Table to write [default: NAME.parquet in this folder]
    #[arg(long, short, value_name = "FILE.parquet", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Picture of each number that is kept: a curve over what is varied, or a map over two things that are; with several numbers
    /// FILE-NAME.svg
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) plot: Option<PathBuf>,
    /// Folder for recordings of all members
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, help_heading = "Output")]
    pub(crate) recordings: Option<PathBuf>,
    /// Log to write on: when each member was done and how long it took
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) log: Option<PathBuf>,
    /// Number of threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    /// Begin again: drop the members that the journal has
    #[arg(long)]
    pub(crate) restart: bool,
}

/// `gelenk serve`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk serve arm.toml --rate 500                        lines on standard input and output
  gelenk serve arm.toml --rate 500 --send body.hand.position
  gelenk serve arm.toml --rate 200 --port 0               lines on a socket of this machine
  gelenk serve arm.toml --rate 100 --clock                a turn whenever its time has come

The first line that is written is the hello: version, step, inputs, joints, sensors with their units, and the start. Then each line that \
is read, {\"inputs\": {\"torque\": 1.5}}, is a turn: the inputs are held for 1/rate s, and the state after it is written as a line. A line that is \
wrong is answered by {\"error\": ...}, and time does not move. {\"reset\": true} begins again. Without --clock nothing depends on how fast the program answers.

With --port the first line on standard output has address and token; a program that connects sends {\"token\": \"...\"} first. \
The server listens on this machine only.

Ends with 0 when the input ends, with 3 if no line comes for --timeout seconds or the run cannot go on. docs/serve.md has the format.")]
pub(crate) struct ServeArgs {
    /// Which model
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Turns a second of simulated time; the step is that of the model or the next shorter one that fits
    #[arg(long, value_name = "HZ", default_value = "500", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) rate: f64,
    /// Quantity to send as a sensor in every turn: body.hand.position, joint.elbow.torque, energy.kinetic, ... [repeatable]
    #[arg(long, value_name = "NAME")]
    pub(crate) send: Vec<String>,
    /// Make turns on the clock, with the inputs that have come by then; turns without a new line are counted as missed
    #[arg(long)]
    pub(crate) clock: bool,
    /// How long to wait for a line, s
    #[arg(long, value_name = "S", default_value = "10", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) timeout: f64,
    /// Speak on a socket of this machine, not on standard input and output; 0: any port that is free
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// Settings
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
}

/// `gelenk optimize`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk optimize cart-pole
  gelenk optimize                                  list the problems that come with the program
  gelenk optimize goddard --print > my.toml        start a problem of your own
  gelenk optimize my.toml --starts 20              different starts; distinct optima listed, the best kept
  gelenk optimize my.toml --resume                 go on after Ctrl-C or a crash
  gelenk optimize bryson-denham --set l=1/6 --json
  gelenk optimize walk-0.3 --report walk.html      the motion to look at, controls, conditions, iterations

Each iteration is saved: whatever ends the process, --resume loses one iteration at most. Ctrl-C stops with the best point \
reached; a second Ctrl-C quits at once. The motion found is run again, interval by interval, by the adaptive integrators; both objectives \
are told. Ends with 1 if the conditions contradict each other, with 3 if nothing converged; what was reached is then recorded as \
PROBLEMNAME-failed.mcap, and an earlier recording is kept.")]
pub(crate) struct OptimizeArgs {
    /// A named problem, path of a .toml file, or - for standard input; nothing lists the names
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) problem: Option<String>,
    /// Print the problem's file
    #[arg(long, requires = "problem")]
    pub(crate) print: bool,
    /// Give a parameter of the problem or of its model another value; may be an expression [repeatable]
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<(String, String)>,
    /// Number of starts: the file's guess, zero controls, then random controls [default: the file's, or 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) starts: Option<u32>,
    /// Seed of random starts [default: the file's, or 0]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Another number of intervals (of every phase)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) intervals: Option<u32>,
    /// KKT error at which a point is optimal, in scaled numbers [default: the file's, or 1e-8]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) tolerance: Option<f64>,
    /// Most iterations of one solve [default: the file's, or 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_iterations: Option<u32>,
    /// Begin with the motion of an earlier answer, on whatever grid (what --output wrote)
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    pub(crate) from: Option<PathBuf>,
    /// Go on from the last checkpoint
    #[arg(long)]
    pub(crate) resume: bool,
    /// Where checkpoints go: a new file or an earlier checkpoint, even with --overwrite [default: PROBLEMNAME.checkpoint in this folder]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Write no checkpoints
    #[arg(long, conflicts_with_all = ["resume", "checkpoint"])]
    pub(crate) no_checkpoint: bool,
    /// Find the multipliers of disturbances, where the motion comes back to its start (gaits)
    #[arg(long)]
    pub(crate) stability: bool,
    /// Tell every iteration on standard error even where it is no terminal
    #[arg(long)]
    pub(crate) log: bool,
    /// Write the motion found, for --from; if it is not an optimum and one is there, to NAME-failed.json
    #[arg(long, short, value_name = "FILE.json", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Recording of the motion, where the problem has a model [default: PROBLEMNAME.mcap in this folder; with --json none]
    #[arg(long, value_name = "FILE.mcap", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) record: Option<PathBuf>,
    /// Write no recording
    #[arg(long, conflicts_with = "record", help_heading = "Output")]
    pub(crate) no_record: bool,
    /// End with 3 if the verdict is doubtful, too
    #[arg(long, help_heading = "Output")]
    pub(crate) strict: bool,
    /// Report to write: one page with motion, controls, objective, conditions, certificate; opens without a network
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,
}

/// `gelenk check`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk check four-bar
  gelenk check my.toml --json

Ends with 1 if the model cannot run as it is: conditions that contradict each other, joints that are open. \
Redundant conditions are no fault; they are named, with whether they are redundant always or in this pose only.")]
pub(crate) struct CheckArgs {
    /// Which model
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

/// `gelenk assemble`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk assemble my.toml                         what would move, and by how much
  gelenk assemble my.toml --output fixed.toml     the same model with start values that fit
  gelenk run fixed.toml

Ends with 1 if the joints cannot be closed, with the joint and its gap.")]
pub(crate) struct AssembleArgs {
    /// Which model
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Write the model with its consistent start values to this file
    #[arg(long, short, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Largest gap to leave, m (of angles, rad) [default: the model's tolerance]
    #[arg(long, value_name = "M", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) tolerance: Option<f64>,
}

/// `gelenk ik`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk ik arm.toml --marker tip --to 0.4,0.2,0.5                            the joints of an arm
  gelenk ik arm.toml --marker tip --to 0.4,0,0.5 --rotation 0,1,0,0           and how its body is turned
  gelenk run arm.toml --start shoulder=0.4 --start elbow=1.2

The nearest posture to the start that the search finds, within the end stops. Ends with 1 if there is none: the nearest place that was found is printed.")]
pub(crate) struct IkArgs {
    /// Which model
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Marker that is to be there
    #[arg(long, value_name = "NAME", conflicts_with = "body")]
    pub(crate) marker: Option<String>,
    /// Body whose origin is to be there
    #[arg(long, value_name = "NAME", required_unless_present = "marker")]
    pub(crate) body: Option<String>,
    /// Where, world coordinates, m
    #[arg(long, value_name = "X,Y,Z", allow_negative_numbers = true, allow_hyphen_values = true, value_parser = crate::parse::vector::<3>)]
    pub(crate) to: [f64; 3],
    /// How the frame of its body is to be turned, a quaternion of any length but zero [default: as it comes]
    #[arg(long, value_name = "W,X,Y,Z", allow_negative_numbers = true, allow_hyphen_values = true, value_parser = crate::parse::vector::<4>)]
    pub(crate) rotation: Option<[f64; 4]>,
    /// Largest distance that counts as there, m (of the rotation, rad) [default: 1e-9]
    #[arg(long, value_name = "M", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) tolerance: Option<f64>,
}

/// `gelenk models`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk models
  gelenk models pendulum > my.toml")]
pub(crate) struct ModelsArgs {
    /// Print this model's file
    pub(crate) name: Option<String>,
}

/// `gelenk converge`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk converge pendulum
  gelenk converge eight-loop --duration 0.5 --order 4 --plot orders.svg
  gelenk converge double-pendulum --quantity position,energy --levels 6

The study runs h, h/2, h/4, ... and a much finer reference, with a tolerance so tight that joint gaps do not spoil the \
result. Chaotic models need a short --duration; beyond it no method has an order.")]
pub(crate) struct ConvergeArgs {
    /// Which model
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Settings; --step is the coarsest step
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    /// How many step sizes, each half the one before
    #[arg(long, value_name = "N", default_value = "5", allow_negative_numbers = true, value_parser = levels)]
    pub(crate) levels: usize,
    /// End with 3 if the verdict is doubtful, too
    #[arg(long)]
    pub(crate) strict: bool,
    /// What to measure: position, rotation, velocity, energy, or one body's by name (position.bob) [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) quantity: Vec<String>,
    /// Log-log plot of error against step and against cost
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    pub(crate) plot: Option<PathBuf>,
    /// Report to write: one page with errors, orders, plot, motion; opens without a network
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
}

/// `gelenk derive`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk derive double-pendulum
  gelenk derive my.toml --format latex --output my.tex
  gelenk derive my.toml --format c --output my.c      also rust and python
  gelenk derive my.toml --what motion,energy
  gelenk derive my.toml --substitute l2=l1 --substitute m2=2*m1
  gelenk derive my.toml --linearize start             or q1=0,q2=pi/2
  gelenk derive my.toml --joint-force shoulder        what it must hold; or all
  gelenk derive my.toml --evaluate point.json --json

Parameters of the model stay symbols. The equations are g q'' + G q' q' = Q, with the metric g, the Christoffel symbols G of the first kind \
and the generalized forces Q; index 0 is time. Joints that close loops give conditions with multipliers. \
point.json is {\"parameters\": {\"l\": 2}, \"q\": [0.1, 0.2], \"qd\": [0, 0], \"t\": 0}; what it leaves out is 0 or the model's. \
Contact, end stops and dry friction are left out, with a note.")]
pub(crate) struct DeriveArgs {
    /// Which model
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// text, latex, markdown, json, rust, c or python
    #[arg(long, short, value_name = "NAME", default_value = "text", hide_possible_values = true)]
    pub(crate) format: DeriveFormat,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Put a number or an expression over other parameters in place of a parameter [repeatable]
    #[arg(long, value_name = "NAME=EXPRESSION", value_parser = assignment)]
    pub(crate) substitute: Vec<(String, String)>,
    /// Give g, gamma, Q and q'' as numbers at the point of this JSON file; - for standard input
    #[arg(long, value_name = "POINT.json", value_hint = ValueHint::FilePath)]
    pub(crate) evaluate: Option<PathBuf>,
    /// Linearize about a place of rest: start, or q1=0,q2=pi/2 (those left out are 0)
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    pub(crate) linearize: Option<String>,
    /// Force and torque that this joint carries, as equations; all for every joint of the tree [repeatable]
    #[arg(long, value_name = "JOINT")]
    pub(crate) joint_force: Vec<String>,
    /// Only these: metric, christoffel, forces, constraints, motion, energy, integrals, equilibria, linear [default: all]
    #[arg(long, value_name = "PART,...", value_delimiter = ',')]
    pub(crate) what: Vec<String>,
    /// Report to write: one page with the equations typeset, and the motion they give; opens without a network
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
}

/// How equations are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeriveFormat {
    Text,
    Latex,
    Markdown,
    Json,
    Rust,
    C,
    Python,
}

/// `gelenk compare`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk compare double-pendulum
  gelenk compare my.toml --duration 2 --plot differences.svg
  gelenk compare four-bar --at 0.25,0.5,1 --no-orders --json
  gelenk compare gallery                              every model of the gallery: some minutes

The impulse engine steps with impulses, the dae engine integrates natural coordinates, the lagrange engine knows energies alone and shares no equation \
with them. The impulse engine runs with order 8 and \
a step that is halved until positions stand; its orders 2 to 8 are then measured against the lagrange or the dae engine. \
Ends with 1 if positions differ by more than --within. Chaotic models need a short --duration.

`gallery` in place of a model compares the engines on all of them, over a second at most: to 1e-9 m, and to 1e-8 m where something touches, stops, sticks or catches. \
Models and engines that are left out are named with the reason.")]
pub(crate) struct CompareArgs {
    /// Which model
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Simulated time, s [default: the model's, at most 1]
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) duration: Option<f64>,
    /// The engines: impulse,dae,lagrange; those that cannot run the model are left out
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = "impulse,dae,lagrange"
    )]
    pub(crate) engines: Vec<String>,
    /// Times to compare at, s: 1,2,5 or FROM:TO:EVERY [default: 20 over the run]
    #[arg(long, value_name = "S,...", allow_negative_numbers = true, value_parser = times)]
    pub(crate) at: Vec<Times>,
    /// Step of the impulse engine, s [default: halved until positions stand]
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) step: Option<f64>,
    /// Largest difference of positions that is agreement, m
    #[arg(long, value_name = "M", default_value = "1e-8", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) within: f64,
    /// Do not measure the orders of the impulse engine
    #[arg(long)]
    pub(crate) no_orders: bool,
    /// Plot of the differences over time
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    pub(crate) plot: Option<PathBuf>,
    /// End with 3 if the verdict is doubtful, too
    #[arg(long)]
    pub(crate) strict: bool,
    /// Report to write: one page with the motions over each other, differences, orders, plot; opens without a network
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
}

/// `gelenk workprecision`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk workprecision                        pendulum, double-pendulum, slider-crank, eight-loop
  gelenk workprecision my.toml --duration 2
  gelenk workprecision four-bar --plot plots  writes plots/four-bar.svg

Each model is run by impulses of orders 2, 4, 6 and 8 with halved steps, by the dae engine and by derived equations (lagrange) \
with tighter tolerances. Of each run the time of the processor and the largest error of a position at the end are kept; the reference \
is the dae engine at 1e-13. Choose the method that reaches your error in the least time.")]
pub(crate) struct WorkPrecisionArgs {
    /// Names from the gallery or paths of .toml files
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath, default_values = ["pendulum", "double-pendulum", "slider-crank", "eight-loop"])]
    pub(crate) models: Vec<String>,
    /// Give a parameter of the models another value, in the parameter's unit; may be an expression [repeatable]
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment, help_heading = "Model")]
    pub(crate) set: Vec<(String, String)>,
    /// Simulated time, s
    #[arg(long, value_name = "S", default_value = "1", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) duration: f64,
    /// Folder to draw plots into, one for each model: error against time, both logarithmic
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) plot: Option<PathBuf>,
}

/// `gelenk sensitivity`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk sensitivity double-pendulum --at 1            the end by the start
  gelenk sensitivity pendulum --at 2 --by l,m          by parameters
  gelenk sensitivity three-link-arm --at 0.5 --by start,inputs --check
  gelenk sensitivity pendulum --periodic               period, multipliers, stability

An entry says by how much a number of the state at the end (row) changes for a unit of what it is differentiated by (column). Of joint coordinates, \
places and turns as many are shown as the model has degrees of freedom, independent of each other, and their rates; all others follow from them. \
The equations are differentiated exactly and integrated in the steps of the motion; at impacts and other events the derivative jumps as it must. --check finds \
all once more by internal numerical differentiation (neighbours in the same steps) and tells the largest difference.

--periodic looks for the time after which the motion comes back (near --at, if given) and prints the eigenvalues of the monodromy matrix, the multipliers: \
outside the unit circle disturbances grow. Ends with 1 if the two kinds differ by more than 1e-6, or the motion does not come back, and with 3 if the verdict on \
the motion itself is failed.")]
pub(crate) struct SensitivityArgs {
    /// Which model
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Time of the end, s [default: the model's duration, at most 1]
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) at: Option<f64>,
    /// By what: start, inputs, parameters (all of them), or names of parameters
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',', default_value = "start")]
    pub(crate) by: Vec<String>,
    /// Find all by internal numerical differentiation too and compare
    #[arg(long)]
    pub(crate) check: bool,
    /// The motion comes back: find its period, multipliers and stability
    #[arg(long)]
    pub(crate) periodic: bool,
    /// Relative and absolute tolerance of the local error
    #[arg(long, value_name = "X", default_value = "1e-12", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) rtol: f64,
    /// End with 3 if the verdict (on the motion that is differentiated) is doubtful, too
    #[arg(long)]
    pub(crate) strict: bool,
}

/// `gelenk drift`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk drift pendulum
  gelenk drift cuboid --taylor 6 --duration 5 --plot drift.svg
  gelenk points heavy-top | gelenk drift - --duration 1

The model must be of point masses with distances and equations. It is run by the impulse engine and, with the same step, \
by the Taylor (Lagrange-multiplier) method of orders 1 to N, by the impulse method as its paper writes it (Newton, and one Newton step \
a step), and by two cures of the drift (Baumgarte, projection); the table has the largest error of a constraint in each \
interval. Order n takes positions to h^(n+1) and velocities to h^n.")]
pub(crate) struct DriftArgs {
    /// Which model
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Settings; --step is that of all methods, the others are the impulse engine's
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    /// Highest order of the Taylor method, 1 to 20
    #[arg(long, value_name = "N", default_value = "4", allow_negative_numbers = true, value_parser = taylor_order)]
    pub(crate) taylor: usize,
    /// End with 3 if the verdict (on the impulse engine's run) is doubtful, too
    #[arg(long)]
    pub(crate) strict: bool,
    /// Plot of the errors over time
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    pub(crate) plot: Option<PathBuf>,
}

/// `gelenk tables`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk tables                                   all of them: some ten seconds
  gelenk tables --only 9.1,10.1
  gelenk tables --plot energy.svg --json
  gelenk tables --model eight-loop-flat           a loop with a bad start instead of the paper's

The tables are those of A. A. Schmitt (2003), sections 9 and 10: periods of a pendulum, corrections and energy error of a closed \
chain for 8 steps and 6 tolerances, a mass on a spring. Each says what it is held to; ends with 1 if anything misses that, \
with the cell.")]
pub(crate) struct TablesArgs {
    /// Only these tables: 9.1, 9.2, 9.3, 9.4, 9.5, 10.1
    #[arg(long, value_name = "NUMBER,...", value_delimiter = ',', num_args = 1..)]
    pub(crate) only: Vec<String>,
    /// A few steps and tolerances only
    #[arg(long)]
    pub(crate) quick: bool,
    /// The closed chain: eight-loop-paper, eight-loop-flat or eight-loop
    #[arg(long, value_name = "NAME", default_value = gelenk::tables::PAPERS_LOOP)]
    pub(crate) model: String,
    /// Correct the chain's velocities at the end of every step, as the paper did for table 9.5 only
    #[arg(long)]
    pub(crate) velocity_correction: bool,
    /// Run the chain with the direct solver, corrected velocities and gentle steps; a solve counts as a correction of every joint
    #[arg(long)]
    pub(crate) gentle: bool,
    /// Log-log plot of ours and the paper's
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    pub(crate) plot: Option<PathBuf>,
    /// Report to write: one page with all tables, bars and the plot; opens without a network
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
}

/// `gelenk papers`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk papers                                   every table and claim: about a minute
  gelenk papers --only 2005,lagr
  gelenk papers --quick --json

The papers: 2003 (Schmitt, impulse method; its tables as well), 2005 (Schmitt, Bender, Prautzsch, convergence), lagr (the program LAGR of \
1978), thesis (singular positions). Each claim stands with its section, the paper's numbers, ours, and the command that shows more; \
ends with 1 if one does not hold.")]
pub(crate) struct PapersArgs {
    /// Only these papers: 2003, 2005, lagr, thesis
    #[arg(long, value_name = "PAPER,...", value_delimiter = ',', num_args = 1..)]
    pub(crate) only: Vec<String>,
    /// A few steps and tolerances of the tables only
    #[arg(long)]
    pub(crate) quick: bool,
}

/// `gelenk points`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk points heavy-top > top-points.toml
  gelenk run top-points.toml
  gelenk points double-pendulum --output points.toml
  gelenk points free-body --six

Each rigid body becomes 8 q + 8 point masses (fewer where some coincide; q: points of its joints) with its mass, centre and \
inertia tensor, held together by distances; thin bodies by equations. Ball, hinge, universal, fixed and distance joints become \
common points, distances and equations; springs, dampers, drives of hinges and forces become forces on points. Constraints that follow \
from others are left out. Other joints and forces are refused by name. The motion is the same.")]
pub(crate) struct PointsArgs {
    /// Which model
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Write the model to this file instead of standard output
    #[arg(long, short, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// List the six point masses that each body has without its joints, in its own frame
    #[arg(long, conflicts_with = "output")]
    pub(crate) six: bool,
}

/// `gelenk singularities`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk singularities lying-eight
  gelenk singularities degenerate-crank --polar
  gelenk singularities lying-eight --cross --tolerance 2e-8
  gelenk singularities cusp --cross --duration 1
  gelenk singularities four-bar-ladder --set n=1 --duration 2

Of models of rigid bodies the positions that the run passes are told: ranks lost, what is left of the conditions there, the branches, the one taken. Constraints of point masses with \
distances and polynomial equations are looked at with exact fractions: equations that follow from others, singular positions, the branches that meet there, and for each branch the blow-up with all \
equations on the way. l_y stands for y/x, r and e_x, e_y for a length and a direction.")]
pub(crate) struct SingularitiesArgs {
    /// Which model
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Polar blow-ups, which keep all branches, beside those along curves
    #[arg(long)]
    pub(crate) polar: bool,
    /// Move the model from its start through the singular positions it meets
    #[arg(long)]
    pub(crate) cross: bool,
    /// How long to move it; the model's own duration if left out
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    pub(crate) duration: Option<f64>,
    /// Tolerance of the integration
    #[arg(long, value_name = "NUMBER", value_parser = positive, default_value = "1e-10")]
    pub(crate) tolerance: f64,
    /// Most operations on coefficients for each question
    #[arg(long, value_name = "COUNT", default_value_t = 2_000_000)]
    pub(crate) work: usize,
}

/// `gelenk lagr`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk lagr system-2
  gelenk lagr my-deck.txt --json
  gelenk lagr system-2 --deck > my-deck.txt
  gelenk lagr system-2 --format c > system-2.c
  gelenk lagr loudspeaker                         a charge as a coordinate
  gelenk lagr my-deck.txt --run --set M(1)=2 --set GE=9.81 --set Q(1)=0.1 --duration 5 --step 0.1

A deck holds the data of LAGR's punched cards of 80 columns: numbers, bits '1'B and strings in apostrophes with FORMAC expressions, \
separated by blanks. The answer has the original's headings: coefficients of the kinetic energy G, Christoffel symbols GAM, generalized \
forces KU, all that are not zero, first in general, then with each replacement list; then the potential and the dissipation function of \
the forces of each body, of each damper and of all, or the slopes that show that there is none.")]
pub(crate) struct LagrArgs {
    /// Path of a deck; system-2 (the example of the paper), loudspeaker or pendulum-by-condition; or - for standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) deck: String,
    /// Print the deck itself, to start one of your own
    #[arg(long = "deck", conflicts_with_all = ["format", "run"])]
    pub(crate) print_deck: bool,
    /// Write the equations as code instead: mass matrix, bias and force as functions
    #[arg(long, value_name = "LANGUAGE", value_enum, conflicts_with = "run")]
    pub(crate) format: Option<DeckFormat>,
    /// Integrate the equations and print the motion
    #[arg(long)]
    pub(crate) run: bool,
    /// Value of a parameter, or of Q(k) or QP(k) at the start (0 if left out) [repeatable]
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment, requires = "run")]
    pub(crate) set: Vec<(String, String)>,
    /// Which system of the deck, for --format and --run
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) system: usize,
    /// Replacement list for the kinetic energy, for --format and --run; 0 for none
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) kinetic_list: usize,
    /// Replacement list for the forces, for --format and --run; 0 for none
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) force_list: usize,
    /// Simulated time of --run
    #[arg(long, value_name = "SECONDS", value_parser = positive, default_value = "10")]
    pub(crate) duration: f64,
    /// Time between the printed moments of --run
    #[arg(long, value_name = "SECONDS", value_parser = positive, default_value = "0.5")]
    pub(crate) step: f64,
    /// Tolerance of the integration of --run
    #[arg(long, value_name = "NUMBER", value_parser = positive, default_value = "1e-10")]
    pub(crate) tolerance: f64,
}

/// Languages of a deck's equations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeckFormat {
    C,
    Rust,
    Python,
}

/// `gelenk bench`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk bench
  gelenk bench eight-loop chain --quick
  gelenk bench worlds --json

Times are those of the processor, one run after the other; a busy machine shows all the same. Every speed stands beside the error it \
was had with.")]
pub(crate) struct BenchArgs {
    /// Which: eight-loop, chain, tree, four-bars, contact, worlds [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Shorter runs and smaller models: a few seconds
    #[arg(long)]
    pub(crate) quick: bool,
}

/// `gelenk verify`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk run four-bar && gelenk verify four-bar.mcap

The recording holds the model, the settings and a certificate. The run is done again and every recorded byte compared: \
0 if all agree, 1 if anything differs, with the first difference; 1 too if the recorded run failed. \
The recording of an optimal motion is made again from its nodes and controls; beside that every interval is run by the dae engine and every condition evaluated at the nodes: 1 if one is missed or the motion is not an optimum. Whether a better motion exists is not asked.")]
pub(crate) struct VerifyArgs {
    /// Recording
    #[arg(value_name = "FILE.mcap", value_hint = ValueHint::FilePath)]
    pub(crate) recording: PathBuf,
    /// End with 1 if the verdict is doubtful, too
    #[arg(long)]
    pub(crate) strict: bool,
    /// Lift a limit on the size of the recorded model: file (bytes), bodies, elements, triangles, ... [repeatable]
    #[arg(long = "limit", value_name = "NAME=COUNT", value_parser = limit)]
    pub(crate) limit: Vec<(String, u64)>,
}

/// `gelenk export`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk export four-bar.mcap --csv four-bar.csv
  gelenk export four-bar.mcap --parquet four-bar.parquet --film four-bar.svg
  gelenk export four-bar.mcap --csv - | head
  gelenk export four-bar.mcap --plot angles.svg --of joint.A.coordinate,energy.kinetic
  gelenk export four-bar.mcap --gltf four-bar.glb        opens in Blender, browsers and game engines
  gelenk export four-bar.mcap --foxglove scene.mcap      opens in Foxglove and Rerun, with its shapes
  gelenk export four-bar.mcap --png four-bar.png --instants 8
  gelenk export four-bar.mcap --png end.png --at 2.5 --size 1920x1080
  gelenk export four-bar --fmu four-bar.fmu              a MODEL, for programs that take functional mock-up units

Quantities of --of are columns of the table, or their beginnings: joint.crank, body.rod.position, energy.")]
#[command(group = ArgGroup::new("formats").required(true).multiple(true))]
pub(crate) struct ExportArgs {
    /// Recording; with --fmu a model: name from the gallery, or path of a .toml, .urdf or .xml (MJCF) file
    #[arg(value_name = "FILE.mcap", value_hint = ValueHint::FilePath)]
    pub(crate) recording: PathBuf,
    /// Table of all samples, one line a sample; - for standard output
    #[arg(long, value_name = "FILE.csv", group = "formats", value_hint = ValueHint::FilePath)]
    pub(crate) csv: Option<PathBuf>,
    /// The same table as Parquet
    #[arg(long, value_name = "FILE.parquet", group = "formats", value_hint = ValueHint::FilePath)]
    pub(crate) parquet: Option<PathBuf>,
    /// Film strip: instants of the run in one picture
    #[arg(long, value_name = "FILE.svg", group = "formats", value_hint = ValueHint::FilePath)]
    pub(crate) film: Option<PathBuf>,
    /// Plot of quantities over time; needs --of
    #[arg(long, value_name = "FILE.svg", group = "formats", requires = "of", value_hint = ValueHint::FilePath)]
    pub(crate) plot: Option<PathBuf>,
    /// Quantities to plot, by the names of the table's columns or their beginnings
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', requires = "plot")]
    pub(crate) of: Vec<String>,
    /// Animated scene as glTF: .glb, or .gltf for JSON
    #[arg(long, value_name = "FILE.glb", group = "formats", value_hint = ValueHint::FilePath)]
    pub(crate) gltf: Option<PathBuf>,
    /// MCAP with Foxglove's schemas: frames, shapes, joints, energy
    #[arg(long, value_name = "FILE.mcap", group = "formats", value_hint = ValueHint::FilePath)]
    pub(crate) foxglove: Option<PathBuf>,
    /// Shaded picture of the motion, earlier instants paler
    #[arg(long, value_name = "FILE.png", group = "formats", value_hint = ValueHint::FilePath)]
    pub(crate) png: Option<PathBuf>,
    /// The model as a functional mock-up unit for co-simulation (FMI): its inputs, parameters and quantities as variables
    #[arg(long, value_name = "FILE.fmu", group = "formats", value_hint = ValueHint::FilePath,
        conflicts_with_all = ["csv", "parquet", "film", "plot", "gltf", "foxglove", "png"])]
    pub(crate) fmu: Option<PathBuf>,
    /// Version of FMI: 2 or 3
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u8).range(2..=3), requires = "fmu", help_heading = "Unit")]
    pub(crate) fmi: u8,
    /// Library that goes into the unit [default: the one beside this program]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "fmu", help_heading = "Unit")]
    pub(crate) library: Option<PathBuf>,
    /// Give a parameter of the model another value; may be an expression [repeatable]
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment, requires = "fmu", help_heading = "Unit")]
    pub(crate) set: Vec<(String, String)>,
    /// Instants in the picture
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u16).range(1..=100), requires = "png", help_heading = "Picture")]
    pub(crate) instants: u16,
    /// Only the instant nearest to this time, s
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = not_negative, requires = "png", help_heading = "Picture")]
    pub(crate) at: Option<f64>,
    /// Size of the picture in pixels
    #[arg(long, value_name = "WxH", default_value = "1280x800", value_parser = crate::parse::pixels, requires = "png", help_heading = "Picture")]
    pub(crate) size: (u32, u32),
    /// The film strip's look
    #[command(flatten)]
    pub(crate) strip: FilmArgs,
    /// Lift a limit on the size of the recorded model: file (bytes), bodies, elements, triangles, ... [repeatable]
    #[arg(long = "limit", value_name = "NAME=COUNT", value_parser = limit)]
    pub(crate) limit: Vec<(String, u64)>,
}

/// `gelenk import`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gelenk import robot.urdf > robot.toml
  gelenk import robot.urdf --base free --output robot.toml
  gelenk import scene.xml --keyframe home --output scene.toml --copy-meshes
  gelenk run scene.xml                            every command takes such a file as it is

The model goes to standard output, the report to standard error. Mesh paths count from the folder of --output, or from this folder. \
Meshes and included files are read only from below the folder of the file or of its package.")]
pub(crate) struct ImportArgs {
    /// URDF or MJCF file
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Write the model to this file instead of standard output
    #[arg(long, short, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// URDF: whether the base is fixed to the world or free
    #[arg(long, value_name = "HOW", default_value = "fixed", hide_possible_values = true)]
    pub(crate) base: BaseArg,
    /// MJCF: start from this keyframe; - for the pose as drawn [default: the first one]
    #[arg(long, value_name = "NAME")]
    pub(crate) keyframe: Option<String>,
    /// Folder below which meshes and included files may lie [default: the file's, or its package's]
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,
    /// Copy the meshes next to the output
    #[arg(long, requires = "output")]
    pub(crate) copy_meshes: bool,
    /// Leave contact out: nothing touches
    #[arg(long)]
    pub(crate) no_contact: bool,
    /// Leave actuators out
    #[arg(long)]
    pub(crate) no_actuators: bool,
    /// Repair faults of the file that have a safe repair, and report what was assumed, instead of refusing them
    #[arg(long)]
    pub(crate) lenient: bool,
    /// Lift a limit: file (bytes), nesting, files, bodies, triangles, ... [repeatable]
    #[arg(long = "limit", value_name = "NAME=COUNT", value_parser = limit)]
    pub(crate) limit: Vec<(String, u64)>,
}

/// Whether a robot's base may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BaseArg {
    Fixed,
    Free,
}
