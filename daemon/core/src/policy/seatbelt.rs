//! The sandbox of [`super::sandbox`] as a profile for sandbox-exec of macOS. A profile denies by
//! path, so a path that does not exist needs no placeholder. Not tested on macOS.

use std::path::Path;

use super::sandbox::{Home, OwnPaths, SandboxPaths};

/// Profile of the sandbox. The last matching rule counts, so later rules deny again.
pub fn profile(found: &SandboxPaths, own: &OwnPaths, network: bool) -> String {
    let mut text = String::from("(version 1)\n(allow default)\n(deny file-write*)\n");
    let mut rule = |what: &str, kind: &str, path: &Path| {
        text.push_str(&format!("({what} ({kind} {}))\n", quoted(path)));
    };
    for device in ["/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper"] {
        rule("allow file-write*", "literal", Path::new(device));
    }
    for path in found.writable.iter().chain([&own.temporary]) {
        rule("allow file-write*", "subpath", path);
    }
    for path in &found.read_only {
        rule("deny file-write*", "subpath", path);
    }
    // A command must not move the root of a workspace away from its rules.
    for path in &found.writable {
        rule("deny file-write-unlink", "literal", path);
    }
    if let Some(Home { at, .. }) = &found.home {
        // Mounts do not exist here, so the home folder is unreadable except for the shown parts.
        // Programs read the metadata of the folders above their own.
        rule("deny file-read* file-write*", "subpath", at);
        let placed = found.placed.iter().flat_map(|placed| [&placed.at, &placed.from]);
        let seen = found.writable.iter().chain(&found.read_only).chain(&found.shown).chain(placed);
        for path in seen.filter(|path| path.starts_with(at) && *path != at) {
            for above in path.ancestors().skip(1).take_while(|above| above.starts_with(at)) {
                rule("allow file-read-metadata", "literal", above);
            }
            rule("allow file-read*", "subpath", path);
        }
        for path in found.writable.iter().filter(|path| path.starts_with(at) && *path != at) {
            rule("allow file-write*", "subpath", path);
        }
        for path in found.read_only.iter().filter(|path| path.starts_with(at)) {
            rule("deny file-write*", "subpath", path);
        }
        for path in found.writable.iter().filter(|path| path.starts_with(at)) {
            rule("deny file-write-unlink", "literal", path);
        }
    }
    for path in found.hidden_folders.iter().chain(&found.hidden_files) {
        if !found.writable.contains(path) {
            rule("deny file-read* file-write*", "subpath", path);
        }
    }
    if !network {
        // macOS has no private loopback: this is the machine's.
        text.push_str("(deny network*)\n");
        text.push_str("(allow network* (local ip \"localhost:*\"))\n");
        text.push_str("(allow network-outbound (remote ip \"localhost:*\"))\n");
    }
    for what in ["signal", "process-info*"] {
        text.push_str(&format!("(deny {what})\n(allow {what} (target same-sandbox))\n"));
    }
    text
}

fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn only_the_shown_parts_of_the_home_folder_are_readable() {
        let found = SandboxPaths {
            writable: vec!["/Users/me/ws".into()],
            read_only: vec!["/Users/me/ws/.git".into()],
            shown: vec!["/Users/me/.cargo/bin".into()],
            hidden_files: vec!["/Users/me/.cargo/bin/token".into()],
            home: Some(Home { at: "/Users/me".into(), writable: true }),
            ..SandboxPaths::default()
        };
        let own = OwnPaths {
            temporary: "/private/tmp/x".into(),
            home: "/private/tmp/h".into(),
            empty_file: "/x".into(),
            program: "/x".into(),
            superuser: false,
        };
        let text = profile(&found, &own, true);
        let home: Vec<&str> =
            text.lines().skip_while(|line| !line.contains("\"/Users/me\"")).collect();
        expect![[r#"
            (deny file-read* file-write* (subpath "/Users/me"))
            (allow file-read-metadata (literal "/Users/me"))
            (allow file-read* (subpath "/Users/me/ws"))
            (allow file-read-metadata (literal "/Users/me/ws"))
            (allow file-read-metadata (literal "/Users/me"))
            (allow file-read* (subpath "/Users/me/ws/.git"))
            (allow file-read-metadata (literal "/Users/me/.cargo"))
            (allow file-read-metadata (literal "/Users/me"))
            (allow file-read* (subpath "/Users/me/.cargo/bin"))
            (allow file-write* (subpath "/Users/me/ws"))
            (deny file-write* (subpath "/Users/me/ws/.git"))
            (deny file-write-unlink (literal "/Users/me/ws"))
            (deny file-read* file-write* (subpath "/Users/me/.cargo/bin/token"))
            (deny signal)
            (allow signal (target same-sandbox))
            (deny process-info*)
            (allow process-info* (target same-sandbox))"#]]
        .assert_eq(&home.join("\n"));
    }

    #[test]
    fn deny_rules_come_after_allow_rules() {
        let found = SandboxPaths {
            writable: vec!["/Users/me/a \"b\"".into()],
            read_only: vec!["/Users/me/a \"b\"/.git".into()],
            hidden_folders: vec!["/Users/me/.ssh".into()],
            ..SandboxPaths::default()
        };
        let own = OwnPaths {
            temporary: "/private/tmp/x".into(),
            home: "/private/tmp/h".into(),
            empty_file: "/x".into(),
            program: "/x".into(),
            superuser: false,
        };
        expect![[r#"
            (version 1)
            (allow default)
            (deny file-write*)
            (allow file-write* (literal "/dev/null"))
            (allow file-write* (literal "/dev/zero"))
            (allow file-write* (literal "/dev/tty"))
            (allow file-write* (literal "/dev/dtracehelper"))
            (allow file-write* (subpath "/Users/me/a \"b\""))
            (allow file-write* (subpath "/private/tmp/x"))
            (deny file-write* (subpath "/Users/me/a \"b\"/.git"))
            (deny file-write-unlink (literal "/Users/me/a \"b\""))
            (deny file-read* file-write* (subpath "/Users/me/.ssh"))
            (deny network*)
            (allow network* (local ip "localhost:*"))
            (allow network-outbound (remote ip "localhost:*"))
            (deny signal)
            (allow signal (target same-sandbox))
            (deny process-info*)
            (allow process-info* (target same-sandbox))
        "#]]
        .assert_eq(&profile(&found, &own, false));
        assert!(!profile(&found, &own, true).contains("network"));
    }
}
