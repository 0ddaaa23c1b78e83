//! The handler of each request of the protocol.

use cairn_protocol::{
    Answer, Baseline, Cancel, CheckModel, Checkpoints, ClientRequest, Compact, Decide,
    DeleteSession, ExportSession, ForkSession, ListRules, ListSessions, Models, OpenSession,
    PlanHistory, ProcessInput, ProcessOutput, ProcessStop, QueueAdd, QueueDrop, QueueSend,
    RenameSession, RequestProblem, RestoreCheckpoint, RestoreSession, RevokeRule, RunTask,
    SearchSessions, ServerModels, State, Steer, ToolOutput, TurnAttachments, UndoDecision,
};

use super::{components::Components, router::Router};
use crate::{
    event::{RequestError, Responder},
    review,
    session::{Sessions, requests},
};

impl Router<Components> {
    /// Adds a request about sessions whose handler replies.
    fn replies<M: ClientRequest>(
        &mut self,
        handle: fn(&mut Sessions, M::Params, Responder<M::Result>),
    ) {
        self.on::<M>(move |all, params, reply| handle(&mut all.sessions, params, reply));
    }

    /// Adds a request about sessions that is answered after all its effects.
    fn answers<M: ClientRequest>(
        &mut self,
        handle: fn(&mut Sessions, M::Params) -> Result<M::Result, RequestError>,
    ) {
        self.on::<M>(move |all, params, reply| all.ask(reply, |it| handle(it, params)));
    }
}

pub(super) fn routes() -> Router<Components> {
    let mut router = Router::new();
    add_turns(&mut router);
    add_sessions(&mut router);
    add_reviews(&mut router);
    router
}

fn add_turns(router: &mut Router<Components>) {
    router.on::<RunTask>(|all, params, reply| {
        requests::run_task::handle(&mut all.sessions, params, reply, &mut all.reviews);
    });
    router.on::<Steer>(|all, params, reply| {
        requests::steer::handle(&mut all.sessions, params, reply, &mut all.reviews);
    });
    router.on::<QueueAdd>(|all, params, reply| {
        requests::queue_add::handle(&mut all.sessions, params, reply, &mut all.reviews);
    });
    router.answers::<QueueDrop>(requests::queue_drop::handle);
    router.answers::<QueueSend>(requests::queue_send::handle);
    router.answers::<Cancel>(requests::cancel::handle);
    router.answers::<Compact>(requests::compact::handle);
    router.answers::<Answer>(|it, params| Ok(requests::answer::handle(it, params)));
    router.answers::<ToolOutput>(|it, params| Ok(requests::tool_output::handle(it, &params)));
    router.answers::<PlanHistory>(requests::plan_history::handle);
    router.answers::<ProcessStop>(requests::process_stop::handle);
    router.replies::<ProcessInput>(requests::process_input::handle);
    router.replies::<ProcessOutput>(requests::process_output::handle);
    router.replies::<TurnAttachments>(requests::turn_attachments::handle);
}

fn add_sessions(router: &mut Router<Components>) {
    router.on::<ListSessions>(|all, params, reply| {
        requests::list_sessions::handle(&all.sessions, params, &all.reviews, reply);
    });
    router.on::<SearchSessions>(|all, params, reply| {
        requests::search_sessions::handle(&all.sessions, params, &all.reviews, reply);
    });
    router.replies::<OpenSession>(requests::open_session::handle);
    router.replies::<ForkSession>(requests::fork_session::handle);
    router.replies::<RenameSession>(requests::rename_session::handle);
    router.replies::<DeleteSession>(requests::delete_session::handle);
    router.replies::<RestoreSession>(requests::restore_session::handle);
    router.replies::<ExportSession>(requests::export_session::handle);
    router.replies::<ServerModels>(requests::server_models::handle);
    router.replies::<CheckModel>(requests::check_model::handle);
    router.replies::<RevokeRule>(requests::revoke_rule::handle);
    router.on::<State>(|all, _, reply| reply.send(Ok(all.state())));
    router.on::<Models>(|all, _, reply| reply.send(Ok(requests::models::handle(&all.sessions))));
    router.on::<ListRules>(|all, _, reply| requests::list_rules::handle(&all.sessions, reply));
}

fn add_reviews(router: &mut Router<Components>) {
    router.on::<Decide>(|all, params, reply| {
        review::requests::decide::handle(&mut all.reviews, params, reply);
    });
    router.on::<UndoDecision>(|all, _, reply| {
        review::requests::undo_decision::handle(&mut all.reviews, reply);
    });
    router.on_exact::<Baseline>(|all, params, reply| {
        reply.send(Ok(review::requests::baseline::handle(&all.reviews, &params)));
    });
    router.on::<Checkpoints>(|all, _, reply| {
        reply.send(Ok(review::requests::checkpoints::handle(&all.reviews)));
    });
    router.on::<RestoreCheckpoint>(|all, params, reply| {
        if all.sessions.is_working() {
            return reply.send(Err(RequestError::from(RequestProblem::TurnRunning)));
        }
        review::requests::restore_checkpoint::handle(&mut all.reviews, params, reply);
    });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cairn_protocol::client_requests;

    use super::*;

    #[test]
    fn each_declared_request_has_one_handler() {
        let declared: Vec<_> = client_requests().map(|declared| declared.method).collect();
        let unique: BTreeSet<_> = declared.iter().copied().collect();
        assert_eq!(unique.len(), declared.len(), "a method is declared twice");
        assert_eq!(routes().methods().collect::<BTreeSet<_>>(), unique);
    }
}
