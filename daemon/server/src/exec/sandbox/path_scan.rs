//! Incremental scan of a folder tree: returns the stamps of tracked entries. [`Control`] decides what
//! is tracked.
//!
//! A folder is read again only if its stamp changed; else only its tracked entries and its folders
//! are checked. The stamp holds the change time, which no command can set. Two changes within a clock
//! tick have the same time, so a folder that had just changed when it was read is read again. The scan
//! never follows a link and never reads a file.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use cairn_core::policy::control_files::{EntryKind, Zone};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use serde::{Deserialize, Serialize};

use super::control_interest::{Compare, Control, Judged};
use crate::workspace::nofollow::{FOLDER, open_folder};

/// Folders of one tree. If there are more, the result is marked as incomplete.
const MAX_FOLDERS: usize = 300_000;
/// Depth below which a folder is not walked but tracked as a whole; no project is that deep.
const MAX_DEPTH: usize = 256;
/// Nanoseconds within which two changes can have the same time stamp: the kernel's tick takes at
/// most ten milliseconds.
const TICK_NANOS: i128 = 20_000_000;

/// State of an entry: identity, size, mode and times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    pub(super) kind: EntryKind,
    pub(super) compare: Compare,
    pub(super) dev: u64,
    pub(super) ino: u64,
    pub(super) size: u64,
    pub(super) mode: u32,
    modified: i128,
    changed: i128,
}

impl Stamp {
    fn of(stat: &Stat, compare: Compare) -> Self {
        #[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
        Self {
            kind: kind(FileType::from_raw_mode(stat.st_mode)),
            compare,
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            size: stat.st_size as u64,
            mode: stat.st_mode as u32,
            modified: nanos(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: nanos(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }

    /// Returns the stamp of the entry at a path. Links are not followed.
    pub(super) fn at(folder: impl AsFd, name: &Path, compare: Compare) -> io::Result<Self> {
        Ok(Self::of(&statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?, compare))
    }

    /// True if the compared parts are equal.
    pub(super) fn is_still(&self, other: &Self) -> bool {
        let same = self.kind == other.kind && self.compare == other.compare;
        match self.compare {
            Compare::Presence => same,
            Compare::Whole if self.kind != EntryKind::Folder => self == other,
            Compare::Identity | Compare::Whole => {
                same && (self.dev, self.ino) == (other.dev, other.ino)
            }
        }
    }
}

fn kind(of: FileType) -> EntryKind {
    match of {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    }
}

fn nanos(seconds: i64, nanos: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanos)
}

/// Stamps of all tracked entries, by path below the root.
pub(super) type PathSnapshot = BTreeMap<PathBuf, Stamp>;

/// Result of a scan.
#[derive(Debug, Default)]
pub(super) struct PathScan {
    pub(super) found: PathSnapshot,
    /// Set if more folders exist than are walked, or some could not be read.
    pub(super) incomplete: bool,
    /// Number of folders that were read.
    #[cfg(test)]
    read: usize,
}

/// Returns the entries of `after` that differ from `before`. Of a new or changed folder, only the folder
/// itself.
pub(super) fn differing(before: &PathSnapshot, after: &PathSnapshot) -> Vec<(PathBuf, Stamp)> {
    let mut differing = Vec::new();
    let mut changed_folder: Option<&Path> = None;
    for (path, stamp) in after {
        let is_inside = changed_folder.is_some_and(|folder| path.starts_with(folder));
        if is_inside || before.get(path).is_some_and(|before| before.is_still(stamp)) {
            continue;
        }
        if stamp.kind == EntryKind::Folder {
            changed_folder = Some(path);
        }
        differing.push((path.clone(), *stamp));
    }
    differing
}

/// Folder tree with the remembered stamps.
#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
    zone: Zone,
    top: Option<Folder>,
}

#[derive(Debug)]
struct Folder {
    name: OsString,
    zone: Zone,
    /// `None` if the folder must be read.
    stamp: Option<Stamp>,
    tracked: Vec<(OsString, Compare)>,
    folders: Vec<Folder>,
}

impl Tree {
    pub(super) fn new(root: PathBuf, zone: Zone) -> Self {
        Self { root, zone, top: None }
    }

    /// Forgets all stamps, so that the next scan reads each folder.
    pub(super) fn forget(&mut self) {
        self.top = None;
    }

