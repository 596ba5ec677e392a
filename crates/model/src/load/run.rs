//! `[model]` and `[run]`, and numbers with bounds.

use gelenk_expr::ParseOptions;

use super::context::{Allowed, Context, InputFormula, InputMeaning, Site};
use super::scope::ScopeId;
use crate::impact::ImpactLaw;
use crate::settings::{Flight, RunSettings};
use crate::source::Span;
use crate::spec::tables::{FileSpec, ModelSpec, RunSpec};
use crate::spec::{Scalar, ScalarSource, did_you_mean};

/// What the command line calls an input: `--input knee=2` is the override `input.knee`.
pub(crate) const OVERRIDE: &str = "input.";

/// Engines that `[run]` may name.
pub const ENGINES: [&str; 3] = ["impulse", "dae", "lagrange"];
/// Integrators of the dae engine.
pub(crate) const INTEGRATORS: [&str; 3] = ["auto", "dop853", "radau"];
/// Solvers of the impulse engine.
pub const SOLVERS: [&str; 3] = ["direct", "sweep", "sweep-accelerated"];

/// The name of a solver today: `iterative`, the sweep's earlier name, is read for one version.
pub fn solver_today(name: &str) -> &str {
    if name == "iterative" { "sweep" } else { name }
}
/// Highest order of the Taylor series of free flight.
const MOST_TAYLOR: u32 = 30;

