//! Removal of secrets from text by their value: verbatim, as in JSON, percent-encoded, and in
//! base64 at any offset of the encoded data.
//!
//! Must never be the only protection of a secret: a program that can transform the text first
//! (reverse it, split it) gets the secret through.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use serde_json::Value;

/// Replacement of a secret.
pub const MARK: &str = "[key]";

/// Minimum length of a value in bytes. A shorter one is likely to be an ordinary word.
const SHORTEST: usize = 8;

#[derive(Debug, Clone, Default)]
pub struct Redactor {
    finder: Option<AhoCorasick>,
    forms: Forms,
}

/// All encodings of secrets. Must not be printed.
#[derive(Clone, Default)]
pub struct Forms(Vec<String>);

impl std::fmt::Debug for Forms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} forms", self.0.len())
    }
}

impl Forms {
    /// Returns the encodings of one secret; none of a short one.
    pub fn of(secret: &str) -> Self {
        let secret = secret.trim();
        Self(if secret.len() < SHORTEST { Vec::new() } else { forms_of(secret) })
    }
}

impl Redactor {
    pub fn new<'s>(secrets: impl IntoIterator<Item = &'s Forms>) -> Self {
        let mut forms: Vec<String> = secrets.into_iter().flat_map(|it| it.0.clone()).collect();
        forms.sort();
        forms.dedup();
        if forms.is_empty() {
            return Self::default();
        }
        // A deterministic automaton takes time and memory that grow with the square of a long secret.
        let finder = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .match_kind(MatchKind::LeftmostLongest)
            .build(&forms);
        // Building fails only on gigabytes of patterns.
        Self { finder: finder.ok(), forms: Forms(forms) }
    }

    pub fn is_empty(&self) -> bool {
        self.finder.is_none()
    }

    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(finder) = self.finder.as_ref().filter(|it| it.is_match(text)) else {
            return Cow::Borrowed(text);
        };
        let mut out = String::with_capacity(text.len());
        finder.replace_all_with(text, &mut out, |_, _, out| {
            out.push_str(MARK);
            true
        });
        Cow::Owned(out)
    }

    pub fn bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        let Some(finder) = self.finder.as_ref().filter(|it| it.is_match(bytes)) else {
            return Cow::Borrowed(bytes);
        };
        let mut out = Vec::with_capacity(bytes.len());
        finder.replace_all_with_bytes(bytes, &mut out, |_, _, out| {
            out.extend_from_slice(MARK.as_bytes());
            true
        });
        Cow::Owned(out)
    }

    /// Redacts every string of a JSON value, names of fields included.
    pub fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.string(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(fields) => {
                if fields.keys().any(|name| self.matches(name.as_bytes()).next().is_some()) {
                    *fields = std::mem::take(fields)
                        .into_iter()
                        .map(|(name, value)| (self.text(&name).into_owned(), value))
                        .collect();
                }
                fields.values_mut().for_each(|value| self.json(value));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub fn string(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.text(text) {
            *text = clean;
        }
    }

    fn matches<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = (usize, usize)> + 'a {
        let found = self.finder.iter().flat_map(move |finder| finder.find_iter(bytes));
        found.map(|found| (found.start(), found.end()))
    }

    /// Position at which the end of the text may be the beginning of a secret.
    fn open_end(&self, text: &str) -> Option<usize> {
        let longest = self.forms.0.iter().map(String::len).max()?;
        let from = text.len().saturating_sub(longest);
        (from..text.len()).filter(|&at| text.is_char_boundary(at)).find(|&at| {
            let rest = &text[at..];
            self.forms.0.iter().any(|form| form.len() > rest.len() && form.starts_with(rest))
        })
    }
}

/// Redactor of text that arrives in pieces. It holds back a piece's end that may be the beginning
/// of a secret.
#[derive(Debug, Default)]
pub struct RedactedStream(String);

impl RedactedStream {
    /// Appends a piece and returns the text that can no longer be part of a secret.
    pub fn push(&mut self, redactor: &Redactor, piece: &str) -> String {
        if redactor.is_empty() && self.0.is_empty() {
            return piece.to_owned();
        }
        self.0.push_str(piece);
        let (mut out, mut at) = (String::new(), 0);
        loop {
            let rest = &self.0[at..];
            let open = redactor.open_end(rest);
            let found = redactor.matches(rest.as_bytes()).next();
            match found.filter(|(start, _)| open.is_none_or(|open| *start < open)) {
                Some((start, end)) => {
                    out.push_str(&rest[..start]);
                    out.push_str(MARK);
                    at += end;
                }
                None => {
                    let cut = open.unwrap_or(rest.len());
                    out.push_str(&rest[..cut]);
                    self.0.drain(..at + cut);
                    return out;
                }
            }
        }
    }

    /// Returns the held-back rest once the stream has ended.
    pub fn end(&mut self, redactor: &Redactor) -> String {
        let rest = std::mem::take(&mut self.0);
        redactor.text(&rest).into_owned()
    }
}

