//! Writer of the report, inside the sandbox or the guard.

use std::io::{self, Write};

use super::SIGN;
use crate::exec::Exit;

pub(in crate::exec) fn begun() -> io::Result<()> {
    tell("begun")
}

pub(in crate::exec) fn end(exit: Exit, left: usize) -> io::Result<()> {
    match exit {
        Exit::Code(code) => tell(&format!("exited {code} {left}")),
        Exit::Signal(signal) => tell(&format!("killed {signal} {left}")),
        Exit::TimedOut | Exit::Cancelled => Ok(()),
    }
}

pub(in crate::exec) fn crowded() -> io::Result<()> {
    tell("crowded")
}

fn tell(what: &str) -> io::Result<()> {
    io::stderr().write_all(format!("\n{SIGN} {what}\n").as_bytes())
}
