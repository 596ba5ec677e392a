//! The live simulation: a thread of its own that runs the model at the speed of the clock and does what pages wish.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use gelenk::engine::{self, Grip};
use gelenk::model::force::Hand;
use gelenk::model::math::Vec3;
use gelenk::model::{BodyId, Loaded, RunSettings, State};
use gelenk::verdict::Verdict;
use serde_json::{Value, json};

use crate::carry::carry;
use crate::engine::{Carried, Motion, live_settings, with_hand};
use crate::hub::{Hub, Run};
use crate::message::Wish;
use crate::scene::scene;

/// Loads the model with values of parameters; an error is for people.
pub type Loader = Arc<dyn Fn(&[(String, String)]) -> Result<Loaded, String> + Send + Sync>;

/// Time between two frames, s.
const TICK: f64 = 1.0 / 60.0;
/// The most time that steps between two frames may take, s.
const PATIENCE: f64 = 0.05;
/// Most steps that a page may ask for at once.
const MOST_STEPS: u32 = 1000;
/// Seconds between two tellings of the speed.
const TELLING: f64 = 0.5;

/// A wish and the client that has it; `None` for a client that has left.
pub(crate) struct Command {
    pub(crate) client: u64,
    pub(crate) wish: Option<Wish>,
}

/// What the thread owns.
pub(crate) struct Live {
    load: Loader,
    overrides: Vec<(String, String)>,
    loaded: Arc<Loaded>,
    settings: RunSettings,
    hub: Arc<Hub>,
    playing: bool,
    speed: f64,
    /// Who holds which body where.
    hand: Option<(u64, Hand)>,
    /// Ledger of engines and models of before.
    carried: Carried,
    /// What pages should know: a failure, or what happened to a wish.
    message: Option<String>,
    failed: bool,
    /// On the motion since the newest engine took over.
    verdict: Verdict,
    real_time_factor: f64,
    /// Simulated time that is due, s, and when it was looked at last.
    due: f64,
    clock: Instant,
}

/// Why a session ends.
enum Next {
    /// Go on with another engine or model from this state.
    Again(State),
    /// No one is there any more.
    End,
}

impl Live {
    pub(crate) fn new(
        load: Loader,
        overrides: Vec<(String, String)>,
        loaded: Loaded,
        settings: RunSettings,
        hub: Arc<Hub>,
    ) -> Self {
        Live {
            load,
            overrides,
            loaded: Arc::new(loaded),
            settings,
            hub,
            playing: false,
            speed: 1.0,
            hand: None,
            carried: Carried::default(),
            message: None,
            failed: false,
            verdict: Verdict::default(),
            real_time_factor: 0.0,
            due: 0.0,
            clock: Instant::now(),
        }
    }

    /// Runs until all who could wish are gone.
    pub(crate) fn run(mut self, commands: &Receiver<Command>) {
        let mut state = self.loaded.model.start.clone();
        loop {
            let loaded = Arc::clone(&self.loaded);
            let next = match self.begin(&loaded, &state, commands) {
                Ok(next) => next,
                Err(reason) => self.refuse(&reason, &loaded, state, commands),
            };
            match next {
                Next::Again(from) => state = from,
                Next::End => return,
            }
        }
    }

    /// Begins a session at a state; an error says why the engine cannot.
    fn begin(
        &mut self,
        loaded: &Loaded,
        state: &State,
        commands: &Receiver<Command>,
    ) -> Result<Next, String> {
        let kind = engine::named(&self.settings).map_err(|error| error.to_string())?;
        let settings = live_settings(kind, &self.settings);
        let held = self.hand.filter(|_| kind.takes_hand_as_force());
        let held = held.map(|(_, hand)| with_hand(loaded, hand));
        let loaded = held.as_ref().unwrap_or(loaded);
        let ready = kind.prepare(loaded.into(), &settings).map_err(|error| error.to_string())?;
        let engine = ready.start(&settings, state).map_err(|failure| failure.to_string())?;
        let mut motion = Motion::new(engine, kind, &loaded.model, settings, TICK);
        Ok(self.session(&mut motion, commands))
    }

    /// An engine that cannot take the model: back to the impulse engine, or to the start.
    fn refuse(
        &mut self,
        reason: &str,
        loaded: &Loaded,
        state: State,
        commands: &Receiver<Command>,
    ) -> Next {
        self.message = Some(reason.to_owned());
        let usual = RunSettings::default().engine;
        if self.settings.engine != usual {
            self.settings.engine = usual;
            return Next::Again(state);
        }
        if state != loaded.model.start {
            self.start_anew();
            return Next::Again(loaded.model.start.clone());
        }
        // Even the start is refused: only another parameter can help.
        self.failed = true;
        self.playing = false;
        self.tell();
        loop {
            let Ok(command) = commands.recv() else { return Next::End };
            if let Some(Wish::Parameter { name, value }) = command.wish
                && let Some(next) = self.parameter(&name, value, &state)
            {
                return next;
            }
        }
    }

