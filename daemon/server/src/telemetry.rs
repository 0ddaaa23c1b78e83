//! Tracing to stderr, which editors show in an output channel. Never writes to stdout, which
//! belongs to the protocol. Never logs document text. Known keys are removed from every line.

use std::{backtrace::Backtrace, io::Write, panic::PanicHookInfo};

use tracing_subscriber::EnvFilter;

use crate::secrets::CleanStderr;

/// Filter for an editor, which keeps the log in a separate channel.
pub const OF_EDITOR: &str = "warn,cairn=info";
/// Filter for a terminal: a run tells its own warnings.
pub const OF_TERMINAL: &str = "error";

/// Starts tracing and installs the panic hook. `CAIRN_LOG` holds a filter in the syntax of
/// `EnvFilter`, instead of the given one.
pub fn start(usual: &str) {
    let filter = EnvFilter::try_from_env("CAIRN_LOG").unwrap_or_else(|_| EnvFilter::new(usual));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| CleanStderr)
        // Colours need a feature of the library that nothing else needs.
        .with_ansi(false)
        .with_target(false)
        // It would print them to stderr and panic if that is closed, as it is after an editor was killed.
        .log_internal_errors(false)
        .finish();
    // A second start (in tests) keeps the first.
    let _ = tracing::subscriber::set_global_default(subscriber);
    std::panic::set_hook(Box::new(panicked));
}

/// Prints a panic like the default hook, but without keys: the message may quote one.
fn panicked(info: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("unnamed");
    let trace = Backtrace::capture().to_string();
    let _ = CleanStderr.write_all(format!("thread '{name}': {info}\n{trace}\n").as_bytes());
}
