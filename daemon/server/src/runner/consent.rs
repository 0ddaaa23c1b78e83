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
    approval::{
        self, Approved, Gate, Question, RuleFolder,
        definitions::{self, Definitions},
    },
    hooks,
    tools::{Access, Call, ToolContext, ToolFailure},
};

pub(super) enum Consent {
    Given {
        /// The call, with the texts that its preview was made from.
        call: Box<dyn Call>,
        approved: Approved,
        /// The user's comment, for the model.
        words: Option<String>,
    },
    /// Reason for the model.
    Refused(ModelText),
}

/// Description of the call for the user's hooks.
pub(super) struct Guard<'a> {
    pub(super) tool: &'a str,
    pub(super) about: &'a (dyn Fn() -> Value + Sync),
}

pub(super) async fn consent(
    progress: &CallProgress,
    call: Box<dyn Call>,
    mode: ReviewMode,
    context: &ToolContext,
    guard: Guard<'_>,
) -> Result<Consent, ToolFailure> {
    let access = &call.access();
    let rule_folder = &RuleFolder::of(access, &context.workspace);
    let Rules { rules, keeps, changed } = rules_of(progress, access, rule_folder, context).await;
    let gate = approval::gate(access, mode, &rules, rule_folder, &context.workspace);
    // No hook runs for a call that the policy forbids.
    if let Gate::Closed(reason) = gate {
        return Ok(Consent::Refused(reason.into()));
    }
    let (hook_context, Guard { tool, about }) = (context.hooks.as_ref(), guard);
    let verdict = hooks::run(hook_context, HookEvent::BeforeTool, Some(tool), about).await;
    let mut question = match (gate, verdict.decision) {
        (_, HookDecision::Refuse) => {
            return Ok(Consent::Refused(refused(access, &verdict.messages)));
        }
        (Gate::Open(_), HookDecision::Ask) => {
            let reasons = vec![ApprovalReason::HookAsks];
            approval::question(access, &rules, reasons, &context.workspace)
        }
        (Gate::Open(approved), HookDecision::GoOn) => {
            let without = || {
                let rules = &context.commands;
                approval::gate(access, mode, rules, rule_folder, &context.workspace)
            };
            if !rules.always.is_empty() && !matches!(without(), Gate::Open(_)) {
                progress.decided_by_rule();
            }
            return Ok(Consent::Given { call, approved, words: None });
        }
        (Gate::Closed(reason), HookDecision::Ask | HookDecision::GoOn) => {
            return Ok(Consent::Refused(reason.into()));
        }
        (Gate::Ask(question), HookDecision::Ask | HookDecision::GoOn) => question,
    };
    if !keeps {
        question.rules.clear();
    }
    let changed = changed.map(|Changed { file, reason }| {
        question.reasons.insert(0, reason);
        file
    });
    let asked = Asked { question, rules, rule_folder, changed };
    ask(progress, call, access, asked, context).await
}

/// Question about a call, with its rules.
struct Asked<'a> {
    question: Question,
    rules: Arc<CommandRules>,
    rule_folder: &'a RuleFolder,
    /// File whose change ended an earlier answer.
    changed: Option<String>,
}

/// Asks the user and keeps the rules of an "always".
async fn ask(
    progress: &CallProgress,
    mut call: Box<dyn Call>,
    access: &Access,
    asked: Asked<'_>,
    context: &ToolContext,
) -> Result<Consent, ToolFailure> {
    let Asked { question, rules, rule_folder, changed } = asked;
    // Hashed before the question is shown: the answer does not cover later changes.
    let offered = with_definitions(&question.rules, rule_folder, context).await;
    let pattern = match question.rules.as_slice() {
        [rule] => Rule::repeated(rule.words()),
        _ => None,
    };
    let offered_pattern = with_definitions(pattern.as_slice(), rule_folder, context).await;
    let definitions = behind(access, rule_folder, context).await;
    let looking = context.clone();
    let look = move || call.preview(&looking).map(|preview| (call, preview));
    let looked = spawn_blocking(look).await;
    let preview;
    (call, preview) = looked.map_err(|error| ToolFailure::Fatal(error.into()))??;
    let risks = risks::of(access, context, !rules.unboxed);
    let risks = risks.iter().map(CommandRisk::message).collect();
    let params = params(progress, &question, rule_folder);
    let pattern = pattern.map(|rule| rule.to_string());
    let params = ApproveParams { preview, changed, risks, pattern, ..params };
    let answer = progress.ask(context, params, access.clone(), definitions).await;
    let Some(answer) = answer else {
        let refused = format!("The turn ended before the user answered; {}.", no_effect(access));
        return Ok(Consent::Refused(refused.into()));
    };
    let words = answer.feedback;
    match answer.decision {
        ApprovalDecision::AllowOnce | ApprovalDecision::AllowSession => {}
        ApprovalDecision::AllowAlways => keep(progress, rule_folder, context, offered).await,
        ApprovalDecision::AllowPattern => {
            keep(progress, rule_folder, context, offered_pattern).await
        }
        ApprovalDecision::Deny => {
            return Ok(Consent::Refused(declined(access, context.is_answered, words.as_deref())));
        }
    }
    Ok(Consent::Given { call, approved: question.allowed(), words })
}

