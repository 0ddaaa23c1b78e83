//! Everyday commands that must work in a sandbox.

use super::*;
use crate::attacks::ran;

/// Name, command, and its output when it works. Later rows see the results of earlier ones.
const WORK: &[(&str, &str, &str)] = &[
    (
        "write in the workspace",
        "mkdir -p out/deep && echo new > out/deep/b && cat out/deep/b",
        "new\n",
    ),
    ("delete in it", "rm -r out && ls", "a.txt"),
    ("temporary files", "f=$(mktemp) && echo kept > /tmp/kept && echo $TMPDIR && rm $f", "/tmp\n"),
    ("which last until the next command", "cat /tmp/kept /var/tmp/kept", "kept\nkept\n"),
    ("heredocs and pipes", "cat <<'E' | tr a-z A-Z | sort -r\nb\na\nE", "B\nA\n"),
    ("functions and exit codes", "f() { return 7; }; f; echo $?", "7\n"),
    (
        "devices",
        "echo x > /dev/null; head -c 4 /dev/urandom | wc -c; echo y > /dev/shm/a; cat < /dev/zero | head -c 2 | wc -c",
        "4\n2\n",
    ),
    (
        "standard streams by name",
        "echo out > /dev/stdout; echo err > /dev/stderr; cat /dev/fd/3 3<<< three",
        "out\nerr\nthree\n",
    ),
    (
        "jobs in the background",
        "(sleep 0.2; echo late) & echo early; wait; echo end",
        "early\nlate\nend\n",
    ),
    ("what git says", "git status --short && git diff --stat && git log --oneline | cat", "First"),
    ("git in a folder", "cd sub && git rev-parse --show-toplevel", "/ws\n"),
    (
        "a repository elsewhere",
        "git init -q /tmp/r && cd /tmp/r && git commit -q --allow-empty -m x -c user.name=a 2>/dev/null; git -C /tmp/r status | head -1",
        "On branch",
    ),
    (
        "a server and its client",
        "python3 - <<'E'\nimport http.server, threading, urllib.request\nclass H(http.server.BaseHTTPRequestHandler):\n    def do_GET(self):\n        self.send_response(200); self.end_headers(); self.wfile.write(b'served')\n    def log_message(self, *a): pass\ns = http.server.HTTPServer(('127.0.0.1', 0), H)\nthreading.Thread(target=s.handle_request).start()\nprint(urllib.request.urlopen(f'http://localhost:{s.server_port}').read().decode())\nE",
        "served\n",
    ),
    (
        "a socket between programs",
        "python3 -c \"\nimport socket, os\ns = socket.socket(socket.AF_UNIX); s.bind('/tmp/s'); s.listen()\nc = socket.socket(socket.AF_UNIX); c.connect('/tmp/s'); print('met')\"",
        "met\n",
    ),
    (
        "threads and processes",
        "python3 -c \"\nimport multiprocessing as m, subprocess\nprint(sum(m.Pool(4).map(abs, range(5))))\nprint(subprocess.check_output(['echo', 'sub']).decode())\"",
        "10\nsub\n",
    ),
    (
        "node with its network",
        "node -e \"require('os').networkInterfaces(); const s = require('http').createServer((q, a) => { a.end('hi'); s.close() }).listen(0, () => fetch('http://127.0.0.1:' + s.address().port).then(r => r.text()).then(console.log))\"",
        "hi\n",
    ),
    (
        "a terminal of its own",
        "python3 -c \"import pty; pty.spawn(['echo', 'on a terminal'])\"",
        "on a terminal",
    ),
    ("find and grep everything", "grep -rl one . | sort; find . -name a.txt", "./a.txt"),
    ("signals of its own", "bash -c 'kill -TERM $$'; echo $?", "143\n"),
    ("its own group", "trap 'echo caught' TERM; kill 0; echo after", "caught\nafter\n"),
    ("a home folder of its own", "cat ~/other/file.txt; touch ~/own; ls ~", "own\nws\n"),
];

#[tokio::test]
async fn everyday_commands_work() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let mut faults = Vec::new();
        for (name, command, says) in WORK {
            let ran = test.run(command, &[]).await;
            if !ran.ok || !ran.said.contains(says) {
                faults.push(format!("{way}, {name}: {}", ran.said));
            }
        }
        crate::attacks::assert_none(&faults);
    }
}

