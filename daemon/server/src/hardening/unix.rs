//! Protection on Unix: no core dumps, and on Linux no tracing.

use rustix::process::{Resource, Rlimit, setrlimit};

/// Disables core dumps for this process and its commands. On Linux, prevents other processes of the
/// same user from tracing this one and from reading its memory and environment. Returns failures.
pub(super) fn close() -> Vec<String> {
    let mut faults = Vec::new();
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    if let Err(error) = setrlimit(Resource::Core, none) {
        faults.push(format!("core dumps cannot be turned off: {error}"));
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            faults.push(format!("other programs of this user can read the keys: {error}"));
        }
    }
    faults
}