/// Returns the rules for a call. Without a sandbox a command and a text for a process need an answer.
async fn rules_of(
    progress: &CallProgress,
    access: &Access,
    rule_folder: &RuleFolder,
    context: &ToolContext,
) -> Rules {
    match access {
        Access::Command { command, .. } => {
            let mut found = rules_for(progress, rule_folder, command, context).await;
            if context.sandbox_config.backend().await.is_err() {
                found.rules = Arc::new(found.rules.asking());
            }
            found
        }
        Access::Input { .. } if context.sandbox_config.backend().await.is_err() => {
            Rules { rules: Arc::new(context.commands.asking()), keeps: false, changed: None }
        }
        _ => Rules::of_settings(context),
    }
}

/// Rules that apply to a command.
struct Rules {
    rules: Arc<CommandRules>,
    /// "Always" can be stored.
    keeps: bool,
    /// Reason why a stored rule no longer applies.
    changed: Option<Changed>,
}

/// A file behind a rule differs from what the user allowed.
struct Changed {
    file: String,
    reason: ApprovalReason,
}

impl Rules {
    /// The user's settings alone.
    fn of_settings(context: &ToolContext) -> Self {
        Self { rules: Arc::clone(&context.commands), keeps: false, changed: None }
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
    let (folder, looking) = (folder.to_owned(), context.clone());
    let commands = command::parse(script).unwrap_or_default();
    let read = spawn_blocking(move || {
        let (mut always, mut changed): (Vec<Rule>, Option<Changed>) = (Vec::new(), None);
        for kept in allowed.read()?.into_iter().filter(|kept| kept.folder == folder) {
            let rule = kept.rule;
            if !commands.iter().any(|words| rule.covers(words)) {
                continue;
            }
            let now = definitions::look(&rule, &folder, &looking.workspace, &looking.docs);
            let reason = match &kept.definitions {
                Some(then) => definitions::changed(then, &now).map(|file| Changed {
                    reason: ApprovalReason::RuleFileChanged {
                        file: file.clone(),
                        rule: rule.to_string(),
                    },
                    file,
                }),
                None => now.keys().next().map(|file| Changed {
                    reason: ApprovalReason::RuleFilesUnknown { rule: rule.to_string() },
                    file: file.clone(),
                }),
            };
            match reason {
                None => always.push(rule),
                Some(reason) => changed = changed.or(Some(reason)),
            }
        }
        anyhow::Ok((always, changed))
    });
    match read.await {
        Ok(Ok((always, changed))) => {
            let rules = match always.is_empty() {
                true => Arc::clone(&context.commands),
                false => Arc::new(CommandRules { always, ..(*context.commands).clone() }),
            };
            Rules { rules, keeps: true, changed }
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

/// Rules with the current hashes of the files behind them.
async fn with_definitions(
    rules: &[Rule],
    rule_folder: &RuleFolder,
    context: &ToolContext,
) -> Vec<(Rule, Definitions)> {
    let Some(folder) = rule_folder.folder().filter(|_| !rules.is_empty()) else {
        return Vec::new();
    };
    let (rules, folder, context) = (rules.to_vec(), folder.to_owned(), context.clone());
    let look = move || {
        let look = |rule: Rule| {
            let now = definitions::look(&rule, &folder, &context.workspace, &context.docs);
            (rule, now)
        };
        rules.into_iter().map(look).collect()
    };
    spawn_blocking(look).await.unwrap_or_default()
}

/// Current hashes of the files behind a command. An approval for the session holds while they stay
/// the same.
async fn behind(access: &Access, rule_folder: &RuleFolder, context: &ToolContext) -> Definitions {
    let (Access::Command { command, .. }, Some(folder)) = (access, rule_folder.folder()) else {
        return Definitions::new();
    };
    let (script, folder, context) = (command.clone(), folder.to_owned(), context.clone());
    let look =
        move || definitions::look_behind(&script, &folder, &context.workspace, &context.docs);
    spawn_blocking(look).await.unwrap_or_default()
}

/// Stores the rules of "always". On failure the command still runs; the user reads that it will ask again.
async fn keep(
    progress: &CallProgress,
    rule_folder: &RuleFolder,
    context: &ToolContext,
    rules: Vec<(Rule, Definitions)>,
) {
    let (Some(folder), Some(allowed)) = (rule_folder.folder(), context.allowed.clone()) else {
        return;
    };
    let folder = folder.to_owned();
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

fn params(progress: &CallProgress, question: &Question, rule_folder: &RuleFolder) -> ApproveParams {
    let entered =
        rule_folder.folder().filter(|_| rule_folder.is_entered() && !question.rules.is_empty());
    ApproveParams {
        approval_id: format!("{}/{}", progress.turn, progress.call),
        session_id: progress.session.clone().into(),
        turn_id: progress.turn.clone().into(),
        call_id: progress.call.clone().into(),
        title: question.asked.message(),
        kind: question.kind,
        command: question.command.clone(),
        cwd: question.cwd.clone(),
        files: question.asked.files().map(|files| files.message()),
        reasons: question.reasons.iter().map(ApprovalReason::message).collect(),
        rules: question.rules.iter().map(Rule::to_string).collect(),
        pattern: None,
        rules_folder: entered.map(|folder| folder.display().to_string()),
        needs: question.needs.clone(),
        risks: Vec::new(),
        subagent: None,
        preview: None,
        for_session: question.asked.kind().message(),
        quarantined: false,
        changed: None,
    }
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
        Access::Read { .. }
        | Access::Edit { .. }
        | Access::Delete { .. }
        | Access::Move { .. }
        | Access::Plan
        | Access::Process
        | Access::Input { .. }
        | Access::Subagent => "in another way",
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
