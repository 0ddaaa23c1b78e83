//! Question about control files that a command left: they are in quarantine, and a yes moves them back.
//!
//! Never moves anything without the user's own answer to this very question.

use std::sync::Arc;

use cairn_protocol::{ApprovalDecision, ApprovalKind, ApproveParams, Preview, ToolState};
use tokio::task::spawn_blocking;

use super::Shown;
use crate::{
    approval::definitions::Definitions,
    exec::sandbox::{Left, LeftBehind, shown_path},
    ports::ToolUpdate,
    tools::{Access, ToolContext, ToolFailure},
};

/// Asks, does what the answer says, and returns Cairn's own words about it for the model.
pub(super) async fn ask(
    shown: &Shown,
    context: &ToolContext,
    left: &LeftBehind,
) -> Result<String, ToolFailure> {
    let Some(folder) = left.folder() else { return Ok(left.faults().trim().to_owned()) };
    let lines = left.lines().join("\n");
    let answer = answer(shown, context, left, &lines).await?;
    let yes = match answer.as_ref().map(|answer| answer.decision) {
        Some(
            ApprovalDecision::AllowOnce
            | ApprovalDecision::AllowSession
            | ApprovalDecision::AllowAlways,
        ) => true,
        Some(ApprovalDecision::Deny) | None => false,
    };
    let words = answer.and_then(|answer| answer.feedback).filter(|words| !words.trim().is_empty());
    let words = words.map(|words| format!(" They said: {words}")).unwrap_or_default();
    let faults = left.faults();
    if !yes {
        let quarantine = folder.display();
        let told = format!(
            "The command made or changed files that git, an editor or a shell runs by itself. They were moved to {quarantine}, and the user did not say that they shall be put back:\n{lines}"
        );
        tell(shown, context, format!("{told}{faults}"));
        return Ok(format!(
            "{told}\nDo not make them again by another way; go on without them or ask the user.{words}{faults}"
        ));
    }
    let (watch, moved) = (Arc::clone(&context.walls.watch), left.moved.clone());
    let (workspace, docs) = (Arc::clone(&context.workspace), Arc::clone(&context.docs));
    let sources = Arc::clone(&context.sources);
    let put_back = move || {
        let refused = watch.put_back(&moved);
        let places = moved.iter().map(Left::place);
        let accepted = places.filter(|place| refused.iter().all(|(path, _)| path != place));
        accepted.for_each(|place| sources.user_accepted(&workspace, &docs, &place));
        refused
    };
    let refused = spawn_blocking(put_back).await;
    let refused = refused.map_err(|error| ToolFailure::Fatal(error.into()))?;
    let mut told = format!(
        "The command made or changed files that git, an editor or a shell runs by itself. The user allowed them, and they are in their places again:\n{lines}{words}"
    );
    for (path, error) in refused {
        let fault = format!("\n{} stays in {}: {error}", shown_path(&path), folder.display());
        tell(shown, context, fault.trim().to_owned());
        told.push_str(&fault);
    }
    Ok(format!("{told}{faults}"))
}

/// `None`: the turn ended before anybody answered.
async fn answer(
    shown: &Shown,
    context: &ToolContext,
    left: &LeftBehind,
    lines: &str,
) -> Result<Option<cairn_protocol::ApproveResult>, ToolFailure> {
    let seen = left.clone();
    let patch = spawn_blocking(move || seen.patch()).await;
    let patch = patch.map_err(|error| ToolFailure::Fatal(error.into()))?;
    let count = left.moved.len();
    let files = if count == 1 { "a protected file" } else { "protected files" };
    let title = format!("Keep {files} that a command made or changed ({count})");
    shown.update(ToolUpdate {
        state: Some(ToolState::AwaitingApproval),
        detail: Some(lines.to_owned()),
        ..ToolUpdate::default()
    });
    // A yes for the session could never be meant for what the next command makes.
    let once = uuid::Uuid::now_v7().to_string();
    let root = context.workspace.root();
    let access = Access::Edit { path: root.join(&once), inside: once.into(), aliases: Vec::new() };
    let params = ApproveParams {
        approval_id: format!("{}/{}/left", shown.turn, shown.call),
        session_id: shown.session.clone(),
        turn_id: shown.turn.clone(),
        call_id: shown.call.clone(),
        title,
        kind: Some(ApprovalKind::Change),
        command: lines.to_owned(),
        cwd: root.display().to_string(),
        reason: "Git, an editor, a shell or an agent runs or follows these by itself, outside of the sandbox. They were moved away; a yes puts them back.".to_owned(),
        rules: Vec::new(),
        rules_folder: None,
        needs: Vec::new(),
        child: None,
        preview: patch.map(|patch| Preview { patch, texts: None }),
        for_session: "these files, this once".to_owned(),
        quarantined: true,
        changed: None,
    };
    let answer = shown.notices.ask(params, access, Definitions::new());
    let answer = tokio::select! {
        () = context.cancel.cancelled() => None,
        answer = answer => answer.ok(),
    };
    shown.update(ToolUpdate { state: Some(ToolState::Running), ..ToolUpdate::default() });
    Ok(answer)
}

fn tell(shown: &Shown, context: &ToolContext, text: String) {
    shown.notices.tell(&context.origin.session, &context.origin.turn, text);
}
