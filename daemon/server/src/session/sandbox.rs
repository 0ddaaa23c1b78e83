//! Sandbox of commands: determines its backend before the first command needs it, and reports control
//! files that commands of a killed daemon left.

use std::sync::Arc;

use super::{Sessions, event::SessionEvent};
use cairn_protocol::{Banner, StatusProblem};

use crate::exec::sandbox::{QuarantineReport, SandboxBackend, SandboxConfig, shown_path};

impl Sessions {
    pub(super) fn sandbox_config(&self) -> SandboxConfig {
        SandboxConfig {
            sandbox: Arc::clone(&self.sandbox),
            watch: Arc::clone(&self.watch),
            settings: self.config.settings.sandbox.clone(),
        }
    }

    /// Searches for control files that commands of a killed daemon left.
    pub(super) fn recover_commands(&self) {
        let Some(workspace) = self.services.workspace.clone() else { return };
        let (sandbox_config, mailbox) = (self.sandbox_config(), self.mailbox.clone());
        let recover = move || sandbox_config.recover(workspace.folders());
        self.services.spawn(async move {
            if let Ok(left) = tokio::task::spawn_blocking(recover).await {
                mailbox.send(SessionEvent::Recovered(Box::new(left)));
            }
        });
    }

    pub(super) fn on_recovered_commands(&mut self, left: &QuarantineReport) {
        let Some(folder) = left.folder() else { return };
        let (folder, faults) = (folder.display().to_string(), left.faults());
        let files = left.entries(shown_path);
        let problem = StatusProblem::LeftoversQuarantined { folder, files, faults };
        self.status.recovered = Some(Banner::from(&problem));
        self.status.dirty = true;
    }

    /// Detects the backend before the first command needs it.
    pub(super) fn find_sandbox(&self) {
        let (sandbox, mailbox) = (Arc::clone(&self.sandbox), self.mailbox.clone());
        self.services
            .spawn(async move { mailbox.send(SessionEvent::Sandbox(sandbox.backend().await)) });
    }

    pub(super) fn on_sandbox_found(&mut self, found: Result<SandboxBackend, String>) {
        self.status.backend = Some(found);
        self.status.dirty = true;
    }
}
