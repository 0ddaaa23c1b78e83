// Generated from daemon/protocol by `make gen`. Do not edit.

/** A request that is answered by one object. */
export interface RequestMethod<P, R> { readonly method: string; readonly _p?: P; readonly _r?: R }
/** A notification with one object. */
export interface NotificationMethod<P> { readonly method: string; readonly _p?: P }

export const PROTOCOL_VERSION = 2;
export const PROTOCOL_MINOR = 0;

/** Requests of the editor to the daemon. */
export const requests = {
  runTask: { method: "agent/runTask" } as RequestMethod<RunTaskParams, RunTaskResult>,
  steer: { method: "agent/steer" } as RequestMethod<SteerParams, SteerResult>,
  cancel: { method: "agent/cancel" } as RequestMethod<TurnParams, Empty>,
  answer: { method: "agent/answer" } as RequestMethod<AnswerParams, AnswerResult>,
  decide: { method: "agent/review/decide" } as RequestMethod<DecideParams, DecideResult>,
  undoDecision: { method: "agent/review/undo" } as RequestMethod<Empty, UndoDecisionResult>,
  baseline: { method: "agent/review/baseline" } as RequestMethod<BaselineParams, BaselineResult>,
  planHistory: { method: "agent/plan/history" } as RequestMethod<SessionParams, PlanHistoryResult>,
  checkpoints: { method: "agent/checkpoints" } as RequestMethod<Empty, CheckpointsResult>,
  restoreCheckpoint: { method: "agent/checkpoints/restore" } as RequestMethod<RestoreCheckpointParams, RestoreCheckpointResult>,
  state: { method: "agent/state" } as RequestMethod<Empty, StateResult>,
  models: { method: "agent/models" } as RequestMethod<Empty, ModelsResult>,
  serverModels: { method: "agent/models/server" } as RequestMethod<ServerModelsParams, ServerModelsResult>,
  checkModel: { method: "agent/models/check" } as RequestMethod<CheckModelParams, CheckModelResult>,
  toolOutput: { method: "agent/tool/output" } as RequestMethod<ToolOutputParams, ToolOutputResult>,
  turnAttachments: { method: "agent/turn/attachments" } as RequestMethod<TurnParams, TurnAttachmentsResult>,
  queueAdd: { method: "agent/queue/add" } as RequestMethod<QueueAddParams, QueueAddResult>,
  queueDrop: { method: "agent/queue/drop" } as RequestMethod<FollowUpParams, Empty>,
  queueSend: { method: "agent/queue/send" } as RequestMethod<FollowUpParams, Empty>,
  processStop: { method: "agent/processes/stop" } as RequestMethod<ProcessStopParams, Empty>,
  processInput: { method: "agent/processes/input" } as RequestMethod<ProcessInputParams, ProcessInputResult>,
  processOutput: { method: "agent/processes/output" } as RequestMethod<ProcessOutputParams, ProcessOutputResult>,
  compact: { method: "agent/compact" } as RequestMethod<SessionParams, RunTaskResult>,
  listSessions: { method: "agent/sessions/list" } as RequestMethod<ListSessionsParams, ListSessionsResult>,
  searchSessions: { method: "agent/sessions/search" } as RequestMethod<SearchSessionsParams, SearchSessionsResult>,
  openSession: { method: "agent/sessions/open" } as RequestMethod<OpenSessionParams, OpenSessionResult>,
  forkSession: { method: "agent/sessions/fork" } as RequestMethod<ForkSessionParams, OpenSessionResult>,
  renameSession: { method: "agent/sessions/rename" } as RequestMethod<RenameSessionParams, Empty>,
  deleteSession: { method: "agent/sessions/delete" } as RequestMethod<SessionParams, Empty>,
  restoreSession: { method: "agent/sessions/restore" } as RequestMethod<SessionParams, Empty>,
  exportSession: { method: "agent/sessions/export" } as RequestMethod<ExportSessionParams, ExportSessionResult>,
  listRules: { method: "agent/rules/list" } as RequestMethod<Empty, ListRulesResult>,
  revokeRule: { method: "agent/rules/revoke" } as RequestMethod<RevokeRuleParams, RevokeRuleResult>,
} as const;

/** Requests of the daemon to the editor. */
export const editorRequests = {
  applyEdit: { method: "agent/applyEdit" } as RequestMethod<ApplyEditParams, ApplyEditResult>,
  save: { method: "agent/save" } as RequestMethod<SaveParams, SaveResult>,
  approve: { method: "agent/approve" } as RequestMethod<ApproveParams, ApproveResult>,
  ask: { method: "agent/ask" } as RequestMethod<AskParams, AskResult>,
} as const;

