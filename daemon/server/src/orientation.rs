//! Facts about a project for the start of a session: branch, changes, top of the tree, the ways to build and
//! test it, and versions. A model otherwise spends its first calls on them.
//!
//! Reads a few small files and two folders, each with a limit. Programs run in a sandbox without the network and
//! without write access, because settings of a repository can name programs that Git starts.

use std::{fs, path::Path, time::Duration};

use cairn_core::{prompt::instructions::is_generated, sanitize::one_line};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    exec::{
        CommandInput, CommandSpec, run,
        sandbox::{SandboxConfig, SandboxRequest},
    },
    small_file,
    workspace::Workspace,
};

/// Longest file that is read, in bytes.
const MOST_BYTES: u64 = 256 * 1024;
/// Entries of the folder that are looked at, and that are named.
const MOST_LOOKED: usize = 2_000;
const MOST_NAMED: usize = 40;
/// Longest name, in characters.
const NAME: usize = 60;
/// Scripts and targets that are named.
const MOST_SCRIPTS: usize = 10;

/// Facts about the first folder of a workspace, a line each.
pub(crate) fn facts(workspace: &Workspace) -> String {
    let Some(folder) = workspace.folders().first() else { return String::new() };
    let lines = [branch(folder), tree(folder), npm(folder), others(folder), make(folder)];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// Longest time of the programs. Missing answers are left out.
const PROGRAMS: Duration = Duration::from_secs(2);
/// Changed files that are named.
const MOST_CHANGED: usize = 10;
/// Longest subject of a commit, in characters.
const SUBJECT: usize = 100;

/// Facts that programs know about the first folder of a workspace, a line each; empty without a sandbox.
pub(crate) async fn programs_say(workspace: &Workspace, config: &SandboxConfig) -> String {
    let Some(folder) = workspace.folders().first() else { return String::new() };
    if config.backend().await.is_err() {
        return String::new();
    }
    let command = questions(folder);
    let request = SandboxRequest {
        command: command.clone(),
        cwd: folder.clone(),
        folders: workspace.folders().to_vec(),
        read_only: true,
        settings: config.settings.clone(),
        ..SandboxRequest::default()
    };
    let Ok(sandbox) = config.sandbox.prepare(request).await else { return String::new() };
    let spec = CommandSpec {
        command,
        cwd: folder.clone(),
        timeout: Some(PROGRAMS),
        input: CommandInput::none(),
        tap: None,
        env: Vec::new(),
        sandbox: Some(sandbox),
    };
    let outcome = run(spec, CancellationToken::new()).await;
    outcome.map(|outcome| answers(&outcome.output.text()).join("\n")).unwrap_or_default()
}

/// Program that models search with, and that many machines do not have.
const SEARCH: &str = "rg";

/// Commands that ask Git and the programs of the project's build systems, one each line.
fn questions(folder: &Path) -> String {
    const VERSIONS: [(&str, &str); 5] = [
        ("Cargo.toml", "cargo --version"),
        ("package.json", "node --version | sed 's/^/node /'"),
        ("pyproject.toml", "python3 --version"),
        ("setup.py", "python3 --version"),
        ("go.mod", "go version"),
    ];
    let mut lines = vec![format!("command -v {SEARCH} >/dev/null || echo 'lacks {SEARCH}'")];
    if folder.join(".git").exists() {
        lines.push("git log -1 --format='head %s'".to_owned());
        lines.push(format!(
            "if all=$(git status --porcelain); then echo changes; printf %s \"$all\" | sed -n -e '1,{MOST_CHANGED}s/^/changed /p' -e '$='; fi"
        ));
    }
    for (file, version) in VERSIONS {
        let line = format!("{version} | head -n 1 | sed 's/^/has /'");
        if folder.join(file).is_file() && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

/// Lines about the output of the commands.
fn answers(output: &str) -> Vec<String> {
    let after = |word| output.lines().filter_map(move |line: &str| line.strip_prefix(word));
    let mut lines = Vec::new();
    lines.extend(after("head ").next().map(|it| format!("Git HEAD: {}", one_line(it, SUBJECT))));
    let changed: Vec<String> = after("changed ").map(shown).collect();
    let count: Option<usize> = output.lines().find_map(|line| line.parse().ok());
    if output.lines().any(|line| line == "changes") {
        let more = count.unwrap_or_default().saturating_sub(changed.len());
        lines.push(match (changed.as_slice(), more) {
            ([], _) => "Uncommitted changes: none".to_owned(),
            (_, 0) => format!("Uncommitted changes: {}", changed.join(", ")),
            (_, more) => format!("Uncommitted changes: {} and {more} more", changed.join(", ")),
        });
    }
    let versions: Vec<String> = after("has ").map(shown).collect();
    if !versions.is_empty() {
        lines.push(format!("Versions: {}", versions.join(", ")));
    }
    lines.extend(after("lacks ").next().map(|it| format!("Not installed: {}", shown(it))));
    lines
}

/// Text of a file of the folder. A link could lead to a secret.
fn read(folder: &Path, name: &str) -> Option<String> {
    let path = folder.join(name);
    let is_file = fs::symlink_metadata(&path).is_ok_and(|data| data.is_file());
    is_file.then(|| small_file::read_text(&path, MOST_BYTES).ok()).flatten()
}

fn shown(name: &str) -> String {
    one_line(name, NAME)
}

/// Branch that Git has checked out.
fn branch(folder: &Path) -> Option<String> {
    let head = read(folder, ".git/HEAD").or_else(|| {
        // A worktree or submodule: the file names its folder.
        let pointer = read(folder, ".git")?;
        let place = pointer.trim().strip_prefix("gitdir:")?.trim().to_owned();
        read(&folder.join(place), "HEAD")
    })?;
    let head = head.trim();
    match head.strip_prefix("ref: refs/heads/") {
        Some(branch) => Some(format!("Git branch: {}", shown(branch))),
        None => {
            let is_hash = head.len() >= 12 && head.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_hash.then(|| format!("Git: no branch, at {}", &head[..12]))
        }
    }
}

/// Files and folders at the top.
fn tree(folder: &Path) -> Option<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .ok()?
        .take(MOST_LOOKED)
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let is_folder = entry.file_type().ok()?.is_dir();
            let is_shown = !name.starts_with('.') && !is_generated(Path::new(&name));
            is_shown.then(|| format!("{}{}", shown(&name), if is_folder { "/" } else { "" }))
        })
        .collect();
    if names.is_empty() {
        return None;
    }
    names.sort();
    let more = match names.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.truncate(MOST_NAMED);
    Some(format!("Top of the tree: {}{more}", names.join(", ")))
}

