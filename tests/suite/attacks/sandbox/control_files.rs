//! Files made by a command that git, an editor or a shell runs by itself: moved to quarantine
//! before they are used, and restored only after approval.

use super::*;
use crate::{attacks, fixtures};

/// A repository in a folder that runs a program whenever git looks at it.
const ARMED: &str = "git init -q DIR && git -C DIR config core.fsmonitor 'touch @home/harmed; false' && echo x > DIR/f";

/// Name, setup (run by the user), command, its grants, and paths that must not exist afterwards.
struct Row {
    name: &'static str,
    before: &'static str,
    command: String,
    needs: &'static [&'static str],
    gone: &'static [&'static str],
}

fn row(name: &'static str, command: impl Into<String>, gone: &'static [&'static str]) -> Row {
    Row { name, before: "", command: command.into(), needs: &[], gone }
}

fn armed(folder: &str) -> String {
    ARMED.replace("DIR", folder)
}

/// Acts of the user after each: everything that a shell prompt or an editor asks git for.
const USED: &str = "git status >/dev/null 2>&1; for d in $(find . -type d -not -path '*/.git/*'); do (cd $d && git status >/dev/null 2>&1); done; true";

fn rows() -> Vec<Row> {
    let submodule = "git init -q ../lib && git -C ../lib -c user.name=a -c user.email=a@b.invalid commit -q --allow-empty -m x && git -c protocol.file.allow=always submodule --quiet add ../lib lib && git commit -qam lib && git submodule deinit -f lib >/dev/null && rm -rf .git/modules/lib";
    vec![
        row("a repository in a subfolder", armed("new"), &["new/.git"]),
        row("one in a tree that tools generate", armed("node_modules/x"), &["node_modules/x/.git"]),
        row("one far down", armed("a/b/c/d/e/f/g/h"), &["a/b/c/d/e/f/g/h/.git"]),
        row("one that only its name lets in", armed("x/y") + " && chmod 111 x", &["x/y/.git"]),
        row(
            "a pointer to one",
            "git init -q --separate-git-dir store new && git -C new config core.fsmonitor 'touch @home/harmed; false'",
            &["new/.git", "store/HEAD"],
        ),
        row(
            "a bare one",
            "git init -q --bare bare && git -C bare config core.fsmonitor 'touch @home/harmed; false'",
            &["bare/HEAD", "bare/config"],
        ),
        Row {
            before: submodule,
            ..row(
                "one in the folder of a submodule that was not fetched",
                armed("lib"),
                &["lib/.git"],
            )
        },
        Row {
            needs: &["git"],
            ..row(
                "one that the commit makes a part of the project",
                armed("part")
                    + " && git -C part add f && git -C part -c user.name=a -c user.email=a@b.invalid commit -qm x && git add -A && git commit -qm all",
                &["part/.git"],
            )
        },
        Row {
            before: "mkdir copy && git init -q ../real && ln -s ../../real/.git copy/.git",
            ..row(
                "one in the place of a link",
                "rm copy/.git && ".to_owned() + &armed("copy"),
                &["copy/.git/config.lock"],
            )
        },
        Row {
            before: "mkdir dup && cp -r .git dup/.git",
            ..row(
                "a folder renamed away and made anew",
                "mv dup old && ".to_owned() + &armed("dup"),
                &["dup/.git"],
            )
        },
        row(
            "settings of an editor far down",
            "mkdir -p a/b/.vscode a/.idea && echo '{}' > a/b/.vscode/tasks.json && echo x > a/.idea/workspace.xml",
            &["a/b/.vscode", "a/.idea"],
        ),
        row(
            "an environment far down",
            "mkdir -p a/b && echo 'touch @home/harmed' > a/b/.envrc",
            &["a/b/.envrc"],
        ),
        row(
            "instructions far down",
            "mkdir -p a/b && echo evil > a/b/AGENTS.md && echo evil > a/claude.md",
            &["a/b/AGENTS.md", "a/claude.md"],
        ),
        row("a workspace of the editor", "echo '{}' > x.code-workspace", &["x.code-workspace"]),
        row(
            "wrappers of compilers and package managers",
            "mkdir -p c/.cargo && echo x > c/.cargo/config.toml && echo x > c/.npmrc && echo x > .yarnrc.yml",
            &["c/.cargo/config.toml", "c/.npmrc", ".yarnrc.yml"],
        ),
        Row {
            before: "git config core.hooksPath '\"to\"ols/ho' && printf '[core]\\n\\thooksPath = \"too\"ls/\\\\\\n\"ho\"oks\\n' >> .git/config",
            ..row(
                "hooks at a path in quotes and over two lines",
                "mkdir -p tools/hooks && echo 'touch @home/harmed' > tools/hooks/pre-commit && chmod +x tools/hooks/pre-commit",
                &["tools/hooks"],
            )
        },
        Row {
            before: "git config core.hooksPath hooks/in",
            ..row(
                "hooks behind a link",
                "mkdir -p real/in && echo 'touch @home/harmed' > real/in/pre-commit && ln -s real hooks",
                &["hooks"],
            )
        },
        Row {
            before: "mkdir -p tools && echo true > tools/filter && git config filter.x.clean 'sh tools/filter %f'",
            ..row(
                "a program of a filter, brought from elsewhere",
                "mv tools aside && mkdir tools && echo 'touch @home/harmed' > tools/filter",
                &["aside/none"],
            )
        },
        Row {
            before: "git worktree add -q wt 2>/dev/null",
            needs: &["git"],
            ..row(
                "settings of a working copy",
                "echo '[core] fsmonitor = x' > .git/worktrees/wt/config.worktree",
                &[".git/worktrees/wt/config.worktree"],
            )
        },
    ]
}

fn user(test: &SandboxTest, command: &str) {
    let command = test.filled(command);
    #[expect(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let status = Command::new("bash")
        .args(["-c", &command])
        .current_dir(test.ws())
        .env("HOME", test.home())
        .status()
        .unwrap();
    assert!(status.success(), "{command}");
}

#[tokio::test]
async fn new_control_files_are_quarantined_before_they_are_used() {
    for way in WAYS {
        let mut faults = Vec::new();
        for row in rows() {
            let Some(test) = SandboxTest::set(way, json!({})).await else {
                attacks::skipped(1, format!("no sandbox by {way}"));
                continue;
            };
            user(&test, row.before);
            let copied = test.ws().join("copy/.git");
            let link = fs::read_link(&copied).ok();
            let ran = test.run(&row.command, row.needs).await;
            user(&test, USED);
            let Row { name, gone, .. } = row;
            if !ran.said.contains("moved to") {
                faults.push(format!("{way}, {name}: nothing was told: {}", ran.said));
            }
            for path in gone {
                if fs::symlink_metadata(test.ws().join(path)).is_ok() {
                    faults.push(format!("{way}, {name}: {path} is there: {}", ran.said));
                }
            }
            if test.home().join("harmed").exists() {
                faults.push(format!("{way}, {name}: it ran: {}", ran.said));
            }
            if fs::read_link(&copied).ok() != link {
                faults.push(format!("{way}, {name}: the link is another one: {}", ran.said));
            }
            attacks::ran(1);
        }
        crate::attacks::assert_none(&faults);
    }
}

#[tokio::test]
async fn approval_shows_a_quarantined_file_and_restores_it() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        test.keeps.store(true, Ordering::SeqCst);
        let command = "mkdir -p a/.vscode && echo '{\"x\": 1}' > a/.vscode/settings.json && echo be kind > a/AGENTS.md";
        let ran = test.run(command, &[]).await;
        assert!(ran.ok && ran.said.contains("back in the workspace:"), "{way}: {}", ran.said);
        let asked = ran.asked.unwrap();
        assert_eq!(english(&asked["title"]), "Move 2 quarantined files back to the workspace");
        let listed = english(&asked["files"]);
        assert!(
            listed.lines().any(|line| line == "a/.vscode (new)")
                && listed.lines().any(|line| line == "a/AGENTS.md (new)"),
            "{listed}"
        );
        let reason = english(&asked["reasons"][0]);
        assert!(reason.contains("Cairn moved them to /"), "{reason}");
        assert!(reason.ends_with("If you deny it, they stay there."), "{reason}");
        let patch = asked["preview"]["patch"].as_str().unwrap();
        assert!(patch.contains("+{\"x\": 1}") && patch.contains("+be kind"), "{patch}");
        assert_eq!(fs::read_to_string(test.ws().join("a/AGENTS.md")).unwrap(), "be kind\n");
        assert!(test.ws().join("a/.vscode/settings.json").exists(), "{way}");
        // The files belong to the user now: no further question, and no command writes them.
        let ran = test.run("echo evil >> a/AGENTS.md || true", &[]).await;
        assert!(ran.said.contains("Read-only"), "{way}: {}", ran.said);
        // Approval after another file took the path changes nothing.
        assert_eq!(fs::read_to_string(test.ws().join("a/AGENTS.md")).unwrap(), "be kind\n");
    }
}

