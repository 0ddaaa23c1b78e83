//! Every notification and request of the daemon, in one queue, which keeps them in order. Never blocks
//! a caller.

use std::{borrow::Cow, sync::Arc, time::Duration};

use cairn_core::sanitize::foreign_words;
use cairn_protocol::{
    ApplyEdit, ApplyEditParams, ApplyEditResult, ApprovalDecision, Approve, ApproveParams,
    ApproveResult, Ask, AskParams, AskResult, FileChange, Notice, RefusedEdit, RequestMethod,
    ReviewNotification, Save, SaveFailure, SaveParams, SaveResult,
};
use futures_util::{FutureExt, future::BoxFuture};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{
    sync::{SetOnce, mpsc, oneshot},
    task::JoinSet,
    time::timeout,
};
use tower_lsp::jsonrpc::{Error, ErrorCode};

use super::{
    client::{APPLY_EDIT, AnswerSender, LspClient},
    client_support::ClientSupport,
    handshake::Handshake,
    progress::{self, ProgressChange},
    review,
    standard_client::{self, WindowMessage},
};
use crate::{
    config, disk,
    ports::{Editor, Questions, UserAnswer},
    workspace::Workspace,
};

/// Time after which an unresponsive editor is treated as stuck.
const ANSWER: Duration = Duration::from_secs(10);
/// Maximum number of queued messages for a client that does not read. Further notices are dropped:
/// each is a snapshot that the next one replaces.
const MAX_QUEUED: usize = 16 * 1024;

pub(super) struct Outbox {
    handshake: Arc<SetOnce<Handshake>>,
    queue: mpsc::Sender<Outgoing>,
    running: progress::RunningTurns,
    shown_reviews: review::ShownReviews,
    shown_messages: standard_client::ShownMessages,
}

enum Outgoing {
    /// Opens, updates or closes the progress of a turn.
    Progress(ProgressChange),
    Notify {
        method: &'static str,
        params: Value,
    },
    Request {
        method: &'static str,
        params: Value,
        answer: AnswerSender,
    },
    /// Message that is not known yet, or none.
    NotifyLater(BoxFuture<'static, Option<WindowMessage>>),
}

fn failed_edit(reason: Option<RefusedEdit>, message: Option<String>) -> ApplyEditResult {
    // The state is unknown, so no save must follow.
    ApplyEditResult { applied: false, reason, message, was_dirty: true }
}

/// Failure of a request that the editor did not answer.
fn failed(why: impl Into<Cow<'static, str>>) -> Error {
    Error { code: ErrorCode::InternalError, message: why.into(), data: None }
}

impl Outbox {
    /// Returns the outbox and the future that delivers, which must run as long as answers are read.
    pub(super) fn new(
        client: LspClient,
        handshake: Arc<SetOnce<Handshake>>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, queued) = mpsc::channel(MAX_QUEUED);
        let outbox = Self {
            handshake,
            queue,
            running: progress::RunningTurns::default(),
            shown_reviews: review::ShownReviews::default(),
            shown_messages: standard_client::ShownMessages::default(),
        };
        (outbox, deliver(client, queued))
    }

    fn send_notification(&self, method: &'static str, params: &impl Serialize) {
        let Ok(params) = serde_json::to_value(params) else { return };
        if self.queue.try_send(Outgoing::Notify { method, params }).is_err() {
            tracing::warn!(method, "a notification is lost: the client does not read");
        }
    }

    /// Shows a message once its text is known.
    pub(super) fn notify_when_known(
        &self,
        words: impl Future<Output = Option<WindowMessage>> + Send + 'static,
    ) {
        if self.queue.try_send(Outgoing::NotifyLater(words.boxed())).is_err() {
            tracing::warn!("the end of a command is not shown: the client does not read");
        }
    }

    /// Requests the section `cairn` of the settings. `None`: the editor has none or does not
    /// answer.
    pub(super) fn settings(&self) -> impl Future<Output = Option<Value>> + Send + use<> {
        let items = json!({ "items": [{ "section": config::SECTION }] });
        let question = self.ask::<Vec<Value>, _>("workspace/configuration", &items);
        async move {
            let section = Self::within(question).await.ok()?.into_iter().next()?;
            // Editors answer with an empty object where nothing is set.
            section.as_object().is_some_and(|section| !section.is_empty()).then_some(section)
        }
    }

