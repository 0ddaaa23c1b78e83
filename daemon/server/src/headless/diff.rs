//! The changes of a run, as diffs that `git apply` and `patch` read.

use std::path::Path;

use cairn_core::{policy::is_secret, quote::quoted, review::patch, text::Text};
use cairn_protocol::{FileKind, ReviewNotification};

use super::report::ChangedFile;

/// Compares the text before the run with the present one. `after`: `None` for a deleted file.
pub(super) fn of_file(
    review: &ReviewNotification,
    before: &str,
    after: Option<Text>,
) -> ChangedFile {
    let ReviewNotification { path, from, kind, .. } = review;
    let kind = if after.is_none() { FileKind::Deleted } else { *kind };
    let (before, after) = (Text::new(before), after.unwrap_or_default());
    // The header is made below: the core's own does not know deletions and moves.
    let whole = patch::between(Some(&before), &after, "-");
    let hunks = whole.splitn(3, '\n').nth(2).unwrap_or_default();
    let count = |sign| hunks.lines().filter(|line| line.starts_with(sign)).count();
    let (added, removed) = (count('+'), count('-'));
    let may_hold_secrets = is_secret(Path::new(path))
        || from.as_deref().is_some_and(|from| is_secret(Path::new(from)));
    let patch = (!may_hold_secrets).then(|| header(review, kind, hunks.is_empty()) + hunks);
    ChangedFile { path: path.clone(), from: from.clone(), kind, added, removed, patch }
}

fn header(review: &ReviewNotification, kind: FileKind, no_hunks: bool) -> String {
    let from = review.from.as_ref().unwrap_or(&review.path);
    let (old, new) = (format!("a/{from}"), format!("b/{}", review.path));
    let (old, new) = (quoted(&old), quoted(&new));
    let mut out = String::new();
    if no_hunks || kind == FileKind::Moved {
        out = format!("diff --git {old} {new}\n");
    }
    let is_empty =
        |mode| if no_hunks { format!("{mode} file mode 100644\n") } else { String::new() };
    let files = match kind {
        FileKind::Created => {
            out.push_str(&is_empty("new"));
            format!("--- /dev/null\n+++ {new}\n")
        }
        FileKind::Deleted => {
            out.push_str(&is_empty("deleted"));
            format!("--- {old}\n+++ /dev/null\n")
        }
        FileKind::Moved => {
            let (from, to) = (quoted(from), quoted(&review.path));
            out.push_str(&format!("rename from {from}\nrename to {to}\n"));
            format!("--- {old}\n+++ {new}\n")
        }
        FileKind::Edited => format!("--- {old}\n+++ {new}\n"),
    };
    if !no_hunks {
        out.push_str(&files);
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(
        kind: FileKind,
        path: &str,
        from: Option<&str>,
        texts: [Option<&str>; 2],
        expect: Expect,
    ) {
        let review = ReviewNotification {
            uri: String::new(),
            path: path.into(),
            rev: 1,
            version: None,
            kind,
            from: from.map(str::to_owned),
            waiting: false,
            hunks: Vec::new(),
        };
        let file = of_file(&review, texts[0].unwrap_or_default(), texts[1].map(Text::new));
        let patch = file.patch.unwrap_or_else(|| "not shown\n".into());
        expect.assert_eq(&format!("+{} -{}\n{patch}", file.added, file.removed));
    }

    #[test]
    fn the_header_says_what_happened_to_the_file() {
        check(
            FileKind::Edited,
            "a.txt",
            None,
            [Some("one\n"), Some("1\n")],
            expect![[r#"
            +1 -1
            --- a/a.txt
            +++ b/a.txt
            @@ -1 +1 @@
            -one
            +1
        "#]],
        );
        check(
            FileKind::Created,
            "new/b.txt",
            None,
            [None, Some("b\n")],
            expect![[r#"
            +1 -0
            --- /dev/null
            +++ b/new/b.txt
            @@ -0,0 +1 @@
            +b
        "#]],
        );
        check(
            FileKind::Created,
            "empty",
            None,
            [None, Some("")],
            expect![[r#"
            +0 -0
            diff --git a/empty b/empty
            new file mode 100644
        "#]],
        );
        check(
            FileKind::Deleted,
            "a.txt",
            None,
            [Some("one\n"), None],
            expect![[r#"
            +0 -1
            --- a/a.txt
            +++ /dev/null
            @@ -1 +0,0 @@
            -one
        "#]],
        );
        check(
            FileKind::Moved,
            "b.txt",
            Some("a.txt"),
            [Some("one\n"), Some("one\n")],
            expect![[r#"
            +0 -0
            diff --git a/a.txt b/b.txt
            rename from a.txt
            rename to b.txt
        "#]],
        );
        check(
            FileKind::Moved,
            "b.txt",
            Some("a.txt"),
            [Some("one\n"), Some("1\n")],
            expect![[r#"
            +1 -1
            diff --git a/a.txt b/b.txt
            rename from a.txt
            rename to b.txt
            --- a/a.txt
            +++ b/b.txt
            @@ -1 +1 @@
            -one
            +1
        "#]],
        );
        check(
            FileKind::Edited,
            "a\n--- b",
            None,
            [Some("one\n"), Some("1\n")],
            expect![[r#"
            +1 -1
            --- "a/a\n--- b"
            +++ "b/a\n--- b"
            @@ -1 +1 @@
            -one
            +1
        "#]],
        );
    }

    #[test]
    fn lines_of_a_file_that_may_hold_secrets_are_not_shown() {
        check(
            FileKind::Created,
            ".env",
            None,
            [None, Some("A=1\nB=2\n")],
            expect![[r#"
            +2 -0
            not shown
        "#]],
        );
        check(
            FileKind::Moved,
            "b.txt",
            Some(".env"),
            [Some("A=1\n"), Some("A=2\n")],
            expect![[r#"
            +1 -1
            not shown
        "#]],
        );
    }
}
