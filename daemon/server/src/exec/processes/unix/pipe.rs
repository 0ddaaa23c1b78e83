//! What a command prints, read as it comes.

use std::io;

use tokio::{io::AsyncReadExt, net::unix::pipe};

pub(in crate::exec) struct Reader {
    pipe: pipe::Receiver,
    buffer: [u8; 8192],
}

/// The end to read from, and the one the command gets.
pub(in crate::exec) fn pipe() -> io::Result<(Reader, io::PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    let pipe = pipe::Receiver::from_owned_fd(reader.into())?;
    Ok((Reader { pipe, buffer: [0; 8192] }, writer))
}

impl Reader {
    /// `None` when nobody can write any more. Cancel safe: nothing that was read is lost.
    pub(in crate::exec) async fn next(&mut self) -> Option<&[u8]> {
        match self.pipe.read(&mut self.buffer).await {
            Ok(0) | Err(_) => None,
            Ok(count) => Some(&self.buffer[..count]),
        }
    }
}