#[tokio::test]
async fn a_new_repository_is_quarantined_while_the_command_runs() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let marker = fixtures::marker();
        let turn = test.begin(&format!("{}; sleep {marker}", armed("new")), &[]).await;
        fixtures::until_running(&marker).await;
        fixtures::wait_until(SOON, || test.ws().join("new/f").exists()).await;
        fixtures::wait_until(SOON, || !test.ws().join("new/.git").exists()).await;
        user(&test, USED);
        assert!(!test.home().join("harmed").exists(), "{way}");
        test.daemon.client.request("agent/cancel", turn.clone()).await.unwrap();
        test.over(&turn).await;
        fixtures::until_gone(&marker).await;
    }
}

/// A terminal of the user and a command of the agent write to the same folder.
#[tokio::test]
async fn the_users_control_files_beside_a_process_are_asked_about_at_once() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        test.keeps.store(true, Ordering::SeqCst);
        let marker = fixtures::marker();
        let turn = test.process(&format!("sleep {marker}")).await;
        assert_eq!(english(&test.next_question().await["title"]), "Run a command", "{way}");
        fixtures::until_running(&marker).await;
        git(&test.ws(), &["init", "-q", "sub/mine"]);
        git(&test.ws().join("sub/mine"), &["config", "core.editor", "vim"]);
        let asked = test.next_question().await;
        assert_eq!(english(&asked["files"]), "sub/mine/.git (new)", "{way}: {asked}");
        assert_eq!((&asked["turnId"], &asked["sessionId"]), (&json!(""), &turn["sessionId"]));
        fixtures::wait_until(SOON, || test.ws().join("sub/mine/.git/HEAD").exists()).await;
        // Each file is asked about once, and a refused one stays in quarantine.
        test.keeps.store(false, Ordering::SeqCst);
        fs::write(test.ws().join(".envrc"), "export A=1\n").unwrap();
        assert_eq!(english(&test.next_question().await["files"]), ".envrc (new)", "{way}");
        let told = |params: &Value| params["text"].to_string().contains(".envrc (new)");
        test.daemon.client.notification("agent/message", told).await;
        assert!(fixtures::processes(&marker) > 0, "the process still runs");
        assert!(!test.ws().join(".envrc").exists(), "{way}");
        assert!(test.ws().join("sub/mine/.git/HEAD").exists(), "{way}");
    }
}

