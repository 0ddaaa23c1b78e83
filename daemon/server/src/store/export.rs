//! Export of a session as Markdown, or as a script for the `replay` provider.
//!
//! Writes while it reads the journal line by line, so memory does not grow with the session. Texts of
//! models and tools are never read as Markdown: each is in a fence longer than any fence in it.

use std::{
    io::{self, BufWriter, Read, Seek, Write},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use cairn_core::ids::SessionId;
use cairn_protocol::ExportFormat;

use super::{
    files::create_folder,
    journal,
    sessions::{self, Line},
};
use crate::secrets;

mod markdown;
mod replay;

/// Result of an export.
#[derive(Debug)]
pub enum Exported {
    Text(String),
    /// File with an export that is longer than [`LONGEST`].
    File(PathBuf),
}

/// Longest export that is returned as text, in bytes.
const LONGEST: u64 = 4 * 1024 * 1024;

/// Writer of one format. Receives the lines of a journal in order.
trait Form {
    fn line(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()>;
    /// Ends the export. `left_out` is the number of lines that could not be read.
    fn end(&mut self, left_out: u64, out: &mut dyn Write) -> io::Result<()>;
}

/// Exports a session. A long export stays in the folder `exports`, and the next one of the same
/// session and format replaces it.
pub fn export(folder: &Path, id: &SessionId, format: ExportFormat) -> io::Result<Exported> {
    let exports = folder.join("exports");
    create_folder(&exports)?;
    // Made 0600.
    let mut file = tempfile::NamedTempFile::new_in(&exports)?;
    write(&sessions::journal_path(folder, id), format, file.as_file_mut())?;
    let length = file.as_file().metadata()?.len();
    if length <= LONGEST {
        let mut text = String::new();
        file.rewind()?;
        file.read_to_string(&mut text)?;
        return Ok(Exported::Text(text));
    }
    let path = path(folder, id, format);
    file.persist(&path)?;
    Ok(Exported::File(path))
}

/// Removes the exports of a deleted session.
pub fn forget(folder: &Path, id: &SessionId) {
    for format in [ExportFormat::Markdown, ExportFormat::Replay] {
        // Most sessions have no export.
        let _ = std::fs::remove_file(path(folder, id, format));
    }
}

fn path(folder: &Path, id: &SessionId, format: ExportFormat) -> PathBuf {
    let name = match format {
        ExportFormat::Markdown => format!("{id}.md"),
        ExportFormat::Replay => format!("{id}.json"),
    };
    folder.join("exports").join(name)
}

fn write(journal: &Path, format: ExportFormat, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let mut form: Box<dyn Form> = match format {
        ExportFormat::Markdown => Box::new(markdown::Markdown::default()),
        ExportFormat::Replay => Box::new(replay::Replay::default()),
    };
    let mut unknown = 0;
    // A key that became known after a line was written is still in the journal.
    let redactor = secrets::redactor();
    let recovery = journal::read(journal, |record| {
        match serde_json::from_slice(&redactor.bytes(record.json)) {
            Ok(line) => form.line(line, &mut out)?,
            Err(_) => unknown += 1,
        }
        Ok(ControlFlow::Continue(()))
    })?;
    form.end(unknown + recovery.lost, &mut out)?;
    out.flush()
}

#[cfg(test)]
mod tests;
