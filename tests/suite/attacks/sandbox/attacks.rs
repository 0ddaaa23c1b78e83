//! Commands that try to escape, to read secrets, or to have something run outside later.

use super::*;
use crate::attacks;

/// Name, command, and expected output, of which at least one must appear to prove the attempt. None
/// may print the canary or `BREACH`, and afterwards nothing outside is changed.
const ATTACKS: &[(&str, &str, &[&str])] = &[
    ("write outside", "echo x > /etc/cairn-test && echo BREACH", &["Read-only file system"]),
    (
        "write in the home folder",
        "cat ~/.bashrc; echo evil >> ~/.bashrc; cat ~/.bashrc",
        &["No such file or directory\nevil"],
    ),
    ("write beside the workspace", "echo x > ../new && ls ..", &["new\nws"]),
    ("write through a link", "echo x > link/file.txt && echo BREACH", &["No such file"]),
    ("create through a link", "touch link/new && echo BREACH", &["No such file"]),
    (
        "write through a hard link",
        "ln ../other/file.txt hard && echo x > hard && echo BREACH",
        &["No such file"],
    ),
    ("delete outside", "rm -rf ../other; mkdir ../other && echo tried", &["tried"]),
    (
        "a hook of git",
        "echo evil > .git/hooks/pre-commit && echo BREACH",
        &["Read-only file system"],
    ),
    ("the settings of git", "echo evil >> .git/config && echo BREACH", &["Read-only file system"]),
    (
        "the settings of git, by git",
        "git config core.fsmonitor evil && echo BREACH",
        &["Read-only file system", "could not lock"],
    ),
    (
        "another repository in its place",
        "mv .git .old && mkdir .git && echo BREACH",
        &["Device or resource busy", "Read-only"],
    ),
    (
        "remove the repository",
        "rm -rf .git; test -e .git/HEAD || echo BREACH",
        &["Read-only file system"],
    ),
    (
        "missing settings of the editor",
        "mkdir -p .vscode && echo evil > .vscode/tasks.json && echo made",
        &["moved to"],
    ),
    (
        "missing settings, brought from elsewhere",
        "mkdir mine && echo evil > mine/tasks.json && mv -T mine .vscode && echo made",
        &["moved to"],
    ),
    (
        "settings that exist deeper",
        "echo evil > sub/.vscode/tasks.json && echo BREACH",
        &["Read-only file system"],
    ),
    ("missing environment", "echo evil > .envrc && echo made", &["moved to"]),
    ("missing environment, as a link", "ln -sfn /tmp/evil .envrc && echo made", &["moved to"]),
    ("missing instructions", "echo evil > AGENTS.md && echo made", &["moved to"]),
    ("instructions", "echo evil > CLAUDE.md && echo BREACH", &["Read-only file system"]),
    (
        "instructions, replaced",
        "echo evil > b && mv b CLAUDE.md && echo BREACH; rm -f b",
        &["busy"],
    ),
    ("missing servers of tools", "cp a.txt .mcp.json && echo made", &["moved to"]),
    (
        "keys of the user",
        "cat ~/.ssh/id_test ~/.netrc ~/.bash_history; ls -la ~/.ssh; echo tried",
        &["No such file", "tried"],
    ),
    ("what the editor keeps", "cat ~/.config/Code/User/settings.json", &["No such file"]),
    ("sessions of other projects", "cat ~/state/*", &["No such file"]),
    (
        "the daemon's environment",
        "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | sort -u | grep -i -e key -e LD_ && echo BREACH; cat /proc/@daemon/environ",
        &["No such file"],
    ),
    (
        "its own environment",
        "printenv | grep -i -e key -e token -e LD_ -e secret && echo BREACH; echo none",
        &["none"],
    ),
    ("kill the daemon", "kill -9 @daemon && echo BREACH", &["No such process"]),
    ("kill everything", "kill -9 -1; sleep 0.1; echo BREACH-not", &["signal 9", "BREACH-not"]),
    (
        "other processes are not seen",
        "ps -e 2>/dev/null || ls /proc | grep -c '^[0-9]'; test -e /proc/@daemon && echo BREACH; echo looked",
        &["looked"],
    ),
    (
        "TCP",
        "exec 3<>/dev/tcp/127.0.0.1/@port && echo BREACH",
        &["Connection refused", "unreachable"],
    ),
    ("UDP", "echo BREACH > /dev/udp/127.0.0.1/@udp; echo sent", &["sent"]),
    ("the Internet", "exec 3<>/dev/tcp/192.0.2.1/80 && echo BREACH", &["Network is unreachable"]),
    ("names of the Internet", "getent hosts example.com && echo BREACH; echo none", &["none"]),
    (
        "curl",
        "command -v curl >/dev/null || echo 'Connection refused'; curl -sS -m 5 http://127.0.0.1:@port && echo BREACH",
        &["Connection refused", "connect"],
    ),
    (
        "a socket in /run",
        "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('@run'); print('BREACH')\"",
        &["FileNotFoundError"],
    ),
    (
        "a socket in /tmp",
        "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('@tmp'); print('BREACH')\"",
        &["FileNotFoundError"],
    ),
    (
        "what services keep in /run",
        "touch /run/x && echo BREACH; ls -A /run | grep . && echo BREACH",
        &["Read-only file system"],
    ),
    ("new namespaces", "unshare -Ur true && echo BREACH", &["Operation not permitted"]),
    (
        "new mounts",
        "mount -t tmpfs none /mnt && echo BREACH",
        &["permission denied", "must be superuser", "Operation not permitted"],
    ),
    (
        "undo the mounts",
        "umount -l .git && echo BREACH",
        &["not permitted", "must be superuser", "not mounted", "permission denied"],
    ),
    (
        "make it writable again",
        "mount -o remount,bind,rw / && echo BREACH",
        &["permission denied", "must be superuser", "not permitted"],
    ),
    ("a file system of its own", "chroot / true && echo BREACH", &["Operation not permitted"]),
    (
        "a switch of the kernel",
        "echo 1000 > /proc/sys/kernel/pid_max && echo BREACH",
        &["Read-only file system", "Permission denied"],
    ),
    (
        "switches of the kernel",
        "echo '|/tmp/evil' > /proc/sys/kernel/core_pattern && echo BREACH",
        &["Read-only file system", "Permission denied"],
    ),
    (
        "devices of the kernel",
        "echo b > /proc/sysrq-trigger && echo BREACH",
        &["Read-only file system", "Permission denied", "No such file"],
    ),
    (
        "groups of processes",
        "echo $$ > /sys/fs/cgroup/cgroup.procs && echo BREACH",
        &["Read-only file system", "Permission denied", "No such file"],
    ),
    ("a device of its own", "mknod disk b 8 0 && echo BREACH", &["Operation not permitted"]),
    (
        "another's rights",
        "cp /bin/bash b && chmod u+s b && ./b -p -c 'grep CapEff /proc/self/status'; grep NoNewPrivs /proc/self/status; rm -f b",
        &["NoNewPrivs:\t1"],
    ),
    (
        "no capabilities",
        "grep CapEff /proc/self/status; grep -q 'CapEff:\t0000000000000000' /proc/self/status || echo BREACH",
        &["CapEff"],
    ),
    (
        "a bound filter",
        "grep Seccomp: /proc/self/status; grep -q 'Seccomp:\t2' /proc/self/status || echo BREACH",
        &["Seccomp"],
    ),
    (
        "a call that a debugger changes",
        r#"python3 - <<'E'
import ctypes, os, platform
if platform.machine() != 'x86_64': print('refused: not tried'); raise SystemExit
c = ctypes.CDLL(None); c.ptrace.restype = ctypes.c_long; c.ptrace.argtypes = [ctypes.c_long] * 4
TRACEME, PEEK, POKE, SYSCALL, RAX, RDI, NUMBER, GETPPID, UNSHARE = 0, 3, 6, 24, 80, 112, 120, 110, 272
pid = os.fork()
if pid == 0:
    c.ptrace(TRACEME, 0, 0, 0); os.kill(os.getpid(), 19); os.getppid(); os._exit(0)
os.waitpid(pid, 0)
while not os.WIFEXITED((c.ptrace(SYSCALL, pid, 0, 0), os.waitpid(pid, 0)[1])[1]):
    if c.ptrace(PEEK, pid, NUMBER, 0) == GETPPID:
        c.ptrace(POKE, pid, NUMBER, UNSHARE); c.ptrace(POKE, pid, RDI, 0x10000000)
        c.ptrace(SYSCALL, pid, 0, 0); os.waitpid(pid, 0)
        result = c.ptrace(PEEK, pid, RAX, 0)
        print('BREACH' if result == 0 else f'refused: {result}'); os.kill(pid, 9)
E"#,
        &["refused: -1\n", "refused: not tried"],
    ),
    (
        "write where only the second wall stands",
        "echo x > /proc/1/comm && echo BREACH",
        &["Permission denied", "Operation not permitted", "Read-only"],
    ),
    (
        "memory of the first process",
        "head -c 1 /proc/1/mem && echo BREACH; ls -l /proc/1/fd",
        &["Permission denied", "denied"],
    ),
];

