//! Scans of a watch over a folder in which a test does what a command would do.

use std::{fs, os::unix::fs::symlink};

use super::*;

struct Place {
    folder: tempfile::TempDir,
    watch: Arc<Watch>,
}

/// Places of entries that were moved to quarantine, relative to the workspace.
type Moved = Vec<String>;

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let watch = Arc::new(Watch::new(Some(folder.path().join("state"))));
        let place = Self { folder, watch };
        fs::create_dir(place.at("")).unwrap();
        files.iter().for_each(|(name, text)| place.put(name, text));
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("ws").join(name)
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A repository that runs nothing.
    fn repository(&self, name: &str) {
        for (file, text) in [("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n")] {
            self.put(&format!("{name}/{file}"), text);
        }
        fs::create_dir_all(self.at(name).join("objects")).unwrap();
        fs::create_dir_all(self.at(name).join("refs")).unwrap();
    }

    fn begin(&self, granted: bool) -> Watching {
        let (folders, hidden) = ([self.at("")], [self.folder.path().join("state")]);
        let begin = Begin { folders: &folders, home: None, hidden: &hidden, granted };
        let watching = self.watch.begin(&begin).unwrap();
        watching.mounted(None).unwrap();
        watching
    }

    fn moved(&self, left: &LeftBehind) -> Moved {
        let name = |left: &Left| {
            let place = left.place();
            place.strip_prefix(self.at("")).unwrap().display().to_string()
        };
        left.moved.iter().map(name).collect()
    }

    /// Does something as a command without a sandbox.
    fn command(&self, does: impl FnOnce(&Self)) -> Moved {
        let watching = self.begin(false);
        does(self);
        let left = watching.finish();
        assert!(left.failed.is_empty() && !left.incomplete, "{left:?}");
        self.moved(&left)
    }
}

#[test]
fn control_files_that_are_made_are_moved_and_others_stay() {
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
        // Tools unpack foreign files there.
        ("node_modules/x/AGENTS.md", None),
        ("a/target/x/.vscode/tasks.json", None),
        // A folder without the files of a repository is none.
        ("a/HEAD", None),
    ] {
        let place = Place::new(&[]);
        let found = place.command(|place| place.put(name, "x"));
        assert_eq!(found, Vec::from_iter(moved), "{name}");
        assert_eq!(place.at(name).exists(), moved.is_none(), "{name}");
    }
}

