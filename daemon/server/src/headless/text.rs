//! Output of a run for people: plain lines in a pipe, colours and a moving line on a terminal.
//!
//! Plan, calls, text and diff go to standard output; questions, warnings and the summary to standard
//! error. With `--quiet` only the last answer and the diff are written.

use std::{
    collections::HashSet,
    io::{IsTerminal, Write},
    time::Duration,
};

use cairn_core::sanitize::visible as printable;
use cairn_protocol::{
    BannerKind, Connection, EndReason, ItemStatus, MessageNotification, MessageRole, Notice,
    PlanNotification, SubagentPhase, ToolKind, ToolNotification, ToolState, TurnPhase, Usage,
};
use console::{Style, style};
use indicatif::HumanCount;

use super::{
    report::{
        ChangedFile, Report, RunEnd, RunStart, dollars, elapsed_ms, has_failed, takes_time, time,
    },
    settings::in_words_of_run,
    spinner::Spinner,
};
use crate::secrets::{self, CleanStderr};

/// Last lines of the output of a failed command that are printed.
const TAIL_LINES: usize = 10;
/// First lines of the reason of another failed call that are printed.
const REASON_LINES: usize = 3;
/// Longest such line, in characters.
const LINE_CHARS: usize = 300;
/// Shortest time of a call that is worth a word.
const SHORTEST: Duration = Duration::from_millis(100);

const THINKING: &str = "Thinking";

pub(super) struct TextReport {
    quiet: bool,
    /// Text of the agent has a bar, so that it cannot look like a question of Cairn.
    barred: bool,
    spinner: Spinner,
    /// Message whose deltas are being printed.
    streaming: Option<String>,
    plan: String,
    /// Texts of the open items of the plan.
    open: Vec<String>,
    /// Banners that were printed.
    banners: HashSet<String>,
    /// Calls that run, with their titles, oldest first.
    running: Vec<(String, String)>,
}

impl TextReport {
    pub(super) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            barred: std::io::stdout().is_terminal(),
            spinner: Spinner::new(),
            streaming: None,
            plan: String::new(),
            open: Vec::new(),
            banners: HashSet::new(),
            running: Vec::new(),
        }
    }

    fn print(&mut self, text: &str) {
        let text = secrets::redactor().text(text).into_owned();
        self.spinner.write(&text, |text| {
            let mut out = std::io::stdout().lock();
            // A closed pipe: its reader wants no more.
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        });
    }

    fn complain(&mut self, text: &str) {
        let line = format!("{text}\n");
        self.spinner.write(&line, |line| drop(CleanStderr.write_all(line.as_bytes())));
    }

    fn message(&mut self, message: &MessageNotification) {
        let first = self.streaming.as_deref() != Some(&message.item_id);
        let text =
            if first { message.text.as_ref().unwrap_or(&message.delta) } else { &message.delta };
        let out = match message.role {
            MessageRole::Assistant if first => format!("\n{text}"),
            MessageRole::Assistant => text.clone(),
            MessageRole::Notice => format!("\n{}\n", in_words_of_run(text)),
            MessageRole::User | MessageRole::Thinking | MessageRole::Reminder => return,
        };
        self.streaming = message.text.is_none().then(|| message.item_id.clone());
        let end = if message.text.is_some() { "\n" } else { "" };
        let mut out = printable(&out);
        if self.barred && message.role == MessageRole::Assistant {
            out = out.replace('\n', "\n│ ");
        }
        self.print(&format!("{out}{end}"));
    }

    fn plan(&mut self, plan: &PlanNotification) {
        let mut out = format!("\nPlan {}/{}\n", plan.completed, plan.total);
        for item in &plan.items {
            let (mark, label) = match item.status {
                ItemStatus::Pending => (' ', &item.content),
                ItemStatus::InProgress => ('>', &item.active_form),
                ItemStatus::Completed => ('x', &item.content),
                ItemStatus::Cancelled => ('-', &item.content),
            };
            out.push_str(&format!("  [{mark}] {}\n", printable(label)));
        }
        if self.plan != out {
            self.plan.clone_from(&out);
            self.print(&out);
        }
    }

    fn call(&mut self, call: &ToolNotification) {
        let known = self.running.iter().any(|(id, _)| *id == call.call_id);
        if call.state == ToolState::Running && !known {
            self.running.push((call.call_id.clone(), printable(&call.title.english())));
            if takes_time(call) {
                self.print(&format!("{}  > {}\n", indent(call), printable(&call.title.english())));
            }
        } else if call.state.is_over() {
            self.running.retain(|(id, _)| *id != call.call_id);
            self.print(&ended(call));
        }
        self.show_wait();
    }

    fn show_wait(&mut self) {
        let newest = self.running.last().map(|(_, title)| title.clone());
        self.spinner.wait_for(Some(newest.unwrap_or_else(|| THINKING.to_owned())));
    }
}

