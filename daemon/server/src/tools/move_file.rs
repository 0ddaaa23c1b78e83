//! `move_file`: proposes to move or rename a file; the user can reject it.

use cairn_core::{model::ToolSpec, policy::Access, text::Text};
use cairn_protocol::Preview;
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};

use super::{
    Approved, Call, Tool, ToolContext, ToolFailure, ToolOutput, Wanted,
    arguments::Arguments,
    propose::{Asked, change, preview_moved},
    snapshot,
};
use crate::workspace::WorkspacePath;

pub(super) struct MoveFile;

struct MoveCall {
    from: WorkspacePath,
    to: WorkspacePath,
    asked: Asked,
}

impl Tool for MoveFile {
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
        let mut arguments = Arguments::new("move_file", arguments);
        let from = arguments.string("from");
        let to = arguments.string("to");
        arguments.finish()?;
        let from = context.workspace.resolve(&from).map_err(ToolFailure::tell)?;
        let to = context.workspace.resolve(&to).map_err(ToolFailure::tell)?;
        Ok(Box::new(MoveCall { from, to, asked: None }))
    }
}

impl Call for MoveCall {
    fn title(&self) -> String {
        format!("Move {} to {}", self.from, self.to)
    }

    fn access(&self) -> Access {
        Access::Move {
            from: self.from.as_path().to_owned(),
            from_inside: self.from.inside().to_owned(),
            to: self.to.as_path().to_owned(),
            to_inside: self.to.inside().to_owned(),
            aliases: [self.from.aliases(), self.to.aliases()].concat(),
        }
    }

    fn preview(&mut self, context: &ToolContext) -> Result<Option<Preview>, ToolFailure> {
        let (preview, asked) = preview_moved(context, &self.from, &self.to)?;
        self.asked = asked;
        Ok(preview)
    }

    fn run(
        self: Box<Self>,
        context: ToolContext,
        _approved: Approved,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        async move {
            let Self { from, to, asked } = *self;
            let looking = context.clone();
            let (path, content) = (from.clone(), format!("Moved {from} to {to}.").into());
            let relocate = move |base: Option<&Text>| {
                if base.is_none() {
                    return Err(snapshot::missing(&looking, &from));
                }
                looking.workspace.recheck(&to).map_err(ToolFailure::tell)?;
                let open = looking.docs.get(&to.uri()).is_some();
                if open || looking.workspace.is_there(&to) {
                    let folder = to.as_path().is_dir();
                    let hint = if folder { " as a folder: give the whole new path" } else { "" };
                    return Err(ToolFailure::Tell(format!(
                        "`{to}` exists already{hint}. Nothing was moved."
                    )));
                }
                Ok((Wanted::At(to.as_path().to_owned()), ()))
            };
            change(&context, &path, asked, relocate).await?;
            Ok(ToolOutput { content, ..ToolOutput::default() })
        }
        .boxed()
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
    async fn moves_to_where_nothing_is() {
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
                    "failure: `../x` is outside the workspace. Only files below the workspace folder can be used."
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
    async fn both_places_are_looked_at_by_the_policy() {
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
