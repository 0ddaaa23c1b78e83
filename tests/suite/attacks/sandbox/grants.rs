//! Grants for commands, and questions without a sandbox.

use super::*;

#[tokio::test]
async fn the_git_permission_excludes_hooks_and_config() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let refused = test.run("echo two >> a.txt && git commit -qam Second", &[]).await;
        assert!(
            !refused.ok && refused.said.contains("needs: [\"git\"]"),
            "{way}: {}",
            refused.said
        );
        let ran = test.run("git commit -qam Second && git switch -qc side && git log --oneline | wc -l && git status --short", &["git"]).await;
        assert!(ran.ok && ran.said.starts_with("2\n?? link\n"), "{way}: {}", ran.said);
        let asked = ran.asked.unwrap();
        assert_eq!(asked["needs"], json!(["git"]), "{way}");
        assert_eq!(
            english(&asked["title"]),
            "Run a command that may change .git (except hooks and config)"
        );
        for command in [
            "echo evil > .git/hooks/pre-commit",
            "echo evil >> .git/config",
            "git config core.fsmonitor evil",
            "mv .git/hooks .git/old",
            "mv .git .old",
            "rm .git/config",
        ] {
            let ran = test.run(&format!("{command} && echo BREACH"), &["git"]).await;
            assert!(!ran.ok && !ran.said.contains("BREACH"), "{way}, {command}: {}", ran.said);
        }
        for command in ["echo evil > .git/config.worktree", "echo /tmp/evil > .git/commondir"] {
            let ran = test.run(command, &["git"]).await;
            assert!(ran.said.contains("moved to"), "{way}, {command}: {}", ran.said);
        }
        assert_eq!(test.unharmed(), Ok(()));
        let git = test.ws().join(".git");
        assert!(!git.join("commondir").exists() && !git.join("config.worktree").exists());
        // Not even a grant lets them be written for the next command.
        assert!(!test.run("touch .git/x", &[]).await.ok);
    }
}

#[tokio::test]
async fn the_network_permission_holds_for_one_command() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let connect = "exec 3<>/dev/tcp/127.0.0.1/@port && echo connected";
        let refused = test
            .run(
                "getent hosts cairn.invalid || echo 'Temporary failure in name resolution'; false",
                &[],
            )
            .await;
        assert!(refused.said.contains("needs: [\"network\"]"), "{way}: {}", refused.said);
        let ran = test.run(connect, &["network"]).await;
        assert!(ran.ok && ran.said.contains("connected"), "{way}: {}", ran.said);
        assert!(test.tcp.accept().is_ok(), "{way}");
        assert_eq!(english(&ran.asked.unwrap()["title"]), "Run a command with network access");
        // Only the network.
        let still = test
            .run("cat /etc/resolv.conf >/dev/null; cat ~/.netrc; touch .git/x", &["network"])
            .await;
        assert!(!still.ok && !still.said.contains(CANARY), "{way}: {}", still.said);
        assert!(!test.run(connect, &[]).await.ok, "{way}");
        assert_eq!(test.unharmed(), Ok(()));
    }
}

#[tokio::test]
async fn an_allow_rule_grants_no_permission() {
    let settings = json!({ "shell": { "approval": "allowlist", "allow": ["touch *"] } });
    let Some(test) = SandboxTest::set(WAYS[0], settings).await else { return };
    let turn = test.begin("touch made", &[]).await;
    // No user can be asked.
    test.over(&turn).await;
    assert!(test.ws().join("made").exists());
    let asked = test.run("touch made", &["network"]).await.asked.unwrap();
    assert_eq!(asked["needs"], json!(["network"]));
}

#[tokio::test]
async fn without_a_sandbox_every_command_asks_and_the_status_shows_it() {
    let allow = json!({ "approval": "allowlist", "allow": ["touch *"] });
    for (way, settings) in [
        ("none", json!({ "shell": allow })),
        ("any", json!({ "shell": allow, "sandbox": { "mode": "off" } })),
    ] {
        let test = SandboxTest::set(way, settings).await.unwrap();
        let state = test.daemon.client.request("agent/state", json!({})).await.unwrap();
        let banners = state["status"]["banners"].as_array().unwrap();
        assert!(banners.iter().any(|banner| banner["kind"] == "sandbox"), "{way}: {banners:?}");
        let ran = test.run("touch made ../beside", &[]).await;
        assert!(ran.ok, "{way}: {}", ran.said);
        assert_eq!(
            english(&ran.asked.unwrap()["title"]),
            "Run a command without a sandbox",
            "{way}"
        );
        assert!(test.home().join("beside").exists(), "{way}");
    }
}

#[tokio::test]
async fn settings_open_folders_and_the_network() {
    for way in WAYS {
        let folder = tempfile::tempdir_in(visible_folder()).unwrap();
        let settings = json!({ "sandbox": { "writable": [folder.path()], "network": true } });
        let Some(test) = SandboxTest::set(way, settings).await else { continue };
        let command =
            format!("touch {}/x && exec 3<>/dev/tcp/127.0.0.1/@port", folder.path().display());
        let ran = test.run(&command, &[]).await;
        assert!(ran.ok && folder.path().join("x").exists(), "{way}: {}", ran.said);
        assert!(test.tcp.accept().is_ok(), "{way}");
    }
}
