//! Launcher of a sandbox without bubblewrap: creates namespaces, and mounts in them. It accepts
//! only the arguments that `policy::sandbox` generates for bubblewrap, so both backends build the
//! same sandbox.
//!
//! The launcher creates the namespaces and waits. The first process in them creates all mounts and
//! then executes the given program, so the program never runs in an incomplete sandbox.

use std::{
    ffi::OsString,
    fs,
    os::{fd::OwnedFd, unix::process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, bail, ensure};
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

use super::sandbox_init::die_with_parent;
use crate::exec::sandbox::settings::SUBCOMMAND;

/// Role of the first process in the namespaces: the argument after [`SUBCOMMAND`].
pub(super) const MOUNTER: &str = "mounts";

/// Arguments of the launcher.
#[derive(Debug, Default, PartialEq, Eq)]
struct MountPlan {
    network: bool,
    mounts: Vec<MountStep>,
    cwd: PathBuf,
    program: Vec<OsString>,
}

/// Mount of `from`, or without it of an empty, read-only folder.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MountStep {
    at: PathBuf,
    from: Option<PathBuf>,
    writable: bool,
}

impl MountPlan {
    fn parse(arguments: impl IntoIterator<Item = OsString>) -> anyhow::Result<Self> {
        let mut arguments = arguments.into_iter();
        let mut plan = MountPlan::default();
        while let Some(argument) = arguments.next() {
            let mut next = || arguments.next().context("an argument is missing");
            match argument.to_str() {
                // This launcher always does this.
                Some("--unshare-all" | "--unshare-user" | "--die-with-parent" | "--as-pid-1") => {}
                Some("--cap-drop" | "--cap-add" | "--dev" | "--proc" | "--remount-ro") => {
                    drop(next()?)
                }
                Some("--share-net") => plan.network = true,
                Some(bind @ ("--bind" | "--ro-bind")) => {
                    let (from, at) = (Some(next()?.into()), PathBuf::from(next()?));
                    if at != Path::new("/") {
                        plan.mounts.push(MountStep { at, from, writable: bind == "--bind" });
                    }
                }
                Some("--tmpfs") => {
                    plan.mounts.push(MountStep { at: next()?.into(), from: None, writable: false });
                }
                Some("--chdir") => plan.cwd = next()?.into(),
                Some("--") => {
                    plan.program = arguments.collect();
                    return Ok(plan);
                }
                Some(_) | None => bail!("unknown argument: {}", argument.display()),
            }
        }
        bail!("no program")
    }

    /// True for a mount that must be read-only. The step with the longest path that contains the
    /// mount decides.
    fn is_read_only(&self, mount: &Path) -> bool {
        let around = self.mounts.iter().filter(|step| mount.starts_with(&step.at));
        match around.max_by_key(|step| step.at.components().count()) {
            Some(step) => !step.writable,
            None => !is_own(mount),
        }
    }

    /// True for a path in a folder that only the sandbox has.
    fn is_private(&self, path: &Path) -> bool {
        let above = self.mounts.iter().filter(|step| path.starts_with(&step.at) && path != step.at);
        match above.max_by_key(|step| step.at.components().count()) {
            Some(step) => step.from.as_ref() != Some(&step.at),
            None => is_own(path),
        }
    }
}

/// True for a path below the folders that each sandbox has.
fn is_own(path: &Path) -> bool {
    ["/dev", "/proc"].iter().any(|own| path.starts_with(own))
}

/// Runs the launcher. This process has only one thread, which is a condition for a change of its
/// namespaces.
#[allow(clippy::disallowed_methods, reason = "part of the module that starts processes")]
pub(super) fn launch(arguments: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let plan = MountPlan::parse(arguments.iter().cloned())?;
    die_with_parent()?;
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let mut namespaces = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    if !plan.network {
        namespaces |= UnshareFlags::NEWNET;
    }
    // Unsound only with a flag that is not used here.
    #[expect(deprecated, reason = "its successor is unsafe, and unsafe code is forbidden here")]
    rustix::thread::unshare(namespaces).context("namespaces could not be created")?;
    fs::write("/proc/self/setgroups", "deny").context("setgroups could not be denied")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))
        .context("the user could not be mapped")?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
        .context("the group could not be mapped")?;
    pass_on_capabilities()?;
    let mut first = Command::new("/proc/self/exe");
    let status = first.arg(SUBCOMMAND).arg(MOUNTER).args(arguments).status()?;
    Ok(ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(u8::MAX)))
}

