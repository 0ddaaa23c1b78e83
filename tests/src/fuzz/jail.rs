//! The path jail: where a given path leads, in a folder full of traps.

use std::{
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Component, Path, PathBuf},
};

use cairn::workspace::{ReadError, Workspace, WorkspacePath};
use cairn_core::policy::is_protected;
use tempfile::TempDir;

use super::bytes::Bytes;

/// Text of every file outside and of no file inside.
const SECRET: &str = "a secret of the user";

/// Names that lead somewhere, and those that must not.
const NAMES: &[&str] = &[
    "..",
    ".",
    "",
    "src",
    "a.rs",
    "new",
    "out",
    "up",
    "self",
    "loop-a",
    "loop-b",
    "dangling",
    "far",
    "inner.rs",
    "again",
    "pipe",
    "not-git",
    ".git",
    ".GIT",
    ".Git",
    "git~1",
    ".gitignore",
    "sub",
    ".vscode",
    ".VSCode",
    "tasks.json",
    ".env",
    "package.json",
    "PACKAGE.JSON",
    "Cargo.toml",
    "chain-0",
    "chain-9",
    "~",
    " ",
    "file:",
    "a:",
    "%2e%2e",
    "%2F",
    "x y",
    "\u{202e}",
    "é",
    "ſ",
    "secret",
    "ws",
    "ws-evil",
    "outside",
    "proc",
    "etc",
    "nul",
    "a\u{301}",
    ".cargo",
    ".ssh",
];

pub(super) fn run(input: &[u8]) {
    // Dropped with its thread: the folder goes when the tests go.
    thread_local!(static PLACE: Place = Place::new());
    PLACE.with(|place| place.check(&place.path(input)));
}

struct Place {
    dir: TempDir,
    workspace: Workspace,
    /// Without links, as the file system says it.
    root: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for folder in ["ws/src/sub", "ws/.vscode", "ws-evil", "outside/git", "repository/.git"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for (file, text) in [
            ("ws/src/a.rs", "fn a() {}\n"),
            ("ws/.gitignore", "target\n"),
            ("ws/package.json", "{}\n"),
            ("ws/.vscode/tasks.json", "{}\n"),
            ("ws/.git", "gitdir: ../repository/.git\n"),
            ("ws-evil/secret", SECRET),
            ("outside/secret", SECRET),
            ("repository/.git/config", SECRET),
        ] {
            fs::write(at(file), text).unwrap();
        }
        for (link, target) in [
            ("ws/out", at("outside")),
            ("ws/up", "..".into()),
            ("ws/dangling", at("outside/new-file")),
            ("ws/far", "/".into()),
            ("ws/not-git", ".git".into()),
            ("ws/again", at("ws")),
            ("ws/loop-a", "loop-b".into()),
            ("ws/loop-b", "loop-a".into()),
            ("ws/src/self", "../src".into()),
            ("ws/src/inner.rs", "a.rs".into()),
            ("ws/src/evil", "../../ws-evil/./../ws-evil".into()),
            ("ws/src/proc", "/proc/self/root".into()),
            ("ws/src/new", "missing/../sub/missing".into()),
            ("ws/src/sub/tasks.json", "../../.vscode/tasks.json".into()),
        ] {
            symlink(target, at(link)).unwrap();
        }
        for n in 0..60 {
            symlink(format!("chain-{}", n + 1), at(&format!("ws/chain-{n}"))).unwrap();
        }
        rustix::fs::mkfifoat(rustix::fs::CWD, at("ws/pipe"), 0o600.into()).unwrap();
        let workspace = Workspace::new(vec![at("ws")]).unwrap();
        let root = fs::canonicalize(at("ws")).unwrap();
        Self { dir, workspace, root }
    }

