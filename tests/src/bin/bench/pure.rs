//! Measurements of the core, in process.

use std::{
    cmp::Ordering,
    time::{Duration, Instant},
};

use cairn_core::{
    change::{Change, Edit},
    plan::{self, ListDialect, Plan},
    review::{Author, FileReview, Origin},
    text::Text,
};
use serde_json::{Value, json};

use crate::table::{Aim::Below, Aim::None, Table, Unit};

const CALLS: usize = 1000;
const ITEMS: usize = 20;
const LINES: usize = 100_000;
const HUNKS: usize = 500;
const KEYSTROKES: usize = 200;
const DIFFS: usize = 30;
const MEGABYTES: usize = 50;
const FEW_HUNKS: usize = 10;

pub(crate) fn todo_call(table: &mut Table) {
    let dialect = ListDialect::TodoWrite;
    let texts: Vec<String> = (0..ITEMS).map(|current| todos(ITEMS, current).to_string()).collect();
    let mut plan = Plan::default();
    let times = samples(CALLS, |call| {
        let began = Instant::now();
        let arguments: Value = serde_json::from_str(&texts[call % ITEMS]).expect("JSON");
        let outcome = plan::apply_call(&mut plan, dialect, &arguments);
        let took = began.elapsed();
        assert!(outcome.accepted.is_some(), "{}", outcome.content);
        took
    });
    let what = format!("a todo call of {ITEMS} items: parse, check, replace, render");
    table.times(&what, Unit::Micros, Below(100.0), &times);
}

/// Memory for the review of a megabyte of text, beside the document that the editor's
/// text is anyway: texts share what they have in common.
pub(crate) fn pending(table: &mut Table) {
    let Some(before) = resident() else { return };
    let line = "    let the_value_of_something = 1;\n";
    let source: String = line.repeat(1_000_000 / line.len());
    // The documents of the editor.
    let texts: Vec<Text> = (0..MEGABYTES).map(|_| Text::new(&source)).collect();
    let Some(documents) = resident() else { return };
    let mut reviews = Vec::new();
    for text in &texts {
        let mut review = FileReview::new(text.clone());
        let apart = review.current().filled_lines() / FEW_HUNKS;
        for hunk in 0..FEW_HUNKS {
            let change = changed(review.current(), [hunk * apart]);
            review.apply(&change, &Author::Agent(Origin::default())).expect("it fits");
        }
        assert_eq!(review.hunks().len(), FEW_HUNKS);
        reviews.push(review);
    }
    let Some(after) = resident() else { return };
    let each = |bytes: f64| vec![bytes / MEGABYTES as f64 / 1e6];
    table.row("1 MB of text as a document", Unit::MegaBytes, None, each(documents - before));
    table.row("and 10 hunks pending in it", Unit::MegaBytes, None, each(after - documents));
}

/// Resident memory of this process, in bytes; none without `/proc`.
fn resident() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(value.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0)
}

pub(crate) fn review(table: &mut Table) {
    let text: String = (0..LINES).map(|line| format!("    let value_{line} = {line};\n")).collect();
    let text = Text::new(&text);
    let apart = LINES / HUNKS;

    let times = samples(DIFFS, |diff| {
        let new = changed(&text, [diff * apart]).apply(&text).expect("it fits");
        // Built anew, so that nothing is shared.
        let new = Text::new(&new.to_string());
        let began = Instant::now();
        let change = Change::between(&text, &new);
        let took = began.elapsed();
        assert_eq!(change.edits().len(), 1);
        took
    });
    table.times(
        "the change between two texts of 100,000 lines, one line apart",
        Unit::Millis,
        None,
        &times,
    );

    let mut review = FileReview::new(text.clone());
    let proposal = changed(&text, (0..HUNKS).map(|hunk| hunk * apart));
    let agent = Author::Agent(Origin::default());
    let began = Instant::now();
    review.apply(&proposal, &agent).expect("it fits");
    table.times(
        "500 hunks proposed for 100,000 lines at once",
        Unit::Millis,
        None,
        &[began.elapsed()],
    );
    assert_eq!(review.hunks().len(), HUNKS);

    for (place, line) in [("in a hunk", 0), ("between hunks", apart / 2)] {
        let times = samples(KEYSTROKES, |key| {
            let line = key * 7 % HUNKS * apart + line;
            let at = review.current().line_to_char(line) + 8;
            let typed = Change::single(review.current().len_chars(), at..at, "x").expect("it fits");
            let began = Instant::now();
            review.apply(&typed, &Author::User).expect("it fits");
            began.elapsed()
        });
        let what = format!("review after a keystroke {place}, 100,000 lines, 500 hunks");
        table.times(&what, Unit::Millis, Below(2.0), &times);
    }
    assert_eq!(review.hunks().len(), HUNKS);
}

/// Changes the middle of these lines.
fn changed(text: &Text, lines: impl IntoIterator<Item = usize>) -> Change {
    let edit = |line| {
        let at = text.line_to_char(line) + 4;
        Edit { range: at..at + 3, insert: "const".to_owned() }
    };
    Change::new(text.len_chars(), lines.into_iter().map(edit).collect()).expect("it fits")
}

fn samples(count: usize, measure: impl FnMut(usize) -> Duration) -> Vec<Duration> {
    (0..count).map(measure).collect()
}

/// A list in which the work has come to this item.
pub(crate) fn todos(items: usize, current: usize) -> Value {
    let item = |index: usize| {
        let status = match index.cmp(&current) {
            Ordering::Less => "completed",
            Ordering::Equal => "in_progress",
            Ordering::Greater => "pending",
        };
        json!({
            "content": format!("Change part {index} of the program and test it"),
            "activeForm": format!("Changing part {index} of the program"),
            "status": status,
        })
    };
    json!({ "todos": (0..items).map(item).collect::<Vec<_>>() })
}
