//! Approvals of commands, and stored answers: "always", rules, the session.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use cairn_protocol::{
    AllowedCommand, ApprovalDecision, ListRules, MessageRole, Notice, RevokeRule, RevokeRuleParams,
    ToolState,
};
use cairn_tests::{
    editor_double::EditorDouble,
    model_server::{ModelServer, Response, Wire},
};
use expect_test::expect;
use serde_json::json;

use crate::fixtures::*;

async fn rules(editor: &EditorDouble) -> Vec<AllowedCommand> {
    editor.request::<ListRules>(Default::default()).await.unwrap().rules
}

async fn revoke(editor: &EditorDouble, rule: &AllowedCommand) -> bool {
    let AllowedCommand { folder, command, here: _ } = rule.clone();
    let params = RevokeRuleParams { folder, command };
    editor.request::<RevokeRule>(params).await.unwrap().revoked
}

#[tokio::test]
async fn an_always_answer_holds_for_the_folder_until_revoked_in_every_window() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.editor.will_answer(answer(ApprovalDecision::AllowAlways, None));
    test.play([
        bash("c1", "mkdir -p a && touch a/b; mkdir -p a"),
        bash("c2", "touch a/b"),
        bash("c3", "mkdir -p a"),
        bash("c4", "touch  'a/b' && mkdir -p a\n"),
        say("Done."),
    ])
    .await;
    let asked = test.editor.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].rules, ["mkdir -p a", "touch a/b"]);
    let kept = rules(&test.editor).await;
    let folder = fs::canonicalize(test.folder()).unwrap().display().to_string();
    let rule = |command: &str| AllowedCommand {
        folder: folder.clone(),
        command: command.into(),
        here: true,
    };
    assert_eq!(kept, [rule("mkdir -p a"), rule("touch a/b")]);
    let file = test.state().join("allowed-commands.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    // Exactly these words, and only commands that a rule covers completely.
    for _ in 0..3 {
        test.editor.will_answer(answer(ApprovalDecision::Deny, None));
    }
    test.play([
        bash("c5", "touch a/b c"),
        bash("c6", "touch a/b && touch d"),
        bash("c7", "touch a/b > e"),
        say("Done."),
    ])
    .await;
    let asked: Vec<_> = test.editor.asked().split_off(1);
    let offered: Vec<_> = asked.iter().map(|question| question.rules.join(", ")).collect();
    assert_eq!(offered, ["touch a/b c", "touch d", ""]);

    // After a restart, and in another window.
    let test = test.restart().await;
    test.play([bash("c8", "touch a/b"), say("Done.")]).await;
    let window = test.second_window().await;
    test.script([bash("c9", "touch a/b"), say("Done.")]);
    window.run("Do it").await;
    assert_eq!((test.editor.asked().len(), window.asked().len()), (0, 0));

    assert!(revoke(&window, &kept[1]).await);
    assert!(!revoke(&window, &kept[1]).await);
    assert_eq!(rules(&test.editor).await, [rule("mkdir -p a")]);
    test.editor.will_answer(answer(ApprovalDecision::Deny, None));
    test.play([bash("c10", "touch a/b"), say("Done.")]).await;
    assert_eq!(test.editor.asked().len(), 1);
    window.finish();
    test.finish().await;
}

#[tokio::test]
async fn a_rule_holds_in_its_own_folder_and_never_against_deny_rules() {
    let elsewhere = json!({"version": 1, "rules": [
        {"folder": "/somewhere/else", "command": "touch a"},
    ]});
    let test =
        TestDaemon::with(Wire::Anthropic, &[], json!({ "shell": { "deny": ["touch forbidden"] } }))
            .await;
    let file = test.state().join("allowed-commands.json");
    fs::write(&file, elsewhere.to_string()).unwrap();
    test.editor.will_answer(answer(ApprovalDecision::Deny, None));
    test.play([bash("c1", "touch a"), say("Done.")]).await;
    assert_eq!(test.editor.asked().len(), 1);
    assert!(!rules(&test.editor).await[0].here);

    let folder = fs::canonicalize(test.folder()).unwrap();
    let rule = |command: &str| json!({ "folder": &folder, "command": command });
    let here = json!({"version": 1, "rules": [rule("touch a"), rule("touch forbidden")]});
    fs::write(&file, here.to_string()).unwrap();
    test.play([bash("c2", "touch a"), bash("c3", "touch forbidden"), say("Done.")]).await;
    assert_eq!(test.editor.asked().len(), 1);
    assert!(test.path("a").exists() && !test.path("forbidden").exists());
    let requests = test.finish().await;
    assert!(result(requests.last().unwrap(), "c3").contains("forbid `touch forbidden`"));
}