/** Notifications of the daemon. */
export const notifications = {
  turn: { method: "agent/turn" } as NotificationMethod<TurnNotification>,
  plan: { method: "agent/plan" } as NotificationMethod<PlanNotification>,
  subagent: { method: "agent/subagent" } as NotificationMethod<SubagentNotification>,
  message: { method: "agent/message" } as NotificationMethod<MessageNotification>,
  tool: { method: "agent/tool" } as NotificationMethod<ToolNotification>,
  output: { method: "agent/output" } as NotificationMethod<OutputNotification>,
  review: { method: "agent/review" } as NotificationMethod<ReviewNotification>,
  processes: { method: "agent/processes" } as NotificationMethod<ProcessesNotification>,
  usage: { method: "agent/usage" } as NotificationMethod<UsageNotification>,
  queue: { method: "agent/queue" } as NotificationMethod<QueueNotification>,
  status: { method: "agent/status" } as NotificationMethod<StatusNotification>,
  modelCheck: { method: "agent/models/checked" } as NotificationMethod<ModelCheckNotification>,
} as const;

/** Notifications of the editor. */
export const editorNotifications = {
  credentials: { method: "agent/credentials" } as NotificationMethod<CredentialsParams>,
  trust: { method: "agent/trust" } as NotificationMethod<TrustParams>,
} as const;

export type ActionId = "new_task" | "retry" | "reply" | "continue_task" | "cancel_turn" | "open_session" | "restore_checkpoint" | "show_conversation" | "show_log" | "restart" | "open_folder" | "open_settings" | "trust_workspace" | "set_api_key" | "choose_model";

export type AllowedCommand = { 
/**
 * Folder of the rule, as an absolute path without symbolic links.
 */
folder: string, 
/**
 * The exact words of the command.
 */
command: string, 
/**
 * The folder belongs to this workspace.
 */
here: boolean, };

export type AnswerParams = { approvalId: string, decision: ApprovalDecision, feedback?: string, };

export type AnswerResult = { 
/**
 * False if the approval was answered already or its turn ended.
 */
accepted: boolean, };

export type ApplyEditParams = { uri: string, 
/**
 * Shown in the undo history.
 */
label: string, 
/**
 * Encoding of the file on disk, unless that is plain UTF-8.
 */
encoding?: TextEncoding, change: FileChange, };

export type ApplyEditResult = { applied: boolean, reason?: RefusedEdit, 
/**
 * The editor's own words about a refusal as `failed`. They reach the user and the model.
 */
message?: string, 
/**
 * The document had unsaved text of the user before the edit, which only the user saves.
 */
wasDirty: boolean, };

export type ApprovalDecision = "allowOnce" | "allowSession" | "allowAlways" | "allowPattern" | "deny";

export type ApprovalKind = "command" | "unsandboxedCommand" | "read" | "change";

export type ApproveParams = { approvalId: string, sessionId: string, turnId: string, callId: string, 
/**
 * Title, such as `Run a command` or `Change a protected file`.
 */
title: UiMessage, 
/**
 * Kind of the effect. Absent: an older daemon asks.
 */
kind?: ApprovalKind, 
/**
 * Command, byte for byte; empty for a question about files.
 */
command: string, 
/**
 * The files of a question about files, in a line that cannot be read as a command.
 */
files?: UiMessage, 
/**
 * Working directory of the command.
 */
cwd: string, 
/**
 * Reasons for the question, each a sentence.
 */
reasons?: Array<UiMessage>, 
/**
 * Rules that "always" would store: exact commands, one for each part of this one that still
 * needs permission. Empty: "always" is no answer to this question.
 */
rules: Array<string>, 
/**
 * Rule that `allowPattern` would store: the beginning of the command, then ` *` for any further words.
 * Shown with that answer. Absent: no such answer.
 */
pattern?: string, 
/**
 * Folder of these rules, if it is not `cwd`: the folder that the command enters first. Shown
 * with them.
 */
rulesFolder?: string, 
/**
 * Access that a command gets besides the usual sandbox; `title` names it, too.
 */
needs?: Array<Need>, 
/**
 * Effects of the command that the user should see before an answer. Empty: none that its words show.
 */
risks?: Array<UiMessage>, 
/**
 * Title of the subagent that asks; absent: the agent itself asks.
 */
subagent?: string, 
/**
 * Proposed change of the file. Neither the file nor its document contains any of it yet.
 */
preview?: Preview, 
/**
 * Scope of `allowSession`, in a few words: `exactly this command, again`.
 */
forSession: UiMessage, 
/**
 * File that the command follows and that changed since the user allowed it. Shown with the
 * question; `reasons` name it, too.
 */
changed?: string, 
/**
 * `files` lists files that a command left and that are in quarantine; nothing runs. Only a
 * person may allow it.
 */
quarantined?: boolean, };

export type ApproveResult = { decision: ApprovalDecision, 
/**
 * Text of the user for the model, with any decision.
 */
feedback?: string, };

export type AskParams = { questionId: string, sessionId: string, turnId: string, callId: string, 
/**
 * Question in the words of the model.
 */
text: string, 
/**
 * Answers that the model offers. The user may write another one.
 */
options: Array<string>, };