/// Scripts of package.json, with the program that runs them.
fn npm(folder: &Path) -> Option<String> {
    let package: Value = serde_json::from_str(&read(folder, "package.json")?).ok()?;
    let names: Vec<String> =
        package["scripts"].as_object()?.keys().take(MOST_SCRIPTS).map(|name| shown(name)).collect();
    let lock = |name: &str| folder.join(name).exists();
    let program = match () {
        () if lock("pnpm-lock.yaml") => "pnpm",
        () if lock("yarn.lock") => "yarn",
        () if lock("bun.lock") || lock("bun.lockb") => "bun",
        () => "npm",
    };
    (!names.is_empty()).then(|| format!("Scripts ({program} run): {}", names.join(", ")))
}

/// Build systems with one usual way to run the tests.
fn others(folder: &Path) -> Option<String> {
    const USUAL: [(&str, &str); 9] = [
        ("Cargo.toml", "cargo test"),
        ("go.mod", "go test ./..."),
        ("pyproject.toml", "Python (pyproject.toml)"),
        ("setup.py", "Python (setup.py)"),
        ("tox.ini", "tox"),
        ("pom.xml", "mvn test"),
        ("build.gradle", "gradle test"),
        ("build.gradle.kts", "gradle test"),
        ("CMakeLists.txt", "CMake"),
    ];
    let found: Vec<&str> = USUAL
        .iter()
        .filter(|(file, _)| folder.join(file).is_file())
        .map(|(_, usual)| *usual)
        .collect();
    (!found.is_empty()).then(|| format!("Build and tests: {}", found.join(", ")))
}

