//! Registry of the keys of this process, which are removed from everything it writes.
//!
//! The registry is global because the log and panics belong to the process. It never returns a key:
//! code that sends one gets it from its source.

use std::{
    borrow::Cow,
    collections::VecDeque,
    io::{self, Write},
    sync::{Arc, LazyLock, Mutex, PoisonError, RwLock},
};

use cairn_core::redact::Redactor;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

/// Number of keys that stay registered. A replaced key may still appear in old text. Far more than
/// a person enters.
const MOST: usize = 64;
/// Longest key, and most of all keys, in bytes. The longest known keys, signed tokens, have 2 to 4 KiB.
const LONGEST: usize = 8 * 1024;
const MOST_BYTES: usize = 64 * 1024;

/// Registered keys, oldest first. Held while a redactor is made of them, which readers do not wait for.
static KEYS: Mutex<VecDeque<SecretString>> = Mutex::new(VecDeque::new());
static REDACTOR: LazyLock<RwLock<Arc<Redactor>>> = LazyLock::new(RwLock::default);

#[derive(Debug, thiserror::Error)]
#[error("it is longer than {} KiB", LONGEST / 1024)]
pub struct TooLong;

/// Registers a key, which is removed from all output from now on. A key that is refused must not be
/// used.
pub fn register(key: &SecretString) -> Result<(), TooLong> {
    let length = |key: &SecretString| key.expose_secret().len();
    if length(key) > LONGEST {
        return Err(TooLong);
    }
    let mut keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    if keys.iter().any(|one| one.expose_secret() == key.expose_secret()) {
        return Ok(());
    }
    keys.push_back(key.clone());
    while keys.len() > MOST || keys.iter().map(length).sum::<usize>() > MOST_BYTES {
        keys.pop_front();
    }
    let redactor = Arc::new(Redactor::new(keys.iter().map(ExposeSecret::expose_secret)));
    *REDACTOR.write().unwrap_or_else(PoisonError::into_inner) = redactor;
    Ok(())
}

pub fn redactor() -> Arc<Redactor> {
    Arc::clone(&REDACTOR.read().unwrap_or_else(PoisonError::into_inner))
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
        register(&SecretString::from(KEY)).unwrap();
        register(&SecretString::from(KEY)).unwrap();
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
        let long = SecretString::from("x".repeat(LONGEST + 1));
        assert_eq!(register(&long).unwrap_err().to_string(), "it is longer than 8 KiB");
        let mut said = "x".repeat(LONGEST + 1);
        clean(&mut said);
        assert_eq!(said.len(), LONGEST + 1);
    }
}