export type AskResult = { 
/**
 * Absent: the user dismissed the question.
 */
answer?: string, };

export type Attachment = { kind: AttachmentKind, 
/**
 * Name for the user, such as `Pasted text`. By default the path of the file.
 */
name?: string, 
/**
 * File, folder, or file of the selection; inside the workspace.
 */
uri?: string, 
/**
 * Range of a selection.
 */
range?: Range, 
/**
 * Text of a selection or text. The daemon reads a file itself.
 */
text?: string, 
/**
 * Type of an image. The bytes decide; it may be absent.
 */
mime?: string, 
/**
 * Bytes of an image in base 64.
 */
data?: string, };

export type AttachmentKind = "file" | "folder" | "selection" | "text" | "image";

export type Banner = { 
/**
 * Stable name, by which a client can offer an action.
 */
kind: BannerKind, 
/**
 * Stable name of the message. A later version may add codes.
 */
code: string, 
/**
 * English text with placeholders.
 */
template: string, args?: { [key in string]: UiArgument }, 
/**
 * Action that solves the problem; absent if there is none.
 */
action?: ActionId, };

export type BannerKind = "replay" | "setting" | "model" | "internal" | "storage" | "elsewhere" | "untrusted" | "sandbox";

export type BaselineParams = { uri: string, };

export type BaselineResult = { 
/**
 * Absent when the file is not under review; empty for a file that the agent created.
 */
text?: string, };

export type CallDecision = { decision: ApprovalDecision, by: DecidedBy, 
/**
 * Words of the user to the model.
 */
words?: string, 
/**
 * Milliseconds since 1970.
 */
at: number, };

export type CheckModelParams = { 
/**
 * Chosen by the client, for the notifications.
 */
checkId: string, 
/**
 * `anthropic` or `openai`: the format of its requests. Absent: the model of the settings.
 */
server?: ServerModelsParams, 
/**
 * Name of the model; absent for the model of the settings.
 */
name?: string, };

export type CheckModelResult = { 
/**
 * One for each part of the work with a model, in the order of a table.
 */
rows: Array<ModelCheckRow>, };

export type Checkpoint = { sessionId: string, turnId: string, 
/**
 * First message of the turn.
 */
task: string, 
/**
 * Files that the agent changed in the turn, relative to the workspace.
 */
files: Array<string>, };

export type CheckpointConflict = { uri: string, path: string, 
/**
 * Text at the checkpoint; absent if the file did not exist.
 */
text?: string, };

export type CheckpointsResult = { 
/**
 * Newest first, at most 50.
 */
checkpoints: Array<Checkpoint>, };

export type CompletedItem = { id: string, content: string, 
/**
 * Number of completed items of the plan, with this one.
 */
place: number, 
/**
 * Number of items of the plan.
 */
total: number, };

export type Connection = { "kind": "idle" } | { "kind": "streaming" } | { "kind": "working" } | { "kind": "retrying", attempt: number, delayMs: number, 
/**
 * Part of a sentence.
 */
reason: UiMessage, };

export type ContextUse = { used: number, window: number, };

export type CredentialsParams = { provider: string, key: string | null, 
/**
 * The only origin that the key is sent to, as in `ProviderStatus`. Absent: the provider's own.
 */
origin?: string, };

export type DecideParams = { decision: Decision, scope: Scope, 
/**
 * The `rev` that the user saw. A decision with an older one is refused if the hunk changed
 * since.
 */
rev?: number, 
/**
 * Text of the user about a rejection, for the model.
 */
feedback?: string, };

export type DecideResult = { 
/**
 * Number of decided hunks.
 */
applied: number, 
/**
 * Number of hunks that had changed or no longer existed; they stayed as they were.
 */
stale: number, 
/**
 * One message for each hunk or file that could not be decided, with the reason.
 */
failed: Array<UiMessage>, };

export type DecidedBy = "answer" | "session" | "rule" | "nobody";

export type Decision = "accept" | "reject" | "drop";

export type EarlierPlan = { turnId: string, 
/**
 * First message of the turn.
 */
task: string, reason: EndReason, plan: PlanNotification, };

export type Empty = Record<symbol, never>;

export type EndReason = "completed" | "needsInput" | "cancelled" | "failed" | "limit" | "interrupted";

export type ErrorData = { kind: ErrorKind, 
/**
 * Stable name of the message. A later version may add codes.
 */
code: string, 
/**
 * English text with placeholders.
 */
template: string, args?: { [key in string]: UiArgument }, 
/**
 * Action that solves the problem; absent if there is none.
 */
action?: ActionId, };

export type ErrorKind = "notReady" | "noModel" | "invalidParams" | "unknownSession" | "sessionLocked" | "turnMismatch" | "untrusted" | "overloaded" | "internal";

export type ExportFormat = "markdown" | "replay";

export type ExportSessionParams = { sessionId: string, format: ExportFormat, };

