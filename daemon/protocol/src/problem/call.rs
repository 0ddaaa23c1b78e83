//! Codes of tool calls.

use serde::{Deserialize, Serialize};

use super::{ActionId, CodeRow, Coded, UiArgument, UiMessage, message::Argument};
use crate::Need;

codes! {
    /// Title of a tool call. The words of the model are its arguments, of bounded length. A later version may add codes.
    ToolLabel {
        Read { file: String } = "Read {file}";
        FindFiles { pattern: String } = "Find {pattern}";
        FindFilesIn { pattern: String, folder: String } = "Find {pattern} in {folder}";
        Search { pattern: String } = "Search {pattern}";
        SearchIn { pattern: String, place: String } = "Search {pattern} in {place}";
        EditFile { file: String } = "Edit {file}";
        WriteFile { file: String } = "Write {file}";
        DeleteFile { file: String } = "Delete {file}";
        MoveFile { from: String, to: String } = "Move {from} to {to}";
        Run { command: String, needs: Vec<Need> } = [
            "Run {command}",
            "Run {command} (with network access)",
            "Run {command} (may change .git)",
            "Run {command} (with network access, may change .git)",
        ] at access(needs);
        Ask { question: String } = "Ask {question}";
        Subagent { title: String } = "Task: {title}";
        /// A call that replaced the plan.
        UpdatePlan = "Update the plan";
        AddTask { subject: String } = "Add task: {subject}";
        ViewTask { task: u32 } = "Look at task #{task}";
        ViewTasks = "Look at the tasks";
        StartTask { task: u32 } = "Start task #{task}";
        CompleteTask { task: u32 } = "Complete task #{task}";
        UpdateTask { task: u32 } = "Update task #{task}";
        /// A call that names no task.
        UpdateTasks = "Update the tasks";
        ReadProcess { process: u32 } = "Read process {process}";
        SendInput { process: u32, text: String } = "Type into process {process}: {text}";
        StopProcess { process: u32 } = "Stop process {process}";
        /// A call whose arguments are not read yet, or one of an earlier version: its title.
        Named { title: String } = "{title}";
        NotRun { tool: String } = "{tool} was not run";
    }
}

/// Form of a text that names the access of a command: none, the network, `.git`, or both.
pub(super) fn access(needs: &[Need]) -> usize {
    usize::from(needs.contains(&Need::Network)) + 2 * usize::from(needs.contains(&Need::Git))
}
