//! Rules for a new list. The checks collect all faults and change nothing.

use super::{Draft, FaultKind, Faults, ListDialect, Status, dialect::ACTIVE_FORM};

pub(super) const MAX_ITEMS: usize = 20;
const MAX_TEXT: usize = 1_000;
const MAX_ID: usize = 64;

pub(super) fn check(
    drafts: &[Draft],
    dialect: ListDialect,
    mut faults: Faults,
) -> Result<(), Faults> {
    let staying = drafts.iter().filter(|draft| draft.status != Status::Cancelled).count();
    if staying > MAX_ITEMS {
        faults.push(None, "", FaultKind::TooMany { count: staying, limit: MAX_ITEMS });
    }

    let mut in_progress = None;
    for (index, draft) in drafts.iter().enumerate() {
        let mut fault = |field: &'static str, kind| faults.push(Some(index), field, kind);

        if let Some(kind) = text_fault(&draft.content, MAX_TEXT) {
            fault(dialect.content_field(), kind);
        }
        let active_form = draft.active_form.as_ref();
        if let Some(kind) = active_form.and_then(|form| text_fault(form, MAX_TEXT)) {
            fault(ACTIVE_FORM, kind);
        }
        if draft.status == Status::InProgress {
            match in_progress {
                None => in_progress = Some(index),
                Some(first) => fault("status", FaultKind::SecondInProgress { first }),
            }
        }
        if let Some(id) = &draft.id {
            let first = drafts.iter().position(|other| other.id.as_ref() == Some(id));
            if let Some(first) = first.filter(|first| *first < index) {
                fault("id", FaultKind::DuplicateId { id: id.clone(), first });
            } else if let Some(kind) = text_fault(id, MAX_ID) {
                fault("id", kind);
            }
        }
    }

    faults.sort();
    faults.or(())
}

pub(super) fn text_fault(text: &str, limit: usize) -> Option<FaultKind> {
    let text = text.trim();
    if text.is_empty() {
        return Some(FaultKind::Empty);
    }
    if let Some(forbidden) = text.chars().find(|c| c.is_control() || is_bidi_control(*c)) {
        return Some(FaultKind::ForbiddenCharacter(forbidden));
    }
    let length = text.chars().count();
    (length > limit).then_some(FaultKind::TooLong { length, limit })
}

/// Returns true for embeddings, overrides and isolates, which change the visible order of text.
pub(super) fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}
