//! Arguments in the types of a tool's schema.
//!
//! A value of another type is converted where it has one meaning: a list sent as a JSON text, one
//! object in place of a list of one, a number or a truth value in quotes. A text stays as it is where
//! the schema takes a text.

use serde_json::{Value, json};

use crate::json_text;

/// Converts a value to the type of its schema, and the values in it. One that has no meaning there
/// stays, and the tool refuses it.
pub(super) fn fit(value: &mut Value, schema: &Value) {
    if !allows(schema, value)
        && let Some(converted) = converted(value, schema)
    {
        *value = converted;
    }
    match value {
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| fit(item, schema));
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                if let Some(schema) = schema["properties"].get(name) {
                    fit(member, schema);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// True if the schema names this type.
fn names(schema: &Value, wanted: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == wanted,
        Some(Value::Array(several)) => several.iter().any(|one| one == wanted),
        _ => false,
    }
}

fn allows(schema: &Value, value: &Value) -> bool {
    match value {
        // Stands for a missing argument.
        Value::Null => true,
        Value::Bool(_) => names(schema, "boolean"),
        Value::Number(number) => {
            names(schema, "number") || (names(schema, "integer") && !number.is_f64())
        }
        Value::String(_) => names(schema, "string"),
        Value::Array(_) => names(schema, "array"),
        Value::Object(_) => names(schema, "object"),
    }
}

/// False for a value that is none of those that the schema lists.
fn is_value(schema: &Value, value: &Value) -> bool {
    schema["enum"].as_array().is_none_or(|values| values.contains(value))
}

fn converted(value: &Value, schema: &Value) -> Option<Value> {
    let unwrapped = json_text::unwrapped(value);
    if names(schema, "array") {
        return match unwrapped.as_ref() {
            list @ Value::Array(_) => Some(list.clone()),
            one if allows(&schema["items"], one) && is_value(&schema["items"], one) => {
                Some(json!([one]))
            }
            _ => None,
        };
    }
    match (value, unwrapped.as_ref()) {
        (_, object @ Value::Object(_)) if names(schema, "object") => Some(object.clone()),
        (Value::Array(one), _) if names(schema, "string") => match one.as_slice() {
            [text @ Value::String(_)] => Some(text.clone()),
            _ => None,
        },
        (Value::String(text), _) if names(schema, "boolean") => {
            text.trim().to_ascii_lowercase().parse().ok().map(Value::Bool)
        }
        (Value::String(text), _) if names(schema, "integer") => whole(text.trim().parse().ok()?),
        (Value::Number(number), _) if names(schema, "integer") => whole(number.as_f64()?),
        _ => None,
    }
}

/// Largest integer below which a float represents every integer exactly.
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;

fn whole(number: f64) -> Option<Value> {
    let exact = number.fract() == 0.0 && number.abs() <= MOST_EXACT;
    exact.then(|| json!(number as i64))
}
