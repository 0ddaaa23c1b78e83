//! Call that changes a file: read, compute, propose, and start again if the user changed the file since.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use cairn_core::{
    change::Change,
    marks::ModelText,
    review::patch,
    text::{Text, encode},
};
use cairn_protocol::{Preview, PreviewTexts, ToolKind, ToolLabel, ToolStats};
use tokio::time::Instant;

use super::{
    Access, Call, Proposal, Proposed, ToolContext, ToolFailure, ToolOutput, Wanted, blocking,
    edited_lines, snapshot,
};
use crate::workspace::WorkspacePath;

/// Attempts at once, before the first wait.
const ATTEMPTS_AT_ONCE: usize = 4;
/// Time without a change that is treated as a pause of the user's typing: longer than between two keys.
const PAUSE: Duration = Duration::from_millis(400);
/// Longest wait for a pause. Then the next attempt is between two keys.
const LONGEST_WAIT: Duration = Duration::from_secs(3);
/// Time of all waits, after which the edit is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two looks at the file during a wait.
const LOOK_EVERY: Duration = Duration::from_millis(40);

/// Wanted state of a file, and the report that it was reached.
pub(super) struct Computed {
    pub(super) wanted: Wanted,
    /// First words of the report: `Edited src/cart.mjs`.
    pub(super) done: String,
    /// Words of the report after the counts of lines.
    pub(super) note: String,
    /// Lines of the report below these.
    pub(super) lines: ModelText,
}

impl Computed {
    pub(super) fn new(wanted: Wanted, done: String) -> Self {
        Self { wanted, done, note: String::new(), lines: ModelText::default() }
    }
}

/// Change of a file that a call makes.
pub(super) struct FileChange {
    path: WorkspacePath,
    /// New path of the file.
    moves_to: Option<WorkspacePath>,
    /// Text of the file when the user was asked; `None`: no such file. Unset: no question was asked.
    asked_about: OnceLock<Option<Text>>,
    /// Computes the wanted state from the current text (`None`: no such file). May block, and may be
    /// called several times.
    compute: Box<Compute>,
}

type Compute = dyn Fn(&ToolContext, &WorkspacePath, Option<&Text>) -> Result<Computed, ToolFailure>
    + Send
    + Sync;

impl FileChange {
    pub(super) fn new(
        path: WorkspacePath,
        compute: impl Fn(&ToolContext, &WorkspacePath, Option<&Text>) -> Result<Computed, ToolFailure>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self { path, moves_to: None, asked_about: OnceLock::new(), compute: Box::new(compute) }
    }

    /// Move of the file, with its text.
    pub(super) fn moving_to(mut self, to: WorkspacePath) -> Self {
        self.moves_to = Some(to);
        self
    }

    pub(super) fn call(self, label: ToolLabel, access: Access) -> Call {
        let change = Arc::new(self);
        let proposed = Arc::clone(&change);
        let call = Call::new(label, access, |context| propose(context, proposed));
        Call { preview: Some(Box::new(move |context| change.preview(context))), ..call }
    }

    /// Preview of the change of the present text. The change is made to this text only.
    fn preview(&self, context: &ToolContext) -> Result<Option<Preview>, ToolFailure> {
        let base = present(context, &self.path)?;
        let preview = self.preview_of(context, base.as_ref())?;
        let _ = self.asked_about.set(base);
        Ok(preview)
    }

