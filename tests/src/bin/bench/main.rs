//! Measures latency and memory of the release build and prints them as a Markdown table.
//!
//! This process is the editor and the model server at once, so that every latency is the
//! difference of two readings of one clock. `docs/performance.md` says what each row means.
//! Arguments choose among the measurements by name; without any, all are made.

// A measurement that cannot be made ends the program, and the table goes to the terminal.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod bare_loop;
mod commands;
mod daemon;
mod engine;
mod history;
mod journal;
mod model;
mod pure;
mod redact;
mod sandbox;
mod table;

use table::Table;

type Measurement = fn(&mut Table);

const MEASUREMENTS: [(&str, Measurement); 16] = [
    ("start", engine::start),
    ("floor", engine::floor),
    ("loop", bare_loop::multiples),
    ("plan", engine::plan),
    ("request", engine::first_request),
    ("rounds", engine::rounds),
    ("history", history::requests),
    ("journal", journal::journal),
    ("todo", pure::todo_call),
    ("review", pure::review),
    ("pending", pure::pending),
    ("commands", commands::judged),
    ("prompts", commands::prompts),
    ("redact", redact::texts),
    ("sandbox", sandbox::commands),
    ("scan", sandbox::scans),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let mut table = Table::default();
    for (name, measure) in MEASUREMENTS {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            measure(&mut table);
        }
    }
    println!("{table}");
}
