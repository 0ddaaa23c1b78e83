//! Settings of a run: `config.toml` of the user's configuration folder, the environment, and above them
//! the options of the command line.
//!
//! The file has the keys of the editor's settings, without `cairn.`. A fault in it stops the run: a
//! script must not continue without a rule that its author wrote.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cairn_core::policy::command::Rule;
use cairn_protocol::{StatusProblem, settings};
use serde_json::{Map, Value};
use toml_edit::{Document, TableLike};

use crate::{
    cli::{RunArguments, RunMode},
    config, small_file,
};

/// Name of the file in the configuration folder.
const FILE: &str = "config.toml";
/// Longest file that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// Settings by dotted key.
pub(super) type Section = Map<String, Value>;

/// Reads the file and adds the environment and the options. A fault is a text for the user.
pub(super) fn read(
    arguments: &RunArguments,
    config_dir: Option<&Path>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Section, String> {
    let mut settings = without_options(arguments.config.as_deref(), config_dir, variable)?;
    add_options(&mut settings, arguments)?;
    Ok(settings)
}

/// Reads the file, which may be that of an option, and adds the environment.
pub(super) fn without_options(
    config: Option<&Path>,
    config_dir: Option<&Path>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Section, String> {
    let mut settings = match file(config, config_dir) {
        Some((path, must_exist)) => from_file(&path, must_exist)?,
        None => Section::new(),
    };
    for (name, key) in [("CAIRN_MODEL", "model.name"), ("CAIRN_MODEL_API", "model.api")] {
        if let Some(value) = variable(name).filter(|value| !value.trim().is_empty()) {
            settings.insert(key.into(), value.into());
        }
    }
    Ok(settings)
}

/// Path of the file, and true if it must exist.
fn file(config: Option<&Path>, config_dir: Option<&Path>) -> Option<(PathBuf, bool)> {
    match config {
        Some(path) => Some((path.to_owned(), true)),
        None => Some((config_dir?.join(FILE), false)),
    }
}

fn from_file(path: &Path, must_exist: bool) -> Result<Section, String> {
    let shown = path.display();
    let text = match small_file::read_text(path, MAX_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !must_exist => {
            return Ok(Section::new());
        }
        Err(error) => return Err(format!("{shown} cannot be read: {error}")),
    };
    parse(&text).map_err(|faults| {
        let lines: Vec<String> = faults.iter().map(|fault| format!("{shown}, {fault}")).collect();
        lines.join("\n")
    })
}

/// Reads the text of the file. Each fault names its line.
fn parse(text: &str) -> Result<Section, Vec<String>> {
    let line_of = |at: usize| text[..text.floor_char_boundary(at)].matches('\n').count() + 1;
    let document = Document::parse(text).map_err(|error| {
        let line = line_of(error.span().map_or(0, |span| span.start));
        vec![format!("line {line}: this is not TOML: {}", error.message())]
    })?;
    let mut values = Values { section: Map::new(), places: Vec::new() };
    values.table("", document.as_table());
    let (_, faults) = config::read(&Value::Object(values.section.clone()));
    let mut wrong = Vec::new();
    for fault in faults {
        let key = match &fault {
            StatusProblem::SettingUnknown { setting }
            | StatusProblem::SettingType { setting, .. }
            | StatusProblem::SettingChoice { setting, .. }
            | StatusProblem::SettingInvalid { setting, .. } => setting.as_str(),
            _ => "",
        };
        let place = values.place_of(key.strip_prefix("cairn.").unwrap_or(key));
        let place = place.map_or(String::new(), |at| format!("line {}: ", line_of(at)));
        wrong.push(format!("{place}{}", fault.english().replace("cairn.", "")));
    }
    if values.section.get("review.mode").is_some_and(|mode| mode == "ask") {
        let line = values.place_of("review.mode").map_or(1, line_of);
        wrong.push(format!(
            "line {line}: review.mode: \"ask\" needs an editor that shows the edits; here it can be auto or plan"
        ));
    }
    if wrong.is_empty() { Ok(values.section) } else { Err(wrong) }
}

/// Values of a document by dotted key, with the places of their keys.
struct Values {
    section: Map<String, Value>,
    places: Vec<(String, usize)>,
}

impl Values {
    fn table(&mut self, prefix: &str, table: &dyn TableLike) {
        for (name, item) in table.iter() {
            let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
            let place = table.key(name).and_then(|key| key.span()).or_else(|| item.span());
            self.places.push((path.clone(), place.map_or(0, |span| span.start)));
            match item.as_table_like() {
                Some(inside) => self.table(&path, inside),
                None => {
                    let value = item.clone().into_value().map_or(Value::Null, |it| json_of(&it));
                    self.section.insert(path, value);
                }
            }
        }
    }

    /// Place of the key, or of the nearest table around it.
    fn place_of(&self, key: &str) -> Option<usize> {
        let mut key = key;
        loop {
            if let Some((_, at)) = self.places.iter().find(|(path, _)| path == key) {
                return Some(*at);
            }
            key = key.rsplit_once('.')?.0;
        }
    }
}

fn json_of(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(flag) => (*flag.value()).into(),
        toml_edit::Value::Datetime(time) => time.value().to_string().into(),
        toml_edit::Value::Array(values) => values.iter().map(json_of).collect(),
        toml_edit::Value::InlineTable(table) => Value::Object(
            table.iter().map(|(name, value)| (name.to_owned(), json_of(value))).collect(),
        ),
    }
}

fn add_options(section: &mut Map<String, Value>, arguments: &RunArguments) -> Result<(), String> {
    let RunArguments { rules, writable, model, replay, mode, max_rounds, command_seconds, .. } =
        arguments;
    if let Some(name) = model {
        section.insert("model.name".into(), name.as_str().into());
    }
    if let Some(file) = replay {
        let file = fs::canonicalize(file)
            .map_err(|error| format!("--replay {} cannot be opened: {error}", file.display()))?;
        section.insert("model.provider".into(), "replay".into());
        section.insert("model.replayFile".into(), file.to_string_lossy().into());
    }
    // Edits are on the disk in any case. As proposals they have a diff at the end.
    match mode {
        Some(RunMode::Plan) => drop(section.insert("review.mode".into(), "plan".into())),
        Some(RunMode::Auto) => drop(section.insert("review.mode".into(), "review".into())),
        None if section.get("review.mode").is_some_and(|mode| mode == "auto") => {
            section.insert("review.mode".into(), "review".into());
        }
        None => {}
    }
    for (key, number) in [("limits.rounds", max_rounds), ("limits.maxToolSeconds", command_seconds)]
    {
        if let Some(number) = number {
            section.insert(key.into(), (*number).into());
        }
    }
    for rule in rules {
        if Rule::parse(rule).is_none() {
            return Err(format!(
                "--allow \"{rule}\" is not one plain command (a last word * stands for any further words)"
            ));
        }
        append(section, "shell.allow", rule.as_str());
    }
    if !rules.is_empty() {
        section.insert("shell.approval".into(), "allowlist".into());
    }
    for folder in writable {
        let shown = folder.display();
        let folder = fs::canonicalize(folder)
            .map_err(|error| format!("--writable {shown} cannot be opened: {error}"))?;
        if !folder.is_dir() {
            return Err(format!("--writable {shown} is not a folder"));
        }
        append(section, "sandbox.writable", &folder.to_string_lossy());
    }
    Ok(())
}

fn append(section: &mut Map<String, Value>, key: &str, text: &str) {
    let list = section.entry(key).or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(entries) = list {
        entries.push(text.into());
    }
}

/// Options of `cairn run` for settings.
const OPTIONS: [(&str, &str); 7] = [
    ("limits.rounds", "--max-rounds"),
    ("limits.maxToolSeconds", "--command-seconds"),
    ("model.name", "--model"),
    ("model.replayFile", "--replay"),
    ("review.mode", "--mode"),
    ("shell.allow", "--allow"),
    ("sandbox.writable", "--writable"),
];

/// Replaces the names of settings in a text of the engine by those of this program: `cairn.model.name` is
/// `--model` here, and `cairn.model.baseUrl` is `model.baseUrl` in config.toml.
pub(super) fn in_words_of_run(text: &str) -> String {
    let mut keys: Vec<&str> = settings::keys().collect();
    // A key may begin with another one.
    keys.sort_by_key(|key| std::cmp::Reverse(key.len()));
    keys.iter().fold(text.to_owned(), |text, key| {
        let name = format!("cairn.{key}");
        match OPTIONS.iter().find(|(named, _)| named == key) {
            Some((_, option)) => text.replace(&name, option),
            None => text
                .replace(&format!("`{name}`"), &format!("`{key}` in {FILE}"))
                .replace(&name, &format!("{key} in {FILE}")),
        }
    })
}

#[cfg(test)]
mod tests;
