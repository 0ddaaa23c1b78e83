//! What this process asks of the system before it reads a key: that nobody looks into its memory.
//!
//! It must run before any other thread and any child. A failure is told, not fatal: without it the
//! daemon is as safe as any other program of the user.

use rustix::process::{Resource, Rlimit, setrlimit};

/// Set to 1 it leaves the process open, for a debugger, a profiler, and tests that weigh it.
pub const TRACEABLE: &str = "CAIRN_TRACEABLE";

/// No core dumps, here and in commands. On Linux nobody else of the same user may trace this process
/// or read its memory and environment. What could not be had, for the log.
pub fn begin(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    if variable(TRACEABLE).as_deref() == Some("1") {
        return vec![format!("{TRACEABLE} is set: other programs of this user can read the keys")];
    }
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
