//! Requests of standard LSP clients, which store no review and know no session ids.

use cairn_core::turn::Input;
use cairn_protocol::{Empty, RequestProblem, RunTaskParams, RunTaskResult, SteerParams};

use super::{Sessions, entry::TurnStart, requests};
use crate::{
    event::{RequestError, Responder},
    review::Reviews,
};

impl Sessions {
    /// Runs the selected text as a task, for editors whose commands take no arguments. `None`: the
    /// document of the selection is not open.
    pub(crate) fn run_selection(
        &mut self,
        text: Option<String>,
        reply: Responder<RunTaskResult>,
        reviews: &mut Reviews,
    ) {
        let Some(text) = text else {
            return reply.send(Err(RequestError::from(RequestProblem::DocumentNotOpen)));
        };
        let task = RunTaskParams { text, ..RunTaskParams::default() };
        requests::run_task::handle(self, task, reply, reviews);
    }

    pub(crate) fn steer_or_start(
        &mut self,
        params: RunTaskParams,
    ) -> Result<RunTaskResult, RequestError> {
        if !params.attachments.is_empty() {
            let reason = "attachments are not taken here, use agent/runTask".to_owned();
            let method = "workspace/executeCommand".to_owned();
            return Err(RequestError::from(RequestProblem::InvalidParams { method, reason }));
        }
        let session = match &params.session_id {
            Some(id) => self.entries.get(&id.as_str().into()),
            // Ids sort by time.
            None => {
                self.entries.values().filter(|session| session.subagent.is_none()).max_by_key(
                    |session| session.news.turn.as_ref().map(|turn| turn.turn_id.clone()),
                )
            }
        };
        let Some(session) = session else {
            return Err(RequestError::from(RequestProblem::NoSession));
        };
        let session_id = session.id.clone();
        let Some(turn_id) = session.turn.as_ref().map(|turn| String::from(&turn.id)) else {
            return self.run_task(
                RunTaskParams { session_id: Some(session_id.into()), ..params },
                TurnStart::default(),
            );
        };
        let dismissed = self.decline(Some(&session_id), Some(&params.text)) > 0;
        let session_id = String::from(session_id);
        if dismissed {
            // The editor may never answer a question that its user dismissed.
            return Ok(RunTaskResult { session_id, turn_id });
        }
        let (text, expected_turn_id) = (params.text, turn_id.clone());
        let steer = SteerParams {
            session_id: session_id.clone(),
            expected_turn_id,
            text,
            attachments: Vec::new(),
        };
        requests::steer::steer_now(self, steer, Vec::new())?;
        Ok(RunTaskResult { session_id, turn_id })
    }

    pub(crate) fn cancel_all(&mut self) -> Empty {
        let running = self
            .entries
            .values()
            // Subagents end with their parents.
            .filter(|session| session.subagent.is_none())
            .filter_map(|session| Some((&session.id, &session.turn.as_ref()?.id)));
        for (session_id, turn_id) in running {
            self.steps.input(session_id, turn_id, Input::Cancel);
        }
        Empty {}
    }
}
