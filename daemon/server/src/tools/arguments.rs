//! Arguments of a call, checked against the schema of its tool. A failure names every fault.

use serde_json::Value;

use super::failure::ToolFailure;

/// Arguments that fit the schema. Members that it does not name are not checked.
pub(super) struct Arguments {
    tool: &'static str,
    values: Value,
}

impl Arguments {
    pub(super) fn checked(
        tool: &'static str,
        values: Value,
        schema: &Value,
    ) -> Result<Self, ToolFailure> {
        let mut faults = Vec::new();
        check("", &values, schema, &mut faults);
        no_faults(tool, &faults).map(|()| Self { tool, values })
    }

    /// Refuses a call without one of these texts, which the schema does not always require.
    pub(super) fn require(&self, names: &[&str]) -> Result<(), ToolFailure> {
        let missing = names.iter().filter(|name| !self.gives(name));
        let faults = missing.map(|name| format!("`{name}` is missing (string expected)"));
        no_faults(self.tool, &faults.collect::<Vec<_>>())
    }

    /// True if the call gives the argument.
    pub(super) fn gives(&self, name: &str) -> bool {
        !self.values[name].is_null()
    }

    pub(super) fn string(&self, name: &str) -> String {
        self.optional_string(name).unwrap_or_default()
    }

    pub(super) fn optional_string(&self, name: &str) -> Option<String> {
        self.values[name].as_str().map(str::to_owned)
    }

    pub(super) fn count(&self, name: &str) -> Option<usize> {
        self.values[name].as_u64()?.try_into().ok()
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.values[name].as_bool().unwrap_or_default()
    }

    pub(super) fn strings(&self, name: &str) -> Option<Vec<String>> {
        let values = self.values[name].as_array()?.iter();
        Some(values.filter_map(|value| value.as_str().map(str::to_owned)).collect())
    }

    pub(super) fn objects(&self, name: &str) -> Vec<Self> {
        let objects = self.values[name].as_array().into_iter().flatten().cloned();
        objects.map(|values| Self { tool: self.tool, values }).collect()
    }
}

fn no_faults(tool: &str, faults: &[String]) -> Result<(), ToolFailure> {
    if faults.is_empty() {
        return Ok(());
    }
    Err(ToolFailure::Tell(format!("{tool}: {}.", faults.join("; "))))
}

/// Adds the faults of an object. `place` begins each of them.
fn check(place: &str, object: &Value, schema: &Value, faults: &mut Vec<String>) {
    if !object.is_object() {
        faults.push(format!("{place}the arguments are {} (object expected)", kind(object)));
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let (value, expected) = (&object[name], expected(property));
        let required = schema["required"].as_array();
        match value {
            Value::Null if required.is_some_and(|all| all.iter().any(|it| it == name.as_str())) => {
                faults.push(format!("{place}`{name}` is missing ({expected} expected)"));
            }
            Value::Null => {}
            value if !fits(value, property) => {
                let found = kind(value);
                faults.push(format!("{place}`{name}` is {found} ({expected} expected)"));
            }
            Value::Array(items) if property["items"]["type"] == "object" => {
                for (at, item) in items.iter().enumerate() {
                    check(&format!("{name}[{at}]: "), item, &property["items"], faults);
                }
            }
            _ => {}
        }
    }
}

/// True for a value of the type. The members of an object are checked by [`check`].
fn fits(value: &Value, schema: &Value) -> bool {
    match (schema["type"].as_str(), schema["enum"].as_array()) {
        (_, Some(names)) => names.contains(value),
        (Some("string"), None) => value.is_string(),
        (Some("boolean"), None) => value.is_boolean(),
        (Some("integer"), None) => value.is_u64(),
        (Some("array"), None) => value
            .as_array()
            .is_some_and(|items| items.iter().all(|item| fits(item, &schema["items"]))),
        _ => true,
    }
}

fn expected(schema: &Value) -> String {
    if let Some(names) = schema["enum"].as_array() {
        let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
        return format!("one of {}", names.join(", "));
    }
    match schema["type"].as_str().unwrap_or_default() {
        "integer" => "whole number from 0".to_owned(),
        "array" => match expected(&schema["items"]).strip_prefix("one of ") {
            Some(names) => format!("array of {names}"),
            None => format!("array of {}s", expected(&schema["items"])),
        },
        kind => kind.to_owned(),
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

    fn check_call(value: Value, expect: Expect) {
        let schema = json!({
            "properties": {
                "path": {"type": "string"},
                "glob": {"type": "string"},
                "limit": {"type": "integer"},
                "all": {"type": "boolean"},
                "needs": {"type": "array", "items": {"type": "string", "enum": ["network", "git"]}},
                "edits": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"old": {"type": "string"}},
                    "required": ["old"],
                }},
            },
            "required": ["path"],
        });
        let got = Arguments::checked("tool", value, &schema).map(|arguments| {
            let values = (
                arguments.string("path"),
                arguments.optional_string("glob"),
                arguments.count("limit"),
                arguments.flag("all"),
                arguments.strings("needs"),
            );
            format!("{values:?}")
        });
        expect.assert_eq(&got.unwrap_or_else(|error| error.to_string()));
    }

    #[test]
    fn every_fault_of_the_arguments_is_named() {
        check_call(json!({"path": "a"}), expect![[r#"("a", None, None, false, None)"#]]);
        check_call(
            json!({"path": "a", "glob": null, "limit": 7, "all": true, "more": 1}),
            expect![[r#"("a", None, Some(7), true, None)"#]],
        );
        check_call(
            json!({"glob": 3, "limit": -1, "all": []}),
            expect![
                "tool: `path` is missing (string expected); `glob` is 3 (string expected); `limit` is -1 (whole number from 0 expected); `all` is an array (boolean expected)."
            ],
        );
        check_call(
            json!({"path": "a", "needs": ["root"], "edits": [{"old": "x"}, {}, 1]}),
            expect![
                "tool: `needs` is an array (array of network, git expected); edits[1]: `old` is missing (string expected); edits[2]: the arguments are 1 (object expected); edits[2]: `old` is missing (string expected)."
            ],
        );
        check_call(
            json!({"path": "a", "edits": [{}], "needs": ["git"]}),
            expect!["tool: edits[0]: `old` is missing (string expected)."],
        );
        check_call(json!({"path": {}}), expect!["tool: `path` is an object (string expected)."]);
        check_call(
            json!("a"),
            expect![
                "tool: the arguments are a string (object expected); `path` is missing (string expected)."
            ],
        );
    }
}
