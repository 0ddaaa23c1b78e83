//! The double's own idea of files, URIs and positions. Must share nothing with the daemon's.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cairn_protocol::{Position, Range};
use sha2::{Digest, Sha256};

pub(super) fn is_read_only(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.permissions().readonly())
}

pub(super) fn remove_empty(folders: &[String]) {
    for folder in folders {
        // The first that still holds something ends it.
        if fs::remove_dir(path(folder)).is_err() {
            return;
        }
    }
}

/// Zero-based, in UTF-16 code units.
pub fn range(start: (u32, u32), end: (u32, u32)) -> Range {
    let position = |(line, character)| Position { line, character };
    Range { start: position(start), end: position(end) }
}

/// The URI of a path as VS Code spells it for plain ASCII paths.
pub fn uri(path: &Path) -> String {
    let path = path.to_str().expect("test paths are UTF-8");
    assert!(
        path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte)),
        "{path} would need escaping"
    );
    format!("file://{path}")
}

pub fn hash(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn path(uri: &str) -> PathBuf {
    let encoded = uri.strip_prefix("file://").unwrap_or_else(|| panic!("{uri} is no file"));
    let mut parts = encoded.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(digits, 16).expect("two digits follow a percent sign"));
        bytes.extend_from_slice(rest.as_bytes());
    }
    PathBuf::from(String::from_utf8(bytes).expect("test paths are UTF-8"))
}

/// The text of a file and whether it begins with a byte order mark.
pub(super) fn read(path: &Path) -> std::io::Result<(String, bool)> {
    let text = fs::read_to_string(path)?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => (rest.to_owned(), true),
        None => (text, false),
    })
}

/// A position that is not in the text is the daemon's mistake, so this does not clamp.
pub(super) fn offset(text: &str, position: Position) -> usize {
    let mut start = 0;
    for _ in 0..position.line {
        let rest = &text[start..];
        let end = rest.find(['\n', '\r']).expect("the line exists");
        start += end + if rest[end..].starts_with("\r\n") { 2 } else { 1 };
    }
    let mut units = 0;
    for (at, char) in text[start..].char_indices() {
        if units == position.character {
            return start + at;
        }
        assert!(!matches!(char, '\n' | '\r'), "{position:?} is past the end of its line");
        units += u32::try_from(char.len_utf16()).expect("1 or 2");
    }
    assert_eq!(units, position.character, "{position:?} is past the end");
    text.len()
}
