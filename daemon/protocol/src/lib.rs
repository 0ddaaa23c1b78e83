//! Contract between the Cairn daemon and an editor: LSP plus the neutral `agent/*` methods.
//!
//! This crate holds only method names and payloads. Every method takes exactly one params object
//! and returns one object. Keys are camelCase, ids are strings, positions are UTF-16 as in LSP.
//! Notifications are full snapshots with a growing `rev`, so the next one repairs a missed one.
//! Unknown fields are ignored. Unknown values of enums are errors where a client sends them; enums
//! that the daemon sends may grow.
//!
//! This crate never depends on a transport, an editor or the engine.

/// A type of the wire: its members are in camelCase, and one that is `None` is absent.
macro_rules! wire {
    ($item:item) => {
        #[serde_with_macros::skip_serializing_none]
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, ts_rs::TS)]
        #[serde(rename_all = "camelCase")]
        #[ts(optional_fields)]
        $item
    };
}

pub mod attachment;
pub mod common;
pub mod context;
pub mod editor;
pub mod error;
pub mod hunk;
pub mod library;
mod method;
pub mod models;
pub mod notify;
pub mod problem;
pub mod process;
pub mod queue;
pub mod request;
pub mod rules;
pub mod settings;
pub mod subagent;
pub mod tool;
pub mod typescript;

pub use attachment::*;
pub use common::*;
pub use context::*;
pub use editor::*;
pub use error::*;
pub use hunk::*;
pub use library::*;
pub use method::{
    ClientRequest, Declaration, NotificationMethod, RequestMethod, UserText, client_request,
    client_requests,
};
pub use models::*;
pub use notify::*;
pub use problem::*;
pub use process::*;
pub use queue::*;
pub use request::*;
pub use rules::*;
pub use subagent::*;
pub use tool::*;

/// Major version, `capabilities.experimental.cairn.protocolVersion` at `initialize`. Both sides
/// must have the same; the policy is in `docs/protocol.md`.
pub const PROTOCOL_VERSION: u32 = 2;

/// Minor version, `protocolMinor` next to it. It grows with each addition, whose doc comment says
/// `Since 2.x.`; the two sides may differ.
pub const PROTOCOL_MINOR: u32 = 0;
