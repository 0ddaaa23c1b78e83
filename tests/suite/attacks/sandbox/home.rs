//! Home folder in the sandbox: tokens and sockets in it cannot be reached.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use super::*;
use crate::attacks::{put, ran};

/// Files that hold tokens, keys, sessions or the habits of a user, below the home folder.
pub(super) const TOKENS: &[&str] = &[
    // Clouds and hosting.
    ".aws/credentials",
    ".aws/sso/cache/token.json",
    ".azure/msal_token_cache.json",
    ".config/gcloud/application_default_credentials.json",
    ".config/doctl/config.yaml",
    ".config/linode-cli",
    ".config/hcloud/cli.toml",
    ".config/scw/config.yaml",
    ".config/rclone/rclone.conf",
    ".s3cfg",
    ".boto",
    ".oci/config",
    ".bluemix/config.json",
    ".fly/config.yml",
    ".config/heroku/credentials.json",
    ".config/netlify/config.json",
    ".local/share/com.vercel.cli/auth.json",
    ".railway/config.json",
    ".config/.wrangler/config/default.toml",
    ".config/stripe/config.toml",
    ".sentryclirc",
    ".config/configstore/firebase-tools.json",
    ".supabase/access-token",
    ".pulumi/credentials.json",
    ".terraformrc",
    ".terraform.d/credentials.tfrc.json",
    // Code hosts.
    ".config/gh/hosts.yml",
    ".config/glab-cli/config.yml",
    ".config/hub",
    ".config/tea/config.yml",
    ".config/github-copilot/apps.json",
    ".config/git/credentials",
    ".git-credentials",
    ".netrc",
    ".ssh/id_ed25519",
    ".config/jj/config.toml",
    ".subversion/auth/svn.simple/a",
    ".hgrc",
    // Package managers.
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".config/pnpm/rc",
    ".bunfig.toml",
    ".pypirc",
    ".config/pypoetry/auth.toml",
    ".config/pip/pip.conf",
    ".local/share/uv/credentials/credentials.toml",
    ".condarc",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".gradle/init.gradle",
    ".ivy2/.credentials",
    ".sbt/1.0/credentials.sbt",
    ".nuget/NuGet/NuGet.Config",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".gem/credentials",
    ".bundle/config",
    ".hex/hex.config",
    ".pub-cache/credentials.json",
    ".conan2/credentials.json",
    ".config/go/env",
    ".android/adbkey",
    // Containers and secrets.
    ".docker/config.json",
    ".config/containers/auth.json",
    ".kube/config",
    ".config/helm/registry/config.json",
    ".vault-token",
    ".config/sops/age/keys.txt",
    ".age/key.txt",
    ".gnupg/private-keys-v1.d/a.key",
    ".password-store/mail.gpg",
    ".config/op/config",
    ".config/Bitwarden CLI/data.json",
    ".local/share/keyrings/login.keyring",
    ".local/share/kwalletd/kdewallet.kwl",
    ".config/keepassxc/keepassxc.ini",
    // Models and other agents.
    ".cache/huggingface/token",
    ".huggingface/token",
    ".kaggle/kaggle.json",
    ".config/wandb/settings",
    ".claude/.credentials.json",
    ".claude.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".cursor/cli-config.json",
    ".aider.conf.yml",
    ".continue/config.yaml",
    ".local/share/opencode/auth.json",
    ".config/goose/secrets.yaml",
    ".qwen/oauth_creds.json",
    // Databases.
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".mongorc.js",
    ".dbshell",
    ".snowsql/config",
    ".databrickscfg",
    ".config/redis/auth",
    ".local/share/DBeaverData/workspace6/General/.dbeaver/credentials-config.json",
    // Mail, messages and browsers.
    ".msmtprc",
    ".mbsyncrc",
    ".muttrc",
    ".fetchmailrc",
    ".thunderbird/p.default/logins.json",
    ".config/Slack/Cookies",
    ".config/Signal/config.json",
    ".config/discord/Cookies",
    ".mozilla/firefox/p.default/logins.json",
    ".config/google-chrome/Default/Login Data",
    ".config/chromium/Default/Cookies",
    ".var/app/org.mozilla.firefox/data/logins.json",
    "snap/firefox/common/.mozilla/firefox/p/logins.json",
    // Habits and documents.
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".local/share/fish/fish_history",
    ".local/share/atuin/history.db",
    ".lesshst",
    ".viminfo",
    ".env",
    ".bashrc.d/tokens.sh",
    ".zshenv",
    ".config/Code/User/globalStorage/state.vscdb",
    ".vscode-server/data/User/globalStorage/state.vscdb",
    ".config/environment.d/keys.conf",
    "Documents/passwords.txt",
    "projects/other/.env",
    "notes.txt",
];

