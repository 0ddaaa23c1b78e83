//! Status of the daemon for the client.

use cairn_protocol::{
    Banner, Connection, SandboxState, SandboxStatus, StatusNotification, StatusProblem,
};

use super::configuration::Configuration;
use crate::{
    exec::sandbox::{QuarantineReport, SandboxBackend, shown_path},
    secrets,
    store::journal,
};

/// Part of the daemon's status besides settings and model.
#[derive(Default)]
pub(super) struct DaemonStatus {
    pub(super) dirty: bool,
    connection: Connection,
    storage_fault: Option<String>,
    /// True if another window holds the stored state of this workspace.
    locked_by_other_window: bool,
    /// Files left by a command whose daemon was killed.
    recovered: Option<Banner>,
    /// Backend of the sandbox once it is known, or the reason for having none.
    backend: Option<Result<SandboxBackend, String>>,
}

impl DaemonStatus {
    pub(super) fn connect(&mut self, connection: Connection) {
        self.dirty |= self.connection != connection;
        self.connection = connection;
    }

    pub(super) fn on_locked_by_other_window(&mut self) {
        (self.locked_by_other_window, self.dirty) = (true, true);
    }

    pub(super) fn on_storage(&mut self, state: journal::State) {
        let fault = match state {
            journal::State::Well => None,
            journal::State::Failing(reason) => Some(reason),
            journal::State::Full => Some("too much waits to be saved".into()),
        };
        self.dirty |= self.storage_fault != fault;
        self.storage_fault = fault;
    }

    pub(super) fn on_recovered_commands(&mut self, left: &QuarantineReport) {
        let Some(folder) = left.folder() else { return };
        let (folder, faults) = (folder.display().to_string(), left.faults());
        let files = left.entries(shown_path);
        let problem = StatusProblem::LeftoversQuarantined { folder, files, faults };
        (self.recovered, self.dirty) = (Some(Banner::from(&problem)), true);
    }

    pub(super) fn on_sandbox_found(&mut self, found: Result<SandboxBackend, String>) {
        (self.backend, self.dirty) = (Some(found), true);
    }

    /// Returns the present status.
    pub(super) fn note(&self, rev: u32, config: &Configuration) -> StatusNotification {
        let model = config.choice.info.clone();
        let mut banners = Vec::new();
        if model.replay {
            banners.push(Banner::from(&StatusProblem::AnswersReplayed));
        }
        if !config.trusted {
            banners.push(Banner::from(&StatusProblem::UntrustedWorkspace));
        }
        banners.extend(config.faults.iter().map(Banner::from));
        if config.key_refused {
            let (limit, total) = (secrets::LONGEST, secrets::MOST_ENTERED);
            banners.push(Banner::from(&StatusProblem::KeyTooLong { limit, total }));
        }
        if let Some(reason) = self.storage_fault.clone() {
            banners.push(Banner::from(&StatusProblem::StorageFailed { reason }));
        }
        if self.locked_by_other_window {
            banners.push(Banner::from(&StatusProblem::WorkspaceOpenElsewhere));
        }
        let (sandbox, banner) = self.sandbox(config).unzip();
        banners.extend(banner.flatten());
        banners.extend(self.recovered.clone());
        let connection = self.connection.clone();
        StatusNotification { rev, model, connection, sandbox, banners }
    }

    /// Returns the state of the sandbox, and a warning if commands run without one.
    fn sandbox(&self, config: &Configuration) -> Option<(SandboxStatus, Option<Banner>)> {
        let (state, problem) = match &self.backend {
            _ if !config.settings.sandbox.on => {
                let setting = "cairn.sandbox.mode".to_owned();
                (SandboxState::NoSandboxBySetting, Some(StatusProblem::SandboxOff { setting }))
            }
            None => return None,
            Some(Ok(SandboxBackend::Bubblewrap)) => (SandboxState::InBubblewrap, None),
            Some(Ok(SandboxBackend::Namespaces)) => (SandboxState::InNamespaces, None),
            Some(Err(reason)) => {
                let problem = missing(reason.clone());
                (SandboxState::NoSandboxWorks { reason: reason.clone() }, Some(problem))
            }
        };
        Some((SandboxStatus::from(&state), problem.as_ref().map(Banner::from)))
    }
}

fn missing(reason: String) -> StatusProblem {
    match cfg!(target_os = "linux") {
        true => StatusProblem::SandboxMissing { reason },
        false => StatusProblem::SandboxUnsupported,
    }
}
