//! Standard input of a command.

use std::{
    io::{self, Seek, Write},
    process::Stdio,
};

/// Returns a temporary file with this text. Unlike a pipe, it needs no writer while the command
/// runs.
pub(super) fn stdin(text: &str) -> io::Result<Stdio> {
    if text.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file.into())
}
