//! Control files of commands that were moved to quarantine, and their description for the user and
//! the model.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use cairn_core::{
    review::patch,
    text::{self, Text},
};
use cairn_protocol::{QuarantineEntry, QuarantineFault};

use super::{path_scan::Stamp, quarantine::FormerEntry, shown_path::shown_path};

/// Entries in a list. More may have been moved.
const MAX_LISTED: usize = 50;
/// Files in a diff, and bytes of one.
const MAX_SHOWN_FILES: usize = 20;
const MAX_SHOWN_BYTES: u64 = 32 * 1024;
const MAX_PATCH_CHARS: usize = 60_000;
/// Depth of folders in a diff.
const MAX_SHOWN_DEPTH: usize = 3;

/// One entry in quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedFile {
    pub(super) root: PathBuf,
    /// Path below the root.
    pub(super) path: PathBuf,
    /// Path in quarantine.
    pub(super) at: PathBuf,
    /// Set if an entry was at the path before the command.
    pub(super) was_known: bool,
    /// Former entry, if there is a copy of it.
    pub(super) former: Option<FormerEntry>,
    /// Stamp of the former entry after it was restored.
    pub(super) restored: Option<Stamp>,
}

/// All entries that commands left.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuarantineReport {
    pub moved: Vec<QuarantinedFile>,
    /// Entries that could not be moved, each with the reason.
    pub failed: Vec<(PathBuf, String)>,
    /// Set if the scan was incomplete.
    pub incomplete: bool,
}

impl QuarantinedFile {
    /// Returns the former path.
    pub fn place(&self) -> PathBuf {
        self.root.join(&self.path)
    }

    fn entry(&self, shown: impl Fn(&Path) -> String) -> QuarantineEntry {
        let file = shown(&self.place());
        match (self.was_known, &self.restored) {
            (false, _) => QuarantineEntry::NewFile { file },
            (true, Some(_)) => QuarantineEntry::RestoredFile { file },
            (true, None) => QuarantineEntry::ChangedFile { file },
        }
    }

    /// Returns the texts of the entry as a diff, ordered by name. `remaining` is the number of files
    /// that may still be shown.
    fn patch(&self, remaining: &mut usize) -> String {
        let mut files = Vec::new();
        collect_files(&self.at, &self.place(), 0, &mut files);
        files.sort();
        let mut patch = String::new();
        for (at, place) in files {
            if *remaining == 0 {
                break;
            }
            *remaining -= 1;
            let shown = shown_path(place.strip_prefix(&self.root).unwrap_or(&place));
            let before = match &self.former {
                Some(FormerEntry::File { bytes, .. }) => {
                    text::decode(bytes).ok().map(|decoded| decoded.text)
                }
                Some(FormerEntry::Link(_)) | None => None,
            };
            match std::fs::read_link(&at) {
                Ok(target) => patch.push_str(&format!("{shown}: a link to {}\n", target.display())),
                Err(_) => match read(&at) {
                    Some(after) => {
                        patch.push_str(&patch::between(before.as_ref(), &after, &shown));
                    }
                    None => patch.push_str(&format!(
                        "{shown}: not shown, because it is not a small text file\n"
                    )),
                },
            }
        }
        patch
    }
}

impl QuarantineReport {
    pub fn is_empty(&self) -> bool {
        self.moved.is_empty() && self.failed.is_empty() && !self.incomplete
    }

    pub fn extend(&mut self, other: Self) {
        self.moved.extend(other.moved);
        self.failed.extend(other.failed);
        self.incomplete |= other.incomplete;
    }

    pub(super) fn failed(&mut self, path: PathBuf, error: &io::Error) {
        let known = self.failed.iter().any(|(failed, _)| *failed == path);
        if !known && self.failed.len() < MAX_LISTED {
            self.failed.push((path, error.to_string()));
        }
    }

    /// Lists the moved entries, up to a limit. `shown` formats a path.
    pub fn entries(&self, shown: impl Fn(&Path) -> String) -> Vec<QuarantineEntry> {
        let listed = self.moved.iter().take(MAX_LISTED);
        let mut entries: Vec<QuarantineEntry> = listed.map(|left| left.entry(&shown)).collect();
        if let Some(more) = self.moved.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
            entries.push(QuarantineEntry::MoreFiles {
                count: u32::try_from(more).unwrap_or(u32::MAX),
            });
        }
        entries
    }

    /// Returns the quarantine folder.
    pub fn folder(&self) -> Option<&Path> {
        self.moved.first().and_then(|left| left.at.parent())
    }

    /// Lists the entries that could not be moved, and whether the scan was incomplete.
    pub fn faults(&self) -> Vec<QuarantineFault> {
        let failed = self.failed.iter().map(|(path, reason)| QuarantineFault::FileNotMoved {
            file: shown_path(path),
            reason: reason.clone(),
        });
        failed.chain(self.incomplete.then_some(QuarantineFault::SearchIncomplete)).collect()
    }

    /// Returns the texts of the moved entries as a diff; `None` if there are none. Blocks.
    pub fn patch(&self) -> Option<String> {
        let mut remaining = MAX_SHOWN_FILES;
        let patches = self.moved.iter().map(|left| left.patch(&mut remaining));
        let mut patch: String = patches.collect();
        if let Some((cut, _)) = patch.char_indices().nth(MAX_PATCH_CHARS) {
            patch.truncate(cut);
            patch.push_str("\n[… the rest is not shown]\n");
        } else if remaining == 0 {
            patch.push_str("[… more files are not shown]\n");
        }
        (!patch.is_empty()).then_some(patch)
    }
}

/// Collects the files of an entry, each with its former path. Of a repository only settings and
/// hooks.
fn collect_files(at: &Path, place: &Path, depth: usize, files: &mut Vec<(PathBuf, PathBuf)>) {
    const REPOSITORY_DATA: &[&str] = &["objects", "refs", "logs", "info", "index"];
    let is_folder = std::fs::symlink_metadata(at).is_ok_and(|data| data.is_dir());
    if !is_folder {
        files.push((at.to_owned(), place.to_owned()));
        return;
    }
    let Ok(entries) = std::fs::read_dir(at).map(Iterator::flatten) else { return };
    for entry in entries.take(200) {
        let name = entry.file_name();
        let text = name.to_string_lossy();
        let is_data = at.join("HEAD").exists() && REPOSITORY_DATA.contains(&text.as_ref());
        if !is_data && !text.ends_with(".sample") && depth < MAX_SHOWN_DEPTH {
            collect_files(&entry.path(), &place.join(&name), depth + 1, files);
        }
    }
}

/// Reads a small text file. `None` for anything else.
fn read(path: &Path) -> Option<Text> {
    if !std::fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_SHOWN_BYTES + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > MAX_SHOWN_BYTES {
        return None;
    }
    text::decode(&bytes).ok().map(|decoded| decoded.text)
}
