//! Approvals of tool calls: asks the user, and passes the answer on. The first answer counts, from
//! whichever client. The end of a turn withdraws its questions. A question that needs trust is
//! declined when the user withdraws their trust in the workspace.

use cairn_core::{ids::SessionId, policy::Access};
use cairn_protocol::{
    ApprovalDecision, ApprovalReason, ApproveParams, ApproveResult, CallDecision, DecidedBy,
};

use super::Sessions;
use crate::{
    clock,
    ports::{OpenQuestion, ToolUpdate},
    secrets,
};

impl Sessions {
    /// Returns the questions without an answer, oldest first.
    pub(crate) fn open_questions(&self) -> Vec<ApproveParams> {
        self.questions.values().map(|question| question.params.clone()).collect()
    }

    pub(super) fn ask_approval(&mut self, question: OpenQuestion) {
        let OpenQuestion { mut params, access, changed, reply } = question;
        // If the turn has ended since, `reply` is dropped: the caller sees the question withdrawn.
        let turn_id = params.turn_id.as_str();
        let session = self.entries.get(&params.session_id.as_str().into());
        let Some(session) = session.filter(|it| turn_id.is_empty() || it.is_turn(&turn_id.into()))
        else {
            return;
        };
        if let Some(refused) = self.config.without_trust(&access) {
            return drop(reply.send(refused));
        }
        params.subagent = session.subagent.as_ref().map(|subagent| subagent.title.clone());
        let root = self.entries.get(session.root());
        let key = (approvals_key(access.clone()), params.title.english());
        if root.is_some_and(|root| root.allowed.contains(&key)) {
            let Some(file) = changed else {
                let decision = ApprovalDecision::AllowSession;
                let result = ApproveResult { decision, feedback: None };
                self.record_decision(&params, &result, DecidedBy::Session);
                return drop(reply.send(result));
            };
            let since = ApprovalReason::SessionFileChanged { file: file.clone() };
            params.reasons.insert(0, since.message());
            params.changed.get_or_insert(file);
        }
        let asked = self.services.editor.approve(params.clone());
        let approval_id = params.approval_id.clone();
        self.questions
            .insert(approval_id.clone(), OpenQuestion { params, access, changed: None, reply });
        self.after(asked, move |sessions, result, _| {
            sessions.on_approval(&approval_id, result);
        });
    }

    pub(super) fn on_approval(&mut self, approval_id: &str, mut result: ApproveResult) -> bool {
        let Some(question) = self.questions.remove(approval_id) else { return false };
        let is_offered = match result.decision {
            ApprovalDecision::AllowAlways => !question.params.rules.is_empty(),
            ApprovalDecision::AllowPattern => question.params.pattern.is_some(),
            _ => true,
        };
        if !is_offered {
            tracing::warn!("{approval_id}: “always” was not offered; it is allowed once");
            result.decision = ApprovalDecision::AllowOnce;
        }
        let root = self.root_of(&question.params.session_id);
        if result.decision == ApprovalDecision::AllowSession
            && let Some(session) = self.entries.get_mut(&root)
        {
            let key = (approvals_key(question.access), question.params.title.english());
            session.allowed.insert(key);
        }
        let by = if self.config.is_answered() { DecidedBy::Answer } else { DecidedBy::Nobody };
        self.record_decision(&question.params, &result, by);
        question.reply.send(result).is_ok()
    }

    /// Notes a decision on its call.
    fn record_decision(&mut self, params: &ApproveParams, result: &ApproveResult, by: DecidedBy) {
        let words = result.feedback.as_deref().filter(|words| !words.trim().is_empty());
        let decision = CallDecision {
            decision: result.decision,
            by,
            words: words.map(|words| secrets::redactor().text(words).into_owned()),
            at: clock::now_ms(),
        };
        let update = ToolUpdate { decision: Some(Box::new(decision)), ..ToolUpdate::default() };
        let (session, turn) = (params.session_id.as_str().into(), params.turn_id.as_str().into());
        self.tool_update(&session, &turn, &params.call_id.as_str().into(), &update);
    }

    /// Declines all open questions of one session and its subagents, or of all sessions, with the user's
    /// words for the model. Some editors send no answer when their user dismisses a question; without
    /// this it would stay open. Returns the number of declined questions.
    pub(crate) fn decline(&mut self, session_id: Option<&SessionId>, words: Option<&str>) -> usize {
        let mut open = self.open_questions();
        open.retain(|params| session_id.is_none_or(|id| self.root_of(&params.session_id) == *id));
        let decline = |params: &ApproveParams| {
            let feedback = words.map(str::to_owned);
            let result = ApproveResult { decision: ApprovalDecision::Deny, feedback };
            self.on_approval(&params.approval_id, result)
        };
        open.iter().map(decline).filter(|&declined| declined).count()
    }

    /// Returns the session of the user that this one belongs to: its parent, or itself.
    fn root_of(&self, session_id: &str) -> SessionId {
        let id = SessionId::from(session_id);
        self.entries.get(&id).map(|session| session.root().clone()).unwrap_or(id)
    }

    /// Declines the questions that need trust, after the user withdrew it.
    pub(super) fn refuse_without_trust(&mut self) {
        for (id, question) in std::mem::take(&mut self.questions) {
            match self.config.without_trust(&question.access) {
                Some(refused) => drop(question.reply.send(refused)),
                None => drop(self.questions.insert(id, question)),
            }
        }
    }
}

/// Key of an approval for the session: one for a text to a process covers every text to it.
fn approvals_key(access: Access) -> Access {
    match access {
        Access::Input { process, command, text: _, cwd, needs } => {
            Access::Input { process, command, text: String::new(), cwd, needs }
        }
        other => other,
    }
}
