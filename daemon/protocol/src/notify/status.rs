//! State of the daemon: model, connection, sandbox and conditions that the user should know.

use macro_rules_attribute::apply;

use crate::{SandboxState, StatusProblem, UiMessage};

#[apply(wire)]
pub struct ModelInfo {
    pub provider: String,
    pub name: String,
    /// A script answers instead of a model. Always shown to the user.
    pub replay: bool,
}

/// State of the daemon.
#[apply(wire)]
pub struct StatusNotification {
    pub rev: u32,
    pub model: ModelInfo,
    pub connection: Connection,
    /// Sandbox of the agent's commands; absent until it is known.
    pub sandbox: Option<SandboxStatus>,
    /// Conditions that the user should know now, newest last.
    pub banners: Vec<Banner>,
}

#[apply(wire)]
pub struct SandboxStatus {
    pub kind: SandboxKind,
    #[serde(flatten)]
    pub message: UiMessage,
}

impl From<&SandboxState> for SandboxStatus {
    fn from(state: &SandboxState) -> Self {
        Self { kind: state.kind(), message: state.message() }
    }
}

#[apply(wire)]
#[derive(Copy)]
pub enum SandboxKind {
    Bubblewrap,
    /// Cairn's own, of Linux namespaces.
    Namespaces,
    /// Turned off by the user: every command needs permission.
    Off,
    /// None works here: every command needs permission.
    Missing,
}

#[apply(wire)]
#[derive(Default)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
pub enum Connection {
    #[default]
    Idle,
    /// A request is in progress or its answer is streaming.
    Streaming,
    /// The model waits: a tool runs, or the user is asked.
    Working,
    /// Waits before attempt number `attempt`.
    Retrying {
        attempt: u32,
        #[ts(type = "number")]
        delay_ms: u64,
        /// Part of a sentence.
        reason: UiMessage,
    },
}

#[apply(wire)]
pub struct Banner {
    /// Stable name, by which a client can offer an action.
    pub kind: BannerKind,
    #[serde(flatten)]
    pub message: UiMessage,
}

impl From<&StatusProblem> for Banner {
    fn from(problem: &StatusProblem) -> Self {
        Self { kind: problem.kind(), message: problem.message() }
    }
}

#[apply(wire)]
#[derive(Copy)]
pub enum BannerKind {
    /// No model is configured: a replay answers.
    Replay,
    /// A setting was ignored.
    Setting,
    Model,
    Internal,
    /// Sessions cannot be stored, temporarily or not at all.
    Storage,
    /// Another window works in the same folders and holds their stored state.
    Elsewhere,
    /// The user does not trust this workspace: the agent only reads.
    Untrusted,
    /// Commands run without a sandbox.
    Sandbox,
}
