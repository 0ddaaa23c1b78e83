//! Processes: commands that continue after the call that started them. They belong to a session and end
//! with it at the latest.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Empty, method::declare_client_requests};

/// `agent/processes`: the processes of a session that run, and the newest that ended, oldest first.
/// Sent at most five times a second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProcessesNotification {
    pub session_id: String,
    pub rev: u32,
    pub processes: Vec<ProcessInfo>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProcessInfo {
    /// Number in its session, from 1.
    pub id: u32,
    pub command: String,
    /// The plan item in progress when it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub plan_item: Option<String>,
    /// True if it takes input.
    pub input: bool,
    /// True if it has a terminal: it echoes its input, and knows keys such as Ctrl+C.
    pub terminal: bool,
    /// Milliseconds since 1970.
    #[ts(type = "number")]
    pub started_at: u64,
    pub phase: ProcessPhase,
    /// Number of bytes that it wrote.
    #[ts(type = "number")]
    pub written: u64,
    /// Last lines of its output, at most five.
    pub tail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ProcessPhase {
    Running {
        /// True after a request to stop it.
        stopping: bool,
    },
    Ended {
        end: ProcessEnd,
        /// Milliseconds since 1970.
        #[ts(type = "number")]
        at: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ProcessEnd {
    Code {
        code: i32,
    },
    Signal {
        signal: i32,
    },
    Stopped {
        by: ProcessStopper,
    },
    /// Killed because it had started more processes than allowed.
    TooManyProcesses,
    /// A fault of Cairn.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ProcessStopper {
    Agent,
    User,
    /// The turn was cancelled, or the subagent that started it ended.
    Turn,
}

/// Asks a process to end, and kills it if it does not. Does nothing if it has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProcessStopParams {
    pub session_id: String,
    pub id: u32,
}

/// Sends the user's input to a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProcessInputParams {
    pub session_id: String,
    pub id: u32,
    /// At most 16 KiB of UTF-8.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProcessInputResult {
    pub taken: InputTaken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum InputTaken {
    All,
    /// The process does not read its input, and took only a part.
    Part,
    /// The process takes no input.
    None,
}

/// Reads output of a process for a terminal. Waits up to ten seconds for output, unless there is
/// some or the process has ended. Colours are kept; other control sequences are removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProcessOutputParams {
    pub session_id: String,
    pub id: u32,
    /// Position in bytes from the beginning of the output.
    #[ts(type = "number")]
    pub since: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProcessOutputResult {
    pub text: String,
    /// Number of bytes before the text that are no longer kept.
    #[ts(type = "number")]
    pub missed: u64,
    /// Position after the text: the next `since`.
    #[ts(type = "number")]
    pub end: u64,
    /// Present if the process has ended: no more output will come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub ended: Option<ProcessEnd>,
}

declare_client_requests! {
    REQUESTS:
    ProcessStop("agent/processes/stop", ProcessStopParams {}) -> Empty,
    ProcessInput("agent/processes/input", ProcessInputParams {}) -> ProcessInputResult,
    ProcessOutput("agent/processes/output", ProcessOutputParams {}) -> ProcessOutputResult,
}
