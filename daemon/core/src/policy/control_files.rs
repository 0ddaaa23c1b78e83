//! Control files: names that git, an editor, a shell, a package manager or an agent executes or
//! follows unasked.
//!
//! A command must not write one without an approval: existing ones are mounted read-only in its
//! sandbox, and new ones are moved to quarantine. The name alone decides; the caller knows the
//! folder.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::file_names::plain;

/// Kind of a folder, which decides the names that are control files in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Zone {
    /// A folder of the project.
    Project,
    /// A tree that tools generate: only names that git follows are control files.
    Generated,
    /// All its files are control files: `.vscode`, a folder of hooks.
    Control,
    /// A repository's own folder (`.git`).
    Repository,
    /// `modules` and `worktrees` in it: folders that hold repositories.
    Repositories,
}

/// Kind of an entry of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EntryKind {
    File,
    Folder,
    Link,
    /// A pipe, socket or device.
    Other,
}

/// Role of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Not a control file. A folder is entered in this zone, or not at all.
    Plain { enter: Option<Zone> },
    /// A control file. A folder is entered in this zone.
    Control { enter: Zone },
    /// A file that makes its folder a repository; its content does not matter.
    Mark,
}

/// Trees that tools generate. Fixed names and not `.gitignore`, which a command can write.
pub(crate) const GENERATED: &[&str] = &[
    ".cache",
    ".dart_tool",
    ".gradle",
    ".mypy_cache",
    ".next",
    ".nox",
    ".nuxt",
    ".parcel-cache",
    ".pnpm-store",
    ".pytest_cache",
    ".ruff_cache",
    ".stack-work",
    ".svelte-kit",
    ".terraform",
    ".tox",
    ".turbo",
    ".venv",
    ".yarn",
    "__pycache__",
    "_build",
    "bower_components",
    "dist-newstyle",
    "node_modules",
    "target",
    "venv",
    "zig-cache",
];

/// Control files and folders of a project, in lower case.
pub const CONTROL_NAMES: &[&str] = &[
    ".agents",
    ".amazonq",
    ".bazelrc",
    ".bundle",
    ".cairn",
    ".circleci",
    ".claude",
    ".clinerules",
    ".codex",
    ".continue",
    ".cursor",
    ".cursorrules",
    ".devcontainer",
    ".devcontainer.json",
    ".dir-locals.el",
    ".envrc",
    ".exrc",
    ".fleet",
    ".gemini",
    ".git",
    ".githooks",
    ".github",
    ".husky",
    ".idea",
    ".junie",
    ".kiro",
    ".mcp.json",
    ".mise.toml",
    ".npmrc",
    ".nvim.lua",
    ".nvimrc",
    ".pnpmfile.cjs",
    ".pnpmfile.mjs",
    ".roo",
    ".travis.yml",
    ".vscode",
    ".windsurf",
    ".windsurfrules",
    ".yarnrc",
    ".yarnrc.yml",
    ".zed",
    "agents.md",
    "agents.override.md",
    "azure-pipelines.yml",
    "claude.local.md",
    "claude.md",
    "gemini.md",
    "jenkinsfile",
    "mise.toml",
    "opencode.json",
];
const CONTROL_ENDINGS: &[&str] = &[".code-workspace"];
/// Folder with its control files. Its other files are not: the folder may be a whole `CARGO_HOME`.
const CARGO: (&str, &[&str]) = (".cargo", &["config", "config.toml"]);

/// Names in a repository's own folder that decide what git runs or which repository it uses.
pub const REPOSITORY_NAMES: &[&str] =
    &["config", "config.worktree", "commondir", "gitdir", "hooks"];

/// Returns the role of `name` in a folder called `folder` in `zone`.
pub fn role(zone: Zone, folder: &str, name: &str, kind: EntryKind) -> Role {
    let name = lower(name);
    let is_folder = kind == EntryKind::Folder;
    let plain = |zone| Role::Plain { enter: is_folder.then_some(zone) };
    match zone {
        Zone::Control => Role::Control { enter: Zone::Control },
        Zone::Project | Zone::Generated if name == ".git" => {
            Role::Control { enter: Zone::Repository }
        }
        Zone::Generated => plain(Zone::Generated),
        Zone::Project if is_control_name(&name) => Role::Control { enter: Zone::Control },
        Zone::Project if CARGO.1.contains(&name.as_str()) && lower(folder) == CARGO.0 => {
            Role::Control { enter: Zone::Control }
        }
        Zone::Project if is_folder && GENERATED.contains(&name.as_str()) => plain(Zone::Generated),
        Zone::Project => plain(Zone::Project),
        Zone::Repository if REPOSITORY_NAMES.contains(&name.as_str()) => {
            Role::Control { enter: Zone::Control }
        }
        Zone::Repository if is_folder && matches!(name.as_str(), "modules" | "worktrees") => {
            Role::Plain { enter: Some(Zone::Repositories) }
        }
        Zone::Repository => Role::Plain { enter: None },
        Zone::Repositories => plain(Zone::Repositories),
    }
}

