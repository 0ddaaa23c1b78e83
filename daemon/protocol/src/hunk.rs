//! Hunks of a file under review, as `agent/review` reports them.

use macro_rules_attribute::apply;

use crate::{Range, SubagentOrigin};

/// Operation on a file as a whole.
#[apply(wire)]
#[derive(Copy)]
pub enum WholeFile {
    Deleted,
    Moved,
}

#[apply(wire)]
#[derive(Default)]
pub struct Hunk {
    pub id: String,
    pub session_id: String,
    pub turn_id: String,
    pub plan_item: Option<String>,
    /// Text of that plan item when the edit was made, at most 200 bytes: the plan may be of a session
    /// that is not in view, and may have changed. Absent for edits of earlier versions.
    pub plan_item_text: Option<String>,
    /// Call that made the edit, the newest one if several did; the hunks of an `agent/tool` are those
    /// that name it.
    pub call_id: Option<String>,
    /// Whole lines of the live text; empty (`start == end`) where text was only removed.
    pub range: Range,
    /// Removed lines, without the last line's terminator.
    pub old_text: String,
    /// Added lines, without the last line's terminator.
    pub new_text: String,
    pub removed_lines: u32,
    pub added_lines: u32,
    /// Changed words, in order, if the lines pair up and are alike.
    pub inline: Option<Vec<InlineChange>>,
    /// The user typed inside it.
    pub mixed: bool,
    /// A line in which the user typed inside text of the agent, at most 200 characters. Rejecting the
    /// hunk leaves that line, which may fit the former lines badly; decision `drop` removes it.
    pub typed_in: Option<String>,
    /// Proposed before a restart, and none of it is in the text now: `range` is its expected place.
    /// Accepting it applies it again; rejecting it discards it.
    pub outdated: bool,
    /// True for an outdated edit that can be applied again: the lines it replaces are still in the
    /// text.
    pub can_apply: Option<bool>,
    /// Present for an operation on the file itself: `range` is the file's start, `oldText` the text
    /// that rejecting a deletion restores.
    pub whole_file: Option<WholeFile>,
    /// Subagent that made it; the ids above are then those of the call that started it.
    pub subagent: Option<SubagentOrigin>,
}

/// Changed words of a hunk, shown in their line.
#[apply(wire)]
pub struct InlineChange {
    /// Added text, within one line of the live text; empty where text was only removed.
    pub range: Range,
    /// Removed text, at most 60 characters.
    pub removed: String,
}
