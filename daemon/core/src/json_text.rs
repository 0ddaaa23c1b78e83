//! JSON as models write it.

use std::borrow::Cow;

use serde_json::Value;

/// Parses JSON, with line breaks and other control characters inside a string taken as they stand.
///
/// # Errors
/// The error of the text as it came, if it is no JSON even so.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match with_escapes(text) {
        Cow::Borrowed(_) => Err(error),
        Cow::Owned(escaped) => serde_json::from_str(&escaped).map_err(|_| error),
    })
}

/// Decodes a text that is exactly one JSON array or object; another value is returned as it is.
pub fn unwrapped(value: &Value) -> Cow<'_, Value> {
    match value {
        Value::String(text) if text.trim_start().starts_with(['[', '{']) => match parse(text) {
            Ok(inner @ (Value::Array(_) | Value::Object(_))) => Cow::Owned(inner),
            Ok(_) | Err(_) => Cow::Borrowed(value),
        },
        _ => Cow::Borrowed(value),
    }
}

/// Writes the control characters inside strings as JSON asks for.
fn with_escapes(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let (mut in_string, mut escaped) = (false, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '\0'..='\x1f' if in_string => {
                out.push_str(&text[copied..at]);
                out.push_str(&format!("\\u{:04x}", u32::from(character)));
                copied = at + 1;
            }
            _ => {}
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn control_characters_in_strings_are_taken() {
        assert_eq!(parse("{\"a\": \"1\n\t2\"}").unwrap(), json!({ "a": "1\n\t2" }));
        assert_eq!(parse("[\"\\\"\n\",\n1]").unwrap(), json!(["\"\n", 1]));
        for wrong in ["", "{\"a\": \"1\n", "{\n", "[1\n2]", "\"a\n\" b"] {
            let error = parse(wrong).unwrap_err().to_string();
            assert_eq!(error, serde_json::from_str::<Value>(wrong).unwrap_err().to_string());
        }
    }

    #[test]
    fn only_a_list_or_an_object_is_unwrapped() {
        for (text, inner) in [("[1]", json!([1])), (" {\"a\": 2}\n", json!({ "a": 2 }))] {
            assert_eq!(*unwrapped(&text.into()), inner);
        }
        for text in ["1", "true", "\"a\"", "[1", "{a}", "a", ""] {
            assert_eq!(*unwrapped(&text.into()), Value::from(text));
        }
    }
}
