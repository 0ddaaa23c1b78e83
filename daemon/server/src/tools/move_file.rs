//! `move_file`: proposes to move or rename a file; the user can reject it.

use cairn_core::{marks::ModelText, model::ToolSpec, policy::Access, text::Text};
use cairn_protocol::{Preview, ToolKind, ToolLabel};
use serde_json::{Value, json};

use super::{
    Call, Tool, ToolContext, ToolFailure, Wanted,
    arguments::ArgumentReader,
    propose::{Computed, FileCall, FileChange, shown},
    snapshot,
};
use crate::workspace::WorkspacePath;

pub(super) struct MoveFile;

/// Move of a file.
struct Relocation {
    from: WorkspacePath,
    to: WorkspacePath,
}

impl Tool for MoveFile {
    fn kind(&self) -> ToolKind {
        ToolKind::Move
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "move_file".to_owned(),
            description: "Moves or renames a text file, making missing folders. Use it instead of \
                `mv` in a shell: the user sees the move in their review and can take it back, and \
                edits that wait for their review move along. Nothing may be at `to`. Paths that \
                other files write down (imports) are yours to change."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "from": {"type": "string", "description": "Path relative to the workspace folder"},
                    "to": {"type": "string", "description": "The new path of the file, its name included"}
                },
                "required": ["from", "to"]
            }),
            parallel: false,
        }
    }

    fn parse(&self, arguments: Value, context: &ToolContext) -> Result<Box<dyn Call>, ToolFailure> {
        let mut arguments = ArgumentReader::new("move_file", arguments);
        let from = arguments.string("from");
        let to = arguments.string("to");
        arguments.finish()?;
        let from = context.workspace.resolve(&from).map_err(ToolFailure::tell)?;
        let to = context.workspace.resolve(&to).map_err(ToolFailure::tell)?;
        let access = Access::Move {
            from: from.as_path().to_owned(),
            from_inside: from.inside().to_owned(),
            to: to.as_path().to_owned(),
            to_inside: to.inside().to_owned(),
            aliases: [from.aliases(), to.aliases()].concat(),
        };
        let label = ToolLabel::MoveFile { from: from.to_string(), to: to.to_string() };
        Ok(FileCall::boxed(label, access, Relocation { from, to }))
    }
}

impl FileChange for Relocation {
    fn path(&self) -> &WorkspacePath {
        &self.from
    }

    fn compute(&self, context: &ToolContext, base: Option<&Text>) -> Result<Computed, ToolFailure> {
        let Self { from, to } = self;
        if base.is_none() {
            return Err(snapshot::missing(context, from));
        }
        context.workspace.recheck(to).map_err(ToolFailure::tell)?;
        let open = context.docs.get(&to.key()).is_some();
        if open || context.workspace.is_there(to) {
            let folder = to.as_path().is_dir();
            let hint = if folder { " as a folder: give the whole new path" } else { "" };
            return Err(ToolFailure::Tell(format!(
                "`{to}` exists already{hint}. Nothing was moved."
            )));
        }
        let wanted = Wanted::At(to.as_path().to_owned());
        Ok(Computed {
            wanted,
            done: format!("Moved {from} to {to}"),
            note: String::new(),
            lines: ModelText::default(),
        })
    }

    /// Shows a new file at the new path. The present entry is told only with consent.
    fn preview(
        &self,
        _context: &ToolContext,
        base: Option<&Text>,
    ) -> Result<Option<Preview>, ToolFailure> {
        Ok(base.map(|text| shown(None, text, self.to.display())))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::tools::testing::Fixture;

    async fn check(fixture: &Fixture, from: &str, to: &str, expect: Expect) {
        expect.assert_eq(&fixture.call("move_file", json!({"from": from, "to": to})).await);
    }

    #[tokio::test]
    async fn a_file_moves_only_to_a_free_path() {
        let fixture = Fixture::new(&[("a", "one\n"), ("b", "two\n"), ("dir/x", "")]);
        for (to, expect) in [
            ("b", expect!["failure: `b` exists already. Nothing was moved."]),
            (
                "dir",
                expect![
                    "failure: `dir` exists already as a folder: give the whole new path. Nothing was moved."
                ],
            ),
            ("a", expect!["failure: `a` exists already. Nothing was moved."]),
            (
                "../x",
                expect![
                    "failure: `../x` is outside the workspace. Only files below the workspace folder can be used; a command can read others."
                ],
            ),
            ("new/deep/c", expect!["Moved a to new/deep/c."]),
        ] {
            check(&fixture, "a", to, expect).await;
        }
        assert_eq!(fixture.present("a"), None);
        assert_eq!(fixture.present("new/deep/c").as_deref(), Some("one\n"));
        check(
            &fixture,
            "a",
            "d",
            expect!["failure: `a` does not exist. Use `glob` to find files."],
        )
        .await;
    }

    #[tokio::test]
    async fn the_policy_checks_both_paths_of_a_move() {
        let fixture = Fixture::new(&[("a", "x"), (".env", "x")]);
        for (from, to) in [("a", ".envrc"), (".env", "b")] {
            let arguments = json!({"from": from, "to": to});
            let call = MoveFile.parse(arguments, fixture.context()).expect("right arguments");
            let verdict = cairn_core::policy::judge(
                &call.access(),
                Default::default(),
                &Default::default(),
                &cairn_core::policy::command::CommandContext {
                    may_read: &|_, _| true,
                    finds: &|_| true,
                    enters: &|_| true,
                },
            );
            assert!(matches!(verdict, cairn_core::policy::Verdict::Ask { .. }), "{from} {to}");
        }
    }
}
