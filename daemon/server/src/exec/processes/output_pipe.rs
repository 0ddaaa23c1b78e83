//! Pipe for the output of a command, read as it arrives. On Windows a thread reads, because a pipe
//! cannot be awaited there.

use std::io;

#[cfg(windows)]
use tokio::sync::mpsc::{Receiver, channel};
#[cfg(unix)]
use tokio::{io::AsyncReadExt, net::unix::pipe::Receiver};

use crate::exec::input::CommandInput;

const CHUNK_BYTES: usize = 8192;
/// Chunks in the queue. A command that prints faster than they are read blocks.
#[cfg(windows)]
const MAX_QUEUED_CHUNKS: usize = 4;

pub(in crate::exec) struct OutputReader {
    #[cfg(unix)]
    pipe: Receiver,
    #[cfg(unix)]
    buffer: [u8; CHUNK_BYTES],
    #[cfg(windows)]
    chunks: Receiver<Vec<u8>>,
    #[cfg(windows)]
    last: Vec<u8>,
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
#[cfg(unix)]
fn output_pipe() -> io::Result<(OutputReader, io::PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    let pipe = Receiver::from_owned_fd(reader.into())?;
    Ok((OutputReader { pipe, buffer: [0; CHUNK_BYTES] }, writer))
}

/// Creates a pipe: the end to read from, and the end for the command.
#[cfg(windows)]
fn output_pipe() -> io::Result<(OutputReader, io::PipeWriter)> {
    use std::io::Read;
    let (mut reader, writer) = io::pipe()?;
    let (sender, chunks) = channel(MAX_QUEUED_CHUNKS);
    let read_to_end = move || {
        let mut buffer = [0; CHUNK_BYTES];
        loop {
            match reader.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return,
                Ok(count) => {
                    if sender.blocking_send(buffer[..count].to_vec()).is_err() {
                        return;
                    }
                }
            }
        }
    };
    std::thread::Builder::new().name("read-output".to_owned()).spawn(read_to_end)?;
    Ok((OutputReader { chunks, last: Vec::new() }, writer))
}

impl OutputReader {
    /// Returns the next bytes; `None` when all writers are gone. Cancel safe: no bytes are lost.
    pub(in crate::exec) async fn next(&mut self) -> Option<&[u8]> {
        #[cfg(unix)]
        match self.pipe.read(&mut self.buffer).await {
            Ok(0) | Err(_) => None,
            Ok(count) => Some(&self.buffer[..count]),
        }
        #[cfg(windows)]
        {
            self.last = self.chunks.recv().await?;
            Some(&self.last)
        }
    }
}
