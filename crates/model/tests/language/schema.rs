//! The JSON Schema describes what the reader takes.

use gelenk_model::json_schema;
use serde_json::{Value, json};

/// Checks a value against the keywords that our schema uses; an empty list if it fits.
fn check(root: &Value, schema: &Value, value: &Value, path: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let Some(schema) = schema.as_object() else {
        return vec![format!("{path}: schema is no object")];
    };
    for (keyword, argument) in schema {
        match keyword.as_str() {
            "$ref" => {
                let pointer = argument.as_str().unwrap().strip_prefix('#').unwrap();
                let target = root.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}"));
                faults.extend(check(root, target, value, path));
            }
            "type" => {
                let types = match argument {
                    Value::Array(types) => types.clone(),
                    one => vec![one.clone()],
                };
                let is = |name: &str| match name {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "number" => value.is_number(),
                    "boolean" => value.is_boolean(),
                    other => panic!("type {other}"),
                };
                if !types.iter().any(|t| is(t.as_str().unwrap())) {
                    faults.push(format!("{path}: not {argument}"));
                }
            }
            "properties" => {
                for (key, property) in argument.as_object().unwrap() {
                    if let Some(inner) = value.get(key) {
                        faults.extend(check(root, property, inner, &format!("{path}.{key}")));
                    }
                }
            }
            "required" => {
                for key in argument.as_array().unwrap() {
                    if value.is_object() && value.get(key.as_str().unwrap()).is_none() {
                        faults.push(format!("{path}: no {key}"));
                    }
                }
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                for (key, inner) in value.as_object().into_iter().flatten() {
                    if known.is_some_and(|known| known.contains_key(key)) {
                        continue;
                    }
                    match argument {
                        Value::Bool(false) => faults.push(format!("{path}: unknown {key}")),
                        _ => faults.extend(check(root, argument, inner, &format!("{path}.{key}"))),
                    }
                }
            }
            "items" => {
                for (i, inner) in value.as_array().into_iter().flatten().enumerate() {
                    faults.extend(check(root, argument, inner, &format!("{path}[{i}]")));
                }
            }
            "minItems" | "maxItems" => {
                let limit = usize::try_from(argument.as_u64().unwrap()).unwrap();
                let n = value.as_array().map_or(limit, Vec::len);
                if (keyword == "minItems" && n < limit) || (keyword == "maxItems" && n > limit) {
                    faults.push(format!("{path}: {n} items"));
                }
            }
            "anyOf" => {
                let fits = |one: &Value| check(root, one, value, path).is_empty();
                if !argument.as_array().unwrap().iter().any(fits) {
                    faults.push(format!("{path}: none of anyOf"));
                }
            }
            "enum" => {
                if !argument.as_array().unwrap().contains(value) {
                    faults.push(format!("{path}: not one of {argument}"));
                }
            }
            "$schema" | "title" | "description" | "$defs" => {}
            other => panic!("the test knows no keyword {other}"),
        }
    }
    faults
}

fn faults(text: &str) -> Vec<String> {
    let value: Value = toml::from_str::<toml::Table>(text)
        .map(|table| serde_json::to_value(table).unwrap())
        .unwrap();
    let schema = json_schema();
    check(&schema, &schema, &value, "")
}

#[test]
fn good_models_fit() {
    for text in [include_str!("good/arm.toml"), include_str!("good/everything.toml")] {
        assert_eq!(faults(text), Vec::<String>::new());
        crate::common::load(text);
    }
}

#[test]
fn bad_models_do_not_fit() {
    assert_eq!(
        faults("[[body]]\nnam = \"a\"\n"),
        [".body[0]: no \"name\"", ".body[0]: unknown nam"]
    );
    assert_eq!(
        faults("[[body]]\nname = \"a\"\nposition = [1, 2]\n"),
        [".body[0].position: 2 items"]
    );
    assert_eq!(
        faults("[[body]]\nname = \"a\"\nrotation = true\n"),
        [".body[0].rotation: none of anyOf"]
    );
}

/// Every key has a description, and every table forbids keys it does not know.
#[test]
fn complete() {
    let schema = json_schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let mut n = 0;
    for (name, table) in schema["$defs"].as_object().unwrap() {
        assert!(!table.is_null(), "{name}");
        for (key, property) in table["properties"].as_object().into_iter().flatten() {
            assert!(property["description"].as_str().is_some_and(|d| d.len() > 5), "{name}.{key}");
            n += 1;
        }
        if table["type"] == json!("object") {
            assert_eq!(table["additionalProperties"], json!(false), "{name}");
        }
    }
    assert!(n > 100, "{n} keys");
    assert_eq!(schema["properties"]["joint"]["items"]["$ref"], "#/$defs/JointSpec");
    let types = &schema["$defs"]["JointSpec"]["properties"]["type"]["enum"];
    assert!(types.as_array().unwrap().contains(&json!("hinge")));
}

/// LANGUAGE.md is what the declarations say; `BLESS=1 cargo test` writes it anew.
#[test]
fn reference_is_up_to_date() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("LANGUAGE.md");
    let text = gelenk_model::spec::reference();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(written == text, "LANGUAGE.md is out of date; write it with BLESS=1");
}