/// More control files than a sandbox has mounts for.
#[tokio::test]
async fn decoys_leave_no_control_file_to_a_command() {
    const DECOYS: usize = 200;
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let settings = |folder: &str| test.ws().join(folder).join(".vscode/settings.json");
        let below: Vec<String> = (0..DECOYS).map(|number| format!("d{number:03}")).collect();
        for folder in below.iter().map(String::as_str).chain([""]) {
            fs::create_dir_all(settings(folder).parent().unwrap()).unwrap();
            fs::write(settings(folder), "mine").unwrap();
            fs::write(test.ws().join(format!("!{folder}.code-workspace")), "{}").unwrap();
        }
        let ran = test.run("echo evil > .vscode/settings.json", &[]).await;
        assert!(!ran.ok && ran.said.contains("Read-only"), "{way}: {}", ran.said);
        let marker = fixtures::marker();
        let command = format!(
            "for d in d*; do echo evil > $d/.vscode/settings.json; done 2>/dev/null; touch made; sleep {marker}"
        );
        let turn = test.begin(&command, &[]).await;
        fixtures::until_running(&marker).await;
        let is_mine = |folder: &String| fs::read(settings(folder)).is_ok_and(|it| it == b"mine");
        // Only a failure takes this long.
        let limit = 10 * SOON;
        fixtures::wait_until(limit, || test.ws().join("made").exists()).await;
        fixtures::wait_until(limit, || below.iter().all(is_mine)).await;
        test.daemon.client.request("agent/cancel", turn.clone()).await.unwrap();
        test.over(&turn).await;
        fixtures::until_gone(&marker).await;
        attacks::ran(2);
    }
}

