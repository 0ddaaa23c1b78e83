//! Launcher of a sandbox without bubblewrap: creates namespaces, and mounts in them. It accepts
//! only the arguments that `policy::sandbox` generates for bubblewrap, so both backends build the
//! same sandbox.
//!
//! The launcher creates the namespaces and waits. The first process in them mounts, and then
//! executes the given program. Nothing runs in a sandbox that is not complete.

use std::{
    ffi::OsString,
    fs,
    os::{fd::OwnedFd, unix::process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, bail};
use rustix::{
    fs::{CWD, FileType, fstat},
    mount::{
        MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change,
        mount_remount, move_mount, open_tree,
    },
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink::SocketAddrNetlink,
        recv, sendto, socket_with,
    },
    process::{getgid, getuid},
    thread::{
        CapabilitySet, CapabilitySets, UnshareFlags, capabilities,
        configure_capability_in_ambient_set, set_capabilities,
    },
};

use super::sandbox_init;

#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    network: bool,
    mounts: Vec<Step>,
    cwd: PathBuf,
    program: Vec<OsString>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Bind { from: PathBuf, at: PathBuf, writable: bool },
    Empty(PathBuf),
}

impl Step {
    fn at(&self) -> &Path {
        match self {
            Step::Bind { at, .. } | Step::Empty(at) => at,
        }
    }
}

impl Plan {
    fn parse(words: impl IntoIterator<Item = OsString>) -> anyhow::Result<Self> {
        let mut words = words.into_iter();
        let mut plan = Plan::default();
        while let Some(word) = words.next() {
            let mut next = || words.next().context("a word is missing");
            match word.to_str() {
                // Always done by this launcher.
                Some("--unshare-all" | "--unshare-user" | "--die-with-parent" | "--as-pid-1") => {}
                Some("--cap-drop" | "--cap-add" | "--dev" | "--proc" | "--remount-ro") => {
                    drop(next()?)
                }
                Some("--share-net") => plan.network = true,
                Some(bind @ ("--bind" | "--ro-bind")) => {
                    let (from, at) = (PathBuf::from(next()?), PathBuf::from(next()?));
                    if at != Path::new("/") {
                        plan.mounts.push(Step::Bind { from, at, writable: bind == "--bind" });
                    }
                }
                Some("--tmpfs") => plan.mounts.push(Step::Empty(next()?.into())),
                Some("--chdir") => plan.cwd = next()?.into(),
                Some("--") => {
                    plan.program = words.collect();
                    return Ok(plan);
                }
                Some(_) | None => bail!("an unknown word: {}", word.display()),
            }
        }
        bail!("no program")
    }

    /// True for a mount that must be read-only, as the nearest step above it determines.
    fn is_read_only(&self, mount: &Path) -> bool {
        let above = self.mounts.iter().filter(|step| mount.starts_with(step.at()));
        match above.max_by_key(|step| step.at().components().count()) {
            Some(Step::Bind { writable, .. }) => !writable,
            Some(Step::Empty(_)) => true,
            None => !["/dev", "/proc"].iter().any(|own| mount.starts_with(own)),
        }
    }
}

/// Runs the launcher. No other thread runs in this process yet, so it may leave its namespaces.
#[allow(clippy::disallowed_methods, reason = "part of the module that starts processes")]
pub(super) fn launch(words: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let plan = Plan::parse(words.iter().cloned())?;
    sandbox_init::die_with_parent()?;
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let mut spaces = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    if !plan.network {
        spaces |= UnshareFlags::NEWNET;
    }
    // Unsound only with a flag that is not used here.
    #[expect(deprecated, reason = "its successor is unsafe, and unsafe code is forbidden here")]
    rustix::thread::unshare(spaces).context("no namespaces could be made")?;
    fs::write("/proc/self/setgroups", "deny").context("groups could not be kept")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1")).context("no user could be kept")?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
        .context("no group could be kept")?;
    hand_down_capabilities()?;
    let mut first = Command::new("/proc/self/exe");
    let status = first.arg(super::SUBCOMMAND).arg("mounts").args(words).status()?;
    Ok(ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(u8::MAX)))
}

