//! Home folder in the sandbox: the allow-list of toolchains and caches, and the names of secrets
//! that stay hidden in them.
//!
//! Paths are relative to the home folder. A component `*` stands for any name, a last `*` in a component
//! for the rest of a name.

mod table;

pub use table::{
    BESIDE_BIN, DATA_FOLDERS, GRADLE_MODULES, GRADLE_VARIABLE, LOCK_ENDING, PACKAGE_CACHES,
    PackageCache, ROOT_VARIABLES, SHARED_FOLDERS, Toolchain, secrets, tools,
};

/// True for the name of a file or folder that holds credentials wherever it lies in a toolchain. Narrower
/// than the names that file tools ask for: a toolchain has certificates, examples and `token.py`.
pub fn is_credential(name: &str, is_folder: bool) -> bool {
    const FOLDERS: &[&str] = &[".aws", ".git", ".gnupg", ".ssh"];
    const KINDS: &[&str] =
        &["cfg", "conf", "db", "enc", "ini", "json", "sqlite", "toml", "txt", "yaml", "yml"];
    const NAMES: &[&str] = &[
        ".condarc",
        ".env",
        ".git-credentials",
        ".netrc",
        ".npmrc",
        ".pgpass",
        ".pypirc",
        ".vault-token",
        "_netrc",
        "access-token",
        "auth.json",
        "auth.toml",
        "credentials",
        "gradle.properties",
        "hosts.yml",
        "id_ecdsa",
        "id_ed25519",
        "id_rsa",
        "nuget.config",
        "pip.conf",
        "secrets",
        "token",
        "tokens",
    ];
    let name = name.to_ascii_lowercase();
    if is_folder {
        return FOLDERS.contains(&name.as_str());
    }
    let (stem, kind) = name.rsplit_once('.').unwrap_or((&name, ""));
    let data = KINDS.contains(&kind)
        && ["credentials", "secrets", "settings-security", "token", "tokens"].contains(&stem);
    NAMES.contains(&name.as_str())
        || data
        || [".env.", ".yarnrc"].iter().any(|start| name.starts_with(start))
        || (name.starts_with('.') && name.ends_with("_history"))
}

/// True if a name fits a component of a pattern, in which `*` stands for any text.
pub fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let (Some(start), Some(end)) = (parts.next(), parts.next_back()) else {
        return pattern == name;
    };
    let inside = name.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
    inside.is_some_and(|mut rest| {
        parts.all(|part| match rest.split_once(part) {
            Some((_, behind)) => {
                rest = behind;
                true
            }
            None => false,
        })
    })
}

/// Settings of git that a command sees: they decide what a commit and a checkout hold.
const GIT_KEYS: &[&str] = &[
    "core.autocrlf",
    "core.eol",
    "core.quotepath",
    "init.defaultbranch",
    "merge.conflictstyle",
    "pull.rebase",
    "user.email",
    "user.name",
    "user.useconfigonly",
];

/// Returns the user's settings of git that a command sees, as the text of a file.
pub fn git_settings<'a>(all: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    for (key, value) in all {
        let is_shown = GIT_KEYS.contains(&key) || key.starts_with("filter.lfs.");
        let Some((section, name)) = key.rsplit_once('.') else { continue };
        if !is_shown || looks_like_credential(value) {
            continue;
        }
        let section = section.replace("filter.lfs", "filter \"lfs\"");
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        text.push_str(&format!("[{section}]\n\t{name} = \"{value}\"\n"));
    }
    text
}

/// Returns cargo's settings without comments and lines that look like credentials. `None` for a text
/// with strings of several lines.
pub fn cargo_settings(text: &str) -> Option<String> {
    let is_kept = |line: &&str| {
        let is_comment = line.trim_start().starts_with('#');
        !is_comment && !looks_like_credential(line) && !line.contains("credential")
    };
    let kept = text.lines().filter(is_kept).map(|line| line.to_owned() + "\n").collect();
    (!text.contains("\"\"\"") && !text.contains("'''")).then_some(kept)
}

/// True for a path below the home folder, by its components, that is one of [`secrets`] or lies in one.
pub fn is_secret_place<'a>(components: impl IntoIterator<Item = &'a str> + Clone) -> bool {
    secrets().any(|secret| lies_in(secret, components.clone()))
}

/// True for a path, by its components, that is a place or lies in it.
fn lies_in<'a>(place: &str, path: impl IntoIterator<Item = &'a str>) -> bool {
    let mut path = path.into_iter();
    place.split('/').all(|part| path.next().is_some_and(|name| fits(part, name)))
}

/// True for a path below the home folder, by its components, that lies in a shown part of one of [`tools`], and has no
/// name of a credential.
pub fn is_toolchain_place<'a>(components: impl IntoIterator<Item = &'a str> + Clone) -> bool {
    let lies_in = |place: &str| lies_in(place, components.clone());
    let shows = |tool: Toolchain| {
        lies_in(tool.root)
            && (tool.shown.is_empty()
                || tool.shown.iter().any(|part| lies_in(&format!("{}/{part}", tool.root))))
    };
    let mut names = components.clone().into_iter();
    tools().any(shows)
        && !is_secret_place(components)
        && !names.any(|name| is_credential(name, false) || is_credential(name, true))
}

