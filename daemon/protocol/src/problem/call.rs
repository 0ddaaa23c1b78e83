//! Codes of tool calls.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::CodeRow;
use crate::Need;

codes! {
    /// Title of a tool call. The words of the model are its arguments, of bounded length. Since 1.3. A later version may add codes.
    ToolLabel {
        Read { file: String },
        FindFiles { pattern: String },
        FindFilesIn { pattern: String, folder: String },
        Search { pattern: String },
        SearchIn { pattern: String, place: String },
        EditFile { file: String },
        WriteFile { file: String },
        DeleteFile { file: String },
        MoveFile { from: String, to: String },
        Run { command: String, needs: Vec<Need> },
        Ask { question: String },
        Subagent { title: String },
        /// A call that replaced the plan.
        UpdatePlan,
        AddTask { subject: String },
        ViewTask { task: u32 },
        ViewTasks,
        StartTask { task: u32 },
        CompleteTask { task: u32 },
        UpdateTask { task: u32 },
        /// A call that names no task.
        UpdateTasks,
        /// Since 1.4, like those below.
        ReadProcess { process: u32 },
        SendInput { process: u32, text: String },
        StopProcess { process: u32 },
        NotRun { tool: String },
    }
}
