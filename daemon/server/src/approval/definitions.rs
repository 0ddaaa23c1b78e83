//! Texts behind a rule of "always", by hash: what the files said that a command follows when the user
//! allowed it, and what they say now.
//!
//! Reads through the held folder, and nothing outside of the workspace. Blocks.

use std::{collections::BTreeMap, io::Read, path::Path};

use cairn_core::policy::command::{Definition, Rule, definitions};
use sha2::{Digest, Sha256};

use crate::{
    docs::Docs,
    workspace::{ReadError, Workspace, WorkspacePath},
};

/// Files by name, each with the hashes of its texts: on disk, and in the editor where that differs, as it
/// is saved before a command runs. [`MISSING`]: no such file.
pub type Definitions = BTreeMap<String, Vec<String>>;

const MISSING: &str = "missing";
/// It is there, and is not read: a folder, a pipe, a link that leads out.
const UNREADABLE: &str = "unreadable";
/// A longer file is read up to here and counts with its length.
const MOST_BYTES: u64 = 1024 * 1024;

/// Contents of the files behind a rule, now. `folder`: in which its commands run.
pub fn look(rule: &Rule, folder: &Path, workspace: &Workspace, docs: &Docs) -> Definitions {
    let look = |definition: Definition| {
        let texts = texts(&definition, folder, workspace, docs);
        (definition.file, texts)
    };
    definitions(rule.words()).into_iter().map(look).collect()
}

/// The first file that says something else than it did. Names of both are the same, as the rule is.
pub fn changed(then: &Definitions, now: &Definitions) -> Option<String> {
    let differs = |(file, texts): &(&String, &Vec<String>)| {
        let known = then.get(*file).map(Vec::as_slice).unwrap_or_default();
        !texts.iter().all(|text| known.contains(text))
    };
    now.iter().find(differs).map(|(file, _)| file.clone())
}

fn texts(
    definition: &Definition,
    folder: &Path,
    workspace: &Workspace,
    docs: &Docs,
) -> Vec<String> {
    let path = folder.join(&definition.file);
    let Some(Ok(path)) = path.to_str().map(|path| workspace.resolve(path)) else {
        return vec![UNREADABLE.to_owned()];
    };
    let mut found = vec![on_disk(&path, definition, workspace)];
    if let Some(document) = docs.get(&path.uri()) {
        found.push(hash(document.text.to_string().as_bytes(), 0, definition));
    }
    found.dedup();
    found
}

fn on_disk(path: &WorkspacePath, definition: &Definition, workspace: &Workspace) -> String {
    let file = match workspace.open(path) {
        Ok(file) => file,
        Err(ReadError::Missing(_)) => return MISSING.to_owned(),
        Err(_) => return UNREADABLE.to_owned(),
    };
    let length = file.metadata().map_or(0, |found| found.len());
    let mut bytes = Vec::new();
    match file.take(MOST_BYTES).read_to_end(&mut bytes) {
        Ok(_) => hash(&bytes, length.saturating_sub(MOST_BYTES), definition),
        Err(_) => UNREADABLE.to_owned(),
    }
}

/// `more`: bytes beyond those that were read.
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
    fn a_change_of_what_is_followed_is_told_and_no_other() {
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
    }
}
