//! `soak TURNS SEED`: see `cairn_tests::soak`. Prints what it saw; a fault ends it.

#![allow(clippy::print_stdout, reason = "this is what it is for")]

use anyhow::Context;
use cairn_tests::soak::{self, Options};

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let usage = "usage: soak TURNS SEED";
    let turns = arguments.next().context(usage)??;
    let seed = arguments.next().context(usage)??;
    println!("{turns} turns, seed {seed}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("{}", runtime.block_on(soak::run(Options { turns, seed })));
    Ok(())
}
