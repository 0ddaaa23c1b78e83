//! Plan of a session, with the work under its items.

use macro_rules_attribute::apply;

use crate::{ToolState, UiMessage};

/// Plan of a session.
#[apply(wire)]
pub struct PlanNotification {
    pub session_id: String,
    pub turn_id: String,
    pub rev: u32,
    pub panel: Panel,
    pub items: Vec<PlanItem>,
    pub completed: u32,
    pub total: u32,
    /// Text of open items that the newest update omitted.
    pub dropped: Vec<String>,
}

#[apply(wire)]
#[derive(Copy)]
pub enum Panel {
    Expanded,
    Collapsed,
    Hidden,
}

#[apply(wire)]
#[derive(Default)]
pub struct PlanItem {
    /// Stable across replacements of the list.
    pub id: String,
    pub content: String,
    pub active_form: String,
    pub status: ItemStatus,
    /// The model marked it as blocked, or it waits for an open item of a task graph.
    pub blocked: bool,
    /// Ids of the open items it waits for (task graph only).
    pub blocked_by: Vec<String>,
    /// Files changed under this item, in the order of the first change.
    pub files: Vec<LinkedFile>,
    /// Commands run under this item, oldest first; at most the newest 50.
    pub commands: Vec<LinkedCommand>,
    /// Tool calls made under this item, without calls of the planning tool. A completed item
    /// without any was only declared done.
    pub calls: u32,
    /// Milliseconds in progress. The client adds the time since the notification for the item in
    /// progress.
    #[ts(type = "number")]
    pub elapsed_ms: u64,
}

/// File that the agent changed under a plan item.
#[apply(wire)]
pub struct LinkedFile {
    pub uri: String,
    /// Path relative to the workspace, with `/`.
    pub path: String,
}

/// Command that the agent ran under a plan item.
#[apply(wire)]
pub struct LinkedCommand {
    pub call_id: String,
    /// Title, such as `Run npm test`.
    pub title: Box<UiMessage>,
    pub state: ToolState,
    /// Duration, once it ended.
    #[ts(optional, type = "number")]
    pub elapsed_ms: Option<u64>,
}

#[apply(wire)]
#[derive(Copy, Default)]
pub enum ItemStatus {
    #[default]
    Pending,
    InProgress,
    Completed,
    /// Given up by the model. Neither `completed` nor `total` counts it.
    Cancelled,
}
