//! Content that the user attached to messages: for clients, and of a stored turn.

use std::{io, ops::ControlFlow, path::Path};

use cairn_core::{
    conversation::{Attached, AttachedContent, Item},
    ids::TurnId,
    turn::Record,
};
use cairn_protocol::{Attachment, AttachmentKind, Position, Range};

use super::lines::Line;
use crate::store::journal;

/// Most bytes of content that is returned. What follows is left out.
const MOST: usize = 32 * 1024 * 1024;

/// Returns what the user attached to the messages of a turn, in the order of the journal.
pub fn attached(path: &Path, turn: &TurnId) -> io::Result<Vec<Attached>> {
    let (mut found, mut is_inside, mut bytes) = (Vec::new(), false, 0);
    journal::read(path, |record| {
        // A line of a later version is left out.
        let Ok(line) = serde_json::from_slice::<Line>(record.json) else {
            return Ok(ControlFlow::Continue(()));
        };
        if let Line::Turn(other) = &line {
            if is_inside {
                return Ok(ControlFlow::Break(()));
            }
            is_inside = other.turn_id == *turn;
        }
        if is_inside {
            let items = line.records().iter().filter_map(|record| match record {
                Record::Item(item) => Some(item),
                _ => None,
            });
            for one in items.flat_map(Item::attached) {
                bytes += one.size();
                if bytes > MOST {
                    return Ok(ControlFlow::Break(()));
                }
                found.push(one.clone());
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// Returns attachments as clients get them, without their content.
pub fn described(attached: &[Attached]) -> Vec<Attachment> {
    attached.iter().map(one).collect()
}

/// Returns an attachment with its content. The daemon reads a file again when it is sent.
pub fn with_content(attached: &Attached) -> Attachment {
    let shown = one(attached);
    match &attached.content {
        AttachedContent::Text(text) | AttachedContent::Selection { text, .. } => {
            Attachment { text: Some(text.clone()), ..shown }
        }
        AttachedContent::Image(image) => Attachment { data: Some(image.data.clone()), ..shown },
        AttachedContent::File { .. } | AttachedContent::Folder | AttachedContent::RefusedImage => {
            shown
        }
    }
}

/// Names of attachments, in place of words that the user did not write.
pub fn attachment_names(attached: &[Attached]) -> String {
    attached.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn one(Attached { name, uri, content }: &Attached) -> Attachment {
    let (kind, lines, mime) = match content {
        AttachedContent::File { .. } => (AttachmentKind::File, None, None),
        AttachedContent::Folder => (AttachmentKind::Folder, None, None),
        AttachedContent::Selection { first_line, last_line, .. } => {
            (AttachmentKind::Selection, Some((*first_line, *last_line)), None)
        }
        AttachedContent::Text(_) => (AttachmentKind::Text, None, None),
        AttachedContent::Image(image) => (AttachmentKind::Image, None, Some(image.mime.clone())),
        AttachedContent::RefusedImage => (AttachmentKind::Image, None, None),
    };
    let start_of = |line: u32| Position { line: line.saturating_sub(1), character: 0 };
    let range = lines.map(|(first, last)| Range { start: start_of(first), end: start_of(last) });
    let (name, uri) = (Some(name.clone()), uri.clone());
    Attachment { kind, name, uri, range, text: None, mime, data: None }
}
