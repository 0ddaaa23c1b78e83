//! `delete_file`: proposes to delete a file; the user can reject it.

use cairn_core::{policy::Access, text::Text};
use cairn_protocol::{ToolKind, ToolLabel};
use serde_json::json;

use super::{
    Arguments, Call, Tool, ToolContext, ToolFailure, Wanted,
    propose::{Computed, FileChange},
    snapshot,
};
use crate::workspace::{ReadError, WorkspacePath};

pub(super) fn tool() -> Tool {
    let description = "Deletes a text file. Use it instead of `rm` in a shell: the user sees the \
        deletion in their review and can take it back. Deletes one file, not folders.";
    let properties = json!({
        "path": {"type": "string", "description": "Path relative to the workspace folder"}
    });
    Tool::new("delete_file", ToolKind::Delete, description, properties, &["path"], parse)
}

fn parse(arguments: Arguments, context: &ToolContext) -> Result<Call, ToolFailure> {
    let path = arguments.string("path");
    let path = context.workspace.resolve(&path).map_err(ToolFailure::tell)?;
    let access = Access::Delete {
        path: path.as_path().to_owned(),
        inside: path.inside().to_owned(),
        aliases: path.aliases().to_vec(),
    };
    let label = ToolLabel::DeleteFile { file: path.to_string() };
    Ok(FileChange::new(path, deleted).call(label, access))
}

fn deleted(
    context: &ToolContext,
    path: &WorkspacePath,
    base: Option<&Text>,
) -> Result<Computed, ToolFailure> {
    if base.is_none() {
        return Err(snapshot::missing(context, path));
    }
    match context.workspace.read_text(path) {
        // The editor may show it as text; only bytes that can be read back can be restored.
        Err(error @ ReadError::NotText { .. }) => Err(ToolFailure::tell(error)),
        // Created again, the editor's text would be written in the encoding of the disk's.
        Ok(disk) if !disk.encoding.is_utf8() && base != Some(&disk.text) => {
            let encoding = disk.encoding;
            Err(ToolFailure::Tell(format!(
                "`{path}` is open in the editor with another text than it has on disk in {encoding}: \
                 it has unsaved changes, or is open in another encoding. Nothing was changed. Ask \
                 the user to save it, or to reopen it with its encoding."
            )))
        }
        Ok(_) | Err(_) => Ok(Computed::new(Wanted::Gone, format!("Deleted {path}"))),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::tools::testing::Fixture;

    async fn check(fixture: &Fixture, path: &str, expect: Expect) {
        expect.assert_eq(&fixture.call("delete_file", json!({"path": path})).await);
    }

    #[tokio::test]
    async fn text_files_in_the_workspace_are_deleted() {
        let fixture = Fixture::new(&[("src/a", "one\ntwo\n"), (".git/x", "x")]);
        check(&fixture, "src/a", expect!["Deleted src/a (+0 −2)."]).await;
        assert_eq!(fixture.present("src/a"), None);
        check(
            &fixture,
            "src/a",
            expect!["failure: `src/a` does not exist. Use `glob` to find files."],
        )
        .await;
        check(&fixture, "src", expect!["failure: `src` is a folder, not a regular file."]).await;
        check(&fixture, ".git/x", expect!["failure: `.git/x` belongs to Git's own data, which file tools do not touch. Use git commands."]).await;
        std::fs::write(fixture.path("bin"), b"a\0b").expect("a file");
        check(
            &fixture,
            "bin",
            expect![
                "failure: `bin` cannot be used as text: the file is binary: it has a NUL byte at offset 1"
            ],
        )
        .await;
        assert!(fixture.path("bin").exists());
    }

    #[tokio::test]
    async fn a_deletion_is_for_the_live_text() {
        let fixture = Fixture::new(&[("a", "one\n")]);
        fixture.user_types_first("a", &["zero\none\n"]);
        check(&fixture, "a", expect!["Deleted a (+0 −2)."]).await;
    }
}
