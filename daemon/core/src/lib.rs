//! Cairn's functional core. Everything here is pure: no IO, no clock, no async, no randomness, no
//! LSP types. Time, ids and file contents come in as arguments; effects go out as values.

pub mod call_forms;
pub mod change;
pub mod context;
pub mod conversation;
pub mod edit;
pub mod file_names;
pub mod hook;
pub mod ids;
pub mod json_text;
pub mod marks;
pub mod model;
pub mod plan;
pub mod policy;
pub mod process;
pub mod prompt;
pub mod quote;
pub mod redact;
pub mod review;
pub mod sanitize;
pub mod subagent;
pub mod terminal_text;
pub mod text;
pub mod turn;
