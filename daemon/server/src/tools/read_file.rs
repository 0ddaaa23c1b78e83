//! `read_file`: reads a file as the user sees it, with line numbers.

use std::ops::{ControlFlow, Range};

use base64::{Engine, engine::general_purpose::STANDARD};
use cairn_core::{
    conversation::{Attached, AttachedContent, Image},
    marks::ModelText,
    policy::Access,
    text::Text,
    turn::Input,
};
use cairn_protocol::{ToolKind, ToolLabel, ToolStats};
use serde_json::json;

use super::{
    Arguments, Call, ReadText, Tool, ToolContext, ToolFailure, ToolOutput, blocking, outside,
    snapshot,
};
use crate::{
    images, instructions,
    workspace::{Entry, ReadError, TRAPPED, Walked, WorkspacePath},
};

const MAX_LINES: usize = 2000;
const MAX_BYTES: usize = 100 * 1024;
const MAX_LINE_CHARS: usize = 2000;
/// Entries of a folder that are listed.
const MAX_ENTRIES: usize = 300;
const UNSAVED: &str = "The editor holds unsaved changes of this file; they are shown.";

pub(super) fn tool() -> Tool {
    let description = "Reads a text file of the workspace, including the user's unsaved changes, shows an \
        image, or lists a folder. \
        Each line comes as its number, a tab, and its text; the number and the tab are not \
        part of the file. Without `offset` and `limit` it reads up to 2000 lines from the \
        start. Read a file before you edit it.";
    let properties = json!({
        "path": {"type": "string", "description": "Path relative to the workspace folder"},
        "offset": {"type": "integer", "minimum": 1, "description": "First line to read, counted from 1"},
        "limit": {"type": "integer", "minimum": 1, "description": "How many lines to read"}
    });
    Tool::new("read_file", ToolKind::Read, description, properties, &["path"], parse).parallel()
}

fn parse(arguments: Arguments, context: &ToolContext) -> Result<Call, ToolFailure> {
    let path = arguments.string("path");
    let given = (arguments.count("offset"), arguments.count("limit"));
    let (offset, limit) = (given.0.unwrap_or(1).max(1), given.1.unwrap_or(MAX_LINES).max(1));
    if let Some(path) = outside::readable(&path, context) {
        let lines = (given != (None, None)).then_some((offset, limit));
        return Ok(outside::read(&path, lines, context));
    }
    let path = context.workspace.resolve(&path).map_err(ToolFailure::tell)?;
    let label = ToolLabel::Read { file: path.to_string() };
    let access = Access::Read { path: Some(path.as_path().to_owned()), names: path.names() };
    Ok(Call::new(label, access, move |context| async move {
        blocking(move || read(&path, offset, limit, &context)).await.flatten()
    }))
}

/// Reads a file from a line on (the first is 1), an image or a folder. Blocks.
fn read(
    path: &WorkspacePath,
    offset: usize,
    limit: usize,
    context: &ToolContext,
) -> Result<ToolOutput, ToolFailure> {
    if context.workspace.folder_is_there(path) {
        context.workspace.recheck(path).map_err(ToolFailure::tell)?;
        let content = listing(context, path);
        return Ok(ToolOutput { content, ..ToolOutput::default() });
    }
    if let Some((content, image)) = image(context, path)? {
        return Ok(ToolOutput {
            content,
            news: vec![Input::Image { image }],
            ..ToolOutput::default()
        });
    }
    let snapshot =
        snapshot::look(context, path)?.ok_or_else(|| snapshot::missing(context, path))?;
    let (mut content, lines) = numbered(&snapshot.text, offset, limit)?;
    if snapshot.unsaved {
        content.own(UNSAVED);
    }
    let ToolContext { workspace, docs, sources, .. } = context;
    let near = || instructions::around(workspace, docs, sources, path.as_path());
    let stats = ToolStats { lines: Some(lines.end - lines.start), ..ToolStats::default() };
    Ok(ToolOutput {
        content,
        lines: Some(lines),
        stats: Some(stats),
        near: context.trusted.then(near).unwrap_or_default(),
        read_text: Some(ReadText { key: path.key(), text: snapshot.text }),
        ..ToolOutput::default()
    })
}

