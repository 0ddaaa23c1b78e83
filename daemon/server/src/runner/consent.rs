//! Consent to a call: from the policy and the user's rules, else from the user's answer.
//!
//! Only this module stores rules of "always". A question must never show less than the call will do,
//! and a stored rule must never cover more than the question showed.

use std::sync::Arc;

use cairn_core::{
    hook::{HookDecision, HookEvent},
    marks::ModelText,
    policy::command::{self, CommandRules, Rule},
};
use cairn_protocol::{
    ApprovalDecision, ApprovalReason, ApproveParams, CommandRisk, ReviewMode, TurnNotice,
};
use serde_json::Value;
use tokio::task::spawn_blocking;

use super::{progress::CallProgress, risks};
use crate::{
    approval::{self, Approved, Behind, Gate, Question, RuleFolder},
    hooks,
    tools::{Access, Call, ToolContext, ToolFailure, blocking},
    workspace::Workspace,
};

pub(super) enum Consent {
    Given {
        /// The call, with the texts that its preview was made from.
        call: Box<Call>,
        approved: Approved,
        /// The user's comment, for the model.
        words: Option<String>,
    },
    /// Reason for the model.
    Refused(ModelText),
}

/// Asks the hooks, the policy and the user about a call. `about` describes it to the hooks.
pub(super) async fn consent(
    progress: &CallProgress,
    call: Call,
    mode: ReviewMode,
    context: &ToolContext,
    tool: &str,
    about: &(dyn Fn() -> Value + Sync),
) -> Result<Consent, ToolFailure> {
    let access = &call.access.clone();
    let rule_folder = &Arc::new(looked_at(access, context, RuleFolder::of).await?);
    let behind = match access {
        Access::Command { command, .. } => context.changed.behind(command),
        _ => Behind::default(),
    };
    let changed = behind.first().map(|file| context.workspace.display(file));
    let Rules { rules, keeps, ended } =
        rules_of(progress, access, rule_folder, context, changed.as_deref()).await;
    let gate = |rules: &Arc<CommandRules>| {
        let (rules, folder) = (Arc::clone(rules), Arc::clone(rule_folder));
        looked_at(access, context, move |access, workspace| {
            approval::gate(access, mode, &rules, &folder, workspace)
        })
    };
    let judged = match gate(&rules).await? {
        // No hook runs for a call that the policy forbids.
        Gate::Closed(reason) => return Ok(Consent::Refused(reason.into())),
        Gate::Open(approved) => Ok(approved),
        Gate::Ask(question) => Err(question),
    };
    let hook_context = context.hooks.as_ref();
    let verdict = hooks::run(hook_context, HookEvent::BeforeTool, Some(tool), about).await;
    let mut question = match (judged, verdict.decision) {
        (_, HookDecision::Refuse) => {
            return Ok(Consent::Refused(refused(access, &verdict.messages)));
        }
        (Ok(_), HookDecision::Ask) => {
            let reasons = vec![ApprovalReason::HookAsks];
            approval::question(access, &rules, reasons, &context.workspace)
        }
        (Ok(approved), HookDecision::GoOn) => {
            if !rules.always.is_empty() && !matches!(gate(&context.commands).await?, Gate::Open(_))
            {
                progress.decided_by_rule();
            }
            return Ok(Consent::Given { call: Box::new(call), approved, words: None });
        }
        (Err(question), HookDecision::Ask | HookDecision::GoOn) => question,
    };
    if !keeps {
        question.rules.clear();
    }
    question.reasons.splice(0..0, ended.clone());
    let asked = Asked { question, rules, rule_folder, changed, ended: ended.is_some() };
    let consent = ask(progress, call, access, asked, context).await?;
    if matches!(consent, Consent::Given { .. }) {
        context.changed.allow(&behind);
    }
    Ok(consent)
}

/// Result of a look at an access. That at a command is long, and blocks on the disk.
async fn looked_at<T: Send + 'static>(
    access: &Access,
    context: &ToolContext,
    look: impl FnOnce(&Access, &Workspace) -> T + Send + 'static,
) -> Result<T, ToolFailure> {
    let workspace = Arc::clone(&context.workspace);
    if !matches!(access, Access::Command { .. }) {
        return Ok(look(access, &workspace));
    }
    let access = access.clone();
    blocking(move || look(&access, &workspace)).await
}