    /// Runs one engine until it is to be another.
    fn session(&mut self, engine: &mut Motion<'_>, commands: &Receiver<Command>) -> Next {
        if let Some((_, hand)) = self.hand
            && matches!(engine.pull(Some(hand)), Grip::Never(_))
        {
            self.hand = None;
        }
        self.carried.join(&engine.ledger());
        self.publish(engine);
        self.tell();
        let (mut told, mut told_t) = (Instant::now(), engine.state().t);
        loop {
            loop {
                let command = if self.playing {
                    commands.try_recv()
                } else {
                    let command = commands.recv().map_err(|_| TryRecvError::Disconnected);
                    self.clock = Instant::now();
                    (told, told_t) = (self.clock, engine.state().t);
                    command
                };
                match command {
                    Ok(command) => {
                        if let Some(next) = self.obey(engine, command) {
                            return self.leave(engine, next);
                        }
                    }
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return Next::End,
                }
            }
            let now = Instant::now();
            self.due += self.speed * (now - self.clock).as_secs_f64();
            self.clock = now;
            // Who falls behind runs slower than the clock, and says so.
            self.due = self.due.min(self.speed * 0.1 + engine.step_length());
            let mut moved = false;
            while self.due >= engine.step_length() {
                self.due -= engine.step_length();
                if !self.step(engine) {
                    self.due = 0.0;
                    break;
                }
                moved = true;
                if now.elapsed().as_secs_f64() > PATIENCE {
                    break;
                }
            }
            if moved {
                self.publish(engine);
            }
            let since = told.elapsed().as_secs_f64();
            if since > TELLING {
                self.real_time_factor = (engine.state().t - told_t) / since;
                self.verdict = engine.verdict(None);
                (told, told_t) = (Instant::now(), engine.state().t);
                self.tell();
            }
            let rest = TICK - now.elapsed().as_secs_f64();
            if rest > 0.0 && self.playing {
                match commands.recv_timeout(Duration::from_secs_f64(rest)) {
                    Ok(command) => {
                        if let Some(next) = self.obey(engine, command) {
                            return self.leave(engine, next);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Next::End,
                }
            }
        }
    }

    /// The end of a session: the next one goes on with the ledger, unless it begins at the start.
    fn leave(&mut self, engine: &Motion<'_>, next: Next) -> Next {
        match &next {
            Next::Again(state) if state != &self.loaded.model.start => {
                self.carried.add(&engine.ledger());
            }
            _ => self.carried = Carried::default(),
        }
        next
    }

    /// One step; false where it failed, and then everything stands still.
    fn step(&mut self, engine: &mut Motion<'_>) -> bool {
        match engine.step() {
            Ok(()) => true,
            Err(reason) => {
                self.verdict = engine.verdict(Some(&reason));
                self.message = Some(reason);
                self.failed = true;
                self.playing = false;
                self.tell();
                false
            }
        }
    }

    /// Does what a client wishes; gives the next session if this one ends.
    fn obey(&mut self, engine: &mut Motion<'_>, command: Command) -> Option<Next> {
        let Command { client, wish } = command;
        let Some(wish) = wish else {
            return self.release(engine, client);
        };
        match wish {
            Wish::Play { playing } => {
                self.playing = playing && !self.failed;
                (self.due, self.clock) = (0.0, Instant::now());
                self.tell();
            }
            Wish::Step { count } => {
                self.playing = false;
                for _ in 0..count.min(MOST_STEPS) {
                    if self.failed || !self.step(engine) {
                        break;
                    }
                }
                if !self.failed {
                    self.verdict = engine.verdict(None);
                }
                self.publish(engine);
                self.tell();
            }
            Wish::Speed { value } => {
                self.speed = value;
                self.tell();
            }
            Wish::Reset => {
                self.start_anew();
                return Some(Next::Again(self.loaded.model.start.clone()));
            }
            Wish::Engine { name } => return self.switch(engine, &name),
            Wish::Parameter { name, value } => {
                return self.parameter(&name, value, engine.state());
            }
            Wish::Grab { body, point, target } => {
                let model = &self.loaded.model;
                let found = model.bodies.get(body as usize).filter(|body| !body.fixed)?;
                if self.hand.is_some_and(|(holder, _)| holder != client) {
                    self.message = Some(format!("`{}` waits: another hand is at work", found.name));
                    self.tell();
                    return None;
                }
                let (point, target) = (Vec3::from(point), Vec3::from(target));
                let h = engine.step_length();
                let hand = Hand::new(model, BodyId(body), point, target, h);
                return self.hold(engine, client, hand);
            }
            Wish::Pull { target } => {
                if let Some((holder, hand)) = self.hand
                    && holder == client
                {
                    let hand = Hand { target: Vec3::from(target), ..hand };
                    return self.hold(engine, client, hand);
                }
            }
            Wish::Release => return self.release(engine, client),
            Wish::Frames { .. } | Wish::Ghost { .. } | Wish::Drop { .. } => {}
        }
        None
    }

    /// Lets a client's hand pull; the next session if the engine must begin anew with it.
    fn hold(&mut self, engine: &mut Motion<'_>, client: u64, hand: Hand) -> Option<Next> {
        match engine.pull(Some(hand)) {
            Grip::Taken => self.hand = Some((client, hand)),
            Grip::Anew => {
                self.hand = Some((client, hand));
                return Some(Next::Again(engine.state().clone()));
            }
            Grip::Never(reason) => {
                self.message = Some(reason);
                self.tell();
            }
        }
        None
    }

    fn release(&mut self, engine: &mut Motion<'_>, client: u64) -> Option<Next> {
        self.hand.take_if(|(holder, _)| *holder == client)?;
        let anew = engine.pull(None) == Grip::Anew;
        anew.then(|| Next::Again(engine.state().clone()))
    }

    fn switch(&mut self, engine: &Motion<'_>, name: &str) -> Option<Next> {
        if !gelenk::ENGINES.contains(&name) {
            self.message = Some(format!("there is no engine `{name}`"));
            self.tell();
            return None;
        }
        self.message = None;
        self.failed = false;
        self.verdict = Verdict::default();
        name.clone_into(&mut self.settings.engine);
        Some(Next::Again(engine.state().clone()))
    }

    /// The model with another value of a parameter, from where it is now if that fits.
    fn parameter(&mut self, name: &str, value: f64, state: &State) -> Option<Next> {
        let mut overrides = self.overrides.clone();
        overrides.retain(|(other, _)| other != name);
        overrides.push((name.to_owned(), format!("{value:?}")));
        let loaded = match (self.load)(&overrides) {
            Ok(loaded) => loaded,
            Err(reason) => {
                self.message = Some(reason);
                self.tell();
                return None;
            }
        };
        self.overrides = overrides;
        self.failed = false;
        self.message = None;
        // A model that has not moved yet starts as it now says.
        let waits = state == &self.loaded.model.start;
        let carried = if waits {
            Some(loaded.model.start.clone())
        } else {
            carry(&self.loaded.model, &loaded.model, state)
        };
        let same = same_layout(&self.loaded, &loaded);
        self.loaded = Arc::new(loaded);
        if let Some((_, hand)) = &mut self.hand {
            // Masses have changed with it.
            let (body, local, target) = (hand.point.body, hand.point.local, hand.target);
            *hand = Hand::new(&self.loaded.model, body, local, target, self.settings.step);
        }
        let scene = scene(&self.loaded.model);
        match carried.filter(|_| same) {
            Some(state) => {
                self.hub.change(0, |run| run.set_scene(&scene, true));
                Some(Next::Again(state))
            }
            None => {
                self.message =
                    Some("the state does not fit the new value: from the start again".to_owned());
                self.hand = None;
                self.hub.change(0, |run| run.set_scene(&scene, false));
                Some(Next::Again(self.loaded.model.start.clone()))
            }
        }
    }

    fn start_anew(&mut self) {
        self.hand = None;
        self.failed = false;
        self.verdict = Verdict::default();
        self.message = None;
        self.hub.change(0, Run::clear);
    }

    fn publish(&mut self, engine: &mut Motion<'_>) {
        let events = engine.take_events();
        if !events.is_empty() {
            self.hub.change(0, |run| run.add_events(&events));
        }
        self.hub.push(0, |index| engine.frame(index, &self.carried), true);
    }

    fn tell(&self) {
        let values: Value =
            self.overrides.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        self.hub.set_status(&json!({
            "type": "status",
            "mode": "live",
            "playing": self.playing,
            "failed": self.failed,
            "verdict": self.verdict,
            "speed": self.speed,
            "engine": self.settings.engine,
            "engines": gelenk::ENGINES,
            "step": self.settings.step,
            "order": self.settings.order,
            "tolerance": self.settings.tolerance,
            "duration": self.settings.duration,
            "real_time_factor": self.real_time_factor,
            "message": self.message,
            "values": values,
        }));
    }
}

/// Whether frames of one model fit the scene of another.
fn same_layout(a: &Loaded, b: &Loaded) -> bool {
    let (a, b) = (&a.model, &b.model);
    let names = |model: &gelenk::model::Model| -> Vec<String> {
        let bodies = model.bodies.iter().map(|body| body.name.clone());
        let joints = model.joints.iter().map(|joint| joint.name.clone());
        bodies.chain(joints).chain(model.rows.iter().map(|block| block.name.clone())).collect()
    };
    a.n_coordinates() == b.n_coordinates() && names(a) == names(b)
}