/// Reads a file that is an image by its name and its first bytes. `None` for another file. Blocks.
fn image(
    context: &ToolContext,
    path: &WorkspacePath,
) -> Result<Option<(ModelText, Attached)>, ToolFailure> {
    if !images::is_named_so(path.as_path()) {
        return Ok(None);
    }
    context.workspace.recheck(path).map_err(ToolFailure::tell)?;
    let bytes = match context.workspace.read_bytes(path) {
        Ok(bytes) => bytes,
        Err(ReadError::Missing(_)) => return Ok(None),
        Err(error) => return Err(ToolFailure::tell(error)),
    };
    let (Some(mime), size) = (images::media_type(&bytes), bytes.len()) else { return Ok(None) };
    let what = format!("`{path}` is an image ({mime}, {size} bytes)");
    if !context.reads_images {
        return Err(ToolFailure::Tell(format!("{what}, and this model takes no images.")));
    }
    if size > images::MAX_BYTES {
        let most = images::MAX_BYTES / (1024 * 1024);
        return Err(ToolFailure::Tell(format!(
            "{what}. At most {most} MiB are shown: make a smaller copy with a command, and read that."
        )));
    }
    let mut content = ModelText::default();
    content.own(&format!("{what}. It follows the results."));
    let image = Image { mime: mime.to_owned(), data: STANDARD.encode(bytes) };
    let (name, content_of) = (path.to_string(), AttachedContent::Image(image));
    Ok(Some((content, Attached { name, uri: None, content: content_of })))
}

/// Entries of a folder, hidden ones included and ignored ones not. Blocks.
fn listing(context: &ToolContext, folder: &WorkspacePath) -> ModelText {
    let mut names = String::new();
    let (mut entries, mut more) = (0, false);
    let walked = context.workspace.list(folder, |path, kind| {
        more = entries == MAX_ENTRIES;
        if more {
            return ControlFlow::Break(());
        }
        entries += 1;
        let slash = if kind == Entry::Folder { "/" } else { "" };
        names.push_str(&format!("{path}{slash}\n"));
        ControlFlow::Continue(())
    });
    let mut content = ModelText::default();
    content.own(&format!("`{folder}` is a folder. Files that Git ignores are left out."));
    content.add(names.trim_end_matches('\n'));
    if walked == Walked::Trapped {
        content.own(TRAPPED);
    } else if entries == 0 {
        content.own("There are no others.");
    }
    if more {
        content.own(&format!("Only the first {MAX_ENTRIES} entries; use `glob` to find others."));
    }
    content
}

