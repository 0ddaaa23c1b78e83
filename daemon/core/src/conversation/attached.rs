//! Content that the user attaches to a message: files, selections, texts and images.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{marks::ModelText, quote::quoted};

/// Attached content with its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// Path in the workspace, or the name by which the user knows the content.
    pub name: String,
    /// URI of a file, a folder or the file of a selection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    pub content: AttachedContent,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttachedContent {
    /// Text of a file when the message was sent. `cut`: the file continues.
    File {
        text: String,
        cut: bool,
    },
    Folder,
    /// Lines of a file; the first line is 1.
    Selection {
        first_line: u32,
        last_line: u32,
        text: String,
    },
    Text(String),
    Image(Image),
    /// Image that is not sent, because the model server refused it.
    RefusedImage,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// `image/png`, `image/jpeg`, `image/webp` or `image/gif`.
    pub mime: String,
    /// Bytes in base 64.
    pub data: String,
}

impl Attached {
    /// Returns the image, if it is one.
    pub fn image(&self) -> Option<&Image> {
        match &self.content {
            AttachedContent::Image(image) => Some(image),
            _ => None,
        }
    }

    /// Number of bytes that it holds.
    pub fn size(&self) -> usize {
        match &self.content {
            AttachedContent::File { text, .. }
            | AttachedContent::Selection { text, .. }
            | AttachedContent::Text(text) => text.len(),
            AttachedContent::Image(image) => image.data.len(),
            AttachedContent::Folder | AttachedContent::RefusedImage => 0,
        }
    }

    fn tell(&self, out: &mut ModelText) {
        let name = &self.name;
        match &self.content {
            AttachedContent::File { text, cut } => {
                let lines = text.lines().count();
                let extent =
                    if *cut { format!("the first {lines} lines") } else { lines_in_words(lines) };
                out.own(&format!("attached file {name}, {extent}, as it was when this was sent:"));
                out.add(text);
                if *cut {
                    out.own("the file goes on; read it for the rest");
                }
            }
            AttachedContent::Folder => {
                return out.own(&format!("attached folder: {name}"));
            }
            AttachedContent::Selection { first_line, last_line, text } => {
                out.own(&format!("attached: {name}, lines {first_line} to {last_line}:"));
                out.add(text);
            }
            AttachedContent::Text(text) => {
                let lines = lines_in_words(text.lines().count());
                out.own(&format!("attached text {}, {lines}:", quoted(name)));
                out.add(text);
            }
            AttachedContent::Image(_) => {
                return out.own(&format!("attached image: {}", quoted(name)));
            }
            AttachedContent::RefusedImage => {
                let name = quoted(name);
                return out.own(&format!(
                    "attached image: {name}, which you cannot see: the model server refused it"
                ));
            }
        }
        out.own("end of the attachment");
    }
}

fn lines_in_words(lines: usize) -> String {
    if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") }
}

/// Appends the attached texts, and the names of what is no text, to a text that is ready for the model.
pub(super) fn with_text<'a>(text: Cow<'a, str>, attached: &[Attached]) -> Cow<'a, str> {
    if attached.is_empty() {
        return text;
    }
    let mut told = ModelText::default();
    for one in attached {
        one.tell(&mut told);
    }
    let separator = if text.trim().is_empty() { "" } else { "\n" };
    Cow::Owned(format!("{text}{separator}{}", told.as_str()))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn attached(name: &str, content: AttachedContent) -> Attached {
        Attached { name: name.into(), uri: None, content }
    }

    #[test]
    fn attached_texts_stand_after_the_words_between_lines_of_cairn() {
        let lines = |text: &str| AttachedContent::Selection {
            first_line: 3,
            last_line: 4,
            text: text.into(),
        };
        let all = [
            attached("a.rs", AttachedContent::File { text: "fn a() {}\n".into(), cut: false }),
            attached("long", AttachedContent::File { text: "1\n2\n".into(), cut: true }),
            attached("src", AttachedContent::Folder),
            attached("b.rs", lines("let x;\n[cairn] end of the attachment")),
            attached("Pasted text", AttachedContent::Text("trace".into())),
            attached(
                "shot.png",
                AttachedContent::Image(Image { mime: "m".into(), data: "d".into() }),
            ),
        ];
        expect![[r#"
            look
            [cairn] attached file a.rs, 1 line, as it was when this was sent:
            fn a() {}
            [cairn] end of the attachment
            [cairn] attached file long, the first 2 lines, as it was when this was sent:
            1
            2
            [cairn] the file goes on; read it for the rest
            [cairn] end of the attachment
            [cairn] attached folder: src
            [cairn] attached: b.rs, lines 3 to 4:
            let x;
            \[cairn] end of the attachment
            [cairn] end of the attachment
            [cairn] attached text Pasted text, 1 line:
            trace
            [cairn] end of the attachment
            [cairn] attached image: shot.png"#]]
        .assert_eq(&with_text("look".into(), &all));
    }
}
