//! Reads the section `cairn` of the settings, from whichever client it comes.
//!
//! The table of settings is [`cairn_protocol::settings`]. An unknown key or a wrong type is reported
//! by its name and ignored; it never stops the daemon.

use std::{sync::Arc, time::Duration};

use cairn_core::{
    context::Price,
    hook::{Hook, HookEvent, Hooks, USUAL_SECONDS},
    plan::{
        Dialect,
        reminder::{NagPolicy, ReminderSettings},
    },
    policy::command::CommandRules,
};
use cairn_protocol::{ReviewMode, StatusProblem, settings};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use self::fault::own_text;
use crate::{
    exec::{CommandLimits, sandbox},
    model::choose::{ApiChoice, ModelSettings, ProviderChoice},
};

#[derive(Debug, Clone)]
pub struct Settings {
    pub model: ModelSettings,
    /// `None`: chosen by the model's name.
    pub dialect: Option<Dialect>,
    /// Their texts depend on the dialect.
    pub reminders: ReminderSettings,
    pub hooks: Arc<Hooks>,
    pub review_mode: ReviewMode,
    pub save_at_turn_end: bool,
    pub max_rounds: u32,
    pub command_limits: CommandLimits,
    pub commands: Arc<CommandRules>,
    pub sandbox: sandbox::SandboxSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            model: ModelSettings::default(),
            dialect: None,
            reminders: ReminderSettings::default(),
            hooks: Arc::default(),
            review_mode: ReviewMode::Review,
            save_at_turn_end: true,
            max_rounds: 100,
            command_limits: CommandLimits::default(),
            commands: Arc::default(),
            sandbox: sandbox::SandboxSettings::default(),
        }
    }
}

mod fault;
mod lists;

use fault::{ValueFault, choice, dollars, flag, positive, text, type_of};
pub use settings::SECTION;

/// Returns true for a member of the section: a group with its keys, or a dotted key.
pub fn is_setting(key: &str, value: &Value) -> bool {
    let is_group = |name| settings::is_section(name) || name == "trace";
    match key.split_once('.') {
        Some((group, _)) => is_group(group),
        None => value.is_object() && is_group(key),
    }
}

/// Reads the `cairn` section. Nested objects and dotted keys are equivalent. Returns the settings,
/// and a fault for each key that was ignored or has a new name.
pub fn read(section: &Value) -> (Settings, Vec<StatusProblem>) {
    let mut reader = SettingsReader {
        settings: Settings::default(),
        faults: Vec::new(),
        reminder_policy: None,
        reminder_rounds: None,
        commands: CommandRules::default(),
        hooks: Hooks::default(),
        price: [None; 3],
    };
    let mut values = Vec::new();
    match section {
        Value::Null => {}
        Value::Object(map) => flatten("", map, &mut values),
        other => reader.wrong("", "an object of settings", other),
    }
    for (path, value) in &values {
        reader.key(path, value);
    }
    reader.finish()
}

/// Lists the values of an object and of nested objects, by dotted key.
fn flatten<'a>(prefix: &str, map: &'a Map<String, Value>, values: &mut Vec<(String, &'a Value)>) {
    for (key, value) in map {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            // Some editors send a whole section with nulls for unset keys.
            Value::Null => {}
            Value::Object(inner) => flatten(&path, inner, values),
            value => values.push((path, value)),
        }
    }
}

struct SettingsReader {
    settings: Settings,
    faults: Vec<StatusProblem>,
    reminder_policy: Option<String>,
    reminder_rounds: Option<u32>,
    commands: CommandRules,
    hooks: Hooks,
    /// Dollars per million tokens of input, cached input and output.
    price: [Option<f64>; 3],
}

impl SettingsReader {
    fn key(&mut self, path: &str, value: &Value) {
        let is_known = path == "trace.server" || settings::keys().any(|key| key == path);
        let fault = match is_known {
            true => self.apply(path, value).err(),
            false => Some(ValueFault::Unknown),
        };
        self.faults.extend(fault.map(|fault| fault.of(path, value)));
    }

