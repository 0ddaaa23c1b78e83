//! File URIs: written as VS Code does, read in any client's spelling, compared by path.

use std::path::{Path, PathBuf};

#[cfg(unix)]
mod unix;
#[cfg(any(windows, test))]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// The URI of an absolute path, in VS Code's spelling: everything but unreserved characters and
/// `/` is escaped. `None` for a relative path.
pub fn uri_of(path: &Path) -> Option<String> {
    path.is_absolute().then(|| of_absolute(path))
}

pub(super) fn of_absolute(path: &Path) -> String {
    let mut uri = String::from("file://");
    for &byte in system::bytes(path).iter() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// Absolute path of a file URI, decoded once. `None` for other schemes, other hosts and values that
/// are not a path.
pub fn path_of(uri: &str) -> Option<PathBuf> {
    let (scheme, rest) = uri.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let rest = rest.split(['?', '#']).next()?;
    let path = match rest.strip_prefix("//") {
        Some(with_host) => {
            let (host, _) = with_host.split_at(with_host.find('/')?);
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return None;
            }
            &with_host[host.len()..]
        }
        None => rest,
    };
    let bytes = decode(path.as_bytes());
    let usable = bytes.starts_with(b"/") && !bytes.contains(&0);
    // Through the components, so that `//` and `/./` do not make another path.
    Some(system::path(usable.then_some(bytes)?)?.components().collect())
}

/// Canonical URI of a path, the key of documents. `None` if the URI names no file.
pub fn canonical_uri(uri: &str) -> Option<String> {
    path_of(uri).map(|path| of_absolute(&path))
}

/// A `%` that begins no escape stands for itself.
fn decode(text: &[u8]) -> Vec<u8> {
    let hex = |at: usize| text.get(at).and_then(|&byte| char::from(byte).to_digit(16));
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        match (text[at], hex(at + 1), hex(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, _, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn writes_as_vs_code_does() {
        for (path, uri) in [
            ("/a b/c.rs", "file:///a%20b/c.rs"),
            (
                "/a/é[1](x)@#?&=+,;:'!$*%.ts",
                "file:///a/%C3%A9%5B1%5D%28x%29%40%23%3F%26%3D%2B%2C%3B%3A%27%21%24%2A%25.ts",
            ),
            ("/~me/a-b_c.d", "file:///~me/a-b_c.d"),
        ] {
            assert_eq!(uri_of(Path::new(path)).as_deref(), Some(uri));
        }
    }

    #[test]
    fn reads_any_spelling() {
        for (uri, path) in [
            ("file:///a%20b", Some("/a b")),
            ("file:///a b", Some("/a b")),
            ("FILE://localhost/a%c3%a9", Some("/aé")),
            ("file:/a", Some("/a")),
            ("file:///a//b/./c", Some("/a/b/c")),
            ("file:///ws/%2e%2e/x", Some("/ws/../x")),
            ("file:///a%252e", Some("/a%2e")),
            ("file:///100%", Some("/100%")),
            ("file:///a?x#y", Some("/a")),
            ("file:///a%00b", None),
            ("file://server/share", None),
            ("file:relative", None),
            ("untitled:Untitled-1", None),
            ("vscode-remote://x/a", None),
            ("/a", None),
        ] {
            assert_eq!(path_of(uri), path.map(PathBuf::from), "{uri}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn comes_back(names in proptest::collection::vec("[^/\0]{1,8}", 1..4)) {
            let path: PathBuf = Path::new("/").join(names.join("/")).components().collect();
            let uri = of_absolute(&path);
            prop_assert_eq!(path_of(&uri), Some(path));
            prop_assert_eq!(canonical_uri(&uri), Some(uri));
        }
    }
}
