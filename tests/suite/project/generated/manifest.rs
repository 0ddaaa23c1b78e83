//! Renders the parts of the extension's manifest that come from the table.

use cairn_protocol::settings::*;
use serde_json::{Map, Value, json};

/// Renders `contributes.configuration` of the manifest, and its texts by the keys that stand for them
/// there and in `package.nls.json`.
pub(super) fn configuration() -> (Value, Map<String, Value>) {
    let mut texts = Map::new();
    let mut groups = groups();
    for group in &mut groups {
        let title = group["title"].as_str().unwrap_or_default().to_lowercase();
        take_texts(group, &format!("{GROUP_PREFIX}{title}"), &mut texts);
    }
    (groups.into(), texts)
}

/// Prefix of the keys of texts about a group.
const GROUP_PREFIX: &str = "settings.";

/// True for the key of a text of the settings.
pub(super) fn is_text_key(key: &str) -> bool {
    key.starts_with(GROUP_PREFIX) || key.split_once('.').is_some_and(|(first, _)| first == SECTION)
}

/// Replaces the texts below a value by `%key%`, where the keys begin with a path. Equal texts have one key.
fn take_texts(value: &mut Value, path: &str, texts: &mut Map<String, Value>) {
    let Value::Object(object) = value else {
        if let Value::Array(values) = value {
            values.iter_mut().for_each(|value| take_texts(value, path, texts));
        }
        return;
    };
    let names = object.get("enum").and_then(Value::as_array).cloned().unwrap_or_default();
    for (name, inside) in object {
        match (name.as_str(), inside) {
            ("title", text) => take(texts, text, path.to_owned()),
            ("description" | "markdownDescription", text) => {
                take(texts, text, format!("{path}.description"));
            }
            ("enumDescriptions" | "markdownEnumDescriptions", Value::Array(values)) => {
                for (text, name) in values.iter_mut().zip(&names) {
                    take(texts, text, format!("{path}.{}", name.as_str().unwrap_or_default()));
                }
            }
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    // Names of settings are whole keys; those of their members are not.
                    let below = if path.starts_with(GROUP_PREFIX) {
                        name.clone()
                    } else {
                        format!("{path}.{name}")
                    };
                    take_texts(property, &below, texts);
                }
            }
            ("items" | "anyOf", inside) => take_texts(inside, path, texts),
            _ => {}
        }
    }
}

fn take(texts: &mut Map<String, Value>, text: &mut Value, key: String) {
    let known = texts.iter().find(|(_, other)| *other == text).map(|(key, _)| key.clone());
    let key = known.unwrap_or(key);
    let text = std::mem::replace(text, format!("%{key}%").into());
    texts.insert(key, text);
}

fn groups() -> Vec<Value> {
    let groups = GROUPS.iter().zip(1..).map(|(group, order)| {
        let properties: Map<String, Value> = group
            .settings
            .iter()
            .zip(1..)
            .map(|(setting, order)| (name(setting), property(setting, order)))
            .collect();
        json!({ "title": group.title, "order": order, "properties": properties })
    });
    groups.collect()
}

/// Renders `capabilities.untrustedWorkspaces.restrictedConfigurations`: settings that a workspace
/// cannot set.
pub(super) fn restricted() -> Value {
    all().filter(|it| it.scope != SettingScope::Workspace).map(|it| Value::from(name(it))).collect()
}

fn name(setting: &Setting) -> String {
    format!("{SECTION}.{}", setting.key)
}

fn property(setting: &Setting, order: u32) -> Value {
    let mut property = Map::new();
    let mut put = |key: &str, value: Value| property.insert(key.to_owned(), value);
    put_kind(setting.kind, |key, value| {
        put(key, value);
    });
    let (key, text) = described("description", "markdownDescription", setting.description);
    put(key, text);
    let scope = match setting.scope {
        SettingScope::User => "application",
        SettingScope::Machine => "machine",
        SettingScope::Workspace => "window",
    };
    put("scope", scope.into());
    put("order", order.into());
    Value::Object(property)
}

