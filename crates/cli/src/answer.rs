//! How a command ends: an answer or a failure, with its exit code.

use serde_json::{Map, Value, json};

/// The exit codes. A panic (101) is none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// The question was answered, with no: the check found an error, the recording differs.
    Negative = 1,
    /// Bad usage, bad model, or a limit reached.
    Input = 2,
    /// The computation failed; what was reached is saved.
    Failed = 3,
    /// Reading or writing failed.
    Io = 4,
    /// Stopped by Ctrl-C; what was reached is saved.
    Stopped = 130,
}

impl Exit {
    /// The word for it in `status` of JSON answers.
    fn status(self) -> &'static str {
        match self {
            Exit::Done => "done",
            Exit::Negative => "negative",
            Exit::Input => "bad-input",
            Exit::Failed => "failed",
            Exit::Io => "io-error",
            Exit::Stopped => "stopped",
        }
    }

    /// The number the process ends with.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }
}

/// What a command has to say at its end.
#[derive(Debug)]
pub(crate) struct Answer {
    /// How it ended.
    pub(crate) exit: Exit,
    /// The answer for programs.
    pub(crate) json: Map<String, Value>,
    /// The answer for people.
    pub(crate) text: String,
    /// `--quiet` does not silence it: the text is what was asked for.
    pub(crate) asked: bool,
    /// The JSON is a document of its own, without the head of an answer.
    pub(crate) bare: bool,
    /// It has been told already; nothing more is to be shown.
    pub(crate) told: bool,
    /// What went wrong, if the answer is only part of what was wanted.
    pub(crate) failure: Option<Failure>,
}

impl Answer {
    /// A successful answer; `json` must be an object.
    pub(crate) fn done(json: Value, text: String) -> Self {
        let json = match json {
            Value::Object(map) => map,
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        Answer {
            exit: Exit::Done,
            json,
            text,
            asked: false,
            bare: false,
            told: false,
            failure: None,
        }
    }

    /// The same, whose text is the thing asked for.
    pub(crate) fn asked(mut self) -> Self {
        self.asked = true;
        self
    }

    /// The same, whose JSON stands alone.
    pub(crate) fn bare(mut self) -> Self {
        self.bare = true;
        self
    }

    /// An answer that was told while the command ran.
    pub(crate) fn told() -> Self {
        Answer { told: true, ..Answer::done(json!({}), String::new()) }
    }

    /// The same with another exit code.
    pub(crate) fn exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// The same, ended by a failure after all.
    pub(crate) fn failed(mut self, failure: Failure) -> Self {
        self.exit = failure.exit;
        self.failure = Some(failure);
        self
    }

    /// The one JSON object of the command.
    pub(crate) fn to_json(&self, command: &str) -> Value {
        let mut map = if self.bare { Map::new() } else { head(command, self.exit) };
        map.extend(self.json.clone());
        if let Some(failure) = &self.failure {
            map.insert("error".to_owned(), failure.error_json());
        }
        Value::Object(map)
    }
}

/// A command that could not do what was asked.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// Its exit code.
    pub(crate) exit: Exit,
    /// What went wrong, in a sentence.
    pub(crate) message: String,
    /// What to do.
    pub(crate) help: Option<String>,
    /// Faults of the model, if that is the reason.
    pub(crate) faults: Option<Box<Faults>>,
}

/// Faults of a model, in both forms.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    /// As a list for programs.
    pub(crate) json: Value,
    /// Drawn for a terminal; this takes the place of the message there.
    pub(crate) drawn: String,
}

impl Failure {
    /// A failure with a sentence.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Failure { exit, message: message.into(), help: None, faults: None }
    }

    /// Bad usage or bad input.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Failure::new(Exit::Input, message)
    }

    /// Reading or writing failed.
    pub(crate) fn io(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Failure::new(Exit::Io, format!("cannot {doing} `{}`: {error}", path.display()))
    }

    /// The same with advice.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The `error` entry of a JSON answer.
    pub(crate) fn error_json(&self) -> Value {
        json!({
            "code": self.exit.code(),
            "kind": self.exit.status(),
            "message": self.message,
            "help": self.help,
            "diagnostics": self.faults.as_ref().map_or_else(|| json!([]), |faults| faults.json.clone()),
        })
    }

    /// The one JSON object of a command that only failed.
    pub(crate) fn to_json(&self, command: &str) -> Value {
        let mut map = head(command, self.exit);
        map.insert("error".to_owned(), self.error_json());
        Value::Object(map)
    }
}

/// What every JSON answer begins with.
fn head(command: &str, exit: Exit) -> Map<String, Value> {
    Map::from_iter([
        ("command".to_owned(), command.into()),
        ("status".to_owned(), exit.status().into()),
        ("exit_code".to_owned(), exit.code().into()),
    ])
}
