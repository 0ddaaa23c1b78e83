//! Authors of instruction files: which of them the user made, and which the agent.
//!
//! Before the first command of the agent the texts of all instruction files are hashed. From then on
//! a file is the user's if it has the text that was hashed, if the editor saved it, or if the
//! file system says that nobody touched it or its folders while a command ran.
//!
//! Must never count a file as the user's that a command could have put there: in doubt it is data.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use cairn_core::{names::folded, prompt::instructions::is_generated};
use sha2::{Digest, Sha256};

use super::{NAMES, text_of};
use crate::{
    docs::Docs,
    workspace::{Workspace, WorkspacePath},
};

/// Authors of instruction files, shared by the hub and running calls.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// Files that the agent's file tools changed, and the user has not decided about: of any name,
    /// for a link may lead there. Without case, as some file systems compare names.
    agents: Mutex<HashSet<String>>,
    /// Texts that the editor saved, or the user accepted.
    saved: Mutex<HashMap<PathBuf, TextHash>>,
    /// Held while files are looked at: only blocking threads take this lock.
    commands: Mutex<Option<Commands>>,
}

type TextHash = [u8; 32];

/// Commands of the agent since the first one.
#[derive(Debug)]
struct Commands {
    /// When the files were hashed.
    since: SystemTime,
    /// Texts of the user, by the name under which they are told.
    texts: HashMap<PathBuf, TextHash>,
    running: usize,
    /// Start of the oldest command that runs.
    began: SystemTime,
    /// Times in which commands ran, oldest first.
    past: Vec<(SystemTime, SystemTime)>,
}

/// A command that runs. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct RunningCommand(Arc<Sources>);

/// A file system may round times, and have a clock of its own.
const SLACK: Duration = Duration::from_secs(2);
/// More times than these are joined.
const MOST_PAST: usize = 1_000;

impl Sources {
    /// The agent's file tools changed this file, or something of the agent's is pending in it.
    pub(crate) fn agent_changed(&self, path: &Path) {
        lock(&self.agents).insert(folded(&path.to_string_lossy()));
    }

    /// The user decided about all that the agent changed in this file.
    pub(crate) fn user_decided(&self, path: &Path, text: Option<&str>) {
        if lock(&self.agents).remove(&folded(&path.to_string_lossy())) {
            self.user_saved(path, text);
        }
    }

    /// The editor saved this text, or the user accepted it.
    pub(crate) fn user_saved(&self, path: &Path, text: Option<&str>) {
        if let Some(text) = text.filter(|_| is_named(path)) {
            lock(&self.saved).insert(path.to_owned(), hash(text));
        }
    }

    /// A command is about to run. Blocks, the first time while the workspace is searched.
    pub(crate) fn command_begins(
        self: &Arc<Self>,
        workspace: &Workspace,
        docs: &Docs,
    ) -> RunningCommand {
        let mut commands = lock(&self.commands);
        let commands = commands.get_or_insert_with(|| Commands::search(workspace, docs));
        if commands.running == 0 {
            commands.began = SystemTime::now();
        }
        commands.running += 1;
        RunningCommand(Arc::clone(self))
    }

    /// True if the user made the file of this name, which is at that path and has this text. Blocks.
    pub(super) fn is_users(
        &self,
        workspace: &Workspace,
        called: &Path,
        path: &WorkspacePath,
        text: &str,
    ) -> bool {
        let names = [called, path.as_path()];
        if names.iter().any(|name| workspace.is_ignored(name) || is_foreign(workspace, name)) {
            return false;
        }
        let is_agents =
            |name: &&Path| lock(&self.agents).contains(&folded(&name.to_string_lossy()));
        if names.iter().any(is_agents) {
            return false;
        }
        let hash = hash(text);
        if names.iter().any(|name| lock(&self.saved).get(*name) == Some(&hash)) {
            return true;
        }
        let mut commands = lock(&self.commands);
        let Some(commands) = commands.as_mut() else { return true };
        if commands.texts.get(called) == Some(&hash) {
            return true;
        }
        let users = names.iter().all(|name| commands.did_not_touch(workspace, name));
        if users {
            commands.texts.insert(called.to_owned(), hash);
        }
        users
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        if let Some(commands) = lock(&self.0.commands).as_mut() {
            commands.ended();
        }
    }
}

