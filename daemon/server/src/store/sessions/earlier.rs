//! Fields of lines of earlier versions, in the form that the protocol has now.

use cairn_protocol::{ToolLabel, TurnNotice, UiMessage};
use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error};
use serde_json::{Value, json};

/// Reads a value of this version, or of an earlier one.
pub(super) fn upgraded<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    reader: D,
) -> Result<T, D::Error> {
    let mut value = Value::deserialize(reader)?;
    upgrade(&mut value);
    serde_json::from_value(value).map_err(D::Error::custom)
}

/// Reads a notice. `None` if this version does not know its code.
pub(super) fn notice<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<UiMessage>, D::Error> {
    let value = Value::deserialize(reader)?;
    let message = serde_json::from_value(value.clone()).ok();
    let earlier = || Some(serde_json::from_value::<TurnNotice>(value).ok()?.message());
    Ok(message.or_else(earlier))
}

fn upgrade(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(upgrade),
        Value::Object(fields) => {
            // A call had its title as a text, and later beside it as a code with arguments.
            if fields.contains_key("callId")
                && let Some(Value::String(title)) = fields.get("title")
            {
                let label = fields.get("label").cloned().unwrap_or_default();
                let label = serde_json::from_value(label);
                let label = label.unwrap_or(ToolLabel::Named { title: title.clone() });
                fields.insert("title".to_owned(), json!(label.message()));
            }
            // Lines of a file were two numbers: from 0 without the last, and in an attachment from 1.
            if let Some([first, last]) =
                fields.get("lines").and_then(Value::as_array).map(Vec::as_slice)
            {
                let from = u64::from(fields.contains_key("kind"));
                let at = |line: &Value| json!({"line": line.as_u64().unwrap_or(0).saturating_sub(from), "character": 0});
                let range = json!({"start": at(first), "end": at(last)});
                fields.insert("range".to_owned(), range);
            }
            fields.values_mut().for_each(upgrade);
        }
        _ => {}
    }
}
