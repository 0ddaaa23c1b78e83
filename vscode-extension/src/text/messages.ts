import * as vscode from "vscode";

import type {
  ActionId,
  ApprovalQuestion,
  ApprovalReason,
  DenyDoubt,
  EditProblem,
  Need,
  QuarantineEntry,
  QuarantineFault,
  ReadOnlyProblem,
  RequestProblem,
  ReviewProblem,
  SandboxState,
  RetryReason,
  StatusProblem,
  StillAcceptedEdit,
  StillAcceptedReason,
  ToolLabel,
  TurnNotice,
  TurnProblem,
  UnclearCommand,
} from "../protocol";
import { tokens } from "../status/meter";
import { size } from "./counts";
import { oneLine } from "./display";

type Problem = RequestProblem | TurnProblem | StatusProblem | TurnNotice | ReviewProblem | EditProblem | ReadOnlyProblem | SandboxState;
type Asked = ApprovalQuestion | ApprovalReason | UnclearCommand | DenyDoubt;
type Coded = Problem | Asked | ToolLabel | RetryReason | QuarantineEntry | QuarantineFault;
export type ProblemCode = Coded["code"];
type ArgsOf<C extends ProblemCode> = Extract<Coded, { code: C }> extends { args: infer A } ? A : undefined;

/** Any message of the daemon with a code. Daemons before protocol 1.1 send none, newer ones may send unknown ones. */
export interface CodedMessage {
  readonly code?: string;
  readonly args?: Readonly<Record<string, unknown>>;
  readonly action?: string;
}

const { t } = vscode.l10n;

/**
 * Text of each code, with the arguments of the daemon. The compiler refuses a code without a text.
 * `undefined`: an argument has a code of a newer daemon.
 */
