//! Private folders of this daemon's sandboxes: the temporary folder, home folders, an empty file, and
//! copies of settings. They are created when first needed and removed when the daemon ends. If it is
//! killed, the next daemon removes them.

use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, symlink},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use rustix::process::getuid;

use crate::exec::sandbox::remove_tree::remove_tree_at;

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
    let created = std::mem::take(&mut *CREATED.lock());
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

/// Temporary folder for files about commands without a sandbox. It is removed as those of sandboxes.
pub(crate) fn shared_temporary() -> io::Result<PathBuf> {
    static SHARED: Mutex<Option<PrivateFolders>> = Mutex::new(None);
    let mut shared = SHARED.lock();
    match shared.as_ref().filter(|folders| folders.exist()) {
        Some(folders) => Ok(folders.temporary()),
        None => Ok(shared.insert(PrivateFolders::create()?).temporary()),
    }
}

#[derive(Debug)]
pub(super) struct PrivateFolders {
    folder: PathBuf,
    /// Tells other daemons that this one is alive.
    _lock: File,
    homes: Mutex<Homes>,
    /// Paths of copies, by text.
    copies: Mutex<HashMap<String, PathBuf>>,
}

/// Private home folders of one daemon.
#[derive(Debug, Default)]
struct Homes {
    /// Those that the next command with these mount points gets.
    known: Vec<(Vec<PrivatePlace>, Arc<PrivateHome>)>,
    /// Those that no other command gets; removed when the last of their commands has ended.
    retired: Vec<Arc<PrivateHome>>,
    made: usize,
}

/// Private home folder. A sandbox keeps it while it exists.
#[derive(Debug)]
pub(super) struct PrivateHome(PathBuf);

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

/// Most private home folders. Each workspace needs one, and each change of the toolchains needs
/// another. At the limit the user must restart the daemon.
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
        CREATED.lock().push(folder.clone());
        let lock = File::open(&folder)?;
        lock.try_lock_shared()?;
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

    pub(super) fn packages(&self) -> PathBuf {
        self.folder.join("packages")
    }

    pub(super) fn empty_file(&self) -> PathBuf {
        self.folder.join("nothing")
    }

    /// Returns a private home folder with exactly these mount points. They are created before any
    /// command sees the folder, and none is added later: a command could have put a link at its path.
    ///
    /// With `fresh`, and if a command damaged the folder, it is a new one: what earlier commands left
    /// does not run in a command with more rights.
    pub(super) fn home(
        &self,
        mut places: Vec<PrivatePlace>,
        fresh: bool,
    ) -> io::Result<Arc<PrivateHome>> {
        places.sort();
        let mut homes = self.homes.lock();
        // Removes retired folders that no sandbox uses.
        let is_used = |home: &Arc<PrivateHome>| Arc::strong_count(home) > 1;
        homes.retired.retain(|home| is_used(home) || remove_tree_at(&home.0).is_err());
        if let Some(at) = homes.known.iter().position(|(known, _)| *known == places) {
            let (_, home) = &homes.known[at];
            if !fresh && home.is_intact(&places) {
                return Ok(Arc::clone(home));
            }
            let (_, home) = homes.known.remove(at);
            homes.retired.push(home);
        }
        if homes.known.len() + homes.retired.len() >= MAX_HOMES {
            return Err(io::Error::other("too many private home folders; restart Cairn"));
        }
        let home = Arc::new(PrivateHome(self.folder.join(format!("home{}", homes.made))));
        homes.made += 1;
        home.make(&places)?;
        homes.known.push((places, Arc::clone(&home)));
        Ok(home)
    }

    /// Writes a text to a file that no command can write.
    pub(super) fn write_copy(&self, text: &str) -> io::Result<PathBuf> {
        let mut copies = self.copies.lock();
        if let Some(path) = copies.get(text) {
            return Ok(path.clone());
        }
        let path = self.folder.join(format!("copy{}", copies.len()));
        fs::write(&path, text)?;
        copies.insert(text.to_owned(), path.clone());
        Ok(path)
    }
}

