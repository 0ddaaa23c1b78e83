//! Reference model of a review for tests: slow, and simple enough to be right by inspection.
//!
//! One list holds the lines of both texts: lines in both, lines only in the baseline, and lines only
//! in the current text. A hunk is a run of lines that are not in both, up to a cut: the review decides parts
//! of one run alone. The model keeps no offsets, so it cannot get an offset wrong.
//!
//! The model covers whole lines that end in `\n`. For these the review must agree with it exactly: both
//! texts, the lines of each hunk, and which of them the user wrote. Two differences are allowed: ids have
//! other names, and where a line occurs twice, either copy may be the changed one. Property tests cover
//! the rest (edits inside a line, other line endings, undo, restored texts), because a model of it would
//! be as complex as the code under test.

use std::ops::Range;

use super::{FileReview, Hunk};
use crate::change::parts;

/// A review of whole lines.
#[derive(Debug, Clone, Default)]
pub struct Reference {
    lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Line {
    Both(String),
    Old(String),
    New {
        text: String,
        user: bool,
    },
    /// Between parts of one difference that are decided alone.
    Cut,
}

/// A hunk without a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Lines of the baseline.
    pub old: Range<usize>,
    /// Lines of the current text.
    pub new: Range<usize>,
    /// For each new line, true if the user wrote it.
    pub user: Vec<bool>,
    /// Range in the list.
    place: Range<usize>,
}

impl Reference {
    #[must_use]
    pub fn new(text: &str) -> Reference {
        let lines = text.split_inclusive('\n').map(|line| Line::Both(line.to_owned()));
        Reference { lines: lines.collect() }
    }

    #[must_use]
    pub fn baseline(&self) -> String {
        self.lines.iter().filter_map(Line::baseline).collect()
    }

    #[must_use]
    pub fn current(&self) -> String {
        self.lines.iter().filter_map(Line::current).collect()
    }