    /// Walks the tree, or its folders above this depth. With `make_readable`, unreadable folders of this
    /// user are made readable: a program that knows a name inside can use such a folder, so it must be
    /// scanned.
    pub(super) fn scan(
        &mut self,
        control: &Control,
        depth: Option<usize>,
        make_readable: bool,
    ) -> io::Result<PathScan> {
        let root = openat(CWD, &self.root, FOLDER, Mode::empty())?;
        let mut walk = Walk {
            root,
            control,
            depth: depth.unwrap_or(usize::MAX),
            make_readable,
            path: PathBuf::new(),
            scan: PathScan::default(),
            folders_left: MAX_FOLDERS,
            started: now(),
        };
        let top = self.top.get_or_insert_with(|| Folder::new(OsString::new(), self.zone));
        walk.folder(top, 0);
        Ok(walk.scan)
    }
}

impl Folder {
    fn new(name: OsString, zone: Zone) -> Self {
        Self { name, zone, stamp: None, tracked: Vec::new(), folders: Vec::new() }
    }
}

struct Walk<'a> {
    root: OwnedFd,
    control: &'a Control,
    /// Depth of the first folders that are not walked.
    depth: usize,
    make_readable: bool,
    path: PathBuf,
    scan: PathScan,
    folders_left: usize,
    started: i128,
}

impl Walk<'_> {
    /// Walks one folder. False if it is gone.
    fn folder(&mut self, folder: &mut Folder, depth: usize) -> bool {
        if self.folders_left == 0 {
            self.scan.incomplete = true;
            return true;
        }
        self.folders_left -= 1;
        let here = if depth == 0 { Path::new(".") } else { self.path.as_path() };
        let Ok(stamp) = Stamp::at(&self.root, here, Compare::Whole) else { return false };
        if stamp.kind != EntryKind::Folder {
            return false;
        }
        if folder.stamp != Some(stamp) {
            match self.read(folder) {
                Ok(stamp) => folder.stamp = self.is_settled(&stamp).then_some(stamp),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return false,
                Err(_) => {
                    folder.stamp = None;
                    self.scan.incomplete = true;
                }
            }
        }
        for (name, compare) in &folder.tracked {
            self.path.push(name);
            if let Ok(stamp) = Stamp::at(&self.root, &self.path, *compare) {
                self.scan.found.insert(self.path.clone(), stamp);
            }
            self.path.pop();
        }
        if depth + 1 >= self.depth {
            return true;
        }
        let mut folders = std::mem::take(&mut folder.folders);
        folders.retain_mut(|inner| {
            self.path.push(&inner.name);
            let exists = if depth < MAX_DEPTH {
                self.folder(inner, depth + 1)
            } else {
                if let Ok(stamp) = Stamp::at(&self.root, &self.path, Compare::Identity) {
                    self.scan.found.insert(self.path.clone(), stamp);
                }
                true
            };
            self.path.pop();
            exists
        });
        folder.folders = folders;
        true
    }

    /// True if a later change gets another stamp.
    fn is_settled(&self, stamp: &Stamp) -> bool {
        self.started - stamp.modified.max(stamp.changed) > TICK_NANOS
    }

    /// Reads the entries of a folder again. Folders that still exist keep their stamps.
    fn read(&mut self, folder: &mut Folder) -> io::Result<Stamp> {
        let opened = match open_folder(&self.root, &self.path, LIST) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && self.make_readable => {
                // No process of the command is alive that could put a link at the path in that time.
                let mode = Mode::RWXU;
                rustix::fs::chmodat(&self.root, &self.path, mode, AtFlags::empty())?;
                open_folder(&self.root, &self.path, LIST)?
            }
            opened => opened?,
        };
        let stamp = Stamp::of(&fstat(&opened)?, Compare::Whole);
        let mut entries: Vec<(OsString, EntryKind)> = Vec::new();
        for entry in Dir::read_from(&opened)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => match Stamp::at(&opened, Path::new(name), Compare::Whole) {
                    Ok(stamp) => stamp.kind,
                    Err(_) => continue,
                },
                known => kind(known),
            };
            entries.push((name.to_owned(), kind));
        }
        #[cfg(test)]
        {
            self.scan.read += 1;
        }
        let judged = self.control.judge(folder.zone, &self.path, &entries);
        let mut before: std::collections::HashMap<OsString, Folder> =
            folder.folders.drain(..).map(|inner| (inner.name.clone(), inner)).collect();
        folder.tracked.clear();
        for ((name, kind), Judged { track, enter }) in entries.into_iter().zip(judged) {
            if let Some(compare) = track {
                folder.tracked.push((name.clone(), compare));
            }
            if let Some(zone) = enter.filter(|_| kind == EntryKind::Folder) {
                let known = before.remove(&name).filter(|inner| inner.zone == zone);
                folder.folders.push(known.unwrap_or_else(|| Folder::new(name, zone)));
            }
        }
        Ok(stamp)
    }
}

