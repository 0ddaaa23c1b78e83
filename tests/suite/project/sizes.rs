//! Measures of the code that a commit raises only with a reason: lines of each room, functions over
//! [`LONG`] lines, circles of method calls, methods of the owners of state, and phrases that
//! obscure a sentence.
//!
//! The measures are in `sizes.txt`, rounded up. `UPDATE_EXPECT=1` writes it anew; the body of a commit that raises a
//! number says what it removed instead, or why it removed nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
};

use expect_test::expect_file;

use super::structure::{Graph, circles, shipped};

/// Longest function that is not counted.
const LONG: usize = 60;

/// Lines are rounded up to a multiple of this.
const STEP: usize = 50;

/// Types whose methods are counted, with their folder.
const OWNERS: [(&str, &str); 2] = [("Sessions", "session"), ("Reviews", "review")];

/// Phrases that obscure a sentence, or replace a usual word.
const PHRASES: [&str; 26] = [
    "also if",
    "anew",
    "any more",
    "of its own",
    "of their own",
    "is there",
    "are there",
    "go on",
    "goes on",
    "went on",
    "tell of",
    "told of",
    "say so",
    "says so",
    "that is so",
    "by itself",
    "in words",
    "meanwhile",
    "beside",
    "the one that",
    "the ones that",
    "that which",
    "counts as",
    "count as",
    "too many",
    "perhaps",
];

struct File {
    /// Below the root of the repository.
    path: String,
    text: String,
}

impl File {
    /// Crate and module of a Rust file, or folder of a TypeScript file.
    fn room(&self) -> String {
        let parts: Vec<&str> = self.path.split('/').collect();
        let names = match parts[0] {
            "daemon" => [parts[1], parts[3]],
            _ => ["extension", if parts[1] == "src" { parts[2] } else { parts[1] }],
        };
        let name = names[1].split('.').next().unwrap_or_default();
        format!("{}/{name}", names[0])
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Lines of the product: neither blank, nor comments, nor tests.
    fn lines(&self) -> usize {
        self.code().lines().filter(|line| !line.trim().is_empty()).count()
    }

    fn code(&self) -> String {
        if self.is_rust() {
            return shipped(&self.text);
        }
        let mut in_comment = false;
        let is_code = |line: &&str| {
            let text = line.trim_start();
            let is_comment = in_comment || text.starts_with("/*") || text.starts_with("//");
            in_comment = (in_comment || text.starts_with("/*")) && !text.contains("*/");
            !is_comment
        };
        self.text.lines().filter(is_code).collect::<Vec<_>>().join("\n")
    }

    /// Lines of each function: to the next line that closes at the indentation of its first one.
    fn functions(&self) -> Vec<usize> {
        let code = self.code();
        let lines: Vec<&str> = code.lines().collect();
        let indent = |line: &str| line.len() - line.trim_start().len();
        let begins = |line: &str| {
            let words = line.trim_start();
            let words = words
                .strip_prefix("pub(")
                .and_then(|it| it.split_once(") "))
                .map_or(words, |it| it.1);
            let words = words.split(['(', ':']).next().unwrap_or_default();
            words.split_whitespace().any(|word| word == "fn" || word == "function")
        };
        let length = |at: usize| {
            let same = |line: &&&str| indent(line) == indent(lines[at]);
            let body = lines[at..].iter().position(|line| line.ends_with('{'));
            let declared = lines[at..].iter().position(|line| line.ends_with(';'));
            let is_declaration = declared.is_some_and(|end| body.is_none_or(|body| end < body));
            let closes = |line: &&&str| same(line) && line.trim_start().starts_with('}');
            let end = lines[at..].iter().position(|line| closes(&line));
            end.filter(|_| !is_declaration).map_or(0, |end| end + 1)
        };
        (0..lines.len()).filter(|&at| begins(lines[at])).map(length).collect()
    }
}

/// Files of the product.
fn files() -> Vec<File> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let mut files = Vec::new();
    for folder in ["core", "protocol", "server"].map(|it| format!("daemon/{it}/src")) {
        collect(root, &root.join(folder), &mut files);
    }
    for folder in ["src", "webview"] {
        collect(root, &root.join("vscode-extension").join(folder), &mut files);
    }
    assert!(files.len() > 400, "{} files", files.len());
    files
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<File>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" && name != "test" {
            collect(root, &path, files);
        } else if (name.ends_with(".rs") || name.ends_with(".ts") || name.ends_with(".tsx"))
            && !name.ends_with("tests.rs")
            && name != "testing.rs"
        {
            let text = fs::read_to_string(&path).unwrap();
            if !text.starts_with("// Generated") {
                let path = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                files.push(File { path, text });
            }
        }
    }
}

fn rounded(lines: usize) -> usize {
    lines.div_ceil(STEP) * STEP
}

