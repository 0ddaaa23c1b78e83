//! Authors of instruction files: the user or the agent.
//!
//! Before the first command of the agent the texts of all instruction files are hashed. From then on
//! a file is the user's if it has the text that was hashed, if the editor saved it, or if the
//! file system says that it and its folders did not change while a command ran. All this is recorded
//! ([`AuthorsFile`]) before a command begins, so that a restart changes nothing.
//!
//! A file that a command could have written must never be treated as the user's. In doubt it is data.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use cairn_core::{file_names::folded, prompt::instructions::is_generated};
use parking_lot::{Mutex, MutexGuard};
use sha2::{Digest, Sha256};

use super::{NAMES, text_of};
use crate::{
    docs::Docs,
    store::authors::{Authors, AuthorsFile, TextHash},
    workspace::{Workspace, WorkspacePath},
};

/// Authors of instruction files, shared by the hub and running calls.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// Cairn's state folder. `None`: a restart forgets everything.
    state: Option<PathBuf>,
    /// Files that the agent's file tools changed and the user has not decided about. They may have any
    /// name, because a link may lead there. In lower case, as some file systems ignore case.
    agents: Mutex<HashSet<String>>,
    /// Texts that the editor saved, or the user accepted.
    saved: Mutex<HashMap<PathBuf, TextHash>>,
    /// Held while files are read: only blocking threads take this lock.
    commands: Mutex<Loaded>,
}

/// Commands of the agent, as read from the record.
#[derive(Debug, Default)]
struct Loaded {
    file: Option<AuthorsFile>,
    /// The record was searched.
    looked: bool,
    /// `None`: no command ran yet.
    commands: Option<Commands>,
}

/// Commands of the agent since the first one.
#[derive(Debug)]
struct Commands {
    /// Time at which the files were hashed.
    since: SystemTime,
    /// Texts of the user, by the name under which they are sent.
    texts: HashMap<PathBuf, TextHash>,
    running: usize,
    /// Start of the oldest command that runs.
    began: SystemTime,
    /// Times in which commands ran, oldest first.
    past: Vec<(SystemTime, SystemTime)>,
}

/// Guard of a running command. Dropping it records the end.
#[derive(Debug)]
pub(crate) struct RunningCommand(Arc<Sources>);

/// Tolerance for file systems that round times or have another clock.
const SLACK: Duration = Duration::from_secs(2);
/// Most recorded periods. Beyond, periods are merged.
const MOST_PAST: usize = 1_000;

impl Sources {
    /// Sources with the record in `state`, Cairn's state folder.
    pub(crate) fn new(state: Option<PathBuf>) -> Self {
        Self { state, ..Self::default() }
    }

    /// Records that the agent's file tools changed this file, or that an edit of the agent is pending in it.
    pub(crate) fn agent_changed(&self, path: &Path) {
        self.agents.lock().insert(folded(&path.to_string_lossy()));
    }

    /// Records that the user decided about all changes of the agent in this file.
    pub(crate) fn user_decided(&self, path: &Path, text: Option<&str>) {
        if self.agents.lock().remove(&folded(&path.to_string_lossy())) {
            self.user_saved(path, text);
        }
    }

    /// Records a text that the editor saved or the user accepted.
    pub(crate) fn user_saved(&self, path: &Path, text: Option<&str>) {
        if let Some(text) = text.filter(|_| is_named(path)) {
            self.saved.lock().insert(path.to_owned(), hash(text));
        }
    }

    /// Records the start of a command. Blocks; the first call searches the workspace.
    pub(crate) fn command_begins(
        self: &Arc<Self>,
        workspace: &Workspace,
        docs: &Docs,
    ) -> io::Result<RunningCommand> {
        let mut loaded = self.loaded(workspace);
        let commands = loaded.commands.get_or_insert_with(|| Commands::search(workspace, docs));
        if commands.running == 0 {
            commands.began = SystemTime::now();
        }
        commands.running += 1;
        let running = RunningCommand(Arc::clone(self));
        let written = self.write(&loaded);
        // It ends with the lock free.
        drop(loaded);
        written.map(|()| running)
    }

    /// Records that the user accepted the current content of this path. Blocks.
    pub(crate) fn user_accepted(&self, workspace: &Workspace, docs: &Docs, called: &Path) {
        if !is_named(called) {
            return;
        }
        let Some((path, text)) = text_of(workspace, docs, called) else { return };
        self.user_saved(called, Some(&text));
        self.user_saved(path.as_path(), Some(&text));
        if let Err(error) = self.write(&self.loaded(workspace)) {
            tracing::warn!("the authors of instructions are not written down: {error}");
        }
    }

