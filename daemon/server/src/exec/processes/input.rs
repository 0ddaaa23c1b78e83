//! Standard input of a command.

use std::{
    io::{self, Seek, Write},
    process::Stdio,
};

use crate::exec::input::CommandInput;

pub(super) fn stdin(input: &CommandInput) -> io::Result<Stdio> {
    match input {
        CommandInput::Text(text) => file_with(text),
        CommandInput::Pipe(reader) => Ok(reader.try_clone()?.into()),
        #[cfg(target_os = "linux")]
        CommandInput::Terminal(terminal) => Ok(terminal.command_end()?.into()),
        #[cfg(not(target_os = "linux"))]
        CommandInput::Terminal(never) => match *never {},
    }
}

/// Returns a temporary file with this text. Unlike a pipe, it needs no writer while the command
/// runs.
fn file_with(text: &str) -> io::Result<Stdio> {
    if text.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file.into())
}
