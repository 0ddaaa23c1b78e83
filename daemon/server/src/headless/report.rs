//! Output of a run, for people or for programs.

use std::{path::PathBuf, time::Duration};

use cairn_protocol::{EndReason, FileKind, Notice, ToolKind, ToolNotification, ToolState, Usage};
use serde::Serialize;

/// Output of a run. Implementations write at once and ignore a closed pipe: its reader wants no more.
pub(super) trait Report: Send {
    /// The first turn is about to begin.
    fn begins(&mut self, start: RunStart);
    fn notice(&mut self, notice: &Notice);
    fn warning(&mut self, text: &str);
    /// A question was answered with no, because nobody can answer and no option allows it.
    fn declined(&mut self, title: &str, reason: &str);
    fn changed(&mut self, file: &ChangedFile);
    /// The last turn is over; the changes follow.
    fn ended(&mut self, end: &RunEnd);
    /// The last words of the run: what it took, and the command that continues it.
    fn spent(&mut self, end: &RunEnd);
    /// The run could not begin or continue.
    fn failed(&mut self, reason: &str, exit_code: u8);
    /// Clears what moves on the terminal, before a question.
    fn pause(&mut self);
}

#[derive(Debug, Default)]
pub(super) struct RunStart {
    pub(super) workspace: PathBuf,
    pub(super) model: String,
}

/// File that the run changed.
#[derive(Debug, Serialize)]
pub(super) struct ChangedFile {
    /// Path relative to the workspace folder, with `/`.
    pub(super) path: String,
    /// Former path of a moved file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<String>,
    pub(super) kind: FileKind,
    pub(super) added: usize,
    pub(super) removed: usize,
    /// Unified diff. `None`: the file may hold secrets, so its lines are not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) patch: Option<String>,
}

/// End of a run and what it took.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunEnd {
    #[serde(flatten)]
    pub(super) turn: TurnEnd,
    pub(super) exit_code: u8,
    /// Session that can be continued. `None`: it is not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<String>,
    /// Command that continues the session with other words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resume: Option<String>,
}

/// End of one turn, or with the sums over all turns that of a run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TurnEnd {
    pub(super) reason: EndReason,
    /// Last text of the agent, or the failure and the next step.
    pub(super) summary: String,
    pub(super) open_items: u32,
    /// No command has checked the last edit of the last turn with success.
    pub(super) unchecked_edits: bool,
    #[serde(flatten)]
    pub(super) spent: Spent,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spent {
    pub(super) elapsed_ms: u64,
    pub(super) usage: Usage,
    /// `None`: a price is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cost_micros: Option<u64>,
}

/// True for calls that take time, whose start is worth a separate line.
pub(super) fn takes_time(call: &ToolNotification) -> bool {
    matches!(call.tool_kind, Some(ToolKind::Run) | None)
}

/// Time that a call ran, in milliseconds.
pub(super) fn elapsed_ms(call: &ToolNotification) -> Option<u64> {
    Some(call.ended_at?.saturating_sub(call.started_at?))
}

/// True if a call ended without its effect, or a command with another exit code than 0.
pub(super) fn has_failed(call: &ToolNotification) -> bool {
    let code = call.stats.and_then(|stats| stats.exit_code);
    call.state == ToolState::Failed || code.is_some_and(|code| code != 0)
}

/// Time for people: `40 ms`, `3.2 s`, `12 s`, `2 min 5 s`.
pub(super) fn time(elapsed: Duration) -> String {
    let (seconds, tenths) = (elapsed.as_secs(), elapsed.subsec_millis() / 100);
    match seconds {
        0 if tenths == 0 => format!("{} ms", elapsed.as_millis()),
        0..10 => format!("{seconds}.{tenths} s"),
        10..60 => format!("{seconds} s"),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// Cost for people, from millionths of a dollar: `$0.0123`, `$4.20`.
pub(super) fn dollars(micros: u64) -> String {
    let dollars = micros as f64 / 1_000_000.0;
    if dollars < 1.0 { format!("${dollars:.4}") } else { format!("${dollars:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_costs_are_short() {
        for (ms, expected) in
            [(40, "40 ms"), (3_249, "3.2 s"), (12_900, "12 s"), (125_000, "2 min 5 s")]
        {
            assert_eq!(time(Duration::from_millis(ms)), expected);
        }
        assert_eq!((dollars(12_345).as_str(), dollars(4_200_000).as_str()), ("$0.0123", "$4.20"));
    }
}
