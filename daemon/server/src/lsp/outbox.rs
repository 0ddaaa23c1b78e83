//! The one owner of tower-lsp's `Client`: everything the daemon says or asks of its own accord.
//!
//! One queue keeps notifications and questions in the order they were made. A question lives on
//! after its asker gave up, because tower-lsp panics on an answer that nobody expects any more.
//! It must never block a caller.

use std::{sync::Arc, task::Poll, time::Duration};

use cairn_core::sanitize::foreign_words;
use cairn_protocol::{
    ApplyEdit, ApplyEditParams, ApplyEditResult, ApprovalDecision, Approve, ApproveParams,
    ApproveResult, FileChange, Notice, RefusedEdit, RequestMethod, ReviewNotification, Save,
    SaveFailure, SaveParams, SaveResult,
};
use futures_util::{FutureExt, future::BoxFuture, poll};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{
    sync::{SetOnce, mpsc, oneshot},
    task::JoinSet,
    time::timeout,
};
use tower_lsp::{
    Client,
    jsonrpc::{ErrorCode, Request, Response},
};
use tower_service::Service;

use super::{
    convert::{Accepted, Support},
    plain::{self, Words},
    progress::{self, Change},
    review,
};
use crate::{config, disk, ports::Editor, secrets, workspace::Workspace};

const APPLY_EDIT: &str = "workspace/applyEdit";
/// An editor that takes longer is stuck, and the hub must go on.
const ANSWER: Duration = Duration::from_secs(10);
/// Messages that wait for a client that does not read. Beyond it notices are dropped: each is a
/// snapshot that the next one repairs.
const MAX_QUEUED: usize = 16 * 1024;

pub(super) struct Outbox {
    handshake: Arc<SetOnce<Accepted>>,
    queue: mpsc::Sender<Outgoing>,
    running: progress::Running,
    told: review::Told,
    said: plain::Said,
}

enum Outgoing {
    /// A place for a plan, and then how it goes; or the end of it.
    Progress(Change),
    Tell {
        method: &'static str,
        params: Value,
    },
    Ask {
        method: &'static str,
        params: Value,
        answer: oneshot::Sender<Result<Value, Refusal>>,
    },
    /// Words that are not known yet, or none.
    Await(BoxFuture<'static, Option<Words>>),
}

/// A question that the editor did not answer.
struct Refusal {
    /// A sentence for the log.
    words: String,
    /// The editor does not know the method.
    unknown_method: bool,
}

impl From<&str> for Refusal {
    fn from(words: &str) -> Self {
        Self { words: words.to_owned(), unknown_method: false }
    }
}

impl Outbox {
    /// The second half delivers; it must run as long as answers are read.
    pub(super) fn new(
        client: Option<Client>,
        handshake: Arc<SetOnce<Accepted>>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, queued) = mpsc::channel(MAX_QUEUED);
        let delivering = async move {
            if let Some(client) = client {
                deliver(client, queued).await;
            }
        };
        let outbox = Self {
            handshake,
            queue,
            running: progress::Running::default(),
            told: review::Told::default(),
            said: plain::Said::default(),
        };
        (outbox, delivering)
    }

    fn tell(&self, method: &'static str, params: &impl Serialize) {
        let Ok(params) = serde_json::to_value(params) else { return };
        if self.queue.try_send(Outgoing::Tell { method, params }).is_err() {
            tracing::warn!(method, "a notification is lost: the client does not read");
        }
    }

    /// Tells the user how something ended, when it has.
    pub(super) fn tell_when_known(
        &self,
        words: impl Future<Output = Option<Words>> + Send + 'static,
    ) {
        if self.queue.try_send(Outgoing::Await(words.boxed())).is_err() {
            tracing::warn!("the end of a command is not told: the client does not read");
        }
    }

    /// Asks for the section of our settings. `None`: the editor has none, or says nothing.
    pub(super) fn settings(&self) -> impl Future<Output = Option<Value>> + Send + use<> {
        let items = json!({ "items": [{ "section": config::SECTION }] });
        let question = self.ask::<Vec<Value>, _>("workspace/configuration", &items);
        async move {
            let section = Self::within(question).await.ok()?.into_iter().next()?;
            // An empty one is what editors answer in which nothing is set.
            section.as_object().is_some_and(|section| !section.is_empty()).then_some(section)
        }
    }

    /// Asks to be told when the settings change.
    pub(super) fn watch_settings(&self) {
        let method = "workspace/didChangeConfiguration";
        let options = json!({ "section": config::SECTION });
        let registration =
            json!({ "id": "settings", "method": method, "registerOptions": options });
        // An editor that refuses sends them all the same, or never.
        drop(self.ask::<Value, _>(
            "client/registerCapability",
            &json!({ "registrations": [registration] }),
        ));
    }

    /// Shows what is pending in a file.
    fn show(&self, review: &ReviewNotification, supports: Support) {
        let changed = self.told.hear(review);
        if supports.diagnostics {
            if let Some(uri) = &changed.former_uri {
                self.tell(review::DIAGNOSTICS, &review::nothing_at(uri));
            }
            self.tell(review::DIAGNOSTICS, &review::diagnostics(review, supports.units));
        }
        if supports.lens_refresh && changed.hunks {
            // It is for the editor to ask again; its answer says nothing.
            drop(self.ask::<Value, _>(review::REFRESH, &Value::Null));
        }
    }