export type ExportSessionResult = { "kind": "text", text: string, } | { "kind": "file", uri: string, };

export type FileChange = { "kind": "edit", 
/**
 * Version of the open document the edits were made for.
 */
expectedVersion?: number, expectedHash: string, edits: Array<TextEdit>, } | { "kind": "create", text: string, } | { "kind": "delete", expectedHash: string, emptyFolders?: Array<string>, } | { "kind": "rename", to: string, expectedHash: string, emptyFolders?: Array<string>, };

export type FileKind = "edited" | "created" | "deleted" | "moved";

export type FollowUp = { id: string, text: string, mode?: ReviewMode, 
/**
 * Content sent with the text, without `text` and `data`.
 */
attachments?: Array<Attachment>, };

export type FollowUpParams = { sessionId: string, id: string, };

export type ForkSessionParams = { sessionId: string, 
/**
 * Last turn to copy. By default the newest one that ended.
 */
atTurn?: string, };

export type Hunk = { id: string, sessionId: string, turnId: string, planItem?: string, 
/**
 * Text of that plan item when the edit was made, at most 200 bytes: the plan may be of a session
 * that is not in view, and may have changed. Absent for edits of earlier versions.
 */
planItemText?: string, 
/**
 * Call that made the edit, the newest one if several did; the hunks of an `agent/tool` are those
 * that name it.
 */
callId?: string, 
/**
 * Whole lines of the live text; empty (`start == end`) where text was only removed.
 */
range: Range, 
/**
 * Removed lines, without the last line's terminator.
 */
oldText: string, 
/**
 * Added lines, without the last line's terminator.
 */
newText: string, removedLines: number, addedLines: number, 
/**
 * Changed words, in order, if the lines pair up and are alike.
 */
inline?: Array<InlineChange>, 
/**
 * The user typed inside it.
 */
mixed: boolean, 
/**
 * A line in which the user typed inside text of the agent, at most 200 characters. Rejecting the
 * hunk leaves that line, which may fit the former lines badly; decision `drop` removes it.
 */
typedIn?: string, 
/**
 * Proposed before a restart, and none of it is in the text now: `range` is its expected place.
 * Accepting it applies it again; rejecting it discards it.
 */
outdated: boolean, 
/**
 * True for an outdated edit that can be applied again: the lines it replaces are still in the
 * text.
 */
canApply?: boolean, 
/**
 * Present for an operation on the file itself: `range` is the file's start, `oldText` the text
 * that rejecting a deletion restores.
 */
wholeFile?: WholeFile, 
/**
 * Subagent that made it; the ids above are then those of the call that started it.
 */
subagent?: SubagentOrigin, };

export type InlineChange = { 
/**
 * Added text, within one line of the live text; empty where text was only removed.
 */
range: Range, 
/**
 * Removed text, at most 60 characters.
 */
removed: string, };

export type InputTaken = "all" | "part" | "none";

export type ItemStatus = "pending" | "inProgress" | "completed" | "cancelled";

export type LinkedCommand = { callId: string, 
/**
 * Title, such as `Run npm test`.
 */
title: UiMessage, state: ToolState, 
/**
 * Duration, once it ended.
 */
elapsedMs?: number, };

export type LinkedFile = { uri: string, 
/**
 * Path relative to the workspace, with `/`.
 */
path: string, };

export type ListRulesResult = { 
/**
 * Rules of this workspace first, oldest first in each group.
 */
rules: Array<AllowedCommand>, };

export type ListSessionsParams = { 
/**
 * `next` of the previous page.
 */
cursor?: string, 
/**
 * Size of the page: 50 by default, 200 at most.
 */
limit?: number, };

export type ListSessionsResult = { sessions: Array<SessionSummary>, 
/**
 * Present if more follow: the `cursor` of the next page.
 */
next?: string, };

export type MessageNotification = { sessionId: string, turnId: string, rev: number, itemId: string, role: MessageRole, delta: string, 
/**
 * Complete text; present when the message ended.
 */
text?: string, 
/**
 * The stream was cut: this text is not part of the conversation.
 */
incomplete: boolean, 
/**
 * A notice of the daemon; `text` is the same in English.
 */
notice?: UiMessage, 
/**
 * Time at which the message began, in milliseconds since 1970; absent in messages of earlier
 * processes.
 */
at?: number, 
/**
 * Time at which it ended, likewise.
 */
endedAt?: number, 
/**
 * Words for a running task that its model has not read. The same message without it follows, with the time of
 * reading as `endedAt`; a turn that ends before keeps them for the next one.
 */
unread?: boolean, 
/**
 * Content sent with the text, without `text` and `data`.
 */
attachments?: Array<Attachment>, };

export type MessageRole = "user" | "assistant" | "thinking" | "reminder" | "notice";

export type ModelCheckNotification = { checkId: string, rows: Array<ModelCheckRow>, };

