//! Stepping: the integrator on the equations, with projection, events and statistics.

use gelenk_model::{Event, ImpactLaw, Model, State, Statistics};
use gelenk_ode::{Direction, Failure, Integrator, Method, Stop, System};

use crate::equations::Equations;
use crate::passage::Passage;
use crate::project::NotClosed;
use crate::switch::{SwitchError, Switches, Watched};
use crate::tangent::Tangents;
use crate::watch::{Begun, Watch};

/// A joint open by more than this at the start is an error, m or rad.
const OPEN_AT_START: f64 = 1e-6;

/// A start velocity that is changed by more than this is told, m/s or rad/s.
const CHANGED: f64 = 1e-6;

/// Times of chattering after which a run ends.
const MAX_CHATTER: u32 = 20;

/// Settings of the engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Relative tolerance of the local error.
    pub rtol: f64,
    /// Absolute tolerance of the local error.
    pub atol: f64,
    /// The method; [`Method::Auto`] begins explicit and changes where the model is stiff.
    pub method: Method,
    /// Largest violation of the invariants that a step may leave; `None`: the larger of the two tolerances, not below 1e-13.
    pub invariant_tolerance: Option<f64>,
    /// Most steps tried.
    pub max_steps: usize,
    /// Exact derivatives ([`crate::sensitivity`]) take part in the error that chooses the steps.
    pub control_derivatives: bool,
    /// What the coefficient of restitution of stops means.
    pub impact: ImpactLaw,
}

impl Options {
    /// Largest violation of the invariants that a step may leave.
    pub(crate) fn invariants(&self) -> f64 {
        self.invariant_tolerance.unwrap_or_else(|| self.rtol.max(self.atol).max(1e-13))
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            rtol: 1e-12,
            atol: 1e-12,
            method: Method::Auto,
            invariant_tolerance: None,
            max_steps: 10_000_000,
            control_derivatives: true,
            impact: ImpactLaw::default(),
        }
    }
}

/// Why a run cannot go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DaeError {
    /// The model has what the engine does not take.
    #[error("{element}: {what}")]
    Unsupported {
        /// The element.
        element: String,
        /// Why.
        what: String,
    },
    /// A joint is open at the start.
    #[error("`{element}` is open by {gap:.3e} at the start: move its bodies to where it is closed")]
    OpenAtStart {
        /// The element.
        element: String,
        /// By how much, m or rad.
        gap: f64,
    },
    /// A joint could not be closed.
    #[error("t = {t} s: `{element}` stays open by {gap:.3e} after the projection: {SINGULAR}")]
    NotClosed {
        /// When.
        t: f64,
        /// The element.
        element: String,
        /// By how much, m or rad.
        gap: f64,
    },
    /// A prescribed motion jumps.
    #[error(
        "t = {t} s: the motion that `{element}` prescribes jumps by {size:.3e} (rad or m), which no force can do; make it go there over some time"
    )]
    Jumps {
        /// When.
        t: f64,
        /// The element.
        element: String,
        /// By how much, m or rad.
        size: f64,
    },
    /// Stops, ropes and friction contradict each other.
    #[error("t = {t} s: it is not to be found whether `{element}` holds or lets go")]
    Unsettled {
        /// When.
        t: f64,
        /// The element.
        element: String,
    },
    /// Events come without end.
    #[error("t = {t} s: `{element}` switches to and fro without end")]
    Chatters {
        /// When.
        t: f64,
        /// The element.
        element: String,
    },
    /// The motion runs into a singular position through which no smooth one leads.
    #[error(
        "t = {t} s: no smooth motion passes the singular position {place} of {element}: {reason}"
    )]
    NoSmoothMotion {
        /// When it would arrive.
        t: f64,
        /// A condition of it.
        element: String,
        /// Where.
        place: String,
        /// Why not.
        reason: String,
    },
    /// The integrator gave up.
    #[error("{error}; {SINGULAR}")]
    Integrator {
        /// Its words.
        error: gelenk_ode::Error,
    },
}

