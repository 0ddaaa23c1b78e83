//! `soak TURNS SEED MOMENTS`: see `cairn_tests::soak` and `cairn_tests::kills`. Prints its counts; a
//! fault ends it.

#![allow(clippy::print_stdout, reason = "this is what it is for")]

use anyhow::Context;
use cairn_tests::{kills, soak};

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let usage = "usage: soak TURNS SEED MOMENTS";
    let turns = arguments.next().context(usage)??;
    let seed = arguments.next().context(usage)??;
    let moments = arguments.next().context(usage)??;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("{moments} kills, seed {seed}");
    println!("{}", runtime.block_on(kills::run(kills::Options { moments, seed })));
    if turns > 0 {
        println!("{turns} turns, seed {seed}");
        println!("{}", runtime.block_on(soak::run(soak::Options { turns, seed })));
    }
    Ok(())
}
