//! The loop between bytes and the service: one reader, one writer, requests in between.
//!
//! Messages are handed to the service in wire order and each answer is polled once on the spot;
//! what is not ready then waits in a task of its own, where a panic is only an error reply. The
//! reader must never wait for the client to read.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::Poll,
};

use futures_util::{FutureExt, Sink, SinkExt, Stream, StreamExt, poll};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::{JoinHandle, JoinSet, yield_now},
};
use tower_lsp::{
    ExitedError,
    jsonrpc::{ErrorCode, Id, Request, Response},
};
use tower_service::Service;

use super::{
    convert,
    frame::{Framed, Frames},
    lifecycle::Ended,
    message::{self, Incoming, refusal},
};

/// Requests that wait for an answer at one time. Far above what an editor sends; a hub that is
/// stuck must not let them pile up for ever.
pub(super) const MAX_IN_FLIGHT: usize = 8192;
/// Output that the client has not taken yet.
const MAX_UNREAD: usize = 64 * 1024 * 1024;
/// Messages that wait are written together up to this size.
const MAX_WRITE: usize = 64 * 1024;

/// `A` is where the client's answers go: tower-lsp does not name the type.
pub(super) struct Reader<R, A> {
    input: R,
    answers: A,
    writer: Writer,
    in_flight: JoinSet<()>,
}

impl<R: AsyncRead + Unpin, A: Sink<Response> + Unpin> Reader<R, A> {
    pub(super) fn new(input: R, answers: A, writer: Writer) -> Self {
        Self { input, answers, writer, in_flight: JoinSet::new() }
    }

    /// Reads until the session is over.
    pub(super) async fn run<S>(mut self, service: &mut S) -> Ended
    where
        S: Service<Request, Response = Option<Response>, Error = ExitedError>,
        S::Future: Send + 'static,
    {
        let mut frames = Frames::default();
        let mut chunk = vec![0; 64 * 1024];
        loop {
            let read = tokio::select! {
                read = self.input.read(&mut chunk) => read,
                Some(_) = self.in_flight.join_next() => continue,
            };
            match read {
                Ok(0) => return Ended::InputClosed,
                Ok(read) => frames.feed(&chunk[..read]),
                Err(error) => {
                    tracing::error!(%error, "cannot read the input");
                    return Ended::InputClosed;
                }
            }
            while let Some(framed) = frames.next() {
                if let Some(ended) = self.take(framed, &mut frames, service).await {
                    return ended;
                }
                while self.in_flight.try_join_next().is_some() {}
            }
        }
    }

    async fn take<S>(
        &mut self,
        framed: Framed,
        frames: &mut Frames,
        service: &mut S,
    ) -> Option<Ended>
    where
        S: Service<Request, Response = Option<Response>, Error = ExitedError>,
        S::Future: Send + 'static,
    {
        let body = match framed {
            Framed::Body(body) => body,
            Framed::Fault(fault) => {
                tracing::warn!(%fault, "bad frame");
                self.reply(refusal(Id::Null, ErrorCode::ParseError, fault.to_string()));
                return fault.is_fatal().then_some(Ended::Lost);
            }
        };
        match message::parse(&body) {
            Ok(Incoming::Request(request)) if request.method() == "exit" => Some(Ended::Asked),
            Ok(Incoming::Request(request)) => {
                self.dispatch(request, service).await;
                None
            }
            Ok(Incoming::Response(response)) => {
                // Its sink is always ready. It panics if whoever asked is gone, so the outbox
                // keeps every question alive.
                let _ = self.answers.send(response).await;
                None
            }
            Err(refused) => {
                tracing::warn!(?refused, "bad message");
                if refused.is_garbled() {
                    frames.distrust(body);
                }
                self.reply(refused.reply());
                None
            }
        }
    }

