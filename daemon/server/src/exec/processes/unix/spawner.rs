//! Spawns sandbox launchers from one thread that lives as long as the daemon. The kernel kills a
//! sandbox with the *thread* that spawned it.

use std::{
    io,
    process::{Child, Command},
    sync::{
        OnceLock,
        mpsc::{SyncSender, sync_channel},
    },
};

struct Job {
    command: Command,
    started: SyncSender<io::Result<Child>>,
}

/// Spawns a process and blocks until it is started.
pub(super) fn spawn(command: Command) -> io::Result<Child> {
    static THREAD: OnceLock<Option<SyncSender<Job>>> = OnceLock::new();
    let gone = || io::Error::other("no thread to start processes from");
    let jobs = THREAD.get_or_init(|| start().ok()).as_ref().ok_or_else(gone)?;
    let (started, child) = sync_channel(1);
    jobs.send(Job { command, started }).map_err(|_| gone())?;
    child.recv().map_err(|_| gone())?
}

fn start() -> io::Result<SyncSender<Job>> {
    let (jobs, queue) = sync_channel::<Job>(0);
    let work = move || {
        for Job { mut command, started } in queue {
            // If the requester is gone, nobody can wait for the child, so it is killed.
            if let Err(lost) = started.send(command.spawn())
                && let Ok(mut child) = lost.0
            {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    };
    std::thread::Builder::new().name("starts-boxes".to_owned()).spawn(work)?;
    Ok(jobs)
}
