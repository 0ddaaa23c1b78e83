//! The text of a file as the user sees it: the editor's buffer if it has one, else the disk.

use cairn_core::text::Text;

use super::{ToolContext, ToolFailure};
use crate::workspace::{ReadError, WorkspacePath};

pub(super) struct Snapshot {
    pub(super) text: Text,
    /// The buffer differs from the disk.
    pub(super) unsaved: bool,
}

/// `None` when there is no such file. Blocks.
pub(super) fn look(
    context: &ToolContext,
    path: &WorkspacePath,
) -> Result<Option<Snapshot>, ToolFailure> {
    // Time has passed since the path was checked, maybe the time of an approval.
    context.workspace.recheck(path).map_err(ToolFailure::tell)?;
    let disk = context.workspace.read_text(path);
    if let Err(error @ ReadError::NotText { .. }) = disk {
        // The editor may show it all the same, in an encoding it guessed.
        return Err(ToolFailure::tell(error));
    }
    if let Some(document) = context.docs.get(&path.uri()) {
        let unsaved = !disk.is_ok_and(|disk| disk.text == document.text);
        return Ok(Some(Snapshot { text: document.text.clone(), unsaved }));
    }
    match disk {
        Ok(disk) => Ok(Some(Snapshot { text: disk.text, unsaved: false })),
        Err(ReadError::Missing(_)) => Ok(None),
        Err(error) => Err(ToolFailure::tell(error)),
    }
}

/// Says that a file is missing, and which ones the model may mean. Blocks.
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

/// Runs what blocks on the disk where it may block.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolFailure> + Send + 'static,
) -> Result<T, ToolFailure> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(ToolFailure::Fatal(error.into())),
    }
}
