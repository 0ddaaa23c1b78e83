//! Processes: commands that continue after the call that started them. They belong to a session and end
//! with it at the latest.

use macro_rules_attribute::apply;

use crate::{Empty, method::declare_client_requests};

/// `agent/processes`: the processes of a session that run, and the newest that ended, oldest first.
/// Sent at most five times a second.
#[apply(wire)]
pub struct ProcessesNotification {
    pub session_id: String,
    pub rev: u32,
    pub processes: Vec<ProcessInfo>,
}

#[apply(wire)]
pub struct ProcessInfo {
    /// Number in its session, from 1.
    pub id: u32,
    pub command: String,
    /// The plan item in progress when it was started.
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

#[apply(wire)]
#[derive(Copy)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
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

#[apply(wire)]
#[derive(Copy)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
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

#[apply(wire)]
#[derive(Copy)]
pub enum ProcessStopper {
    Agent,
    User,
    /// The turn was cancelled, or the subagent that started it ended.
    Turn,
}

/// Asks a process to end, and kills it if it does not. Does nothing if it has ended.
#[apply(wire)]
pub struct ProcessStopParams {
    pub session_id: String,
    pub id: u32,
}

/// Sends the user's input to a process.
#[apply(wire)]
pub struct ProcessInputParams {
    pub session_id: String,
    pub id: u32,
    /// At most 16 KiB of UTF-8.
    pub text: String,
}

#[apply(wire)]
pub struct ProcessInputResult {
    pub taken: InputTaken,
}

#[apply(wire)]
#[derive(Copy)]
pub enum InputTaken {
    All,
    /// The process does not read its input, and took only a part.
    Part,
    /// The process takes no input.
    None,
}

/// Reads output of a process for a terminal. Waits up to ten seconds for output, unless there is
/// some or the process has ended. Colours are kept; other control sequences are removed.
#[apply(wire)]
pub struct ProcessOutputParams {
    pub session_id: String,
    pub id: u32,
    /// Position in bytes from the beginning of the output.
    #[ts(type = "number")]
    pub since: u64,
}

#[apply(wire)]
pub struct ProcessOutputResult {
    pub text: String,
    /// Number of bytes before the text that are no longer kept.
    #[ts(type = "number")]
    pub missed: u64,
    /// Position after the text: the next `since`.
    #[ts(type = "number")]
    pub end: u64,
    /// Present if the process has ended: no more output will come.
    pub ended: Option<ProcessEnd>,
}

declare_client_requests! {
    REQUESTS:
    ProcessStop("agent/processes/stop", ProcessStopParams {}) -> Empty,
    ProcessInput("agent/processes/input", ProcessInputParams {}) -> ProcessInputResult,
    ProcessOutput("agent/processes/output", ProcessOutputParams {}) -> ProcessOutputResult,
}
