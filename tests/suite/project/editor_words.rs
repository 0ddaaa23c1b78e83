//! The words of the user interface belong to the client: no string of core or server names a command
//! of an editor. `lsp/commands.rs` defines the commands of standard LSP.

use std::{fs, path::Path};

use serde_json::Value;

/// The file that may name commands.
const COMMANDS: &str = "server/src/lsp/commands.rs";

#[test]
fn core_and_server_name_no_command_of_an_editor() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let manifest = fs::read_to_string(root.join("vscode-extension/package.json")).unwrap();
    let mut manifest: Value = serde_json::from_str(&manifest).unwrap();
    let texts = fs::read_to_string(root.join("vscode-extension/package.nls.json")).unwrap();
    let texts: Value = serde_json::from_str(&texts).unwrap();
    for command in manifest["contributes"]["commands"].as_array_mut().unwrap() {
        let title = command["title"].as_str().unwrap().trim_matches('%').to_owned();
        command["title"] = texts[&title].clone();
    }
    let words = forbidden(&manifest);
    assert!(words.len() > 50, "{words:?}");
    let mut found = Vec::new();
    let mut files = 0;
    for folder in ["core/src", "server/src"] {
        each_file(&root.join("daemon").join(folder), &mut |path, text| {
            if path.ends_with(COMMANDS) {
                return;
            }
            files += 1;
            let path = path.strip_prefix(root).unwrap().display();
            for (number, line) in text.lines().enumerate() {
                for word in words.iter().filter(|word| names(line, word)) {
                    found.push(format!("{path}:{}: {word}", number + 1));
                }
            }
        });
    }
    assert!(files > 200, "looked in the wrong place: {files} files");
    assert_eq!(found, Vec::<String>::new(), "name a code and an action instead");
}

#[test]
fn a_command_in_a_string_is_found() {
    assert!(names(r#"    "Use `Cairn: Set API Key` first","#, "Set API Key"));
    assert!(names(r#"    text: "Start one with cairn.runTask.""#, "cairn.runTask"));
    assert!(!names(r#"    "The rule of cairn.runTasks""#, "cairn.runTask"));
    assert!(!names("    // Cairn: Set API Key", "Set API Key"));
}

/// Ids and titles of the commands of the manifest, and the names of its surfaces. A title of one word
/// is too common to be searched for without its category.
fn forbidden(manifest: &Value) -> Vec<String> {
    let mut words: Vec<String> =
        ["Agent:", "ommand palette", "ommand Palette", "VS Code's"].map(str::to_owned).into();
    for command in manifest["contributes"]["commands"].as_array().unwrap() {
        words.push(command["command"].as_str().unwrap().to_owned());
        let title = command["title"].as_str().unwrap();
        if title.contains(' ') {
            words.push(title.to_owned());
        }
        if let Some(category) = command["category"].as_str() {
            words.push(format!("{category}: {title}"));
        }
    }
    words
}

/// True if a line that is no comment holds the word, not as the beginning of a longer one.
fn names(line: &str, word: &str) -> bool {
    if line.trim_start().starts_with("//") {
        return false;
    }
    line.match_indices(word).any(|(at, _)| {
        let after = line[at + word.len()..].chars().next();
        !word.ends_with(char::is_alphanumeric) || !after.is_some_and(char::is_alphanumeric)
    })
}

fn each_file(folder: &Path, visit: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            each_file(&path, visit);
        } else if path.extension().is_some_and(|end| end == "rs" || end == "json") {
            visit(&path, &fs::read_to_string(&path).unwrap());
        }
    }
}
