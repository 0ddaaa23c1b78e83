//! Sandbox of commands: determines its backend before the first command needs it, and reports control
//! files that commands of a killed daemon left.

use std::sync::Arc;

use super::Sessions;

impl Sessions {
    /// Searches for control files that commands of a killed daemon left.
    pub(super) fn recover_commands(&self) {
        let Some(workspace) = self.services.workspace.clone() else { return };
        let sandbox_config = self.config.sandbox_config();
        let recover = move || sandbox_config.recover(workspace.folders());
        self.after(tokio::task::spawn_blocking(recover), |sessions, left, _| {
            if let Ok(left) = left {
                sessions.status.on_recovered_commands(&left);
            }
        });
    }

    /// Detects the backend before the first command needs it.
    pub(super) fn find_sandbox(&self) {
        let sandbox = Arc::clone(&self.config.sandbox);
        let backend = async move { sandbox.backend().await };
        self.after(backend, |sessions, found, _| sessions.status.on_sandbox_found(found));
    }
}
