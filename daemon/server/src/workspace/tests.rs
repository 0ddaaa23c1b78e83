//! Tests of the path jail with real folders, because it depends on the file system.

use std::{
    collections::BTreeSet,
    fs,
    ops::ControlFlow,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use super::*;

/// `outside/` beside the workspace folder `ws/`.
struct Place {
    dir: tempfile::TempDir,
    workspace: Workspace,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for folder in ["ws/src", "ws-evil", "outside"] {
            fs::create_dir_all(dir.path().join(folder)).expect("a folder");
        }
        fs::write(dir.path().join("ws/src/a.rs"), "a\n").expect("a file");
        fs::write(dir.path().join("ws-evil/x"), "x").expect("a file");
        fs::write(dir.path().join("outside/secret"), "s").expect("a file");
        let workspace = Workspace::new(vec![dir.path().join("ws")]).expect("a workspace");
        Self { dir, workspace }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn link(&self, target: impl AsRef<Path>, at: &str) {
        symlink(target, self.at(at)).expect("a link");
    }

    /// The resolved path, or the kind of the error.
    fn resolved(&self, given: &str) -> String {
        match self.workspace.resolve(given) {
            Ok(path) => path.to_string(),
            Err(error) => {
                let debug = format!("{error:?}");
                debug.split(['(', ' ', '{']).next().unwrap_or_default().to_owned()
            }
        }
    }
}

#[test]
fn paths_are_resolved_inside_the_workspace_or_refused() {
    let place = Place::new();
    place.link(place.at("outside"), "ws/out");
    place.link(place.at("outside/new-file"), "ws/dangling");
    place.link("../src", "ws/src/self");
    place.link("a.rs", "ws/src/inner.rs");
    place.link("loop-b", "ws/loop-a");
    place.link("loop-a", "ws/loop-b");
    place.link(place.at("ws"), "ws/again");
    place.link(".git", "ws/not-git");
    fs::create_dir(place.at("ws/.git")).expect("a folder");
    let inside = place.at("ws/src/a.rs").display().to_string();
    let ws = place.at("ws").display().to_string();

    for (given, expected) in [
        ("src/a.rs", "src/a.rs"),
        ("./src//a.rs", "src/a.rs"),
        ("src/new/deep.rs", "src/new/deep.rs"),
        ("src/../src/a.rs", "src/a.rs"),
        (".", "."),
        (inside.as_str(), "src/a.rs"),
        (ws.as_str(), "."),
        ("a/../../ws/src/a.rs", "src/a.rs"),
        ("src/self/a.rs", "src/a.rs"),
        ("src/inner.rs", "src/a.rs"),
        ("again/again/src/a.rs", "src/a.rs"),
        ("../../etc/passwd", "Outside"),
        ("/etc/passwd", "Outside"),
        ("../ws-evil/x", "Outside"),
        (&format!("{ws}-evil/x"), "Outside"),
        ("out/secret", "Outside"),
        ("out/new", "Outside"),
        ("out/..", "Outside"),
        ("dangling", "Outside"),
        ("missing/../../outside/secret", "Outside"),
        ("loop-a", "Loop"),
        ("loop-a/x", "Loop"),
        ("src/a.rs/x", "NotAFolder"),
        ("src/a.rs/../x", "NotAFolder"),
        (".git/config", "Git"),
        (".GIT/config", "Git"),
        ("src/.git", "Git"),
        ("not-git/config", "Git"),
        (".gitignore", ".gitignore"),
        ("", "Empty"),
        (" ", "Empty"),
        ("a\0b", "ControlCharacter"),
        ("a\nb", "ControlCharacter"),
        ("a\u{202e}b", "ControlCharacter"),
        ("~/.bashrc", "Home"),
        (&"x/".repeat(2500), "TooLong"),
        (&"x".repeat(4000), "Io"),
        (&format!("file://{ws}/src/a.rs"), "src/a.rs"),
        (&format!("file://{ws}/%2e%2e/x"), "Outside"),
        ("file:///ws%00", "NotAPath"),
        ("https://example.org/x", "NotAPath"),
        (&format!("file://{ws}/%ff"), "NotAPath"),
        ("/proc/self/mem", "Outside"),
    ] {
        assert_eq!(place.resolved(given), expected, "{given:.60}");
    }
}

#[test]
fn a_displayed_path_resolves_to_the_same_file() {
    let place = Place::new();
    for (given, shown) in [
        ("./~/x", "./~/x"),
        ("./~", "./~"),
        ("./file:/x", "./file:/x"),
        ("./ ", "\"./ \""),
        ("./ x", "\" x\""),
        ("a:b", "a:b"),
    ] {
        assert_eq!(place.resolved(given), shown);
        assert_eq!(place.resolved(shown), shown);
    }
}

#[test]
fn a_folder_keeps_the_name_the_editor_gave_it() {
    let place = Place::new();
    place.link(place.at("ws"), "alias");
    let workspace = Workspace::new(vec![place.at("alias")]).expect("a workspace");
    for given in ["src/a.rs", &place.at("ws/src/a.rs").display().to_string()] {
        let path = workspace.resolve(given).expect("inside");
        assert_eq!(path.as_path(), place.at("alias/src/a.rs"));
        assert_eq!(path.display(), "src/a.rs");
    }
}

#[test]
fn a_file_of_the_second_folder_is_named_with_its_folder() {
    let place = Place::new();
    let folders = vec![place.at("ws"), place.at("outside")];
    let workspace = Workspace::new(folders).expect("a workspace");
    let secret = place.at("outside/secret").display().to_string();
    let path = workspace.resolve(&secret).expect("inside");
    assert_eq!(path.display(), "outside/secret");
    assert_eq!(path.inside(), Path::new("secret"));
    assert!(workspace.resolve("../ws-evil/x").is_err());
}

#[test]
fn in_several_folders_each_file_has_one_path() {
    let place = Place::new();
    fs::create_dir_all(place.at("ws/nested/src")).expect("a folder");
    place.link(place.at("outside"), "alias");
    place.link(place.at("outside/secret"), "ws/to-secret");
    let folders = ["ws", "ws/nested", "alias"].map(|name| place.at(name));
    let workspace = Workspace::new(folders.to_vec()).expect("a workspace");
    let base = place.dir.path().display();
    for (given, expected) in [
        ("src/a.rs".to_owned(), Some("ws/src/a.rs")),
        ("nested/src/x".to_owned(), Some("ws/nested/src/x")),
        (format!("{base}/ws/nested/src/x"), Some("ws/nested/src/x")),
        // By the name that the editor has for it, however it is given.
        (format!("{base}/alias/secret"), Some("alias/secret")),
        (format!("{base}/outside/secret"), Some("alias/secret")),
        ("to-secret".to_owned(), Some("alias/secret")),
        ("alias/secret".to_owned(), Some("alias/secret")),
        ("../outside/secret".to_owned(), Some("alias/secret")),
        (format!("{base}/ws-evil/x"), None),
        (format!("{base}/alias/../ws-evil/x"), None),
    ] {
        let resolved = workspace.resolve(&given).ok();
        let expected = expected.map(|name| place.at(name));
        assert_eq!(resolved.as_ref().map(WorkspacePath::as_path), expected.as_deref(), "{given}");
        if let Some(path) = resolved {
            let again = workspace.resolve(path.display()).expect("its name leads back");
            assert_eq!(again.as_path(), path.as_path());
            assert_eq!(workspace.read_text(&path).is_ok(), path.as_path().is_file(), "{given}");
        }
    }
}

#[test]
fn another_folder_in_the_place_of_the_workspace_is_not_used() {
    let place = Place::new();
    let path = place.workspace.resolve("src/a.rs").expect("inside");
    fs::rename(place.at("ws"), place.at("was")).expect("moved");
    assert_eq!(place.resolved("src/a.rs"), "Replaced");
    place.link(place.at("outside"), "ws");
    assert_eq!(place.resolved("secret"), "Outside");
    fs::remove_file(place.at("ws")).expect("a link");
    fs::create_dir_all(place.at("ws/src")).expect("a folder");
    fs::write(place.at("ws/src/a.rs"), "other").expect("a file");
    assert_eq!(place.resolved("src/a.rs"), "Replaced");
    assert!(place.workspace.recheck(&path).is_err());
}

#[test]
fn a_file_has_every_name_by_which_links_lead_to_it() {
    let mut place = Place::new();
    fs::create_dir_all(place.at("ws/conf")).expect("a folder");
    place.link("conf", "ws/.vscode");
    place.link(".vscode", "ws/vs");
    place.link("src/notes.md", "ws/AGENTS.md");
    let names = |workspace: &Workspace, given: &str| {
        let path = workspace.resolve(given).expect("inside");
        let names: BTreeSet<String> =
            path.names().iter().map(|name| name.display().to_string()).collect();
        names.into_iter().collect::<Vec<_>>().join(" ")
    };
    for (given, expected) in [
        ("src/a.rs", "src/a.rs"),
        ("conf/x", ".vscode/x conf/x"),
        (".vscode/x", ".vscode/x conf/x"),
        ("vs/x", ".vscode/x conf/x vs/x"),
        ("src/notes.md", "agents.md src/notes.md"),
    ] {
        assert_eq!(names(&place.workspace, given), expected, "{given}");
    }
    // The workspace is the user's own folder.
    place.workspace.home = Some(place.at("ws").canonicalize().expect("it is there"));
    assert_eq!(names(&place.workspace, ".face"), ".face ~/.face");
    // A project below it is none of that.
    place.workspace.home = Some(place.dir.path().canonicalize().expect("it is there"));
    assert_eq!(names(&place.workspace, ".face"), ".face");
}

#[test]
fn endless_ignore_files_are_not_read() {
    let place = Place::new();
    fs::create_dir_all(place.at("ws/trap/deep")).expect("a folder");
    fs::write(place.at("ws/trap/deep/x"), "").expect("a file");
    place.link("/dev/zero", "ws/trap/.gitignore");
    let list = |from: &str| {
        let from = place.workspace.resolve(from).expect("inside");
        let mut names = Vec::new();
        let walked =
            place.workspace.walk(std::slice::from_ref(&from), Hidden::Skip, &|| false, |path| {
                names.push(path.to_string());
                ControlFlow::Continue(())
            });
        (names.join(" "), walked)
    };
    assert_eq!(list("."), ("src/a.rs".to_owned(), Walked::All));
    assert_eq!(list("trap/deep"), (String::new(), Walked::Trapped));
    for name in [".ignore", ".gitignore"] {
        place.link("/dev/zero", &format!("ws/{name}"));
        assert_eq!(list("."), (String::new(), Walked::Trapped), "{name}");
        let a = place.at("ws/src/a.rs");
        assert!(place.workspace.is_ignored(&a), "{name}");
        place.workspace.find_named(&["a.rs"], |_| false, |found| panic!("{name}: {found:?}"));
        fs::remove_file(place.at("ws").join(name)).expect("the link");
        assert!(!place.workspace.is_ignored(&a), "{name}");
    }
    // An archive may hold a pointer to a folder that only looks like a repository.
    fs::create_dir_all(place.at("ws/fake")).expect("a folder");
    fs::write(place.at("ws/.git"), "gitdir: fake\n").expect("a file");
    place.link("/dev/zero", "ws/fake/commondir");
    assert_eq!(list("."), ("src/a.rs".to_owned(), Walked::All));
    place.link("/dev/zero", "ws/fake/info");
    assert_eq!(list("."), ("src/a.rs".to_owned(), Walked::All));
}

#[test]
fn rules_apply_in_the_order_of_their_strength() {
    let place = Place::new();
    let ws = place.at("ws");
    fs::create_dir_all(ws.join("lib/.git/info")).expect("a folder");
    for (name, text) in [
        (".gitignore", "*.log\n!keep.log\n/top\nlib/by-ignore\n"),
        (".ignore", "!weak.log\n"),
        ("lib/.ignore", "!by-ignore\n"),
        ("lib/.gitignore", "\u{feff}own\n!lib.log\n[\n!.shown\n"),
        ("lib/.git/info/exclude", "excluded\n"),
        ("a.log", ""),
        ("keep.log", ""),
        ("weak.log", ""),
        ("top", ""),
        ("lib/top", ""),
        ("lib/own", ""),
        ("lib/lib.log", ""),
        ("lib/excluded", ""),
        ("lib/by-ignore", ""),
        ("lib/.shown", ""),
        ("lib/.hidden", ""),
    ] {
        fs::write(ws.join(name), text).expect("a file");
    }
    let from = place.workspace.resolve(".").expect("inside");
    let mut names = Vec::new();
    place.workspace.walk(std::slice::from_ref(&from), Hidden::Skip, &|| false, |path| {
        names.push(path.to_string());
        ControlFlow::Continue(())
    });
    let expected =
        ["keep.log", "lib/.shown", "lib/by-ignore", "lib/lib.log", "lib/top", "src/a.rs"];
    assert_eq!(names, [&expected[..], &["weak.log"]].concat());
}

#[test]
fn a_name_is_found_with_its_accents_composed_or_not() {
    let place = Place::new();
    fs::create_dir(place.at("ws/u\u{308}ber")).expect("a folder");
    for name in
        ["u\u{308}ber/cafe\u{301}.md", "u\u{308}ber/\u{d55c}.md", "both\u{e9}", "bothe\u{301}"]
    {
        fs::write(place.at("ws").join(name), "").expect("a file");
    }
    let found = |given: &str| place.workspace.resolve(given).expect("inside").to_string();
    for (given, expected) in [
        ("\u{fc}ber/caf\u{e9}.md", "u\u{308}ber/cafe\u{301}.md"),
        ("u\u{308}ber/caf\u{e9}.md", "u\u{308}ber/cafe\u{301}.md"),
        ("\u{fc}ber/\u{1112}\u{1161}\u{11ab}.md", "u\u{308}ber/\u{d55c}.md"),
        ("\u{fc}ber/n\u{e9}w", "u\u{308}ber/n\u{e9}w"),
        ("both\u{e9}", "both\u{e9}"),
        ("bothe\u{301}", "bothe\u{301}"),
    ] {
        assert_eq!(found(given), expected, "{given:?}");
    }
}

#[test]
fn a_link_placed_on_the_path_is_detected() {
    let place = Place::new();
    let path = place.workspace.resolve("src/new.rs").expect("inside");
    assert_eq!(place.workspace.recheck(&path), Ok(()));
    place.link(place.at("outside/secret"), "ws/src/new.rs");
    assert!(place.workspace.recheck(&path).is_err());
}

#[test]
fn only_regular_text_files_are_read() {
    let place = Place::new();
    let read = |name: &str| {
        let path = place.workspace.resolve(name).expect("inside");
        match place.workspace.read_text(&path) {
            Ok(decoded) => format!("{:?} {}", decoded.text.to_string(), decoded.encoding.has_bom()),
            Err(error) => error.to_string(),
        }
    };
    let write = |name: &str, bytes: &[u8]| fs::write(place.at("ws").join(name), bytes).expect(name);
    write("bom", b"\xef\xbb\xbfa\r\n");
    write("latin1", b"caf\xe9");
    write("utf16", b"\xff\xfea\0");
    write("nul", b"a\0b");
    fs::File::create(place.at("ws/huge")).expect("a file").set_len(1 << 30).expect("sparse");
    rustix::fs::mkfifoat(rustix::fs::CWD, place.at("ws/pipe"), 0o600.into()).expect("a pipe");
    let _socket = std::os::unix::net::UnixListener::bind(place.at("ws/socket")).expect("a socket");

    for (name, expected) in [
        ("src/a.rs", r#""a\n" false"#),
        ("bom", r#""a\r\n" true"#),
        ("missing", "`missing` does not exist."),
        ("src", "`src` is a folder, not a regular file."),
        ("pipe", "`pipe` is a named pipe, not a regular file."),
        ("socket", "`socket` is a socket, not a regular file."),
        (
            "latin1",
            "`latin1` cannot be used as text: the file is not valid UTF-8 at byte offset 3, and no \
             other encoding is certain. Opened in the editor, in its encoding, it can be used",
        ),
        ("utf16", r#""a" true"#),
        ("nul", "`nul` cannot be used as text: the file is binary: it has a NUL byte at offset 1"),
    ] {
        assert_eq!(read(name), expected);
    }
    assert!(read("huge").starts_with("`huge` has 1073741824 bytes; files over 10 MiB"));
}

#[test]
fn the_walk_lists_unignored_files_in_order() {
    let place = Place::new();
    for (name, text) in [
        (".gitignore", "target/\n*.log\n"),
        ("target/out", ""),
        ("b.log", ""),
        (".github/ci.yml", ""),
        (".git/config", ""),
        ("src/b.rs", ""),
        ("lib/.gitignore", "x\n"),
        ("lib/x", ""),
        ("lib/y", ""),
    ] {
        let path = place.at("ws").join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    place.link("/", "ws/everything");
    place.link(place.at("outside/secret"), "ws/secret");
    let list = |from: &str, hidden| {
        let from = place.workspace.resolve(from).expect("inside");
        let mut names = Vec::new();
        let walked = place.workspace.walk(std::slice::from_ref(&from), hidden, &|| false, |path| {
            names.push(path.to_string());
            ControlFlow::Continue(())
        });
        assert_eq!(walked, Walked::All);
        names.join(" ")
    };
    assert_eq!(list(".", Hidden::Skip), "lib/y src/a.rs src/b.rs");
    assert_eq!(list("src", Hidden::Skip), "src/a.rs src/b.rs");
    assert_eq!(
        list(".", Hidden::Include),
        ".github/ci.yml .gitignore lib/.gitignore lib/y src/a.rs src/b.rs"
    );
    assert_eq!(list("target", Hidden::Skip), "target/out");
}

#[test]
fn similar_names_are_suggested() {
    let place = Place::new();
    fs::create_dir_all(place.at("ws/lib")).expect("a folder");
    for name in ["src/cart.mjs", "lib/cart.mjs", "lib/carts.mjs", "lib/other.mjs"] {
        fs::write(place.at("ws").join(name), "").expect("a file");
    }
    let missing = place.workspace.resolve("cart.mjs").expect("inside");
    let names: BTreeSet<String> =
        place.workspace.similar_to(&missing).iter().map(ToString::to_string).collect();
    let expected = ["lib/cart.mjs", "lib/carts.mjs", "src/cart.mjs"].map(str::to_owned);
    assert_eq!(names, BTreeSet::from(expected));
}
