//! Export as Markdown.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use cairn_core::{
    conversation::{
        AssistantMessage, Block, Item, Note, NoteKind, ToolArguments, ToolCall, ToolResult,
    },
    sanitize::visible,
    turn::Record,
};
use cairn_protocol::{
    ApprovalDecision, CallDecision, DecidedBy, EndReason, ItemStatus, PlanNotification,
    ToolNotification,
};

use super::Form;
use crate::{
    clock, shortened,
    store::sessions::{EndedLine, Header, Line, TurnLine},
};

#[derive(Default)]
pub(super) struct Markdown {
    turns: u32,
    /// Plan as it was written last.
    plan: String,
    /// Results of the open round. The item that closes the round repeats them.
    results: Vec<ToolResult>,
}

impl Form for Markdown {
    fn line(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        match line {
            Line::Session(header) => session(&header, out),
            Line::Turn(turn) => {
                self.turns += 1;
                self.turn(&turn, out)
            }
            Line::Step(_) | Line::Steps(_) => {
                line.records().iter().try_for_each(|record| self.record(record, out))
            }
            Line::Plan(plan) => self.plan(&plan, out),
            Line::Notice(notice) => writeln!(out, "*{}*\n", one_line(&notice.text)),
            Line::Ended(ended) => end(&ended, out),
            Line::Tool(call) => decision(&call, out),
            // The result of the call that started a subagent has its report.
            _ => Ok(()),
        }
    }

    fn end(&mut self, left_out: u64, out: &mut dyn Write) -> io::Result<()> {
        results(&self.results, out)?;
        if left_out > 0 {
            writeln!(out, "*{left_out} lines of the journal could not be read and are left out.*")?;
        }
        Ok(())
    }
}

impl Markdown {
    fn turn(
        &self,
        TurnLine { turn_id, task, attachments, .. }: &TurnLine,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        writeln!(out, "## Turn {} ({})\n", self.turns, code(turn_id))?;
        writeln!(out, "### User\n\n{}", fenced("text", task))?;
        if !attachments.is_empty() {
            let names: Vec<String> =
                attachments.iter().filter_map(|one| Some(code(one.name.as_ref()?))).collect();
            writeln!(out, "Attached: {}\n", names.join(", "))?;
        }
        Ok(())
    }

    fn record(&mut self, record: &Record, out: &mut dyn Write) -> io::Result<()> {
        match record {
            Record::Item(item) => {
                self.results.clear();
                self.item(item, out)
            }
            Record::Result(result) => {
                self.results.push(result.clone());
                Ok(())
            }
            Record::Shortened(shortened) => {
                writeln!(out, "*{}*\n", one_line(&shortened::english(shortened)))
            }
            Record::Begun { .. } | Record::Memo(_) => Ok(()),
        }
    }

    fn item(&self, item: &Item, out: &mut dyn Write) -> io::Result<()> {
        match item {
            // The turn has the text of the user; the rest of the message is for the model.
            Item::User(message) => notes(&message.notes, out),
            Item::Assistant(message) => assistant(message, out),
            Item::ToolResults { results: all, notes: after } => {
                results(all, out)?;
                notes(after, out)
            }
        }
    }

    fn plan(&mut self, plan: &PlanNotification, out: &mut dyn Write) -> io::Result<()> {
        let mut text = String::new();
        for item in &plan.items {
            let mark = match item.status {
                ItemStatus::Pending => ' ',
                ItemStatus::InProgress => '>',
                ItemStatus::Completed => 'x',
                ItemStatus::Cancelled => '-',
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "[{mark}] {}", one_line(&item.content));
        }
        if text == self.plan {
            return Ok(());
        }
        self.plan = text;
        let (done, all) = (plan.completed, plan.total);
        writeln!(out, "### Plan, {done} of {all} done\n\n{}", fenced("text", &self.plan))
    }
}

fn session(header: &Header, out: &mut dyn Write) -> io::Result<()> {
    let Header { session_id, surroundings, forked_from, .. } = header;
    writeln!(out, "# Session {}\n", code(session_id))?;
    writeln!(out, "- Began on {}", code(&surroundings.date))?;
    for folder in &surroundings.folders {
        writeln!(out, "- In {}", code(folder))?;
    }
    if let Some(from) = forked_from {
        let turn = from.turn_id.as_deref().map(|turn| format!(" after turn {}", code(turn)));
        writeln!(out, "- Forked from {}{}", code(&from.session_id), turn.unwrap_or_default())?;
    }
    writeln!(out)
}

