//! Content that the user sends with a message.

use macro_rules_attribute::apply;

use crate::{Range, UserText};

/// Content that the user sends with a message. In notifications without `text` and `data`.
#[apply(wire)]
pub struct Attachment {
    pub kind: AttachmentKind,
    /// Name for the user, such as `Pasted text`. By default the path of the file.
    pub name: Option<String>,
    /// File, folder, or file of the selection; inside the workspace.
    pub uri: Option<String>,
    /// Range of a selection.
    pub range: Option<Range>,
    /// Text of a selection or text. The daemon reads a file itself.
    pub text: Option<String>,
    /// Type of an image. The bytes decide; it may be absent.
    pub mime: Option<String>,
    /// Bytes of an image in base 64.
    pub data: Option<String>,
}

#[apply(wire)]
#[derive(Copy)]
pub enum AttachmentKind {
    File,
    Folder,
    Selection,
    Text,
    Image,
}

#[apply(wire)]
#[derive(Default)]
pub struct TurnAttachmentsResult {
    /// In the order in which they were sent, with `text` and `data`. An image that the model server refused
    /// has no `data`.
    pub attachments: Vec<Attachment>,
}

impl UserText for Vec<Attachment> {
    fn each_user_text(&mut self, visit: &mut dyn FnMut(&mut String)) {
        for attachment in self {
            attachment.name.each_user_text(visit);
            attachment.text.each_user_text(visit);
        }
    }
}
