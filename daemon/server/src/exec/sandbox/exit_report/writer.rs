//! Writer of the report, inside the sandbox or the guard. Its stderr is the pipe to the daemon.

use std::io::{self, Write};

use super::PREFIX;
use crate::exec::command::Exit;

pub(in crate::exec) fn begun() -> io::Result<()> {
    write("begun")
}

pub(in crate::exec) fn ended(exit: Exit, left_running: usize) -> io::Result<()> {
    match exit {
        Exit::Code(code) => write(&format!("exited {code} {left_running}")),
        Exit::Signal(signal) => write(&format!("killed {signal} {left_running}")),
        Exit::TimedOut | Exit::Cancelled => Ok(()),
    }
}

pub(in crate::exec) fn too_many_processes() -> io::Result<()> {
    write("crowded")
}

/// Writes one line. It begins with a line break, because an error before it may lack one.
fn write(report: &str) -> io::Result<()> {
    io::stderr().write_all(format!("\n{PREFIX} {report}\n").as_bytes())
}
