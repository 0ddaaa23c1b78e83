//! `edit_file`: replaces a passage of a file, as a proposal in the editor.

use cairn_core::{
    edit::{self, EditError, Occurrences, Replaced},
    marks::ModelText,
    text::Text,
};
use cairn_protocol::{ToolKind, ToolLabel};
use serde_json::json;

use super::{
    Arguments, Call, Tool, ToolContext, ToolFailure, Wanted, edited_lines,
    propose::{Computed, FileChange, edit_of},
    snapshot,
};
use crate::workspace::WorkspacePath;

/// Edits in a call.
const MAX_EDITS: usize = 100;

/// Edit of the text that the one before it left.
enum Edit {
    Replace {
        old: String,
        new: String,
        all: bool,
        /// Place in a patch.
        below: Option<Below>,
    },
    /// Inserts after a line, counted from 1.
    Insert { line: usize, new: String },
}

/// Lines of the file above the passage; the passage may be the last one.
struct Below {
    lines: Vec<String>,
    at_end: bool,
}

pub(super) fn tool() -> Tool {
    let description = "Replaces text in a file: `old_text` by `new_text`, or several in `edits`, \
        in order. `old_text` must be in the file exactly once, with \
        the same whitespace and without line numbers; include surrounding lines until it is \
        unique, or set `replace_all` to replace every occurrence. The change appears in the \
        user's editor for review; go on without waiting for it. Line endings are kept as \
        the file has them.";
    let properties = json!({
        "path": {"type": "string", "description": "Path relative to the workspace folder"},
        "old_text": {"type": "string", "description": "Exact text to replace"},
        "new_text": {"type": "string", "description": "Text to put in its place; may be empty"},
        "replace_all": {"type": "boolean", "description": "Replace every occurrence"},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "old_text": {"type": "string"},
                    "new_text": {"type": "string"},
                    "replace_all": {"type": "boolean"}
                },
                "required": ["old_text", "new_text"]
            }
        }
    });
    Tool::new("edit_file", ToolKind::Edit, description, properties, &["path"], parse)
}

fn parse(arguments: Arguments, context: &ToolContext) -> Result<Call, ToolFailure> {
    let path = arguments.string("path");
    let mut edits: Vec<Edit> = arguments.objects("edits").iter().map(read_edit).collect();
    let alone = ["old_text", "new_text", "insert_line"].iter().any(|name| arguments.gives(name));
    if alone || edits.is_empty() {
        // The schema requires them only in `edits`.
        let inserts = arguments.gives("insert_line");
        arguments.require(if inserts { &["new_text"] } else { &["old_text", "new_text"] })?;
        edits.push(read_edit(&arguments));
    }
    if edits.len() > MAX_EDITS {
        return Err(ToolFailure::Tell(format!(
            "`edits` has {} edits; it may have at most {MAX_EDITS}.",
            edits.len()
        )));
    }
    let path = context.workspace.resolve(&path).map_err(ToolFailure::tell)?;
    let (label, access) = (ToolLabel::EditFile { file: path.to_string() }, edit_of(&path));
    let change =
        FileChange::new(path, move |context, path, base| edited(&edits, context, path, base));
    Ok(change.call(label, access))
}

fn read_edit(arguments: &Arguments) -> Edit {
    if let Some(line) = arguments.count("insert_line") {
        return Edit::Insert { line, new: arguments.string("new_text") };
    }
    let old = arguments.string("old_text");
    let new = arguments.string("new_text");
    let all = arguments.flag("replace_all");
    let at_end = arguments.flag("at_end");
    let below = arguments.strings("after").map(|lines| Below { lines, at_end });
    Edit::Replace { old, new, all, below }
}

fn edited(
    edits: &[Edit],
    context: &ToolContext,
    path: &WorkspacePath,
    base: Option<&Text>,
) -> Result<Computed, ToolFailure> {
    let base = base.ok_or_else(|| snapshot::missing(context, path))?;
    let mut text = base.to_string();
    let (mut places, mut loose) = (0, false);
    for (at, edit) in edits.iter().enumerate() {
        let replaced = match edit {
            Edit::Replace { old, new, all, below } => {
                let occurrences = match below {
                    Some(Below { lines, at_end }) => Occurrences::Below { lines, at_end: *at_end },
                    None if *all => Occurrences::All,
                    None => Occurrences::One,
                };
                edit::replace(&text, old, new, occurrences)
            }
            Edit::Insert { line, new } => edit::insert(&text, *line, new).map(|text| Replaced {
                text,
                count: 1,
                loose: false,
            }),
        };
        let replaced = replaced.map_err(|error| refused(path, at, edits.len(), &error))?;
        (text, places, loose) = (replaced.text, places + replaced.count, loose || replaced.loose);
    }
    let mut note = match places {
        0 | 1 => String::new(),
        count => format!(", {count} places"),
    };
    if loose {
        note.push_str(", found although white space differs");
    }
    let mut lines = ModelText::default();
    // Consent to a change does not cover the text around it.
    if !path.is_secret() {
        edited_lines::add(&mut lines, base, &Text::new(&text));
    }
    Ok(Computed { note, lines, ..Computed::new(Wanted::Text(text), format!("Edited {path}")) })
}

