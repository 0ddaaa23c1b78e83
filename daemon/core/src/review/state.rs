//! The algebra of a review: what edits and decisions do to baseline, current text and hunks.
//!
//! Works on the lines that an edit touches and never compares whole files: the equal lines between
//! hunks say where a line of one text is in the other.

use std::{
    collections::{BTreeSet, HashSet},
    ops::Range,
    sync::Arc,
};

use super::{Author, Hunk, HunkId, Origin, window};
use crate::{
    change::{Change, Edit, diff},
    text::{self, Text},
};

/// Two texts and their difference.
///
/// Invariant: the hunks are sorted, at least one line lies between two of them, and all lines
/// outside of them are equal. So each can be decided without the others.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) baseline: Text,
    pub(super) current: Text,
    pub(super) hunks: Vec<Hunk>,
}

/// Where lines of the current text were before an edit, and where they are now.
struct Shift {
    before: Range<usize>,
    after: Range<usize>,
}

/// The lines to compare anew, and whose text the current ones are.
struct Region {
    old: Range<usize>,
    new: Range<usize>,
    user: Vec<bool>,
}

impl State {
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
            Author::User | Author::Agent(_) => {
                self.revise(adjoining, edit, current, shift, author, fresh_id);
            }
            Author::Decision => {
                let decided = join(self.around(&edit.range), overlapping);
                if decided.is_empty() {
                    self.mirror_or_revise(edit, current, shift, &Author::User, fresh_id);
                } else {
                    self.settle(decided, current, &shift);
                }
            }
        }
    }

    /// Whether the hunks differ in nothing but where they are and what their lines say.
    pub(super) fn same_hunks(&self, other: &State) -> bool {
        let same = |a: &Hunk, b: &Hunk| {
            a.id == b.id && a.old.len() == b.old.len() && a.mixed == b.mixed && a.user == b.user
        };
        self.hunks.len() == other.hunks.len()
            && self.hunks.iter().zip(&other.hunks).all(|(a, b)| same(a, b))
    }

    /// Whether an edit inserts or removes lines that border on a hunk.
    pub(super) fn moves_lines_beside_hunk(&self, edit: &Edit) -> bool {
        let window = window::of(&self.current, edit);
        let removes = window.len() > 1 || self.current.lines_to_chars(&window) == edit.range;
        (removes || edit.insert.contains(['\n', '\r'])) && !self.adjoining(&window).is_empty()
    }

    /// Takes hunks into the baseline.
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
            while let Some(accepted) = before.next_if(|other| other.old.start < hunk.old.start) {
                (from, to) = (from + accepted.old.len(), to + accepted.new.len());
            }
            move_lines(&mut hunk.old, from, to);
        }
        self.hunks = pending;
        accepted
    }

    /// The edit of the current text that takes hunks of this state back.
    pub(super) fn reject(&self, hunks: &[Hunk]) -> Option<Change> {
        let edits = hunks.iter().flat_map(|hunk| {
            let span = self.current.lines_to_chars(&hunk.new);
            let shown = Text::new(&self.current.slice(span.clone()));
            let kept = Text::new(&self.kept_on_reject(hunk));
            let edits = Change::between(&shown, &kept).edits().to_vec();
            edits.into_iter().map(move |edit| edit.shifted(span.start))
        });
        Change::new(self.current.len_chars(), edits.collect()).ok()
    }

    /// Takes hunks in which a rejection finds nothing to take away or bring back for what they
    /// are: the user's own text.
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
            equal(old..hunk.old.start, new..hunk.new.start)?;
            if index > 0 && (hunk.old.start <= old || hunk.new.start <= new) {
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

    /// What a rejection leaves of a hunk: the old lines, and those that the user wrote. These
    /// stand after the old ones, except for those before everything of the agent's.
    fn kept_on_reject(&self, hunk: &Hunk) -> String {
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
                    kept.push_str(text::line_ending(&self.current).as_str());
                }
                kept.push_str(&self.current.lines_slice(line..line + 1));
            }
        }
        kept
    }

    /// The user edited between hunks: what he wrote is accepted. But where it would run together
    /// with the old lines of a hunk beside it, or brings back what that deletes, it becomes a part
    /// of that hunk.
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
        let is_clean = if written.is_empty() {
            window::is_clean(left, right)
        } else {
            window::is_clean(left, current.char_at(written.start))
                && window::is_clean(current.char_at(written.end - 1), right)
        };
        let adjoining = self.adjoining(&shift.before);
        let gives_back = self.gives_back(adjoining.clone(), &current, &shift);
        if (!is_clean || gives_back) && !adjoining.is_empty() {
            return self.revise(adjoining, edit, current, shift, author, fresh_id);
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

    /// Whether one of the lines that an edit wrote is among those that a hunk beside it deletes.
    /// Blank lines say nothing.
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

    /// Makes the touched hunks anew, from the lines they and the edit span.
    fn revise(
        &mut self,
        touched: Range<usize>,
        edit: &Edit,
        current: Text,
        shift: Shift,
        author: &Author,
        fresh_id: &mut impl FnMut() -> HunkId,
    ) {
        let mut region = self.region(&touched, &shift.before);
        let lines = relative(&shift.before, region.new.start);
        let overwrites = region.user[lines.clone()].contains(&true);
        if overwrites && matches!(author, Author::Agent(_)) {
            self.absorb_user_lines(&touched, &mut region);
        }
        // The absorption may have widened the region.
        let lines = relative(&shift.before, region.new.start);
        let written = self.user_lines(&region.user[lines.clone()], edit, &current, &shift, author);
        region.user.splice(lines, written);
        self.current = current;
        region.new.end = region.new.end - shift.before.len() + shift.after.len();
        for later in &mut self.hunks[touched.end..] {
            move_lines(&mut later.new, shift.before.len(), shift.after.len());
        }

        let mut former: Vec<Hunk> = self.hunks[touched.clone()].to_vec();
        for hunk in &mut former {
            shift.apply(&mut hunk.new);
        }
        let Region { old, new, user } = region;
        let blocks = diff::lines(&self.baseline, old, &self.current, new.clone());
        let heirs = heirs(&former, blocks, author, &shift.after, (new.start, &user), fresh_id);
        let end = touched.start + heirs.len();
        self.hunks.splice(touched.clone(), heirs);
        self.coalesce(end);
        self.coalesce(touched.start);
    }

    /// Takes what a decision left into the baseline.
    fn settle(&mut self, decided: Range<usize>, current: Text, shift: &Shift) {
        let Region { old, mut new, .. } = self.region(&decided, &shift.before);
        new.end = new.end - shift.before.len() + shift.after.len();
        self.current = current;
        let text = self.current.lines_slice(new.clone());
        self.baseline.replace(self.baseline.lines_to_chars(&old), &text);
        for later in &mut self.hunks[decided.end..] {
            move_lines(&mut later.old, old.len(), new.len());
            move_lines(&mut later.new, shift.before.len(), shift.after.len());
        }
        self.hunks.drain(decided.clone());
        self.coalesce(decided.start);
    }

    /// The agent is about to overwrite lines that the user wrote in a proposal. As old lines of
    /// the baseline they are not lost: a rejection brings them back.
    fn absorb_user_lines(&mut self, touched: &Range<usize>, region: &mut Region) {
        // The equal lines around take part, as their endings may run together with what is kept.
        if region.old.start > 0 && region.new.start > 0 {
            region.old.start -= 1;
            region.new.start -= 1;
            region.user.insert(0, false);
        }
        if region.old.end < self.baseline.filled_lines()
            && region.new.end < self.current.filled_lines()
        {
            region.old.end += 1;
            region.new.end += 1;
            region.user.push(false);
        }
        let lines = self.baseline.filled_lines();
        for index in touched.clone().rev() {
            let hunk = &self.hunks[index];
            let kept = self.kept_on_reject(hunk);
            self.baseline.replace(self.baseline.lines_to_chars(&hunk.old), &kept);
        }
        let grown = self.baseline.filled_lines();
        for later in &mut self.hunks[touched.end..] {
            move_lines(&mut later.old, lines, grown);
        }
        region.old.end = region.old.end + grown - lines;
        region.user.fill(false);
    }

    /// Which of the lines an edit leaves in its window hold text that the user typed.
    fn user_lines(
        &self,
        before: &[bool],
        edit: &Edit,
        current: &Text,
        shift: &Shift,
        author: &Author,
    ) -> Vec<bool> {
        let typed = match author {
            Author::User | Author::Decision => {
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
        // What is left of deleted and re-indented text stays whose it was.
        let user = typed || before[prefix..before.len() - suffix].contains(&true);
        let mut lines = before[..prefix].to_vec();
        lines.resize(is.len() - suffix, user);
        lines.extend_from_slice(&before[before.len() - suffix..]);
        lines
    }

    /// The lines that hunks and a window span in both texts.
    fn region(&self, touched: &Range<usize>, window: &Range<usize>) -> Region {
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
        }
    }

    /// The baseline's line for a current line that is not before the first `passed` hunks.
    fn old_line(&self, passed: usize, line: usize) -> usize {
        match passed.checked_sub(1).and_then(|last| self.hunks.get(last)) {
            Some(hunk) => hunk.old.end + line - hunk.new.end,
            None => line,
        }
    }

    /// The hunks that share a line with a window, or lie inside of it. If there are none, this
    /// says between which hunks the window is: after a deletion at its very start.
    fn overlapping(&self, window: &Range<usize>) -> Range<usize> {
        let start = self.hunks.partition_point(|hunk| hunk.new.end <= window.start);
        let end = self.hunks.partition_point(|hunk| hunk.new.start < window.end);
        start..end.max(start)
    }

    /// The hunks that overlap a window or border on it.
    fn adjoining(&self, window: &Range<usize>) -> Range<usize> {
        let start = self.hunks.partition_point(|hunk| hunk.new.end < window.start);
        let end = self.hunks.partition_point(|hunk| hunk.new.start <= window.end);
        start..end.max(start)
    }

    /// The hunks whose text a range of chars overlaps or borders on.
    fn around(&self, chars: &Range<usize>) -> Range<usize> {
        let at = |line| self.current.line_to_char(line);
        let start = self.hunks.partition_point(|hunk| at(hunk.new.end) < chars.start);
        let end = self.hunks.partition_point(|hunk| at(hunk.new.start) <= chars.end);
        start..end.max(start)
    }

    /// Joins the hunk at an index with the one before, if nothing lies between them any more.
    pub(super) fn coalesce(&mut self, index: usize) {
        if index == 0 || index >= self.hunks.len() {
            return;
        }
        let (first, second) = (&self.hunks[index - 1], &self.hunks[index]);
        if first.old.end != second.old.start || first.new.end != second.new.start {
            return;
        }
        let second = self.hunks.remove(index);
        let first = &mut self.hunks[index - 1];
        first.kin = kin([&*first, &second]);
        first.old.end = second.old.end;
        first.new.end = second.new.end;
        first.mixed |= second.mixed;
        first.user.extend(second.user);
    }
}

impl Hunk {
    pub(super) fn has_kin(&self) -> bool {
        !self.kin.is_empty()
    }

    /// The hunks that this one ever was, or was a part of.
    pub(super) fn lineage(&self) -> impl Iterator<Item = HunkId> {
        std::iter::once(self.id).chain(self.kin.iter().copied())
    }
}

impl Shift {
    /// Moves lines from before to after the edit; its window goes to those that it cuts into.
    fn apply(&self, lines: &mut Range<usize>) {
        if *lines == self.before {
            // Also where both are empty: what is written there is in their place.
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

/// The hunks of a region made anew. They inherit from the former ones that they lie on.
fn heirs(
    former: &[Hunk],
    blocks: Vec<(Range<usize>, Range<usize>)>,
    author: &Author,
    written: &Range<usize>,
    (start, user): (usize, &[bool]),
    fresh_id: &mut impl FnMut() -> HunkId,
) -> Vec<Hunk> {
    let agent: Option<Arc<Origin>> = match author {
        Author::Agent(origin) => Some(Arc::new(origin.clone())),
        Author::User | Author::Decision => None,
    };
    let is_one_to_one = former.len() <= 1 && blocks.len() <= 1;
    let kin = kin(former);
    let mut claimed = vec![false; former.len()];
    let mut heirs = Vec::with_capacity(blocks.len());
    for (old, new) in blocks {
        let share = |hunk: &Hunk| Some(shared(&hunk.old, &old)? + shared(&hunk.new, &new)?);
        let nearest = (0..former.len())
            .filter_map(|index| Some((index, share(&former[index])?)))
            .max_by_key(|&(index, lines)| (lines, std::cmp::Reverse(index)))
            .map(|(index, _)| index);
        let id = match nearest {
            Some(index) if !std::mem::replace(&mut claimed[index], true) => former[index].id,
            Some(_) | None => fresh_id(),
        };
        let parent = nearest.and_then(|index| former.get(index));
        let is_written = shared(&new, written).is_some();
        let inherited = parent.or(former.first()).map(|hunk| hunk.origin.clone());
        let origin =
            if is_written { agent.clone().or(inherited) } else { inherited.or(agent.clone()) };
        let Some(origin) = origin else { continue };
        let user = user[relative(&new, start)].to_vec();
        let mixed = user.contains(&true)
            || parent.is_some_and(|hunk| hunk.mixed)
            || (agent.is_none() && is_written);
        let kin = match parent {
            Some(hunk) if is_one_to_one => hunk.kin.clone(),
            Some(_) | None => kin.clone(),
        };
        heirs.push(Hunk { id, old, new, origin, mixed, user, kin });
    }
    heirs
}

fn kin<'a>(hunks: impl IntoIterator<Item = &'a Hunk>) -> Vec<HunkId> {
    let mut kin: Vec<HunkId> = hunks.into_iter().flat_map(Hunk::lineage).collect();
    kin.sort_unstable();
    kin.dedup();
    kin
}

/// How many lines two ranges share; nothing if they do not even border on each other.
fn shared(a: &Range<usize>, b: &Range<usize>) -> Option<usize> {
    a.end.min(b.end).checked_sub(a.start.max(b.start))
}

fn fits(lines: &Range<usize>, text: &Text) -> bool {
    lines.start <= lines.end && lines.end <= text.filled_lines()
}

fn relative(lines: &Range<usize>, start: usize) -> Range<usize> {
    lines.start - start..lines.end - start
}

/// So many lines before a range became so many others.
fn move_lines(lines: &mut Range<usize>, from: usize, to: usize) {
    *lines = lines.start + to - from..lines.end + to - from;
}

fn join(a: Range<usize>, b: Range<usize>) -> Range<usize> {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => b,
        (_, true) => a,
        (false, false) => a.start.min(b.start)..a.end.max(b.end),
    }
}
