//! Second layer of the sandbox, applied from inside: no privileges, few system calls, and writes
//! only where the mounts allow them too. The restrictions hold for every program that the command
//! starts, and are never lifted.

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
const MOST_TASKS: u64 = 2048;
/// Largest file in bytes: far more than a build writes, less than a disk holds.
const LONGEST_FILE: u64 = 32 << 30;

/// Sets resource limits. Memory has none: programs reserve far more address space than they use.
/// The kernel kills a command that uses too much before it kills Cairn (see `sandbox_init`).
pub(super) fn limit() -> anyhow::Result<()> {
    let limits =
        [(Resource::Core, 0), (Resource::Nproc, MOST_TASKS), (Resource::Fsize, LONGEST_FILE)];
    for (resource, most) in limits {
        let maximum = rustix::process::getrlimit(resource).maximum;
        let most = maximum.map_or(most, |maximum| maximum.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .context("no limit could be set")?;
    }
    Ok(())
}

/// Restricts the superuser inside the sandbox, whom the kernel allows more: settings of the whole
/// machine are covered, and process ids are limited, because no process limit applies. False if the
/// ids cannot be limited: they belong to a sandbox since Linux 6.14.
pub(super) fn restrain_superuser() -> anyhow::Result<bool> {
    let usual = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::BIND;
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let limited = numbers_belong_to_a_box(&release) && {
        // The launcher may have covered them already.
        let _ = mount_remount("/proc/sys", usual, c"");
        std::fs::write("/proc/sys/kernel/pid_max", MOST_TASKS.to_string()).is_ok()
    };
    for name in ["sys", "sysrq-trigger", "irq", "bus", "acpi", "fs", "scsi"] {
        let place = Path::new("/proc").join(name);
        if place.exists() {
            mount_bind(&place, &place)
                .and_then(|()| mount_remount(&place, usual | MountFlags::RDONLY, c""))
                .with_context(|| format!("{} stays open", place.display()))?;
        }
    }
    Ok(limited)
}

fn numbers_belong_to_a_box(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>());
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (6, 14),
        (_, _) => false,
    }
}

/// Drops all capabilities, and prevents programs from regaining one.
pub(super) fn drop_privileges() -> anyhow::Result<()> {
    set_no_new_privs(true).context("privileges could not be given up")?;
    // Fails without capabilities, when there is none to drop.
    for capability in CapabilitySet::all().iter() {
        let _ = remove_capability_from_bounding_set(capability);
    }
    let _ = clear_ambient_capability_set();
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .context("capabilities could not be given up")?;
    ensure!(capabilities(None)?.effective.is_empty(), "capabilities are left");
    Ok(())
}

/// Restricts writes to these folders by Landlock, as far as the kernel supports it.
pub(super) fn write_only_below(folders: &[PathBuf]) -> anyhow::Result<()> {
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
/// memory, the kernel's keys and programs, mounts and namespaces, terminal input.
pub(super) fn forbid_calls() -> anyhow::Result<()> {
    let allow = SeccompAction::Allow;
    let arch = std::env::consts::ARCH.try_into()?;
    let refused = SeccompFilter::new(refused()?, allow.clone(), errno(libc::EPERM), arch)?;
    // The arguments of `clone3` lie in memory, which a filter cannot read. Programs fall back to
    // `clone`.
    let unknown = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let unknown = SeccompFilter::new(unknown, allow, errno(libc::ENOSYS), arch)?;
    for filter in [refused, unknown] {
        let program: BpfProgram = filter.try_into()?;
        apply_filter(&program)?;
    }
    Ok(())
}

fn errno(number: i32) -> SeccompAction {
    SeccompAction::Errno(number.unsigned_abs())
}

const NEVER: &[libc::c_long] = &[
    libc::SYS_ptrace,
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

/// Bit in the numbers of system calls of the x32 ABI; some calls have other numbers there.
#[cfg(target_arch = "x86_64")]
const X32: libc::c_long = 0x4000_0000;
#[cfg(target_arch = "x86_64")]
const ONLY_X32: &[libc::c_long] = &[
    X32 + 521, // ptrace
    X32 + 528, // kexec_load
    X32 + 539, // process_vm_readv
    X32 + 540, // process_vm_writev
];

type Rules = BTreeMap<libc::c_long, Vec<SeccompRule>>;

fn refused() -> anyhow::Result<Rules> {
    let mut rules: Rules = NEVER.iter().map(|&call| (call, Vec::new())).collect();
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
    // Allows Unix and Internet sockets (an own network namespace leads nowhere), and netlink for
    // listing addresses. Other socket families are refused.
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
        rules.extend(ONLY_X32.iter().map(|&call| (call, Vec::new())));
        // `ioctl` there.
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
    fn a_limit_of_numbers_is_set_only_where_it_is_the_boxs_own() {
        for (release, own) in [
            ("6.18.44-fc", true),
            ("6.14", true),
            ("7.0-rc1", true),
            ("6.13.9", false),
            ("5.15", false),
            ("x", false),
        ] {
            assert_eq!(numbers_belong_to_a_box(release), own, "{release}");
        }
    }

    #[test]
    fn the_filter_can_be_made() {
        let arch = std::env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(refused().unwrap(), SeccompAction::Allow, errno(1), arch);
        let program: BpfProgram = filter.unwrap().try_into().unwrap();
        // What the kernel takes at most.
        assert!(program.len() < 4096, "{}", program.len());
    }
}
