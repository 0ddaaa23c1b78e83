//! Identity of plan items: finds the old item that each item of a new list continues.
//!
//! A false match would hide that an open item was dropped, and show its hunks under another item. A
//! missed match only reports one dropped item too many. So in doubt an item is new.

use super::{Draft, Status, TodoItem};

/// For each draft the index of the old item it continues. No old item is continued twice.
pub(super) fn continued(old: &[TodoItem], drafts: &[Draft]) -> Vec<Option<usize>> {
    let mut matching =
        Matching { old, drafts, of_draft: vec![None; drafts.len()], taken: vec![false; old.len()] };
    matching.same_text();
    if matching.is_open() {
        matching.edited_text();
    }
    matching.of_draft
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

struct Matching<'a> {
    old: &'a [TodoItem],
    drafts: &'a [Draft],
    of_draft: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl Matching<'_> {
    /// Matches items with the same text, at any position. Among several with one text, the given id
    /// decides, then the order. If some were removed, those with an unchanged status match first.
    fn same_text(&mut self) {
        self.pair_up(same_id);
        for draft in 0..self.drafts.len() {
            let text = self.drafts[draft].content.trim();
            let drafts = (0..self.drafts.len())
                .filter(|i| self.of_draft[*i].is_none() && self.drafts[*i].content.trim() == text);
            let items =
                (0..self.old.len()).filter(|i| !self.taken[*i] && self.old[*i].content == text);
            if drafts.count() < items.count() {
                self.pair_up(|draft, item| {
                    draft.content.trim() == text && same_status(draft, item)
                });
            }
        }
        self.pair_up(|_, _| true);
    }

    /// Pairs the unmatched drafts and items, in order, that have the same text and satisfy `fits`.
    fn pair_up(&mut self, fits: impl Fn(&Draft, &TodoItem) -> bool) {
        for draft in 0..self.drafts.len() {
            if self.of_draft[draft].is_some() {
                continue;
            }
            let item = (0..self.old.len()).find(|item| {
                !self.taken[*item]
                    && self.old[*item].content == self.drafts[draft].content.trim()
                    && fits(&self.drafts[draft], &self.old[*item])
            });
            if let Some(item) = item {
                self.take(draft, item);
            }
        }
    }

    /// Matches items with edited texts: the smallest distance first, then the same id, then the
    /// nearest position.
    fn edited_text(&mut self) {
        let draft_words: Vec<_> = self.drafts.iter().map(|draft| words(&draft.content)).collect();
        let item_words: Vec<_> = self.old.iter().map(|item| words(&item.content)).collect();
        let mut candidates = Vec::new();
        for (draft, new) in self.drafts.iter().enumerate() {
            for (item, old) in self.old.iter().enumerate() {
                if self.of_draft[draft].is_some() || self.taken[item] {
                    continue;
                }
                // A completed item does not become open again with another text.
                if !old.is_open() && new.status != Status::Completed {
                    continue;
                }
                let (new_words, old_words) = (&draft_words[draft], &item_words[item]);
                let same_id = same_id(new, old);
                let alike = match distance(new_words, old_words) {
                    Some(distance) => distance,
                    None if same_id && related(new_words, old_words) => usize::MAX,
                    None => continue,
                };
                candidates.push((alike, !same_id, draft.abs_diff(item), draft, item));
            }
        }
        candidates.sort_unstable();
        for (_, _, _, draft, item) in candidates {
            if self.of_draft[draft].is_none() && !self.taken[item] {
                self.take(draft, item);
            }
        }
    }

    fn take(&mut self, draft: usize, item: usize) {
        self.of_draft[draft] = Some(item);
        self.taken[item] = true;
    }

    fn is_open(&self) -> bool {
        self.of_draft.iter().any(Option::is_none) && self.taken.iter().any(|taken| !taken)
    }
}

fn same_id(draft: &Draft, item: &TodoItem) -> bool {
    draft.id.as_deref() == Some(item.label())
}

fn same_status(draft: &Draft, item: &TodoItem) -> bool {
    (draft.status == Status::Completed) != item.is_open()
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
