//! Cost of removing keys from text, compared with a plain copy, in process.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use cairn_core::redact::{Forms, RedactedStream, Redactor};

use crate::table::{Aim::None, Table, Unit, median};

const TIMES: usize = 200;
/// As long as keys are, and beginning with letters that texts are full of; none is one.
const KEYS: [&str; 3] = [
    "made-for-the-bench-0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9",
    "part-of-no-server-99887766554433221100ffeeddccbbaa99887766554433221100ffeeddccbbaa",
    "Compare-with-a-copy-5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a",
];
/// Piece of text that a model sends at a time.
const PIECE: usize = 20;

pub(crate) fn texts(table: &mut Table) {
    let redactor = Redactor::new(&KEYS.map(Forms::of));
    for (name, bytes) in [("a tool's result of 8 KB", 8_000), ("1 MB of output", 1_000_000)] {
        let clean = output(bytes);
        let found = with_keys(&clean);
        let copied = times(|| clean.as_str().to_owned());
        let searched = times(|| redactor.text(&clean).into_owned());
        let replaced = times(|| redactor.text(&found).into_owned());
        assert!(redactor.text(&clean) == clean && !redactor.text(&found).contains(KEYS[0]));
        let ratio = |times: &[Duration]| vec![middle(times) / middle(&copied)];
        let searching = ratio(&searched);
        let replacing = ratio(&replaced);
        table.times(&format!("{name}: copied"), Unit::Micros, None, &copied);
        let what = format!("{name}: searched for 3 keys and copied");
        table.times(&what, Unit::Micros, None, &searched);
        table.times(&format!("{name}: the same with a key in it"), Unit::Micros, None, &replaced);
        table.row(&format!("{name}: searched : copied"), Unit::Ratio, None, searching);
        table.row(&format!("{name}: with a key in it : copied"), Unit::Ratio, None, replacing);
    }
    let text = output(8_000);
    let mut stream = RedactedStream::default();
    let pieces: Vec<Duration> = (0..text.len() / PIECE)
        .map(|at| {
            let piece = &text[at * PIECE..(at + 1) * PIECE];
            let began = Instant::now();
            black_box(stream.push(&redactor, piece));
            began.elapsed()
        })
        .collect();
    let what = format!("a piece of {PIECE} bytes of a model's words searched for 3 keys");
    table.times(&what, Unit::Micros, None, &pieces);
}

/// Lines as a build prints them.
fn output(bytes: usize) -> String {
    let line = |number: usize| {
        format!("   Compiling part-{number} v1.{}.0 (/home/me/work/parts/{number})\n", number % 7)
    };
    let mut text = String::new();
    for number in 0.. {
        text.push_str(&line(number));
        if text.len() >= bytes {
            break;
        }
    }
    text.truncate(bytes);
    text
}

/// One in its middle.
fn with_keys(text: &str) -> String {
    let (before, after) = text.split_at(text.len() / 2);
    format!("{before}{}{after}", KEYS[0])
}

fn times<T>(mut work: impl FnMut() -> T) -> Vec<Duration> {
    let once = |_| {
        let began = Instant::now();
        black_box(work());
        began.elapsed()
    };
    (0..TIMES).map(once).collect()
}

fn middle(times: &[Duration]) -> f64 {
    let mut sorted: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
    sorted.sort_by(f64::total_cmp);
    median(&sorted)
}
