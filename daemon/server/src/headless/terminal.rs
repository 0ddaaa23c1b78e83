//! Editor port of a run: the files on disk, and a terminal if a person sits at one.
//!
//! One question at a time is asked on the terminal; the others wait.

use std::{
    io::{BufRead, Write},
    sync::Arc,
    time::Duration,
};

use cairn_core::sanitize::{exact, visible as printable};
use cairn_protocol::{
    ApplyEditParams, ApplyEditResult, ApprovalDecision, ApprovalKind, ApproveParams, ApproveResult,
    AskParams, Need, Notice, SaveParams, SaveResult, TurnPhase,
};
use futures_util::{FutureExt, future::BoxFuture};
use parking_lot::{Mutex, MutexGuard};
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc;

use super::report::{Report, Spent, TurnEnd};
use crate::{
    cli::Allow,
    disk,
    ports::{Editor, Questions, UserAnswer},
    secrets::CleanStderr,
    workspace::Workspace,
};

/// Time in which a person notices a question and stops typing something else.
const TIME_TO_SEE: Duration = Duration::from_millis(700);

#[derive(Clone)]
pub(super) struct TerminalEditor(Arc<Shared>);

struct Shared {
    allow: Allow,
    /// A person can answer.
    interactive: bool,
    report: Mutex<Box<dyn Report>>,
    /// Held while a question is on the terminal.
    asking: Arc<tokio::sync::Mutex<()>>,
    ended: mpsc::UnboundedSender<TurnEnd>,
}

impl TerminalEditor {
    pub(super) fn report(&self) -> MutexGuard<'_, Box<dyn Report>> {
        self.0.report.lock()
    }

    pub(super) fn new(
        allow: Allow,
        interactive: bool,
        report: Box<dyn Report>,
        ended: mpsc::UnboundedSender<TurnEnd>,
    ) -> Self {
        let (report, asking) = (Mutex::new(report), Arc::default());
        Self(Arc::new(Shared { allow, interactive, report, asking, ended }))
    }

    pub(super) fn is_interactive(&self) -> bool {
        self.0.interactive
    }

    /// Shows a question on the terminal, and returns the line that the user types after the prompt.
    /// `None`: the input is closed.
    ///
    /// Discards input typed before the prompt: it cannot be the answer to a question not yet shown.
    pub(super) async fn ask_line(&self, question: &str, prompt: &str) -> Option<String> {
        let _one = Arc::clone(&self.0.asking).lock_owned().await;
        self.report().pause();
        let _ = CleanStderr.write_all(question.as_bytes());
        if !question.is_empty() {
            tokio::time::sleep(TIME_TO_SEE).await;
        }
        let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
        let _ = CleanStderr.write_all(prompt.as_bytes());
        let read = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            let read = std::io::stdin().lock().read_line(&mut line);
            read.ok().filter(|bytes| *bytes > 0).map(|_| line)
        });
        read.await.ok().flatten()
    }
}

impl Questions for TerminalEditor {
    fn ask(&self, params: AskParams) -> BoxFuture<'static, UserAnswer> {
        if !self.0.interactive {
            return async { UserAnswer::Unavailable }.boxed();
        }
        let mut question = format!("\n{}\n", printable(&params.text));
        for (number, option) in (1..).zip(&params.options) {
            question.push_str(&format!("  {number}. {}\n", printable(option)));
        }
        let terminal = self.clone();
        async move {
            let prompt = match params.options.is_empty() {
                true => "Answer: ",
                false => "Answer, or a number from the list: ",
            };
            match terminal.ask_line(&question, prompt).await {
                Some(line) => chosen(&line, &params.options),
                None => UserAnswer::Unavailable,
            }
        }
        .boxed()
    }
}

/// Reads an answer to a question with options. An empty line dismisses the question.
fn chosen(line: &str, options: &[String]) -> UserAnswer {
    let line = line.trim();
    let number = line.trim_end_matches('.').parse::<usize>().ok();
    let option = number.and_then(|number| options.get(number.checked_sub(1)?));
    match option {
        Some(option) => UserAnswer::Text(option.clone()),
        None if line.is_empty() => UserAnswer::Dismissed,
        None => UserAnswer::Text(line.to_owned()),
    }
}

impl Editor for TerminalEditor {
    fn notify(&self, notice: Notice) {
        self.report().notice(&notice);
        if let Notice::Turn(turn) = notice
            && let TurnPhase::Ended {
                reason,
                summary,
                open_items,
                unchecked_edits,
                usage,
                spent,
                ..
            } = turn.phase
        {
            let spent = spent.map_or(Spent { usage, ..Spent::default() }, |spent| Spent {
                usage: spent.usage,
                cost_micros: spent.cost_micros,
                ..Spent::default()
            });
            // The receiver is dropped only at the end of the run.
            self.0.ended.send(TurnEnd { reason, summary, open_items, unchecked_edits, spent }).ok();
        }
    }

