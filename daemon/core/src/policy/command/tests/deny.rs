//! Rules of `deny` about subcommands.

use super::*;
use crate::policy::AskReason;

/// Checks the answer of a rule about a subcommand to each way to write it.
#[test]
fn a_subcommand_is_found_wherever_it_stands() {
    let rules = [
        "git push",
        "git commit --amend",
        "git rebase",
        "cargo publish",
        "docker push",
        "npm publish",
        "kubectl delete",
        "make deploy",
        "pnpm release",
        "terraform apply -auto-approve",
    ]
    .map(|rule| Rule::parse(rule).unwrap());
    let nine = "git -c user.name=a -C . --no-pager -c color.ui=always -C . --bare -p -P -C . push";
    for (script, expected) in [
        (nine, "deny"),
        ("git --git-dir x --work-tree=y --namespace n push", "deny"),
        ("git 'pu'\"sh\" origin", "deny"),
        ("git -c alias.p=push p", "deny"),
        ("git -c alias.a=b -c 'alias.b=-c user.name=x push origin' A", "deny"),
        ("git -c alias.p='!git push' p", "deny"),
        ("git -c ALIAS.p=push p", "deny"),
        ("git send-pack o", "deny"),
        ("/usr/lib/git-core/git-push o", "deny"),
        ("git-http-push x", "deny"),
        ("echo push x | git remote-https o u", "deny"),
        ("timeout 5 git -p send-pack o", "deny"),
        ("git p", "ask"),
        ("git PUSH", "ask"),
        ("git --new-option x status", "ask"),
        ("git --config-env=alias.p=P p", "ask"),
        ("git --exec-path=x status", "ask"),
        ("git -c core.pager=x log", "ask"),
        ("git -c core.sshCommand=x fetch", "ask"),
        ("env GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.st GIT_CONFIG_VALUE_0=push git st", "ask"),
        ("env GIT_SSH_COMMAND=x git fetch", "ask"),
        ("git submodule foreach 'echo'", "ask"),
        ("git bisect run x", "ask"),
        ("git fetch ext::x", "ask"),
        ("git for-each-repo --config=x -- push", "deny"),
        ("git subtree push x", "deny"),
        ("echo push | xargs git", "ask"),
        ("echo a | xargs sh", "ask"),
        ("echo a | bash", "ask"),
        ("bash -c 'git $x'", "ask"),
        ("bash -c 'git p'", "ask"),
        ("bash -c 'git status'", "no"),
        ("git $x", "ask"),
        ("git commit -m x --amend", "deny"),
        ("git commit --ame -m x", "deny"),
        ("git commit --message x", "ask"),
        ("git commit -m x", "ask"),
        ("git pull", "ask"),
        ("git -C push status", "deny"),
        ("git status", "no"),
        ("git -C a -c color.ui=never --no-pager log --oneline -5", "ask"),
        ("git stash push", "deny"),
        ("git help push", "deny"),
        ("git", "ask"),
        ("git --version", "no"),
        ("git -C a --no-pager log --oneline -5", "no"),
        ("git commit -m 'fix the push'", "ask"),
        ("git stash list", "no"),
        ("cargo +nightly --locked publish", "deny"),
        ("cargo --config a publish", "deny"),
        ("cargo p", "ask"),
        ("cargo --config test p", "ask"),
        ("cargo test publish", "deny"),
        ("docker --context prod image push x", "deny"),
        ("docker container push x", "deny"),
        ("docker compose push", "deny"),
        ("docker release x", "ask"),
        ("npm --prefix a publ", "deny"),
        ("npm --what a publish", "deny"),
        ("npm --what a test", "ask"),
        ("npm run publish", "deny"),
        ("kubectl -n delete get pods", "deny"),
        ("kubectl -n a delete pod b", "deny"),
        ("make -j 4 test deploy", "deny"),
        ("make test", "no"),
        ("pnpm run release", "deny"),
        ("pnpm -r release", "deny"),
        ("terraform -chdir=x apply y -auto-approve", "deny"),
        ("terraform apply", "no"),
    ] {
        let said = match denial(script, &rules) {
            Denial::None => "no",
            Denial::Denied(_) => "deny",
            Denial::Undecided(..) => "ask",
        };
        assert_eq!(said, expected, "{script}: {:?}", denial(script, &rules));
    }
}

#[test]
fn an_undecidable_command_needs_approval_despite_every_rule() {
    let parse = |rule: &str| Rule::parse(rule).unwrap();
    let rules = CommandRules {
        unasked: true,
        allow: vec![parse("git *")],
        deny: vec![parse("git push")],
        always: vec![parse("git p")],
        unboxed: false,
    };
    let context = CommandContext { may_read: &|_, _| true, finds: &|_| true, enters: &is_folder };
    let judged = |script: &str| {
        let (command, cwd) = (script.to_owned(), "/ws".into());
        let access = Access::Command { command, cwd, needs: crate::policy::sandbox::Needs::NONE };
        judge(&access, false, &rules, &context)
    };
    assert_eq!(judged("git status"), Verdict::Allow);
    let undecided = AskReason::DenyUndecided { rule: parse("git push") };
    assert_eq!(judged("git p"), Verdict::Ask { reasons: vec![undecided] });
    assert!(rules.offered("git p", &context).is_empty());
    assert!(matches!(judged("git -c alias.p=push p"), Verdict::Deny { .. }));
}

/// A shell continues no comment, so the next line is a command.
#[test]
fn a_comment_that_ends_with_a_backslash_hides_no_command() {
    let rules = [Rule::parse("git push").unwrap()];
    for script in ["# note\\\ngit push", "# note \\\r\ngit push", "true # note\\\ngit pu\\\nsh"] {
        assert!(matches!(denial(script, &rules), Denial::Denied(_)), "{script:?}");
    }
}

#[test]
fn a_refspec_counts_as_the_option_that_it_stands_for() {
    let rules = ["git push --force", "git push --delete"].map(|rule| Rule::parse(rule).unwrap());
    for (script, expected) in [
        ("git push origin +main", 0),
        ("git push origin main +topic:topic", 0),
        ("git push origin :main", 1),
        ("git -C x push origin +main", 0),
    ] {
        let rule = &rules[expected];
        assert_eq!(forbidden::denial(script, &rules), Denial::Denied(rule), "{script}");
    }
    for script in ["git push origin main", "git log +x"] {
        assert_eq!(forbidden::denial(script, &rules), Denial::None, "{script}");
    }
}
