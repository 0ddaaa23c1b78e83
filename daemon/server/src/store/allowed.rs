//! Rules of "always": exact commands, each for the folder in which the user allowed it. They are in
//! one readable file that all daemons of the user share.
//!
//! ```text
//! <state>/allowed-commands.json  {"version": 2, "rules": [{"folder": "/home/me/shop", "command": "npm test"}]}
//!         allowed-commands.lock  held while it is changed
//! ```
//!
//! The file is read for each decision, so a revoked rule stops working in all daemons at once. All
//! functions block. A file that cannot be read is renamed and reported, never overwritten.

use std::{
    fs::{self, File},
    io::ErrorKind,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use cairn_core::policy::command::Rule;
use serde::{Deserialize, Serialize, de::IgnoredAny};

use super::files::{self, create_folder};

const FILE: &str = "allowed-commands.json";
const LOCK: &str = "allowed-commands.lock";
const DAMAGED: &str = "allowed-commands.damaged";
const VERSION: u64 = 2;
/// Longest wait for the lock. Other daemons hold it for milliseconds, or hang.
const LOCK_WAIT: Duration = Duration::from_secs(5);
const MAX_FILE: u64 = 1024 * 1024;
const MAX_RULES: usize = 1_000;

#[derive(Debug, Clone)]
pub struct Allowed {
    state: PathBuf,
}

/// A rule with the folder in which it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedRule {
    /// Without symbolic links.
    pub folder: PathBuf,
    pub rule: Rule,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    version: u64,
    rules: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    folder: PathBuf,
    command: String,
    /// Hashes of files behind the command, which earlier versions stored.
    #[serde(rename = "definitions", default, skip_serializing)]
    _definitions: IgnoredAny,
}

/// Reason for which the file gives no rules.
#[derive(Debug)]
enum Unread {
    Missing,
    /// Not in the format of any version.
    Damaged(String),
    /// Probably intact: written by a newer Cairn, or not readable for this user.
    Foreign(anyhow::Error),
}

impl Allowed {
    /// Below the folder of state.
    pub fn new(state: &Path) -> Self {
        Self { state: state.to_owned() }
    }

    /// All rules, the oldest first. Damage is an error once: the file is set aside then.
    pub fn read(&self) -> anyhow::Result<Vec<AllowedRule>> {
        match self.load() {
            Ok(rules) => Ok(rules),
            Err(Unread::Missing) => Ok(Vec::new()),
            Err(Unread::Foreign(error)) => Err(error),
            Err(Unread::Damaged(_)) => {
                let _lock = self.lock()?;
                self.load_or_set_aside()
            }
        }
    }

    /// Adds rules. A rule that exists stays.
    pub fn add(&self, folder: &Path, rules: &[Rule]) -> anyhow::Result<()> {
        create_folder(&self.state)
            .with_context(|| format!("{} cannot be made", self.state.display()))?;
        let _lock = self.lock()?;
        let mut kept = self.load_or_set_aside()?;
        for rule in rules {
            let added = AllowedRule { folder: folder.to_owned(), rule: rule.clone() };
            if !kept.contains(&added) {
                kept.push(added);
            }
        }
        ensure!(kept.len() <= MAX_RULES, "there are {MAX_RULES} rules already; revoke some");
        self.save(&kept)
    }

    /// False: there was no such rule.
    pub fn revoke(&self, folder: &Path, rule: &Rule) -> anyhow::Result<bool> {
        if !self.state.join(FILE).exists() {
            return Ok(false);
        }
        let _lock = self.lock()?;
        let mut kept = self.load_or_set_aside()?;
        let before = kept.len();
        kept.retain(|kept| kept.folder != folder || kept.rule != *rule);
        let revoked = kept.len() < before;
        if revoked {
            self.save(&kept)?;
        }
        Ok(revoked)
    }

    /// Under the lock.
    fn load_or_set_aside(&self) -> anyhow::Result<Vec<AllowedRule>> {
        match self.load() {
            Ok(rules) => Ok(rules),
            Err(Unread::Missing) => Ok(Vec::new()),
            Err(Unread::Foreign(error)) => Err(error),
            Err(Unread::Damaged(reason)) => {
                let aside = self.state.join(format!("{DAMAGED}-{}", uuid::Uuid::now_v7().simple()));
                fs::rename(self.state.join(FILE), &aside)
                    .with_context(|| format!("{FILE} is damaged and cannot be set aside"))?;
                bail!(
                    "the rules of “always” are damaged ({reason}) and were set aside as {}; commands are asked for again",
                    aside.display()
                )
            }
        }
    }