    fn apply(
        &self,
        params: ApplyEditParams,
        workspace: Arc<Workspace>,
    ) -> BoxFuture<'static, ApplyEditResult> {
        disk::apply(params, workspace).boxed()
    }

    fn save(&self, _: SaveParams) -> BoxFuture<'static, SaveResult> {
        async { SaveResult::default() }.boxed()
    }

    fn approve(&self, params: ApproveParams) -> BoxFuture<'static, ApproveResult> {
        let (allow, interactive) = (self.0.allow, self.0.interactive);
        // Quarantined files need a person: the options were given before anyone knew about them.
        let missing = missing(allow, &params);
        let answer =
            |decision, feedback| async move { ApproveResult { decision, feedback } }.boxed();
        if missing.is_empty() && !params.quarantined {
            return answer(ApprovalDecision::AllowOnce, None);
        }
        if params.quarantined && (allow.commands || !interactive) {
            return answer(ApprovalDecision::Deny, None);
        }
        if !interactive {
            let options = missing.join(" ");
            let reason = format!("nobody is there to ask and {options} was not given");
            self.report().declined(&params.title.english(), &reason);
            let feedback = match params.kind {
                Some(ApprovalKind::Read | ApprovalKind::Change) => {
                    format!("nobody is there to ask; this is allowed only with {options}")
                }
                Some(ApprovalKind::Command | ApprovalKind::UnsandboxedCommand) | None => {
                    format!("nobody is there to ask; such commands run only with {options}")
                }
            };
            return answer(ApprovalDecision::Deny, Some(feedback));
        }
        let terminal = self.clone();
        async move {
            let (question, prompt) = question(&params);
            match terminal.ask_line(&question, &prompt).await {
                Some(line) => typed(&line),
                None => ApproveResult { decision: ApprovalDecision::Deny, feedback: None },
            }
        }
        .boxed()
    }
}

/// Text of an approval on the terminal, and its prompt.
fn question(params: &ApproveParams) -> (String, String) {
    let preview = params.preview.as_ref().map(|it| format!("\n{}\n", printable(&it.patch)));
    let subagent = params.subagent.as_ref().map(|title| format!(" [{}]", printable(title)));
    let changed = params.changed.as_ref();
    let changed = changed.map(|it| format!(" ({} changed since you allowed it)", printable(it)));
    let [preview, subagent, changed] = [preview, subagent, changed].map(Option::unwrap_or_default);
    let always = if params.rules.is_empty() {
        String::new()
    } else {
        let folder = printable(params.rules_folder.as_deref().unwrap_or("this folder"));
        format!(", [f]rom now on in {folder} ({})", printable(&params.rules.join("; ")))
    };
    let (title, cwd) = (printable(&params.title.english()), printable(&params.cwd));
    let command = exact(&params.subject());
    let careful = match params.careful() {
        careful if careful.is_empty() => careful,
        careful => format!("  {careful}\n"),
    };
    (
        format!("{preview}\n{title}{subagent}{changed} in {cwd}:\n  {command}\n{careful}"),
        format!(
            "Allow? [y]es, [a]lways in this run{always}, [N]o; words after it are for the agent: "
        ),
    )
}

/// Returns the missing options that would have allowed a question.
fn missing(allow: Allow, params: &ApproveParams) -> Vec<&'static str> {
    let has = |need| params.needs.contains(&need);
    let options: &[(bool, &str)] = match params.kind {
        Some(ApprovalKind::Read) => &[(allow.secrets, "--allow-secrets")],
        Some(ApprovalKind::Change) => &[(allow.protected, "--allow-protected")],
        Some(ApprovalKind::UnsandboxedCommand) => {
            &[(allow.commands, "--yes"), (allow.unsandboxed, "--allow-unsandboxed")]
        }
        Some(ApprovalKind::Command) | None => &[
            (allow.commands, "--yes"),
            (allow.network || !has(Need::Network), "--allow-network"),
            (allow.git || !has(Need::Git), "--allow-git"),
        ],
    };
    options.iter().filter_map(|(given, option)| (!given).then_some(*option)).collect()
}

/// Reads an answer with an optional text. Any other line denies, with the whole line as the text.
fn typed(line: &str) -> ApproveResult {
    let line = line.trim();
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let first = first.trim_end_matches([',', ':', ';', '.']).to_lowercase();
    let (decision, words) = match first.as_str() {
        "y" | "yes" => (ApprovalDecision::AllowOnce, rest),
        "a" | "always" => (ApprovalDecision::AllowSession, rest),
        "f" | "forever" => (ApprovalDecision::AllowAlways, rest),
        "n" | "no" => (ApprovalDecision::Deny, rest),
        _ => (ApprovalDecision::Deny, line),
    };
    let words = words.trim();
    ApproveResult { decision, feedback: (!words.is_empty()).then(|| words.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_may_have_feedback_and_feedback_alone_denies() {
        use ApprovalDecision::{AllowAlways, AllowOnce, AllowSession, Deny};
        for (line, decision, words) in [
            ("y\n", AllowOnce, None),
            (" YES ", AllowOnce, None),
            ("y, but only once", AllowOnce, Some("but only once")),
            ("a", AllowSession, None),
            ("f", AllowAlways, None),
            ("n", Deny, None),
            ("no: use pnpm", Deny, Some("use pnpm")),
            ("yep", Deny, Some("yep")),
            ("use pnpm instead", Deny, Some("use pnpm instead")),
            ("", Deny, None),
        ] {
            let answer = ApproveResult { decision, feedback: words.map(str::to_owned) };
            assert_eq!(typed(line), answer, "{line:?}");
        }
    }

    #[test]
    fn an_answer_is_a_number_of_the_list_or_other_words() {
        let options = ["tabs".to_owned(), "spaces".to_owned()];
        for (line, expected) in [
            ("2\n", Some("spaces")),
            ("1.", Some("tabs")),
            ("3", Some("3")),
            ("0", Some("0")),
            ("both of them", Some("both of them")),
            ("  \n", None),
        ] {
            let expected = expected.map_or(UserAnswer::Dismissed, |it| UserAnswer::Text(it.into()));
            assert_eq!(chosen(line, &options), expected, "{line:?}");
        }
    }
}
