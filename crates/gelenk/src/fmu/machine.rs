//! What a unit runs: variables by number, steps, states.

use std::collections::BTreeMap;
use std::sync::Arc;

use gelenk_impulse::{Checkpoint, Failure, Simulation};
use gelenk_model::{LoadOptions, Model, RunSettings};

use crate::quantity::{Quantities, Quantity, Reader};
use crate::recording::Header;

/// Parts of a step that a communication step may be off by rounding: times of importers are sums or products of decimal steps.
const ROUNDING: f64 = 1e-6;

/// A variable of a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its number (value reference).
    pub reference: u32,
    /// Its name: of parameters as in the model, of inputs `input.NAME`, of outputs as in results.
    pub name: String,
    /// Its unit, or empty.
    pub unit: String,
    /// What it is.
    pub kind: VariableKind,
    /// The value it begins with, of parameters and inputs.
    pub start: f64,
}

/// What a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableKind {
    /// Time.
    Time,
    /// A parameter of the model that is a number of its own; it is set before the start.
    Parameter,
    /// An input.
    Input,
    /// A quantity.
    Output,
}

/// What a variable's number stands for.
#[derive(Clone, Copy, Debug)]
enum Slot {
    Time,
    Parameter(usize),
    Input(usize),
    Output(Quantity),
}

/// Why something cannot be done.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// There is no library for this platform in the standard.
    #[error("there is no place for this platform's library in a unit of that version")]
    Platform,
    /// The model cannot be loaded.
    #[error("the model cannot be loaded: {0}")]
    Model(String),
    /// A number that no variable has.
    #[error("there is no variable with the value reference {0}")]
    Unknown(u32),
    /// A variable that cannot be set, or not now.
    #[error("`{0}` cannot be set{1}")]
    Fixed(String, &'static str),
    /// A value that is not finite.
    #[error("`{0}` is set to {1}, which is not a finite number")]
    NotFinite(String, f64),
    /// A communication step that is not a whole number of steps.
    #[error("a communication step of {step} s is not a multiple of the step of {own} s")]
    Step {
        /// What was asked for, s.
        step: f64,
        /// The unit's own, s.
        own: f64,
    },
    /// A step from another time than the unit's.
    #[error("a step from t = {asked} s was asked for, but the unit is at t = {here} s")]
    Time {
        /// What was asked for, s.
        asked: f64,
        /// Where the unit is, s.
        here: f64,
    },
    /// The engine cannot go on.
    #[error("{0}")]
    Failed(String),
    /// Bytes that are not a saved state of this unit.
    #[error("these bytes are not a saved state of this unit")]
    State,
}

impl From<Failure> for MachineError {
    fn from(failure: Failure) -> Self {
        MachineError::Failed(failure.reason)
    }
}

/// A state of a unit that it can go back to.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    set: BTreeMap<usize, f64>,
    offset: f64,
    initialized: bool,
    checkpoint: Checkpoint,
}

/// The first bytes of a saved state.
const MARK: &[u8; 8] = b"gelenkf\x01";

impl Saved {
    /// The state as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MARK.to_vec();
        out.extend(self.offset.to_le_bytes());
        out.push(u8::from(self.initialized));
        out.extend((self.set.len() as u64).to_le_bytes());
        for (i, x) in &self.set {
            out.extend((*i as u64).to_le_bytes());
            out.extend(x.to_le_bytes());
        }
        out.extend(self.checkpoint.to_bytes());
        out
    }

    /// Reads [`Saved::to_bytes`] back.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MARK)?;
        let mut eight = || -> Option<[u8; 8]> {
            let (first, more) = rest.split_first_chunk::<8>()?;
            rest = more;
            Some(*first)
        };
        let offset = f64::from_le_bytes(eight()?);
        let (flag, more) = rest.split_first()?;
        rest = more;
        let mut eight = || -> Option<[u8; 8]> {
            let (first, more) = rest.split_first_chunk::<8>()?;
            rest = more;
            Some(*first)
        };
        let n = u64::from_le_bytes(eight()?);
        let mut set = BTreeMap::new();
        for _ in 0..n {
            let i = usize::try_from(u64::from_le_bytes(eight()?)).ok()?;
            set.insert(i, f64::from_le_bytes(eight()?));
        }
        let checkpoint = Checkpoint::from_bytes(rest)?;
        Some(Saved { set, offset, initialized: *flag == 1, checkpoint })
    }
}

/// A model as a unit: its variables, and a simulation of it.
#[derive(Debug)]
pub struct Machine {
    header: Arc<Header>,
    token: String,
    variables: Vec<Variable>,
    slots: Vec<Slot>,
    model: Model,
    settings: RunSettings,
    engine: Simulation<'static>,
    reader: Reader,
    /// Parameters that were set, by their place in the model.
    set: BTreeMap<usize, f64>,
    /// Whether a parameter was set since the simulation was made.
    stale: bool,
    initialized: bool,
    /// Time of the importer less that of the model, s.
    offset: f64,
}

