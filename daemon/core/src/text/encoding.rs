//! Encodings of files: detection by their bytes, decoding and encoding.
//!
//! A file is treated as text only if encoding its decoded text gives the same bytes. So a wrong
//! detection changes no bytes outside of an edit.

use std::fmt;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, EncoderResult, Encoding, GB18030, GBK, SHIFT_JIS, UTF_8, UTF_16BE,
    UTF_16LE,
};
use serde::{Deserialize, Serialize};

use super::{Decoded, NotText, Text};

/// Encodings besides UTF-8 and UTF-16 that are detected. Single-byte encodings are excluded,
/// because in those any bytes are text, also a binary file.
const LEGACY: [&Encoding; 5] = [GBK, BIG5, SHIFT_JIS, EUC_JP, EUC_KR];

/// Encoding of a file, with its byte order mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "EncodingName", into = "EncodingName")]
pub struct FileEncoding {
    encoding: &'static Encoding,
    /// True if the file begins with a byte order mark, which is not part of the text.
    bom: bool,
}

/// Name and byte order mark of a [`FileEncoding`] in a record.
#[derive(Serialize, Deserialize)]
struct EncodingName {
    name: String,
    bom: bool,
}

/// Properties of a file on disk besides its text, which it gets again when it is created again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FileForm {
    /// A record without it means UTF-8.
    #[serde(skip_serializing_if = "FileEncoding::is_default")]
    pub encoding: FileEncoding,
    /// Permission bits on Unix, with those for set-user-ID, set-group-ID and sticky. `None`: those of
    /// a new file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// A character that an encoding has no bytes for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the file's encoding {encoding} has no `{}` (U+{:04X})", crate::sanitize::visible(&character.to_string()), u32::from(*character))]
pub struct Unencodable {
    pub character: char,
    pub encoding: FileEncoding,
}

impl FileEncoding {
    pub const UTF_8: FileEncoding = FileEncoding { encoding: UTF_8, bom: false };

    /// Name in the [Encoding Standard](https://encoding.spec.whatwg.org), in lower case.
    #[must_use]
    pub fn label(self) -> String {
        self.encoding.name().to_ascii_lowercase()
    }

    /// Finds an encoding by its [`Self::label`].
    #[must_use]
    pub fn of_label(label: &str, bom: bool) -> Option<FileEncoding> {
        Encoding::for_label(label.as_bytes()).map(|encoding| FileEncoding { encoding, bom })
    }

    /// Returns true for UTF-8 without a byte order mark.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == FileEncoding::UTF_8
    }

    #[must_use]
    pub fn has_bom(self) -> bool {
        self.bom
    }

    #[must_use]
    pub fn is_utf8(self) -> bool {
        self.encoding == UTF_8
    }

    /// Returns true if it can encode any text.
    #[must_use]
    pub fn is_unicode(self) -> bool {
        self.is_utf8() || self.encoding == UTF_16LE || self.encoding == UTF_16BE
    }
}

impl Default for FileEncoding {
    fn default() -> FileEncoding {
        FileEncoding::UTF_8
    }
}

impl From<FileEncoding> for EncodingName {
    fn from(encoding: FileEncoding) -> EncodingName {
        EncodingName { name: encoding.label(), bom: encoding.bom }
    }
}

impl TryFrom<EncodingName> for FileEncoding {
    type Error = String;

    fn try_from(EncodingName { name, bom }: EncodingName) -> Result<FileEncoding, String> {
        FileEncoding::of_label(&name, bom)
            .ok_or_else(|| format!("the encoding {name} is not known"))
    }
}

impl fmt::Display for FileEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.encoding.name())
    }
}

/// Detects the encoding of a file's bytes and decodes them, without the byte order mark.
///
/// # Errors
/// If encoding the text would not give the same bytes, or the file is not text.
pub fn decode(bytes: &[u8]) -> Result<Decoded, NotText> {
    let marked = |encoding| FileEncoding { encoding, bom: true };
    // Before the NUL check, because UTF-16 contains NULs.
    match Encoding::for_bom(bytes) {
        Some((encoding, length)) if encoding != UTF_8 => {
            let text = utf16(&bytes[length..], encoding).ok_or(NotText::InvalidUtf16)?;
            return decoded(&text, marked(encoding));
        }
        _ => {}
    }
    let fault = match str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => {
            return match text.strip_prefix('\u{feff}') {
                Some(text) => decoded(text, marked(UTF_8)),
                None => decoded(text, FileEncoding::UTF_8),
            };
        }
        Ok(_) => None,
        Err(error) => Some(NotText::InvalidUtf8 { offset: error.valid_up_to() }),
    };
    if let Some(offset) = bytes.iter().position(|&byte| byte == 0) {
        let (text, encoding) = unmarked_utf16(bytes).ok_or(NotText::Nul { offset })?;
        return decoded(&text, FileEncoding { encoding, bom: false });
    }
    let fault = fault.unwrap_or(NotText::InvalidUtf8 { offset: 0 });
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let guess = detector.guess(None, Utf8Detection::Deny);
    if !LEGACY.contains(&guess) {
        return Err(fault);
    }
    let text = guess.decode_without_bom_handling_and_without_replacement(bytes).ok_or(fault)?;
    // GB 18030 extends GBK, so one decoder reads both.
    let candidates = if guess == GBK { [GBK, GB18030] } else { [guess, guess] };
    for encoding in candidates {
        let encoding = FileEncoding { encoding, bom: false };
        if encoded(&text, encoding).is_ok_and(|again| again == bytes) {
            return decoded(&text, encoding);
        }
    }
    Err(NotText::Ambiguous { encoding: FileEncoding { encoding: guess, bom: false } })
}

