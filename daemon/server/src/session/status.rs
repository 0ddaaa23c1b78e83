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
            banners.push(Banner::new(StatusProblem::AnswersReplayed, "Answers are played from a script. To use a model, set an API key, export ANTHROPIC_API_KEY or OPENAI_API_KEY before the editor starts, or set cairn.model.baseUrl to a local server."));
        }
        if !self.config.trusted {
            banners.push(Banner::new(StatusProblem::UntrustedWorkspace, "This workspace is not trusted: the agent only reads in it, runs nothing and follows none of its instructions. Trust it in the editor to let the agent work."));
        }
        banners.extend(self.config.faults.iter().map(|fault| {
            let text = format!("Setting ignored: {fault}");
            Banner::new(fault.0.clone(), text)
        }));
        if self.config.key_refused {
            let (limit, total) = (secrets::LONGEST, secrets::MOST_ENTERED);
            let text = format!(
                "API key ignored: a key may have {limit} KiB, and all keys {total} KiB. Set a shorter one."
            );
            banners.push(Banner::new(StatusProblem::KeyTooLong { limit, total }, text));
        }
        if let Some(fault) = &self.status.storage_fault {
            let problem = StatusProblem::StorageFailed { reason: fault.clone() };
            banners.push(Banner::new(problem, format!("The session cannot be written down ({fault}). Until it can, the agent changes no file and runs no command.")));
        }
        if self.status.locked_by_other_window {
            banners.push(Banner::new(StatusProblem::WorkspaceOpenElsewhere, "Another window works in this folder. Its sessions can only be read here, and edits proposed in this window are not kept over a restart."));
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
                Ok(SandboxBackend::Seatbelt) => SandboxState::InSeatbelt,
                Err(reason) => SandboxState::NoSandboxWorks { reason: reason.clone() },
            }
        };
        Some(SandboxStatus { kind: state.kind(), text: english(&state), state })
    }

    /// Warns the user when commands run without a sandbox.
    fn sandbox_banner(&self) -> Option<Banner> {
        match self.sandbox_status()?.kind {
            SandboxKind::Bubblewrap | SandboxKind::Namespaces | SandboxKind::Seatbelt => None,
            SandboxKind::Off => Some(Banner::new(
                StatusProblem::SandboxOff { setting: "cairn.sandbox.mode".to_owned() },
                "The sandbox is turned off (cairn.sandbox.mode): commands can reach all your files and the network, so each is asked for.",
            )),
            SandboxKind::Missing => {
                let reason = self.status.backend.clone()?.err()?;
                let (problem, advice) = missing(reason.clone());
                Some(Banner::new(
                    problem,
                    format!(
                        "No sandbox works here ({reason}), so commands can reach all your files and the network, and each is asked for. {advice}"
                    ),
                ))
            }
        }
    }
}

/// English text of a state, for clients that do not know its code.
fn english(state: &SandboxState) -> String {
    let text = match state {
        SandboxState::InBubblewrap => "Commands run in a sandbox (bubblewrap).",
        SandboxState::InNamespaces => {
            "Commands run in a sandbox (Cairn's own; bubblewrap was not found or does not work)."
        }
        SandboxState::InSeatbelt => "Commands run in a sandbox (sandbox-exec).",
        SandboxState::NoSandboxBySetting => {
            "Commands run without a sandbox. Each needs your approval."
        }
        SandboxState::NoSandboxWorks { reason } => {
            return format!("Commands run without a sandbox. Each needs your approval. ({reason})");
        }
    };
    text.to_owned()
}

fn missing(reason: String) -> (StatusProblem, &'static str) {
    if cfg!(target_os = "linux") {
        (
            StatusProblem::SandboxMissing { reason },
            "Install bubblewrap (apt install bubblewrap, dnf install bubblewrap), then restart Cairn. On Ubuntu only /usr/bin/bwrap may make namespaces: install it from the system's packages.",
        )
    } else {
        (StatusProblem::SandboxUnsupported, "There is none for this system yet.")
    }
}
