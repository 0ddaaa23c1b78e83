//! Thread that spawns all sandbox launchers and lives as long as the daemon. The kernel kills a
//! launcher when the *thread* that spawned it ends, so a thread of the runtime cannot spawn it.

use std::{
    io,
    process::{Child, Command},
    sync::{
        OnceLock,
        mpsc::{SyncSender, sync_channel},
    },
};

struct SpawnJob {
    command: Command,
    started: SyncSender<io::Result<Child>>,
}

/// Spawns a process on the thread, and blocks until it is started.
pub(super) fn spawn(command: Command) -> io::Result<Child> {
    static THREAD: OnceLock<Option<SyncSender<SpawnJob>>> = OnceLock::new();
    let gone = || io::Error::other("the thread that starts processes is gone");
    let jobs = THREAD.get_or_init(|| start().ok()).as_ref().ok_or_else(gone)?;
    let (started, child) = sync_channel(1);
    jobs.send(SpawnJob { command, started }).map_err(|_| gone())?;
    child.recv().map_err(|_| gone())?
}

fn start() -> io::Result<SyncSender<SpawnJob>> {
    let (jobs, queue) = sync_channel::<SpawnJob>(0);
    let work = move || {
        for SpawnJob { mut command, started } in queue {
            // If the caller is gone, nobody would wait for the child, so it is killed.
            if let Err(lost) = started.send(command.spawn())
                && let Ok(mut child) = lost.0
            {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    };
    std::thread::Builder::new().name("spawn-sandbox".to_owned()).spawn(work)?;
    Ok(jobs)
}