    fn preview_of(
        &self,
        context: &ToolContext,
        base: Option<&Text>,
    ) -> Result<Option<Preview>, ToolFailure> {
        let path = &self.path;
        if let Some(to) = &self.moves_to {
            // A new file at the new path. The present entry is told only with consent.
            return Ok(base.map(|text| shown(None, text, to.display())));
        }
        let computed = (self.compute)(context, path, base).and_then(|computed| {
            if base.is_some() {
                check_encodable(context, path, &computed.wanted)?;
            }
            Ok(computed.wanted)
        });
        match computed {
            Ok(Wanted::Text(text)) => Ok(Some(shown(base, &Text::new(&text), path.display()))),
            Ok(Wanted::Gone) => Ok(Some(shown(base, &Text::default(), path.display()))),
            Ok(Wanted::At(_)) => Ok(None),
            // The error may quote the file, which the user has not allowed yet.
            Err(_) if path.is_secret() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

pub(super) fn edit_of(path: &WorkspacePath) -> Access {
    Access::Edit {
        path: path.as_path().to_owned(),
        inside: path.inside().to_owned(),
        aliases: path.aliases().to_vec(),
    }
}

pub(super) fn shown(before: Option<&Text>, after: &Text, name: &str) -> Preview {
    const MOST_CHARS: usize = 100_000;
    /// Each of the two.
    const LONGEST_TEXT_CHARS: usize = 200_000;
    let mut patch = patch::between(before, after, name);
    if let Some((cut, _)) = patch.char_indices().nth(MOST_CHARS) {
        let more = patch[cut..].lines().count();
        patch.truncate(cut);
        patch.push_str(&format!("\n[… {more} more lines: this is not the whole change]\n"));
    }
    let before = before.cloned().unwrap_or_default();
    let short = [&before, after].iter().all(|text| text.len_chars() <= LONGEST_TEXT_CHARS);
    let texts =
        short.then(|| PreviewTexts { before: before.to_string(), after: after.to_string() });
    Preview { patch, texts }
}

/// Text to be changed. `None`: no such file.
fn present(context: &ToolContext, path: &WorkspacePath) -> Result<Option<Text>, ToolFailure> {
    if context.workspace.has_hard_links(path) {
        return Err(ToolFailure::Tell(format!(
            "`{path}` has other names (hard links), maybe outside the workspace, that would change \
             with it. Nothing was changed."
        )));
    }
    let snapshot = snapshot::look(context, path)?;
    if snapshot.as_ref().is_some_and(|snapshot| snapshot.garbled) {
        let encoding = context.workspace.form_of(path.as_path()).encoding;
        let which = if encoding.is_utf8() { String::new() } else { format!(" ({encoding})") };
        return Err(ToolFailure::Tell(format!(
            "`{path}` is open in the editor in another encoding than its own{which}. To save it like \
             that would damage it. Nothing was changed. Ask the user to reopen it with its \
             encoding{which}."
        )));
    }
    Ok(snapshot.map(|snapshot| snapshot.text))
}

/// Refuses text that cannot be written in the encoding of the file. An editor would write question
/// marks instead.
fn check_encodable(
    context: &ToolContext,
    path: &WorkspacePath,
    wanted: &Wanted,
) -> Result<(), ToolFailure> {
    let encoding = context.workspace.form_of(path.as_path()).encoding;
    let Wanted::Text(text) = wanted else { return Ok(()) };
    if encoding.is_unicode() {
        return Ok(());
    }
    encode(&Text::new(text), encoding).map(|_| ()).map_err(|error| {
        ToolFailure::Tell(format!("`{path}`: {error}. Nothing was changed. Write it without."))
    })
}

/// Proposes a change, computed again while the user changes the file. Fails if the file has another
/// text than when the user was asked.
async fn propose(context: ToolContext, change: Arc<FileChange>) -> Result<ToolOutput, ToolFailure> {
    let path = &change.path;
    let mut waited = Duration::ZERO;
    let begun = context.begin();
    for attempt in 1.. {
        let (base, computed) = compute(&context, &change).await?;
        let Computed { wanted, done, note, lines } = computed;
        let moved = matches!(wanted, Wanted::At(_));
        let kind = base.is_none().then_some(ToolKind::Create);
        let proposal = Proposal {
            path: path.as_path().to_owned(),
            base,
            wanted,
            origin: context.origin.clone(),
            policy: context.edit_policy,
            begun: begun.clone(),
            cancel: context.cancel.clone(),
        };
        let proposed = or_cancelled(&context, context.edits.propose(proposal), "may be").await?;
        match proposed {
            Proposed::Applied { added, removed } => {
                let counts = format!("+{added} −{removed}");
                let (content, detail) = match moved {
                    true => (format!("{done}."), None),
                    false => (format!("{done} ({counts}{note})."), Some(counts)),
                };
                let (added, removed) = (Some(added), Some(removed));
                let stats = Some(ToolStats { added, removed, ..ToolStats::default() });
                let mut content = ModelText::from(content);
                content.append(&lines);
                return Ok(ToolOutput { content, detail, kind, stats, ..ToolOutput::default() });
            }
            Proposed::Stale if attempt < ATTEMPTS_AT_ONCE => {}
            Proposed::Stale if waited < PATIENCE => {
                let began = Instant::now();
                or_cancelled(&context, pause_of_typing(&context, path), "is not").await?;
                waited += began.elapsed();
            }
            Proposed::Stale => break,
            failed => {
                let unsaved = begun.peek().and_then(|saved| saved.as_ref().err());
                let why = || ToolFailure::Tell(failure(path, &failed));
                return Err(unsaved.map_or_else(why, |reason| ToolFailure::unsaved(reason)));
            }
        }
    }
    Err(kept_changing(context, change).await?)
}

/// Computes the change of the present text, unless it is another one than the user was asked about.
async fn compute(
    context: &ToolContext,
    change: &Arc<FileChange>,
) -> Result<(Option<Text>, Computed), ToolFailure> {
    let (context, change) = (context.clone(), Arc::clone(change));
    blocking(move || {
        let path = &change.path;
        let base = present(&context, path)?;
        if change.asked_about.get().is_some_and(|text| *text != base) {
            return Err(ToolFailure::Tell(format!(
                "`{path}` changed while the user was asked about this change; nothing was \
                 changed. Read the file again, then propose it again."
            )));
        }
        let computed = (change.compute)(&context, path, base.as_ref())?;
        check_encodable(&context, path, &computed.wanted)?;
        Ok((base, computed))
    })
    .await
    .flatten()
}

/// Waits, but not longer than the turn. `state`: whether the change is in the file then.
async fn or_cancelled<T>(
    context: &ToolContext,
    waiting: impl Future<Output = T>,
    state: &str,
) -> Result<T, ToolFailure> {
    tokio::select! {
        value = waiting => Ok(value),
        () = context.cancel.cancelled() => {
            Err(ToolFailure::Tell(format!("Canceled; the change {state} in the file.")))
        }
    }
}

/// Text for the model about a change that was not made, or not as proposed.
fn failure(path: &WorkspacePath, proposed: &Proposed) -> String {
    match proposed {
        Proposed::Refused(problem) => {
            let reason = problem.english();
            format!("The editor did not change `{path}`: {reason}. Nothing was changed.")
        }
        Proposed::Late(problem) => {
            let reason = problem.english();
            format!(
                "The change of `{path}` is not yet applied: {reason}. It may still come, for \
                 example when the user confirms it in the editor; you are told when it does. Do \
                 not propose it again. Go on with work that does not need it, or end your turn \
                 and tell the user that it waits."
            )
        }
        Proposed::Astray | Proposed::Applied { .. } | Proposed::Stale => format!(
            "The editor changed `{path}`, but the text that arrived is not the one you asked for. It \
             is taken for your edit, and the user can reject it. Read the file again, and mend what \
             is wrong."
        ),
    }
}

/// Failure of a change of a file that somebody else keeps changing, with the place as it is now.
async fn kept_changing(
    context: ToolContext,
    change: Arc<FileChange>,
) -> Result<ToolFailure, ToolFailure> {
    blocking(move || {
        let path = &change.path;
        let base = snapshot::look(&context, path)?.map(|snapshot| snapshot.text);
        let wanted = (change.compute)(&context, path, base.as_ref())?.wanted;
        let shown = base.filter(|_| !path.is_secret());
        let place = shown.map(|base| place(&base, &wanted)).unwrap_or_default();
        Ok(ToolFailure::Tell(format!(
            "`{path}` kept changing for {} seconds while this edit was made; nothing was changed. The \
             user is probably typing in it. Do other work first, then read it again and repeat the \
             edit.{place}",
            PATIENCE.as_secs()
        )))
    })
    .await
    .flatten()
}

/// Waits until the file has not changed for a while, or until it changed after the longest wait: then
/// the time to the next key is longest.
async fn pause_of_typing(context: &ToolContext, path: &WorkspacePath) {
    let version = || context.docs.get(&path.key()).map(|document| document.version);
    let began = Instant::now();
    let (mut seen, mut since) = (version(), began);
    while since.elapsed() < PAUSE {
        tokio::time::sleep(LOOK_EVERY).await;
        let now = version();
        if now != seen {
            if began.elapsed() >= LONGEST_WAIT {
                return;
            }
            (seen, since) = (now, Instant::now());
        }
    }
}

/// Current lines at the start of a change.
fn place(base: &Text, wanted: &Wanted) -> String {
    const AROUND: usize = 3;
    const MOST_LINES: usize = 12;
    let Wanted::Text(wanted) = wanted else { return String::new() };
    let change = Change::between(base, &Text::new(wanted));
    let Some(edit) = change.edits().first() else { return String::new() };
    let first = base.char_to_line(edit.range.start).saturating_sub(AROUND);
    let last = base.char_to_line(edit.range.end) + AROUND;
    let lines = first..(last + 1).min(first + MOST_LINES).min(base.filled_lines());
    let shown = edited_lines::numbered(base, lines);
    format!("\nThe place as it is now:\n{}", shown.trim_end_matches('\n'))
}