    #[must_use]
    pub fn hunks(&self) -> Vec<Run> {
        let (mut old, mut new) = (0, 0);
        let mut runs: Vec<Run> = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            let open = runs.last_mut().filter(|run| run.place.end == at);
            let (is_old, is_new) = (line.baseline().is_some(), line.current().is_some());
            if *line == Line::Cut {
                continue;
            }
            if !(is_old && is_new) {
                if open.is_none() {
                    let (old, new, place) = (old..old, new..new, at..at);
                    runs.push(Run { old, new, user: Vec::new(), place });
                }
                if let Some(run) = runs.last_mut() {
                    run.place.end += 1;
                    run.old.end += usize::from(is_old);
                    run.new.end += usize::from(is_new);
                    if let Line::New { user, .. } = line {
                        run.user.push(*user);
                    }
                }
            }
            old += usize::from(is_old);
            new += usize::from(is_new);
        }
        runs
    }

    /// The agent replaces lines of the current text. A rejection of everything gives what it gave before:
    /// otherwise what the user wrote next to it becomes old text.
    pub fn agent(&mut self, gone: Range<usize>, come: &[String]) {
        let touched = self.adjoining_with_parts(&gone);
        let mut plain = self.clone();
        plain.propose(&gone, come, false);
        let is_kept = plain.rejected() == self.rejected();
        if !is_kept && touched.iter().any(|run| run.user.contains(&true)) {
            for run in touched.into_iter().rev() {
                let new = self.lines[run.place.clone()].iter().filter_map(Line::current);
                let new = new.map(|text| Line::New { text: text.to_owned(), user: false });
                let kept = self.kept(&run).into_iter().map(Line::Old);
                let lines: Vec<Line> = kept.chain(new).collect();
                self.lines.splice(run.place, lines);
            }
        }
        self.propose(&gone, come, false);
    }

    /// The user replaces lines of the current text. Outside of hunks that is accepted, unless it
    /// brings back what a hunk deletes.
    pub fn user(&mut self, gone: Range<usize>, come: &[String]) {
        let overlaps = |run: &Run| run.new.end > gone.start && run.new.start < gone.end;
        let deleted = |run: &Run| run.new.is_empty() && come.len() > gone.len();
        let gives_back = self.adjoining(&gone).iter().filter(|run| deleted(run)).any(|run| {
            self.lines[run.place.clone()]
                .iter()
                .filter_map(Line::baseline)
                .any(|old| !old.trim().is_empty() && come.iter().any(|line| line == old))
        });
        if gives_back || self.hunks().iter().any(overlaps) {
            return self.propose(&gone, come, true);
        }
        // Behind a deletion, before a replacement: the hunk's lines stay together.
        let after = self
            .hunks()
            .iter()
            .rev()
            .find(|run| run.new.end <= gone.start)
            .map_or(gone.start, |run| run.place.end + (gone.start - run.new.end));
        let come: Vec<Line> = come.iter().cloned().map(Line::Both).collect();
        self.lines.splice(after..after + gone.len(), come);
        self.sort_runs();
    }

    pub fn accept(&mut self, index: usize) {
        if let Some(run) = self.hunks().get(index).cloned() {
            let new = self.lines[run.place.clone()].iter().filter_map(Line::current);
            let new: Vec<Line> = new.map(|text| Line::Both(text.to_owned())).collect();
            self.lines.splice(run.place, new);
            self.sort_runs();
        }
    }

    pub fn reject(&mut self, index: usize) {
        if let Some(run) = self.hunks().get(index).cloned() {
            let kept: Vec<Line> = self.kept(&run).into_iter().map(Line::Both).collect();
            self.lines.splice(run.place, kept);
            self.sort_runs();
        }
        // Where there is nothing to take back, there is nothing to decide.
        for (index, run) in self.hunks().iter().enumerate().rev() {
            let new: String =
                self.lines[run.place.clone()].iter().filter_map(Line::current).collect();
            if run.user.contains(&true) && self.kept(run).concat() == new {
                self.accept(index);
            }
        }
    }

    /// # Errors
    /// In what the review is another one.
    pub fn agrees_with(&self, review: &FileReview) -> Result<(), String> {
        let same = |what: &str, here: String, there: String| {
            if here == there {
                Ok(())
            } else {
                Err(format!("{what}: {here} is right, {there} is not"))
            }
        };
        same("current", self.current(), review.current().to_string())?;
        same("baseline", self.baseline(), review.baseline().to_string())?;
        let here: Vec<_> =
            self.hunks().into_iter().map(|run| (run.old, run.new, run.user)).collect();
        let parts = |hunk: &Hunk| (hunk.old.clone(), hunk.new.clone(), hunk.user.clone());
        let there: Vec<_> = review.hunks().iter().map(parts).collect();
        same("hunks", format!("{here:?}"), format!("{there:?}"))
    }

    /// Returns the text that a rejection of everything leaves.
    fn rejected(&self) -> String {
        let mut lines = self.lines.clone();
        for run in self.hunks().into_iter().rev() {
            let kept: Vec<Line> = self.kept(&run).into_iter().map(Line::Both).collect();
            lines.splice(run.place, kept);
        }
        lines.iter().filter_map(Line::current).collect()
    }

    /// Returns the lines that a rejection keeps, in this order: the user's lines before every line
    /// of the agent, the old lines, the other lines of the user.
    fn kept(&self, run: &Run) -> Vec<String> {
        let lines = &self.lines[run.place.clone()];
        let old = lines.iter().filter_map(Line::baseline).map(str::to_owned);
        let new = || lines.iter().filter(|line| line.current().is_some());
        let is_users = |line: &&Line| matches!(line, Line::New { user: true, .. });
        let text = |line: &Line| line.current().map(str::to_owned);
        // Without a line of the agent's, there is nothing that the user wrote before one.
        let first = new().position(|line| !is_users(&line)).unwrap_or(0);
        let before = new().take(first).filter_map(text);
        let after = new().skip(first).filter(is_users).filter_map(text);
        before.chain(old).chain(after).collect()
    }

    /// Replaces lines of the current text alone, and compares the lines around again.
    fn propose(&mut self, gone: &Range<usize>, come: &[String], user: bool) {
        let runs = self.hunks();
        // The agent begins another edit at the border of a hunk that it leaves as it is.
        let begins = |run: &Run| {
            !user && !run.new.is_empty() && (run.new.end <= gone.start || gone.end <= run.new.start)
        };
        let touch = |a: &Run, b: &Run| (a.old.end, a.new.end) == (b.old.start, b.new.start);
        // What it replaces is cut off already.
        let is_cut = |run: &Run, next: bool| {
            let touches = |other| if next { touch(run, other) } else { touch(other, run) };
            !gone.is_empty() && runs.iter().any(touches)
        };
        let mut begun = runs.iter().filter(|run| begins(run));
        let cuts_before = begun.clone().any(|run| run.new.end == gone.start && !is_cut(run, true));
        let cuts_after = begun.any(|run| run.new.start == gone.end && !is_cut(run, false));
        let mut write = Some(come).into_iter();
        let mut written = |lines: &mut Vec<Line>| {
            for come in write.by_ref() {
                lines.extend(cuts_before.then_some(Line::Cut));
                lines.extend(come.iter().map(|text| Line::New { text: text.clone(), user }));
            }
        };
        let mut after = cuts_after.then_some(Line::Cut);
        let mut at = 0;
        let mut lines = Vec::new();
        for line in std::mem::take(&mut self.lines) {
            // An insertion next to a run stands before its old lines, too, and at a cut in its place.
            let is_here =
                line.current().is_some() || (gone.is_empty() && (cuts_after || line == Line::Cut));
            if at == gone.start && is_here {
                written(&mut lines);
            }
            if at == gone.end {
                lines.extend(after.take());
            }
            let is_gone = line.current().is_some() && gone.contains(&at);
            at += usize::from(line.current().is_some());
            match line {
                Line::Cut if gone.is_empty() && at == gone.start => {}
                Line::Cut if gone.start < at && at < gone.end => {}
                Line::Both(text) if is_gone => lines.push(Line::Old(text)),
                Line::New { .. } if is_gone => {}
                line => lines.push(line),
            }
        }
        written(&mut lines);
        self.lines = lines;
        let chain = self.adjoining_with_parts(&(gone.start..gone.start));
        if let (Some(first), Some(last)) = (chain.first(), chain.last()) {
            self.compare(&(first.place.start..last.place.end));
        }
    }

    /// The longest lines in common of a run are no longer a part of it.
    fn compare(&mut self, place: &Range<usize>) {
        let run = &self.lines[place.clone()];
        let old: Vec<&Line> = run.iter().filter(|line| line.baseline().is_some()).collect();
        let new: Vec<&Line> = run.iter().filter(|line| line.current().is_some()).collect();
        // Numbers of lines of both texts before each cut.
        let mut cuts = Vec::new();
        let mut passed = (0, 0);
        for line in run {
            if *line == Line::Cut {
                cuts.push(passed);
            }
            passed.0 += usize::from(line.baseline().is_some());
            passed.1 += usize::from(line.current().is_some());
        }
        // How many lines the rests have in common.
        let mut common = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
        for a in (0..old.len()).rev() {
            for b in (0..new.len()).rev() {
                common[a][b] = if old[a].baseline() == new[b].current() {
                    common[a + 1][b + 1] + 1
                } else {
                    common[a + 1][b].max(common[a][b + 1])
                };
            }
        }
        let (mut a, mut b) = (0, 0);
        let mut lines = Vec::new();
        while a < old.len() || b < new.len() {
            let pair = old.get(a).and_then(|line| line.baseline()).filter(|_| b < new.len());
            match pair.filter(|text| new[b].current() == Some(text)) {
                Some(text) => {
                    lines.push(Line::Both(text.to_owned()));
                    (a, b) = (a + 1, b + 1);
                }
                None if b == new.len()
                    || (a < old.len() && common[a + 1][b] >= common[a][b + 1]) =>
                {
                    lines.push(old[a].clone());
                    a += 1;
                }
                None => {
                    lines.push(new[b].clone());
                    b += 1;
                }
            }
        }
        let is_both = |line: &Line| matches!(line, Line::Both(_));
        let (mut a, mut b) = (0, 0);
        let cut = lines.chunk_by(|a, b| is_both(a) == is_both(b)).flat_map(|lines| {
            let start = (a, b);
            a += lines.iter().filter(|line| line.baseline().is_some()).count();
            b += lines.iter().filter(|line| line.current().is_some()).count();
            if lines.iter().any(is_both) { lines.to_vec() } else { in_parts(lines, start, &cuts) }
        });
        self.lines.splice(place.clone(), cut.collect::<Vec<Line>>());
        self.sort_runs();
    }

    /// In a run, the order of old and new lines says nothing: old ones first. A cut is between two runs.
    fn sort_runs(&mut self) {
        let differs = |line: Option<&Line>| matches!(line, Some(Line::Old(_) | Line::New { .. }));
        for at in (0..self.lines.len()).rev() {
            let cuts = at > 0 && differs(self.lines.get(at - 1)) && differs(self.lines.get(at + 1));
            if self.lines[at] == Line::Cut && !cuts {
                self.lines.remove(at);
            }
        }
        for run in self.hunks() {
            self.lines[run.place].sort_by_key(|line| line.current().is_some());
        }
    }

    /// The hunks that overlap lines of the current text or border on them.
    fn adjoining(&self, lines: &Range<usize>) -> Vec<Run> {
        let adjoins = |run: &Run| run.new.end >= lines.start && run.new.start <= lines.end;
        self.hunks().into_iter().filter(adjoins).collect()
    }

    /// These, and the parts of the same differences.
    fn adjoining_with_parts(&self, lines: &Range<usize>) -> Vec<Run> {
        let adjoining = self.adjoining(lines);
        let (Some(first), Some(last)) = (adjoining.first(), adjoining.last()) else {
            return adjoining;
        };
        let (mut start, mut end) = (first.place.start, last.place.end);
        let is_both = |line: Option<&Line>| line.is_none_or(|line| matches!(line, Line::Both(_)));
        while start > 0 && !is_both(self.lines.get(start - 1)) {
            start -= 1;
        }
        while !is_both(self.lines.get(end)) {
            end += 1;
        }
        let inside = |run: &Run| run.place.start >= start && run.place.end <= end;
        self.hunks().into_iter().filter(inside).collect()
    }
}

