//! Files under review.

use macro_rules_attribute::apply;

use crate::Hunk;

/// Proposed edits of one file. Without hunks nothing is pending there.
#[apply(wire)]
#[derive(Default)]
pub struct ReviewNotification {
    pub uri: String,
    /// Path relative to the workspace folder, with `/`.
    pub path: String,
    pub rev: u32,
    /// Document version of the ranges; absent when the file is not open.
    pub version: Option<i32>,
    pub kind: FileKind,
    /// Former path of a moved file, relative like `path`.
    pub from: Option<String>,
    /// True if a tool call waits for the decision about these hunks (mode `ask`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub waiting: bool,
    pub hunks: Vec<Hunk>,
}

#[apply(wire)]
#[derive(Copy, Default)]
pub enum FileKind {
    #[default]
    Edited,
    /// The agent created the file; rejecting its text deletes it.
    Created,
    /// The agent deleted the file; rejecting that restores it.
    Deleted,
    /// The agent moved the file; rejecting that moves it back.
    Moved,
}
