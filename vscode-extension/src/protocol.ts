// Generated from daemon/protocol by `make gen`. Do not edit.

/** A request that is answered by one object. */
export interface RequestMethod<P, R> { readonly method: string; readonly _p?: P; readonly _r?: R }
/** A notification with one object. */
export interface NotificationMethod<P> { readonly method: string; readonly _p?: P }

export const PROTOCOL_VERSION = 1;
export const PROTOCOL_MINOR = 0;

/** Requests of the editor to the daemon. */
export const requests = {
  runTask: { method: "agent/runTask" } as RequestMethod<RunTaskParams, RunTaskResult>,
  steer: { method: "agent/steer" } as RequestMethod<SteerParams, SteerResult>,
  queueAdd: { method: "agent/queue/add" } as RequestMethod<QueueAddParams, QueueAddResult>,
  queueEdit: { method: "agent/queue/edit" } as RequestMethod<QueueEditParams, Empty>,
  queueDrop: { method: "agent/queue/drop" } as RequestMethod<QueueDropParams, Empty>,
  queueSend: { method: "agent/queue/send" } as RequestMethod<QueueSendParams, Empty>,
  cancel: { method: "agent/cancel" } as RequestMethod<CancelParams, Empty>,
  compact: { method: "agent/compact" } as RequestMethod<CompactParams, CompactResult>,
  answer: { method: "agent/answer" } as RequestMethod<AnswerParams, AnswerResult>,
  decide: { method: "agent/review/decide" } as RequestMethod<DecideParams, DecideResult>,
  undoDecision: { method: "agent/review/undo" } as RequestMethod<Empty, UndoDecisionResult>,
  baseline: { method: "agent/review/baseline" } as RequestMethod<BaselineParams, BaselineResult>,
  planHistory: { method: "agent/plan/history" } as RequestMethod<PlanHistoryParams, PlanHistoryResult>,
  checkpoints: { method: "agent/checkpoints" } as RequestMethod<Empty, CheckpointsResult>,
  restoreCheckpoint: { method: "agent/checkpoints/restore" } as RequestMethod<RestoreCheckpointParams, RestoreCheckpointResult>,
  listSessions: { method: "agent/sessions/list" } as RequestMethod<ListSessionsParams, ListSessionsResult>,
  openSession: { method: "agent/sessions/open" } as RequestMethod<OpenSessionParams, OpenSessionResult>,
  forkSession: { method: "agent/sessions/fork" } as RequestMethod<ForkSessionParams, OpenSessionResult>,
  deleteSession: { method: "agent/sessions/delete" } as RequestMethod<DeleteSessionParams, Empty>,
  exportSession: { method: "agent/sessions/export" } as RequestMethod<ExportSessionParams, ExportSessionResult>,
  state: { method: "agent/state" } as RequestMethod<Empty, StateResult>,
  models: { method: "agent/models" } as RequestMethod<Empty, ModelsResult>,
  listRules: { method: "agent/rules/list" } as RequestMethod<Empty, ListRulesResult>,
  revokeRule: { method: "agent/rules/revoke" } as RequestMethod<RevokeRuleParams, RevokeRuleResult>,
} as const;

/** Requests of the daemon to the editor. */
export const editorRequests = {
  applyEdit: { method: "agent/applyEdit" } as RequestMethod<ApplyEditParams, ApplyEditResult>,
  save: { method: "agent/save" } as RequestMethod<SaveParams, SaveResult>,
  approve: { method: "agent/approve" } as RequestMethod<ApproveParams, ApproveResult>,
} as const;

/** Notifications of the daemon. */
export const notifications = {
  turn: { method: "agent/turn" } as NotificationMethod<TurnNotification>,
  plan: { method: "agent/plan" } as NotificationMethod<PlanNotification>,
  child: { method: "agent/child" } as NotificationMethod<ChildNotification>,
  message: { method: "agent/message" } as NotificationMethod<MessageNotification>,
  tool: { method: "agent/tool" } as NotificationMethod<ToolNotification>,
  review: { method: "agent/review" } as NotificationMethod<ReviewNotification>,
  usage: { method: "agent/usage" } as NotificationMethod<UsageNotification>,
  queue: { method: "agent/queue" } as NotificationMethod<QueueNotification>,
  status: { method: "agent/status" } as NotificationMethod<StatusNotification>,
} as const;

