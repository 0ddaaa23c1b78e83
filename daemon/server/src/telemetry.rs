//! Tracing to stderr, which editors show in an output channel. Never to stdout: that is the
//! protocol's. Never document text; and whatever is said is cleaned of the keys we know.

use std::{backtrace::Backtrace, io::IsTerminal, io::Write, panic::PanicHookInfo};

use tracing_subscriber::EnvFilter;

use crate::secrets::CleanStderr;

/// `CAIRN_LOG` takes the usual filter syntax; the default is this crate's information and
/// everyone's warnings.
pub fn start() {
    let filter =
        EnvFilter::try_from_env("CAIRN_LOG").unwrap_or_else(|_| EnvFilter::new("warn,cairn=info"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| CleanStderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .finish();
    // A second start (in tests) keeps the first.
    let _ = tracing::subscriber::set_global_default(subscriber);
    std::panic::set_hook(Box::new(panicked));
}

/// As the usual hook tells it, but cleaned: a message may quote what it was about.
fn panicked(info: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("unnamed");
    let trace = Backtrace::capture().to_string();
    let _ = CleanStderr.write_all(format!("thread '{name}': {info}\n{trace}\n").as_bytes());
}
