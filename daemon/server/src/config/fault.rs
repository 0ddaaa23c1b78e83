//! Values of settings as they should be, and the faults of others, which are ignored.

use cairn_protocol::{StatusProblem, settings};
use serde_json::Value;

pub(super) enum ValueFault {
    Unknown,
    /// Another type than the named one.
    Type(String),
    /// None of the values of the enumeration.
    Choice,
    Invalid(String),
}

impl ValueFault {
    pub(super) fn of(self, path: &str, value: &Value) -> StatusProblem {
        let setting = if path.is_empty() { "cairn".to_owned() } else { format!("cairn.{path}") };
        match self {
            Self::Unknown => StatusProblem::SettingUnknown { setting },
            Self::Type(expected) => {
                StatusProblem::SettingType { setting, expected, found: type_of(value) }
            }
            Self::Choice => StatusProblem::SettingChoice {
                setting,
                value: value.as_str().unwrap_or_default().to_owned(),
                choices: settings::choices(path).join(", "),
            },
            Self::Invalid(reason) => StatusProblem::SettingInvalid { setting, reason },
        }
    }
}

fn expected<T>(value: Option<T>, what: &str) -> Result<T, ValueFault> {
    value.ok_or_else(|| ValueFault::Type(what.to_owned()))
}

pub(super) fn flag(value: &Value) -> Result<bool, ValueFault> {
    expected(value.as_bool(), "true or false")
}

/// Reads a text of the user; an empty one if none is set.
pub(super) fn own_text(value: &Value) -> Result<String, ValueFault> {
    Ok(text(value)?.unwrap_or_default())
}

/// Reads text; an empty string means "not set", as editors send it.
pub(super) fn text(value: &Value) -> Result<Option<String>, ValueFault> {
    let text = expected(value.as_str(), "a string")?.trim();
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

pub(super) fn positive(value: &Value) -> Result<u32, ValueFault> {
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    expected(number.filter(|number| *number > 0), "a whole number above zero")
}

pub(super) fn dollars(value: &Value) -> Result<f64, ValueFault> {
    expected(value.as_f64().filter(|dollars| *dollars >= 0.0), "a number, not below zero")
}

/// Reads a value of the enumeration that the table defines for this key.
pub(super) fn choice<'a>(path: &str, value: &'a Value) -> Result<&'a str, ValueFault> {
    let name = expected(value.as_str(), "a string")?;
    if settings::choices(path).contains(&name) { Ok(name) } else { Err(ValueFault::Choice) }
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