const SINGULAR: &str =
    "the mechanism may pass a singular position, where its joints do not determine the motion";

impl DaeError {
    /// The element at fault, if known.
    pub fn element(&self) -> Option<&str> {
        match self {
            DaeError::Unsupported { element, .. }
            | DaeError::OpenAtStart { element, .. }
            | DaeError::NotClosed { element, .. }
            | DaeError::Jumps { element, .. }
            | DaeError::Unsettled { element, .. }
            | DaeError::Chatters { element, .. }
            | DaeError::NoSmoothMotion { element, .. } => Some(element),
            DaeError::Integrator { .. } => None,
        }
    }
}

/// The equations as the integrator sees them.
#[derive(Clone, Debug)]
struct Moving<'m> {
    equations: Equations<'m>,
    switches: Switches,
    tolerance: f64,
    /// Memory for exact derivatives, made when the implicit method first asks for them.
    tangents: Option<Box<Tangents>>,
    /// Why a projection failed.
    not_closed: Option<NotClosed>,
}

impl System for Moving<'_> {
    fn dim(&self) -> usize {
        self.equations.dim()
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), Failure> {
        if self.equations.rates(t, y, dy) { Ok(()) } else { Err(Failure::Domain) }
    }

    fn jacobian(&mut self, t: f64, y: &[f64], jac: &mut [f64]) -> Result<bool, Failure> {
        let mut dy = vec![0.0; y.len()];
        if !self.equations.rates(t, y, &mut dy) {
            return Err(Failure::Domain);
        }
        let tangents =
            self.tangents.get_or_insert_with(|| Box::new(Tangents::new(&self.equations)));
        self.equations.jacobian(tangents, t, y, jac);
        Ok(true)
    }

    fn n_switches(&self) -> usize {
        self.switches.watched.len()
    }

    fn switches(&mut self, t: f64, y: &[f64], g: &mut [f64]) -> Result<(), Failure> {
        self.equations.switch_values(&mut self.switches, t, y, g);
        if g.iter().all(|g| g.is_finite()) { Ok(()) } else { Err(Failure::Domain) }
    }

    fn direction(&self, switch: usize) -> Direction {
        self.equations.direction(self.switches.watched[switch])
    }

    fn accepted(&mut self, t: f64, y: &mut [f64]) -> Result<bool, Failure> {
        let found = self.equations.invariants(t, y);
        if let Some(error) = self.equations.passed(t) {
            self.not_closed = Some(error);
            return Err(Failure::Stop("a stop was passed".to_owned()));
        }
        if self.equations.crossing.is_none()
            && found.position <= self.tolerance
            && found.velocity <= self.tolerance
        {
            return Ok(false);
        }
        match self.equations.project(t, y) {
            Ok(()) => Ok(true),
            Err(error) => {
                self.not_closed = Some(error);
                Err(Failure::Stop("a joint stays open".to_owned()))
            }
        }
    }
}

/// A model on its way, step by step.
#[derive(Clone, Debug)]
pub struct Simulation<'m> {
    moving: Moving<'m>,
    integrator: Integrator,
    /// Gives what poses do not tell.
    like: State,
    /// The last step ended at an event that has not been dealt with.
    pending: bool,
    chatter: u32,
    events: Vec<Event>,
    n_events: u64,
    /// Looks out for singular positions; none where there can be none.
    watch: Option<Watch>,
    passages: Vec<Passage>,
}

/// Refuses what the engine does not have: contact of bodies.
pub fn check_model(model: &Model) -> Result<(), DaeError> {
    match model.bodies.iter().find(|body| body.contact.collide) {
        Some(body) => Err(DaeError::Unsupported {
            element: format!("body `{}`", body.name),
            what: "contact of bodies is no part of the dae engine; run it with the impulse engine, or write the ground as a force law"
                .to_owned(),
        }),
        None => Ok(()),
    }
}

