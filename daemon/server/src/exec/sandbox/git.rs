//! Git repositories in a sandbox: the paths that determine which programs git runs, and the part of a
//! repository that a command may write.
//!
//! In some working copies `.git` is a pointer file that names the repository. Such a repository is
//! writable only if it names the working copy in return, because a downloaded file could name the
//! repository of another project.

#![cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "only a sandbox protects repositories or makes them writable")
)]

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Component, Path, PathBuf},
};

use cairn_core::policy::{
    control_files::{REPOSITORY_NAMES, is_inert_setting},
    git_config::{MalformedGitConfig, Setting, parse},
    sandbox::SandboxPaths,
};

use crate::exec::git_repository::{Repository, named_repository, read, search_upwards};

/// Depth of folders in `modules` that are searched for repositories of submodules.
const MAX_MODULE_DEPTH: usize = 4;
const MAX_MODULES: usize = 64;
/// Configuration files that are read.
const MAX_CONFIG_FILES: usize = 32;
/// Paths named by settings.
const MAX_NAMED: usize = 256;

/// Protects the repository of a workspace folder, or with `writable` makes it writable except for
/// control files.
pub(super) fn protect(folder: &Path, writable: bool, paths: &mut SandboxPaths) -> io::Result<()> {
    let Some((_, repository)) = search_upwards(folder, repository) else { return Ok(()) };
    if !writable {
        let is_writable = |place: &PathBuf| paths.writable.iter().any(|at| place.starts_with(at));
        let folders: Vec<PathBuf> = repository.folders().filter(is_writable).collect();
        paths.read_only.extend(folders);
        return Ok(());
    }
    for place in repository.folders() {
        make_writable(&place, paths)?;
    }
    Ok(())
}

/// Returns the folders that git reads when it runs in a workspace folder: the top of the working copy,
/// if that is another folder, and the repository.
pub(super) fn folders_read_by_git(folder: &Path) -> Vec<PathBuf> {
    let Some((top, repository)) = search_upwards(folder, repository) else { return Vec::new() };
    let top = (top != folder).then(|| top.to_owned());
    top.into_iter().chain(repository.folders()).collect()
}

/// Returns the folders of the repository that a command may write if the user allows it to change
/// `.git`.
pub(super) fn writable_folders(folder: &Path) -> Vec<PathBuf> {
    search_upwards(folder, repository).into_iter().flat_map(|(_, it)| it.folders()).collect()
}

/// Returns the repository of a working copy, if each names the other.
fn repository(folder: &Path) -> Option<Repository> {
    let dot_git = folder.join(".git");
    let data = fs::symlink_metadata(&dot_git).ok()?;
    if data.is_dir() {
        return dot_git
            .join("HEAD")
            .exists()
            .then(|| Repository { own: dot_git.clone(), common: dot_git });
    }
    let found = named_repository(folder).filter(|_| data.is_file())?;
    let names_folder = read(&found.own.join("gitdir"))
        .and_then(|back| String::from_utf8(back).ok())
        .and_then(|back| found.own.join(back.trim()).canonicalize().ok())
        .is_some_and(|back| back == dot_git);
    let is_module = || {
        let mut above = folder.ancestors().skip(1).map(|above| above.join(".git/modules"));
        above.any(|modules| found.own.starts_with(&modules))
    };
    let is_worktree = names_folder && found.own.starts_with(found.common.join("worktrees"));
    (is_worktree || is_module()).then_some(found)
}

