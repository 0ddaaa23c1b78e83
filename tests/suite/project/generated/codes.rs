//! The table of codes as a section of `docs/protocol.md`: `make gen` writes it, a test compares it.

use std::collections::BTreeSet;

use cairn_protocol::{
    ActionId, ApprovalQuestion, ApprovalReason, AskedFiles, CheckState, CheckedPart, CodeRow,
    CommandRisk, EditProblem, FormChange, ModelFinding, QuarantineEntry, QuarantineFault,
    ReadOnlyProblem, RequestProblem, RetryReason, ReviewProblem, SandboxState, SessionScope,
    StatusProblem, StillAcceptedEdit, ToolLabel, TurnNotice, TurnProblem, UnclearCommand,
    problem::wire_name,
};

/// Returns all tables of messages, with their headings.
fn tables() -> Vec<(&'static str, Vec<CodeRow>)> {
    vec![
        ("Refused requests: `data` of an error", RequestProblem::rows()),
        ("Ends of turns: `phase.problem` of `agent/turn`", TurnProblem::rows()),
        ("Conditions: `banners` of `agent/status`", StatusProblem::rows()),
        ("Notices of turns: `notice` of `agent/message`", TurnNotice::rows()),
        (
            "Decisions: `failed` and `problem` of `agent/review/*` and `agent/checkpoints/restore`",
            ReviewProblem::rows(),
        ),
        (
            "Reasons of these: `args.reason` of `edit_refused` and `edit_delayed`",
            EditProblem::rows(),
        ),
        ("Edits of `edits_stay_accepted`", StillAcceptedEdit::rows()),
        ("Read-only sessions: `readOnly` of a snapshot", ReadOnlyProblem::rows()),
        ("Sandbox of commands: `sandbox` of `agent/status`", SandboxState::rows()),
        (
            "Titles of questions: `title` of `agent/approve`; the kind is its `forSession`",
            ApprovalQuestion::rows(),
        ),
        ("Files of questions: `files`", AskedFiles::rows()),
        ("Reasons of questions: `reasons`", ApprovalReason::rows()),
        ("Reasons of these: `args.reason` of `command_unclear`", UnclearCommand::rows()),
        ("Risks of questions: `risks`", CommandRisk::rows()),
        ("Scopes of questions: `forSession`", SessionScope::rows()),
        ("Retries: `reason` of the connection `retrying` in `agent/status`", RetryReason::rows()),
        (
            "Parts of a model check: `part` of the `rows` of `agent/models/check`",
            CheckedPart::rows(),
        ),
        ("States of these: `state`", CheckState::rows()),
        ("Findings of these: `finding`; the kind is their `state`", ModelFinding::rows()),
        ("Changes of `other_form`", FormChange::rows()),
        (
            "Quarantined files: `args.files` of `leftovers_quarantined`, `files_quarantined` and `return_files`",
            QuarantineEntry::rows(),
        ),
        ("Gaps in the search for these: `args.faults`", QuarantineFault::rows()),
        ("Titles of calls: `title` of `agent/tool`", ToolLabel::rows()),
    ]
}

/// Returns the templates of all messages, for translators: sorted, each once.
pub(super) fn templates() -> BTreeSet<&'static str> {
    let rows = tables().into_iter().flat_map(|(_, rows)| rows);
    rows.flat_map(|row| row.templates).copied().collect()
}

/// Renders the section between the two marks of `docs/protocol.md`.
pub(super) fn section() -> String {
    let mut out = String::new();
    for (title, rows) in tables() {
        table(&mut out, title, &rows);
    }
    let actions: Vec<String> =
        ActionId::ALL.iter().map(|id| format!("`{}`", wire_name(id))).collect();
    out.push_str(&format!("Actions: {}.\n", actions.join(", ")));
    out
}

fn table(out: &mut String, title: &str, rows: &[CodeRow]) {
    out.push_str(&format!(
        "{title}\n\n| code | kind | text | arguments | action |\n|---|---|---|---|---|\n"
    ));
    for CodeRow { code, kind, templates, args, action } in rows {
        let args: Vec<String> = args.iter().map(|arg| format!("`{arg}`")).collect();
        let action = action.map(|id| format!("`{}`", wire_name(&id))).unwrap_or_default();
        let kind = if kind.is_empty() { String::new() } else { format!("`{kind}`") };
        let text = templates.join("<br>").replace('\n', " ").replace('|', "\\|");
        out.push_str(&format!("| `{code}` | {kind} | {text} | {} | {action} |\n", args.join(", ")));
    }
    out.push('\n');
}

#[test]
fn a_code_belongs_to_one_problem() {
    let all = tables().into_iter().flat_map(|(_, rows)| rows);
    let codes: Vec<String> = all.map(|row| row.code).collect();
    let distinct: BTreeSet<&String> = codes.iter().collect();
    assert_eq!(distinct.len(), codes.len());
}

#[test]
fn the_places_of_a_template_are_arguments() {
    for row in tables().into_iter().flat_map(|(_, rows)| rows) {
        for template in row.templates {
            for place in template.split('{').skip(1) {
                let name = place.split('}').next().unwrap();
                assert!(row.args.contains(&name), "{}: {template}", row.code);
            }
        }
    }
}
