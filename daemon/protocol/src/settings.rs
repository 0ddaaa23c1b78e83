//! Keys of the settings, with the values of enumerations.
//!
//! The extension's manifest has the rest: text, type, scope, default. A test compares both.

/// Name of the section that all settings are in.
pub const SECTION: &str = "cairn";

/// Keys of all values that can be set, with the values of an enumeration.
const KEYS: &[(&str, &[&str])] = &[
    ("model.provider", &["auto", "anthropic", "openai", "replay"]),
    ("model.name", &[]),
    ("model.baseUrl", &[]),
    ("model.plainHttpHosts", &[]),
    ("model.api", &["auto", "chat", "responses"]),
    ("model.contextTokens", &[]),
    ("model.maxTokens", &[]),
    ("model.price.input", &[]),
    ("model.price.cachedInput", &[]),
    ("model.price.output", &[]),
    ("model.replayFile", &[]),
    (
        "plan.dialect",
        &[
            "auto",
            "todo-write",
            "todo",
            "todo-write-snake",
            "update-plan",
            "write-todos",
            "manage-todo-list",
            "tasks",
        ],
    ),
    ("plan.initialReminder", &[]),
    ("plan.verification", &[]),
    ("plan.endReminder", &[]),
    ("plan.reminder.policy", &["every-round", "reset", "patient", "off"]),
    ("plan.reminder.rounds", &[]),
    ("plan.texts.initial", &[]),
    ("plan.texts.stale", &[]),
    ("plan.texts.unplanned", &[]),
    ("plan.texts.verification", &[]),
    ("review.mode", &["review", "ask", "auto", "plan"]),
    ("review.saveAtTurnEnd", &[]),
    ("review.advance", &[]),
    ("review.removedText", &["inline", "zone", "hover"]),
    ("shell.approval", &["ask", "allowlist"]),
    ("shell.allow", &[]),
    ("shell.deny", &[]),
    ("hooks.beforeTool", &[]),
    ("hooks.afterTool", &[]),
    ("hooks.beforeModel", &[]),
    ("hooks.turnEnd", &[]),
    ("hooks.taskCreated", &[]),
    ("hooks.taskCompleted", &[]),
    ("sandbox.mode", &["on", "off"]),
    ("sandbox.writable", &[]),
    ("sandbox.readable", &[]),
    ("sandbox.network", &[]),
    ("limits.rounds", &[]),
    ("limits.toolSeconds", &[]),
    ("limits.maxToolSeconds", &[]),
    ("notify.done", &[]),
    ("daemon.path", &[]),
];

/// Keys of all values, with dots.
pub fn keys() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|(key, _)| *key)
}

/// Values that the setting or the member with this key may have. Empty if any may be given.
pub fn choices(key: &str) -> &'static [&'static str] {
    KEYS.iter().find(|(known, _)| *known == key).map_or(&[], |(_, values)| *values)
}

/// True for the first part of a key.
pub fn is_section(name: &str) -> bool {
    keys().any(|key| key.split('.').next() == Some(name))
}