#[tokio::test]
async fn exit_codes_signals_and_background_processes_are_reported() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        for (command, told) in [
            ("exit 3", "[cairn] exit code 3,"),
            ("kill -9 $$", "[cairn] ended by signal 9,"),
            ("kill -TERM $$", "[cairn] ended by signal 15,"),
            ("sleep 60 & setsid sleep 60 & echo left", "[cairn] 2 left in the background, ended"),
            ("echo one; echo two >&2; echo three", "one\ntwo\nthree\n"),
        ] {
            let ran = test.run(command, &[]).await;
            assert!(ran.said.contains(told), "{way}, {command}: {}", ran.said);
        }
    }
}

#[tokio::test]
async fn a_read_only_command_sees_the_project_and_cannot_write() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let ran = test.run("ls -A && cat ../other/file.txt 2>&1; git status --short", &[]).await;
        let seen = ".git\nCLAUDE.md\na.txt\nlink\nsub\ncat: ../other/file.txt: No such file or directory\n?? link\n[cairn] exit";
        assert!(ran.said.starts_with(seen), "{way}: {}", ran.said);
        let ran = test.run("ls -A; touch b && ls b", &[]).await;
        // Nor does one that writes see anything that is not the project's.
        let seen = ".git\nCLAUDE.md\na.txt\nlink\nsub\nb\n[cairn] exit";
        assert!(ran.ok && ran.said.starts_with(seen), "{way}: {}", ran.said);

        // What a repository has Git run while it only prints cannot write either.
        let config = test.ws().join(".git/config");
        let own = fs::read_to_string(&config).unwrap();
        let theirs = "[core]\n\tfsmonitor = echo x > harmed; false\n";
        fs::write(&config, own.clone() + theirs).unwrap();
        let ran = test.run("git status", &[]).await;
        assert!(ran.said.contains("create harmed: Read-only"), "{way}, it ran: {}", ran.said);
        assert!(!test.ws().join("harmed").exists(), "{way}");
        fs::write(&config, own).unwrap();
        assert_eq!(test.unharmed(), Ok(()), "{way}");
    }
}

#[tokio::test]
async fn a_workspace_in_the_temporary_folder_works() {
    for way in WAYS {
        let Some(test) = SandboxTest::set_in(Path::new("/tmp"), way, json!({})).await else {
            continue;
        };
        let ran = test.run("cat a.txt && ls ..", &[]).await;
        assert!(ran.said.starts_with("one\n"), "{way}, who only looks: {}", ran.said);
        assert!(ran.said.contains("\nws\n"), "{way}: {}", ran.said);
        let ran = test.run("echo new > b && cat b a.txt && git status --short && ls ..", &[]).await;
        assert!(ran.ok && ran.said.starts_with("new\none\n?? b\n"), "{way}: {}", ran.said);
        assert!(ran.said.contains("\nws\n"), "nothing beside it: {}", ran.said);
        assert_eq!(fs::read_to_string(test.ws().join("b")).unwrap(), "new\n", "{way}");
        assert!(!test.run("touch .git/x", &[]).await.ok, "{way}");
        assert_eq!(test.unharmed(), Ok(()), "{way}");
    }
}

#[tokio::test]
async fn a_small_program_is_built_without_a_network() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let build = "mkdir -p p/src && cd p && echo 'fn main() { println!(\"built\"); }' > src/main.rs && printf '[package]\\nname = \"p\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n[workspace]\\n' > Cargo.toml && cargo run -q --offline";
        let ran = test.run(build, &[]).await;
        assert!(ran.ok && ran.said.contains("built\n"), "{way}: {}", ran.said);
    }
}

/// As `nice` and services of low priority start a program.
#[tokio::test]
async fn commands_run_in_a_sandbox_at_the_lowest_priority() {
    for way in WAYS {
        if SandboxTest::set(way, json!({})).await.is_none() {
            continue;
        }
        let folder = tempfile::tempdir_in(visible_folder()).unwrap();
        // A process gets the priority of the thread that starts it, which ends with this test.
        rustix::process::setpriority_process(None, 19).unwrap();
        let last =
            json!({ "expect": { "lastContains": ["19\n", "exit code 0"] }, "text": "Done." });
        let (code, said) = run_alone(way, (folder.path(), folder.path()), "nice", last).await;
        assert_eq!(code, Some(0), "{way}: {said}");
        ran(1);
    }
}