fn indent(call: &ToolNotification) -> &'static str {
    if call.parent.is_some() { "    " } else { "" }
}

/// Line about a call that is over; of a failed one with the reason or the end of its output.
fn ended(call: &ToolNotification) -> String {
    let failed = has_failed(call);
    let end = match call.state {
        ToolState::Declined => "declined",
        ToolState::Cancelled => "stopped",
        _ if failed => "failed",
        _ => "done",
    };
    let code = call.stats.and_then(|stats| stats.exit_code).filter(|code| *code != 0);
    let took = elapsed_ms(call).map(Duration::from_millis).filter(|took| *took >= SHORTEST);
    let facts = [
        Some(if failed { style(end).red().to_string() } else { end.to_owned() }),
        code.map(|code| format!("exit code {code}")),
        took.map(time),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let indent = indent(call);
    let mut out =
        format!("{indent}  - {} ({})\n", printable(&call.title.english()), facts.join(", "));
    if failed {
        for line in shown_lines(call) {
            out.push_str(&format!("{indent}      {}\n", style(line).dim()));
        }
    }
    out
}

/// The end of a command's output, or the beginning of another call's reason.
fn shown_lines(call: &ToolNotification) -> Vec<String> {
    let detail = printable(call.detail.as_deref().unwrap_or_default());
    let is_command = call.tool_kind == Some(ToolKind::Run);
    let lines: Vec<&str> = detail
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with("[cairn] "))
        .collect();
    let lines = if is_command {
        &lines[lines.len().saturating_sub(TAIL_LINES)..]
    } else {
        &lines[..lines.len().min(REASON_LINES)]
    };
    lines.iter().map(|line| line.chars().take(LINE_CHARS).collect()).collect()
}

impl Report for TextReport {
    fn begins(&mut self, _: RunStart) {
        if !self.quiet {
            self.show_wait();
        }
    }

    fn notice(&mut self, notice: &Notice) {
        if let Notice::Status(status) = notice {
            // A script plays only where the user asked for it.
            for banner in status.banners.iter().filter(|it| it.kind != BannerKind::Replay) {
                let text = banner.message.english();
                if self.banners.insert(text.clone()) {
                    self.warning(&text);
                }
            }
        }
        if let Notice::Plan(plan) = notice {
            let is_open = |status| matches!(status, ItemStatus::Pending | ItemStatus::InProgress);
            let open = plan.items.iter().filter(|item| is_open(item.status));
            self.open = open.map(|item| printable(&item.content)).collect();
        }
        if self.quiet {
            return;
        }
        match notice {
            Notice::Plan(plan) => self.plan(plan),
            Notice::Message(message) => self.message(message),
            Notice::Tool(call) => self.call(call),
            Notice::Status(status) => {
                if let Connection::Retrying { delay_ms, reason, .. } = &status.connection {
                    let seconds = delay_ms.div_ceil(1000);
                    let reason = printable(&reason.english());
                    self.print(&format!("\n  - {reason}: asking again in {seconds} s\n"));
                }
            }
            Notice::Subagent(subagent) => {
                // Print a subagent once; its end is the end of its parent's call.
                let began = subagent.rounds == 0 && subagent.usage == Usage::default();
                if subagent.phase == SubagentPhase::Running && began && subagent.total == 0 {
                    self.print(&format!("  - Task: {} (started)\n", printable(&subagent.title)));
                }
            }
            Notice::Turn(turn) => {
                if let TurnPhase::Ended { .. } = turn.phase {
                    self.spinner.wait_for(None);
                }
            }
            _ => {}
        }
    }

