//! State of a watch on disk when a command begins, for the next daemon if this one is killed.
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

use super::{
    super::path_scan::{Snapshot, Stamp},
    state::Mounts,
};

const FOLDER: &str = "running-commands";
const LONGEST: u64 = 64 * 1024 * 1024;
const MOST: usize = 64;

/// Locked record file. Removed on drop.
#[derive(Debug)]
pub(super) struct Record {
    path: PathBuf,
    _locked: File,
}

#[derive(Debug, PartialEq)]
pub(super) struct Recorded {
    pub(super) roots: Vec<(PathBuf, Zone, Snapshot)>,
    pub(super) mounts: Mounts,
    pub(super) named: BTreeSet<PathBuf>,
    pub(super) skipped: BTreeSet<PathBuf>,
}

/// Serialized form. Paths are bytes, because they may not be UTF-8.
#[derive(Serialize, Deserialize)]
struct Written {
    roots: Vec<WrittenRoot>,
    mounts: Vec<WrittenMount>,
    named: Vec<Vec<u8>>,
    skipped: Vec<Vec<u8>>,
}

/// Identity (device, inode) of a read-only mount; `None` for a writable one.
type WrittenMount = (Vec<u8>, Option<(u64, u64)>);

#[derive(Serialize, Deserialize)]
struct WrittenRoot {
    path: Vec<u8>,
    repository: bool,
    known: Vec<(Vec<u8>, Stamp)>,
}

impl Record {
    /// Writes a record, which is durable on return.
    pub(super) fn write(state: &Path, recorded: &Recorded) -> io::Result<Self> {
        let folder = state.join(FOLDER);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let path = folder.join(format!("{}.json", uuid::Uuid::now_v7()));
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        file.write_all(&serde_json::to_vec(&Written::from(recorded)).map_err(io::Error::other)?)?;
        file.sync_all()?;
        File::open(&folder)?.sync_all()?;
        Ok(Self { path, _locked: file })
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!("{} stays: {error}", self.path.display());
        }
    }
}

/// Takes records of killed daemons that worked in one of these folders.
pub(super) fn abandoned(state: &Path, folders: &[PathBuf]) -> Vec<Recorded> {
    let Ok(entries) = fs::read_dir(state.join(FOLDER)) else { return Vec::new() };
    let mut abandoned = Vec::new();
    for entry in entries.flatten().take(MOST) {
        let path = entry.path();
        let Ok(file) = File::open(&path) else { continue };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        let mut text = Vec::new();
        let read = (&file).take(LONGEST).read_to_end(&mut text);
        let recorded = read.ok().and_then(|_| serde_json::from_slice::<Written>(&text).ok());
        // An incomplete record: its command had not started.
        let recorded = recorded.map(Recorded::from);
        let is_ours = recorded.as_ref().is_none_or(|recorded| {
            let mut roots = recorded.roots.iter();
            roots.any(|(root, ..)| {
                folders.iter().any(|it| it.starts_with(root) || root.starts_with(it))
            })
        });
        if is_ours {
            let _ = fs::remove_file(&path);
            abandoned.extend(recorded);
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

impl From<&Recorded> for Written {
    fn from(recorded: &Recorded) -> Self {
        let root = |(path, zone, known): &(PathBuf, Zone, Snapshot)| WrittenRoot {
            path: bytes(path),
            repository: *zone == Zone::Repository,
            known: known.iter().map(|(path, stamp)| (bytes(path), *stamp)).collect(),
        };
        let mounts = recorded.mounts.iter();
        Self {
            roots: recorded.roots.iter().map(root).collect(),
            mounts: mounts.map(|(path, identity)| (bytes(path), *identity)).collect(),
            named: recorded.named.iter().map(|path| bytes(path)).collect(),
            skipped: recorded.skipped.iter().map(|path| bytes(path)).collect(),
        }
    }
}

impl From<Written> for Recorded {
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
