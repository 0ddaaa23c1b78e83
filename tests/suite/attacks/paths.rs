//! Attacks on path checks and protected files, through the tools of the real binary on disk and with an
//! editor double that answers approvals.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use cairn_protocol::{
    Answer, AnswerParams, ApprovalDecision, ApproveParams, Decide, DecideParams, Decision,
    PreviewTexts, Scope, ToolState,
};
use cairn_tests::{
    editor_double::{Approval, range},
    lsp_client::start,
    model_server::Wire,
};
use serde_json::{Value, json};

use crate::fixtures::*;

/// `work/` with all traps, beside `outside/`, whose contents must be neither shown nor changed.
struct Traps {
    folder: tempfile::TempDir,
    _socket: std::os::unix::net::UnixListener,
}

const SECRET: &str = "top-secret-text";

impl Traps {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for path in [
            "work/src",
            "work/conf",
            "work/.git/hooks",
            "work/sub",
            "work/meta/objects",
            "work/meta/refs",
            "work/meta/hooks",
            "work-evil",
            "outside",
        ] {
            fs::create_dir_all(at(path)).unwrap();
        }
        for (path, text) in [
            ("work/a.txt", "one\n"),
            ("work/src/b.txt", "two\n"),
            ("work/conf/x.xml", "<x/>\n"),
            ("work/package.json", "{}\n"),
            ("work/.env", "KEY=top-secret-text\n"),
            ("work/src/.env.local", "KEY=top-secret-text\n"),
            ("work/server.pem", "top-secret-text\n"),
            ("work/.git/HEAD", "ref: refs/heads/main\n"),
            ("work/.git/config", "[core]\n"),
            ("work/sub/.git", "gitdir: ../meta\n"),
            ("work/meta/HEAD", "ref: refs/heads/main\n"),
            ("work/meta/config", "[core]\n"),
            ("work-evil/x", SECRET),
            ("outside/secret", SECRET),
        ] {
            fs::write(at(path), text).unwrap();
        }
        for (target, link) in [
            ("../outside", "work/out"),
            ("../outside/new", "work/dangling"),
            ("loop-b", "work/loop-a"),
            ("loop-a", "work/loop-b"),
            ("/", "work/everything"),
            ("/dev/zero", "work/zero"),
            ("/proc/self/mem", "work/mem"),
            (".git", "work/not-git"),
            (".env", "work/notes"),
            (".vscode", "work/vs"),
            ("conf", "work/.idea"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        fs::hard_link(at("outside/secret"), at("work/hard")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("work/pipe"), 0o600.into()).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(at("work/socket")).unwrap();
        Self { folder, _socket: socket }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Runs the calls in the real binary, where no user can be asked. The model must get this
    /// result for each.
    async fn meets(&self, rows: &[(Value, &str)]) {
        let mut steps: Vec<Value> = Vec::new();
        for (at, (call, _)) in rows.iter().enumerate() {
            let mut step = json!({ "calls": [call] });
            if let Some((_, told)) = at.checked_sub(1).map(|before| &rows[before]) {
                step["expect"] = json!({ "lastContains": [told] });
            }
            steps.push(step);
        }
        let (_, told) = rows.last().unwrap();
        steps.push(json!({ "expect": { "lastContains": [told] }, "text": "Done." }));
        let script = self.at("script.json");
        fs::write(&script, json!({ "cairnReplay": 1, "steps": steps }).to_string()).unwrap();
        super::ran(rows.len());
        let child = start(|command| {
            command.args(["run", "Do it", "--workspace"]).arg(self.at("work"));
            command.arg("--replay").arg(&script);
            command.stdin(Stdio::null()).stderr(Stdio::piped()).env_remove("CAIRN_MODEL");
        });
        let output = tokio::time::timeout(Duration::from_secs(60), child.wait_with_output());
        let output = output.await.expect("it ends").unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        // 5: no command has checked an edit that was allowed.
        assert!(
            matches!(output.status.code(), Some(0 | 5)),
            "{said}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(!said.contains(SECRET), "{said}");
    }

    fn assert_untouched(&self) {
        for (path, expected) in [
            ("outside/secret", SECRET),
            ("work-evil/x", SECRET),
            ("work/.git/config", "[core]\n"),
            ("work/meta/config", "[core]\n"),
            ("work/package.json", "{}\n"),
            ("work/conf/x.xml", "<x/>\n"),
            ("work/.env", "KEY=top-secret-text\n"),
        ] {
            assert_eq!(fs::read_to_string(self.at(path)).unwrap(), expected, "{path}");
        }
        for (folder, count) in [
            ("outside", 1),
            ("work-evil", 1),
            ("work/.git/hooks", 0),
            ("work/meta/hooks", 0),
            ("work/conf", 1),
        ] {
            assert_eq!(fs::read_dir(self.at(folder)).unwrap().count(), count, "{folder}");
        }
        for path in ["work/.vscode", "work/.VSCODE", "work/.husky", "work/.vscode ", "x"] {
            assert!(!self.at(path).exists(), "{path}");
        }
    }
}

fn tool(name: &str, arguments: Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

fn read(path: impl AsRef<str>) -> Value {
    tool("read_file", json!({ "path": path.as_ref() }))
}

fn write(path: impl AsRef<str>) -> Value {
    write_text(path.as_ref(), "evil\n")
}

fn write_text(path: &str, content: &str) -> Value {
    tool("write_file", json!({ "path": path, "content": content }))
}

fn edit(path: &str, old: &str) -> Value {
    tool("edit_file", json!({ "path": path, "old_text": old, "new_text": "evil" }))
}

fn delete(path: &str) -> Value {
    tool("delete_file", json!({ "path": path }))
}

fn relocate(from: &str, to: &str) -> Value {
    tool("move_file", json!({ "from": from, "to": to }))
}

const OUTSIDE: &str = "is outside the workspace";
const GIT: &str = "belongs to Git's own data";
const ASKED: &str = "nobody is there to ask";
const LINKED: &str = "has other names (hard links)";

#[tokio::test]
async fn no_path_leads_out_of_the_workspace() {
    let traps = Traps::new();
    let work = traps.at("work").display().to_string();
    traps
        .meets(&[
            (read("../../etc/passwd"), OUTSIDE),
            (read("/etc/passwd"), OUTSIDE),
            // Below /tmp, and commands have another /tmp.
            (read(format!("{work}-evil/x")), "No such file"),
            (read("../work-evil/x"), OUTSIDE),
            (read("src/../../work/a.txt"), "1\\tone"),
            (read("src/../../outside/secret"), OUTSIDE),
            (read(format!("file://{work}/%2e%2e/outside/secret")), OUTSIDE),
            (read(format!("file://{work}/%252e%252e/outside/secret")), "does not exist"),
            (read(format!("file://{work}/a.txt")), "1\\tone"),
            (read("file://server/share/x"), "is not a file path"),
            (read("out/secret"), OUTSIDE),
            (read("everything/etc/passwd"), OUTSIDE),
            (read("zero"), OUTSIDE),
            (read("mem"), OUTSIDE),
            (read("/dev/zero"), OUTSIDE),
            (read("/proc/self/mem"), OUTSIDE),
            (read("loop-a"), "too many symbolic links"),
            (read("pipe"), "is a named pipe, not a regular file"),
            (read("socket"), "is a socket, not a regular file"),
            (read("src"), "is a folder. Files that Git ignores"),
            (read("a\0b"), "control character"),
            (read("a\nb"), "control character"),
            (read("gpj.\u{202e}a.txt"), "control character"),
            (read("~/.bashrc"), "is not expanded"),
            (read(""), "The path is empty"),
        ])
        .await;
    traps
        .meets(&[
            (write("out/new"), OUTSIDE),
            (write("out/deep/er/new"), OUTSIDE),
            (write("dangling"), OUTSIDE),
            (write("loop-a/x"), "too many symbolic links"),
            (write("../x"), OUTSIDE),
            (write("pipe"), "is a named pipe"),
            (write("zero"), OUTSIDE),
            (edit("out/secret", SECRET), OUTSIDE),
            (edit("hard", SECRET), LINKED),
            (write("hard"), LINKED),
            (delete("hard"), LINKED),
            (delete("out/secret"), OUTSIDE),
            (relocate("hard", "mine"), LINKED),
            (relocate("a.txt", "../x"), OUTSIDE),
            (relocate("a.txt", "out/x"), OUTSIDE),
            (relocate("out/secret", "mine"), OUTSIDE),
            (write("x".repeat(5_000)), "too long"),
            (write_text("b", &"x".repeat(11 * 1024 * 1024)), "too long for one file"),
            (write("x".repeat(300)), "cannot be looked up"),
            (tool("glob", json!({ "pattern": "**/secret" })), "No files found."),
            (tool("glob", json!({ "pattern": "**/passwd" })), "No files found."),
            (tool("glob", json!({ "pattern": "*", "path": "everything" })), OUTSIDE),
            (tool("grep", json!({ "pattern": "root:", "path": "out" })), OUTSIDE),
            (tool("grep", json!({ "pattern": "core", "path": "meta" })), GIT),
            (tool("grep", json!({ "pattern": "core", "glob": "config" })), "No matches."),
            (tool("glob", json!({ "pattern": "meta/*" })), "No files found."),
            (tool("glob", json!({ "pattern": ".git/*" })), "No files found."),
            (read("/proc/self/cwd/Cargo.toml"), OUTSIDE),
            (read("a.txt"), "1\\tone"),
        ])
        .await;
    traps.assert_untouched();
}

#[tokio::test]
async fn git_folders_are_denied_and_protected_files_need_approval() {
    let traps = Traps::new();
    traps
        .meets(&[
            (read(".git/config"), GIT),
            (write(".git/hooks/pre-commit"), GIT),
            (write(".GIT/hooks/pre-commit"), GIT),
            (write(".g\u{200c}it/hooks/pre-commit"), GIT),
            (write(".git./hooks/pre-commit"), GIT),
            (write("git~1/hooks/pre-commit"), GIT),
            (edit(".git/config", "[core]"), GIT),
            (delete(".git/config"), GIT),
            (write("not-git/config"), GIT),
            (relocate("a.txt", ".git/hooks/pre-commit"), GIT),
            // A pointer file and its target.
            (write("sub/.git"), GIT),
            (delete("sub/.git"), GIT),
            (write("meta/hooks/post-checkout"), GIT),
            (edit("meta/config", "[core]"), GIT),
            // A repository, piece by piece.
            (write("bare/config"), "Created bare/config"),
            (write("bare/refs/keep"), "Created bare/refs/keep"),
            (write("bare/HEAD"), "Created bare/HEAD"),
            (write("bare/objects/keep"), GIT),
        ])
        .await;
    traps
        .meets(&[
            (write(".vscode/tasks.json"), ASKED),
            (write("src/../.vscode/settings.json"), ASKED),
            (write(".VSCODE/tasks.json"), ASKED),
            (write(".v\u{17f}code/tasks.json"), ASKED),
            (write(".vscode /tasks.json"), ASKED),
            (write(".vs\u{2060}code/tasks.json"), ASKED),
            (write("vs/tasks.json"), ASKED),
            (write(".idea/x.xml"), ASKED),
            // Targets of protected names.
            (write("conf/x.xml"), ASKED),
            (write(".husky/pre-commit"), ASKED),
            (relocate("a.txt", ".husky/pre-commit"), ASKED),
            (relocate("package.json", "b.json"), ASKED),
            (edit("package.json", "{}"), ASKED),
            (delete("package.json"), ASKED),
            (write("CARGO.TOML"), ASKED),
            (relocate("a.txt", "Package.JSON"), ASKED),
            (relocate("a.txt", ".hus\u{212a}y/pre-commit"), ASKED),
            (relocate("a.txt", "new/deep/.VSCode/tasks.json"), ASKED),
            (relocate("a.txt", "caf\u{65}\u{301}/.env"), ASKED),
            (edit("package.json", "not there"), "is not in the file"),
        ])
        .await;
    traps.assert_untouched();
}

#[tokio::test]
async fn secret_files_are_read_only_after_approval() {
    let traps = Traps::new();
    let grep = |arguments: Value| {
        let mut arguments = arguments;
        arguments["pattern"] = "top-secret|one".into();
        tool("grep", arguments)
    };
    traps
        .meets(&[
            (read(".env"), ASKED),
            (read("notes"), ASKED),
            (read("server.pem"), ASKED),
            (grep(json!({ "path": ".env" })), ASKED),
            (grep(json!({ "path": "server.pem" })), ASKED),
            (grep(json!({})), "[cairn] 1 file that may hold secrets was not searched"),
            (
                grep(json!({ "glob": ".env*" })),
                "[cairn] 2 files that may hold secrets were not searched",
            ),
            (grep(json!({ "glob": "*.txt" })), "a.txt\\n1:one"),
            // Does not match the text, which the error must not quote.
            (edit(".env", "KEY=other"), ASKED),
            (edit("server.pem", "top-secret-tex_"), ASKED),
            // Under another name it could be read without a question.
            (relocate("server.pem", "free.txt"), ASKED),
            (relocate("a.txt", "b.pem"), ASKED),
            (delete("server.pem"), ASKED),
            (write("server.pem"), ASKED),
            (write("SERVER.KEY"), ASKED),
            (read(".ENV"), ASKED),
            (read("src/../notes"), ASKED),
            (read("a.txt"), "1\\tone"),
        ])
        .await;
    traps.assert_untouched();

    let test = TestDaemon::open(Wire::Anthropic, &[(".env", "KEY=1\n"), ("a", "KEY\n")]).await;
    test.editor.will_answer(allow());
    test.editor.will_answer(allow());
    test.play([
        call("c1", "read_file", json!({ "path": ".env" })),
        call("c2", "grep", json!({ "pattern": "KEY", "path": ".env" })),
        say("Done."),
    ])
    .await;
    let asked: Vec<String> = test.editor.asked().iter().map(ApproveParams::subject).collect();
    assert_eq!(asked, ["Read .env", "Read .env"]);
    let requests = test.finish().await;
    assert_eq!(result(&requests[1], "c1"), "1\tKEY=1");
    assert_eq!(result(&requests[2], "c2"), ".env\n1:KEY=1");
}

async fn yes(test: &TestDaemon, asked: usize) {
    let approval_id = test.editor.asked()[asked].approval_id.clone();
    let decision = ApprovalDecision::AllowOnce;
    let params = AnswerParams { approval_id, decision, feedback: None };
    assert!(test.editor.request::<Answer>(params).await.unwrap().accepted);
}

#[tokio::test]
async fn a_protected_file_does_not_change_before_approval() {
    let test = TestDaemon::open(Wire::Anthropic, &[("package.json", "{\n}\n")]).await;
    let uri = test.open_file("package.json");
    test.editor.will_always_answer(Approval::Silence);
    test.script([
        call("c1", "write_file", json!({ "path": "package.json", "content": "{ 1 }\n" })),
        call("c2", "write_file", json!({ "path": "package.json", "content": "{ 2 }\n" })),
        say("Done."),
    ]);
    let turn = test.editor.run_task("Do it").await;
    let unchanged = |text: &str| {
        assert_eq!(
            (test.disk("package.json").as_str(), test.text("package.json").as_str()),
            ("{\n}\n", text)
        );
        assert_eq!(test.editor.edits(), []);
    };
    test.tool("c1", ToolState::AwaitingApproval).await;
    wait_until(Duration::from_secs(10), || test.editor.asked().len() == 1).await;
    unchanged("{\n}\n");
    let preview = test.editor.asked()[0].preview.clone().unwrap();
    let texts = PreviewTexts { before: "{\n}\n".to_owned(), after: "{ 1 }\n".to_owned() };
    assert_eq!(preview.texts, Some(texts));
    let patch = preview.patch;
    assert_eq!(patch, "--- a/package.json\n+++ b/package.json\n@@ -1,2 +1 @@\n-{\n-}\n+{ 1 }\n");

    // The approved change is not the one that would be written now.
    test.editor.type_in(&uri, range((0, 1), (0, 1)), " ");
    yes(&test, 0).await;
    test.tool("c2", ToolState::AwaitingApproval).await;
    wait_until(Duration::from_secs(10), || test.editor.asked().len() == 2).await;
    unchanged("{ \n}\n");
    yes(&test, 1).await;
    test.editor.turn_end(&turn.turn_id).await;
    assert_eq!(test.text("package.json"), "{ 2 }\n");
    let requests = test.finish().await;
    let told = result(&requests[1], "c1");
    assert!(told.contains("changed while the user was asked"), "{told}");
}

fn swap_for_link(folder: &Path, outside: &Path) {
    fs::rename(folder, folder.with_extension("was")).unwrap();
    symlink(outside, folder).unwrap();
}

#[tokio::test]
async fn a_link_created_during_an_open_question_is_noticed() {
    let test = TestDaemon::open(Wire::Anthropic, &[("pkg/package.json", "{}\n")]).await;
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("package.json"), "{}\n").unwrap();
    test.editor.will_answer(Approval::Silence);
    test.script([
        call("c1", "write_file", json!({ "path": "pkg/package.json", "content": "{ 1 }\n" })),
        say("Done."),
    ]);
    let turn = test.editor.run_task("Do it").await;
    test.tool("c1", ToolState::AwaitingApproval).await;
    wait_until(Duration::from_secs(10), || test.editor.asked().len() == 1).await;
    swap_for_link(&test.path("pkg"), outside.path());
    yes(&test, 0).await;
    test.editor.turn_end(&turn.turn_id).await;
    assert_eq!(fs::read_to_string(outside.path().join("package.json")).unwrap(), "{}\n");
    let requests = test.finish().await;
    let told = result(&requests[1], "c1");
    assert!(told.contains(OUTSIDE), "{told}");
}

#[tokio::test]
async fn a_decision_does_not_write_through_a_link() {
    let test = TestDaemon::open(Wire::Anthropic, &[("src/a", "one\n")]).await;
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("a"), "1\n").unwrap();
    test.play([crate::fixtures::edit("c1", "src/a", "one", "1"), say("Done.")]).await;
    swap_for_link(&test.path("src"), outside.path());
    let sent = test.editor.edits().len();
    let scope = Scope::File { uri: test.uri("src/a") };
    let params = DecideParams { decision: Decision::Reject, scope, rev: None, feedback: None };
    let decided = test.editor.request::<Decide>(params).await.unwrap();
    assert_eq!(decided.applied, 0, "{decided:?}");
    assert_eq!(test.editor.edits().len(), sent);
    assert_eq!(fs::read_to_string(outside.path().join("a")).unwrap(), "1\n");
    test.finish().await;
}
