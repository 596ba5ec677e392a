//! JSON Schema of the language, from the same declarations as its reader.

use serde_json::{Map, Value as Json, json};

use super::read::{Fields, FromToml};
use super::tables::FileSpec;
use crate::joint::JOINT_TYPES;
use crate::load::{ENGINES, SOLVERS};

/// The schema under construction.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    /// Finished tables by name.
    defs: Map<String, Json>,
    /// Properties of the tables being described, innermost last.
    open: Vec<(Map<String, Json>, Vec<Json>)>,
}

impl Definitions {
    /// A reference to a definition, made at first use.
    pub(crate) fn define(&mut self, name: &str, make: impl FnOnce() -> Json) -> Json {
        if !self.defs.contains_key(name) {
            self.defs.insert(name.to_owned(), make());
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// A reference to a table's definition.
    pub(crate) fn object<T: Fields>(&mut self, name: &str, doc: &str) -> Json {
        if !self.defs.contains_key(name) {
            // Tables may contain themselves (parts inside parts): the name is taken before its properties are known.
            self.defs.insert(name.to_owned(), Json::Null);
            let object = self.describe::<T>(doc);
            self.defs.insert(name.to_owned(), object);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    fn describe<T: Fields>(&mut self, doc: &str) -> Json {
        self.open.push(Default::default());
        T::properties(self);
        let (properties, required) = self.open.pop().unwrap_or_default();
        json!({
            "description": one_paragraph(doc),
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false
        })
    }

    /// Adds a key to the table being described.
    pub(crate) fn property<T: FromToml>(&mut self, key: &str, doc: &str) {
        let schema = T::schema(self);
        let mut entry = Map::new();
        entry.insert("description".to_owned(), one_paragraph(doc).into());
        if let Json::Object(object) = schema {
            entry.extend(object);
        }
        if let Some((properties, required)) = self.open.last_mut() {
            properties.insert(key.to_owned(), Json::Object(entry));
            if T::absent().is_none() {
                required.push(key.into());
            }
        }
    }
}

fn one_paragraph(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The JSON Schema (draft 2020-12) of model files, for completion and checking in editors.
pub fn json_schema() -> Json {
    let mut definitions = Definitions::default();
    let root = definitions.describe::<FileSpec>("A Gelenk model.");
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".to_owned(), "Gelenk model".into());
    if let Json::Object(root) = root {
        schema.extend(root);
    }
    schema.insert("$defs".to_owned(), Json::Object(definitions.defs));
    let mut schema = Json::Object(schema);
    // Words that are checked against a list come with it, for completion.
    let types: Vec<&str> = JOINT_TYPES.iter().map(|t| t.name).collect();
    for (table, key, words) in [
        ("JointSpec", "type", types.as_slice()),
        ("RunSpec", "engine", &ENGINES),
        ("RunSpec", "solver", &SOLVERS),
        ("ForceSpec", "frame", &["world", "body"]),
    ] {
        if let Some(property) = schema["$defs"][table]["properties"][key].as_object_mut() {
            property.insert("enum".to_owned(), words.into());
        }
    }
    schema
}
