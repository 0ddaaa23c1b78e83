//! Deny rules about a subcommand in every spelling, against the real binary and a real git.

use std::{cell::Cell, fs};

use cairn_core::policy::{
    Access, Verdict,
    command::{CommandContext, CommandRules, Rule},
    judge,
    sandbox::Needs,
};
use cairn_protocol::ApprovalDecision;
use cairn_tests::by_git;
use proptest::{prelude::*, test_runner::Config};
use serde_json::json;

use super::AttackTest;
use crate::fixtures::answer;

#[tokio::test]
async fn a_denied_subcommand_is_denied_in_every_spelling() {
    let settings = json!({ "shell": {
        "approval": "allowlist",
        "allow": ["git *", "env *", "xargs *", "bash *", "cargo *", "docker *", "npm *"],
        "deny": ["git push", "git fetch", "cargo publish", "docker push", "npm publish"],
    } });
    let test = AttackTest::open(&[("a", b"one\n")], settings).await;
    test.editor.will_always_answer(answer(ApprovalDecision::Deny, Some("Never.")));
    let nine = format!("git {}push", "-c user.name=a -C . --no-pager ".repeat(4));
    let twenty = format!("git {}push", "-P ".repeat(20));
    let table = [
        (nine.as_str(), "deny"),
        (twenty.as_str(), "deny"),
        ("git -c alias.p=push p", "deny"),
        ("git -c 'alias.p=-P push' p", "deny"),
        ("git -c alias.p='!git push' p", "deny"),
        ("git 'pu'sh \"\" origin", "deny"),
        ("git send-pack . main", "deny"),
        ("git http-push x", "deny"),
        ("/usr/lib/git-core/git-push .", "deny"),
        ("git p", "ask"),
        ("git --config-env=alias.p=X p", "ask"),
        ("env GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0=push git p", "ask"),
        ("echo push | xargs git", "ask"),
        ("bash -c 'git p'", "ask"),
        ("git $X", "ask"),
        ("git submodule foreach 'echo x'", "ask"),
        ("cargo +stable publish", "deny"),
        ("cargo p", "ask"),
        ("docker image push x", "deny"),
        ("npm publ", "deny"),
        ("git --git-dir=.git --work-tree . -C . push --dry-run", "deny"),
        ("env -i git -C . push", "deny"),
        ("xargs -n1 git push", "deny"),
        ("git submodule foreach git push", "deny"),
        ("git remote-https origin https://host.invalid/x", "deny"),
        ("git submodule--helper foreach git push", "deny"),
        ("git lfs push origin main", "deny"),
        ("git -P -- push", "deny"),
        ("git rebase -ix 'git push' main", "deny"),
        // Not understood because of the tilde, so every word is searched.
        ("git rebase -ix 'git push' HEAD~1", "deny"),
        // A shell continues no comment.
        ("# note\\\ngit push", "deny"),
        ("git remote update", "ask"),
        ("git remote add -f x ../x", "ask"),
        ("git submodule update --init", "ask"),
        ("git maintenance run --task=prefetch", "ask"),
        ("git clone ../x y", "ask"),
        ("git remote -v", "ask"),
        ("git submodule status", "ask"),
        ("git -C . -c color.ui=never status", "ask"),
        ("git stash list && git help push", "deny"),
        ("git push origin +main", "deny"),
        ("git -C . --no-pager status", "auto"),
        ("git stash list && git help log", "auto"),
    ];
    super::ran(table.len());
    let calls = table.iter().map(|(script, _)| ("bash", json!({ "command": script })));
    let told = test.told(calls).await;
    let asked = test.editor.asked();
    for ((script, expected), told) in table.iter().zip(&told) {
        let question = asked.iter().find(|question| question.command == *script);
        let verdict = match question {
            Some(_) => "ask",
            None if told.starts_with("Refused") => "deny",
            None => "auto",
        };
        assert_eq!(verdict, *expected, "{script}: {told}");
        if let Some(question) = question {
            assert!(
                question.reason().contains("cairn.shell.deny"),
                "{script}: {}",
                question.reason()
            );
            assert!(question.rules.is_empty(), "{script}: {:?}", question.rules);
        }
    }
    test.finish();
}