fn forms_of(secret: &str) -> Vec<String> {
    let json = Value::from(secret).to_string();
    let mut forms = vec![
        secret.to_owned(),
        json[1..json.len() - 1].to_owned(),
        percent_encoded(secret, |byte| format!("%{byte:02X}")),
        percent_encoded(secret, |byte| format!("%{byte:02x}")),
    ];
    for before in 0..3 {
        let plain = base64_inside(secret.as_bytes(), before);
        forms.push(plain.replace('+', "-").replace('/', "_"));
        forms.push(plain);
    }
    // A short secret leaves too few characters that do not depend on the offset.
    forms.retain(|form| form.len() >= SHORTEST);
    forms
}

fn percent_encoded(secret: &str, escape: impl Fn(u8) -> String) -> String {
    let stays = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let written = |byte: u8| if stays(byte) { char::from(byte).to_string() } else { escape(byte) };
    secret.bytes().map(written).collect()
}

/// Returns the base64 digits that depend only on these bytes, if `before` bytes precede them.
fn base64_inside(bytes: &[u8], before: usize) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bit = |at: usize| {
        let byte = bytes.get((at / 8).wrapping_sub(before)).copied().unwrap_or_default();
        byte >> (7 - at % 8) & 1
    };
    let (first, end) = ((before * 8).div_ceil(6), (before + bytes.len()) * 8 / 6);
    (first..end)
        .map(|digit| (digit * 6..digit * 6 + 6).fold(0, |value, at| value << 1 | bit(at)))
        .map(|value| char::from(DIGITS[usize::from(value)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn redactor<'s>(secrets: impl IntoIterator<Item = &'s str>) -> Redactor {
        Redactor::new(&secrets.into_iter().map(Forms::of).collect::<Vec<_>>())
    }

    const SECRET: &str = "pass/word+of \"tests\"";

    #[test]
    fn a_secret_is_found_in_every_form() {
        let redactor = redactor([SECRET, "short"]);
        for (given, expected) in [
            ("nothing here", "nothing here"),
            (&format!("a {SECRET} b {SECRET}"), "a [key] b [key]"),
            (r#"{"a":"pass/word+of \"tests\""}"#, r#"{"a":"[key]"}"#),
            ("?k=pass%2Fword%2Bof%20%22tests%22&x", "?k=[key]&x"),
            ("?k=pass%2fword%2bof%20%22tests%22&x", "?k=[key]&x"),
            ("short", "short"),
            // Base64 of `SECRET`, of `u:SECRET` and of `me:SECRET!`. A shorter part is too short to be sure.
            ("cGFzcy93b3JkK29mICJ0ZXN0cyI=", "[key]I="),
            ("dTpwYXNzL3dvcmQrb2YgInRlc3RzIg==", "dTp[key]g=="),
            ("bWU6cGFzcy93b3JkK29mICJ0ZXN0cyIh", "bWU6[key]Ih"),
        ] {
            assert_eq!(redactor.text(given), expected, "{given}");
            assert_eq!(redactor.bytes(given.as_bytes()), expected.as_bytes(), "{given}");
        }
    }

    #[test]
    fn values_and_keys_of_json_are_cleaned() {
        let redactor = redactor([SECRET]);
        let mut value = json!({ "a": [1, { SECRET: format!("x{SECRET}") }], "b": true });
        redactor.json(&mut value);
        assert_eq!(value, json!({ "a": [1, { "[key]": "x[key]" }], "b": true }));
    }

    #[test]
    fn short_values_are_ignored_and_debug_output_shows_no_value() {
        assert!(redactor(["", "1234567", "  short "]).is_empty());
        assert!(!format!("{:?}", redactor(["12345678"]).forms).contains("1234"));
    }

    #[test]
    fn the_possible_start_of_a_secret_is_held_back() {
        let redactor = redactor(["abcdefgh", "abcdefghij"]);
        let mut stream = RedactedStream::default();
        let mut shown = Vec::new();
        for piece in ["x abc", "defg", "h", "i", "j y ab", "c z", "abcdefgh", "?", " ab"] {
            shown.push(stream.push(&redactor, piece));
        }
        shown.push(stream.end(&redactor));
        let expected = ["x ", "", "", "", "[key] y ", "abc z", "", "[key]?", " ", "ab"];
        assert_eq!(shown, expected);
    }

    proptest! {
        /// However it is cut into pieces, a stream says what the whole text says.
        #[test]
        fn a_stream_is_cleaned_like_the_whole_text(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("abababab".to_owned()),
                    Just("babababbé".to_owned()),
                    Just("abababababba".to_owned()),
                    "[abé]{0,5}",
                ],
                0..8,
            ),
            cuts in proptest::collection::vec(1usize..6, 1..20),
        ) {
            let redactor = redactor(["abababab", "babababbé", "abababababba"]);
            let whole: String = parts.concat();
            let (mut stream, mut said) = (RedactedStream::default(), String::new());
            let mut chars = whole.chars().peekable();
            let mut sizes = cuts.iter().cycle();
            while chars.peek().is_some() {
                let size = sizes.next().copied().unwrap_or(1);
                let piece: String = chars.by_ref().take(size).collect();
                said += &stream.push(&redactor, &piece);
            }
            said += &stream.end(&redactor);
            prop_assert_eq!(said, redactor.text(&whole).into_owned());
        }
    }
}
