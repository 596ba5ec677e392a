//! What a handle points to, without pointers of C.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use gelenk::files;
use gelenk::fmu::{Machine, MachineError, Saved};

/// The longest model in a unit, bytes.
const MOST_BYTES: u64 = 1 << 30;

/// How a call ended: the numbers that both versions have for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// The call was wrong; nothing has changed.
    Error = 3,
    /// The instance cannot be used any more.
    Fatal = 4,
}

/// Shows a message to the importer.
pub type Log = Box<dyn Fn(&str)>;

/// An instance of a unit.
pub struct Instance {
    machine: Machine,
    log: Option<Log>,
    /// A panic has left the machine in an unknown state.
    broken: bool,
    /// The state that was last turned into bytes: importers ask for its size first.
    pub(crate) bytes: Vec<u8>,
    /// When the importer begins, s.
    pub(crate) start: f64,
}

impl Instance {
    /// An instance of the unit whose resources lie in a folder; an error says why there is none.
    pub fn new(resources: &Path, token: &str, log: Option<Log>) -> Result<Self, String> {
        let path = resources.join("model.json");
        let bytes = files::read(&path, MOST_BYTES)
            .map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
        let text =
            String::from_utf8(bytes).map_err(|_| "the model is not UTF-8 text".to_owned())?;
        let machine = Machine::from_json(&text).map_err(|error| error.to_string())?;
        if machine.token() != token {
            return Err("the token is not that of this unit".to_owned());
        }
        Ok(Instance { machine, log, broken: false, bytes: Vec::new(), start: 0.0 })
    }

    /// Does `work`; errors and panics go to the log and become a status.
    pub fn does<E: std::fmt::Display>(
        &mut self,
        work: impl FnOnce(&mut Machine) -> Result<(), E>,
    ) -> Status {
        if self.broken {
            return Status::Fatal;
        }
        let machine = &mut self.machine;
        match catch_unwind(AssertUnwindSafe(|| work(machine).map_err(|error| error.to_string()))) {
            Ok(Ok(())) => Status::Ok,
            Ok(Err(message)) => {
                self.say(&message);
                Status::Error
            }
            Err(_) => {
                self.broken = true;
                self.say("gelenk has made a mistake, please report it");
                Status::Fatal
            }
        }
    }

    /// Reads variables.
    pub fn get(&mut self, references: &[u32], values: &mut [f64]) -> Status {
        if references.len() != values.len() {
            return self.refuses("there are more or fewer values than variables");
        }
        self.does(|machine| machine.get(references, values))
    }

    /// Sets variables.
    pub fn set(&mut self, references: &[u32], values: &[f64]) -> Status {
        if references.len() != values.len() {
            return self.refuses("there are more or fewer values than variables");
        }
        self.does(|machine| {
            references.iter().zip(values).try_for_each(|(one, value)| machine.set(*one, *value))
        })
    }

    /// The state now.
    pub fn save(&mut self) -> Option<Saved> {
        let mut saved = None;
        self.does(|machine| {
            saved = Some(machine.save()?);
            Ok::<(), MachineError>(())
        });
        saved
    }

    /// Refuses a call, with a message.
    pub fn refuses(&mut self, message: &str) -> Status {
        self.say(message);
        Status::Error
    }

    fn say(&self, message: &str) {
        if let Some(log) = &self.log {
            log(message);
        }
    }
}
