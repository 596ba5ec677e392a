//! A model in step with another program: lines of JSON in, lines of JSON out.
//!
//! [`Session`] has the protocol and knows neither sockets nor clocks: a line is answered by a line. `docs/serve.md` has the format.
//!
//! ```
//! use gelenk::model::{LoadOptions, load_text};
//! use gelenk::serve::{Session, SessionOptions};
//!
//! let text = gelenk::scenes::scene("three-link-arm").ok_or("no such model")?.text;
//! let model = load_text("three-link-arm", text, &LoadOptions::default())?.model;
//! let options = SessionOptions { rate: 500.0, send: vec!["energy.kinetic".to_owned()] };
//! let mut session = Session::new(model, &options)?;
//! assert_eq!(session.hello()["turn"], 0.002);
//! let answer = session.answer(r#"{"inputs": {"tau1": 1.5}}"#)?;
//! assert_eq!(answer["time"], 0.002);
//! assert!(session.answer("{\"inputs\": {\"tau9\": 1}}")?["error"].is_object());
//! assert_eq!(session.turns(), 1, "time does not move by a line that is wrong");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use gelenk_impulse::{Failure, Simulation};
use gelenk_model::{BodyId, Model, RunSettings};
use serde_json::{Map, Value, json};

use crate::quantity::{Quantities, Quantity, Reader, coordinate_names};

/// The version of the protocol.
pub const PROTOCOL: u32 = 1;

/// Steps a turn, at most: a slower rate than that is a mistake.
const MOST_STEPS: f64 = 1e6;

/// What a session does.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionOptions {
    /// Turns a second of simulated time.
    pub rate: f64,
    /// Quantities that are sent as `sensors`, beside joints and contacts.
    pub send: Vec<String>,
}

/// Why there is no session.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// A rate that makes no sense.
    #[error("a rate of {0} turns a second cannot be kept with this model's step")]
    Rate(f64),
    /// Settings that the engine does not take.
    #[error("{0}")]
    Settings(String),
    /// A quantity that is not there.
    #[error("there is no quantity `{name}`{}", near.as_ref().map_or_else(String::new, |near| format!("; did you mean `{near}`?")))]
    Unknown {
        /// What was asked for.
        name: String,
        /// The nearest that is there.
        near: Option<String>,
    },
    /// The model cannot start.
    #[error(transparent)]
    Start(#[from] Failure),
}

/// A model that waits for its next turn.
#[derive(Debug)]
pub struct Session {
    model: Model,
    settings: RunSettings,
    engine: Simulation<'static>,
    reader: Reader,
    rate: f64,
    /// Steps of the engine a turn.
    steps: u64,
    turns: u64,
    /// Joints with the names of their coordinates and rates.
    joints: Vec<(String, Vec<(String, Quantity)>)>,
    /// What is sent beside, with its unit; vectors have several.
    sensors: Vec<(String, &'static str, Vec<Quantity>)>,
}

impl Session {
    /// A session at the start of `model`, with the step of its `[run]` or the next shorter one of which a turn is a whole number.
    pub fn new(model: Model, options: &SessionOptions) -> Result<Self, SessionError> {
        let rate = options.rate;
        let wanted = 1.0 / (rate * model.run.step);
        if !(rate > 0.0 && rate.is_finite() && wanted <= MOST_STEPS) {
            return Err(SessionError::Rate(rate));
        }
        // A turn of one step stays one, whatever its last digit.
        let steps = (wanted - 1e-9).ceil().max(1.0);
        let step = 1.0 / (rate * steps);
        // The step of the model, to the bit, where it fits.
        let step = if (step / model.run.step - 1.0).abs() < 1e-9 { model.run.step } else { step };
        let mut settings = model.run.clone();
        "impulse".clone_into(&mut settings.engine);
        settings.accuracy = None;
        settings.step = step;
        settings.duration = step;
        crate::check_settings(&settings)
            .map_err(|error| SessionError::Settings(error.to_string()))?;
        let all = Quantities::new(&model);
        let sensors: Result<Vec<_>, SessionError> = options
            .send
            .iter()
            .map(|name| {
                let found = all.find(&model, name).ok_or_else(|| SessionError::Unknown {
                    name: name.clone(),
                    near: gelenk_expr::nearest(name, all.names.iter().map(String::as_str))
                        .map(str::to_owned),
                })?;
                let of = |known: &&String| *known == name || known.starts_with(&format!("{name}."));
                let unit = all.names.iter().zip(&all.units).find(|(known, _)| of(known));
                Ok((name.clone(), unit.map_or("", |(_, unit)| *unit), found))
            })
            .collect();
        let joints = (0..model.joints.len()).map(|i| {
            let numbers =
                coordinate_names(&model, i).into_iter().enumerate().flat_map(|(k, names)| {
                    let [place, rate] =
                        names.map(|name| name.rsplit('.').next().unwrap_or("").to_owned());
                    [(place, Quantity::Coordinate(i, k)), (rate, Quantity::Rate(i, k))]
                });
            (model.joints[i].name.clone(), numbers.collect())
        });
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 1e6")]
        let steps = steps as u64;
        Ok(Session {
            engine: Simulation::owned(model.clone(), &settings)?,
            reader: Reader::new(&model),
            joints: joints.collect(),
            sensors: sensors?,
            turns: 0,
            rate,
            steps,
            settings,
            model,
        })
    }