/// True for text with a user's part in an address, or with a word or prefix of authentication.
pub fn looks_like_credential(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "authorization",
        "bearer ",
        "passw",
        "secret",
        "token",
        "api_key",
        "apikey",
        "api-key",
        "private_key",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "github_pat_",
        "glpat-",
        "xoxb-",
        "sk-",
    ];
    let lower = text.to_ascii_lowercase();
    let mut addresses = lower.split("://").skip(1);
    let with_user = addresses.any(|rest| {
        let host = rest.split(['/', '?', '#', ' ', '"', '\'']).next().unwrap_or_default();
        // `git@host` is the usual user of ssh and no secret.
        host.rsplit_once('@').is_some_and(|(user, _)| user != "git")
    });
    with_user || WORDS.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, fit) in [
            ("python*", "python3.11", true),
            ("python*", "pythn", false),
            (".*_history", ".zsh_history", true),
            (".*_history", ".zsh_history.bak", false),
            (".*_history", ".zshrc", false),
            ("*config*", "upload_config.lua", true),
            ("x*aa", "xaaa", true),
            ("a*a", "a", false),
            ("*", "anything", true),
            ("config", "config", true),
            ("config", "config.toml", false),
            ("config", "confi", false),
        ] {
            assert_eq!(fits(pattern, name), fit, "{pattern} {name}");
        }
    }

    #[test]
    fn no_tool_shows_a_secret_or_a_shared_folder() {
        for tool in tools() {
            let whole = [""];
            let shown = if tool.shown.is_empty() { &whole[..] } else { tool.shown };
            for part in shown {
                let path = format!("{}/{part}", tool.root);
                let path = path.trim_end_matches('/');
                assert!(!SHARED_FOLDERS.contains(&path), "{path}");
                let inside =
                    |secret: &&str| path == *secret || path.starts_with(&format!("{secret}/"));
                assert_eq!(secrets().find(inside), None, "{path}");
            }
        }
    }

    #[test]
    fn names_of_credentials_are_recognised() {
        for name in ["credentials.toml", ".npmrc", "NuGet.Config", ".env.local", "token"] {
            assert!(is_credential(name, false), "{name}");
        }
        for name in ["cacert.pem", "tokenizer.json", "secrets.py", "token.go", "lib", ".gitignore"]
        {
            assert!(!is_credential(name, false), "{name}");
        }
        assert!(is_credential(".git", true) && !is_credential("token", true));
    }

    #[test]
    fn places_of_toolchains_hold_no_secrets() {
        let is_place = |path: &str| is_toolchain_place(path.split('/'));
        for path in [
            ".cargo/registry/src/index/serde-1.0.0/src/lib.rs",
            ".local/lib/python3.11/site-packages/requests/api.py",
            "go/pkg/mod/example.invalid/hello@v0.1.0",
        ] {
            assert!(is_place(path), "{path}");
        }
        for path in [
            ".cargo",
            ".cargo/credentials.toml",
            ".cargo/registry/src/a/.env",
            ".cargo/registry/.ssh/x",
            ".local/lib",
            ".ssh/id_rsa",
            "go/src/private.go",
        ] {
            assert!(!is_place(path), "{path}");
        }
    }

    #[test]
    fn shown_git_settings_have_no_credentials() {
        let all = [
            ("user.name", "A \"B\" \\ C"),
            ("user.email", "a@example.invalid"),
            ("user.signingkey", "ABC"),
            ("commit.gpgsign", "true"),
            ("credential.helper", "store"),
            ("http.https://example.invalid/.extraheader", "AUTHORIZATION: basic x"),
            ("url.https://me:word@example.invalid/.insteadof", "https://example.invalid/"),
            ("alias.lg", "log --graph"),
            ("init.defaultbranch", "main"),
            ("filter.lfs.clean", "git-lfs clean -- %f"),
            ("filter.lfs.smudge", "git-lfs smudge --token=x"),
            ("core.sshcommand", "ssh -i key"),
        ];
        expect![[r#"
            [user]
            	name = "A \"B\" \\ C"
            [user]
            	email = "a@example.invalid"
            [init]
            	defaultbranch = "main"
            [filter "lfs"]
            	clean = "git-lfs clean -- %f"
        "#]]
        .assert_eq(&git_settings(all));
    }

    #[test]
    fn shown_cargo_settings_have_no_credentials() {
        let text = "# token: a\n[registries.corp]\nindex = \"sparse+https://example.invalid/\"\n\
                    token = \"b\"\n[registry]\n\
                    global-credential-providers = [\"cargo:token\"]\n[http]\n\
                    proxy = \"http://me:c@example.invalid\"\n[build]\njobs = 2 # d\n";
        expect![[r#"
            [registries.corp]
            index = "sparse+https://example.invalid/"
            [registry]
            [http]
            [build]
            jobs = 2 # d
        "#]]
        .assert_eq(&cargo_settings(text).unwrap());
        assert_eq!(cargo_settings("token = \"\"\"\nb\n\"\"\"\n"), None);
    }
}
