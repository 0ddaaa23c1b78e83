//! Edits on disk of files that no editor has open.
//!
//! An edit never overwrites a text other than the one it was made for, never leaves half a file,
//! and never follows a link.

use std::{fs::File, io, sync::Arc};

use cairn_core::{
    edit,
    text::{Decoded, FileEncoding, Position, Text, encode},
};
use cairn_protocol::{ApplyEditParams, ApplyEditResult, FileChange, RefusedEdit, TextEdit};

use crate::{
    ports::text_hash,
    workspace::{Done, ReadError, Workspace, WorkspacePath},
};

/// Applies a change to one file. The result holds the reason for a refusal. A success has the reason `Closed`:
/// the file was changed on the disk.
pub(crate) async fn apply(params: ApplyEditParams, workspace: Arc<Workspace>) -> ApplyEditResult {
    let applied = tokio::task::spawn_blocking(move || write(&params, &workspace)).await;
    let applied = applied.unwrap_or_else(|error| Err(Refusal::failed(error)));
    let (reason, message) = match applied {
        Ok(()) => (RefusedEdit::Closed, None),
        Err(Refusal { reason, message }) => (reason, Some(message)),
    };
    let applied = message.is_none();
    ApplyEditResult { applied, reason: Some(reason), message, was_dirty: false }
}

struct Refusal {
    reason: RefusedEdit,
    message: String,
}

impl Refusal {
    fn failed(message: impl ToString) -> Self {
        Self { reason: RefusedEdit::Failed, message: message.to_string() }
    }

    fn stale() -> Self {
        Self { reason: RefusedEdit::Stale, message: "the file is another one by now".into() }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AlreadyExists => Self::stale(),
            _ => Self::failed(error),
        }
    }
}

impl From<ReadError> for Refusal {
    fn from(error: ReadError) -> Self {
        let reason = match error {
            ReadError::NotText { .. } | ReadError::TooLarge { .. } => RefusedEdit::Failed,
            ReadError::Missing(_) | ReadError::NotRegular { .. } | ReadError::Io { .. } => {
                RefusedEdit::Closed
            }
        };
        Self { reason, message: error.to_string() }
    }
}

fn write(params: &ApplyEditParams, workspace: &Workspace) -> Result<(), Refusal> {
    // A link that replaced the path since the decision must not redirect the change.
    let path = workspace.exactly(&params.uri).map_err(Refusal::failed)?;
    match &params.change {
        FileChange::Create { text } => {
            let encoding = match &params.encoding {
                None => FileEncoding::UTF_8,
                Some(it) => FileEncoding::of_label(&it.name, it.bom).ok_or_else(|| {
                    Refusal::failed(format!("the encoding {} is not known", it.name))
                })?,
            };
            Ok(workspace
                .create_new(&path, &encode(&Text::new(text), encoding).map_err(Refusal::failed)?)?)
        }
        FileChange::Edit { expected_hash, edits, .. } => {
            let (decoded, file) = writable(workspace, &path)?;
            let new = if text_hash(&decoded.text) == *expected_hash {
                edited(decoded.text, edits)
            } else {
                // An editor shows one kind of line ending. Each line keeps its own.
                let text = decoded.text.to_string();
                let shown = shown(&text, expected_hash).ok_or_else(Refusal::stale)?;
                Text::new(&edit::rewrite(&text, &edited(shown, edits).to_string()))
            };
            let bytes = encode(&new, decoded.encoding).map_err(Refusal::failed)?;
            done(workspace.replace(&path, &file, &bytes)?)
        }
        FileChange::Delete { expected_hash, empty_folders } => {
            let (_, file) = expected(workspace, &path, expected_hash)?;
            done(workspace.remove(&path, &file)?)?;
            remove_empty(workspace, empty_folders);
            Ok(())
        }
        FileChange::Rename { to, expected_hash, empty_folders } => {
            let (_, file) = expected(workspace, &path, expected_hash)?;
            let to = workspace.exactly(to).map_err(Refusal::failed)?;
            if workspace.is_there(&to) {
                return Err(Refusal::stale());
            }
            done(workspace.rename(&path, &file, &to)?)?;
            remove_empty(workspace, empty_folders);
            Ok(())
        }
    }
}

/// Opens a writable file whose text has the expected hash.
fn expected(
    workspace: &Workspace,
    path: &WorkspacePath,
    expected_hash: &str,
) -> Result<(Decoded, File), Refusal> {
    let (decoded, file) = writable(workspace, path)?;
    if text_hash(&decoded.text) != expected_hash {
        shown(&decoded.text.to_string(), expected_hash).ok_or_else(Refusal::stale)?;
    }
    Ok((decoded, file))
}

fn writable(workspace: &Workspace, path: &WorkspacePath) -> Result<(Decoded, File), Refusal> {
    let (decoded, file) = workspace.open_text(path)?;
    // In a writable folder a file can be replaced whatever its own permissions are.
    if file.metadata()?.permissions().readonly() {
        let message = "the file is read-only".into();
        return Err(Refusal { reason: RefusedEdit::ReadOnly, message });
    }
    Ok((decoded, file))
}

/// Returns the text of a file as an editor shows it that knows one kind of line ending in a document,
/// if that has the expected hash.
fn shown(text: &str, expected_hash: &str) -> Option<Text> {
    ["\n", "\r\n"]
        .into_iter()
        .map(|ending| Text::new(&edit::with_endings(text, ending)))
        .find(|text| text_hash(text) == expected_hash)
}

