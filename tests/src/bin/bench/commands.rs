//! Cost of the command policy: time for each command, and questions to the user.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use cairn_core::policy::{
    Access, Verdict,
    command::{CommandContext, CommandRules, Rule, entered},
    judge,
    sandbox::Needs,
};
use serde::Deserialize;

use crate::table::{Aim::Below, Aim::None, Table, Unit};

const TIMES: usize = 1000;
/// Tasks of every day with the commands that agents run for them, written down by hand: the sessions
/// that the tests play have too few.
const TASKS: &str = include_str!("tasks.json");

/// Policy for commands.
#[derive(Clone, Copy)]
enum Approval {
    Ask,
    Allowlist,
    /// As the one before, and the user says always where it is offered.
    Always,
}

#[derive(Deserialize)]
struct Task {
    /// In this order, in folders that are all the same one.
    commands: Vec<String>,
}

pub(crate) fn judged(table: &mut Table) {
    let rule = |text: String| Rule::parse(&text).expect("a rule");
    // As many as a careful user may have after some months.
    let rules = CommandRules {
        unasked: true,
        allow: (0..20).map(|n| rule(format!("npm run script{n} *"))).collect(),
        deny: (0..20).map(|n| rule(format!("forbidden{n} word --option"))).collect(),
        always: (0..100).map(|n| rule(format!("make target{n} --jobs 4"))).collect(),
        unboxed: false,
    };
    let long = format!("cat {}", "src/file.rs ".repeat(340));
    let hostile = format!("{} forbidden", "forbidden19 -a word -b $(".repeat(4000));
    for (what, script) in [
        ("a typical command judged: `cd src && cargo test 2>&1 | tail -20`", TYPICAL),
        ("a command of 4 KiB judged, understood", long.as_str()),
        ("a hostile one of 100 KB judged: nothing but beginnings of 20 deny rules", &hostile),
    ] {
        let touch =
            Access::Command { command: script.to_owned(), cwd: "/ws".into(), needs: Needs::NONE };
        let times: Vec<Duration> = (0..TIMES.min(10_000_000 / script.len()))
            .map(|_| {
                let began = Instant::now();
                let verdict = judge(&touch, false, &rules, &WORLD);
                let took = began.elapsed();
                assert!(!matches!(verdict, Verdict::Deny { .. }), "{script}");
                took
            })
            .collect();
        let aim = if script == hostile { None } else { Below(100.0) };
        table.times(what, Unit::Micros, aim, &times);
    }
}

const TYPICAL: &str = "cd src && cargo test 2>&1 | tail -20";

/// Every file may be read, every folder be entered, and every program is known: the policy alone.
const WORLD: CommandContext<'_> = CommandContext {
    may_read: &|_, path| !path.contains(".env"),
    finds: &|_| true,
    enters: &|_| true,
};

pub(crate) fn prompts(table: &mut Table) {
    let tasks: Vec<Task> = serde_json::from_str(TASKS).expect("a list of tasks");
    let commands: usize = tasks.iter().map(|task| task.commands.len()).sum();
    let all = format!("{} tasks, {commands} commands", tasks.len());
    for (what, approval) in [
        ("`ask`", Approval::Ask),
        ("`allowlist`", Approval::Allowlist),
        ("`allowlist`, always where it is offered", Approval::Always),
    ] {
        let mut kept = Kept::default();
        let mut rows = |what: &str| {
            let asked: Vec<f64> =
                tasks.iter().map(|task| asked(task, approval, &mut kept) as f64).collect();
            let mean = asked.iter().sum::<f64>() / tasks.len() as f64;
            table.row(&format!("questions a task with {what} ({all})"), Unit::Count, None, asked);
            table.row(&format!("and in the mean with {what}"), Unit::Count, None, vec![mean]);
        };
        rows(what);
        if matches!(approval, Approval::Always) {
            rows("the same a second time");
        }
    }
}

/// Commands answered with "always", by the folder that a command enters.
type Kept = HashMap<Option<String>, Vec<Rule>>;

/// Questions of one task. An answer for the session holds to its end, as it does for people.
fn asked(task: &Task, approval: Approval, kept: &mut Kept) -> usize {
    let mut allowed: Vec<&str> = Vec::new();
    let mut asked = 0;
    for command in &task.commands {
        let always = kept.entry(entered(command)).or_default();
        let unasked = !matches!(approval, Approval::Ask);
        let rules = CommandRules { unasked, always: always.clone(), ..CommandRules::default() };
        let touch =
            Access::Command { command: command.clone(), cwd: "/ws".into(), needs: Needs::NONE };
        let verdict = judge(&touch, false, &rules, &WORLD);
        if verdict == Verdict::Allow || allowed.contains(&command.as_str()) {
            continue;
        }
        asked += 1;
        match approval {
            Approval::Ask | Approval::Allowlist => {}
            Approval::Always => always.extend(rules.offered(command, &WORLD)),
        }
        allowed.push(command);
    }
    asked
}
