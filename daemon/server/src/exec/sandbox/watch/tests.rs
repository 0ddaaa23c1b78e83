//! Tests of the watch over a real folder, in which the test acts as a command.

use std::{fs, os::unix::fs::symlink};

use cairn_protocol::QuarantineEntry;

use super::*;

/// Workspace with a watch.
struct WatchTest {
    folder: tempfile::TempDir,
    watch: Arc<Watch>,
}

/// Former paths of entries in quarantine, relative to the workspace.
type Moved = Vec<String>;

impl WatchTest {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let watch = Arc::new(Watch::new(Some(folder.path().join("state"))));
        let test = Self { folder, watch };
        fs::create_dir(test.at("")).unwrap();
        files.iter().for_each(|(name, text)| test.put(name, text));
        test
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("ws").join(name)
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Creates a repository without hooks and without settings that run a program.
    fn repository(&self, name: &str) {
        for (file, text) in [("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n")] {
            self.put(&format!("{name}/{file}"), text);
        }
        fs::create_dir_all(self.at(name).join("objects")).unwrap();
        fs::create_dir_all(self.at(name).join("refs")).unwrap();
    }

    fn begin(&self, git_writable: bool) -> Watching {
        let (folders, hidden) = ([self.at("")], [self.folder.path().join("state")]);
        let scope = WatchScope { folders: &folders, home: None, hidden: &hidden, git_writable };
        let watching = self.watch.begin(&scope).unwrap();
        watching.mounted(None).unwrap();
        watching
    }

    fn moved(&self, left: &QuarantineReport) -> Moved {
        let name = |left: &QuarantinedFile| {
            let path = left.place();
            path.strip_prefix(self.at("")).unwrap().display().to_string()
        };
        left.moved.iter().map(name).collect()
    }

    /// Runs an action as a command without a sandbox.
    fn command(&self, action: impl FnOnce(&Self)) -> Moved {
        let watching = self.begin(false);
        action(self);
        let left = watching.finish();
        assert!(left.failed.is_empty() && !left.incomplete, "{left:?}");
        self.moved(&left)
    }
}

#[test]
fn new_control_files_are_moved_and_other_files_stay() {
    for (name, moved) in [
        ("AGENTS.md", Some("AGENTS.md")),
        ("a/b/claude.MD", Some("a/b/claude.MD")),
        ("a/.envrc", Some("a/.envrc")),
        ("a/.vscode/tasks.json", Some("a/.vscode")),
        ("a/x.code-workspace", Some("a/x.code-workspace")),
        ("a/.cargo/config.toml", Some("a/.cargo/config.toml")),
        ("a/.cargo/registry/x", None),
        ("a/src/main.rs", None),
        ("package.json", None),
        ("a/AGENTS.md.bak", None),
        // Package managers unpack files of other projects there.
        ("node_modules/x/AGENTS.md", None),
        ("a/target/x/.vscode/tasks.json", None),
        // `HEAD` alone makes no repository.
        ("a/HEAD", None),
    ] {
        let test = WatchTest::new(&[]);
        let found = test.command(|test| test.put(name, "x"));
        assert_eq!(found, Vec::from_iter(moved), "{name}");
        assert_eq!(test.at(name).exists(), moved.is_none(), "{name}");
    }
}

