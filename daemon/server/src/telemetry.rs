//! Tracing to stderr, which editors show in an output channel. Never to stdout: that is the
//! protocol's. Never document text or secrets.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// `CAIRN_LOG` takes the usual filter syntax; the default is this crate's information and
/// everyone's warnings.
pub fn start() {
    let filter =
        EnvFilter::try_from_env("CAIRN_LOG").unwrap_or_else(|_| EnvFilter::new("warn,cairn=info"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .finish();
    // A second start (in tests) keeps the first.
    let _ = tracing::subscriber::set_global_default(subscriber);
}
