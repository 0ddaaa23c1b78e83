//! Change of a file: read, compute, propose, and start again if the user changed the file meanwhile.

use std::{sync::Arc, time::Duration};

use cairn_core::{
    change::Change as TextChange,
    review::patch,
    text::{Text, encode},
};
use cairn_protocol::{Preview, PreviewTexts};

use super::{
    Access, Proposal, Proposed, ToolContext, ToolFailure, Wanted,
    snapshot::{self, blocking},
};
use crate::workspace::WorkspacePath;

/// Delays before a change is computed again because the file changed. The first retry is immediate; the
/// later ones exceed the time between two keys of a typing user.
const PAUSES: [Duration; 6] = [
    Duration::ZERO,
    Duration::ZERO,
    Duration::ZERO,
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
];

pub(super) struct Change<T> {
    pub(super) added: u32,
    pub(super) removed: u32,
    /// Note of the computation.
    pub(super) note: T,
}

/// Text from which the shown change was computed. The outer `None`: no question was asked.
pub(super) type Asked = Option<Option<Text>>;

pub(super) fn edit_of(path: &WorkspacePath) -> Access {
    Access::Edit {
        path: path.as_path().to_owned(),
        inside: path.inside().to_owned(),
        aliases: path.aliases().to_vec(),
    }
}

/// Preview of a change, and the text it was computed from.
pub(super) fn preview<T>(
    context: &ToolContext,
    path: &WorkspacePath,
    compute: impl Fn(Option<&Text>) -> Result<(Wanted, T), ToolFailure>,
) -> Result<(Option<Preview>, Asked), ToolFailure> {
    let base = present(context, path)?;
    let computed = compute(base.as_ref()).and_then(|(wanted, note)| {
        if base.is_some() {
            check_encodable(context, path, &wanted)?;
        }
        Ok((wanted, note))
    });
    let after = match computed {
        Ok((Wanted::Text(text), _)) => Text::new(&text),
        Ok((Wanted::Gone, _)) => Text::default(),
        Ok((Wanted::At(_), _)) => return Ok((None, None)),
        // The error may quote the file, which the user has not allowed yet.
        Err(_) if path.is_secret() => return Ok((None, None)),
        Err(error) => return Err(error),
    };
    Ok((Some(shown(base.as_ref(), &after, path.display())), Some(base)))
}

/// Preview of a move as a new file at its new path, and the text.
pub(super) fn preview_moved(
    context: &ToolContext,
    from: &WorkspacePath,
    to: &WorkspacePath,
) -> Result<(Option<Preview>, Asked), ToolFailure> {
    let base = present(context, from)?;
    let preview = base.as_ref().map(|text| shown(None, text, to.display()));
    Ok((preview, Some(base)))
}

fn shown(before: Option<&Text>, after: &Text, name: &str) -> Preview {
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
        let encoding = context.workspace.encoding_of(path.as_path());
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
    let encoding = context.workspace.encoding_of(path.as_path());
    let Wanted::Text(text) = wanted else { return Ok(()) };
    if encoding.is_unicode() {
        return Ok(());
    }
    encode(&Text::new(text), encoding).map(|_| ()).map_err(|error| {
        ToolFailure::Tell(format!("`{path}`: {error}. Nothing was changed. Write it without."))
    })
}

