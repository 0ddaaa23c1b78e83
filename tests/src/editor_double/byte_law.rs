//! The byte law of docs/review.md, checked at the end of each turn: no byte of a file changes that the
//! review does not show. Holds for files that only the agent has changed since its first edit there.

use std::collections::{BTreeMap, HashMap};

use cairn_protocol::{ApplyEditParams, FileChange, Hunk, Notice, ReviewNotification, TextEncoding};

use super::{
    State,
    places::{path, read},
};

/// Bytes of a line that a client is certainly shown as a whole.
const LONG_LINE: usize = 1_000;

#[derive(Default)]
pub(super) struct ByteLaw {
    /// Text and encoding of each file before the first edit of the agent; `None` for a file that
    /// somebody else has changed too, that the agent moved or deleted, or of which an edit was decided.
    before: HashMap<String, Option<(String, TextEncoding)>>,
    /// The test has ended the check.
    ended: bool,
    /// Faults at the ends of turns.
    pub(super) faults: Vec<String>,
}

impl ByteLaw {
    /// Ends the check for this editor: the hunks to compare with are not known.
    pub(super) fn end(&mut self) {
        self.before.clear();
        self.ended = true;
    }
}

impl State {
    /// Called before an edit of the agent is made.
    pub(super) fn edit_begins(&mut self, params: &ApplyEditParams) {
        let uri = &params.uri;
        if !matches!(params.change, FileChange::Edit { .. }) {
            return self.changed_by_others(uri);
        }
        if self.law.ended || self.law.before.contains_key(uri) {
            return;
        }
        let open = self.documents.get(uri);
        let is_dirty = open.is_some_and(|document| document.dirty);
        let is_reviewed = newest_review(&self.notices, uri).is_some_and(|it| !it.hunks.is_empty());
        let encoding = open.map(|document| &document.encoding).or(params.encoding.as_ref());
        let text = read(&path(uri), encoding).ok();
        let before = text.filter(|_| !is_dirty && !is_reviewed);
        self.law.before.insert(uri.clone(), before);
    }

    /// Ends the check of a file, which somebody else changes.
    pub(super) fn changed_by_others(&mut self, uri: &str) {
        self.law.before.insert(uri.to_owned(), None);
    }

    /// Ends the check of all files that were edited so far.
    pub(super) fn decided(&mut self) {
        self.law.before.values_mut().for_each(|before| *before = None);
    }

    /// The newest review of each file with pending edits.
    pub(super) fn pending_reviews(&self) -> Vec<Notice> {
        let mut newest = BTreeMap::new();
        for notice in &self.notices {
            if let Notice::Review(review) = notice {
                newest.insert(&review.uri, (notice, review));
            }
        }
        let pending = newest.into_values().filter(|(_, review)| !review.hunks.is_empty());
        pending.map(|(notice, _)| notice.clone()).collect()
    }

    pub(super) fn check_byte_law(&mut self) {
        let mut faults = Vec::new();
        for (uri, before) in &self.law.before {
            let Some((before, encoding)) = before else { continue };
            let now = match self.documents.get(uri).filter(|document| document.dirty) {
                Some(document) => document.text.clone(),
                None => match read(&path(uri), Some(encoding)) {
                    Ok((text, _)) => text,
                    Err(error) => {
                        faults.push(format!("byte law: {uri}: {error}"));
                        continue;
                    }
                },
            };
            let review = newest_review(&self.notices, uri);
            let hunks = review.map_or(&[][..], |review| &review.hunks);
            if let Err(fault) = check(before, &now, hunks) {
                let fault = format!("byte law: {uri}: {fault}\n{before:?}\n{now:?}\n{hunks:#?}");
                faults.push(fault);
            }
        }
        self.law.faults.extend(faults);
    }
}

fn newest_review<'n>(notices: &'n [Notice], uri: &str) -> Option<&'n ReviewNotification> {
    notices.iter().rev().find_map(|notice| match notice {
        Notice::Review(review) if review.uri == uri => Some(review),
        _ => None,
    })
}

