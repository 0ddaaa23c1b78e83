//! Conversions between the protocol's types and their stored form in journals and exports.
//!
//! Each struct is taken apart field by field, so a new field of the protocol does not compile here
//! until its place in the journal is decided.

use cairn_core::{
    conversation::{Attached, AttachedContent},
    ids::{SessionId, TurnId},
};
use cairn_protocol::{
    ApprovalDecision, Attachment, AttachmentKind, CallDecision, CompletedItem, DecidedBy,
    EarlierPlan, EndReason, ExportFormat, ItemStatus, LinkedCommand, LinkedFile,
    ListSessionsResult, MessageNotification, MessageRole, Panel, ParentCall, PlanItem,
    PlanNotification, Position, Range, ReadOnly, ReadOnlyProblem, ReviewMode, SessionState,
    SessionSummary, SubagentNotification, SubagentPhase, ToolKind, ToolLabel, ToolNotification,
    ToolState, ToolStats, ToolTarget, TranscriptEntry, TurnNotice, TurnNotification, TurnPhase,
    TurnProblem, TurnSpent, UiMessage, Usage,
};

use serde_json::{Value, json};

use crate::store::{
    export,
    session_list::{ListPage, ListedSession},
    sessions::{
        Digest, EndedLine, EndedPlan, Page, PageEntry, PageMessage, ReadOnlyCause, Speaker,
        StoredAnswer, StoredAttachment, StoredAttachmentKind, StoredCall, StoredCallDecision,
        StoredCallState, StoredCommand, StoredCompletedItem, StoredDecider, StoredEnd,
        StoredFileLink, StoredItem, StoredKind, StoredMode, StoredPanel, StoredParent, StoredPhase,
        StoredPlan, StoredSpent, StoredStats, StoredStatus, StoredSubagent, StoredTarget,
        StoredUsage,
    },
};

/// Converts between two enums, or two structs whose fields convert, in both directions.
macro_rules! both_ways {
    ($shown:ident = $stored:ident { $($variant:ident),+ $(,)? }) => {
        impl From<$shown> for $stored {
            fn from(shown: $shown) -> Self {
                match shown { $($shown::$variant => Self::$variant),+ }
            }
        }
        impl From<$stored> for $shown {
            fn from(stored: $stored) -> Self {
                match stored { $($stored::$variant => Self::$variant),+ }
            }
        }
    };
    // `titled`: a title that the journal holds as a text and as a code.
    ($shown:ident = $stored:ident $(titled $title:ident $label:ident)?;
        $($same:ident),* ; $($field:ident: $convert:ident),* $(,)?) => {
        impl From<$shown> for $stored {
            fn from(shown: $shown) -> Self {
                let $shown { $($title,)? $($same,)* $($field,)* } = shown;
                $(let ($title, $label) = stored_title(&$title);)?
                Self { $($title, $label,)? $($same,)* $($field: $convert($field),)* }
            }
        }
        impl From<$stored> for $shown {
            fn from(stored: $stored) -> Self {
                let $stored { $($title, $label,)? $($same,)* $($field,)* } = stored;
                $(let $title = shown_title($title, $label);)?
                Self { $($title,)? $($same,)* $($field: $convert($field),)* }
            }
        }
    };
}

fn one<A: Into<B>, B>(value: A) -> B {
    value.into()
}

fn some<A: Into<B>, B>(value: Option<A>) -> Option<B> {
    value.map(Into::into)
}

fn boxed<A: Into<B>, B>(value: Option<Box<A>>) -> Option<Box<B>> {
    value.map(|value| Box::new((*value).into()))
}

/// The title of a call in English, and as the code with its arguments.
fn stored_title(title: &UiMessage) -> (String, Option<Box<Value>>) {
    let UiMessage { code, args, .. } = title;
    let label = match (code == "named", args.is_empty()) {
        (true, _) => None,
        (false, true) => Some(Box::new(json!({ "code": code }))),
        (false, false) => Some(Box::new(json!({ "code": code, "args": args }))),
    };
    (title.english(), label)
}

/// A notice of another version may have a code that this one does not know: then its text is shown.
fn shown_notice((_, notice): (u64, Box<Value>)) -> Option<UiMessage> {
    Some(serde_json::from_value::<TurnNotice>(*notice).ok()?.message())
}

/// The title of a stored call. Calls of earlier versions have no code, and another version may know
/// other ones.
fn shown_title(title: String, label: Option<Box<Value>>) -> Box<UiMessage> {
    let label = label.and_then(|label| serde_json::from_value::<ToolLabel>(*label).ok());
    Box::new(label.unwrap_or(ToolLabel::Named { title }).message())
}

/// Converts each element of a list.
pub(super) fn all<A: Into<B>, B>(values: impl IntoIterator<Item = A>) -> Vec<B> {
    values.into_iter().map(Into::into).collect()
}

