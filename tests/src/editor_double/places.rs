//! The double's own idea of files, URIs and positions. Must share nothing with the daemon's.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cairn_protocol::{Position, Range, TextEncoding};
use encoding_rs::Encoding;
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

/// The text of a file in an encoding; `None`: UTF-8, where a byte order mark tells itself.
pub(super) fn read(
    path: &Path,
    encoding: Option<&TextEncoding>,
) -> std::io::Result<(String, TextEncoding)> {
    let bytes = fs::read(path)?;
    let wanted = encoding.map_or("utf-8", |encoding| &encoding.name);
    let encoding = Encoding::for_label(wanted.as_bytes()).expect("a known encoding");
    let mark: &[u8] = match encoding.name() {
        "UTF-8" => b"\xef\xbb\xbf",
        "UTF-16LE" => b"\xff\xfe",
        "UTF-16BE" => b"\xfe\xff",
        _ => b"",
    };
    let bom = !mark.is_empty() && bytes.starts_with(mark);
    let text = if bom { &bytes[mark.len()..] } else { &bytes };
    // As editors do it: what is no text becomes replacement characters.
    let (text, _) = encoding.decode_without_bom_handling(text);
    Ok((text.into_owned(), TextEncoding { name: wanted.to_owned(), bom }))
}

/// The bytes of a text, with question marks as editors write them.
pub(super) fn bytes(text: &str, encoding: &TextEncoding) -> Vec<u8> {
    let mark = if encoding.bom { "\u{feff}" } else { "" };
    let text = format!("{mark}{text}");
    match encoding.name.as_str() {
        "utf-16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "utf-16be" => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        name => {
            let encoding = Encoding::for_label(name.as_bytes()).expect("a known encoding");
            let mut out = Vec::new();
            for c in text.chars() {
                let one = c.to_string();
                let (bytes, _, lost) = encoding.encode(&one);
                out.extend_from_slice(if lost { b"?" } else { &bytes });
            }
            out
        }
    }
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