#[tokio::test]
async fn an_answer_for_any_further_words_holds_for_the_beginning_that_was_shown() {
    let test = TestDaemon::open(Wire::Anthropic, &[(".cargo/config.toml", "")]).await;
    test.editor.will_answer(answer(ApprovalDecision::AllowPattern, None));
    test.play([
        bash("c1", "cargo check --lib"),
        bash("c2", "cargo check --tests -q"),
        bash("c3", "cargo check"),
        say("Done."),
    ])
    .await;
    let asked = test.editor.asked();
    let offered = |at: usize| (asked[at].rules.join(", "), asked[at].pattern.clone());
    assert_eq!(asked.len(), 1);
    assert_eq!(offered(0), ("cargo check --lib".into(), Some("cargo check *".into())));
    assert_eq!(rules(&test.editor).await[0].command, "cargo check *");

    // Other work, and a question without a pattern: allowed once.
    for _ in 0..3 {
        test.editor.will_answer(answer(ApprovalDecision::AllowPattern, None));
    }
    test.play([
        bash("c4", "cargo check -q && touch a"),
        bash("c6", "touch a"),
        bash("c7", "touch a"),
        say("Done."),
    ])
    .await;
    let asked = test.editor.asked().split_off(1);
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().all(|question| question.pattern.is_none()), "{asked:#?}");
    assert_eq!(rules(&test.editor).await.len(), 1);

    // The agent changes a file behind the beginning, and the user allows that.
    test.editor.will_answer(answer(ApprovalDecision::AllowOnce, None));
    test.editor.will_answer(answer(ApprovalDecision::Deny, None));
    let change = json!({"path": ".cargo/config.toml", "content": "[build]\n"});
    test.play([call("w", "write_file", change), bash("c8", "cargo check --lib"), say("Done.")])
        .await;
    let asked = test.editor.asked().split_off(5);
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].changed.as_deref(), Some(".cargo/config.toml"));
    assert_eq!(asked[0].pattern.as_deref(), Some("cargo check *"));
    test.finish().await;
}

#[tokio::test]
async fn a_rule_given_after_cd_holds_only_in_that_folder() {
    let test = TestDaemon::open(Wire::Anthropic, &[("sub/a", "1\n"), ("other/a", "1\n")]).await;
    test.editor.will_answer(answer(ApprovalDecision::AllowAlways, None));
    test.play([
        bash("c1", "cd sub && touch made 2>&1 | sort"),
        bash("c2", "cd ./sub/ && touch made"),
        say("Done."),
    ])
    .await;
    let asked = test.editor.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].rules, ["touch made", "sort"]);
    let folder = fs::canonicalize(test.path("sub")).unwrap().display().to_string();
    assert_eq!(asked[0].rules_folder.as_deref(), Some(folder.as_str()));
    let kept: Vec<_> = rules(&test.editor).await;
    assert!(kept.iter().all(|rule| rule.folder == folder && rule.here), "{kept:?}");
    assert!(test.path("sub/made").exists());

    test.editor.will_always_answer(answer(ApprovalDecision::Deny, None));
    let elsewhere = [
        ("touch made", "touch made"),
        ("cd other && touch made", "touch made"),
        ("cd sub && touch more", "touch more"),
        // The rest may run in another folder, or by another shell.
        ("cd sub; touch made", ""),
        ("cd missing && touch made", ""),
        ("cd sub && touch made || touch made", ""),
        ("cd sub && cd ../other && touch made", ""),
        ("CDPATH=other cd sub && touch made", ""),
        ("cd other/../sub && touch made", ""),
    ];
    let calls =
        elsewhere.iter().enumerate().map(|(at, (script, _))| bash(&format!("d{at}"), script));
    test.play(calls.chain([say("Done.")])).await;
    let offered: Vec<_> = test.editor.asked().split_off(1);
    for ((script, rules), question) in elsewhere.iter().zip(&offered) {
        assert_eq!(
            (question.command.as_str(), question.rules.join(", ").as_str()),
            (*script, *rules)
        );
    }
    assert_eq!(offered.len(), elsewhere.len());

    // A link gives the name to another folder; the rule holds for the first one.
    fs::rename(test.path("sub"), test.path("moved")).unwrap();
    std::os::unix::fs::symlink("other", test.path("sub")).unwrap();
    test.play([bash("e1", "cd sub && touch made"), say("Done.")]).await;
    let question = test.editor.asked().pop().unwrap();
    assert_eq!((question.command.as_str(), question.rules.len()), ("cd sub && touch made", 0));
    assert_eq!(question.rules_folder, None);
    assert!(!test.path("other/made").exists() && !test.path("made").exists());
    test.finish().await;
}

