//! Settings that were ignored or have a new name.

use std::fmt;

use cairn_protocol::StatusProblem;
use serde_json::Value;

/// Fault of one setting. Its text is a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingFault(pub StatusProblem);

impl SettingFault {
    pub(super) fn unknown(path: &str) -> Self {
        Self(StatusProblem::SettingUnknown { setting: full(path) })
    }

    pub(super) fn renamed(old: &str, new: &str) -> Self {
        Self(StatusProblem::SettingRenamed { setting: full(new), old: full(old) })
    }

    pub(super) fn wrong_type(path: &str, expected: &str, found: &Value) -> Self {
        let (expected, found) = (expected.to_owned(), type_of(found));
        Self(StatusProblem::SettingType { setting: full(path), expected, found })
    }

    pub(super) fn not_a_choice(path: &str, value: &str, choices: &[&str]) -> Self {
        let (value, choices) = (value.to_owned(), choices.join(", "));
        Self(StatusProblem::SettingChoice { setting: full(path), value, choices })
    }

    pub(super) fn invalid(path: &str, reason: impl fmt::Display) -> Self {
        Self(StatusProblem::SettingInvalid { setting: full(path), reason: reason.to_string() })
    }
}

impl fmt::Display for SettingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            StatusProblem::SettingUnknown { setting } => {
                write!(f, "{setting}: there is no such setting")
            }
            StatusProblem::SettingRenamed { setting, old } => write!(
                f,
                "{old} is now called {setting}. The old name still works; please rename it."
            ),
            StatusProblem::SettingType { setting, expected, found } => {
                write!(f, "{setting}: expected {expected}, found {found}")
            }
            StatusProblem::SettingChoice { setting, value, choices } => {
                write!(f, "{setting}: \"{value}\" is not one of {choices}")
            }
            StatusProblem::SettingInvalid { setting, reason } => write!(f, "{setting}: {reason}"),
            other => write!(f, "{other:?}"),
        }
    }
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
