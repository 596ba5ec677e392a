//! The reference of the language as Markdown, from the same declarations as its reader.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::schema::json_schema;
use crate::joint::JOINT_TYPES;

/// The reference of the model language, in Markdown: introduction, all tables with their keys, joint types.
pub fn reference() -> String {
    let schema = json_schema();
    let mut text = String::from(include_str!("language.md"));
    let mut done: Vec<String> = Vec::new();
    // Tables still to describe: heading and schema, top level first, then what they refer to.
    let mut queue: Vec<(String, Json)> = Vec::new();
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let heading = match (property.get("type").and_then(Json::as_str), table_of(property)) {
            (Some("array"), Some(_)) => format!("[[{key}]]"),
            (Some("object"), _) => format!("[{key}.NAME]"),
            _ => format!("[{key}]"),
        };
        let heading = if key == "parameters" { "[parameters]".to_owned() } else { heading };
        queue.push((heading, property.clone()));
    }
    let mut next = 0;
    while let Some((heading, property)) = queue.get(next).cloned() {
        next += 1;
        for name in tables_in(&property) {
            if done.contains(&name) {
                continue;
            }
            done.push(name.clone());
            let table = &schema["$defs"][&name];
            let Some(keys) = table["properties"].as_object() else { continue };
            let title = if next <= schema["properties"].as_object().map_or(0, serde_json::Map::len)
            {
                format!("`{heading}`")
            } else {
                shown(&name)
            };
            let _ = writeln!(text, "\n## {title}\n\n{}\n", sentence(table));
            let _ = writeln!(text, "| key | value | meaning |\n| --- | --- | --- |");
            for (key, property) in keys {
                let required =
                    table["required"].as_array().is_some_and(|r| r.contains(&key.as_str().into()));
                let mark = if required { " (required)" } else { "" };
                let _ = writeln!(
                    text,
                    "| `{key}`{mark} | {} | {} |",
                    kind(property),
                    sentence(property)
                );
                queue.push((String::new(), property.clone()));
            }
        }
    }
    text.push_str(
        "\n## Joint types\n\n| type | leaves free | coordinates | |\n| --- | --- | --- | --- |\n",
    );
    for joint in JOINT_TYPES {
        let coordinates: Vec<String> = joint.coordinates.iter().map(|c| format!("`{c}`")).collect();
        let (name, free) = (joint.name, joint.freedoms);
        let _ = writeln!(
            text,
            "| `{name}` | {free} | {} | {} |",
            coordinates.join(", "),
            joint.summary
        );
    }
    text
}

/// The description, with what would break a Markdown table escaped.
fn sentence(schema: &Json) -> String {
    schema["description"].as_str().unwrap_or("").replace('|', "\\|")
}

/// Name of a table without the ending of its Rust type.
fn shown(name: &str) -> String {
    name.strip_suffix("Spec").or(name.strip_suffix("Table")).unwrap_or(name).to_lowercase()
}

/// The definition that a schema refers to, if it is a table.
fn table_of(schema: &Json) -> Option<String> {
    tables_in(schema).into_iter().next()
}

/// Names of all tables that a schema refers to.
fn tables_in(schema: &Json) -> Vec<String> {
    let mut names = Vec::new();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        if let Some(name) = schema["$ref"].as_str().and_then(|r| r.strip_prefix("#/$defs/"))
            && name != "Scalar"
        {
            names.push(name.to_owned());
        }
        open.extend(schema.get("items"));
        open.extend(schema.get("additionalProperties"));
        open.extend(schema.get("anyOf").and_then(Json::as_array).into_iter().flatten());
    }
    names
}

/// What a value is, in words.
fn kind(schema: &Json) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.strip_prefix("#/$defs/").unwrap_or(reference);
        return if name == "Scalar" {
            "number".to_owned()
        } else {
            format!("table {}", shown(name))
        };
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let choices: Vec<String> = choices.iter().map(kind).collect();
        return choices.join(", or ");
    }
    match schema["type"].as_str() {
        Some("string") => "text".to_owned(),
        Some("boolean") => "true or false".to_owned(),
        Some("array") => match schema["minItems"].as_u64() {
            Some(n) => format!("list of {n}: {}", kind(&schema["items"])),
            None => format!("list: {}", kind(&schema["items"])),
        },
        Some("object") => format!("names with: {}", kind(&schema["additionalProperties"])),
        _ => "anything".to_owned(),
    }
}