/// Largest circle of the files of a room by calls of `self`'s methods, and number of its files.
fn call_circle(files: &[&File]) -> usize {
    let codes: Vec<String> = files.iter().map(|file| file.code()).collect();
    let mut owners: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (index, code) in codes.iter().enumerate() {
        for (at, _) in code.match_indices("fn ") {
            owners.entry(identifier(&code[at + 3..])).or_default().insert(index);
        }
    }
    let mut graph: Graph<'_> =
        files.iter().map(|file| (file.path.as_str(), BTreeSet::new())).collect();
    for (file, code) in files.iter().zip(&codes) {
        for (at, _) in code.match_indices("self.") {
            let name = identifier(&code[at + 5..]);
            let is_call = code[at + 5 + name.len()..].starts_with('(');
            let owner = owners.get(name).filter(|owners| is_call && owners.len() == 1);
            if let Some(owner) = owner.and_then(|owners| owners.first())
                && files[*owner].path != file.path
            {
                graph.entry(&file.path).or_default().insert(&files[*owner].path);
            }
        }
    }
    circles(&graph).first().map_or(0, BTreeSet::len)
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    &text[..end]
}

/// Methods of a type in all `impl` blocks of a room.
fn methods(files: &[&File], owner: &str) -> usize {
    let mut count = 0;
    for code in files.iter().map(|file| file.code()) {
        for block in code.split(&format!("\nimpl {owner} {{")).skip(1) {
            let block = block.split("\n}").next().unwrap_or_default();
            count += block.lines().filter(|line| line.trim_start().contains("fn ")).count();
        }
    }
    count
}

/// Obscuring phrases in ten thousand words.
fn phrases(texts: &[String]) -> usize {
    let text = texts.join("\n").to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.len() > 2_000, "{} words", words.len());
    let text = format!(" {} ", words.join(" "));
    let ends = |at: usize| text[at..].chars().next().is_none_or(|c| !c.is_alphanumeric());
    let found = |phrase: &&str| {
        let phrase = format!(" {phrase}");
        let starts = text.match_indices(&phrase).map(|(at, it)| at + it.len());
        starts.filter(|&at| ends(at)).count()
    };
    let found: usize = PHRASES.iter().map(found).sum();
    (found * 10_000).div_ceil(words.len())
}

fn comments(files: &[File], is_rust: bool) -> Vec<String> {
    let files = files.iter().filter(|file| file.is_rust() == is_rust);
    let of_line = |line: &str| {
        let line = line.trim_start();
        let is_comment = ["//", "/*", "*"].iter().any(|start| line.starts_with(start));
        is_comment.then(|| line.trim_start_matches(['/', '*', '!']).to_owned())
    };
    files.flat_map(|file| file.text.lines().filter_map(of_line)).collect()
}

fn documents() -> Vec<String> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let docs = docs.filter(|path| path.extension().is_some_and(|it| it == "md"));
    let others = ["README.md", "CHANGELOG.md", "vscode-extension/README.md"];
    let all = docs.chain(others.map(|name| root.join(name)));
    all.map(|path| fs::read_to_string(path).unwrap()).collect()
}

fn measures() -> String {
    let files = files();
    let mut rooms: BTreeMap<String, Vec<&File>> = BTreeMap::new();
    for file in &files {
        rooms.entry(file.room()).or_default().push(file);
    }
    let mut text = String::new();
    for (name, is_rust) in [("Rust", true), ("TypeScript", false)] {
        let of_language: Vec<_> = files.iter().filter(|it| it.is_rust() == is_rust).collect();
        let lines = of_language.iter().map(|file| file.lines()).sum();
        let long = of_language.iter().flat_map(|it| it.functions()).filter(|&it| it > LONG);
        let phrases = phrases(&comments(&files, is_rust));
        writeln!(
            text,
            "{name}: {} lines, {} functions over {LONG} lines, {phrases} phrases per 10,000 words",
            rounded(lines),
            long.count()
        )
        .unwrap();
    }
    writeln!(text, "docs: {} phrases per 10,000 words", phrases(&documents())).unwrap();
    for (owner, room) in OWNERS {
        let count = methods(&rooms[&format!("server/{room}")], owner);
        writeln!(text, "{owner}: {count} methods").unwrap();
    }
    for (name, files) in rooms {
        let lines = files.iter().map(|file| file.lines()).sum();
        let circle = match call_circle(&files) {
            0 => String::new(),
            size => format!(", circle of {size} of {} files", files.len()),
        };
        if lines >= 2 * STEP {
            writeln!(text, "{name}: {}{circle}", rounded(lines)).unwrap();
        }
    }
    text
}

#[test]
fn sizes_change_only_with_a_reason() {
    let measures = measures();
    println!("{measures}");
    expect_file!["sizes.txt"].assert_eq(&measures);
}

#[test]
fn a_function_and_a_circle_are_measured() {
    let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
    let one = file(
        "daemon/server/src/x/a.rs",
        "impl A {\n    fn one(\n        &self,\n    ) {\n        self.two()\n    }\n}\n",
    );
    let two = file("daemon/server/src/x/b.rs", "impl A {\n    fn two(&self) { self.one() }\n}\n");
    assert_eq!(one.functions(), [5]);
    let declared =
        file("a.rs", "trait A {\n    fn a(\n        &self,\n    );\n    fn b(&self) {\n    }\n}\n");
    assert_eq!(declared.functions(), [0, 2]);
    assert_eq!((one.room(), one.lines()), ("server/x".to_owned(), 7));
    assert_eq!((call_circle(&[&one, &two]), call_circle(&[&one])), (2, 0));
    assert_eq!(methods(&[&file("a.rs", "\nimpl A {\n    fn a() {}\n}\n")], "A"), 1);
}