    /// Either names of the list in any order, or the bytes themselves, in which `<` stands for the
    /// workspace and `>` for the folder beside it.
    fn path(&self, input: &[u8]) -> String {
        let mut choices = Bytes::new(input);
        let form = choices.below(8);
        let text = match form {
            0..4 => {
                let mut names = Vec::new();
                while !choices.is_empty() && names.len() < 40 {
                    names.push(choices.one_of(NAMES));
                }
                names.join("/")
            }
            _ => String::from_utf8_lossy(choices.rest()).into_owned(),
        };
        let dir = self.dir.path().to_str().unwrap();
        let text = text.replace('<', &format!("{dir}/ws")).replace('>', &format!("{dir}/outside"));
        match form {
            1 => format!("{dir}/ws/{text}"),
            2 => format!("file://{dir}/ws/{text}"),
            3 => format!("{}/{text}", dir.trim_start_matches('/')),
            _ => text,
        }
    }

    fn check(&self, given: &str) {
        let Ok(path) = self.workspace.resolve(given) else { return };
        self.check_inside(given, &path);
        self.check_again(given, &path);
        match self.workspace.read_text(&path) {
            Ok(decoded) => assert!(!decoded.text.to_string().contains(SECRET), "read {given:?}"),
            Err(ReadError::Io { error, .. }) => {
                // What was resolved has no links, and nothing changes here.
                let link = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
                assert!(!link, "{given:?} leads to a link");
            }
            Err(_) => {}
        }
        assert_eq!(self.workspace.recheck(&path), Ok(()), "{given:?}");
        let inside = path.inside().to_string_lossy();
        for other in [inside.to_ascii_uppercase(), inside.to_ascii_lowercase()] {
            let (one, two) = (is_protected(path.inside()), is_protected(Path::new(&other)));
            assert_eq!(one, two, "{inside:?} or {other:?} is protected");
        }
    }

    fn check_inside(&self, given: &str, path: &WorkspacePath) {
        let absolute = path.as_path();
        let inside = absolute.strip_prefix(self.workspace.root()).expect("inside by its name");
        assert_eq!(inside, path.inside(), "{given:?}");
        for component in inside.components() {
            let Component::Normal(name) = component else {
                panic!("{given:?} leads to {absolute:?}");
            };
            assert!(!name.eq_ignore_ascii_case(".git"), "{given:?} leads to {absolute:?}");
            assert!(!name.as_bytes().iter().any(u8::is_ascii_control), "{given:?}: {name:?}");
        }
        // As the file system sees it, as far as there is something.
        let there = absolute.ancestors().find_map(|path| fs::canonicalize(path).ok());
        let there = there.expect("the root is there");
        assert!(there.starts_with(&self.root), "{given:?} leads to {there:?}");
        if let Ok(exactly) = fs::canonicalize(absolute) {
            assert_eq!(exactly, self.root.join(path.inside()), "{given:?} has links on its way");
        }
        // Opening it for writing would follow a link that dangles.
        for part in absolute.ancestors().take_while(|part| *part != self.workspace.root()) {
            let link = fs::symlink_metadata(part).is_ok_and(|meta| meta.is_symlink());
            assert!(!link, "{given:?} leads through the link {part:?}");
        }
    }

    /// The same place by other spellings, and by its own names.
    fn check_again(&self, given: &str, path: &WorkspacePath) {
        let same = |spelling: &str| {
            // Longer than any path.
            if spelling.len() > 4096 {
                return;
            }
            let again = self.workspace.resolve(spelling);
            let again = again.map(|again| again.as_path().to_owned());
            assert_eq!(again.as_deref(), Ok(path.as_path()), "{given:?}, then {spelling:?}");
        };
        same(given);
        same(path.as_path().to_str().expect("a path is text"));
        same(path.display());
        same(&path.uri());
        let relative = !given.starts_with(['/', '~']) && !given.contains(':');
        if relative {
            for before in ["./", "src/../", "missing/../", "./src//sub/.././../"] {
                same(&format!("{before}{given}"));
            }
            same(&given.replace('/', "//"));
            same(&given.replace('/', "/./"));
        }
    }
}