impl Context<'_> {
    /// Reads `[model]` and `[run]`.
    pub(crate) fn build_settings(&mut self, file: &FileSpec) {
        self.description.gravity[2] = self.pool.rational(-981, 100);
        if let Some(model) = &file.model {
            self.model_table(model);
        }
        self.inputs_table(file);
        if let Some(run) = &file.run {
            self.run_table(run);
        }
    }

    fn model_table(&mut self, spec: &ModelSpec) {
        let site = Site::new(ScopeId::ROOT, "[model]", "gravity");
        if let Some(description) = &spec.description {
            self.builder.description(&description.text);
        }
        if let Some(gravity) = &spec.gravity
            && let Some((expr, value)) = self.vector_quantity(&site, gravity)
        {
            if value.norm() > 1e6 {
                let message = format!("gravity is {:e} m/s²", value.norm());
                let help = "on Earth it is [0, 0, -9.81]";
                self.error("out-of-range", &site, gravity[0].span, message, help);
            }
            self.description.gravity = expr;
            self.builder.gravity(value);
        }
    }

    fn inputs_table(&mut self, file: &FileSpec) {
        for (name, value) in &file.inputs.0 {
            let element = format!("input `{}`", name.text);
            let site = Site::new(ScopeId::ROOT, &element, "value");
            if !gelenk_expr::is_identifier(&name.text) || name.text.contains('.') {
                let message = format!("`{}` cannot be the name of an input", name.text);
                let help = "use letters, digits and `_`, and begin with a letter";
                self.error("bad-name", &site, name.span, message, help);
                continue;
            }
            let given = self.overrides.get_mut(&format!("{OVERRIDE}{}", name.text));
            let given = given.map(|(scalar, used)| {
                *used = true;
                scalar.clone()
            });
            match given {
                Some(scalar) if self.changes_with_time(&scalar) => {
                    let formula = InputFormula {
                        name: name.text.clone(),
                        scalar,
                        meaning: InputMeaning::Unread,
                    };
                    self.input_formulas.push(formula);
                }
                given => {
                    if let Some(value) = self.number(&site, given.as_ref().unwrap_or(value)) {
                        self.builder.input(&name.text, value);
                    }
                }
            }
        }
        let mut unknown: Vec<(String, Span)> = self
            .overrides
            .iter()
            .filter(|(_, (_, used))| !used)
            .filter_map(|(name, (s, _))| Some((name.strip_prefix(OVERRIDE)?.to_owned(), s.span)))
            .collect();
        unknown.sort_by_key(|(_, span)| *span);
        for (name, span) in unknown {
            let known = file.inputs.0.iter().map(|(name, _)| name.text.as_str());
            let help = if file.inputs.0.is_empty() {
                "the model has no [inputs]".to_owned()
            } else {
                did_you_mean(&name, known).unwrap_or_else(|| {
                    let all: Vec<_> = file.inputs.0.iter().map(|(n, _)| n.text.as_str()).collect();
                    format!("the inputs are {}", all.join(", "))
                })
            };
            let site = Site::new(ScopeId::ROOT, "--input", "value");
            self.error("unknown-name", &site, span, format!("there is no input `{name}`"), help);
        }
    }

    /// Whether a text from the command line speaks of time or state.
    fn changes_with_time(&mut self, scalar: &Scalar) -> bool {
        let ScalarSource::Expression(text) = &scalar.source else { return false };
        if text.text.contains("table") {
            return true;
        }
        let options = ParseOptions { functions_of_time: Some(&[]) };
        let Ok(parsed) = self.pool.parse_with_spans(&text.text, &options) else { return false };
        parsed.identifiers.iter().any(|(_, name)| name == "t" || name.contains('.'))
    }

    /// What an input with a formula from the command line stands for, if it has one; its faults are reported at the first look.
    pub(crate) fn input_formula(&mut self, name: &str) -> Option<InputMeaning> {
        let i = self.input_formulas.iter().position(|formula| formula.name == name)?;
        if !matches!(self.input_formulas[i].meaning, InputMeaning::Unread) {
            return Some(self.input_formulas[i].meaning);
        }
        // A formula over itself finds this.
        self.input_formulas[i].meaning = InputMeaning::Faulty;
        let scalar = self.input_formulas[i].scalar.clone();
        let element = format!("input `{name}`");
        let site = Site::new(ScopeId::ROOT, &element, "value");
        let n_errors = self.report.n_errors();
        let expr = self.scalar_expr(&site, &scalar, Allowed::State);
        if expr.is_none() && self.report.n_errors() == n_errors {
            let message = format!("the input `{name}` is a formula over itself");
            self.error("bad-expression", &site, scalar.span, message, "break the circle");
        }
        let meaning = expr.map_or(InputMeaning::Faulty, InputMeaning::Is);
        self.input_formulas[i].meaning = meaning;
        Some(meaning)
    }

    /// Looks at formulas of inputs that nothing uses, too.
    pub(crate) fn check_input_formulas(&mut self) {
        let names: Vec<String> = self.input_formulas.iter().map(|f| f.name.clone()).collect();
        for name in names {
            let _ = self.input_formula(&name);
        }
    }

    fn run_table(&mut self, spec: &RunSpec) {
        let mut run = RunSettings::default();
        let at = |what| Site::new(ScopeId::ROOT, "[run]", what);
        if let Some(engine) = &spec.engine
            && !engine.poisoned
        {
            if ENGINES.contains(&engine.text.as_str()) {
                run.engine.clone_from(&engine.text);
            } else {
                let message = format!("there is no engine `{}`", engine.text);
                let help = did_you_mean(&engine.text, ENGINES).unwrap_or_default();
                self.error("unknown-engine", &at("engine"), engine.span, message, help);
            }
        }
        if let Some(solver) = &spec.solver
            && !solver.poisoned
        {
            let name = solver_today(&solver.text);
            if SOLVERS.contains(&name) {
                name.clone_into(&mut run.solver);
            } else {
                let message = format!("there is no solver `{}`", solver.text);
                let help = did_you_mean(&solver.text, SOLVERS).unwrap_or_default();
                self.error("unknown-solver", &at("solver"), solver.span, message, help);
            }
        }
        if let Some(duration) = &spec.duration
            && let Some(value) = self.not_negative(&at("duration"), duration)
        {
            run.duration = value;
        }
        let positive = [
            ("step", &spec.step, &mut run.step),
            ("tolerance", &spec.tolerance, &mut run.tolerance),
            ("velocity_tolerance", &spec.velocity_tolerance, &mut run.velocity_tolerance),
            ("contact_tolerance", &spec.contact_tolerance, &mut run.contact_tolerance),
        ];
        for (what, scalar, slot) in positive {
            if let Some(scalar) = scalar
                && let Some(value) = self.positive(&at(what), scalar)
            {
                *slot = value;
            }
        }
        if let Some(step) = &spec.step
            && run.duration > 0.0
            && run.step > run.duration
        {
            let message = format!(
                "the step of {} s is longer than the duration of {} s",
                run.step, run.duration
            );
            let help = "choose a smaller step, such as 0.01";
            self.error("bad-step", &at("step"), step.span, message, help);
        }
        if run.step > 0.0 && run.duration / run.step > 1e10 {
            let message = format!("the run would take {:.1e} steps", run.duration / run.step);
            let span = spec.step.as_ref().or(spec.duration.as_ref()).map_or(spec.span, |s| s.span);
            let help = "choose a larger step or a shorter duration";
            self.error("bad-step", &at("step"), span, message, help);
        }
        if let Some(accuracy) = &spec.accuracy {
            run.accuracy = self.positive(&at("accuracy"), accuracy);
        }
        if let Some(sample) = &spec.sample {
            run.sample = self.positive(&at("sample"), sample);
        }
        if let Some(rtol) = &spec.rtol {
            run.rtol = self.positive(&at("rtol"), rtol);
        }
        if let Some(atol) = &spec.atol {
            run.atol = self.positive(&at("atol"), atol);
        }
        if let Some(integrator) = &spec.integrator
            && !integrator.poisoned
        {
            if INTEGRATORS.contains(&integrator.text.as_str()) {
                run.integrator = Some(integrator.text.clone());
            } else {
                let message = format!("there is no integrator `{}`", integrator.text);
                let help = did_you_mean(&integrator.text, INTEGRATORS).unwrap_or_default();
                self.error("unknown-integrator", &at("integrator"), integrator.span, message, help);
            }
        }
        if let Some(order) = &spec.order
            && let Some(value) = self.whole(&at("order"), order)
        {
            match value {
                2 | 4 | 6 | 8 => run.order = u32::try_from(value).unwrap_or(2),
                _ => {
                    let message = format!("there is no method of order {value}");
                    self.error("bad-order", &at("order"), order.span, message, "use 2, 4, 6 or 8");
                }
            }
        }
        if let Some(flight) = &spec.flight
            && !flight.poisoned
        {
            if let Some(value) = parse_flight(&flight.text) {
                run.flight = value;
            } else {
                let message = format!("there is no flight `{}`", flight.text);
                let help = format!("use `exact`, or `taylor:N` with N from 1 to {MOST_TAYLOR}");
                self.error("unknown-flight", &at("flight"), flight.span, message, help);
            }
        }
        if let Some(contact) = &spec.contact
            && !contact.poisoned
        {
            if matches!(contact.text.as_str(), "auto" | "exact" | "coarse" | "none") {
                run.contact.clone_from(&contact.text);
            } else {
                let message = format!("there is no contact mode `{}`", contact.text);
                let help = "use `auto`, `exact`, `coarse` or `none`";
                self.error("unknown-contact-mode", &at("contact"), contact.span, message, help);
            }
        }
        if let Some(impact) = &spec.impact
            && !impact.poisoned
        {
            if let Some(law) = ImpactLaw::named(&impact.text) {
                run.impact = law;
            } else {
                let message = format!("there is no law of impact `{}`", impact.text);
                let help = did_you_mean(&impact.text, ImpactLaw::NAMES)
                    .unwrap_or_else(|| "use `poisson`, `newton` or `stronge`".to_owned());
                self.error("unknown-impact", &at("impact"), impact.span, message, help);
            }
        }
        if let Some(correct) = spec.velocity_correction {
            run.velocity_correction = correct;
        }
        if let Some(gentle) = spec.gentle {
            run.gentle = gentle;
        }
        self.builder.run(run);
    }

    /// A number above zero.
    pub(crate) fn positive(&mut self, site: &Site<'_>, scalar: &Scalar) -> Option<f64> {
        let value = self.number(site, scalar)?;
        self.bounded(site, scalar.span, value, value > 0.0, "it must be above 0")
    }

    /// A number that is not negative.
    pub(crate) fn not_negative(&mut self, site: &Site<'_>, scalar: &Scalar) -> Option<f64> {
        let value = self.number(site, scalar)?;
        self.bounded(site, scalar.span, value, value >= 0.0, "it must be 0 or more")
    }

    /// A number from 0 to 1.
    pub(crate) fn fraction(&mut self, site: &Site<'_>, scalar: &Scalar) -> Option<f64> {
        let value = self.number(site, scalar)?;
        let good = (0.0..=1.0).contains(&value);
        self.bounded(site, scalar.span, value, good, "it lies between 0 and 1")
    }

    fn bounded(
        &mut self,
        site: &Site<'_>,
        span: Span,
        value: f64,
        good: bool,
        help: &str,
    ) -> Option<f64> {
        if good {
            return Some(value);
        }
        self.error("out-of-range", site, span, format!("{} is {value}", site.what), help);
        None
    }
}

fn parse_flight(text: &str) -> Option<Flight> {
    if text == "exact" {
        return Some(Flight::Exact);
    }
    let order: u32 = text.strip_prefix("taylor:")?.parse().ok()?;
    (1..=MOST_TAYLOR).contains(&order).then_some(Flight::Taylor(order))
}