/** Notifications of the editor. */
export const editorNotifications = {
  credentials: { method: "agent/credentials" } as NotificationMethod<CredentialsParams>,
  trust: { method: "agent/trust" } as NotificationMethod<TrustParams>,
} as const;

export type Position = { line: number, character: number, };

export type Range = { start: Position, end: Position, };

export type TextEdit = { range: Range, newText: string, };

export type ReviewMode = "review" | "ask" | "auto" | "plan";

export type Empty = Record<symbol, never>;

export type RunTaskParams = { text: string, sessionId?: string, mode?: ReviewMode, context?: TaskContext, };

export type TaskContext = { 
/**
 * URI of the file in the active editor.
 */
activeFile?: string, selection?: Selection, };

export type Selection = { uri: string, range: Range, text: string, };

export type RunTaskResult = { sessionId: string, turnId: string, };

export type SteerParams = { sessionId: string, expectedTurnId: string, text: string, };

export type SteerResult = { queued: boolean, };

export type CancelParams = { sessionId: string, turnId: string, };

export type QueueAddParams = { sessionId: string, text: string, 
/**
 * Of the turn it becomes; else the session's own.
 */
mode?: ReviewMode, };

export type QueueAddResult = { 
/**
 * The turn it has become already.
 */
started?: RunTaskResult, };

export type QueueEditParams = { sessionId: string, id: string, text: string, };

export type QueueDropParams = { sessionId: string, id: string, };

export type QueueSendParams = { sessionId: string, id: string, };

export type QueueNotification = { sessionId: string, rev: number, items: Array<FollowUp>, 
/**
 * The turn before did not complete, so nothing of this begins by itself.
 */
held: boolean, };

export type FollowUp = { id: string, text: string, mode?: ReviewMode, };

export type AnswerParams = { approvalId: string, decision: ApprovalDecision, feedback?: string, };

export type AnswerResult = { 
/**
 * False when the approval was answered already or its turn is over.
 */
accepted: boolean, };

export type ApprovalDecision = "allowOnce" | "allowSession" | "allowAlways" | "deny";

export type ApprovalKind = "command" | "unsandboxedCommand" | "read" | "change";

export type Decision = "accept" | "reject";

export type Scope = { "kind": "hunk", uri: string, hunkId: string, } | { "kind": "file", uri: string, } | { "kind": "planItem", sessionId: string, planItem: string, } | { "kind": "turn", turnId: string, } | { "kind": "all" };

export type DecideParams = { decision: Decision, scope: Scope, 
/**
 * The `rev` the user looked at; an older one is refused when the hunk changed since.
 */
rev?: number, 
/**
 * The user's words about a rejection, for the model.
 */
feedback?: string, };

export type DecideResult = { 
/**
 * Hunks decided.
 */
applied: number, 
/**
 * Hunks that were gone or had changed; nothing was done to them.
 */
stale: number, 
/**
 * One line per hunk or file that could not be decided, with the reason.
 */
failed: Array<string>, };

export type UndoDecisionResult = { undone: boolean, message?: string, };

export type BaselineParams = { uri: string, };

export type BaselineResult = { 
/**
 * Absent when the file is not under review; empty for a file the agent created.
 */
text?: string, };

export type StateResult = { sessions: Array<SessionSnapshot>, reviews: Array<ReviewNotification>, status: StatusNotification, };