    /// Takes a value. Settings of the editor have no effect here.
    fn apply(&mut self, path: &str, value: &Value) -> Result<(), ValueFault> {
        let Settings { model, reminders, sandbox, command_limits: limits, .. } = &mut self.settings;
        let seconds = |value| Ok(Duration::from_secs(positive(value)?.into()));
        match path {
            "model.provider" => {
                choice(path, value)?;
                model.provider = ProviderChoice::deserialize(value).unwrap_or_default();
            }
            "model.api" => {
                choice(path, value)?;
                model.api = ApiChoice::deserialize(value).unwrap_or_default();
            }
            "model.name" => model.name = text(value)?,
            "model.baseUrl" => model.base_url = text(value)?,
            "model.plainHttpHosts" => {
                self.settings.model.plain_http_hosts = self.hosts(path, value);
            }
            "model.replayFile" => model.replay_file = text(value)?.map(Into::into),
            "model.maxTokens" => model.max_tokens = Some(positive(value)?),
            "model.contextTokens" => model.context.tokens = Some(positive(value)?.into()),
            "model.price.input" => self.price[0] = Some(dollars(value)?),
            "model.price.cachedInput" => self.price[1] = Some(dollars(value)?),
            "model.price.output" => self.price[2] = Some(dollars(value)?),
            "plan.dialect" => {
                let name = choice(path, value)?;
                self.settings.dialect = Dialect::all().find(|it| it.name() == name);
            }
            "plan.initialReminder" => reminders.initial = flag(value)?,
            "plan.verification" => reminders.verification = flag(value)?,
            "plan.endReminder" => reminders.end = flag(value)?,
            "plan.texts.initial" => reminders.texts.initial = own_text(value)?,
            "plan.texts.stale" => reminders.texts.stale = own_text(value)?,
            "plan.texts.unplanned" => reminders.texts.unplanned = own_text(value)?,
            "plan.texts.verification" => reminders.texts.verification = own_text(value)?,
            "plan.reminder.policy" => self.reminder_policy = Some(choice(path, value)?.to_owned()),
            "plan.reminder.rounds" => self.reminder_rounds = Some(positive(value)?),
            "review.mode" => {
                choice(path, value)?;
                self.settings.review_mode = ReviewMode::deserialize(value).unwrap_or_default();
            }
            "review.saveAtTurnEnd" => self.settings.save_at_turn_end = flag(value)?,
            "shell.approval" => self.commands.unasked = choice(path, value)? == "allowlist",
            "shell.allow" => self.commands.allow = self.rules(path, value),
            "shell.deny" => self.commands.deny = self.rules(path, value),
            "sandbox.mode" => sandbox.on = choice(path, value)? != "off",
            "sandbox.network" => sandbox.network = flag(value)?,
            "sandbox.writable" => self.settings.sandbox.writable = self.folders(path, value),
            "sandbox.readable" => self.settings.sandbox.readable = self.readable(path, value),
            "limits.rounds" => self.settings.max_rounds = positive(value)?,
            "limits.toolSeconds" => limits.usual = seconds(value)?,
            "limits.maxToolSeconds" => limits.longest = seconds(value)?,
            _ => {
                if let Some(event) = path.strip_prefix("hooks.").and_then(HookEvent::named) {
                    self.hooks(path, event, value);
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> (Settings, Vec<StatusProblem>) {
        let policy = self.reminder_policy.as_deref().unwrap_or("reset");
        if let Some(nag) = NagPolicy::from_setting(policy, self.reminder_rounds) {
            self.settings.reminders.nag = nag;
        }
        self.settings.model.context.price = match self.price {
            [Some(input), cached, Some(output)] => {
                Price::per_million(input, cached.unwrap_or(input), output)
            }
            [None, None, None] => None,
            [..] => {
                self.invalid("model.price", "input and output must both be set");
                None
            }
        };
        let limits = &mut self.settings.command_limits;
        limits.longest = limits.longest.max(limits.usual);
        self.settings.commands = Arc::new(self.commands);
        self.settings.hooks = Arc::new(self.hooks);
        (self.settings, self.faults)
    }

    /// Reads hooks: each is a command, or an object with `command` and optionally `tools` and
    /// `seconds`. A hook with any invalid member does not run, because half of a check gives false
    /// safety.
    fn hooks(&mut self, path: &str, event: HookEvent, value: &Value) {
        let Some(entries) = value.as_array() else {
            return self.wrong(path, "a list of hooks", value);
        };
        for entry in entries {
            match hook(event, entry) {
                Ok(hook) => self.hooks.0.push(hook),
                Err(fault) => self.invalid(path, fault),
            }
        }
    }

    fn wrong(&mut self, path: &str, expected: impl Into<String>, value: &Value) {
        self.faults.push(ValueFault::Type(expected.into()).of(path, value));
    }

    fn invalid(&mut self, path: &str, reason: impl Into<String>) {
        self.faults.push(ValueFault::Invalid(reason.into()).of(path, &Value::Null));
    }
}

const LONGEST_HOOK_SECONDS: u64 = 600;

fn hook(event: HookEvent, entry: &Value) -> Result<Hook, String> {
    let mut hook =
        Hook { event, command: String::new(), tools: Vec::new(), seconds: USUAL_SECONDS };
    match entry {
        Value::String(command) => hook.command = command.trim().to_owned(),
        Value::Object(fields) => {
            for (name, value) in fields {
                let wrong = |expected| format!("`{name}` of a hook must be {expected}");
                match name.as_str() {
                    "command" => {
                        let command = value.as_str().ok_or_else(|| wrong("a string"))?;
                        hook.command = command.trim().to_owned();
                    }
                    "tools" => {
                        let names = value.as_array().map(|names| names.iter().map(Value::as_str));
                        let names = names.and_then(|names| names.collect::<Option<Vec<_>>>());
                        let names = names.ok_or_else(|| wrong("a list of names of tools"))?;
                        hook.tools = names.into_iter().map(str::to_owned).collect();
                    }
                    "seconds" => {
                        let seconds =
                            value.as_u64().filter(|it| (1..=LONGEST_HOOK_SECONDS).contains(it));
                        let seconds = seconds.and_then(|seconds| u32::try_from(seconds).ok());
                        hook.seconds =
                            seconds.ok_or_else(|| wrong("a whole number from 1 to 600"))?;
                    }
                    _ => return Err(format!("a hook has no `{name}`")),
                }
            }
        }
        other => return Err(format!("expected a command or an object, found {}", type_of(other))),
    }
    if hook.command.is_empty() {
        return Err("a hook needs a command".to_owned());
    }
    if !hook.tools.is_empty() && !matches!(event, HookEvent::BeforeTool | HookEvent::AfterTool) {
        return Err("only beforeTool and afterTool are about tools".to_owned());
    }
    Ok(hook)
}

#[cfg(test)]
mod tests;
