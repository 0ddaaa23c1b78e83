//! Which files ask even where edits do not, and which of them may hold secrets.
//!
//! By name alone, so that a file that is not there yet is one of them too.

use std::path::{Component, Path};

use crate::names::plain;

/// True for files that change what runs, or what an agent may do, outside of any review: hooks,
/// editor and agent settings, secrets, build manifests, lock files. `path` is relative to its
/// workspace folder; below `~` every hidden name counts.
pub fn is_protected(path: &Path) -> bool {
    let names = names(path);
    let Some(last) = names.last() else { return false };
    let anywhere = |name: &String| name.starts_with(".git") || ANYWHERE.contains(&name.as_str());
    names.iter().any(anywhere)
        || FILES.contains(&last.as_str())
        || PREFIXES.iter().any(|prefix| last.starts_with(prefix))
        || SUFFIXES.iter().any(|suffix| last.ends_with(suffix))
        || last.contains(".gradle")
        || matches!(&names[..], [home, name, ..] if home == "~" && name.starts_with('.'))
}

/// True for files that are likely to hold secrets: reading them asks, too.
pub fn is_secret(path: &Path) -> bool {
    let names = names(path);
    let Some(last) = names.last() else { return false };
    let (stem, extension) = last.split_once('.').unwrap_or((last, ""));
    names.iter().any(|name| SECRET_FOLDERS.contains(&name.as_str()))
        || SECRET_FILES.contains(&last.as_str())
        || SECRET_PREFIXES.iter().any(|prefix| last.starts_with(prefix))
        || SECRET_SUFFIXES.iter().any(|suffix| last.ends_with(suffix))
        // A key has no extension, but `id_map.ts` has; and `credentials.ts` is a program.
        || (stem.starts_with("id_") && extension.is_empty())
        || (stem == "credentials" && DATA.contains(&extension))
}

/// The name of a file or folder that is protected at the top of a workspace folder: where such a
/// name is a link, what it leads to is protected as well.
pub fn protected_roots() -> impl Iterator<Item = &'static str> {
    ANYWHERE.iter().copied().chain([".githooks", ".github"])
}

fn names(path: &Path) -> Vec<String> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(plain(&name.to_string_lossy())),
            Component::Prefix(_)
            | Component::RootDir
            | Component::CurDir
            | Component::ParentDir => None,
        })
        .collect()
}

/// Folders whose whole contents are protected, and files whose name alone says it.
const ANYWHERE: &[&str] = &[
    ".agents",
    ".cairn",
    ".cargo",
    ".claude",
    ".codex",
    ".cursor",
    ".devcontainer",
    ".envrc",
    ".gemini",
    ".husky",
    ".idea",
    ".mcp.json",
    ".npmrc",
    ".ssh",
    ".vscode",
];
const FILES: &[&str] = &[
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".devcontainer.json",
    ".inputrc",
    ".netrc",
    ".profile",
    ".pypirc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "agents.md",
    "agents.override.md",
    "build.rs",
    "cargo.toml",
    "claude.local.md",
    "claude.md",
    "gemini.md",
    "gradlew",
    "gradlew.bat",
    "gradle.properties",
    "gradle-wrapper.jar",
    "gradle-wrapper.properties",
    "package.json",
    "pnpm-workspace.yaml",
    // What the managers of packages lock; all others end in `.lock`.
    ".terraform.lock.hcl",
    "bun.lockb",
    "cabal.project.freeze",
    "cartfile.resolved",
    "conda-lock.yml",
    "go.sum",
    "go.work.sum",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "package.resolved",
    "packages.lock.json",
    "pnpm-lock.yaml",
];
const PREFIXES: &[&str] = &[".env", ".pnpmfile.", ".yarnrc"];
const SUFFIXES: &[&str] = &[
    ".code-workspace",
    ".csproj",
    ".fsproj",
    ".lock",
    ".lockfile",
    ".props",
    ".targets",
    ".vbproj",
    ".vcxproj",
];

