use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{rules::forbidden, *};

fn check(script: &str, expect: Expect) {
    let said = match parse(script) {
        Ok(commands) => {
            commands.iter().map(|words| format!("{words:?}")).collect::<Vec<_>>().join(" ")
        }
        Err(why) => format!("unclear: {why}"),
    };
    expect.assert_eq(&said);
}

/// Whether it may run unasked, where `secret` and what begins with `/`, `~` or `..` is not ours.
fn reads(script: &str) -> bool {
    let inside =
        |path: &str| !path.starts_with(['/', '~']) && !path.contains("..") && path != "secret";
    parse(script).is_ok_and(|commands| commands.iter().all(|words| only_reads(words, inside)))
}

#[test]
fn what_is_plain_is_split_as_a_shell_would() {
    check("ls && pwd", expect![[r#"["ls"] ["pwd"]"#]]);
    check(
        "a 'b c' \"d e\"f''; g | h || i\nj",
        expect![[r#"["a", "b c", "d ef"] ["g"] ["h"] ["i"] ["j"]"#]],
    );
    check("echo '' \"\"", expect![[r#"["echo", "", ""]"#]]);
    check("a &&\n b\n\n", expect![[r#"["a"] ["b"]"#]]);
    check("a;", expect![[r#"["a"]"#]]);
    check("echo '$HOME *'", expect![[r#"["echo", "$HOME *"]"#]]);
}

#[test]
fn what_a_shell_would_change_is_not_understood() {
    for script in [
        "",
        " \n ",
        "&& a",
        "a &&",
        "a | | b",
        "a ; ; b",
        "'a",
        "\"a",
        "a &",
        "a & b",
        "a |& b",
        "a > f",
        "a < f",
        "a << E",
        "a <(b)",
        "(a)",
        "{ a; }",
        "a $b",
        "a `b`",
        "a \"$b\"",
        "a \"`b`\"",
        "a \"\\n\"",
        "a \"!x\"",
        "a \\\nb",
        "a *",
        "a ?",
        "a [b]",
        "a ~",
        "! a",
        "a # b",
        "a ^ b",
        "A=1",
        "A=1 b",
        "A+=1 b",
        "a\tb",
        "a\rb",
        "a\u{a0}b",
        "é",
        "a\0",
        "a 'b\nrm c'",
        "-exe\\c",
        "a {b,c}",
        "[[ a ]]",
    ] {
        assert!(parse(script).is_err(), "{script:?}: {:?}", parse(script));
    }
    check("a > f", expect!["unclear: `>` does more than run a program"]);
    check("a $b", expect!["unclear: the shell expands `$`"]);
    check(&"a".repeat(LONGEST + 1), expect!["unclear: it is longer than 4096 bytes"]);
    check(&vec!["a"; MOST + 1].join(";"), expect!["unclear: it is more than 32 commands"]);
    assert_eq!(parse(&vec!["a"; MOST].join(";")).map(|commands| commands.len()), Ok(MOST));
}

#[test]
fn readers_run_unasked() {
    for script in [
        "ls && pwd",
        "ls -la src",
        "cat -n a b | head -20 | wc -l",
        "grep -n 'a*b' src/x",
        "grep -e x a",
        "find . -name '*.rs' -type f",
        "find src -maxdepth 2",
        "sort -k 2 a | uniq -c",
        "tail -n 5 a",
        "echo --anything 'at all'",
        "diff -u a b",
        "date +%F",
        "du -sh .",
        "wc",
        "head -c10 a",
        "grep -A2 x -- -a",
    ] {
        assert!(reads(script), "{script}");
    }
}

#[test]
fn whatever_else_asks() {
    for script in [
        "ls; rm -rf x",
        "ls\nrm x",
        "./ls",
        "/bin/ls",
        "ls /etc",
        "cat ../x",
        "cat secret",
        "cat a ~",
        "grep x secret",
        "grep -f secret a",
        "grep -e x secret",
        "grep -r x .",
        "grep -R x .",
        "grep --include=a x",
        "rg x",
        "rg --pre=id x",
        "sort -o f a",
        "sort --output=f a",
        "sort --compress-program=id a",
        "uniq a b",
        "find . -delete",
        "find . -exec id ;",
        "find . -exec id '{}' +",
        "find . -fprintf f x",
        "find -L .",
        "find / -name x",
        "find . -newer /etc/passwd",
        "find . '(' -name a ')'",
        "tail -f a",
        "date -s now",
        "date now",
        "git status",
        "git -c core.pager=id log",
        "git log --output=f",
        "sed s/a/id/e x",
        "awk 1",
        "env ls",
        "time ls",
        "xargs ls",
        "command ls",
        "sudo ls",
        "export A",
        "alias ls=id",
        "eval ls",
        "printf -v a x",
        "test -v x",
        "tar --checkpoint-action=exec=id",
        "man -P id ls",
        "node --version",
        "cargo --version",
        "cut --output-delimiter=x",
        "ls --hyperlink=always",
        "head -n",
        "cat --",
        "true x",
        "diff -r a b",
        "tee f",
        "less a",
        "stat --printf=x a",
    ] {
        // `cat --` without a file reads what it is given, which is nothing.
        assert_eq!(reads(script), script == "cat --", "{script}");
    }
}

#[test]
fn rules_cover_words_not_letters() {
    let rule = |text: &str| Rule::parse(text).unwrap();
    let words = |text: &str| parse(text).unwrap().remove(0);
    assert!(rule("cargo test").covers(&words("cargo 'test'")));
    assert!(!rule("cargo test").covers(&words("cargo test --config x")));
    assert!(rule("cargo test *").covers(&words("cargo test --config x")));
    assert!(rule("cargo test *").covers(&words("cargo test")));
    assert!(!rule("cargo test *").covers(&words("cargo tests")));
    assert!(!rule("ls").covers(&words("./ls")));
    assert_eq!(Rule::parse("a; b"), None);
    assert_eq!(Rule::parse("a *b"), None);
    assert_eq!(Rule::parse(""), None);
    let it_says = words("echo 'it' \"it's\" '' '*' 'a b'");
    assert_eq!(Rule::exactly(&it_says).to_string(), r#"echo it "it's" '' '*' 'a b'"#);
}

#[test]
fn what_is_forbidden_is_found_wherever_it_stands() {
    let rules = [Rule::parse("rm").unwrap(), Rule::parse("npm publish *").unwrap()];
    for script in [
        "rm x",
        "ls && rm x",
        "/bin/rm x",
        "sudo rm x",
        "env A=1 rm x",
        "xargs rm",
        "time rm",
        "command rm x",
        "sh -c rm",
        "$(rm x)",
        "(rm x)",
        "a=`rm x`",
        "r\"\"m x",
        "'rm' x",
        "npm publish",
        "npm publish --dry",
        "ls > f; npm publish",
        "bash -c \"rm $x\"",
        "{rm,x}",
    ] {
        assert!(forbidden(script, &rules).is_some(), "{script}");
    }
    for script in ["ls", "echo rm", "grep rm x", "npm run publish", "echo $x", "charm x"] {
        assert_eq!(forbidden(script, &rules), None, "{script}");
    }
    let long = format!("{}rm x", "true && ".repeat(51));
    assert!(forbidden(&long, &rules).is_some());
}

proptest! {
    /// Whatever is understood means the same to the shell: quoted as we would, it is the same words.
    #[test]
    fn a_rule_is_read_as_it_is_written(words in prop::collection::vec("[ -~&&[^$`\\\\!\"]]{0,8}", 1..5)) {
        prop_assume!(!words[0].contains('=') && words.last().is_some_and(|last| last != "*"));
        let rule = Rule::exactly(&words);
        prop_assert_eq!(Rule::parse(&rule.to_string()), Some(rule));
    }

    #[test]
    fn nothing_makes_it_panic(script in "\\PC{0,64}|[ -~\n]{0,64}") {
        let rules = [Rule::parse("rm").unwrap()];
        let _ = forbidden(&script, &rules);
        if let Ok(commands) = parse(&script) {
            prop_assert!(!commands.is_empty() && commands.iter().all(|words| !words.is_empty()));
            for words in &commands {
                only_reads(words, |_| true);
            }
        }
    }
}

#[test]
fn a_rule_is_shown_as_it_is_read_whatever_its_words_are() {
    for (script, shown) in [
        ("echo it", "echo it"),
        ("echo 'a b' ''", "echo 'a b' ''"),
        (r#"echo "it's""#, r#"echo "it's""#),
        (r#"echo "a'b"'c"d'"#, r#"echo 'a'"'"'bc"d'"#),
        (r#"echo "'"'$x'"#, r#"echo ''"'"'$x'"#),
    ] {
        let rule = Rule::exactly(&parse(script).unwrap()[0]);
        assert_eq!(rule.to_string(), shown);
        assert_eq!(Rule::parse(shown), Some(rule), "{script}");
    }
}

#[test]
fn what_is_forbidden_stays_so_in_a_script_that_is_not_understood() {
    for (rule, script) in [("make x=1", "make x=1"), ("'a b' c", "'a b' c"), ("a '[b]'", "a '[b]'")]
    {
        let rules = [Rule::parse(rule).unwrap()];
        assert!(forbidden(script, &rules).is_some(), "{script}");
        let many = format!("{}{script}", "true; ".repeat(MOST));
        assert_eq!(parse(&many), Err(Unclear::TooMany));
        assert!(forbidden(&many, &rules).is_some(), "{script} after many commands");
        assert!(forbidden(&format!("{script} >x"), &rules).is_some(), "{script} with an operator");
    }
}
