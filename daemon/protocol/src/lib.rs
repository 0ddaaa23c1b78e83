//! The contract between the Cairn daemon and an editor: LSP plus the neutral `agent/*` methods.
//!
//! Only method names and payloads live here. Every method takes exactly one params object and
//! returns one object; keys are camelCase, ids are strings, positions are UTF-16 as in LSP.
//! Notifications are full snapshots with a growing `rev`, so a client that missed one is right
//! again with the next. Unknown fields are ignored; enums that a client sends have an explicit
//! error, enums that the daemon sends may grow.
//!
//! This crate must never know a transport, an editor or the engine.

pub mod child;
pub mod common;
pub mod context;
pub mod editor;
pub mod library;
pub mod notify;
pub mod queue;
pub mod request;
pub mod rules;
pub mod settings;
pub mod typescript;

pub use child::*;
pub use common::*;
pub use context::*;
pub use editor::*;
pub use library::*;
pub use notify::*;
pub use queue::*;
pub use request::*;
pub use rules::*;

/// Major version, `capabilities.experimental.cairn.protocolVersion` at `initialize`. Both sides must
/// have the same; the policy is in `docs/protocol.md`.
pub const PROTOCOL_VERSION: u32 = 1;

/// Minor version, `protocolMinor` beside it. It grows with each addition, whose doc comment says
/// `Since 1.x.`; the two sides may differ.
pub const PROTOCOL_MINOR: u32 = 0;

/// A method that is answered. The direction is said where the impl stands.
pub trait RequestMethod {
    const METHOD: &'static str;
    type Params: serde::Serialize + serde::de::DeserializeOwned + Send + Sync + 'static;
    type Result: serde::Serialize + serde::de::DeserializeOwned + Send + Sync + 'static;
}