const SECRET_FOLDERS: &[&str] = &[".aws", ".azure", ".gnupg", ".kube", ".ssh"];
const SECRET_FILES: &[&str] = &[".dockercfg", ".git-credentials", ".htpasswd", ".pgpass"];
const SECRET_PREFIXES: &[&str] =
    &[".env", ".netrc", ".npmrc", ".pypirc", "id_dsa", "id_ecdsa", "id_ed25519", "id_rsa"];
const SECRET_SUFFIXES: &[&str] = &[".jks", ".key", ".keystore", ".p12", ".pem", ".pfx", ".ppk"];
const DATA: &[&str] =
    &["", "csv", "ini", "json", "properties", "toml", "txt", "xml", "yaml", "yml"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_what_runs_is_protected() {
        for path in [
            ".git",
            ".gitignore",
            ".gitattributes",
            "sub/.gitmodules",
            ".githooks/pre-commit",
            ".github/workflows/ci.yml",
            ".gitlab-ci.yml",
            ".husky/pre-commit",
            ".vscode/tasks.json",
            "packages/app/.vscode/settings.json",
            "app.code-workspace",
            ".idea/workspace.xml",
            ".devcontainer/devcontainer.json",
            ".devcontainer.json",
            ".cairn/config",
            ".claude/settings.json",
            ".codex/config.toml",
            ".agents/x",
            ".cursor/mcp.json",
            ".mcp.json",
            "AGENTS.md",
            "docs/CLAUDE.md",
            ".env",
            "sub/.env.local",
            ".envrc",
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".pnpmfile.cjs",
            "pnpm-workspace.yaml",
            "web/package.json",
            "Cargo.toml",
            "build.rs",
            ".cargo/config.toml",
            "App.csproj",
            "Directory.Build.props",
            "Directory.Build.targets",
            "build.gradle",
            "settings.gradle.kts",
            "gradlew",
            "Cargo.lock",
            "package-lock.json",
            "pnpm-lock.yaml",
            "yarn.lock",
            "bun.lock",
            "bun.lockb",
            "uv.lock",
            "poetry.lock",
            "Pipfile.lock",
            "Gemfile.lock",
            "composer.lock",
            "go.sum",
            "Package.resolved",
            "packages.lock.json",
            "gradle.lockfile",
            "flake.lock",
            "deno.lock",
            ".terraform.lock.hcl",
            ".bashrc",
            // However it is written.
            ".VSCODE/settings.json",
            ".vſcode/settings.json",
            ".vscode /tasks.json",
            ".vscode./tasks.json",
            ".vs\u{200d}code/tasks.json",
            "pac\u{212a}age.json",
            ".ıdea/x",
            "CARGO.TOML",
            // In a home folder.
            "~/.config/autostart/x.desktop",
            "~/.face",
        ] {
            assert!(is_protected(Path::new(path)), "{path:?}");
        }
        for path in [
            "",
            "src/main.rs",
            "env.rs",
            "docs/git.md",
            "vscode/x",
            "my-package.json",
            "src/agents.rs",
            "locks.rs",
            "~/project/a.rs",
            "a/~/.config",
            ".vs\u{327}code/x",
        ] {
            assert!(!is_protected(Path::new(path)), "{path:?}");
        }
    }

    #[test]
    fn what_may_hold_secrets() {
        for path in [
            ".env",
            "a/.ENV.local",
            ".env.example",
            "server.pem",
            "tls/Server.PEM",
            "id_rsa",
            "id_rsa.old",
            "id_ed25519.pub",
            "id_work",
            "credentials",
            "credentials.json",
            ".aws/config",
            ".ssh/known_hosts",
            ".netrc",
            ".npmrc",
            "key.p12",
            "app.keystore",
        ] {
            assert!(is_secret(Path::new(path)), "{path}");
        }
        for path in [
            "",
            "src/env.rs",
            "id_map.ts",
            "credentials.ts",
            "AGENTS.md",
            "package.json",
            "keys.rs",
            "pem.md",
        ] {
            assert!(!is_secret(Path::new(path)), "{path}");
        }
    }
}