/// Makes the needed capabilities inheritable. Programs of other users start without capabilities,
/// but the first process needs some to build the sandbox. It drops them before the command starts.
fn hand_down_capabilities() -> anyhow::Result<()> {
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN | CapabilitySet::SETPCAP;
    let sets = capabilities(None)?;
    set_capabilities(None, CapabilitySets { inheritable: needed, ..sets })
        .context("no capabilities in the namespaces")?;
    for capability in needed.iter() {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Runs the first process in the namespaces.
#[allow(clippy::disallowed_methods, reason = "part of the module that starts processes")]
pub(super) fn mounts(words: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let plan = Plan::parse(words)?;
    sandbox_init::die_with_parent()?;
    if !plan.network {
        raise_loopback().context("no network of its own")?;
    }
    lay(&plan)?;
    std::env::set_current_dir(&plan.cwd)
        .with_context(|| format!("{} cannot be entered", plan.cwd.display()))?;
    let (program, arguments) = plan.program.split_first().context("no program")?;
    let error = Command::new(program).args(arguments).exec();
    Err(error).with_context(|| format!("{} could not be started", program.display()))
}

fn lay(plan: &Plan) -> anyhow::Result<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).context("mounts cannot be made private")?;
    // All sources are opened before one of them is covered.
    let taken: Vec<(&Step, Option<OwnedFd>)> = plan
        .mounts
        .iter()
        .map(|step| match step {
            Step::Bind { from, .. } => Ok((step, Some(take(from)?))),
            Step::Empty(_) => Ok((step, None)),
        })
        .collect::<anyhow::Result<_>>()?;
    devices()?;
    processes()?;
    for (step, source) in taken {
        let at = step.at();
        match source {
            Some(source) => {
                make_place(at, &source)?;
                put(source, at)?;
            }
            None => {
                fs::create_dir_all(at)
                    .with_context(|| format!("there is no place for {}", at.display()))?;
                empty(at)?;
            }
        }
    }
    close(plan)
}

fn take(from: &Path) -> anyhow::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, from, flags).with_context(|| format!("{} cannot be shown", from.display()))
}

fn put(source: OwnedFd, at: &Path) -> anyhow::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_SYMLINKS;
    move_mount(source, "", CWD, at, flags)
        .with_context(|| format!("{} cannot be mounted", at.display()))
}

/// Creates a mount point. Only a folder of the sandbox itself can lack one.
fn make_place(at: &Path, source: &OwnedFd) -> anyhow::Result<()> {
    if at.symlink_metadata().is_ok() {
        return Ok(());
    }
    if let Some(parent) = at.parent() {
        fs::create_dir_all(parent)?;
    }
    // The path may lead elsewhere meanwhile.
    let is_folder = FileType::from_raw_mode(fstat(source)?.st_mode).is_dir();
    let made = if is_folder { fs::create_dir(at) } else { fs::write(at, "") };
    made.with_context(|| format!("there is no place for {}", at.display()))
}

fn empty(at: &Path) -> anyhow::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", at, "tmpfs", flags, c"mode=0755")
        .with_context(|| format!("{} cannot be hidden", at.display()))
}

fn devices() -> anyhow::Result<()> {
    const NODES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
    const LINKS: [(&str, &str); 6] = [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("core", "/proc/kcore"),
        ("ptmx", "pts/ptmx"),
    ];
    let dev = Path::new("/dev");
    let nodes: Vec<_> = NODES
        .iter()
        .map(|name| Ok((name, take(&dev.join(name))?)))
        .collect::<anyhow::Result<_>>()?;
    empty(dev)?;
    for (name, node) in nodes {
        fs::write(dev.join(name), "")?;
        put(node, &dev.join(name))?;
    }
    for (name, target) in LINKS {
        std::os::unix::fs::symlink(target, dev.join(name))?;
    }
    fs::create_dir(dev.join("shm"))?;
    fs::create_dir(dev.join("pts"))?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("devpts", "/dev/pts", "devpts", flags, c"newinstance,ptmxmode=0666,mode=620")
        .context("no terminals")
}

/// Mounts `/proc` of this namespace.
fn processes() -> anyhow::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None::<&std::ffi::CStr>).context("no /proc")
}

/// Makes all other mounts read-only.
fn close(plan: &Plan) -> anyhow::Result<()> {
    let table = fs::read_to_string("/proc/self/mountinfo")?;
    for (at, flags) in table.lines().filter_map(mount_of) {
        if !plan.is_read_only(&at) {
            continue;
        }
        match mount_remount(&at, flags | MountFlags::BIND | MountFlags::RDONLY, c"") {
            Ok(()) => {}
            // Covered by another mount, so no path leads there.
            Err(
                rustix::io::Errno::INVAL | rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR,
            ) => {}
            // Not accessible to this process, nor to the command.
            Err(rustix::io::Errno::ACCESS) => {}
            Err(error) => {
                return Err(error).with_context(|| format!("{} stays writable", at.display()));
            }
        }
    }
    Ok(())
}

