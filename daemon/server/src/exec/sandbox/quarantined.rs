//! Control files that a command left and that were moved to quarantine, and their description for
//! the user and the model.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use cairn_core::{
    review::patch,
    text::{self, Text},
};

use super::{path_scan::Stamp, quarantine::Former, shown_path};

/// Entries that are listed one by one; all are moved.
const MOST_LISTED: usize = 50;
/// Files that are shown of one folder and of the whole question.
const MOST_SHOWN: usize = 20;
const LONGEST_SHOWN: u64 = 32 * 1024;
const MOST_PATCH_CHARS: usize = 60_000;
/// Depth of folders that are shown, so that a folder of objects is not.
const DEEPEST_SHOWN: usize = 3;

/// One entry in quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub(super) root: PathBuf,
    /// Path below the root.
    pub(super) path: PathBuf,
    /// Path in quarantine.
    pub(super) at: PathBuf,
    /// Set if an entry was at the path before.
    pub(super) was_known: bool,
    /// Former entry, if it could be restored.
    pub(super) former: Option<Former>,
    pub(super) restored: Option<Stamp>,
}

/// All entries that commands left.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftBehind {
    pub moved: Vec<Left>,
    /// Entries that could not be moved, each with the reason.
    pub failed: Vec<(PathBuf, String)>,
    /// Set if the scan was incomplete.
    pub incomplete: bool,
}

impl Left {
    /// Former path.
    pub fn place(&self) -> PathBuf {
        self.root.join(&self.path)
    }

    /// Path in quarantine.
    pub fn at(&self) -> &Path {
        &self.at
    }

    fn line(&self, shown: impl Fn(&Path) -> String) -> String {
        let what = match (self.was_known, &self.restored) {
            (false, _) => "new",
            (true, Some(_)) => "changed; the former one is restored",
            (true, None) => "changed",
        };
        format!("{} ({what})", shown(&self.place()))
    }

    /// Texts of the entry as a diff, ordered by name.
    fn patch(&self, left: &mut usize) -> String {
        let mut files = Vec::new();
        collect(&self.at, &self.place(), 0, &mut files);
        files.sort();
        let mut patch = String::new();
        for (at, place) in files {
            if *left == 0 {
                break;
            }
            *left -= 1;
            let shown = shown_path(place.strip_prefix(&self.root).unwrap_or(&place));
            let before = match &self.former {
                Some(Former::File { bytes, .. }) => {
                    text::decode(bytes).ok().map(|decoded| decoded.text)
                }
                Some(Former::Link(_)) | None => None,
            };
            match std::fs::read_link(&at) {
                Ok(target) => patch.push_str(&format!("{shown}: a link to {}\n", target.display())),
                Err(_) => match read(&at) {
                    Some(after) => {
                        patch.push_str(&patch::between(before.as_ref(), &after, &shown));
                    }
                    None => patch.push_str(&format!("{shown}: not shown, no small text\n")),
                },
            }
        }
        patch
    }
}

impl LeftBehind {
    pub fn is_empty(&self) -> bool {
        self.moved.is_empty() && self.failed.is_empty() && !self.incomplete
    }

    pub(super) fn push(&mut self, left: Left) {
        self.moved.push(left);
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.moved.extend(other.moved);
        self.failed.extend(other.failed);
        self.incomplete |= other.incomplete;
    }

    pub(super) fn failed(&mut self, path: PathBuf, error: &io::Error) {
        let known = self.failed.iter().any(|(failed, _)| *failed == path);
        if !known && self.failed.len() < MOST_LISTED {
            self.failed.push((path, error.to_string()));
        }
    }

    /// Moved entries, one line each, bounded. `shown` formats a path for display.
    pub fn lines(&self, shown: impl Fn(&Path) -> String) -> Vec<String> {
        let listed = self.moved.iter().take(MOST_LISTED);
        let mut lines: Vec<String> = listed.map(|left| left.line(&shown)).collect();
        if let Some(more) = self.moved.len().checked_sub(MOST_LISTED).filter(|more| *more > 0) {
            lines.push(format!("and {more} more"));
        }
        lines
    }

    /// Quarantine folder.
    pub fn folder(&self) -> Option<&Path> {
        self.moved.first().and_then(|left| left.at.parent())
    }

    /// Failures as sentences; empty if there were none.
    pub fn faults(&self) -> String {
        let mut text = String::new();
        for (path, error) in &self.failed {
            text.push_str(&format!(
                "\n{} was made by a command and could not be moved away ({error}): look at it before you use git or an editor there.",
                shown_path(path)
            ));
        }
        if self.incomplete {
            text.push_str(
                "\nNot every folder of the workspace could be searched for files that git, an editor or a shell runs by itself: there are too many, or some cannot be read.",
            );
        }
        text
    }

    /// Texts of the moved entries as a diff; `None` if there are none. Blocks.
    pub fn patch(&self) -> Option<String> {
        let mut left = MOST_SHOWN;
        let mut patch: String = self.moved.iter().map(|one| one.patch(&mut left)).collect();
        if let Some((cut, _)) = patch.char_indices().nth(MOST_PATCH_CHARS) {
            patch.truncate(cut);
            patch.push_str("\n[… this is not the whole]\n");
        } else if left == 0 {
            patch.push_str("[… more files are not shown]\n");
        }
        (!patch.is_empty()).then_some(patch)
    }
}

/// Files of a folder; of a repository only its settings and hooks.
fn collect(at: &Path, place: &Path, depth: usize, files: &mut Vec<(PathBuf, PathBuf)>) {
    const OF_REPOSITORIES: &[&str] = &["objects", "refs", "logs", "info", "index"];
    let is_folder = std::fs::symlink_metadata(at).is_ok_and(|data| data.is_dir());
    if !is_folder {
        files.push((at.to_owned(), place.to_owned()));
        return;
    }
    let Ok(entries) = std::fs::read_dir(at).map(Iterator::flatten) else { return };
    for entry in entries.take(200) {
        let name = entry.file_name();
        let text = name.to_string_lossy();
        let of_repository = at.join("HEAD").exists()
            && (OF_REPOSITORIES.contains(&text.as_ref()) || text.ends_with(".sample"));
        if !of_repository && !text.ends_with(".sample") && depth < DEEPEST_SHOWN {
            collect(&entry.path(), &place.join(&name), depth + 1, files);
        }
    }
}

fn read(path: &Path) -> Option<Text> {
    if !std::fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LONGEST_SHOWN + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > LONGEST_SHOWN {
        return None;
    }
    text::decode(&bytes).ok().map(|decoded| decoded.text)
}