/// Encodes a text as the bytes of a file; inverse of [`decode`].
///
/// # Errors
/// If the encoding has no bytes for a character of the text.
pub fn encode(text: &Text, encoding: FileEncoding) -> Result<Vec<u8>, Unencodable> {
    if !encoding.is_utf8() {
        return encoded(&text.to_string(), encoding);
    }
    let mut bytes = Vec::with_capacity(text.rope().len_bytes() + 3);
    if encoding.bom {
        bytes.extend_from_slice("\u{feff}".as_bytes());
    }
    for chunk in text.chunks() {
        bytes.extend_from_slice(chunk.as_bytes());
    }
    Ok(bytes)
}

fn decoded(text: &str, encoding: FileEncoding) -> Result<Decoded, NotText> {
    match text.chars().position(|c| c == '\0') {
        Some(offset) => Err(NotText::Nul { offset }),
        None => Ok(Decoded { text: Text::new(text), encoding }),
    }
}

fn encoded(text: &str, encoding: FileEncoding) -> Result<Vec<u8>, Unencodable> {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    let start = encoding.bom.then_some('\u{feff}');
    let units = start.into_iter().chain(text.chars());
    if encoding.is_unicode() {
        let is_little = encoding.encoding == UTF_16LE;
        let to: fn(u16) -> [u8; 2] = if is_little { u16::to_le_bytes } else { u16::to_be_bytes };
        for character in units {
            bytes.extend(character.encode_utf16(&mut [0; 2]).iter().flat_map(|unit| to(*unit)));
        }
        return Ok(bytes);
    }
    let mut encoder = encoding.encoding.new_encoder();
    let mut rest = text;
    loop {
        bytes.reserve(rest.len() + 16);
        let (result, read) =
            encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        rest = &rest[read..];
        match result {
            EncoderResult::InputEmpty => break,
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(character) => {
                return Err(Unencodable { character, encoding });
            }
        }
    }
    // Some encodings write a character as bytes that decode to another one: Shift_JIS writes `¥` as
    // `\`.
    let again = encoding.encoding.decode_without_bom_handling(&bytes).0;
    let other = text.chars().zip(again.chars()).find(|(wanted, got)| wanted != got);
    match other {
        Some((character, _)) => Err(Unencodable { character, encoding }),
        None => Ok(bytes),
    }
}

fn utf16(bytes: &[u8], encoding: &'static Encoding) -> Option<String> {
    let (units, rest) = bytes.as_chunks::<2>();
    let unit = if encoding == UTF_16BE { u16::from_be_bytes } else { u16::from_le_bytes };
    let text = char::decode_utf16(units.iter().copied().map(unit)).collect::<Result<_, _>>().ok();
    text.filter(|_| rest.is_empty())
}

/// Detects UTF-16 without a byte order mark: all NULs are at even or all at odd offsets, and the
/// text has no control or unassigned characters.
fn unmarked_utf16(bytes: &[u8]) -> Option<(String, &'static Encoding)> {
    let nuls = |side: usize| bytes.iter().skip(side).step_by(2).filter(|&&byte| byte == 0).count();
    let encoding = match (nuls(0), nuls(1)) {
        (0, 1..) => UTF_16LE,
        (1.., 0) => UTF_16BE,
        _ => return None,
    };
    let is_text = |c: char| {
        let odd = matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{fff0}'..);
        !odd && (!c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\u{c}'))
            || matches!(c, '\u{1f000}'..='\u{1faff}' | '\u{20000}'..='\u{3134f}' | '\u{10000}'..='\u{1ffff}')
    };
    let text = utf16(bytes, encoding)?;
    (text.chars().all(is_text) && text.contains(['\n', ' '])).then_some((text, encoding))
}