both_ways!(ReviewMode = StoredMode { Review, Ask, Auto, Plan });
both_ways!(EndReason = StoredEnd { Completed, NeedsInput, Cancelled, Failed, Limit, Interrupted });
both_ways!(Panel = StoredPanel { Expanded, Collapsed, Hidden });
both_ways!(ItemStatus = StoredStatus { Pending, InProgress, Completed, Cancelled });
both_ways!(
    ToolState =
        StoredCallState { Queued, AwaitingApproval, Running, Done, Failed, Declined, Cancelled }
);
both_ways!(Usage = StoredUsage; input_tokens, output_tokens, cached_tokens;);
both_ways!(PlanNotification = StoredPlan;
    rev, completed, total, dropped; session_id: one, turn_id: one, panel: one, items: all);
both_ways!(PlanItem = StoredItem;
    id, content, active_form, blocked, blocked_by, calls, elapsed_ms;
    status: one, files: all, commands: all);
both_ways!(LinkedFile = StoredFileLink; uri, path;);
both_ways!(LinkedCommand = StoredCommand titled title label;
    elapsed_ms; call_id: one, state: one);
both_ways!(ToolNotification = StoredCall titled title label;
    rev, name, plan_item, detail, uri, started_at, ended_at;
    session_id: one, turn_id: one, call_id: one, state: one,
    parent: some, tool_kind: some, target: some, stats: some, decision: boxed, completed: all);
both_ways!(CompletedItem = StoredCompletedItem; id, content, place, total;);
both_ways!(CallDecision = StoredCallDecision; words, at; decision: one, by: one);
both_ways!(
    ApprovalDecision = StoredAnswer { AllowOnce, AllowSession, AllowAlways, AllowPattern, Deny }
);
both_ways!(DecidedBy = StoredDecider { Answer, Session, Rule, Nobody });
both_ways!(
    ToolKind = StoredKind { Read, Search, Edit, Create, Delete, Move, Run, Plan, Task, Ask }
);
both_ways!(ToolStats = StoredStats; added, removed, matches, lines, exit_code;);
both_ways!(TurnSpent = StoredSpent; elapsed_ms, cost_micros; usage: one);
both_ways!(ParentCall = StoredParent; plan_item; session_id: one, turn_id: one, call_id: one);
both_ways!(SubagentNotification = StoredSubagent;
    rev, place, title, completed, total, rounds;
    session_id: one, turn_id: one, parent: one, phase: one, items: all, usage: one);
both_ways!(AttachmentKind = StoredAttachmentKind { File, Folder, Selection, Text, Image });
both_ways!(EarlierPlan = EndedPlan; task; turn_id: one, reason: one, plan: one);

impl From<SubagentPhase> for StoredPhase {
    fn from(phase: SubagentPhase) -> Self {
        match phase {
            SubagentPhase::Waiting => Self::Waiting,
            SubagentPhase::Running => Self::Running,
            SubagentPhase::Ended { reason } => Self::Ended { reason: reason.into() },
        }
    }
}

impl From<StoredPhase> for SubagentPhase {
    fn from(phase: StoredPhase) -> Self {
        match phase {
            StoredPhase::Waiting => Self::Waiting,
            StoredPhase::Running => Self::Running,
            StoredPhase::Ended { reason } => Self::Ended { reason: reason.into() },
        }
    }
}

impl From<StoredAttachment> for Attachment {
    fn from(stored: StoredAttachment) -> Self {
        let StoredAttachment { kind, name, uri, lines, mime } = stored;
        let start_of = |line: u32| Position { line: line.saturating_sub(1), character: 0 };
        let range =
            lines.map(|(first, last)| Range { start: start_of(first), end: start_of(last) });
        Self { kind: kind.into(), name: Some(name), uri, range, text: None, mime, data: None }
    }
}

impl From<EndedLine> for TurnPhase {
    fn from(end: EndedLine) -> Self {
        let EndedLine { turn_id: _, reason, summary, open_items, .. } = end;
        let EndedLine { unchecked_edits, closed, usage, spent, .. } = end;
        // Journals hold the English text of a failure, not its code.
        let interrupted = matches!(reason, StoredEnd::Interrupted);
        let problem = interrupted.then(|| match closed {
            true => TurnProblem::EditorClosed.message(),
            false => TurnProblem::Interrupted.message(),
        });
        let (reason, usage, spent) = (reason.into(), usage.into(), some(spent));
        Self::Ended { reason, summary, open_items, unchecked_edits, usage, problem, spent }
    }
}

impl From<ToolTarget> for StoredTarget {
    fn from(ToolTarget { uri, range }: ToolTarget) -> Self {
        Self { uri, lines: range.map(|range| (range.start.line, range.end.line)) }
    }
}

