//! An editor that outlives its daemon: documents keep their text, and an edit that was on its way
//! may still arrive.

use std::{fs, mem, path::Path};

use cairn_protocol::{FileChange, Position, Range, TextEdit};

use serde_json::{Value, json};

use super::{EditorDouble, State, path};
use crate::lsp_client::LspClient;

impl EditorDouble {
    /// Number of edits that are held.
    pub fn held(&self) -> usize {
        self.shared.state().held.len()
    }

    /// Scripts no fault for the edits to come.
    pub fn will_fail_no_more(&self) {
        self.shared.state().faults.clear();
    }

    /// The user types a line of their own above line `at`, or at the end. Returns the lines before
    /// and the place of the new one.
    pub fn type_line(&self, uri: &str, at: usize, line: &str) -> (Vec<String>, usize) {
        let mut state = self.shared.state();
        state.changed_by_others(uri);
        let document = state.documents.get_mut(uri).expect("the document is open");
        let lines: Vec<String> = document.text.lines().map(str::to_owned).collect();
        let at = at.min(lines.len());
        let start = Position { line: at as u32, character: 0 };
        let range = Range { start, end: start };
        let edit = TextEdit { range, new_text: format!("{line}\n") };
        document.change(&self.client, uri, &[edit]);
        document.dirty = true;
        (lines, at)
    }

    /// Performs the held edits without an answer: the daemon that asked for them is gone. Its
    /// successor learns of files that come and go as it does from VS Code, by the file watcher.
    pub fn arrive(&self) {
        let mut state = self.shared.state();
        for (_, params) in mem::take(&mut state.held) {
            let mut uris = vec![params.uri.clone()];
            if let FileChange::Rename { to, .. } = &params.change {
                uris.push(to.clone());
            }
            let existed: Vec<bool> = uris.iter().map(|uri| path(uri).exists()).collect();
            match &params.change {
                // What the daemon itself did on disk, just before it was killed.
                FileChange::Create { text } => {
                    fs::write(path(&params.uri), text).expect("the file can be made");
                }
                FileChange::Edit { .. } => {
                    state.document_for(&self.client, &params.uri);
                }
                FileChange::Delete { .. } | FileChange::Rename { .. } => {}
            }
            state.apply(&self.client, params);
            let changes: Vec<Value> = uris
                .iter()
                .zip(existed)
                .filter_map(|(uri, existed)| match (existed, path(uri).exists()) {
                    (false, true) => Some(json!({ "uri": uri, "type": 1 })),
                    (true, false) => Some(json!({ "uri": uri, "type": 3 })),
                    (true, true) | (false, false) => None,
                })
                .collect();
            if !changes.is_empty() {
                let params = json!({ "changes": changes });
                self.client.notify("workspace/didChangeWatchedFiles", params);
            }
        }
    }

    /// Connects to the next daemon after the first was killed. Documents and held edits stay.
    pub async fn reconnect(self, client: LspClient, root: &Path, settings: Value) -> Self {
        self.client.abandon();
        let State { documents, held, habit, .. } = mem::take(&mut *self.shared.state());
        let next = Self::connect(client, root, settings).await;
        {
            let mut state = next.shared.state();
            for (uri, document) in &documents {
                let item = json!({
                    "uri": uri,
                    "languageId": "plaintext",
                    "version": document.version,
                    "text": document.text,
                });
                next.client.notify("textDocument/didOpen", json!({ "textDocument": item }));
            }
            (state.documents, state.held, state.habit) = (documents, held, habit);
        }
        next
    }
}
