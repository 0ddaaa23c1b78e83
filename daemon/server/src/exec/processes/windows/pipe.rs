//! Pipe for the output of a command. A thread reads it, because a pipe on Windows cannot be
//! awaited.

use std::{
    io::{self, Read},
    thread,
};

use tokio::sync::mpsc;

/// Chunks in the queue. A command that prints faster than they are read blocks.
const WAITING: usize = 4;

pub(in crate::exec) struct Reader {
    chunks: mpsc::Receiver<Vec<u8>>,
    last: Vec<u8>,
}

/// Creates a pipe: the end to read from, and the end for the command.
pub(in crate::exec) fn pipe() -> io::Result<(Reader, io::PipeWriter)> {
    let (mut reader, writer) = io::pipe()?;
    let (sender, chunks) = mpsc::channel(WAITING);
    let work = move || {
        let mut buffer = [0; 8192];
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
    thread::Builder::new().name("reads-output".to_owned()).spawn(work)?;
    Ok((Reader { chunks, last: Vec::new() }, writer))
}

impl Reader {
    /// Returns the next bytes; `None` when all writers are gone. Cancel safe: no bytes are lost.
    pub(in crate::exec) async fn next(&mut self) -> Option<&[u8]> {
        self.last = self.chunks.recv().await?;
        Some(&self.last)
    }
}
