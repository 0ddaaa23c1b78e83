//! Messages about one tool call to the clients, and questions about it to the user.

use cairn_core::ids::{CallId, SessionId, TurnId};

use std::sync::Arc;

use cairn_protocol::{
    ApprovalDecision, ApproveParams, ApproveResult, CallDecision, DecidedBy, ToolState, TurnNotice,
};

use crate::{
    clock,
    exec::live::LiveOutput,
    ports::{Notices, ToolUpdate},
    secrets,
    tools::{Access, ToolContext},
};

/// Tool call with the session and the turn in which clients show it.
#[derive(Clone)]
pub(super) struct CallProgress {
    pub(super) notices: Arc<dyn Notices>,
    pub(super) session: SessionId,
    pub(super) turn: TurnId,
    pub(super) call: CallId,
}

impl CallProgress {
    pub(super) fn update(&self, update: ToolUpdate) {
        self.notices.tool(&self.session, &self.turn, &self.call, update);
    }

    /// A rule of an earlier "always" lets the call run.
    pub(super) fn decided_by_rule(&self) {
        let (decision, by) = (ApprovalDecision::AllowAlways, DecidedBy::Rule);
        let decision = CallDecision { decision, by, words: None, at: clock::now_ms() };
        self.update(ToolUpdate { decision: Some(Box::new(decision)), ..ToolUpdate::default() });
    }

    /// Receiver of the output of a command that the call runs. Keys are removed from each piece.
    pub(super) fn live_output(&self) -> LiveOutput {
        let Self { notices, session, turn, call } = self;
        let (notices, session) = (Arc::clone(notices), session.clone());
        let (turn, call) = (turn.clone(), call.clone());
        LiveOutput::new(move |seq, text| {
            let text = secrets::redactor().text(&text).into_owned();
            notices.output(&session, &turn, &call, seq, text);
        })
    }

    /// Shows a notice to the user, for a call of a subagent as well: in the turn that the user sees.
    pub(super) fn tell(&self, context: &ToolContext, notice: TurnNotice) {
        self.notices.tell(&context.origin.session, &context.origin.turn, notice);
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
        let answer = self.notices.ask(params, access, changed);
        let answer = tokio::select! {
            () = context.cancel.cancelled() => None,
            answer = answer => answer.ok(),
        };
        answer.map(|ApproveResult { decision, feedback }| {
            let feedback = feedback.filter(|text| !text.trim().is_empty());
            ApproveResult { decision, feedback }
        })
    }
}
