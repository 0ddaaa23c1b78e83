//! The parser of git's configuration format, compared with the installed git.

use std::{fs, path::Path, process::Command};

use cairn_core::policy::git_config::{Setting, parse};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};

/// As `git config --list --null` prints them; `None`: refused.
fn by_git(file: &Path) -> Option<Vec<u8>> {
    #[expect(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let output = Command::new("git")
        .args(["config", "--no-includes", "--list", "--null", "--file"])
        .arg(file)
        .output()
        .unwrap();
    output.status.success().then_some(output.stdout)
}

fn by_us(text: &[u8]) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    for Setting { section, subsection, key, value } in parse(text).ok()? {
        // A setting above every section has a key alone; `[ "a"]` and `[.a]` have an empty name.
        let section = Some(section).filter(|name| !name.is_empty() || subsection.is_some());
        let parts = [section, subsection, Some(key)];
        let name: Vec<String> = parts.into_iter().flatten().collect();
        all.extend(name.join(".").bytes());
        all.extend(value.into_iter().flat_map(|value| format!("\n{value}").into_bytes()));
        all.push(0);
    }
    Some(all)
}

fn check(text: &[u8]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config");
    fs::write(&file, text).unwrap();
    let (git, us) = (by_git(&file), by_us(text));
    let shown =
        |it: &Option<Vec<u8>>| it.as_ref().map(|it| String::from_utf8_lossy(it).into_owned());
    if git == us {
        Ok(())
    } else {
        Err(format!(
            "{:?}: git reads {:?}, we read {:?}",
            String::from_utf8_lossy(text),
            shown(&git),
            shown(&us)
        ))
    }
}

#[test]
fn known_special_cases_parse_as_in_git() {
    for text in [
        "",
        "[core]\n\thooksPath = tools/\\\nhooks\n",
        "[core]\n\thooksPath = \"to\"ols\"/ho\"oks # x\n",
        "[core]\n\thooksPath = a\\\"b\\tc ; x\n",
        "[core]\r\n\tx = y\r\n",
        "\u{feff}[core]\nx\n",
        "[include]path=a[core]\nx=y",
        "[a \"b\\\"c\"] d = \" e \" f \n",
        "[a.B.c] d = e",
        "[a \"x\"]\n[ core ]\nx = y\n",
        "[core] hooksPath = x \\\n\ty # z \\\n q = r\n",
        "[core]\nx = \"a\n",
        "[core]\n-x = a\n",
        "[]",
        "[ \"\"] x",
        "[.a] x",
        "[.] x",
    ] {
        assert_eq!(check(text.as_bytes()), Ok(()));
    }
}

#[test]
fn generated_text_parses_as_in_git() {
    const PIECES: &[&str] = &[
        "[core]",
        "[a \"b\"]",
        "[",
        "]",
        "\"",
        "\\",
        "\\\n",
        "\\\"",
        "\n",
        "\r\n",
        " ",
        "\t",
        "=",
        "#",
        ";",
        "hooksPath",
        "x",
        "-",
        "1",
        ".",
        "~/",
        "\\t",
        "\\q",
        "é",
        "[core]\nhooksPath = ",
        "[include]\npath = ",
    ];
    let texts = prop::collection::vec(prop::sample::select(PIECES), 0..14);
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let config =
        Config { cases: cases.unwrap_or(300), failure_persistence: None, ..Config::default() };
    let law = |pieces: Vec<&str>| check(pieces.concat().as_bytes()).map_err(TestCaseError::fail);
    TestRunner::new(config).run(&texts, law).unwrap();
}