/// Question about a call, with its rules.
struct Asked<'a> {
    question: Question,
    rules: Arc<CommandRules>,
    rule_folder: &'a RuleFolder,
    /// File behind the command that the agent changed.
    changed: Option<String>,
    /// The change ended a rule.
    ended: bool,
}

/// Asks the user and keeps the rules of an "always".
async fn ask(
    progress: &CallProgress,
    call: Call,
    access: &Access,
    asked: Asked<'_>,
    context: &ToolContext,
) -> Result<Consent, ToolFailure> {
    let Asked { question, rules, rule_folder, changed, ended } = asked;
    let pattern = match question.rules.as_slice() {
        [rule] => Rule::repeated(rule.words()),
        _ => None,
    };
    let looking = context.clone();
    let look = move || call.preview(&looking).map(|preview| (call, preview));
    let (call, preview) = blocking(look).await??;
    let risks = risks::of(access, context, !rules.unboxed);
    let entered =
        rule_folder.folder().filter(|_| rule_folder.is_entered() && !question.rules.is_empty());
    let params = ApproveParams {
        approval_id: format!("{}/{}", progress.mailbox.turn, progress.call),
        session_id: progress.mailbox.session.clone().into(),
        turn_id: progress.mailbox.turn.clone().into(),
        call_id: progress.call.clone().into(),
        title: question.asked.message(),
        kind: question.kind,
        command: question.command.clone(),
        cwd: question.cwd.clone(),
        files: question.asked.files().map(|files| files.message()),
        reasons: question.reasons.iter().map(ApprovalReason::message).collect(),
        rules: question.rules.iter().map(Rule::to_string).collect(),
        pattern: pattern.as_ref().map(Rule::to_string),
        rules_folder: entered.map(|folder| folder.display().to_string()),
        needs: question.needs.clone(),
        risks: risks.iter().map(CommandRisk::message).collect(),
        preview,
        for_session: question.asked.kind().message(),
        changed: changed.clone().filter(|_| ended),
        ..ApproveParams::default()
    };
    let answer = progress.ask(context, params, access.clone(), changed).await;
    let Some(answer) = answer else {
        let refused = format!("The turn ended before the user answered; {}.", no_effect(access));
        return Ok(Consent::Refused(refused.into()));
    };
    let words = answer.feedback;
    match answer.decision {
        ApprovalDecision::AllowOnce | ApprovalDecision::AllowSession => {}
        ApprovalDecision::AllowAlways => {
            keep(progress, rule_folder, context, &question.rules).await
        }
        ApprovalDecision::AllowPattern => {
            keep(progress, rule_folder, context, pattern.as_slice()).await;
        }
        ApprovalDecision::Deny => {
            return Ok(Consent::Refused(declined(access, context.is_answered, words.as_deref())));
        }
    }
    Ok(Consent::Given { call: Box::new(call), approved: question.allowed(), words })
}

/// Returns the rules for a call. Without a sandbox a command and a text for a process need an answer.
async fn rules_of(
    progress: &CallProgress,
    access: &Access,
    rule_folder: &RuleFolder,
    context: &ToolContext,
    changed: Option<&str>,
) -> Rules {
    match access {
        Access::Command { command, .. } => {
            let mut found = rules_for(progress, rule_folder, command, context).await;
            if let (Some(file), [rule, ..]) = (changed, found.rules.always.as_slice()) {
                let (file, rule) = (file.to_owned(), rule.to_string());
                found.ended = Some(ApprovalReason::RuleFileChanged { file, rule });
                found.rules = Arc::clone(&context.commands);
            }
            if context.sandbox_config.backend().await.is_err() {
                found.rules = Arc::new(found.rules.asking());
            }
            found
        }
        Access::Input { .. } if context.sandbox_config.backend().await.is_err() => {
            Rules { rules: Arc::new(context.commands.asking()), keeps: false, ended: None }
        }
        _ => Rules::of_settings(context),
    }
}

/// Rules that apply to a command.
struct Rules {
    rules: Arc<CommandRules>,
    /// "Always" can be stored.
    keeps: bool,
    /// Reason why a stored rule does not apply.
    ended: Option<ApprovalReason>,
}

