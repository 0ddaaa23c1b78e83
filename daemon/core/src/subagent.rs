//! Subagents: the system prompt of a subagent, and the report of its end.
//!
//! A subagent that ends with a question gets no answer. Its text goes to the agent that started it,
//! and only that one may ask the user.

use crate::{marks::ModelText, model::Usage, turn::EndReason};

/// Maximum number of answers with tool calls, where the agent that started the subagent names none.
pub const DEFAULT_ROUNDS: u32 = 30;

/// Notice before the last answer: a subagent that is stopped in its work would report nothing.
pub const LAST_ROUND: &str = "You have one answer left. Call no more tools: report what you found and did, and what is left to do.";

/// Line of a report about edits that no command checked.
pub(crate) const UNCHECKED: &str = "No command has checked its last edit with success.";

/// Maximum length of a report, in characters. A longer one is cut.
const REPORT_LIMIT: usize = 16_000;
const FILES_NAMED: usize = 50;

/// End of a subagent's loop, from which its report is made.
#[derive(Debug, Clone)]
pub struct SubagentEnd {
    pub reason: EndReason,
    /// Its final text, or the error.
    pub summary: String,
    /// The newest text it wrote.
    pub last_words: String,
    pub rounds: u32,
    pub usage: Usage,
    /// Paths of the files it changed.
    pub files: Vec<String>,
    /// Open items of its plan.
    pub open: Vec<String>,
    /// No command has checked its last edit with success.
    pub unchecked_edits: bool,
}

/// Result of the call that started a subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentReport {
    pub content: ModelText,
    pub is_error: bool,
}

impl SubagentEnd {
    pub fn report(&self) -> SubagentReport {
        let Self { reason, summary, last_words, rounds, usage, files, open, unchecked_edits } =
            self;
        let (how, is_error) = match reason {
            EndReason::Completed => ("ended", false),
            EndReason::NeedsInput => (
                "ended with a question; nobody answers it, so decide it yourself or ask the user",
                false,
            ),
            EndReason::Cancelled => ("was cancelled by the user", true),
            EndReason::Failed => ("failed", true),
            EndReason::Limit => ("was stopped at its limit", true),
        };
        let rounds = counted(*rounds, "round");
        let tokens = match usage.input_tokens.saturating_add(usage.output_tokens) {
            0 => String::new(),
            tokens => format!(", {tokens} tokens"),
        };
        let mut content = ModelText::default();
        content.own(&format!("The subagent {how}: {rounds} with tools{tokens}."));
        if !files.is_empty() {
            content.own(&changed(files));
        }
        if *unchecked_edits {
            content.own(UNCHECKED);
        }
        let words = |content: &mut ModelText, text: &str, limit| {
            let (text, goes_on) = bounded(text, limit);
            content.add(text);
            if goes_on {
                content.own("cut: the text goes on");
            }
        };
        if !open.is_empty() {
            content.own("Open in its plan:");
            words(&mut content, &open.join("; "), 2_000);
        }
        match reason {
            EndReason::Completed | EndReason::NeedsInput => {
                content.own("Its report:");
                words(&mut content, summary, REPORT_LIMIT);
            }
            EndReason::Cancelled | EndReason::Failed | EndReason::Limit => {
                // The first line already says that it was stopped.
                if *reason == EndReason::Failed {
                    words(&mut content, summary, 2_000);
                }
                if last_words.trim().is_empty() {
                    content.own("It left no words.");
                } else {
                    content.own("Its last words:");
                    words(&mut content, last_words, REPORT_LIMIT);
                }
            }
        }
        SubagentReport { content, is_error }
    }
}

/// Sentence about the changed files, of which some are named.
fn changed(files: &[String]) -> String {
    let named: Vec<&str> = files.iter().take(FILES_NAMED).map(String::as_str).collect();
    let more = match files.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let them = if files.len() == 1 { "it" } else { "them" };
    let named = named.join(", ");
    format!("It changed {named}{more}. Read {them} again before you change {them}.")
}

fn counted(count: u32, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Returns the text cut to `limit` characters, and true if more follows.
fn bounded(text: &str, limit: usize) -> (&str, bool) {
    match text.char_indices().nth(limit) {
        Some((at, _)) => (&text[..at], true),
        None => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(change: impl FnOnce(&mut SubagentEnd), expect: Expect) {
        let mut ended = SubagentEnd {
            reason: EndReason::Completed,
            summary: "All three uses are in a.rs.".into(),
            last_words: "Looking.".into(),
            rounds: 2,
            usage: Usage { input_tokens: 1_000, output_tokens: 20, cached_tokens: 900 },
            files: Vec::new(),
            open: Vec::new(),
            unchecked_edits: false,
        };
        change(&mut ended);
        let SubagentReport { content, is_error } = ended.report();
        let mark = if is_error { "error: " } else { "" };
        expect.assert_eq(&format!("{mark}{}", content.as_str()));
    }

    #[test]
    fn a_report_has_the_reason_of_the_end_and_the_open_items() {
        check(
            |_| {},
            expect![[r#"
                [cairn] The subagent ended: 2 rounds with tools, 1020 tokens.
                [cairn] Its report:
                All three uses are in a.rs."#]],
        );
        check(
            |ended| {
                ended.reason = EndReason::NeedsInput;
                ended.summary = "Which one?".into();
                ended.rounds = 1;
                ended.files = vec!["a.rs".into(), "b.rs".into()];
                ended.open = vec!["Tests".into(), "Docs".into()];
            },
            expect![[r#"
                [cairn] The subagent ended with a question; nobody answers it, so decide it yourself or ask the user: 1 round with tools, 1020 tokens.
                [cairn] It changed a.rs, b.rs. Read them again before you change them.
                [cairn] Open in its plan:
                Tests; Docs
                [cairn] Its report:
                Which one?"#]],
        );
    }

    #[test]
    fn a_failed_subagent_is_an_error_with_its_last_text() {
        check(
            |ended| {
                ended.reason = EndReason::Failed;
                ended.summary = "The key was refused.".into();
            },
            expect![[r#"
                error: [cairn] The subagent failed: 2 rounds with tools, 1020 tokens.
                The key was refused.
                [cairn] Its last words:
                Looking."#]],
        );
        check(
            |ended| {
                ended.reason = EndReason::Cancelled;
                ended.last_words = String::new();
            },
            expect![[r#"
                error: [cairn] The subagent was cancelled by the user: 2 rounds with tools, 1020 tokens.
                [cairn] It left no words."#]],
        );
        check(
            |ended| ended.reason = EndReason::Limit,
            expect![[r#"
                error: [cairn] The subagent was stopped at its limit: 2 rounds with tools, 1020 tokens.
                [cairn] Its last words:
                Looking."#]],
        );
    }

    #[test]
    fn a_report_is_bounded() {
        let mut ended = SubagentEnd {
            reason: EndReason::Completed,
            summary: "é".repeat(REPORT_LIMIT + 1),
            last_words: String::new(),
            rounds: 0,
            usage: Usage::default(),
            files: (0..FILES_NAMED + 7).map(|n| n.to_string()).collect(),
            open: vec!["x".repeat(3_000)],
            unchecked_edits: false,
        };
        let content = String::from(ended.report().content);
        assert_eq!(content.matches('é').count(), REPORT_LIMIT);
        assert!(content.contains("49 and 7 more"), "{content}");
        assert!(content.len() < 2 * REPORT_LIMIT + 4_000);
        ended.summary.clear();
        assert!(ended.report().content.as_str().contains("xxx\n[cairn] cut: the text goes on"));
    }
}
