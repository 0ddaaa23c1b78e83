//! Transcript of a session, one page at a time, built from the lines of its journal.
//!
//! Holds at most one page in memory.

use std::collections::VecDeque;

use cairn_core::{
    conversation::{Attached, AttachedContent, Item, Note, NoteKind},
    ids::{CallId, SessionId, TurnId},
    prompt::instructions::loaded,
    turn::Record,
};

use serde_json::Value;

use super::{
    calls::StoredCall,
    lines::{EndedLine, Line, NoticeLine, StoredAttachment, StoredAttachmentKind},
};
use crate::shortened;

/// Largest number of entries of a page.
const PAGE: usize = 1_000;
/// Size of a page in bytes of text. A longer entry is a separate page.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// End of a page, exclusive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PageEnd {
    #[default]
    Journal,
    /// Entry with this number, from 0.
    Entry(u64),
    /// First entry of a turn.
    Turn(TurnId),
    /// Tool call with this id.
    Call(CallId),
}

/// Consecutive entries of a transcript, oldest first.
#[derive(Debug, Default)]
pub struct Page {
    pub session_id: SessionId,
    pub entries: Vec<PageEntry>,
    /// Number of the first entry, if there are earlier ones.
    pub earlier: Option<u64>,
}

/// Entry of a transcript. `rev` is the revision with which it is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum PageEntry {
    Started {
        turn_id: TurnId,
        rev: u32,
        /// Text of the user.
        task: String,
        attachments: Vec<StoredAttachment>,
    },
    Ended {
        rev: u32,
        end: EndedLine,
    },
    Message(PageMessage),
    Tool(Box<StoredCall>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct PageMessage {
    pub turn_id: TurnId,
    pub rev: u32,
    /// Position among the messages of the session, from 1.
    pub number: u32,
    pub speaker: Speaker,
    pub text: String,
    pub attachments: Vec<StoredAttachment>,
    /// Time of a notice in milliseconds since 1970, and its code with arguments.
    pub notice: Option<(u64, Box<Value>)>,
    /// Words of the user that the turn did not read.
    pub unread: bool,
}

/// Author of a message in a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    User,
    Assistant,
    /// Guidance of the daemon for the model.
    Reminder,
    /// Message of the daemon to the user.
    Notice,
}

/// Builder of one page from the lines of a journal in order.
#[derive(Default)]
pub(super) struct Transcript {
    session_id: SessionId,
    /// Newest turn.
    turn_id: TurnId,
    /// Names of the instructions of the session, until the first turn shows them.
    instructions: Option<String>,
    /// Words for the running turn that its model has not read.
    unread: Vec<Note>,
    messages: u32,
    rev: u32,
    /// Number of entries so far.
    entries: u64,
    page: VecDeque<PageEntry>,
    /// Size of the page's texts.
    bytes: usize,
    end: PageEnd,
    /// The end was reached: later lines do not change the page.
    complete: bool,
}

impl Transcript {
    /// Creates the builder of the page with this end.
    pub(super) fn until(end: PageEnd) -> Self {
        Self { end, ..Self::default() }
    }

    pub(super) fn add(&mut self, line: &Line) {
        match line {
            Line::Session(header) => {
                self.session_id.clone_from(&header.session_id);
                let instructions = &header.surroundings.instructions;
                self.instructions = (!instructions.is_empty()).then(|| loaded(instructions));
            }
            Line::Turn(turn) => {
                self.turn_id.clone_from(&turn.turn_id);
                let (turn_id, rev) = (turn.turn_id.clone(), self.next_rev());
                let (task, attachments) = (turn.task.clone(), turn.attachments.clone());
                self.push(PageEntry::Started { turn_id, rev, task, attachments });
                if let Some(names) = self.instructions.take() {
                    self.message(Speaker::Reminder, names);
                }
            }
            Line::Tool(call) => self.push(PageEntry::Tool(Box::new(call.clone()))),
            Line::Ended(end) => {
                self.turn_id.clone_from(&end.turn_id);
                for Note { text, attached, .. } in std::mem::take(&mut self.unread) {
                    let attachments = attached.iter().map(StoredAttachment::from).collect();
                    let words = self.new_message(Speaker::User, text);
                    self.push(PageEntry::Message(PageMessage {
                        attachments,
                        unread: true,
                        ..words
                    }));
                }
                let rev = self.next_rev();
                self.push(PageEntry::Ended { rev, end: end.clone() });
            }
            Line::Step(_) | Line::Steps(_) => {
                line.records().iter().for_each(|record| self.record(record));
            }
            Line::Notice(NoticeLine { turn_id, at, notice, text }) => {
                self.turn_id.clone_from(turn_id);
                let notice = Some((*at, notice.clone()));
                let shown = self.new_message(Speaker::Notice, text.clone());
                self.push(PageEntry::Message(PageMessage { notice, ..shown }));
            }
            Line::Plan(_)
            | Line::Subagent(_)
            | Line::SubagentStep(_)
            | Line::Queue(_)
            | Line::Digest(_)
            | Line::Streamed(_) => {}
        }
    }

