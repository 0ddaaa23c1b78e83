//! Pending edits as code lenses, code actions and diagnostics, for an editor without the Cairn
//! extension. Pure except for [`ShownReviews`]. Text of the model appears as plain text, shortened.

use std::collections::HashMap;

use cairn_core::{ids::FileKey, sanitize::visible, text::Units};
use cairn_protocol::{Hunk, ReviewNotification, WholeFile};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tower_lsp::lsp_types::{
    CodeAction, CodeActionKind, CodeActionOptions, CodeActionOrCommand,
    CodeActionProviderCapability, CodeLens, CodeLensOptions, Command, Diagnostic,
    DiagnosticSeverity, ExecuteCommandOptions, Position, Range, ServerCapabilities,
};

use super::{
    client_support::ClientSupport,
    commands::{
        self, ACCEPT_ALL, ACCEPT_FILE, ACCEPT_HUNK, REJECT_ALL, REJECT_FILE, REJECT_HUNK,
        RUN_SELECTION, offer,
    },
    standard_client,
};
use crate::{event::Pending, workspace::canonical_uri};

pub(super) const LENSES: &str = "textDocument/codeLens";
pub(super) const ACTIONS: &str = "textDocument/codeAction";
pub(super) const DIAGNOSTICS: &str = "textDocument/publishDiagnostics";
pub(super) const REFRESH: &str = "workspace/codeLens/refresh";