/// Flags of a handle to list a folder.
const LIST: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC).union(OFlags::RDONLY);

/// Returns the time in nanoseconds, by the clock of which the kernel's time stamps are a tick behind at
/// most.
fn now() -> i128 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    nanos(now.tv_sec, now.tv_nsec)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Waits until every earlier change is more than a clock tick old.
    fn settle(folder: &Path) {
        let until = now() + 2 * TICK_NANOS;
        while now() < until {
            let _ = fs::metadata(folder);
        }
    }

    /// Tree in which `.envrc` is tracked, and what the last scan of it found.
    struct Scanned {
        tree: Tree,
        known: PathSnapshot,
        read: usize,
    }

    impl Scanned {
        fn new(root: &Path) -> Self {
            let tree = Tree::new(root.to_owned(), Zone::Project);
            Self { tree, known: PathSnapshot::new(), read: 0 }
        }

        fn changes(&mut self) -> Vec<String> {
            let scan = self.tree.scan(&Control::default(), None, false).unwrap();
            let changed = differing(&self.known, &scan.found);
            (self.known, self.read) = (scan.found, scan.read);
            changed.into_iter().map(|(path, _)| path.display().to_string()).collect()
        }
    }

    #[test]
    fn only_changed_folders_are_read_again() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a/b/c", "a/d", "e"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        fs::write(dir.path().join("a/b/.envrc"), "1").unwrap();
        settle(dir.path());
        let mut scanned = Scanned::new(dir.path());
        assert_eq!(scanned.changes(), ["a/b/.envrc"]);
        assert_eq!(scanned.read, 6);
        assert_eq!(scanned.changes(), [""; 0]);
        assert_eq!(scanned.read, 0);
        // Changes of a tracked file, a new file, and below a folder that replaces another one.
        fs::write(dir.path().join("a/b/.envrc"), "2").unwrap();
        fs::write(dir.path().join("e/.envrc"), "").unwrap();
        assert_eq!(scanned.changes(), ["a/b/.envrc", "e/.envrc"]);
        assert_eq!(scanned.read, 1);
        settle(dir.path());
        scanned.changes();
        fs::rename(dir.path().join("a/b"), dir.path().join("a/old")).unwrap();
        fs::create_dir(dir.path().join("a/b")).unwrap();
        fs::write(dir.path().join("a/b/.envrc"), "2").unwrap();
        assert_eq!(scanned.changes(), ["a/b/.envrc", "a/old/.envrc"]);
        fs::remove_dir_all(dir.path().join("a")).unwrap();
        assert_eq!(scanned.changes(), [""; 0]);
        assert_eq!(scanned.known.len(), 1);
    }

    #[test]
    fn a_scan_of_the_top_leaves_what_is_below_to_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b/c")).unwrap();
        let files = [".envrc", "a/.envrc", "a/b/.envrc", "a/b/c/.envrc"];
        let write = |text: &str| {
            files.iter().for_each(|name| fs::write(dir.path().join(name), text).unwrap());
        };
        write("1");
        let mut scanned = Scanned::new(dir.path());
        assert_eq!(scanned.changes(), files);
        write("22");
        let top = scanned.tree.scan(&Control::default(), Some(3), false).unwrap().found;
        let differing = differing(&scanned.known, &top);
        let paths: Vec<_> = differing.iter().map(|(path, _)| path.to_str().unwrap()).collect();
        assert_eq!(paths, [".envrc", "a/.envrc", "a/b/.envrc"]);
        assert_eq!(scanned.changes(), files);
    }

    #[test]
    fn a_change_within_the_same_tick_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let mut scanned = Scanned::new(dir.path());
        for round in 0..50 {
            let folder = dir.path().join(format!("f{round}"));
            fs::create_dir(&folder).unwrap();
            scanned.changes();
            fs::write(folder.join(".envrc"), "").unwrap();
            assert_eq!(scanned.changes(), [format!("f{round}/.envrc")]);
        }
    }

    #[test]
    fn links_are_not_followed_and_deep_folders_are_tracked_whole() {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join(".envrc"), "").unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("link")).unwrap();
        let deep: PathBuf = std::iter::repeat_n("d", MAX_DEPTH + 3).collect();
        fs::create_dir_all(dir.path().join(&deep)).unwrap();
        let mut scanned = Scanned::new(dir.path());
        let found = scanned.changes();
        let expected: PathBuf = std::iter::repeat_n("d", MAX_DEPTH + 1).collect();
        assert_eq!(found, [expected.display().to_string()]);
    }
}