fn fill(home: &Path) {
    for name in TOKENS {
        put(home, &[(name, CANARY.as_bytes())]);
    }
}

/// A command that names each file it could read, one a line.
fn reads_all() -> String {
    let names: Vec<String> = TOKENS.iter().map(|name| format!("'{name}'")).collect();
    format!("cd && grep -ls {CANARY} {} | sed 's/^/read: /'; true", names.join(" "))
}

fn read(said: &str) -> Vec<&str> {
    said.lines().filter_map(|line| line.strip_prefix("read: ")).collect()
}

#[tokio::test]
async fn no_token_in_the_home_folder_is_read() {
    assert!(TOKENS.len() >= 80);
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        fill(&test.home());
        let got = test.run(&reads_all(), &[]).await;
        let read = read(&got.said);
        assert!(got.ok, "{way}: {}", got.said);
        assert!(read.is_empty(), "{way}: {} of {} read: {read:#?}", read.len(), TOKENS.len());
        // By any of its names.
        let all = test.run(&format!("grep -rls {CANARY} ~ ; true"), &[]).await;
        assert!(!all.said.contains(CANARY) && !all.said.contains("home/"), "{way}: {}", all.said);
        ran(TOKENS.len() + 1);
    }
}

/// Commands that try to reach what is in the home folder, around the allow-list: a token inside of what is
/// shown, links out of it, settings that hold a token, and what the next command is shown.
const AROUND: &[&str] = &[
    "cat ~/.cargo/bin/credentials.toml ~/.local/share/pnpm/.npmrc ~/.rbenv/plugins/.git/config",
    "cat ~/.local/bin/key ~/.local/bin/secret-tool ~/.cargo/bin/all/.ssh/id_test",
    "cat ~/.gitconfig; git config --list; GIT_CONFIG_GLOBAL=~/.config/git/config git config --list",
    "cat ~/.cargo/config.toml ~/.cargo/config",
    "cat ~/.volta/bin/id_test ~/.deno/bin/deno",
    "mv ~/.cargo ~/old; rm -rf ~/.cargo ~/.local; ln -s ../../../home ~/.cargo; ls -R ~ | head",
    "cat ~/../home/.netrc /proc/self/root$HOME/.netrc /proc/1/root$HOME/.netrc",
    "umount ~ ; unshare -r true; cat ~/.netrc",
    "find ~/.. -name id_test -exec cat {} + ; grep -rs the-canary /tmp /dev /run",
];

