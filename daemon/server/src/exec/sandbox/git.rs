//! Git repositories in a sandbox: the paths that determine what git runs, and the part of a
//! repository that a command may write.
//!
//! A pointer file in a working copy names its repository. The repository is writable only if it
//! names the working copy in return: a clone must not name the repository of another.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

use cairn_core::policy::{
    control_files::{REPOSITORY_NAMES, is_inert_setting},
    git_config::{MalformedGitConfig, Setting, parse},
    sandbox::SandboxPaths,
};

/// Depth of folders in `modules`, where submodules may lie.
const DEEPEST_MODULE: usize = 4;
const MOST_MODULES: usize = 64;
/// Included configuration files that are read.
const MOST_SETTINGS: usize = 32;
const LONGEST_SETTINGS: u64 = 1024 * 1024;
/// Paths named by settings that are protected.
const MOST_NAMED: usize = 256;

/// Protects the repository of a workspace folder, or with `granted` makes it writable except for
/// control files.
pub(super) fn look(folder: &Path, granted: bool, found: &mut SandboxPaths) -> io::Result<()> {
    let Some((_, repository)) = around(folder, repository) else { return Ok(()) };
    if !granted {
        let within = |place: &PathBuf| found.writable.iter().any(|at| place.starts_with(at));
        let folders: Vec<PathBuf> = repository.folders().filter(within).collect();
        found.read_only.extend(folders);
        return Ok(());
    }
    for place in repository.folders() {
        open(&place, found)?;
    }
    Ok(())
}

/// Folders that git reads from a workspace folder: the top of the working copy, if it is another
/// folder, and the repository.
pub(super) fn read_from(folder: &Path) -> Vec<PathBuf> {
    let Some((top, repository)) = around(folder, repository) else { return Vec::new() };
    let top = (top != folder).then(|| top.to_owned());
    top.into_iter().chain(repository.folders()).collect()
}

/// Folders of the repository that a command with a grant may write, which the scan watches.
pub(super) fn granted(folder: &Path) -> Vec<PathBuf> {
    around(folder, repository).into_iter().flat_map(|(_, it)| it.folders()).collect()
}

/// Finds the repository around a workspace that is a part of it.
fn around(
    folder: &Path,
    find: impl Fn(&Path) -> Option<Repository>,
) -> Option<(&Path, Repository)> {
    folder.ancestors().find_map(|top| Some((top, find(top)?)))
}

#[derive(Debug, PartialEq, Eq)]
struct Repository {
    /// Folder of this working copy.
    own: PathBuf,
    /// Folder shared by all working copies.
    common: PathBuf,
}

impl Repository {
    fn folders(self) -> impl Iterator<Item = PathBuf> {
        let common = (self.common != self.own).then_some(self.common);
        common.into_iter().chain([self.own])
    }
}

/// Returns the repository of a working copy, if each names the other.
fn repository(folder: &Path) -> Option<Repository> {
    let dot = folder.join(".git");
    let data = fs::symlink_metadata(&dot).ok()?;
    if data.is_dir() {
        return dot.join("HEAD").exists().then(|| Repository { own: dot.clone(), common: dot });
    }
    let found = claimed(folder).filter(|_| data.is_file())?;
    let knows_us = fs::read_to_string(found.own.join("gitdir"))
        .ok()
        .and_then(|back| found.own.join(back.trim()).canonicalize().ok())
        .is_some_and(|back| back == dot);
    let is_module = || {
        let mut above = folder.ancestors().skip(1).map(|above| above.join(".git/modules"));
        above.any(|modules| found.own.starts_with(&modules))
    };
    let is_worktree = knows_us && found.own.starts_with(found.common.join("worktrees"));
    (is_worktree || is_module()).then_some(found)
}