#[tokio::test]
async fn control_files_of_a_cancelled_command_are_quarantined() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let marker = fixtures::marker();
        let command = format!("mkdir -p a && echo evil > a/.envrc; sleep {marker}");
        let turn = test.begin(&command, &[]).await;
        fixtures::until_running(&marker).await;
        fixtures::wait_until(SOON, || test.ws().join("a/.envrc").exists()).await;
        test.daemon.client.request("agent/cancel", turn.clone()).await.unwrap();
        test.over(&turn).await;
        fixtures::wait_until(SOON, || !test.ws().join("a/.envrc").exists()).await;
    }
}

#[tokio::test]
async fn after_a_kill_placeholders_are_removed_and_control_files_are_found() {
    for way in WAYS {
        let Some(mut test) = SandboxTest::set(way, json!({})).await else { continue };
        let marker = fixtures::marker();
        let command = format!("mkdir -p a && echo evil > a/AGENTS.md; sleep {marker}");
        test.begin(&command, &[]).await;
        fixtures::until_running(&marker).await;
        fixtures::wait_until(SOON, || test.ws().join("a/AGENTS.md").exists()).await;
        test.daemon.kill().await;
        fixtures::until_gone(&marker).await;
        let names = git(&test.ws(), &["status", "--short", "--untracked-files=all", "--ignored"]);
        assert_eq!(names, "?? a/AGENTS.md\n?? link\n", "{way}");
        assert!(!test.ws().join(".envrc").exists() && !test.ws().join("AGENTS.md").exists());
        test.begin_anew(way).await;
        fixtures::wait_until(SOON, || !test.ws().join("a/AGENTS.md").exists()).await;
        let told = |status: &Value| {
            status["banners"]
                .as_array()
                .unwrap()
                .iter()
                .any(|banner| english(banner).contains("a/AGENTS.md (new)"))
        };
        test.daemon.client.notification("agent/status", told).await;
        // Files that the user creates later are trusted.
        fs::write(test.ws().join("a/AGENTS.md"), "mine\n").unwrap();
        test.begin_anew(way).await;
        assert!(test.run("touch b", &[]).await.ok, "{way}");
        assert!(test.ws().join("a/AGENTS.md").exists(), "{way}");
    }
}

#[tokio::test]
async fn control_files_saved_by_the_user_during_a_command_stay() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let marker = fixtures::marker();
        let turn = test.begin(&format!("touch made; sleep {marker}"), &[]).await;
        fixtures::until_running(&marker).await;
        // In place, as editors do, and a new one by the editor.
        fs::write(test.ws().join("CLAUDE.md"), "Be quick.\n").unwrap();
        let path = test.ws().join(".envrc");
        let uri = editor_double::uri(&path);
        let client = &test.daemon.client;
        let document =
            json!({ "uri": uri, "languageId": "x", "version": 1, "text": "export A=1\n" });
        client.notify("textDocument/didOpen", json!({ "textDocument": document }));
        client.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
        client.request("agent/state", json!({})).await.unwrap();
        fs::write(&path, "export A=1\n").unwrap();
        client.request("agent/cancel", turn.clone()).await.unwrap();
        test.over(&turn).await;
        fixtures::until_gone(&marker).await;
        assert!(test.run("touch b", &[]).await.ok, "{way}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "export A=1\n", "{way}");
        assert_eq!(fs::read_to_string(test.ws().join("CLAUDE.md")).unwrap(), "Be quick.\n");
        fs::write(test.ws().join("CLAUDE.md"), "Be kind.\n").unwrap();
    }
}