fn assistant(message: &AssistantMessage, out: &mut dyn Write) -> io::Result<()> {
    for block in &message.blocks {
        let (what, language, text) = match block {
            Block::Text(text) => ("", "markdown", text.clone()),
            Block::Thinking { text, .. } => (", thinking", "text", text.clone()),
            Block::Reasoning { summary, .. } => (", thinking", "text", summary.join("\n\n")),
            Block::RedactedThinking(_) | Block::Returned { .. } => continue,
            Block::ToolCall(call) => {
                tool_call(call, out)?;
                continue;
            }
        };
        if !text.trim().is_empty() {
            writeln!(out, "### Assistant{what}\n\n{}", fenced(language, &text))?;
        }
    }
    Ok(())
}

fn tool_call(call: &ToolCall, out: &mut dyn Write) -> io::Result<()> {
    let (language, arguments) = match &call.arguments {
        ToolArguments::Object(value) => {
            ("json", serde_json::to_string_pretty(value).unwrap_or_default())
        }
        ToolArguments::Invalid { raw, .. } => ("text", raw.clone()),
    };
    let (name, id) = (code(&call.name), code(&call.id));
    writeln!(out, "### Call of {name} ({id})\n\n{}", fenced(language, &arguments))
}

/// Writes the decision about a call of the session itself.
fn decision(call: &ToolNotification, out: &mut dyn Write) -> io::Result<()> {
    let Some(CallDecision { decision, by, words, at }) =
        call.decision.as_deref().filter(|_| call.parent.is_none())
    else {
        return Ok(());
    };
    let what = match (decision, by) {
        (ApprovalDecision::Deny, DecidedBy::Nobody) => "denied: nobody could answer",
        (_, DecidedBy::Nobody) => "allowed by the options of the run",
        (_, DecidedBy::Rule) => "allowed by a rule",
        (_, DecidedBy::Session) => "allowed earlier for this session",
        (ApprovalDecision::AllowOnce, DecidedBy::Answer) => "allowed once",
        (ApprovalDecision::AllowSession, DecidedBy::Answer) => "allowed for this session",
        (ApprovalDecision::AllowAlways, DecidedBy::Answer) => "always allowed",
        (ApprovalDecision::AllowPattern, DecidedBy::Answer) => {
            "always allowed, with any further words"
        }
        (ApprovalDecision::Deny, DecidedBy::Answer) => "denied",
    };
    writeln!(out, "*{} was {what} ({}).*\n", code(&call.call_id), clock::utc(*at))?;
    match words {
        Some(words) => writeln!(out, "### User, with the answer\n\n{}", fenced("text", words)),
        None => Ok(()),
    }
}

fn results(results: &[ToolResult], out: &mut dyn Write) -> io::Result<()> {
    for ToolResult { call_id, content, is_error } in results {
        let what = if *is_error { "Error" } else { "Result" };
        writeln!(out, "### {what} of {}\n\n{}", code(call_id), fenced("text", content))?;
    }
    Ok(())
}

fn notes(notes: &[Note], out: &mut dyn Write) -> io::Result<()> {
    for note in notes {
        let title = match note.kind {
            NoteKind::Reminder => "Reminder to the model",
            NoteKind::Notice => "Told to the model",
            NoteKind::Steer => "User, meanwhile",
        };
        writeln!(out, "### {title}\n\n{}", fenced("text", &note.text))?;
    }
    Ok(())
}

fn end(line: &EndedLine, out: &mut dyn Write) -> io::Result<()> {
    let EndedLine { reason, open_items, unchecked_edits, .. } = line;
    let reason = match reason {
        EndReason::Completed => "completed",
        EndReason::NeedsInput => "with a question",
        EndReason::Cancelled => "cancelled",
        EndReason::Failed => "failed",
        EndReason::Limit => "at a limit",
        EndReason::Interrupted => "interrupted",
    };
    let unchecked =
        if *unchecked_edits { " No check has succeeded since the last edit." } else { "" };
    writeln!(out, "*The turn ended: {reason}. Open items: {open_items}.{unchecked}*\n")
}

/// Puts a text into a fence longer than any in the text, with a line break at the end.
pub(super) fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let text = visible(text);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

fn code(text: &str) -> String {
    let text = one_line(text);
    let fence = "`".repeat(longest_run(&text) + 1);
    // Without a space, a backtick at either end would belong to the fence.
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

fn one_line(text: &str) -> String {
    visible(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn longest_run(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for character in text.chars() {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