/// Applies edits that ascend.
fn edited(mut text: Text, edits: &[TextEdit]) -> Text {
    for edit in edits.iter().rev() {
        let at = |position: cairn_protocol::Position| {
            text.char_of(Position { line: position.line, character: position.character })
        };
        let range = at(edit.range.start)..at(edit.range.end);
        text.replace(range, &edit.new_text);
    }
    text
}

fn done(done: Done) -> Result<(), Refusal> {
    match done {
        Done::Done => Ok(()),
        Done::Changed => Err(Refusal::stale()),
    }
}

/// Removes empty folders, innermost first, and stops at the first that is not empty.
fn remove_empty(workspace: &Workspace, folders: &[String]) {
    let removed = |uri: &String| {
        workspace.exactly(uri).is_ok_and(|folder| workspace.remove_empty(&folder).is_ok())
    };
    let _ = folders.iter().all(removed);
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use cairn_core::text::Text;

    use super::*;
    use crate::workspace::uri_of;

    #[tokio::test]
    async fn files_are_created_deleted_and_moved() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name);
        let uri = |name: &str| uri_of(&path(name)).expect("an absolute path");
        let workspace = Workspace::new(vec![folder.path().to_owned()]).expect("a workspace");
        let workspace = Arc::new(workspace);
        let change = async |name: &str, change: FileChange| {
            let params =
                ApplyEditParams { uri: uri(name), label: String::new(), encoding: None, change };
            let result = apply(params, Arc::clone(&workspace)).await;
            result.reason.filter(|_| !result.applied)
        };
        let one = || text_hash(&Text::new("one\n"));
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
        let two = || text_hash(&Text::new("two\n"));
        let edit =
            FileChange::Edit { expected_version: None, expected_hash: two(), edits: Vec::new() };
        for refused in [edit, delete(two(), &[]), rename("c", two())] {
            assert_eq!(change("b", refused).await, Some(RefusedEdit::ReadOnly));
        }
    }

    #[tokio::test]
    async fn each_line_keeps_its_ending_even_if_the_editor_shows_one_kind() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let workspace = Workspace::new(vec![folder.path().to_owned()]).expect("a workspace");
        let workspace = Arc::new(workspace);
        let path = folder.path().join("a");
        for shown in ["a\nb\nc\nd\n", "a\r\nb\r\nc\r\nd\r\n", "a\r\nb\nc\rd\n"] {
            fs::write(&path, "a\r\nb\nc\rd\n").expect("a file");
            let at = |line| cairn_protocol::Position { line, character: 0 };
            let edit = |line, text: &str| TextEdit {
                range: cairn_protocol::Range { start: at(line), end: at(line) },
                new_text: text.into(),
            };
            let change = FileChange::Edit {
                expected_version: None,
                expected_hash: text_hash(&Text::new(shown)),
                edits: vec![edit(1, "B"), edit(3, "C2\n")],
            };
            let uri = uri_of(&path).expect("an absolute path");
            let params = ApplyEditParams { uri, label: String::new(), encoding: None, change };
            assert!(apply(params, Arc::clone(&workspace)).await.applied, "{shown:?}");
            let after = fs::read_to_string(&path).expect("a file");
            let expected = if shown.contains('\r') && shown.contains("b\n") {
                "a\r\nBb\nc\rC2\nd\n"
            } else {
                "a\r\nBb\nc\rC2\rd\n"
            };
            assert_eq!(after, expected, "{shown:?}");
        }
    }

    #[tokio::test]
    async fn files_keep_their_encoding() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let workspace = Workspace::new(vec![folder.path().to_owned()]).expect("a workspace");
        let workspace = Arc::new(workspace);
        let path = folder.path().join("a");
        let uri = uri_of(&path).expect("an absolute path");
        // A line in GBK, and the same line with one more letter.
        let before =
            b"// \xd5\xe2\xca\xc7\xd2\xbb\xb8\xf6\xb2\xe2\xca\xd4\xce\xc4\xbc\xfe\r\nx\r\n";
        let text = "// 这是一个测试文件\r\nx\r\n";
        let gbk = Some(cairn_protocol::TextEncoding { name: "gbk".into(), bom: false });
        let change = async |encoding, change: FileChange| {
            let params =
                ApplyEditParams { uri: uri.clone(), label: String::new(), encoding, change };
            apply(params, Arc::clone(&workspace)).await
        };
        let create = FileChange::Create { text: text.into() };
        assert!(change(gbk, create).await.applied);
        assert_eq!(fs::read(&path).expect("it was made"), before);
        let insert = |new_text: &str| {
            let at = cairn_protocol::Position { line: 1, character: 1 };
            let range = cairn_protocol::Range { start: at, end: at };
            let edits = vec![cairn_protocol::TextEdit { range, new_text: new_text.into() }];
            FileChange::Edit {
                expected_version: None,
                expected_hash: text_hash(&Text::new(text)),
                edits,
            }
        };
        let refused = change(None, insert("😀")).await;
        assert_eq!(refused.reason, Some(RefusedEdit::Failed));
        assert!(refused.message.is_some_and(|message| message.contains("GBK has no `😀`")));
        assert_eq!(fs::read(&path).expect("it is there"), before);
        assert!(change(None, insert("y")).await.applied);
        let after = [&before[..before.len() - 2], b"y\r\n"].concat();
        assert_eq!(fs::read(&path).expect("it is there"), after);
    }
}
