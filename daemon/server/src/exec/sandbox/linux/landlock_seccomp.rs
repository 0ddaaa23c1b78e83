//! Second layer of the sandbox, which a process applies to itself: no privileges, fewer system calls,
//! and writes only where the mounts allow them too. Every program that the command starts inherits
//! the restrictions, and none can lift them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, ensure};
use landlock::{
    ABI, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, Scope,
};
use rustix::{
    mount::{MountFlags, mount_bind, mount_remount},
    process::{Resource, Rlimit, setrlimit},
    thread::{
        CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
        remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
    },
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

/// Limit of threads and processes; a big build on a big machine has some hundreds.
const MAX_TASKS: u64 = 2048;
/// Largest file in bytes: far more than a build writes, less than a disk holds.
const MAX_FILE_BYTES: u64 = 32 << 30;

/// Sets resource limits. Memory has none: programs reserve far more address space than they use.
/// The kernel kills a command that uses too much before it kills Cairn (see `sandbox_init`).
pub(super) fn set_resource_limits() -> anyhow::Result<()> {
    let limits =
        [(Resource::Core, 0), (Resource::Nproc, MAX_TASKS), (Resource::Fsize, MAX_FILE_BYTES)];
    for (resource, most) in limits {
        let maximum = rustix::process::getrlimit(resource).maximum;
        let most = maximum.map_or(most, |maximum| maximum.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .context("the resource limits could not be set")?;
    }
    Ok(())
}

/// Restricts the superuser inside the sandbox: makes settings of the whole machine read-only, and
/// limits process ids, because the kernel's limit of processes does not apply to the superuser.
/// False if process ids cannot be limited.
pub(super) fn restrict_superuser() -> anyhow::Result<bool> {
    let usual = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::BIND;
    let limited = kernel_is_since(PID_LIMIT_PER_NAMESPACE) && {
        // Makes it writable for the next line. Fails if it is no mount; then it is writable already.
        let _ = mount_remount("/proc/sys", usual, c"");
        std::fs::write("/proc/sys/kernel/pid_max", MAX_TASKS.to_string()).is_ok()
    };
    for name in ["sys", "sysrq-trigger", "irq", "bus", "acpi", "fs", "scsi"] {
        let place = Path::new("/proc").join(name);
        if place.exists() {
            mount_bind(&place, &place)
                .and_then(|()| mount_remount(&place, usual | MountFlags::RDONLY, c""))
                .with_context(|| format!("{} could not be made read-only", place.display()))?;
        }
    }
    Ok(limited)
}

/// Since Linux 6.14 `pid_max` belongs to a namespace. Before, it is a setting of the whole machine.
const PID_LIMIT_PER_NAMESPACE: (u32, u32) = (6, 14);

/// Since Linux 4.8 the filter sees a system call after a debugger changed it. Before, a debugger could
/// make its program perform forbidden calls.
const FILTER_AFTER_DEBUGGER: (u32, u32) = (4, 8);

fn kernel_is_since(version: (u32, u32)) -> bool {
    is_since(&rustix::system::uname().release().to_string_lossy(), version)
}

fn is_since(release: &str, version: (u32, u32)) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>());
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= version,
        (_, _) => false,
    }
}

/// Drops all capabilities, and prevents programs from regaining one.
pub(super) fn drop_privileges() -> anyhow::Result<()> {
    set_no_new_privs(true).context("privileges could not be dropped")?;
    // Fails for a process without capabilities, which has none to drop.
    for capability in CapabilitySet::all().iter() {
        let _ = remove_capability_from_bounding_set(capability);
    }
    let _ = clear_ambient_capability_set();
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .context("capabilities could not be dropped")?;
    ensure!(capabilities(None)?.effective.is_empty(), "some capabilities could not be dropped");
    Ok(())
}

/// Restricts writes to these folders by Landlock, as far as the kernel supports it.
pub(super) fn allow_writes_only_below(folders: &[PathBuf]) -> anyhow::Result<()> {
    let write = AccessFs::from_write(ABI::V6);
    let mut rules = Ruleset::default()
        .handle_access(write)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?;
    for folder in folders {
        let place = PathFd::new(folder)
            .with_context(|| format!("{} cannot be opened", folder.display()))?;
        rules = rules.add_rule(PathBeneath::new(place, write))?;
    }
    rules.restrict_self()?;
    Ok(())
}

