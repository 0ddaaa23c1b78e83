//! Question about control files that a command left. They are in quarantine already; "allow" moves
//! them back to the workspace.
//!
//! Never moves anything back without the user's own answer to this question.

use std::{path::Path, sync::Arc};

use cairn_core::review::Origin;
use cairn_protocol::{
    ApprovalDecision, ApprovalKind, ApprovalQuestion, ApprovalReason, ApproveParams, Preview,
    QuarantineEntry, ToolState, TurnNotice,
};
use tokio::task::spawn_blocking;

use super::progress::CallProgress;
use crate::{
    approval::{definitions::Definitions, english},
    exec::sandbox::{QuarantineReport, QuarantinedFile, quarantine_english, shown_path},
    ports::ToolUpdate,
    tools::{Access, ToolContext, ToolFailure},
};

/// Asks the user, applies the answer, and returns a text about both for the model.
pub(super) async fn ask(
    progress: &CallProgress,
    context: &ToolContext,
    left: &QuarantineReport,
) -> Result<String, ToolFailure> {
    let Some(folder) = left.folder() else {
        return Ok(quarantine_english::faults(&left.faults()).trim().to_owned());
    };
    let entries = left.entries(|path| context.workspace.display(path));
    let lines = quarantine_english::lines(&entries).join("\n");
    let answer = answer(progress, context, left, entries.clone()).await?;
    let allowed = match answer.as_ref().map(|answer| answer.decision) {
        Some(
            ApprovalDecision::AllowOnce
            | ApprovalDecision::AllowSession
            | ApprovalDecision::AllowAlways,
        ) => true,
        Some(ApprovalDecision::Deny) | None => false,
    };
    let words = answer.and_then(|answer| answer.feedback);
    let words = words.map(|words| format!(" They said: {words}")).unwrap_or_default();
    let gaps = left.faults();
    let faults = quarantine_english::faults(&gaps);
    if !allowed {
        let quarantine = folder.display();
        let told = format!(
            "The command made or changed files that git, an editor or a shell runs by itself. They were moved to {quarantine}. The user has not allowed them in the workspace:\n{lines}"
        );
        let folder = quarantine.to_string();
        let notice = TurnNotice::FilesQuarantined { folder, files: entries, faults: gaps };
        progress.tell(context, notice, format!("{told}{faults}"));
        return Ok(format!(
            "{told}\nDo not make them again in another way. Continue without them, or ask the user.{words}{faults}"
        ));
    }
    let (watch, moved) = (Arc::clone(&context.sandbox_config.watch), left.moved.clone());
    let (workspace, docs) = (Arc::clone(&context.workspace), Arc::clone(&context.docs));
    let sources = Arc::clone(&context.sources);
    let move_back = move || {
        let failed = watch.put_back(&moved);
        let places = moved.iter().map(QuarantinedFile::place);
        let returned = places.filter(|place| failed.iter().all(|(path, _)| path != place));
        returned.for_each(|place| sources.user_accepted(&workspace, &docs, &place));
        failed
    };
    let failed = spawn_blocking(move_back).await;
    let failed = failed.map_err(|error| ToolFailure::Fatal(error.into()))?;
    let mut told = format!(
        "The command made or changed files that git, an editor or a shell runs by itself. The user allowed them, and they are back in the workspace:\n{lines}{words}"
    );
    for (path, error) in failed {
        let (file, folder) = (context.workspace.display(&path), folder.display().to_string());
        let reason = error.to_string();
        let fault = format!("\n{file} stays in {folder}: {reason}");
        let notice = TurnNotice::FileNotReturned { file, folder, reason };
        progress.tell(context, notice, fault.trim().to_owned());
        told.push_str(&fault);
    }
    Ok(format!("{told}{faults}"))
}

/// Tells the user about control files that a process left. It asks no question, because its call is
/// over: the files stay in quarantine.
pub(super) fn report(progress: &CallProgress, origin: &Origin, left: Option<&QuarantineReport>) {
    let Some((left, folder)) = left.and_then(|left| Some((left, left.folder()?))) else { return };
    let (files, faults) = (left.entries(shown_path), left.faults());
    let (lines, gaps) =
        (quarantine_english::lines(&files).join("\n"), quarantine_english::faults(&faults));
    let folder = folder.display().to_string();
    let told = format!(
        "The process made or changed files that git, an editor or a shell runs by itself. They were moved to {folder}:\n{lines}{gaps}"
    );
    let notice = TurnNotice::FilesQuarantined { folder, files, faults };
    progress.notices.tell(&origin.session, &origin.turn, notice, told);
}

/// The user's answer; `None` if the turn ended first.
async fn answer(
    progress: &CallProgress,
    context: &ToolContext,
    left: &QuarantineReport,
    files: Vec<QuarantineEntry>,
) -> Result<Option<cairn_protocol::ApproveResult>, ToolFailure> {
    let seen = left.clone();
    let patch = spawn_blocking(move || seen.patch()).await;
    let patch = patch.map_err(|error| ToolFailure::Fatal(error.into()))?;
    let count = u32::try_from(left.moved.len()).unwrap_or(u32::MAX);
    let command = quarantine_english::lines(&files).join("\n");
    let question = ApprovalQuestion::ReturnFiles { count, files };
    let folder = left.folder().unwrap_or(Path::new("quarantine")).display().to_string();
    let reasons = vec![ApprovalReason::FilesLeft { folder }];
    // A key that is never asked for again: an answer must not cover what a later command makes.
    let once = uuid::Uuid::now_v7().to_string();
    let root = context.workspace.root();
    let access = Access::Edit { path: root.join(&once), inside: once.into(), aliases: Vec::new() };
    let params = ApproveParams {
        approval_id: format!("{}/{}/left", progress.turn, progress.call),
        session_id: progress.session.clone().into(),
        turn_id: progress.turn.clone().into(),
        call_id: progress.call.clone().into(),
        title: english::title(&question),
        kind: Some(ApprovalKind::Change),
        command,
        cwd: root.display().to_string(),
        reason: english::reasons(&reasons),
        reasons,
        rules: Vec::new(),
        rules_folder: None,
        needs: Vec::new(),
        subagent: None,
        preview: patch.map(|patch| Preview { patch, texts: None }),
        for_session: english::scope(question.kind()).to_owned(),
        session_scope: Some(question.kind()),
        question: Some(question),
        quarantined: true,
        changed: None,
    };
    let answer = progress.ask(context, params, access, Definitions::new()).await;
    progress.update(ToolUpdate { state: Some(ToolState::Running), ..ToolUpdate::default() });
    Ok(answer)
}