/// Passes capabilities to the first process, which needs them to build the sandbox and drops them
/// before the command starts. A program that is not run by the superuser starts without capabilities
/// unless they are inheritable and ambient.
fn pass_on_capabilities() -> anyhow::Result<()> {
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN | CapabilitySet::SETPCAP;
    let sets = capabilities(None)?;
    set_capabilities(None, CapabilitySets { inheritable: needed, ..sets })
        .context("no capabilities in the namespaces")?;
    for capability in needed.iter() {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Runs the first process in the namespaces: creates the mounts and executes the program.
#[allow(clippy::disallowed_methods, reason = "part of the module that starts processes")]
pub(super) fn mount_and_exec(arguments: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let plan = MountPlan::parse(arguments)?;
    die_with_parent()?;
    if !plan.network {
        enable_loopback().context("the private network has no loopback interface")?;
    }
    mount_all(&plan)?;
    std::env::set_current_dir(&plan.cwd)
        .with_context(|| format!("{} cannot be entered", plan.cwd.display()))?;
    let (program, arguments) = plan.program.split_first().context("no program")?;
    let error = Command::new(program).args(arguments).exec();
    Err(error).with_context(|| format!("{} could not be started", program.display()))
}

fn mount_all(plan: &MountPlan) -> anyhow::Result<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).context("mounts cannot be made private")?;
    // All sources are opened first, because a mount may cover the source of another.
    let opened: Vec<(&MountStep, Option<OwnedFd>)> = plan
        .mounts
        .iter()
        .map(|step| Ok((step, step.from.as_deref().map(clone_mount).transpose()?)))
        .collect::<anyhow::Result<_>>()?;
    mount_dev()?;
    mount_proc()?;
    for (step, source) in opened {
        let at = &step.at;
        if at.symlink_metadata().is_err() {
            // A path of the machine that was removed since the plan was made is not created again.
            ensure!(plan.is_private(at), no_mount_point(at));
            create_mount_point(at, source.as_ref())?;
        }
        match source {
            Some(source) => attach_mount(source, at)?,
            None => mount_tmpfs(at)?,
        }
    }
    make_read_only(plan)
}

fn no_mount_point(at: &Path) -> String {
    format!("there is no mount point at {}", at.display())
}

fn clone_mount(from: &Path) -> anyhow::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, from, flags)
        .with_context(|| format!("{} cannot be opened for a mount", from.display()))
}

fn attach_mount(source: OwnedFd, at: &Path) -> anyhow::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_SYMLINKS;
    move_mount(source, "", CWD, at, flags)
        .with_context(|| format!("{} cannot be mounted", at.display()))
}

/// Creates a mount point, a folder unless `source` is something else.
fn create_mount_point(at: &Path, source: Option<&OwnedFd>) -> anyhow::Result<()> {
    if let Some(parent) = at.parent() {
        fs::create_dir_all(parent)?;
    }
    // The open source is asked, because its path may lead to something else by now.
    let is_folder = match source {
        Some(source) => FileType::from_raw_mode(fstat(source)?.st_mode).is_dir(),
        None => true,
    };
    let created = if is_folder { fs::create_dir(at) } else { fs::write(at, "") };
    created.with_context(|| no_mount_point(at))
}

fn mount_tmpfs(at: &Path) -> anyhow::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", at, "tmpfs", flags, c"mode=0755")
        .with_context(|| format!("{} cannot be covered by an empty folder", at.display()))
}

/// Mounts a `/dev` with the few devices that every program may use.
fn mount_dev() -> anyhow::Result<()> {
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
        .map(|name| Ok((name, clone_mount(&dev.join(name))?)))
        .collect::<anyhow::Result<_>>()?;
    mount_tmpfs(dev)?;
    for (name, node) in nodes {
        fs::write(dev.join(name), "")?;
        attach_mount(node, &dev.join(name))?;
    }
    for (name, target) in LINKS {
        std::os::unix::fs::symlink(target, dev.join(name))?;
    }
    fs::create_dir(dev.join("shm"))?;
    fs::create_dir(dev.join("pts"))?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("devpts", "/dev/pts", "devpts", flags, c"newinstance,ptmxmode=0666,mode=620")
        .context("/dev/pts cannot be mounted")
}

/// Mounts a `/proc` with the processes of this namespace.
fn mount_proc() -> anyhow::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None::<&std::ffi::CStr>)
        .context("/proc cannot be mounted")
}

/// Makes all mounts read-only that the plan does not make writable.
fn make_read_only(plan: &MountPlan) -> anyhow::Result<()> {
    let table = fs::read("/proc/self/mountinfo")?;
    for (at, flags) in table.split(|&byte| byte == b'\n').filter_map(mount_of) {
        if !plan.is_read_only(&at) {
            continue;
        }
        match mount_remount(&at, flags | MountFlags::BIND | MountFlags::RDONLY, c"") {
            Ok(()) => {}
            // Another mount covers this one, so no path leads there.
            Err(
                rustix::io::Errno::INVAL | rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR,
            ) => {}
            // Not accessible to this process, nor to the command.
            Err(rustix::io::Errno::ACCESS) => {}
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("{} could not be made read-only", at.display()));
            }
        }
    }
    Ok(())
}