export type ModelCheckRow = { part: UiMessage, state: UiMessage, finding: UiMessage, };

export type ModelInfo = { provider: string, name: string, 
/**
 * A script answers instead of a model. Always shown to the user.
 */
replay: boolean, };

export type ModelPrice = { input: number, output: number, };

export type ModelsResult = { active: ModelInfo, providers: Array<ProviderStatus>, };

export type Need = "network" | "git";

export type OpenSessionParams = { sessionId: string, 
/**
 * `earlier` of a snapshot or of the previous page. The answer is then only the part of the
 * transcript before it, and no session comes into view.
 */
before?: string, 
/**
 * The same for the part before this turn.
 */
beforeTurn?: string, 
/**
 * The same for the part before this call, which is over.
 */
beforeCall?: string, };

export type OpenSessionResult = { "kind": "opened", session: SessionSnapshot, } | { "kind": "earlier", transcript: Array<TranscriptEntry>, 
/**
 * Present if earlier entries exist.
 */
earlier?: string, };

export type OutputNotification = { sessionId: string, turnId: string, callId: string, 
/**
 * Number of this piece, from 0. A missing number stands for output that came too fast and was
 * left out; the `detail` of the call has it if it fits there.
 */
seq: number, text: string, };

export type Panel = "expanded" | "collapsed" | "hidden";

export type ParentCall = { sessionId: string, turnId: string, callId: string, 
/**
 * The plan item in progress when the call was made.
 */
planItem?: string, };

export type PlanHistoryResult = { 
/**
 * Oldest first, at most the newest 50.
 */
turns: Array<EarlierPlan>, };

export type PlanItem = { 
/**
 * Stable across replacements of the list.
 */
id: string, content: string, activeForm: string, status: ItemStatus, 
/**
 * The model marked it as blocked, or it waits for an open item of a task graph.
 */
blocked: boolean, 
/**
 * Ids of the open items it waits for (task graph only).
 */
blockedBy: Array<string>, 
/**
 * Files changed under this item, in the order of the first change.
 */
files: Array<LinkedFile>, 
/**
 * Commands run under this item, oldest first; at most the newest 50.
 */
commands: Array<LinkedCommand>, 
/**
 * Tool calls made under this item, without calls of the planning tool. A completed item
 * without any was only declared done.
 */
calls: number, 
/**
 * Milliseconds in progress. The client adds the time since the notification for the item in
 * progress.
 */
elapsedMs: number, };

export type PlanNotification = { sessionId: string, turnId: string, rev: number, panel: Panel, items: Array<PlanItem>, completed: number, total: number, 
/**
 * Text of open items that the newest update omitted.
 */
dropped: Array<string>, };

export type Position = { line: number, character: number, };

export type Preview = { 
/**
 * Unified diff. Bounded; a truncated one is marked at its end.
 */
patch: string, 
/**
 * The whole texts. Absent: one is too long to be sent.
 */
texts?: PreviewTexts, };

export type PreviewTexts = { before: string, after: string, };

export type ProcessEnd = { "kind": "code", code: number, } | { "kind": "signal", signal: number, } | { "kind": "stopped", by: ProcessStopper, } | { "kind": "tooManyProcesses" } | { "kind": "lost" };

export type ProcessInfo = { 
/**
 * Number in its session, from 1.
 */
id: number, command: string, 
/**
 * The plan item in progress when it was started.
 */
planItem?: string, 
/**
 * True if it takes input.
 */
input: boolean, 
/**
 * True if it has a terminal: it echoes its input, and knows keys such as Ctrl+C.
 */
terminal: boolean, 
/**
 * Milliseconds since 1970.
 */
startedAt: number, phase: ProcessPhase, 
/**
 * Number of bytes that it wrote.
 */
written: number, 
/**
 * Last lines of its output, at most five.
 */
tail: string, };

export type ProcessInputParams = { sessionId: string, id: number, 
/**
 * At most 16 KiB of UTF-8.
 */
text: string, };

export type ProcessInputResult = { taken: InputTaken, };

export type ProcessOutputParams = { sessionId: string, id: number, 
/**
 * Position in bytes from the beginning of the output.
 */
since: number, };

export type ProcessOutputResult = { text: string, 
/**
 * Number of bytes before the text that are no longer kept.
 */
missed: number, 
/**
 * Position after the text: the next `since`.
 */
end: number, 
/**
 * Present if the process has ended: no more output will come.
 */
ended?: ProcessEnd, };

export type ProcessPhase = { "kind": "running", 
/**
 * True after a request to stop it.
 */
stopping: boolean, } | { "kind": "ended", end: ProcessEnd, 
/**
 * Milliseconds since 1970.
 */
at: number, };

export type ProcessStopParams = { sessionId: string, id: number, };

export type ProcessStopper = "agent" | "user" | "turn";

export type ProcessesNotification = { sessionId: string, rev: number, processes: Array<ProcessInfo>, };

