//! Files outside the workspace that the agent reads, searches and writes as a command would, and images that it reads.

use std::{fs, path::Path};

use cairn_protocol::EndReason;
use cairn_tests::model_server::Wire;
use serde_json::json;

use crate::{attacks::sandbox::visible_folder, fixtures::*};

#[tokio::test]
async fn a_dependency_is_read_and_searched_but_not_edited() {
    let dependency = tempfile::tempdir_in(visible_folder()).unwrap();
    let settings = json!({ "sandbox": { "readable": [dependency.path()] } });
    let test = TestDaemon::with(Wire::Anthropic, &[], settings).await;
    let at = |name: &str| dependency.path().join(name).display().to_string();
    fs::create_dir(at("it's")).unwrap();
    fs::write(at("it's/lib.rs"), "one\ntwo\nthree\n").unwrap();
    let file = at("it's/lib.rs");
    test.play([
        call("c1", "read_file", json!({ "path": file })),
        call("c2", "read_file", json!({ "path": file, "offset": 2, "limit": 1 })),
        call("c3", "read_file", json!({ "path": at("it's") })),
        call("c4", "grep", json!({ "pattern": "^t(w|h)", "path": file, "after": 1 })),
        call(
            "c5",
            "grep",
            json!({ "pattern": "TWO", "ignore_case": true, "path": file, "output": "files" }),
        ),
        // Files with secrets may lie in a folder that the user shows.
        call("c6", "grep", json!({ "pattern": "two", "path": at("it's") })),
        call(
            "c7",
            "edit_file",
            json!({ "path": file, "edits": [{ "old_text": "two", "new_text": "2" }] }),
        ),
        say("Read."),
    ])
    .await;
    let requests = test.finish().await;
    let told = |at: usize| result(&requests[at], &format!("c{at}"));
    let remark = "[cairn] Outside the workspace: it can be read, not edited.";
    for (at, text) in [
        (1, "     1\tone\n     2\ttwo\n     3\tthree\n"),
        (2, "     2\ttwo\n"),
        (3, "lib.rs\n"),
        (4, "2:two\n"),
        (5, "lib.rs\n"),
    ] {
        assert!(told(at).contains(text) && told(at).ends_with(remark), "{at}: {}", told(at));
    }
    assert!(told(2).starts_with("     2\ttwo\n[cairn]"), "{}", told(2));
    for refused in [6, 7] {
        assert!(told(refused).contains("is outside the workspace"), "{}", told(refused));
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\ntwo\nthree\n");
}

#[tokio::test]
async fn libraries_need_no_approval() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.play([
        call("c1", "read_file", json!({ "path": "/usr/lib/os-release" })),
        call("c2", "grep", json!({ "pattern": "^ID=", "path": "/usr/lib/os-release" })),
        call("c3", "read_file", json!({ "path": "/usr/lib/absent" })),
        call("c4", "grep", json!({ "pattern": "^ID=", "path": "/usr/lib", "glob": "os-release" })),
        say("Read."),
    ])
    .await;
    let requests = test.finish().await;
    let told = |at: usize| result(&requests[at], &format!("c{at}"));
    assert!(told(1).contains("\tID="), "{}", told(1));
    assert!(told(2).contains(":ID="), "{}", told(2));
    assert!(told(3).contains("No such file"), "{}", told(3));
    assert!(told(4).contains("/usr/lib/os-release:"), "{}", told(4));
}

/// The temporary folder of commands is not the machine's.
#[tokio::test]
async fn a_file_in_the_temporary_folder_is_written_for_commands() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.editor.will_answer(allow());
    let name = format!("/tmp/cairn-{}/note", marker());
    let text = "it's $HOME\n`true`";
    let end = test
        .play([
            call("c1", "write_file", json!({ "path": name, "content": text })),
            call("c2", "read_file", json!({ "path": name })),
            call("c3", "write_file", json!({ "path": "/tmp/../etc/x", "content": text })),
            say("Noted."),
        ])
        .await;
    assert_eq!(end.reason, EndReason::Completed);
    let requests = test.finish().await;
    let told = |at: usize| result(&requests[at], &format!("c{at}"));
    assert!(told(1).contains("the user does not review it"), "{}", told(1));
    assert!(told(2).starts_with("     1\tit's $HOME\n     2\t`true`"), "{}", told(2));
    assert!(told(3).contains("is outside the workspace"), "{}", told(3));
    assert!(!Path::new(&name).exists(), "the machine has it");
}

#[tokio::test]
async fn the_model_gets_an_image_that_it_reads() {
    let pixel = b"\x89PNG\r\n\x1a\nand the rest";
    for wire in ALL {
        let test = TestDaemon::open(wire, &[]).await;
        fs::write(test.path("a.png"), pixel).unwrap();
        test.play([call("c1", "view_image", json!({ "path": "a.png" })), say("A pixel.")]).await;
        let requests = test.finish().await;
        let told = result(&requests[1], "c1");
        assert!(told.contains("is an image (image/png, 20 bytes)"), "{wire:?}: {told}");
        let sent = String::from_utf8_lossy(&requests[1].body).into_owned();
        assert!(sent.contains("iVBORw0KGgphbmQgdGhlIHJlc3Q="), "{wire:?}: {sent}");
        assert!(sent.contains("The image of a.png is in this message."), "{wire:?}: {sent}");
    }
}
