//! The front door: LSP over any pair of byte streams.
//!
//! tower-lsp gives the types, the service and the client; the transport is ours, because its own
//! ends on one bad frame, starves behind four handlers and outlives its editor. In:
//! `frame` → `message` → `ingress` (in wire order) → events for the hub. Out: `outbox` → `transport`.
//!
//! The only module that names tower-lsp and lsp-types. It must never hold a document or a session,
//! nor wait for the client while the client waits for it.

mod commands;
mod convert;
pub mod frame;
mod ingress;
mod lifecycle;
mod message;
mod outbox;
mod plain;
mod progress;
mod review;
mod server;
mod transport;

use std::sync::Arc;

use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{SetOnce, mpsc},
};
use tokio_util::task::TaskTracker;
use tower_lsp::LspService;

pub use self::lifecycle::{Ended, Exit};
use self::{ingress::Ingress, outbox::Outbox, server::Server, transport::Reader};
use crate::{event::ClientEvent, ports::Editor};

/// Serves one editor until it leaves.
///
/// `start` is called at once with the editor's port and returns the queue of the hub, which gets
/// every event in wire order, and what tracks the hub's tasks; the hub going away ends the session.
/// When the session is over the hub ends first: it would take every question it has open at the
/// editor, and every child that dies, for an answer, and go on with the turn. `farewell` then kills
/// what children are left, before the last output is flushed. All three have a second together. The caller must end the process with `Exit::code`, since a blocked read
/// of stdin keeps a runtime alive.
pub async fn serve(
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin + Send + 'static,
    start: impl FnOnce(Arc<dyn Editor>) -> (mpsc::UnboundedSender<ClientEvent>, TaskTracker),
    farewell: impl Future<Output = ()>,
) -> Exit {
    let handshake = Arc::new(SetOnce::new());
    let mut client = None;
    let (service, socket) = LspService::new(|made| {
        client = Some(made);
        Server::new(Arc::clone(&handshake))
    });
    let (requests, responses) = socket.split();
    let (writer, writing) = transport::write_to(output);
    let (outbox, delivering) = Outbox::new(client, Arc::clone(&handshake));
    // One task: all that is said passes through both, message by message.
    let forwarding = transport::forward(requests, writer.clone());
    let mut talking = tokio::spawn(async move { tokio::join!(delivering, forwarding) });
    let outbox = Arc::new(outbox);
    let (events, hub) = start(Arc::clone(&outbox) as Arc<dyn Editor>);
    let mut ingress = Ingress::new(service, Arc::clone(&handshake), events.clone(), outbox);

    let reader = Reader::new(input, responses, writer.clone());
    let ended = tokio::select! {
        ended = reader.run(&mut ingress) => ended,
        () = lifecycle::parent_gone(&handshake) => Ended::ParentGone,
        () = writer.closed() => Ended::OutputClosed,
        () = events.closed() => Ended::HubGone,
    };
    tracing::info!(?ended, "the session is over");
    let exit = Exit { ended, after_shutdown: ingress.is_shut_down() };

    drop((ingress, events));
    let flush = async {
        // Nobody may write any more, so that the writer sees the end of its queue.
        drop(writer);
        talking.abort();
        let _ = (&mut talking).await;
        let _ = writing.await;
    };
    lifecycle::leave(hub.wait(), farewell, flush).await;
    exit
}