    /// Queues the question at once; an error is a sentence for the log.
    fn ask<R: DeserializeOwned, P: Serialize>(
        &self,
        method: &'static str,
        params: &P,
    ) -> impl Future<Output = Result<R, String>> + Send + use<R, P> {
        let answered = self.put(method, params);
        async move {
            let value = answered.await.map_err(|refusal| refusal.words)?;
            serde_json::from_value(value).map_err(|error| {
                let error = foreign_words(&error.to_string());
                format!("the editor's answer is not understood: {error}")
            })
        }
    }

    /// Queues the question at once.
    fn put<P: Serialize>(
        &self,
        method: &'static str,
        params: &P,
    ) -> impl Future<Output = Result<Value, Refusal>> + Send + use<P> {
        let (answer, answered) = oneshot::channel();
        let queued = match serde_json::to_value(params) {
            Ok(params) => self
                .queue
                .try_send(Outgoing::Ask { method, params, answer })
                .map_err(|_| Refusal::from("the editor does not read")),
            Err(error) => Err(Refusal::from(error.to_string().as_str())),
        };
        async move {
            queued?;
            answered.await.map_err(|_| Refusal::from("the editor is gone"))?
        }
    }

    /// Answer to an edit. Without one in time there is no reason: the edit may still come.
    async fn edited<R>(
        question: impl Future<Output = Result<R, String>>,
        read: impl FnOnce(R) -> ApplyEditResult,
    ) -> ApplyEditResult {
        let failed = |reason, message| ApplyEditResult {
            applied: false,
            reason,
            message: Some(message),
            // Nothing is known, so nothing may be saved.
            was_dirty: true,
        };
        match timeout(ANSWER, question).await {
            Ok(Ok(result)) => read(result),
            Ok(Err(why)) => failed(Some(RefusedEdit::Failed), why),
            Err(_) => failed(None, "the editor did not answer in time".to_owned()),
        }
    }

    async fn within<R>(question: impl Future<Output = Result<R, String>>) -> Result<R, String> {
        timeout(ANSWER, question)
            .await
            .unwrap_or_else(|_| Err("the editor did not answer in time".to_owned()))
    }
}

impl Editor for Outbox {
    fn notify(&self, notice: Notice) {
        let Some(accepted) = self.handshake.get() else { return };
        if accepted.hello.speaks_agent {
            self.tell(notice.method(), &notice);
            return;
        }
        let supports = accepted.supports;
        match &notice {
            Notice::Review(review) => return self.show(review, supports),
            Notice::Status(status) => {
                for (method, params) in self.said.news(status) {
                    self.tell(method, &params);
                }
                return;
            }
            // A plan that is shown as progress needs no log.
            Notice::Plan(plan) if !supports.progress => {
                if let Some((method, params)) = self.said.plan(plan) {
                    self.tell(method, &params);
                }
                return;
            }
            Notice::Turn(_)
            | Notice::Plan(_)
            | Notice::Child(_)
            | Notice::Message(_)
            | Notice::Tool(_)
            | Notice::Queue(_)
            | Notice::Usage(_) => {}
        }
        if supports.progress
            && let Some(change) = self.running.hear(&notice)
            && self.queue.try_send(Outgoing::Progress(change)).is_err()
        {
            tracing::warn!("a plan is not shown: the client does not read");
        }
        if let Some((method, params)) = plain::notice(&notice) {
            self.tell(method, &params);
        }
    }

