//! Which old item each item of a new list continues.
//!
//! A wrong "same" hides that an open item was dropped and shows its hunks under a stranger; a
//! wrong "new" only names a drop too many. So when in doubt, an item is new.

use super::{Draft, DraftStatus, TodoItem};

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

struct Matching<'a> {
    old: &'a [TodoItem],
    drafts: &'a [Draft],
    of_draft: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl Matching<'_> {
    /// The same text is the same item, wherever it stands now. Among items of one text the given
    /// id decides, then the order; when some of them left, those stay whose status stayed.
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

    /// Pairs, in order, the free drafts and items that have the same text and fit.
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

    /// The closest texts first; at the same distance the same id, then the nearest place.
    fn edited_text(&mut self) {
        let draft_words: Vec<_> = self.drafts.iter().map(|draft| words(&draft.content)).collect();
        let item_words: Vec<_> = self.old.iter().map(|item| words(&item.content)).collect();
        let mut candidates = Vec::new();
        for (draft, new) in self.drafts.iter().enumerate() {
            for (item, old) in self.old.iter().enumerate() {
                if self.of_draft[draft].is_some() || self.taken[item] {
                    continue;
                }
                // A completed item does not come back to life with another text.
                if !old.is_open() && new.status != DraftStatus::Completed {
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
    (draft.status == DraftStatus::Completed) != item.is_open()
}

/// Number of words added or removed, if nothing else differs and half of the text stayed. A
/// replaced word makes another item: `Test the parser` is not `Test the lexer`.
fn distance(a: &[String], b: &[String]) -> Option<usize> {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let mut rest = long.iter();
    let contained = short.iter().all(|word| rest.any(|other| same_word(word, other)));
    (contained && short.len() * 2 >= long.len()).then(|| long.len() - short.len())
}

/// Half of the words are the same: enough when the model says by the id that it is the same item.
fn related(a: &[String], b: &[String]) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let common = short.iter().filter(|word| long.iter().any(|other| same_word(word, other)));
    common.count() * 2 >= short.len()
}

/// Equal, or one with an ending of up to two letters: `typo` and `typos`, not `step1` and `step2`.
fn same_word(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    long.strip_prefix(short).is_some_and(|ending| {
        ending.is_empty()
            || short.chars().count() >= 4
                && ending.chars().count() <= 2
                && ending.chars().all(char::is_alphabetic)
    })
}

/// Lower-case words without punctuation; in scripts without spaces each character is one.
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
        // Only punctuation: that is its word, so that `!` and `?` stay two.
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
