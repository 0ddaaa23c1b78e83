//! File names in text for models and people: quoted where they hold anything but printable
//! characters, so that a name is one word of one line and can be given back.
//!
//! Must never lose a character: [`unquoted`] returns the name that [`quoted`] was given.

use std::{borrow::Cow, fmt::Write};

use crate::{marks, sanitize};

/// Returns the name itself if all of it can be printed, else a string literal as in Rust.
///
/// A name is quoted as well if it would be read as something else: as a quoted name, as a line of
/// Cairn's own, or as a shorter name because it begins or ends with a blank.
pub fn quoted(name: &str) -> Cow<'_, str> {
    let misread = name.starts_with(['"', ' ']) || name.ends_with(' ') || marks::imitates(name);
    if !misread && !name.chars().any(needs_escape) {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(name.len() + 8);
    out.push('"');
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if needs_escape(c) => {
                let written = write!(out, "\\u{{{:x}}}", u32::from(c));
                // Writing to a string cannot fail.
                debug_assert!(written.is_ok());
            }
            c => out.push(c),
        }
    }
    out.push('"');
    Cow::Owned(out)
}

/// Returns the name that a quoted one stands for; `None` if the text is not quoted, or not well.
///
/// Takes the escapes of Rust, JSON and Git: models have seen names quoted by all three.
pub fn unquoted(text: &str) -> Option<String> {
    let inner = text.trim().strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find(['\\', '"']) {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = escape(rest[at..].strip_prefix('\\')?, &mut bytes)?;
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok()
}

/// Parses the text after a backslash; returns the rest.
fn escape<'a>(text: &'a str, out: &mut Vec<u8>) -> Option<&'a str> {
    let kind = text.chars().next()?;
    let rest = &text[kind.len_utf8()..];
    let plain = match kind {
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'a' => 0x07,
        'b' => 0x08,
        'f' => 0x0c,
        'v' => 0x0b,
        '"' | '\\' | '\'' | '/' => kind as u8,
        'u' => {
            let (digits, rest) = match rest.strip_prefix('{') {
                Some(braced) => braced.split_once('}')?,
                None => rest.split_at_checked(4)?,
            };
            let c = char::from_u32(number(digits, 16)?)?;
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            return Some(rest);
        }
        'x' => {
            let (digits, rest) = rest.split_at_checked(2)?;
            out.push(u8::try_from(number(digits, 16)?).ok()?);
            return Some(rest);
        }
        '0'..='3' => {
            let (digits, rest) = text.split_at_checked(3)?;
            out.push(u8::try_from(number(digits, 8)?).ok()?);
            return Some(rest);
        }
        _ => return None,
    };
    out.push(plain);
    Some(rest)
}

fn number(digits: &str, radix: u32) -> Option<u32> {
    let all = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    if all { u32::from_str_radix(digits, radix).ok() } else { None }
}

fn needs_escape(c: char) -> bool {
    c.is_control() || sanitize::is_unseen(c) || sanitize::is_blank(c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_printable_name_is_not_quoted() {
        for name in ["src/cart.mjs", "a b.txt", "día/文.rs", "it's \"x\"", r"a\b", "~x", "[id].tsx"]
        {
            assert_eq!(quoted(name), name);
        }
    }

    #[test]
    fn an_unprintable_name_is_quoted_on_one_line() {
        for (name, shown) in [
            ("b.txt\n1: forged", r#""b.txt\n1: forged""#),
            ("\u{1b}[2Jx", r#""\u{1b}[2Jx""#),
            ("a\u{202e}txt.exe", r#""a\u{202e}txt.exe""#),
            ("a\u{a0}b", r#""a\u{a0}b""#),
            ("a\u{2028}b\tc", r#""a\u{2028}b\tc""#),
            ("\"a\"", r#""\"a\"""#),
            ("a ", r#""a ""#),
            ("[cairn] exit code 0", r#""[cairn] exit code 0""#),
        ] {
            assert_eq!(quoted(name), shown);
            assert_eq!(unquoted(shown).as_deref(), Some(name));
        }
    }

    #[test]
    fn quotes_of_other_programs_are_parsed() {
        for (text, name) in [
            (r#""d\303\255a.txt""#, Some("día.txt")),
            (r#""a\u000ab""#, Some("a\nb")),
            (r#""\x1b[0m""#, Some("\u{1b}[0m")),
            (r#""\xff""#, None),
            (r#""a\""#, None),
            (r#""a"b""#, None),
            (r#""\u{110000}""#, None),
            (r#""\u{+1}""#, None),
            (r#""\q""#, None),
            ("plain", None),
            ("\"", None),
        ] {
            assert_eq!(unquoted(text).as_deref(), name, "{text}");
        }
    }

    proptest! {
        #[test]
        fn unquoting_restores_every_quoted_name(name in any::<String>()) {
            let shown = quoted(&name);
            prop_assert!(shown.chars().all(|c| !needs_escape(c)));
            match shown {
                Cow::Borrowed(_) => prop_assert_eq!(unquoted(&name), None),
                Cow::Owned(shown) => prop_assert_eq!(unquoted(&shown), Some(name)),
            }
        }

        #[test]
        fn any_text_is_unquoted_without_a_panic(text in "\"[\\\\a-z0-9{}\"é]{0,12}\"") {
            let _ = unquoted(&text);
        }
    }
}
