//! Quarantine: folders of Cairn to which files of a workspace are moved, and from which they can be
//! moved back.
//!
//! Entries are renamed, or copied and removed if the quarantine is on another file system. Links are
//! never followed: paths are opened below the open workspace folder. The quarantine is bounded by age
//! and size.

use std::{
    ffi::OsStr,
    fs::{self, File, Permissions},
    io::{self, Read, Write},
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use cairn_core::policy::control_files::EntryKind;
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, readlinkat, renameat, symlinkat, unlinkat},
    io::Errno,
};
use walkdir::WalkDir;

use super::{
    control_interest::Compare,
    path_scan::Stamp,
    remove_tree::{names, remove_tree, remove_tree_at},
    shown_path::shown_path,
};
use crate::workspace::nofollow::{FOLDER, open_file, open_folder};

/// Age at which entries are removed when the daemon starts.
const MAX_AGE: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// Time after which an entry is removed that was found too old.
const DUE_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// Size in bytes above which the oldest entries are removed.
pub(super) const MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// Limits of a copy between file systems.
const MAX_COPIED_BYTES: u64 = 256 * 1024 * 1024;
const MAX_COPIED_ENTRIES: usize = 20_000;
const MAX_COPIED_DEPTH: usize = 64;
/// File in a quarantine folder with the former path of each entry, for the user.
const ORIGINS: &str = "origins.txt";

/// Quarantine folder of the commands that run at the same time.
#[derive(Debug)]
pub(super) struct Quarantine {
    folder: PathBuf,
    count: usize,
}

/// Returns the parent of all quarantine folders.
pub(super) fn parent_folder(state: Option<&Path>) -> PathBuf {
    match state {
        Some(state) => state.join("quarantine"),
        // Commands cannot see it: a sandbox has a private temporary folder.
        None => std::env::temp_dir()
            .join(format!("cairn-quarantine-{}", rustix::process::getuid().as_raw())),
    }
}

impl Quarantine {
    pub(super) fn create(parent: &Path) -> io::Result<Self> {
        let folder = parent.join(uuid::Uuid::now_v7().to_string());
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        Ok(Self { folder, count: 0 })
    }

    /// Moves the entry at `path` below `root` to quarantine and returns its new path.
    pub(super) fn take(&mut self, root: &Path, path: &Path) -> io::Result<PathBuf> {
        let place = EntryPlace::open(root, path)?;
        self.count += 1;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let to = self.folder.join(format!("{}-{name}", self.count));
        // Written before the move, so that the origin is recorded even if the daemon is killed now.
        let mut origins = File::options()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(self.folder.join(ORIGINS))?;
        writeln!(origins, "{}\t{}", to.display(), shown_path(&root.join(path)))?;
        place.make_movable()?;
        match renameat(&place.folder, place.name, CWD, &to) {
            Ok(()) => return Ok(to),
            Err(Errno::XDEV) => {}
            Err(error) => return Err(error.into()),
        }
        let parent = openat(CWD, &self.folder, FOLDER, Mode::empty())?;
        let target = to.file_name().unwrap_or_default();
        let mut left = Budget::large();
        match copy(&place.folder, place.name, &parent, target, &mut left) {
            Ok(()) => {
                remove_tree(&place.folder, place.name)?;
                Ok(to)
            }
            Err(error) => {
                let _ = remove_tree(&parent, target);
                // The entry stays in its folder, under a name that no program uses. A repository loses
                // its `HEAD`, without which git does not accept it.
                let aside = format!(".cairn-quarantined-{}", uuid::Uuid::now_v7().simple());
                renameat(&place.folder, place.name, &place.folder, &aside)?;
                let folder =
                    openat(&place.folder, &aside, FOLDER | OFlags::NOFOLLOW, Mode::empty());
                if let Ok(folder) = folder {
                    let _ =
                        copy(&folder, OsStr::new("HEAD"), &parent, target, &mut Budget::small());
                    let _ = remove_tree(&folder, OsStr::new("HEAD"));
                }
                tracing::warn!("{} could not be copied to quarantine: {error}", path.display());
                Ok(root.join(path).with_file_name(aside))
            }
        }
    }
}

