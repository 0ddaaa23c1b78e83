//! Standard LSP in place of `agent/*`, for an editor without the Cairn extension.
//!
//! Standard LSP guarantees less than `agent/*`: the editor checks no hash, the daemon cannot save, and
//! `applied` may be wrong. The hub trusts only the text that the editor sends.

use std::collections::HashMap;

use cairn_core::sanitize::{exact, one_line, visible};
use cairn_protocol::{
    AnswerParams, ApplyEditResult, ApprovalDecision, ApproveParams, ApproveResult, BannerKind,
    Connection, DecideResult, EndReason, ItemStatus, MessageRole, Notice, Panel, PlanNotification,
    RefusedEdit, StatusNotification, SubagentPhase, TextEdit, TurnPhase, UiMessage,
    UndoDecisionResult, Usage,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower_lsp::lsp_types::{
    ApplyWorkspaceEditParams, ApplyWorkspaceEditResponse, Command, DocumentChanges,
    LogMessageParams, MessageActionItem, MessageType, OneOf,
    OptionalVersionedTextDocumentIdentifier, Position, Range, ShowMessageRequestParams,
    TextDocumentEdit, TextEdit as LspEdit, Url, WorkspaceEdit,
};

use super::{
    client_support::ClientSupport,
    commands::{ANSWER, offer},
};

/// Text for the user: `window/showMessage` if it matters now, else `window/logMessage`.
pub(super) type WindowMessage = (&'static str, LogMessageParams);

/// Returns the text of a notice that the user should read.
pub(super) fn notice(notice: &Notice) -> Option<WindowMessage> {
    match notice {
        Notice::Turn(turn) => match &turn.phase {
            TurnPhase::Started { .. } => None,
            TurnPhase::Ended { reason, summary, .. } => {
                let typ = match reason {
                    EndReason::Completed | EndReason::NeedsInput | EndReason::Cancelled => {
                        MessageType::INFO
                    }
                    EndReason::Failed => MessageType::ERROR,
                    EndReason::Limit | EndReason::Interrupted => MessageType::WARNING,
                };
                Some(show(typ, visible(summary)))
            }
        },
        Notice::Message(message) => match (message.role, &message.text) {
            (MessageRole::Assistant | MessageRole::Notice, Some(text)) => {
                Some(log(MessageType::INFO, visible(text)))
            }
            _ => None,
        },
        Notice::Subagent(subagent) => {
            let title = one_line(&subagent.title, TITLE);
            match subagent.phase {
                // A running subagent is announced once, not with each of its calls.
                SubagentPhase::Running
                    if subagent.usage == Usage::default() && subagent.total == 0 =>
                {
                    Some(log(MessageType::INFO, format!("Task: {title}")))
                }
                SubagentPhase::Ended { reason } => {
                    let how = match reason {
                        EndReason::Completed | EndReason::NeedsInput => "done",
                        EndReason::Cancelled => "cancelled",
                        EndReason::Failed => "failed",
                        EndReason::Limit => "stopped at its limit",
                        EndReason::Interrupted => "interrupted",
                    };
                    Some(log(MessageType::INFO, format!("Task: {title} ({how})")))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Maximum length of a title, in characters.
const TITLE: usize = 200;

/// Last messages about the daemon's state and the plans, so that none is shown twice.
#[derive(Default)]
pub(super) struct ShownMessages {
    status: Mutex<Option<StatusNotification>>,
    /// Last line about the plan, by session id.
    plans: Mutex<HashMap<String, String>>,
}

impl ShownMessages {
    /// Returns a line about a plan for the log, or `None` for a repeated line or a hidden plan. The
    /// daemon sends a plan again with each call that works on one of its items.
    pub(super) fn plan(&self, plan: &PlanNotification) -> Option<WindowMessage> {
        let line = plan_line(plan);
        let mut plans = self.plans.lock();
        match plan.panel {
            // The next plan is a new one, even if it begins with the same line.
            Panel::Hidden => {
                plans.remove(&plan.session_id);
                return None;
            }
            Panel::Expanded | Panel::Collapsed => {}
        }
        if plans.get(&plan.session_id) == Some(&line) {
            return None;
        }
        plans.insert(plan.session_id.clone(), line.clone());
        Some(log(MessageType::INFO, line))
    }

    pub(super) fn news(&self, status: &StatusNotification) -> Vec<WindowMessage> {
        let mut last = self.status.lock();
        let before = last.replace(status.clone());
        let known = before.as_ref().map(|before| before.banners.as_slice()).unwrap_or_default();
        let mut words: Vec<_> = status
            .banners
            .iter()
            .filter(|banner| !known.contains(banner))
            .map(|banner| {
                let typ = match banner.kind {
                    BannerKind::Replay => MessageType::INFO,
                    _ => MessageType::WARNING,
                };
                show(typ, visible(&banner.message.english()))
            })
            .collect();
        if let Connection::Retrying { delay_ms, reason, .. } = &status.connection
            && before.is_none_or(|before| before.connection != status.connection)
        {
            let seconds = delay_ms.div_ceil(1000);
            let message = format!("{}: asking again in {seconds} s", visible(&reason.english()));
            words.push(log(MessageType::WARNING, message));
        }
        words
    }
}

fn plan_line(plan: &PlanNotification) -> String {
    let current = plan.items.iter().find(|item| item.status == ItemStatus::InProgress);
    let current = current.map_or_else(String::new, |item| one_line(&item.active_form, TITLE));
    format!("Plan {}/{} {current}", plan.completed, plan.total).trim_end().to_owned()
}

/// Returns the text about a decision that did not apply as requested; `None` if all of it did.
pub(super) fn decided(result: &DecideResult) -> Option<WindowMessage> {
    let DecideResult { applied, stale, failed } = result;
    let failed: Vec<String> = failed.iter().map(UiMessage::english).collect();
    let message = match (*applied, *stale) {
        (_, 0) if !failed.is_empty() => failed.join("; "),
        (0, 0) => "Nothing is pending there".to_owned(),
        (_, 0) => return None,
        (_, stale) => {
            let these = if stale == 1 { "1 change" } else { &format!("{stale} changes") };
            let gone = format!(
                "{these} had changed or gone since you looked; nothing was done to them. Look again"
            );
            [vec![gone], failed].concat().join("; ")
        }
    };
    Some(show(MessageType::WARNING, format!("Cairn: {}", visible(&message))))
}

pub(super) fn undone(result: &UndoDecisionResult) -> Option<WindowMessage> {
    let message = result.problem.as_ref()?.english();
    Some(show(MessageType::WARNING, format!("Cairn: {}", visible(&message))))
}

fn show(typ: MessageType, message: String) -> WindowMessage {
    ("window/showMessage", LogMessageParams { typ, message })
}

fn log(typ: MessageType, message: String) -> WindowMessage {
    ("window/logMessage", LogMessageParams { typ, message })
}

/// Builds `workspace/applyEdit` for an open document, in the form that the client supports.
pub(super) fn workspace_edit(
    uri: &str,
    label: String,
    version: i32,
    edits: Vec<TextEdit>,
    support: ClientSupport,
) -> Result<ApplyWorkspaceEditParams, String> {
    let uri = Url::parse(uri).map_err(|error| format!("{uri}: {error}"))?;
    let edits = edits.into_iter().map(lsp_edit);
    let edit = if support.versioned_edits {
        let version = Some(version);
        let document = TextDocumentEdit {
            text_document: OptionalVersionedTextDocumentIdentifier { uri, version },
            edits: edits.map(OneOf::Left).collect(),
        };
        WorkspaceEdit {
            document_changes: Some(DocumentChanges::Edits(vec![document])),
            ..WorkspaceEdit::default()
        }
    } else {
        WorkspaceEdit::new(HashMap::from([(uri, edits.collect())]))
    };
    Ok(ApplyWorkspaceEditParams { label: Some(visible(&label)), edit })
}

pub(super) fn applied(response: ApplyWorkspaceEditResponse) -> ApplyEditResult {
    ApplyEditResult {
        applied: response.applied,
        reason: (!response.applied).then_some(RefusedEdit::Failed),
        message: response.failure_reason,
        // This client cannot save on request, so no save must follow.
        was_dirty: true,
    }
}

/// Turns a stale deletion into a failure that tells the user to save. The file may be open and
/// unsaved when its creation is rejected, and only the user can decide which text counts.
pub(super) fn on_disk(result: ApplyEditResult, deletes: bool) -> ApplyEditResult {
    if !deletes || result.reason != Some(RefusedEdit::Stale) {
        return result;
    }
    let message = "the file on disk is not the text that you reviewed: save it, then decide again";
    ApplyEditResult {
        reason: Some(RefusedEdit::Failed),
        message: Some(message.to_owned()),
        ..result
    }
}

const ALLOW_ONCE: &str = "Allow once";
const ALLOW_SESSION: &str = "Allow for this session";
const ALLOW_ALWAYS: &str = "Always allow in this folder";
const DENY: &str = "Deny";

/// Answers to a question about a call, by their titles. Only the exact titles allow.
const ANSWERS: [(&str, ApprovalDecision); 3] = [
    (ALLOW_ONCE, ApprovalDecision::AllowOnce),
    (ALLOW_SESSION, ApprovalDecision::AllowSession),
    (ALLOW_ALWAYS, ApprovalDecision::AllowAlways),
];

pub(super) fn question(
    params: &ApproveParams,
    supports: ClientSupport,
) -> ShowMessageRequestParams {
    let ApproveParams { title, cwd, subagent, rules, rules_folder, .. } = params;
    let whose = subagent.as_ref().map(|title| format!(" [{}]", one_line(title, TITLE)));
    let (title, whose) = (one_line(&title.english(), TITLE), whose.unwrap_or_default());
    let (cwd, reason) = (visible(cwd), one_line(&params.warning(), REASON));
    // Control and invisible characters are escaped, so that no part imitates another.
    let (command, whole) = bounded(&exact(&params.subject()));
    let action =
        |title: &str| MessageActionItem { title: title.to_owned(), properties: HashMap::default() };
    // Editors preselect the first answer, so Enter alone must not allow. "Always" is last, so that
    // the other answers keep their numbers in editors that number them.
    let answers: &[&str] = if !whole {
        &[DENY]
    } else if supports.takes_first_answer {
        // vim-lsp preselects nothing, and Enter declines.
        &[ALLOW_ONCE, DENY]
    } else if rules.is_empty() {
        &[DENY, ALLOW_ONCE, ALLOW_SESSION]
    } else {
        &[DENY, ALLOW_ONCE, ALLOW_SESSION, ALLOW_ALWAYS]
    };
    ShowMessageRequestParams {
        typ: MessageType::WARNING,
        message: format!(
            "{title}{whose}: {reason}\n(in {cwd})\n{command}{}",
            always(rules, rules_folder.as_deref())
        ),
        actions: Some(answers.iter().copied().map(action).collect()),
    }
}

/// Builds a message for an editor without `window/showMessageRequest` (Helix before 25.07).
pub(super) fn question_to_find(params: &ApproveParams) -> WindowMessage {
    let message = format!(
        "{}. Answer with a code action. (in {})",
        short(params, TITLE).0,
        visible(&params.cwd)
    );
    show(MessageType::WARNING, message)
}

/// Returns the answers to a question as code actions, for editors that do not show it or whose user
/// dismissed it. The title is all that the user sees, so a longer command can only be denied.
pub(super) fn answers(params: &ApproveParams) -> Vec<Command> {
    let (words, whole) = short(params, ACTION);
    let allow = ANSWERS.into_iter().take(2).filter(|_| whole);
    // Enter chooses the first.
    [(DENY, ApprovalDecision::Deny)]
        .into_iter()
        .chain(allow)
        .map(|(answer, decision)| {
            let argument =
                AnswerParams { approval_id: params.approval_id.clone(), decision, feedback: None };
            offer(format!("{answer}: {words}"), ANSWER, json!(argument))
        })
        .collect()
}

/// Formats a question as one line; the flag tells whether the command is complete.
fn short(params: &ApproveParams, limit: usize) -> (String, bool) {
    let whose = params.subagent.as_ref().map(|title| format!(" [{}]", one_line(title, TITLE)));
    let command = exact(&params.subject());
    let whole = command.lines().count() <= 1 && command.chars().count() <= limit;
    let command = if whole { command } else { one_line(&command, limit) };
    let title = one_line(&params.title.english(), TITLE);
    (format!("{title}{}: {command}", whose.unwrap_or_default()), whole)
}

/// Maximum length of a command in the title of a code action, in characters, as wide as menus
/// usually are.
const ACTION: usize = 100;
/// Maximum length of a reason, in characters.
const REASON: usize = 600;
/// Maximum lines and characters of a command in a message.
const LINES: usize = 12;
const CHARS: usize = 1_200;

/// Returns the first lines of a command, with a line count if it has several; the flag tells
/// whether they are all.
fn bounded(command: &str) -> (String, bool) {
    let count = command.lines().count();
    let cut = command.char_indices().nth(CHARS).map_or(command.len(), |(at, _)| at);
    let whole = count <= LINES && cut == command.len();
    let shown: Vec<&str> = command[..cut].lines().take(LINES).collect();
    let counted = if count > 1 { format!("[{count} lines]\n") } else { String::new() };
    let rest =
        if whole { "" } else { "\n[… not all of it is shown, so it can only be denied here]" };
    (format!("{counted}{}{rest}", shown.join("\n")), whole)
}

fn always(rules: &[String], folder: Option<&str>) -> String {
    if rules.is_empty() {
        return String::new();
    }
    let rules: Vec<String> = rules.iter().map(|rule| format!("\n  {}", exact(rule))).collect();
    let place = folder.map_or("here".to_owned(), |folder| format!("in {}", visible(folder)));
    format!("\nAlways would allow {place}, word for word:{}", rules.concat())
}

/// Reads an answer. A dismissed question denies.
pub(super) fn decision(answer: Value) -> ApproveResult {
    let title = answer.get("title").and_then(Value::as_str);
    let allowed = ANSWERS.into_iter().find(|(allows, _)| Some(*allows) == title);
    let feedback = title.is_none().then(|| "the question was dismissed".to_owned());
    ApproveResult { decision: allowed.map_or(ApprovalDecision::Deny, |(_, it)| it), feedback }
}

fn lsp_edit(edit: TextEdit) -> LspEdit {
    let position = |at: cairn_protocol::Position| Position::new(at.line, at.character);
    LspEdit {
        range: Range::new(position(edit.range.start), position(edit.range.end)),
        new_text: edit.new_text,
    }
}