/// Forbids system calls that no command needs and that reach outside the sandbox: other processes'
/// memory by a second way, the kernel's keys and programs, mounts and namespaces, terminal input.
pub(super) fn forbid_system_calls() -> anyhow::Result<()> {
    let allow = SeccompAction::Allow;
    let arch = std::env::consts::ARCH.try_into()?;
    let forbidden = SeccompFilter::new(forbidden()?, allow.clone(), errno(libc::EPERM), arch)?;
    // The arguments of `clone3` lie in memory, which a filter cannot read. With this error, programs
    // fall back to `clone`.
    let unknown = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let unknown = SeccompFilter::new(unknown, allow, errno(libc::ENOSYS), arch)?;
    for filter in [forbidden, unknown] {
        let program: BpfProgram = filter.try_into()?;
        apply_filter(&program)?;
    }
    Ok(())
}

fn errno(number: i32) -> SeccompAction {
    SeccompAction::Errno(number.unsigned_abs())
}

/// System calls that are forbidden whatever their arguments are.
const FORBIDDEN: &[libc::c_long] = &[
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_open_by_handle_at,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
];

/// Bit in the numbers of system calls of the x32 ABI.
#[cfg(target_arch = "x86_64")]
const X32: libc::c_long = 0x4000_0000;
/// System calls that have another number in the x32 ABI.
#[cfg(target_arch = "x86_64")]
const FORBIDDEN_X32: &[libc::c_long] = &[
    X32 + 521, // ptrace
    X32 + 528, // kexec_load
    X32 + 539, // process_vm_readv
    X32 + 540, // process_vm_writev
];

type Rules = BTreeMap<libc::c_long, Vec<SeccompRule>>;

fn forbidden() -> anyhow::Result<Rules> {
    let mut rules: Rules = FORBIDDEN.iter().map(|&call| (call, Vec::new())).collect();
    // A debugger reaches the programs of its sandbox only: it names them by ids of their namespace,
    // and the first process, which is not dumpable, refuses it.
    if !kernel_is_since(FILTER_AFTER_DEBUGGER) {
        rules.insert(libc::SYS_ptrace, Vec::new());
    }
    let user_namespace = libc::CLONE_NEWUSER as u64;
    let namespace = SeccompCmpOp::MaskedEq(user_namespace);
    for call in [libc::SYS_clone, libc::SYS_unshare] {
        rules.insert(call, vec![rule([(0, namespace.clone(), user_namespace)])?]);
    }
    rules.insert(
        libc::SYS_ioctl,
        vec![
            rule([(1, SeccompCmpOp::Eq, libc::TIOCSTI)])?,
            rule([(1, SeccompCmpOp::Eq, libc::TIOCLINUX)])?,
        ],
    );
    // Allows Unix and Internet sockets (a private network namespace has no connections), and netlink
    // to list addresses. Other socket families are forbidden.
    let usual = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let other = usual.map(|family| (0, SeccompCmpOp::Ne, family as u64));
    let netlink = [
        (0, SeccompCmpOp::Eq, libc::AF_NETLINK as u64),
        (2, SeccompCmpOp::Ne, libc::NETLINK_ROUTE as u64),
    ];
    let sockets = vec![rule(other)?, rule(netlink)?];
    rules.insert(libc::SYS_socket, sockets.clone());
    rules.insert(libc::SYS_socketpair, sockets);
    #[cfg(target_arch = "x86_64")]
    {
        let x32: Rules = rules.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
        rules.extend(x32);
        rules.extend(FORBIDDEN_X32.iter().map(|&call| (call, Vec::new())));
        // Number of `ioctl` in the x32 ABI.
        let ioctl = rules.get(&libc::SYS_ioctl).cloned().unwrap_or_default();
        rules.insert(X32 + 514, ioctl);
    }
    Ok(rules)
}

/// Rule in which all conditions hold: index of the argument, comparison, value.
fn rule<const N: usize>(conditions: [(u8, SeccompCmpOp, u64); N]) -> anyhow::Result<SeccompRule> {
    let conditions: Result<Vec<_>, _> = conditions
        .into_iter()
        .map(|(argument, how, value)| {
            SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, value)
        })
        .collect();
    Ok(SeccompRule::new(conditions?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_ids_are_limited_only_if_the_limit_belongs_to_the_sandbox() {
        for (release, own) in [
            ("6.18.44-fc", true),
            ("6.14", true),
            ("7.0-rc1", true),
            ("6.13.9", false),
            ("5.15", false),
            ("x", false),
        ] {
            assert_eq!(is_since(release, PID_LIMIT_PER_NAMESPACE), own, "{release}");
        }
    }

    #[test]
    fn the_filter_compiles_and_is_short_enough_for_the_kernel() {
        let arch = std::env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(forbidden().unwrap(), SeccompAction::Allow, errno(1), arch);
        let program: BpfProgram = filter.unwrap().try_into().unwrap();
        assert!(program.len() < 4096, "{}", program.len());
    }
}
