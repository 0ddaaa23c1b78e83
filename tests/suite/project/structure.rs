//! Structure of the server: which module may import which, circles of imports, sizes of files.
//!
//! Each limit may only fall. The tests print their counts, also when they pass: run them with
//! `--nocapture`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Modules of the server from the bottom to the top, with all that each may import.
const MODULES: &[(&str, &[&str])] = &[
    ("clock", &[]),
    ("shortened", &[]),
    ("hardening", &[]),
    ("images", &[]),
    ("secrets", &[]),
    ("signals", &[]),
    ("small_file", &[]),
    ("watchdog", &[]),
    ("workspace", &["small_file"]),
    ("event", &["workspace"]),
    ("exec", &["small_file", "workspace"]),
    ("docs", &[]),
    ("cli", &["exec"]),
    ("telemetry", &["secrets"]),
    ("approval", &["exec", "workspace"]),
    ("store", &["clock", "secrets", "shortened"]),
    ("environment", &["exec", "store"]),
    ("model", &["environment", "secrets"]),
    ("config", &["exec", "model"]),
    ("ports", &["workspace"]),
    ("disk", &["ports", "workspace"]),
    ("hooks", &["exec", "ports"]),
    ("processes", &["clock", "exec"]),
    ("instructions", &["docs", "small_file", "store", "workspace"]),
    ("orientation", &["exec", "small_file", "workspace"]),
    ("services", &["approval", "docs", "instructions", "ports", "processes", "workspace"]),
    (
        "tools",
        &[
            "approval",
            "clock",
            "docs",
            "exec",
            "hooks",
            "images",
            "instructions",
            "ports",
            "processes",
            "store",
            "workspace",
        ],
    ),
    (
        "runner",
        &[
            "approval",
            "clock",
            "exec",
            "hooks",
            "instructions",
            "model",
            "ports",
            "processes",
            "secrets",
            "tools",
            "workspace",
        ],
    ),
    (
        "review",
        &["config", "docs", "event", "exec", "ports", "secrets", "services", "store", "workspace"],
    ),
    (
        "session",
        &[
            "approval",
            "clock",
            "config",
            "docs",
            "environment",
            "event",
            "exec",
            "hooks",
            "images",
            "instructions",
            "model",
            "orientation",
            "ports",
            "processes",
            "review",
            "runner",
            "secrets",
            "services",
            "shortened",
            "store",
            "tools",
            "workspace",
        ],
    ),
    (
        "hub",
        &[
            "environment",
            "event",
            "exec",
            "ports",
            "review",
            "secrets",
            "services",
            "session",
            "workspace",
        ],
    ),
    ("lsp", &["config", "disk", "event", "ports", "secrets", "workspace"]),
    (
        "headless",
        &[
            "cli",
            "config",
            "disk",
            "environment",
            "event",
            "exec",
            "hub",
            "model",
            "ports",
            "secrets",
            "signals",
            "small_file",
            "workspace",
        ],
    ),
];

/// Files in the largest circle of imports, by module. No other module has a circle.
const LARGEST_CIRCLES: &[(&str, usize)] = &[];

/// Fields of the types that own the state of the engine.
const FIELDS: &[(&str, &str, usize)] = &[
    ("hub.rs", "Hub", 4),
    ("hub/components.rs", "Components", 2),
    ("session.rs", "Sessions", 15),
    ("review.rs", "Reviews", 10),
];

/// Largest file of the repository, in bytes: the recording in the README.
const MOST_BYTES: u64 = 400_000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Imports of one file: the modules it names in `use` declarations and in paths. The surface that a
/// module makes of its own submodules by `pub use` is no import.
struct Source {
    /// Below the folder of sources.
    path: String,
    module: Vec<String>,
    text: String,
}

fn sources() -> Vec<Source> {
    let folder = root().join("daemon/server/src");
    let mut sources = Vec::new();
    each_file(&folder, &mut |path, text| {
        let path = path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
        let name = path.strip_suffix(".rs").unwrap();
        let is_test = name.split('/').any(|part| part == "tests" || part == "testing");
        if !is_test && name != "lib" && name != "main" {
            let module = name.split('/').map(str::to_owned).collect();
            sources.push(Source { path: path.clone(), module, text: shipped(text) });
        }
    });
    assert!(sources.len() > 100, "looked in the wrong place");
    sources
}