    fn apply(
        &self,
        params: ApplyEditParams,
        workspace: Arc<Workspace>,
    ) -> BoxFuture<'static, ApplyEditResult> {
        let failed = |message| ApplyEditResult {
            applied: false,
            reason: Some(RefusedEdit::Failed),
            message: Some(message),
            // Nothing is known, so nothing may be saved.
            was_dirty: true,
        };
        let Some(accepted) = self.handshake.get() else {
            return async move { failed("no editor is connected".to_owned()) }.boxed();
        };
        if accepted.hello.speaks_agent {
            let question = self.ask(ApplyEdit::METHOD, &params);
            return Self::edited(question, |result| result).boxed();
        }
        let ApplyEditParams { uri, label, encoding, change } = params;
        let (version, edits) = match change {
            FileChange::Edit { expected_version: Some(version), edits, .. } => (version, edits),
            // Many editors would take it into a hidden buffer that nobody saves, and tell nothing
            // of it: builds would go on with the old text.
            change => {
                let deletes =
                    matches!(change, FileChange::Delete { .. } | FileChange::Rename { .. });
                let params = ApplyEditParams { uri, label, encoding, change };
                let changing = disk::apply(params, workspace);
                return changing.map(move |result| plain::on_disk(result, deletes)).boxed();
            }
        };
        match plain::workspace_edit(&uri, label, version, edits, accepted.supports) {
            Ok(edit) => Self::edited(self.ask(APPLY_EDIT, &edit), plain::applied).boxed(),
            Err(why) => async move { failed(why) }.boxed(),
        }
    }

    fn save(&self, params: SaveParams) -> BoxFuture<'static, SaveResult> {
        let speaks_agent = self.handshake.get().is_some_and(|it| it.hello.speaks_agent);
        let question = speaks_agent.then(|| self.ask(Save::METHOD, &params));
        async move {
            let saved = match question {
                Some(question) => Self::within(question).await,
                None => Err("this editor cannot be asked to save".to_owned()),
            };
            saved.unwrap_or_else(|reason| SaveResult {
                failed: params
                    .uris
                    .into_iter()
                    .map(|uri| SaveFailure { uri, reason: reason.clone() })
                    .collect(),
            })
        }
        .boxed()
    }

    fn approve(&self, params: ApproveParams) -> BoxFuture<'static, ApproveResult> {
        let denied = |why| ApproveResult { decision: ApprovalDecision::Deny, feedback: Some(why) };
        let Some(accepted) = self.handshake.get() else {
            return async move { denied("no editor is connected".to_owned()) }.boxed();
        };
        if accepted.hello.speaks_agent {
            let question = self.ask(Approve::METHOD, &params);
            async move { question.await.unwrap_or_else(denied) }.boxed()
        } else {
            let question =
                self.put("window/showMessageRequest", &plain::question(&params, accepted.supports));
            let queue = self.queue.clone();
            async move {
                match question.await {
                    Ok(answer) => plain::decision(answer),
                    Err(refusal) if refusal.unknown_method => {
                        let (method, words) = plain::question_to_find(&params);
                        let told = serde_json::to_value(words).is_ok_and(|params| {
                            queue.try_send(Outgoing::Tell { method, params }).is_ok()
                        });
                        if !told {
                            return denied(refusal.words);
                        }
                        drop(queue);
                        // The answer comes as a command, or the turn ends.
                        std::future::pending().await
                    }
                    Err(refusal) => denied(refusal.words),
                }
            }
            .boxed()
        }
    }
}

/// Sends in order. When the outbox is gone it still waits for the answers that are due.
async fn deliver(client: Client, mut queue: mpsc::Receiver<Outgoing>) {
    let mut asked = JoinSet::new();
    loop {
        tokio::select! {
            outgoing = queue.recv() => match outgoing {
                Some(outgoing) => send(&client, outgoing, &mut asked).await,
                None => break,
            },
            Some(_) = asked.join_next() => {}
        }
    }
    while asked.join_next().await.is_some() {}
}

async fn send(client: &Client, outgoing: Outgoing, asked: &mut JoinSet<()>) {
    let mut client = client.clone();
    match outgoing {
        Outgoing::Tell { method, mut params } => {
            secrets::clean_json(&mut params);
            let _ = client.call(Request::build(method).params(params).finish()).await;
        }
        Outgoing::Ask { method, mut params, answer } => {
            // The user's own text must come back byte for byte.
            if !matches!(method, ApplyEdit::METHOD | APPLY_EDIT) {
                secrets::clean_json(&mut params);
            }
            let id = client.next_request_id();
            let request = Request::build(method).id(id);
            // No params are not null params.
            let request = if params.is_null() { request } else { request.params(params) };
            let mut call = client.call(request.finish());
            // The first poll puts it on the wire's queue, so that what is said later comes later.
            let answered = poll!(&mut call);
            asked.spawn(async move {
                let response = match answered {
                    Poll::Ready(response) => response,
                    Poll::Pending => call.await,
                };
                let outcome = match response.ok().flatten().map(Response::into_parts) {
                    Some((_, Ok(value))) => Ok(value),
                    Some((_, Err(error))) => Err(Refusal {
                        words: format!("the editor refused: {}", foreign_words(&error.message)),
                        unknown_method: error.code == ErrorCode::MethodNotFound,
                    }),
                    None => Err(Refusal::from("the editor is gone")),
                };
                // Whoever asked may have stopped waiting.
                let _ = answer.send(outcome);
            });
        }
        Outgoing::Await(words) => {
            asked.spawn(async move {
                let Some((method, params)) = words.await else { return };
                let Ok(mut params) = serde_json::to_value(params) else { return };
                secrets::clean_json(&mut params);
                let _ = client.call(Request::build(method).params(params).finish()).await;
            });
        }
        Outgoing::Progress(Change::Open(shown)) => {
            let Ok(place) = serde_json::to_value(shown.place()) else { return };
            let id = client.next_request_id();
            let create = Request::build(progress::CREATE).params(place).id(id).finish();
            let created = client.call(create);
            asked.spawn(async move {
                // No place is a no: then nothing must be said.
                let Some((_, Ok(_))) = created.await.ok().flatten().map(Response::into_parts)
                else {
                    return;
                };
                shown.follow(client).await;
            });
        }
        // Here and not by the task that follows the plan: what is queued later comes later.
        Outgoing::Progress(Change::Close(closing)) => {
            closing.say(&client).await;
        }
    }
}