    async fn dispatch<S>(&mut self, request: Request, service: &mut S)
    where
        S: Service<Request, Response = Option<Response>, Error = ExitedError>,
        S::Future: Send + 'static,
    {
        let id = request.id().cloned();
        if let Some(id) = &id
            && self.in_flight.len() >= MAX_IN_FLIGHT
            && request.method() != "shutdown"
        {
            return self.reply(Response::from_error(id.clone(), convert::overloaded()));
        }
        if poll_fn(|context| service.poll_ready(context)).await.is_err() {
            return;
        }
        let call = catch_unwind(AssertUnwindSafe(|| service.call(request)));
        let panicked = id.map(|id| Response::from_error(id, convert::panicked()));
        let Ok(answer) = call else {
            return panicked.into_iter().for_each(|response| self.reply(response));
        };
        let mut answer =
            Box::pin(AssertUnwindSafe(answer).catch_unwind().map(move |answer| match answer {
                Ok(Ok(response)) => response,
                Ok(Err(_exited)) => None,
                Err(_) => panicked,
            }));
        match poll!(&mut answer) {
            Poll::Ready(Some(response)) => self.reply(response),
            Poll::Ready(None) => {}
            Poll::Pending => {
                let writer = self.writer.clone();
                self.in_flight.spawn(async move {
                    if let Some(response) = answer.await {
                        writer.send(encode(&response)).await;
                    }
                });
            }
        }
    }

    /// Answers without waiting. A client that reads nothing and goes on asking loses answers.
    fn reply(&mut self, response: Response) {
        let Err(body) = self.writer.try_send(encode(&response)) else { return };
        if self.in_flight.len() >= MAX_IN_FLIGHT {
            tracing::warn!(id = %response.id(), "an answer is lost: the client does not read");
            return;
        }
        let writer = self.writer.clone();
        self.in_flight.spawn(async move { writer.send(body).await });
    }
}

/// Sends what the client handle of tower-lsp produces.
pub(super) async fn forward(mut requests: impl Stream<Item = Request> + Unpin, writer: Writer) {
    while let Some(request) = requests.next().await {
        writer.send(encode(&request)).await;
    }
}

/// The queue of the one writer, bounded in bytes.
#[derive(Clone)]
pub(super) struct Writer {
    queue: mpsc::UnboundedSender<Queued>,
    budget: Arc<Semaphore>,
}

struct Queued {
    body: Vec<u8>,
    /// Given back when it is written.
    budget: OwnedSemaphorePermit,
}

impl Writer {
    /// Waits while the client has too much unread.
    async fn send(&self, body: Vec<u8>) {
        let cost = cost(&body);
        if let Ok(budget) = Arc::clone(&self.budget).acquire_many_owned(cost).await {
            let _ = self.queue.send(Queued { body, budget });
        }
    }

    fn try_send(&self, body: Vec<u8>) -> Result<(), Vec<u8>> {
        match Arc::clone(&self.budget).try_acquire_many_owned(cost(&body)) {
            Ok(budget) => {
                let _ = self.queue.send(Queued { body, budget });
                Ok(())
            }
            Err(_) => Err(body),
        }
    }

    /// Resolves when the output is closed.
    pub(super) async fn closed(&self) {
        self.queue.closed().await;
    }
}