impl From<StoredTarget> for ToolTarget {
    fn from(StoredTarget { uri, lines }: StoredTarget) -> Self {
        let at = |line| Position { line, character: 0 };
        let range = lines.map(|(start, end)| Range { start: at(start), end: at(end) });
        Self { uri, range }
    }
}

impl From<ReadOnlyCause> for ReadOnly {
    fn from(cause: ReadOnlyCause) -> Self {
        let number = |count| u32::try_from(count).unwrap_or(u32::MAX);
        let problem = match &cause {
            ReadOnlyCause::OpenElsewhere => ReadOnlyProblem::SessionInOtherWindow,
            ReadOnlyCause::Damaged { records, lost } => {
                let (records, lost) = (number(*records), number(*lost));
                ReadOnlyProblem::JournalDamaged { records, lost }
            }
            ReadOnlyCause::NotWritable(error) => {
                ReadOnlyProblem::JournalNotWritable { reason: error.to_string() }
            }
        };
        Self::from(&problem)
    }
}

impl From<ExportFormat> for export::ExportFormat {
    fn from(format: ExportFormat) -> Self {
        match format {
            ExportFormat::Markdown => Self::Markdown,
            ExportFormat::Replay => Self::Replay,
        }
    }
}

impl From<ListPage> for ListSessionsResult {
    fn from(ListPage { sessions, next }: ListPage) -> Self {
        Self { sessions: all(sessions), next }
    }
}

impl From<ListedSession> for SessionSummary {
    fn from(listed: ListedSession) -> Self {
        let ListedSession { session_id, updated_ms, digest, waiting, current, locked_elsewhere } =
            listed;
        let Digest { task, name, turns, running, done, open, .. } = digest;
        let Digest { end, last_line, queued, cost_micros, .. } = digest;
        let state = match (running, waiting) {
            (true, true) => SessionState::Waiting,
            (true, false) => SessionState::Running,
            (false, _) => SessionState::Ended,
        };
        Self {
            session_id: session_id.into(),
            task,
            name,
            updated_ms,
            turns,
            running,
            state: Some(state),
            end: some(end),
            last_line,
            pending_edits: 0,
            queued: queued.unwrap_or(0),
            cost_micros,
            done_items: done,
            open_items: open,
            current,
            locked_elsewhere,
        }
    }
}

/// Returns attachments as clients get them, without their content.
pub(super) fn attachments(attached: &[Attached]) -> Vec<Attachment> {
    attached.iter().map(|one| StoredAttachment::from(one).into()).collect()
}

/// Returns an attachment with its content. The daemon reads a file again when it is sent.
pub(super) fn with_content(attached: &Attached) -> Attachment {
    let shown = Attachment::from(StoredAttachment::from(attached));
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
pub(super) fn attachment_names(attached: &[Attached]) -> String {
    attached.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns the entries of a page as a client gets them, and the cursor of the page before it.
pub(super) fn transcript(page: Page) -> (Vec<TranscriptEntry>, Option<String>) {
    let Page { session_id, entries, earlier } = page;
    let entries = entries.into_iter().map(|entry| shown(&session_id, entry)).collect();
    (entries, earlier.map(|number| number.to_string()))
}

fn shown(session_id: &SessionId, entry: PageEntry) -> TranscriptEntry {
    let session_id = String::from(session_id);
    let turn = |turn_id: TurnId, rev, phase| {
        TranscriptEntry::Turn(TurnNotification {
            session_id: session_id.clone(),
            turn_id: turn_id.into(),
            rev,
            phase,
        })
    };
    match entry {
        PageEntry::Started { turn_id, rev, task, attachments } => {
            let attachments = all(attachments);
            turn(turn_id, rev, TurnPhase::Started { text: task, attachments })
        }
        PageEntry::Ended { rev, end } => turn(end.turn_id.clone(), rev, end.into()),
        PageEntry::Message(message) => {
            let PageMessage { turn_id, rev, number, speaker, text, .. } = message;
            let PageMessage { attachments, notice, unread, .. } = message;
            let at = notice.as_ref().map(|(at, _)| *at);
            TranscriptEntry::Message(MessageNotification {
                session_id,
                turn_id: turn_id.into(),
                rev,
                item_id: format!("m{number}"),
                role: match speaker {
                    Speaker::User => MessageRole::User,
                    Speaker::Assistant => MessageRole::Assistant,
                    Speaker::Reminder => MessageRole::Reminder,
                    Speaker::Notice => MessageRole::Notice,
                },
                delta: String::new(),
                text: Some(text),
                incomplete: false,
                notice: notice.and_then(shown_notice),
                at,
                ended_at: at,
                unread,
                attachments: all(attachments),
            })
        }
        PageEntry::Tool(call) => TranscriptEntry::Tool((*call).into()),
    }
}
