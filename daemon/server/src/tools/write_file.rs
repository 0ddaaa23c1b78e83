//! `write_file`: creates a file, or replaces all of its text, as a proposal in the editor.

use cairn_core::{edit, model::ToolSpec, policy::Access, text::Text};
use cairn_protocol::Preview;
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};

use super::{
    Approved, Call, Tool, ToolContext, ToolFailure, ToolOutput, Wanted,
    arguments::Arguments,
    propose::{Asked, change, counts, edit_of, preview},
};
use crate::workspace::{MAX_FILE_BYTES, WorkspacePath};

pub(super) struct WriteFile;

struct WriteCall {
    path: WorkspacePath,
    content: String,
    asked: Asked,
}

impl WriteCall {
    fn compute(&self, base: Option<&Text>) -> Result<(Wanted, Done), ToolFailure> {
        let Some(base) = base else {
            return Ok((Wanted::Text(self.content.clone()), Done::Created));
        };
        let old = base.to_string();
        let new = edit::rewrite(&old, &self.content);
        if new == old {
            return Err(ToolFailure::Tell(format!(
                "`{}` has exactly this content already; nothing was changed.",
                self.path
            )));
        }
        Ok((Wanted::Text(new), Done::Replaced))
    }
}

enum Done {
    Created,
    Replaced,
}

impl Tool for WriteFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "write_file".to_owned(),
            description: "Creates a file with this content, and missing folders, or replaces the \
                whole text of an existing one. To change a part of a file use `edit_file`. The \
                change appears in the user's editor for review; go on without waiting for it."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Path relative to the workspace folder"},
                    "content": {"type": "string", "description": "The whole text of the file"}
                },
                "required": ["path", "content"]
            }),
            parallel: false,
        }
    }

    fn parse(&self, arguments: Value, context: &ToolContext) -> Result<Box<dyn Call>, ToolFailure> {
        let mut arguments = Arguments::new("write_file", arguments);
        let path = arguments.string("path");
        let content = arguments.string("content");
        arguments.finish()?;
        if content.len() as u64 > MAX_FILE_BYTES {
            return Err(ToolFailure::tell("`content` is too long for one file."));
        }
        if content.contains('\0') {
            return Err(ToolFailure::tell("`content` has a NUL character; only text is written."));
        }
        let path = context.workspace.resolve(&path).map_err(ToolFailure::tell)?;
        Ok(Box::new(WriteCall { path, content, asked: None }))
    }
}

impl Call for WriteCall {
    fn title(&self) -> String {
        format!("Write {}", self.path)
    }

    fn access(&self) -> Access {
        edit_of(&self.path)
    }

    fn preview(&mut self, context: &ToolContext) -> Result<Option<Preview>, ToolFailure> {
        let (patch, asked) = preview(context, &self.path, |base| self.compute(base))?;
        self.asked = asked;
        Ok(patch)
    }

    fn run(
        mut self: Box<Self>,
        context: ToolContext,
        _approved: Approved,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        async move {
            let (path, asked) = (self.path.clone(), self.asked.take());
            let rewrite = move |base: Option<&Text>| self.compute(base);
            let done = change(&context, &path, asked, rewrite).await?;
            let counts = counts(&done);
            let verb = match done.note {
                Done::Created => "Created",
                Done::Replaced => "Replaced the text of",
            };
            Ok(ToolOutput {
                content: format!("{verb} {path} ({counts}).").into(),
                detail: Some(counts),
                ..ToolOutput::default()
            })
        }
        .boxed()
    }
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
    async fn creates_and_replaces() {
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
        check(&fixture, "../x", "x", expect!["failure: `../x` is outside the workspace. Only files below the workspace folder can be used."]).await;
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
