//! Files with proposed edits that are moved, removed or written outside of the editor.

use std::{fs, path::Path, process::Command};

use cairn_protocol::{Decide, DecideParams, DecideResult, Decision, Hunk, Scope};
use cairn_tests::{lsp_client::DEADLINE, model_server::Wire};

use crate::fixtures::*;

const LINES: &str = "b1\nb2\nb3\nb4\nb5\nb6\nb7\nb8\n";

/// Ways in which an editor shows a file that another program has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Closed,
    /// The document is loaded again, then the change is reported.
    LoadedFirst,
    /// The change is reported, then the document is loaded again.
    LoadedLast,
}

const ALL_SHOWN: [Shown; 3] = [Shown::Closed, Shown::LoadedFirst, Shown::LoadedLast];

/// A daemon with a proposed edit in `b.py`.
async fn edited(shown: Shown) -> TestDaemon {
    let test = TestDaemon::open(Wire::Anthropic, &[("b.py", LINES)]).await;
    git(test.folder(), &["init", "-q", "-b", "main"]);
    git(test.folder(), &["add", "."]);
    git(test.folder(), &["commit", "-qm", "first"]);
    if shown != Shown::Closed {
        test.open_file("b.py");
    }
    test.play([edit("c1", "b.py", "b5\n", "b5 agent\n"), say("Done.")]).await;
    assert_eq!(edits(&test, "b.py").await, ["b5 agent"]);
    test
}

fn git(folder: &Path, arguments: &[&str]) {
    #[expect(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let mut git = Command::new("git");
    git.args(["-c", "user.name=n", "-c", "user.email=e"]).args(arguments).current_dir(folder);
    let run = git.output().unwrap();
    assert!(run.status.success(), "{arguments:?}: {run:?}");
}

/// Another program has changed these files.
fn notify(test: &TestDaemon, names: &[&str], shown: Shown) {
    let paths: Vec<_> = names.iter().map(|name| test.path(name)).collect();
    let paths: Vec<&Path> = paths.iter().map(AsRef::as_ref).collect();
    let load = || paths.iter().for_each(|path| test.editor.reload(path));
    if shown == Shown::LoadedFirst {
        load();
    }
    test.editor.watched(&paths);
    if shown == Shown::LoadedLast {
        // An editor may report one change as two.
        test.editor.watched(&paths);
        load();
    }
}

/// The proposed text of each edit of a file.
async fn edits(test: &TestDaemon, name: &str) -> Vec<String> {
    let hunks = test.hunks(name).await.into_iter();
    hunks
        .map(|it| if it.outdated { format!("outdated: {}", it.new_text) } else { it.new_text })
        .collect()
}

/// Waits until these are the edits of a file.
async fn until(test: &TestDaemon, name: &str, expected: &[&str]) {
    let settled = async { while edits(test, name).await != expected {} };
    if tokio::time::timeout(DEADLINE, settled).await.is_err() {
        panic!("{expected:?} was expected, but it is {:?}", edits(test, name).await);
    }
}

async fn reject_all(test: &TestDaemon) -> DecideResult {
    let params =
        DecideParams { decision: Decision::Reject, scope: Scope::All, rev: None, feedback: None };
    test.editor.request::<Decide>(params).await.unwrap()
}

#[tokio::test]
async fn a_file_that_is_moved_takes_its_edits_along() {
    for (from, to) in [("b.py", "c.py"), ("b.py", "new/deep/b.py")] {
        for shown in ALL_SHOWN {
            let test = edited(shown).await;
            let (old, new) = (test.path(from), test.path(to));
            fs::create_dir_all(new.parent().unwrap()).unwrap();
            fs::rename(old, new).unwrap();
            notify(&test, &["other.py", from, to], shown);
            until(&test, to, &["b5 agent"]).await;
            assert_eq!(edits(&test, from).await, [""; 0]);
            assert_eq!(reject_all(&test).await.applied, 1, "{shown:?}");
            assert_eq!(test.disk(to), LINES);
            assert!(!test.path(from).exists());
            test.finish().await;
        }
    }
}

#[tokio::test]
async fn a_move_is_followed_however_its_ends_are_reported() {
    let reports: [&[&[&str]]; 3] =
        [&[&["b.py"], &["c.py"]], &[&["c.py"], &["b.py"]], &[&["b.py", "b.py", "c.py", "c.py"]]];
    for report in reports {
        for shown in ALL_SHOWN {
            let test = edited(shown).await;
            fs::rename(test.path("b.py"), test.path("c.py")).unwrap();
            report.iter().for_each(|names| notify(&test, names, shown));
            until(&test, "c.py", &["b5 agent"]).await;
            assert_eq!(edits(&test, "b.py").await, [""; 0]);
            test.finish().await;
        }
    }
}

