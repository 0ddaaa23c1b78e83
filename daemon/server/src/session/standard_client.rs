//! Requests of editors that only speak LSP. These keep no review and know no session ids.

use cairn_core::turn::Input;
use cairn_protocol::{Empty, ErrorKind, RunTaskParams, RunTaskResult, SteerParams};

use super::{Sessions, entry::TurnStart};
use crate::{
    event::{Reply, RequestError},
    review::Reviews,
};

impl Sessions {
    /// Runs the selected text as a task, for editors whose commands take no arguments. `None`: the
    /// document of the selection is not open.
    pub(crate) fn run_selection(
        &mut self,
        text: Option<String>,
        reply: Reply<RunTaskResult>,
        reviews: &mut Reviews,
    ) {
        let Some(text) = text else {
            return drop(reply.send(Err(RequestError::new(
                ErrorKind::InvalidParams,
                "The document of the selection is not open",
                "Open the document in the editor, and select the words again.",
            ))));
        };
        self.begin_task(RunTaskParams { text, ..RunTaskParams::default() }, reply, reviews);
    }

    pub(crate) fn go_on(&mut self, params: RunTaskParams) -> Result<RunTaskResult, RequestError> {
        let session = match &params.session_id {
            Some(id) => self.entries.get(id),
            // Ids sort by time.
            None => self
                .entries
                .values()
                .filter(|session| !self.subagents.is_subagent(&session.id))
                .max_by_key(|session| session.last_turn.as_ref().map(|turn| turn.turn_id.clone())),
        };
        let Some(session) = session else {
            return Err(RequestError::new(
                ErrorKind::UnknownSession,
                "There is no such conversation to go on with",
                "Start one with cairn.runTask.",
            ));
        };
        let session_id = session.id.clone();
        let Some(turn_id) = session.turn.as_ref().map(|turn| turn.id.clone()) else {
            return self.run_task(
                RunTaskParams { session_id: Some(session_id), ..params },
                TurnStart::default(),
            );
        };
        if self.decline(Some(&session_id), Some(&params.text)) > 0 {
            // The editor may never answer a question that its user turned away from.
            return Ok(RunTaskResult { session_id, turn_id });
        }
        let (text, expected_turn_id) = (params.text, turn_id.clone());
        self.steer(SteerParams { session_id: session_id.clone(), expected_turn_id, text })?;
        Ok(RunTaskResult { session_id, turn_id })
    }

    pub(crate) fn cancel_all(&mut self) -> Empty {
        let running: Vec<_> = self
            .entries
            .values()
            // Subagents end with their parents.
            .filter(|session| !self.subagents.is_subagent(&session.id))
            .filter_map(|session| Some((session.id.clone(), session.turn.as_ref()?.id.clone())))
            .collect();
        for (session_id, turn_id) in running {
            self.turn_input(&session_id, &turn_id, Input::Cancel);
        }
        Empty {}
    }
}
