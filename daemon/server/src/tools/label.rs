//! Titles of calls in English, for clients without texts of their own.

use cairn_protocol::{Need, ToolLabel};

/// Longest part of a title that the model wrote, in characters.
const MAX_PART_CHARS: usize = 80;

/// Text of the model as a part of a title: one line, cut.
pub(crate) fn short(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = line.char_indices().nth(MAX_PART_CHARS) {
        line.truncate(cut);
        line.push('…');
    }
    line
}

/// Title for people, one line: `Read src/cart.mjs`, `Run npm test`.
pub(crate) fn english(label: &ToolLabel) -> String {
    match label {
        ToolLabel::Read { file } => format!("Read {file}"),
        ToolLabel::FindFiles { pattern } => format!("Find {pattern}"),
        ToolLabel::FindFilesIn { pattern, folder } => format!("Find {pattern} in {folder}"),
        ToolLabel::Search { pattern } => format!("Search {pattern}"),
        ToolLabel::SearchIn { pattern, place } => format!("Search {pattern} in {place}"),
        ToolLabel::EditFile { file } => format!("Edit {file}"),
        ToolLabel::WriteFile { file } => format!("Write {file}"),
        ToolLabel::DeleteFile { file } => format!("Delete {file}"),
        ToolLabel::MoveFile { from, to } => format!("Move {from} to {to}"),
        ToolLabel::Run { command, needs } => {
            let has = |need| needs.contains(&need);
            let granted = match (has(Need::Network), has(Need::Git)) {
                (false, false) => "",
                (true, false) => " (with network access)",
                (false, true) => " (may change .git)",
                (true, true) => " (with network access, may change .git)",
            };
            format!("Run {command}{granted}")
        }
        ToolLabel::Ask { question } => format!("Ask {question}"),
        ToolLabel::Subagent { title } => format!("Task: {title}"),
        ToolLabel::UpdatePlan => "Update the plan".to_owned(),
        ToolLabel::AddTask { subject } => format!("Add task: {subject}"),
        ToolLabel::ViewTask { task } => format!("Look at task #{task}"),
        ToolLabel::ViewTasks => "Look at the tasks".to_owned(),
        ToolLabel::StartTask { task } => format!("Start task #{task}"),
        ToolLabel::CompleteTask { task } => format!("Complete task #{task}"),
        ToolLabel::UpdateTask { task } => format!("Update task #{task}"),
        ToolLabel::UpdateTasks => "Update the tasks".to_owned(),
        ToolLabel::ReadProcess { process } => format!("Read process {process}"),
        ToolLabel::SendInput { process, text } => {
            format!("Type into process {process}: {text}")
        }
        ToolLabel::StopProcess { process } => format!("Stop process {process}"),
        ToolLabel::NotRun { tool } => format!("{tool} was not run"),
    }
}
