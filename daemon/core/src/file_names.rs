//! Equality of file names as file systems see it: case, composed accents, ignored characters, and the
//! ends of names that Windows ignores: WSL shows its folders.
//!
//! Must never be used to make a path: the results are for comparing only.

use std::{
    borrow::Cow,
    path::{Component, Path, PathBuf},
};

use unicode_normalization::UnicodeNormalization;

use crate::sanitize::is_unseen;

/// Case sensitivity of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    Kept,
    Folded,
}

impl Case {
    /// Case sensitivity of this operating system's usual file system.
    pub const HERE: Self = if cfg!(target_os = "macos") { Self::Folded } else { Self::Kept };
}

/// Returns one form (NFC) for all names that look the same because a letter and its accent are one
/// character or two.
pub fn composed(name: &str) -> Cow<'_, str> {
    match name.is_ascii() {
        true => Cow::Borrowed(name),
        false => Cow::Owned(name.nfc().collect()),
    }
}

/// Returns one form for all names that are equal to a file system without case.
pub fn folded(name: &str) -> String {
    fold(name.nfd())
}

/// Returns one form for all names that any file system might treat as equal; rather too many than
/// too few. A `.git` is found by it in every spelling.
pub fn plain(name: &str) -> String {
    let folded = fold(name.nfkd());
    // Text after a colon names a stream of the file, and some characters at the end are dropped.
    let file = folded.split(':').next().unwrap_or_default();
    let bare = file.trim_end_matches(['.', ' ']);
    (if bare.is_empty() { file } else { bare }).to_owned()
}

/// Folds case by upper case, then lower case. This equals full case folding: `ſ`, `ß`, the Kelvin
/// sign and ligatures get their plain letters. The dots of `i` make no difference in any language.
fn fold(name: impl Iterator<Item = char>) -> String {
    // Some file systems drop invisible characters from names.
    let kept = name.filter(|c| c.is_control() || !is_unseen(*c));
    let cased: String = kept.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    cased.nfd().collect::<String>().replace("i\u{307}", "i")
}

/// Returns true for control characters and for those that make a path look like another one.
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the path below a folder, by whole components; `None` if it is not below it.
pub fn below(path: &Path, folder: &Path, case: Case) -> Option<PathBuf> {
    let mut path = path.components();
    for wanted in folder.components() {
        let found = path.next()?;
        let same = match case {
            Case::Kept => found == wanted,
            Case::Folded => {
                let text = |it: Component| folded(&it.as_os_str().to_string_lossy());
                found == wanted || text(found) == text(wanted)
            }
        };
        if !same {
            return None;
        }
    }
    Some(path.as_path().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_file_name_fold_to_one_name() {
        for (name, expected) in [
            (".git", ".git"),
            (".GIT", ".git"),
            (".g\u{200c}it", ".git"),
            ("\u{feff}.git", ".git"),
            (".gıt", ".git"),
            (".gİt", ".git"),
            (".git.", ".git"),
            (".git. . ", ".git"),
            (".git::$INDEX_ALLOCATION", ".git"),
            (".vſcode", ".vscode"),
            (".HUS\u{212a}Y", ".husky"),
            ("．ｖscode", ".vscode"),
            ("pac\u{212a}age.json", "package.json"),
            ("ﬁle", "file"),
            ("stra\u{df}e", "strasse"),
            ("..", ".."),
            (".vs\u{327}code", ".vs\u{327}code"),
        ] {
            assert_eq!(plain(name), expected, "{name:?}");
        }
    }

    #[test]
    fn folding_joins_names_that_differ_only_in_case_or_composition() {
        for (a, b, same) in [
            ("A", "a", true),
            ("É", "e\u{301}", true),
            ("ſ", "S", true),
            ("\u{212a}", "k", true),
            ("ß", "SS", true),
            ("a", "b", false),
            ("a.", "a", false),
        ] {
            assert_eq!(folded(a) == folded(b), same, "{a} {b}");
        }
    }

    #[test]
    fn a_folder_holds_whole_components_only() {
        for (path, folder, kept, caseless) in [
            ("/ws/a", "/ws", Some("a"), Some("a")),
            ("/ws", "/ws", Some(""), Some("")),
            ("/ws-evil/x", "/ws", None, None),
            ("/w", "/ws", None, None),
            ("/WS/A", "/ws", None, Some("A")),
            ("/Users/Jose\u{301}/x", "/users/josé", None, Some("x")),
            ("/other/ws/a", "/ws", None, None),
        ] {
            let found = |case| below(Path::new(path), Path::new(folder), case);
            assert_eq!(found(Case::Kept), kept.map(PathBuf::from), "{path}");
            assert_eq!(found(Case::Folded), caseless.map(PathBuf::from), "{path}");
        }
    }
}
