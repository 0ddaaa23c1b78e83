//! The handler of each request of the protocol.

use cairn_protocol::{
    Answer, Baseline, Cancel, CheckModel, Checkpoints, Compact, Decide, DeleteSession,
    ExportSession, ForkSession, ListRules, ListSessions, Models, OpenSession, PlanHistory,
    ProcessInput, ProcessOutput, ProcessStop, QueueAdd, QueueDrop, QueueEdit, QueueSend,
    RenameSession, RequestProblem, RestoreCheckpoint, RestoreSession, RevokeRule, RunTask,
    SearchSessions, ServerModels, State, Steer, ToolOutput, TurnAttachments, UndoDecision,
};

use super::{components::Components, router::Router};
use crate::event::RequestError;

pub(super) fn routes() -> Router<Components> {
    let mut router = Router::<Components>::new();

    // Turns.
    router.on::<RunTask>(|all, params, reply| {
        all.sessions.begin_task(params, reply, &mut all.reviews);
    });
    router.on::<Steer>(|all, params, reply| {
        all.sessions.begin_steer(params, reply, &mut all.reviews);
    });
    router.on::<QueueAdd>(|all, params, reply| {
        all.sessions.begin_queue_add(params, reply, &mut all.reviews);
    });
    router.on::<QueueEdit>(|all, params, reply| all.ask(reply, |it| it.queue_edit(params)));
    router.on::<QueueDrop>(|all, params, reply| all.ask(reply, |it| it.queue_drop(params)));
    router.on::<QueueSend>(|all, params, reply| all.ask(reply, |it| it.queue_send(params)));
    router.on::<Cancel>(|all, params, reply| all.ask(reply, |it| it.cancel(&params)));
    router.on::<Compact>(|all, params, reply| all.ask(reply, |it| it.compact(params)));
    router.on::<Answer>(|all, params, reply| all.ask(reply, |it| Ok(it.answer(params))));
    router.on::<ToolOutput>(|all, params, reply| reply.send(Ok(all.sessions.tool_output(&params))));
    router.on::<ProcessStop>(|all, params, reply| {
        reply.send(all.sessions.stop_process(&params));
    });
    router.on::<ProcessInput>(|all, params, reply| all.sessions.process_input(params, reply));
    router.on::<ProcessOutput>(|all, params, reply| all.sessions.process_output(params, reply));
    router.on::<TurnAttachments>(|all, params, reply| {
        all.sessions.turn_attachments(params, reply);
    });
    router.on::<PlanHistory>(|all, params, reply| all.ask(reply, |it| it.plan_history(&params)));

    // Sessions.
    router.on::<ListSessions>(|all, params, reply| {
        all.sessions.list_sessions(params, &all.reviews, reply);
    });
    router.on::<SearchSessions>(|all, params, reply| {
        all.sessions.search_sessions(params, &all.reviews, reply);
    });
    router.on::<OpenSession>(|all, params, reply| all.sessions.open_session(params, reply));
    router.on::<ForkSession>(|all, params, reply| all.sessions.fork_session(params, reply));
    router.on::<RenameSession>(|all, params, reply| all.sessions.rename_session(params, reply));
    router.on::<DeleteSession>(|all, params, reply| all.sessions.delete_session(params, reply));
    router.on::<RestoreSession>(|all, params, reply| all.sessions.restore_session(params, reply));
    router.on::<ExportSession>(|all, params, reply| all.sessions.export_session(params, reply));
    router.on::<State>(|all, _, reply| reply.send(Ok(all.state())));
    router.on::<Models>(|all, _, reply| reply.send(Ok(all.sessions.models())));
    router.on::<ServerModels>(|all, params, reply| all.sessions.server_models(params, reply));
    router.on::<CheckModel>(|all, params, reply| all.sessions.check_model(params, reply));
    router.on::<ListRules>(|all, _, reply| all.sessions.list_rules(reply));
    router.on::<RevokeRule>(|all, params, reply| all.sessions.revoke_rule(params, reply));

    // Reviews.
    router.on::<Decide>(|all, params, reply| all.reviews.decide(params, reply));
    router.on::<UndoDecision>(|all, _, reply| all.reviews.undo_decision(reply));
    router.on_exact::<Baseline>(|all, params, reply| reply.send(Ok(all.reviews.baseline(&params))));
    router.on::<Checkpoints>(|all, _, reply| reply.send(Ok(all.reviews.list_checkpoints())));
    router.on::<RestoreCheckpoint>(|all, params, reply| {
        if all.sessions.is_working() {
            return reply.send(Err(RequestError::from(RequestProblem::TurnRunning)));
        }
        all.reviews.restore_checkpoint(params, reply);
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
