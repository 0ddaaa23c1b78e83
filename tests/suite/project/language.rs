//! Language of the source: counts what docs/development.md asks of names and comments, and allows
//! each count only to fall.

use std::{collections::BTreeMap, fs, path::Path};

/// Doc comments that open with one of [`OPENINGS`].
const MOST_OPENINGS: usize = 0;

/// Names that two public types of different modules share.
const MOST_SHARED_NAMES: usize = 0;

/// Words that begin neither a noun phrase nor a verb.
const OPENINGS: [&str; 29] = [
    "Anybody",
    "Anyone",
    "Anything",
    "Everybody",
    "Everyone",
    "Everything",
    "How",
    "It",
    "Nobody",
    "Nothing",
    "Of",
    "Somebody",
    "Someone",
    "Something",
    "There",
    "They",
    "What",
    "Whatever",
    "When",
    "Whenever",
    "Where",
    "Wherever",
    "Whether",
    "Which",
    "Who",
    "Whoever",
    "Whom",
    "Whose",
    "Why",
];

/// Modules that hold one type each under the same name, of which a system compiles only one.
const PER_SYSTEM: [&str; 2] = ["linux", "none"];

#[test]
fn doc_comments_begin_with_a_noun_phrase_or_a_verb() {
    let mut rooms: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut files = 0;
    for folder in ["daemon", "tests", "vscode-extension/src", "vscode-extension/test"] {
        each_source(&root().join(folder), &mut |path, text| {
            files += 1;
            let path = path.strip_prefix(root()).unwrap();
            let room: Vec<_> = path.iter().take(4).map(|part| part.to_string_lossy()).collect();
            for (number, opening) in openings(text) {
                let line = format!("{}:{number}: {opening}", path.display());
                rooms.entry(room.join("/")).or_default().push(line);
            }
        });
    }
    assert!(files > 300, "looked in the wrong place: {files} files");
    let count = rooms.values().map(Vec::len).sum::<usize>();
    println!("doc comments to be rewritten: {count}");
    for (room, lines) in &rooms {
        println!("{:5} {room}\n      {}", lines.len(), lines.join("\n      "));
    }
    assert!(count == MOST_OPENINGS, "{count} doc comments open with one of {OPENINGS:?}");
}

/// Most words of an entry of the changelog.
const ENTRY_WORDS: usize = 20;

#[test]
fn an_entry_of_the_changelog_is_one_short_line() {
    let text = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let entries: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    assert!(entries.len() > 100, "{} entries", entries.len());
    for entry in entries {
        assert!(entry.split_whitespace().count() <= ENTRY_WORDS, "too long: {entry}");
    }
    let continued: Vec<&str> = text.lines().filter(|line| line.starts_with("  ")).collect();
    assert!(continued.is_empty(), "{continued:#?}");
}

#[test]
fn the_openings_are_found() {
    let text = "/// What it is.\n/// Of which kind.\nstruct A;\n//! Who.\n\n    /// Names.\n\n/** Whether */\n\
                  /**\n * Why.\n */\n/**\n * Names.\n * It.\n */";
    let numbers: Vec<usize> = openings(text).map(|(number, _)| number).collect();
    assert_eq!(numbers, [1, 4, 8, 10]);
    assert_eq!(openings("//! How.").count(), 1);
}

#[test]
fn the_openings_of_paragraphs_are_found() {
    let text = "//! Names.\n//!\n//! There is.\n//! It.\n/// Names.\n///\n/// Of those.\n///\n/// Sizes.\n\
                /**\n * Names.\n *\n * Who.\n * It.\n */";
    let numbers: Vec<usize> = openings(text).map(|(number, _)| number).collect();
    assert_eq!(numbers, [3, 7, 13]);
}

#[test]
fn public_types_of_different_modules_have_different_names() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for of in ["core", "server"] {
        let source = root().join("daemon").join(of).join("src");
        each_source(&source, &mut |path, text| {
            let module = path.strip_prefix(&source).unwrap().with_extension("");
            let name = module.file_name().unwrap().to_string_lossy().into_owned();
            if PER_SYSTEM.contains(&name.as_str()) || name.contains("test") {
                return;
            }
            for line in text.lines().filter(|line| line.trim_start().starts_with("pub")) {
                if let Some(name) = public_type(line.trim_start()) {
                    let place = format!("{of}/{}", module.display());
                    places.entry(name.to_owned()).or_default().push(place);
                }
            }
        });
    }
    assert!(places.len() > 300, "found {} types only", places.len());
    places.retain(|_, places| places.len() > 1);
    for (name, places) in &places {
        println!("{name}: {}", places.join(", "));
    }
    assert!(places.len() == MOST_SHARED_NAMES, "{} names are shared", places.len());
}

/// First lines of doc comments and of their paragraphs, with the number of the line, that open with
/// one of [`OPENINGS`].
fn openings(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut before = "";
    text.lines().enumerate().filter_map(move |(at, line)| {
        let line = line.trim_start();
        let before = std::mem::replace(&mut before, line);
        let is_doc = |line: &str| line.starts_with("///") || line.starts_with("//!");
        let words = match line.strip_prefix("/**") {
            Some(words) => words,
            None if matches!(before.trim_end(), "/**" | "*") => line.strip_prefix('*')?,
            None if is_doc(line) && (!is_doc(before) || before.len() == 3) => &line[3..],
            None => return None,
        };
        let words = words.trim_start();
        let first = words.split(|c: char| !c.is_alphanumeric()).next()?;
        OPENINGS.contains(&first).then_some((at + 1, words))
    })
}

/// The name of the type that a line declares for other modules.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')')?.1,
        None => rest,
    };
    let kinds = ["struct ", "enum ", "trait ", "type "];
    let rest = kinds.iter().find_map(|kind| rest.trim_start().strip_prefix(kind))?;
    rest.split(|c: char| !c.is_alphanumeric()).next()
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn each_source(folder: &Path, visit: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && name != "node_modules" && !name.starts_with('.') {
                each_source(&path, visit);
            }
        } else if [".rs", ".ts", ".mjs"].iter().any(|end| name.ends_with(end)) {
            visit(&path, &fs::read_to_string(&path).unwrap());
        }
    }
}
