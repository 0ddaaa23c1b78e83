//! What an editor that only speaks LSP asks: it keeps no review and knows no session by its id.

use cairn_core::turn::Input;
use cairn_protocol::{Empty, ErrorKind, RunTaskParams, RunTaskResult, SteerParams};

use super::{Hub, sessions::Opening};
use crate::{
    event::{Pending, Reply, RequestError, Selection},
    secrets,
};

impl Hub {
    pub(super) fn pending(&mut self) -> Pending {
        // A keystroke that came just before may have moved everything.
        self.publish_reviews();
        Pending { reviews: self.reviews(), questions: self.approvals.open() }
    }

    /// Runs the selected text as a task, for editors whose commands take no arguments.
    pub(super) fn run_selection(&mut self, selection: &Selection, reply: Reply<RunTaskResult>) {
        let Selection { uri, start, end } = selection;
        let document = self.key_of(uri).and_then(|key| self.docs.get(&key));
        let text = document.map(|document| {
            let at = |position| document.text.char_of_in(position, self.form.units);
            document.text.slice(at(*start)..at(*end))
        });
        let Some(mut text) = text else {
            let hint = "Open the document in the editor, and select the words again.";
            let message = "The document of the selection is not open";
            return drop(reply.send(Err(RequestError::new(
                ErrorKind::InvalidParams,
                message,
                hint,
            ))));
        };
        secrets::clean(&mut text);
        self.begin_task(RunTaskParams { text, ..RunTaskParams::default() }, reply);
    }

    pub(super) fn go_on(&mut self, params: RunTaskParams) -> Result<RunTaskResult, RequestError> {
        let session = match &params.session_id {
            Some(id) => self.sessions.get(id),
            // Ids sort by time.
            None => self
                .sessions
                .values()
                .filter(|session| !self.children.is_child(&session.id))
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
                Opening::default(),
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

    pub(super) fn cancel_all(&mut self) -> Empty {
        let running: Vec<_> = self
            .sessions
            .values()
            // Children end with their parents.
            .filter(|session| !self.children.is_child(&session.id))
            .filter_map(|session| Some((session.id.clone(), session.turn.as_ref()?.id.clone())))
            .collect();
        for (session_id, turn_id) in running {
            self.turn_input(&session_id, &turn_id, Input::Cancel);
        }
        Empty {}
    }
}
