//! Forms in which models of other agents call tools, translated to the form of Cairn's tools.
//!
//! A model uses the names that it was trained with, whatever the schema says. Names of tools and
//! arguments with one meaning are translated; an argument without a meaning here is named in the
//! result of the call, because a result that left it out without a word would look right.
//!
//! The names are those of the documented tools of Claude Code, Codex, Gemini CLI, Qwen Code, Cursor,
//! Cline, opencode, and of Anthropic's text editor tool.

mod names;
pub mod patch;
mod types;
mod written;

use serde_json::{Map, Value, json};

pub use self::written::is_written;
use crate::{model::ToolSpec, sanitize};

/// Tool that a turn offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedTool {
    pub name: String,
    /// True if its calls may run at the same time as other such calls.
    pub parallel: bool,
    /// Schema of each argument.
    pub arguments: Map<String, Value>,
}

impl From<&ToolSpec> for OfferedTool {
    fn from(spec: &ToolSpec) -> Self {
        let arguments = spec.schema["properties"].as_object().cloned().unwrap_or_default();
        Self { name: spec.name.clone(), parallel: spec.parallel, arguments }
    }
}

/// Call in the form of Cairn's tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Translated {
    pub name: String,
    pub arguments: Map<String, Value>,
    /// Names of arguments that the tool does not know.
    pub ignored: Vec<String>,
}

/// Translates a call: to several for a patch of several files. `None`: no tool of this or a similar name is offered.
pub fn translate(
    name: &str,
    arguments: &Map<String, Value>,
    tools: &[OfferedTool],
) -> Option<Vec<Translated>> {
    let is_offered = |name: &str| tools.iter().any(|tool| tool.name == name);
    let calls = patch_in(bare_name(name), arguments).and_then(|patch| patch::translate(patch).ok());
    match calls.filter(|calls| calls.iter().all(|(tool, _)| is_offered(tool))) {
        Some(calls) => {
            let translated = |(tool, arguments): (&str, _)| Translated {
                name: tool.to_owned(),
                arguments,
                ignored: Vec::new(),
            };
            Some(calls.into_iter().map(translated).collect())
        }
        None => Some(vec![translate_one(name, arguments, tools)?]),
    }
}

fn translate_one(
    name: &str,
    arguments: &Map<String, Value>,
    tools: &[OfferedTool],
) -> Option<Translated> {
    let offered = |name: &str| tools.iter().find(|tool| tool.name == name);
    let mut rest = arguments.clone();
    let bare = bare_name(name);
    let tool = match offered(name).or_else(|| offered(bare)) {
        Some(tool) => tool,
        None if names::TEXT_EDITORS.contains(&plain(bare).as_str()) => {
            offered(split_editor_command(&mut rest)?)?
        }
        None => {
            let plain = plain(bare);
            let same =
                |names: &&(&str, &[&str])| names.0 == plain || names.1.contains(&plain.as_str());
            offered(names::TOOLS.iter().find(same)?.0)?
        }
    };
    if names::NAMES_UNKNOWN.contains(&tool.name.as_str()) {
        let name = tool.name.clone();
        return Some(Translated { name, arguments: rest, ignored: Vec::new() });
    }
    let mut form = Form { tool, arguments: Map::new(), rest };
    form.take_own();
    form.take_aliases(names::arguments(&tool.name));
    form.fit_types();
    match tool.name.as_str() {
        "read_file" => form.take_lines(),
        "write_file" => {
            if let Some(edit) = form.take_addition() {
                return offered("edit_file").map(|_| edit);
            }
        }
        "grep" => form.take_options(),
        "bash" => form.take_shell(),
        "edit_file" => {
            form.translate_edits();
            // The edits have their own names only now.
            form.fit_types();
        }
        _ => {}
    }
    let ignored = form.rest.keys().filter(|name| !names::SAYS_NOTHING.contains(&name.as_str()));
    Some(Translated {
        name: tool.name.clone(),
        ignored: ignored.cloned().collect(),
        arguments: form.arguments,
    })
}

/// The patch of a call, of a tool or of a shell command.
fn patch_in<'a>(name: &str, arguments: &'a Map<String, Value>) -> Option<&'a str> {
    let has = |name: &&str| arguments.contains_key(*name);
    match plain(name).as_str() {
        "applypatch" => patch::of_call(arguments),
        // The paths of a patch in another folder would be those of other files.
        shell if names::SHELLS.contains(&shell) && !names::FOLDERS.iter().any(has) => {
            ["command", "cmd"].iter().find_map(|name| patch::of_command(arguments.get(*name)?))
        }
        _ => None,
    }
}

