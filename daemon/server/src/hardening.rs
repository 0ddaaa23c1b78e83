//! Protection of this process's memory from other programs, set up before it reads a key.
//!
//! Must run before any other thread or child starts. A failure is logged, not fatal: without the
//! protection the daemon is as safe as any other program of the user.

use rustix::process::{Resource, Rlimit, setrlimit};

/// Environment variable that turns the protection off with the value 1, for debuggers, profilers,
/// and tests that measure memory.
pub const TRACEABLE: &str = "CAIRN_TRACEABLE";

/// Sets up the protection. Returns failures for the log.
pub fn begin(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    if variable(TRACEABLE).as_deref() == Some("1") {
        return vec![format!("{TRACEABLE} is set: other programs of this user can read the keys")];
    }
    close()
}

/// Disables core dumps for this process and its commands. On Linux, prevents other processes of the
/// same user from tracing this one and from reading its memory and environment. Returns failures.
fn close() -> Vec<String> {
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