/// Returns the capabilities for reviewing.
pub(super) fn provided(supports: ClientSupport) -> ServerCapabilities {
    let actions = if supports.action_literals {
        CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, CodeActionKind::REFACTOR]),
            ..CodeActionOptions::default()
        })
    } else {
        CodeActionProviderCapability::Simple(true)
    };
    ServerCapabilities {
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        code_action_provider: Some(actions),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: commands::ALL.map(str::to_owned).into(),
            ..ExecuteCommandOptions::default()
        }),
        ..ServerCapabilities::default()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LensParams {
    text_document: Document,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ActionParams {
    text_document: Document,
    range: Range,
    #[serde(default)]
    context: Context,
}

#[derive(Deserialize)]
struct Document {
    uri: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Context {
    only: Option<Vec<String>>,
    trigger_kind: Option<u32>,
}

impl Context {
    /// Returns true if `only` covers `kind`: `refactor` covers `refactor.rewrite`.
    fn wants(&self, kind: &CodeActionKind) -> bool {
        let within = |wanted: &String| {
            let rest = kind.as_str().strip_prefix(wanted.as_str());
            wanted.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.only.as_ref().is_none_or(|only| only.iter().any(within))
    }

    /// Returns true if the editor, not the user, requested the actions.
    fn is_automatic(&self) -> bool {
        self.trigger_kind == Some(2)
    }
}

pub(super) fn lenses(reviews: &[ReviewNotification], params: &LensParams) -> Vec<CodeLens> {
    let Some(review) = of(reviews, &params.text_document) else { return Vec::new() };
    let mut lenses = Vec::new();
    // A deleted file has no text: a lens would appear on leftover text or on a new file.
    let shown = review.hunks.iter().filter(|hunk| hunk.whole_file != Some(WholeFile::Deleted));
    for (index, hunk) in shown.enumerate() {
        let start = place(hunk, Units::default()).start;
        let mut lens = |title: String, command, argument| {
            let command = Some(offer(title, command, argument));
            lenses.push(CodeLens { range: Range::new(start, start), command, data: None });
        };
        if hunk.outdated {
            if hunk.can_apply == Some(true) {
                lens("Outdated: make again".into(), ACCEPT_HUNK, this_hunk(review, hunk));
            }
            lens("Outdated: forget".into(), REJECT_HUNK, this_hunk(review, hunk));
        } else {
            let what = if hunk.whole_file.is_some() { " move" } else { "" };
            lens(format!("Accept{what}"), ACCEPT_HUNK, this_hunk(review, hunk));
            lens(format!("Reject{what}"), REJECT_HUNK, this_hunk(review, hunk));
        }
        if index == 0 {
            let count = count([review]);
            lens(format!("Accept file ({count})"), ACCEPT_FILE, this_file(review));
            lens(format!("Reject file ({count})"), REJECT_FILE, this_file(review));
        }
    }
    lenses
}

pub(super) fn actions(
    Pending { reviews, questions }: &Pending,
    params: &ActionParams,
    supports: ClientSupport,
) -> Vec<CodeActionOrCommand> {
    let review = of(reviews, &params.text_document);
    let touched: Vec<&Hunk> = review
        .iter()
        .flat_map(|review| &review.hunks)
        .filter(|hunk| touches(hunk, params.range))
        .collect();
    // Otherwise editors show a light bulb on every line of the file.
    if touched.is_empty() && params.context.is_automatic() {
        return Vec::new();
    }
    let mut actions = Vec::new();
    let mut action = |kind: CodeActionKind, command: Command| {
        if params.context.wants(&kind) {
            actions.push(in_form(kind, command, supports));
        }
    };
    // First, because a call waits for the answer.
    if !params.context.is_automatic() {
        for command in questions.iter().flat_map(standard_client::answers) {
            action(CodeActionKind::QUICKFIX, command);
        }
    }
    let Some(review) = review else {
        if is_selection(params.range) {
            action(CodeActionKind::REFACTOR, run_selection(params));
        }
        return actions;
    };
    for command in touched.into_iter().flat_map(|hunk| of_hunk(review, hunk, supports)) {
        action(CodeActionKind::QUICKFIX, command);
    }
    let in_file = format!("every change in {} ({})", visible(&review.path), count([review]));
    for (verb, command) in [("Accept", ACCEPT_FILE), ("Reject", REJECT_FILE)] {
        let command = offer(format!("{verb} {in_file}"), command, this_file(review));
        action(CodeActionKind::REFACTOR, command);
    }
    let count = count(reviews);
    // Revisions count over all files, so the newest covers every file on view.
    let rev = reviews.iter().map(|review| review.rev).max();
    for (verb, command) in [("Accept", ACCEPT_ALL), ("Reject", REJECT_ALL)] {
        let title = format!("{verb} every change in all files ({count})");
        action(CodeActionKind::REFACTOR, offer(title, command, json!({ "rev": rev })));
    }
    if is_selection(params.range) {
        action(CodeActionKind::REFACTOR, run_selection(params));
    }
    actions
}

/// Command in the form that the client takes.
fn in_form(kind: CodeActionKind, command: Command, supports: ClientSupport) -> CodeActionOrCommand {
    if !supports.action_literals {
        return CodeActionOrCommand::Command(command);
    }
    CodeActionOrCommand::CodeAction(CodeAction {
        title: command.title.clone(),
        kind: Some(kind),
        command: Some(command),
        ..CodeAction::default()
    })
}

/// Decisions about one edit.
fn of_hunk(review: &ReviewNotification, hunk: &Hunk, supports: ClientSupport) -> Vec<Command> {
    let command = |title: String, command: &str| offer(title, command, this_hunk(review, hunk));
    if hunk.outdated {
        let line = hunk.range.start.line + 1;
        let what = format!("the outdated edit at line {line} ({})", size(hunk));
        let again = (hunk.can_apply == Some(true))
            .then(|| command(format!("Make {what} again"), ACCEPT_HUNK));
        let forget = command(format!("Forget {what}"), REJECT_HUNK);
        return again.into_iter().chain([forget]).collect();
    }
    let what = match hunk.whole_file {
        Some(WholeFile::Moved) => "the move".to_owned() + &from(review),
        Some(WholeFile::Deleted) => format!("the deletion of {}", visible(&review.path)),
        None => {
            let line = place(hunk, supports.units).start.line + 1;
            format!("the change at line {line} ({})", size(hunk))
        }
    };
    let verbs = [("Accept", ACCEPT_HUNK), ("Reject", REJECT_HUNK)];
    verbs.map(|(verb, name)| command(format!("{verb} {what}"), name)).into()
}

/// Returns true if more is selected than a cursor. Helix's cursor is a selection of one character,
/// at most an emoji.
fn is_selection(Range { start, end }: Range) -> bool {
    const CURSOR: u32 = 4;
    end.line > start.line + 1
        || (end.line > start.line && end.character > 0)
        || (end.line == start.line && end.character > start.character.saturating_add(CURSOR))
        || (end.line > start.line && start.character == 0)
}

/// Builds the command that runs the selected text, for editors whose commands take no arguments.
fn run_selection(params: &ActionParams) -> Command {
    let argument = json!({ "uri": params.text_document.uri, "range": params.range });
    offer("Run the selected text as a task".to_owned(), RUN_SELECTION, argument)
}

/// Returns the params of [`DIAGNOSTICS`]; a review without hunks clears them.
pub(super) fn diagnostics(review: &ReviewNotification, units: Units) -> Value {
    let diagnostics: Vec<Diagnostic> = review
        .hunks
        .iter()
        .map(|hunk| Diagnostic {
            range: place(hunk, units),
            severity: Some(DiagnosticSeverity::INFORMATION),
            source: Some("cairn".to_owned()),
            message: match hunk.whole_file {
                Some(WholeFile::Moved) => format!("Proposed: the file was moved{}", from(review)),
                Some(WholeFile::Deleted) => "Proposed: the file was deleted".to_owned(),
                None if hunk.outdated => outdated(hunk),
                None => message(hunk),
            },
            ..Diagnostic::default()
        })
        .collect();
    let mut params = json!({ "uri": review.uri, "diagnostics": diagnostics });
    if let Some(version) = review.version {
        params["version"] = version.into();
    }
    params
}

/// Returns params that clear the diagnostics of a URI.
pub(super) fn nothing_at(uri: &str) -> Value {
    json!({ "uri": uri, "diagnostics": [] })
}

/// Reviews as the editor shows them, by file.
#[derive(Default)]
pub(super) struct ShownReviews(Mutex<HashMap<FileKey, File>>);

struct File {
    uri: String,
    /// Id, `outdated` and `canApply` of each hunk.
    hunks: Vec<(String, bool, Option<bool>)>,
}

/// Effects of an updated review besides the diagnostics.
pub(super) struct ReviewChange {
    /// URI under which the file was shown, if its spelling changed.
    pub(super) former_uri: Option<String>,
    /// The set of hunks changed. Moved hunks do not count: the editor moves its lenses itself.
    pub(super) hunks: bool,
}

impl ShownReviews {
    pub(super) fn update(&self, review: &ReviewNotification) -> ReviewChange {
        let key = canonical_uri(&review.uri).unwrap_or_else(|| review.uri.as_str().into());
        let known = |hunk: &Hunk| (hunk.id.clone(), hunk.outdated, hunk.can_apply);
        let hunks: Vec<_> = review.hunks.iter().map(known).collect();
        let mut shown = self.0.lock();
        let before = shown.remove(&key);
        let changed = ReviewChange {
            hunks: before.as_ref().map_or(&[][..], |before| &before.hunks) != hunks,
            former_uri: before.map(|before| before.uri).filter(|uri| *uri != review.uri),
        };
        if !hunks.is_empty() {
            shown.insert(key, File { uri: review.uri.clone(), hunks });
        }
        changed
    }
}

fn of<'r>(
    reviews: &'r [ReviewNotification],
    document: &Document,
) -> Option<&'r ReviewNotification> {
    let key = canonical_uri(&document.uri)?;
    reviews.iter().find(|review| canonical_uri(&review.uri).as_ref() == Some(&key))
}

/// Returns the range of a hunk, clamped to the end of the text, because some editors fail beyond
/// it.
fn place(hunk: &Hunk, units: Units) -> Range {
    let (first, after) = (hunk.range.start.line, hunk.range.end.line);
    if after <= first {
        // Show removed lines at the line before them.
        let at = Position::new(first.saturating_sub(1), 0);
        return Range::new(at, at);
    }
    let last = hunk.new_text.rsplit('\n').next().unwrap_or_default();
    let width = units.len(last.trim_end_matches('\r')) as u32;
    Range::new(Position::new(first, 0), Position::new(after - 1, width))
}

fn touches(hunk: &Hunk, range: Range) -> bool {
    let place = place(hunk, Units::default());
    // The line after removed lines touches them too.
    let last = if hunk.added_lines == 0 { hunk.range.start.line } else { place.end.line };
    range.start.line <= last && place.start.line <= range.end.line
}

fn this_hunk(review: &ReviewNotification, hunk: &Hunk) -> Value {
    json!({ "uri": review.uri, "hunkId": hunk.id, "rev": review.rev })
}

fn this_file(review: &ReviewNotification) -> Value {
    json!({ "uri": review.uri, "rev": review.rev })
}

fn from(review: &ReviewNotification) -> String {
    review.from.as_ref().map(|from| format!(" from {}", visible(from))).unwrap_or_default()
}

/// Formats the number of edits, and the number of outdated ones.
fn count<'r>(reviews: impl IntoIterator<Item = &'r ReviewNotification>) -> String {
    let hunks = reviews.into_iter().flat_map(|review| &review.hunks);
    let (outdated, live): (Vec<&Hunk>, Vec<&Hunk>) = hunks.partition(|hunk| hunk.outdated);
    match outdated.len() {
        0 => live.len().to_string(),
        outdated => format!("{}, and {outdated} outdated", live.len()),
    }
}

