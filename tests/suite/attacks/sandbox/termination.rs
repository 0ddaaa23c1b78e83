//! End of sandboxes: with the command, with the turn, with the daemon.

use super::*;
use crate::fixtures;

/// Runs a command that only ends when it is made to.
async fn sleeping(test: &SandboxTest) -> (Value, String) {
    let marker = fixtures::marker();
    let command = format!(
        "trap '' TERM HUP; setsid sleep {marker} & (env -i setsid -f sleep {marker}); sleep {marker}; sleep {marker}"
    );
    let turn = test.begin(&command, &[]).await;
    fixtures::wait_until(Duration::from_secs(10), || fixtures::processes(&marker) > 2).await;
    (turn, marker)
}

#[tokio::test]
async fn cancel_kills_all_processes_in_the_sandbox() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let (turn, marker) = sleeping(&test).await;
        test.daemon.client.request("agent/cancel", turn.clone()).await.unwrap();
        test.over(&turn).await;
        fixtures::until_gone(&marker).await;
        fixtures::wait_until(SOON, || test.unharmed().is_ok()).await;
    }
}

#[tokio::test]
async fn a_sandboxed_command_gets_sigterm_before_sigkill() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let marker = fixtures::marker();
        let command = format!("trap 'echo cleaned > cleaned; exit' TERM; sleep {marker} & wait");
        let turn = test.begin(&command, &[]).await;
        let client = &test.daemon.client;
        fixtures::until_running(&marker).await;
        // The line before it has the shell's own.
        fixtures::wait_until(SOON, || fixtures::processes(&format!("sleep\0{marker}")) == 1).await;
        client.request("agent/cancel", turn.clone()).await.unwrap();
        test.over(&turn).await;
        fixtures::wait_until(SOON, || test.ws().join("cleaned").exists()).await;
        fixtures::until_gone(&marker).await;
    }
}

#[tokio::test]
async fn a_killed_daemon_leaves_no_sandboxed_command_running() {
    for way in WAYS {
        let Some(mut test) = SandboxTest::set(way, json!({})).await else { continue };
        let (_, marker) = sleeping(&test).await;
        test.daemon.kill().await;
        fixtures::until_gone(&marker).await;
        // Nothing of Cairn's is in the workspace.
        assert_eq!(git(&test.ws(), &["status", "--short"]).trim(), "?? link");
        test.begin_anew(way).await;
        assert!(test.run("echo again", &[]).await.said.contains("again"), "{way}");
        assert_eq!(test.unharmed(), Ok(()), "{way}");
    }
}

#[tokio::test]
async fn concurrent_commands_keep_their_own_sandboxes() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let (turn, marker) = sleeping(&test).await;
        // Another session in the same folder, whose command ends first.
        for _ in 0..3 {
            let ran = test.run("mkdir -p .vscode/x sub/.vscode/x", &[]).await;
            assert!(ran.said.contains("Read-only"), "{way}: {}", ran.said);
            assert!(!test.ws().join(".vscode").exists(), "{way}");
        }
        test.daemon.client.request("agent/cancel", turn.clone()).await.unwrap();
        test.over(&turn).await;
        fixtures::until_gone(&marker).await;
        assert_eq!(test.unharmed(), Ok(()), "{way}");
    }
}

#[tokio::test]
async fn the_temporary_folder_is_removed_with_the_daemon() {
    for way in WAYS {
        let Some(mut test) = SandboxTest::set(way, json!({})).await else { continue };
        let mark = format!("{}-{way}", std::process::id());
        assert!(test.run(&format!("touch /tmp/{mark}"), &[]).await.ok, "{way}");
        let folders = || {
            let all = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
            all.filter(|entry| entry.path().join("tmp").join(&mark).exists()).count()
        };
        assert_eq!(folders(), 1, "{way}");
        test.daemon.client.close();
        test.daemon.ends_within(SOON).await;
        fixtures::wait_until(SOON, || folders() == 0).await;
    }
}