/// Name, command and grants; each works and asks only for the grant.
const WORK: &[(&str, &str, &[&str])] = &[
    (
        "nothing is seen that is not the project's",
        "ls -A > /tmp/l; echo x >> /tmp/l; test \"$(tr '\\n' ' ' < /tmp/l)\" = '.git CLAUDE.md a.txt link sub x '",
        &[],
    ),
    (
        "everything untracked is removed",
        "touch junk && rm -f junk && git clean -fdxn && git clean -fdx -e link && ls",
        &[],
    ),
    ("a copy of everything", "cp -r . /tmp/copy && diff -r --no-dereference . /tmp/copy", &[]),
    (
        "an archive of everything",
        "tar cf /tmp/t.tar . && tar tf /tmp/t.tar | grep -c cairn-holds; true",
        &[],
    ),
    ("a commit", "echo two >> a.txt && git add a.txt && git commit -qm Two", &["git"]),
    ("a branch", "git switch -qc side && git switch -q main && git merge -q side", &["git"]),
    (
        "packages as npm unpacks them",
        "mkdir -p node_modules/p/.github node_modules/p/.vscode && echo x > node_modules/p/.npmrc && echo x > node_modules/p/AGENTS.md && echo '{}' > node_modules/p/package.json",
        &[],
    ),
    (
        "a build as cargo makes it",
        "mkdir -p target/debug/deps && for i in $(seq 300); do echo $i > target/debug/deps/$i.o; done && rm -rf target",
        &[],
    ),
    (
        "repositories for tests where builds put them",
        "git init -q target/tmp/r && git -C target/tmp/r -c user.name=a -c user.email=a@b.invalid commit -q --allow-empty -m x && git init -q --bare target/tmp/b",
        &[],
    ),
    (
        "which the next run removes",
        "rm -rf target/tmp && mkdir -p target/tmp && git init -q target/tmp/r",
        &[],
    ),
    ("a repository elsewhere", "git init -q /tmp/r2 && git -C /tmp/r2 status", &[]),
    (
        "a virtual environment",
        "mkdir -p .venv/bin && echo x > .venv/bin/activate && ln -s /usr/bin/python3 .venv/bin/python",
        &[],
    ),
    ("a folder with settings is renamed", "mv sub renamed && mv renamed sub && mv sub other", &[]),
];

#[tokio::test]
async fn daily_work_asks_no_question_about_control_files() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let mut faults = Vec::new();
        for (name, command, needs) in WORK {
            let ran = test.run(command, needs).await;
            let asked = ran.asked.as_ref().is_some_and(|asked| asked["quarantined"] == true);
            if !ran.ok || asked {
                faults.push(format!("{way}, {name}: {:?} {}", ran.asked, ran.said));
            }
        }
        assert!(test.ws().join("other/.vscode/tasks.json").exists(), "{way}");
        crate::attacks::assert_none(&faults);
    }
}

#[tokio::test]
async fn control_files_are_quarantined_without_a_sandbox() {
    let settings = json!({ "sandbox": { "mode": "off" } });
    let test = SandboxTest::set("any", settings).await.unwrap();
    let ran = test.run("mkdir a && echo x > a/.envrc", &[]).await;
    assert!(ran.said.contains("moved to") && !test.ws().join("a/.envrc").exists(), "{}", ran.said);
    // Cairn's own lines are shown as such, those of the command's end, too.
    assert!(ran.said.starts_with("[cairn] exit code 0"), "{}", ran.said);
}