/// Parses a line of `/proc/self/mountinfo`: `id parent device root path options …`. Returns the path
/// and the options that a remount must repeat to keep them.
fn mount_of(line: &[u8]) -> Option<(PathBuf, MountFlags)> {
    let mut fields = line.split(|&byte| byte == b' ').skip(4);
    let (path, options) = (fields.next()?, fields.next()?);
    let mut flags = MountFlags::empty();
    for option in options.split(|&byte| byte == b',') {
        flags |= match option {
            b"nosuid" => MountFlags::NOSUID,
            b"nodev" => MountFlags::NODEV,
            b"noexec" => MountFlags::NOEXEC,
            b"noatime" => MountFlags::NOATIME,
            b"nodiratime" => MountFlags::NODIRATIME,
            b"relatime" => MountFlags::RELATIME,
            _ => MountFlags::empty(),
        };
    }
    Some((unescape(path), flags))
}

/// Decodes a path in `/proc/self/mountinfo`, where blanks are octal numbers.
fn unescape(path: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let mut parts = path.split(|&byte| byte == b'\\');
    let mut bytes = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at(part.len().min(3));
        let byte = std::str::from_utf8(digits).ok().and_then(|it| u8::from_str_radix(it, 8).ok());
        bytes.push(byte.unwrap_or(b'\\'));
        bytes.extend(if byte.is_some() { rest } else { part });
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Enables the loopback interface, which is down in a new network namespace. Sends a netlink request
/// (one header, and one `ifinfomsg` that sets `IFF_UP` on the first interface), because an `ioctl`
/// would need unsafe code.
fn enable_loopback() -> anyhow::Result<()> {
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACK: u16 = 1 | 4;
    const ERROR: u16 = 2;
    const UP: u32 = 1;
    let mut request = Vec::with_capacity(32);
    request.extend(32u32.to_ne_bytes());
    request.extend(NEW_LINK.to_ne_bytes());
    request.extend(REQUEST_AND_ACK.to_ne_bytes());
    request.extend([0; 8]);
    // Family and type are zero; the loopback is the first interface.
    request.extend([0; 4]);
    for word in [1, UP, UP] {
        request.extend(u32::to_ne_bytes(word));
    }
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut reply = [0; 512];
    let (length, _) = recv(&socket, &mut reply[..], RecvFlags::empty())?;
    let kind = reply.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let code = reply.get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    match (kind, code) {
        (Some(ERROR), Some(0)) if length >= 20 => Ok(()),
        (_, code) => bail!("the loopback interface could not be enabled ({code:?})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(arguments: &str) -> anyhow::Result<MountPlan> {
        MountPlan::parse(arguments.split_whitespace().map(Into::into))
    }

    #[test]
    fn arguments_for_bubblewrap_are_parsed() {
        let plan = plan(
            "--unshare-all --cap-drop ALL --ro-bind / / --dev /dev --tmpfs /run --bind /ws /ws \
             --ro-bind /ws/.git /ws/.git --remount-ro /run --chdir /ws -- /dev/cairn --x",
        )
        .unwrap();
        let bind = |path: &str, writable| {
            let (at, from) = (path.into(), Some(path.into()));
            MountStep { at, from, writable }
        };
        let empty = MountStep { at: "/run".into(), from: None, writable: false };
        let mounts = vec![empty, bind("/ws", true), bind("/ws/.git", false)];
        let program = vec!["/dev/cairn".into(), "--x".into()];
        assert_eq!(plan, MountPlan { network: false, mounts, cwd: "/ws".into(), program });
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
    fn mount_points_are_created_only_in_private_folders() {
        let plan = plan(
            "--ro-bind / / --dev /dev --tmpfs /run --bind /private/tmp /tmp --bind /ws /ws --bind \
             /private/cache /ws/cache -- /dev/cairn",
        )
        .unwrap();
        for (path, private) in [
            ("/dev/cairn", true),
            ("/run/resolv.conf", true),
            ("/tmp/a", true),
            ("/ws/cache/a/b", true),
            ("/ws/cache", false),
            ("/ws/.git", false),
            ("/srv/program.sock", false),
        ] {
            assert_eq!(plan.is_private(Path::new(path)), private, "{path}");
        }
    }

    #[test]
    fn unknown_arguments_are_refused() {
        for arguments in ["--bind /a", "--overlay / /", "x", "--share-net", ""] {
            assert!(plan(arguments).is_err(), "{arguments}");
        }
    }

    #[test]
    fn a_line_of_mountinfo_is_parsed() {
        let line = b"36 35 98:0 /r /\xff\\0402\\134 rw,noatime,nosuid master:1 - ext3 /dev/root rw";
        let (path, flags) = mount_of(line).unwrap();
        assert_eq!(path.as_os_str().as_encoded_bytes(), b"/\xff 2\\");
        assert_eq!(flags, MountFlags::NOATIME | MountFlags::NOSUID);
        assert_eq!(mount_of(b"36 35"), None);
    }
}
