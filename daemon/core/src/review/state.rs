//! Effects of edits and decisions on baseline, current text and hunks.
//!
//! Works on the lines that an edit touches and never compares whole files. The equal lines between
//! hunks map lines of one text to lines of the other.

use std::{
    collections::{BTreeSet, HashSet},
    ops::Range,
};

use super::{Author, Hunk, HunkId, OwnText, lineage::heirs, window};
use crate::{
    change::{Change, Edit, diff},
    text::{self, Text},
};

/// Two texts and their difference.
///
/// Invariant: the hunks are sorted, and all lines outside of them are equal. At least one line lies
/// between two of them, or they are parts of one replacement: these touch, and each has lines in the
/// current text. So each can be decided without the others.
#[derive(Debug, Clone)]
pub(super) struct ReviewState {
    pub(super) baseline: Text,
    pub(super) current: Text,
    pub(super) hunks: Vec<Hunk>,
}

/// Lines of an edit's window, in the current text before and after the edit.
pub(super) struct Shift {
    pub(super) before: Range<usize>,
    after: Range<usize>,
}

/// Lines that must be compared again, and the owners of the current ones.
pub(super) struct Region {
    /// Indices of the hunks in them.
    pub(super) touched: Range<usize>,
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
    pub(super) user: Vec<bool>,
}

impl ReviewState {
    pub(super) fn edit(
        &mut self,
        edit: &Edit,
        author: &Author,
        fresh_id: &mut impl FnMut() -> HunkId,
    ) {
        let before = window::of(&self.current, edit);
        let (mut current, lines) = (self.current.clone(), self.current.filled_lines());
        current.replace(edit.range.clone(), &edit.insert);
        let after = before.start..current.filled_lines() - (lines - before.end);
        let shift = Shift { before, after };

        let overlapping = self.overlapping(&shift.before);
        let adjoining = self.adjoining(&shift.before);
        match author {
            Author::User if overlapping.is_empty() => {
                self.mirror_or_revise(edit, current, shift, author, fresh_id);
            }
            Author::User => {
                let region = self.region(self.with_parts(adjoining), &shift.before);
                self.revise(region, edit, current, &shift, author, fresh_id);
            }
            Author::Agent(_) => {
                let touched = self.with_parts(adjoining);
                self.propose(touched, edit, current, &shift, author, fresh_id);
            }
        }
    }

    /// Returns true if the hunks differ only in their places and the text of their lines.
    pub(super) fn same_hunks(&self, other: &ReviewState) -> bool {
        let same = |a: &Hunk, b: &Hunk| {
            a.id == b.id && a.old.len() == b.old.len() && a.mixed == b.mixed && a.user == b.user
        };
        self.hunks.len() == other.hunks.len()
            && self.hunks.iter().zip(&other.hunks).all(|(a, b)| same(a, b))
    }

    /// Returns true if an edit inserts or removes lines that border on a hunk.
    pub(super) fn moves_lines_beside_hunk(&self, edit: &Edit) -> bool {
        let window = window::of(&self.current, edit);
        let removes = window.len() > 1 || self.current.lines_to_chars(&window) == edit.range;
        (removes || edit.insert.contains(['\n', '\r'])) && !self.adjoining(&window).is_empty()
    }

    /// Applies hunks to the baseline.
    pub(super) fn accept(&mut self, ids: &HashSet<HunkId>) -> Vec<Hunk> {
        let hunks = std::mem::take(&mut self.hunks);
        let (accepted, mut pending): (Vec<Hunk>, Vec<Hunk>) =
            hunks.into_iter().partition(|hunk| ids.contains(&hunk.id));
        // From the last to the first, so that the lines of the others stay valid.
        for hunk in accepted.iter().rev() {
            let text = self.current.lines_slice(hunk.new.clone());
            self.baseline.replace(self.baseline.lines_to_chars(&hunk.old), &text);
        }
        let mut before = accepted.iter().peekable();
        let (mut from, mut to) = (0, 0);
        for hunk in &mut pending {
            while let Some(accepted) = before.next_if(|other| other.new.start < hunk.new.start) {
                (from, to) = (from + accepted.old.len(), to + accepted.new.len());
            }
            move_lines(&mut hunk.old, from, to);
        }
        self.hunks = pending;
        accepted
    }