impl Machine {
    /// A unit of the model in a header, at its start.
    pub fn new(header: Header) -> Result<Self, MachineError> {
        let header = Arc::new(header);
        let (model, settings) = load(&header, &BTreeMap::new())?;
        let json = json(&header)?;
        let (variables, slots) = variables(&model);
        Ok(Machine {
            token: blake3::hash(json.as_bytes()).to_hex().to_string(),
            engine: Simulation::owned(model.clone(), &settings)?,
            reader: Reader::new(&model),
            set: BTreeMap::new(),
            stale: false,
            initialized: false,
            offset: 0.0,
            header,
            variables,
            slots,
            model,
            settings,
        })
    }

    /// A unit from the text that [`package`](super::package) puts into its file.
    pub fn from_json(text: &str) -> Result<Self, MachineError> {
        let header: Header =
            serde_json::from_str(text).map_err(|error| MachineError::Model(error.to_string()))?;
        Machine::new(header)
    }

    /// That text.
    pub fn header_json(&self) -> Result<String, MachineError> {
        json(&self.header)
    }

    /// The model, with the parameters that were set.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The variables, in the order of their numbers.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// What tells this unit from others: a hash of the model.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The length of a step, s.
    pub fn step_length(&self) -> f64 {
        self.settings.step
    }

    /// Time, s, as the importer counts it.
    pub fn time(&self) -> f64 {
        self.engine.state().t + self.offset
    }

    fn slot(&self, reference: u32) -> Result<(Slot, &Variable), MachineError> {
        let i = usize::try_from(reference).unwrap_or(usize::MAX);
        let found = self.slots.get(i).copied().zip(self.variables.get(i));
        found.ok_or(MachineError::Unknown(reference))
    }

    /// Reads variables by their numbers.
    pub fn get(&mut self, references: &[u32], values: &mut [f64]) -> Result<(), MachineError> {
        self.renew()?;
        let mut one = Vec::new();
        for (reference, value) in references.iter().zip(values) {
            let (slot, start) = self.slot(*reference).map(|(slot, one)| (slot, one.start))?;
            *value = match slot {
                Slot::Time => self.time(),
                Slot::Parameter(i) => self.model.parameters[i].value,
                Slot::Input(i) => {
                    let name = self.model.inputs[i].name.as_str();
                    self.engine.inputs().get(name).unwrap_or(start)
                }
                Slot::Output(quantity) => {
                    one.clear();
                    let sample = self.engine.sample();
                    self.reader.read(&self.model, &sample, &[quantity], &mut one);
                    one.first().copied().unwrap_or(f64::NAN)
                }
            };
        }
        Ok(())
    }

    /// Sets an input, or before the start a parameter.
    pub fn set(&mut self, reference: u32, value: f64) -> Result<(), MachineError> {
        let (slot, variable) = self.slot(reference)?;
        let name = variable.name.clone();
        if !value.is_finite() {
            return Err(MachineError::NotFinite(name, value));
        }
        match slot {
            Slot::Input(i) => {
                self.renew()?;
                let input = self.model.inputs[i].name.clone();
                self.engine.inputs().set(&input, value).map_err(MachineError::Failed)
            }
            Slot::Parameter(_) if self.initialized => {
                Err(MachineError::Fixed(name, " after the start"))
            }
            Slot::Parameter(i) => {
                if self.model.parameters[i].value.to_bits() != value.to_bits() {
                    self.set.insert(i, value);
                    self.stale = true;
                }
                Ok(())
            }
            Slot::Time | Slot::Output(_) => Err(MachineError::Fixed(name, "")),
        }
    }

    /// Loads the model again, if parameters have changed; inputs stay.
    fn renew(&mut self) -> Result<(), MachineError> {
        if !self.stale {
            return Ok(());
        }
        let (model, settings) = load(&self.header, &self.set)?;
        // Numbers of variables stay what they are.
        if variables(&model).0.len() != self.variables.len() {
            let why = "its parts depend on a parameter that was set".to_owned();
            return Err(MachineError::Model(why));
        }
        // The step is that of the description.
        let settings =
            RunSettings { step: self.settings.step, duration: self.settings.duration, ..settings };
        let mut engine = Simulation::owned(model.clone(), &settings)?;
        for input in &model.inputs {
            if let Some(x) = self.engine.inputs().get(&input.name) {
                engine.inputs().set(&input.name, x).map_err(MachineError::Failed)?;
            }
        }
        self.reader = Reader::new(&model);
        (self.engine, self.model, self.settings, self.stale) = (engine, model, settings, false);
        Ok(())
    }

    /// Ends the time in which parameters can be set; `start` is the time that the importer begins at.
    pub fn initialize(&mut self, start: f64) -> Result<(), MachineError> {
        if !start.is_finite() {
            return Err(MachineError::NotFinite("time".to_owned(), start));
        }
        self.renew()?;
        self.offset = start - self.engine.state().t;
        self.initialized = true;
        Ok(())
    }