const texts: { readonly [C in ProblemCode]: (args: ArgsOf<C>) => string | undefined } = {
  // Refused requests.
  not_initialized: () => t("The Cairn daemon is still starting. Try again."),
  already_shut_down: () => t("The Cairn daemon has stopped. Restart it."),
  protocol_version: (args) =>
    t("The Cairn daemon speaks version {daemon} of the protocol, this extension version {editor}. Install both from the same release.", args),
  invalid_params: (args) => t("The Cairn daemon did not understand {method}: {reason}", args),
  unknown_command: (args) => t("The Cairn daemon has no command {command}.", args),
  invalid_arguments: (args) => t("The Cairn daemon did not understand the arguments of {command}: {reason}. Expected: {form}", args),
  overloaded: () => t("Too many requests are waiting. Try again in a moment."),
  request_dropped: () => t("Cairn dropped the request. Try again; the log has details."),
  internal_error: () => t("Cairn failed with an internal error. Try again; the log has details."),
  no_folder: () => t("No folder is open. The agent works inside a folder."),
  no_usable_model: (args) => t("No model can be used, so the task was not started. {reason}", { reason: messageText(args.reason) ?? "" }),
  empty_task: () => t("The task is empty. Enter what the agent should do."),
  turn_running: () => t("The agent is still working in this session. Cancel the task first."),
  turn_ended: () => t("The task has ended. Send your message as a reply."),
  session_not_loaded: () => t("This session is no longer open. Open it again, or start a new task."),
  session_unknown: () => t("This session is unknown. Start a new task."),
  session_not_found: () => t("This workspace has no such session. Open another one."),
  no_session: () => t("There is no session to continue. Start a new task."),
  session_running: () => t("The agent is working in this session. Cancel the task first."),
  session_read_only: (args) =>
    t("{reason}, so this session is read-only here. Open it again when that has changed, or fork it.", { reason: messageText(args.reason) ?? "" }),
  session_open_elsewhere: () => t("Another window has this session open. Close it there first."),
  session_unreadable: (args) => t("The session cannot be read: {reason}", args),
  session_name_invalid: (args) => t("The name is too long, or holds control characters. Enter at most {limit} characters.", args),
  invalid_page: () => t("This part of the session is no longer available. Open the session again."),
  no_ended_turn: () => t("The session has no completed task to fork from. Wait for the end of its task."),
  process_unknown: ({ id }) => t("There is no process {0} in this session any more.", id),
  process_input_too_long: ({ limit }) => t("This input has more than {0} bytes. Send it in parts.", limit),
  queue_full: (args) => t("{limit} follow-ups are waiting already. Remove one first.", args),
  too_many_attachments: ({ limit }) => t("At most {limit} attachments can be sent with a message.", { limit }),
  attachment_too_large: ({ name, limit }) => t("{name} is too large: at most {limit} can be attached.", { name: oneLine(name), limit: size(limit) }),
  attachment_unreadable: (args) => t("{name} cannot be attached: {reason}", { name: oneLine(args.name), reason: oneLine(args.reason) }),
  attachment_protected: ({ name }) =>
    t("{name} may hold secrets, so it is not attached. Ask the agent to read it: you can then allow that.", { name: oneLine(name) }),
  not_an_image: ({ name }) => t("{name} is not a PNG, JPEG, WebP or GIF image.", { name: oneLine(name) }),
  images_unsupported: ({ model }) => t("{model} takes no images. Remove the image, or choose another model.", { model }),
  empty_follow_up: () => t("The follow-up is empty. Enter what the agent should do next, or remove it."),
  follow_up_started: () => t("This follow-up is no longer waiting. It has started or was removed."),
  nothing_to_compact: () => t("The conversation is too short to compact."),
  document_not_open: () => t("The document of the selection is not open. Open it and select the text again."),
  checkpoint_not_found: () => t("This checkpoint no longer exists. Choose another one."),
  rules_unreadable: (args) => t("The allowed commands cannot be read or changed: {reason}", args),

  // Ends of turns.
  no_api_key: ({ provider, variable }) =>
    t("There is no API key for {provider}. Set one, or export {variable} before VS Code starts.", { provider: providerName(provider), variable }),
  key_of_other_server: (args) =>
    t("The API key belongs to {owners} and is not sent to {origin}. If it belongs there, enter it for that server.", { ...args }),
  key_rejected: ({ provider, reason }) => t("{provider} rejected the API key: {reason}", { provider: providerName(provider), reason }),
  model_unreachable: (args) => t("{reason} Check the network.", { reason: sentence(args.reason) }),
  local_model_unreachable: (args) => t("{reason} Is the local model server running?", { reason: sentence(args.reason) }),
  model_timeout: (args) => sentence(args.reason),
  model_rate_limited: (args) => t("{reason} The server limits the number of requests.", { reason: sentence(args.reason) }),
  model_busy: ({ reason, seconds }) => t("{reason} The server asks to wait {seconds} s before the next try.", { reason: sentence(reason), seconds }),
  model_server_error: (args) => sentence(args.reason),
  answer_cut: (args) => sentence(args.reason),
  answer_invalid: (args) => t("{reason} If it happens again, choose another model.", { reason: sentence(args.reason) }),
  empty_answer: () => t("The model answered with nothing."),
  call_in_text: () =>
    t(
      "The model wrote its tool calls as text, twice in a row, so nothing was run. Usually the chat template of the model server is the cause: start the server with its support for tools (llama.cpp: --jinja, vLLM: --enable-auto-tool-choice with a --tool-call-parser), or choose another model.",
    ),
  unknown_stop: (args) => t("The model stopped for an unknown reason ({reason}). Nothing further was run.", args),
  model_crashed: (args) => t("{reason} The log has details.", { reason: sentence(args.reason) }),
  model_refused: () => t("The model refused to answer. Nothing was run. Change the task, or choose another model."),
  model_rejected: (args) => t("{reason} Check the account and the model.", { reason: sentence(args.reason) }),
  model_not_found: (args) => t("{reason} Choose another model, or check the address of the server.", { reason: sentence(args.reason) }),
  model_address: (args) => t("{reason} Check the address of the model server.", { reason: sentence(args.reason) }),
  model_unusable: (args) => t("{reason} Check the settings of the model.", { reason: sentence(args.reason) }),
  no_model_configured: (args) => t("Add an API key, choose a model, or set {setting} to a server on this machine.", args),
  http_client_failed: (args) => t("{reason} Check the certificates and the proxy settings of the system.", { reason: sentence(args.reason) }),
  replay_script: (args) => t("{reason} Correct the script, or choose another one.", { reason: sentence(args.reason) }),
  hook_refused: (args) => t("A hook of your settings refused the request, so nothing was sent: {reason}", { reason: args.reason }),
  context_full: (args) =>
    t("{reason} The conversation does not fit the model. Choose a model with a larger context, or start a new task.", {
      reason: sentence(args.reason),
    }),
  window_too_small: (args) =>
    t(
      "The context window of the model server has {window} tokens, and the agent's instructions and tools take about {head} of them. Make it larger, for example 32768 tokens (Ollama: OLLAMA_CONTEXT_LENGTH, LM Studio: Context Length, llama.cpp: --ctx-size, vLLM: --max-model-len), or choose another model.",
      args,
    ),
  not_compacted: (args) => t("The conversation was not compacted; nothing has changed: {reason}", args),
  repeated_call: (args) => t("Stopped: the model kept making the same call of {tool}. Reply with a hint on what to do differently.", args),
  round_limit: ({ limit }) => t("Stopped after {limit} requests to the model.", { limit }),
  output_limit: () => t("The answer was cut at the output limit."),
  turns_restored: (args) => t("Restored to before that task. Files: {files}.", args),
  turns_redone: () => t("The restored files are again as the agent left them."),
  editor_closed: () => t("Stopped because the window was closed or reloaded, or it crashed. The conversation and plan were kept."),
  interrupted: () => t("The daemon ended while the agent worked. Its conversation and plan were kept."),
  runs_elsewhere: () => t("It may be running in the window that has the session open."),

  // Conditions of the daemon.
  answers_replayed: () => t("Answers come from a script. To use a model, set an API key, or the address of a local server in the settings."),
  untrusted_workspace: () =>
    t(
      "This workspace is not trusted: the agent only reads in it, runs nothing and follows none of its instructions. Trust it to let the agent work.",
    ),
  setting_unknown: (args) => t("Setting ignored: there is no setting {setting}.", args),
  setting_renamed: (args) => t("The setting {old} is now called {setting}. The old name still works; rename it.", args),
  setting_type: (args) => t("Setting ignored: {setting} must be {expected}, not {found}.", args),
  setting_choice: (args) => t("Setting ignored: “{value}” is not a value of {setting}. Use one of {choices}.", args),
  setting_invalid: (args) => t("Setting ignored: {setting}: {reason}.", args),
  key_too_long: (args) => t("API key ignored: a key may have {limit} KiB, and all keys {total} KiB. Set a shorter one.", args),
  storage_failed: (args) => t("The session cannot be stored ({reason}). Until it can, the agent changes no file and runs no command.", args),
  workspace_open_elsewhere: () =>
    t("Another window works in this folder. Its sessions are read-only here, and edits proposed in this window are not kept over a restart."),
  sandbox_off: () => t("The sandbox is turned off: commands can reach all your files and the network, so you are asked before each."),
  sandbox_missing: (args) =>
    t(
      "No sandbox works here ({reason}), so commands can reach all your files and the network, and you are asked before each. Install bubblewrap from the packages of the system, then restart Cairn.",
      args,
    ),
  sandbox_unsupported: () =>
    t("There is no sandbox for this system, so commands can reach all your files and the network, and you are asked before each."),
  leftovers_quarantined: ({ folder, files, faults }) =>
    withLists(files, faults, (list, gaps) =>
      t(
        "Cairn was killed while a command ran. Files of the command that git, an editor or a shell could run were moved to {folder}:\n{list}\nLook at them before you move them back.{gaps}",
        { folder, list, gaps },
      ),
    ),

  // Notices of turns.
  results_elided: (args) => t("Old tool results left out to save room: {before} → {after} tokens", sizes(args)),
  conversation_compacted: (args) => t("Conversation compacted: {before} → {after} tokens", sizes(args)),
  compacted_without_summary: (args) => t("Conversation compacted without a summary of the model: {before} → {after} tokens", sizes(args)),
  request_likely_cut: (args) =>
    t(
      "The model server counted {counted} tokens in a request of {sent} or more: it seems to drop the beginning of the conversation. Make its context window larger (Ollama: OLLAMA_CONTEXT_LENGTH, LM Studio: Context Length), and set cairn.model.contextTokens to the same size.",
      args,
    ),
  images_left_out: () => t("The model server refused the images, so the request was sent without them. Another model may read images."),
  files_quarantined: ({ folder, files, faults }) =>
    withLists(files, faults, (list, gaps) =>
      t(
        "Files that git, an editor or a shell runs by itself appeared or changed while the command ran. They were moved to {folder}. You have not allowed them in the workspace:\n{list}{gaps}",
        { folder, list, gaps },
      ),
    ),
  file_not_returned: (args) => t("{file} stays in {folder}: {reason}", args),
  approvals_unreadable: (args) => t("The list of always allowed commands cannot be read: {reason}.", args),
  approval_not_saved: (args) => t("“Always” could not be saved, so Cairn will ask about this command again: {reason}.", args),
  hook_output: (args) => args.text,

  // Decisions, undo and checkpoints.
  file_changed: (args) => t("{file} has changed meanwhile and stays as it is", args),
  edit_refused: ({ file, reason }) => withReason(reason, (words) => t("{file}: {reason}", { file, reason: words })),
  edit_delayed: ({ file, reason }) =>
    withReason(reason, (words) => t("{file}: not applied yet, but this may still happen: {reason}", { file, reason: words })),
  edit_abandoned: (args) => t("{file}: the edit was dropped", args),
  nothing_to_undo: () => t("There is no decision to undo."),

  // Reasons why an edit was not made; parts of a sentence.
  file_read_only: () => t("the file is read-only"),
  file_not_opened: () => t("the file is gone or cannot be read as text"),
  notebook_unsaved: () => t("it is open as a notebook with unsaved cells"),
  editor_failed: (args) => args.reason,
  editor_gave_no_reason: () => t("the editor gave no reason"),
  encoding_lacks_character: () => t("the encoding in which the file is open has no bytes for a character of the edit"),
  editor_timed_out: () => t("the editor did not answer in time"),
  edit_not_seen: () => t("the editor reported it as applied, but the text does not show it"),
  editor_gone: () => t("the editor is closed"),
  turn_over: () => t("the task has ended"),
  path_without_uri: () => t("the path cannot be written as a URI"),
  path_busy: () => t("the new path is in use by another edit or an open document"),
  path_refused: (args) => args.reason,
  path_redirected: () => t("a link now leads from its path to another file"),
  folder_not_open: () => t("no folder is open"),
  edit_not_recorded: (args) => t("it could not be stored before it was made ({reason})", args),
  lines_gone: () => t("the lines it was made for no longer exist; copy what you need from it"),
  edit_mismatch: () => t("it was made for another text"),
  edits_stay_accepted: ({ edits, more }) =>
    [...edits.map(stillAccepted), ...(more > 0 ? [t("and {more} more edits stay accepted", { more })] : [])].join("; "),

  // Read-only sessions.
  session_in_other_window: () => t("Open in another window"),
  journal_damaged: (args) => t("Its file is damaged: {records} records are shown, {lost} lines from the damage on are not", args),
  journal_not_writable: (args) => t("Its file cannot be written ({reason})", args),

  // Sandbox of commands.
  in_bubblewrap: () => t("Commands run in a sandbox (bubblewrap)."),
  in_namespaces: () => t("Commands run in a sandbox (Cairn's own; bubblewrap was not found or does not work)."),
  in_seatbelt: () => t("Commands run in a sandbox (sandbox-exec)."),
  no_sandbox_by_setting: () => t("Commands run without a sandbox. Each needs your approval."),
  no_sandbox_works: (args) => t("Commands run without a sandbox. Each needs your approval. ({reason})", args),

  // Titles of questions.
  run_command: ({ needs }) => commandTitle(needs),
  run_unsandboxed: () => t("Run a command without a sandbox"),
  read_secret_file: () => t("Read a file that may hold secrets"),
  change_protected_file: () => t("Change a protected file"),
  delete_protected_file: () => t("Delete a protected file"),
  move_protected_file: () => t("Move a protected file"),
  change_plan: () => t("Change the plan"),
  start_subagent: () => t("Start a subagent"),
  type_into_process: (args) => t("Type into process {process}: {command}", args),
  use_process: () => t("Read or stop a process"),
  return_files: ({ count }) =>
    count === 1 ? t("Move a quarantined file back to the workspace") : t("Move {count} quarantined files back to the workspace", { count }),

  // Reasons of questions.
  reads_secret: () => t("This file may hold secrets, and what is read goes to the model."),
  holds_secrets: () => t("This file may hold secrets."),
  file_protected: () => t("This file decides what runs or what an agent may do."),
  deny_undecided: ({ rule, doubt }) =>
    withReason(doubt, (reason) =>
      t("It cannot be told whether this is `{rule}`, which your settings forbid (cairn.shell.deny): {reason}.", { rule, reason }),
    ),
  command_needs: ({ needs }) => needsText(needs),
  without_sandbox: () => t("It runs with your rights, without a sandbox."),
  command_changes_files: () => t("In its sandbox it can change files of this workspace."),
  command_unclear: ({ reason }) => withReason(reason, (why) => t("What it does cannot be told: {0}.", why)),
  command_changes_shell: (args) => t("`{command}` may change what the commands after it do.", args),
  command_more_than_reads: (args) => t("`{command}` may do more than read files of the workspace.", args),
  program_unknown: (args) => t("`{program}` is not installed, or a program of the workspace.", args),
  text_decides: () => t("The text decides what the process does next."),
  hook_asks: () => t("A hook in your settings asks for your approval."),
  rule_file_changed: (args) => t("`{file}` changed since you always allowed `{rule}`.", args),
  rule_files_unknown: (args) => t("The files behind `{rule}` were not recorded when you allowed it.", args),
  session_file_changed: (args) => t("`{file}` changed since you allowed this for the session.", args),
  files_left: (args) =>
    t(
      "These appeared or changed while a command ran. Cairn moved them to {folder}, because git, an editor, a shell or an " +
        "agent can run or follow them outside of the sandbox. If they are yours, allow it: they return to the workspace. If you " +
        "deny it, they stay there.",
      args,
    ),

  // Reasons why a command is not understood; parts of a sentence.
  command_empty: () => t("it is empty"),
  command_too_long: (args) => t("it is longer than {limit} bytes", args),
  too_many_commands: (args) => t("it is more than {limit} commands", args),
  command_not_ascii: () => t("it has characters other than plain ASCII"),
  shell_expands: (args) => t("the shell expands `{character}`", args),
  shell_operator: (args) => t("`{character}` does more than run a program", args),
  command_incomplete: () => t("it is incomplete"),
  sets_variable: () => t("it sets a variable"),
  shell_word: (args) => t("`{word}` is a word of the shell's own", args),

  // Reasons why a deny rule is undecided; parts of a sentence.
  too_many_words: () => t("it has too many words"),
  words_unknown: () => t("not all its words are known"),
  subcommand_unknown: () => t("its subcommand is not among the words"),
  too_many_options: () => t("there are too many options before the subcommand"),
  option_unknown: (args) => t("`{option}` is an option that Cairn does not know", args),
  option_decides: (args) => t("`{option}` may define what git runs", args),
  variable_decides: () => t("a variable may define what git runs"),
  input_decides: () => t("what it runs comes from its input"),
  script_unclear: () => t("the script in its words is not understood"),
  option_form: (args) => t("`{option}` may be another form of `{wanted}`", args),
  git_same_effect: (args) => t("`git {command}` does what `git {wanted}` does", args),
  git_may_call: (args) => t("`git {command}` may call `git {wanted}`", args),
  git_runs_others: (args) => t("`git {command}` may run other commands", args),
  git_alias: (args) => t("`{name}` is none of git's own commands, so it may be an alias", args),
  other_alias: (args) => t("`{name}` is no subcommand that Cairn knows, and may be an alias", args),
  alias_runs: (args) => t("the alias `{name}` runs a command of its own", args),

  // Reasons for another attempt; parts of a sentence.
  server_unreachable: ({ said }) => withWords(t("no connection to the model server"), said),
  server_silent: () => t("the model server did not answer in time"),
  too_many_requests: ({ status, said }) => withWords(withStatus(t("the model server limits the number of requests"), status), said),
  server_failed: ({ status, said }) => withWords(withStatus(t("the model server reported an error"), status), said),
  answer_broken: () => t("the answer broke off"),
  answer_unreadable: () => t("the answer could not be read"),

  // Quarantined files; the first four are lines of a list.
  new_file: (args) => t("{file} (new)", args),
  changed_file: (args) => t("{file} (changed)", args),
  restored_file: (args) => t("{file} (changed; the former one is restored)", args),
  more_files: (args) => t("and {count} more", args),
  file_not_moved: (args) =>
    t("{file} was written by a command and could not be moved to quarantine ({reason}). Check it before you use Git or an editor there.", args),
  search_incomplete: () =>
    t("Not every folder of the workspace could be searched for such files: there are too many folders, or some cannot be read."),

  // Titles of calls.
  read: (args) => t("Read {file}", args),
  find_files: (args) => t("Find {pattern}", args),
  find_files_in: (args) => t("Find {pattern} in {folder}", args),
  search: (args) => t("Search {pattern}", args),
  search_in: (args) => t("Search {pattern} in {place}", args),
  edit_file: (args) => t("Edit {file}", args),
  write_file: (args) => t("Write {file}", args),
  delete_file: (args) => t("Delete {file}", args),
  move_file: (args) => t("Move {from} to {to}", args),
  run: ({ command, needs }) => runText(command, needs),
  ask: (args) => t("Ask {question}", args),
  subagent: (args) => t("Task: {title}", args),
  update_plan: () => t("Update the plan"),
  add_task: (args) => t("Add task: {subject}", args),
  view_task: (args) => t("Look at task #{task}", args),
  view_tasks: () => t("Look at the tasks"),
  start_task: (args) => t("Start task #{task}", args),
  complete_task: (args) => t("Complete task #{task}", args),
  update_task: (args) => t("Update task #{task}", args),
  update_tasks: () => t("Update the tasks"),
  read_process: (args) => t("Read process {process}", args),
  send_input: (args) => t("Type into process {process}: {text}", args),
  stop_process: (args) => t("Stop process {process}", args),
  not_run: (args) => t("{tool} was not run", args),
};