#[tokio::test]
async fn an_always_answer_that_was_not_offered_counts_once() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    for _ in 0..2 {
        test.editor.will_answer(answer(ApprovalDecision::AllowAlways, None));
    }
    test.play([bash("c1", "echo 1 >> out"), bash("c2", "echo 1 >> out"), say("Done.")]).await;
    let asked = test.editor.asked();
    assert!(asked.len() == 2 && asked.iter().all(|question| question.rules.is_empty()));
    assert_eq!(test.disk("out"), "1\n1\n");
    assert!(rules(&test.editor).await.is_empty());
    assert!(!test.state().join("allowed-commands.json").exists());
    test.finish().await;
}

#[tokio::test]
async fn unreadable_rules_are_reported_and_allow_nothing() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    fs::write(test.state().join("allowed-commands.json"), "{\"version\": 1, \"ru").unwrap();
    for _ in 0..2 {
        test.editor.will_answer(answer(ApprovalDecision::AllowAlways, None));
    }
    test.play([bash("c1", "touch a"), bash("c2", "touch a"), bash("c3", "touch a"), say("Done.")])
        .await;
    // Not offered while rules cannot be stored; after the file is moved away, the next one is.
    let offered: Vec<_> = test.editor.asked().iter().map(|question| question.rules.len()).collect();
    assert_eq!(offered, [0, 1]);
    let told = |notice: &Notice| {
        matches!(notice, Notice::Message(message)
            if message.role == MessageRole::Notice
                && message.text.as_deref().is_some_and(|text| text.contains("set aside")))
    };
    assert_eq!(test.editor.notices().iter().filter(|notice| told(notice)).count(), 1);
    test.finish().await;
}

