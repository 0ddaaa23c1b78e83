//! The contract as one TypeScript file: `make gen` writes it, a test compares it.

use ts_rs::{Config, TS};

use crate::*;

/// Renders `vscode-extension/src/protocol.ts`.
pub fn render() -> String {
    let mut out = String::from(
        "// Generated from daemon/protocol by `make gen`. Do not edit.\n\n\
         /** A request that is answered by one object. */\n\
         export interface RequestMethod<P, R> { readonly method: string; readonly _p?: P; readonly _r?: R }\n\
         /** A notification with one object. */\n\
         export interface NotificationMethod<P> { readonly method: string; readonly _p?: P }\n\n",
    );
    out.push_str(&format!("export const PROTOCOL_VERSION = {PROTOCOL_VERSION};\n"));
    out.push_str(&format!("export const PROTOCOL_MINOR = {PROTOCOL_MINOR};\n\n"));
    out.push_str("/** Requests of the editor to the daemon. */\nexport const requests = {\n");
    client_requests(&mut out);
    out.push_str("} as const;\n\n/** Requests of the daemon to the editor. */\nexport const editorRequests = {\n");
    request::<ApplyEdit>(&mut out, "applyEdit");
    request::<Save>(&mut out, "save");
    request::<Approve>(&mut out, "approve");
    out.push_str(
        "} as const;\n\n/** Notifications of the daemon. */\nexport const notifications = {\n",
    );
    for (method, params) in crate::notify::NOTICES {
        let name = method.trim_start_matches("agent/");
        out.push_str(&format!(
            "  {name}: {{ method: \"{method}\" }} as NotificationMethod<{params}>,\n"
        ));
    }
    out.push_str(&format!(
        "}} as const;\n\n/** Notifications of the editor. */\nexport const editorNotifications = {{\n  \
         credentials: {{ method: \"{CREDENTIALS}\" }} as NotificationMethod<CredentialsParams>,\n  \
         trust: {{ method: \"{TRUST}\" }} as NotificationMethod<TrustParams>,\n}} as const;\n"
    ));
    types(&mut out);
    out
}

fn client_requests(out: &mut String) {
    request::<RunTask>(out, "runTask");
    request::<Steer>(out, "steer");
    request::<QueueAdd>(out, "queueAdd");
    request::<QueueEdit>(out, "queueEdit");
    request::<QueueDrop>(out, "queueDrop");
    request::<QueueSend>(out, "queueSend");
    request::<Cancel>(out, "cancel");
    request::<Compact>(out, "compact");
    request::<Answer>(out, "answer");
    request::<Decide>(out, "decide");
    request::<UndoDecision>(out, "undoDecision");
    request::<Baseline>(out, "baseline");
    request::<PlanHistory>(out, "planHistory");
    request::<Checkpoints>(out, "checkpoints");
    request::<RestoreCheckpoint>(out, "restoreCheckpoint");
    request::<ListSessions>(out, "listSessions");
    request::<OpenSession>(out, "openSession");
    request::<ForkSession>(out, "forkSession");
    request::<DeleteSession>(out, "deleteSession");
    request::<ExportSession>(out, "exportSession");
    request::<State>(out, "state");
    request::<Models>(out, "models");
    request::<ListRules>(out, "listRules");
    request::<RevokeRule>(out, "revokeRule");
}

fn request<M: RequestMethod>(out: &mut String, name: &str)
where
    M::Params: TS,
    M::Result: TS,
{
    let config = Config::default();
    out.push_str(&format!(
        "  {name}: {{ method: \"{}\" }} as RequestMethod<{}, {}>,\n",
        M::METHOD,
        M::Params::name(&config),
        M::Result::name(&config)
    ));
}

macro_rules! declare {
    ($out:ident: $($ty:ty),+ $(,)?) => {
        let config = Config::default();
        $( $out.push_str("\nexport "); $out.push_str(&<$ty>::decl(&config)); $out.push('\n'); )+
    };
}

fn types(out: &mut String) {
    declare!(out:
        Position, Range, TextEdit, ReviewMode, Empty,
        RunTaskParams, TaskContext, Selection, RunTaskResult, SteerParams, SteerResult, CancelParams,
        QueueAddParams, QueueAddResult, QueueEditParams, QueueDropParams, QueueSendParams, QueueNotification, FollowUp,
        AnswerParams, AnswerResult, ApprovalDecision, ApprovalKind, Decision, Scope, DecideParams, DecideResult,
        UndoDecisionResult, BaselineParams, BaselineResult, StateResult, SessionSnapshot, TranscriptEntry, PlanHistoryParams, PlanHistoryResult, CheckpointsResult, Checkpoint, RestoreCheckpointParams, RestoreCheckpointResult, CheckpointConflict, EarlierPlan, ModelsResult,
        ReadOnly, ReadOnlyReason, ListSessionsParams, ListSessionsResult, SessionSummary, OpenSessionParams, OpenSessionResult, ForkSessionParams, DeleteSessionParams, ExportSessionParams, ExportFormat, ExportSessionResult,
        ProviderStatus, CredentialsParams, TrustParams, ErrorData, ErrorKind,
        TurnNotification, TurnPhase, EndReason, Usage, PlanNotification, Panel, PlanItem, ChildNotification, ChildPhase, ParentCall, ChildItem, LinkedFile, LinkedCommand, ItemStatus,
        MessageNotification, MessageRole, ToolNotification, ToolState, ReviewNotification, FileKind, WholeFile, Hunk,
        UsageNotification, ContextUse, CompactParams, CompactResult, ModelInfo, StatusNotification, SandboxStatus, SandboxKind, Connection, Banner, BannerKind,
        ApplyEditParams, TextEncoding, FileChange, ApplyEditResult, RefusedEdit, SaveParams, SaveResult, SaveFailure,
        ApproveParams, ApproveResult, Need, Preview, PreviewTexts,
        ListRulesResult, AllowedCommand, RevokeRuleParams, RevokeRuleResult,
    );
}
