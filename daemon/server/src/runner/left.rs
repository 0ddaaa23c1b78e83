//! Question about control files that a command left, or that appeared during a process. They are in
//! quarantine already; "allow" moves them back to the workspace.
//!
//! Never moves anything back without the user's own answer to this question.

use std::{path::Path, sync::Arc};

use cairn_protocol::{
    ApprovalDecision, ApprovalKind, ApprovalQuestion, ApprovalReason, ApproveParams, ApproveResult,
    Preview, ToolState, TurnNotice, english_of_all,
};

use super::progress::CallProgress;
use crate::{
    exec::sandbox::{QuarantineReport, QuarantinedFile, quarantine_text},
    ports::ToolUpdate,
    processes::ProcessHandle,
    tools::{Access, ToolContext, ToolFailure, blocking},
};

/// Shown if the folder is unknown.
const QUARANTINE: &str = "quarantine";

/// Asks the user at the end of a call, applies the answer, and returns a text about both for the model.
pub(super) async fn ask(
    progress: &CallProgress,
    context: &ToolContext,
    left: &QuarantineReport,
) -> Result<String, ToolFailure> {
    if left.folder().is_none() {
        return Ok(quarantine_text::faults(&left.faults()).trim().to_owned());
    }
    let place = ApproveParams {
        approval_id: format!("{}/{}/left", progress.mailbox.turn, progress.call),
        session_id: progress.mailbox.session.clone().into(),
        turn_id: progress.mailbox.turn.clone().into(),
        call_id: progress.call.clone().into(),
        ..ApproveParams::default()
    };
    let (params, access) = question(context, left, place).await?;
    let answer = progress.ask(context, params, access, None).await;
    progress.update(ToolUpdate { state: Some(ToolState::Running), ..ToolUpdate::default() });
    apply(progress, context, left, answer).await
}

/// Asks the user about the control files that appear during a process, as soon as they are in
/// quarantine: they may be the user's. Ends after the process, with the last answer.
pub(super) async fn ask_beside(
    progress: CallProgress,
    context: ToolContext,
    process: ProcessHandle,
) {
    while let Some(left) = process.next_left().await {
        if left.folder().is_none() {
            continue;
        }
        match ask_about(&progress, &context, &left).await {
            Ok(told) => process.tell(told),
            Err(error) => tracing::error!("a question about files in quarantine failed: {error:?}"),
        }
    }
}

/// Asks a question that belongs to no call, and so outlives the turn.
async fn ask_about(
    progress: &CallProgress,
    context: &ToolContext,
    left: &QuarantineReport,
) -> Result<String, ToolFailure> {
    let place = ApproveParams {
        // Sorted by time among those of turns.
        approval_id: format!("t-{}/left", uuid::Uuid::now_v7().simple()),
        session_id: context.origin.session.clone().into(),
        ..ApproveParams::default()
    };
    let (params, access) = question(context, left, place).await?;
    let answer = progress.question(params, access, None).await.ok();
    apply(progress, context, left, answer).await
}

/// Applies the user's answer and returns a text about it for the model. `None`: the question was
/// withdrawn.
async fn apply(
    progress: &CallProgress,
    context: &ToolContext,
    left: &QuarantineReport,
    answer: Option<ApproveResult>,
) -> Result<String, ToolFailure> {
    let folder = left.folder().unwrap_or(Path::new(QUARANTINE));
    let entries = left.entries(|path| context.workspace.display(path));
    let lines = english_of_all(&entries, "\n");
    let allowed = match answer.as_ref().map(|answer| answer.decision) {
        Some(
            ApprovalDecision::AllowOnce
            | ApprovalDecision::AllowSession
            | ApprovalDecision::AllowAlways
            | ApprovalDecision::AllowPattern,
        ) => true,
        Some(ApprovalDecision::Deny) | None => false,
    };
    let words = answer.and_then(|answer| answer.feedback).filter(|words| !words.trim().is_empty());
    let words = words.map(|words| format!(" They said: {words}")).unwrap_or_default();
    let gaps = left.faults();
    let faults = quarantine_text::faults(&gaps);
    if !allowed {
        let quarantine = folder.display();
        let told = format!(
            "Files that git, an editor or a shell runs by itself appeared or changed while the command ran. They were moved to {quarantine}. The user has not allowed them in the workspace:\n{lines}"
        );
        let folder = quarantine.to_string();
        let notice = TurnNotice::FilesQuarantined { folder, files: entries, faults: gaps };
        progress.tell(context, notice);
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
    let failed = blocking(move_back).await?;
    let mut told = format!(
        "Files that git, an editor or a shell runs by itself appeared or changed while the command ran. The user allowed them, and they are back in the workspace:\n{lines}{words}"
    );
    for (path, error) in failed {
        let (file, folder) = (context.workspace.display(&path), folder.display().to_string());
        let reason = error.to_string();
        let notice = TurnNotice::FileNotReturned { file, folder, reason };
        told.push_str(&format!("\n{}", notice.english()));
        progress.tell(context, notice);
    }
    Ok(format!("{told}{faults}"))
}

async fn question(
    context: &ToolContext,
    left: &QuarantineReport,
    place: ApproveParams,
) -> Result<(ApproveParams, Access), ToolFailure> {
    let files = left.entries(|path| context.workspace.display(path));
    let seen = left.clone();
    let patch = blocking(move || seen.patch()).await?;
    let count = u32::try_from(left.moved.len()).unwrap_or(u32::MAX);
    let question = ApprovalQuestion::ReturnFiles { count, files };
    let folder = left.folder().unwrap_or(Path::new(QUARANTINE)).display().to_string();
    let reasons = vec![ApprovalReason::FilesLeft { folder }.message()];
    // A key that is never asked for again: an answer must not cover what a later command makes.
    let once = uuid::Uuid::now_v7().to_string();
    let root = context.workspace.root();
    let access = Access::Edit { path: root.join(&once), inside: once.into(), aliases: Vec::new() };
    let params = ApproveParams {
        title: question.message(),
        kind: Some(ApprovalKind::Change),
        files: question.files().map(|files| files.message()),
        cwd: root.display().to_string(),
        reasons,
        preview: patch.map(|patch| Preview { patch, texts: None }),
        for_session: question.kind().message(),
        quarantined: true,
        ..place
    };
    Ok((params, access))
}
