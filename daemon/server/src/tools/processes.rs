//! Parts of the tools for processes: access to a process, and the words about its state.

use cairn_core::{
    marks::ModelText,
    process::{ProcessEntry, ProcessId, ProcessState},
};

use super::{Arguments, ToolContext, ToolFailure, ToolOutput};
use crate::{
    clock,
    processes::{ProcessHandle, Progress},
};

/// Adds the first output of a process, the words about it, and hints about what the output names. Returns the text for
/// people.
pub(super) fn report_start(
    (id, process): (ProcessId, &ProcessHandle),
    reason: String,
    hints: impl Fn(&str) -> Vec<&'static str>,
    content: &mut ModelText,
) -> Option<String> {
    let progress = process.read(None);
    let hints = hints(&progress.text);
    let mut detail = ModelText::default();
    for text in [&mut *content, &mut detail] {
        add_output(&progress, process, text);
        text.own(&format!(
            "{reason} as process {id}: process_output reads it, process_stop ends it; it ends with the session"
        ));
        if let Some(log) = process.log() {
            text.own(&log);
        }
        hints.iter().for_each(|hint| text.own(hint));
    }
    Some(detail.into())
}

/// Reads the id of a process. A number that no process has is answered as such later.
pub(super) fn id_argument(arguments: &Arguments) -> ProcessId {
    let id = arguments.count("id").and_then(|id| ProcessId::try_from(id).ok());
    id.unwrap_or(ProcessId::MAX)
}

/// Result of a call about a process: its output from a position on, by default what was not read yet, the
/// notes, and its state.
pub(super) fn report(
    id: ProcessId,
    since: Option<u64>,
    notes: &[String],
    context: &ToolContext,
) -> Result<(ProcessEntry, ToolOutput), ToolFailure> {
    // The state first: if the process has ended, what is read then is all.
    let (entry, process) = find(id, context)?;
    let progress = process.read(since);
    let mut content = ModelText::default();
    add_output(&progress, &process, &mut content);
    notes.iter().for_each(|note| content.own(note));
    add_state(&entry, &progress, &process, &mut content);
    if !entry.is_running() {
        context.processes.end_told(&context.origin.session, id);
    }
    let detail = Some(content.as_str().to_owned());
    Ok((entry, ToolOutput { content, detail, ..ToolOutput::default() }))
}

/// Finds a process, or says which there are.
pub(super) fn find(
    id: ProcessId,
    context: &ToolContext,
) -> Result<(ProcessEntry, ProcessHandle), ToolFailure> {
    let session = &context.origin.session;
    context.processes.get(session, id).ok_or_else(|| {
        let ids = context.processes.ids(session);
        let known = match ids.as_slice() {
            [] => "there is none in this session".to_owned(),
            ids => {
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                format!("known are {}", ids.join(", "))
            }
        };
        ToolFailure::Tell(format!(
            "There is no process {id}: {known}. Processes end with the session or with Cairn."
        ))
    })
}

/// Adds output, with a word about what is missing before it.
fn add_output(progress: &Progress, process: &ProcessHandle, out: &mut ModelText) {
    if progress.missed > 0 {
        let log = process.log().map(|log| format!("; {log}")).unwrap_or_default();
        out.own(&format!("… {} bytes left out{log} …", progress.missed));
    }
    out.add(&progress.text);
}

/// Adds the state of a process.
fn add_state(
    entry: &ProcessEntry,
    progress: &Progress,
    process: &ProcessHandle,
    out: &mut ModelText,
) {
    let id = entry.id;
    let state = match entry.state {
        ProcessState::Running { stopping } => {
            let since = clock::now_ms().saturating_sub(entry.start.started_at) / 1000;
            let stopping = if stopping.is_some() { ", and is being ended" } else { "" };
            format!("process {id} runs, for {since} s{stopping}")
        }
        ProcessState::Ended(exit) => format!("process {id} {}", exit.words()),
    };
    out.own(&format!("{state}; output read up to {}", progress.end));
    process.take_told().iter().for_each(|text| out.own(text));
}
