//! Workspaces at paths that are hard for a sandbox: links, several folders, odd names.

use std::{
    ffi::OsString,
    os::unix::{ffi::OsStringExt, fs::symlink},
};

use cairn_protocol::Notice;
use cairn_tests::model_server::Wire;

use super::*;
use crate::{
    attacks::{AttackTest, put, ran, skipped},
    fixtures::allow,
};

/// Folder that commands can see.
fn folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("cairn-places-").tempdir_in(visible_folder()).unwrap()
}

/// True if the backend works here; else counts the attacks as skipped.
async fn is_boxed(test: &AttackTest, way: &str, attacks: usize) -> bool {
    let kind = |notice: &Notice| match notice {
        Notice::Status(status) => status.sandbox.as_ref().map(|sandbox| sandbox.kind),
        _ => None,
    };
    let kind = test.editor.wait_for("a word about the box", kind).await;
    let boxed = serde_json::to_value(kind).unwrap() == way;
    if !boxed {
        skipped(attacks, format!("no sandbox by {way}"));
    }
    boxed
}

/// Commands that attack, with `@` for the folder above; afterwards protected files are unchanged.
const ATTACKS: &[&str] = &[
    "echo evil > @/outside/c",
    "echo evil > ../outside/c",
    "mkdir -p .vscode; echo evil > .vscode/tasks.json",
    "echo evil > @/linked/.vscode/tasks.json",
    "echo evil > @/real/.vscode/tasks.json",
    "rmdir @/linked/.husky; mkdir @/real/.husky; echo evil > @/real/.husky/pre-commit",
    "echo evil > @/real/.git/config",
    "mv @/real/.git @/real/old",
    "echo evil > @/two/.idea/workspace.xml",
    "echo evil > @/two/AGENTS.md",
    "echo evil > @/two/.envrc",
    "ln -sfn outside @/linked; rm -f @/linked",
    "mv @/two @/three; mv @/real @/three",
    "rm -rf @/outside",
];

#[tokio::test]
async fn a_linked_workspace_and_a_second_one_are_sandboxed() {
    for way in WAYS {
        let folder = folder();
        put(
            folder.path(),
            &[
                ("real/a", b"one\n"),
                ("real/.git/HEAD", b"ref: refs/heads/main\n"),
                ("real/.git/config", b"[core]\n"),
                ("two/.idea/workspace.xml", b"<x/>\n"),
                ("two/b", b"two\n"),
                ("outside/c", b"three\n"),
            ],
        );
        symlink("real", folder.path().join("linked")).unwrap();
        let top = folder.path().canonicalize().unwrap();
        let test =
            AttackTest::within(folder, &["linked", "two"], Wire::Anthropic, json!({}), |command| {
                command.env("CAIRN_SANDBOX", way);
            })
            .await;
        if !is_boxed(&test, way, ATTACKS.len()).await {
            test.finish();
            continue;
        }
        test.editor.will_always_answer(allow());
        let bash = |command: String| ("bash", json!({ "command": command }));
        let work = format!("echo y > {}/two/made && echo x > made && pwd", top.display());
        let told = test.told([bash(work)]).await;
        assert!(top.join("two/made").exists(), "{way}: {}", told[0]);
        assert!(told[0].contains("[cairn] exit code 0"), "{way}: {}", told[0]);
        assert!(top.join("real/made").exists(), "{way}: {}", told[0]);
        for attack in ATTACKS {
            let told = test.told([bash(attack.replace('@', &top.display().to_string()))]).await;
            for (name, text) in [
                ("outside/c", "three\n"),
                ("linked/.git/config", "[core]\n"),
                ("two/.idea/workspace.xml", "<x/>\n"),
            ] {
                let now = fs::read_to_string(top.join(name));
                assert_eq!(now.ok().as_deref(), Some(text), "{way}, {attack}: {}", told[0]);
            }
            for name in
                ["real/.vscode/tasks.json", "real/.husky/pre-commit", "two/AGENTS.md", "two/.envrc"]
            {
                let is_file = top.join(name).is_file();
                assert!(!is_file, "{way}, {attack}: {name}: {}", told[0]);
            }
            assert!(
                top.join("linked").is_symlink() && top.join("two/b").exists(),
                "{way}, {attack}"
            );
        }
        ran(ATTACKS.len());
        test.finish();
    }
}