impl Commands {
    fn search(workspace: &Workspace, docs: &Docs) -> Self {
        let mut texts = HashMap::new();
        workspace.find_named(&NAMES, is_generated, |called| {
            if let Some((_, text)) = text_of(workspace, docs, called) {
                texts.insert(called.to_owned(), hash(&text));
            }
        });
        let since = SystemTime::now();
        Self { since, texts, running: 0, began: since, past: Vec::new() }
    }

    fn ended(&mut self) {
        self.running = self.running.saturating_sub(1);
        if self.running > 0 {
            return;
        }
        if self.past.len() >= MOST_PAST
            && let Some(newest) = self.past.last_mut()
        {
            newest.1 = SystemTime::now();
        } else {
            self.past.push((self.began, SystemTime::now()));
        }
    }

    /// The file came after the files were hashed, and while no command ran; nor did a command move a
    /// folder that it is in, or change what is ignored there.
    fn did_not_touch(&self, workspace: &Workspace, path: &Path) -> bool {
        if changed_at(path).is_none_or(|at| at < self.since) {
            return false;
        }
        let Some(folder) = workspace.folder_of(path) else { return false };
        path.ancestors().take_while(|above| *above != folder).all(|above| {
            let rules = above.parent().into_iter().flat_map(|parent| {
                [".gitignore", ".ignore", ".git/info/exclude"].map(|name| parent.join(name))
            });
            let untouched = |path: &Path| changed_at(path).is_none_or(|at| !self.ran_at(at));
            untouched(above) && rules.into_iter().all(|rule| untouched(&rule))
        })
    }

    fn ran_at(&self, at: SystemTime) -> bool {
        let after = |time: SystemTime| time.checked_sub(SLACK).is_none_or(|time| at >= time);
        let runs = self.running > 0 && after(self.began);
        runs || self.past.iter().any(|&(from, to)| after(from) && at <= to + SLACK)
    }
}

/// A time that a program cannot set: it is when the file, its name or its owner last changed.
#[cfg(unix)]
fn changed_at(path: &Path) -> Option<SystemTime> {
    use std::os::unix::fs::MetadataExt;

    let meta = fs::symlink_metadata(path).ok()?;
    let seconds = u64::try_from(meta.ctime()).ok()?;
    let nanos = u32::try_from(meta.ctime_nsec()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanos))
}

/// The later of two times that a program can set: there is no better one.
#[cfg(not(unix))]
fn changed_at(path: &Path) -> Option<SystemTime> {
    let meta = fs::symlink_metadata(path).ok()?;
    meta.modified().ok().max(meta.created().ok())
}

/// In a folder that tools fill with the work of others.
fn is_foreign(workspace: &Workspace, path: &Path) -> bool {
    let Some(folder) = workspace.folder_of(path) else { return true };
    let Ok(inside) = path.strip_prefix(folder) else { return true };
    let marked = |above: &Path| {
        ["CACHEDIR.TAG", "pyvenv.cfg"]
            .iter()
            .any(|name| fs::symlink_metadata(above.join(name)).is_ok())
    };
    is_generated(inside)
        || path.ancestors().skip(1).take_while(|above| *above != folder).any(marked)
}

fn is_named(path: &Path) -> bool {
    path.file_name().is_some_and(|name| NAMES.iter().any(|known| name == *known))
}

