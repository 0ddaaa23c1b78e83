use std::fs;

use super::*;

/// A workspace of these folders below one; `old` and `new` have the same last name.
struct Place {
    dir: tempfile::TempDir,
    workspace: Workspace,
}

impl Place {
    fn new(folders: &[(&str, Option<&str>)], files: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folders = folders.iter().map(|(path, name)| {
            let path = dir.path().join(path);
            fs::create_dir_all(&path).unwrap();
            OpenFolder { path, name: name.map(str::to_owned) }
        });
        let workspace = Workspace::open_folders(folders.collect()).unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        Self { dir, workspace }
    }

    fn check(&self, cases: &[(&str, &str)]) {
        let top = format!("{}/", self.dir.path().display());
        for (given, expected) in cases {
            let shown = match self.workspace.resolve(given) {
                Ok(path) => {
                    let again = self.workspace.resolve(path.display());
                    assert_eq!(again.as_ref(), Ok(&path), "{path} leads to the file again");
                    format!("{} as {path}", path.as_path().display())
                }
                Err(error) => error.to_string(),
            };
            assert_eq!(shown.replace(&top, ""), *expected, "{given}");
        }
    }
}

#[test]
fn a_path_means_one_file_or_the_error_names_all() {
    let files = ["api/src/a.rs", "web/src/a.rs", "web/src/b.rs", "web/api/c.rs", "web/lib/d.rs"];
    let place = Place::new(&[("api", None), ("web", None)], &files);
    place.check(&[
        ("api/src/a.rs", "api/src/a.rs as api/src/a.rs"),
        ("./web/src/a.rs", "web/src/a.rs as web/src/a.rs"),
        ("web", "web as web"),
        ("src/b.rs", "web/src/b.rs as web/src/b.rs"),
        ("../web/src/a.rs", "web/src/a.rs as web/src/a.rs"),
        // In the folder where its parent is.
        ("lib/new.rs", "web/lib/new.rs as web/lib/new.rs"),
        // The name of a folder is read first.
        ("api/c.rs", "api/c.rs as api/c.rs"),
        ("src/a.rs", "`src/a.rs` exists in several folders of the workspace: `api/src/a.rs`, `web/src/a.rs`. Give one of these."),
        ("src/new.rs", "`src/new.rs` exists in none of the workspace's folders and fits several: `api/src/new.rs`, `web/src/new.rs`. Give one of these."),
        ("deep/er/new.rs", "`deep/er/new.rs` exists in none of the workspace's folders and fits several: `api/deep/er/new.rs`, `web/deep/er/new.rs`. Give one of these."),
        ("../x", "`../x` is outside the workspace. Only files below the workspace folder can be used; a command can read others."),
    ]);
}

#[test]
fn folders_of_one_name_are_told_apart() {
    let place = Place::new(
        &[("old/src", Some("src")), ("new/src", Some("src")), ("web", Some("Web site"))],
        &["old/src/a", "new/src/a", "new/src/b", "web/c"],
    );
    let top = place.dir.path().display();
    place.check(&[
        ("b", &format!("new/src/b as {top}/new/src/b").replace(&format!("{top}/"), "")),
        ("src/b", "new/src/b as new/src/b"),
        ("src/a", "`src/a` exists in several folders of the workspace: `new/src/a`, `old/src/a`. Give one of these."),
        ("Web site/c", "web/c as Web site/c"),
        ("web/c", "web/c as Web site/c"),
    ]);
    assert_eq!(
        place.workspace.folder_names(),
        [format!("{top}/old/src"), format!("{top}/new/src"), "Web site".to_owned()]
    );
}

#[test]
fn a_search_visits_the_files_of_nested_folders_once() {
    let place = Place::new(&[("top/sub", None), ("top", None)], &["top/a", "top/sub/b"]);
    let roots = place.workspace.roots();
    assert_eq!(roots.iter().map(WorkspacePath::display).collect::<Vec<_>>(), ["top"]);
    place.check(&[("a", "top/a as top/a"), ("b", "top/sub/b as sub/b")]);
}

#[test]
fn a_name_that_reads_as_something_else_is_not_used() {
    for name in ["", ".", "..", "a/b", "~", "~me", "\"a\"", " a", "file:", "a\nb"] {
        let folder = OpenFolder { path: "/w/code".into(), name: Some(name.to_owned()) };
        let other = OpenFolder { path: "/w/other".into(), name: None };
        assert_eq!(names(&[folder, other])[0].as_deref(), Some("code"), "{name:?}");
    }
}
