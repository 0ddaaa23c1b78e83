//! The standard streams. Those of an editor are pipes or sockets, for which no thread has to wait: each message
//! switches threads twice less.

use std::{
    io,
    os::fd::{BorrowedFd, OwnedFd},
};

use rustix::{
    fs::{FileType, fstat},
    io::ioctl_fionbio,
    stdio::{stdin, stdout},
};
use tokio::{
    fs::File,
    io::{AsyncRead, AsyncWrite},
    net::unix::pipe::{Receiver, Sender},
};

type Input = Box<dyn AsyncRead + Unpin + Send>;
type Output = Box<dyn AsyncWrite + Unpin + Send>;

/// Opens standard input and output. Panics outside of a runtime.
pub fn open() -> io::Result<(Input, Output)> {
    // Not `tokio::io::stdout`: it has a buffer of lines, which splits each message into two writes.
    let output = stdout().try_clone_to_owned()?;
    Ok((
        match polled(stdin())? {
            Some(input) => Box::new(Receiver::from_owned_fd_unchecked(input)?),
            None => Box::new(tokio::io::stdin()),
        },
        match polled(stdout())? {
            Some(output) => Box::new(Sender::from_owned_fd_unchecked(output)?),
            None => Box::new(File::from_std(output.into())),
        },
    ))
}

/// Makes a pipe or a socket answer at once. `None`: a file cannot, and a terminal belongs to others, too.
fn polled(stream: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    let kind = FileType::from_raw_mode(fstat(stream)?.st_mode);
    if !kind.is_fifo() && !kind.is_socket() {
        return Ok(None);
    }
    ioctl_fionbio(stream, true)?;
    stream.try_clone_to_owned().map(Some)
}
