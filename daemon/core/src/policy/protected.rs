//! Names of files that need an approval even where edits do not, and of files that may hold
//! secrets.
//!
//! The name alone decides, so that it holds for files that do not exist yet.

use std::path::{Component, Path};

use super::control_files::{CONTROL_NAMES, is_control_name};
use crate::file_names::plain;

/// True for files that something runs or follows without the user naming them: hooks and their managers,
/// settings of editors, agents and shells, files that select the version of a tool, whole environments (their
/// programs come first in the search path, their start-up files run with each program), build
/// manifests and lock files that tools load by themselves; and secrets. False for files that run only
/// when the user names them, such as a makefile. `path` is relative to its workspace folder; below `~`
/// every hidden name is protected.
pub fn is_protected(path: &Path) -> bool {
    let names = names(path);
    let Some(last) = names.last() else { return false };
    let anywhere = |name: &String| name.starts_with(".git") || ANYWHERE.contains(&name.as_str());
    names.iter().any(|name| anywhere(name) || is_control_name(name))
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
/// name is a link, its target is protected as well.
pub fn protected_roots() -> impl Iterator<Item = &'static str> {
    ANYWHERE.iter().chain(CONTROL_NAMES).copied()
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

/// Folders whose whole contents are protected, and files whose name alone says it, besides the control
/// files.
const ANYWHERE: &[&str] = &[
    ".bin",
    ".cargo",
    ".conda",
    ".direnv",
    ".emacs.d",
    ".helix",
    ".hg",
    ".jj",
    ".kakoune",
    ".lefthook",
    ".lefthook-local",
    ".mise",
    ".nova",
    ".nox",
    ".nvim",
    ".pixi",
    ".ssh",
    ".tox",
    ".venv",
    ".vim",
    ".vs",
    ".yarn",
    "__pypackages__",
    "conda-meta",
    "pyvenv.cfg",
    "venv",
    "virtualenv",
];
const FILES: &[&str] = &[
    ".asdfrc",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".captainhook.json",
    ".dir-locals-2.el",
    ".emacs",
    ".gdbinit",
    ".ghci",
    ".go-version",
    ".gvimrc",
    ".iex.exs",
    ".inputrc",
    ".irbrc",
    ".java-version",
    ".lldbinit",
    ".luarc.json",
    ".luarc.jsonc",
    ".lvimrc",
    ".neoconf.json",
    ".netrc",
    ".node-version",
    ".nvmrc",
    ".overcommit.yml",
    ".pdbrc",
    ".php-version",
    ".profile",
    ".projectile",
    ".pryrc",
    ".pypirc",
    ".python-version",
    ".pythonrc",
    ".renviron",
    ".rprofile",
    ".ruby-version",
    ".rust-analyzer.toml",
    ".rusty-hook.toml",
    ".sdkmanrc",
    // Lock files of package managers; all others end in `.lock`.
    ".terraform.lock.hcl",
    ".tool-versions",
    ".vimrc",
    ".watchmanconfig",
    ".ycm_extra_conf.py",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "_exrc",
    "_vimrc",
    "build.rs",
    "bun.lockb",
    "cabal.project.freeze",
    "captainhook.json",
    "cargo.toml",
    "cartfile.resolved",
    "coc-settings.json",
    "cog.toml",
    "conda-lock.yml",
    "devbox.json",
    "devenv.nix",
    "devenv.yaml",
    "flake.nix",
    "go.sum",
    "go.work.sum",
    "gradle-wrapper.jar",
    "gradle-wrapper.properties",
    "gradle.properties",
    "gradlew",
    "gradlew.bat",
    "grumphp.yml",
    "hk.pkl",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "mise.local.toml",
    "package.json",
    "package.resolved",
    "packages.lock.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "prek.toml",
    "rust-analyzer.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    "shell.nix",
    "sitecustomize.py",
    "usercustomize.py",
];
const PREFIXES: &[&str] = &[
    ".commitlintrc",
    ".env",
    ".huskyrc",
    ".lintstagedrc",
    ".mise.",
    ".pnpmfile.",
    ".pre-commit",
    ".prek",
    ".simple-git-hooks",
    "commitlint.config.",
    "lefthook-local.",
    "lefthook.",
    "lint-staged.config.",
    "simple-git-hooks.",
];
const SUFFIXES: &[&str] = &[
    ".csproj",
    ".fsproj",
    ".lock",
    ".lockfile",
    ".props",
    ".pth",
    ".sublime-build",
    ".sublime-project",
    ".sublime-settings",
    ".sublime-workspace",
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
    fn files_that_programs_run_or_follow_are_protected() {
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
            ".cursorrules",
            ".clinerules",
            ".roo/rules/a.md",
            ".kiro/steering/a.md",
            ".amazonq/rules/a.md",
            ".continue/config.yaml",
            "opencode.json",
            ".junie/guidelines.md",
            "Jenkinsfile",
            ".circleci/config.yml",
            ".travis.yml",
            "azure-pipelines.yml",
            ".bazelrc",
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
            // Lock files of package managers; all others end in `.lock`.
            ".terraform.lock.hcl",
            ".bashrc",
            // Environments, hooks managers, editors, versions of tools.
            ".venv/bin/python",
            ".venv/bin/activate",
            "sub/venv/Lib/site-packages/a.pth",
            "pyvenv.cfg",
            "node_modules/.bin/eslint",
            ".direnv/bin/x",
            ".pre-commit-config.yaml",
            ".pre-commit-hooks.yaml",
            "lefthook.yml",
            ".lefthook/pre-push/x.sh",
            ".lintstagedrc.mjs",
            "lint-staged.config.js",
            "commitlint.config.ts",
            ".simple-git-hooks.json",
            ".hg/hgrc",
            ".zed/tasks.json",
            ".nvim.lua",
            ".exrc",
            ".vim/coc-settings.json",
            ".dir-locals.el",
            "app.sublime-project",
            ".fleet/run.json",
            ".helix/languages.toml",
            "mise.toml",
            ".mise.local.toml",
            ".tool-versions",
            ".watchmanconfig",
            "rust-toolchain.toml",
            "flake.nix",
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
            "Makefile",
            "bin/console",
            "venv.md",
            "src/lefthook/a.rs",
            "docs/mise-en-place.md",
            "locks.rs",
            "~/project/a.rs",
            "a/~/.config",
            ".vs\u{327}code/x",
        ] {
            assert!(!is_protected(Path::new(path)), "{path:?}");
        }
    }

    #[test]
    fn names_of_files_that_may_hold_secrets_are_recognised() {
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
