//! How boxes end: with the command, with the turn, with the daemon.

use super::*;
use crate::desk;

/// Runs a command that only ends when it is made to.
async fn sleeping(scene: &Scene) -> (Value, String) {
    let marker = desk::marker();
    let command = format!(
        "trap '' TERM HUP; setsid sleep {marker} & (env -i setsid -f sleep {marker}); sleep {marker}; sleep {marker}"
    );
    let turn = scene.begin(&command, &[]).await;
    desk::wait_until(Duration::from_secs(10), || desk::processes(&marker) > 2).await;
    (turn, marker)
}

#[tokio::test]
async fn a_cancelled_command_leaves_nothing_behind() {
    for way in WAYS {
        let Some(scene) = Scene::set(way, json!({})).await else { continue };
        let (turn, marker) = sleeping(&scene).await;
        scene.daemon.client.request("agent/cancel", turn.clone()).await.unwrap();
        scene.over(&turn).await;
        desk::until_gone(&marker).await;
        desk::wait_until(SOON, || scene.unharmed().is_ok()).await;
    }
}

#[tokio::test]
async fn a_command_is_asked_to_end_before_it_is_made_to() {
    for way in WAYS {
        let Some(scene) = Scene::set(way, json!({})).await else { continue };
        let marker = desk::marker();
        let command = format!("trap 'echo cleaned > cleaned; exit' TERM; sleep {marker} & wait");
        let turn = scene.begin(&command, &[]).await;
        let client = &scene.daemon.client;
        desk::until_running(&marker).await;
        // The line before it has the shell's own.
        desk::wait_until(SOON, || desk::processes(&format!("sleep\0{marker}")) == 1).await;
        client.request("agent/cancel", turn.clone()).await.unwrap();
        scene.over(&turn).await;
        desk::wait_until(SOON, || scene.ws().join("cleaned").exists()).await;
        desk::until_gone(&marker).await;
    }
}

#[tokio::test]
async fn a_killed_daemon_leaves_no_command_behind() {
    for way in WAYS {
        let Some(mut scene) = Scene::set(way, json!({})).await else { continue };
        let (_, marker) = sleeping(&scene).await;
        scene.daemon.kill().await;
        desk::until_gone(&marker).await;
        // Nothing of Cairn's is in the workspace.
        assert_eq!(git(&scene.ws(), &["status", "--short"]).trim(), "?? link");
        scene.begin_anew(way).await;
        assert!(scene.run("echo again", &[]).await.said.contains("again"), "{way}");
        assert_eq!(scene.unharmed(), Ok(()), "{way}");
    }
}

#[tokio::test]
async fn commands_at_once_do_not_take_away_each_others_walls() {
    for way in WAYS {
        let Some(scene) = Scene::set(way, json!({})).await else { continue };
        let (turn, marker) = sleeping(&scene).await;
        // Another session in the same folder, whose command ends first.
        for _ in 0..3 {
            let ran = scene.run("mkdir -p .vscode/x sub/.vscode/x", &[]).await;
            assert!(ran.said.contains("Read-only"), "{way}: {}", ran.said);
            assert!(!scene.ws().join(".vscode").exists(), "{way}");
        }
        scene.daemon.client.request("agent/cancel", turn.clone()).await.unwrap();
        scene.over(&turn).await;
        desk::until_gone(&marker).await;
        assert_eq!(scene.unharmed(), Ok(()), "{way}");
    }
}

#[tokio::test]
async fn the_temporary_folder_goes_with_the_daemon() {
    for way in WAYS {
        let Some(mut scene) = Scene::set(way, json!({})).await else { continue };
        let mark = format!("{}-{way}", std::process::id());
        assert!(scene.run(&format!("touch /tmp/{mark}"), &[]).await.ok, "{way}");
        let folders = || {
            let all = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
            all.filter(|entry| entry.path().join("tmp").join(&mark).exists()).count()
        };
        assert_eq!(folders(), 1, "{way}");
        scene.daemon.client.close();
        scene.daemon.ends_within(SOON).await;
        desk::wait_until(SOON, || folders() == 0).await;
    }
}
