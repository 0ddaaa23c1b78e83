//! `move_file`: proposes to move or rename a file; the user can reject it.

use cairn_core::{policy::Access, text::Text};
use cairn_protocol::{ToolKind, ToolLabel};
use serde_json::json;

use super::{
    Arguments, Call, Tool, ToolContext, ToolFailure, Wanted,
    propose::{Computed, FileChange},
    snapshot,
};
use crate::workspace::WorkspacePath;

pub(super) fn tool() -> Tool {
    let description = "Moves or renames a text file, making missing folders. Use it instead of \
        `mv` in a shell: the user sees the move in their review and can take it back, and \
        edits that wait for their review move along. Nothing may be at `to`. Paths that \
        other files write down (imports) are yours to change.";
    let properties = json!({
        "from": {"type": "string", "description": "Path relative to the workspace folder"},
        "to": {"type": "string", "description": "The new path of the file, its name included"}
    });
    Tool::new("move_file", ToolKind::Move, description, properties, &["from", "to"], parse)
}

fn parse(arguments: Arguments, context: &ToolContext) -> Result<Call, ToolFailure> {
    let from = arguments.string("from");
    let to = arguments.string("to");
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
    let change = FileChange::new(from, {
        let to = to.clone();
        move |context, from, base| moved(context, from, &to, base)
    });
    Ok(change.moving_to(to).call(label, access))
}

fn moved(
    context: &ToolContext,
    from: &WorkspacePath,
    to: &WorkspacePath,
    base: Option<&Text>,
) -> Result<Computed, ToolFailure> {
    if base.is_none() {
        return Err(snapshot::missing(context, from));
    }
    context.workspace.recheck(to).map_err(ToolFailure::tell)?;
    let open = context.docs.get(&to.key()).is_some();
    if open || context.workspace.is_there(to) {
        let folder = to.as_path().is_dir();
        let hint = if folder { " as a folder: give the whole new path" } else { "" };
        return Err(ToolFailure::Tell(format!("`{to}` exists already{hint}. Nothing was moved.")));
    }
    Ok(Computed::new(Wanted::At(to.as_path().to_owned()), format!("Moved {from} to {to}")))
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
            let call = tool().parse(arguments, fixture.context()).expect("right arguments");
            let verdict = cairn_core::policy::judge(
                &call.access,
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
