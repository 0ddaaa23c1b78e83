//! Search for instruction files: `AGENTS.md` and `CLAUDE.md` in the folder of the work and those above
//! it, and the user's own. Blocks on the disk.
//!
//! Must never read a file that a tool may not read without approval: the path jail applies, links out of
//! it are refused, and so are secrets. Must never pass on a file that the user did not write: see
//! [`Sources`].

use std::path::Path;

use cairn_core::prompt::instructions::{Instructions, fit};

use crate::{
    docs::Docs,
    small_file,
    workspace::{Workspace, WorkspacePath, key_of, path_of},
};

mod sources;

pub(crate) use sources::{RunningCommand, Sources};

/// File names by priority. A copy of the first is sent once.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
const OWN: &str = "AGENTS.md";
/// Most bytes of the user's own file, of which a part is sent.
const MOST_OWN: u64 = 10 * 1024 * 1024;

/// Instructions at the start of a session: from the folder of the active file upwards, then of the
/// other workspace folders, then the user's own.
pub(crate) fn at_start(
    workspace: &Workspace,
    docs: &Docs,
    sources: &Sources,
    active: Option<&str>,
    config: Option<&Path>,
) -> Vec<Instructions> {
    let finder = Finder { workspace, docs, sources };
    let active = active.and_then(|file| path_of(&workspace.key(file).ok()?));
    let above = active.iter().flat_map(|file| finder.above(file));
    let roots = workspace.folders().iter().flat_map(|folder| finder.in_folder(folder));
    let own = config.and_then(|folder| own(&folder.join(OWN)));
    let mut found: Vec<(String, String)> = Vec::new();
    for file in above.chain(roots).chain(own) {
        if found.iter().all(|(name, _)| *name != file.0) {
            found.push(file);
        }
    }
    fit(found)
}

/// Instructions at the start of a session in an untrusted workspace, whose own files are only data.
pub(crate) fn users_own(config: Option<&Path>) -> Vec<Instructions> {
    fit(config.and_then(|folder| own(&folder.join(OWN))))
}

/// Instructions in the folder of a file, given by its resolved path, and those above it.
pub(crate) fn around(
    workspace: &Workspace,
    docs: &Docs,
    sources: &Sources,
    file: &Path,
) -> Vec<Instructions> {
    fit(Finder { workspace, docs, sources }.above(file))
}

/// Finder of the instruction files of a workspace.
struct Finder<'a> {
    workspace: &'a Workspace,
    docs: &'a Docs,
    sources: &'a Sources,
}

impl Finder<'_> {
    fn above(&self, file: &Path) -> Vec<(String, String)> {
        let folders = file.ancestors().skip(1);
        let inside = folders.take_while(|folder| self.workspace.folder_of(folder).is_some());
        inside.flat_map(|folder| self.in_folder(folder)).collect()
    }

    fn in_folder(&self, folder: &Path) -> Vec<(String, String)> {
        NAMES.iter().filter_map(|name| self.named(&folder.join(name))).collect()
    }

    fn named(&self, called: &Path) -> Option<(String, String)> {
        let (path, text) = text_of(self.workspace, self.docs, called)?;
        if !self.sources.is_users(self.workspace, called, &path, &text) {
            tracing::info!("not told as instructions: {}", called.display());
            return None;
        }
        // By its name in this folder, even if it is a link.
        Some((self.workspace.display(called), text))
    }
}

/// Resolved path and text of an instruction file.
fn text_of(workspace: &Workspace, docs: &Docs, called: &Path) -> Option<(WorkspacePath, String)> {
    // Most folders have none, and to resolve a path takes longer.
    if !called.exists() && key_of(called).is_none_or(|key| docs.get(&key).is_none()) {
        return None;
    }
    let path = workspace.resolve(&called.to_string_lossy()).ok()?;
    // A link to a secret must not reach the model without approval.
    if path.is_secret() {
        return None;
    }
    let text = match docs.get(&path.key()) {
        Some(document) => document.text.to_string(),
        None => workspace.read_text(&path).ok()?.text.to_string(),
    };
    Some((path, text))
}

fn own(path: &Path) -> Option<(String, String)> {
    let text = small_file::read_text(path, MOST_OWN).ok()?;
    Some((format!("your own {OWN}"), text))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(found: &[Instructions]) -> Vec<&str> {
        found.iter().map(|one| one.name.as_str()).collect()
    }

    #[test]
    fn the_nearest_come_first_and_the_users_own_last() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second, config) = ("first", "second", "config");
        for (path, text) in [
            ("first/AGENTS.md", "root"),
            ("first/a/b/CLAUDE.md", "b"),
            ("first/a/AGENTS.md", "a"),
            ("first/c/AGENTS.md", "not on the way"),
            ("second/AGENTS.md", "second"),
            ("config/AGENTS.md", "mine"),
            ("AGENTS.md", "outside"),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let at = |name: &str| folder.path().join(name);
        let workspace = Workspace::new(vec![at(first), at(second)]).unwrap();
        let (docs, sources) = (Docs::default(), Sources::default());
        let active = at("first/a/b/new.rs");
        let found = at_start(&workspace, &docs, &sources, active.to_str(), Some(&at(config)));
        let expected = [
            "first/a/b/CLAUDE.md",
            "first/a/AGENTS.md",
            "first/AGENTS.md",
            "second/AGENTS.md",
            "your own AGENTS.md",
        ];
        assert_eq!(names(&found), expected);
        assert_eq!(
            names(&around(&workspace, &docs, &sources, &folder.path().join("first/c/x"))),
            ["first/c/AGENTS.md", "first/AGENTS.md"]
        );
        assert!(around(&workspace, &docs, &sources, &folder.path().join("x")).is_empty());
        let found = at_start(&workspace, &docs, &sources, None, None);
        assert_eq!(names(&found), ["first/AGENTS.md", "second/AGENTS.md"]);
    }

    #[test]
    fn a_file_that_is_not_text_or_leads_out_is_not_sent() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir(&root).unwrap();
        fs::write(folder.path().join("private"), "outside").unwrap();
        std::os::unix::fs::symlink("../private", root.join("AGENTS.md")).unwrap();
        fs::write(root.join("CLAUDE.md"), [0xff, 0xfe, 0x00]).unwrap();
        let workspace = Workspace::new(vec![root]).unwrap();
        let (docs, sources) = (Docs::default(), Sources::default());
        let found = at_start(&workspace, &docs, &sources, None, Some(folder.path()));
        assert_eq!(found, []);
    }
}