/// Error about the edit at an index.
fn refused(path: &WorkspacePath, at: usize, all: usize, error: &EditError) -> ToolFailure {
    let which = match all {
        1 => String::new(),
        all => format!("edit {} of {all}, so nothing was changed: ", at + 1),
    };
    ToolFailure::Tell(match path.is_secret() {
        // Consent to a change does not cover the text around it.
        true => format!(
            "{path}: {which}`old_text` does not fit. What is there is not shown, because it may hold \
             secrets; read the file first."
        ),
        false => format!("{path}: {which}{error}"),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::{Expect, expect};
    use serde_json::Value;

    use super::*;
    use crate::tools::testing::Fixture;

    async fn check(fixture: &Fixture, arguments: Value, expect: Expect) {
        expect.assert_eq(&fixture.call("edit_file", arguments).await);
    }

    fn edit(path: &str, old: &str, new: &str) -> Value {
        json!({"path": path, "old_text": old, "new_text": new})
    }

    #[tokio::test]
    async fn an_edit_proposes_the_new_text() {
        let fixture = Fixture::new(&[("a.txt", "one\r\ntwo\r\n"), ("all", "x y x\n")]);
        check(
            &fixture,
            edit("a.txt", "one\ntwo", "one\n2"),
            expect![[r#"
            Edited a.txt (+1 −1).
            1	one
            2	2"#]],
        )
        .await;
        assert_eq!(fixture.proposed("a.txt"), "one\r\n2\r\n");
        let all = json!({"path": "all", "old_text": "x", "new_text": "z", "replace_all": true});
        check(
            &fixture,
            all,
            expect![[r#"
            Edited all (+1 −1, 2 places).
            1	z y z"#]],
        )
        .await;
        assert_eq!(fixture.proposed("all"), "z y z\n");
    }

    #[tokio::test]
    async fn several_edits_of_one_file_are_one_change() {
        let fixture = Fixture::new(&[("a", "one\n\ttwo\nthree\n")]);
        let edits = json!([
            {"old_text": "one", "new_text": "1"},
            {"old_text": "  two", "new_text": "  2"},
            {"old_text": "1\n", "new_text": "0\n1\n"},
        ]);
        check(
            &fixture,
            json!({"path": "a", "edits": edits}),
            expect![[r#"
                Edited a (+3 −2, 3 places, found although white space differs).
                1	0
                2	1
                3		2
                4	three"#]],
        )
        .await;
        assert_eq!(fixture.proposed("a"), "0\n1\n\t2\nthree\n");
    }

    #[tokio::test]
    async fn none_of_several_edits_is_made_if_one_does_not_fit() {
        let fixture = Fixture::new(&[("a", "one\n")]);
        let edits =
            json!([{"old_text": "one", "new_text": "1"}, {"old_text": "zwei", "new_text": "2"}]);
        check(
            &fixture,
            json!({"path": "a", "edits": edits}),
            expect!["failure: a: edit 2 of 2, so nothing was changed: `old_text` is not in the file. It must match exactly, whitespace included. Nothing in the file resembles it; read the file again."],
        )
        .await;
        check(
            &fixture,
            json!({"path": "a", "edits": [{"old_text": 1}, "x"]}),
            expect!["failure: edit_file: edits[0]: `old_text` is 1 (string expected); edits[0]: `new_text` is missing (string expected); edits[1]: the arguments are a string (object expected); edits[1]: `old_text` is missing (string expected); edits[1]: `new_text` is missing (string expected)."],
        )
        .await;
        check(
            &fixture,
            json!({"path": "a", "edits": vec![json!({"old_text": "a", "new_text": "b"}); 101]}),
            expect!["failure: `edits` has 101 edits; it may have at most 100."],
        )
        .await;
    }

    #[tokio::test]
    async fn lines_are_inserted_after_a_line() {
        let fixture = Fixture::new(&[("a", "one\ntwo\n")]);
        let insert = json!({"path": "a", "insert_line": 1, "new_text": "1.5"});
        check(
            &fixture,
            insert,
            expect![[r#"
            Edited a (+1 −0).
            1	one
            2	1.5
            3	two"#]],
        )
        .await;
        assert_eq!(fixture.proposed("a"), "one\n1.5\ntwo\n");
    }

    #[tokio::test]
    async fn an_edit_uses_the_text_of_an_open_document() {
        let fixture = Fixture::new(&[("a", "disk\n")]);
        fixture.open("a", "buffer\n");
        check(
            &fixture,
            edit("a", "buffer", "edited"),
            expect![[r#"
            Edited a (+1 −1).
            1	edited"#]],
        )
        .await;
        assert_eq!(fixture.proposed("a"), "edited\n");
    }

    #[tokio::test]
    async fn an_edit_that_does_not_fit_is_refused_with_the_reason() {
        let fixture = Fixture::new(&[("src/cart.mjs", "total(items)\n"), ("linked", "x")]);
        let alias = fixture.path("alias");
        std::fs::hard_link(fixture.path("linked"), alias).expect("a link");
        check(
            &fixture,
            edit("src/cart.mjs", "total(item)", "x"),
            expect!["failure: src/cart.mjs: `old_text` is not in the file. It must match exactly, whitespace included. The nearest place:\n1\ttotal(items)"],
        )
        .await;
        check(
            &fixture,
            edit("cart.mjs", "a", "b"),
            expect!["failure: `cart.mjs` does not exist. Similar: `src/cart.mjs`."],
        )
        .await;
        check(
            &fixture,
            json!({"path": 1, "old_text": "a"}),
            expect!["failure: edit_file: `path` is 1 (string expected)."],
        )
        .await;
        check(
            &fixture,
            edit("linked", "x", "y"),
            expect!["failure: `linked` has other names (hard links), maybe outside the workspace, that would change with it. Nothing was changed."],
        )
        .await;
        check(
            &fixture,
            edit(".git/config", "x", "y"),
            expect!["failure: `.git/config` belongs to Git's own data, which file tools do not touch. Use git commands."],
        )
        .await;
        fixture.refuse("it is read-only");
        check(
            &fixture,
            edit("src/cart.mjs", "total", "sum"),
            expect!["failure: The editor did not change `src/cart.mjs`: it is read-only. Nothing was changed."],
        )
        .await;
    }

    /// No text of a secret file is shown before consent, so consent covers only the text it had.
    #[tokio::test]
    async fn a_secret_file_that_changes_while_the_user_is_asked_is_not_edited() {
        let fixture = Fixture::new(&[(".env", "A=1\n")]);
        let call = tool().parse(edit(".env", "B=1", "B=2"), fixture.context()).unwrap();
        assert_eq!(call.preview(fixture.context()).unwrap(), None);
        std::fs::write(fixture.path(".env"), "B=1\n").unwrap();
        expect!["failure: `.env` changed while the user was asked about this change; nothing was changed. Read the file again, then propose it again."]
            .assert_eq(&fixture.run(call).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_edit_is_computed_again_if_the_user_typed_meanwhile() {
        let fixture = Fixture::new(&[("a", "one\ntwo\n")]);
        fixture.user_types_first("a", &["zero\none\ntwo\n"]);
        check(
            &fixture,
            edit("a", "two", "2"),
            expect![[r#"
            Edited a (+1 −1).
            1	zero
            2	one
            3	2"#]],
        )
        .await;
        assert_eq!(fixture.proposed("a"), "zero\none\n2\n");

        let fixture = Fixture::new(&[("a", "one\ntwo\n")]);
        fixture.user_types_first("a", &["one\n"]);
        check(
            &fixture,
            edit("a", "two", "2"),
            expect!["failure: a: `old_text` is not in the file. It must match exactly, whitespace included. Nothing in the file resembles it; read the file again."],
        )
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn an_edit_waits_for_a_pause_of_a_user_who_types_steadily() {
        let fixture = Fixture::new(&[("a", "one\ntwo\n")]);
        fixture.user_types_steadily("a", 50);
        check(
            &fixture,
            edit("a", "one", "1"),
            expect![[r#"
            Edited a (+1 −1).
            1	1
            2	two
            3	xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"#]],
        )
        .await;
        assert_eq!(fixture.proposed("a"), format!("1\ntwo\n{}", "x".repeat(50)));
    }

    #[tokio::test(start_paused = true)]
    async fn an_edit_of_a_file_that_keeps_changing_is_given_up_with_its_place() {
        let fixture = Fixture::new(&[("a", "0\n1\n2\n3\n4\none\n6\n7\n8\n9\n")]);
        fixture.user_types_steadily("a", 1_000);
        check(
            &fixture,
            edit("a", "one", "1"),
            expect!["failure: `a` kept changing for 30 seconds while this edit was made; nothing was changed. The user is probably typing in it. Do other work first, then read it again and repeat the edit.\nThe place as it is now:\n3\t2\n4\t3\n5\t4\n6\tone\n7\t6\n8\t7\n9\t8"],
        )
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn an_edit_that_waits_for_a_pause_is_cancelled_at_once() {
        let fixture = Fixture::new(&[("a", "one\n")]);
        fixture.user_types_steadily("a", 1_000);
        let began = tokio::time::Instant::now();
        let cancel = async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            fixture.cancel();
        };
        let (answer, ()) = tokio::join!(fixture.call("edit_file", edit("a", "one", "1")), cancel);
        assert_eq!(answer, "failure: Canceled; the change is not in the file.");
        assert!(began.elapsed() < Duration::from_secs(3));
    }
}
