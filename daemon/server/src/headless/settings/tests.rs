use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::cli::{self, CliCommand};

fn arguments(line: &str) -> RunArguments {
    match cli::parse(line.split('|').map(Into::into)) {
        Ok(CliCommand::Run(arguments)) => *arguments,
        other => panic!("{line}: {other:?}"),
    }
}

fn check(text: &str, expect: Expect) {
    let told = match parse(text) {
        Ok(section) => Value::Object(section).to_string(),
        Err(faults) => faults.join("\n"),
    };
    expect.assert_eq(&told);
}

#[test]
fn the_file_has_the_keys_of_the_editor() {
    check(
        r#"
            limits.rounds = 7
            "plan.verification" = false
            [model]
            name = "qwen3-coder"
            price = { input = 1, output = 2.5 }
            [shell]
            allow = ["npm test", "cargo test *"]
            [[hooks.turnEnd]]
            command = "notify"
        "#,
        expect![[
            r#"{"limits.rounds":7,"plan.verification":false,"model.name":"qwen3-coder","model.price.input":1,"model.price.output":2.5,"shell.allow":["npm test","cargo test *"],"hooks.turnEnd":[{"command":"notify"}]}"#
        ]],
    );
}

#[test]
fn a_fault_of_the_file_names_its_line() {
    check(
        "[model]\nnmae = \"x\"\nmaxTokens = \"many\"\nprovider = \"acme\"\n\n[limits]\nrounds = 0\n",
        expect![[r#"
            line 2: There is no setting model.nmae.
            line 3: The value of model.maxTokens is not used: it must be a whole number above zero, not a string.
            line 4: The value “acme” of model.provider is not used. Use one of auto, anthropic, openai, replay.
            line 7: The value of limits.rounds is not used: it must be a whole number above zero, not the number 0."#]],
    );
    check(
        "a = 1\nb =\n",
        expect!["line 2: this is not TOML: string values must be quoted, expected literal string"],
    );
    check(
        "[review]\nmode = \"ask\"\n",
        expect![[
            r#"line 2: review.mode: "ask" needs an editor that shows the edits; here it can be auto or plan"#
        ]],
    );
}

#[test]
fn options_come_before_the_environment_and_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let text = "model.name = \"of file\"\nlimits.rounds = 7\nreview.mode = \"auto\"\nshell.allow = [\"ls\"]\n";
    std::fs::write(folder.path().join(FILE), text).unwrap();
    let section = |line: &str, model: Option<&str>| {
        let variable = |name: &str| model.filter(|_| name == "CAIRN_MODEL").map(str::to_owned);
        let read = read(&arguments(line), Some(folder.path()), variable).unwrap();
        Value::Object(read)
    };
    assert_eq!(section("run|x", None)["model.name"], "of file");
    assert_eq!(section("run|x", None)["review.mode"], "review");
    assert_eq!(section("run|x", Some("of environment"))["model.name"], "of environment");
    let given = section(
        "run|x|--model|of option|--max-rounds|9|--mode|plan|--allow|npm test",
        Some("of environment"),
    );
    let expected = json!({
        "model.name": "of option", "limits.rounds": 9, "review.mode": "plan",
        "shell.allow": ["ls", "npm test"], "shell.approval": "allowlist",
    });
    assert_eq!(given, expected);
}

#[test]
fn faults_of_options_and_missing_files_are_told() {
    let fault = |line: &str| read(&arguments(line), None, |_| None).unwrap_err();
    assert!(fault("run|x|--config|/nowhere/c.toml").contains("/nowhere/c.toml cannot be read"));
    assert!(fault("run|x|--allow|a && b").contains("--allow \"a && b\" is not one plain command"));
    assert!(fault("run|x|--writable|/nowhere").contains("--writable /nowhere cannot be opened"));
    let missing = read(&arguments("run|x"), Some(Path::new("/nowhere")), |_| None).unwrap();
    assert!(missing.is_empty());
}

#[test]
fn settings_are_named_as_this_program_names_them() {
    for (text, expected) in [
        ("raise cairn.limits.rounds.", "raise --max-rounds."),
        ("the settings `cairn.model.name` and", "the settings `--model` and"),
        ("Check `cairn.model.baseUrl`.", "Check `model.baseUrl` in config.toml."),
        ("cairn.other and cairn.", "cairn.other and cairn."),
    ] {
        assert_eq!(in_words_of_run(text), expected);
    }
}