fn put_around(home: &Path) {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let token = CANARY.as_bytes();
    let git = format!(
        "[user]\n\tname = At Home\n[http]\n\textraheader = \"Authorization: {CANARY}\"\n\
         [url \"https://me:{CANARY}@example.invalid/\"]\n\tinsteadOf = https://example.invalid/\n"
    );
    let cargo = format!("# {CANARY}\n[registry]\ntoken = \"{CANARY}\"\n[net]\noffline = true\n");
    put(
        home,
        &[
            (".cargo/bin/credentials.toml", token),
            (".cargo/bin/rustc", b"x"),
            (".cargo/config.toml", cargo.as_bytes()),
            (".local/share/pnpm/.npmrc", token),
            (".rbenv/plugins/.git/config", token),
            (".secrets/tool", token),
            (".local/bin/a", b"x"),
            (".gitconfig", git.as_bytes()),
            (".deno/x", b"x"),
        ],
    );
    symlink(home.join(".ssh/id_test"), home.join(".local/bin/key")).unwrap();
    fs::set_permissions(home.join(".ssh/id_test"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("../../.secrets/tool", home.join(".local/bin/secret-tool")).unwrap();
    symlink(home, home.join(".cargo/bin/all")).unwrap();
    fs::create_dir_all(home.join(".volta")).unwrap();
    symlink("../.ssh", home.join(".volta/bin")).unwrap();
    symlink("..", home.join(".deno/bin")).unwrap();
}

#[tokio::test]
async fn no_path_avoids_the_allow_list_of_the_home_folder() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        put_around(&test.home());
        let harmless =
            "cat ~/.cargo/bin/rustc && git config --global user.name && cat ~/.cargo/config.toml";
        let got = test.run(harmless, &[]).await;
        let want = got.said.starts_with("xAt Home\n") && got.said.contains("offline = true");
        assert!(got.ok && want, "{way}: {}", got.said);
        for attack in AROUND {
            let got = test.run(attack, &[]).await;
            assert!(!got.said.contains(CANARY), "{way}, {attack}: {}", got.said);
            assert_eq!(test.unharmed(), Ok(()), "{way}, {attack}");
        }
        // The file is unchanged.
        let got = test.run(harmless, &[]).await;
        assert!(got.ok && want, "{way}: {}", got.said);
        ran(AROUND.len());
    }
}

#[tokio::test]
async fn no_socket_of_the_user_is_reached() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let bind = |name: &str| {
            let path = test.home().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let listener = UnixListener::bind(&path).unwrap();
            listener.set_nonblocking(true).unwrap();
            (path, listener)
        };
        // Beside the home folder, as a service of the system has it.
        let elsewhere = test.root.path().join("service.sock");
        let listener = UnixListener::bind(&elsewhere).unwrap();
        listener.set_nonblocking(true).unwrap();
        let mut all = vec![(elsewhere, listener)];
        // Its name makes the kernel's list of sockets invalid UTF-8.
        let odd = test.root.path().join(OsStr::from_bytes(b"\xff"));
        let _odd = UnixListener::bind(odd).unwrap();
        all.extend(
            [".docker/run/docker.sock", ".1password/agent.sock", "s.sock", ".local/share/pnpm/s"]
                .map(bind),
        );
        for (path, listener) in &all {
            let attack = format!(
                "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('{}'); s.send(b'x'); print('in')\"",
                path.display()
            );
            let got = test.run(&attack, &[]).await;
            assert!(!got.said.starts_with("in\n"), "{way}, {}: {}", path.display(), got.said);
            assert!(listener.accept().is_err(), "{way}, {}", path.display());
        }
        ran(all.len());
    }
}