export type ProviderStatus = { 
/**
 * `anthropic`, `openai` or `replay`.
 */
provider: string, usable: boolean, 
/**
 * Reason why it cannot be used now, with the next step; absent when usable.
 */
problem?: UiMessage, 
/**
 * Known model names, best first.
 */
models: Array<string>, 
/**
 * Origin of its requests (scheme, host and port), for which a newly entered key would be
 * stored. Empty for a provider without a key.
 */
origin: string, };

export type QueueAddParams = { sessionId: string, text: string, 
/**
 * Mode of its turn; by default the session's.
 */
mode?: ReviewMode, 
/**
 * Content sent with the text.
 */
attachments?: Array<Attachment>, };

export type QueueAddResult = { 
/**
 * Its turn, if it already started.
 */
started?: RunTaskResult, };

export type QueueNotification = { sessionId: string, rev: number, items: Array<FollowUp>, 
/**
 * The previous turn did not complete, so none starts automatically.
 */
held: boolean, };

export type Range = { start: Position, end: Position, };

export type ReadOnly = { reason: ReadOnlyReason, 
/**
 * Stable name of the message. A later version may add codes.
 */
code: string, 
/**
 * English text with placeholders.
 */
template: string, args?: { [key in string]: UiArgument }, 
/**
 * Action that solves the problem; absent if there is none.
 */
action?: ActionId, };

export type ReadOnlyReason = "openElsewhere" | "damaged" | "notWritable";

export type RefusedEdit = "stale" | "readOnly" | "closed" | "notebook" | "encoding" | "failed";

export type RenameSessionParams = { sessionId: string, 
/**
 * At most 200 characters, without control characters. Space around it is removed. Empty: the
 * session no longer has a name, and is shown by its first message.
 */
name: string, };

export type RestoreCheckpointParams = { turnId: string, 
/**
 * Overwrites text that others than the agent wrote since, which the user has seen.
 */
overwrite: boolean, };

export type RestoreCheckpointResult = { 
/**
 * Restored files, relative to the workspace.
 */
restored: Array<string>, 
/**
 * Files in which others than the agent wrote since. Unless `overwrite` is set, no file was
 * changed.
 */
conflicts: Array<CheckpointConflict>, 
/**
 * One message for each file that could not be restored, with the reason.
 */
failed: Array<UiMessage>, };

export type ReviewMode = "review" | "ask" | "auto" | "plan";

export type ReviewNotification = { uri: string, 
/**
 * Path relative to the workspace folder, with `/`.
 */
path: string, rev: number, 
/**
 * Document version of the ranges; absent when the file is not open.
 */
version?: number, kind: FileKind, 
/**
 * Former path of a moved file, relative like `path`.
 */
from?: string, 
/**
 * True if a tool call waits for the decision about these hunks (mode `ask`).
 */
waiting?: boolean, hunks: Array<Hunk>, };

export type RevokeRuleParams = { folder: string, command: string, };

export type RevokeRuleResult = { 
/**
 * False if no such rule existed.
 */
revoked: boolean, };

export type RunTaskParams = { text: string, sessionId?: string, mode?: ReviewMode, context?: TaskContext, 
/**
 * Plays the built-in demonstration instead of asking a model. It writes `cairn-demo.md`, so the
 * folder should not be the user's.
 */
demo?: boolean, 
/**
 * Content sent with the text.
 */
attachments?: Array<Attachment>, };

export type RunTaskResult = { sessionId: string, turnId: string, };

export type SandboxKind = "bubblewrap" | "namespaces" | "off" | "missing";

export type SandboxStatus = { kind: SandboxKind, 
/**
 * Stable name of the message. A later version may add codes.
 */
code: string, 
/**
 * English text with placeholders.
 */
template: string, args?: { [key in string]: UiArgument }, 
/**
 * Action that solves the problem; absent if there is none.
 */
action?: ActionId, };

export type SaveFailure = { uri: string, reason: string, };

export type SaveParams = { uris: Array<string>, };

export type SaveResult = { 
/**
 * Files that could not be saved, with the reason.
 */
failed: Array<SaveFailure>, };

export type Scope = { "kind": "hunk", uri: string, hunkId: string, } | { "kind": "hunks", hunks: Array<ShownHunk>, } | { "kind": "file", uri: string, } | { "kind": "planItem", sessionId: string, planItem: string, } | { "kind": "all" };

export type SearchSessionsParams = { 
/**
 * At most 200 characters of one line. A longer or empty one has no match.
 */
query: string, };

export type SearchSessionsResult = { 
/**
 * At most 50.
 */
matches: Array<SessionMatch>, 
/**
 * True if a limit ended the search: 50 matches, 256 MiB or 10 seconds.
 */
limited: boolean, };

export type Selection = { uri: string, range: Range, text: string, };

export type ServerModel = { name: string, 
/**
 * Context window in tokens, if the server or the daemon knows it.
 */
contextTokens?: number, 
/**
 * Present for a model of the vendor whose price is known.
 */
price?: ModelPrice, };