/// Moves an entry back to its former path, if the path is free.
pub(super) fn put_back(from: &Path, root: &Path, path: &Path) -> io::Result<()> {
    let place = EntryPlace::open(root, path)?;
    if Stamp::at(&place.folder, Path::new(place.name), Compare::Whole).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    match rename_to_free_path(from, &place) {
        Ok(()) => return Ok(()),
        Err(Errno::XDEV) => {}
        Err(error) => return Err(error.into()),
    }
    let (Some(folder), Some(name)) = (from.parent(), from.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = openat(CWD, folder, FOLDER, Mode::empty())?;
    let mut left = Budget::large();
    copy(&folder, name, &place.folder, place.name, &mut left)?;
    remove_tree(&folder, name)
}

/// Renames an entry. Fails if the new path exists.
fn rename_to_free_path(from: &Path, to: &EntryPlace) -> rustix::io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    match renameat_with(CWD, from, &to.folder, to.name, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => renameat(CWD, from, &to.folder, to.name),
        renamed => renamed,
    }
}

/// Content of a path before a command replaced it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FormerEntry {
    Link(std::ffi::CString),
    File { bytes: Vec<u8>, mode: u32 },
}

impl FormerEntry {
    /// Reads the entry; `None` if it is neither a link nor a small file.
    pub(super) fn of(root: &Path, path: &Path, max_bytes: u64) -> Option<Self> {
        let place = EntryPlace::open(root, path).ok()?;
        let stamp = Stamp::at(&place.folder, Path::new(place.name), Compare::Whole).ok()?;
        match stamp.kind {
            EntryKind::Link => {
                Some(Self::Link(readlinkat(&place.folder, place.name, Vec::new()).ok()?))
            }
            EntryKind::File => {
                let file = open_file(&place.folder, place.name).ok()?;
                let mode = std::os::unix::fs::MetadataExt::mode(&file.metadata().ok()?);
                let mut bytes = Vec::new();
                file.take(max_bytes + 1).read_to_end(&mut bytes).ok()?;
                (bytes.len() as u64 <= max_bytes)
                    .then_some(Self::File { bytes, mode: mode & 0o7777 })
            }
            EntryKind::Folder | EntryKind::Other => None,
        }
    }

    /// Creates the entry again. Fails if something is at its path.
    pub(super) fn restore(&self, root: &Path, path: &Path) -> io::Result<()> {
        let place = EntryPlace::open(root, path)?;
        match self {
            Self::Link(target) => Ok(symlinkat(target.as_c_str(), &place.folder, place.name)?),
            Self::File { bytes, mode } => {
                let mut file = create(&place.folder, place.name, *mode)?;
                file.write_all(bytes)
            }
        }
    }
}

/// Removes the entry at a path if its stamp is unchanged.
pub(super) fn remove_if(root: &Path, path: &Path, stamp: &Stamp) -> io::Result<()> {
    let place = EntryPlace::open(root, path)?;
    if !Stamp::at(&place.folder, Path::new(place.name), stamp.compare)?.is_still(stamp) {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    Ok(unlinkat(&place.folder, place.name, AtFlags::empty())?)
}

/// Name in an open folder.
struct EntryPlace<'a> {
    folder: OwnedFd,
    name: &'a OsStr,
}

impl<'a> EntryPlace<'a> {
    fn open(root: &Path, path: &'a Path) -> io::Result<Self> {
        let root = openat(CWD, root, FOLDER, Mode::empty())?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        Ok(Self { folder: open_folder(root, parent, FOLDER)?, name })
    }

    /// Makes a folder writable, because only a writable folder can be moved to another folder.
    fn make_movable(&self) -> io::Result<()> {
        let stamp = Stamp::at(&self.folder, Path::new(self.name), Compare::Whole)?;
        if stamp.kind == EntryKind::Folder && stamp.mode & 0o700 != 0o700 {
            rustix::fs::chmodat(&self.folder, self.name, Mode::RWXU, AtFlags::empty())?;
        }
        Ok(())
    }
}

/// Limits of a copy that remain.
struct Budget {
    bytes: u64,
    entries: usize,
    /// Folders that may still be nested.
    depth: usize,
}

impl Budget {
    /// Budget for an entry of a workspace.
    fn large() -> Self {
        Self { bytes: MAX_COPIED_BYTES, entries: MAX_COPIED_ENTRIES, depth: MAX_COPIED_DEPTH }
    }