/// Lines of one difference, with a cut between its parts. The places of the cuts are those of the review,
/// because every place is correct; [`parts`] has its own tests. `start` are the numbers of lines before it.
fn in_parts(lines: &[Line], start: (usize, usize), cuts: &[(usize, usize)]) -> Vec<Line> {
    let (new, old): (Vec<Line>, Vec<Line>) =
        lines.iter().cloned().partition(|line| line.current().is_some());
    let inside = |&&(a, b): &&(usize, usize)| {
        (start.0..=start.0 + old.len()).contains(&a)
            && (start.1 + 1..start.1 + new.len()).contains(&b)
    };
    let cuts: Vec<(usize, usize)> =
        cuts.iter().filter(inside).map(|&(a, b)| (a - start.0, b - start.1)).collect();
    let text = |lines: &[Line]| -> Vec<String> {
        lines
            .iter()
            .filter_map(|line| line.current().or(line.baseline()))
            .map(str::to_owned)
            .collect()
    };
    let mut cut = Vec::new();
    for (a, b) in parts(&text(&old), &text(&new), &cuts) {
        if !cut.is_empty() {
            cut.push(Line::Cut);
        }
        cut.extend_from_slice(&old[a]);
        cut.extend_from_slice(&new[b]);
    }
    cut
}

impl Line {
    fn baseline(&self) -> Option<&str> {
        match self {
            Line::Both(text) | Line::Old(text) => Some(text),
            Line::New { .. } | Line::Cut => None,
        }
    }

    fn current(&self) -> Option<&str> {
        match self {
            Line::Both(text) | Line::New { text, .. } => Some(text),
            Line::Old(_) | Line::Cut => None,
        }
    }
}