    /// The first line: who speaks, what can be set, what will be sent, and the start.
    pub fn hello(&mut self) -> Value {
        let inputs: Map<String, Value> = self
            .model
            .inputs
            .iter()
            .map(|input| (input.name.clone(), json!(input.value)))
            .collect();
        let parameters: Map<String, Value> =
            self.model.parameters.iter().map(|p| (p.name.clone(), json!(p.value))).collect();
        let sensors: Map<String, Value> =
            self.sensors.iter().map(|(name, unit, _)| (name.clone(), json!(unit))).collect();
        let all = Quantities::new(&self.model);
        let unit = |name: &str| {
            let place = all.names.iter().position(|known| known == name);
            place.and_then(|i| all.units.get(i)).copied().unwrap_or("")
        };
        let joints: Map<String, Value> = self
            .joints
            .iter()
            .map(|(joint, numbers)| {
                let units = numbers
                    .iter()
                    .map(|(name, _)| (name.clone(), json!(unit(&format!("joint.{joint}.{name}")))));
                (joint.clone(), Value::Object(units.collect()))
            })
            .collect();
        json!({
            "gelenk": crate::VERSION,
            "protocol": PROTOCOL,
            "model": self.model.name,
            "rate": self.rate,
            "turn": 1.0 / self.rate,
            "step": self.settings.step,
            "inputs": inputs,
            "parameters": parameters,
            "joints": joints,
            "sensors": sensors,
            "start": self.state(),
        })
    }

    /// The state now, as it is sent.
    pub fn state(&mut self) -> Value {
        let Session { model, engine, reader, joints, sensors, .. } = self;
        let mut numbers = Vec::new();
        let mut read = |wanted: &[Quantity]| -> Vec<f64> {
            numbers.clear();
            reader.read(model, &engine.sample(), wanted, &mut numbers);
            numbers.clone()
        };
        let joints: Map<String, Value> = joints
            .iter()
            .map(|(joint, list)| {
                let values = list.iter().map(|(name, quantity)| {
                    (name.clone(), json!(read(&[*quantity]).first().copied()))
                });
                (joint.clone(), Value::Object(values.collect()))
            })
            .collect();
        let sensors: Map<String, Value> = sensors
            .iter()
            .map(|(name, _, wanted)| {
                let values = read(wanted);
                let value = if let [one] = values[..] { json!(one) } else { json!(values) };
                (name.clone(), value)
            })
            .collect();
        let name = |body: BodyId| model.bodies[body.index()].name.as_str();
        let contacts: Vec<Value> = engine
            .contacts()
            .iter()
            .map(|contact| {
                json!({
                    "bodies": contact.bodies.map(name),
                    "point": contact.point.as_slice(),
                    "normal": contact.normal.as_slice(),
                    "force": contact.force.as_slice(),
                    "gap": contact.gap,
                })
            })
            .collect();
        json!({ "time": engine.state().t, "joints": joints, "sensors": sensors, "contacts": contacts })
    }

    /// Answers a line: by the state after a turn, or by an `error`, and then time has not moved. A failure of the engine ends the
    /// session.
    pub fn answer(&mut self, line: &str) -> Result<Value, Failure> {
        match self.take(line) {
            Ok(()) => self.turn(),
            Err(why) => Ok(json!({ "error": { "message": why, "time": self.time() } })),
        }
    }

    /// Takes a line without a turn: sets the inputs, or begins again. An error changes nothing.
    pub fn take(&mut self, line: &str) -> Result<(), String> {
        let given: Value =
            serde_json::from_str(line).map_err(|error| format!("this is not JSON: {error}"))?;
        let Value::Object(given) = given else {
            return Err("a line is an object: {\"inputs\": {...}}".to_owned());
        };
        let mut wanted = Vec::new();
        let mut again = false;
        for (key, value) in &given {
            match (key.as_str(), value) {
                ("inputs", Value::Object(inputs)) => {
                    for (name, value) in inputs {
                        wanted.push((name.as_str(), self.number(name, value)?));
                    }
                }
                ("inputs", _) => return Err("`inputs` is an object of numbers by name".to_owned()),
                ("reset", Value::Bool(reset)) => again = *reset,
                ("reset", _) => return Err("`reset` is true or false".to_owned()),
                _ => return Err(format!("there is no `{key}`; there are `inputs` and `reset`")),
            }
        }
        if again {
            let engine = Simulation::owned(self.model.clone(), &self.settings);
            self.engine = engine.map_err(|failure| failure.reason)?;
            self.turns = 0;
        }
        wanted.into_iter().try_for_each(|(name, x)| self.engine.inputs().set(name, x))
    }

    fn number(&self, name: &str, value: &Value) -> Result<f64, String> {
        if self.model.input(name).is_none() {
            let known = self.model.inputs.iter().map(|input| input.name.as_str());
            let near = gelenk_expr::nearest(name, known);
            let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            return Err(format!("there is no input `{name}`{hint}"));
        }
        let x = value.as_f64().filter(|x| x.is_finite());
        x.ok_or_else(|| format!("input `{name}` is {value}, not a finite number"))
    }

    /// Makes a turn with the inputs as they are, and gives the state after it.
    pub fn turn(&mut self) -> Result<Value, Failure> {
        for _ in 0..self.steps {
            self.engine.step()?;
        }
        self.turns += 1;
        Ok(self.state())
    }

    /// Time, s.
    pub fn time(&self) -> f64 {
        self.engine.state().t
    }

    /// Turns since the start or the last `reset`.
    pub fn turns(&self) -> u64 {
        self.turns
    }
}