/// Source text without comments and without the tests at its end.
pub(super) fn shipped(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Single paths of the tree of a `use` declaration.
fn expand(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((prefix, rest)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let body = rest.trim_end().strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut part, mut parts) = (0, String::new(), Vec::new());
    for char in body.chars().chain([',']) {
        match char {
            ',' if depth == 0 => parts.push(std::mem::take(&mut part)),
            _ => {
                depth += i32::from(char == '{') - i32::from(char == '}');
                part.push(char);
            }
        }
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| expand(part)).map(|part| format!("{prefix}{part}")).collect()
}

impl Source {
    fn submodules(&self) -> BTreeSet<&str> {
        self.text
            .lines()
            .filter_map(|line| line.trim().strip_suffix(';')?.rsplit_once("mod "))
            .filter(|(before, _)| before.is_empty() || before.starts_with("pub"))
            .map(|(_, name)| name)
            .collect()
    }

    fn paths(&self) -> Vec<String> {
        let submodules = self.submodules();
        let mut paths = Vec::new();
        let (mut rest, mut before) = (self.text.as_str(), String::new());
        while let Some(at) = find_word(rest, "use ") {
            before.push_str(&rest[..at]);
            let declaration = &rest[at + "use ".len()..];
            let end = declaration.find(';').unwrap_or(declaration.len());
            let line = rest[..at].rsplit('\n').next().unwrap_or_default();
            let of_own = |path: &str| {
                let path = path.strip_prefix("self::").unwrap_or(path);
                submodules.contains(path.split("::").next().unwrap_or_default())
            };
            let expanded = expand(&declaration[..end]);
            paths.extend(
                expanded
                    .into_iter()
                    .filter(|path| !(line.trim_start().starts_with("pub") && of_own(path)))
                    .map(|path| match of_own(&path) && !path.starts_with("self::") {
                        true => format!("self::{path}"),
                        false => path,
                    }),
            );
            rest = &declaration[end..];
        }
        before.push_str(rest);
        for start in ["crate::", "super::"] {
            for (at, _) in before.match_indices(start) {
                let path = &before[at..];
                let end = path.find(|char: char| !(char.is_alphanumeric() || "_:".contains(char)));
                paths.push(path[..end.unwrap_or(path.len())].trim_end_matches(':').to_owned());
            }
        }
        paths
    }

    /// Files that it imports.
    fn imports<'a>(&self, files: &'a BTreeMap<Vec<String>, String>) -> BTreeSet<&'a str> {
        let mut imports = BTreeSet::new();
        for path in self.paths() {
            let mut module = self.module.clone();
            let mut segments = path.split("::").peekable();
            match segments.peek() {
                Some(&"crate") => module.clear(),
                Some(&"self") => {}
                Some(&"super") => {
                    while segments.next_if_eq(&"super").is_some() {
                        module.pop();
                    }
                }
                _ => continue,
            }
            if matches!(segments.peek(), Some(&"crate" | &"self")) {
                segments.next();
            }
            for segment in segments {
                module.push(segment.to_owned());
                if !files.contains_key(&module) {
                    module.pop();
                    break;
                }
            }
            imports
                .extend(files.get(&module).map(String::as_str).filter(|file| *file != self.path));
        }
        imports
    }
}

/// Position of a word that begins after a space or at the start of a line.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let mut found = text.match_indices(word).map(|(at, _)| at);
    found.find(|at| text[..*at].chars().next_back().is_none_or(char::is_whitespace))
}

pub(super) type Graph<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Files that import each other, directly or not. Largest first.
pub(super) fn circles<'a>(graph: &Graph<'a>) -> Vec<BTreeSet<&'a str>> {
    let reach = |from: &'a str| {
        let (mut seen, mut todo) = (BTreeSet::new(), vec![from]);
        while let Some(file) = todo.pop() {
            for next in graph.get(file).into_iter().flatten() {
                if seen.insert(*next) {
                    todo.push(next);
                }
            }
        }
        seen
    };
    let reaches: Graph<'a> = graph.keys().map(|file| (*file, reach(file))).collect();
    let both =
        |one: &str, other: &str| reaches[one].contains(other) && reaches[other].contains(one);
    let circle = |file: &&'a str| -> BTreeSet<&'a str> {
        graph.keys().copied().filter(|other| both(file, other)).collect()
    };
    let found: BTreeSet<_> = graph.keys().map(circle).filter(|circle| circle.len() > 1).collect();
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    found
}