    /// Registers for notifications about changed settings.
    pub(super) fn watch_settings(&self) {
        let method = "workspace/didChangeConfiguration";
        let options = json!({ "section": config::SECTION });
        let registration =
            json!({ "id": "settings", "method": method, "registerOptions": options });
        // The answer does not matter: an editor that refuses either sends them anyway or never
        // does.
        drop(self.ask::<Value, _>(
            "client/registerCapability",
            &json!({ "registrations": [registration] }),
        ));
    }

    /// Shows the pending edits of a file.
    fn show(&self, review: &ReviewNotification, supports: ClientSupport) {
        let changed = self.shown_reviews.update(review);
        if supports.diagnostics {
            if let Some(uri) = &changed.former_uri {
                self.send_notification(review::DIAGNOSTICS, &review::nothing_at(uri));
            }
            self.send_notification(
                review::DIAGNOSTICS,
                &review::diagnostics(review, supports.units),
            );
        }
        if supports.lens_refresh && changed.hunks {
            // The editor requests the lenses again without being asked; its answer carries no information.
            drop(self.ask::<Value, _>(review::REFRESH, &Value::Null));
        }
    }

    /// Queues a request at once; the error is a sentence for the log.
    fn ask<R: DeserializeOwned, P: Serialize>(
        &self,
        method: &'static str,
        params: &P,
    ) -> impl Future<Output = Result<R, String>> + Send + use<R, P> {
        let answered = self.put(method, params);
        async move {
            let value = answered.await.map_err(|error| error.message.into_owned())?;
            serde_json::from_value(value).map_err(|error| {
                let error = foreign_words(&error.to_string());
                format!("the editor's answer is not understood: {error}")
            })
        }
    }

    /// Queues a request at once.
    fn put<P: Serialize>(
        &self,
        method: &'static str,
        params: &P,
    ) -> impl Future<Output = Result<Value, Error>> + Send + use<P> {
        let (answer, answered) = oneshot::channel();
        let queued = match serde_json::to_value(params) {
            Ok(params) => self
                .queue
                .try_send(Outgoing::Request { method, params, answer })
                .map_err(|_| failed("the editor does not read")),
            Err(error) => Err(failed(error.to_string())),
        };
        async move {
            queued?;
            let answer = answered.await.map_err(|_| failed("the editor is gone"))?;
            answer.map_err(|error| {
                let words = format!("the editor refused: {}", foreign_words(&error.message));
                Error { message: words.into(), ..error }
            })
        }
    }

    /// Waits for the result of an edit. A timeout has neither reason nor message, because the
    /// edit may still be applied.
    async fn edited<R>(
        question: impl Future<Output = Result<R, String>>,
        read: impl FnOnce(R) -> ApplyEditResult,
    ) -> ApplyEditResult {
        match timeout(ANSWER, question).await {
            Ok(Ok(result)) => read(result),
            Ok(Err(why)) => failed_edit(Some(RefusedEdit::Failed), Some(why)),
            Err(_) => failed_edit(None, None),
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
            // Many messages, which a client has no use for unless it shows them.
            if matches!(notice, Notice::Output(_)) && !accepted.wants_output {
                return;
            }
            self.send_notification(notice.method(), &notice);
            return;
        }
        let supports = accepted.supports;
        match &notice {
            Notice::Review(review) => return self.show(review, supports),
            Notice::Status(status) => {
                for (method, params) in self.shown_messages.news(status) {
                    self.send_notification(method, &params);
                }
                return;
            }
            // A plan that is shown as progress is not logged.
            Notice::Plan(plan) if !supports.progress => {
                if let Some((method, params)) = self.shown_messages.plan(plan) {
                    self.send_notification(method, &params);
                }
                return;
            }
            _ => {}
        }
        if supports.progress
            && let Some(change) = self.running.update(&notice)
            && self.queue.try_send(Outgoing::Progress(change)).is_err()
        {
            tracing::warn!("a plan is not shown: the client does not read");
        }
        if let Some((method, params)) = standard_client::notice(&notice) {
            self.send_notification(method, &params);
        }
    }

