//! `write_file`: creates a file, or replaces all of its text, as a proposal in the editor.

use cairn_core::{edit, text::Text};
use cairn_protocol::{ToolKind, ToolLabel};
use serde_json::json;

use super::{
    Arguments, Call, Tool, ToolContext, ToolFailure, Wanted, outside,
    propose::{Computed, FileChange, edit_of},
};
use crate::workspace::{MAX_FILE_BYTES, WorkspacePath};

pub(super) fn tool() -> Tool {
    let description = "Creates a file with this content, and missing folders, or replaces the \
        whole text of an existing one. To change a part of a file use `edit_file`. The \
        change appears in the user's editor for review; go on without waiting for it.";
    let properties = json!({
        "path": {"type": "string", "description": "Path relative to the workspace folder"},
        "content": {"type": "string", "description": "The whole text of the file"}
    });
    Tool::new("write_file", ToolKind::Edit, description, properties, &["path", "content"], parse)
}

fn parse(arguments: Arguments, context: &ToolContext) -> Result<Call, ToolFailure> {
    let path = arguments.string("path");
    let content = arguments.string("content");
    if content.len() as u64 > MAX_FILE_BYTES {
        return Err(ToolFailure::tell("`content` is too long for one file."));
    }
    if content.contains('\0') {
        return Err(ToolFailure::tell("`content` has a NUL character; only text is written."));
    }
    if let Some(call) = outside::write(&path, &content, context) {
        return Ok(call);
    }
    let path = context.workspace.resolve(&path).map_err(ToolFailure::tell)?;
    let (label, access) = (ToolLabel::WriteFile { file: path.to_string() }, edit_of(&path));
    let change = FileChange::new(path, move |_, path, base| written(&content, path, base));
    Ok(change.call(label, access))
}

fn written(
    content: &str,
    path: &WorkspacePath,
    base: Option<&Text>,
) -> Result<Computed, ToolFailure> {
    let Some(old) = base.map(Text::to_string) else {
        return Ok(Computed::new(Wanted::Text(content.to_owned()), format!("Created {path}")));
    };
    let new = edit::rewrite(&old, content);
    if new == old {
        return Err(ToolFailure::Tell(format!(
            "`{path}` has exactly this content already; nothing was changed."
        )));
    }
    Ok(Computed::new(Wanted::Text(new), format!("Replaced the text of {path}")))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::tools::testing::Fixture;

    async fn check(fixture: &Fixture, path: &str, content: &str, expect: Expect) {
        let arguments = json!({"path": path, "content": content});
        expect.assert_eq(&fixture.call("write_file", arguments).await);
    }

    #[tokio::test]
    async fn a_file_is_created_or_replaced() {
        let fixture = Fixture::new(&[("crlf", "a\r\nb\r\n"), ("dir/x", "")]);
        check(&fixture, "new/deep.txt", "a\nb\n", expect!["Created new/deep.txt (+2 −0)."]).await;
        assert_eq!(fixture.proposed("new/deep.txt"), "a\nb\n");
        check(&fixture, "crlf", "a\nc\n", expect!["Replaced the text of crlf (+1 −1)."]).await;
        assert_eq!(fixture.proposed("crlf"), "a\r\nc\r\n");
        check(
            &fixture,
            "crlf",
            "a\nc\n",
            expect!["failure: `crlf` has exactly this content already; nothing was changed."],
        )
        .await;
        check(&fixture, "dir", "x", expect!["failure: `dir` is a folder, not a regular file."])
            .await;
        check(
            &fixture,
            "dir/x/y",
            "x",
            expect!["failure: `dir/x/y` leads through a file as if it were a folder."],
        )
        .await;
        check(&fixture, "../x", "x", expect!["failure: `../x` is outside the workspace. Only files below the workspace folder can be used; a command can read others."]).await;
        check(
            &fixture,
            "bin",
            "\0",
            expect!["failure: `content` has a NUL character; only text is written."],
        )
        .await;
    }

    #[tokio::test]
    async fn a_file_that_appears_meanwhile_is_not_overwritten_blindly() {
        let fixture = Fixture::new(&[]);
        fixture.user_types_first("a", &["theirs\n"]);
        check(&fixture, "a", "mine\n", expect!["Replaced the text of a (+1 −1)."]).await;
        assert_eq!(fixture.proposed("a"), "mine\n");
    }
}
