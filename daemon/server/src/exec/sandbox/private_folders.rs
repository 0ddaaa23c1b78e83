//! Private folders of this daemon's sandboxes: the temporary folder, home folders, an empty file, and
//! copies of settings. They are created when first needed and removed when the daemon ends. If it is
//! killed, the next daemon removes them.

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

use super::remove_tree::remove_tree_at;

/// Start of the folder's name, by which the next daemon finds it.
const PREFIX: &str = "cairn-box-";
/// Start of the name of a folder that could not be removed.
const KEPT_PREFIX: &str = "cairn-left-";
/// Longest time that the end of the daemon waits for the removal of its folders; the next daemon
/// removes the rest.
const REMOVAL_LIMIT: Duration = Duration::from_millis(300);

/// Folders that this process created.
static CREATED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the folders at the end of the process, which runs no destructors.
pub(in crate::exec) fn remove_all() {
    let created = std::mem::take(&mut *CREATED.lock().unwrap_or_else(PoisonError::into_inner));
    if created.is_empty() {
        return;
    }
    let (done, wait) = std::sync::mpsc::channel();
    let removal = std::thread::Builder::new().spawn(move || {
        for folder in created {
            // Fails if the folder is gone.
            let _ = remove_tree_at(&folder);
        }
        let _ = done.send(());
    });
    if removal.is_ok() {
        let _ = wait.recv_timeout(REMOVAL_LIMIT);
    }
}

#[derive(Debug)]
pub(super) struct PrivateFolders {
    folder: PathBuf,
    /// Tells other daemons that this one is alive.
    _lock: File,
    /// Mount points in each private home folder.
    homes: Mutex<Vec<Vec<PrivatePlace>>>,
    /// Paths of copies, by text.
    copies: Mutex<HashMap<String, PathBuf>>,
}

/// Mount point or link below a private home folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PrivatePlace {
    pub(super) path: PathBuf,
    pub(super) kind: PlaceKind,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PlaceKind {
    Folder,
    File,
    /// Link to a workspace folder by another name. Nothing is mounted at it.
    Link(PathBuf),
}

/// Private home folders of one daemon. Each workspace needs one, and each change of the toolchains
/// needs another. At the limit the user must restart the daemon.
const MAX_HOMES: usize = 256;

impl PrivateFolders {
    pub(super) fn create() -> io::Result<Self> {
        let within = std::env::temp_dir();
        remove_abandoned(&within);
        // Created with mode 0700, for no other user.
        let folder =
            tempfile::Builder::new().prefix(PREFIX).tempdir_in(&within).map_err(|error| {
                let place = within.display();
                io::Error::new(error.kind(), format!("no temporary folder in {place}: {error}"))
            })?;
        // Its own removal would use recursion.
        let folder = folder.keep();
        CREATED.lock().unwrap_or_else(PoisonError::into_inner).push(folder.clone());
        let lock = File::open(&folder)?;
        flock(&lock, FlockOperation::NonBlockingLockShared)?;
        let (homes, copies) = (Mutex::default(), Mutex::default());
        let private = Self { folder, _lock: lock, homes, copies };
        fs::DirBuilder::new().mode(0o700).create(private.temporary())?;
        File::create(private.empty_file())?;
        Ok(private)
    }

    pub(super) fn exist(&self) -> bool {
        self.temporary().is_dir() && self.empty_file().is_file()
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    pub(super) fn empty_file(&self) -> PathBuf {
        self.folder.join("nothing")
    }

    /// Returns a private home folder with exactly these mount points. They are created before any
    /// command sees the folder, and none is added later: a command could have put a link at its path.
    pub(super) fn home(&self, mut places: Vec<PrivatePlace>) -> io::Result<PathBuf> {
        places.sort();
        let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
        let path = |number: usize| self.folder.join(format!("home{number}"));
        if let Some(known) = homes.iter().position(|known| *known == places) {
            return Ok(path(known));
        }
        if homes.len() >= MAX_HOMES {
            return Err(io::Error::other("too many private home folders; restart Cairn"));
        }
        let home = path(homes.len());
        // An earlier attempt may have failed halfway.
        match remove_tree_at(&home) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        fs::DirBuilder::new().mode(0o700).create(&home)?;
        let (links, mounted): (Vec<&PrivatePlace>, Vec<&PrivatePlace>) =
            places.iter().partition(|place| matches!(place.kind, PlaceKind::Link(_)));
        // Links are created last, so that no mount point is created through one.
        for PrivatePlace { path, kind } in mounted.into_iter().chain(links) {
            let place = home.join(path);
            fs::create_dir_all(place.parent().unwrap_or(&home))?;
            match kind {
                PlaceKind::Folder => fs::create_dir_all(&place)?,
                PlaceKind::File => drop(File::create(place)?),
                PlaceKind::Link(target) if place.symlink_metadata().is_err() => {
                    symlink(target, place)?
                }
                PlaceKind::Link(_) => {}
            }
        }
        homes.push(places);
        Ok(home)
    }

    /// Writes a text to a file that no command can write.
    pub(super) fn write_copy(&self, text: &str) -> io::Result<PathBuf> {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = copies.get(text) {
            return Ok(path.clone());
        }
        let path = self.folder.join(format!("copy{}", copies.len()));
        fs::write(&path, text)?;
        copies.insert(text.to_owned(), path.clone());
        Ok(path)
    }

    /// True for a copy that was written here and still exists.
    pub(super) fn contains(&self, file: &Path) -> bool {
        file.parent() == Some(&self.folder) && file.is_file()
    }
}

impl Drop for PrivateFolders {
    fn drop(&mut self) {
        // Fails if the folder is gone.
        let _ = remove_tree_at(&self.folder);
    }
}

/// Removes folders that have the prefix, belong to this user, and are not locked by a living
/// daemon.
fn remove_abandoned(within: &Path) {
    let Ok(entries) = fs::read_dir(within) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if !entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let Ok(data) = fs::symlink_metadata(&path) else { continue };
        if !data.is_dir() || data.uid() != getuid().as_raw() || is_new(&data) {
            continue;
        }
        let is_unlocked = File::open(&path)
            .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok());
        if is_unlocked && let Err(error) = remove_tree_at(&path) {
            // Under another name it is not tried again.
            let aside = within.join(format!("{KEPT_PREFIX}{}", uuid::Uuid::now_v7().simple()));
            let renamed = fs::rename(&path, &aside).is_ok();
            let left = if renamed { aside } else { path };
            tracing::warn!("{} of an earlier process stays: {error}", left.display());
        }
    }
}

/// True for a new folder, which its daemon may not have locked yet.
fn is_new(data: &fs::Metadata) -> bool {
    data.modified().ok().and_then(|time| time.elapsed().ok()).is_none_or(|age| age.as_secs() < 10)
}
