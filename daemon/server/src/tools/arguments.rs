//! Parser of a call's arguments that reports every mistake at once.
//!
//! Unknown fields are ignored here (the turn names them), and a number or boolean may be written as a string. Models do both, and a
//! refusal costs a round.

use serde_json::{Map, Value};

use super::failure::ToolFailure;

pub(super) struct ArgumentReader {
    tool: &'static str,
    fields: Map<String, Value>,
    faults: Vec<String>,
}

impl ArgumentReader {
    pub(super) fn new(tool: &'static str, value: Value) -> Self {
        match value {
            Value::Object(fields) => Self { tool, fields, faults: Vec::new() },
            other => Self {
                tool,
                fields: Map::new(),
                faults: vec![format!("the arguments are {} (object expected)", kind(&other))],
            },
        }
    }

    /// Empty if it is missing or wrong; `finish` reports that.
    pub(super) fn string(&mut self, name: &str) -> String {
        if matches!(self.fields.get(name), None | Some(Value::Null)) {
            self.faults.push(format!("`{name}` is missing (string expected)"));
        }
        self.optional_string(name).unwrap_or_default()
    }

    pub(super) fn optional_string(&mut self, name: &str) -> Option<String> {
        self.take(name, "string", |value| match value {
            Value::String(text) => Some(text),
            _ => None,
        })
    }

    pub(super) fn optional_count(&mut self, name: &str) -> Option<usize> {
        self.take(name, "whole number from 0", |value| match value {
            Value::Number(number) => number.as_u64()?.try_into().ok(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        })
    }

    /// Zero if it is missing or wrong; `finish` reports that.
    pub(super) fn count(&mut self, name: &str) -> usize {
        if matches!(self.fields.get(name), None | Some(Value::Null)) {
            self.faults.push(format!("`{name}` is missing (whole number expected)"));
        }
        self.optional_count(name).unwrap_or_default()
    }

    pub(super) fn optional_bool(&mut self, name: &str) -> Option<bool> {
        self.take(name, "boolean", |value| match value {
            Value::Bool(flag) => Some(flag),
            Value::String(text) => text.trim().to_ascii_lowercase().parse().ok(),
            _ => None,
        })
    }

    pub(super) fn optional_strings(&mut self, name: &str) -> Option<Vec<String>> {
        self.take(name, "array of strings", |value| match value {
            Value::Array(values) => {
                values.iter().map(|value| value.as_str().map(str::to_owned)).collect()
            }
            _ => None,
        })
    }

    /// True if the call gives the argument.
    pub(super) fn gives(&self, name: &str) -> bool {
        self.fields.get(name).is_some_and(|value| !value.is_null())
    }

    /// Readers of the objects of a list. `take_faults` returns their faults to this reader.
    pub(super) fn optional_objects(&mut self, name: &str) -> Option<Vec<ArgumentReader>> {
        let tool = self.tool;
        self.take(name, "array of objects", |value| match value {
            Value::Array(values) => {
                Some(values.into_iter().map(|it| Self::new(tool, it)).collect())
            }
            _ => None,
        })
    }

    /// Adds the faults of a part of the arguments, each with its place.
    pub(super) fn take_faults(&mut self, place: &str, part: ArgumentReader) {
        self.faults.extend(part.faults.iter().map(|fault| format!("{place}: {fault}")));
    }

    /// One of these names.
    pub(super) fn optional_name(
        &mut self,
        name: &str,
        known: &[&'static str],
    ) -> Option<&'static str> {
        self.take(name, &format!("one of {}", known.join(", ")), |value| {
            known.iter().copied().find(|known| value.as_str() == Some(known))
        })
    }

    /// List of some of these names, each at most once. A single string is treated as a list of one.
    pub(super) fn optional_names(
        &mut self,
        name: &str,
        known: &[&'static str],
    ) -> Option<Vec<&'static str>> {
        let expected = format!("array of {}", known.join(", "));
        self.take(name, &expected, |value| {
            let values = match value {
                Value::Array(values) => values,
                one => vec![one],
            };
            values
                .iter()
                .map(|value| known.iter().copied().find(|known| value.as_str() == Some(known)))
                .collect()
        })
    }

    /// Must be called before the values are used.
    pub(super) fn finish(self) -> Result<(), ToolFailure> {
        if self.faults.is_empty() {
            return Ok(());
        }
        Err(ToolFailure::Tell(format!("{}: {}.", self.tool, self.faults.join("; "))))
    }

    fn take<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.fields.remove(name).filter(|value| !value.is_null())?;
        let found = kind(&value);
        let read = read(value);
        if read.is_none() {
            self.faults.push(format!("`{name}` is {found} ({expected} expected)"));
        }
        read
    }
}

fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(value: Value, expect: Expect) {
        let mut arguments = ArgumentReader::new("tool", value);
        let values = (
            arguments.string("path"),
            arguments.optional_string("glob"),
            arguments.optional_count("limit"),
            arguments.optional_bool("all"),
        );
        let got = match arguments.finish() {
            Ok(()) => format!("{values:?}"),
            Err(error) => error.to_string(),
        };
        expect.assert_eq(&got);
    }

    #[test]
    fn every_fault_of_the_arguments_is_named() {
        check(json!({"path": "a"}), expect![[r#"("a", None, None, None)"#]]);
        check(
            json!({"path": "a", "glob": null, "limit": "7", "all": "True", "more": 1}),
            expect![[r#"("a", None, Some(7), Some(true))"#]],
        );
        check(
            json!({"glob": 3, "limit": -1, "all": []}),
            expect![
                "tool: `path` is missing (string expected); `glob` is 3 (string expected); `limit` is -1 (whole number from 0 expected); `all` is an array (boolean expected)."
            ],
        );
        check(json!({"path": {}}), expect!["tool: `path` is an object (string expected)."]);
        check(
            json!("a"),
            expect![
                "tool: the arguments are a string (object expected); `path` is missing (string expected)."
            ],
        );
    }
}
