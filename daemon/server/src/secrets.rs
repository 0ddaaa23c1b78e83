//! Registry of the keys of this process, which are removed from everything it writes.
//!
//! The registry is global because the log and panics belong to the process. It never returns a key:
//! code that sends one gets it from its source.

use std::{
    borrow::Cow,
    collections::VecDeque,
    io::{self, Write},
    sync::{Arc, LazyLock, PoisonError, RwLock},
};

use cairn_core::redact::Redactor;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

/// Number of keys that stay registered. A replaced key may still appear in old text. Far more than
/// a person enters.
const MOST: usize = 64;

#[derive(Default)]
struct Known {
    keys: VecDeque<SecretString>,
    redactor: Arc<Redactor>,
}

static KNOWN: LazyLock<RwLock<Known>> = LazyLock::new(RwLock::default);

/// Registers a key, which is removed from all output from now on.
pub fn register(key: &SecretString) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if known.keys.iter().any(|one| one.expose_secret() == key.expose_secret()) {
        return;
    }
    known.keys.push_back(key.clone());
    if known.keys.len() > MOST {
        known.keys.pop_front();
    }
    known.redactor = Arc::new(Redactor::new(known.keys.iter().map(ExposeSecret::expose_secret)));
}

pub fn redactor() -> Arc<Redactor> {
    Arc::clone(&KNOWN.read().unwrap_or_else(PoisonError::into_inner).redactor)
}

pub fn clean(text: &mut String) {
    redactor().string(text);
}

pub fn clean_json(value: &mut Value) {
    let redactor = redactor();
    if !redactor.is_empty() {
        redactor.json(value);
    }
}

pub fn clean_bytes(bytes: Vec<u8>) -> Vec<u8> {
    match redactor().bytes(&bytes) {
        Cow::Owned(clean) => clean,
        Cow::Borrowed(_) => bytes,
    }
}

/// Cleans the bytes from index `from` on.
pub fn clean_from(bytes: &mut Vec<u8>, from: usize) {
    if let Cow::Owned(clean) = redactor().bytes(&bytes[from..]) {
        bytes.truncate(from);
        bytes.extend_from_slice(&clean);
    }
}

/// Standard error without keys, for lines that are written in one call.
pub struct CleanStderr;

impl Write for CleanStderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(&redactor().bytes(line))?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_registered_key_is_removed_from_text() {
        const KEY: &str = "known-to-this-test";
        register(&SecretString::from(KEY));
        register(&SecretString::from(KEY));
        let text = format!("a {KEY} b");
        let mut said = text.clone();
        clean(&mut said);
        assert_eq!(said, "a [key] b");
        assert_eq!(clean_bytes(text.clone().into_bytes()), b"a [key] b");
        let mut value = json!({ "a": [text] });
        clean_json(&mut value);
        assert_eq!(value, json!({ "a": ["a [key] b"] }));
        // Bytes before the index are not changed.
        let mut bytes = format!("{KEY}{KEY}").into_bytes();
        clean_from(&mut bytes, KEY.len());
        assert_eq!(bytes, format!("{KEY}[key]").into_bytes());
        assert_eq!(clean_bytes(b"nothing".to_vec()), b"nothing");
    }
}
