//! Digest of the part of a conversation that a compaction removes: copies of the essential facts,
//! and a summary of the rest.
//!
//! The user's messages, the plan, and open and rejected edits are copied. They must never come from
//! a model's summary, because the machine knows them. Each part is bounded by a share of the
//! window.

use super::{Window, start_of};
use crate::{
    conversation::{Attached, Item, Note, NoteKind, ToolArguments},
    marks,
    plan::Plan,
};

/// Start of a notice about a rejection. The digest finds these notices by it.
pub const REJECTED: &str = "The user rejected";
pub const TAKEN_BACK: &str = "The user took back a rejection";
pub const WENT_BACK: &str = "The user went back";
const DECISIONS: [&str; 3] = [REJECTED, TAKEN_BACK, WENT_BACK];

/// Request for the summary, sent after the conversation. The answer is the summary.
pub const SUMMARY_WANTED: &str = "[cairn] notice:\nThe conversation has become too long and is going to be compacted. Write the summary from which you will go on: everything before it will be gone.\n\nSay what was found out (files, names, facts, with their paths), what was changed and why, which commands were run and how they ended, what was tried and did not work, and what has to be done next. The user's messages, the plan and the proposed edits are kept word for word beside your summary: do not repeat them. At most 800 words, plain text. Do not call a tool.\n[cairn] end of the notice";

/// Input of [`digest`].
#[derive(Debug)]
pub struct Parts<'a> {
    pub items: &'a [Item],
    /// Indexes of earlier digests, which neither the user nor the model wrote.
    pub digests: &'a [usize],
    pub plan: &'a Plan,
    /// Proposed edits that wait for the user's decision, as patches.
    pub proposals: &'a [String],
    /// The model's summary; without one the newest steps are kept instead.
    pub summary: Option<&'a str>,
}

/// Limit of a part in bytes: thousandths of [`Window::room`], and a maximum.
#[derive(Debug, Clone, Copy)]
struct Limit {
    thousandths: u64,
    most: usize,
}

const WORDS: Limit = Limit { thousandths: 120, most: 48_000 };
const PLAN: Limit = Limit { thousandths: 40, most: 16_000 };
const PROPOSALS: Limit = Limit { thousandths: 80, most: 32_000 };
const DECIDED: Limit = Limit { thousandths: 50, most: 16_000 };
const NOTICES: Limit = Limit { thousandths: 20, most: 4_000 };
const SUMMARY: Limit = Limit { thousandths: 80, most: 24_000 };
const STEPS: Limit = Limit { thousandths: 80, most: 16_000 };
const STEP_BYTES: usize = 600;

impl Limit {
    fn bytes(self, window: &Window) -> usize {
        // Three bytes per token: text has more.
        let share = window.room().saturating_mul(3 * self.thousandths) / 1_000;
        usize::try_from(share).unwrap_or(usize::MAX).min(self.most)
    }
}

/// Returns the text from which the model continues.
pub fn digest(parts: &Parts<'_>, window: &Window) -> String {
    let Told { words, decisions, notices } = Told::by(parts);
    let mut out = marks::own(
        "The conversation up to here was compacted to save room. This is what was kept of it.",
    );
    // The parts are already escaped.
    let mut section = |title: &str, text: String| {
        if !text.trim().is_empty() {
            out.push_str(&format!("\n{}\n{}", marks::own(&format!("# {title}")), text.trim_end()));
        }
    };
    section("What the user said, word for word, oldest first", ends(&words, WORDS.bytes(window)));
    section("The plan as it stands", plan(parts.plan, PLAN.bytes(window)));
    section(
        "Your edits that wait for the user's decision; they are in the files",
        newest(&escaped(parts.proposals), PROPOSALS.bytes(window), "proposed edits"),
    );
    section(
        "What the user decided about your edits, oldest first",
        newest(&decisions, DECIDED.bytes(window), "decisions"),
    );
    section("Other notices", newest(&notices, NOTICES.bytes(window), "notices"));
    match parts.summary {
        Some(summary) => {
            section(
                "Your summary of the rest",
                cut(&marks::escape(summary), SUMMARY.bytes(window)),
            );
        }
        None => section(
            "The newest steps, cut; what came before them is lost",
            newest(&steps(parts), STEPS.bytes(window), "steps"),
        ),
    }
    out.push('\n');
    out.push_str(&marks::own(
        "Go on from here with what the user wants and is not done yet. Read files again before you rely on their text.",
    ));
    out
}

/// Messages and notices that the model got from the user and the editor.
#[derive(Debug, Default)]
struct Told {
    words: Vec<String>,
    decisions: Vec<String>,
    notices: Vec<String>,
}

