//! What is known of the box commands run in, and what the user is told of it.

use std::sync::Arc;

use cairn_protocol::{Banner, BannerKind, SandboxKind, SandboxStatus};

use super::{Event, Hub};
use crate::{
    exec::sandbox::{LeftBehind, Sandbox, SandboxBackend, SandboxConfig, Watch},
    model::choose::Environment,
};

/// Built with what the environment says; hides what Cairn keeps of other projects.
pub(super) fn of(environment: &Environment) -> Arc<Sandbox> {
    let hidden = environment.state_dir.clone().into_iter().collect();
    Arc::new(Sandbox::new(environment.program.clone(), environment.backends, hidden))
}

pub(super) fn watch_of(environment: &Environment) -> Arc<Watch> {
    Arc::new(Watch::new(environment.state_dir.clone()))
}

impl Hub {
    pub(super) fn walls(&self) -> SandboxConfig {
        SandboxConfig {
            sandbox: Arc::clone(&self.sandbox),
            watch: Arc::clone(&self.watch),
            settings: self.settings.sandbox.clone(),
        }
    }

    /// Looks for what a command left whose daemon was killed.
    pub(super) fn recover_commands(&self) {
        let Some(workspace) = self.workspace.clone() else { return };
        let (walls, handle) = (self.walls(), self.handle.clone());
        let recover = move || walls.recover(workspace.folders());
        self.spawn(async move {
            if let Ok(left) = tokio::task::spawn_blocking(recover).await {
                handle.send(Event::Recovered(Box::new(left)));
            }
        });
    }

    pub(super) fn recovered(&mut self, left: &LeftBehind) {
        let Some(folder) = left.folder() else { return };
        let lines = left.lines().join(", ");
        self.recovered = Some(format!(
            "Cairn was killed while a command ran. What the command left that git, an editor or a shell could run by itself was moved to {}: {lines}. Look at it before you move it back.{}",
            folder.display(),
            left.faults()
        ));
        self.status_dirty = true;
    }

    pub(super) fn recovered_banner(&self) -> Option<Banner> {
        let text = self.recovered.clone()?;
        Some(Banner { kind: BannerKind::Sandbox, text })
    }

    /// Long before the first command needs to know.
    pub(super) fn find_sandbox(&self) {
        let (sandbox, handle) = (Arc::clone(&self.sandbox), self.handle.clone());
        self.spawn(async move { handle.send(Event::Sandbox(sandbox.backend().await)) });
    }

    pub(super) fn sandbox_found(&mut self, found: Result<SandboxBackend, String>) {
        self.boxed_by = Some(found);
        self.status_dirty = true;
    }

    pub(super) fn sandbox_status(&self) -> Option<SandboxStatus> {
        let status = |kind, text: String| Some(SandboxStatus { kind, text });
        if !self.settings.sandbox.on {
            return status(
                SandboxKind::Off,
                "Commands run without a sandbox, each after a question.".into(),
            );
        }
        match self.boxed_by.as_ref()? {
            Ok(SandboxBackend::Bubblewrap) => {
                status(SandboxKind::Bubblewrap, "Commands run in a sandbox (bubblewrap).".into())
            }
            Ok(SandboxBackend::Namespaces) => status(
                SandboxKind::Namespaces,
                "Commands run in a sandbox (Cairn's own; bubblewrap was not found or does not work)."
                    .into(),
            ),
            Ok(SandboxBackend::Seatbelt) => {
                status(SandboxKind::Seatbelt, "Commands run in a sandbox (sandbox-exec).".into())
            }
            Err(reason) => status(
                SandboxKind::Missing,
                format!("Commands run without a sandbox, each after a question: {reason}."),
            ),
        }
    }

    /// Whoever runs commands without a box shall know it.
    pub(super) fn sandbox_banner(&self) -> Option<Banner> {
        let text = match self.sandbox_status()?.kind {
            SandboxKind::Bubblewrap | SandboxKind::Namespaces | SandboxKind::Seatbelt => {
                return None;
            }
            SandboxKind::Off => "The sandbox is turned off (cairn.sandbox.mode): commands can reach all your files and the network, so each is asked for.".to_owned(),
            SandboxKind::Missing => format!("No sandbox works here, so commands can reach all your files and the network, and each is asked for. {}", advice()),
        };
        Some(Banner { kind: BannerKind::Sandbox, text })
    }
}

fn advice() -> &'static str {
    if cfg!(target_os = "linux") {
        "Install bubblewrap (apt install bubblewrap, dnf install bubblewrap), then restart Cairn. On Ubuntu only /usr/bin/bwrap may make namespaces: install it from the system's packages."
    } else {
        "There is none for this system yet."
    }
}
