//! Pseudoterminal of a command, by rustix: its launcher gets the command's end as stdin and stdout,
//! and the first process in the sandbox makes it its controlling terminal. (A crate for terminals
//! starts the program itself, past the launcher.)

#[cfg(target_os = "linux")]
use std::{fs::File, io, os::fd::OwnedFd, sync::Arc};

#[cfg(target_os = "linux")]
use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

/// Size that programs see.
#[cfg(target_os = "linux")]
const SIZE: Winsize = Winsize { ws_row: 30, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };

/// Both ends of a terminal.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone)]
pub struct Terminal {
    user: Arc<OwnedFd>,
    command: Arc<OwnedFd>,
}

#[cfg(target_os = "linux")]
impl Terminal {
    pub(super) fn open() -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let user = openpt(flags)?;
        grantpt(&user)?;
        unlockpt(&user)?;
        let command = ioctl_tiocgptpeer(&user, flags)?;
        tcsetwinsize(&command, SIZE)?;
        fcntl_setfl(&user, fcntl_getfl(&user)? | OFlags::NONBLOCK)?;
        Ok(Self { user: Arc::new(user), command: Arc::new(command) })
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

#[cfg(not(target_os = "linux"))]
pub(super) use std::convert::Infallible as Terminal;
