//! Sandbox of commands: determines its backend before the first command needs it, and reports control
//! files that commands of a killed daemon left.

use std::sync::Arc;

use super::{Sessions, event::SessionEvent};
impl Sessions {
    /// Searches for control files that commands of a killed daemon left.
    pub(super) fn recover_commands(&self) {
        let Some(workspace) = self.services.workspace.clone() else { return };
        let (sandbox_config, mailbox) = (self.config.sandbox_config(), self.mailbox.clone());
        let recover = move || sandbox_config.recover(workspace.folders());
        self.services.spawn(async move {
            if let Ok(left) = tokio::task::spawn_blocking(recover).await {
                mailbox.send(SessionEvent::Recovered(Box::new(left)));
            }
        });
    }

    /// Detects the backend before the first command needs it.
    pub(super) fn find_sandbox(&self) {
        let (sandbox, mailbox) = (Arc::clone(&self.config.sandbox), self.mailbox.clone());
        self.services
            .spawn(async move { mailbox.send(SessionEvent::Sandbox(sandbox.backend().await)) });
    }
}
