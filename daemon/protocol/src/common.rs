//! Shapes used on both sides of the wire.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Zero-based line and UTF-16 code unit, as in LSP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS)]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

/// Half-open, as in LSP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

/// Replace `range` by `newText`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TextEdit {
    pub range: Range,
    pub new_text: String,
}

/// How proposed edits and effects are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ReviewMode {
    /// Edits land as proposals; the user decides at any time.
    #[default]
    Review,
    /// Each edit waits for the user's decision before the agent goes on.
    Ask,
    /// Edits are accepted as they land; still listed, still undoable.
    Auto,
    /// No edits and no commands with effects; the turn ends with a plan.
    Plan,
}

/// An object without members, for methods that have nothing to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
pub struct Empty {}
