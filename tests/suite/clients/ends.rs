//! End of the real binary after its input has closed, whatever it does at that moment. `ENDS=100` repeats
//! each row, holds the two seconds that editors wait, and prints the longest times.

use std::{
    fs,
    io::Write,
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::ExitStatusExt,
    },
    path::Path,
    time::{Duration, Instant},
};

use cairn_tests::{
    editor_double,
    lsp_client::{Daemon, binary},
};
use rustix::{
    fs::{CWD, FileType, Mode, OFlags, fcntl_getfl, fcntl_setfl, mknodat},
    process::Signal,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::lifecycle::{LIMIT, hello};

/// A daemon at work, with what must exist as long as it runs.
struct AtWork {
    daemon: Daemon,
    /// Only its watchdog can end it.
    hangs: bool,
    _kept: Box<dyn Send>,
}

/// Each thread that writes a line to its log never returns from it.
async fn hangs() -> AtWork {
    let (unread, mut log) = std::io::pipe().unwrap();
    let flags = fcntl_getfl(&log).unwrap();
    fcntl_setfl(&log, flags | OFlags::NONBLOCK).unwrap();
    while log.write(&[b'.'; 4096]).is_ok() {}
    fcntl_setfl(&log, flags).unwrap();
    let daemon = Daemon::spawn(|command| {
        command.stderr(log);
    });
    (0..3).for_each(|_| daemon.client.send(&json!({})));
    AtWork { daemon, hangs: true, _kept: Box::new(unread) }
}

async fn gets_a_long_key() -> AtWork {
    let daemon = Daemon::spawn(|_| {});
    daemon.client.initialize(hello(None)).await;
    let key = "k".repeat(1024 * 1024);
    daemon.client.notify("agent/credentials", json!({ "provider": "openai", "key": key }));
    AtWork { daemon, hangs: false, _kept: Box::new(()) }
}

/// Rules of a clone lead to a file without an end, and its Git folder to a pipe that nobody writes.
async fn searches_a_trap() -> AtWork {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    for rules in [".ignore", ".gitignore", "sub/.ignore", "AGENTS.md"] {
        symlink("/dev/zero", folder.path().join(rules)).unwrap();
    }
    let pipe = folder.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
    fs::create_dir(folder.path().join("git")).unwrap();
    symlink(&pipe, folder.path().join("git/commondir")).unwrap();
    fs::write(folder.path().join(".git"), "gitdir: git\n").unwrap();
    let calls = [
        json!({ "name": "grep", "arguments": { "pattern": "x" } }),
        json!({ "name": "bash", "arguments": { "command": "true" } }),
    ];
    runs(Daemon::spawn(|_| {}), folder, &calls).await
}

/// Returns true if a test may mount a disk. CI sets the variable, because it must work there.
fn can_mount() -> bool {
    #[expect(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let tried =
        std::process::Command::new("unshare").args(["--map-root-user", "--mount", "true"]).status();
    let can = tried.is_ok_and(|status| status.success());
    assert!(can || std::env::var_os("CAIRN_NEEDS_SANDBOX").is_none(), "no disk can be mounted");
    can
}

/// The state folder is on a disk without room.
async fn writes_to_a_full_disk() -> AtWork {
    let folder = tempfile::tempdir().unwrap();
    let start = folder.path().join("start");
    let script = format!(
        "#!/bin/sh\nexec unshare --map-root-user --mount sh -c 'mount -t tmpfs -o size=64k none \"$CAIRN_STATE_DIR\" && ! head -c 1M /dev/zero > \"$CAIRN_STATE_DIR/full\" && exec {}'\n",
        binary().display()
    );
    fs::write(&start, script).unwrap();
    fs::set_permissions(&start, fs::Permissions::from_mode(0o700)).unwrap();
    let write = json!({ "path": "new.txt", "content": "one\n" });
    let daemon = Daemon::of(&start, |_| {});
    runs(daemon, folder, &[json!({ "name": "write_file", "arguments": write })]).await
}

/// Begins a turn with these calls, and returns when the first one is told of.
async fn runs(daemon: Daemon, folder: TempDir, calls: &[Value]) -> AtWork {
    let script = folder.path().join("script.json");
    let steps = json!([{ "calls": calls }, { "text": "Done." }]);
    fs::write(&script, json!({ "cairnReplay": 1, "steps": steps }).to_string()).unwrap();
    let mut params = hello(None);
    let uri = |path: &Path| editor_double::uri(path);
    params["workspaceFolders"] = json!([{ "uri": uri(folder.path()), "name": "work" }]);
    params["initializationOptions"]["settings"]["model"] =
        json!({ "provider": "replay", "replayFile": script });
    daemon.client.initialize(params).await;
    daemon.client.request("agent/runTask", json!({ "text": "Do it" })).await.unwrap();
    daemon.client.notification("agent/tool", |_| true).await;
    AtWork { daemon, hangs: false, _kept: Box::new(folder) }
}

/// Closes the input of the daemon and returns the time until it has ended.
async fn time_to_end(AtWork { mut daemon, hangs, _kept }: AtWork, limit: Duration) -> Duration {
    daemon.client.close();
    let closed = Instant::now();
    let status = daemon.ends_within(limit).await;
    let took = closed.elapsed();
    assert_eq!(status.signal(), hangs.then_some(Signal::ABORT.as_raw()), "{status}");
    assert!(!hangs || daemon.client.unread().is_empty(), "it did not hang");
    took
}

#[tokio::test]
async fn the_daemon_ends_with_its_input_whatever_it_does() {
    let times: Option<u32> = std::env::var("ENDS").ok().map(|times| times.parse().unwrap());
    // On a busy machine only a daemon that never ends takes as long.
    let limit = if times.is_some() { LIMIT } else { 10 * LIMIT };
    let can_mount = can_mount();
    if !can_mount {
        // Not captured by the harness, so it is printed although the test passes.
        let line = "SKIPPED, the end on a full disk: this system forbids to mount one\n";
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    let mut longest = [Duration::ZERO; 4];
    for _ in 0..times.unwrap_or(1) {
        let took = [
            time_to_end(hangs().await, limit).await,
            time_to_end(gets_a_long_key().await, limit).await,
            time_to_end(searches_a_trap().await, limit).await,
            match can_mount {
                true => time_to_end(writes_to_a_full_disk().await, limit).await,
                false => Duration::ZERO,
            },
        ];
        longest = std::array::from_fn(|row| longest[row].max(took[row]));
    }
    eprintln!("longest times to the end: {longest:.2?}");
}
