//! Settings that are lists: commands, hosts and folders. An entry that is not usable is reported and left out.

use std::path::PathBuf;

use cairn_core::policy::command::Rule;
use serde_json::Value;

use super::SettingsReader;

/// Limits for `cairn.shell.allow` and `cairn.shell.deny`: each command of the agent is compared
/// with each rule.
const MAX_RULES: usize = 1_000;
const MAX_RULE_BYTES: usize = 4 * 1024;

impl SettingsReader {
    /// Reads rules; reports the invalid ones.
    pub(super) fn rules(&mut self, path: &str, value: &Value) -> Vec<Rule> {
        let mut rules = Vec::new();
        let entries = self.entries(path, value, "commands");
        if entries.len() > MAX_RULES {
            self.invalid(path, format!("only the first {MAX_RULES} commands are used"));
        }
        for text in entries.into_iter().take(MAX_RULES) {
            if text.len() > MAX_RULE_BYTES {
                let most = MAX_RULE_BYTES;
                self.invalid(path, format!("a command has more than {most} bytes and is not used"));
                continue;
            }
            match Rule::parse(text) {
                Some(rule) => rules.push(rule),
                None => self.invalid(path, format!(
                    "`{text}` is not one plain command (a last word `*` stands for any further words)"
                )),
            }
        }
        rules
    }

    /// Entries of a list of texts; a fault for each other value.
    fn entries<'v>(&mut self, path: &str, value: &'v Value, what: &str) -> Vec<&'v str> {
        let Some(entries) = value.as_array() else {
            self.wrong(path, format!("a list of {what}"), value);
            return Vec::new();
        };
        for entry in entries.iter().filter(|entry| !entry.is_string()) {
            self.wrong(path, format!("{what} as strings"), entry);
        }
        entries.iter().filter_map(Value::as_str).collect()
    }

    /// Reads names or addresses of hosts, without scheme, port or path.
    pub(super) fn hosts(&mut self, path: &str, value: &Value) -> Vec<String> {
        let (hosts, others): (Vec<_>, Vec<_>) = (self.entries(path, value, "hosts").into_iter())
            .take(MAX_RULES)
            .map(|host| host.trim().to_owned())
            .partition(|host| !host.is_empty() && !host.contains(['/', ' ']));
        for other in others {
            self.invalid(path, format!("`{other}` is not the name of a host"));
        }
        hosts
    }

    /// Reads folders, absolute or below the home folder; reports the others.
    pub(super) fn folders(&mut self, path: &str, value: &Value) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for text in self.entries(path, value, "folders") {
            let home = || std::env::home_dir().filter(|home| home.is_absolute());
            let folder = match text.strip_prefix("~/") {
                Some(below) => home().map(|home| home.join(below)),
                None => Some(PathBuf::from(text)).filter(|folder| folder.is_absolute()),
            };
            match folder {
                Some(folder) => folders.push(folder),
                None => {
                    let fault = "is not an absolute path, and does not begin with ~/";
                    self.invalid(path, format!("`{text}` {fault}"));
                }
            }
        }
        folders
    }

    /// Reads folders below the home folder; reports the others.
    pub(super) fn readable(&mut self, path: &str, value: &Value) -> Vec<PathBuf> {
        let home = std::env::home_dir().unwrap_or_default();
        let is_below = |folder: &PathBuf| folder.starts_with(&home) && *folder != home;
        let (below, other): (Vec<_>, Vec<_>) =
            self.folders(path, value).into_iter().partition(is_below);
        for folder in other {
            self.invalid(path, format!("`{}` is not below the home folder", folder.display()));
        }
        below
    }
}