impl Told {
    fn by(parts: &Parts<'_>) -> Self {
        let mut told = Self::default();
        for (index, item) in parts.items.iter().enumerate() {
            match item {
                Item::User(message) => {
                    let words = with_names(message.text.clone(), &message.attached);
                    if !parts.digests.contains(&index) && !words.trim().is_empty() {
                        told.words.push(words);
                    }
                    told.notes(&message.notes);
                }
                Item::ToolResults { notes, .. } => told.notes(notes),
                Item::Assistant(_) => {}
            }
        }
        told
    }

    fn notes(&mut self, notes: &[Note]) {
        for note in notes {
            let place = match note.kind {
                NoteKind::Steer => &mut self.words,
                NoteKind::Notice if is_decision(&note.text) => &mut self.decisions,
                NoteKind::Notice => &mut self.notices,
                // Reminders are added again when they are due.
                NoteKind::Reminder => continue,
            };
            place.push(with_names(marks::escape(&note.text).into_owned(), &note.attached));
        }
    }
}

/// Appends the names of the attached content, which is not kept.
fn with_names(text: String, attached: &[Attached]) -> String {
    if attached.is_empty() {
        return text;
    }
    let names: Vec<&str> = attached.iter().map(|one| one.name.as_str()).collect();
    let mut out = text.trim_end().to_owned();
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(&marks::own(&format!("attached then: {}", names.join(", "))));
    out
}

fn is_decision(notice: &str) -> bool {
    DECISIONS.iter().any(|start| notice.starts_with(start))
}

/// Selects the first and the newest text, then as many before the newest as fit.
fn ends(texts: &[String], limit: usize) -> String {
    let [first, rest @ ..] = texts else { return String::new() };
    let first = marked(&cut(first, limit / 2));
    let mut left = limit.saturating_sub(first.len());
    let mut kept = Vec::new();
    for text in rest.iter().rev() {
        let text = marked(&if kept.is_empty() { cut(text, limit / 2) } else { text.clone() });
        if !kept.is_empty() && text.len() > left {
            break;
        }
        left = left.saturating_sub(text.len());
        kept.push(text);
    }
    let missing = rest.len() - kept.len();
    let gap =
        (missing > 0).then(|| format!("{}\n", marks::own(&format!("{missing} messages left out"))));
    kept.reverse();
    first + &gap.unwrap_or_default() + &kept.concat()
}

fn marked(text: &str) -> String {
    format!("{}\n{}\n", marks::own("message:"), text.trim_end())
}

/// Selects as many of the newest texts as fit, at least one, in their order.
fn newest(texts: &[String], limit: usize, what: &str) -> String {
    let mut left = limit;
    let mut kept = Vec::new();
    for text in texts.iter().rev() {
        let text = format!("{}\n", cut(text, limit).trim_end());
        if !kept.is_empty() && text.len() > left {
            break;
        }
        left = left.saturating_sub(text.len());
        kept.push(text);
    }
    let missing = texts.len() - kept.len();
    if missing > 0 {
        kept.push(format!("{}\n", marks::own(&format!("{missing} older {what} left out"))));
    }
    kept.reverse();
    kept.concat()
}

fn plan(plan: &Plan, limit: usize) -> String {
    if plan.is_empty() { String::new() } else { cut(&marks::escape(&plan.render()), limit) }
}

fn steps(parts: &Parts<'_>) -> Vec<String> {
    let mut out = Vec::new();
    for item in parts.items {
        match item {
            Item::User(_) => {}
            Item::Assistant(message) => {
                let text = message.text();
                if !text.trim().is_empty() {
                    out.push(format!("You: {}", cut(&marks::escape(&text), STEP_BYTES)));
                }
                for call in message.tool_calls() {
                    let arguments = match &call.arguments {
                        ToolArguments::Object(object) => object.to_string(),
                        ToolArguments::Invalid { raw, .. } => marks::escape(raw).into_owned(),
                    };
                    out.push(format!("You called {} {}", call.name, cut(&arguments, STEP_BYTES)));
                }
            }
            Item::ToolResults { results, .. } => {
                for result in results {
                    let what = if result.is_error { "Error" } else { "Result" };
                    out.push(format!("{what}: {}", cut(&result.content, STEP_BYTES)));
                }
            }
        }
    }
    out
}

fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let note = marks::own(&format!("cut: {} bytes in all", text.len()));
    format!("{}\n{note}", start_of(text, bytes))
}

fn escaped(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| marks::escape(text).into_owned()).collect()
}
