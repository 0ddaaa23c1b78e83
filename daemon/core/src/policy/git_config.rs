//! Parser of git's configuration format, after the grammar in git's `config.c`.
//!
//! Parses the text of one file. The caller follows every include without regard to its condition,
//! so that the result does not depend on a condition.

/// One setting. Section and key are in lower case; a subsection keeps its case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub section: String,
    /// The quoted part, `a` in `[filter "a"]`, or the text after the first dot in `[filter.a]`.
    pub subsection: Option<String>,
    pub key: String,
    /// `None`: a key without a value, which git reads as `true`.
    pub value: Option<String>,
}

/// Error in a file that git refuses to read, with the settings before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not git's configuration format")]
pub struct MalformedGitConfig {
    pub before: Vec<Setting>,
}

/// Parses a whole file. Invalid UTF-8 is replaced, and NUL ends a value.
pub fn parse(text: &[u8]) -> Result<Vec<Setting>, MalformedGitConfig> {
    let mut reader =
        Reader { rest: text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text), eof: false };
    let mut settings = Vec::new();
    match reader.file(&mut settings) {
        Some(()) => Ok(settings),
        None => Err(MalformedGitConfig { before: settings }),
    }
}

struct Reader<'a> {
    rest: &'a [u8],
    eof: bool,
}

/// `None` anywhere means that git refuses the file.
impl Reader<'_> {
    /// Returns the next character; `\n` for CRLF and at the end of the file.
    fn next(&mut self) -> u8 {
        match self.rest {
            [] => {
                self.eof = true;
                b'\n'
            }
            [b'\r', b'\n', rest @ ..] => {
                self.rest = rest;
                b'\n'
            }
            [c, rest @ ..] => {
                self.rest = rest;
                *c
            }
        }
    }

    fn file(&mut self, settings: &mut Vec<Setting>) -> Option<()> {
        let mut comment = false;
        let mut section: Vec<u8> = Vec::new();
        loop {
            let c = self.next();
            match c {
                b'\n' if self.eof => return Some(()),
                b'\n' => comment = false,
                _ if comment || is_space(c) => {}
                b'#' | b';' => comment = true,
                b'[' => section = self.section()?,
                c if c.is_ascii_alphabetic() => {
                    let (key, value) = self.setting(c)?;
                    settings.push(setting(&section, &key, value));
                }
                _ => return None,
            }
        }
    }

    /// Parses the name of a section, with its subsection after a dot.
    fn section(&mut self) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        loop {
            let c = self.next();
            match c {
                _ if self.eof => return None,
                b']' => return Some(name).filter(|name| !name.is_empty()),
                c if is_space(c) => return self.subsection(name, c),
                c if is_key(c) || c == b'.' => name.push(c.to_ascii_lowercase()),
                _ => return None,
            }
        }
    }

    fn subsection(&mut self, mut name: Vec<u8>, mut c: u8) -> Option<Vec<u8>> {
        while is_space(c) {
            if c == b'\n' {
                return None;
            }
            c = self.next();
        }
        if c != b'"' {
            return None;
        }
        name.push(b'.');
        loop {
            match self.next() {
                b'\n' => return None,
                b'"' => return (self.next() == b']').then_some(name),
                b'\\' => match self.next() {
                    b'\n' => return None,
                    c => name.push(c),
                },
                c => name.push(c),
            }
        }
    }

    fn setting(&mut self, first: u8) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        let mut key = vec![first.to_ascii_lowercase()];
        let mut c = self.next();
        while !self.eof && is_key(c) {
            key.push(c.to_ascii_lowercase());
            c = self.next();
        }
        while matches!(c, b' ' | b'\t') {
            c = self.next();
        }
        match c {
            b'\n' => Some((key, None)),
            b'=' => Some((key, Some(self.value()?))),
            _ => None,
        }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        let (mut quoted, mut comment) = (false, false);
        // Length without the trailing white space, if there is any.
        let mut trimmed: Option<usize> = None;
        loop {
            let c = self.next();
            if c == b'\n' {
                if quoted {
                    return None;
                }
                value.truncate(trimmed.unwrap_or(value.len()));
                return Some(value);
            }
            if comment {
                continue;
            }
            if is_space(c) && !quoted {
                if !value.is_empty() {
                    trimmed.get_or_insert(value.len());
                    value.push(c);
                }
                continue;
            }
            if !quoted && matches!(c, b';' | b'#') {
                comment = true;
                continue;
            }
            trimmed = None;
            match c {
                b'\\' => match self.next() {
                    b'\n' => {}
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    b'n' => value.push(b'\n'),
                    c @ (b'\\' | b'"') => value.push(c),
                    _ => return None,
                },
                b'"' => quoted = !quoted,
                c => value.push(c),
            }
        }
    }
}

fn setting(section: &[u8], key: &[u8], value: Option<Vec<u8>>) -> Setting {
    let section = text(section);
    let (section, subsection) = match section.split_once('.') {
        Some((section, subsection)) => (section.to_owned(), Some(subsection.to_owned())),
        None => (section, None),
    };
    Setting { section, subsection, key: text(key), value: value.as_deref().map(text) }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

fn is_space(c: u8) -> bool {
    matches!(c, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_key(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let line = |setting: &Setting| {
            let Setting { section, subsection, key, value } = setting;
            let subsection = subsection.as_ref().map(|name| format!(".{name}"));
            format!("{section}{}.{key}={value:?}", subsection.unwrap_or_default())
        };
        match parse(text.as_bytes()) {
            Ok(settings) => settings.iter().map(line).collect::<Vec<_>>().join(" "),
            Err(MalformedGitConfig { before }) => format!("refused after {}", before.len()),
        }
    }

    #[test]
    fn lines_are_parsed_as_by_git() {
        for (text, expected) in [
            ("", ""),
            ("[core]\n\thooksPath = a/b\n", r#"core.hookspath=Some("a/b")"#),
            ("[CORE] HooksPath=x # y", r#"core.hookspath=Some("x")"#),
            (
                "[core]\nhooksPath = to\\\nols/\\\n  hooks\n",
                r#"core.hookspath=Some("tools/  hooks")"#,
            ),
            ("[core]\nhooksPath = \"to\"\"ols\"/h\n", r#"core.hookspath=Some("tools/h")"#),
            ("[core]\nhooksPath = a\\\"b\\\\c\\td\n", r#"core.hookspath=Some("a\"b\\c\td")"#),
            ("[core]\nhooksPath = \"a;b\" ; c\n", r#"core.hookspath=Some("a;b")"#),
            ("[core] bare\n", "core.bare=None"),
            ("[a \"B c\"] d = e", r#"a.B c.d=Some("e")"#),
            ("[a.B] d = e", r#"a.b.d=Some("e")"#),
            ("[a \"x\\\"y\\z\"] d=", r#"a.x"yz.d=Some("")"#),
            ("\u{feff}[a]\r\nb = c\r\n", r#"a.b=Some("c")"#),
            ("[a]\nb = c  d  \n", r#"a.b=Some("c  d")"#),
            ("[a]\nb = \"c\n", "refused after 0"),
            ("[a]\nb = c\nd = \\x\n", "refused after 1"),
            ("[a \"b\n\"]", "refused after 0"),
            ("[a\n", "refused after 0"),
            ("[]", "refused after 0"),
            ("= c", "refused after 0"),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }
}