    /// Budget for one small file.
    fn small() -> Self {
        Self { bytes: 1024 * 1024, entries: 1, depth: 0 }
    }

    fn spend(&mut self, bytes: u64) -> io::Result<()> {
        let remaining = self.bytes.checked_sub(bytes).zip(self.entries.checked_sub(1));
        let (bytes, entries) =
            remaining.ok_or_else(|| io::Error::other("the entry is too large to be copied"))?;
        (self.bytes, self.entries) = (bytes, entries);
        Ok(())
    }
}

/// Copies a file, a folder, or a link as a link. Pipes, sockets and devices are left out.
fn copy(
    from: &OwnedFd,
    name: &OsStr,
    to: &OwnedFd,
    as_name: &OsStr,
    left: &mut Budget,
) -> io::Result<()> {
    let stamp = Stamp::at(from, Path::new(name), Compare::Whole)?;
    match stamp.kind {
        EntryKind::Other => Ok(()),
        EntryKind::Link => {
            left.spend(0)?;
            Ok(symlinkat(readlinkat(from, name, Vec::new())?.as_c_str(), to, as_name)?)
        }
        EntryKind::File => {
            left.spend(stamp.size)?;
            let file = open_file(from, name)?;
            let mut copied = create(to, as_name, stamp.mode & 0o7777)?;
            io::copy(&mut file.take(stamp.size), &mut copied)?;
            Ok(())
        }
        EntryKind::Folder => {
            left.spend(0)?;
            mkdirat(to, as_name, Mode::RWXU)?;
            let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let from = openat(from, name, flags, Mode::empty())?;
            let to = openat(to, as_name, flags, Mode::empty())?;
            let too_deep = || io::Error::other("the folder is too deep to be copied");
            left.depth = left.depth.checked_sub(1).ok_or_else(too_deep)?;
            for name in names(&from)? {
                copy(&from, &name, &to, &name, left)?;
            }
            left.depth += 1;
            File::from(to).set_permissions(Permissions::from_mode(stamp.mode & 0o7777))
        }
    }
}

/// Creates a file. Fails if the name exists.
fn create(folder: &OwnedFd, name: &OsStr, mode: u32) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(openat(folder, name, flags, Mode::from_raw_mode(0o600))?);
    file.set_permissions(Permissions::from_mode(mode & 0o777))?;
    Ok(file)
}

/// Removes quarantine folders above the limit of age, and the oldest ones above `max_bytes` in total.
pub(super) fn remove_old(parent: &Path, now: SystemTime, max_bytes: u64) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    let mut folders: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    folders.sort();
    let (mut total, mut entries) = (0_u64, 0_usize);
    for (modified, folder) in folders.into_iter().rev() {
        let is_due = is_due(&folder, modified, now);
        total = total.saturating_add(size(&folder, &mut entries));
        if is_due || total > max_bytes {
            match remove_tree_at(&folder) {
                // Fails if there is no such file.
                Ok(()) => drop(fs::remove_file(due_file(&folder))),
                Err(error) => tracing::warn!("{} is not removed: {error}", folder.display()),
            }
        }
    }
}

/// True for a folder that was found too old a day ago and still is: a clock that is wrong for an hour
/// removes nothing.
fn is_due(folder: &Path, modified: SystemTime, now: SystemTime) -> bool {
    let is_older = |time: SystemTime, age| now.duration_since(time).is_ok_and(|it| it > age);
    let file = due_file(folder);
    if !is_older(modified, MAX_AGE) {
        // Fails if there is no such file.
        let _ = fs::remove_file(file);
        return false;
    }
    if let Ok(found) = fs::metadata(&file).and_then(|data| data.modified()) {
        return is_older(found, DUE_FOR);
    }
    if let Err(error) = File::create(&file).and_then(|file| file.set_modified(now)) {
        tracing::warn!("{} cannot be noted as old: {error}", folder.display());
    }
    false
}

/// Empty file next to a folder that was found too old, with the time of that.
fn due_file(folder: &Path) -> PathBuf {
    folder.with_extension("due")
}

