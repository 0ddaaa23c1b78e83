//! Record of the watch's state on disk, written when a command begins. If the daemon is killed, the
//! next one reads it and finishes the watch.
//!
//! A record is locked as long as its daemon lives. Only unlocked records are read.

use std::{
    collections::{BTreeSet, HashMap},
    ffi::OsString,
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{DirBuilderExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

use cairn_core::policy::control_files::Zone;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::super::path_scan::{PathSnapshot, Stamp};

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

/// State of the watch when a command begins.
#[derive(Debug, PartialEq)]
pub(super) struct WatchState {
    /// Watched folders with the trusted control files in each.
    pub(super) roots: Vec<(PathBuf, Zone, PathSnapshot)>,
    pub(super) mounts: Mounts,
    /// Paths that git's settings name.
    pub(super) named: BTreeSet<PathBuf>,
    /// Folders that are not watched.
    pub(super) skipped: BTreeSet<PathBuf>,
}

/// Serialized [`WatchState`]. Paths are bytes, because they may not be UTF-8.
#[derive(Serialize, Deserialize)]
struct Written {
    roots: Vec<WrittenRoot>,
    mounts: Vec<WrittenMount>,
    named: Vec<Vec<u8>>,
    skipped: Vec<Vec<u8>>,
}

/// Entry of [`Mounts`].
type WrittenMount = (Vec<u8>, Option<(u64, u64)>);

#[derive(Serialize, Deserialize)]
struct WrittenRoot {
    path: Vec<u8>,
    repository: bool,
    known: Vec<(Vec<u8>, Stamp)>,
}

impl WatchRecord {
    /// Writes a record, which is durable on return.
    pub(super) fn write(state_folder: &Path, state: &WatchState) -> io::Result<Self> {
        let folder = state_folder.join(FOLDER);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let path = folder.join(format!("{}.json", uuid::Uuid::now_v7()));
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        file.write_all(&serde_json::to_vec(&Written::from(state)).map_err(io::Error::other)?)?;
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
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        let mut text = Vec::new();
        let read = (&file).take(MAX_RECORD_BYTES).read_to_end(&mut text);
        let written = read.ok().and_then(|_| serde_json::from_slice::<Written>(&text).ok());
        // `None` if the record is incomplete; then its command had not started.
        let state = written.map(WatchState::from);
        let concerns_folders = state.as_ref().is_none_or(|state| {
            let mut roots = state.roots.iter();
            roots.any(|(root, ..)| {
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

fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

fn path(bytes: Vec<u8>) -> PathBuf {
    OsString::from_vec(bytes).into()
}

impl From<&WatchState> for Written {
    fn from(state: &WatchState) -> Self {
        let root = |(path, zone, known): &(PathBuf, Zone, PathSnapshot)| WrittenRoot {
            path: bytes(path),
            repository: *zone == Zone::Repository,
            known: known.iter().map(|(path, stamp)| (bytes(path), *stamp)).collect(),
        };
        let mounts = state.mounts.iter();
        Self {
            roots: state.roots.iter().map(root).collect(),
            mounts: mounts.map(|(path, identity)| (bytes(path), *identity)).collect(),
            named: state.named.iter().map(|path| bytes(path)).collect(),
            skipped: state.skipped.iter().map(|path| bytes(path)).collect(),
        }
    }
}

impl From<Written> for WatchState {
    fn from(written: Written) -> Self {
        let root = |root: WrittenRoot| {
            let zone = if root.repository { Zone::Repository } else { Zone::Project };
            let known = root.known.into_iter().map(|(at, stamp)| (path(at), stamp));
            (path(root.path), zone, known.collect())
        };
        let mounts: HashMap<_, _> =
            written.mounts.into_iter().map(|(at, identity)| (path(at), identity)).collect();
        Self {
            roots: written.roots.into_iter().map(root).collect(),
            mounts,
            named: written.named.into_iter().map(path).collect(),
            skipped: written.skipped.into_iter().map(path).collect(),
        }
    }
}
