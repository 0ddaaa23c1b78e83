//! `edit_file`: replaces a passage of a file, as a proposal in the editor.

use cairn_core::{
    edit::{self, Occurrences},
    model::ToolSpec,
    text::Text,
};
use cairn_protocol::{ToolKind, ToolLabel};
use serde_json::{Value, json};

use super::{
    Call, Tool, ToolContext, ToolFailure, Wanted,
    arguments::ArgumentReader,
    propose::{Computed, FileCall, FileChange, edit_of},
    snapshot,
};
use crate::workspace::WorkspacePath;

pub(super) struct EditFile;

/// Replacement of a passage.
struct Replacement {
    path: WorkspacePath,
    old: String,
    new: String,
    occurrences: Occurrences,
}

impl Tool for EditFile {
    fn kind(&self) -> ToolKind {
        ToolKind::Edit
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "edit_file".to_owned(),
            description: "Replaces text in a file. `old_text` must be in the file exactly once, with \
                the same whitespace and without line numbers; include surrounding lines until it is \
                unique, or set `replace_all` to replace every occurrence. The change appears in the \
                user's editor for review; go on without waiting for it. Line endings are kept as \
                the file has them."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Path relative to the workspace folder"},
                    "old_text": {"type": "string", "description": "Exact text to replace"},
                    "new_text": {"type": "string", "description": "Text to put in its place; may be empty"},
                    "replace_all": {"type": "boolean", "description": "Replace every occurrence"}
                },
                "required": ["path", "old_text", "new_text"]
            }),
            parallel: false,
        }
    }

    fn parse(&self, arguments: Value, context: &ToolContext) -> Result<Box<dyn Call>, ToolFailure> {
        let mut arguments = ArgumentReader::new("edit_file", arguments);
        let path = arguments.string("path");
        let old = arguments.string("old_text");
        let new = arguments.string("new_text");
        let all = arguments.optional_bool("replace_all").unwrap_or(false);
        arguments.finish()?;
        let path = context.workspace.resolve(&path).map_err(ToolFailure::tell)?;
        let occurrences = if all { Occurrences::All } else { Occurrences::One };
        let (label, access) = (ToolLabel::EditFile { file: path.to_string() }, edit_of(&path));
        Ok(FileCall::boxed(label, access, Replacement { path, old, new, occurrences }))
    }
}

impl FileChange for Replacement {
    fn path(&self) -> &WorkspacePath {
        &self.path
    }

    fn compute(&self, context: &ToolContext, base: Option<&Text>) -> Result<Computed, ToolFailure> {
        let base = base.ok_or_else(|| snapshot::missing(context, &self.path))?;
        let text = base.to_string();
        let replaced = edit::replace(&text, &self.old, &self.new, self.occurrences).map_err(
            |error| match self.path.is_secret() {
                // Consent to a change does not cover the text around it.
                true => ToolFailure::Tell(format!(
                    "{}: `old_text` does not fit. What is there is not shown, because it may hold \
                     secrets; read the file first.",
                    self.path
                )),
                false => ToolFailure::Tell(format!("{}: {error}", self.path)),
            },
        )?;
        let note = match replaced.count {
            0 | 1 => String::new(),
            count => format!(", {count} places"),
        };
        let done = format!("Edited {}", self.path);
        Ok(Computed { wanted: Wanted::Text(replaced.text), done, note })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::{Expect, expect};

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
        check(&fixture, edit("a.txt", "one\ntwo", "one\n2"), expect!["Edited a.txt (+1 −1)."])
            .await;
        assert_eq!(fixture.proposed("a.txt"), "one\r\n2\r\n");
        let all = json!({"path": "all", "old_text": "x", "new_text": "z", "replace_all": true});
        check(&fixture, all, expect!["Edited all (+1 −1, 2 places)."]).await;
        assert_eq!(fixture.proposed("all"), "z y z\n");
    }

    #[tokio::test]
    async fn an_edit_uses_the_text_of_an_open_document() {
        let fixture = Fixture::new(&[("a", "disk\n")]);
        fixture.open("a", "buffer\n");
        check(&fixture, edit("a", "buffer", "edited"), expect!["Edited a (+1 −1)."]).await;
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
            expect!["failure: edit_file: `path` is 1 (string expected); `new_text` is missing (string expected)."],
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
        let mut call = EditFile.parse(edit(".env", "B=1", "B=2"), fixture.context()).unwrap();
        assert_eq!(call.preview(fixture.context()).unwrap(), None);
        std::fs::write(fixture.path(".env"), "B=1\n").unwrap();
        expect!["failure: `.env` changed while the user was asked about this change; nothing was changed. Read the file again, then propose it anew."]
            .assert_eq(&fixture.run(call).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_edit_is_computed_again_if_the_user_typed_meanwhile() {
        let fixture = Fixture::new(&[("a", "one\ntwo\n")]);
        fixture.user_types_first("a", &["zero\none\ntwo\n"]);
        check(&fixture, edit("a", "two", "2"), expect!["Edited a (+1 −1)."]).await;
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
        check(&fixture, edit("a", "one", "1"), expect!["Edited a (+1 −1)."]).await;
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
        assert_eq!(answer, "failure: Cancelled; nothing was changed.");
        assert!(began.elapsed() < Duration::from_secs(3));
    }
}
