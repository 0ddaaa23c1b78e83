//! Documents of the double: opens, changes, moves and saves them, and applies edits of the daemon.

use std::fs;

use cairn_protocol::{
    ApplyEditParams, ApplyEditResult, FileChange, RefusedEdit, SaveFailure, SaveResult, TextEdit,
    TextEncoding,
};
use serde_json::json;

use super::{
    Document, State,
    places::{bytes, hash, is_read_only, offset, path, read, remove_empty},
};
use crate::lsp_client::LspClient;

impl State {
    pub(super) fn document(&self, uri: &str) -> &Document {
        self.documents.get(uri).unwrap_or_else(|| panic!("{uri} is not open"))
    }

    pub(super) fn open(
        &mut self,
        client: &LspClient,
        uri: &str,
        text: String,
        encoding: TextEncoding,
    ) -> &mut Document {
        let item = json!({ "uri": uri, "languageId": "plaintext", "version": 1, "text": text });
        client.notify("textDocument/didOpen", json!({ "textDocument": item }));
        let document = Document { version: 1, text, encoding, dirty: false, visible: false };
        self.documents.entry(uri.to_owned()).insert_entry(document).into_mut()
    }

    /// An open document. Any other file is opened for it, in no tab.
    pub(super) fn document_for(&mut self, client: &LspClient, uri: &str) -> &mut Document {
        if !self.documents.contains_key(uri) {
            let (text, encoding) = read(&path(uri), None).expect("the file can be read");
            self.open(client, uri, text, encoding);
        }
        self.documents.get_mut(uri).expect("it is open")
    }

    pub(super) fn apply(&mut self, client: &LspClient, params: ApplyEditParams) -> ApplyEditResult {
        let ApplyEditParams { uri, change, encoding, .. } = params;
        let encoding = encoding.as_ref();
        let path = path(&uri);
        match change {
            FileChange::Edit { expected_version, expected_hash, edits } => {
                let Some(document) = self.documents.get_mut(&uri) else {
                    return refused(RefusedEdit::Closed, "the document is not open");
                };
                if hash(&document.text) != expected_hash {
                    return refused(RefusedEdit::Stale, "the document has another text");
                }
                if is_read_only(&path) {
                    return refused(RefusedEdit::ReadOnly, "the file is read-only");
                }
                if expected_version.is_some_and(|version| version != document.version) {
                    return refused(RefusedEdit::Stale, "the document has another version");
                }
                let was_dirty = document.dirty;
                document.change(client, &uri, &edits);
                document.dirty = true;
                if !was_dirty
                    && !document.visible
                    && let Err(error) = document.save(client, &uri)
                {
                    return refused(RefusedEdit::Failed, &error.to_string());
                }
                applied(was_dirty)
            }
            FileChange::Create { .. } => refused(RefusedEdit::Closed, "it is not there yet"),
            FileChange::Rename { to, expected_hash, empty_folders } => {
                let live = self.documents.get(&uri).map(|document| document.text.clone());
                let Some(text) = live.or_else(|| Some(read(&path, encoding).ok()?.0)) else {
                    return refused(RefusedEdit::Closed, "the file is gone");
                };
                if hash(&text) != expected_hash || self::path(&to).exists() {
                    return refused(RefusedEdit::Stale, "the file has another text");
                }
                if is_read_only(&path) {
                    return refused(RefusedEdit::ReadOnly, "the file is read-only");
                }
                let was_dirty = self.documents.get(&uri).is_some_and(|document| document.dirty);
                if let Err(error) = self.rename(client, &uri, &to) {
                    return refused(RefusedEdit::Failed, &error.to_string());
                }
                remove_empty(&empty_folders);
                applied(was_dirty)
            }
            FileChange::Delete { expected_hash, empty_folders } => {
                let live = self.documents.get(&uri).map(|document| document.text.clone());
                let Some(text) = live.or_else(|| Some(read(&path, encoding).ok()?.0)) else {
                    return refused(RefusedEdit::Closed, "the file is gone");
                };
                if hash(&text) != expected_hash {
                    return refused(RefusedEdit::Stale, "the file has another text");
                }
                if is_read_only(&path) {
                    return refused(RefusedEdit::ReadOnly, "the file is read-only");
                }
                if let Err(error) = fs::remove_file(&path) {
                    return refused(RefusedEdit::Failed, &error.to_string());
                }
                remove_empty(&empty_folders);
                let closed = self.documents.remove(&uri);
                if closed.is_some() {
                    let params = json!({ "textDocument": { "uri": uri } });
                    client.notify("textDocument/didClose", params);
                }
                applied(closed.is_some_and(|document| document.dirty))
            }
        }
    }

