//! Transport between bytes and messages: one reader, one writer, concurrent requests.
//!
//! Requests are passed on in wire order, and each answer is polled once at once. An
//! unfinished one continues in its own task, where a panic becomes an error response. The reader
//! never waits for the client to read.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use cairn_protocol::RequestProblem;
use futures_util::{FutureExt, future::BoxFuture};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::{JoinHandle, JoinSet, yield_now},
};
use tower_lsp::jsonrpc::{ErrorCode, Id, Request, Response};

use super::{
    convert,
    frame::{FrameError, Framed, Frames},
    lifecycle::SessionEnd,
    message::{self, Incoming, refusal},
};

/// Maximum number of unanswered requests, far above what an editor sends. Bounds memory when the
/// hub is stuck.
pub(super) const MAX_IN_FLIGHT: usize = 8192;
/// Maximum output, in bytes, that the client has not read yet.
const MAX_UNREAD: usize = 32 * 1024 * 1024;
/// Maximum size of the answers, in bytes, that wait until the client has read more.
const MAX_WAITING: usize = 8 * 1024 * 1024;
/// Bytes up to which queued messages are written together.
const MAX_WRITE: usize = 64 * 1024;

/// Answer to a message, if it needs one.
pub(super) type AnswerFuture = BoxFuture<'static, Option<Response>>;

/// Reader of the client's messages.
pub(super) struct MessageReader<R> {
    input: R,
    writer: MessageWriter,
    in_flight: JoinSet<()>,
}

impl<R: AsyncRead + Unpin> MessageReader<R> {
    pub(super) fn new(input: R, writer: MessageWriter) -> Self {
        Self { input, writer, in_flight: JoinSet::new() }
    }

    /// Passes each request to `call` and each answer to `answered`, in wire order, until the session
    /// ends.
    pub(super) async fn run(
        mut self,
        mut call: impl FnMut(Request) -> AnswerFuture,
        answered: impl Fn(Response),
    ) -> SessionEnd {
        let mut frames = Frames::default();
        let mut chunk = vec![0; 64 * 1024];
        loop {
            let read = tokio::select! {
                read = self.input.read(&mut chunk) => read,
                Some(_) = self.in_flight.join_next() => continue,
            };
            match read {
                Ok(0) => return SessionEnd::InputClosed,
                Ok(read) => frames.feed(&chunk[..read]),
                Err(error) => {
                    tracing::error!(%error, "cannot read the input");
                    return SessionEnd::InputClosed;
                }
            }
            while let Some(framed) = frames.next() {
                if let Some(ended) = self.take(framed, &mut call, &answered) {
                    return ended;
                }
                while self.in_flight.try_join_next().is_some() {}
            }
        }
    }

    fn take(
        &mut self,
        framed: Framed,
        call: &mut impl FnMut(Request) -> AnswerFuture,
        answered: &impl Fn(Response),
    ) -> Option<SessionEnd> {
        let body = match framed {
            Framed::Body(body) => body,
            Framed::Error(fault) => {
                tracing::warn!(%fault, "bad frame");
                self.reply(refusal(Id::Null, ErrorCode::ParseError, fault.to_string()));
                return (fault == FrameError::Header).then_some(SessionEnd::UnreadableInput);
            }
        };
        match message::parse(&body) {
            Incoming::Request(request) if request.method() == "exit" => {
                return Some(SessionEnd::ExitRequested);
            }
            Incoming::Request(request) => {
                // A text of many megabytes would be in memory twice.
                drop(body);
                self.dispatch(request, call);
            }
            Incoming::Response(response) => answered(response),
            Incoming::Refused(refused) => {
                tracing::warn!(?refused, "bad message");
                self.reply(refused);
            }
        }
        None
    }

