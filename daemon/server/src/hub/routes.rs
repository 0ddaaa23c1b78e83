//! The handler of each request of the protocol.

use cairn_protocol::{
    Answer, Baseline, Cancel, CheckModel, Checkpoints, Compact, Decide, DeleteSession,
    ExportSession, ForkSession, ListRules, ListSessions, Models, OpenSession, PlanHistory,
    ProcessInput, ProcessOutput, ProcessStop, QueueAdd, QueueDrop, QueueEdit, QueueSend,
    RenameSession, RequestProblem, RestoreCheckpoint, RestoreSession, RevokeRule, RunTask,
    SearchSessions, ServerModels, State, Steer, ToolOutput, TurnAttachments, UndoDecision,
};

use super::{components::Components, router::Router};
use crate::{event::RequestError, review, session::requests};

pub(super) fn routes() -> Router<Components> {
    let mut router = Router::<Components>::new();

    // Turns.
    router.on::<RunTask>(|all, params, reply| {
        requests::run_task(&mut all.sessions, params, reply, &mut all.reviews);
    });
    router.on::<Steer>(|all, params, reply| {
        requests::steer(&mut all.sessions, params, reply, &mut all.reviews);
    });
    router.on::<QueueAdd>(|all, params, reply| {
        requests::queue_add(&mut all.sessions, params, reply, &mut all.reviews);
    });
    router.on::<QueueEdit>(|all, params, reply| {
        all.ask(reply, |it| requests::queue_edit(it, params))
    });
    router.on::<QueueDrop>(|all, params, reply| {
        all.ask(reply, |it| requests::queue_drop(it, params))
    });
    router.on::<QueueSend>(|all, params, reply| {
        all.ask(reply, |it| requests::queue_send(it, params))
    });
    router.on::<Cancel>(|all, params, reply| all.ask(reply, |it| requests::cancel(it, &params)));
    router.on::<Compact>(|all, params, reply| all.ask(reply, |it| requests::compact(it, params)));
    router.on::<Answer>(|all, params, reply| all.ask(reply, |it| Ok(requests::answer(it, params))));
    router.on::<ToolOutput>(|all, params, reply| {
        reply.send(Ok(requests::tool_output(&all.sessions, &params)))
    });
    router.on::<ProcessStop>(|all, params, reply| {
        reply.send(requests::process_stop(&all.sessions, &params));
    });
    router.on::<ProcessInput>(|all, params, reply| {
        requests::process_input(&all.sessions, params, reply)
    });
    router.on::<ProcessOutput>(|all, params, reply| {
        requests::process_output(&all.sessions, params, reply)
    });
    router.on::<TurnAttachments>(|all, params, reply| {
        requests::turn_attachments(&all.sessions, params, reply);
    });
    router.on::<PlanHistory>(|all, params, reply| {
        all.ask(reply, |it| requests::plan_history(it, &params))
    });

    // Sessions.
    router.on::<ListSessions>(|all, params, reply| {
        requests::list_sessions(&all.sessions, params, &all.reviews, reply);
    });
    router.on::<SearchSessions>(|all, params, reply| {
        requests::search_sessions(&all.sessions, params, &all.reviews, reply);
    });
    router.on::<OpenSession>(|all, params, reply| {
        requests::open_session(&mut all.sessions, params, reply)
    });
    router.on::<ForkSession>(|all, params, reply| {
        requests::fork_session(&mut all.sessions, params, reply)
    });
    router.on::<RenameSession>(|all, params, reply| {
        requests::rename_session(&mut all.sessions, params, reply)
    });
    router.on::<DeleteSession>(|all, params, reply| {
        requests::delete_session(&mut all.sessions, params, reply)
    });
    router.on::<RestoreSession>(|all, params, reply| {
        requests::restore_session(&mut all.sessions, params, reply)
    });
    router.on::<ExportSession>(|all, params, reply| {
        requests::export_session(&all.sessions, params, reply)
    });
    router.on::<State>(|all, _, reply| reply.send(Ok(all.state())));
    router.on::<Models>(|all, _, reply| reply.send(Ok(requests::models(&all.sessions))));
    router.on::<ServerModels>(|all, params, reply| {
        requests::server_models(&all.sessions, params, reply)
    });
    router
        .on::<CheckModel>(|all, params, reply| requests::check_model(&all.sessions, params, reply));
    router.on::<ListRules>(|all, _, reply| requests::list_rules(&all.sessions, reply));
    router
        .on::<RevokeRule>(|all, params, reply| requests::revoke_rule(&all.sessions, params, reply));

    // Reviews.
    router.on::<Decide>(|all, params, reply| {
        review::requests::decide(&mut all.reviews, params, reply);
    });
    router.on::<UndoDecision>(|all, _, reply| {
        review::requests::undo_decision(&mut all.reviews, reply);
    });
    router.on_exact::<Baseline>(|all, params, reply| {
        reply.send(Ok(review::requests::baseline(&all.reviews, &params)));
    });
    router.on::<Checkpoints>(|all, _, reply| {
        reply.send(Ok(review::requests::checkpoints(&all.reviews)));
    });
    router.on::<RestoreCheckpoint>(|all, params, reply| {
        if all.sessions.is_working() {
            return reply.send(Err(RequestError::from(RequestProblem::TurnRunning)));
        }
        review::requests::restore_checkpoint(&mut all.reviews, params, reply);
    });

    router
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