impl<'m> Simulation<'m> {
    /// A run of `model` from `start`. Joints are closed and velocities fitted to them; a joint open by more than 1e-6 is an error.
    pub fn new(model: &'m Model, start: &State, options: &Options) -> Result<Self, DaeError> {
        check_model(model)?;
        let mut equations = Equations::new(model, start);
        let mut y = equations.y_of(start);
        equations.read(start.t, &y);
        equations.arrive(start.t);
        let found = equations.invariants(start.t, &y);
        let open = found.position > OPEN_AT_START || found.position.is_nan();
        if let Some(block) = found.worst_block.filter(|_| open) {
            let element = model.rows[block].name.clone();
            return Err(DaeError::OpenAtStart { element, gap: found.position });
        }
        let mut switches = Switches::new(&equations);
        switches.impact = options.impact;
        let named = |error: SwitchError| explain(model, start.t, error);
        equations.project(start.t, &mut y).map_err(|e| named(e.into()))?;
        let mut events = Vec::new();
        let change = changed(&equations, start);
        if change > CHANGED {
            let detail = format!(
                "velocities at the start did not fit the joints and were changed by up to {change:.2e}"
            );
            events.push(Event::new(start.t, "start-velocity", Vec::new(), detail));
        }
        if !switches.watched.is_empty() {
            events.extend(equations.switch(&mut switches, start.t, &mut y, &[]).map_err(named)?);
        }
        equations.read(start.t, &y);
        equations.arrive(start.t);
        let tolerance = options.invariants();
        let settings = gelenk_ode::Options {
            method: options.method,
            rtol: options.rtol,
            atol: options.atol,
            max_steps: options.max_steps,
            ..gelenk_ode::Options::default()
        };
        let integrator = Integrator::new(settings, start.t, &y)
            .map_err(|error| DaeError::Integrator { error })?;
        Ok(Simulation {
            moving: Moving { equations, switches, tolerance, tangents: None, not_closed: None },
            integrator,
            like: start.clone(),
            pending: false,
            chatter: 0,
            n_events: 0,
            events,
            watch: Watch::new(model),
            passages: Vec::new(),
        })
    }

    /// The time reached, s.
    pub fn t(&self) -> f64 {
        self.integrator.t()
    }

    /// p, v and the books at the time reached.
    pub fn y(&self) -> &[f64] {
        self.integrator.y()
    }

