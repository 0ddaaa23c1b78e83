//! Judgement of a scan: control files that a command created or changed are moved to quarantine.

use std::{
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Instant,
};

use cairn_core::policy::control_files::{REPOSITORY_NAMES, Zone, is_generated};
use rustix::fs::{CWD, Mode, openat};

use super::{
    super::{
        control_interest::Control,
        git,
        path_scan::{Compare, FOLDER, Kind, Snapshot, Stamp, differing},
        quarantine::{self, Quarantine},
        quarantined::Left,
    },
    Watch,
    state::{Mounts, Root, Shared},
};

/// Time of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// Only files that an editor or a shell may use at once are moved.
    Running,
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The entry belongs to the user.
    Trust,
    /// The entry is judged after the command.
    Later,
    Move,
}

impl Shared {
    /// Scans, and moves control files that a command left.
    pub(super) fn look(&mut self, moment: Moment, watch: &Watch) {
        let began = Instant::now();
        let mut roots = std::mem::take(&mut self.roots);
        for root in &mut roots {
            let control = self.control(&root.path);
            let scan = match root.tree.scan(&control, moment == Moment::Over) {
                Ok(scan) => scan,
                Err(error) => {
                    tracing::warn!("{} cannot be scanned: {error}", root.path.display());
                    continue;
                }
            };
            self.left.incomplete |= scan.incomplete && moment == Moment::Over;
            let differing: Vec<(PathBuf, Stamp)> =
                differing(|path| root.known.get(path), &scan.found)
                    .into_iter()
                    .map(|(path, stamp)| (path.to_owned(), *stamp))
                    .collect();
            for (path, stamp) in differing {
                match self.judge(watch, root, &control, &path, &stamp, &scan.found, moment) {
                    Verdict::Later => {}
                    Verdict::Trust => root.learn(&path, &scan.found),
                    Verdict::Move => self.take(root, &path, watch),
                }
            }
            if moment == Moment::Over {
                restore_pointers(root, &scan.found);
            }
        }
        self.roots = roots;
        self.last = began.elapsed();
    }

    #[expect(clippy::too_many_arguments, reason = "they are what a verdict is made of")]
    fn judge(
        &self,
        watch: &Watch,
        root: &Root,
        control: &Control,
        path: &Path,
        stamp: &Stamp,
        found: &Snapshot,
        moment: Moment,
    ) -> Verdict {
        let absolute = root.path.join(path);
        if self.is_read_only(&absolute) || watch.has_saved(root, path, stamp) {
            return Verdict::Trust;
        }
        let repository = repository_of(path);
        let inert = |place: &Path| git::is_inert(&root.path.join(place));
        match moment {
            Moment::Running => {
                let at_top = root.zone == Zone::Repository || path.components().count() == 1;
                match repository {
                    Some(place) if place.components().count() > 1 && inert(place) => Verdict::Later,
                    Some(_) => Verdict::Move,
                    None if at_top || control.is_named(path) => Verdict::Move,
                    None => Verdict::Later,
                }
            }
            Moment::Over => {
                let harmless = is_generated(path) && repository.is_some_and(inert);
                if harmless || was_moved(root, path, found) {
                    Verdict::Trust
                } else {
                    Verdict::Move
                }
            }
        }
    }

    /// True if the entry, or a folder above it, is the same that all running commands see
    /// read-only.
    fn is_read_only(&self, path: &Path) -> bool {
        let holds = |mounts: &Mounts| {
            let mut around = path.ancestors();
            let nearest = around.find_map(|at| Some((at, mounts.get(at)?)));
            let Some((at, Some(identity))) = nearest else { return false };
            std::fs::symlink_metadata(at).is_ok_and(|data| {
                // Another hard link of the file is not read-only.
                let one_name = data.is_dir() || data.nlink() == 1;
                (data.dev(), data.ino()) == *identity && one_name
            })
        };
        !self.running.is_empty() && self.running.values().all(holds)
    }

    /// Moves an entry to quarantine and restores the former one.
    fn take(&mut self, root: &mut Root, path: &Path, watch: &Watch) {
        let former = root.copies.get(path).map(|(_, former)| former.clone());
        let was_known = root.known.contains_key(path);
        root.known.retain(|known, _| !known.starts_with(path));
        let quarantine = match &mut self.quarantine {
            Some(quarantine) => Ok(quarantine),
            None => Quarantine::make(&quarantine::home(watch.state.as_deref()))
                .map(|made| self.quarantine.insert(made)),
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
                Err(error) => tracing::warn!("{} is not restored: {error}", path.display()),
            }
        }
        let root = root.path.clone();
        self.left.push(Left { root, path: path.to_owned(), at, was_known, former, restored });
    }
}

/// Repository folder that a path is, or that it determines.
fn repository_of(path: &Path) -> Option<&Path> {
    let git = path.ancestors().find(|at| at.file_name().is_some_and(|name| name == ".git"));
    let name = path.file_name()?.to_str()?;
    let bare = || (name == "HEAD" || REPOSITORY_NAMES.contains(&name)).then(|| path.parent())?;
    git.or_else(bare)
}

/// True if the folder above the entry was renamed and is otherwise unchanged. False for a
/// repository: git may enter it at its new path.
fn was_moved(root: &Root, path: &Path, found: &Snapshot) -> bool {
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

/// Restores pointers to repositories. A working copy without its `.git` would belong to any
/// repository above it.
fn restore_pointers(root: &mut Root, found: &Snapshot) {
    let gone: Vec<PathBuf> = root
        .known
        .iter()
        .filter(|(path, stamp)| {
            path.file_name().is_some_and(|name| name == ".git")
                && stamp.kind != Kind::Folder
                && !found.contains_key(*path)
        })
        .map(|(path, _)| path.clone())
        .collect();
    for path in gone {
        if let Some((_, former)) = root.copies.get(&path)
            // Fails if its folder is gone as well.
            && former.restore(&root.path, &path).is_ok()
        {
            tracing::info!("{} is restored", path.display());
        }
    }
}