/// Starts the writer; it ends when the last `Writer` is dropped or the output is closed.
pub(super) fn write_to(
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> (Writer, JoinHandle<()>) {
    let (queue, queued) = mpsc::unbounded_channel();
    let writing = tokio::spawn(async move {
        if let Err(error) = write(output, queued).await {
            tracing::error!(%error, "cannot write the output");
        }
    });
    (Writer { queue, budget: Arc::new(Semaphore::new(MAX_UNREAD)) }, writing)
}

async fn write(
    mut output: impl AsyncWrite + Unpin,
    mut queued: mpsc::UnboundedReceiver<Queued>,
) -> std::io::Result<()> {
    let mut framed = Vec::new();
    while let Some(Queued { body, mut budget }) = queued.recv().await {
        frame(&body, &mut framed);
        // What is said at one time goes out together: each write to stdout is a trip to another
        // thread and back.
        yield_now().await;
        while framed.len() < MAX_WRITE
            && let Ok(next) = queued.try_recv()
        {
            frame(&next.body, &mut framed);
            budget.merge(next.budget);
        }
        output.write_all(&framed).await?;
        output.flush().await?;
        framed.clear();
        framed.shrink_to(MAX_WRITE);
    }
    Ok(())
}

fn frame(body: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
    out.extend_from_slice(body);
}

/// A message larger than the whole budget waits for all of it.
fn cost(body: &[u8]) -> u32 {
    u32::try_from(body.len().min(MAX_UNREAD)).unwrap_or(u32::MAX)
}

fn encode(message: &impl serde::Serialize) -> Vec<u8> {
    // JSON-RPC messages hold JSON values already: encoding them cannot fail.
    serde_json::to_vec(message).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::{
        future::{pending, ready},
        task::Context,
    };

    use expect_test::expect;
    use futures_util::{future::BoxFuture, sink::drain};
    use tokio::io::duplex;

    use super::*;

    /// Fails in every way a handler can.
    struct Fragile;

    impl Service<Request> for Fragile {
        type Response = Option<Response>;
        type Error = ExitedError;
        type Future = BoxFuture<'static, Result<Option<Response>, ExitedError>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ExitedError>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: Request) -> Self::Future {
            let (method, id, _) = request.into_parts();
            match method.as_ref() {
                "at once" => panic!("at once"),
                "when polled" => async { panic!("when polled") }.boxed(),
                "later" => async {
                    yield_now().await;
                    panic!("later")
                }
                .boxed(),
                "never" => pending().boxed(),
                _ => ready(Ok(id.map(|id| Response::from_ok(id, method.as_ref().into())))).boxed(),
            }
        }
    }

    #[tokio::test]
    async fn a_panic_is_an_error_reply() {
        let (mut to_server, input) = duplex(64 * 1024);
        let (output, mut from_server) = duplex(64 * 1024);
        let (writer, writing) = write_to(output);
        for (id, method) in ["at once", "when polled", "never", "good"].iter().enumerate() {
            let id = i64::try_from(id).unwrap();
            for request in
                [Request::build(*method).finish(), Request::build(*method).id(id).finish()]
            {
                let body = encode(&request);
                let header = format!("Content-Length: {}\r\n\r\n", body.len());
                to_server.write_all(header.as_bytes()).await.unwrap();
                to_server.write_all(&body).await.unwrap();
            }
        }
        let later = encode(&Request::build("later").id(9).finish());
        let header = format!("Content-Length: {}\r\n\r\n", later.len());
        to_server.write_all(header.as_bytes()).await.unwrap();
        to_server.write_all(&later).await.unwrap();

        let reader = Reader::new(input, drain(), writer);
        let reading = tokio::spawn(async move { reader.run(&mut Fragile).await });
        let mut frames = Frames::default();
        let mut replies = Vec::new();
        let mut chunk = [0; 1024];
        while replies.len() < 4 {
            let read = from_server.read(&mut chunk).await.unwrap();
            frames.feed(&chunk[..read]);
            while let Some(Framed::Body(body)) = frames.next() {
                replies.push(String::from_utf8_lossy(&body).into_owned());
            }
        }
        expect![[r#"
            {"jsonrpc":"2.0","error":{"code":-32603,"message":"Cairn failed inside","data":{"kind":"internal","hint":"Try again; the log says more"}},"id":0}
            {"jsonrpc":"2.0","error":{"code":-32603,"message":"Cairn failed inside","data":{"kind":"internal","hint":"Try again; the log says more"}},"id":1}
            {"jsonrpc":"2.0","result":"good","id":3}
            {"jsonrpc":"2.0","error":{"code":-32603,"message":"Cairn failed inside","data":{"kind":"internal","hint":"Try again; the log says more"}},"id":9}"#]].assert_eq(&replies.join("\n"));
        drop(to_server);
        assert_eq!(reading.await.unwrap(), Ended::InputClosed);
        writing.await.unwrap();
    }
}
