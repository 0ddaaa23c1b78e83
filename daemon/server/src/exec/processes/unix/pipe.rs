//! Pipe for the output of a command, read as it arrives.

use std::io;

use tokio::{io::AsyncReadExt, net::unix::pipe};

pub(in crate::exec) struct Reader {
    pipe: pipe::Receiver,
    buffer: [u8; 8192],
}

/// Creates a pipe: the end to read from, and the end for the command.
pub(in crate::exec) fn pipe() -> io::Result<(Reader, io::PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    let pipe = pipe::Receiver::from_owned_fd(reader.into())?;
    Ok((Reader { pipe, buffer: [0; 8192] }, writer))
}

impl Reader {
    /// Returns the next bytes; `None` when all writers are gone. Cancel safe: no bytes are lost.
    pub(in crate::exec) async fn next(&mut self) -> Option<&[u8]> {
        match self.pipe.read(&mut self.buffer).await {
            Ok(0) | Err(_) => None,
            Ok(count) => Some(&self.buffer[..count]),
        }
    }
}
