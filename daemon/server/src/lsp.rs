//! LSP over any pair of byte streams.
//!
//! The types are tower-lsp's. Transport, routes and client are our own, because tower-lsp's transport
//! ends on one malformed frame, stalls behind four pending requests and outlives its editor. Input:
//! `frame` → `message` → `ingress` (in wire order) → events for the hub. Output: `outbox` → `client` →
//! `transport`.
//!
//! No other module names tower-lsp or lsp-types. This one never holds a document or a session, and
//! never waits for a client that waits for it.

mod client;
mod client_support;
mod commands;
mod convert;
pub mod frame;
mod handshake;
mod ingress;
mod lifecycle;
mod message;
mod outbox;
mod progress;
mod review;
mod standard_client;
pub mod stdio;
mod transport;

use std::sync::Arc;

use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{SetOnce, mpsc},
};
use tokio_util::task::TaskTracker;

pub use self::lifecycle::{SessionEnd, SessionExit};
use self::{client::LspClient, ingress::Ingress, outbox::Outbox, transport::MessageReader};
use crate::{event::ClientEvent, ports::Editor};

/// Serves one editor until the session ends.
///
/// Calls `start` at once with the editor's port. `start` returns the hub's queue, which receives
/// every event in wire order, and the tracker of the hub's tasks. The session also ends when the
/// hub stops, and when `asked_to_end` resolves.
///
/// After the session the hub ends first: it would take every open question and every killed process
/// for an answer, and continue the turn. Then `farewell` kills the remaining processes, and the
/// last output is flushed. The three steps share one second.
///
/// The caller must end the process with [`SessionExit::code`], because a blocked read of stdin keeps a
/// runtime alive.
pub async fn serve(
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin + Send + 'static,
    start: impl FnOnce(Arc<dyn Editor>) -> (mpsc::UnboundedSender<ClientEvent>, TaskTracker),
    asked_to_end: impl Future<Output = ()>,
    farewell: impl Future<Output = ()>,
) -> SessionExit {
    let handshake = Arc::new(SetOnce::new());
    let (writer, writing) = transport::write_to(output);
    let client = LspClient::new(writer.clone());
    let (outbox, delivering) = Outbox::new(client.clone(), Arc::clone(&handshake));
    let mut delivering = tokio::spawn(delivering);
    let outbox = Arc::new(outbox);
    let (events, hub) = start(Arc::clone(&outbox) as Arc<dyn Editor>);
    let mut ingress = Ingress::new(Arc::clone(&handshake), events.clone(), outbox);

    let parent_gone = async { lifecycle::parent_gone(handshake.wait().await.parent).await };
    let reader = MessageReader::new(input, writer.clone());
    let ended = tokio::select! {
        ended = reader.run(|request| ingress.call(request), |answer| client.answered(answer)) => ended,
        () = parent_gone => SessionEnd::ParentGone,
        () = writer.closed() => SessionEnd::OutputClosed,
        () = events.closed() => SessionEnd::HubStopped,
        () = asked_to_end => SessionEnd::Terminated,
    };
    if ended == SessionEnd::Terminated {
        // A hub that stopped has interrupted its turns.
        let _ = events.send(ClientEvent::Terminated);
    }
    tracing::info!(?ended, "the session is over");
    let exit = SessionExit { ended, after_shutdown: ingress.is_shut_down() };

    drop((ingress, events));
    let flush = async {
        // All senders are gone, so the writer sees the end of its queue.
        drop(writer);
        delivering.abort();
        let _ = (&mut delivering).await;
        let _ = writing.await;
    };
    lifecycle::leave(hub.wait(), farewell, flush).await;
    exit
}