/// Returns the role of a name in a repository that is not called `.git`: a bare one, a module of
/// another one, or that of a worktree. The folder is in `zone` as well.
pub fn role_in_bare(zone: Zone, folder: &str, name: &str, kind: EntryKind) -> Role {
    if name == "HEAD" {
        return Role::Mark;
    }
    match role(Zone::Repository, folder, name, kind) {
        control @ Role::Control { .. } => control,
        // Files of the project may lie in a folder that looks like a repository.
        inner if zone == Zone::Repositories => inner,
        _ if matches!(name, "objects" | "refs") => Role::Plain { enter: None },
        Role::Plain { .. } | Role::Mark => role(zone, folder, name, kind),
    }
}

/// Returns true if git treats a folder with these names as a repository and follows its `config`.
pub fn is_repository<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let (mut head, mut objects, mut refs, mut common) = (false, false, false, false);
    for name in names {
        match name {
            "HEAD" => head = true,
            "objects" => objects = true,
            "refs" => refs = true,
            "commondir" => common = true,
            _ => {}
        }
    }
    head && ((objects && refs) || common)
}

/// True for a path in a tree that tools generate. `path` is relative to its workspace folder.
pub fn is_generated(path: &Path) -> bool {
    path.components().any(|part| {
        part.as_os_str().to_str().is_some_and(|name| GENERATED.contains(&lower(name).as_str()))
    })
}

/// True for a name that is a control file anywhere in a project.
pub fn is_control_name(name: &str) -> bool {
    let name = lower(name);
    CONTROL_NAMES.contains(&name.as_str())
        || CONTROL_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// True for a control file by its ending: a folder can hold any number of them.
pub fn is_control_by_ending(name: &str) -> bool {
    is_control_name(name) && !CONTROL_NAMES.contains(&lower(name).as_str())
}

/// Compares names as file systems without case do, by [`plain`].
fn lower(name: &str) -> String {
    if name.is_ascii() { name.to_ascii_lowercase() } else { plain(name) }
}

/// True for a setting that names nothing to run or to follow. A repository with only such settings
/// runs nothing when git enters it.
pub fn is_inert_setting(section: &str, key: &str) -> bool {
    const CORE: &[&str] = &[
        "autocrlf",
        "bare",
        "eol",
        "filemode",
        "ignorecase",
        "logallrefupdates",
        "precomposeunicode",
        "protecthfs",
        "protectntfs",
        "quotepath",
        "repositoryformatversion",
        "safecrlf",
        "sharedrepository",
        "symlinks",
        "untrackedcache",
    ];
    match section {
        "core" => CORE.contains(&key),
        "user" | "author" | "committer" => matches!(key, "name" | "email"),
        "init" => key == "defaultbranch",
        "remote" => {
            matches!(key, "url" | "pushurl" | "fetch" | "push" | "tagopt" | "mirror" | "prune")
        }
        "branch" => matches!(key, "remote" | "merge" | "rebase" | "autosetuprebase"),
        "commit" | "tag" => key == "gpgsign",
        "extensions" => matches!(key, "objectformat" | "refstorage"),
        "gc" => key == "auto",
        "advice" | "color" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_of_a_name_depends_on_its_zone() {
        use EntryKind::{File, Folder};
        use Zone::{Control, Generated, Project, Repositories, Repository};
        let control = |enter| Role::Control { enter };
        let plain = |enter| Role::Plain { enter };
        for (zone, folder, name, kind, expected) in [
            (Project, "", ".git", Folder, control(Repository)),
            (Project, "a", ".GIT", File, control(Repository)),
            (Project, "a", "AGENTS.md", File, control(Control)),
            (Project, "a", ".vſcode", Folder, control(Control)),
            (Project, "a", "x.code-workspace", File, control(Control)),
            (Project, "a", "src", Folder, plain(Some(Project))),
            (Project, "a", "main.rs", File, plain(None)),
            (Project, "a", "config.toml", File, plain(None)),
            (Project, ".cargo", "config.toml", File, control(Control)),
            (Project, "", "node_modules", Folder, plain(Some(Generated))),
            (Generated, "x", ".vscode", Folder, plain(Some(Generated))),
            (Generated, "x", ".git", File, control(Repository)),
            (Control, ".vscode", "tasks.json", File, control(Control)),
            (Repository, ".git", "config", File, control(Control)),
            (Repository, ".git", "hooks", Folder, control(Control)),
            (Repository, ".git", "objects", Folder, plain(None)),
            (Repository, ".git", "modules", Folder, plain(Some(Repositories))),
            (Repositories, "modules", "lib", Folder, plain(Some(Repositories))),
        ] {
            assert_eq!(role(zone, folder, name, kind), expected, "{zone:?} {name}");
        }
        assert_eq!(role_in_bare(Project, "x", "HEAD", File), Role::Mark);
        assert_eq!(role_in_bare(Project, "x", "config", File), control(Control));
        assert_eq!(role_in_bare(Project, "x", "src", Folder), plain(Some(Project)));
        assert_eq!(role_in_bare(Project, "x", ".vscode", Folder), control(Control));
        assert_eq!(role_in_bare(Project, "x", "objects", Folder), plain(None));
    }

    #[test]
    fn a_folder_with_the_files_of_a_repository_is_one() {
        let is = |names: &str| is_repository(names.split(' '));
        assert!(is("HEAD objects refs") && is("HEAD commondir"));
        assert!(!is("HEAD objects") && !is("objects refs"));
    }
}
