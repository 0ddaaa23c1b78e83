//! Pipe for the output of a command, read as it arrives.

use std::io;

use tokio::{io::AsyncReadExt, net::unix::pipe::Receiver};

use crate::exec::input::CommandInput;

const CHUNK_BYTES: usize = 8192;

pub(in crate::exec) struct OutputReader {
    pipe: Receiver,
    buffer: [u8; CHUNK_BYTES],
}

/// Creates the output of a command with this input: the end to read from, and the end for the
/// command. Both are a pipe's, or those of the terminal.
pub(in crate::exec) fn output_of(
    input: &CommandInput,
) -> io::Result<(OutputReader, io::PipeWriter)> {
    match input {
        CommandInput::Text(_) | CommandInput::Pipe(_) => output_pipe(),
        #[cfg(target_os = "linux")]
        CommandInput::Terminal(terminal) => {
            let pipe = Receiver::from_file_unchecked(terminal.user_end()?)?;
            let reader = OutputReader { pipe, buffer: [0; CHUNK_BYTES] };
            Ok((reader, terminal.command_end()?.into()))
        }
        #[cfg(not(target_os = "linux"))]
        CommandInput::Terminal(never) => match *never {},
    }
}

/// Creates a pipe: the end to read from, and the end for the command.
fn output_pipe() -> io::Result<(OutputReader, io::PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    let pipe = Receiver::from_owned_fd(reader.into())?;
    Ok((OutputReader { pipe, buffer: [0; CHUNK_BYTES] }, writer))
}

impl OutputReader {
    /// Returns the next bytes; `None` when all writers are gone. Cancel safe: no bytes are lost.
    pub(in crate::exec) async fn next(&mut self) -> Option<&[u8]> {
        match self.pipe.read(&mut self.buffer).await {
            Ok(0) | Err(_) => None,
            Ok(count) => Some(&self.buffer[..count]),
        }
    }
}
