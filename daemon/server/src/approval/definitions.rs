//! Hashes of the files that define an allowed command (build scripts, manifests): as of the user's approval,
//! and as of now.
//!
//! Reads only inside the workspace, through the open folder handle. Names that match a pattern are listed by
//! path. Blocks.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs,
    io::Read,
    path::Path,
};

use cairn_core::policy::command::{self, Definition, Rule};
use globset::GlobBuilder;
use sha2::{Digest, Sha256};

use crate::{
    docs::Docs,
    workspace::{ReadError, Workspace, WorkspacePath},
};

/// Hashes of texts by file name: the text on disk, and the editor's text where it differs, because it is
/// saved before a command runs. [`MISSING`] stands for no file.
pub type Definitions = BTreeMap<String, Vec<String>>;

const MISSING: &str = "missing";
/// Mark of an entry that exists but is not read: a folder, a pipe, a link out of the workspace.
const UNREADABLE: &str = "unreadable";
/// Most bytes hashed of a file. Of a longer one, the length is added to the hash.
const MOST_BYTES: u64 = 1024 * 1024;
/// Most files of one command. Beyond, [`UNCOUNTED`] stands for the rest, which is always treated as changed.
const MOST_FILES: usize = 256;
const UNCOUNTED: &str = "(more files)";
/// Most entries of folders that one pattern is compared with, and folders below each other for `**`.
const MOST_LISTED: usize = 4_000;
const DEEPEST: usize = 6;

/// Current hashes of the files behind a rule. `folder` is the working directory of its commands.
pub fn look(rule: &Rule, folder: &Path, workspace: &Workspace, docs: &Docs) -> Definitions {
    look_at(command::definitions(rule.words()), folder, workspace, docs)
}

/// Current hashes of the files behind the commands of a script.
pub fn look_behind(script: &str, folder: &Path, workspace: &Workspace, docs: &Docs) -> Definitions {
    look_at(command::definitions_in(script), folder, workspace, docs)
}

/// Follows the files that definitions name, recursively.
fn look_at(
    named: Vec<Definition>,
    folder: &Path,
    workspace: &Workspace,
    docs: &Docs,
) -> Definitions {
    let (mut found, mut seen) = (Definitions::new(), BTreeSet::new());
    // True for a name that a pattern matched: it is not a pattern itself, whatever it contains.
    let mut waiting: VecDeque<_> = named.into_iter().map(|it| (it, false)).collect();
    while let Some((definition, is_name)) = waiting.pop_front() {
        if !seen.insert((definition.clone(), is_name)) {
            continue;
        }
        if seen.len() > MOST_FILES {
            found.insert(UNCOUNTED.to_owned(), Vec::new());
            break;
        }
        if !is_name && definition.is_pattern() {
            let files = matching(&definition.file, folder, workspace);
            // Each in its own folder, as the pattern is.
            let of = |file: String| {
                let place = file.rsplit_once('/').map_or("", |(place, _)| place);
                let patterned = definition.folder.contains(['*', '?', '[']);
                let place = if patterned { place } else { definition.folder.as_str() };
                (Definition { folder: place.to_owned(), file, ..definition.clone() }, true)
            };
            waiting.extend(files.into_iter().map(of));
            continue;
        }
        let (hashes, texts) = texts(&definition, folder, workspace, docs);
        let more = texts.iter().flat_map(|text| command::followed(&definition, text));
        waiting.extend(more.map(|it| (it, false)));
        let known = found.entry(definition.file).or_default();
        known.extend(hashes);
        known.dedup();
    }
    found
}

/// Files below the folder whose names match, sorted.
fn matching(pattern: &str, folder: &Path, workspace: &Workspace) -> Vec<String> {
    let mut places = vec![String::new()];
    let mut budget = MOST_LISTED;
    for part in pattern.trim_start_matches("./").split('/') {
        let is_pattern = part.contains(['*', '?', '[']);
        let glob = GlobBuilder::new(part).literal_separator(true).build().ok();
        let Some(glob) = glob.map(|glob| glob.compile_matcher()) else { return Vec::new() };
        let mut next = Vec::new();
        for place in places {
            match part {
                "**" => next.extend(nested(&place, folder, workspace, &mut budget)),
                part if !is_pattern => next.push(below(&place, part)),
                _ => {
                    let names = listed(&place, folder, workspace, &mut budget);
                    let names = names.into_iter().filter(|name| glob.is_match(name));
                    next.extend(names.map(|name| below(&place, &name)));
                }
            }
        }
        places = next;
    }
    places.sort();
    places
}

/// The folder and those in it.
fn nested(place: &str, folder: &Path, workspace: &Workspace, budget: &mut usize) -> Vec<String> {
    let (mut all, mut level) = (Vec::new(), vec![place.to_owned()]);
    for _ in 0..DEEPEST {
        let inner = |place: &String| {
            let names = listed(place, folder, workspace, budget).into_iter();
            names.map(|name| below(place, &name)).collect::<Vec<_>>()
        };
        let next: Vec<String> = level.iter().flat_map(inner).collect();
        all.append(&mut level);
        level = next.into_iter().filter(|place| folder.join(place).is_dir()).collect();
    }
    all
}