fn size(hunk: &Hunk) -> String {
    format!("+{} −{}", hunk.added_lines, hunk.removed_lines)
}

/// Describes a hunk. Only the message can show the removed text.
fn message(hunk: &Hunk) -> String {
    let mut message = format!("Proposed: {} lines", size(hunk));
    if hunk.removed_lines > 0 {
        message.push_str(". Before:");
        quote(&mut message, &hunk.old_text);
    }
    visible(&message)
}

/// Describes an outdated edit, of which neither text is in the file.
fn outdated(hunk: &Hunk) -> String {
    let mut message = format!("Outdated, not in the text: {} lines", size(hunk));
    for (words, count, text) in [
        ("Proposed was:", hunk.added_lines, &hunk.new_text),
        ("In place of:", hunk.removed_lines, &hunk.old_text),
    ] {
        if count > 0 {
            message.push('\n');
            message.push_str(words);
            quote(&mut message, text);
        }
    }
    visible(&message)
}

fn quote(message: &mut String, text: &str) {
    const MOST_LINES: usize = 10;
    const MOST_CHARS: usize = 200;
    for line in text.lines().take(MOST_LINES) {
        let shown = line.chars().filter(|c| *c == '\t' || !c.is_control()).take(MOST_CHARS);
        message.push('\n');
        message.extend(shown);
    }
    if text.lines().count() > MOST_LINES {
        message.push_str("\n…");
    }
}
