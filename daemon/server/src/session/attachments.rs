//! Content that the user attaches to a message: validated, bounded, and read from the workspace.
//!
//! Must never read a file that the tools may not read without an approval.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use cairn_core::{
    conversation::{Attached, AttachedContent, Image},
    ids::SessionId,
    policy::{Access, command::CommandRules},
    sanitize::one_line,
    text::Text,
};
use cairn_protocol::{Attachment, AttachmentKind, Range, RequestProblem, ReviewMode};

use super::{Sessions, configuration::Configuration};
use crate::{
    approval::{self, Gate, RuleFolder},
    docs::Docs,
    event::{RequestError, Responder},
    images,
    review::Reviews,
    secrets,
    services::Services,
    workspace::{Workspace, WorkspacePath, path_of},
};

/// Maximum number of attachments of one message.
const MOST: usize = 20;
/// Largest size of all images of one message, in base 64.
const IMAGES_BYTES: usize = 12 * 1024 * 1024;
/// Largest size of all texts of one message, without files.
const TEXT_BYTES: usize = 1024 * 1024;
/// Size beyond which the text of a file is cut; the model can read the rest.
const FILE_BYTES: usize = 100 * 1024;
/// Longest name, in characters.
const NAME_CHARS: usize = 200;
/// Longest reason of a failure, in characters.
const REASON_CHARS: usize = 300;

/// Reader of attachments, for the background.
pub(super) struct AttachmentReader {
    workspace: Option<Arc<Workspace>>,
    docs: Arc<Docs>,
    reads_images: bool,
    model: String,
}

/// Continues with the attachments of a request: at once without any, else once they were read. The
/// client is answered when the session is saved.
pub(super) fn with<T: Send + 'static>(
    sessions: &mut Sessions,
    reviews: &mut Reviews,
    session_id: SessionId,
    attachments: Vec<Attachment>,
    reply: Responder<T>,
    then: impl FnOnce(&mut Sessions, Vec<Attached>) -> Result<T, RequestError> + Send + 'static,
) {
    type Read = Result<Vec<Attached>, RequestError>;
    let end = move |sessions: &mut Sessions, attached: Read, reviews: &mut Reviews| {
        let answer = attached.and_then(|attached| then(sessions, attached));
        sessions.settle(reviews);
        sessions.reply_when_saved(&session_id, answer, reply);
    };
    if attachments.is_empty() {
        return end(sessions, Ok(Vec::new()), reviews);
    }
    let reader = AttachmentReader::new(&sessions.services, &sessions.config);
    sessions.after(reader.read_in_background(attachments), end);
}

impl AttachmentReader {
    pub(super) fn new(services: &Services, config: &Configuration) -> Self {
        Self {
            workspace: services.workspace.clone(),
            docs: Arc::clone(&services.docs),
            reads_images: config.choice.provider.reads_images(),
            model: config.choice.info.name.clone(),
        }
    }

    pub(super) async fn read_in_background(
        self,
        attachments: Vec<Attachment>,
    ) -> Result<Vec<Attached>, RequestError> {
        if attachments.is_empty() {
            return Ok(Vec::new());
        }
        match tokio::task::spawn_blocking(move || self.read(attachments)).await {
            Ok(read) => read,
            Err(error) => {
                tracing::error!("the reader of attachments failed: {error}");
                Err(RequestError::from(RequestProblem::InternalError))
            }
        }
    }

    /// Blocks.
    fn read(&self, attachments: Vec<Attachment>) -> Result<Vec<Attached>, RequestError> {
        if attachments.len() > MOST {
            return Err(RequestError::from(RequestProblem::TooManyAttachments {
                limit: MOST as u32,
            }));
        }
        let (mut texts, mut images) = (0, 0);
        let mut all = Vec::with_capacity(attachments.len());
        for attachment in attachments {
            let attached = self.read_one(attachment)?;
            match &attached.content {
                AttachedContent::Image(_) => images += attached.size(),
                AttachedContent::File { .. }
                | AttachedContent::Folder
                | AttachedContent::RefusedImage => {}
                AttachedContent::Selection { .. } | AttachedContent::Text(_) => {
                    texts += attached.size();
                }
            }
            if texts > TEXT_BYTES {
                return Err(too_large(attached.name, TEXT_BYTES));
            }
            if images > IMAGES_BYTES {
                return Err(too_large(attached.name, IMAGES_BYTES));
            }
            all.push(attached);
        }
        Ok(all)
    }