    fn dispatch(&mut self, request: Request, call: &mut impl FnMut(Request) -> AnswerFuture) {
        let id = request.id().cloned();
        if let Some(id) = &id
            && self.in_flight.len() >= MAX_IN_FLIGHT
            && request.method() != "shutdown"
        {
            return self.reply(Response::from_error(
                id.clone(),
                convert::refused(RequestProblem::Overloaded),
            ));
        }
        let panicked = id.map(|id| Response::from_error(id, convert::panicked()));
        let Ok(answer) = catch_unwind(AssertUnwindSafe(|| call(request))) else {
            return panicked.into_iter().for_each(|response| self.reply(response));
        };
        let answer = AssertUnwindSafe(answer).catch_unwind();
        let mut answer = answer.map(move |answer| answer.unwrap_or(panicked)).boxed();
        // Polled once at once. The task below polls it again, with its own waker.
        match (&mut answer).now_or_never() {
            Some(Some(response)) => self.reply(response),
            Some(None) => {}
            None => {
                let writer = self.writer.clone();
                self.in_flight.spawn(async move {
                    if let Some(response) = answer.await {
                        writer.answer(&response).await;
                    }
                });
            }
        }
    }

    /// Answers without waiting. A client that reads nothing and keeps asking loses answers.
    fn reply(&mut self, response: Response) {
        if self.writer.try_send(encode(&response)).is_ok() {
            return;
        }
        if self.in_flight.len() >= MAX_IN_FLIGHT {
            tracing::warn!(id = %response.id(), "an answer is lost: the client does not read");
            return;
        }
        let writer = self.writer.clone();
        self.in_flight.spawn(async move { writer.answer(&response).await });
    }
}

/// Queue of the writer, bounded in bytes.
#[derive(Clone)]
pub(super) struct MessageWriter {
    queue: mpsc::UnboundedSender<Queued>,
    budget: Arc<Semaphore>,
    /// Bytes of answers for which the budget has no room.
    waiting: Arc<Semaphore>,
}

struct Queued {
    body: Vec<u8>,
    /// Released after the write.
    budget: OwnedSemaphorePermit,
}

impl MessageWriter {
    /// Waits while too much output is unread.
    pub(super) async fn send(&self, body: Vec<u8>) {
        let cost = cost(&body);
        if let Ok(budget) = Arc::clone(&self.budget).acquire_many_owned(cost).await {
            let _ = self.queue.send(Queued { body, budget });
        }
    }