export type ServerModelsParams = { 
/**
 * `anthropic` or `openai`: the format of its requests.
 */
provider: string, 
/**
 * Base URL of the server; absent for the vendor's own.
 */
baseUrl?: string, };

export type ServerModelsResult = { 
/**
 * Origin of the server, for which a key would be stored; empty if the base URL is not usable.
 */
origin: string, 
/**
 * At most 1000, in the order of the server.
 */
models: Array<ServerModel>, 
/**
 * Reason why there are none, with the next step; absent after an answer.
 */
problem?: UiMessage, };

export type SessionMatch = { session: SessionSummary, 
/**
 * First line with the text, shortened around it to about 200 characters.
 */
line: string, };

export type SessionParams = { sessionId: string, };

export type SessionSnapshot = { sessionId: string, 
/**
 * First message of the newest turn.
 */
task?: string, 
/**
 * First words of its first message.
 */
title?: string, plan?: PlanNotification, 
/**
 * Waiting follow-ups, if any.
 */
queue?: QueueNotification, 
/**
 * Tool calls of the newest turn and of its subagents.
 */
tools: Array<ToolNotification>, 
/**
 * Newest subagents of its turns, in the order of their start.
 */
subagents: Array<SubagentNotification>, 
/**
 * Its processes.
 */
processes?: Array<ProcessInfo>, 
/**
 * Transcript before this daemon started, oldest first; at most the newest 1,000 entries. Later
 * entries came as notifications.
 */
transcript: Array<TranscriptEntry>, 
/**
 * Tokens so far, and the use of the context window; absent before the first use.
 */
usage?: UsageNotification, 
/**
 * Present if earlier entries exist: the `before` for `agent/sessions/open`.
 */
earlier?: string, 
/**
 * Present if no turn can start in the session.
 */
readOnly?: ReadOnly, 
/**
 * Name that the user gave it.
 */
name?: string, 
/**
 * Newest turn, running or ended.
 */
turn?: TurnNotification, };

export type SessionState = "running" | "waiting" | "ended";

export type SessionSummary = { sessionId: string, 
/**
 * Beginning of the first message; empty if there is none.
 */
task: string, 
/**
 * Milliseconds since 1970.
 */
updatedMs: number, turns: number, running: boolean, state?: SessionState, 
/**
 * Reason for which its newest turn ended. Absent while one runs, and before the first one.
 */
end?: EndReason, 
/**
 * Last line of the newest answer, or of the failure of its turn; at most 200 characters. Absent
 * while a turn runs.
 */
lastLine?: string, 
/**
 * Proposed edits of the session that this window keeps and that wait for a decision.
 */
pendingEdits?: number, 
/**
 * Follow-ups that wait.
 */
queued?: number, 
/**
 * Estimated cost of the session in millionths of a dollar; present only if every price is
 * known.
 */
costMicros?: number, 
/**
 * Completed items of its plan.
 */
doneItems: number, openItems: number, 
/**
 * The session in view in this window.
 */
current: boolean, 
/**
 * Another window has it open: this one can read, fork and export it.
 */
lockedElsewhere: boolean, 
/**
 * Name that the user gave it.
 */
name?: string, };

export type ShownHunk = { uri: string, hunkId: string, rev?: number, };

export type StateResult = { sessions: Array<SessionSnapshot>, reviews: Array<ReviewNotification>, status: StatusNotification, };

export type StatusNotification = { rev: number, model: ModelInfo, connection: Connection, 
/**
 * Sandbox of the agent's commands; absent until it is known.
 */
sandbox?: SandboxStatus, 
/**
 * Conditions that the user should know now, newest last.
 */
banners: Array<Banner>, };

export type SteerParams = { sessionId: string, expectedTurnId: string, text: string, 
/**
 * Content sent with the text.
 */
attachments?: Array<Attachment>, };

export type SteerResult = { queued: boolean, };

export type SubagentNotification = { 
/**
 * The subagent's own session. With `turnId`, `agent/cancel` ends this subagent alone.
 */
sessionId: string, turnId: string, rev: number, parent: ParentCall, 
/**
 * Index of the call among those of its turn: subagents of one message begin in any order.
 */
place: number, 
/**
 * Short description of its task, by the model.
 */
title: string, phase: SubagentPhase, 
/**
 * Its own plan; empty if it has none.
 */
items: Array<PlanItem>, completed: number, total: number, rounds: number, 
/**
 * Its tokens, which also count in its parent's usage.
 */
usage: Usage, };

export type SubagentOrigin = { sessionId: string, 
/**
 * Its call that made the edit.
 */
callId?: string, planItem?: string, };

export type SubagentPhase = { "kind": "waiting" } | { "kind": "running" } | { "kind": "ended", reason: EndReason, };

export type TaskContext = { 
/**
 * URI of the file in the active editor.
 */
activeFile?: string, selection?: Selection, };

