//! Termination events on Windows: Ctrl-C, Ctrl-Break, a closed console, a logoff, a shutdown.

use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};

/// Resolves when one of these events arrives. From the first poll on they no longer kill the
/// process at once.
///
/// `also_hangup` has no effect: on Windows every process ends with its console.
pub async fn asked_to_end(_also_hangup: bool) -> std::io::Result<()> {
    let (mut interrupt, mut stop) = (ctrl_c()?, ctrl_break()?);
    let (mut close, mut logoff, mut shutdown) = (ctrl_close()?, ctrl_logoff()?, ctrl_shutdown()?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = stop.recv() => {}
        _ = close.recv() => {}
        _ = logoff.recv() => {}
        _ = shutdown.recv() => {}
    }
    Ok(())
}