    /// Makes a communication step, of as many steps as go into it.
    pub fn step(&mut self, from: f64, length: f64) -> Result<(), MachineError> {
        let own = self.settings.step;
        let wanted = length / own;
        let n = wanted.round();
        if !((1.0..1e9).contains(&n) && (wanted - n).abs() <= ROUNDING * n.max(1.0)) {
            return Err(MachineError::Step { step: length, own });
        }
        let here = self.time();
        if !((from - here).abs() <= ROUNDING * own.max(here.abs())) {
            return Err(MachineError::Time { asked: from, here });
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 1e9")]
        let n = n as u64;
        for _ in 0..n {
            self.engine.step()?;
        }
        Ok(())
    }

    /// Back to the beginning: parameters and inputs are those of the model.
    pub fn reset(&mut self) -> Result<(), MachineError> {
        let (model, settings) = load(&self.header, &BTreeMap::new())?;
        self.engine = Simulation::owned(model.clone(), &settings)?;
        self.reader = Reader::new(&model);
        (self.model, self.settings) = (model, settings);
        self.set.clear();
        (self.stale, self.initialized, self.offset) = (false, false, 0.0);
        Ok(())
    }

    /// The state now.
    pub fn save(&mut self) -> Result<Saved, MachineError> {
        self.renew()?;
        Ok(Saved {
            set: self.set.clone(),
            offset: self.offset,
            initialized: self.initialized,
            checkpoint: self.engine.checkpoint(),
        })
    }

    /// Goes back to a state of this unit.
    pub fn restore(&mut self, saved: &Saved) -> Result<(), MachineError> {
        if saved.set.keys().any(|i| *i >= self.model.parameters.len()) {
            return Err(MachineError::State);
        }
        if saved.set != self.set {
            self.set.clone_from(&saved.set);
            self.stale = true;
        }
        self.renew()?;
        self.engine.restore(&saved.checkpoint)?;
        (self.offset, self.initialized) = (saved.offset, saved.initialized);
        Ok(())
    }
}

fn json(header: &Header) -> Result<String, MachineError> {
    serde_json::to_string(header).map_err(|error| MachineError::Model(error.to_string()))
}

/// The model with parameters set, and the settings of its steps.
fn load(header: &Header, set: &BTreeMap<usize, f64>) -> Result<(Model, RunSettings), MachineError> {
    let given = header.overrides.iter().map(|o| (o.name.clone(), o.value.clone())).collect();
    let load = |overrides: Vec<(String, String)>| {
        let options = LoadOptions { overrides, ..LoadOptions::default() };
        let loaded = header.load_again(|text| text, options);
        loaded.map(|loaded| loaded.model).map_err(|faults| MachineError::Model(faults.to_string()))
    };
    let mut model = load(given)?;
    if !set.is_empty() {
        let mut all: Vec<(String, String)> =
            header.overrides.iter().map(|o| (o.name.clone(), o.value.clone())).collect();
        for (i, x) in set {
            let name = model.parameters.get(*i).ok_or(MachineError::State)?.name.clone();
            all.retain(|(other, _)| *other != name);
            all.push((name, format!("{x:?}")));
        }
        model = load(all)?;
    }
    let mut settings = RunSettings { accuracy: None, ..model.run.clone() };
    "impulse".clone_into(&mut settings.engine);
    settings.duration = settings.step;
    crate::check_settings(&settings).map_err(|error| MachineError::Model(error.to_string()))?;
    Ok((model, settings))
}

/// All variables: time, parameters, inputs, quantities.
fn variables(model: &Model) -> (Vec<Variable>, Vec<Slot>) {
    let (mut list, mut slots) = (Vec::new(), Vec::new());
    let mut add = |name: String, unit: &str, kind: VariableKind, start: f64, slot: Slot| {
        let reference = u32::try_from(list.len()).unwrap_or(u32::MAX);
        list.push(Variable { reference, name, unit: unit.to_owned(), kind, start });
        slots.push(slot);
    };
    add("time".to_owned(), "s", VariableKind::Time, 0.0, Slot::Time);
    for (i, parameter) in model.parameters.iter().enumerate() {
        // Those that follow from others are not set.
        if parameter.definition.is_none() && parameter.value.is_finite() {
            let unit = parameter.unit.as_deref().unwrap_or("");
            let (kind, slot) = (VariableKind::Parameter, Slot::Parameter(i));
            let name = match parameter.name.as_str() {
                "time" => "parameter.time".to_owned(),
                name => name.to_owned(),
            };
            add(name, unit, kind, parameter.value, slot);
        }
    }
    for (i, input) in model.inputs.iter().enumerate() {
        let name = format!("input.{}", input.name);
        add(name, "", VariableKind::Input, input.value, Slot::Input(i));
    }
    let all = Quantities::new(model);
    for (name, unit) in all.names.iter().zip(&all.units) {
        match all.one(model, name) {
            // They have variables already.
            Some(Quantity::Time | Quantity::Input(_)) | None => {}
            Some(quantity) => {
                add(name.clone(), unit, VariableKind::Output, 0.0, Slot::Output(quantity));
            }
        }
    }
    (list, slots)
}
