//! Shell grammar of the policy against a real shell: a parsed script must mean the same to both.

use std::{cell::Cell, collections::BTreeSet, fs};

use cairn_core::policy::command::{CommandWords, entered, parse};
use cairn_protocol::{ApprovalDecision, Notice, State, ToolState};
use cairn_tests::{by_bash, by_bash_in, model_server::Wire};
use proptest::{prelude::*, test_runner::Config};
use serde_json::json;

use crate::fixtures::*;

/// Scripts of invented programs, with syntax that could be misread.
fn scripts() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => "x[a-z0-9_@%+:,.=-]{0,3}",
        2 => "'[ -&(-~]{0,4}'",
        2 => "\"[ #-&'-\\[\\]-_a-~]{0,4}\"",
        1 => "x'[ ;&|]'\"[ ;&|]\"",
        1 => r"[\\$`*?~!#^\[\]{}<>()&]{1,2}[a-z]?",
    ];
    let joint = prop_oneof![
        6 => Just(" "), 1 => Just(" && "), 1 => Just("&&"), 1 => Just(" ; "), 1 => Just(";"),
        1 => Just(" | "), 1 => Just("|"), 1 => Just("\n"), 1 => Just(" &&\n"), 1 => Just(" || "),
        1 => Just("  "), 1 => Just(" & "), 1 => Just(" 2>&1 "), 1 => Just(" 2>&1"), 1 => Just("2>&1 "), 1 => Just(" \n\n"),
    ];
    prop::collection::vec((word, joint), 1..8).prop_map(|parts| {
        let text: String = parts.into_iter().map(|(word, joint)| word + joint).collect();
        format!("xx {text}")
    })
}

#[test]
fn the_parsed_command_is_the_one_a_shell_runs() {
    let understood = Cell::new(0);
    let config = Config { cases: 600, ..Config::default() };
    proptest!(config, |(script in scripts())| {
        let Ok(commands) = parse(&script) else { return Ok(()) };
        // A path is not searched for, and a builtin is not reported.
        let told = |words: &CommandWords| words[0].starts_with('x') && !words[0].contains('/');
        if !commands.iter().all(told) {
            return Ok(());
        }
        understood.set(understood.get() + 1);
        let ours: BTreeSet<CommandWords> = commands.into_iter().collect();
        let theirs = by_bash(&script);
        if script.contains("||") {
            prop_assert!(theirs.is_subset(&ours), "{script:?}: {ours:?} but {theirs:?}");
        } else {
            prop_assert_eq!(&theirs, &ours, "{:?}", script);
        }
    });
    // Most are refused; some must remain to compare.
    assert!(understood.get() > 30, "{understood:?}");
}

/// Scripts with `cd` in every place, some to a folder that is there.
fn wanderings() -> impl Strategy<Value = String> {
    let command = prop_oneof![
        9 => Just("xa"), 3 => Just("xb 'c d'"), 3 => Just("xa 2>&1"), 1 => Just("2>&1"),
        1 => Just("cd sub"), 1 => Just("cd -"), 1 => Just("cd .."),
    ];
    let first = prop_oneof![
        8 => Just("cd sub"), 2 => Just("cd ./sub//deep"), 2 => Just("cd missing"), 1 => Just("xa"),
        1 => Just("cd -P sub"), 1 => Just("cd ''"), 1 => Just("cd sub 2>&1"),
    ];
    let joint = prop_oneof![
        8 => Just(" && "), 2 => Just(" | "), 1 => Just(" || "), 1 => Just("; "), 1 => Just("\n"),
        2 => Just(" &&\n"),
    ];
    (first, prop::collection::vec((joint, command), 1..5)).prop_map(|(first, rest)| {
        rest.into_iter().fold(first.to_owned(), |text, (joint, next)| text + joint + next)
    })
}

#[test]
fn commands_after_cd_run_in_that_folder_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let start = fs::canonicalize(dir.path()).unwrap();
    fs::create_dir_all(start.join("sub/deep")).unwrap();
    let understood = Cell::new(0);
    let config = Config { cases: 600, ..Config::default() };
    proptest!(config, |(script in wanderings())| {
        let Some(folder) = entered(&script) else { return Ok(()) };
        let commands = parse(&script).unwrap();
        // Others are not told, and no rule covers a script with another one of these.
        if commands.iter().skip(1).any(|words| words[0] == "cd") {
            return Ok(());
        }
        understood.set(understood.get() + 1);
        let folder = start.join(folder);
        let all: BTreeSet<_> =
            commands.into_iter().skip(1).map(|words| (folder.clone(), words)).collect();
        let ours = if folder.is_dir() { all } else { BTreeSet::new() };
        prop_assert_eq!(by_bash_in(&start, &script), ours, "{:?}", script);
    });
    assert!(understood.get() > 60, "{understood:?}");
}

#[tokio::test]
async fn settings_decide_which_commands_are_allowed_and_denied() {
    let shell =
        json!({ "approval": "allowlist", "allow": ["touch made *"], "deny": ["rm", "a; b"] });
    let test =
        TestDaemon::with(Wire::Anthropic, &[("a", "one\n")], json!({ "shell": shell })).await;
    let status = test.editor.request::<State>(Default::default()).await.unwrap().status;
    let banners: Vec<_> =
        status.banners.into_iter().map(|banner| banner.message.english()).collect();
    assert!(
        banners.iter().any(|text| text.contains("cairn.shell.deny is not used: `a; b` is not")),
        "{banners:?}"
    );
    test.editor.will_answer(answer(ApprovalDecision::Deny, None));
    test.play([
        bash("c1", "cat a | wc -l && touch made too"),
        bash("c2", "sudo rm a"),
        bash("c3", "touch other"),
        say("Done."),
    ])
    .await;
    let asked = test.editor.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].reason(), "`touch other` may do more than read files of the workspace.");
    let declined = |notice: &Notice| matches!(notice, Notice::Tool(tool) if tool.call_id == "c2" && tool.state == ToolState::Declined);
    assert!(test.editor.notices().iter().any(declined));
    assert!(
        test.path("made").exists() && test.path("too").exists() && !test.path("other").exists()
    );
    let requests = test.finish().await;
    assert!(result(&requests[1], "c1").contains('1'));
    let refused = result(&requests[2], "c2");
    assert!(refused.contains("forbid `rm`"), "{refused}");
}
