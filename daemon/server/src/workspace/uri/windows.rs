//! `C:\a` is `/c:/a` in a URI, with the letter of the drive in lower case as VS Code has it; as a path
//! it is written with a capital, as the system does, so that one file has one name.
//!
//! Only files on a drive have a URI that is read: `file://server/share` is refused before this.

#[cfg(windows)]
use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

#[cfg(windows)]
pub(super) fn bytes(path: &Path) -> Cow<'_, [u8]> {
    Cow::Owned(written(&path.to_string_lossy()).into_bytes())
}

/// Path from decoded bytes that begin with `/`.
#[cfg(windows)]
pub(super) fn path(bytes: Vec<u8>) -> Option<PathBuf> {
    read(&String::from_utf8(bytes).ok()?).map(PathBuf::from)
}

fn written(path: &str) -> String {
    let path = path.replace('\\', "/");
    match drive(&path) {
        Some((letter, rest)) => format!("/{}:{rest}", letter.to_ascii_lowercase()),
        None => path,
    }
}

fn read(path: &str) -> Option<String> {
    let (letter, rest) = drive(path.strip_prefix('/')?)?;
    // `/c:x` would be wherever that drive is just now.
    rest.starts_with(['/', '\\'])
        .then(|| format!("{}:{}", letter.to_ascii_uppercase(), rest.replace('/', "\\")))
}

fn drive(path: &str) -> Option<(char, &str)> {
    let (drive, rest) = path.split_once(':')?;
    let mut letters = drive.chars();
    let letter = letters.next().filter(char::is_ascii_alphabetic)?;
    letters.next().is_none().then_some((letter, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_letter_is_written_in_lower_and_read_in_upper_case() {
        for (path, uri) in
            [(r"C:\a b\c.rs", "/c:/a b/c.rs"), (r"d:\", "/d:/"), (r"C:\é:x", "/c:/é:x")]
        {
            assert_eq!(written(path), uri);
            let again = read(uri).map(|path| written(&path));
            assert_eq!(again.as_deref(), Some(uri), "and back");
        }
        for (uri, path) in [
            ("/c:/a", Some(r"C:\a")),
            ("/C:/a/..", Some(r"C:\a\..")),
            (r"/c:\a", Some(r"C:\a")),
            ("/c:", None),
            ("/c:a", None),
            ("/cc:/a", None),
            ("/1:/a", None),
            ("/a", None),
            ("//server/share", None),
            ("/", None),
        ] {
            assert_eq!(read(uri).as_deref(), path, "{uri}");
        }
    }
}