/// Compares all lines outside the hunks, with their endings, and the removed lines with those shown.
fn check(before: &str, now: &str, hunks: &[Hunk]) -> Result<(), String> {
    let (before, now) = (lines(before), lines(now));
    let (mut old, mut new) = (0, 0);
    let mut places: Vec<&Hunk> = hunks.iter().filter(|hunk| !hunk.outdated).collect();
    places.sort_by_key(|hunk| hunk.range.start);
    for hunk in places {
        let start = hunk.range.start.line as usize;
        let kept = start.checked_sub(new).ok_or("two hunks overlap")?;
        if before.get(old..old + kept) != now.get(new..start) || kept > now.len() {
            return Err(format!("lines above line {} differ", start + 1));
        }
        let removed = before.get(old + kept..old + kept + hunk.removed_lines as usize);
        let shown: Vec<&str> = match hunk.removed_lines {
            0 => Vec::new(),
            _ => hunk.old_text.split('\n').collect(),
        };
        let plain = |line: &&str| line.trim_end_matches(['\r', '\n']).to_owned();
        let removed: Vec<String> = removed.unwrap_or_default().iter().map(plain).collect();
        let shown: Vec<String> = shown.iter().map(plain).collect();
        // Long lines are cut, and keys are not shown.
        let is_it = |(line, shown): (&String, &String)| {
            line == shown || line.len() > LONG_LINE || shown.contains("[key]")
        };
        if removed.len() != shown.len() || !removed.iter().zip(&shown).all(is_it) {
            return Err(format!("line {} replaces other lines than the hunk shows", start + 1));
        }
        old += kept + hunk.removed_lines as usize;
        new = start + hunk.added_lines as usize;
    }
    match before.get(old..) == now.get(new..) {
        true => Ok(()),
        false => Err(format!("lines from line {} on differ", new + 1)),
    }
}

/// Lines with their endings.
fn lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest
            .find(['\r', '\n'])
            .map_or(rest.len(), |at| at + if rest[at..].starts_with("\r\n") { 2 } else { 1 });
        let (line, after) = rest.split_at(end);
        lines.push(line);
        rest = after;
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hunk(line: u32, old: &[&str], added: u32) -> Hunk {
        let at = |line| json!({ "line": line, "character": 0 });
        let hunk = json!({
            "id": "0", "sessionId": "s", "turnId": "t", "oldText": old.join("\n"), "newText": "",
            "range": { "start": at(line), "end": at(line + added) }, "mixed": false, "outdated": false,
            "removedLines": old.len(), "addedLines": added,
        });
        serde_json::from_value(hunk).expect("a hunk")
    }

    #[test]
    fn bytes_outside_the_hunks_and_lines_that_are_not_shown_break_the_law() {
        let before = "a\r\nb\nc";
        let b = || hunk(1, &["b"], 1);
        for (now, hunks, is_kept) in [
            ("a\r\nb\nc", vec![], true),
            ("a\r\nB\nc", vec![b()], true),
            ("a\r\nB\nc", vec![], false),
            ("a\nB\nc", vec![b()], false),
            ("a\r\nB\nc\n", vec![b()], false),
            ("a\r\nB\nc", vec![hunk(1, &["x"], 1)], false),
            ("a\r\nc", vec![hunk(1, &["b"], 0)], true),
            ("a\r\nb\nnew\nc", vec![hunk(2, &[], 1)], true),
            ("a\r\nb\nnew\n", vec![hunk(2, &[], 1)], false),
            ("A\r\nb\nC", vec![hunk(0, &["a"], 1), hunk(2, &["c"], 1)], true),
        ] {
            let checked = check(before, now, &hunks);
            assert_eq!(checked.is_ok(), is_kept, "{now:?} {hunks:?}: {checked:?}");
        }
    }
}