#[test]
fn a_changed_control_file_is_moved_and_its_former_text_restored() {
    let place = Place::new(&[("AGENTS.md", "mine"), (".vscode/settings.json", "{}")]);
    let moved = place.command(|place| {
        place.put("AGENTS.md", "its");
        place.put(".vscode/settings.json", "{ }");
        place.put(".vscode/tasks.json", "{}");
    });
    assert_eq!(moved, [".vscode/settings.json", ".vscode/tasks.json", "AGENTS.md"]);
    assert_eq!(fs::read_to_string(place.at("AGENTS.md")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(place.at(".vscode/settings.json")).unwrap(), "{}");
    // The same text in another file does not count: another program may hold it open.
    let moved = place.command(|place| {
        fs::remove_file(place.at("AGENTS.md")).unwrap();
        place.put("AGENTS.md", "mine");
    });
    assert_eq!(moved, ["AGENTS.md"]);
    // A removed file is not restored.
    assert!(place.command(|place| fs::remove_file(place.at("AGENTS.md")).unwrap()).is_empty());
    assert!(!place.at("AGENTS.md").exists());
}

#[test]
fn links_count_as_themselves() {
    let place = Place::new(&[("notes", "x"), ("real/x", "x")]);
    symlink("notes", place.at("CLAUDE.md")).unwrap();
    let moved = place.command(|place| {
        symlink("notes", place.at("AGENTS.md")).unwrap();
        symlink("real", place.at(".vscode")).unwrap();
        symlink("/nowhere", place.at(".envrc")).unwrap();
        symlink("real", place.at("plain")).unwrap();
    });
    assert_eq!(moved, [".envrc", ".vscode", "AGENTS.md"]);
    assert_eq!(fs::read_to_string(place.at("notes")).unwrap(), "x");
    // A link with a new target is restored.
    let moved = place.command(|place| {
        fs::remove_file(place.at("CLAUDE.md")).unwrap();
        symlink("real/x", place.at("CLAUDE.md")).unwrap();
    });
    assert_eq!(moved, ["CLAUDE.md"]);
    assert_eq!(fs::read_link(place.at("CLAUDE.md")).unwrap(), Path::new("notes"));
    // Links are not followed.
    let outside = tempfile::tempdir().unwrap();
    let moved = place.command(|place| {
        symlink(outside.path(), place.at("out")).unwrap();
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
        let place = Place::new(&[]);
        let found = place.command(|place| {
            place.repository(folder);
            place.put(&format!("{folder}/config"), config);
        });
        assert_eq!(found, Vec::from_iter(moved), "{folder}, {config}");
    }
    // A bare repository is recognised by its files.
    let place = Place::new(&[]);
    let moved = place.command(|place| place.repository("bare"));
    assert!(moved.iter().any(|name| name == "bare/HEAD"), "{moved:?}");
    assert!(!place.at("bare/HEAD").exists() && !place.at("bare/config").exists());
}

#[test]
fn pointers_to_repositories_count_and_come_back() {
    let place = Place::new(&[("lib/.git", "gitdir: ../.git/modules/lib\n"), ("lib/x", "x")]);
    place.repository(".git");
    // A new pointer, and the folder of a gitlink that was not fetched.
    fs::create_dir(place.at("missing")).unwrap();
    let moved = place.command(|place| {
        place.put("new/.git", "gitdir: /elsewhere\n");
        place.repository("missing/.git");
    });
    assert_eq!(moved, ["missing/.git", "new/.git"]);
    // A pointer that becomes a repository.
    let moved = place.command(|place| {
        fs::remove_file(place.at("lib/.git")).unwrap();
        place.repository("lib/.git");
    });
    let pointer = || fs::read_to_string(place.at("lib/.git")).unwrap();
    assert_eq!(moved, ["lib/.git"]);
    assert_eq!(pointer(), "gitdir: ../.git/modules/lib\n");
    // Without it the folder would belong to the repository above.
    assert!(place.command(|place| fs::remove_file(place.at("lib/.git")).unwrap()).is_empty());
    assert_eq!(pointer(), "gitdir: ../.git/modules/lib\n");
}

#[test]
fn in_a_granted_repository_settings_and_hooks_count_and_objects_do_not() {
    let place = Place::new(&[]);
    place.repository(".git");
    let watching = place.begin(true);
    place.put(".git/objects/ab/cdef", "x");
    place.put(".git/refs/heads/side", "x");
    place.put(".git/index", "x");
    place.put(".git/config", "[core]\nfsmonitor = x\n");
    place.put(".git/hooks/pre-commit", "x");
    let moved = place.moved(&watching.finish());
    assert_eq!(moved, [".git/config", ".git/hooks"]);
    assert_eq!(fs::read_to_string(place.at(".git/config")).unwrap(), "[core]\n");
}

#[test]
fn a_renamed_folder_keeps_its_control_files_and_a_renamed_repository_does_not() {
    let place = Place::new(&[("a/AGENTS.md", "mine"), ("a/.vscode/x", "x")]);
    place.repository("a/sub/.git");
    let rename = |place: &Place| fs::rename(place.at("a"), place.at("b")).unwrap();
    assert_eq!(place.command(rename), ["b/sub/.git"]);
    assert!(place.at("b/AGENTS.md").exists() && place.at("b/.vscode/x").exists());
    // A copy is new.
    let copy = |place: &Place| {
        fs::create_dir(place.at("c")).unwrap();
        fs::copy(place.at("b/AGENTS.md"), place.at("c/AGENTS.md")).unwrap();
    };
    assert_eq!(place.command(copy), ["c/AGENTS.md"]);
}

#[test]
fn what_the_editor_saved_or_the_user_put_back_stays() {
    let place = Place::new(&[]);
    let moved = place.command(|place| {
        place.watch.was_saved(&place.at(".envrc"), Text::new("mine"));
        place.put(".envrc", "mine");
        place.watch.was_saved(&place.at("AGENTS.md"), Text::new("mine"));
        place.put("AGENTS.md", "its");
    });
    assert_eq!(moved, ["AGENTS.md"], "another text than the one that was saved");
    let watching = place.begin(false);
    place.put("a/AGENTS.md", "its");
    let left = watching.finish();
    assert_eq!(place.watch.put_back(&left.moved), []);
    assert!(place.command(|place| place.put("x", "x")).is_empty());
    assert_eq!(fs::read_to_string(place.at("a/AGENTS.md")).unwrap(), "its");
}

#[test]
fn while_it_runs_only_what_an_editor_would_use_at_once_is_moved() {
    let place = Place::new(&[]);
    let watching = place.begin(false);
    for name in ["AGENTS.md", "a/AGENTS.md", "a/.vscode/x"] {
        place.put(name, "x");
    }
    place.repository("b/.git");
    place.put("b/.git/config", "[core]\nfsmonitor = x\n");
    place.repository("c/.git");
    place.watch.lock().look(Moment::Running, &place.watch);
    let there = |name: &str| place.at(name).exists();
    assert!(!there("AGENTS.md") && !there("b/.git"));
    assert!(there("a/AGENTS.md") && there("a/.vscode") && there("c/.git"));
    let mut moved = place.moved(&watching.finish());
    moved.sort();
    assert_eq!(moved, ["AGENTS.md", "a/.vscode", "a/AGENTS.md", "b/.git", "c/.git"]);
}

#[test]
fn what_lies_too_deep_is_moved_as_a_whole() {
    let place = Place::new(&[]);
    let deep = "d/".repeat(300);
    let moved = place.command(|place| place.put(&format!("{deep}AGENTS.md"), "x"));
    assert_eq!(moved.len(), 1);
    assert!(moved[0].len() < deep.len() && !place.at(&moved[0]).exists(), "{moved:?}");
}

#[test]
fn a_large_former_text_is_not_kept_and_the_change_is_moved_all_the_same() {
    let large = "x".repeat(65 * 1024);
    let place = Place::new(&[("AGENTS.md", &large)]);
    let watching = place.begin(false);
    place.put("AGENTS.md", "its");
    let left = watching.finish();
    assert_eq!(place.moved(&left), ["AGENTS.md"]);
    assert!(
        !place.at("AGENTS.md").exists()
            && left.lines(super::super::shown_path)[0].ends_with("(changed)")
    );
}
