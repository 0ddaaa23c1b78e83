//! Scan of the watched folders: decides which control files a command created or changed, and moves
//! these to quarantine.

use std::{
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Instant,
};

use cairn_core::policy::control_files::{EntryKind, REPOSITORY_NAMES, Zone, is_generated};
use rustix::fs::{CWD, Mode, openat};

use super::{
    super::{
        control_interest::{Compare, Control},
        git,
        path_scan::{PathSnapshot, Stamp, differing},
        quarantine::Quarantine,
        quarantined::QuarantinedFile,
    },
    record::Mounts,
    saved::SavedTexts,
    state::{Shared, WatchedRoot},
};
use crate::workspace::nofollow::FOLDER;

/// Depth of a scan at the top: the workspace folder, its folders, and theirs.
const TOP_DEPTH: usize = 3;

/// Moment of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanMoment {
    /// A command runs. Only files that an editor or a shell may use at once are moved.
    Running,
    /// The same, only in the folders where an editor looks first for a new repository.
    RunningAtTop,
    /// A command and all its processes have ended.
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The entry belongs to the user.
    Trust,
    /// The entry is judged again after the command.
    Later,
    Move,
}

impl Shared {
    /// Scans, and moves control files that a command left.
    pub(super) fn scan(&mut self, moment: ScanMoment, saved: &SavedTexts) {
        let began = Instant::now();
        let mut roots = std::mem::take(&mut self.roots);
        for root in &mut roots {
            let control = self.control(&root.path);
            let depth = (moment == ScanMoment::RunningAtTop).then_some(TOP_DEPTH);
            let scan = match root.tree.scan(&control, depth, moment == ScanMoment::Ended) {
                Ok(scan) => scan,
                Err(error) => {
                    tracing::warn!("{} cannot be scanned: {error}", root.path.display());
                    continue;
                }
            };
            self.left.incomplete |= scan.incomplete && moment == ScanMoment::Ended;
            for (path, stamp) in differing(&root.known, &scan.found) {
                match self.judge(saved, root, &control, &path, &stamp, &scan.found, moment) {
                    Verdict::Later => {}
                    Verdict::Trust => root.trust(&path, &scan.found),
                    Verdict::Move => self.quarantine(root, &path),
                }
            }
            if moment == ScanMoment::Ended {
                restore_pointers(root, &scan.found);
            }
        }
        self.roots = roots;
        if moment != ScanMoment::RunningAtTop {
            (self.scan_time, self.scanned) = (began.elapsed(), Some(Instant::now()));
        }
    }

    #[expect(clippy::too_many_arguments, reason = "all of them determine the verdict")]
    fn judge(
        &self,
        saved: &SavedTexts,
        root: &WatchedRoot,
        control: &Control,
        path: &Path,
        stamp: &Stamp,
        found: &PathSnapshot,
        moment: ScanMoment,
    ) -> Verdict {
        let absolute = root.path.join(path);
        if self.is_read_only(&absolute) || saved.matches(&root.path, path, stamp) {
            return Verdict::Trust;
        }
        let repository = repository_of(path);
        let is_inert = |repository: &Path| git::is_inert(&root.path.join(repository));
        match moment {
            ScanMoment::Running | ScanMoment::RunningAtTop => {
                let at_top = root.zone == Zone::Repository || path.components().count() == 1;
                match repository {
                    Some(repository)
                        if repository.components().count() > 1 && is_inert(repository) =>
                    {
                        Verdict::Later
                    }
                    Some(_) => Verdict::Move,
                    // The former text of a known file is restored. A command cannot change a mounted one.
                    None if at_top || control.is_named(path) || root.known.contains_key(path) => {
                        Verdict::Move
                    }
                    None => Verdict::Later,
                }
            }
            ScanMoment::Ended => {
                let harmless = is_generated(path) && repository.is_some_and(is_inert);
                if harmless || was_renamed(root, path, found) {
                    Verdict::Trust
                } else {
                    Verdict::Move
                }
            }
        }
    }