/// Returns the bytes in a folder. `entries` counts what was read, up to a limit.
fn size(folder: &Path, entries: &mut usize) -> u64 {
    const MAX_ENTRIES: usize = 1_000_000;
    let mut total = 0;
    for entry in WalkDir::new(folder).into_iter().flatten() {
        *entries += 1;
        if *entries > MAX_ENTRIES {
            break;
        }
        let file = entry.metadata().ok().filter(|data| !data.is_dir());
        total += file.map_or(0, |data| data.len());
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_in_quarantine_can_be_put_back_to_a_free_path() {
        let dir = tempfile::tempdir().unwrap();
        let (root, parent) = (dir.path().join("ws"), dir.path().join("quarantine"));
        fs::create_dir_all(root.join("sub/.git/hooks")).unwrap();
        fs::write(root.join("sub/.git/config"), "x").unwrap();
        std::os::unix::fs::symlink("config", root.join("sub/.git/link")).unwrap();
        let mut quarantine = Quarantine::create(&parent).unwrap();
        let path = Path::new("sub/.git");
        let at = quarantine.take(&root, path).unwrap();
        assert!(!root.join(path).exists() && at.starts_with(&parent));
        assert_eq!(fs::read_to_string(at.join("config")).unwrap(), "x");
        // The path is not free.
        fs::write(root.join(path), "").unwrap();
        assert!(put_back(&at, &root, path).is_err());
        fs::remove_file(root.join(path)).unwrap();
        put_back(&at, &root, path).unwrap();
        assert_eq!(fs::read_link(root.join("sub/.git/link")).unwrap(), Path::new("config"));
        // The path leads through a link.
        let at = quarantine.take(&root, path).unwrap();
        fs::rename(root.join("sub"), root.join("other")).unwrap();
        std::os::unix::fs::symlink("other", root.join("sub")).unwrap();
        assert!(put_back(&at, &root, path).is_err());
    }

    #[test]
    fn a_copy_is_equal_and_its_size_is_limited() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        fs::write(dir.path().join("a/b/c"), "text").unwrap();
        std::os::unix::fs::symlink("/nowhere", dir.path().join("a/link")).unwrap();
        let folder = openat(CWD, dir.path(), FOLDER, Mode::empty()).unwrap();
        let names = [OsStr::new("a"), OsStr::new("z")];
        copy(&folder, names[0], &folder, names[1], &mut Budget { bytes: 4, entries: 4, depth: 2 })
            .unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("z/b/c")).unwrap(), "text");
        assert_eq!(fs::read_link(dir.path().join("z/link")).unwrap(), Path::new("/nowhere"));
        remove_tree(&folder, names[1]).unwrap();
        let short = copy(
            &folder,
            names[0],
            &folder,
            names[1],
            &mut Budget { bytes: 3, entries: 9, depth: 2 },
        );
        assert!(short.is_err());
        let mut flat = Budget { bytes: 9, entries: 9, depth: 1 };
        let deep = copy(&folder, names[0], &folder, OsStr::new("y"), &mut flat);
        assert_eq!(deep.unwrap_err().to_string(), "the folder is too deep to be copied");
    }

    #[test]
    fn old_folders_and_those_above_the_size_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            fs::create_dir(dir.path().join(name)).unwrap();
            fs::write(dir.path().join(name).join("x"), "0123456789").unwrap();
            let time = rustix::fs::Timespec {
                tv_sec: if name == "a" { 1_000 } else { 2_000 },
                tv_nsec: 0,
            };
            let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
            rustix::fs::utimensat(CWD, dir.path().join(name), &times, AtFlags::empty()).unwrap();
        }
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let left = || fs::read_dir(dir.path()).unwrap().count();
        remove_old(dir.path(), at(3_000), 100);
        assert_eq!(left(), 2);
        remove_old(dir.path(), at(3_000), 15);
        assert!(left() == 1 && dir.path().join("b").exists());
        let after = |days: u64| remove_old(dir.path(), at(3_000 + days * 24 * 60 * 60), 100);
        // A clock that was wrong at one start, however often it is.
        for _ in 0..3 {
            after(15);
            after(15);
            assert!(dir.path().join("b").exists());
            after(0);
            assert_eq!(left(), 1, "the note that the folder is old is removed");
        }
        after(15);
        after(17);
        assert_eq!(left(), 0);
    }
}