fn room(path: &str) -> &str {
    let first = path.split('/').next().unwrap_or_default();
    first.strip_suffix(".rs").unwrap_or(first)
}

#[test]
fn modules_import_only_what_the_table_allows() {
    let known: BTreeSet<&str> = MODULES.iter().map(|(name, _)| *name).collect();
    let mut below = BTreeSet::new();
    for (name, allowed) in MODULES {
        let up: Vec<_> = allowed.iter().filter(|it| !below.contains(*it)).collect();
        assert!(up.is_empty(), "{name} would import from above: {up:?}");
        below.insert(*name);
    }
    let sources = sources();
    let files = sources.iter().map(|it| (it.module.clone(), it.path.clone())).collect();
    let (mut refused, mut arrows, mut used) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for source in &sources {
        let from = room(&source.path);
        assert!(known.contains(from), "{from} is not in the table");
        for import in source.imports(&files) {
            let to = room(import);
            if from == to {
                continue;
            }
            arrows.insert((from, to.to_owned()));
            let allowed =
                MODULES.iter().any(|(name, allowed)| *name == from && allowed.contains(&to));
            if allowed {
                used.insert((from, to.to_owned()));
            } else {
                refused.push(format!("{} imports {import}", source.path));
            }
        }
    }
    println!("arrows between modules of the server: {}, arrows up: 0", arrows.len());
    assert!(refused.is_empty(), "{refused:#?}");
    for (name, allowed) in MODULES {
        for to in *allowed {
            let is_used = used.contains(&(*name, (*to).to_owned()));
            assert!(is_used, "{name} does not import {to} any more: take it out of the table");
        }
    }
}

#[test]
fn circles_of_imports_only_become_smaller() {
    let sources = sources();
    let files = sources.iter().map(|it| (it.module.clone(), it.path.clone())).collect();
    let graph = sources.iter().map(|it| (it.path.as_str(), it.imports(&files))).collect();
    let circles = circles(&graph);
    for circle in &circles {
        println!("circle of {}: {circle:?}", circle.len());
    }
    for circle in &circles {
        let module = room(circle.first().unwrap());
        let limit = LARGEST_CIRCLES.iter().find(|(name, _)| *name == module);
        let limit = limit.map_or(1, |(_, limit)| *limit);
        assert!(circle.len() <= limit, "{module}: {} files, at most {limit}", circle.len());
    }
}

#[test]
fn owners_of_state_do_not_grow() {
    for (file, name, limit) in FIELDS {
        let text = fs::read_to_string(root().join("daemon/server/src").join(file)).unwrap();
        let start = text.find(&format!("struct {name} {{")).expect("the type stands there");
        let body = &text[start..start + text[start..].find("\n}").unwrap()];
        let is_field = |line: &&str| {
            let line = line.trim_start();
            !line.starts_with("//") && line.contains(": ") && line.ends_with(',')
        };
        let fields = body.lines().skip(1).filter(is_field).count();
        println!("fields of {name}: {fields}");
        assert!(fields > 0 && fields <= *limit, "{name} has {fields} fields, at most {limit}");
    }
}

/// Downloads and builds belong elsewhere. A folder without git has nothing that is tracked.
#[test]
fn no_large_file_is_tracked() {
    let root = root();
    if !root.join(".git").exists() {
        eprintln!("NOT CHECKED: this folder is no git checkout.");
        return;
    }
    #[expect(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(&root).output().unwrap();
    assert!(listed.status.success(), "{listed:?}");
    let names = String::from_utf8(listed.stdout).unwrap();
    // A file that was just deleted is still listed.
    let size = |name: &str| fs::metadata(root.join(name)).map_or(0, |it| it.len());
    let files: Vec<&str> = names.split_terminator('\0').collect();
    assert!(files.len() > 500, "{} files", files.len());
    let large: Vec<_> = files.iter().filter(|name| size(name) > MOST_BYTES).collect();
    assert!(large.is_empty(), "more than {MOST_BYTES} bytes: {large:?}");
}

fn each_file(folder: &Path, visit: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("target") && !path.ends_with("node_modules") {
                each_file(&path, visit);
            }
        } else if path.extension().is_some_and(|it| it == "rs" || it == "ts") {
            visit(&path, &fs::read_to_string(&path).unwrap());
        }
    }
}
