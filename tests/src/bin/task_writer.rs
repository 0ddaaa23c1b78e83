//! One of several processes that change one task list at the same time, for the suite.
//!
//! `task_writer STATE LIST SEED CALLS` makes so many calls and prints a line `<id> <subject>` for each
//! task that the daemon confirmed. The test may kill it after any line.

#![allow(clippy::expect_used, clippy::print_stdout, reason = "what it meets fails its test")]

use std::{env, path::Path};

use cairn::store::tasks::TaskList;
use cairn_core::plan::graph::TaskTool;
use serde_json::json;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [state, list, seed, calls] = arguments.as_slice() else { unreachable!("four arguments") };
    let list = TaskList::new(Path::new(state), list).expect("a list");
    let seed: u64 = seed.parse().expect("a number");
    let calls: u32 = calls.parse().expect("a number");
    let mut rng = Rng(seed);
    for call in 0..calls {
        let task = 1 + rng.roll(40);
        let other = 1 + rng.roll(40);
        let (tool, arguments) = match rng.roll(20) {
            0 => (TaskTool::Create, json!({ "subject": format!("{seed}-{call}") })),
            1..=6 => (TaskTool::Update, json!({ "taskId": task, "status": "in_progress" })),
            7..=10 => (TaskTool::Update, json!({ "taskId": task, "status": "completed" })),
            11..=12 => (TaskTool::Update, json!({ "taskId": task, "status": "pending" })),
            13..=16 => (TaskTool::Update, json!({ "taskId": task, "addBlockedBy": [other] })),
            _ => (TaskTool::Get, json!({ "taskId": task })),
        };
        let request = tool.read(&arguments);
        let (outcome, contents) =
            list.change(|graph| graph.apply(&request)).expect("a list that can be used");
        assert!(contents.damage.is_empty(), "{:?}", contents.damage);
        // Refused calls are part of the game: of a task that waits, of one that is not there.
        for id in outcome.map(|outcome| outcome.created).unwrap_or_default() {
            println!("{id} {seed}-{call}");
        }
    }
}

/// The same throws for the same seed.
struct Rng(u64);

impl Rng {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % sides
    }
}