#[tokio::test]
async fn the_files_of_a_moved_folder_take_their_edits_along() {
    let test = TestDaemon::open(Wire::Anthropic, &[("src/in/a", LINES), ("src/b", "x\n")]).await;
    let replies = [edit("c1", "src/in/a", "b5", "B5"), edit("c2", "src/b", "x", "y"), say("Done.")];
    test.play(replies).await;
    fs::rename(test.path("src"), test.path("lib")).unwrap();
    notify(&test, &["lib", "src"], Shown::Closed);
    until(&test, "lib/in/a", &["B5"]).await;
    until(&test, "lib/b", &["y"]).await;
    assert_eq!(reject_all(&test).await.applied, 2);
    assert_eq!((test.disk("lib/in/a"), test.disk("lib/b")), (LINES.to_owned(), "x\n".to_owned()));
    test.finish().await;
}

#[tokio::test]
async fn edits_of_a_file_that_is_gone_are_shown_until_they_are_forgotten() {
    for shown in ALL_SHOWN {
        let test = edited(shown).await;
        let text = test.disk("b.py");
        // It is not the same file any more.
        fs::write(test.path("c.py"), text.replace("b1", "mine")).unwrap();
        fs::remove_file(test.path("b.py")).unwrap();
        notify(&test, &["b.py", "c.py"], shown);
        until(&test, "b.py", &["outdated: b5 agent"]).await;
        assert_eq!(edits(&test, "c.py").await, [""; 0]);
        let is_lost = |hunk: &Hunk| hunk.can_apply == Some(false);
        assert!(test.hunks("b.py").await.iter().all(is_lost), "nothing is there to apply it to");

        // It returns, and what was proposed in it can be decided.
        fs::write(test.path("b.py"), &text).unwrap();
        notify(&test, &["b.py"], shown);
        until(&test, "b.py", &["b5 agent"]).await;

        fs::remove_file(test.path("b.py")).unwrap();
        notify(&test, &["b.py"], shown);
        until(&test, "b.py", &["outdated: b5 agent"]).await;
        assert_eq!(reject_all(&test).await.applied, 1, "{shown:?}");
        assert_eq!(edits(&test, "b.py").await, [""; 0]);
        assert!(!test.path("b.py").exists());

        // It returns unseen, and the next edit of it is shown.
        fs::write(test.path("b.py"), LINES).unwrap();
        test.editor.reload(&test.path("b.py"));
        test.play([edit("c2", "b.py", "b2\n", "B2\n"), say("Done.")]).await;
        assert_eq!(edits(&test, "b.py").await, ["B2"], "{shown:?}");
        test.finish().await;
    }
}

#[tokio::test]
async fn unsaved_text_keeps_the_edits_of_a_moved_file() {
    let test = edited(Shown::LoadedFirst).await;
    test.editor.type_line(&test.uri("b.py"), 0, "mine");
    fs::rename(test.path("b.py"), test.path("c.py")).unwrap();
    notify(&test, &["b.py", "c.py"], Shown::LoadedFirst);
    assert_eq!(edits(&test, "b.py").await, ["b5 agent"]);
    assert_eq!(reject_all(&test).await.applied, 1);
    assert_eq!(test.text("b.py"), format!("mine\n{LINES}"));
    test.finish().await;
}

#[tokio::test]
async fn a_line_of_another_branch_is_not_taken_out_of_it() {
    for shown in ALL_SHOWN {
        let test = edited(shown).await;
        git(test.folder(), &["stash", "-q"]);
        git(test.folder(), &["switch", "-qc", "other"]);
        let others = LINES.replace("b5", "b5 agent").replace("b8", "b8 of other");
        fs::write(test.path("b.py"), &others).unwrap();
        git(test.folder(), &["commit", "-qam", "the same line"]);
        git(test.folder(), &["switch", "-q", "main"]);
        git(test.folder(), &["stash", "pop", "-q"]);
        assert_eq!(edits(&test, "b.py").await, ["b5 agent"], "nobody has said a word so far");

        git(test.folder(), &["checkout", "-qf", "other"]);
        notify(&test, &["b.py"], shown);
        until(&test, "b.py", &["outdated: b5 agent"]).await;
        assert_eq!(reject_all(&test).await.applied, 1, "{shown:?}");
        assert_eq!(test.disk("b.py"), others);
        assert_eq!(edits(&test, "b.py").await, [""; 0]);
        test.finish().await;
    }
}

#[tokio::test]
async fn a_commit_decides_nothing() {
    for shown in ALL_SHOWN {
        let test = edited(shown).await;
        git(test.folder(), &["commit", "-qam", "with the proposal"]);
        notify(&test, &["b.py"], shown);
        // Written by another program, but not by git.
        let text = format!("mine\n{}", test.disk("b.py"));
        test.editor.changed_on_disk(&test.path("b.py"), &text);
        let is_followed = async { while test.hunks("b.py").await[0].range.start.line != 5 {} };
        tokio::time::timeout(DEADLINE, is_followed).await.expect("the edit follows its line");
        assert_eq!(reject_all(&test).await.applied, 1, "{shown:?}");
        assert_eq!(test.disk("b.py"), format!("mine\n{LINES}"));
        test.finish().await;
    }
}
