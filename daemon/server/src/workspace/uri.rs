//! File URIs: written as VS Code does, read in any client's spelling, compared by path.

use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use cairn_core::ids::FileKey;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// Characters that VS Code escapes: all but the unreserved ones and `/`.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The URI of an absolute path, in VS Code's spelling. `None` for a relative path.
pub fn uri_of(path: &Path) -> Option<String> {
    path.is_absolute().then(|| of_absolute(path))
}

pub(super) fn of_absolute(path: &Path) -> String {
    format!("file://{}", percent_encode(path.as_os_str().as_bytes(), ESCAPED))
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
    // A `%` that begins no escape stands for itself.
    let bytes: Vec<u8> = percent_decode_str(path).collect();
    let usable = bytes.starts_with(b"/") && !bytes.contains(&0);
    // Through the components, so that `//` and `/./` do not make another path.
    usable.then(|| Path::new(&OsString::from_vec(bytes)).components().collect())
}

/// Key of the file of an absolute path. `None` for a relative path.
pub fn key_of(path: &Path) -> Option<FileKey> {
    uri_of(path).as_deref().and_then(canonical_uri)
}

/// Key of the file that a URI names. `None` if the URI names no file.
pub fn canonical_uri(uri: &str) -> Option<FileKey> {
    path_of(uri).map(|path| of_absolute(&path).into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn uris_are_written_as_by_vs_code() {
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
    fn any_spelling_of_a_uri_is_read() {
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
        fn a_path_survives_its_conversion_to_a_uri(names in proptest::collection::vec("[^/\0]{1,8}", 1..4)) {
            let path: PathBuf = Path::new("/").join(names.join("/")).components().collect();
            let uri = of_absolute(&path);
            prop_assert_eq!(path_of(&uri), Some(path));
            prop_assert_eq!(canonical_uri(&uri), Some(uri.into()));
        }
    }
}