    /// Puts what a rejection leaves of hunks into both texts. Returns the number of hunks found.
    pub(super) fn reject(&mut self, ids: &HashSet<HunkId>, own: OwnText) -> usize {
        let (rejected, mut pending): (Vec<Hunk>, Vec<Hunk>) =
            std::mem::take(&mut self.hunks).into_iter().partition(|it| ids.contains(&it.id));
        // From the last to the first, so that the lines of the others stay valid. The lines of both texts
        // are counted after each: a kept line that ends with `\r` may merge with the next line.
        let mut counts = vec![(self.baseline.filled_lines(), self.current.filled_lines())];
        for hunk in rejected.iter().rev() {
            let kept = self.kept(hunk, own);
            self.baseline.replace(self.baseline.lines_to_chars(&hunk.old), &kept);
            self.current.replace(self.current.lines_to_chars(&hunk.new), &kept);
            counts.push((self.baseline.filled_lines(), self.current.filled_lines()));
        }
        let mut before = rejected.iter().peekable();
        let (old, new) = counts.pop().unwrap_or_default();
        let (mut without_old, mut without_new) = (old, new);
        for hunk in &mut pending {
            while before.next_if(|other| other.new.start < hunk.new.start).is_some() {
                (without_old, without_new) = counts.pop().unwrap_or_default();
            }
            move_lines(&mut hunk.old, without_old, old);
            move_lines(&mut hunk.new, without_new, new);
        }
        self.hunks = pending;
        rejected.len()
    }

    /// Returns the edit of the current text that rejects hunks.
    pub(super) fn rejection(&self, hunks: &[&Hunk], own: OwnText) -> Option<Change> {
        let edits = hunks.iter().flat_map(|hunk| {
            let span = self.current.lines_to_chars(&hunk.new);
            let shown = Text::new(&self.current.slice(span.clone()));
            let kept = Text::new(&self.kept(hunk, own));
            let edits = Change::between(&shown, &kept).edits().to_vec();
            edits.into_iter().map(move |edit| edit.shifted(span.start))
        });
        Change::new(self.current.len_chars(), edits.collect()).ok()
    }

    fn kept(&self, hunk: &Hunk, own: OwnText) -> String {
        match own {
            OwnText::Keep => self.kept_on_reject(hunk),
            OwnText::Drop => self.baseline.lines_slice(hunk.old.clone()),
        }
    }