    fn warning(&mut self, text: &str) {
        self.complain(&format!("cairn: {}", printable(&in_words_of_run(text))));
    }

    fn declined(&mut self, title: &str, reason: &str) {
        self.complain(&format!("cairn: declined, as {reason}: {}", printable(title)));
    }

    fn changed(&mut self, file: &ChangedFile) {
        let Some(patch) = &file.patch else {
            let ChangedFile { path, added, removed, .. } = file;
            let path = printable(path);
            let why = "its lines are not shown, because the file may hold secrets";
            return self.print(&format!("\n{path} changed (+{added} -{removed}); {why}\n"));
        };
        // A pipe may lead to `git apply`, which needs the exact bytes; a terminal would interpret
        // control characters.
        if std::io::stdout().is_terminal() {
            let lines: String = printable(patch).split_inclusive('\n').map(coloured).collect();
            self.print(&format!("\n{lines}"));
        } else {
            self.print(&format!("\n{patch}"));
        }
    }

    fn ended(&mut self, end: &RunEnd) {
        self.spinner.wait_for(None);
        let summary = printable(&end.turn.summary);
        match end.turn.reason {
            // Its answer or question was printed already.
            EndReason::Completed | EndReason::NeedsInput if !self.quiet => {}
            EndReason::Completed | EndReason::NeedsInput => self.print(&format!("{summary}\n")),
            _ => self.print(&format!("\n{summary}\n")),
        }
        let left = left(end, &self.open);
        if !left.is_empty() {
            self.complain(&format!("\n{left}"));
        }
    }

    fn failed(&mut self, reason: &str, _: u8) {
        self.spinner.wait_for(None);
        self.complain(&format!("cairn: {}", printable(&in_words_of_run(reason))));
    }

    fn spent(&mut self, end: &RunEnd) {
        if !self.quiet {
            let spent = spent(end);
            self.complain(&style(spent).for_stderr().dim().to_string());
        }
        match (&end.resume, end.turn.reason) {
            (Some(command), EndReason::NeedsInput) => {
                self.complain(&format!("To answer: {command} \"YOUR ANSWER\""));
            }
            (Some(command), _) if !self.quiet => {
                self.complain(&format!("To go on: {command} \"MORE WORDS\""));
            }
            (Some(_) | None, _) => {}
        }
    }

    fn pause(&mut self) {
        self.spinner.clear();
    }
}

/// Lines about the work that the end leaves; empty if it leaves none.
fn left(end: &RunEnd, open: &[String]) -> String {
    let mut lines = Vec::new();
    match end.turn.open_items {
        0 => {}
        1 => lines.push("1 plan item is open:".to_owned()),
        items => lines.push(format!("{items} plan items are open:")),
    }
    if end.turn.open_items > 0 {
        lines.extend(open.iter().map(|item| format!("  - {item}")));
    }
    if end.turn.unchecked_edits {
        lines.push("No test, build or check has succeeded since the last edit.".to_owned());
    }
    lines.join("\n")
}

/// One line about time, tokens and cost.
fn spent(end: &RunEnd) -> String {
    let Usage { input_tokens, output_tokens, cached_tokens } = end.turn.spent.usage;
    let mut out = format!("\nTime: {}", time(Duration::from_millis(end.turn.spent.elapsed_ms)));
    if input_tokens + output_tokens > 0 {
        let (input, cached) = (HumanCount(input_tokens), HumanCount(cached_tokens));
        out.push_str(&format!(
            ", tokens: {input} in ({cached} cached), {} out",
            HumanCount(output_tokens)
        ));
    }
    if let Some(cost) = end.turn.spent.cost_micros {
        out.push_str(&format!(", cost: {}", dollars(cost)));
    }
    out
}

fn coloured(line: &str) -> String {
    let colour = match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Style::new().bold(),
        [b'+', ..] => Style::new().green(),
        [b'-', ..] => Style::new().red(),
        [b'@', ..] => Style::new().cyan(),
        _ => Style::new(),
    };
    let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
    format!("{}{end}", colour.apply_to(text))
}