/// Parses a line of `/proc/self/mountinfo`: `id parent device root place options …`, with blanks in
/// the path as octal numbers. Restrictions of a mount must stay when it is remounted.
fn mount_of(line: &str) -> Option<(PathBuf, MountFlags)> {
    let mut fields = line.split(' ').skip(4);
    let (place, options) = (fields.next()?, fields.next()?);
    let mut flags = MountFlags::empty();
    for option in options.split(',') {
        flags |= match option {
            "nosuid" => MountFlags::NOSUID,
            "nodev" => MountFlags::NODEV,
            "noexec" => MountFlags::NOEXEC,
            "noatime" => MountFlags::NOATIME,
            "nodiratime" => MountFlags::NODIRATIME,
            "relatime" => MountFlags::RELATIME,
            _ => MountFlags::empty(),
        };
    }
    Some((unescaped(place), flags))
}

fn unescaped(place: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::with_capacity(place.len());
    let mut rest = place.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let octal = after
            .get(..3)
            .filter(|_| byte == b'\\')
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match octal {
            Some(meant) => {
                bytes.push(meant);
                rest = &after[3..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Enables the loopback interface, which is down in a new network namespace. Sends a netlink
/// request, which needs no unsafe code: one header, and one `ifinfomsg` that sets `IFF_UP` on the
/// first interface.
fn raise_loopback() -> anyhow::Result<()> {
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACK: u16 = 1 | 4;
    const ERROR: u16 = 2;
    const UP: u32 = 1;
    let mut question = Vec::with_capacity(32);
    question.extend(32u32.to_ne_bytes());
    question.extend(NEW_LINK.to_ne_bytes());
    question.extend(REQUEST_AND_ACK.to_ne_bytes());
    question.extend([0; 8]);
    // Family and type are zero; the loopback is the first interface.
    question.extend([0; 4]);
    for word in [1, UP, UP] {
        question.extend(u32::to_ne_bytes(word));
    }
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    sendto(&socket, &question, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 512];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let code = answer.get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    match (kind, code) {
        (Some(ERROR), Some(0)) if length >= 20 => Ok(()),
        (_, code) => bail!("the loopback stays down ({code:?})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(words: &str) -> anyhow::Result<Plan> {
        Plan::parse(words.split_whitespace().map(Into::into))
    }

    #[test]
    fn understands_what_is_said_to_bubblewrap() {
        let plan = plan(
            "--unshare-all --cap-drop ALL --ro-bind / / --dev /dev --tmpfs /run --bind /ws /ws \
             --ro-bind /ws/.git /ws/.git --remount-ro /run --chdir /ws -- /dev/cairn --x",
        )
        .unwrap();
        let bind =
            |path: &str, writable| Step::Bind { from: path.into(), at: path.into(), writable };
        let mounts = vec![Step::Empty("/run".into()), bind("/ws", true), bind("/ws/.git", false)];
        let program = vec!["/dev/cairn".into(), "--x".into()];
        assert_eq!(plan, Plan { network: false, mounts, cwd: "/ws".into(), program });
        for (mount, read_only) in [
            ("/", true),
            ("/usr", true),
            ("/run", true),
            ("/ws", false),
            ("/ws/deep/mount", false),
            ("/ws/.git", true),
            ("/ws/.git/x", true),
            ("/wsx", true),
            ("/dev/shm", false),
            ("/proc", false),
        ] {
            assert_eq!(plan.is_read_only(Path::new(mount)), read_only, "{mount}");
        }
    }

    #[test]
    fn refuses_what_it_does_not_understand() {
        for words in ["--bind /a", "--overlay / /", "x", "--share-net", ""] {
            assert!(plan(words).is_err(), "{words}");
        }
    }

    #[test]
    fn reads_the_table_of_mounts() {
        let line = "36 35 98:0 /r /mnt\\0402\\134 rw,noatime,nosuid master:1 - ext3 /dev/root rw";
        let (place, flags) = mount_of(line).unwrap();
        assert_eq!(place, Path::new("/mnt 2\\"));
        assert_eq!(flags, MountFlags::NOATIME | MountFlags::NOSUID);
        assert_eq!(mount_of("36 35"), None);
    }
}
