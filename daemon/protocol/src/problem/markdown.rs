//! The table of codes as a section of `docs/protocol.md`: `make gen` writes it, a test compares it.

use serde::Serialize;

use super::{
    ActionId, ApprovalQuestion, ApprovalReason, CodeRow, DenyDoubt, EditProblem, ModelFinding,
    QuarantineEntry, QuarantineFault, ReadOnlyProblem, RequestProblem, RetryReason, ReviewProblem,
    SandboxState, StatusProblem, ToolLabel, TurnNotice, TurnProblem, UnclearCommand,
};

/// Renders the section between the two marks of `docs/protocol.md`.
pub fn section() -> String {
    let mut out = String::new();
    table(&mut out, "Refused requests: `data` of an error", &RequestProblem::rows());
    table(&mut out, "Ends of turns: `phase.problem` of `agent/turn`", &TurnProblem::rows());
    table(&mut out, "Conditions: `banners` of `agent/status`", &StatusProblem::rows());
    table(&mut out, "Notices of turns: `notice` of `agent/message`", &TurnNotice::rows());
    table(
        &mut out,
        "Decisions: `problems` and `problem` of `agent/review/*` and `agent/checkpoints/restore`",
        &ReviewProblem::rows(),
    );
    table(
        &mut out,
        "Reasons of these: `args.reason` of `edit_refused` and `edit_delayed`",
        &EditProblem::rows(),
    );
    table(&mut out, "Read-only sessions: `readOnly` of a snapshot", &ReadOnlyProblem::rows());
    table(&mut out, "Sandbox of commands: `sandbox` of `agent/status`", &SandboxState::rows());
    table(
        &mut out,
        "Titles of questions: `question` of `agent/approve`; the kind is its `sessionScope`",
        &ApprovalQuestion::rows(),
    );
    table(&mut out, "Reasons of questions: `reasons` of `agent/approve`", &ApprovalReason::rows());
    table(
        &mut out,
        "Reasons of these: `args.reason` of `command_unclear`",
        &UnclearCommand::rows(),
    );
    table(&mut out, "Reasons of these: `args.doubt` of `deny_undecided`", &DenyDoubt::rows());
    table(
        &mut out,
        "Retries: `cause` of the connection `retrying` in `agent/status`",
        &RetryReason::rows(),
    );
    table(
        &mut out,
        "Findings of a model check: `rows` of `agent/models/check`; the kind is their `state`",
        &ModelFinding::rows(),
    );
    table(
        &mut out,
        "Quarantined files: `args.files` of `leftovers_quarantined`, `files_quarantined` and `return_files`",
        &QuarantineEntry::rows(),
    );
    table(&mut out, "Gaps in the search for these: `args.faults`", &QuarantineFault::rows());
    table(&mut out, "Titles of calls: `label` of `agent/tool`", &ToolLabel::rows());
    let actions: Vec<String> =
        ActionId::ALL.iter().map(|id| format!("`{}`", wire_name(id))).collect();
    out.push_str(&format!("Actions: {}.\n", actions.join(", ")));
    out
}

fn table(out: &mut String, title: &str, rows: &[CodeRow]) {
    out.push_str(&format!("{title}\n\n| code | kind | arguments | action |\n|---|---|---|---|\n"));
    for CodeRow { code, kind, args, action } in rows {
        let args: Vec<String> = args.iter().map(|arg| format!("`{arg}`")).collect();
        let action = action.map(|id| format!("`{}`", wire_name(&id))).unwrap_or_default();
        let kind = if kind.is_empty() { String::new() } else { format!("`{kind}`") };
        out.push_str(&format!("| `{code}` | {kind} | {} | {action} |\n", args.join(", ")));
    }
    out.push('\n');
}

/// Returns the name of a unit variant on the wire.
pub(super) fn wire_name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

/// Converts the name of a variant as serde's `snake_case` does.
pub(super) fn snake_case(variant: &str) -> String {
    let mut name = String::new();
    for c in variant.chars() {
        if c.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
    }
    name
}
