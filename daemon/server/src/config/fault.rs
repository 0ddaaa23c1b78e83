//! Settings that were ignored.

use std::fmt;

use cairn_protocol::StatusProblem;
use serde_json::Value;

pub(super) fn unknown(path: &str) -> StatusProblem {
    StatusProblem::SettingUnknown { setting: full(path) }
}

pub(super) fn wrong_type(path: &str, expected: &str, found: &Value) -> StatusProblem {
    let (expected, found) = (expected.to_owned(), type_of(found));
    StatusProblem::SettingType { setting: full(path), expected, found }
}

pub(super) fn not_a_choice(path: &str, value: &str, choices: &[&str]) -> StatusProblem {
    let (value, choices) = (value.to_owned(), choices.join(", "));
    StatusProblem::SettingChoice { setting: full(path), value, choices }
}

pub(super) fn invalid(path: &str, reason: impl fmt::Display) -> StatusProblem {
    StatusProblem::SettingInvalid { setting: full(path), reason: reason.to_string() }
}

fn full(path: &str) -> String {
    if path.is_empty() { "cairn".to_owned() } else { format!("cairn.{path}") }
}

pub(super) fn type_of(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) => "a boolean".into(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(_) => "a string".into(),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
    }
}