/// Calls to the kernel, by number; each must be refused by the filter, whatever it is asked.
const CALLS: &[(&str, &str)] = &[
    ("a debugger at the first process", "c.ptrace(16, 1, 0, 0)"),
    ("a debugger without a filter", "c.ptrace(0x4206, 1, 0, 0x200000)"),
    ("memory of another", "c.process_vm_readv(1, 0, 0, 0, 0, 0)"),
    ("io_uring", "c.syscall(425, 1, 0)"),
    ("a new user namespace", "c.unshare(0x10000000)"),
    (
        "a new user namespace, by a clone",
        "c.syscall(220 if arm else 56, 0x10000000 | 17, 0, 0, 0, 0)",
    ),
    ("another's namespace", "c.setns(0, 0)"),
    ("another's files", "c.syscall(438, 0, 0, 0)"),
    ("writing into another", "c.process_vm_writev(1, 0, 0, 0, 0, 0)"),
    ("counters of the processor", "c.syscall(241 if arm else 298, 0, 0, -1, -1, 0)"),
    ("ptrace by another number", "c.syscall(117 if arm else 0x40000000 + 521, 0, 0, 0, 0)"),
    ("a call by another number", "c.syscall(117 if arm else 0x40000000 + 425, 1, 0)"),
    ("keys of the kernel", "c.syscall(NR_KEYCTL, 0, 0, 0, 0, 0)"),
    ("programs in the kernel", "c.syscall(NR_BPF, 0, 0, 0)"),
    ("page faults", "c.syscall(NR_UFFD, 0)"),
    ("a mount", "c.mount(b'none', b'/tmp', b'tmpfs', 0, 0)"),
    ("a tree of mounts", "c.syscall(428, -100, b'/', 1)"),
    ("attributes of mounts", "c.syscall(442, -100, b'/', 0, 0, 0)"),
    ("another root", "c.pivot_root(b'/', b'/')"),
    ("input of a terminal", "c.ioctl(0, 0x5412, b'x')"),
    ("input of a terminal, by a long number", "c.ioctl(0, ctypes.c_ulong(0x1_0000_5412), b'x')"),
    ("raw packets", "c.socket(17, 3, 0)"),
    ("the kernel's ciphers", "c.socket(38, 5, 0)"),
    ("machines below", "c.socket(40, 1, 0)"),
    ("talk with parts of the kernel", "c.socket(16, 3, 12)"),
];

