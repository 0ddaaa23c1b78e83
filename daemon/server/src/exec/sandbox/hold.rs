//! Names held in a workspace folder while a command runs, so that it cannot take them: a mount needs
//! something to lie on.
//!
//! What holds a name is an empty folder (git does not see it), or a file with given words. Everybody
//! who needs it has a shared lock on it, which ends with its process; whoever is the last takes it
//! away. Never removes anything that holds something, or that was not made here.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, Mode, OFlags, Timespec, Timestamps, flock, futimens, open},
    io::Errno,
};

/// A moment in which nobody changed anything: what bears it was made here. The next process knows it
/// by that, should this one be killed.
const MARK: i64 = 0x4341_4952;
/// Others come and go at the same moment. Not waited for without an end: a command can take the lock
/// of a folder that it sees.
const ATTEMPTS: usize = 200;
const PAUSE: Duration = Duration::from_micros(500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    File(&'static str),
}

/// Dropping it lets go.
#[derive(Debug, Default)]
pub(super) struct Held(Vec<One>);

#[derive(Debug)]
struct One {
    path: PathBuf,
    kind: Kind,
    locked: File,
}

impl Held {
    /// Holds a name. False: it is taken by something real, or nobody can take it here.
    pub(super) fn hold(&mut self, path: PathBuf, kind: Kind) -> io::Result<bool> {
        // Once is enough: somebody may look at it before it is locked, and then it must still be marked.
        let mut made = false;
        for _ in 0..ATTEMPTS {
            match make(&path, kind) {
                Ok(()) => made = true,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) if cannot_be_taken(&error) => return Ok(false),
                Err(error) => {
                    let named = format!("{} cannot be held: {error}", path.display());
                    return Err(io::Error::new(error.kind(), named));
                }
            }
            let Some(locked) = lock(&path, kind)? else { continue };
            if made {
                let mark = Timespec { tv_sec: MARK, tv_nsec: 0 };
                futimens(&locked, &Timestamps { last_access: mark, last_modification: mark })?;
            }
            // What is not empty any more is held all the same: whoever made it may be about to fill it.
            self.0.push(One { path, kind, locked });
            return Ok(true);
        }
        Err(io::Error::other(format!("{} could not be held", path.display())))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // What stands beside a name says that it is held: it came before, and goes after.
        for one in self.0.drain(..).rev() {
            one.let_go();
        }
    }
}

impl One {
    /// Removes it, if nobody else needs it and nothing came of it.
    fn let_go(self) {
        // First let go, then try: of two who go at once, neither is to wait for the other's lock.
        let _ = flock(&self.locked, FlockOperation::Unlock);
        if flock(&self.locked, FlockOperation::NonBlockingLockExclusive).is_err()
            || !is(&self.locked, &self.path)
            || self.locked.metadata().map(|data| data.mtime()).ok() != Some(MARK)
            || !self.is_empty()
        {
            return;
        }
        let removed = match self.kind {
            // Refused by the system itself if anything is in it.
            Kind::Folder => fs::remove_dir(&self.path),
            Kind::File(_) => fs::remove_file(&self.path),
        };
        if let Err(error) = removed {
            tracing::debug!("{} stays: {error}", self.path.display());
        }
    }

    fn is_empty(&self) -> bool {
        match self.kind {
            Kind::Folder => {
                fs::read_dir(&self.path).is_ok_and(|mut entries| entries.next().is_none())
            }
            Kind::File(text) => fs::read(&self.path).is_ok_and(|bytes| bytes == text.as_bytes()),
        }
    }
}

fn make(path: &Path, kind: Kind) -> io::Result<()> {
    match kind {
        Kind::Folder => fs::create_dir(path),
        Kind::File(text) => {
            let mut file = File::options().write(true).create_new(true).open(path)?;
            io::Write::write_all(&mut file, text.as_bytes())
        }
    }
}

/// `None`: it went away meanwhile.
fn lock(path: &Path, kind: Kind) -> io::Result<Option<File>> {
    let folder = if kind == Kind::Folder { OFlags::DIRECTORY } else { OFlags::empty() };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | folder;
    let file = match open(path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(is(&file, path).then_some(file)),
        // Somebody is taking it away.
        Err(Errno::WOULDBLOCK) => {
            std::thread::sleep(PAUSE);
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// The path still leads to it.
fn is(file: &File, path: &Path) -> bool {
    let (Ok(held), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (held.dev(), held.ino()) == (there.dev(), there.ino())
}

/// What we cannot make, a command of the same user cannot either.
fn cannot_be_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_name_is_held_until_the_last_lets_go() {
        let folder = tempfile::tempdir().unwrap();
        let hold = || {
            let mut held = Held::default();
            assert!(held.hold(folder.path().join(".vscode"), Kind::Folder).unwrap());
            assert!(held.hold(folder.path().join("commondir"), Kind::File(".")).unwrap());
            held
        };
        let (first, second) = (hold(), hold());
        drop(first);
        assert_eq!(names(folder.path()), [".vscode", "commondir"]);
        drop(second);
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }

    #[test]
    fn what_a_killed_process_left_is_taken_away_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".idea");
        let mut left = Held::default();
        left.hold(path.clone(), Kind::Folder).unwrap();
        // Its locks end with a process, and nothing else.
        for one in std::mem::take(&mut left.0) {
            drop(one.locked);
        }
        assert!(path.exists());
        Held::default().hold(path.clone(), Kind::Folder).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn what_is_anybodys_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (empty, full, came) =
            (folder.path().join("empty"), folder.path().join("full"), folder.path().join("came"));
        fs::create_dir(&empty).unwrap();
        fs::create_dir(&full).unwrap();
        fs::write(full.join("a"), "").unwrap();
        let mut held = Held::default();
        for path in [&empty, &full, &came] {
            assert!(held.hold(path.clone(), Kind::Folder).unwrap());
        }
        // The user writes there meanwhile.
        fs::write(came.join("settings.json"), "{}").unwrap();
        drop(held);
        assert_eq!(names(folder.path()), ["came", "empty", "full"]);
    }

    #[test]
    fn many_at_once_lose_nothing_and_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".git");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let mut held = Held::default();
                        assert!(held.hold(path.clone(), Kind::Folder).unwrap());
                        assert!(path.is_dir(), "nobody takes it from under us");
                    }
                });
            }
        });
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }
}
