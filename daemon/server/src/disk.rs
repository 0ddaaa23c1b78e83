//! Edits of files that no editor holds: made on disk.
//!
//! Must never write over a text other than the one the edit was made for, nor leave half a file.

use std::{io::Write, path::Path};

use anyhow::Context;
use cairn_core::text::{Decoded, Position, decode, encode};
use cairn_protocol::{ApplyEditParams, ApplyEditResult, FileChange, RefusedEdit};

use crate::{hub::hash, workspace::path_of};

/// Changes one file, or says why not.
pub(crate) async fn apply(params: ApplyEditParams) -> ApplyEditResult {
    let applied = tokio::task::spawn_blocking(move || write(&params)).await;
    let (reason, message) = match applied {
        Ok(Ok(())) => (None, None),
        Ok(Err(Refusal { reason, message })) => (Some(reason), Some(message)),
        Err(error) => (Some(RefusedEdit::Failed), Some(error.to_string())),
    };
    ApplyEditResult { applied: reason.is_none(), reason, message, was_dirty: false }
}

struct Refusal {
    reason: RefusedEdit,
    message: String,
}

fn write(params: &ApplyEditParams) -> Result<(), Refusal> {
    let failed = |message: String| Refusal { reason: RefusedEdit::Failed, message };
    let stale =
        || Refusal { reason: RefusedEdit::Stale, message: "the file is another one by now".into() };
    let path = path_of(&params.uri).ok_or_else(|| failed("not a file".into()))?;
    let read = || -> Result<Decoded, Refusal> {
        let bytes = std::fs::read(&path)
            .map_err(|error| Refusal { reason: RefusedEdit::Closed, message: error.to_string() })?;
        decode(&bytes).map_err(|error| failed(error.to_string()))
    };
    // In a folder that is writable a file can be replaced whatever its own permissions say.
    let writable = || match std::fs::metadata(&path) {
        Ok(meta) if meta.permissions().readonly() => {
            Err(Refusal { reason: RefusedEdit::ReadOnly, message: "the file is read-only".into() })
        }
        Ok(_) | Err(_) => Ok(()),
    };
    match &params.change {
        FileChange::Create { text } => {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder).map_err(|error| failed(error.to_string()))?;
            }
            match std::fs::File::create_new(&path) {
                Ok(mut file) => {
                    file.write_all(text.as_bytes()).map_err(|error| failed(error.to_string()))
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(stale()),
                Err(error) => Err(failed(error.to_string())),
            }
        }
        FileChange::Edit { expected_hash, edits, .. } => {
            writable()?;
            let mut decoded = read()?;
            if hash(&decoded.text) != *expected_hash {
                return Err(stale());
            }
            for edit in edits.iter().rev() {
                let at = |position: cairn_protocol::Position| {
                    decoded
                        .text
                        .char_of(Position { line: position.line, character: position.character })
                };
                let range = at(edit.range.start)..at(edit.range.end);
                decoded.text.replace(range, &edit.new_text);
            }
            replace(&path, &encode(&decoded.text, decoded.bom))
                .map_err(|error| failed(format!("{error:#}")))
        }
        FileChange::Delete { expected_hash, empty_folders } => {
            writable()?;
            if hash(&read()?.text) != *expected_hash {
                return Err(stale());
            }
            std::fs::remove_file(&path).map_err(|error| failed(error.to_string()))?;
            remove_empty(empty_folders);
            Ok(())
        }
        FileChange::Rename { to, expected_hash, empty_folders } => {
            writable()?;
            let to = path_of(to).ok_or_else(|| failed("not a file".into()))?;
            if hash(&read()?.text) != *expected_hash || to.symlink_metadata().is_ok() {
                return Err(stale());
            }
            if let Some(folder) = to.parent() {
                std::fs::create_dir_all(folder).map_err(|error| failed(error.to_string()))?;
            }
            std::fs::rename(&path, &to).map_err(|error| failed(error.to_string()))?;
            remove_empty(empty_folders);
            Ok(())
        }
    }
}

/// Innermost first; the first that still holds something ends it.
fn remove_empty(folders: &[String]) {
    let mut folders = folders.iter().filter_map(|uri| path_of(uri));
    while folders.next().is_some_and(|folder| std::fs::remove_dir(folder).is_ok()) {}
}

/// Old or new, never half: a temporary file beside it, then a rename. Keeps the permissions.
fn replace(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let folder = path.parent().context("a file without a folder")?;
    let mut file = tempfile::Builder::new().prefix(".cairn-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.as_file().set_permissions(std::fs::metadata(path)?.permissions())?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use cairn_core::text::Text;

    use super::*;
    use crate::workspace::uri_of;

    #[tokio::test]
    async fn whole_files() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name);
        let uri = |name: &str| uri_of(&path(name)).expect("an absolute path");
        let change = async |name: &str, change: FileChange| {
            let params = ApplyEditParams { uri: uri(name), label: String::new(), change };
            apply(params).await.reason
        };
        let one = || hash(&Text::new("one\n"));
        let delete = |expected_hash: String, folders: &[&str]| FileChange::Delete {
            expected_hash,
            empty_folders: folders.iter().map(|name| uri(name)).collect(),
        };
        let rename = |to: &str, expected_hash: String| FileChange::Rename {
            to: uri(to),
            expected_hash,
            empty_folders: Vec::new(),
        };
        fs::write(path("a"), "one\n").expect("a file");
        fs::write(path("b"), "two\n").expect("a file");
        for (name, refused, expected) in [
            ("a", rename("b", one()), Some(RefusedEdit::Stale)),
            ("b", rename("c", one()), Some(RefusedEdit::Stale)),
            ("b", delete(one(), &[]), Some(RefusedEdit::Stale)),
            ("gone", delete(one(), &[]), Some(RefusedEdit::Closed)),
            ("a", rename("new/deep/a", one()), None),
            ("new/deep/a", delete(one(), &["new/deep", "new"]), None),
        ] {
            assert_eq!(change(name, refused.clone()).await, expected, "{name} {refused:?}");
        }
        let left = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(
            (left, fs::read_to_string(path("b")).expect("it is there")),
            (1, "two\n".into())
        );

        fs::set_permissions(path("b"), fs::Permissions::from_mode(0o444)).expect("ours");
        let two = || hash(&Text::new("two\n"));
        let edit =
            FileChange::Edit { expected_version: None, expected_hash: two(), edits: Vec::new() };
        for refused in [edit, delete(two(), &[]), rename("c", two())] {
            assert_eq!(change("b", refused).await, Some(RefusedEdit::ReadOnly));
        }
    }
}