    /// Accepts hunks that a rejection would not change: they hold only the user's text.
    pub(super) fn settle_own_lines(&mut self) {
        let is_own = |hunk: &&Hunk| {
            hunk.mixed && self.kept_on_reject(hunk) == self.current.lines_slice(hunk.new.clone())
        };
        let own: HashSet<HunkId> = self.hunks.iter().filter(is_own).map(|hunk| hunk.id).collect();
        if !own.is_empty() {
            self.accept(&own);
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let (mut old, mut new) = (0, 0);
        let mut ids = BTreeSet::new();
        let equal = |old: Range<usize>, new: Range<usize>| {
            let (a, b) = (self.baseline.lines_slice(old), self.current.lines_slice(new));
            if a == b { Ok(()) } else { Err(format!("{a:?} and {b:?} differ outside of hunks")) }
        };
        for (index, hunk) in self.hunks.iter().enumerate() {
            if !fits(&hunk.old, &self.baseline) || !fits(&hunk.new, &self.current) {
                return Err(format!("{hunk:?} is not in the texts"));
            }
            if hunk.old.start < old || hunk.new.start < new {
                return Err(format!("{hunk:?} overlaps the hunk before"));
            }
            equal(old..hunk.old.start, new..hunk.new.start)?;
            let touches = index > 0 && hunk.old.start == old && hunk.new.start == new;
            if touches && (hunk.new.is_empty() || self.hunks[index - 1].new.is_empty()) {
                return Err(format!("nothing lies between {hunk:?} and the hunk before"));
            }
            if hunk.old.is_empty() && hunk.new.is_empty() {
                return Err(format!("{hunk:?} is empty"));
            }
            if hunk.user.len() != hunk.new.len() {
                return Err(format!("{hunk:?} does not know whose its lines are"));
            }
            if hunk.user.contains(&true) && !hunk.mixed {
                return Err(format!("{hunk:?} would lose what the user typed"));
            }
            if !ids.insert(hunk.id) {
                return Err(format!("{hunk:?} is there twice"));
            }
            (old, new) = (hunk.old.end, hunk.new.end);
        }
        equal(old..self.baseline.filled_lines(), new..self.current.filled_lines())
    }

    /// Returns the text that a rejection leaves of a hunk: the old lines, and those that the user
    /// wrote. The user's lines stand after the old ones, except for those before every line of the
    /// agent.
    pub(super) fn kept_on_reject(&self, hunk: &Hunk) -> String {
        let old = self.baseline.lines_slice(hunk.old.clone());
        if !hunk.mixed {
            return old;
        }
        let first_agent_line = hunk.user.iter().position(|&user| !user).unwrap_or(0);
        let mut kept = self.current.lines_slice(hunk.new.start..hunk.new.start + first_agent_line);
        kept.push_str(&old);
        for (line, &user) in hunk.new.clone().zip(&hunk.user).skip(first_agent_line) {
            if user {
                if !kept.is_empty() && !kept.ends_with(['\n', '\r']) {
                    kept.push_str(text::line_ending(&self.current));
                }
                kept.push_str(&self.current.lines_slice(line..line + 1));
            }
        }
        kept
    }

    /// Applies an edit of the user between hunks to both texts, so that it is accepted. It becomes
    /// part of an adjoining hunk instead if it would merge with that hunk's old lines or restores a
    /// line that the hunk deletes.
    fn mirror_or_revise(
        &mut self,
        edit: &Edit,
        current: Text,
        shift: Shift,
        author: &Author,
        fresh_id: &mut impl FnMut() -> HunkId,
    ) {
        let index = self.overlapping(&shift.before).start;
        let start = self.old_line(index, shift.before.start);
        let window = self.baseline.lines_to_chars(&(start..start + shift.before.len()));
        let written = current.lines_to_chars(&shift.after);

        let left = window.start.checked_sub(1).and_then(|at| self.baseline.char_at(at));
        let right = self.baseline.char_at(window.end);
        let adjoining = self.adjoining(&shift.before);
        let is_clean = if written.is_empty() {
            window::is_clean(left, right)
        } else {
            // A part behind a bare `\r` may begin with `\n`.
            let last = current.char_at(written.end - 1);
            window::is_clean(left, current.char_at(written.start))
                && window::is_clean(last, right)
                && !(last == Some('\r') && self.is_touching(adjoining.end))
        };
        let gives_back = self.gives_back(adjoining.clone(), &current, &shift);
        if (!is_clean || gives_back) && !adjoining.is_empty() {
            let region = self.region(self.with_parts(adjoining), &shift.before);
            return self.revise(region, edit, current, &shift, author, fresh_id);
        }

        let column = self.current.line_to_char(shift.before.start);
        let mirrored = |at: usize| at - column + window.start;
        self.baseline.replace(mirrored(edit.range.start)..mirrored(edit.range.end), &edit.insert);
        self.current = current;
        for later in &mut self.hunks[index..] {
            move_lines(&mut later.old, shift.before.len(), shift.after.len());
            move_lines(&mut later.new, shift.before.len(), shift.after.len());
        }
        self.coalesce(index);
    }

    /// Returns true if an edit wrote a line that a hunk next to it deletes. Blank lines do not
    /// count.
    fn gives_back(&self, adjoining: Range<usize>, current: &Text, shift: &Shift) -> bool {
        let lines = |text: &Text, lines: &Range<usize>| -> Vec<String> {
            let lines = lines.clone().map(|line| text.lines_slice(line..line + 1));
            lines.filter(|line| !line.trim().is_empty()).collect()
        };
        let mut deletions =
            self.hunks[adjoining].iter().filter(|hunk| hunk.new.is_empty()).peekable();
        if shift.after.len() <= shift.before.len() || deletions.peek().is_none() {
            return false;
        }
        let written: HashSet<String> = lines(current, &shift.after).into_iter().collect();
        deletions
            .any(|hunk| lines(&self.baseline, &hunk.old).iter().any(|line| written.contains(line)))
    }

    /// Rebuilds the touched hunks from the lines that they and the edit span.
    pub(super) fn revise(
        &mut self,
        mut region: Region,
        edit: &Edit,
        current: Text,
        shift: &Shift,
        author: &Author,
        fresh_id: &mut impl FnMut() -> HunkId,
    ) {
        let touched = region.touched.clone();
        let lines = relative(&shift.before, region.new.start);
        let (written, inside) =
            self.user_lines(&region.user[lines.clone()], edit, &current, shift, author);
        region.user.splice(lines, written);
        self.current = current;
        region.new.end = region.new.end - shift.before.len() + shift.after.len();
        for later in &mut self.hunks[touched.end..] {
            move_lines(&mut later.new, shift.before.len(), shift.after.len());
        }

        let mut former: Vec<Hunk> = self.hunks[touched.clone()].to_vec();
        for hunk in &mut former {
            let is_edited = hunk.new.start < shift.before.end && shift.before.start < hunk.new.end;
            hunk.typed_inside |= inside && is_edited;
            shift.apply(&mut hunk.new);
        }
        let cuts = self.cuts(&touched, &former, &shift.before, author);
        let Region { old, new, user, .. } = region;
        let blocks = diff::lines(&self.baseline, old, &self.current, new.clone());
        let blocks = blocks.into_iter().flat_map(|block| self.parts(block, &cuts)).collect();
        let heirs = heirs(&former, blocks, author, &shift.after, (new.start, &user), fresh_id);
        let end = touched.start + heirs.len();
        self.hunks.splice(touched.clone(), heirs);
        self.coalesce(end);
        self.coalesce(touched.start);
    }

    /// Returns for each line of the edited window whether the user typed text in it, and whether
    /// they typed it inside a line of the agent's.
    fn user_lines(
        &self,
        before: &[bool],
        edit: &Edit,
        current: &Text,
        shift: &Shift,
        author: &Author,
    ) -> (Vec<bool>, bool) {
        let typed = match author {
            Author::User => {
                let visible = |text: &str| text.split_whitespace().collect::<String>();
                let inserted = visible(&edit.insert);
                let removed = self.current.slice(edit.range.clone());
                !inserted.is_empty() && inserted != visible(&removed)
            }
            Author::Agent(_) => false,
        };
        let (was, is) = (shift.before.clone(), shift.after.clone());
        let same = |old: usize, new: usize| {
            self.current.rope().get_line(old) == current.rope().get_line(new)
        };
        let shorter = was.len().min(is.len());
        let prefix = (0..shorter).take_while(|i| same(was.start + i, is.start + i)).count();
        let suffix =
            (0..shorter - prefix).take_while(|i| same(was.end - 1 - i, is.end - 1 - i)).count();
        // The rest of deleted or re-indented text keeps its owner.
        let user = typed || before[prefix..before.len() - suffix].contains(&true);
        let mut lines = before[..prefix].to_vec();
        lines.resize(is.len() - suffix, user);
        lines.extend_from_slice(&before[before.len() - suffix..]);
        let is_left = |line: usize| {
            let chars = self.current.lines_to_chars(&(line..line + 1));
            let left = |at: &usize| !edit.range.contains(at);
            chars
                .filter(left)
                .any(|at| self.current.char_at(at).is_some_and(|c| !c.is_whitespace()))
        };
        let mut changed = prefix..before.len() - suffix;
        let inside = typed && changed.any(|i| !before[i] && is_left(was.start + i));
        (lines, inside)
    }

    /// Returns the lines that hunks and a window span in both texts.
    pub(super) fn region(&self, touched: Range<usize>, window: &Range<usize>) -> Region {
        let hunks = &self.hunks[touched.clone()];
        let start = hunks.first().map_or(window.start, |hunk| hunk.new.start.min(window.start));
        let end = hunks.last().map_or(window.end, |hunk| hunk.new.end.max(window.end));
        let mut user = vec![false; end - start];
        for hunk in hunks {
            user[relative(&hunk.new, start)].copy_from_slice(&hunk.user);
        }
        Region {
            old: self.old_line(touched.start, start)..self.old_line(touched.end, end),
            new: start..end,
            user,
            touched,
        }
    }

    /// Returns the baseline's line for a current line that is not before the first `passed` hunks.
    fn old_line(&self, passed: usize, line: usize) -> usize {
        match passed.checked_sub(1).and_then(|last| self.hunks.get(last)) {
            Some(hunk) => hunk.old.end + line - hunk.new.end,
            None => line,
        }
    }

    /// Returns the hunks that share a line with a window, or lie inside of it. If there are none,
    /// the empty range names the hunks before and after the window; a deletion at its very start
    /// comes before its lines.
    fn overlapping(&self, window: &Range<usize>) -> Range<usize> {
        let start = self.hunks.partition_point(|hunk| hunk.new.end <= window.start);
        let end = self.hunks.partition_point(|hunk| hunk.new.start < window.end);
        start..end.max(start)
    }

    /// Returns the hunks that overlap a window or border on it.
    fn adjoining(&self, window: &Range<usize>) -> Range<usize> {
        let start = self.hunks.partition_point(|hunk| hunk.new.end < window.start);
        let end = self.hunks.partition_point(|hunk| hunk.new.start <= window.end);
        start..end.max(start)
    }
}

impl Shift {
    /// Maps a range of lines from before to after the edit. A range that the edit cuts gets the
    /// whole window.
    fn apply(&self, lines: &mut Range<usize>) {
        if *lines == self.before {
            // Even if both are empty: the written lines replace them.
            return lines.clone_from(&self.after);
        }
        let moved = |line: usize| line - self.before.end + self.after.end;
        let start = if lines.start < self.before.end {
            lines.start.min(self.before.start)
        } else {
            moved(lines.start)
        };
        let end = if lines.end <= self.before.start {
            lines.end
        } else {
            moved(lines.end.max(self.before.end))
        };
        *lines = start..end.max(start);
    }
}

fn fits(lines: &Range<usize>, text: &Text) -> bool {
    lines.start <= lines.end && lines.end <= text.filled_lines()
}

fn relative(lines: &Range<usize>, start: usize) -> Range<usize> {
    lines.start - start..lines.end - start
}

/// Shifts a range after `from` lines before it became `to` lines.
pub(super) fn move_lines(lines: &mut Range<usize>, from: usize, to: usize) {
    *lines = lines.start + to - from..lines.end + to - from;
}