export type SessionSnapshot = { sessionId: string, 
/**
 * The words the newest turn began with.
 */
task?: string, 
/**
 * The newest turn, running or ended.
 */
turn?: TurnNotification, plan?: PlanNotification, 
/**
 * What waits to be done next, if anything does.
 */
queue?: QueueNotification, 
/**
 * Tool calls of the newest turn, those of its children included.
 */
tools: Array<ToolNotification>, 
/**
 * The newest children of its turns, in the order they were started.
 */
children: Array<ChildNotification>, 
/**
 * What was said before this daemon began, oldest first, at most the newest 1,000 entries.
 * What was said since came as notifications.
 */
transcript: Array<TranscriptEntry>, 
/**
 * Tokens so far, and how full the model's window is; absent when none were used.
 */
usage?: UsageNotification, 
/**
 * More was said before that: `agent/sessions/open` with it as `before` tells it.
 */
earlier?: string, 
/**
 * No turn can start in it.
 */
readOnly?: ReadOnly, };

export type TranscriptEntry = { "kind": "turn" } & TurnNotification | { "kind": "message" } & MessageNotification | { "kind": "tool" } & ToolNotification;

export type PlanHistoryParams = { sessionId: string, };

export type PlanHistoryResult = { 
/**
 * Oldest first, at most the newest 50.
 */
turns: Array<EarlierPlan>, };

export type CheckpointsResult = { 
/**
 * Newest first, at most 50.
 */
checkpoints: Array<Checkpoint>, };

export type Checkpoint = { sessionId: string, turnId: string, 
/**
 * The words the turn began with.
 */
task: string, 
/**
 * Files the agent changed in it, relative to the workspace.
 */
files: Array<string>, };

export type RestoreCheckpointParams = { turnId: string, 
/**
 * Overwrite what somebody else than the agent wrote since: after it was shown.
 */
overwrite: boolean, };

export type RestoreCheckpointResult = { 
/**
 * Files that are as they were, relative to the workspace.
 */
restored: Array<string>, 
/**
 * Files in which somebody else than the agent wrote since. Unless they may be overwritten,
 * nothing was done to any file.
 */
conflicts: Array<CheckpointConflict>, 
/**
 * One line per file that could not be brought back, with the reason.
 */
failed: Array<string>, };

export type CheckpointConflict = { uri: string, path: string, 
/**
 * The text at the checkpoint; absent when there was no file.
 */
text?: string, };

export type EarlierPlan = { turnId: string, 
/**
 * The words the turn began with.
 */
task: string, reason: EndReason, plan: PlanNotification, };

export type ModelsResult = { active: ModelInfo, providers: Array<ProviderStatus>, };

export type ReadOnly = { reason: ReadOnlyReason, 
/**
 * In words, for people.
 */
text: string, };

export type ReadOnlyReason = "openElsewhere" | "damaged" | "notWritable";

export type ListSessionsParams = { 
/**
 * `next` of the page before.
 */
cursor?: string, 
/**
 * 50 without it, 200 at most.
 */
limit?: number, };

export type ListSessionsResult = { sessions: Array<SessionSummary>, 
/**
 * There are more: ask with it as `cursor`.
 */
next?: string, };

export type SessionSummary = { sessionId: string, 
/**
 * The words it began with, or their beginning; empty when nobody has said any.
 */
task: string, 
/**
 * Milliseconds since 1970.
 */
updatedMs: number, turns: number, running: boolean, 
/**
 * Items of its plan.
 */
doneItems: number, openItems: number, 
/**
 * The one in view in this window.
 */
current: boolean, 
/**
 * Another window has it: here it can be read, forked and exported.
 */
lockedElsewhere: boolean, };

export type OpenSessionParams = { sessionId: string, 
/**
 * `earlier` of a snapshot or of the page before: only what was said before that is answered,
 * and nothing comes into view.
 */
before?: string, };

export type OpenSessionResult = { "kind": "opened", session: SessionSnapshot, } | { "kind": "earlier", transcript: Array<TranscriptEntry>, 
/**
 * There is more before it.
 */
earlier?: string, };

export type ForkSessionParams = { sessionId: string, 
/**
 * The last turn to take along. Without it: the newest one that is over.
 */
atTurn?: string, };

export type DeleteSessionParams = { sessionId: string, };

export type ExportSessionParams = { sessionId: string, format: ExportFormat, };

export type ExportFormat = "markdown" | "replay";

export type ExportSessionResult = { "kind": "text", text: string, } | { "kind": "file", uri: string, };