/// Command lines of git, common ones and attempts to push around a deny rule.
fn invocations() -> impl Strategy<Value = String> {
    let program = prop_oneof![8 => Just("git"), 1 => Just("/usr/bin/git"), 1 => Just("'gi't")];
    let option = prop_oneof![
        2 => Just("-C ."), 2 => Just("-P"), 1 => Just("--no-pager"), 1 => Just("--bare"),
        1 => Just("--git-dir .git"), 1 => Just("--git-dir=.git"), 1 => Just("--work-tree ."),
        1 => Just("--namespace push"), 1 => Just("--namespace=push"), 1 => Just("-C push"),
        1 => Just("--no-optional-locks"), 1 => Just("--literal-pathspecs"), 1 => Just("--exec-path=/x"),
        1 => Just("-c user.name=push"), 1 => Just("-c color.ui=never"), 1 => Just("-c log.date=iso"),
        2 => Just("-c alias.q=push"), 1 => Just("-c alias.q='-P p'"), 1 => Just("-c alias.q='!git push'"),
        1 => Just("-c alias.status=push"), 1 => Just("-c ALIAS.q=push"), 1 => Just("-c alias.q=status"),
        1 => Just("-c help.autocorrect=immediate"), 1 => Just("--attr-source HEAD"),
        1 => Just("-c core.pager='git push'"), 1 => Just("-c"), 1 => Just("--unknown"),
    ];
    let subcommand = prop_oneof![
        6 => Just("push"), 2 => Just("send-pack"), 1 => Just("'pu''sh'"), 2 => Just("q"),
        2 => Just("p"), 1 => Just("shell-push"), 1 => Just("st"), 1 => Just("pussh"),
        1 => Just("remote-https"), 3 => Just("status"), 2 => Just("log"), 1 => Just("stash"),
        1 => Just("help"), 1 => Just("submodule"), 1 => Just("bisect"), 1 => Just("rebase"),
        1 => Just("ls-remote"), 1 => Just("fetch"), 1 => Just("for-each-repo"), 1 => Just("--help"),
        1 => Just("--version"),
    ];
    let argument = prop_oneof![
        2 => Just("origin"), 2 => Just("push"), 1 => Just("--force"), 1 => Just("-v"),
        1 => Just("--"), 1 => Just("foreach"), 1 => Just("run"), 1 => Just("--exec='git push'"),
        1 => Just("-x 'git push'"), 1 => Just("HEAD~1"), 1 => Just("--config=x.repo"), 1 => Just("git"),
        1 => Just("--upload-pack='git push'"),
    ];
    // Commands without options are allowed more often.
    let options = prop_oneof![
        1 => Just(Vec::new()), 1 => prop::collection::vec(option, 0..14),
    ];
    let arguments = prop::collection::vec(argument, 0..4);
    (program, options, subcommand, arguments).prop_map(
        |(program, options, subcommand, arguments)| {
            let words = options.into_iter().chain([subcommand]).chain(arguments);
            words.fold(program.to_owned(), |script, word| script + " " + word)
        },
    )
}

#[test]
fn every_spelling_of_git_push_is_denied() {
    let home = tempfile::tempdir().unwrap();
    let settings = "[user]\nname = a\nemail = a@b\n[alias]\np = push\nst = status\n\
        shell-push = \"!git push\"\n[help]\nautocorrect = immediate\n[x]\nrepo = .\n";
    fs::write(home.path().join(".gitconfig"), settings).unwrap();
    let work = home.path().join("work");
    fs::create_dir_all(work.join("push")).unwrap();
    let set_up = "git init -q -b main . && git init -q --bare ../bare && git remote add origin ../bare \
        && git commit -q --allow-empty -m a && git commit -q --allow-empty -m b";
    assert!(by_git(&work, home.path(), set_up).contains("commit"), "a git that can be traced");

    let rules = CommandRules {
        unasked: true,
        allow: ["git *", "/usr/bin/git *"].map(|rule| Rule::parse(rule).unwrap()).into(),
        deny: vec![Rule::parse("git push").unwrap()],
        ..CommandRules::default()
    };
    let world = CommandContext { may_read: &|_, _| true, finds: &|_| true, enters: &|_| false };
    let (allowed, pushed) = (Cell::new(0), Cell::new(0));
    let config = Config { cases: 400, ..Config::default() };
    proptest!(config, |(script in invocations())| {
        let touch =
            Access::Command { command: script.clone(), cwd: work.clone(), needs: Needs::NONE };
        let verdict = judge(&touch, false, &rules, &world);
        let ran = by_git(&work, home.path(), &script);
        let pushes = ["push", "send-pack", "http-push"].iter().any(|name| ran.contains(*name));
        pushed.set(pushed.get() + usize::from(pushes));
        allowed.set(allowed.get() + usize::from(verdict == Verdict::Allow));
        prop_assert!(!(pushes && verdict == Verdict::Allow), "{script} pushes: {ran:?}");
    });
    // Both kinds must occur.
    assert!(allowed.get() > 20 && pushed.get() > 40, "{allowed:?} {pushed:?}");
}