#[tokio::test]
async fn a_home_folder_as_workspace_shows_only_names_without_a_dot() {
    use cairn_tests::model_server::Wire;

    use crate::{attacks::AttackTest, fixtures::allow};
    for way in WAYS {
        let folder = tempfile::tempdir_in(visible_folder()).unwrap();
        // Read at a login, or a document: plain names are worked with, as in any workspace.
        let hidden = |name: &&&str| name.starts_with('.');
        for name in TOKENS.iter().filter(hidden) {
            put(folder.path(), &[(name, CANARY.as_bytes())]);
        }
        put(
            folder.path(),
            &[("notes/a", b"seen\n"), ("top.txt", b"seen\n"), (".nvm/nvm.sh", b"nvm\n")],
        );
        let home = folder.path().canonicalize().unwrap();
        let test = AttackTest::within(folder, &[""], Wire::Anthropic, json!({}), |command| {
            command.env("CAIRN_SANDBOX", way).env("HOME", &home);
        })
        .await;
        test.editor.will_always_answer(allow());
        let script =
            "cat notes/a top.txt .nvm/nvm.sh; echo b > notes/b; touch new; grep -rls the-canary . ";
        let told = test.told([("bash", json!({ "command": script }))]).await;
        if told[0].contains("without a sandbox") || told[0].contains(".netrc") && way == "none" {
            continue;
        }
        assert!(told[0].starts_with("seen\nseen\nnvm\n"), "{way}: {}", told[0]);
        assert!(!told[0].contains("./."), "{way}: {}", told[0]);
        assert!(test.has("notes/b") && !test.has("new"), "{way}: {}", told[0]);
        assert!(told[0].contains("Read-only"), "{way}: {}", told[0]);
        ran(1);
        test.finish();
    }
}

#[tokio::test]
async fn home_paths_named_in_settings_are_visible() {
    for way in WAYS {
        let settings = json!({ "sandbox": { "readable": ["~/other", "~/.config/gh/hosts.yml"] } });
        // A home of the daemon, not of this process: `~` is read there.
        let Some(test) = SandboxTest::set(way, settings).await else { continue };
        put(&test.home(), &[(".config/gh/hosts.yml", b"mine\n"), (".config/gh/x", b"not\n")]);
        let got = test.run("cat ~/other/file.txt ~/.config/gh/*; echo x > ~/other/y", &[]).await;
        assert!(got.said.starts_with("untouched\nmine\n"), "{way}: {}", got.said);
        assert!(!got.said.contains("not\n"), "{way}: {}", got.said);
        assert_eq!(test.unharmed(), Ok(()), "{way}");
    }
}

#[tokio::test]
async fn a_damaged_home_is_replaced() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        for command in [
            "chmod 0 ~/.cargo ~/.config ~ 2>/dev/null; true",
            "rm -rf ~/.cargo ~/.rustup; ln -s / ~/.cargo; ln -s / ~/.rustup; true",
        ] {
            let damage = test.run(command, &[]).await;
            assert!(damage.ok, "{way}: {}", damage.said);
            let next = test.run("touch ~/mine && ls ~", &[]).await;
            assert!(next.ok && next.said.contains("mine"), "{way} after {command}: {}", next.said);
            ran(1);
        }
    }
}

#[tokio::test]
async fn what_a_command_left_at_home_does_not_run_with_a_grant() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let leave = "mkdir -p ~/.local/bin && echo 'touch /tmp/ran' >> ~/.bashrc && touch ~/left";
        assert!(test.run(leave, &[]).await.ok, "{way}");
        assert!(
            test.run("test -e ~/left", &[]).await.ok,
            "{way}: it stays for commands without a grant"
        );
        let granted = test
            .run("test ! -e ~/left && test ! -e ~/.bashrc && touch ~/fetched", &["network"])
            .await;
        assert!(granted.ok, "{way}: {}", granted.said);
        assert!(
            test.run("test -e ~/fetched", &[]).await.ok,
            "{way}: a later command sees the fetched file"
        );
        ran(1);
    }
}

#[tokio::test]
async fn no_command_puts_a_program_before_that_of_the_system() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let command = "for at in ~/.local/bin ~/bin /tmp/bin; do mkdir -p $at; \
            printf '#!/bin/sh\\necho planted\\n' > $at/ls; chmod +x $at/ls; done; \
            printf '#!/bin/sh\\necho mine\\n' > ~/bin/mine; chmod +x ~/bin/mine";
        assert!(test.run(command, &[]).await.ok, "{way}");
        let listed = test.run("ls", &[]).await;
        assert!(!listed.said.contains("planted"), "{way}: {}", listed.said);
        ran(1);
    }
}