export type ProviderStatus = { 
/**
 * `anthropic`, `openai` or `replay`.
 */
provider: string, usable: boolean, 
/**
 * Why it cannot be used now and what to do about it; empty when usable.
 */
reason: string, 
/**
 * Model names known for it, best first.
 */
models: Array<string>, 
/**
 * Where its requests go, as scheme, host and port: what a key that is entered for it now is
 * for. Empty where there is no key.
 */
origin: string, };

export type CredentialsParams = { provider: string, key: string | null, 
/**
 * The only server it is sent to, as in `ProviderStatus`. Absent: the provider's own.
 */
origin?: string, };

export type TrustParams = { trusted: boolean, };

export type ErrorData = { kind: ErrorKind, 
/**
 * What the user can do next.
 */
hint: string, };

export type ErrorKind = "notReady" | "noModel" | "invalidParams" | "staleRevision" | "unknownSession" | "sessionLocked" | "turnMismatch" | "untrusted" | "overloaded" | "internal";

export type TurnNotification = { sessionId: string, turnId: string, rev: number, phase: TurnPhase, };

export type TurnPhase = { "kind": "started", 
/**
 * The user's words.
 */
text: string, } | { "kind": "ended", reason: EndReason, 
/**
 * The final words of the assistant, or what went wrong and what to do next.
 */
summary: string, openItems: number, usage: Usage, };

export type EndReason = "completed" | "needsInput" | "cancelled" | "failed" | "limit" | "interrupted";

export type Usage = { inputTokens: number, outputTokens: number, cachedTokens: number, };

export type PlanNotification = { sessionId: string, turnId: string, rev: number, panel: Panel, items: Array<PlanItem>, completed: number, total: number, 
/**
 * Open items the newest update left out, by their text.
 */
dropped: Array<string>, };

export type Panel = "expanded" | "collapsed" | "hidden";

export type PlanItem = { 
/**
 * Stable across replacements of the list.
 */
id: string, content: string, activeForm: string, status: ItemStatus, 
/**
 * Marked as blocked by the model, or waiting for an open item of a task graph.
 */
blocked: boolean, 
/**
 * Ids of the open items it waits for (task graph only).
 */
blockedBy: Array<string>, 
/**
 * Files changed under this item, first touched first.
 */
files: Array<LinkedFile>, 
/**
 * Commands run under this item, oldest first, at most the newest 50.
 */
commands: Array<LinkedCommand>, 
/**
 * Tool calls made under this item, todo calls not counted. A completed item without any was
 * only declared done.
 */
calls: number, 
/**
 * Milliseconds it was in progress; while it is in progress the clock runs on.
 */
elapsedMs: number, };

export type ChildNotification = { 
/**
 * The child's own; with `turnId` what `agent/cancel` takes to end this child alone.
 */
sessionId: string, turnId: string, rev: number, parent: ParentCall, 
/**
 * Of the call among those of its turn: children of one message begin in any order.
 */
place: number, 
/**
 * What it is to do, in a few words of the model.
 */
title: string, phase: ChildPhase, 
/**
 * Its own plan; empty when it has made none.
 */
items: Array<PlanItem>, completed: number, total: number, rounds: number, 
/**
 * Its tokens; they are in its parent's too.
 */
usage: Usage, };

export type ChildPhase = { "kind": "waiting" } | { "kind": "running" } | { "kind": "ended", reason: EndReason, };

export type ParentCall = { sessionId: string, turnId: string, callId: string, 
/**
 * The plan item in progress when the call was made.
 */
planItem?: string, };

export type ChildItem = { sessionId: string, planItem?: string, };

export type LinkedFile = { uri: string, 
/**
 * Relative to the workspace, with `/`.
 */
path: string, };

export type LinkedCommand = { callId: string, 
/**
 * `Run npm test`.
 */
title: string, state: ToolState, 
/**
 * How long it ran, once it is over.
 */
elapsedMs?: number, };

export type ItemStatus = "pending" | "inProgress" | "completed";

