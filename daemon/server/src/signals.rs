//! Requests to end this process. It must not die of them at once: its commands would survive.

use tokio::signal::unix::{SignalKind, signal};

/// Resolves when SIGTERM, SIGINT or, with `also_hangup`, SIGHUP arrives. From the first poll on
/// these signals no longer kill the process.
///
/// The language server ends on a hangup. A run in a terminal may have been started with `nohup`.
pub async fn asked_to_end(also_hangup: bool) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let hangup = async {
        if also_hangup {
            signal(SignalKind::hangup())?.recv().await;
            return Ok(());
        }
        std::future::pending().await
    };
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        hung_up = hangup => hung_up,
    }
}
