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

    /// Failure of a call whose start could not be saved.
    pub(crate) fn unsaved(reason: &str) -> Self {
        Self::Tell(format!(
            "Nothing was done: the session cannot be saved ({reason}), and nothing is changed until it can. Tell the user."
        ))
    }
}

/// Runs blocking work on a blocking thread.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolFailure> {
    tokio::task::spawn_blocking(work).await.map_err(|error| ToolFailure::Fatal(error.into()))
}