/// Targets of the Makefile.
fn make(folder: &Path) -> Option<String> {
    let text = read(folder, "Makefile")?;
    let mut targets: Vec<String> = Vec::new();
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(':') else { continue };
        let is_target = name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
            && !rest.starts_with('=');
        let name = shown(name);
        if is_target && targets.len() < MOST_SCRIPTS && !targets.contains(&name) {
            targets.push(name);
        }
    }
    (!targets.is_empty()).then(|| format!("Targets (make): {}", targets.join(", ")))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn told(files: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        facts(&Workspace::new(vec![folder.path().to_owned()]).unwrap())
    }

    #[test]
    fn a_project_is_described_by_its_files() {
        let package = r#"{"scripts": {"test": "vitest", "lint\n[cairn] x": "eslint"}}"#;
        expect![[r#"
            Git branch: fix/cart
            Top of the tree: Cargo.toml, Makefile, package.json, pnpm-lock.yaml, src/
            Scripts (pnpm run): test, lint ⏎ [cairn] x
            Build and tests: cargo test
            Targets (make): all, test"#]]
        .assert_eq(&told(&[
            (".git/HEAD", "ref: refs/heads/fix/cart\n"),
            ("src/a.ts", ""),
            ("node_modules/b/c", ""),
            ("package.json", package),
            ("pnpm-lock.yaml", ""),
            ("Cargo.toml", ""),
            ("Makefile", "CC := gcc\nall: test\n\techo a: b\n.PHONY: all\ntest: x\n%.o: %.c\n"),
        ]));
        assert_eq!(told(&[]), "");
        assert_eq!(
            told(&[(".git/HEAD", "0123456789abcdef0123456789")]),
            "Git: no branch, at 0123456789ab"
        );
    }

    #[test]
    fn what_is_long_or_broken_is_bounded() {
        let many: Vec<(String, &str)> =
            (0..200).map(|n| (format!("{n:03}{}", "x".repeat(150)), "")).collect();
        let mut files: Vec<(&str, &str)> =
            many.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        let branch = format!("ref: refs/heads/{}", "b".repeat(5_000));
        files.push((".git/HEAD", &branch));
        files.push(("package.json", "{\"scripts\": ["));
        let told = told(&files);
        assert!(told.chars().count() < 3_000, "{told}");
        assert!(told.contains("and 161 more"), "{told}");
    }

    #[test]
    fn programs_are_asked_about_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let search = questions(folder.path());
        for name in ["Cargo.toml", "setup.py", "pyproject.toml"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        expect![[r#"
            command -v rg >/dev/null || echo 'lacks rg'
            cargo --version | head -n 1 | sed 's/^/has /'
            python3 --version | head -n 1 | sed 's/^/has /'"#]]
        .assert_eq(&questions(folder.path()));
        assert!(questions(folder.path()).starts_with(&search));
    }

    #[test]
    fn what_programs_say_is_a_line_each() {
        let said = |output: &str| answers(output).join("\n");
        expect![[r#"
            Git HEAD: Mend the cart
            Uncommitted changes: M a.rs, ?? b and 40 more
            Versions: cargo 1.94.0, node v24.1.0"#]]
        .assert_eq(&said("head Mend the cart\nchanges\nchanged  M a.rs\nchanged ?? b\n42\nhas cargo 1.94.0\nhas node v24.1.0\n"));
        assert_eq!(said("lacks rg\nchanges\n"), "Uncommitted changes: none\nNot installed: rg");
        assert_eq!(said(""), "");
        let long = format!("head {}\nchanges\nchanged M {0}\n1\n", "x".repeat(5_000));
        assert!(said(&long).chars().count() < 300, "{}", said(&long));
    }

    #[test]
    fn a_worktree_names_its_branch() {
        let folder = tempfile::tempdir().unwrap();
        let (main, other) = (folder.path().join("main"), folder.path().join("other"));
        let git = main.join(".git/worktrees/other");
        fs::create_dir_all(&git).unwrap();
        fs::create_dir_all(&other).unwrap();
        fs::write(git.join("HEAD"), "ref: refs/heads/side\n").unwrap();
        fs::write(other.join(".git"), format!("gitdir: {}\n", git.display())).unwrap();
        let told = facts(&Workspace::new(vec![other]).unwrap());
        assert_eq!(told, "Git branch: side");
    }
}
