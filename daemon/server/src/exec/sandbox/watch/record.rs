//! Record of the watch's state on disk, written when a command begins. If the daemon is killed, the
//! next one reads it and finishes the watch.
//!
//! A record is locked as long as its daemon lives. Only unlocked records are read.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::super::path_scan::Stamp;

const FOLDER: &str = "running-commands";
const MAX_RECORD_BYTES: u64 = 64 * 1024 * 1024;
const MAX_RECORDS: usize = 64;

/// Locked record file. Removed on drop.
#[derive(Debug)]
pub(super) struct WatchRecord {
    path: PathBuf,
    _locked: File,
}

/// Mounts of a command, each with the identity (device, inode) of a read-only path, or `None` for a
/// writable one.
pub(super) type Mounts = HashMap<PathBuf, Option<(u64, u64)>>;

/// Watched folder, whether it is a repository's own, and the trusted control files in it.
pub(super) type Root = (OsString, bool, Vec<(OsString, Stamp)>);

/// State of the watch when a command begins. Serde writes an [`OsString`] as bytes: a path may not be UTF-8.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct WatchState {
    pub(super) roots: Vec<Root>,
    /// As in [`Mounts`].
    pub(super) mounts: Vec<(OsString, Option<(u64, u64)>)>,
    /// Paths that git's settings name.
    pub(super) named: Vec<OsString>,
    /// Folders that are not watched.
    pub(super) skipped: Vec<OsString>,
}

impl WatchRecord {
    /// Writes a record, which is durable on return.
    pub(super) fn write(state_folder: &Path, state: &WatchState) -> io::Result<Self> {
        let folder = state_folder.join(FOLDER);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let path = folder.join(format!("{}.json", uuid::Uuid::now_v7()));
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
        file.try_lock()?;
        file.write_all(&serde_json::to_vec(state).map_err(io::Error::other)?)?;
        file.sync_all()?;
        File::open(&folder)?.sync_all()?;
        Ok(Self { path, _locked: file })
    }
}

impl Drop for WatchRecord {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!("{} is not removed: {error}", self.path.display());
        }
    }
}

/// Reads and removes the records of killed daemons that worked in one of these folders.
pub(super) fn take_abandoned(state_folder: &Path, folders: &[PathBuf]) -> Vec<WatchState> {
    let Ok(entries) = fs::read_dir(state_folder.join(FOLDER)) else { return Vec::new() };
    let mut abandoned = Vec::new();
    for entry in entries.flatten().take(MAX_RECORDS) {
        let path = entry.path();
        let Ok(file) = File::open(&path) else { continue };
        if file.try_lock().is_err() {
            continue;
        }
        let mut text = Vec::new();
        let read = (&file).take(MAX_RECORD_BYTES).read_to_end(&mut text);
        // `None` if the record is incomplete; then its command had not started.
        let state = read.ok().and_then(|_| serde_json::from_slice::<WatchState>(&text).ok());
        let concerns_folders = state.as_ref().is_none_or(|state| {
            let mut roots = state.roots.iter();
            roots.any(|(root, ..)| {
                let root = Path::new(root);
                folders.iter().any(|it| it.starts_with(root) || root.starts_with(it))
            })
        });
        if concerns_folders {
            let _ = fs::remove_file(&path);
            abandoned.extend(state);
        }
    }
    abandoned
}