/// Proposes the result of `compute`, which gets the current text (`None`: no such file) and returns the
/// wanted state with a note. It may block and may be called several times.
pub(super) async fn change<T: Send + 'static>(
    context: &ToolContext,
    path: &WorkspacePath,
    asked: Asked,
    compute: impl Fn(Option<&Text>) -> Result<(Wanted, T), ToolFailure> + Send + Sync + 'static,
) -> Result<Change<T>, ToolFailure> {
    let compute = Arc::new(compute);
    let mut pauses = PAUSES.into_iter();
    loop {
        let (looking, looked_at, compute) = (context.clone(), path.clone(), Arc::clone(&compute));
        let asked = asked.clone();
        let (base, wanted, note) = blocking(move || {
            let base = present(&looking, &looked_at)?;
            if asked.is_some_and(|asked| asked != base) {
                return Err(ToolFailure::Tell(format!(
                    "`{looked_at}` changed while the user was asked about this change; nothing was \
                     changed. Read the file again, then propose it anew."
                )));
            }
            let (wanted, note) = compute(base.as_ref())?;
            check_encodable(&looking, &looked_at, &wanted)?;
            Ok((base, wanted, note))
        })
        .await?;
        let proposal = Proposal {
            path: path.as_path().to_owned(),
            base,
            wanted,
            origin: context.origin.clone(),
            policy: context.edit_policy,
            cancel: context.cancel.clone(),
        };
        let proposed = tokio::select! {
            proposed = context.edits.propose(proposal) => proposed,
            () = context.cancel.cancelled() => {
                return Err(ToolFailure::Tell("Cancelled; the change may be in the file.".to_owned()));
            }
        };
        match proposed {
            Proposed::Applied { added, removed } => return Ok(Change { added, removed, note }),
            Proposed::Stale => match pauses.next() {
                Some(pause) => tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = context.cancel.cancelled() => {
                        return Err(ToolFailure::Tell("Cancelled; nothing was changed.".to_owned()));
                    }
                },
                None => break,
            },
            Proposed::Astray => {
                return Err(ToolFailure::Tell(format!(
                    "The editor changed `{path}`, but the text that arrived is not the one you \
                     asked for. It counts as your edit, and the user can reject it. Read the file \
                     again, and mend what is wrong."
                )));
            }
            Proposed::Refused(reason) => {
                return Err(ToolFailure::Tell(format!(
                    "The editor did not change `{path}`: {reason}. Nothing was changed."
                )));
            }
            Proposed::Late(reason) => {
                return Err(ToolFailure::Tell(format!(
                    "The change of `{path}` is not yet applied: {reason}. It may still come, for \
                     example when the user confirms it in the editor; you are told when it does. Do \
                     not propose it again. Go on with work that does not need it, or end your turn \
                     and tell the user that it waits."
                )));
            }
        }
    }
    let (looking, looked_at) = (context.clone(), path.clone());
    let place = blocking(move || {
        let base = snapshot::look(&looking, &looked_at)?.map(|snapshot| snapshot.text);
        let (wanted, _) = compute(base.as_ref())?;
        let shown = base.filter(|_| !looked_at.is_secret());
        Ok(shown.map(|base| place(&base, &wanted)).unwrap_or_default())
    })
    .await?;
    Err(ToolFailure::Tell(format!(
        "`{path}` kept changing while this edit was made ({} tries); nothing was changed. The user \
         may be typing in it: read it again before the next edit.{place}",
        PAUSES.len() + 1
    )))
}

/// Current lines at the start of a change.
fn place(base: &Text, wanted: &Wanted) -> String {
    const AROUND: usize = 3;
    const MOST_LINES: usize = 12;
    const MOST_CHARS: usize = 300;
    let Wanted::Text(wanted) = wanted else { return String::new() };
    let change = TextChange::between(base, &Text::new(wanted));
    let Some(edit) = change.edits().first() else { return String::new() };
    let first = base.char_to_line(edit.range.start).saturating_sub(AROUND);
    let last = base.char_to_line(edit.range.end) + AROUND;
    let lines = first..(last + 1).min(first + MOST_LINES).min(base.filled_lines());
    let mut shown = "\nThe place as it is now:".to_owned();
    for line in lines {
        let text: String = base.lines_slice(line..line + 1).chars().take(MOST_CHARS).collect();
        shown += &format!("\n{}\t{}", line + 1, text.trim_end_matches(['\n', '\r']));
    }
    shown
}

/// Line counts for a title: `+3 −1`.
pub(super) fn counts<T>(change: &Change<T>) -> String {
    format!("+{} −{}", change.added, change.removed)
}