/// `clone3` fails with `ENOSYS`, because a filter cannot read its arguments.
const PROBE: &str = r#"import ctypes, errno, platform
c = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == 'aarch64'
NR_KEYCTL, NR_BPF, NR_UFFD = (219, 280, 282) if arm else (250, 321, 323)
r = CALL
print('BREACH' if r != -1 else 'refused: ' + errno.errorcode[ctypes.get_errno()])
"#;

#[tokio::test]
async fn no_attack_from_the_sandbox_succeeds() {
    for way in WAYS {
        let rows = ATTACKS.len() + CALLS.len() + 1;
        let Some(test) = SandboxTest::set(way, json!({})).await else {
            attacks::skipped(rows, format!("no sandbox by {way}"));
            continue;
        };
        let mut faults = Vec::new();
        for (name, command, says) in ATTACKS {
            let ran = test.run(command, &[]).await;
            let tried = says.iter().any(|words| ran.said.contains(words));
            let breach = ran.said.lines().any(|line| line == "BREACH");
            let seen = ran.said.contains(CANARY) || ran.said.contains("[key]");
            if !tried || breach || seen {
                faults.push(format!("{way}, {name}: {}", ran.said));
            }
            if let Err(harm) = test.unharmed() {
                faults.push(format!("{way}, {name}: {harm} after {}", ran.said));
            }
        }
        for (name, call) in CALLS {
            let probe = PROBE.replace("CALL", call);
            let ran = test.run(&format!("python3 - <<'END'\n{probe}\nEND"), &[]).await;
            if !ran.said.contains("refused: EPERM") {
                faults.push(format!("{way}, {name}: {}", ran.said));
            }
        }
        let clone3 = PROBE.replace("CALL", "c.syscall(435, 0, 0)");
        let ran = test.run(&format!("python3 - <<'END'\n{clone3}\nEND"), &[]).await;
        if !ran.said.contains("refused: ENOSYS") {
            faults.push(format!("{way}, clone3: {}", ran.said));
        }
        attacks::ran(rows);
        attacks::assert_none(&faults);
        // Nothing of ours is left in the workspace.
        assert_eq!(git(&test.ws(), &["status", "--short"]).trim(), "?? link");
    }
}

/// The processes sleep: a real fork bomb would be stopped at the same number, but would starve
/// other tests.
#[tokio::test]
async fn a_fork_bomb_ends_and_the_daemon_survives() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let bomb = "python3 - <<'END'
import os, time
born = 0
try:
    while born < 5000:
        if os.fork() == 0:
            time.sleep(60)
        born += 1
except BlockingIOError:
    print('stopped at', born)
END";
        let turn = test.begin(bomb, &[]).await;
        let over = |message: &Value| {
            message["method"] == "agent/turn" && message["params"]["phase"]["kind"] == "ended"
        };
        // It is two thousand processes, and other tests run at the same time.
        let is_over = || test.daemon.client.unread().iter().any(over);
        crate::fixtures::wait_until(Duration::from_secs(60), is_over).await;
        let ran = test.ran(&turn).await;
        let ended = ran.said.contains("stopped at") || ran.said.contains("a thousand processes");
        assert!(ended, "{way}: {}", ran.said);
        assert!(test.run("echo alive", &[]).await.said.contains("alive"), "{way}");
    }
}
