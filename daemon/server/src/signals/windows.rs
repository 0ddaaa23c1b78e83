//! Ctrl-C and Ctrl-Break, a console that is closed, a user who logs off, a system that shuts down.

use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};

/// From the first poll on the process no longer dies of these; resolves when one comes.
///
/// Nobody survives the end of their console here, so it does not matter who serves an editor.
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
