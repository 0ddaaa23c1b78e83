//! Private folders of this daemon's sandboxes (temporary and home), an empty file, and copies of
//! settings. Created when first needed, removed at the end. The next daemon removes those of a
//! killed one.

use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, symlink},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, flock},
    process::getuid,
};

const PREFIX: &str = "cairn-box-";
/// Time to wait at the end for the removal of the folders; the next daemon removes the rest.
const LAST_MOMENT: Duration = Duration::from_millis(300);

static LAID: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the folders at the end of the process, which runs no destructors.
pub(in crate::exec) fn clear_up() {
    let laid = std::mem::take(&mut *LAID.lock().unwrap_or_else(PoisonError::into_inner));
    if laid.is_empty() {
        return;
    }
    let (done, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for folder in laid {
            // Fails if the folder is gone.
            let _ = fs::remove_dir_all(folder);
        }
        let _ = done.send(());
    });
    let _ = wait.recv_timeout(LAST_MOMENT);
}

#[derive(Debug)]
pub(super) struct PrivateFolders {
    /// Dropped before the lock.
    folder: tempfile::TempDir,
    _lock: File,
    /// Mount points in each private home folder.
    homes: Mutex<Vec<Vec<Place>>>,
    /// Kept files, by text.
    copies: Mutex<HashMap<String, PathBuf>>,
}

/// Mount point or link below a private home folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Folder,
    File,
    /// Link to a workspace folder by another name. Nothing is mounted at it.
    Link(PathBuf),
}

/// Private home folders of one daemon. One is needed for each workspace and each change of the
/// toolchains; then the daemon must be restarted.
const MOST_HOMES: usize = 256;

impl PrivateFolders {
    pub(super) fn lay() -> io::Result<Self> {
        let within = std::env::temp_dir();
        sweep(&within);
        // Created with mode 0700, for no other user.
        let folder =
            tempfile::Builder::new().prefix(PREFIX).tempdir_in(&within).map_err(|error| {
                let place = within.display();
                io::Error::new(error.kind(), format!("no temporary folder in {place}: {error}"))
            })?;
        LAID.lock().unwrap_or_else(PoisonError::into_inner).push(folder.path().to_owned());
        let lock = File::open(folder.path())?;
        flock(&lock, FlockOperation::NonBlockingLockShared)?;
        let (homes, copies) = (Mutex::default(), Mutex::default());
        let private = Self { folder, _lock: lock, homes, copies };
        fs::DirBuilder::new().mode(0o700).create(private.temporary())?;
        File::create(private.nothing())?;
        Ok(private)
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

    /// Returns the private home folder with these mount points, which are created before any
    /// command sees it. Commands with other mount points get another folder: commands write in it,
    /// and could have replaced a mount point by a link.
    pub(super) fn home(&self, mut places: Vec<Place>) -> io::Result<PathBuf> {
        places.sort();
        let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
        let path = |number: usize| self.folder.path().join(format!("home{number}"));
        if let Some(known) = homes.iter().position(|known| *known == places) {
            return Ok(path(known));
        }
        if homes.len() >= MOST_HOMES {
            return Err(io::Error::other("too many private home folders; restart Cairn"));
        }
        let home = path(homes.len());
        // A failed attempt may have left it.
        match fs::remove_dir_all(&home) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        fs::DirBuilder::new().mode(0o700).create(&home)?;
        let (links, mounted): (Vec<&Place>, Vec<&Place>) =
            places.iter().partition(|place| matches!(place.kind, Kind::Link(_)));
        // Links come last, so that nothing is created through one.
        for Place { path, kind } in mounted.into_iter().chain(links) {
            let place = home.join(path);
            fs::create_dir_all(place.parent().unwrap_or(&home))?;
            match kind {
                Kind::Folder => fs::create_dir_all(&place)?,
                Kind::File => drop(File::create(place)?),
                Kind::Link(target) if place.symlink_metadata().is_err() => symlink(target, place)?,
                Kind::Link(_) => {}
            }
        }
        homes.push(places);
        Ok(home)
    }

    /// Writes a text to a file that no command can write.
    pub(super) fn keep(&self, text: &str) -> io::Result<PathBuf> {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = copies.get(text) {
            return Ok(path.clone());
        }
        let path = self.folder.path().join(format!("copy{}", copies.len()));
        fs::write(&path, text)?;
        copies.insert(text.to_owned(), path.clone());
        Ok(path)
    }

    /// True for a file that was written here and still exists.
    pub(super) fn holds(&self, file: &Path) -> bool {
        file.parent() == Some(self.folder.path()) && file.is_file()
    }
}

/// Removes folders that have the prefix, belong to this user, and are not locked by a living
/// daemon.
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

/// True for a new folder, which may not be locked yet.
fn is_young(data: &fs::Metadata) -> bool {
    data.modified().ok().and_then(|time| time.elapsed().ok()).is_none_or(|age| age.as_secs() < 10)
}
