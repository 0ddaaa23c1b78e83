//! Parts of the tools for processes: access to a process, and the words about its state.

use cairn_core::{
    marks::ModelText,
    process::{ProcessEntry, ProcessExit, ProcessId, ProcessState, Start, StoppedBy},
};

use super::{ToolContext, ToolFailure};
use crate::{
    clock,
    exec::sandbox::{quarantine_english, shown_path},
    processes::{Command, GoesOn, ProcessHandle, Progress},
};

/// Makes a command a process of the session. An error if as many run as may; then the command ends.
pub(super) fn keep(
    start: Start,
    command: Command,
    context: &ToolContext,
) -> Result<(StartedProcess, GoesOn), ()> {
    let session = &context.origin.session;
    let (id, process, goes_on) = context.processes.keep(command, session, start).ok_or(())?;
    Ok((StartedProcess { id, process }, goes_on))
}

pub(super) struct StartedProcess {
    id: ProcessId,
    process: ProcessHandle,
}

/// Adds the first output of a process and the words about it. Returns the text for people.
pub(super) fn report_start(
    StartedProcess { id, process }: &StartedProcess,
    reason: String,
    content: &mut ModelText,
) -> Option<String> {
    let progress = process.read(None);
    let mut detail = ModelText::default();
    for text in [&mut *content, &mut detail] {
        add_output(&progress, process, text);
        text.own(&format!(
            "{reason} as process {id}: process_output reads it, process_stop ends it; it ends with the session"
        ));
        if let Some(log) = process.log() {
            text.own(&log);
        }
    }
    Some(detail.into())
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
pub(super) fn add_output(progress: &Progress, process: &ProcessHandle, out: &mut ModelText) {
    if progress.missed > 0 {
        let log = process.log().map(|log| format!("; {log}")).unwrap_or_default();
        out.own(&format!("… {} bytes left out{log} …", progress.missed));
    }
    out.add(&progress.text);
}

/// Adds the state of a process.
pub(super) fn add_state(
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
        ProcessState::Ended(exit) => format!("process {id} {}", ended(exit)),
    };
    out.own(&format!("{state}; output read up to {}", progress.end));
    if let Some(left) = process.left()
        && let Some(folder) = left.folder()
    {
        let lines = quarantine_english::lines(&left.entries(shown_path)).join("\n");
        out.own(&format!(
            "it made or changed protected files, which are in {} now:\n{lines}",
            folder.display()
        ));
    }
}

fn ended(exit: ProcessExit) -> String {
    match exit {
        ProcessExit::Code(code) => format!("ended with exit code {code}"),
        ProcessExit::Signal(signal) => format!("was ended by signal {signal}"),
        ProcessExit::Stopped(StoppedBy::Agent) => "was stopped by you".to_owned(),
        ProcessExit::Stopped(StoppedBy::User) => "was stopped by the user".to_owned(),
        ProcessExit::Stopped(StoppedBy::Turn) => "was ended with its turn".to_owned(),
        ProcessExit::TooManyProcesses => {
            "was ended: it had started more than a thousand processes".to_owned()
        }
        ProcessExit::Lost => "was ended by a fault of Cairn".to_owned(),
    }
}
