//! Model providers: bytes to `ModelEvent`s. A provider's JSON never leaves its file, and an ended
//! stream is never taken for a finished message.

pub mod anthropic;
pub mod choose;
pub mod clean;
pub mod encoding;
mod failure;
pub mod history;
pub mod http;
#[cfg(test)]
mod marks_tests;
pub mod openai;
pub mod replay;
pub mod responses;
pub mod sse;
#[cfg(test)]
mod testing;
pub mod window;

use std::sync::Arc;

use bytes::Bytes;
use cairn_core::{
    conversation::Item,
    model::{ModelEvent, ToolSpec},
};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

/// One API that can answer.
pub trait Provider: Send + Sync + 'static {
    /// Appends the wire form of one item to the encoded conversation. Depends on this item and the
    /// one before it alone (and on whether `out` is empty, for the separating comma), so history is
    /// encoded once and its bytes never change.
    fn encode(&self, previous: Option<&Item>, item: &Item, out: &mut Vec<u8>);

    /// Sends the conversation and reports the answer. Reports exactly one `Finished` or `Failed`
    /// and returns. Dropping the future aborts the request. Does not retry: the turn decides that.
    fn answer(&self, request: Request, events: mpsc::Sender<ModelEvent>) -> BoxFuture<'static, ()>;
}

/// What is sent, apart from the provider's own configuration (model name, key, base URL).
#[derive(Debug, Clone)]
pub struct Request {
    pub system: Arc<str>,
    pub tools: Arc<[ToolSpec]>,
    /// The items encoded so far, joined by the provider's own separators.
    pub messages: Bytes,
    /// Opaque id of the session: a replay keeps its place by it.
    pub session: String,
    /// `None`: the format's own default.
    pub max_tokens: Option<u32>,
}

/// Whether the model may decide about calling tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolChoice {
    #[default]
    Auto,
    /// It must call one: for checks against models too small to decide well.
    Required,
}
