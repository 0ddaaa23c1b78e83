//! Sandboxes that fail after the first one worked: the user and the agent get the reason, no
//! command runs outside, and commands run again after the cause is removed.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// Files that one daemon needs for its sandboxes.
struct Parts {
    /// Its own program.
    program: PathBuf,
    /// Folder of its temporary files.
    temporary: PathBuf,
    ws: PathBuf,
}

/// Fault, expected message, and repair.
struct Fault {
    name: &'static str,
    begin: fn(&Parts),
    /// Expected messages, one of which must appear: backends notice the fault at different points.
    told: &'static [&'static str],
    end: fn(&Parts),
}

const FAULTS: &[Fault] = &[
    Fault {
        name: "the workspace folder is gone",
        begin: |parts| fs::rename(&parts.ws, aside(&parts.ws)).unwrap(),
        told: &["/ws"],
        end: |parts| fs::rename(aside(&parts.ws), &parts.ws).unwrap(),
    },
    Fault {
        name: "Cairn's own program is gone, as after an update",
        begin: |parts| fs::rename(&parts.program, aside(&parts.program)).unwrap(),
        told: &["bin/cairn"],
        end: |parts| fs::rename(aside(&parts.program), &parts.program).unwrap(),
    },
    Fault {
        name: "another program is in its place, which fails in words of its own",
        begin: |parts| replace(parts, "#!/bin/sh\necho 'no such part' >&2\nexit 7\n"),
        told: &["no such part"],
        end: |parts| fs::rename(aside(&parts.program), &parts.program).unwrap(),
    },
    Fault {
        name: "one that fails without a word",
        begin: |parts| replace(parts, "#!/bin/sh\nexit 1\n"),
        told: &["reported no error"],
        end: |parts| fs::rename(aside(&parts.program), &parts.program).unwrap(),
    },
    Fault {
        name: "one that ends well and has done nothing",
        begin: |parts| replace(parts, "#!/bin/sh\n"),
        told: &["reported no error"],
        end: |parts| fs::rename(aside(&parts.program), &parts.program).unwrap(),
    },
    Fault {
        name: "one that cannot be started",
        begin: |parts| {
            replace(parts, "");
            fs::set_permissions(&parts.program, fs::Permissions::from_mode(0o644)).unwrap();
        },
        told: &["Permission denied"],
        end: |parts| fs::rename(aside(&parts.program), &parts.program).unwrap(),
    },
    Fault {
        name: "there is no place for temporary files",
        begin: |parts| fs::remove_dir_all(&parts.temporary).unwrap(),
        told: &["temporary"],
        end: |parts| fs::create_dir(&parts.temporary).unwrap(),
    },
];

fn aside(path: &Path) -> PathBuf {
    path.with_extension("aside")
}

