//! Task lists on disk: one folder for each list, one JSON file for each task, shared by all daemons of
//! the user.
//!
//! ```text
//! <state>/tasks/<list id>/1.json           {"version": 1, "task": {…}}
//!                         high-water-mark  the newest assigned id
//!                         .lock            held while a list is read or changed
//!                         .new-…           a file that is being written; without a lock: torn
//! ```
//!
//! A change is read, modified and written under the lock. The system frees it when its holder dies;
//! files that the holder had not renamed into place do not count. Functions of this file block: call
//! them where that is allowed.
//!
//! Never overwrites a file it could not read, and never assigns an id twice.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, anyhow, bail, ensure};
use cairn_core::plan::graph::{Graph, GraphTask};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::files::{self, create_folder, sync_folder};

const VERSION: u64 = 1;
const LOCK: &str = ".lock";
const HIGH_WATER: &str = "high-water-mark";
const TEMPORARY: &str = ".new-";

/// Longest wait for the lock. Other daemons hold it for milliseconds, or hang.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// Maximum size of a file, far beyond a valid task.
const MAX_FILE: u64 = 256 * 1024;
const MAX_ENTRIES: usize = 5_000;
const MAX_REASON: usize = 200;
const DAMAGE_LISTED: usize = 20;

/// One list. Nothing is on disk before the first change.
#[derive(Debug, Clone)]
pub struct TaskList {
    folder: PathBuf,
    lock_wait: Duration,
}

/// A list as it was found.
#[derive(Debug, Default)]
pub struct Contents {
    pub graph: Graph,
    /// Files that could not be read, one sentence each. They were not changed.
    pub damage: Vec<String>,
    mark_damaged: bool,
    torn: Vec<PathBuf>,
}

