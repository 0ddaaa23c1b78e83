//! Commands without a sandbox on Linux: how they end, and that nothing of them outlives the daemon.

use super::*;
use crate::fixtures;

/// Each starts a process that is an orphan in a session of its own, without the environment of the
/// command.
const DAEMONS: &[&str] = &[
    "(env -i setsid -f sleep @marker); sleep @marker",
    // By hand: two forks, the second one of a session leader.
    "(env -i setsid sh -c 'cd /; exec >&- 2>&-; (sleep @marker &) ; exit' &); sleep @marker",
    // It keeps starting others.
    "env -i setsid -f sh -c 'while :; do (setsid -f sleep @marker); sleep 0.02; done'; sleep @marker",
];

/// Others whose processes leave the group.
const STRAYS: &[&str] = &[
    "setsid sleep @marker & sleep @marker",
    "setsid sleep @marker & echo; sleep @marker",
    "(setsid bash -c 'sleep @marker & disown' &) ; sleep @marker",
    "setsid bash -c 'trap \"\" TERM HUP; sleep @marker; true' & sleep @marker",
    // A process whose name is invalid UTF-8.
    "d=$(mktemp -d); trap 'rm -r $d; exit' TERM; ln -s $(command -v sleep) $d/$'\\377'; \
     setsid bash -c 'exec -a sleep $0 @marker' $d/$'\\377' & wait",
    "kill -STOP $PPID; sleep @marker",
];

#[tokio::test]
async fn a_detached_process_does_not_survive_a_killed_daemon() {
    for command in DAEMONS.iter().cycle().take(20) {
        let mut test = SandboxTest::set("none", json!({})).await.unwrap();
        let marker = fixtures::marker();
        test.begin(&command.replace("@marker", &marker), &[]).await;
        // The shell names the marker too, with words around it.
        let daemon = format!("sleep\0{marker}\0");
        fixtures::wait_until(Duration::from_secs(10), || fixtures::processes(&daemon) > 0).await;
        test.daemon.kill().await;
        fixtures::until_gone(&marker).await;
    }
}

/// The guard of the command may just be starting.
#[tokio::test]
async fn a_command_does_not_survive_a_daemon_killed_at_its_start() {
    for command in DAEMONS.iter().cycle().take(20) {
        let mut test = SandboxTest::set("none", json!({})).await.unwrap();
        let marker = fixtures::marker();
        test.begin(&command.replace("@marker", &marker), &[]).await;
        fixtures::wait_until(Duration::from_secs(10), || fixtures::processes(&marker) > 0).await;
        test.daemon.kill().await;
        fixtures::until_gone(&marker).await;
    }
}

#[tokio::test]
async fn cancel_kills_all_processes_without_a_sandbox() {
    for command in DAEMONS.iter().chain(STRAYS) {
        let test = SandboxTest::set("none", json!({})).await.unwrap();
        let marker = fixtures::marker();
        let turn = test.begin(&command.replace("@marker", &marker), &[]).await;
        let daemon = format!("sleep\0{marker}\0");
        fixtures::wait_until(Duration::from_secs(10), || fixtures::processes(&daemon) > 0).await;
        test.daemon.client.request("agent/cancel", turn.clone()).await.unwrap();
        test.over(&turn).await;
        fixtures::until_gone(&marker).await;
    }
}

#[tokio::test]
async fn a_command_ends_with_its_shell() {
    let test = SandboxTest::set("none", json!({})).await.unwrap();
    let marker = fixtures::marker();
    let left = format!("sleep {marker} & echo left");
    let hint = format!(
        "1 left in the background, ended (`sleep {marker}`): call bash again with \
         `background: true` for what should stay, without `&`"
    );
    let daemon = format!("env -i setsid -f sleep {marker}; echo left");
    let sessions = format!(
        "setsid sleep {marker} & setsid -f sleep {marker}; (setsid sleep {marker} &); \
         nohup setsid bash -c 'sleep {marker} & sleep {marker}' >/dev/null 2>&1 & echo left"
    );
    for (command, said, ok) in [
        ("echo out; echo err >&2", &["out", "err"][..], true),
        ("exit 3", &["exit code 3"], false),
        ("kill -9 $$", &["signal 9"], false),
        // The process group is the shell's own.
        ("trap 'echo asked' TERM; kill 0; echo on", &["asked", "on"], true),
        ("trap 'echo asked' TERM; kill -TERM -- -$$; echo on", &["asked", "on"], true),
        ("cat; echo read", &["read"], true),
        (&left, &["left", &hint], true),
        (&daemon, &["left", "1 left in the background, ended"], true),
        (&sessions, &["left", "left in the background, ended"], true),
        ("kill -9 $PPID; sleep 0.2; echo on", &[], false),
    ] {
        let ran = test.run(command, &[]).await;
        assert_eq!(ran.ok, ok, "{command}: {}", ran.said);
        for words in said {
            assert!(ran.said.contains(words), "{command}: {}", ran.said);
        }
    }
    fixtures::until_gone(&marker).await;
}

#[tokio::test]
async fn a_command_gets_sigterm_before_sigkill() {
    let test = SandboxTest::set("none", json!({})).await.unwrap();
    let marker = fixtures::marker();
    let command = format!("trap 'echo cleaned > cleaned; exit' TERM; sleep {marker} & wait");
    let turn = test.begin(&command, &[]).await;
    let sleep = format!("sleep\0{marker}\0");
    fixtures::wait_until(SOON, || fixtures::processes(&sleep) == 1).await;
    test.daemon.client.request("agent/cancel", turn.clone()).await.unwrap();
    test.over(&turn).await;
    fixtures::wait_until(SOON, || test.ws().join("cleaned").exists()).await;
    fixtures::until_gone(&marker).await;
}
