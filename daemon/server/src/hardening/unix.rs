//! No core dumps, and on Linux no tracing.

use rustix::process::{Resource, Rlimit, setrlimit};

/// No core dumps, here and in commands. On Linux nobody else of the same user may trace this process
/// or read its memory and environment. What could not be had.
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
