//! Model providers: they turn bytes into [`ModelEvent`]s.
//!
//! A provider's JSON never leaves its module. The end of a stream alone never finishes a message.

pub mod anthropic;
pub mod check;
pub mod choose;
pub mod clean;
pub mod client;
pub mod encoding;
mod failure;
mod family;
pub mod history;
pub mod http;
pub mod manners;
#[cfg(test)]
mod marks_tests;
pub mod openai;
pub mod problem;
pub mod replay;
pub mod responses;
pub mod server;
pub mod sse;
#[cfg(test)]
mod testing;
pub mod window;

use std::sync::Arc;

use bytes::Bytes;
use cairn_core::{
    conversation::Item,
    ids::SessionId,
    model::{ModelEvent, ToolSpec},
};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

/// Client of one API.
pub trait Provider: Send + Sync + 'static {
    /// Appends one item to the encoded conversation.
    ///
    /// The bytes depend only on this item and the previous one, and on whether `out` is empty, for
    /// the separating comma, within a revision. So a conversation is encoded once and its bytes never
    /// change.
    fn encode(&self, previous: Option<&Item>, item: &Item, out: &mut Vec<u8>);

    /// Number of changes of the encoding so far. A conversation that was encoded before the newest is
    /// encoded again.
    fn revision(&self) -> usize {
        0
    }

    /// True if the format has images. Whether the model behind it sees them is not known.
    fn reads_images(&self) -> bool {
        true
    }

    /// Sends the conversation and reports the answer, which ends with exactly one `Finished` or
    /// `Failed`. Dropping the future aborts the request. Does not retry: the turn decides that.
    fn answer(
        &self,
        request: ModelRequest,
        events: mpsc::Sender<ModelEvent>,
    ) -> BoxFuture<'static, ()>;
}

/// Content of a request, without the provider's configuration (model name, key, base URL).
#[derive(Debug, Clone)]
pub struct ModelRequest {
    pub system: Arc<str>,
    pub tools: Arc<[ToolSpec]>,
    /// Encoded items of the conversation, with the provider's separators.
    pub messages: Bytes,
    /// Opaque id of the session. A replay tracks its position by it, and OpenAI's prompt cache its requests.
    pub session: SessionId,
    /// Limit of the answer in tokens. `None`: the default of the format applies.
    pub max_tokens: Option<u32>,
}