/// Returns the files and folders that git's settings name as a program, a hook folder or another
/// settings file, existing or missing. Reads the settings of the repository of `folder` and of the
/// user. Follows every include, even if its condition does not hold now.
pub(super) fn named_paths(folder: &Path) -> BTreeSet<PathBuf> {
    let mut named = BTreeSet::new();
    let Some((top, repository)) = search_upwards(folder, named_repository) else { return named };
    let home = std::env::home_dir();
    let mut files = vec![repository.common.join("config"), repository.own.join("config.worktree")];
    files.extend(home.iter().map(|home| home.join(".gitconfig")));
    let configuration = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let configuration = configuration.or_else(|| Some(home.as_ref()?.join(".config")));
    files.extend(configuration.map(|folder| folder.join("git/config")));
    files.push("/etc/gitconfig".into());
    let mut seen = BTreeSet::new();
    while let Some(file) = files.pop() {
        if seen.len() >= MAX_CONFIG_FILES || !seen.insert(file.clone()) {
            continue;
        }
        let Some(text) = read(&file) else { continue };
        // Settings before a syntax error count too: another version of git may be less strict.
        let settings = parse(&text).unwrap_or_else(|MalformedGitConfig { before }| before);
        for setting in settings {
            let Some(value) = setting.value.as_deref() else { continue };
            let file_folder = file.parent().unwrap_or(top);
            let path = |folder: &Path| expand_path(folder, value, home.as_deref());
            match (setting.section.as_str(), setting.key.as_str()) {
                ("core", "hookspath") => named.extend(path(top)),
                ("include" | "includeif", "path") => {
                    let included = path(file_folder);
                    files.extend(included.clone());
                    named.extend(included);
                }
                _ if is_program(&setting) => {
                    named.extend(paths_in_command_line(top, value, home.as_deref()))
                }
                _ => {}
            }
            if named.len() >= MAX_NAMED {
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

/// Returns the words of a command line that may be files: those with a slash, and names of existing
/// files.
fn paths_in_command_line(top: &Path, line: &str, home: Option<&Path>) -> Vec<PathBuf> {
    let separate = |c: char| c.is_whitespace() || "\"'`|;&<>(){}$=!".contains(c);
    let words = line.split(separate).filter(|word| !word.is_empty());
    words
        .filter(|word| word.contains('/') || top.join(word).is_file())
        .filter_map(|word| expand_path(top, word, home))
        .collect()
}

/// Expands a path in a setting as git does. A relative path is below `folder`.
fn expand_path(folder: &Path, value: &str, home: Option<&Path>) -> Option<PathBuf> {
    let value = value.strip_prefix(":(optional)").unwrap_or(value);
    if value.is_empty() {
        return None;
    }
    match value.strip_prefix('~') {
        Some("") => home.map(Path::to_owned),
        Some(rest) => match rest.strip_prefix('/') {
            Some(rest) => Some(join_path(home?, Path::new(rest))),
            // `~name` is the home folder of another user, where a command cannot write.
            None => None,
        },
        // In git's installation, where a command cannot write.
        None if value.starts_with("%(prefix)/") => None,
        None => Some(join_path(folder, Path::new(value))),
    }
}

/// Joins a path to a folder. Leading `..` components shorten the folder's path.
fn join_path(folder: &Path, path: &Path) -> PathBuf {
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
pub(super) fn protect_named(folder: &Path, named: &BTreeSet<PathBuf>, paths: &mut SandboxPaths) {
    for place in named.iter().filter_map(|path| path.canonicalize().ok()) {
        // A whole workspace folder cannot be protected.
        if !folder.starts_with(&place) && paths.writable.iter().any(|at| place.starts_with(at)) {
            paths.read_only.push(place);
        }
    }
}

/// True for a repository in which git runs no other program: its hooks are samples, and no setting
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

/// Makes a repository writable except for its control files. These are mounts, so a command cannot
/// rename them either.
fn make_writable(place: &Path, paths: &mut SandboxPaths) -> io::Result<()> {
    paths.read_only.retain(|path| path != place);
    paths.writable.push(place.to_owned());
    for name in REPOSITORY_NAMES {
        // Protects the target of a link: nothing can be mounted over the link itself.
        paths.read_only.extend(place.join(name).canonicalize());
    }
    for inner in ["modules", "worktrees"] {
        let mut left = MAX_MODULES;
        make_modules_writable(&place.join(inner), 0, &mut left, paths)?;
    }
    Ok(())
}

/// Makes repositories below a folder writable, and the folders above them.
fn make_modules_writable(
    folder: &Path,
    depth: usize,
    left: &mut usize,
    paths: &mut SandboxPaths,
) -> io::Result<()> {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|data| data.is_dir());
    if !is_folder || paths.writable.iter().any(|path| path == folder) {
        return Ok(());
    }
    if *left == 0 || depth > MAX_MODULE_DEPTH {
        // Their number is too high to protect their control files, so the folder stays read-only.
        paths.read_only.push(folder.to_owned());
        return Ok(());
    }
    if folder.join("HEAD").exists() {
        *left -= 1;
        return make_writable(folder, paths);
    }
    paths.writable.push(folder.to_owned());
    for entry in fs::read_dir(folder)?.flatten() {
        make_modules_writable(&entry.path(), depth + 1, left, paths)?;
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

    fn protected_paths(folder: &Path, writable: bool) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let mut paths = SandboxPaths::default();
        protect(folder, writable, &mut paths).unwrap();
        (paths.writable, paths.read_only)
    }

    /// Read-only paths below the folder.
    fn protected(folder: &Path) -> Vec<String> {
        let mut paths =
            SandboxPaths { writable: vec![folder.to_owned()], ..SandboxPaths::default() };
        protect(folder, false, &mut paths).unwrap();
        protect_named(folder, &named_paths(folder), &mut paths);
        let below = paths.read_only.iter().filter_map(|path| path.strip_prefix(folder).ok());
        let mut names: Vec<String> = below.map(|path| path.display().to_string()).collect();
        names.sort();
        names
    }

    fn named_below(folder: &Path) -> Vec<String> {
        let below = named_paths(folder);
        let below = below.iter().filter_map(|path| path.strip_prefix(folder).ok());
        below.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn a_repository_and_its_hook_folder_are_protected_below_writable_folders() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap();
        let git = folder.join(".git");
        repo(&git);
        fs::create_dir_all(folder.join("tools/hooks")).unwrap();
        fs::write(git.join("config"), "[core]\n\thookspath = \"tools\"/ho\\\noks\n").unwrap();
        assert_eq!(protected(&folder), [".git", "tools/hooks"]);
        // The repository is not in a writable folder, so it needs no protection.
        assert!(protected_paths(&folder.join("tools"), false).1.is_empty());
        for wrong in [".", "..", "/", "../missing", "tools/../missing", ""] {
            fs::write(git.join("config"), format!("[core]\nhooksPath = \"{wrong}\"\n")).unwrap();
            assert_eq!(protected(&folder), [".git"], "{wrong}");
        }
    }

    #[test]
    fn paths_in_settings_are_found_also_if_they_are_missing() {
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
        // A file that includes itself.
        fs::write(folder.join("shared.cfg"), "[include]\npath = shared.cfg\n").unwrap();
        named_paths(&folder);
    }

    #[test]
    fn a_repository_is_inert_if_git_runs_nothing_in_it() {
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
    fn a_writable_repository_keeps_its_control_files_read_only() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap();
        let git = folder.join(".git");
        repo(&git);
        repo(&git.join("modules/lib/a"));
        // The workspace may be a folder in the working copy.
        fs::create_dir(folder.join("part")).unwrap();
        for from in [folder.clone(), folder.join("part")] {
            let (writable, read_only) = protected_paths(&from, true);
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
    fn a_repository_is_writable_only_if_it_names_the_working_copy_in_return() {
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
        let (writable, read_only) = protected_paths(&copy, true);
        assert!(writable.contains(&own) && writable.contains(&main.join(".git")));
        assert!(
            read_only.contains(&own.join("commondir")) && read_only.contains(&own.join("gitdir"))
        );
        fs::write(copy.join(".git"), format!("gitdir: {}\n", main.join(".git").display())).unwrap();
        assert_eq!(protected_paths(&copy, true), (vec![], vec![]));
    }
}