/// Returns the repository that a folder names by a folder, a link or a pointer. Sufficient to read
/// its settings, which can only protect more.
fn claimed(folder: &Path) -> Option<Repository> {
    let dot = folder.join(".git");
    let own = if dot.is_dir() {
        dot.canonicalize().ok()?
    } else {
        let pointer = read(&dot)?;
        let pointer = String::from_utf8(pointer).ok()?;
        folder.join(pointer.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?
    };
    own.join("HEAD").exists().then(|| {
        let words = read(&own.join("commondir")).and_then(|words| String::from_utf8(words).ok());
        let common = words.and_then(|words| own.join(words.trim()).canonicalize().ok());
        Repository { common: common.unwrap_or_else(|| own.clone()), own }
    })
}

/// Files and folders that git's settings name as something to run or follow, existing or missing.
/// Reads the settings of the working copy around `folder` and the user's own. Every include is
/// followed, whatever its condition, which may hold later.
pub(super) fn named(folder: &Path) -> BTreeSet<PathBuf> {
    let mut named = BTreeSet::new();
    let Some((top, repository)) = around(folder, claimed) else { return named };
    let home = std::env::home_dir();
    let mut files = vec![repository.common.join("config"), repository.own.join("config.worktree")];
    files.extend(home.iter().map(|home| home.join(".gitconfig")));
    let configuration = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let configuration = configuration.or_else(|| Some(home.as_ref()?.join(".config")));
    files.extend(configuration.map(|folder| folder.join("git/config")));
    files.push("/etc/gitconfig".into());
    let mut seen = BTreeSet::new();
    while let Some(file) = files.pop() {
        if seen.len() >= MOST_SETTINGS || !seen.insert(file.clone()) {
            continue;
        }
        let Some(text) = read(&file) else { continue };
        // Settings before a syntax error count too: another version of git may be less strict.
        let settings = parse(&text).unwrap_or_else(|MalformedGitConfig { before }| before);
        for setting in settings {
            let Some(value) = setting.value.as_deref() else { continue };
            let around = file.parent().unwrap_or(top);
            let path = |around: &Path| place(around, value, home.as_deref());
            match (setting.section.as_str(), setting.key.as_str()) {
                ("core", "hookspath") => named.extend(path(top)),
                ("include" | "includeif", "path") => {
                    let included = path(around);
                    files.extend(included.clone());
                    named.extend(included);
                }
                _ if is_program(&setting) => named.extend(words(top, value, home.as_deref())),
                _ => {}
            }
            if named.len() >= MOST_NAMED {
                return named;
            }
        }
    }
    named
}

/// True for a setting whose value is a command line or a program.
fn is_program(setting: &Setting) -> bool {
    let (section, key) = (setting.section.as_str(), setting.key.as_str());
    match section {
        "core" => matches!(
            key,
            "fsmonitor"
                | "sshcommand"
                | "editor"
                | "pager"
                | "askpass"
                | "gitproxy"
                | "alternaterefscommand"
        ),
        "alias" => setting.value.as_deref().is_some_and(|value| value.starts_with('!')),
        "filter" => matches!(key, "clean" | "smudge" | "process"),
        "diff" => matches!(key, "external" | "command" | "textconv"),
        "merge" => key == "driver",
        "difftool" | "mergetool" => matches!(key, "cmd" | "path"),
        "gpg" => matches!(key, "program" | "defaultkeycommand"),
        "credential" => key == "helper",
        "sequence" => key == "editor",
        "pager" | "interactive" | "uploadpack" | "trailer" | "sendemail" | "web" | "browser"
        | "man" => true,
        _ => false,
    }
}

/// Words of a command line that may be files: those with a slash, and names of existing files.
fn words(top: &Path, line: &str, home: Option<&Path>) -> Vec<PathBuf> {
    let separate = |c: char| c.is_whitespace() || "\"'`|;&<>(){}$=!".contains(c);
    let words = line.split(separate).filter(|word| !word.is_empty());
    words
        .filter(|word| word.contains('/') || top.join(word).is_file())
        .filter_map(|word| place(top, word, home))
        .collect()
}

/// Expands a path in a setting as git does.
fn place(around: &Path, value: &str, home: Option<&Path>) -> Option<PathBuf> {
    let value = value.strip_prefix(":(optional)").unwrap_or(value);
    if value.is_empty() {
        return None;
    }
    match value.strip_prefix('~') {
        Some("") => home.map(Path::to_owned),
        Some(rest) => match rest.strip_prefix('/') {
            Some(rest) => Some(beside(home?, Path::new(rest))),
            // A folder of another user, which is not writable.
            None => None,
        },
        // A path in git's installation.
        None if value.starts_with("%(prefix)/") => None,
        None => Some(beside(around, Path::new(value))),
    }
}

/// Joins a path to a folder. Leading `..` components shorten the folder's path.
fn beside(folder: &Path, path: &Path) -> PathBuf {
    let mut folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut rest = path.components().peekable();
    while let Some(part) = rest.peek() {
        match part {
            Component::ParentDir => folder.pop(),
            Component::CurDir => true,
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => break,
        };
        rest.next();
    }
    folder.join(rest.collect::<PathBuf>())
}

/// Protects the paths that settings name, if a command could write them.
pub(super) fn protect_named(folder: &Path, named: &BTreeSet<PathBuf>, found: &mut SandboxPaths) {
    for place in named.iter().filter_map(|path| path.canonicalize().ok()) {
        // A whole workspace folder is never meant.
        if !folder.starts_with(&place) && found.writable.iter().any(|at| place.starts_with(at)) {
            found.read_only.push(place);
        }
    }
}

/// True for a repository from which git runs nothing: no hooks but samples, and no setting that
/// names a program, another file or another repository.
pub(super) fn is_inert(place: &Path) -> bool {
    let missing = |name: &str| fs::symlink_metadata(place.join(name)).is_err();
    let is_folder = fs::symlink_metadata(place).is_ok_and(|data| data.is_dir());
    if !is_folder || !["commondir", "config.worktree", "gitdir"].iter().all(|name| missing(name)) {
        return false;
    }
    let hooks = fs::read_dir(place.join("hooks"));
    let samples = hooks.map_or_else(
        |error| error.kind() == io::ErrorKind::NotFound,
        |mut entries| {
            entries.all(|entry| {
                entry.is_ok_and(|it| it.file_name().as_encoded_bytes().ends_with(b".sample"))
            })
        },
    );
    let modules_missing = ["modules", "worktrees"].iter().all(|name| missing(name));
    let settings = match read(&place.join("config")) {
        Some(text) => parse(&text).ok(),
        None => missing("config").then(Vec::new),
    };
    let is_inert = |it: &Setting| is_inert_setting(&it.section, &it.key);
    samples && modules_missing && settings.is_some_and(|all| all.iter().all(is_inert))
}

/// Reads a small regular file. Does not block on a pipe.
fn read(file: &Path) -> Option<Vec<u8>> {
    // Follows links, by which users share settings.
    if !fs::metadata(file).ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    let opened = fs::File::open(file).ok()?;
    opened.take(LONGEST_SETTINGS).read_to_end(&mut text).ok()?;
    Some(text)
}

/// Makes a repository writable except for its control files. Each stays in place, because a mount
/// point cannot be moved.
fn open(place: &Path, found: &mut SandboxPaths) -> io::Result<()> {
    found.read_only.retain(|path| path != place);
    found.writable.push(place.to_owned());
    for name in REPOSITORY_NAMES {
        // Of a link, what it leads to: nothing can be laid over the link itself.
        found.read_only.extend(place.join(name).canonicalize());
    }
    for inner in ["modules", "worktrees"] {
        let mut left = MOST_MODULES;
        inside(&place.join(inner), 0, &mut left, found)?;
    }
    Ok(())
}

fn inside(
    folder: &Path,
    depth: usize,
    left: &mut usize,
    found: &mut SandboxPaths,
) -> io::Result<()> {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|data| data.is_dir());
    if !is_folder || found.writable.iter().any(|path| path == folder) {
        return Ok(());
    }
    if *left == 0 || depth > DEEPEST_MODULE {
        // Too many to protect one by one, so the folder stays read-only.
        found.read_only.push(folder.to_owned());
        return Ok(());
    }
    if folder.join("HEAD").exists() {
        *left -= 1;
        return open(folder, found);
    }
    found.writable.push(folder.to_owned());
    for entry in fs::read_dir(folder)?.flatten() {
        inside(&entry.path(), depth + 1, left, found)?;
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
        let mut found = SandboxPaths::default();
        look(folder, granted, &mut found).unwrap();
        (found.writable, found.read_only)
    }

    /// Mounted places below the folder.
    fn protected(folder: &Path) -> Vec<String> {
        let mut found =
            SandboxPaths { writable: vec![folder.to_owned()], ..SandboxPaths::default() };
        look(folder, false, &mut found).unwrap();
        protect_named(folder, &named(folder), &mut found);
        let below = found.read_only.iter().filter_map(|path| path.strip_prefix(folder).ok());
        let mut names: Vec<String> = below.map(|path| path.display().to_string()).collect();
        names.sort();
        names
    }

    fn named_below(folder: &Path) -> Vec<String> {
        let below = named(folder);
        let below = below.iter().filter_map(|path| path.strip_prefix(folder).ok());
        below.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn what_is_not_granted_is_protected_where_it_could_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap();
        let git = folder.join(".git");
        repo(&git);
        fs::create_dir_all(folder.join("tools/hooks")).unwrap();
        fs::write(git.join("config"), "[core]\n\thookspath = \"tools\"/ho\\\noks\n").unwrap();
        assert_eq!(protected(&folder), [".git", "tools/hooks"]);
        // Not below what is written, so it needs no care.
        assert!(looked(&folder.join("tools"), false).1.is_empty());
        for wrong in [".", "..", "/", "../missing", "tools/../missing", ""] {
            fs::write(git.join("config"), format!("[core]\nhooksPath = \"{wrong}\"\n")).unwrap();
            assert_eq!(protected(&folder), [".git"], "{wrong}");
        }
    }

    #[test]
    fn settings_and_programs_somewhere_else_are_named_there_or_missing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap();
        let git = folder.join(".git");
        repo(&git);
        let config = "[user]\n\tpath = not-this\n[Include] path = ../shared.cfg ; ours\n\
                      [includeIf \"gitdir:~/a\"]\n\tpath = \"../later/own.cfg\"\n\tpath = ~/mine\n\
                      [filter \"x\"] clean = 'tools/clean' %f\n smudge = cat\n\
                      [alias] s = status\n r = !sh run.sh\n";
        fs::write(git.join("config"), config).unwrap();
        fs::write(folder.join("shared.cfg"), "[core] hooksPath = one\n hooksPath = two/hooks\n")
            .unwrap();
        fs::create_dir(folder.join("one")).unwrap();
        fs::write(folder.join("run.sh"), "").unwrap();
        let all = ["later/own.cfg", "one", "run.sh", "shared.cfg", "tools/clean", "two/hooks"];
        assert_eq!(named_below(&folder), all);
        assert_eq!(protected(&folder), [".git", "one", "run.sh", "shared.cfg"]);
        // Settings that lead in a circle.
        fs::write(folder.join("shared.cfg"), "[include]\npath = shared.cfg\n").unwrap();
        named(&folder);
    }

    #[test]
    fn a_repository_with_nothing_to_run_is_told_from_one_with_something() {
        let dir = tempfile::tempdir().unwrap();
        let git = dir.path().join("r/.git");
        repo(&git);
        fs::write(git.join("hooks/pre-commit.sample"), "").unwrap();
        let quiet = "[core]\n\tbare = false\n[remote \"o\"]\n\turl = https://x.invalid\n";
        fs::write(git.join("config"), quiet).unwrap();
        assert!(is_inert(&git));
        for setting in ["[core] fsmonitor = x", "[include] path = x", "[core] worktree = x", "[a"] {
            fs::write(git.join("config"), format!("{quiet}{setting}\n")).unwrap();
            assert!(!is_inert(&git), "{setting}");
        }
        fs::write(git.join("config"), quiet).unwrap();
        for file in ["commondir", "hooks/post-checkout", "config.worktree"] {
            fs::write(git.join(file), "").unwrap();
            assert!(!is_inert(&git), "{file}");
            fs::remove_file(git.join(file)).unwrap();
        }
        std::os::unix::fs::symlink(&git, dir.path().join("link")).unwrap();
        assert!(!is_inert(&dir.path().join("link")));
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
                .flat_map(|git| ["config", "hooks"].map(|name| git.join(name)))
                .collect();
            assert_eq!(read_only, closed);
        }
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