fn below(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}/{name}") }
}

/// Names in a folder of the workspace, without the folders of installed packages and of Git.
fn listed(place: &str, folder: &Path, workspace: &Workspace, budget: &mut usize) -> Vec<String> {
    let folder = folder.join(place);
    let resolved = folder.to_str().and_then(|path| workspace.resolve(path).ok());
    let Some(entries) = resolved.and_then(|path| fs::read_dir(path.as_path()).ok()) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let names = names.filter(|name| name != "node_modules" && name != ".git");
    let names: Vec<String> = names.take(*budget).collect();
    *budget -= names.len();
    names
}

/// The first file that was changed, added or removed between two lookups.
pub fn changed(then: &Definitions, now: &Definitions) -> Option<String> {
    let differs = |(file, hashes): &(&String, &Vec<String>)| match then.get(*file) {
        Some(known) => *file == UNCOUNTED || !hashes.iter().all(|hash| known.contains(hash)),
        None => true,
    };
    let gone = || then.keys().find(|file| !now.contains_key(*file));
    now.iter().find(differs).map(|(file, _)| file).or_else(gone).cloned()
}

/// Hashes of a file's texts, and the texts in which further file names are searched.
fn texts(
    definition: &Definition,
    folder: &Path,
    workspace: &Workspace,
    docs: &Docs,
) -> (Vec<String>, Vec<String>) {
    let path = folder.join(&definition.file);
    let Some(Ok(path)) = path.to_str().map(|path| workspace.resolve(path)) else {
        return (vec![UNREADABLE.to_owned()], Vec::new());
    };
    let (mut hashes, mut texts) = (Vec::new(), Vec::new());
    match on_disk(&path, workspace) {
        Ok((bytes, more)) => {
            hashes.push(hash(&bytes, more, definition));
            texts.extend(String::from_utf8(bytes).ok());
        }
        Err(why) => hashes.push(why.to_owned()),
    }
    if let Some(document) = docs.get(&path.key()) {
        let text = document.text.to_string();
        hashes.push(hash(text.as_bytes(), 0, definition));
        texts.push(text);
    }
    hashes.dedup();
    texts.dedup();
    (hashes, texts)
}

/// First bytes of a file, and the number of bytes after them.
fn on_disk(path: &WorkspacePath, workspace: &Workspace) -> Result<(Vec<u8>, u64), &'static str> {
    let file = workspace.open(path).map_err(|error| match error {
        ReadError::Missing(_) => MISSING,
        _ => UNREADABLE,
    })?;
    let length = file.metadata().map_or(0, |found| found.len());
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|_| UNREADABLE)?;
    Ok((bytes, length.saturating_sub(MOST_BYTES)))
}

/// Hash of a file, or of the member that defines the command. `more` is the number of unread bytes.
fn hash(bytes: &[u8], more: u64, definition: &Definition) -> String {
    let member = definition.member.and_then(|member| {
        let whole: serde_json::Value = serde_json::from_slice(bytes).ok()?;
        Some(whole.get(member).map(ToString::to_string).unwrap_or_default().into_bytes())
    });
    let digest = Sha256::digest(member.as_deref().unwrap_or(bytes));
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    if more == 0 { hex } else { format!("{hex}+{more}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_change_of_a_followed_file_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        let put = |name: &str, text: &str| std::fs::write(root.join(name), text).unwrap();
        put("package.json", r#"{"name": "a", "scripts": {"test": "x"}}"#);
        put("Makefile", "check:\n");
        let workspace = Workspace::new(vec![root.clone()]).unwrap();
        let docs = Docs::default();
        let seen = |rule: &str| look(&Rule::parse(rule).unwrap(), &root, &workspace, &docs);
        let (npm, make) = (seen("npm test"), seen("make check"));
        put("package.json", r#"{"name": "b", "scripts": {"test": "x"}, "version": "2"}"#);
        assert_eq!(changed(&npm, &seen("npm test")), None);
        put("package.json", r#"{"name": "b", "scripts": {"test": "y"}}"#);
        assert_eq!(changed(&npm, &seen("npm test")).as_deref(), Some("package.json"));
        assert_eq!(changed(&make, &seen("make check")), None);
        put("GNUmakefile", "check: evil\n");
        assert_eq!(changed(&make, &seen("make check")).as_deref(), Some("GNUmakefile"));
        // A name that looks like a pattern is a name.
        put("GNUmakefile", "include *.mk\n");
        put("a.mk", "");
        let make = seen("make check");
        put("[a].mk", "check: evil\n");
        assert_eq!(changed(&make, &seen("make check")).as_deref(), Some("[a].mk"));
    }
}