fn replace(parts: &Parts, program: &str) {
    fs::rename(&parts.program, aside(&parts.program)).unwrap();
    fs::write(&parts.program, program).unwrap();
    fs::set_permissions(&parts.program, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Fixture whose daemon has its own program and temporary folder.
async fn breakable(way: &str) -> Option<(SandboxTest, Parts)> {
    let mut test = SandboxTest::set(way, json!({})).await?;
    let own = test.root.path().join("own");
    let parts =
        Parts { program: own.join("bin/cairn"), temporary: own.join("temporary"), ws: test.ws() };
    fs::create_dir_all(own.join("bin")).unwrap();
    fs::create_dir(&parts.temporary).unwrap();
    fs::copy(binary(), &parts.program).unwrap();
    let daemon = daemon_of(&parts.program, &test.home(), way, &parts.temporary);
    test.go_on_with(daemon).await;
    Some((test, parts))
}

#[tokio::test]
async fn a_sandbox_that_fails_is_an_error_until_it_works_again() {
    for way in WAYS {
        let Some((test, parts)) = breakable(way).await else { continue };
        for Fault { name, begin, told, end } in FAULTS {
            begin(&parts);
            let ran = test.run("touch ~/harmed; echo ran", &[]).await;
            end(&parts);
            assert!(!ran.ok && !ran.said.contains("\nran"), "{way}, {name}: {}", ran.said);
            let refused = ["The command could not be run: ", "The command was not run: "];
            assert!(
                refused.iter().any(|begin| ran.said.starts_with(begin)),
                "{way}, {name}: {}",
                ran.said
            );
            assert!(told.iter().any(|told| ran.said.contains(told)), "{way}, {name}: {}", ran.said);
            assert!(!test.home().join("harmed").exists(), "{way}, {name}: it ran outside");
            let again = test.run("echo again", &[]).await;
            assert!(again.ok && again.said.starts_with("again\n"), "{way}, {name}: {}", again.said);
            assert_eq!(test.unharmed(), Ok(()), "{way}, {name}");
        }
    }
}

/// Removes temporary files as a disk cleaner does.
#[tokio::test]
async fn a_removed_temporary_folder_is_created_again() {
    for way in WAYS {
        let Some((test, parts)) = breakable(way).await else { continue };
        assert!(test.run("touch /tmp/before", &[]).await.ok, "{way}");
        for entry in fs::read_dir(&parts.temporary).unwrap() {
            fs::remove_dir_all(entry.unwrap().path()).unwrap();
        }
        let ran = test.run("ls /tmp; touch /tmp/after && ls /tmp", &[]).await;
        assert!(ran.ok && ran.said.starts_with("after\n"), "{way}: {}", ran.said);
    }
}

#[tokio::test]
async fn a_command_of_the_maximum_length_runs() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let ran = test.run(&format!("echo ran # {}", "x".repeat(65_000)), &[]).await;
        assert!(ran.ok && ran.said.starts_with("ran\n"), "{way}: {}", ran.said);
    }
}

/// Sockets of other programs are covered by mounts, and may be removed before they are.
#[tokio::test]
async fn sockets_of_programs_that_end_do_not_stop_commands() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let folder = tempfile::tempdir_in(visible_folder()).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let programs = std::thread::spawn({
            let (folder, stop) = (folder.path().to_owned(), Arc::clone(&stop));
            move || {
                for number in 0.. {
                    if stop.load(Ordering::SeqCst) {
                        return number;
                    }
                    let path = folder.join(format!("{number}.sock"));
                    let socket = UnixListener::bind(&path).unwrap();
                    std::thread::sleep(Duration::from_millis(20));
                    drop(socket);
                    fs::remove_file(&path).unwrap();
                    std::thread::sleep(Duration::from_millis(100));
                }
                0
            }
        });
        let mut failed = Vec::new();
        for _ in 0..30 {
            let ran = test.run("echo ran", &[]).await;
            if !ran.ok {
                failed.push(ran.said);
            }
        }
        stop.store(true, Ordering::SeqCst);
        assert!(programs.join().unwrap() > 0);
        assert!(failed.is_empty(), "{way}: {failed:#?}");
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
        assert!(left.is_empty(), "{way}: created outside: {left:?}");
    }
}

/// The whole output of a command without a sandbox, which may hold anything.
#[tokio::test]
async fn no_output_stays_after_a_daemon_without_a_sandbox() {
    let Some((mut test, parts)) = breakable("none").await else { return };
    // In the folder itself, in that of this daemon, and in its folder for temporary files.
    fn outputs(folder: &Path, depth: usize) -> usize {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let count = |entry: fs::DirEntry| match entry.file_type().unwrap().is_dir() {
            true if depth > 0 => outputs(&entry.path(), depth - 1),
            true => 0,
            false => usize::from(entry.file_name().to_string_lossy().starts_with("cairn-output-")),
        };
        entries.map(count).sum()
    }
    let outputs = || outputs(&parts.temporary, 2);
    let said = test.run("seq 1 300000", &[]).await;
    assert!(said.ok, "{}", said.said);
    assert_eq!(outputs(), 1, "the agent can read it");
    test.daemon.client.close();
    test.daemon.ends_within(std::time::Duration::from_secs(10)).await;
    assert_eq!(outputs(), 0);
    crate::attacks::ran(1);
}