    fn apply(
        &self,
        params: ApplyEditParams,
        workspace: Arc<Workspace>,
    ) -> BoxFuture<'static, ApplyEditResult> {
        let failed = |why| failed_edit(Some(RefusedEdit::Failed), Some(why));
        let Some(accepted) = self.handshake.get() else {
            return async move { failed("no editor is connected".to_owned()) }.boxed();
        };
        if accepted.hello.speaks_agent {
            let question = self.ask(ApplyEdit::METHOD, &params);
            return async move {
                let result = Self::edited(question, |result| result).await;
                match result.reason {
                    Some(RefusedEdit::Closed) => disk::apply(params, workspace).await,
                    _ => result,
                }
            }
            .boxed();
        }
        let ApplyEditParams { uri, label, encoding, change } = params;
        let (version, edits) = match change {
            FileChange::Edit { expected_version: Some(version), edits, .. } => (version, edits),
            // Many editors apply such an edit to a hidden buffer that is never saved, without
            // notice: builds would use the old text.
            change => {
                let deletes =
                    matches!(change, FileChange::Delete { .. } | FileChange::Rename { .. });
                let params = ApplyEditParams { uri, label, encoding, change };
                let changing = disk::apply(params, workspace);
                return changing
                    .map(move |result| standard_client::on_disk(result, deletes))
                    .boxed();
            }
        };
        match standard_client::workspace_edit(&uri, label, version, edits, accepted.supports) {
            Ok(edit) => Self::edited(self.ask(APPLY_EDIT, &edit), standard_client::applied).boxed(),
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
            let question = self.put(
                "window/showMessageRequest",
                &standard_client::question(&params, accepted.supports),
            );
            let queue = self.queue.clone();
            async move {
                match question.await {
                    Ok(answer) => standard_client::decision(answer),
                    Err(error) if error.code == ErrorCode::MethodNotFound => {
                        let (method, words) = standard_client::question_to_find(&params);
                        let told = serde_json::to_value(words).is_ok_and(|params| {
                            queue.try_send(Outgoing::Notify { method, params }).is_ok()
                        });
                        if !told {
                            return denied(error.message.into_owned());
                        }
                        drop(queue);
                        // The answer arrives as a command, unless the turn ends first.
                        std::future::pending().await
                    }
                    Err(error) => denied(error.message.into_owned()),
                }
            }
            .boxed()
        }
    }
}

impl Questions for Outbox {
    fn ask(&self, params: AskParams) -> BoxFuture<'static, UserAnswer> {
        if !self.handshake.get().is_some_and(|accepted| accepted.can_ask) {
            return async { UserAnswer::Unavailable }.boxed();
        }
        let question = self.ask::<AskResult, _>(Ask::METHOD, &params);
        async move {
            match question.await {
                Ok(AskResult { answer: Some(text) }) => UserAnswer::Text(text),
                Ok(AskResult { answer: None }) => UserAnswer::Dismissed,
                Err(reason) => {
                    tracing::warn!("a question was not answered: {reason}");
                    UserAnswer::Unavailable
                }
            }
        }
        .boxed()
    }
}

/// Sends the queue in order. After the outbox is dropped it still waits for due answers.
async fn deliver(client: LspClient, mut queue: mpsc::Receiver<Outgoing>) {
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

async fn send(client: &LspClient, outgoing: Outgoing, asked: &mut JoinSet<()>) {
    let client = client.clone();
    match outgoing {
        Outgoing::Notify { method, params } => client.notify(method, params).await,
        Outgoing::Request { method, params, answer } => client.ask(method, params, answer).await,
        Outgoing::NotifyLater(words) => {
            asked.spawn(async move {
                let Some((method, params)) = words.await else { return };
                let Ok(params) = serde_json::to_value(params) else { return };
                client.notify(method, params).await;
            });
        }
        Outgoing::Progress(ProgressChange::Open(shown)) => {
            let Ok(place) = serde_json::to_value(shown.place()) else { return };
            let (answer, answered) = oneshot::channel();
            client.ask(progress::CREATE, place, answer).await;
            asked.spawn(async move {
                // An editor that refused must get no progress.
                if let Ok(Ok(_)) = answered.await {
                    shown.follow(client).await;
                }
            });
        }
        // Sent from here and not from the task that follows the plan, to keep the order of the
        // queue.
        Outgoing::Progress(ProgressChange::Close(closing)) => {
            closing.send(&client).await;
        }
    }
}