function withStatus(text: string, status: number | null): string {
  return status === null ? text : t("{0} ({1})", text, status);
}

/** Text with the words of the server or of the system, if there are any. */
function withWords(text: string, said: string | null): string {
  return said === null || said === "" ? text : t("{0}: {1}", text, said);
}

function runText(command: string, needs: readonly Need[]): string | undefined {
  const sentences: Readonly<Record<string, string>> = {
    "": t("Run {0}", command),
    network: t("Run {0} (with network access)", command),
    git: t("Run {0} (may change .git)", command),
    "git,network": t("Run {0} (with network access, may change .git)", command),
  };
  return lookUp(sentences, [...needs].sort().join(","));
}

/** Title of a command with more than the usual sandbox; `undefined` with a grant of a newer daemon. */
function commandTitle(needs: readonly Need[]): string | undefined {
  const titles: Readonly<Record<string, string>> = {
    "": t("Run a command"),
    network: t("Run a command with network access"),
    git: t("Run a command that may change .git (except hooks and config)"),
    "git,network": t("Run with network access; may change .git (except hooks and config)"),
  };
  return lookUp(titles, [...needs].sort().join(","));
}

function needsText(needs: readonly Need[]): string | undefined {
  const sentences: Readonly<Record<string, string>> = {
    network: t("The command has network access."),
    git: t("The command may change .git except hooks and config."),
    "git,network": t("The command has network access and may change .git except hooks and config."),
  };
  return lookUp(sentences, [...needs].sort().join(","));
}

