//! Questions to the user that a tool call waits for. The first answer counts, whichever way it
//! comes; the end of a turn withdraws its questions, and so does the end of trust.

use std::collections::HashMap;

use cairn_core::policy::{Access, trust};
use cairn_protocol::{AnswerParams, AnswerResult, ApprovalDecision, ApproveParams, ApproveResult};
use tokio::sync::oneshot;

use super::{Sessions, event::SessionEvent};
use crate::approval::definitions::{self, Definitions};

#[derive(Debug, Default)]
pub(super) struct Approvals {
    waiting: HashMap<String, Waiting>,
}

#[derive(Debug)]
struct Waiting {
    params: ApproveParams,
    access: Access,
    definitions: Definitions,
    reply: oneshot::Sender<ApproveResult>,
}

impl Sessions {
    /// Questions without an answer, oldest first.
    pub(crate) fn open_questions(&self) -> Vec<ApproveParams> {
        let waiting = self.approvals.waiting.values();
        let mut open: Vec<_> = waiting.map(|it| it.params.clone()).collect();
        // Ids sort by time.
        open.sort_by(|one, other| one.approval_id.cmp(&other.approval_id));
        open
    }

    pub(super) fn ask_approval(
        &mut self,
        mut params: ApproveParams,
        access: Access,
        definitions: Definitions,
        reply: oneshot::Sender<ApproveResult>,
    ) {
        // The turn may have ended while the question was on its way; the caller sees it withdrawn.
        let session =
            self.entries.get(&params.session_id).filter(|session| session.is_turn(&params.turn_id));
        if session.is_none() {
            return;
        }
        if let Some(refused) = self.without_trust(&access) {
            return drop(reply.send(refused));
        }
        params.child = self.subagents.title_of(&params.session_id);
        let root = self.entries.get(self.root_of(&params.session_id));
        let key = (access.clone(), params.title.clone());
        if let Some(allowed) = root.and_then(|root| root.allowed.get(&key)) {
            let Some(file) = definitions::changed(allowed, &definitions) else {
                let decision = ApprovalDecision::AllowSession;
                return drop(reply.send(ApproveResult { decision, feedback: None }));
            };
            let since = format!("`{file}` changed since you allowed this for the session.");
            params.reason = format!("{since} {}", params.reason);
            params.changed.get_or_insert(file);
        }
        let asked = self.services.editor.approve(params.clone());
        let mailbox = self.mailbox.clone();
        let approval_id = params.approval_id.clone();
        let waiting = Waiting { params, access, definitions, reply };
        self.approvals.waiting.insert(approval_id.clone(), waiting);
        self.services.spawn(async move {
            let result = asked.await;
            mailbox.send(SessionEvent::Approved { approval_id, result });
        });
    }

    pub(super) fn approved(&mut self, approval_id: &str, mut result: ApproveResult) -> bool {
        let Some(waiting) = self.approvals.waiting.remove(approval_id) else { return false };
        if result.decision == ApprovalDecision::AllowAlways && waiting.params.rules.is_empty() {
            tracing::warn!("{approval_id}: always was not offered; it is allowed once");
            result.decision = ApprovalDecision::AllowOnce;
        }
        let root = self.root_of(&waiting.params.session_id).to_owned();
        if result.decision == ApprovalDecision::AllowSession
            && let Some(session) = self.entries.get_mut(&root)
        {
            session.allowed.insert((waiting.access, waiting.params.title), waiting.definitions);
        }
        waiting.reply.send(result).is_ok()
    }

    pub(crate) fn answer(&mut self, params: AnswerParams) -> AnswerResult {
        let result = ApproveResult { decision: params.decision, feedback: params.feedback };
        AnswerResult { accepted: self.approved(&params.approval_id, result) }
    }

    /// Declines every question that is open, of one session with its children or of all, and tells the
    /// model the words. For editors that send no answer when their user dismisses a question: to the
    /// daemon it would stay open for ever. Returns how many there were.
    pub(crate) fn decline(&mut self, session_id: Option<&str>, words: Option<&str>) -> usize {
        let of_session = |waiting: &Waiting| {
            session_id.is_none_or(|id| self.root_of(&waiting.params.session_id) == id)
        };
        let open = self.approvals.waiting.iter().filter(|(_, waiting)| of_session(waiting));
        let open: Vec<String> = open.map(|(id, _)| id.clone()).collect();
        let decline = |id: &String| {
            let feedback = words.map(str::to_owned);
            self.approved(id, ApproveResult { decision: ApprovalDecision::Deny, feedback })
        };
        open.iter().map(decline).filter(|&told| told).count()
    }

    /// Trust was taken away: what it is needed for is asked no more, and a late yes is none.
    pub(super) fn refuse_without_trust(&mut self) {
        for (id, waiting) in std::mem::take(&mut self.approvals.waiting) {
            match self.without_trust(&waiting.access) {
                Some(refused) => drop(waiting.reply.send(refused)),
                None => drop(self.approvals.waiting.insert(id, waiting)),
            }
        }
    }

    fn without_trust(&self, access: &Access) -> Option<ApproveResult> {
        let reason = trust::refusal(access).filter(|_| !self.config.trusted)?;
        let (decision, feedback) = (ApprovalDecision::Deny, Some(reason.to_owned()));
        Some(ApproveResult { decision, feedback })
    }

    pub(super) fn withdraw_approvals(&mut self, turn_id: &str) {
        self.approvals.waiting.retain(|_, waiting| waiting.params.turn_id != turn_id);
    }
}
