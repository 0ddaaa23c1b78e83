//! Content that the user sends with a message.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Range, UserText};

/// Content that the user sends with a message. In notifications without `text` and `data`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    pub kind: AttachmentKind,
    /// Name for the user, such as `Pasted text`. By default the path of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub name: Option<String>,
    /// File, folder, or file of the selection; inside the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub uri: Option<String>,
    /// Range of a selection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub range: Option<Range>,
    /// Text of a selection or text. The daemon reads a file itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub text: Option<String>,
    /// Type of an image. The bytes decide; it may be absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub mime: Option<String>,
    /// Bytes of an image in base 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub data: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum AttachmentKind {
    File,
    Folder,
    Selection,
    Text,
    Image,
}

/// Requests what the user attached to the messages of a turn, to send a message again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TurnAttachmentsParams {
    pub session_id: String,
    pub turn_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
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
