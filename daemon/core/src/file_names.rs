//! Equality of file names as file systems see it: case, composed accents, ignored characters, and
//! the spellings that only Windows knows.
//!
//! Must never be used to make a path: the results are for comparing only.

use std::{
    borrow::Cow,
    fmt,
    path::{Component, Path, PathBuf},
};

use unicode_normalization::UnicodeNormalization;

/// Case sensitivity of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    Kept,
    Folded,
}

impl Case {
    /// Case sensitivity of this operating system's usual file system.
    pub const HERE: Self =
        if cfg!(any(target_os = "macos", windows)) { Self::Folded } else { Self::Kept };
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
    let kept = name.filter(|c| !is_ignorable(*c));
    let cased: String = kept.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    cased.nfd().collect::<String>().replace("i\u{307}", "i")
}

/// Returns true for invisible characters that some file systems drop from names.
fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
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

/// Reason why Windows would resolve a path to something other than the file of that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowsOddity {
    /// `\\server\share`, `\\?\C:\x`, `\\.\pipe\x`, `\??\C:\x`
    Namespace,
    /// `C:x`: relative to wherever that drive is.
    DriveRelative,
    /// `file:stream`
    Stream,
    /// `NUL`, `com1.txt`
    Device,
    /// `PROGRA~1`
    ShortName,
    /// `name.` and `name ` are `name`.
    TrailingDotOrSpace,
    /// `<>"|?*`
    Forbidden,
}

impl fmt::Display for WindowsOddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WindowsOddity::Namespace => "network and device paths are not used",
            WindowsOddity::DriveRelative => "a drive must be followed by `\\`",
            WindowsOddity::Stream => "streams of files are not used",
            WindowsOddity::Device => "this name is a device",
            WindowsOddity::ShortName => "short names are not used, give the long one",
            WindowsOddity::TrailingDotOrSpace => "a name must not end with a dot or a space",
            WindowsOddity::Forbidden => "a name has a character that Windows does not allow",
        })
    }
}

/// Finds the reason why Windows would misread a path. Must be called there before a path is looked
/// up.
pub fn windows_oddity(given: &str) -> Option<WindowsOddity> {
    let path = given.replace('/', "\\");
    if path.starts_with("\\\\") || path.starts_with("\\??\\") {
        return Some(WindowsOddity::Namespace);
    }
    let mut rest = path.as_str();
    if let Some((drive, after)) = path.split_once(':')
        && drive.len() == 1
        && drive.chars().all(|c| c.is_ascii_alphabetic())
    {
        if !after.starts_with('\\') {
            return Some(WindowsOddity::DriveRelative);
        }
        rest = after;
    }
    rest.split('\\').find_map(odd_name)
}

fn odd_name(name: &str) -> Option<WindowsOddity> {
    if matches!(name, "" | "." | "..") {
        return None;
    }
    if name.contains(':') {
        return Some(WindowsOddity::Stream);
    }
    if name.contains(['<', '>', '"', '|', '?', '*']) || name.chars().any(char::is_control) {
        return Some(WindowsOddity::Forbidden);
    }
    if name.ends_with(['.', ' ']) {
        return Some(WindowsOddity::TrailingDotOrSpace);
    }
    let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
    if is_device(&stem.trim_end_matches(' ').to_uppercase()) {
        return Some(WindowsOddity::Device);
    }
    is_short_name(stem, extension).then_some(WindowsOddity::ShortName)
}

fn is_device(stem: &str) -> bool {
    let numbered = ["COM", "LPT"].iter().find_map(|port| stem.strip_prefix(port));
    let port = |number: &str| {
        let mut digits = number.chars();
        let one = digits.next().is_some_and(|c| c.is_ascii_digit() || "¹²³".contains(c));
        one && digits.next().is_none()
    };
    matches!(stem, "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$" | "CLOCK$")
        || numbered.is_some_and(port)
}

/// Returns true for a short name such as `ABCDEF~1.TXT`: at most eight characters with a number at
/// the end, and three.
fn is_short_name(stem: &str, extension: &str) -> bool {
    let Some((start, number)) = stem.rsplit_once('~') else { return false };
    !start.is_empty()
        && stem.chars().count() <= 8
        && extension.chars().count() <= 3
        && !number.is_empty()
        && number.chars().all(|c| c.is_ascii_digit())
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

    #[test]
    fn names_with_a_special_meaning_on_windows_are_detected() {
        use WindowsOddity::{
            Device, DriveRelative, Forbidden, Namespace, ShortName, Stream, TrailingDotOrSpace,
        };
        for (given, expected) in [
            (r"\\server\share\x", Some(Namespace)),
            ("//server/share", Some(Namespace)),
            (r"\\?\C:\ws\x", Some(Namespace)),
            (r"\\.\pipe\x", Some(Namespace)),
            (r"\??\C:\x", Some(Namespace)),
            ("C:x", Some(DriveRelative)),
            ("c:", Some(DriveRelative)),
            ("a.txt:hidden", Some(Stream)),
            ("a.txt::$DATA", Some(Stream)),
            (r"C:\ws\.git::$INDEX_ALLOCATION\config", Some(Stream)),
            ("NUL", Some(Device)),
            ("src/con.txt", Some(Device)),
            ("aux .rs", Some(Device)),
            ("COM1", Some(Device)),
            ("lpt¹.log", Some(Device)),
            ("CONOUT$", Some(Device)),
            ("GIT~1/config", Some(ShortName)),
            ("PROGRA~1", Some(ShortName)),
            ("ABCDE~12.TXT", Some(ShortName)),
            (".git.", Some(TrailingDotOrSpace)),
            (".vscode /tasks.json", Some(TrailingDotOrSpace)),
            ("...", Some(TrailingDotOrSpace)),
            ("a?b", Some(Forbidden)),
            ("a\u{1}b", Some(Forbidden)),
            (r"C:\ws\src\a.rs", None),
            ("src/../a.rs", None),
            ("./a", None),
            ("console.ts", None),
            ("com10", None),
            ("com", None),
            ("notes~draft", None),
            ("a-long-name~1.markdown", None),
            ("~", None),
        ] {
            assert_eq!(windows_oddity(given), expected, "{given}");
        }
    }
}