    /// Returns true if later lines do not change the page.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Number of messages so far.
    pub(super) fn messages(&self) -> u32 {
        self.messages
    }

    /// Highest revision so far.
    pub(super) fn rev(&self) -> u32 {
        self.rev
    }

    /// Returns the page; `None` if there is no such end.
    pub(super) fn page(self) -> Option<Page> {
        let ends = self.complete || matches!(self.end, PageEnd::Journal | PageEnd::Entry(_));
        if !ends {
            return None;
        }
        let first = self.entries - self.page.len() as u64;
        Some(Page {
            session_id: self.session_id,
            entries: self.page.into(),
            earlier: (first > 0).then_some(first),
        })
    }

    pub(super) fn record(&mut self, record: &Record) {
        match record {
            Record::Item(item) => self.item(item),
            Record::Shortened(shortened) => {
                self.message(Speaker::Notice, shortened::english(shortened))
            }
            // Kept when the turn ends, which makes them notices of the next one.
            Record::Memo(memo) if memo.unread().len() > 0 => self.unread = memo.unread().collect(),
            Record::Begun { .. } | Record::Result(_) | Record::Memo(_) => {}
        }
    }

    /// Adds the texts of an item as they were shown when the item was new.
    fn item(&mut self, item: &Item) {
        match item {
            Item::User(message) => self.notes(&message.notes),
            Item::Assistant(message) => {
                let text = message.text();
                if !text.is_empty() {
                    self.message(Speaker::Assistant, text);
                }
            }
            Item::ToolResults { notes, .. } => self.notes(notes),
        }
    }

    fn notes(&mut self, notes: &[Note]) {
        for note in notes {
            let speaker = match note.kind {
                NoteKind::Reminder | NoteKind::Notice => Speaker::Reminder,
                // The model reads all at once.
                NoteKind::Steer => {
                    self.unread.clear();
                    Speaker::User
                }
            };
            let attachments = note.attached.iter().map(StoredAttachment::from).collect();
            let told = self.new_message(speaker, note.text.clone());
            self.push(PageEntry::Message(PageMessage { attachments, ..told }));
        }
    }

    fn message(&mut self, speaker: Speaker, text: String) {
        let message = self.new_message(speaker, text);
        self.push(PageEntry::Message(message));
    }

    fn new_message(&mut self, speaker: Speaker, text: String) -> PageMessage {
        self.messages += 1;
        let (turn_id, rev, number) = (self.turn_id.clone(), self.next_rev(), self.messages);
        let (attachments, notice, unread) = (Vec::new(), None, false);
        PageMessage { turn_id, rev, number, speaker, text, attachments, notice, unread }
    }

    fn push(&mut self, entry: PageEntry) {
        self.complete |= match &self.end {
            PageEnd::Journal => false,
            PageEnd::Entry(number) => self.entries >= *number,
            PageEnd::Turn(turn) => {
                matches!(&entry, PageEntry::Started { turn_id, .. } if turn_id == turn)
            }
            PageEnd::Call(call) => {
                matches!(&entry, PageEntry::Tool(it) if it.parent.is_none() && it.call_id == *call)
            }
        };
        if self.complete {
            return;
        }
        self.entries += 1;
        self.bytes += size(&entry);
        self.page.push_back(entry);
        while self.page.len() > PAGE || (self.bytes > PAGE_BYTES && self.page.len() > 1) {
            self.bytes -= self.page.pop_front().as_ref().map_or(0, size);
        }
    }

    /// Revision of the next entry: a client shows entries in this order. The session continues above
    /// the last one.
    fn next_rev(&mut self) -> u32 {
        self.rev += 1;
        self.rev
    }
}

/// Approximate size of an entry's texts, in bytes.
fn size(entry: &PageEntry) -> usize {
    match entry {
        PageEntry::Started { task, .. } => task.len(),
        PageEntry::Ended { end, .. } => end.summary.len(),
        PageEntry::Message(message) => message.text.len(),
        PageEntry::Tool(call) => call.title.len() + call.detail.as_ref().map_or(0, String::len),
    }
}

impl From<&Attached> for StoredAttachment {
    fn from(Attached { name, uri, content }: &Attached) -> Self {
        let (kind, lines, mime) = match content {
            AttachedContent::File { .. } => (StoredAttachmentKind::File, None, None),
            AttachedContent::Folder => (StoredAttachmentKind::Folder, None, None),
            AttachedContent::Selection { first_line, last_line, .. } => {
                (StoredAttachmentKind::Selection, Some((*first_line, *last_line)), None)
            }
            AttachedContent::Text(_) => (StoredAttachmentKind::Text, None, None),
            AttachedContent::Image(image) => {
                (StoredAttachmentKind::Image, None, Some(image.mime.clone()))
            }
            AttachedContent::RefusedImage => (StoredAttachmentKind::Image, None, None),
        };
        Self { kind, name: name.clone(), uri: uri.clone(), lines, mime }
    }
}