/** Text of each reason for which an edit stays accepted. */
const stillAcceptedTexts: Readonly<Record<StillAcceptedReason, (line: string) => string>> = {
  notAccepted: (line) => t("the edit “{0}” stays as it is: it is not accepted", line),
  changed: (line) => t("the edit “{0}” stays accepted: its lines have changed since", line),
  covered: (line) => t("the edit “{0}” stays accepted: a newer edit changes its lines", line),
};

function stillAccepted({ line, reason }: StillAcceptedEdit): string {
  return lookUp(stillAcceptedTexts, reason)?.(line) ?? t("the edit “{0}” stays accepted", line);
}

/** Lines of a list of coded entries; `undefined` without a text for one of them. */
export function listOf(entries: readonly CodedMessage[]): string | undefined {
  const lines = entries.map(messageText);
  return lines.includes(undefined) ? undefined : lines.join("\n");
}

/** Text around a list of quarantined files and the gaps in the search for them, each gap in a line of its own. */
function withLists(
  files: readonly QuarantineEntry[],
  faults: readonly QuarantineFault[],
  text: (list: string, gaps: string) => string,
): string | undefined {
  const [list, gaps] = [listOf(files), listOf(faults)];
  return list === undefined || gaps === undefined ? undefined : text(list, gaps === "" ? "" : `\n${gaps}`);
}