    /// Locks the commands, and reads the record the first time. Blocks.
    fn loaded(&self, workspace: &Workspace) -> MutexGuard<'_, Loaded> {
        let mut loaded = self.commands.lock();
        if std::mem::replace(&mut loaded.looked, true) {
            return loaded;
        }
        let Some(state) = &self.state else { return loaded };
        let file = AuthorsFile::new(state, workspace.folders());
        match file.read() {
            Ok(None) => {}
            Ok(Some(authors)) => {
                let mut saved = self.saved.lock();
                for (path, hash) in &authors.saved {
                    // Texts saved since then are newer.
                    saved.entry(path.clone()).or_insert(*hash);
                }
                loaded.commands = Some(Commands::from(authors));
            }
            Err(error) => {
                tracing::warn!(
                    "nobody knows what commands made ({error}): no file instructs until it is saved in the editor"
                );
                if let Err(error) = file.set_aside() {
                    tracing::warn!("the damaged record stays: {error}");
                }
                loaded.commands = Some(Commands::starting(HashMap::new()));
            }
        }
        loaded.file = Some(file);
        loaded
    }

    /// Replaces the record. Blocks.
    fn write(&self, loaded: &Loaded) -> io::Result<()> {
        let (Some(file), Some(commands)) = (&loaded.file, &loaded.commands) else { return Ok(()) };
        let listed = |texts: &HashMap<PathBuf, TextHash>| {
            let text = |(path, hash): (&PathBuf, &TextHash)| {
                path.to_str().is_some().then(|| (path.clone(), *hash))
            };
            texts.iter().filter_map(text).collect()
        };
        file.write(&Authors {
            since: commands.since,
            running: (commands.running > 0).then_some(commands.began),
            past: commands.past.clone(),
            texts: listed(&commands.texts),
            saved: listed(&self.saved.lock()),
        })
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
            |name: &&Path| self.agents.lock().contains(&folded(&name.to_string_lossy()));
        if names.iter().any(is_agents) {
            return false;
        }
        let hash = hash(text);
        let mut loaded = self.loaded(workspace);
        if names.iter().any(|name| self.saved.lock().get(*name) == Some(&hash)) {
            return true;
        }
        let Some(commands) = loaded.commands.as_mut() else { return true };
        if commands.texts.get(called) == Some(&hash) {
            return true;
        }
        // A text of the user under another name: they moved its folder.
        let is_known = commands.texts.values().any(|known| *known == hash);
        let users = names.iter().all(|name| commands.did_not_touch(workspace, name, is_known));
        if users {
            commands.texts.insert(called.to_owned(), hash);
        }
        users
    }
}

impl RunningCommand {
    /// Records the end of the command and all its processes. Blocks.
    pub(crate) fn finish(self) {
        let sources = Arc::clone(&self.0);
        drop(self);
        // Otherwise the next daemon assumes that the command ran until the daemon started.
        if let Err(error) = sources.write(&sources.commands.lock()) {
            tracing::warn!("the end of a command is not written down: {error}");
        }
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        if let Some(commands) = self.0.commands.lock().commands.as_mut() {
            commands.ended();
        }
    }
}

/// Restores the record of an earlier daemon. A command that ran at its end may have run until now.
impl From<Authors> for Commands {
    fn from(authors: Authors) -> Self {
        let now = SystemTime::now();
        let mut past = authors.past;
        past.extend(authors.running.map(|began| (began, now)));
        let texts = authors.texts.into_iter().collect();
        Self { since: authors.since, texts, running: 0, began: now, past }
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
        Self::starting(texts)
    }

    fn starting(texts: HashMap<PathBuf, TextHash>) -> Self {
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

    /// True if the file changed only while no command ran, and is newer than the hashes or has a hashed
    /// text. Commands must not have moved one of its folders or changed the ignore rules there either.
    fn did_not_touch(&self, workspace: &Workspace, path: &Path, is_known: bool) -> bool {
        if changed_at(path).is_none_or(|at| at < self.since && !is_known) {
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

/// Time (`ctime`) of the last change of the file, its name or its owner. Programs cannot set it.
fn changed_at(path: &Path) -> Option<SystemTime> {
    let meta = fs::symlink_metadata(path).ok()?;
    let seconds = u64::try_from(meta.ctime()).ok()?;
    let nanos = u32::try_from(meta.ctime_nsec()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanos))
}

/// True for a path in a folder that tools fill with third-party files.
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

#[cfg(test)]
mod tests;