#[test]
fn a_changed_control_file_is_moved_and_its_former_text_restored() {
    let test = WatchTest::new(&[("AGENTS.md", "mine"), (".vscode/settings.json", "{}")]);
    let moved = test.command(|test| {
        test.put("AGENTS.md", "its");
        test.put(".vscode/settings.json", "{ }");
        test.put(".vscode/tasks.json", "{}");
    });
    assert_eq!(moved, [".vscode/settings.json", ".vscode/tasks.json", "AGENTS.md"]);
    assert_eq!(fs::read_to_string(test.at("AGENTS.md")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(test.at(".vscode/settings.json")).unwrap(), "{}");
    // The same text in another file does not count: another program may hold it open.
    let moved = test.command(|test| {
        fs::remove_file(test.at("AGENTS.md")).unwrap();
        test.put("AGENTS.md", "mine");
    });
    assert_eq!(moved, ["AGENTS.md"]);
    // A removed file is not restored.
    assert!(test.command(|test| fs::remove_file(test.at("AGENTS.md")).unwrap()).is_empty());
    assert!(!test.at("AGENTS.md").exists());
}

#[test]
fn links_are_judged_by_their_own_name_and_not_followed() {
    let test = WatchTest::new(&[("notes", "x"), ("real/x", "x")]);
    symlink("notes", test.at("CLAUDE.md")).unwrap();
    let moved = test.command(|test| {
        symlink("notes", test.at("AGENTS.md")).unwrap();
        symlink("real", test.at(".vscode")).unwrap();
        symlink("/nowhere", test.at(".envrc")).unwrap();
        symlink("real", test.at("plain")).unwrap();
    });
    assert_eq!(moved, [".envrc", ".vscode", "AGENTS.md"]);
    assert_eq!(fs::read_to_string(test.at("notes")).unwrap(), "x");
    // A link with a new target is restored.
    let moved = test.command(|test| {
        fs::remove_file(test.at("CLAUDE.md")).unwrap();
        symlink("real/x", test.at("CLAUDE.md")).unwrap();
    });
    assert_eq!(moved, ["CLAUDE.md"]);
    assert_eq!(fs::read_link(test.at("CLAUDE.md")).unwrap(), Path::new("notes"));
    // Links are not followed.
    let outside = tempfile::tempdir().unwrap();
    let moved = test.command(|test| {
        symlink(outside.path(), test.at("out")).unwrap();
        fs::write(outside.path().join("AGENTS.md"), "x").unwrap();
    });
    assert!(moved.is_empty() && outside.path().join("AGENTS.md").exists(), "{moved:?}");
}

#[test]
fn nested_repositories_are_moved_unless_tools_generate_them_and_they_run_nothing() {
    for (folder, config, moved) in [
        ("sub/.git", "", Some("sub/.git")),
        ("a/b/c/.git", "", Some("a/b/c/.git")),
        ("node_modules/x/.git", "", None),
        ("target/tmp/x/.git", "", None),
        ("target/tmp/x/.git", "[core]\nfsmonitor = x\n", Some("target/tmp/x/.git")),
        ("node_modules/x/.git", "[include]\npath = y\n", Some("node_modules/x/.git")),
    ] {
        let test = WatchTest::new(&[]);
        let found = test.command(|test| {
            test.repository(folder);
            test.put(&format!("{folder}/config"), config);
        });
        assert_eq!(found, Vec::from_iter(moved), "{folder}, {config}");
    }
    // A bare repository is recognised by its files.
    let test = WatchTest::new(&[]);
    let moved = test.command(|test| test.repository("bare"));
    assert!(moved.iter().any(|name| name == "bare/HEAD"), "{moved:?}");
    assert!(!test.at("bare/HEAD").exists() && !test.at("bare/config").exists());
}

#[test]
fn new_pointers_to_repositories_are_moved_and_removed_ones_restored() {
    let test = WatchTest::new(&[("lib/.git", "gitdir: ../.git/modules/lib\n"), ("lib/x", "x")]);
    test.repository(".git");
    // A new pointer, and the folder of a gitlink that was not fetched.
    fs::create_dir(test.at("missing")).unwrap();
    let moved = test.command(|test| {
        test.put("new/.git", "gitdir: /elsewhere\n");
        test.repository("missing/.git");
    });
    assert_eq!(moved, ["missing/.git", "new/.git"]);
    // A pointer that becomes a repository.
    let moved = test.command(|test| {
        fs::remove_file(test.at("lib/.git")).unwrap();
        test.repository("lib/.git");
    });
    let pointer = || fs::read_to_string(test.at("lib/.git")).unwrap();
    assert_eq!(moved, ["lib/.git"]);
    assert_eq!(pointer(), "gitdir: ../.git/modules/lib\n");
    // Without it the folder would belong to the repository above.
    assert!(test.command(|test| fs::remove_file(test.at("lib/.git")).unwrap()).is_empty());
    assert_eq!(pointer(), "gitdir: ../.git/modules/lib\n");
}

#[test]
fn in_a_writable_repository_only_settings_and_hooks_are_moved() {
    let test = WatchTest::new(&[]);
    test.repository(".git");
    let watching = test.begin(true);
    test.put(".git/objects/ab/cdef", "x");
    test.put(".git/refs/heads/side", "x");
    test.put(".git/index", "x");
    test.put(".git/config", "[core]\nfsmonitor = x\n");
    test.put(".git/hooks/pre-commit", "x");
    let moved = test.moved(&watching.finish());
    assert_eq!(moved, [".git/config", ".git/hooks"]);
    assert_eq!(fs::read_to_string(test.at(".git/config")).unwrap(), "[core]\n");
}

#[test]
fn control_files_of_a_renamed_folder_stay_and_a_renamed_repository_is_moved() {
    let test = WatchTest::new(&[("a/AGENTS.md", "mine"), ("a/.vscode/x", "x")]);
    test.repository("a/sub/.git");
    let rename = |test: &WatchTest| fs::rename(test.at("a"), test.at("b")).unwrap();
    assert_eq!(test.command(rename), ["b/sub/.git"]);
    assert!(test.at("b/AGENTS.md").exists() && test.at("b/.vscode/x").exists());
    // A copy is new.
    let copy = |test: &WatchTest| {
        fs::create_dir(test.at("c")).unwrap();
        fs::copy(test.at("b/AGENTS.md"), test.at("c/AGENTS.md")).unwrap();
    };
    assert_eq!(test.command(copy), ["c/AGENTS.md"]);
}

#[test]
fn files_that_the_editor_saved_or_the_user_put_back_stay() {
    let test = WatchTest::new(&[]);
    let moved = test.command(|test| {
        test.watch.was_saved(&test.at(".envrc"), Text::new("mine"));
        test.put(".envrc", "mine");
        test.watch.was_saved(&test.at("AGENTS.md"), Text::new("mine"));
        test.put("AGENTS.md", "its");
    });
    assert_eq!(moved, ["AGENTS.md"], "another text than the one that was saved");
    let watching = test.begin(false);
    test.put("a/AGENTS.md", "its");
    let left = watching.finish();
    assert_eq!(test.watch.put_back(&left.moved), []);
    assert!(test.command(|test| test.put("x", "x")).is_empty());
    assert_eq!(fs::read_to_string(test.at("a/AGENTS.md")).unwrap(), "its");
}

#[test]
fn while_the_command_runs_only_files_that_an_editor_uses_at_once_are_moved() {
    let test = WatchTest::new(&[]);
    let watching = test.begin(false);
    for name in ["AGENTS.md", "a/AGENTS.md", "a/.vscode/x"] {
        test.put(name, "x");
    }
    test.repository("b/.git");
    test.put("b/.git/config", "[core]\nfsmonitor = x\n");
    test.repository("c/.git");
    test.watch.shared.lock().scan(ScanMoment::Running, &test.watch.saved);
    let there = |name: &str| test.at(name).exists();
    assert!(!there("AGENTS.md") && !there("b/.git"));
    assert!(there("a/AGENTS.md") && there("a/.vscode") && there("c/.git"));
    let mut moved = test.moved(&watching.finish());
    moved.sort();
    assert_eq!(moved, ["AGENTS.md", "a/.vscode", "a/AGENTS.md", "b/.git", "c/.git"]);
}

#[test]
fn a_folder_that_is_too_deep_to_scan_is_moved_as_a_whole() {
    let test = WatchTest::new(&[]);
    let deep = "d/".repeat(300);
    let moved = test.command(|test| test.put(&format!("{deep}AGENTS.md"), "x"));
    assert_eq!(moved.len(), 1);
    assert!(moved[0].len() < deep.len() && !test.at(&moved[0]).exists(), "{moved:?}");
}

#[test]
fn a_changed_large_control_file_is_moved_and_its_former_text_not_restored() {
    let large = "x".repeat(65 * 1024);
    let test = WatchTest::new(&[("AGENTS.md", &large)]);
    let watching = test.begin(false);
    test.put("AGENTS.md", "its");
    let left = watching.finish();
    assert_eq!(test.moved(&left), ["AGENTS.md"]);
    assert!(
        !test.at("AGENTS.md").exists()
            && matches!(left.entries(shown_path)[0], QuarantineEntry::ChangedFile { .. })
    );
}
