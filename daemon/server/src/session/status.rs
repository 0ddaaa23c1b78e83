//! Status of the daemon for the client.

use cairn_protocol::{
    Banner, Notice, SandboxKind, SandboxState, SandboxStatus, StatusNotification, StatusProblem,
};

use super::Sessions;
use crate::{exec::sandbox::SandboxBackend, secrets};

impl Sessions {
    /// Publishes the status if it changed since the last time.
    pub(crate) fn publish_status(&mut self) {
        if std::mem::take(&mut self.status.dirty) {
            self.services.notify(Notice::Status(self.status()));
        }
    }

    /// Returns the present status.
    pub(crate) fn status(&self) -> StatusNotification {
        let model = self.config.choice.info.clone();
        let mut banners = Vec::new();
        if model.replay {
            banners.push(Banner::from(&StatusProblem::AnswersReplayed));
        }
        if !self.config.trusted {
            banners.push(Banner::from(&StatusProblem::UntrustedWorkspace));
        }
        banners.extend(self.config.faults.iter().map(Banner::from));
        if self.config.key_refused {
            let (limit, total) = (secrets::LONGEST, secrets::MOST_ENTERED);
            banners.push(Banner::from(&StatusProblem::KeyTooLong { limit, total }));
        }
        if let Some(fault) = &self.status.storage_fault {
            let problem = StatusProblem::StorageFailed { reason: fault.clone() };
            banners.push(Banner::from(&problem));
        }
        if self.status.locked_by_other_window {
            banners.push(Banner::from(&StatusProblem::WorkspaceOpenElsewhere));
        }
        banners.extend(self.sandbox_banner());
        banners.extend(self.status.recovered.clone());
        StatusNotification {
            rev: self.services.next_rev(),
            model,
            connection: self.status.connection.clone(),
            sandbox: self.sandbox_status(),
            banners,
        }
    }

    fn sandbox_status(&self) -> Option<SandboxStatus> {
        let state = if !self.config.settings.sandbox.on {
            SandboxState::NoSandboxBySetting
        } else {
            match self.status.backend.as_ref()? {
                Ok(SandboxBackend::Bubblewrap) => SandboxState::InBubblewrap,
                Ok(SandboxBackend::Namespaces) => SandboxState::InNamespaces,
                Err(reason) => SandboxState::NoSandboxWorks { reason: reason.clone() },
            }
        };
        Some(SandboxStatus::from(&state))
    }

    /// Warns the user when commands run without a sandbox.
    fn sandbox_banner(&self) -> Option<Banner> {
        match self.sandbox_status()?.kind {
            SandboxKind::Bubblewrap | SandboxKind::Namespaces => None,
            SandboxKind::Off => Some(Banner::from(&StatusProblem::SandboxOff {
                setting: "cairn.sandbox.mode".to_owned(),
            })),
            SandboxKind::Missing => {
                let reason = self.status.backend.clone()?.err()?;
                Some(Banner::from(&missing(reason)))
            }
        }
    }
}

fn missing(reason: String) -> StatusProblem {
    match cfg!(target_os = "linux") {
        true => StatusProblem::SandboxMissing { reason },
        false => StatusProblem::SandboxUnsupported,
    }
}