    /// On disk and in the editor: a document goes along with its unsaved text. Then the client
    /// says that there was a rename, whoever asked for it, as VS Code does.
    pub(super) fn rename(
        &mut self,
        client: &LspClient,
        from: &str,
        to: &str,
    ) -> std::io::Result<()> {
        let target = path(to);
        fs::create_dir_all(target.parent().expect("a file has a folder"))?;
        fs::rename(path(from), &target)?;
        let below = format!("{from}/");
        let inside = |uri: &String| *uri == from || uri.starts_with(&below);
        let moved: Vec<String> = self.documents.keys().filter(|uri| inside(uri)).cloned().collect();
        for old in moved {
            let Some(document) = self.documents.remove(&old) else { continue };
            client.notify("textDocument/didClose", json!({ "textDocument": { "uri": old } }));
            let new = format!("{to}{}", &old[from.len()..]);
            let Document { text, encoding, dirty, visible, .. } = document;
            let opened = self.open(client, &new, text, encoding);
            (opened.dirty, opened.visible) = (dirty, visible);
        }
        let files = json!([{ "oldUri": from, "newUri": to }]);
        client.notify("workspace/didRenameFiles", json!({ "files": files }));
        Ok(())
    }

    pub(super) fn save_all(&mut self, client: &LspClient, uris: Vec<String>) -> SaveResult {
        let mut result = SaveResult::default();
        for uri in uris {
            let saved = match self.documents.get_mut(&uri) {
                Some(document) if document.dirty => document.save(client, &uri),
                _ => Ok(()),
            };
            if let Err(error) = saved {
                result.failed.push(SaveFailure { uri, reason: error.to_string() });
            }
        }
        result
    }
}

impl Document {
    /// All edits are against the text before the first.
    pub(super) fn change(&mut self, client: &LspClient, uri: &str, edits: &[TextEdit]) {
        let mut changes = Vec::new();
        for edit in edits.iter().rev() {
            let from = offset(&self.text, edit.range.start);
            let to = offset(&self.text, edit.range.end);
            self.text.replace_range(from..to, &edit.new_text);
            changes.push(json!({ "range": edit.range, "text": edit.new_text }));
        }
        self.version += 1;
        let document = json!({ "uri": uri, "version": self.version });
        let params = json!({ "textDocument": document, "contentChanges": changes });
        client.notify("textDocument/didChange", params);
    }

    /// The whole text at once, as editors reload.
    pub(super) fn reload(&mut self, client: &LspClient, uri: &str, text: &str) {
        text.clone_into(&mut self.text);
        self.version += 1;
        let document = json!({ "uri": uri, "version": self.version });
        let changes = json!([{ "text": text }]);
        let params = json!({ "textDocument": document, "contentChanges": changes });
        client.notify("textDocument/didChange", params);
    }

    pub(super) fn save(&mut self, client: &LspClient, uri: &str) -> std::io::Result<()> {
        fs::write(path(uri), bytes(&self.text, &self.encoding))?;
        self.dirty = false;
        client.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
        Ok(())
    }
}

pub(super) fn applied(was_dirty: bool) -> ApplyEditResult {
    ApplyEditResult { applied: true, reason: None, message: None, was_dirty }
}

pub(super) fn refused(reason: RefusedEdit, message: &str) -> ApplyEditResult {
    ApplyEditResult {
        applied: false,
        reason: Some(reason),
        message: Some(message.to_owned()),
        was_dirty: false,
    }
}