fn hash(text: &str) -> TextHash {
    Sha256::digest(text.as_bytes()).into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        folder: tempfile::TempDir,
        workspace: Workspace,
        sources: Arc<Sources>,
    }

    impl Place {
        fn new(files: &[(&str, &str)]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let workspace = Workspace::new(vec![folder.path().to_owned()]).unwrap();
            let place = Self { folder, workspace, sources: Arc::default() };
            files.iter().for_each(|(name, text)| place.put(name, text));
            place
        }

        fn put(&self, name: &str, text: &str) {
            let path = self.folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn path(&self, name: &str) -> PathBuf {
            self.workspace.resolve(name).unwrap().as_path().to_owned()
        }

        fn is_users(&self, name: &str) -> bool {
            let called = self.workspace.root().join(name);
            let (path, text) = text_of(&self.workspace, &Docs::default(), &called).unwrap();
            self.sources.is_users(&self.workspace, &called, &path, &text)
        }

        fn command(&self, does: impl FnOnce()) {
            let running = self.sources.command_begins(&self.workspace, &Docs::default());
            does();
            drop(running);
        }
    }

    #[test]
    fn what_the_agent_changed_is_the_users_once_they_decided() {
        let place = Place::new(&[("AGENTS.md", "Mine.")]);
        assert!(place.is_users("AGENTS.md"));
        place.sources.agent_changed(&place.path("AGENTS.md"));
        place.sources.user_saved(&place.path("AGENTS.md"), Some("Mine."));
        assert!(!place.is_users("AGENTS.md"), "the editor saves for the agent, too");
        place.sources.user_decided(&place.path("AGENTS.md"), Some("Mine."));
        assert!(place.is_users("AGENTS.md"));
        // A decision about what is the user's anyway says nothing about what a command does later.
        place.command(|| place.put("AGENTS.md", "Yours."));
        place.sources.user_decided(&place.path("AGENTS.md"), Some("Yours."));
        assert!(!place.is_users("AGENTS.md"));
    }

    #[test]
    fn after_a_command_only_what_it_cannot_have_made_is_the_users() {
        let place = Place::new(&[("AGENTS.md", "Mine."), ("a/CLAUDE.md", "Mine.")]);
        place.command(|| {
            place.put("AGENTS.md", "Yours.");
            place.put("b/AGENTS.md", "Yours.");
        });
        assert!(!place.is_users("AGENTS.md") && !place.is_users("b/AGENTS.md"));
        assert!(place.is_users("a/CLAUDE.md"));
        place.put("AGENTS.md", "Mine.");
        assert!(place.is_users("AGENTS.md"), "it has the text again that the user gave it");
        // Long after the command, by hand.
        {
            let mut commands = lock(&place.sources.commands);
            let commands = commands.as_mut().unwrap();
            commands.past.iter_mut().for_each(|(from, to)| {
                *from -= Duration::from_secs(60);
                *to -= Duration::from_secs(60);
            });
            commands.since -= Duration::from_secs(60);
        }
        place.put("c/AGENTS.md", "Mine.");
        assert!(place.is_users("c/AGENTS.md"));
        // A command that moves the folder of such a file makes it its own.
        place.put("d/AGENTS.md", "Fetched.");
        place.command(|| {
            fs::rename(place.folder.path().join("d"), place.folder.path().join("e")).unwrap();
        });
        assert!(!place.is_users("e/AGENTS.md"));
        place.sources.user_saved(&place.path("e/AGENTS.md"), Some("Fetched."));
        assert!(place.is_users("e/AGENTS.md"), "the user saved it");
    }

    #[test]
    fn folders_that_say_of_themselves_that_tools_fill_them_are_not_the_users() {
        let place = Place::new(&[
            ("env/pyvenv.cfg", ""),
            ("env/lib/AGENTS.md", "x"),
            ("cache/CACHEDIR.TAG", ""),
            ("cache/AGENTS.md", "x"),
            ("src/AGENTS.md", "x"),
        ]);
        assert!(!place.is_users("env/lib/AGENTS.md") && !place.is_users("cache/AGENTS.md"));
        assert!(place.is_users("src/AGENTS.md"));
    }
}
