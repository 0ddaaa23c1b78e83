//! Replies of the double to the daemon's requests, by the script of the test, and its record of notices.

use std::sync::{MutexGuard, PoisonError};

use cairn_protocol::{
    ApplyEdit, ApplyEditParams, ApprovalDecision, Approve, ApproveParams, ApproveResult, Ask,
    AskParams, AskResult, FileChange, ModelCheckNotification, ModelFinding, Notice, Position,
    Range, RefusedEdit, RequestMethod, Save, SaveParams, TextEdit, TurnPhase,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    ApplyFault, Approval, Shared, State,
    documents::{applied, refused},
    places::offset,
};
use crate::lsp_client::LspClient;

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if the notification was for us.
    pub(super) fn hear(&self, method: &str, params: &Value) -> bool {
        let mut state = self.state();
        match Notice::parse(method, params.clone()) {
            Some(Ok(notice)) => {
                let is_end = matches!(&notice, Notice::Turn(turn) if matches!(turn.phase, TurnPhase::Ended { .. }));
                state.notice(notice);
                if is_end {
                    state.check_byte_law();
                }
            }
            Some(Err(error)) => state.unexpected.push(format!("{method}: {error}: {params}")),
            None => state.unexpected.push(format!("notification {method}")),
        }
        self.noticed.notify_waiters();
        true
    }

    pub(super) fn answer(&self, client: &LspClient, id: &Value, method: &str, params: &Value) {
        let mut state = self.state();
        match method {
            ApplyEdit::METHOD => {
                let params: ApplyEditParams = read_params(params);
                state.applied.push(params.clone());
                state.edit_begins(&params);
                let refuse = |reason| refused(reason, "scripted");
                let fault = state.faults.pop_front();
                if fault.is_some() {
                    state.changed_by_others(&params.uri);
                }
                match fault {
                    None => respond(client, id, &state.apply(client, params)),
                    Some(ApplyFault::Refuse(reason)) => respond(client, id, &refuse(reason)),
                    Some(ApplyFault::RefuseSaying(words)) => {
                        respond(client, id, &refused(RefusedEdit::Failed, words));
                    }
                    Some(ApplyFault::Lie) => respond(client, id, &applied(false)),
                    Some(ApplyFault::DoneButFailed) => {
                        state.apply(client, params);
                        respond(client, id, &refuse(RefusedEdit::Failed));
                    }
                    Some(ApplyFault::FailedButDone) => {
                        respond(client, id, &refuse(RefusedEdit::Failed));
                        state.apply(client, params);
                    }
                    Some(ApplyFault::Silence) => {}
                    Some(ApplyFault::Hold) => state.held.push_back((id.clone(), params)),
                    Some(ApplyFault::EndLine) => {
                        let FileChange::Edit { edits, .. } = params.change else {
                            unreachable!("only edits of text end a line");
                        };
                        let document = state.documents.get_mut(&params.uri);
                        let document = document.expect("an open document");
                        let mut text = document.text.clone();
                        for edit in edits.iter().rev() {
                            let from = offset(&text, edit.range.start);
                            text.replace_range(from..offset(&text, edit.range.end), &edit.new_text);
                        }
                        text.push('\n');
                        document.reload(client, &params.uri, &text);
                        document.dirty = true;
                        respond(client, id, &applied(false));
                    }
                    Some(ApplyFault::Type(text)) => {
                        let start = Position { line: 0, character: 0 };
                        let edit = TextEdit {
                            range: Range { start, end: start },
                            new_text: text.to_owned(),
                        };
                        let document = state.documents.get_mut(&params.uri);
                        let document = document.expect("the user types in an open document");
                        document.change(client, &params.uri, &[edit]);
                        document.dirty = true;
                        respond(client, id, &state.apply(client, params));
                    }
                    Some(ApplyFault::LeaveOpen) => {
                        let uri = params.uri.clone();
                        let document = state.documents.remove(&uri).expect("an open document");
                        respond(client, id, &state.apply(client, params));
                        state.documents.insert(uri, document);
                    }
                }
            }
            Save::METHOD => {
                let SaveParams { uris } = read_params(params);
                respond(client, id, &state.save_all(client, uris));
            }
            Approve::METHOD => {
                let asked: ApproveParams = read_params(params);
                let usual = match asked.quarantined {
                    // What a command left is kept only by a scripted answer.
                    true => Some(Approval::Answer(ApproveResult {
                        decision: ApprovalDecision::Deny,
                        feedback: None,
                    })),
                    false => state.habit.clone(),
                };
                state.asked.push(asked);
                match state.approvals.pop_front().or(usual) {
                    Some(Approval::Answer(result)) => respond(client, id, &result),
                    Some(Approval::Silence) => {}
                    None => {
                        state.unexpected.push(format!("unscripted approval {params}"));
                        client.respond_error(id, -32603, "no answer is scripted");
                    }
                }
            }
            Ask::METHOD => {
                let asked: AskParams = read_params(params);
                if let Some(first) = asked.options.first() {
                    respond(client, id, &AskResult { answer: Some(first.clone()) });
                }
                state.questions.push(asked);
            }
            _ => {
                state.unexpected.push(format!("request {method}"));
                client.respond_error(id, -32601, "unknown method");
            }
        }
    }
}

impl State {
    fn notice(&mut self, notice: Notice) {
        let (stream, rev) = stream(&notice);
        if let Some(newest) = self.revs.get(&stream).filter(|newest| rev <= **newest) {
            let method = notice.method();
            self.unexpected.push(format!("{method}: rev {rev} after {newest} of {stream}"));
        }
        self.revs.insert(stream, rev);
        self.notices.push(notice);
    }
}

/// Name of the stream that the `rev` of a notice counts, and the `rev`.
fn stream(notice: &Notice) -> (String, u32) {
    match notice {
        Notice::Turn(it) => (format!("turn {}", it.turn_id), it.rev),
        Notice::Message(it) => (format!("message {}", it.item_id), it.rev),
        Notice::Tool(it) => (format!("tool {} {}", it.turn_id, it.call_id), it.rev),
        Notice::Output(it) => (format!("output {} {}", it.turn_id, it.call_id), it.seq),
        Notice::Review(it) => (format!("review {}", it.uri), it.rev),
        Notice::Status(it) => ("status".to_owned(), it.rev),
        // Each notification has more findings than the one before.
        Notice::ModelCheck(it) => (format!("check {}", it.check_id), findings(it)),
        // A notice of a session replaces the one before.
        of_session => {
            let params = serde_json::to_value(of_session).expect("notices are JSON");
            let rev = params["rev"].as_u64().expect("a revision") as u32;
            (format!("{} {}", of_session.method(), params["sessionId"]), rev)
        }
    }
}

fn findings(check: &ModelCheckNotification) -> u32 {
    let open = ModelFinding::NotChecked.message();
    check.rows.iter().filter(|row| row.finding != open).count() as u32
}

pub(super) fn respond(client: &LspClient, id: &Value, result: &impl Serialize) {
    client.respond(id, serde_json::to_value(result).expect("results are JSON"));
}

fn read_params<T: DeserializeOwned>(params: &Value) -> T {
    serde_json::from_value(params.clone()).expect("params are of the method's form")
}
