//! Services that sessions and reviews share: the editor, the workspace, background tasks, revisions.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use cairn_core::ids::FileKey;
use cairn_protocol::Notice;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    approval::ChangedFiles,
    docs::Docs,
    instructions::Sources,
    ports::Editor,
    processes::Processes,
    workspace::{Workspace, path_of},
};

/// Handle to the services. Clones share them, except for `workspace`.
#[derive(Clone)]
pub(crate) struct Services {
    pub(crate) editor: Arc<dyn Editor>,
    pub(crate) workspace: Option<Arc<Workspace>>,
    pub(crate) docs: Arc<Docs>,
    /// Authors of the instruction files.
    pub(crate) sources: Arc<Sources>,
    /// Files that the agent changed since the user allowed a command.
    pub(crate) changed: Arc<ChangedFiles>,
    /// Processes of all sessions.
    pub(crate) processes: Arc<Processes>,
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the hub ends.
    pub(crate) shutdown: CancellationToken,
    revisions: Arc<AtomicU32>,
}

impl Services {
    /// `state_dir` stores the authors of instruction files.
    pub(crate) fn new(
        editor: Arc<dyn Editor>,
        tasks: TaskTracker,
        state_dir: Option<PathBuf>,
    ) -> Self {
        let shutdown = CancellationToken::new();
        let processes = Processes::new(tasks.clone(), shutdown.clone());
        Self {
            editor,
            workspace: None,
            docs: Arc::default(),
            sources: Arc::new(Sources::new(state_dir)),
            changed: Arc::default(),
            processes: Arc::new(processes),
            tasks,
            shutdown,
            revisions: Arc::default(),
        }
    }

    pub(crate) fn notify(&self, notice: Notice) {
        self.editor.notify(notice);
    }

    /// Returns the revision of the next notification. Revisions grow over all methods.
    pub(crate) fn next_rev(&self) -> u32 {
        self.revisions.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    /// Continues revisions after the last one of an earlier process.
    pub(crate) fn rev_after(&self, published: u32) {
        self.revisions.fetch_max(published, Ordering::Relaxed);
    }

    /// Starts a task that ends with the hub.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.spawn_until(self.shutdown.clone(), task);
    }

    /// Starts a task that is dropped when the token is cancelled.
    pub(crate) fn spawn_until(
        &self,
        cancel: CancellationToken,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        self.tasks.spawn(async move {
            cancel.run_until_cancelled(task).await;
        });
    }

    /// Returns a path for display: relative to the workspace if it is inside.
    pub(crate) fn display(&self, path: &Path) -> String {
        match &self.workspace {
            Some(workspace) => workspace.display(path),
            None => path.display().to_string(),
        }
    }

    /// Returns the path of a file for display; empty for a key that is no path.
    pub(crate) fn display_key(&self, key: &FileKey) -> String {
        path_of(key).map(|path| self.display(&path)).unwrap_or_default()
    }

    /// Records that the agent changed this file, or has edits pending there: its text is data.
    pub(crate) fn agent_changed(&self, key: &FileKey) {
        if let Some(path) = path_of(key) {
            self.sources.agent_changed(&path);
        }
    }
}
