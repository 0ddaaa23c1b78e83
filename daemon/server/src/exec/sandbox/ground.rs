//! The private temporary folder of this daemon's boxes, and an empty file: made when first needed,
//! removed at the end. What a killed daemon left is removed by the next one.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, flock},
    process::getuid,
};

const PREFIX: &str = "cairn-box-";
/// What a process that ends may wait for its folders to be removed; the next one removes the rest.
const LAST_MOMENT: Duration = Duration::from_millis(300);

static LAID: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// For the end of the process, which drops nothing.
pub(in crate::exec) fn clear_up() {
    let laid = std::mem::take(&mut *LAID.lock().unwrap_or_else(PoisonError::into_inner));
    if laid.is_empty() {
        return;
    }
    let (done, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for folder in laid {
            // It may be gone already.
            let _ = fs::remove_dir_all(folder);
        }
        let _ = done.send(());
    });
    let _ = wait.recv_timeout(LAST_MOMENT);
}

#[derive(Debug)]
pub(super) struct Ground {
    /// Removed before the lock ends.
    folder: tempfile::TempDir,
    _lock: File,
}

impl Ground {
    pub(super) fn lay() -> io::Result<Self> {
        let within = std::env::temp_dir();
        sweep(&within);
        // For nobody else: its mode is 0700 from the start.
        let folder =
            tempfile::Builder::new().prefix(PREFIX).tempdir_in(&within).map_err(|error| {
                let place = within.display();
                io::Error::new(error.kind(), format!("no temporary folder in {place}: {error}"))
            })?;
        LAID.lock().unwrap_or_else(PoisonError::into_inner).push(folder.path().to_owned());
        let lock = File::open(folder.path())?;
        flock(&lock, FlockOperation::NonBlockingLockShared)?;
        let ground = Self { folder, _lock: lock };
        fs::DirBuilder::new().mode(0o700).create(ground.temporary())?;
        File::create(ground.nothing())?;
        Ok(ground)
    }

    pub(super) fn is_there(&self) -> bool {
        self.temporary().is_dir() && self.nothing().is_file()
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.folder.path().join("tmp")
    }

    pub(super) fn nothing(&self) -> PathBuf {
        self.folder.path().join("nothing")
    }
}

/// Removes what bears our name, is ours, and is not locked by a living daemon.
fn sweep(within: &Path) {
    let Ok(entries) = fs::read_dir(within) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if !entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let Ok(data) = fs::symlink_metadata(&path) else { continue };
        if !data.is_dir() || data.uid() != getuid().as_raw() || is_young(&data) {
            continue;
        }
        let free = File::open(&path)
            .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok());
        if free && let Err(error) = fs::remove_dir_all(&path) {
            tracing::debug!("{} stays: {error}", path.display());
        }
    }
}

/// It may not be locked yet.
fn is_young(data: &fs::Metadata) -> bool {
    data.modified().ok().and_then(|time| time.elapsed().ok()).is_none_or(|age| age.as_secs() < 10)
}
