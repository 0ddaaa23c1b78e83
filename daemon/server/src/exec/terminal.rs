//! Pseudoterminal of a command, by rustix: its launcher gets the command's end as stdin and stdout,
//! and the first process in the sandbox makes it its controlling terminal. (A crate for terminals
//! starts the program itself, past the launcher.)

use std::{fs::File, io, os::fd::OwnedFd, sync::Arc};

/// Both ends of a terminal.
#[derive(Debug, Clone)]
pub struct Terminal {
    user: Arc<OwnedFd>,
    command: Arc<OwnedFd>,
}

impl Terminal {
    #[cfg(target_os = "linux")]
    pub(super) fn open() -> io::Result<Self> {
        use rustix::{
            fs::{OFlags, fcntl_getfl, fcntl_setfl},
            pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt},
            termios::{Winsize, tcsetwinsize},
        };
        /// Size that programs see.
        const SIZE: Winsize = Winsize { ws_row: 30, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let user = openpt(flags)?;
        grantpt(&user)?;
        unlockpt(&user)?;
        let command = ioctl_tiocgptpeer(&user, flags)?;
        tcsetwinsize(&command, SIZE)?;
        fcntl_setfl(&user, fcntl_getfl(&user)? | OFlags::NONBLOCK)?;
        Ok(Self { user: Arc::new(user), command: Arc::new(command) })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn open() -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "there are terminals only on Linux"))
    }

    /// Returns the end that the user reads and writes.
    pub(super) fn user_end(&self) -> io::Result<File> {
        Ok(self.user.try_clone()?.into())
    }

    /// Returns the end of the command.
    pub(super) fn command_end(&self) -> io::Result<OwnedFd> {
        self.command.try_clone()
    }
}
