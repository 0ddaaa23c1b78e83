//! Arguments of a call of `bash`.

use std::{path::PathBuf, time::Duration};

use cairn_core::policy::sandbox::Needs;

/// Command with its limits and grants.
pub(in crate::tools) struct BashCall {
    pub(super) command: String,
    pub(super) cwd: PathBuf,
    pub(super) timeout: Duration,
    /// Time that the call asked for; `timeout` is less if it was too long.
    pub(super) wanted: Duration,
    /// The command becomes a process at once.
    pub(super) background: bool,
    pub(super) terminal: bool,
    pub(super) needs: Needs,
    /// Call of another tool for which the command stands.
    pub(super) instead: Option<Instead>,
}

/// Call of another tool that became a command.
pub(in crate::tools) struct Instead {
    /// Remark for the model about the place of its files.
    pub(in crate::tools) remark: &'static str,
    /// Path that may be read, in a sandbox, without the approval that the command would need.
    pub(in crate::tools) reads: Option<PathBuf>,
}