impl PrivateHome {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    fn make(&self, places: &[PrivatePlace]) -> io::Result<()> {
        let home = &self.0;
        fs::DirBuilder::new().mode(0o700).create(home)?;
        let (links, mounted): (Vec<&PrivatePlace>, Vec<&PrivatePlace>) =
            places.iter().partition(|place| matches!(place.kind, PlaceKind::Link(_)));
        // Links are created last, so that no mount point is created through one.
        for PrivatePlace { path, kind } in mounted.into_iter().chain(links) {
            let place = home.join(path);
            fs::create_dir_all(place.parent().unwrap_or(home))?;
            match kind {
                PlaceKind::Folder => fs::create_dir_all(&place)?,
                PlaceKind::File => drop(File::create(place)?),
                PlaceKind::Link(target) if place.symlink_metadata().is_err() => {
                    symlink(target, place)?
                }
                PlaceKind::Link(_) => {}
            }
        }
        Ok(())
    }

    /// True if all mount points are as they were made, and can be reached.
    fn is_intact(&self, places: &[PrivatePlace]) -> bool {
        const MAY_ENTER: u32 = 0o700;
        let is_folder = |path: &Path| {
            let data = fs::symlink_metadata(path);
            data.is_ok_and(|data| data.is_dir() && data.mode() & MAY_ENTER == MAY_ENTER)
        };
        let is_there = |place: &PrivatePlace| {
            let at = self.0.join(&place.path);
            let mut above = at.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.0));
            let is_kept = match &place.kind {
                PlaceKind::Folder => at.symlink_metadata().is_ok_and(|data| data.is_dir()),
                PlaceKind::File => at.symlink_metadata().is_ok_and(|data| data.is_file()),
                PlaceKind::Link(target) => fs::read_link(&at).is_ok_and(|it| it == *target),
            };
            is_kept && above.all(is_folder)
        };
        is_folder(&self.0) && places.iter().all(is_there)
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
        let is_unlocked = File::open(&path).is_ok_and(|file| file.try_lock().is_ok());
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_home_is_used_again_unless_it_is_damaged_or_a_fresh_one_is_wanted() {
        let private = PrivateFolders::create().unwrap();
        let place = |path: &str, kind| PrivatePlace { path: path.into(), kind };
        let places = || {
            vec![
                place(".cargo/bin", PlaceKind::Folder),
                place(".gitconfig", PlaceKind::File),
                place("code", PlaceKind::Link("/elsewhere".into())),
            ]
        };
        let home = |fresh| private.home(places(), fresh).unwrap();
        let mut known = home(false);
        fs::write(known.path().join("left"), "").unwrap();
        assert_eq!(home(false).path(), known.path());
        let damages: [fn(&Path) -> io::Result<()>; 5] = [
            |home| fs::set_permissions(home.join(".cargo"), fs::Permissions::from_mode(0o0)),
            |home| fs::remove_dir(home.join(".cargo/bin")),
            |home| {
                fs::rename(home.join(".cargo"), home.join("cargo"))
                    .and_then(|()| symlink("cargo", home.join(".cargo")))
            },
            |home| fs::remove_file(home.join(".gitconfig")),
            |home| {
                fs::remove_file(home.join("code")).and_then(|()| symlink("/", home.join("code")))
            },
        ];
        for (at, damage) in damages.iter().enumerate() {
            damage(known.path()).unwrap();
            let next = home(false);
            assert_ne!(next.path(), known.path(), "{at}");
            known = next;
        }
        // A fresh one is what later commands get, and the former goes when its last command ends.
        let fresh = home(true);
        assert_ne!(fresh.path(), known.path());
        assert_eq!(home(false).path(), fresh.path());
        assert!(known.path().exists(), "a command runs in it");
        let former = known.path().to_owned();
        drop(known);
        home(false);
        assert!(!former.exists());
    }
}
