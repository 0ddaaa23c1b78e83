//! Renders the reference page of the settings in Markdown.

use std::fmt::Write;

use cairn_protocol::settings::{
    GROUPS, MemberKind, SECTION, Setting, SettingChoice, SettingKind, SettingScope,
};

const HEAD: &str = "<!-- Generated from daemon/protocol/src/settings/table.rs by `make gen`. Do not edit. -->

# Settings

All settings are in one section, `cairn`. In VS Code they are in the settings editor under *Extensions, Cairn*.
Other clients send the same keys without `cairn.` ([protocol.md](protocol.md#settings)).

A key that is unknown, or a value of the wrong type, is reported by name and ignored. The scope says who may
set a value: *user* and *machine* settings count only from the user's own settings, *workspace* settings also
from the repository ([why](security.md)). A machine setting is not synchronised between machines.
";

/// Renders `docs/settings.md`.
pub(super) fn page() -> String {
    let mut page = HEAD.to_owned();
    for group in GROUPS {
        _ = write!(page, "\n## {}\n", group.title);
        for setting in group.settings {
            entry(&mut page, setting);
        }
    }
    page
}

fn entry(page: &mut String, setting: &Setting) {
    let scope = match setting.scope {
        SettingScope::User => "user",
        SettingScope::Machine => "machine",
        SettingScope::Workspace => "workspace",
    };
    let (kind, default) = match setting.kind {
        SettingKind::Flag { default } => ("boolean", format!("`{default}`")),
        SettingKind::Choice { default, .. } => ("one of the values below", format!("`{default}`")),
        SettingKind::Text { .. } => ("text", "empty".to_owned()),
        SettingKind::Integer { default: Some(default), .. } => {
            ("whole number", format!("`{default}`"))
        }
        SettingKind::Integer { default: None, .. } => ("whole number", "not set".to_owned()),
        SettingKind::List => ("list of texts", "empty".to_owned()),
        SettingKind::Members { .. } => ("object", "not set".to_owned()),
        SettingKind::Hooks { .. } => ("object with lists of commands", "empty".to_owned()),
    };
    let limit = match setting.kind {
        SettingKind::Integer { minimum, .. } if minimum > 1 => format!(", at least {minimum}"),
        _ => String::new(),
    };
    _ = write!(page, "\n### `{SECTION}.{}`\n\n{}", setting.key, linked(setting.description));
    _ = write!(page, "\n\nType: {kind}{limit}. Default: {default}. Scope: {scope}.\n");
    match setting.kind {
        SettingKind::Choice { values, .. } => choices(page, values),
        SettingKind::Members { members, .. } => {
            page.push_str("\n| key | meaning |\n|---|---|\n");
            for member in members {
                let needed = if member.required { " Required." } else { "" };
                let mut text = format!("{}{needed}", linked(member.description));
                if let MemberKind::Choice(values) = member.kind {
                    for choice in values {
                        _ = write!(text, " `{}`: {}", choice.value, choice.description);
                    }
                }
                _ = writeln!(page, "| `{}` | {text} |", member.key);
            }
        }
        _ => {}
    }
}

fn choices(page: &mut String, values: &[SettingChoice]) {
    page.push_str("\n| value | meaning |\n|---|---|\n");
    for choice in values {
        _ = writeln!(page, "| `{}` | {} |", choice.value, linked(choice.description));
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