export type MessageNotification = { sessionId: string, turnId: string, rev: number, itemId: string, role: MessageRole, delta: string, 
/**
 * Present when the message is over.
 */
text?: string, 
/**
 * The stream was cut: this text is not part of the conversation.
 */
incomplete: boolean, };

export type MessageRole = "user" | "assistant" | "thinking" | "reminder" | "notice";

export type ToolNotification = { sessionId: string, turnId: string, rev: number, callId: string, name: string, 
/**
 * One line: `Read src/cart.mjs`, `Run npm test`.
 */
title: string, state: ToolState, 
/**
 * The plan item in progress when the call was made.
 */
planItem?: string, 
/**
 * Bounded text: output of a command, reason of a failure, the whole command.
 */
detail?: string, 
/**
 * The file it touched.
 */
uri?: string, 
/**
 * Of a call that a child made: the call that started the child.
 */
parent?: ParentCall, };

export type ToolState = "queued" | "awaitingApproval" | "running" | "done" | "failed" | "declined" | "cancelled";

export type ReviewNotification = { uri: string, 
/**
 * Path relative to the workspace folder, with `/`.
 */
path: string, rev: number, 
/**
 * The document version the ranges belong to; absent when the file is not open.
 */
version?: number, kind: FileKind, 
/**
 * Where the file was (like `path`), of one that was moved.
 */
from?: string, hunks: Array<Hunk>, };

export type FileKind = "edited" | "created" | "deleted" | "moved";

export type WholeFile = "deleted" | "moved";

export type Hunk = { id: string, sessionId: string, turnId: string, planItem?: string, 
/**
 * Whole lines of the live text; empty (`start == end`) where text was only removed.
 */
range: Range, 
/**
 * Lines removed, without the last line's terminator.
 */
oldText: string, 
/**
 * Lines added, without the last line's terminator.
 */
newText: string, removedLines: number, addedLines: number, 
/**
 * The user typed inside it.
 */
mixed: boolean, 
/**
 * It was proposed before a restart, and nothing of it stands in the text now: `range` is where
 * it would be. To accept it is to make it again; to reject it is to forget it.
 */
outdated: boolean, 
/**
 * True for an outdated edit that can be made again: the lines it replaces still stand in the text.
 */
canApply?: boolean, 
/**
 * It is about the file itself, not about lines: `range` is its start, `oldText` what a
 * rejection of its deletion brings back.
 */
wholeFile?: WholeFile, 
/**
 * It was made by a child; the ids above are those of the call that started it.
 */
child?: ChildItem, };

export type UsageNotification = { sessionId: string, turnId: string, rev: number, rounds: number, turn: Usage, session: Usage, context: ContextUse, 
/**
 * Millionths of a dollar for the whole session, an estimate; only where every price is known.
 */
costMicros?: number, };

export type ContextUse = { used: number, window: number, };

export type CompactParams = { sessionId: string, };

export type CompactResult = { sessionId: string, 
/**
 * The turn in which it happens.
 */
turnId: string, };

export type ModelInfo = { provider: string, name: string, 
/**
 * Answers come from a script, not from a model. Always shown to the user.
 */
replay: boolean, };

export type StatusNotification = { rev: number, model: ModelInfo, connection: Connection, 
/**
 * What commands run in; absent until it is known.
 */
sandbox?: SandboxStatus, 
/**
 * Things the user should know now, newest last.
 */
banners: Array<Banner>, };

export type SandboxStatus = { kind: SandboxKind, 
/**
 * The same for people, in a sentence.
 */
text: string, };

export type SandboxKind = "bubblewrap" | "namespaces" | "seatbelt" | "off" | "missing";

export type Connection = { "kind": "idle" } | { "kind": "streaming" } | { "kind": "working" } | { "kind": "retrying", attempt: number, delayMs: number, reason: string, };

export type Banner = { 
/**
 * Stable name, so that a client can offer a fitting action.
 */
kind: BannerKind, text: string, };

export type BannerKind = "replay" | "setting" | "model" | "internal" | "storage" | "elsewhere" | "untrusted" | "sandbox";