/// Puts the type, the default and the limits of a setting.
fn put_kind(kind: SettingKind, mut put: impl FnMut(&str, Value)) {
    match kind {
        SettingKind::Flag { default } => {
            put("type", "boolean".into());
            put("default", default.into());
        }
        SettingKind::Choice { values, default } => {
            put("type", "string".into());
            for (key, value) in enumeration(values) {
                put(&key, value);
            }
            put("default", default.into());
        }
        SettingKind::Text { multiline } => {
            put("type", "string".into());
            put("default", "".into());
            if multiline {
                put("editPresentation", "multilineText".into());
            }
        }
        SettingKind::Integer { minimum, default } => {
            let number =
                if default.is_some() { json!("integer") } else { json!(["integer", "null"]) };
            put("type", number);
            put("default", json!(default));
            put("minimum", minimum.into());
        }
        SettingKind::List => {
            put("type", "array".into());
            put("items", json!({ "type": "string" }));
            put("default", json!([]));
        }
        SettingKind::Members { members, nullable } => {
            put("type", if nullable { json!(["object", "null"]) } else { json!("object") });
            put("default", if nullable { Value::Null } else { json!({}) });
            let inside = members.iter().map(|it| (it.key.to_owned(), member(it)));
            put("properties", Value::Object(inside.collect()));
            let required: Vec<_> =
                members.iter().filter(|member| member.required).map(|it| it.key).collect();
            if !required.is_empty() {
                put("required", json!(required));
            }
            put("additionalProperties", false.into());
        }
        SettingKind::Hooks { events } => {
            put("type", "object".into());
            put("default", json!({}));
            let inside = events.iter().map(|event| (event.key.to_owned(), hooks(event)));
            put("properties", Value::Object(inside.collect()));
            put("additionalProperties", false.into());
        }
    }
}

fn member(member: &SettingMember) -> Value {
    let mut schema = Map::new();
    match member.kind {
        MemberKind::Number => {
            schema.insert("type".into(), "number".into());
            schema.insert("minimum".into(), 0.into());
        }
        MemberKind::Integer { minimum } => {
            schema.insert("type".into(), "integer".into());
            schema.insert("minimum".into(), minimum.into());
        }
        MemberKind::Choice(values) => {
            schema.insert("type".into(), "string".into());
            schema.extend(enumeration(values));
        }
    }
    let (key, text) = described("description", "markdownDescription", member.description);
    schema.insert(key.into(), text);
    Value::Object(schema)
}

fn enumeration(values: &[SettingChoice]) -> Vec<(String, Value)> {
    let names: Vec<_> = values.iter().map(|choice| choice.value).collect();
    let texts: Vec<_> = values.iter().map(|choice| choice.description).collect();
    let key = if texts.iter().any(|text| text.contains('`')) {
        "markdownEnumDescriptions"
    } else {
        "enumDescriptions"
    };
    vec![("enum".to_owned(), json!(names)), (key.to_owned(), json!(texts))]
}

fn hooks(event: &HookEventSetting) -> Value {
    let mut inside = Map::new();
    inside.insert(
        "command".into(),
        json!({
            "type": "string",
            "minLength": 1,
            "description": "Command that the shell runs in the first workspace folder.",
        }),
    );
    if event.about_tools {
        inside.insert(
            "tools".into(),
            json!({
                "type": "array",
                "items": { "type": "string" },
                "description": "Names of tools that the hook is limited to, such as bash or edit_file.",
            }),
        );
    }
    inside.insert(
        "seconds".into(),
        json!({
            "type": "integer",
            "minimum": 1,
            "maximum": 600,
            "description": "Maximum number of seconds that the hook may run. The default is 10.",
        }),
    );
    json!({
        "type": "array",
        "items": { "anyOf": [
            { "type": "string", "minLength": 1 },
            {
                "type": "object",
                "required": ["command"],
                "additionalProperties": false,
                "properties": inside,
            },
        ] },
    })
}

/// Returns the key and value of a text. VS Code renders backticks and links only under the Markdown
/// key.
fn described(plain: &'static str, markdown: &'static str, text: &str) -> (&'static str, Value) {
    (if text.contains('`') { markdown } else { plain }, text.into())
}