    fn read_one(&self, attachment: Attachment) -> Result<Attached, RequestError> {
        let Attachment { kind, name, uri, range, text, mime: _, data } = attachment;
        let name: String = name.unwrap_or_default().trim().chars().take(NAME_CHARS).collect();
        let (name, uri, content) = match kind {
            AttachmentKind::Image => {
                let name = or(name, "image");
                let image = self.image(&name, data.unwrap_or_default())?;
                (name, None, AttachedContent::Image(image))
            }
            AttachmentKind::Text => {
                let name = or(name, "text");
                (name, None, AttachedContent::Text(text.unwrap_or_default()))
            }
            AttachmentKind::Folder => {
                let (path, workspace) = self.path(uri)?;
                if !workspace.folder_is_there(&path) {
                    return Err(unreadable(path.display(), "it is no folder of the workspace"));
                }
                (path.display().to_owned(), Some(path.uri()), AttachedContent::Folder)
            }
            AttachmentKind::File => {
                let (path, workspace) = self.path(uri)?;
                let text = self.file(&path, workspace)?;
                (path.display().to_owned(), Some(path.uri()), text)
            }
            AttachmentKind::Selection => {
                let (path, _) = self.path(uri)?;
                let Range { start, end } = range.unwrap_or_default();
                let content = AttachedContent::Selection {
                    first_line: start.line.saturating_add(1),
                    last_line: end.line.max(start.line).saturating_add(1),
                    text: text.unwrap_or_default(),
                };
                (path.display().to_owned(), Some(path.uri()), content)
            }
        };
        Ok(Attached { name, uri, content })
    }

    /// Resolves a path that the tools may read without an approval.
    fn path(&self, uri: Option<String>) -> Result<(WorkspacePath, &Workspace), RequestError> {
        let uri = uri.unwrap_or_default();
        let Some(workspace) = self.workspace.as_deref() else {
            return Err(unreadable(&uri, "no folder is open"));
        };
        let Some(path) = path_of(&uri) else {
            return Err(unreadable(&uri, "it is no file on disk"));
        };
        let path = workspace
            .resolve(&path.to_string_lossy())
            .map_err(|error| unreadable(&path.to_string_lossy(), &error.to_string()))?;
        let access = Access::Read { path: Some(path.as_path().to_owned()), names: path.names() };
        let (rules, folder) = (CommandRules::default(), RuleFolder::of(&access, workspace));
        let gate = approval::gate(&access, ReviewMode::Review, &rules, &folder, workspace);
        if !matches!(gate, Gate::Open(_)) {
            return Err(RequestError::from(RequestProblem::AttachmentProtected {
                name: path.display().to_owned(),
            }));
        }
        Ok((path, workspace))
    }

    fn file(
        &self,
        path: &WorkspacePath,
        workspace: &Workspace,
    ) -> Result<AttachedContent, RequestError> {
        let text = match self.docs.get(&path.key()) {
            Some(document) => document.text.clone(),
            None => {
                let read = workspace.read_text(path);
                read.map_err(|error| unreadable(path.display(), &error.to_string()))?.text
            }
        };
        let (mut text, cut) = beginning(&text);
        secrets::clean(&mut text);
        Ok(AttachedContent::File { text, cut })
    }

    fn image(&self, name: &str, data: String) -> Result<Image, RequestError> {
        if !self.reads_images {
            return Err(RequestError::from(RequestProblem::ImagesUnsupported {
                model: self.model.clone(),
            }));
        }
        if data.len() > images::MAX_BYTES.div_ceil(3) * 4 {
            return Err(too_large(name.to_owned(), images::MAX_BYTES));
        }
        let bytes = STANDARD.decode(&data).unwrap_or_default();
        let Some(mime) = images::media_type(&bytes) else {
            return Err(RequestError::from(RequestProblem::NotAnImage { name: name.to_owned() }));
        };
        Ok(Image { mime: mime.to_owned(), data })
    }
}

/// First lines of a text, and whether it continues. A long first line is cut within.
fn beginning(text: &Text) -> (String, bool) {
    let mut out = String::new();
    for chunk in text.chunks() {
        out.push_str(chunk);
        if out.len() > FILE_BYTES {
            let end = out.floor_char_boundary(FILE_BYTES);
            let end = out[..end].rfind('\n').map_or(end, |at| at + 1);
            out.truncate(end);
            return (out, true);
        }
    }
    (out, false)
}

fn or(name: String, default: &str) -> String {
    if name.is_empty() { default.to_owned() } else { name }
}

pub(super) fn too_large(name: String, limit: usize) -> RequestError {
    const MIB: usize = 1024 * 1024;
    let limit = match limit {
        MIB.. => format!("{} MB", limit / MIB),
        _ => format!("{} KB", limit / 1024),
    };
    let name = one_line(&name, NAME_CHARS);
    RequestError::from(RequestProblem::AttachmentTooLarge { name, limit })
}

fn unreadable(name: &str, reason: &str) -> RequestError {
    let (name, reason) = (one_line(name, NAME_CHARS), one_line(reason, REASON_CHARS));
    RequestError::from(RequestProblem::AttachmentUnreadable { name, reason })
}