export type ApplyEditParams = { uri: string, 
/**
 * Shown in the undo history.
 */
label: string, 
/**
 * Encoding of the file on disk, of one that is not plain UTF-8. A file that is not open is
 * opened, or made, in this encoding; where that is not possible the change is refused.
 */
encoding?: TextEncoding, change: FileChange, };

export type TextEncoding = { 
/**
 * Name in the Encoding Standard in lower case: `gbk`, `gb18030`, `big5`, `shift_jis`,
 * `utf-16le`, `utf-8` and so on.
 */
name: string, 
/**
 * The file begins with a byte order mark.
 */
bom: boolean, };

export type FileChange = { "kind": "edit", 
/**
 * Version of the open document the edits were made for.
 */
expectedVersion?: number, expectedHash: string, edits: Array<TextEdit>, } | { "kind": "create", text: string, } | { "kind": "delete", expectedHash: string, emptyFolders?: Array<string>, } | { "kind": "rename", to: string, expectedHash: string, emptyFolders?: Array<string>, };

export type ApplyEditResult = { applied: boolean, reason?: RefusedEdit, 
/**
 * Details of a refusal for the log and the model.
 */
message?: string, 
/**
 * The document had unsaved text of the user before the edit: it is theirs to save.
 */
wasDirty: boolean, };

export type RefusedEdit = "stale" | "readOnly" | "closed" | "failed";

export type SaveParams = { uris: Array<string>, };

export type SaveResult = { 
/**
 * Files that could not be saved, with the reason.
 */
failed: Array<SaveFailure>, };

export type SaveFailure = { uri: string, reason: string, };

export type ApproveParams = { approvalId: string, sessionId: string, turnId: string, callId: string, 
/**
 * `Run a command`, `Change a protected file`.
 */
title: string, 
/**
 * Kind of effect that is asked for. Absent: an older daemon asks.
 */
kind?: ApprovalKind, 
/**
 * Exactly what will run, byte for byte.
 */
command: string, 
/**
 * Where it will run.
 */
cwd: string, 
/**
 * Why it is asked, in a sentence.
 */
reason: string, 
/**
 * What "always" would keep: exact commands, one for each part of this one that is still asked
 * for. Empty: "always" is no answer to this question.
 */
rules: Array<string>, 
/**
 * Where they would hold, if that is not `cwd`: the folder that the command enters first. Shown
 * beside them.
 */
rulesFolder?: string, 
/**
 * What a command gets besides the usual sandbox; `title` says it, too.
 */
needs?: Array<Need>, 
/**
 * The title of the child that asks; absent: the agent itself does.
 */
child?: string, 
/**
 * What would become of the file: nothing of it is in the file or in its document yet.
 */
preview?: Preview, 
/**
 * What `allowSession` is a yes to, in a few words: `exactly this command`.
 */
forSession: string, 
/**
 * File that says what the command does and that changed since the user allowed it. Shown with the
 * question; `reason` says it, too.
 */
changed?: string, 
/**
 * `command` lists files that a command left and that are in quarantine; nothing runs. Only a
 * person may say yes.
 */
quarantined?: boolean, };

export type ApproveResult = { decision: ApprovalDecision, 
/**
 * Words of the user for the model, whatever the decision.
 */
feedback?: string, };

export type Need = "network" | "git";

export type Preview = { 
/**
 * As a unified diff. Bounded; one that was cut says so at its end.
 */
patch: string, 
/**
 * The whole texts. Absent: one is too long to be sent, and the patch is all there is.
 */
texts?: PreviewTexts, };

export type PreviewTexts = { before: string, after: string, };

export type ListRulesResult = { 
/**
 * Those of this workspace first, each group with the oldest first.
 */
rules: Array<AllowedCommand>, };

export type AllowedCommand = { 
/**
 * The folder it runs in, as an absolute path without symbolic links.
 */
folder: string, 
/**
 * Its exact words.
 */
command: string, 
/**
 * The folder is of this workspace.
 */
here: boolean, };

export type RevokeRuleParams = { folder: string, command: string, };

export type RevokeRuleResult = { 
/**
 * False when there was no such rule any more.
 */
revoked: boolean, };
