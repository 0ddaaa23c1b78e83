//! Answers a question about a tool call.

use cairn_protocol::{AnswerParams, AnswerResult, ApproveResult};

use crate::session::Sessions;

pub(crate) fn handle(sessions: &mut Sessions, params: AnswerParams) -> AnswerResult {
    let result = ApproveResult { decision: params.decision, feedback: params.feedback };
    AnswerResult { accepted: sessions.on_approval(&params.approval_id, result) }
}
