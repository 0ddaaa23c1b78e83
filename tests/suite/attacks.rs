//! Attacks against the real binary, each a row of a table: by a path, a command, for a key, by what was
//! not trusted.
//!
//! `cargo test -p cairn-tests --test suite -- attacks::` runs them all, and the last of its lines
//! "attacks: …" says how many rows were run and how many could not be, and why. Around the tables
//! stand tests of the same promises in more words; some of them have the daemon in process.

use std::{
    collections::BTreeMap,
    io::Write,
    sync::{Mutex, PoisonError},
};

mod commands;
mod paths;
mod sandbox;
mod secrets;
mod shell_policy;
mod trust;

/// Rows so far, and those that could not be run here, each with why.
static TALLY: Mutex<(usize, BTreeMap<String, usize>)> = Mutex::new((0, BTreeMap::new()));

/// So many rows of a table were run.
fn ran(rows: usize) {
    tally(|(run, _)| *run += rows);
}

/// So many rows of a table cannot be run on this machine.
fn skipped(rows: usize, why: String) {
    tally(|(_, skipped)| *skipped.entry(why).or_default() += rows);
}

fn tally(change: impl FnOnce(&mut (usize, BTreeMap<String, usize>))) {
    let mut tally = TALLY.lock().unwrap_or_else(PoisonError::into_inner);
    change(&mut tally);
    let (run, reasons) = &*tally;
    let count: usize = reasons.values().sum();
    let why: String = reasons.iter().map(|(why, rows)| format!(" ({rows}: {why})")).collect();
    let line = format!("attacks: {run} run, {count} skipped{why}\n");
    // Not caught by the harness, so it is seen although the tests pass.
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}
