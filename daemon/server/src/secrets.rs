//! Registry of the keys of this process, which are removed from everything it writes.
//!
//! The registry is global because the log and panics belong to the process. It never returns a key:
//! code that sends one gets it from its source.

use std::{
    borrow::Cow,
    collections::VecDeque,
    io::{self, Write},
    sync::{Arc, LazyLock},
};

use cairn_core::redact::{Forms, Redactor};
use parking_lot::{Mutex, RwLock};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

/// Number of keys that stay registered. A replaced key may still appear in old text. Far more than
/// a person enters.
const MOST: usize = 64;
/// Most bytes of all keys: each registration takes time that grows with them.
const MOST_BYTES: usize = 64 * KIB;
const KIB: usize = 1024;
/// Longest key in KiB. The longest known keys, signed tokens, have 2 to 4.
pub const LONGEST: u32 = 8;
/// Most KiB of the keys that a user enters, so that the registry has room for them and for two of the
/// environment.
pub const MOST_ENTERED: u32 = 32;

/// Registered keys with their encodings, oldest first. Held while a redactor is made of them, which readers
/// do not wait for.
static KEYS: Mutex<VecDeque<(SecretString, Forms)>> = Mutex::new(VecDeque::new());
static REDACTOR: LazyLock<RwLock<Arc<Redactor>>> = LazyLock::new(RwLock::default);

/// The key is longer than [`LONGEST`].
#[derive(Debug)]
pub struct TooLong;

/// Registers a key, which is removed from all output from now on. A key that is refused must not be
/// used. Keys that were registered long ago leave the registry, unless they are registered again.
pub fn register(key: &SecretString) -> Result<(), TooLong> {
    if key.expose_secret().len() > LONGEST as usize * KIB {
        return Err(TooLong);
    }
    let mut keys = KEYS.lock();
    if let Some(at) = keys.iter().position(|(it, _)| it.expose_secret() == key.expose_secret()) {
        let newest = keys.remove(at);
        keys.extend(newest);
        return Ok(());
    }
    keys.push_back((key.clone(), Forms::of(key.expose_secret())));
    while keys.len() > MOST || bytes(keys.iter().map(|(key, _)| key)) > MOST_BYTES {
        keys.pop_front();
    }
    let redactor = Arc::new(Redactor::new(keys.iter().map(|(_, forms)| forms)));
    *REDACTOR.write() = redactor;
    Ok(())
}

/// Sum of the lengths.
pub fn bytes<'k>(keys: impl IntoIterator<Item = &'k SecretString>) -> usize {
    keys.into_iter().map(|key| key.expose_secret().len()).sum()
}

pub fn redactor() -> Arc<Redactor> {
    Arc::clone(&REDACTOR.read())
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
        let long = "x".repeat(LONGEST as usize * KIB + 1);
        assert!(register(&SecretString::from(long.as_str())).is_err());
        let mut said = long.clone();
        clean(&mut said);
        assert_eq!(said, long);
    }

    #[test]
    fn a_key_in_use_stays_registered() {
        let used = SecretString::from("used-by-this-test");
        register(&used).unwrap();
        for number in 0..2 * MOST {
            register(&SecretString::from(format!("replaced-key-{number}"))).unwrap();
            register(&used).unwrap();
        }
        assert_eq!(clean_bytes(b"a used-by-this-test".to_vec()), b"a [key]");
        assert_eq!(clean_bytes(b"a replaced-key-0".to_vec()), b"a replaced-key-0");
    }
}
