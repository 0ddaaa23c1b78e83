//! End of the process soon after its input closed, whatever hangs.
//!
//! Uses neither a lock nor the runtime, because either may be what hangs.

use std::{io, os::fd::AsFd, thread, time::Duration};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};

/// Time for the usual end, which takes at most one second. Editors kill the daemon after two.
const USUAL_END: Duration = Duration::from_millis(1500);
/// Time for the last action before the process is aborted.
const LAST_ACTION: Duration = Duration::from_millis(200);

/// Starts a thread that does a last action and ends the process if the input has been closed for some
/// time. The action may hang, too.
pub fn begin(
    input: impl AsFd + Send + 'static,
    last_action: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let watch = move || {
        if wait_until_closed(&input).is_ok() {
            thread::sleep(USUAL_END);
            // Where no thread can be made, the process ends without it.
            if thread::Builder::new().spawn(last_action).is_ok() {
                thread::sleep(LAST_ACTION);
            }
            std::process::abort();
        }
    };
    thread::Builder::new().name("watchdog".into()).spawn(watch).map(drop)
}

/// Waits until the other end of a pipe or a socket is closed, even if it still holds data. A file is
/// never closed.
fn wait_until_closed(input: &impl AsFd) -> Result<(), Errno> {
    loop {
        // Without flags, only the end is reported.
        let mut polled = [PollFd::new(input, PollFlags::empty())];
        match poll(&mut polled, None) {
            Ok(_) if polled[0].revents().is_empty() => {}
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, os::unix::net::UnixStream, sync::mpsc};

    use super::*;

    #[test]
    fn the_end_of_the_input_is_seen_even_if_nobody_reads_it() {
        let (pipe, mut pipe_end) = io::pipe().unwrap();
        let (socket, mut socket_end) = UnixStream::pair().unwrap();
        let (closed, seen) = mpsc::channel();
        let watch = |name: &'static str, input: std::os::fd::OwnedFd| {
            let closed = closed.clone();
            thread::spawn(move || {
                wait_until_closed(&input).unwrap();
                closed.send(name).unwrap();
            });
        };
        watch("pipe", pipe.into());
        watch("socket", socket.into());
        pipe_end.write_all(b"not read").unwrap();
        socket_end.write_all(b"not read").unwrap();
        drop(pipe_end);
        assert_eq!(seen.recv(), Ok("pipe"));
        drop(socket_end);
        assert_eq!(seen.recv(), Ok("socket"));
    }
}