    /// Sends an answer. While too much is unread, a large one becomes an error: many of them would take
    /// all memory.
    async fn answer(&self, response: &Response) {
        let Err(body) = self.try_send(encode(response)) else { return };
        match self.waiting.try_acquire_many(cost(&body)) {
            Ok(_waiting) => self.send(body).await,
            Err(_) => {
                drop(body);
                let error = Response::from_error(
                    response.id().clone(),
                    convert::refused(RequestProblem::Overloaded),
                );
                self.send(encode(&error)).await;
            }
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

/// Starts the writer task; it ends when the last `MessageWriter` is dropped or the output is closed.
pub(super) fn write_to(
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> (MessageWriter, JoinHandle<()>) {
    let (queue, queued) = mpsc::unbounded_channel();
    let writing = tokio::spawn(async move {
        if let Err(error) = write(output, queued).await {
            tracing::error!(%error, "cannot write the output");
        }
    });
    let [budget, waiting] = [MAX_UNREAD, MAX_WAITING].map(|bytes| Arc::new(Semaphore::new(bytes)));
    (MessageWriter { queue, budget, waiting }, writing)
}

async fn write(
    mut output: impl AsyncWrite + Unpin,
    mut queued: mpsc::UnboundedReceiver<Queued>,
) -> std::io::Result<()> {
    let mut framed = Vec::new();
    while let Some(Queued { body, mut budget }) = queued.recv().await {
        frame(&body, &mut framed);
        // Let messages of the same moment join: each write wakes the editor.
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

/// Returns the permits for a body. A message larger than the whole budget takes all of it.
fn cost(body: &[u8]) -> u32 {
    u32::try_from(body.len().min(MAX_UNREAD)).unwrap_or(u32::MAX)
}

pub(super) fn encode(message: &impl serde::Serialize) -> Vec<u8> {
    // The messages hold JSON values already, so encoding them cannot fail.
    serde_json::to_vec(message).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use expect_test::expect;
    use tokio::io::duplex;

    use super::*;

    /// Length of a large answer.
    const LARGE: usize = 2 * 1024 * 1024;

    /// Fails in every way a handler can.
    fn fragile(request: Request) -> AnswerFuture {
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
            "large" => async move {
                yield_now().await;
                let text = "x".repeat(LARGE);
                id.map(|id| Response::from_ok(id, text.into()))
            }
            .boxed(),
            _ => ready(id.map(|id| Response::from_ok(id, method.as_ref().into()))).boxed(),
        }
    }

    #[tokio::test]
    async fn large_answers_that_nobody_reads_become_errors() {
        const ASKED: usize = 30;
        let (mut to_server, input) = duplex(64 * 1024);
        let (output, mut from_server) = duplex(64 * 1024);
        let (writer, writing) = write_to(output);
        let reader = MessageReader::new(input, writer);
        let reading = tokio::spawn(async move { reader.run(fragile, drop).await });
        for id in 0..ASKED {
            let body = encode(&Request::build("large").id(id as i64).finish());
            frame_into(&mut to_server, &body).await;
        }
        // Everything is asked and answered before the client reads.
        frame_into(&mut to_server, &encode(&Request::build("never").finish())).await;
        for _ in 0..10 * ASKED {
            yield_now().await;
        }
        let mut frames = Frames::default();
        let (mut whole, mut refused) = (0, 0);
        let mut chunk = vec![0; 1024 * 1024];
        while whole + refused < ASKED {
            let read = from_server.read(&mut chunk).await.unwrap();
            frames.feed(&chunk[..read]);
            while let Some(Framed::Body(body)) = frames.next() {
                let is_whole = body.len() > LARGE;
                (whole, refused) =
                    (whole + usize::from(is_whole), refused + usize::from(!is_whole));
            }
        }
        let most = (MAX_UNREAD + MAX_WAITING) / LARGE;
        assert!((most - 2..=most).contains(&whole), "{whole} of {ASKED}");
        drop(to_server);
        assert_eq!(reading.await.unwrap(), SessionEnd::InputClosed);
        writing.await.unwrap();
    }

    async fn frame_into(to_server: &mut (impl AsyncWrite + Unpin), body: &[u8]) {
        let mut framed = Vec::new();
        frame(body, &mut framed);
        to_server.write_all(&framed).await.unwrap();
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
                frame_into(&mut to_server, &encode(&request)).await;
            }
        }
        frame_into(&mut to_server, &encode(&Request::build("later").id(9).finish())).await;

        let reader = MessageReader::new(input, writer);
        let reading = tokio::spawn(async move { reader.run(fragile, drop).await });
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
            {"jsonrpc":"2.0","error":{"code":-32603,"message":"Cairn failed with an internal error. Try again; the log has details.","data":{"kind":"internal","code":"internal_error","template":"Cairn failed with an internal error. Try again; the log has details.","action":"show_log"}},"id":0}
            {"jsonrpc":"2.0","error":{"code":-32603,"message":"Cairn failed with an internal error. Try again; the log has details.","data":{"kind":"internal","code":"internal_error","template":"Cairn failed with an internal error. Try again; the log has details.","action":"show_log"}},"id":1}
            {"jsonrpc":"2.0","result":"good","id":3}
            {"jsonrpc":"2.0","error":{"code":-32603,"message":"Cairn failed with an internal error. Try again; the log has details.","data":{"kind":"internal","code":"internal_error","template":"Cairn failed with an internal error. Try again; the log has details.","action":"show_log"}},"id":9}"#]].assert_eq(&replies.join("\n"));
        drop(to_server);
        assert_eq!(reading.await.unwrap(), SessionEnd::InputClosed);
        writing.await.unwrap();
    }
}
