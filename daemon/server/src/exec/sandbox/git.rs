//! Where a repository keeps what decides what git runs, and what of it a command may write.
//!
//! A pointer in a working copy says where its repository is. It is believed only when the repository
//! says the same of the working copy: a clone must not name another's.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use cairn_core::policy::sandbox::{COMMON_DIR, Found, GIT_DECIDERS};

use super::{
    hold::{Held, Kind},
    look::protect,
};

/// Repositories in a repository: submodules may lie in folders.
const DEEPEST_MODULE: usize = 4;
const MOST_MODULES: usize = 64;
/// Files of settings that include each other.
const MOST_SETTINGS: usize = 16;

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
    elsewhere(top, &repository, found, held)?;
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

/// Where git looks from a folder: the top of the working copy around it, if that is another folder, and
/// its repository.
pub(super) fn around(folder: &Path) -> Vec<PathBuf> {
    let around = folder.ancestors().find_map(|top| Some((top, repository(top)?)));
    let Some((top, repository)) = around else { return Vec::new() };
    let top = (top != folder).then(|| top.to_owned());
    top.into_iter().chain(repository.folders()).collect()
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

/// The user may have said that the hooks, or a part of the settings, are somewhere else: in the working
/// copy, as a rule. What is said there of settings somewhere else is followed, too.
fn elsewhere(
    top: &Path,
    repository: &Repository,
    found: &mut Found,
    held: &mut Held,
) -> io::Result<()> {
    let mut files = vec![repository.common.join("config"), repository.own.join("config.worktree")];
    let mut read = 0;
    while let Some(file) = files.pop().filter(|_| read < MOST_SETTINGS) {
        read += 1;
        let Ok(text) = fs::read_to_string(&file) else { continue };
        // What begins with `~` is in the home folder, which is not written.
        for (section, key, value) in settings(&text).filter(|(.., value)| !value.starts_with('~')) {
            let around = file.parent().unwrap_or(top);
            let place = |around: &Path| beside(around, Path::new(value));
            match (section.as_str(), key.as_str()) {
                ("core", "hookspath") => {
                    keep(top, &place(top), Kind::Folder, found, held)?;
                }
                ("include" | "includeif", "path") => {
                    let included = place(around);
                    keep(top, &included, Kind::File(""), found, held)?;
                    files.push(included);
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Sections and keys are in small letters; a section has no name in quotes.
fn settings(text: &str) -> impl Iterator<Item = (String, String, &str)> {
    let mut section = String::new();
    text.lines().filter_map(move |line| {
        let mut line = line.trim();
        if let Some((name, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            let name = name.split([' ', '\t', '"']).next().unwrap_or_default();
            section = name.to_ascii_lowercase();
            line = rest.trim();
        }
        let (key, value) = line.split_once('=')?;
        let value = value.trim();
        let value = match value.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().unwrap_or_default(),
            None => value.split([';', '#']).next().unwrap_or_default().trim_end(),
        };
        Some((section.clone(), key.trim().to_ascii_lowercase(), value))
    })
}

/// Where a path leads from a folder; the `..` it begins with are taken up into the folder's name.
fn beside(folder: &Path, path: &Path) -> PathBuf {
    let mut folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut rest = path.components();
    while rest.clone().next() == Some(Component::ParentDir) {
        folder.pop();
        rest.next();
    }
    folder.join(rest)
}

/// Protects a place that settings name, there or missing, if it is one that a command could write.
fn keep(top: &Path, path: &Path, kind: Kind, found: &mut Found, held: &mut Held) -> io::Result<()> {
    if let Ok(place) = path.canonicalize() {
        // Nobody means the whole of it.
        if place != top && !top.starts_with(&place) {
            found.read_only.push(place);
        }
        return Ok(());
    }
    // Of what is missing the uppermost is held: nothing can be made below that.
    let missing = path.ancestors().take_while(|path| fs::symlink_metadata(path).is_err()).last();
    let Some(missing) = missing.filter(|path| {
        let plain = path.components().all(|part| part != Component::ParentDir);
        plain && found.writable.iter().any(|at| path.starts_with(at))
    }) else {
        return Ok(());
    };
    let kind = if missing == path { kind } else { Kind::Folder };
    protect(missing.to_owned(), kind, found, held)
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
        for wrong in [".", "..", "/", "../missing", "tools/../missing"] {
            fs::write(git.join("config"), format!("[core]\nhooksPath = \"{wrong}\"\n")).unwrap();
            let mut found = Found { writable: vec![folder.clone()], ..Found::default() };
            look(&folder, false, &mut found, &mut Held::default()).unwrap();
            assert_eq!(found.read_only, std::slice::from_ref(&git), "{wrong}");
        }
    }

    #[test]
    fn settings_and_hooks_somewhere_else_are_protected_there_or_missing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap();
        let git = folder.join(".git");
        repo(&git);
        let config = "[user]\n\tpath = not-this\n[Include] path = ../shared.cfg ; ours\n\
                      [includeIf \"gitdir:~/a\"]\n\tpath = \"../later/own.cfg\"\n\tpath = ~/mine\n";
        fs::write(git.join("config"), config).unwrap();
        fs::write(folder.join("shared.cfg"), "[core] hooksPath = one\n hooksPath = two/hooks\n")
            .unwrap();
        fs::create_dir(folder.join("one")).unwrap();
        fs::write(folder.join("not-this"), "").unwrap();
        let mut found = Found { writable: vec![folder.clone()], ..Found::default() };
        let mut held = Held::default();
        look(&folder, false, &mut found, &mut held).unwrap();
        let mut names: Vec<String> = found
            .read_only
            .iter()
            .map(|path| path.strip_prefix(&folder).unwrap().display().to_string())
            .collect();
        names.sort();
        assert_eq!(names, [".git", "later", "one", "shared.cfg", "two"]);
        assert!(folder.join("later").is_dir() && folder.join("two").is_dir());
        drop(held);
        assert!(!folder.join("later").exists() && !folder.join("two").exists());
        // Settings that lead in a circle.
        fs::write(folder.join("shared.cfg"), "[include]\npath = shared.cfg\n").unwrap();
        look(&folder, false, &mut found, &mut Held::default()).unwrap();
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