export type TextEdit = { range: Range, newText: string, };

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

export type ToolKind = "read" | "search" | "edit" | "create" | "delete" | "move" | "run" | "plan" | "task" | "ask";

export type ToolNotification = { sessionId: string, turnId: string, rev: number, callId: string, name: string, 
/**
 * One line, such as `Read src/cart.mjs` or `Run npm test`. Code `named`: the name of the tool,
 * until the arguments of the call are read.
 */
title: UiMessage, state: ToolState, 
/**
 * Plan item in progress when the call was made.
 */
planItem?: string, 
/**
 * Bounded text: output of a command, or the whole command. Of a failed or declined call: the text
 * that the model got, word for word and so in English.
 */
detail?: string, 
/**
 * File that the call touched.
 */
uri?: string, 
/**
 * For a subagent's call: the call that started the subagent.
 */
parent?: ParentCall, 
/**
 * Effect that the call is about to have, or had; absent for an unknown tool and in calls of
 * earlier versions.
 */
toolKind?: ToolKind, 
/**
 * File that the call is about, and the lines that it read.
 */
target?: ToolTarget, 
/**
 * Numbers about what it did.
 */
stats?: ToolStats, 
/**
 * Time at which it began to run, in milliseconds since 1970.
 */
startedAt?: number, 
/**
 * Time at which it was over, likewise.
 */
endedAt?: number, 
/**
 * Decision that let it run, or not; absent for a call that needs none.
 */
decision?: CallDecision, 
/**
 * Plan items that this call completed, in the order of the plan.
 */
completed?: Array<CompletedItem>, };

export type ToolOutputParams = { sessionId: string, callId: string, };

export type ToolOutputResult = { 
/**
 * Absent while the calls of its message run, and for an unknown call.
 */
text?: string, };

export type ToolState = "queued" | "awaitingApproval" | "running" | "done" | "failed" | "declined" | "cancelled";

export type ToolStats = { 
/**
 * Lines that an edit added.
 */
added?: number, 
/**
 * Lines that an edit removed.
 */
removed?: number, 
/**
 * Lines or files that a search found.
 */
matches?: number, 
/**
 * Lines that were read.
 */
lines?: number, 
/**
 * Exit code of a command; absent if it was ended by a signal.
 */
exitCode?: number, };

export type ToolTarget = { uri: string, 
/**
 * Whole lines. Absent: the file as a whole.
 */
range?: Range, };

export type TranscriptEntry = { "kind": "turn" } & TurnNotification | { "kind": "message" } & MessageNotification | { "kind": "tool" } & ToolNotification;

export type TrustParams = { trusted: boolean, };

export type TurnAttachmentsResult = { 
/**
 * In the order in which they were sent, with `text` and `data`. An image that the model server refused
 * has no `data`.
 */
attachments: Array<Attachment>, };

export type TurnNotification = { sessionId: string, turnId: string, rev: number, phase: TurnPhase, };

export type TurnParams = { sessionId: string, turnId: string, };

export type TurnPhase = { "kind": "started", 
/**
 * Text of the user.
 */
text: string, 
/**
 * Content sent with the text, without `text` and `data`.
 */
attachments?: Array<Attachment>, } | { "kind": "ended", reason: EndReason, 
/**
 * Last text of the assistant, or the failure and the next step for the user.
 */
summary: string, openItems: number, 
/**
 * No command has tested, built or checked the last edit of the turn with success.
 */
uncheckedEdits?: boolean, usage: Usage, 
/**
 * Reason why the turn ended before its work was done; absent if it was completed or
 * cancelled.
 */
problem?: UiMessage, 
/**
 * Time, tokens and cost of this turn alone; absent for turns of earlier versions.
 */
spent?: TurnSpent, };

export type TurnSpent = { elapsedMs: number, usage: Usage, 
/**
 * Estimate in millionths of a dollar; present only if every price is known.
 */
costMicros?: number, };

export type UiArgument = string | number | Array<string> | UiMessage | { items: Array<UiMessage>, separator: string, };

export type UiMessage = { 
/**
 * Stable name of the message. A later version may add codes.
 */
code: string, 
/**
 * English text with placeholders.
 */
template: string, args?: { [key in string]: UiArgument }, 
/**
 * Action that solves the problem; absent if there is none.
 */
action?: ActionId, };

export type UndoDecisionResult = { undone: boolean, 
/**
 * Reason why nothing, or not all, was undone.
 */
problem?: UiMessage, };

export type Usage = { inputTokens: number, outputTokens: number, cachedTokens: number, };

export type UsageNotification = { sessionId: string, turnId: string, rev: number, rounds: number, turn: Usage, session: Usage, context: ContextUse, 
/**
 * Estimated cost of the session in millionths of a dollar; present only if every price is
 * known.
 */
costMicros?: number, };

export type WholeFile = "deleted" | "moved";
