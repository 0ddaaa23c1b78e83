//! Long files and many hunks: costs must not grow quadratically.
//!
//! Times are compared with each other, never with a clock's: ten times as much may take ten times
//! as long, and three times that for a busy machine, but not a hundred times.

use std::time::{Duration, Instant};

use super::*;

fn lines(count: usize) -> String {
    (0..count).map(|i| format!("line {i}\n")).collect()
}

/// A file of which the agent replaced every so many lines, in one call.
fn rewritten(count: usize, hunks: usize) -> FileReview {
    let every = count / hunks;
    let old = Text::new(&lines(count));
    let new: String = (0..count)
        .map(|i| if i % every == 0 { format!("agent {i}\n") } else { format!("line {i}\n") })
        .collect();
    let edits = (0..hunks).map(|i| {
        let range = old.lines_to_chars(&(i * every..i * every + 1));
        Edit { range, insert: format!("agent {}\n", i * every) }
    });
    let change = Change::new(old.len_chars(), edits.collect()).unwrap();
    let mut review = FileReview::new(old);
    review.apply(&change, &agent("call")).unwrap();
    assert_eq!(*review.current(), Text::new(&new));
    assert_eq!(review.hunks().len(), hunks);
    review
}

fn splice(review: &mut FileReview, range: Range<usize>, insert: &str, author: &Author) {
    let change = Change::single(review.current().len_chars(), range, insert).unwrap();
    review.apply(&change, author).unwrap();
}

#[test]
fn a_line_of_a_megabyte_is_reviewed_in_time() {
    let text: String = "let x = 1; ".repeat(100_000);
    let mut review = FileReview::new(Text::new(&text));
    splice(&mut review, 500_000..500_003, "agent", &agent("call"));
    splice(&mut review, 0..0, "user ", &Author::User);
    review.check_invariants().unwrap();
    assert_eq!(review.hunks().len(), 1);
    assert!(review.hunks()[0].mixed);
    let former = review.clone();
    review.accept_all();
    assert_eq!(review.baseline(), former.current());
    assert_eq!(review.unaccept(&former, &[HunkId(0)]), []);
    let restored = FileReview::from(review.snapshot());
    assert_eq!(restored.snapshot(), former.snapshot());
    review.reject(&review.ids(), OwnText::Keep);
    // It is one line, and the user wrote in it: both are kept.
    assert_eq!(review.current().to_string(), format!("{text}\n{}", former.current()));
}

#[test]
fn a_file_of_a_hundred_thousand_lines_with_five_hundred_hunks_is_reviewed_in_time() {
    let mut review = rewritten(100_000, 500);
    let (original, ids) = (lines(100_000), review.hunks().to_vec());
    splice(&mut review, 0..0, "top\n", &Author::User);
    let end = review.current().len_chars();
    splice(&mut review, end..end, "bottom", &Author::User);
    assert!(review.hunks().iter().zip(&ids).all(|(now, then)| now.id == then.id));
    assert_eq!(review.hunks()[499].new, 99_801..99_802);
    review.check_invariants().unwrap();

    let former = review.clone();
    assert_eq!(review.accept_many(&[ids[0].id, ids[250].id]), 2);
    assert_eq!(review.unaccept(&former, &[ids[0].id, ids[250].id]), []);
    assert_eq!(review.snapshot(), former.snapshot());

    review.reject(&review.ids(), OwnText::Keep);
    assert!(review.is_settled());
    assert_eq!(review.current().to_string(), format!("top\n{original}bottom"));
}

/// The shortest of some runs: the others were disturbed.
fn shortest(mut run: impl FnMut() -> Duration) -> Duration {
    (0..3).map(|_| run()).min().unwrap_or_default()
}

fn is_not_quadratic(what: &str, run: impl Fn(usize) -> Duration) {
    let (few, many) = (shortest(|| run(100)), shortest(|| run(1_000)));
    assert!(many < few * 40, "{what}: {few:?} for 100, {many:?} for 1000");
}

#[test]
fn deciding_all_hunks_takes_less_than_quadratic_time() {
    let timed = |mut review: FileReview, decide: fn(&mut FileReview)| {
        let start = Instant::now();
        decide(&mut review);
        assert!(review.is_settled());
        start.elapsed()
    };
    is_not_quadratic("accept", |hunks| timed(rewritten(hunks * 10, hunks), FileReview::accept_all));
    is_not_quadratic("reject", |hunks| {
        timed(rewritten(hunks * 10, hunks), |review| {
            let ids = review.ids();
            let change = review.rejection(&ids, OwnText::Keep).unwrap();
            review.reject(&ids, OwnText::Keep);
            assert_eq!(review.current().len_chars(), change.len_after());
        })
    });
}

#[test]
fn undo_works_across_many_decisions() {
    // As many as are remembered, each with all hunks up to then.
    let mut review = FileReview::new(Text::new(&lines(1_000)));
    for line in 0..100 {
        let range = review.current().lines_to_chars(&(line * 10..line * 10 + 1));
        splice(&mut review, range, "agent\n", &agent("call"));
    }
    let former = review.clone();
    let ids: Vec<HunkId> = former.hunks().iter().map(|hunk| hunk.id).collect();
    assert_eq!(review.accept_many(&ids), 100);
    assert_eq!(review.unaccept(&former, &ids), []);
    assert_eq!(review.snapshot(), former.snapshot());
}
