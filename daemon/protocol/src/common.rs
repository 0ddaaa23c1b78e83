//! Types that both directions use.

use macro_rules_attribute::apply;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Zero-based line and UTF-16 code unit, as in LSP.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, TS,
)]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

/// Half-open, as in LSP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, TS)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

/// Replaces `range` by `newText`.
#[apply(wire)]
pub struct TextEdit {
    pub range: Range,
    pub new_text: String,
}

/// Treatment of proposed edits and of commands with effects.
#[apply(wire)]
#[derive(Copy, Default)]
pub enum ReviewMode {
    /// Edits are proposals; the user decides at any time.
    #[default]
    Review,
    /// Each edit waits for the user's decision before the agent continues.
    Ask,
    /// Edits are accepted when they are made. They are still listed and can be undone.
    Auto,
    /// No edits and no commands with effects; the turn ends with a plan.
    Plan,
}

/// Object without members, for methods that return nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
pub struct Empty {}