    /// True if all running commands see the path read-only, by a mount of it or of a folder above it,
    /// and the mounted entry is still there.
    fn is_read_only(&self, path: &Path) -> bool {
        let holds = |mounts: &Mounts| {
            let mut ancestors = path.ancestors();
            let nearest = ancestors.find_map(|at| Some((at, mounts.get(at)?)));
            let Some((at, Some(identity))) = nearest else { return false };
            std::fs::symlink_metadata(at).is_ok_and(|data| {
                // A second hard link to the file may be writable.
                let one_name = data.is_dir() || data.nlink() == 1;
                (data.dev(), data.ino()) == *identity && one_name
            })
        };
        !self.running.is_empty() && self.running.values().all(holds)
    }

    /// Moves an entry to quarantine and restores the former one.
    fn quarantine(&mut self, root: &mut WatchedRoot, path: &Path) {
        let former = root.copies.get(path).map(|(_, former)| former.clone());
        let was_known = root.known.contains_key(path);
        root.known.retain(|known, _| !known.starts_with(path));
        let quarantine = match &mut self.quarantine {
            Some(quarantine) => Ok(quarantine),
            None => Quarantine::create(&self.quarantine_parent)
                .map(|created| self.quarantine.insert(created)),
        };
        let at = match quarantine.and_then(|quarantine| quarantine.take(&root.path, path)) {
            Ok(at) => at,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                self.left.failed(root.path.join(path), &error);
                return;
            }
        };
        let mut restored = None;
        if let Some(former) = &former {
            match former.restore(&root.path, path) {
                Ok(()) => {
                    let folder = openat(CWD, &root.path, FOLDER, Mode::empty());
                    restored = folder.ok().and_then(|it| Stamp::at(it, path, Compare::Whole).ok());
                    if let Some(stamp) = restored {
                        root.known.insert(path.to_owned(), stamp);
                        root.copies.insert(path.to_owned(), (stamp, former.clone()));
                    }
                }
                Err(error) => tracing::warn!("{} could not be restored: {error}", path.display()),
            }
        }
        let root = root.path.clone();
        self.left.moved.push(QuarantinedFile {
            root,
            path: path.to_owned(),
            at,
            was_known,
            former,
            restored,
        });
    }
}

/// Returns the repository folder that a path is, is in, or is a control file of.
fn repository_of(path: &Path) -> Option<&Path> {
    let git = path.ancestors().find(|at| at.file_name().is_some_and(|name| name == ".git"));
    let name = path.file_name()?.to_str()?;
    let in_bare = || (name == "HEAD" || REPOSITORY_NAMES.contains(&name)).then(|| path.parent())?;
    git.or_else(in_bare)
}

/// True if the entry came with a folder that was renamed: the folder of an equal known entry is gone,
/// and all entries are unchanged. False for a repository: git may use it at its new path.
fn was_renamed(root: &WatchedRoot, path: &Path, found: &PathSnapshot) -> bool {
    if repository_of(path).is_some() || path.components().count() < 2 {
        return false;
    }
    let Some(stamp) = found.get(path) else { return false };
    let was = |(old, known): (&PathBuf, &Stamp)| {
        let renamed = old.file_name() == path.file_name()
            && old.parent().is_some_and(|parent| !root.path.join(parent).exists());
        let mut below = found.iter().filter(|(at, _)| at.starts_with(path));
        let is_as_it_was = |(at, stamp): (&PathBuf, &Stamp)| {
            let old = at
                .strip_prefix(path)
                .map(|rest| if rest.as_os_str().is_empty() { old.clone() } else { old.join(rest) });
            old.is_ok_and(|old| root.known.get(&old).is_some_and(|known| known.is_still(stamp)))
        };
        renamed && known.is_still(stamp) && below.all(is_as_it_was)
    };
    root.known.iter().any(was)
}

/// Restores removed `.git` pointer files. Without its pointer, a working copy would belong to a
/// repository above it.
fn restore_pointers(root: &mut WatchedRoot, found: &PathSnapshot) {
    let gone: Vec<PathBuf> = root
        .known
        .iter()
        .filter(|(path, stamp)| {
            path.file_name().is_some_and(|name| name == ".git")
                && stamp.kind != EntryKind::Folder
                && !found.contains_key(*path)
        })
        .map(|(path, _)| path.clone())
        .collect();
    for path in gone {
        if let Some((_, former)) = root.copies.get(&path)
            // Fails if the folder of the pointer is gone too.
            && former.restore(&root.path, &path).is_ok()
        {
            tracing::info!("{} is restored", path.display());
        }
    }
}
