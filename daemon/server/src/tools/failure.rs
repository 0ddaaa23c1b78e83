//! Failure of a tool call.

#[derive(Debug, thiserror::Error)]
pub enum ToolFailure {
    /// Failure that the model can handle; the turn continues.
    #[error("{0}")]
    Tell(String),
    /// Failure of Cairn itself; the turn fails.
    #[error("{0:#}")]
    Fatal(anyhow::Error),
}

impl ToolFailure {
    pub(super) fn tell(message: impl ToString) -> Self {
        Self::Tell(message.to_string())
    }
}
