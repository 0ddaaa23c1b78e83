//! Reference model of the review for tests in other languages: the expected text of the editor.
//!
//! Reads requests from standard input and answers each, one line of JSON for one line. A state is
//! never changed: each operation names the state it starts from and makes a new one, so that an
//! undo is a former state.
//!
//! ```json
//! {"do": "new", "text": "a\nb\n"}
//! {"do": "agent", "from": 0, "gone": [1, 2], "come": ["c\n"]}
//! {"do": "user", "from": 1, "gone": [0, 0], "come": ["d\n"]}
//! {"do": "accept", "from": 2, "hunk": 0}
//! {"do": "rejectAll", "from": 2}
//! ```
//!
//! answers `{"state": 0, "text": "a\nb\n", "hunks": []}` and so on. A hunk has the ranges of its
//! lines, `old` and `new`.

#![allow(clippy::print_stdout, reason = "its answers go there")]

use std::{io, ops::Range};

use anyhow::Context;
use cairn_core::review::reference::Reference;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Request {
    New { text: String },
    Agent { from: usize, gone: (usize, usize), come: Vec<String> },
    User { from: usize, gone: (usize, usize), come: Vec<String> },
    Accept { from: usize, hunk: usize },
    Reject { from: usize, hunk: usize },
    AcceptAll { from: usize },
    RejectAll { from: usize },
}

fn main() -> anyhow::Result<()> {
    let mut states: Vec<Reference> = Vec::new();
    for line in io::stdin().lines() {
        let request = serde_json::from_str(&line?)?;
        let next = take(&states, request)?;
        println!("{}", shown(states.len(), &next));
        states.push(next);
    }
    Ok(())
}

fn take(states: &[Reference], request: Request) -> anyhow::Result<Reference> {
    let former = |from: usize| states.get(from).cloned().context("no such state");
    Ok(match request {
        Request::New { text } => Reference::new(&text),
        Request::Agent { from, gone: (start, end), come } => {
            let mut next = former(from)?;
            next.agent(start..end, &come);
            next
        }
        Request::User { from, gone: (start, end), come } => {
            let mut next = former(from)?;
            next.user(start..end, &come);
            next
        }
        Request::Accept { from, hunk } => {
            let mut next = former(from)?;
            next.accept(hunk);
            next
        }
        Request::Reject { from, hunk } => {
            let mut next = former(from)?;
            next.reject(hunk);
            next
        }
        Request::AcceptAll { from } => all(former(from)?, Reference::accept),
        Request::RejectAll { from } => all(former(from)?, Reference::reject),
    })
}

/// From the last to the first, so that a decision does not move what is still to be decided.
fn all(mut state: Reference, decide: fn(&mut Reference, usize)) -> Reference {
    while let Some(last) = state.hunks().len().checked_sub(1) {
        decide(&mut state, last);
    }
    state
}

fn shown(number: usize, state: &Reference) -> Value {
    let pair = |range: Range<usize>| [range.start, range.end];
    let hunks =
        state.hunks().into_iter().map(|run| json!({ "old": pair(run.old), "new": pair(run.new) }));
    json!({ "state": number, "text": state.current(), "hunks": hunks.collect::<Vec<_>>() })
}
