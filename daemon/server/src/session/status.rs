//! Status of the daemon as the client is shown it.

use cairn_protocol::{Banner, BannerKind, Notice, SandboxKind, SandboxStatus, StatusNotification};

use super::Sessions;
use crate::exec::sandbox::SandboxBackend;

impl Sessions {
    /// Publishes the status if it changed since the last time.
    pub(crate) fn publish_status(&mut self) {
        if std::mem::take(&mut self.status.dirty) {
            self.services.notify(Notice::Status(self.status()));
        }
    }

    /// Status as of now.
    pub(crate) fn status(&self) -> StatusNotification {
        let model = self.config.choice.info.clone();
        let mut banners = Vec::new();
        if model.replay {
            banners.push(Banner {
                kind: BannerKind::Replay,
                text: "No model is configured: answers are played from a script. Add a model with Cairn: Set API Key, or set cairn.model.baseUrl to a local server.".into(),
            });
        }
        if !self.config.trusted {
            banners.push(Banner {
                kind: BannerKind::Untrusted,
                text: "This workspace is not trusted: the agent only reads in it, runs nothing and follows none of its instructions. Trust it in the editor to let the agent work.".into(),
            });
        }
        banners.extend(self.config.faults.iter().map(|fault| Banner {
            kind: BannerKind::Setting,
            text: format!("Setting ignored: {fault}"),
        }));
        if let Some(fault) = &self.status.storage_fault {
            banners.push(Banner {
                kind: BannerKind::Storage,
                text: format!("The session cannot be written down ({fault}). Until it can, the agent changes no file and runs no command."),
            });
        }
        if self.status.locked_by_other_window {
            banners.push(Banner {
                kind: BannerKind::Elsewhere,
                text: "Another window works in this folder. Its sessions can only be read here, and edits proposed in this window are not kept over a restart.".into(),
            });
        }
        banners.extend(self.sandbox_banner());
        banners.extend(
            self.status.recovered.clone().map(|text| Banner { kind: BannerKind::Sandbox, text }),
        );
        StatusNotification {
            rev: self.services.next_rev(),
            model,
            connection: self.status.connection.clone(),
            sandbox: self.sandbox_status(),
            banners,
        }
    }

    fn sandbox_status(&self) -> Option<SandboxStatus> {
        let status = |kind, text: String| Some(SandboxStatus { kind, text });
        if !self.config.settings.sandbox.on {
            return status(
                SandboxKind::Off,
                "Commands run without a sandbox, each after a question.".into(),
            );
        }
        match self.status.backend.as_ref()? {
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

    /// Warns the user when commands run without a sandbox.
    fn sandbox_banner(&self) -> Option<Banner> {
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
