//! Files that the agent changed and that may define what an allowed command does.
//!
//! An approval covers the words of a command. It does not cover a makefile or a script that the agent changes
//! later: until the user answers again, the command needs approval. Changes by the user and by commands that the
//! user allowed do not end an approval.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use cairn_core::policy::{Access, command};
use parking_lot::Mutex;

/// Most files that are remembered. Beyond, the last one of them stands for the rest.
const MOST: usize = 1_000;

/// Changes by the agent since the user allowed a command that they may define, for all sessions of the daemon.
#[derive(Debug, Default)]
pub struct ChangedFiles(Mutex<Changes>);

#[derive(Debug, Default)]
struct Changes {
    /// Number of the newest change of each file.
    files: BTreeMap<PathBuf, u64>,
    newest: u64,
}

/// Changes behind a command at the time of a question.
#[derive(Debug, Default)]
pub struct Behind(Vec<(PathBuf, u64)>);

impl Behind {
    pub fn first(&self) -> Option<&Path> {
        self.0.first().map(|(file, _)| file.as_path())
    }
}

impl ChangedFiles {
    /// Records the files that an edit is about to change.
    pub fn record(&self, access: &Access) {
        let (files, aliases): (&[&PathBuf], &[PathBuf]) = match access {
            Access::Edit { path, aliases, .. } | Access::Delete { path, aliases, .. } => {
                (&[path], aliases)
            }
            Access::Move { from, to, aliases, .. } => (&[from, to], aliases),
            Access::Read { .. }
            | Access::Plan
            | Access::Subagent
            | Access::Process
            | Access::Command { .. }
            | Access::Input { .. } => return,
        };
        let mut changes = self.0.lock();
        for file in files.iter().copied().chain(aliases) {
            changes.newest += 1;
            let number = changes.newest;
            if changes.files.len() < MOST || changes.files.contains_key(file) {
                changes.files.insert(file.clone(), number);
            }
        }
    }

    /// The changed files that may define this script.
    pub fn behind(&self, script: &str) -> Behind {
        let changes = self.0.lock();
        let is_full = changes.files.len() >= MOST;
        let defines = |file: &Path| command::may_define(&file.to_string_lossy(), script);
        let files = changes.files.iter().filter(|(file, _)| is_full || defines(file));
        Behind(files.map(|(file, number)| (file.clone(), *number)).collect())
    }

    /// The user allowed the command: it may run with these changes, and not with later ones.
    pub fn allow(&self, behind: &Behind) {
        let mut changes = self.0.lock();
        for (file, number) in &behind.0 {
            if changes.files.get(file) == Some(number) {
                changes.files.remove(file);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_does_not_cover_a_later_change() {
        let changed = ChangedFiles::default();
        let edit = |path: &str| {
            changed.record(&Access::Edit {
                path: path.into(),
                inside: path.into(),
                aliases: Vec::new(),
            });
        };
        edit("/w/Makefile");
        edit("/w/main.c");
        let asked = changed.behind("make check");
        assert_eq!(asked.first(), Some(Path::new("/w/Makefile")));
        edit("/w/Makefile");
        changed.allow(&asked);
        let again = changed.behind("make check");
        assert_eq!(again.0.len(), 1);
        changed.allow(&again);
        assert_eq!(changed.behind("make check").first(), None);
        assert_eq!(changed.behind("cc main.c").first(), Some(Path::new("/w/main.c")));
    }

    #[test]
    fn after_a_thousand_files_each_command_needs_approval() {
        let changed = ChangedFiles::default();
        for number in 0..MOST {
            let path = PathBuf::from(format!("/w/{number}.c"));
            changed.record(&Access::Delete { path, inside: PathBuf::new(), aliases: Vec::new() });
        }
        let behind = changed.behind("make check");
        assert!(behind.first().is_some());
        changed.allow(&behind);
        assert!(changed.behind("make check").first().is_none());
    }
}
