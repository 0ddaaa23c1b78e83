//! Text of a file as the user sees it: the editor's buffer if there is one, else the disk.

use cairn_core::text::Text;

use super::{ToolContext, ToolFailure};
use crate::workspace::{ReadError, WorkspacePath};

pub(super) struct Snapshot {
    pub(super) text: Text,
    /// The buffer differs from the disk.
    pub(super) unsaved: bool,
    /// The editor decoded the file with a wrong encoding and shows replacement characters.
    pub(super) garbled: bool,
}

/// Reads the snapshot; `None` if the file does not exist. Blocks.
pub(super) fn look(
    context: &ToolContext,
    path: &WorkspacePath,
) -> Result<Option<Snapshot>, ToolFailure> {
    // Time has passed since the path was checked, maybe the time of an approval.
    context.workspace.recheck(path).map_err(ToolFailure::tell)?;
    let disk = context.workspace.read_text(path);
    if let Some(document) = context.docs.get(&path.key()) {
        // The user may have told the editor an encoding that the bytes alone do not tell.
        let (unsaved, utf8) = match &disk {
            Ok(disk) => (disk.text != document.text, disk.encoding.is_utf8()),
            Err(ReadError::NotText { .. }) => (false, false),
            Err(_) => (true, true),
        };
        let garbled = !utf8 && document.text.chunks().any(|chunk| chunk.contains('\u{fffd}'));
        return Ok(Some(Snapshot { text: document.text.clone(), unsaved, garbled }));
    }
    match disk {
        Ok(disk) => Ok(Some(Snapshot { text: disk.text, unsaved: false, garbled: false })),
        Err(ReadError::Missing(_)) => Ok(None),
        Err(error) => Err(ToolFailure::tell(error)),
    }
}

/// Error for a missing file, with similar names. Blocks.
pub(super) fn missing(context: &ToolContext, path: &WorkspacePath) -> ToolFailure {
    let similar = context.workspace.similar_to(path);
    let hint = if similar.is_empty() {
        "Use `glob` to find files.".to_owned()
    } else {
        let names: Vec<String> = similar.iter().map(|path| format!("`{path}`")).collect();
        format!("Similar: {}.", names.join(", "))
    };
    ToolFailure::Tell(format!("`{path}` does not exist. {hint}"))
}
