//! Record of the agent's commands in a workspace, which tells who wrote an instruction file. One file for
//! each workspace, so that the record survives a restart of the daemon.
//!
//! ```text
//! <state>/workspaces/<hash of the workspace folders>/authors.json
//! ```
//!
//! Functions of this file block. A record is replaced as a whole.

use std::{
    fs::{self},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::{Deserialize, Serialize};

use super::{
    files::{self, create_folder},
    sessions,
};

const FILE: &str = "authors.json";
const LONGEST: u64 = 16 * 1024 * 1024;

/// Hash of a text.
pub type TextHash = [u8; 32];

/// Commands of the agent since the first one, and texts that are the user's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Authors {
    /// Time at which the texts were hashed.
    pub since: SystemTime,
    /// Start of the oldest command that ran when this was written.
    pub running: Option<SystemTime>,
    /// Times in which commands ran, oldest first.
    pub past: Vec<(SystemTime, SystemTime)>,
    /// Texts of the user before the first command.
    pub texts: Vec<(PathBuf, TextHash)>,
    /// Texts that the editor saved, or the user accepted.
    pub saved: Vec<(PathBuf, TextHash)>,
}

/// The record of one workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorsFile(PathBuf);

impl AuthorsFile {
    pub fn new(state: &Path, folders: &[PathBuf]) -> Self {
        Self(sessions::folder(state, folders).join(FILE))
    }

    /// `None`: no command of the agent ran in this workspace.
    pub fn read(&self) -> io::Result<Option<Authors>> {
        match files::read_text(&self.0, LONGEST) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            text => serde_json::from_str(&text?).map(Some).map_err(io::Error::other),
        }
    }

    /// Durable when it returns.
    pub fn write(&self, authors: &Authors) -> io::Result<()> {
        create_folder(self.0.parent().ok_or(ErrorKind::InvalidInput)?)?;
        files::replace(&self.0, &serde_json::to_vec(authors).map_err(io::Error::other)?)
    }

    /// Keeps an unreadable record under another name.
    pub fn set_aside(&self) -> io::Result<()> {
        fs::rename(&self.0, self.0.with_extension("damaged"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_damage_is_an_error() {
        let state = tempfile::tempdir().unwrap();
        let folders = [PathBuf::from("/a"), PathBuf::from("/b")];
        let file = AuthorsFile::new(state.path(), &folders);
        assert_ne!(file, AuthorsFile::new(state.path(), &folders[..1]));
        assert_eq!(file.read().unwrap(), None);
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::new(seconds, 7);
        let authors = Authors {
            since: at(1),
            running: Some(at(4)),
            past: vec![(at(2), at(3))],
            texts: vec![("/a/AGENTS.md".into(), [1; 32])],
            saved: vec![("/a/b/AGENTS.md".into(), [2; 32])],
        };
        file.write(&authors).unwrap();
        assert_eq!(file.read().unwrap(), Some(authors));
        fs::write(&file.0, "{").unwrap();
        assert!(file.read().is_err());
        file.set_aside().unwrap();
        assert_eq!(file.read().unwrap(), None);
    }
}