    /// The equations.
    pub fn equations(&mut self) -> &mut Equations<'m> {
        &mut self.moving.equations
    }

    /// Energy lost in impacts so far, J.
    pub fn impact_loss(&self) -> f64 {
        self.moving.switches.impact_loss
    }

    /// Work and dissipation so far, J, from y.
    pub fn booked(&self, y: &[f64]) -> [f64; 2] {
        match y.get(2 * self.moving.equations.layout.n..) {
            Some([work, dissipation]) => [*work, *dissipation],
            _ => [0.0; 2],
        }
    }

    /// What the method in use is called.
    pub fn method(&self) -> Method {
        self.integrator.method()
    }

    /// Largest violation of the invariants that a step may leave.
    pub fn invariant_tolerance(&self) -> f64 {
        self.moving.tolerance
    }

    /// The singular positions passed so far.
    pub fn passages(&self) -> &[Passage] {
        &self.passages
    }

    /// The events since they were last taken.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// One step towards `t_end`. Where it ends at an event, call [`Simulation::switch`] after looking at the step; otherwise the next
    /// call does.
    pub fn advance(&mut self, t_end: f64) -> Result<Stop, DaeError> {
        self.switch()?;
        let stop = match self.watch.take() {
            Some(mut watch) => {
                let stop = self.watched_step(&mut watch, t_end);
                self.watch = Some(watch);
                stop?
            }
            None => self.step(t_end)?,
        };
        self.pending = matches!(stop, Stop::Event | Stop::Chattering);
        if stop == Stop::Chattering {
            self.chatter += 1;
            if self.chatter > MAX_CHATTER {
                let element = self.first_fired();
                return Err(DaeError::Chatters { t: self.t(), element });
            }
        }
        Ok(stop)
    }

    fn step(&mut self, t_end: f64) -> Result<Stop, DaeError> {
        self.moving.not_closed = None;
        let before = self.integrator.t();
        let stop = self.integrator.advance(&mut self.moving, t_end);
        let after = if stop.is_ok() { self.integrator.t() } else { t_end };
        let Equations { model, active, work, .. } = &mut self.moving.equations;
        if let Some(jump) = model.jumping_motion(before, after, active, work) {
            let element = model.rows[jump.block].name.clone();
            return Err(DaeError::Jumps { t: jump.t, element, size: jump.size });
        }
        let model = self.moving.equations.model();
        stop.map_err(|error| match self.moving.not_closed.take() {
            Some(open) => explain(model, self.integrator.t(), open.into()),
            None => DaeError::Integrator { error },
        })
    }

    /// A step that looks out for singular positions. One that came too near to a loss of rank is made again in the blown-up formulation.
    fn watched_step(&mut self, watch: &mut Watch, t_end: f64) -> Result<Stop, DaeError> {
        let before = self.integrator.clone();
        let begun = Begun { t: before.t(), y: before.y() };
        let h = before.next_step().min(t_end - before.t());
        watch.before_step(&mut self.moving.equations, &begun, h)?;
        self.moving.equations.pivots.least = f64::INFINITY;
        let mut stop = self.step(t_end);
        if stop.is_err() || watch.suspects(&self.moving.equations) {
            let made = if stop.is_ok() { self.integrator.t() - before.t() } else { h };
            let equations = &mut self.moving.equations;
            if equations.crossing.is_none()
                && watch.enter(equations, &begun, 3.0 * made, 1.5 * made)?
            {
                self.integrator = before.clone();
                stop = self.step(t_end);
            }
        }
        let stop = stop?;
        self.tell_passage(&before)?;
        Ok(stop)
    }

    /// Tells when the last step passed a singular position.
    fn tell_passage(&mut self, before: &Integrator) -> Result<(), DaeError> {
        let offset = |simulation: &Self, y: &[f64]| {
            simulation
                .moving
                .equations
                .crossing
                .as_ref()
                .and_then(|c| c.branch.offset(y))
                .map(|o| o.0)
        };
        let Some((from, to)) = offset(self, before.y()).zip(offset(self, self.integrator.y()))
        else {
            return Ok(());
        };
        if from == 0.0 || from * to > 0.0 {
            return Ok(());
        }
        let (mut low, mut high) = (before.t(), self.integrator.t());
        let mut y = self.integrator.y().to_vec();
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            let found = self.integrator.at(&mut self.moving, middle, &mut y);
            found.map_err(|error| DaeError::Integrator { error })?;
            if offset(self, &y).is_some_and(|x| x * from > 0.0) {
                low = middle;
            } else {
                high = middle;
            }
        }
        let equations = &mut self.moving.equations;
        if let Some(crossing) = &equations.crossing {
            let time = 0.5 * (low + high);
            self.events.push(crossing.event(equations, time));
            self.passages.push(Passage::new(&crossing.branch, time));
            self.n_events += 1;
        }
        Ok(())
    }

    fn first_fired(&self) -> String {
        let model = self.moving.equations.model();
        let fired = self.integrator.events().first();
        match fired.map(|event| self.moving.switches.watched[event.switch]) {
            Some(Watched::Bound(i)) => model.rows[i].name.clone(),
            Some(Watched::Break(joint, _)) => model.joints[joint.index()].name.clone(),
            Some(Watched::Clamp(i)) => model.forces[i].name.clone(),
            Some(Watched::Kink(k)) => {
                let signal = model.signals.kink_signals.get(k).copied().unwrap_or(usize::MAX);
                let law = model.forces.iter().find(|force| force.kind.reads(signal));
                law.map_or_else(|| "a force law".to_owned(), |force| force.name.clone())
            }
            None => "a force law".to_owned(),
        }
    }

    /// Deals with the event at which the last step ended: modes, impacts, restart. Nothing where there is none.
    pub fn switch(&mut self) -> Result<(), DaeError> {
        if !std::mem::take(&mut self.pending) {
            return Ok(());
        }
        let t = self.integrator.t();
        let mut y = self.integrator.y().to_vec();
        let fired = self.integrator.events().to_vec();
        self.n_events += fired.len() as u64;
        let Moving { equations, switches, .. } = &mut self.moving;
        equations.read(t, &y);
        equations.arrive(t);
        let told = equations
            .switch(switches, t, &mut y, &fired)
            .map_err(|error| explain(equations.model(), t, error))?;
        self.events.extend(told);
        self.integrator.set_state(&y);
        Ok(())
    }

    /// y at a time of the last step, on the invariants. Asks for it before [`Simulation::switch`].
    pub fn at(&mut self, t: f64) -> Result<Vec<f64>, DaeError> {
        let mut y = self.integrator.y().to_vec();
        if t.to_bits() == self.integrator.t().to_bits() {
            return Ok(y);
        }
        let found = self.integrator.at(&mut self.moving, t, &mut y);
        found.map_err(|error| DaeError::Integrator { error })?;
        let equations = &mut self.moving.equations;
        equations
            .project(t, &mut y)
            .map_err(|error| explain(equations.model(), t, error.into()))?;
        Ok(y)
    }

    /// Reads y and counts joint coordinates on from there; the state as the model keeps it.
    pub fn look(&mut self, t: f64, y: &[f64]) -> State {
        let equations = &mut self.moving.equations;
        equations.read(t, y);
        equations.arrive(t);
        equations.state(t, &self.like)
    }

    /// Runs to `t_end`, events and all; the state there.
    pub fn run(&mut self, t_end: f64) -> Result<State, DaeError> {
        while self.t() < t_end {
            let stop = self.advance(t_end)?;
            let (t, y) = (self.t(), self.y().to_vec());
            self.moving.equations.read(t, &y);
            self.moving.equations.arrive(t);
            self.switch()?;
            if stop == Stop::End {
                break;
            }
        }
        let (t, y) = (self.t(), self.y().to_vec());
        Ok(self.look(t, &y))
    }

    /// What it has cost so far.
    pub fn statistics(&self) -> Statistics {
        let (stats, equations) = (self.integrator.stats(), &self.moving.equations);
        Statistics {
            steps: stats.steps as u64,
            rejected: stats.rejected as u64,
            evaluations: equations.evaluations,
            factorizations: equations.solver.factorizations,
            projections: equations.projections,
            events: self.n_events,
            stiff_at: stats.stiff_at,
        }
    }
}

/// How far the velocities read last are from those of a state.
fn changed(equations: &Equations<'_>, start: &State) -> f64 {
    let mut change: f64 = 0.0;
    for place in &equations.layout().places {
        let (i, twist) = (place.body, &equations.twists[place.body]);
        change = change.max((twist.s_dot - start.s_dot[i]).norm());
        // About an axis without inertia a velocity means nothing.
        if place.rigid && equations.model().bodies[i].inertia_inv.iter().all(|x| *x != 0.0) {
            change = change.max((twist.omega - start.omega[i]).norm());
        }
    }
    change
}

pub(crate) fn explain(model: &Model, t: f64, error: SwitchError) -> DaeError {
    let name = |block: usize| model.rows.get(block).map_or(String::new(), |b| b.name.clone());
    match error {
        SwitchError::Unsettled(block) => DaeError::Unsettled { t, element: name(block) },
        SwitchError::NotClosed(open) => {
            DaeError::NotClosed { t, element: name(open.block), gap: open.gap }
        }
    }
}
