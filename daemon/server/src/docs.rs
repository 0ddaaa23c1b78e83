//! Documents that are open in the editor. Only the hub writes; readers get immutable snapshots.
//!
//! No guard of the map escapes: `get` clones an `Arc`.

use std::sync::Arc;

use cairn_core::{ids::FileKey, text::Text};
use dashmap::DashMap;

/// An open document at one version.
#[derive(Debug, Clone)]
pub struct Document {
    pub key: FileKey,
    /// URI exactly as the client spells it.
    pub uri: String,
    pub version: i32,
    pub text: Text,
}

#[derive(Debug, Default)]
pub struct Docs {
    open: DashMap<FileKey, Arc<Document>>,
}

impl Docs {
    pub fn get(&self, key: &FileKey) -> Option<Arc<Document>> {
        self.open.get(key).map(|entry| Arc::clone(entry.value()))
    }

    pub fn put(&self, document: Document) {
        self.open.insert(document.key.clone(), Arc::new(document));
    }

    pub fn remove(&self, key: &FileKey) -> Option<Arc<Document>> {
        self.open.remove(key).map(|(_, document)| document)
    }

    pub fn keys(&self) -> Vec<FileKey> {
        self.open.iter().map(|entry| entry.key().clone()).collect()
    }
}
