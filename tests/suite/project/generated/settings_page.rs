//! Renders the reference page of the settings from the extension's manifest.

use std::fmt::Write;

use serde_json::Value;

use super::read_json;

const HEAD: &str = "<!-- Generated from vscode-extension/package.json by `make gen`. Do not edit. -->

# Settings

All settings are in one section, `cairn`. In VS Code they are in the settings editor under *Extensions, Cairn*.
Other clients send the same keys without `cairn.` ([protocol.md](protocol.md#settings)).

A key that is unknown, or a value of the wrong type, is reported by name and ignored. The scope says who may
set a value: *user* and *machine* settings count only from the user's own settings, *workspace* settings also
from the repository ([why](security.md)). A machine setting is not synchronised between machines.
";

/// Manifest with its English texts.
struct Manifest {
    groups: Value,
    texts: Value,
}

/// Renders `docs/settings.md`.
pub(super) fn page() -> String {
    let mut manifest = read_json("vscode-extension/package.json");
    let groups = manifest["contributes"]["configuration"].take();
    Manifest { groups, texts: read_json("vscode-extension/package.nls.json") }.page()
}

impl Manifest {
    fn page(&self) -> String {
        let mut page = HEAD.to_owned();
        for group in self.groups.as_array().unwrap() {
            _ = write!(page, "\n## {}\n", self.text(&group["title"]));
            for (name, setting) in group["properties"].as_object().unwrap() {
                self.entry(&mut page, name, setting);
            }
        }
        page
    }

    /// Text that stands for a value such as `%cairn.model.name.description%`.
    fn text(&self, value: &Value) -> &str {
        self.texts[value.as_str().unwrap().trim_matches('%')].as_str().unwrap()
    }

    fn described(&self, value: &Value) -> String {
        linked(self.text(value.get("markdownDescription").unwrap_or(&value["description"])))
    }

    fn entry(&self, page: &mut String, name: &str, setting: &Value) {
        let members = setting["properties"].as_object();
        let has_lists = members.is_some_and(|all| all.values().any(|it| it["type"] == "array"));
        let kind = match setting["type"].as_str().or_else(|| setting["type"][0].as_str()).unwrap() {
            "string" if setting.get("enum").is_some() => "one of the values below",
            "string" => "text",
            "integer" => "whole number",
            "array" => "list of texts",
            "object" if has_lists => "object with lists of commands",
            kind => kind,
        };
        let default = match &setting["default"] {
            Value::String(text) if !text.is_empty() => format!("`{text}`"),
            Value::Bool(_) | Value::Number(_) => format!("`{}`", setting["default"]),
            Value::Null => "not set".to_owned(),
            Value::Object(_) if !has_lists => "not set".to_owned(),
            _ => "empty".to_owned(),
        };
        let limit = match setting["minimum"].as_u64() {
            Some(minimum) if minimum > 1 => format!(", at least {minimum}"),
            _ => String::new(),
        };
        let scope = match setting["scope"].as_str().unwrap() {
            "application" => "user",
            "window" => "workspace",
            scope => scope,
        };
        _ = write!(page, "\n### `{name}`\n\n{}", self.described(setting));
        _ = write!(page, "\n\nType: {kind}{limit}. Default: {default}. Scope: {scope}.\n");
        let values = self.values(setting);
        if !values.is_empty() {
            page.push_str("\n| value | meaning |\n|---|---|\n");
            for (value, text) in values {
                _ = writeln!(page, "| `{value}` | {text} |");
            }
        }
        if let Some(members) = members.filter(|_| !has_lists) {
            page.push_str("\n| key | meaning |\n|---|---|\n");
            for (key, member) in members {
                let required = setting["required"]
                    .as_array()
                    .is_some_and(|all| all.contains(&key.as_str().into()));
                let mut text = self.described(member);
                text.push_str(if required { " Required." } else { "" });
                for (value, meaning) in self.values(member) {
                    _ = write!(text, " `{value}`: {meaning}");
                }
                _ = writeln!(page, "| `{key}` | {text} |");
            }
        }
    }

    /// Values of an enumeration, with their texts.
    fn values<'a>(&self, schema: &'a Value) -> Vec<(&'a str, String)> {
        let texts = schema.get("markdownEnumDescriptions").unwrap_or(&schema["enumDescriptions"]);
        let texts = texts.as_array().into_iter().flatten().map(|it| linked(self.text(it)));
        let values = schema["enum"].as_array().into_iter().flatten();
        values.filter_map(Value::as_str).zip(texts).collect()
    }
}

/// Converts VS Code's links between settings (`` `#cairn.shell.allow#` ``) to Markdown links.
fn linked(text: &str) -> String {
    let mut parts = text.split("`#");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once("#`") {
            Some((name, rest)) => _ = write!(out, "[`{name}`](#{}){rest}", anchor(name)),
            None => out.push_str(part),
        }
    }
    out
}

fn anchor(name: &str) -> String {
    name.to_lowercase().replace('.', "")
}