/// Text for the model about a tool that does what one of this name would do; empty without one.
pub fn similar_text(name: &str, tools: &[OfferedTool]) -> String {
    let plain = plain(bare_name(name));
    if plain.contains("notebook") {
        return "A notebook is a JSON file: change a cell's lines in it with edit_file.".to_owned();
    }
    let similar = names::SIMILAR
        .iter()
        .filter(|(_, words)| words.iter().any(|word| plain.contains(word)))
        .find_map(|(own, _)| tools.iter().find(|tool| tool.name == *own));
    let Some(tool) = similar else { return String::new() };
    let arguments: Vec<&str> = tool.arguments.keys().map(String::as_str).collect();
    let several = if plain.contains("many") || plain.contains("multi") {
        "; several calls in one answer run at once"
    } else {
        ""
    };
    format!("Use {} ({}){several}.", tool.name, arguments.join(", "))
}

/// Text for the model about arguments that a tool does not know.
pub fn ignored_text(ignored: &[String], tool: &OfferedTool) -> String {
    /// Names in the text; a model may write any number.
    const MAX_NAMED: usize = 8;
    let quoted =
        |name: &String| format!("`{}`", sanitize::one_line(&sanitize::excerpt(name, 200), 40));
    let named: Vec<String> = ignored.iter().take(MAX_NAMED).map(quoted).collect();
    let more = if ignored.len() > MAX_NAMED { ", …" } else { "" };
    format!(
        "Ignored, because {} does not know it: {}{more}. Its arguments are: {}.",
        tool.name,
        named.join(", "),
        tool.arguments.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    )
}

/// Name of a tool without what servers with a wrong template leave around it: `functions.grep:0`,
/// `default_api:grep` and `grep<|channel|>commentary` are `grep`.
pub fn bare_name(name: &str) -> &str {
    let name = name.split("<|").next().unwrap_or(name);
    let name =
        name.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix(':').unwrap_or(name);
    let is_word = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    name.split_once(['.', ':']).filter(|(prefix, _)| is_word(prefix)).map_or(name, |(_, rest)| rest)
}

/// Name without case and word separators: `MultiEdit` and `multi_edit` are the same.
pub(crate) fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '_' | '-' | '.'));
    letters.flat_map(char::to_lowercase).collect()
}

/// Takes the command of a text editor tool, and returns the tool for it.
fn split_editor_command(arguments: &mut Map<String, Value>) -> Option<&'static str> {
    let command = arguments.remove("command")?;
    match command.as_str()? {
        "view" => Some("read_file"),
        "create" => Some("write_file"),
        "str_replace" | "insert" => Some("edit_file"),
        _ => None,
    }
}

/// Translation in progress.
struct Form<'a> {
    tool: &'a OfferedTool,
    /// Arguments in Cairn's form.
    arguments: Map<String, Value>,
    /// Arguments that are not translated yet.
    rest: Map<String, Value>,
}

