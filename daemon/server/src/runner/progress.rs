//! Messages about one tool call to the clients, and questions about it to the user.

use std::sync::Arc;

use cairn_core::{ids::CallId, review::Origin};
use cairn_protocol::{
    ApprovalDecision, ApproveParams, ApproveResult, CallDecision, DecidedBy, ToolState, TurnNotice,
};
use tokio::sync::oneshot;

use crate::{
    clock,
    ports::{OpenQuestion, ToolUpdate, TurnMailbox, TurnNews},
    processes::LiveSink,
    secrets,
    tools::{Access, ToolContext},
};

/// Tool call with the session and the turn in which clients show it.
#[derive(Clone)]
pub(super) struct CallProgress {
    /// Mailbox of the turn: a call of a subagent is reported in the session of that.
    pub(super) mailbox: TurnMailbox,
    pub(super) call: CallId,
}

impl CallProgress {
    pub(super) fn update(&self, update: ToolUpdate) {
        let (call_id, update) = (self.call.clone(), Box::new(update));
        self.mailbox.send(TurnNews::Tool { call_id, update });
    }

    /// A rule of an earlier "always" lets the call run.
    pub(super) fn decided_by_rule(&self) {
        let (decision, by) = (ApprovalDecision::AllowAlways, DecidedBy::Rule);
        let decision = CallDecision { decision, by, words: None, at: clock::now_ms() };
        self.update(ToolUpdate { decision: Some(Box::new(decision)), ..ToolUpdate::default() });
    }

    /// Receiver of the output of a command that the call runs. Keys are removed from each piece.
    pub(super) fn live_output(&self) -> LiveSink {
        let Self { mailbox, call } = self.clone();
        Arc::new(move |seq, text: String| {
            let text = secrets::redactor().text(&text).into_owned();
            mailbox.send(TurnNews::Output { call_id: call.clone(), seq, text });
        })
    }

    /// Shows a notice to the user, for a call of a subagent as well: in the turn that the user sees.
    pub(super) fn tell(&self, context: &ToolContext, notice: TurnNotice) {
        let Origin { session, turn, .. } = context.origin.clone();
        TurnMailbox { session, turn, ..self.mailbox.clone() }.send(TurnNews::Tell(notice));
    }

    /// Asks the user. The receiver fails if the question is withdrawn.
    pub(super) fn question(
        &self,
        params: ApproveParams,
        access: Access,
        changed: Option<String>,
    ) -> oneshot::Receiver<ApproveResult> {
        let (reply, answer) = oneshot::channel();
        let question = OpenQuestion { params, access, changed, reply };
        self.mailbox.send(TurnNews::Ask(Box::new(question)));
        answer
    }

    /// Asks the user and waits for the answer. `None` if the turn ended first.
    pub(super) async fn ask(
        &self,
        context: &ToolContext,
        params: ApproveParams,
        access: Access,
        changed: Option<String>,
    ) -> Option<ApproveResult> {
        self.update(ToolUpdate {
            state: Some(ToolState::AwaitingApproval),
            detail: Some(params.subject()),
            ..ToolUpdate::default()
        });
        let answer = self.question(params, access, changed);
        let answer = context.cancel.run_until_cancelled(answer).await.and_then(Result::ok);
        answer.map(|ApproveResult { decision, feedback }| {
            let feedback = feedback.filter(|text| !text.trim().is_empty());
            ApproveResult { decision, feedback }
        })
    }
}
