//! `gelenk schema`: the JSON Schema of model files.

use crate::answer::{Answer, Exit, Failure};

pub(crate) fn run() -> Result<Answer, Failure> {
    let schema = gelenk::model::json_schema();
    let mut text = serde_json::to_string_pretty(&schema)
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot write the schema: {error}")))?;
    text.push('\n');
    Ok(Answer::done(schema, text).asked().bare())
}