impl TaskList {
    /// The list of this id below the folder of state.
    pub fn new(state: &Path, id: &str) -> anyhow::Result<Self> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        ensure!(
            !id.is_empty() && id.len() <= 100 && id.chars().all(plain),
            "{id:?} cannot be the id of a task list"
        );
        Ok(Self { folder: state.join("tasks").join(id), lock_wait: LOCK_WAIT })
    }

    pub fn read(&self) -> anyhow::Result<Contents> {
        if !self.folder.exists() {
            return Ok(Contents::default());
        }
        let _lock = self.lock()?;
        self.load()
    }

    /// Changes the list, or leaves it unchanged if `change` fails. The returned state is on disk.
    pub fn change<T, E>(
        &self,
        change: impl Fn(&mut Graph) -> Result<T, E>,
    ) -> anyhow::Result<(Result<T, E>, Contents)> {
        if !self.folder.exists() {
            // Nothing is made for a change that comes to nothing.
            let mut empty = Contents::default();
            if let Err(fault) = change(&mut empty.graph) {
                return Ok((Err(fault), empty));
            }
        }
        create_folder(&self.folder)
            .with_context(|| format!("{} cannot be made", self.folder.display()))?;
        let _lock = self.lock()?;
        let mut contents = self.load()?;
        for torn in contents.torn.drain(..) {
            // Its writer is dead, or it would hold the lock.
            let _ = fs::remove_file(torn);
        }
        let before = contents.graph.clone();
        let outcome = change(&mut contents.graph);
        if outcome.is_ok() {
            self.save(&before, &contents).context("the task list could not be saved")?;
        }
        Ok((outcome, contents))
    }

    fn lock(&self) -> anyhow::Result<File> {
        let path = self.folder.join(LOCK);
        let lock = files::lock(&path, self.lock_wait);
        lock.with_context(|| format!("{} cannot be locked", path.display()))?.with_context(|| {
            format!(
                "another process has held the task list for {:.0?}; see who has {} open",
                self.lock_wait,
                path.display()
            )
        })
    }

    fn load(&self) -> anyhow::Result<Contents> {
        let (mut contents, mut tasks) = (Contents::default(), Vec::new());
        let mut newest = 0;
        let mut ids = Vec::new();
        let entries = fs::read_dir(&self.folder)
            .with_context(|| format!("{} cannot be read", self.folder.display()))?;
        for (count, entry) in entries.enumerate() {
            ensure!(count < MAX_ENTRIES, "{} holds too many files", self.folder.display());
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.starts_with(TEMPORARY) {
                contents.torn.push(entry.path());
            } else if let Some(id) = task_id(name) {
                newest = newest.max(id);
                ids.push(id);
            }
        }
        ids.sort_unstable();
        let mut named = 0;
        let mut damaged = |name: &str, reason: anyhow::Error, damage: &mut Vec<String>| {
            named += 1;
            if named <= DAMAGE_LISTED {
                let reason: String = format!("{reason:#}").chars().take(MAX_REASON).collect();
                damage.push(format!("{name}: {}", reason.escape_debug()));
            }
        };
        for id in ids {
            let name = format!("{id}.json");
            match read_task(&self.folder.join(&name), id) {
                Ok(task) => tasks.push(task),
                Err(reason) => damaged(&name, reason, &mut contents.damage),
            }
        }
        match read_mark(&self.folder.join(HIGH_WATER)) {
            Ok(mark) => newest = newest.max(mark),
            Err(reason) => {
                damaged(HIGH_WATER, reason, &mut contents.damage);
                contents.mark_damaged = true;
            }
        }
        if named > DAMAGE_LISTED {
            contents.damage.push(format!("and {} more files", named - DAMAGE_LISTED));
        }
        contents.graph = Graph::load(tasks, newest);
        let stuck = contents.graph.stuck();
        if !stuck.is_empty() {
            let stuck: Vec<String> = stuck.iter().map(|id| format!("#{id}")).collect();
            contents.damage.push(format!(
                "{} can never begin: they wait in a circle or for a task that is not there",
                stuck.join(", ")
            ));
        }
        Ok(contents)
    }

    /// All new files are complete on disk before the first one takes its place, so a full disk
    /// changes nothing.
    fn save(&self, before: &Graph, after: &Contents) -> anyhow::Result<()> {
        let mut ready = Vec::new();
        let last_id = after.graph.last_id();
        if last_id > before.last_id() {
            let mark = self.folder.join(HIGH_WATER);
            ensure!(
                !after.mark_damaged,
                "{} cannot be read, so no new task can get a number; mend it or remove it",
                mark.display()
            );
            ready.push((self.prepare(last_id.to_string().as_bytes())?, mark, Place::Taken));
        }
        for task in after.graph.tasks() {
            let old = before.get(task.id);
            if old == Some(task) {
                continue;
            }
            let text = serde_json::to_vec_pretty(&json!({ "version": VERSION, "task": task }))?;
            let place = if old.is_some() { Place::Taken } else { Place::Free };
            let path = self.folder.join(format!("{}.json", task.id));
            ready.push((self.prepare(&text)?, path, place));
        }
        if ready.is_empty() {
            return Ok(());
        }
        for (file, path, place) in ready {
            match place {
                Place::Taken => file.persist(&path)?,
                Place::Free => file.persist_noclobber(&path)?,
            };
        }
        sync_folder(&self.folder)?;
        Ok(())
    }

    fn prepare(&self, text: &[u8]) -> anyhow::Result<NamedTempFile> {
        // Made 0600.
        let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(&self.folder)?;
        file.write_all(text)?;
        file.as_file().sync_all()?;
        Ok(file)
    }
}

enum Place {
    Free,
    /// By a file that was read.
    Taken,
}

/// Id of a file name. Only the canonical form of a number counts: `007.json` is not a task.
fn task_id(name: &str) -> Option<u32> {
    let stem = name.strip_suffix(".json")?;
    let id: u32 = stem.parse().ok()?;
    (id > 0 && id.to_string() == stem).then_some(id)
}

fn read_task(path: &Path, id: u32) -> anyhow::Result<GraphTask> {
    let text = files::read_text(path, MAX_FILE)?;
    let mut file: Value = serde_json::from_str(&text)?;
    let version = file.get("version").ok_or_else(|| anyhow!("has no version"))?;
    ensure!(
        version.as_u64() == Some(VERSION),
        "is of version {version}, and this Cairn knows version {VERSION}"
    );
    let task: GraphTask = serde_json::from_value(file["task"].take())?;
    ensure!(task.id == id, "holds the task #{}", task.id);
    if let Err(faults) = task.check() {
        bail!("{}", faults.lines().collect::<Vec<_>>().join("; "));
    }
    Ok(task)
}

/// 0 while nothing was given out.
fn read_mark(path: &Path) -> anyhow::Result<u32> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
        _ => Ok(files::read_text(path, 16)?.trim().parse()?),
    }
}

#[cfg(test)]
mod tests;