#[tokio::test]
async fn feedback_reaches_the_model_with_an_approval_and_a_denial() {
    let test = TestDaemon::open(Wire::Responses, &[(".env", "A=1\n")]).await;
    let says = |decision, words| test.editor.will_answer(answer(decision, Some(words)));
    says(ApprovalDecision::AllowOnce, "Only this once, then use pnpm.");
    says(ApprovalDecision::AllowSession, "It fails on purpose.");
    says(ApprovalDecision::Deny, "Ask Ada first.");
    says(ApprovalDecision::AllowOnce, "Keep it short.");
    test.play([
        bash("c1", "printf done"),
        bash("c2", "exit 3"),
        bash("c3", "touch a"),
        edit("c4", ".env", "A=1", "A=2"),
        say("Done."),
    ])
    .await;
    let shown = |id: &str, wanted: ToolState| {
        let mut details = test.editor.notices().into_iter().filter_map(|notice| match notice {
            Notice::Tool(tool) if tool.call_id == id && tool.state == wanted => tool.detail,
            _ => None,
        });
        details.next_back().unwrap()
    };
    let (done, declined) = (shown("c1", ToolState::Done), shown("c3", ToolState::Declined));
    assert!(done.contains("said: Only this once"), "{done}");
    assert!(declined.contains("Ask Ada first."), "{declined}");
    let requests = test.finish().await;
    let last = requests.last().unwrap();
    let untimed = |id| {
        let said = result(last, id);
        let said = said.split("\n\n[cairn] reminder:").next().unwrap();
        said.lines().map(|line| line.split(", ").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let said = format!("{:#?}", [untimed("c1"), untimed("c2"), untimed("c3")]);
    expect![[r#"
        [
            [
                "done",
                "[cairn] exit code 0",
                "[cairn] The user allowed this and said: Only this once",
            ],
            [
                "[cairn] exit code 3",
                "[cairn] The user allowed this and said: It fails on purpose.",
            ],
            [
                "[cairn] The user declined; nothing was run. Do not try to reach the same by another command",
            ],
        ]"#]]
    .assert_eq(&said);
    assert!(result(last, "c3").contains("They said: Ask Ada first.\n\n[cairn] reminder:"));
    assert!(result(last, "c4").ends_with("said: Keep it short."));
}

#[tokio::test]
async fn an_approval_of_a_file_does_not_approve_a_command_with_the_same_text() {
    let test = TestDaemon::open(Wire::Anthropic, &[(".env", "A=1\n")]).await;
    test.editor.will_answer(answer(ApprovalDecision::AllowSession, None));
    test.editor.will_answer(answer(ApprovalDecision::Deny, None));
    test.play([
        edit("c1", ".env", "A=1", "A=2"),
        edit("c2", ".env", "A=2", "A=3"),
        bash("c3", "Change .env"),
        say("Done."),
    ])
    .await;
    let asked = test.editor.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].subject(), asked[1].command);
    test.finish().await;
}

/// Real binary with its own search path: commands that run unasked, that ask, and that never run.
#[tokio::test]
async fn each_command_of_the_table_asks_or_runs_as_stated() {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    fs::create_dir(root.join("bin")).unwrap();
    for name in ["head", "mine"] {
        let program = root.join("bin").join(name);
        fs::write(&program, "#!/bin/sh\ntouch shadowed\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(root.join("a"), "one\n").unwrap();
    let path = format!("{}:/usr/bin:/bin", root.join("bin").display());
    let daemon = super::daemon(|command| {
        command.env("PATH", &path).env("CANARY_KEY", "swordfish");
    });
    let model = ModelServer::start([]).await;
    let settings = json!({
        "model": model.settings(Wire::Anthropic),
        "shell": { "approval": "allowlist", "allow": ["mine *", "touch made"], "deny": ["rm", "curl"] },
    });
    let editor = EditorDouble::connect(daemon.client.clone(), &root, settings).await;
    editor.will_always_answer(answer(ApprovalDecision::Deny, Some("Never.")));
    let fifty_one = format!("{}curl http://127.0.0.1:9", "true && ".repeat(51));
    let huge = format!("echo {}", "x".repeat(60_000));
    let table = [
        ("ls && pwd", "auto"),
        ("cat a | wc -l", "auto"),
        ("touch made", "auto"),
        ("cd bin && cat ../a | wc -l", "auto"),
        ("cd bin && cat ../../a", "ask"),
        ("cd bin && ls && cat mine | wc -l", "auto"),
        ("cd bin; ls", "ask"),
        ("ls; touch x", "ask"),
        ("ls\ntouch x", "ask"),
        ("ls & touch x", "ask"),
        ("ls\rtouch x", "ask"),
        ("ls\u{a0}-l", "ask"),
        ("ls \u{202e}x hcuot", "ask"),
        ("echo $(id)", "ask"),
        ("echo `id`", "ask"),
        ("cat <(id)", "ask"),
        ("echo ${x@P}", "ask"),
        ("echo ${x:=y}", "ask"),
        ("find . -delete", "ask"),
        ("find . -fprintf f %p", "ask"),
        ("find . -exe\\c touch x {} +", "ask"),
        ("find . {-exec,touch,x,+}", "ask"),
        ("git status", "ask"),
        ("git -c core.pager=id log", "ask"),
        ("git log --output=f", "ask"),
        ("rg --pre=id x", "ask"),
        ("sort --compress-program=id a", "ask"),
        ("sort -o f a", "ask"),
        ("sed 's/a/id/e' a", "ask"),
        ("tar --checkpoint-action=exec=id -cf x a", "ask"),
        ("man -P id ls", "ask"),
        ("FOO=1 ls", "ask"),
        ("export PAGER=id", "ask"),
        ("alias ls=id", "ask"),
        ("ls() { touch x; }; ls", "ask"),
        ("(ls)", "ask"),
        ("{ ls; }", "ask"),
        ("[[ $(id) ]]", "ask"),
        ("cat <<E\n$(touch x)\nE", "ask"),
        ("./ls", "ask"),
        ("/tmp/ls", "ask"),
        ("ls > f", "ask"),
        ("cat /etc/passwd", "ask"),
        ("cat ~/.ssh/id_rsa", "ask"),
        ("cat /proc/$PPID/environ", "ask"),
        ("cat /proc/self/environ", "ask"),
        ("cat ../a", "ask"),
        ("cat .env", "ask"),
        ("cat ./sub/../.ENV", "ask"),
        ("-c 'touch x'", "ask"),
        (huge.as_str(), "ask"),
        ("env rm x", "deny"),
        ("time rm x", "deny"),
        ("xargs rm", "deny"),
        ("command rm x", "deny"),
        ("sudo rm x", "deny"),
        ("bash -c 'rm x'", "deny"),
        ("\\rm x", "deny"),
        (fifty_one.as_str(), "deny"),
        ("rm -rf ~ .", "deny"),
        // A program of the workspace, by its name, before another one and by itself.
        ("head a", "ask"),
        ("mine", "ask"),
        ("# nothing", "error"),
        ("", "error"),
        (" \n\t", "error"),
        ("ls\0touch x", "error"),
    ];
    super::ran(table.len());
    for (at, (script, _)) in table.iter().enumerate() {
        model.push(Response::reply(bash(&format!("c{at}"), script)));
    }
    model.push(Response::reply(say("Done.")));
    editor.run("Do it").await;
    let requests = model.finish();
    let last = requests.last().unwrap();
    let asked = editor.asked();
    for (at, (script, expected)) in table.iter().enumerate() {
        let said = result(last, &format!("c{at}"));
        let was_asked = asked.iter().any(|question| question.command == *script);
        let verdict = match said.as_str() {
            _ if was_asked => "ask",
            said if said.contains("is empty") || said.contains("has a NUL") => "error",
            said if said.starts_with("Refused") => "deny",
            _ => "auto",
        };
        let shown: String = script.chars().take(80).collect();
        assert_eq!(verdict, *expected, "{shown}: {said}");
    }
    // A command that another program would shadow gets no rule.
    let shadowed = asked.iter().find(|question| question.command == "head a").unwrap();
    assert_eq!(shadowed.rules, [""; 0]);
    assert!(shadowed.reason().contains("a program of the workspace"), "{}", shadowed.reason());
    assert!(made(&root, "made") && !made(&root, "shadowed") && !made(&root, "x"));
    editor.finish();
}

fn made(root: &Path, name: &str) -> bool {
    root.join(name).exists()
}

/// Destructive commands without a rule against them: denied in every mode, without a question.
#[tokio::test]
async fn destructive_commands_are_denied_in_every_mode() {
    let table = [
        "rm -rf /",
        "rm -rf ~ .",
        "ls && /bin/rm -fr \"$HOME\"/",
        "sudo rm -r --no-preserve-root /",
        "true; mkfs.ext4 /dev/sda1",
        "dd if=/dev/zero of=/dev/sda",
        ":(){ :|:& };:",
    ];
    let settings = json!({ "shell": { "approval": "allowlist", "allow": ["rm *", "dd *"] } });
    let test = super::AttackTest::open(&[], settings).await;
    test.editor.will_always_answer(answer(ApprovalDecision::Deny, Some("Never.")));
    let modes = ["review", "ask", "auto", "plan"];
    for mode in modes {
        for (at, script) in table.iter().enumerate() {
            test.model.push(Response::reply(bash(&format!("c{at}"), script)));
        }
        test.model.push(Response::reply(say("Done.")));
        let params = json!({ "text": "Do it", "mode": mode });
        let started = test.editor.client.request("agent/runTask", params).await.unwrap();
        test.editor.turn_end(started["turnId"].as_str().unwrap()).await;
        let last = test.model.requests().pop().unwrap();
        for (at, script) in table.iter().enumerate() {
            let said = result(&last, &format!("c{at}"));
            assert!(said.starts_with("Refused: this "), "{mode}, {script}: {said}");
        }
    }
    assert_eq!(test.editor.asked(), []);
    super::ran(table.len() * modes.len());
    test.finish();
}