/** Text around a reason that is a code; `undefined` without a text for that code. */
function withReason(reason: CodedMessage, text: (words: string) => string): string | undefined {
  const words = messageText(reason);
  return words === undefined ? undefined : text(words);
}

export interface Action {
  readonly label: string;
  readonly command: readonly [string, ...unknown[]];
}

type Args = Readonly<Record<string, unknown>>;

/** Label and command of each action. The compiler refuses an action without them. */
const actions: Readonly<Record<ActionId, (args: Args, sessionId: string | undefined) => Action>> = {
  new_task: () => ({ label: t("New Task"), command: ["cairn.newTask"] }),
  retry: (_, sessionId) => ({ label: t("Try Again"), command: ["cairn.tryAgain", sessionId] }),
  reply: () => ({ label: t("Reply"), command: ["cairn.reply"] }),
  continue_task: () => ({ label: t("Continue Plan"), command: ["cairn.continue"] }),
  cancel_turn: () => ({ label: t("Cancel Task"), command: ["cairn.cancel"] }),
  open_session: () => ({ label: t("Open Session…"), command: ["cairn.openSession"] }),
  restore_checkpoint: () => ({ label: t("Restore Checkpoint…"), command: ["cairn.restoreCheckpoint"] }),
  show_conversation: () => ({ label: t("Show Conversation"), command: ["cairn.showConversation"] }),
  show_log: () => ({ label: t("Show Log"), command: ["cairn.showLog"] }),
  restart: () => ({ label: t("Restart Cairn"), command: ["cairn.restart"] }),
  open_folder: () => ({ label: t("Open Folder…"), command: ["vscode.openFolder"] }),
  open_settings: ({ setting }) => ({
    label: t("Open Settings"),
    command: ["workbench.action.openSettings", typeof setting === "string" ? setting : "cairn"],
  }),
  trust_workspace: () => ({ label: t("Manage Workspace Trust"), command: ["workbench.trust.manage"] }),
  set_api_key: ({ provider }) => ({ label: t("Set API Key…"), command: ["cairn.setApiKey", provider] }),
  choose_model: () => ({ label: t("Choose Model…"), command: ["cairn.chooseModel"] }),
};