impl Rules {
    /// The user's settings alone.
    fn of_settings(context: &ToolContext) -> Self {
        Self { rules: Arc::clone(&context.commands), keeps: false, ended: None }
    }
}

/// The user's settings and the rules they stored for the folder, read now.
async fn rules_for(
    progress: &CallProgress,
    rule_folder: &RuleFolder,
    script: &str,
    context: &ToolContext,
) -> Rules {
    let (Some(folder), Some(allowed)) = (rule_folder.folder(), context.allowed.clone()) else {
        return Rules::of_settings(context);
    };
    let folder = folder.to_owned();
    let commands = command::parse(script).unwrap_or_default();
    let read = spawn_blocking(move || {
        let kept = allowed.read()?.into_iter().filter(|kept| kept.folder == folder);
        let covers = |rule: &Rule| commands.iter().any(|words| rule.covers(words));
        anyhow::Ok(kept.map(|kept| kept.rule).filter(covers).collect::<Vec<_>>())
    });
    match read.await {
        Ok(Ok(always)) => {
            let rules = match always.is_empty() {
                true => Arc::clone(&context.commands),
                false => Arc::new(CommandRules { always, ..(*context.commands).clone() }),
            };
            Rules { rules, keeps: true, ended: None }
        }
        Ok(Err(error)) => {
            warn(
                progress,
                context,
                TurnNotice::ApprovalsUnreadable { reason: format!("{error:#}") },
            );
            Rules::of_settings(context)
        }
        Err(_) => Rules::of_settings(context),
    }
}

/// Stores the rules of "always". On failure the command still runs; the user reads that it will ask again.
async fn keep(
    progress: &CallProgress,
    rule_folder: &RuleFolder,
    context: &ToolContext,
    rules: &[Rule],
) {
    let (Some(folder), Some(allowed)) = (rule_folder.folder(), context.allowed.clone()) else {
        return;
    };
    let (folder, rules) = (folder.to_owned(), rules.to_vec());
    let kept = spawn_blocking(move || allowed.add(&folder, &rules)).await;
    let fault = match kept {
        Ok(Ok(())) => return,
        Ok(Err(error)) => format!("{error:#}"),
        Err(_) => "Cairn failed".to_owned(),
    };
    warn(progress, context, TurnNotice::ApprovalNotSaved { reason: fault });
}

fn warn(progress: &CallProgress, context: &ToolContext, notice: TurnNotice) {
    tracing::warn!("{}", notice.english());
    progress.tell(context, notice);
}

/// Clause about what did not happen.
fn no_effect(access: &Access) -> &'static str {
    match access {
        Access::Command { .. } => "nothing was run",
        Access::Input { .. } => "nothing was sent to the process",
        Access::Process => "the process was not touched",
        Access::Read { .. } => "nothing was read",
        Access::Edit { .. } | Access::Delete { .. } | Access::Move { .. } | Access::Plan => {
            "nothing was changed"
        }
        Access::Subagent => "no subagent was started",
    }
}

/// Result of a call that a hook refused.
fn refused(access: &Access, messages: &[String]) -> ModelText {
    let mut out = ModelText::default();
    out.own(&format!(
        "A hook of the user refused this call; {}. Do not try to reach the same in another way.",
        no_effect(access)
    ));
    out.frame("words of a hook", &messages.join("\n"));
    out
}

/// Result of a call that was not allowed, with the comment of the user, or of the program where nobody
/// answers.
fn declined(access: &Access, is_answered: bool, words: Option<&str>) -> ModelText {
    let way = match access {
        Access::Command { .. } => "by another command",
        _ => "in another way",
    };
    let who = if is_answered { "The user declined" } else { "This run may not do this" };
    let declined = format!("{who}; {}. Do not try to reach the same {way}", no_effect(access));
    let mut out = ModelText::default();
    out.own(&match words {
        None => format!("{declined}."),
        Some(words) if is_answered => {
            format!("{declined}, unless their words ask for it. They said: {words}")
        }
        Some(words) => format!("{declined}. The reason: {words}"),
    });
    out
}

/// Sentence for the model about a comment that came with the user's yes.
pub(super) fn said(words: &str) -> String {
    format!("The user allowed this and said: {words}")
}
