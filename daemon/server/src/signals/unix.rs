//! The signals.

use tokio::signal::unix::{SignalKind, signal};

/// From the first poll on the process no longer dies of these; resolves when one comes.
///
/// A hangup is for who serves an editor. A run in a terminal may have been told to outlive it.
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
