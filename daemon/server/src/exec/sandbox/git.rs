//! Where a repository keeps what decides what git runs, and what of it a command may write.
//!
//! A pointer in a working copy says where its repository is. It is believed only when the repository
//! says the same of the working copy: a clone must not name another's.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use cairn_core::policy::sandbox::{COMMON_DIR, Found, GIT_DECIDERS};

use super::{
    hold::{Held, Kind},
    look::protect,
};

/// Repositories in a repository: submodules may lie in folders.
const DEEPEST_MODULE: usize = 4;
const MOST_MODULES: usize = 64;

/// Protects the repository of a workspace folder, or opens it but for what decides.
pub(super) fn look(
    folder: &Path,
    granted: bool,
    found: &mut Found,
    held: &mut Held,
) -> io::Result<()> {
    // A workspace may be a part of a repository.
    let around = folder.ancestors().find_map(|top| Some((top, repository(top)?)));
    let Some((top, repository)) = around else { return Ok(()) };
    found.read_only.extend(hooks_elsewhere(top, &repository.common));
    if !granted {
        let within = |place: &PathBuf| found.writable.iter().any(|at| place.starts_with(at));
        let folders: Vec<PathBuf> = repository.folders().filter(within).collect();
        found.read_only.extend(folders);
        return Ok(());
    }
    for place in repository.folders() {
        open(&place, found, held)?;
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct Repository {
    /// Of this working copy.
    own: PathBuf,
    /// Of all its working copies.
    common: PathBuf,
}

impl Repository {
    fn folders(self) -> impl Iterator<Item = PathBuf> {
        let common = (self.common != self.own).then_some(self.common);
        common.into_iter().chain([self.own])
    }
}

fn repository(folder: &Path) -> Option<Repository> {
    let dot = folder.join(".git");
    let data = fs::symlink_metadata(&dot).ok()?;
    if data.is_dir() {
        return dot.join("HEAD").exists().then(|| Repository { own: dot.clone(), common: dot });
    }
    let pointer = fs::read_to_string(&dot).ok().filter(|_| data.is_file())?;
    let own = folder.join(pointer.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let common = match fs::read_to_string(own.join("commondir")) {
        Ok(words) => own.join(words.trim()).canonicalize().ok()?,
        Err(_) => own.clone(),
    };
    let knows_us = fs::read_to_string(own.join("gitdir"))
        .ok()
        .and_then(|back| own.join(back.trim()).canonicalize().ok())
        .is_some_and(|back| back == dot);
    let is_module = || {
        let mut above = folder.ancestors().skip(1).map(|above| above.join(".git/modules"));
        above.any(|modules| own.starts_with(&modules))
    };
    let is_worktree = knows_us && own.starts_with(common.join("worktrees"));
    (is_worktree || is_module()).then_some(Repository { own, common })
}

/// The user may have said that the hooks are somewhere else: in the working copy, as a rule.
fn hooks_elsewhere(top: &Path, common: &Path) -> Option<PathBuf> {
    let config = fs::read_to_string(common.join("config")).ok()?;
    let value = config.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        key.trim().eq_ignore_ascii_case("hooksPath").then(|| value.trim().trim_matches('"'))
    })?;
    let place = top.join(value).canonicalize().ok()?;
    // Nobody means the whole of it.
    (place != top && !top.starts_with(&place)).then_some(place)
}

/// Writable, but for what decides; and it stays where it is, for what is mounted cannot be moved.
fn open(place: &Path, found: &mut Found, held: &mut Held) -> io::Result<()> {
    found.read_only.retain(|path| path != place);
    found.writable.push(place.to_owned());
    for name in GIT_DECIDERS {
        let kind = if *name == "hooks" { Kind::Folder } else { Kind::File("") };
        protect(place.join(name), kind, found, held)?;
    }
    let (name, words) = COMMON_DIR;
    protect(place.join(name), Kind::File(words), found, held)?;
    // A working copy's way back.
    if place.join("gitdir").exists() {
        found.read_only.push(place.join("gitdir"));
    }
    for inner in ["modules", "worktrees"] {
        let mut left = MOST_MODULES;
        inside(&place.join(inner), 0, &mut left, found, held)?;
    }
    Ok(())
}

fn inside(
    folder: &Path,
    depth: usize,
    left: &mut usize,
    found: &mut Found,
    held: &mut Held,
) -> io::Result<()> {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|data| data.is_dir());
    if !is_folder || found.writable.iter().any(|path| path == folder) {
        return Ok(());
    }
    if *left == 0 || depth > DEEPEST_MODULE {
        // More than anybody looks through: not to be written at all.
        found.read_only.push(folder.to_owned());
        return Ok(());
    }
    if folder.join("HEAD").exists() {
        *left -= 1;
        return open(folder, found, held);
    }
    found.writable.push(folder.to_owned());
    for entry in fs::read_dir(folder)?.flatten() {
        inside(&entry.path(), depth + 1, left, found, held)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repo(path: &Path) {
        fs::create_dir_all(path.join("hooks")).unwrap();
        fs::write(path.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(path.join("config"), "[core]\n").unwrap();
    }

    fn looked(folder: &Path, granted: bool) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let (mut found, mut held) = (Found::default(), Held::default());
        look(folder, granted, &mut found, &mut held).unwrap();
        (found.writable, found.read_only)
    }

    #[test]
    fn what_is_not_granted_is_protected_where_it_could_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap();
        let git = folder.join(".git");
        repo(&git);
        fs::create_dir_all(folder.join("tools/hooks")).unwrap();
        fs::write(git.join("config"), "[core]\n\thookspath = tools/hooks\n").unwrap();
        let mut found = Found { writable: vec![folder.clone()], ..Found::default() };
        look(&folder, false, &mut found, &mut Held::default()).unwrap();
        assert_eq!(found.read_only, [folder.join("tools/hooks"), git.clone()]);
        // Not below what is written, so it needs no care.
        assert_eq!(looked(&folder.join("tools"), false).1, [folder.join("tools/hooks")]);
        for wrong in [".", "..", "/", "missing"] {
            fs::write(git.join("config"), format!("hooksPath = \"{wrong}\"\n")).unwrap();
            assert_eq!(hooks_elsewhere(&folder, &git), None, "{wrong}");
        }
    }

    #[test]
    fn a_repository_is_opened_but_for_what_decides() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap();
        let git = folder.join(".git");
        repo(&git);
        repo(&git.join("modules/lib/a"));
        // From a folder in it, too.
        fs::create_dir(folder.join("part")).unwrap();
        for from in [folder.clone(), folder.join("part")] {
            let (writable, read_only) = looked(&from, true);
            let module = git.join("modules/lib/a");
            let opened = ["", "modules", "modules/lib", "modules/lib/a"].map(|name| git.join(name));
            assert_eq!(writable.len(), opened.len());
            assert!(opened.iter().all(|path| writable.contains(path)), "{writable:?}");
            let closed: Vec<PathBuf> = [&git, &module]
                .into_iter()
                .flat_map(|git| {
                    ["hooks", "config", "config.worktree", "commondir"].map(|name| git.join(name))
                })
                .collect();
            assert_eq!(read_only, closed);
        }
        // What was held is gone.
        assert!(!git.join("commondir").exists() && !git.join("config.worktree").exists());
    }

    #[test]
    fn a_pointer_is_believed_only_when_it_is_returned() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (main, copy) = (root.join("main"), root.join("copy"));
        repo(&main.join(".git"));
        fs::create_dir(&copy).unwrap();
        let own = main.join(".git/worktrees/copy");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("HEAD"), "x").unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(copy.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        assert_eq!(repository(&copy), None);
        fs::write(own.join("gitdir"), format!("{}\n", copy.join(".git").display())).unwrap();
        let repository = repository(&copy);
        assert_eq!(repository, Some(Repository { own: own.clone(), common: main.join(".git") }));
        let (writable, read_only) = looked(&copy, true);
        assert!(writable.contains(&own) && writable.contains(&main.join(".git")));
        assert!(
            read_only.contains(&own.join("commondir")) && read_only.contains(&own.join("gitdir"))
        );
        fs::write(copy.join(".git"), format!("gitdir: {}\n", main.join(".git").display())).unwrap();
        assert_eq!(looked(&copy, true), (vec![], vec![]));
    }
}