/** Text of a message, or `undefined` without a known code: then the daemon's own English text is shown. */
export function messageText(message: CodedMessage | undefined): string | undefined {
  const text = lookUp(texts as Record<string, (args: never) => string | undefined>, message?.code);
  return text?.((message?.args ?? {}) as never);
}

/** Lines of a list that the daemon sends in English, each with a problem at the same index. */
export function problemLines(lines: readonly string[], problems: readonly CodedMessage[] | undefined): string[] {
  return lines.map((line, at) => messageText(problems?.[at]) ?? line);
}

/** Action that a message names, or `undefined` for none or for one of a newer daemon. */
export function actionOf(message: CodedMessage | undefined, sessionId?: string): Action | undefined {
  return lookUp(actions as Record<string, (typeof actions)[ActionId]>, message?.action)?.(message?.args ?? {}, sessionId);
}

/**
 * Buttons for the problem that ended a turn: what the daemon names, another model where a key is
 * missing or wrong, and the same task again.
 */
export function actionsOfEnd(problem: CodedMessage | undefined, sessionId: string, canRetry: boolean): Action[] {
  const ids: ActionId[] = problem?.action === "set_api_key" ? ["choose_model"] : [];
  const first = actionOf(problem, sessionId);
  const more = [...ids, ...(canRetry ? (["retry"] as const) : [])].map((id) => actions[id](problem?.args ?? {}, sessionId));
  const all = first === undefined ? more : [first, ...more];
  return all.filter(
    (action, at) => (canRetry || action.command[0] !== "cairn.tryAgain") && all.findIndex(({ label }) => label === action.label) === at,
  );
}

/** Name of a provider as its users know it. */
export function providerName(provider: string): string {
  return lookUp<string>({ anthropic: "Anthropic", openai: "OpenAI" }, provider) ?? provider;
}

function lookUp<V>(table: Readonly<Record<string, V>>, key: string | undefined): V | undefined {
  return key !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}

function sentence(text: string): string {
  return `${text.replace(/\.+$/u, "")}.`;
}

function sizes({ before, after }: { before: number; after: number }): { before: string; after: string } {
  return { before: tokens(before), after: tokens(after) };
}
