//! Identity of plan items: finds the old item that each item of a new list continues.
//!
//! A false match would hide that an open item was dropped, and show its hunks under another item. A
//! missed match only reports one dropped item too many. So in doubt an item is new.

use super::{Draft, Status, TodoItem};

/// For each draft the index of the item that it continues. Equal texts are paired first: by id, then by
/// status where fewer drafts than items have the text, then in order. Edited texts follow, the most alike first.
pub(super) fn continued(old: &[TodoItem], drafts: &[Draft]) -> Vec<Option<usize>> {
    let draft_words: Vec<_> = drafts.iter().map(|draft| words(&draft.content)).collect();
    let item_words: Vec<_> = old.iter().map(|item| words(&item.content)).collect();
    let is_fewer = |text: &str| {
        let drafts = drafts.iter().filter(|draft| draft.content.trim() == text).count();
        drafts < old.iter().filter(|item| item.content == text).count()
    };
    let mut candidates = Vec::new();
    for (draft, new) in drafts.iter().enumerate() {
        let (text, is_done) = (new.content.trim(), new.status == Status::Completed);
        for (item, old) in old.iter().enumerate() {
            let same_id = new.id.as_deref() == Some(old.label());
            let (new_words, old_words) = (&draft_words[draft], &item_words[item]);
            let (alike, next) = if old.content == text {
                (0, usize::from(is_done == old.is_open() && is_fewer(text)))
            } else if !old.is_open() && !is_done {
                // A closed item with another text is not opened again.
                continue;
            } else {
                let alike = match distance(new_words, old_words) {
                    Some(distance) => distance + 1,
                    None if same_id && related(new_words, old_words) => usize::MAX,
                    None => continue,
                };
                (alike, draft.abs_diff(item))
            };
            candidates.push((alike, !same_id, next, draft, item));
        }
    }
    candidates.sort_unstable();
    let (mut of_draft, mut taken) = (vec![None; drafts.len()], vec![false; old.len()]);
    for (_, _, _, draft, item) in candidates {
        if of_draft[draft].is_none() && !taken[item] {
            (of_draft[draft], taken[item]) = (Some(item), true);
        }
    }
    of_draft
}

/// Takes out the pairs in which a step of an earlier turn would begin again: its work was for another plan, also
/// if the words are the same.
pub(super) fn leave_out_begun_again(
    old: &[TodoItem],
    drafts: &[Draft],
    continued: &mut [Option<usize>],
) {
    for (draft, pair) in drafts.iter().zip(continued) {
        let before = pair.and_then(|index| old.get(index)).map(|item| item.status);
        let begins_again = match before {
            Some(Status::InProgress) => draft.status == Status::Pending,
            Some(Status::Completed | Status::Cancelled) => draft.status.is_open(),
            Some(Status::Pending) | None => false,
        };
        if begins_again {
            *pair = None;
        }
    }
}

/// Number of added or removed words, if nothing else differs and half of the text is unchanged. A
/// replaced word gives another item: `Test the parser` is not `Test the lexer`.
fn distance(a: &[String], b: &[String]) -> Option<usize> {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let mut rest = long.iter();
    let contained = short.iter().all(|word| rest.any(|other| same_word(word, other)));
    (contained && short.len() * 2 >= long.len()).then(|| long.len() - short.len())
}

/// Returns true if half of the words are the same, which is enough for an item with the same id.
fn related(a: &[String], b: &[String]) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let common = short.iter().filter(|word| long.iter().any(|other| same_word(word, other)));
    common.count() * 2 >= short.len()
}

/// Returns true for equal words, and for a word with an added ending of up to two letters: `typo`
/// and `typos`, but not `step1` and `step2`.
fn same_word(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    long.strip_prefix(short).is_some_and(|ending| {
        ending.is_empty()
            || short.chars().count() >= 4
                && ending.chars().count() <= 2
                && ending.chars().all(char::is_alphabetic)
    })
}

/// Returns the lower-case words without punctuation. In scripts without spaces each character is a
/// word.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        let alone = is_unspaced(c);
        if alone || !c.is_alphanumeric() {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            if alone {
                words.push(c.to_string());
            }
        } else {
            word.push(c);
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    if words.is_empty() {
        // A text of punctuation is one word, so that `!` and `?` differ.
        words.push(text.trim().to_owned());
    }
    words
}

fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30FF}'
        | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{2FFFF}')
}