#[tokio::test]
async fn a_workspace_name_cannot_inject_sandbox_arguments() {
    let names: [&[u8]; 6] = [
        b"--bind",
        b"a b\n--bind\n",
        b"$(touch made-by-name) `id` 'q' \"",
        "ü:\\é".as_bytes(),
        b"-",
        b"not text \xff",
    ];
    for way in WAYS {
        for name in names {
            let folder = folder();
            put(folder.path(), &[("outside", b"one\n")]);
            let work = folder.path().join(OsString::from_vec(name.to_vec()));
            fs::create_dir(&work).unwrap();
            let command = "echo evil > ../outside; echo evil > .vscode/x; touch made";
            let last = json!({ "text": "Done." });
            let (_, said) = run_alone(way, (folder.path(), &work), command, last).await;
            let shown = String::from_utf8_lossy(name);
            if said.contains("No sandbox works here") {
                skipped(1, format!("no sandbox by {way}"));
                continue;
            }
            let outside = fs::read_to_string(folder.path().join("outside")).unwrap();
            assert_eq!(outside, "one\n", "{way}, {shown:?}: {said}");
            assert!(!work.join(".vscode/x").exists(), "{way}, {shown:?}: {said}");
            let left: Vec<_> =
                fs::read_dir(&work).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(left, ["made"], "{way}, {shown:?}: {said}");
            ran(1);
        }
    }
}

#[tokio::test]
async fn a_home_folder_as_workspace_protects_login_scripts() {
    for way in WAYS {
        let folder = folder();
        put(
            folder.path(),
            &[
                (".bashrc", b"# mine\n"),
                (".gitconfig", b"[user]\n"),
                ("bin/tool", b"mine\n"),
                ("notes/a", b"a\n"),
            ],
        );
        let home = folder.path().canonicalize().unwrap();
        let test = AttackTest::within(folder, &[""], Wire::Anthropic, json!({}), |command| {
            command.env("CAIRN_SANDBOX", way).env("HOME", &home);
        })
        .await;
        if !is_boxed(&test, way, 1).await {
            test.finish();
            continue;
        }
        test.editor.will_always_answer(allow());
        let attack = "for f in .bashrc .gitconfig .profile .bash_profile bin/tool; do echo evil >> ~/$f; done; \
                      mkdir -p ~/.ssh; echo evil > ~/.ssh/authorized_keys; mv ~/bin ~/b; \
                      echo written > ~/notes/b";
        let told = test.told([("bash", json!({ "command": attack }))]).await;
        for (name, text) in
            [(".bashrc", "# mine\n"), (".gitconfig", "[user]\n"), ("bin/tool", "mine\n")]
        {
            assert_eq!(test.read(name), text.as_bytes(), "{way}, {name}: {told:?}");
        }
        for name in [".ssh/authorized_keys", ".profile", ".bash_profile"] {
            assert!(!test.has(name), "{way}, {name}: {told:?}");
        }
        // Other folders of a home folder are writable.
        assert_eq!(test.read("notes/b"), b"written\n", "{way}: {told:?}");
        ran(1);
        test.finish();
    }
}

#[tokio::test]
async fn git_settings_in_the_workspace_are_not_written() {
    for way in WAYS {
        let folder = folder();
        put(
            folder.path(),
            &[
                (".git/HEAD", b"ref: refs/heads/main\n"),
                (".git/config", b"[include]\n\tpath = ../.gitconfig\n\tpath = ../team/later\n"),
                (".gitconfig", b"[user]\n"),
                ("a", b"a\n"),
            ],
        );
        let test = AttackTest::within(folder, &[""], Wire::Anthropic, json!({}), |command| {
            command.env("CAIRN_SANDBOX", way);
        })
        .await;
        if !is_boxed(&test, way, 1).await {
            test.finish();
            continue;
        }
        test.editor.will_always_answer(allow());
        let attack = "echo '[core] fsmonitor = evil' >> .gitconfig; mkdir team; echo evil > team/later; \
                      rm -f .gitconfig; echo written > a";
        let told = test.told([("bash", json!({ "command": attack }))]).await;
        assert_eq!(test.read(".gitconfig"), b"[user]\n", "{way}: {told:?}");
        assert!(!test.has("team/later"), "{way}: {told:?}");
        assert_eq!(test.read("a"), b"written\n", "{way}: {told:?}");
        ran(1);
        test.finish();
    }
}
