//! The sandbox of commands: found long before the first command, and what a killed daemon's commands
//! left.

use std::sync::Arc;

use super::{Sessions, event::SessionEvent};
use crate::exec::sandbox::{LeftBehind, SandboxBackend, SandboxConfig, shown_path};

impl Sessions {
    pub(super) fn walls(&self) -> SandboxConfig {
        SandboxConfig {
            sandbox: Arc::clone(&self.sandbox),
            watch: Arc::clone(&self.watch),
            settings: self.config.settings.sandbox.clone(),
        }
    }

    /// Looks for what a command left whose daemon was killed.
    pub(super) fn recover_commands(&self) {
        let Some(workspace) = self.services.workspace.clone() else { return };
        let (walls, mailbox) = (self.walls(), self.mailbox.clone());
        let recover = move || walls.recover(workspace.folders());
        self.services.spawn(async move {
            if let Ok(left) = tokio::task::spawn_blocking(recover).await {
                mailbox.send(SessionEvent::Recovered(Box::new(left)));
            }
        });
    }

    pub(super) fn recovered(&mut self, left: &LeftBehind) {
        let Some(folder) = left.folder() else { return };
        let lines = left.lines(shown_path).join(", ");
        self.status.recovered = Some(format!(
            "Cairn was killed while a command ran. What the command left that git, an editor or a shell could run by itself was moved to {}: {lines}. Look at it before you move it back.{}",
            folder.display(),
            left.faults()
        ));
        self.status.dirty = true;
    }

    /// Long before the first command needs to know.
    pub(super) fn find_sandbox(&self) {
        let (sandbox, mailbox) = (Arc::clone(&self.sandbox), self.mailbox.clone());
        self.services
            .spawn(async move { mailbox.send(SessionEvent::Sandbox(sandbox.backend().await)) });
    }

    pub(super) fn sandbox_found(&mut self, found: Result<SandboxBackend, String>) {
        self.status.backend = Some(found);
        self.status.dirty = true;
    }
}