    fn load(&self) -> Result<Vec<AllowedRule>, Unread> {
        let path = self.state.join(FILE);
        let text = match files::read_text(&path, MAX_FILE) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(Unread::Missing),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(Unread::Damaged(error.to_string()));
            }
            Err(error) => {
                let error = anyhow::Error::new(error);
                return Err(Unread::Foreign(
                    error.context(format!("{} cannot be read", path.display())),
                ));
            }
        };
        let damaged = |error: serde_json::Error| Unread::Damaged(error.to_string());
        let value: serde_json::Value = serde_json::from_str(&text).map_err(damaged)?;
        if let Some(version) = value["version"].as_u64().filter(|version| *version > VERSION) {
            return Err(Unread::Foreign(anyhow::anyhow!(
                "{} is of version {version}, and this Cairn knows version {VERSION}",
                path.display()
            )));
        }
        let contents: Contents = serde_json::from_value(value).map_err(damaged)?;
        let rule = |Entry { folder, command, .. }: Entry| match Rule::parse(&command) {
            Some(rule) if folder.is_absolute() => Ok(AllowedRule { folder, rule }),
            Some(_) | None => Err(Unread::Damaged(format!(
                "`{}` in `{}` is no rule",
                command.escape_debug(),
                folder.display()
            ))),
        };
        contents.rules.into_iter().map(rule).collect()
    }

    fn save(&self, kept: &[AllowedRule]) -> anyhow::Result<()> {
        let entry = |AllowedRule { folder, rule }: &AllowedRule| Entry {
            folder: folder.clone(),
            command: rule.to_string(),
            _definitions: IgnoredAny,
        };
        let contents = Contents { version: VERSION, rules: kept.iter().map(entry).collect() };
        Ok(files::replace(&self.state.join(FILE), &serde_json::to_vec_pretty(&contents)?)?)
    }

    fn lock(&self) -> anyhow::Result<File> {
        let path = self.state.join(LOCK);
        let lock = files::lock(&path, LOCK_WAIT);
        let lock = lock.with_context(|| format!("{} cannot be locked", path.display()))?;
        lock.with_context(|| format!("another process holds {} for too long", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn rule(text: &str) -> Rule {
        Rule::parse(text).unwrap()
    }

    fn shown(kept: &[AllowedRule]) -> Vec<String> {
        kept.iter().map(|kept| format!("{}: {}", kept.folder.display(), kept.rule)).collect()
    }

    #[test]
    fn rules_are_stored_and_revoked_by_folder_in_a_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("a/state");
        let allowed = Allowed::new(&state);
        assert_eq!(allowed.read().unwrap(), []);
        assert!(!allowed.revoke(Path::new("/a"), &rule("x")).unwrap());
        assert!(!state.exists(), "nothing is made to say that there is nothing");
        allowed.add(Path::new("/a"), &[rule("npm test"), rule("x 'b c'")]).unwrap();
        allowed.add(Path::new("/b"), &[rule("npm test")]).unwrap();
        allowed.add(Path::new("/a"), &[rule("npm test")]).unwrap();
        // Another daemon.
        let other = Allowed::new(&state);
        let kept = other.read().unwrap();
        assert_eq!(shown(&kept), ["/a: npm test", "/a: x 'b c'", "/b: npm test"]);
        assert!(other.revoke(Path::new("/a"), &rule("npm test")).unwrap());
        assert!(!other.revoke(Path::new("/a"), &rule("npm test")).unwrap());
        assert_eq!(shown(&allowed.read().unwrap()), ["/a: x 'b c'", "/b: npm test"]);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&state), mode(&state.join(FILE))), (0o700, 0o600));
    }

    #[test]
    fn a_damaged_file_is_moved_aside_and_reported_once() {
        let entry = |folder: &str, command: &str| {
            serde_json::json!({"version": 1, "rules": [{"folder": folder, "command": command}]})
                .to_string()
        };
        for text in [
            "",
            "{",
            "[]",
            "{\"version\": 1}",
            "{\"version\": 1, \"rules\": [], \"more\": 1}",
            &entry("relative", "npm test"),
            &entry("/a", "npm test; rm x"),
            &entry("/a", "npm $X"),
            &entry("/a", ""),
        ] {
            let state = tempfile::tempdir().unwrap();
            let allowed = Allowed::new(state.path());
            fs::write(state.path().join(FILE), text).unwrap();
            let told = allowed.read().unwrap_err().to_string();
            assert!(told.contains("set aside"), "{text}: {told}");
            assert_eq!(allowed.read().unwrap(), [], "{text}");
            let names = fs::read_dir(state.path()).unwrap();
            let aside = names
                .map(|entry| entry.unwrap().path())
                .find(|path| path.to_string_lossy().contains(DAMAGED));
            assert_eq!(fs::read_to_string(aside.unwrap()).unwrap(), text);
        }
    }

    #[test]
    fn a_file_of_a_newer_version_stays_and_allows_nothing() {
        let state = tempfile::tempdir().unwrap();
        let allowed = Allowed::new(state.path());
        let file = state.path().join(FILE);
        let newer = r#"{"version": 3, "wider": true}"#;
        fs::write(&file, newer).unwrap();
        assert!(allowed.read().is_err());
        assert!(allowed.add(Path::new("/a"), &[rule("x")]).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), newer);
        fs::remove_file(&file).unwrap();
        fs::write(state.path().join("elsewhere"), "{}").unwrap();
        std::os::unix::fs::symlink("elsewhere", &file).unwrap();
        assert!(allowed.read().is_err());
        assert!(allowed.add(Path::new("/a"), &[rule("x")]).is_err());
        assert_eq!(fs::read_to_string(state.path().join("elsewhere")).unwrap(), "{}");
    }

    #[test]
    fn concurrent_additions_are_all_stored() {
        let state = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let allowed = Allowed::new(state.path());
                scope.spawn(move || {
                    for number in 0..10 {
                        allowed
                            .add(Path::new("/a"), &[rule(&format!("x {writer} {number}"))])
                            .unwrap();
                    }
                });
            }
        });
        assert_eq!(Allowed::new(state.path()).read().unwrap().len(), 40);
    }
}
