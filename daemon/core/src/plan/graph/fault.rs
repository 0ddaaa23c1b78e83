//! Faults of a task call, each with its field and a text for the model.

use std::fmt;

use crate::plan::{FaultKind, Faults, PlanFault, Status};

/// Maximum number of listed faults; more are only counted, to limit the text for the model.
const LISTED: usize = 40;

/// All faults of one call, formatted as the error for the model.
#[derive(Debug, Clone, PartialEq, Eq, Default, thiserror::Error)]
pub struct TaskFaults(Vec<TaskFault>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFault {
    /// Field of the arguments; empty for the call as a whole.
    pub field: String,
    /// Index in a list of ids.
    pub index: Option<usize>,
    pub kind: TaskFaultKind,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskFaultKind {
    #[error(transparent)]
    Value(#[from] FaultKind),
    #[error("there is no such field; the fields are {}", .known.join(", "))]
    UnknownField { known: Vec<&'static str> },
    #[error("there is no task #{id}")]
    UnknownTask { id: u32 },
    #[error("#{id} cannot wait for itself")]
    SelfBlocking { id: u32 },
    /// Path of the cycle; its first and last ids are the same.
    #[error("would make a circle: {}", numbered(.path, " waits for "))]
    Circle { path: Vec<u32> },
    #[error("it still waits for {}", numbered(.by, ", "))]
    Blocked { by: Vec<u32> },
    #[error("#{id} is already {}, so it cannot wait for an open task; set it back to pending first", in_words(*.status))]
    AlreadyBegun { id: u32, status: Status },
    #[error("the list has {} tasks, and more are not kept", super::MAX_TASKS)]
    ListFull,
}

impl From<Faults> for TaskFaults {
    fn from(faults: Faults) -> Self {
        let field = |fault: &PlanFault| fault.field.unwrap_or_default().to_owned();
        let all = faults.iter().map(|fault| TaskFault {
            field: field(fault),
            index: fault.index,
            kind: fault.kind.clone().into(),
        });
        Self(all.collect())
    }
}

impl TaskFaults {
    pub fn iter(&self) -> impl Iterator<Item = &TaskFault> {
        self.0.iter()
    }

    /// The value, if there are no faults.
    pub(super) fn or<T>(&self, value: T) -> Result<T, TaskFaults> {
        if self.0.is_empty() { Ok(value) } else { Err(self.clone()) }
    }

    /// Adds a fault, unless its field has one already, because later faults usually follow from the
    /// first.
    pub(super) fn push(&mut self, field: &str, index: Option<usize>, kind: TaskFaultKind) {
        if !self.0.iter().any(|fault| fault.field == field && fault.index == index) {
            self.0.push(TaskFault { field: field.to_owned(), index, kind });
        }
    }
}

impl fmt::Display for TaskFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.field)?;
        if let Some(index) = self.index {
            write!(f, "[{index}]")?;
        }
        if !self.field.is_empty() {
            write!(f, ": ")?;
        }
        write!(f, "{}", self.kind)
    }
}

impl fmt::Display for TaskFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Nothing was changed, because of:")?;
        for fault in self.0.iter().take(LISTED) {
            writeln!(f, "- {fault}")?;
        }
        if self.0.len() > LISTED {
            writeln!(f, "- and {} more", self.0.len() - LISTED)?;
        }
        write!(f, "Correct this and make the call again.")
    }
}

fn numbered(ids: &[u32], between: &str) -> String {
    ids.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(between)
}

pub(super) fn in_words(status: Status) -> &'static str {
    match status {
        Status::Pending => "pending",
        Status::InProgress => "in progress",
        Status::Completed => "completed",
        Status::Cancelled => "cancelled",
    }
}