/// Returns the lines with their numbers, and which lines they are.
fn numbered(
    text: &Text,
    offset: usize,
    limit: usize,
) -> Result<(ModelText, Range<u32>), ToolFailure> {
    let mut content = ModelText::default();
    let total = text.filled_lines();
    if total == 0 {
        content.own("The file is empty.");
        return Ok((content, 0..0));
    }
    if offset > total {
        return Err(ToolFailure::Tell(format!(
            "`offset` is {offset}, but the file has {total} {}.",
            if total == 1 { "line" } else { "lines" }
        )));
    }
    let wanted = total.min((offset - 1).saturating_add(limit.min(MAX_LINES)));
    let mut out = String::new();
    let mut shown = offset - 1;
    for line in text.lines_from(shown).take(wanted - shown) {
        let line = line.trim_end_matches(['\n', '\r']);
        let piece = match line.char_indices().nth(MAX_LINE_CHARS) {
            Some((cut, _)) => {
                let (start, more) = (&line[..cut], line[cut..].chars().count());
                format!("{}\t{start}… [{more} more characters]\n", shown + 1)
            }
            None => format!("{}\t{line}\n", shown + 1),
        };
        if out.len() + piece.len() > MAX_BYTES && !out.is_empty() {
            break;
        }
        out.push_str(&piece);
        shown += 1;
    }
    content.add(out.strip_suffix('\n').unwrap_or(&out));
    if shown < total {
        content.own(&format!(
            "Lines {offset} to {shown} of {total}. Read on with offset {}.",
            shown + 1
        ));
    } else if offset > 1 {
        content.own(&format!("Lines {offset} to {shown} of {total}."));
    }
    Ok((content, (offset - 1) as u32..shown as u32))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::Value;

    use super::*;
    use crate::tools::testing::Fixture;

    async fn check(fixture: &Fixture, arguments: Value, expect: Expect) {
        expect.assert_eq(&fixture.call("read_file", arguments).await);
    }

    #[tokio::test]
    async fn ranges_of_lines_are_read() {
        let fixture = Fixture::new(&[("src/a.txt", "one\ntwo\r\nthree"), ("empty", "")]);
        check(&fixture, json!({"path": "src/a.txt"}), expect!["1\tone\n2\ttwo\n3\tthree"]).await;
        check(
            &fixture,
            json!({"path": "src/a.txt", "offset": 2, "limit": 1}),
            expect!["2\ttwo\n[cairn] Lines 2 to 2 of 3. Read on with offset 3."],
        )
        .await;
        check(
            &fixture,
            json!({"path": "src/a.txt", "offset": 9}),
            expect!["failure: `offset` is 9, but the file has 3 lines."],
        )
        .await;
        check(&fixture, json!({"path": "empty"}), expect!["[cairn] The file is empty."]).await;
        check(
            &fixture,
            json!({"path": "a.txt"}),
            expect!["failure: `a.txt` does not exist. Similar: `src/a.txt`."],
        )
        .await;
        check(
            &fixture,
            json!({"path": "src"}),
            expect!["[cairn] `src` is a folder. Files that Git ignores are left out.\nsrc/a.txt"],
        )
        .await;
    }

    #[tokio::test]
    async fn folders_are_listed() {
        let fixture = Fixture::new(&[
            (".gitignore", "out/"),
            ("out/x", ""),
            ("src/deep/a", ""),
            ("b", ""),
            ("many/f000", ""),
        ]);
        check(
            &fixture,
            json!({"path": "."}),
            expect!["[cairn] `.` is a folder. Files that Git ignores are left out.\n.gitignore\nb\nmany/\nsrc/"],
        )
        .await;
        for n in 0..=MAX_ENTRIES {
            std::fs::write(fixture.path(&format!("many/f{n:03}")), "").expect("a file");
        }
        let many = fixture.call("read_file", json!({"path": "many"})).await;
        assert_eq!(many.lines().count(), MAX_ENTRIES + 2);
        assert!(many.ends_with("Only the first 300 entries; use `glob` to find others."));
    }

    #[tokio::test]
    async fn the_text_of_an_open_document_is_read() {
        let fixture = Fixture::new(&[("a", "disk\n")]);
        fixture.open("a", "buffer\n");
        check(
            &fixture,
            json!({"path": "a"}),
            expect![
                "1\tbuffer\n[cairn] The editor holds unsaved changes of this file; they are shown."
            ],
        )
        .await;
        fixture.open("a", "disk\n");
        check(&fixture, json!({"path": "a"}), expect!["1\tdisk"]).await;
    }

    #[tokio::test]
    async fn an_image_is_shown() {
        let mut fixture = Fixture::new(&[("fake.png", "text\n")]);
        let png = b"\x89PNG\r\n\x1a\n".to_vec();
        std::fs::write(fixture.path("a.png"), &png).expect("a file");
        let large = [png, vec![0; images::MAX_BYTES]].concat();
        std::fs::write(fixture.path("large.PNG"), large).expect("a file");
        let huge = std::fs::File::create(fixture.path("huge.png")).expect("a file");
        huge.set_len(100 * 1024 * 1024).expect("a size");
        for (file, told) in [
            ("a.png", "[cairn] `a.png` is an image (image/png, 8 bytes). It follows the results."),
            ("fake.png", "1\ttext"),
            ("none.png", "failure: `none.png` does not exist. Use `glob` to find files."),
            (
                "large.PNG",
                "failure: `large.PNG` is an image (image/png, 5242888 bytes). At most 5 MiB are shown: make a smaller copy with a command, and read that.",
            ),
        ] {
            assert_eq!(fixture.call("read_file", json!({"path": file})).await, told, "{file}");
        }
        let huge = fixture.call("read_file", json!({"path": "huge.png"})).await;
        assert!(huge.contains("files over") && huge.len() < 200, "{huge}");
        fixture.refuse_images();
        let told =
            "failure: `a.png` is an image (image/png, 8 bytes), and this model takes no images.";
        assert_eq!(fixture.call("read_file", json!({"path": "a.png"})).await, told);
    }

    #[test]
    fn the_text_of_a_read_is_bounded() {
        let lines = Text::new(&"line\n".repeat(5000));
        let read = String::from(numbered(&lines, 1, usize::MAX).expect("a range").0);
        let end = "2000\tline\n[cairn] Lines 1 to 2000 of 5000. Read on with offset 2001.";
        assert!(read.ends_with(end));
        let wide = Text::new(&format!("{}\n", "é".repeat(1500)).repeat(200));
        let read = String::from(numbered(&wide, 1, usize::MAX).expect("a range").0);
        assert!(read.len() < MAX_BYTES + 100);
        assert!(
            read.ends_with("[cairn] Lines 1 to 34 of 200. Read on with offset 35."),
            "{}",
            &read[read.len() - 80..]
        );
        let long = Text::new(&"x".repeat(1_000_000));
        let read = String::from(numbered(&long, 1, 1).expect("a range").0);
        assert!(read.ends_with("x… [998000 more characters]"));
    }
}