impl Form<'_> {
    fn knows(&self, argument: &str) -> bool {
        self.tool.arguments.contains_key(argument)
            || names::UNLISTED.contains(&(self.tool.name.as_str(), argument))
    }

    /// Sets an argument that the tool knows and the call does not give in Cairn's form.
    fn set(&mut self, argument: &str, value: Value) {
        if self.knows(argument) && !self.arguments.contains_key(argument) {
            self.arguments.insert(argument.to_owned(), value);
        }
    }

    /// Takes an argument; `null` stands for a missing one.
    fn take(&mut self, name: &str) -> Option<Value> {
        self.rest.shift_remove(name).filter(|value| !value.is_null())
    }

    fn take_count(&mut self, name: &str) -> Option<u64> {
        match self.take(name)? {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    fn take_own(&mut self) {
        let rest = std::mem::take(&mut self.rest);
        for (name, value) in rest {
            let place = if self.knows(&name) { &mut self.arguments } else { &mut self.rest };
            place.insert(name, value);
        }
    }

    fn take_aliases(&mut self, aliases: names::Aliases) {
        for (own, others) in aliases {
            for other in *others {
                if self.knows(own)
                    && !self.arguments.contains_key(*own)
                    && let Some(value) = self.take(other)
                {
                    self.set(own, value);
                }
            }
        }
    }

    fn fit_types(&mut self) {
        for (name, schema) in &self.tool.arguments {
            if let Some(value) = self.arguments.get_mut(name) {
                types::fit(value, schema);
            }
        }
    }

    /// First and last line, counted from 1, in place of `offset` and `limit`.
    fn take_lines(&mut self) {
        let (first, last) = match self.take("view_range") {
            Some(Value::Array(range)) => {
                (range.first().and_then(Value::as_u64), range.get(1).and_then(Value::as_u64))
            }
            _ => {
                let first = self.take_count("start_line").or_else(|| self.take_count("startLine"));
                (first, self.take_count("end_line").or_else(|| self.take_count("endLine")))
            }
        };
        if let Some(first) = first {
            self.set("offset", json!(first));
        }
        if let Some(last) = last {
            self.set("limit", json!((last + 1).saturating_sub(first.unwrap_or(1)).max(1)));
        }
    }

    /// An addition to a file in the form of Kimi CLI, as an edit at its end.
    fn take_addition(&mut self) -> Option<Translated> {
        if self.take("mode")? != "append" {
            return None;
        }
        let (path, text) = (self.arguments.remove("path")?, self.arguments.remove("content")?);
        let edit = json!({ "old_text": "", "new_text": text, "after": [], "at_end": true });
        let arguments = [("path".to_owned(), path), ("edits".to_owned(), json!([edit]))];
        let (name, ignored) = ("edit_file".to_owned(), Vec::new());
        Some(Translated { name, arguments: arguments.into_iter().collect(), ignored })
    }

    /// Options of the program grep, and the negation of `ignore_case`.
    fn take_options(&mut self) {
        for name in ["case_sensitive", "caseSensitive"] {
            if let Some(Value::Bool(sensitive)) = self.take(name) {
                self.set("ignore_case", json!(!sensitive));
            }
        }
        for (option, own) in [("-C", "context"), ("-A", "after"), ("-B", "before")] {
            if let Some(lines) = self.take_count(option) {
                self.set(own, json!(lines));
            }
        }
        if let Some(Value::String(mode)) = self.arguments.get_mut("output")
            && mode == "files_with_matches"
        {
            "files".clone_into(mode);
        }
    }

    /// A command as words, its folder, and a time limit in seconds.
    fn take_shell(&mut self) {
        if let Some(Value::Array(words)) = self.arguments.get("command") {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            if let Some(words) = words {
                let command = joined(&words);
                self.arguments.insert("command".to_owned(), Value::String(command));
            }
        }
        if let Some(Value::Number(limit)) = self.take("timeout") {
            // Milliseconds in Claude Code and opencode; nobody gives a command less than a second.
            let limit = limit.as_u64().unwrap_or_default();
            let ms = if limit < 1_000 { limit * 1_000 } else { limit };
            self.set("timeout_ms", json!(ms));
        }
        let folders: Vec<Value> =
            names::FOLDERS.iter().filter_map(|name| self.take(name)).collect();
        if let (Some(Value::String(folder)), Some(Value::String(command))) =
            (folders.first(), self.arguments.get_mut("command"))
            && !matches!(folder.as_str(), "" | "." | "./")
        {
            *command = in_folder(folder, command);
        }
    }

    /// Several edits of one file, each with the names of one edit.
    fn translate_edits(&mut self) {
        let Some(Value::Array(edits)) = self.arguments.get_mut("edits") else { return };
        for edit in edits.iter_mut().filter_map(Value::as_object_mut) {
            for (own, others) in names::EDIT {
                for other in *others {
                    if !edit.contains_key(*own)
                        && let Some(value) = edit.shift_remove(*other)
                    {
                        edit.insert((*own).to_owned(), value);
                    }
                }
            }
        }
    }
}

/// Returns a command that was given as words. `bash -lc SCRIPT` is the script.
fn joined(words: &[&str]) -> String {
    if let [shell, option, script] = words
        && ["bash", "sh", "zsh", "/bin/bash", "/bin/sh"].contains(shell)
        && ["-c", "-lc"].contains(option)
    {
        return (*script).to_owned();
    }
    shlex::try_join(words.iter().copied()).unwrap_or_else(|_| words.join(" "))
}

/// Returns a command that changes to a folder first, and ends if it cannot.
fn in_folder(folder: &str, command: &str) -> String {
    // A NUL character, which no shell can take; the tool refuses it in words.
    let folder = shlex::try_quote(folder).unwrap_or(folder.into());
    // `cd … && a; b` would run `b` in the wrong folder.
    format!("cd {folder} || exit\n{command}")
}

#[cfg(test)]
mod tests;
