//! File with the whole output of a command, of bounded size. It is in the private temporary folder of
//! the command's sandbox, where the agent can read it.
//!
//! Commands can write in that folder: the file is created again, never opened by its name again, and no
//! link is followed.

use std::{
    fs::File,
    io::{self, Write},
    path::PathBuf,
};

use tempfile::TempPath;

use crate::exec::sandbox::PreparedSandbox;
#[cfg(target_os = "linux")]
use crate::exec::sandbox::shared_temporary;

/// Bytes of one log.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Log of one command. The file is removed when the log is dropped.
#[derive(Debug)]
pub(super) struct Log {
    file: File,
    #[cfg_attr(not(test), expect(dead_code, reason = "it removes the file when dropped"))]
    on_disk: TempPath,
    /// Path as the agent's commands see it.
    shown: PathBuf,
    written: u64,
    /// Reason why the rest of the output is missing.
    fault: Option<String>,
}

impl Log {
    pub(super) fn create(sandbox: Option<&PreparedSandbox>) -> io::Result<Self> {
        let (folder, shown) = folders(sandbox)?;
        let file = tempfile::Builder::new()
            .prefix("cairn-output-")
            .suffix(".log")
            .rand_bytes(10)
            .tempfile_in(folder)?;
        let (file, on_disk) = file.into_parts();
        let shown = match (shown, on_disk.file_name()) {
            (Some(shown), Some(name)) => shown.join(name),
            (Some(_), None) | (None, _) => on_disk.to_path_buf(),
        };
        Ok(Self { file, on_disk, shown, written: 0, fault: None })
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.fault.is_some() {
            return;
        }
        let room = usize::try_from(MAX_BYTES - self.written).unwrap_or(usize::MAX);
        let (taken, rest) = bytes.split_at(bytes.len().min(room));
        if let Err(error) = self.file.write_all(taken) {
            self.fault = Some(error.to_string());
            return;
        }
        self.written += taken.len() as u64;
        if !rest.is_empty() {
            let limit = MAX_BYTES / (1024 * 1024);
            self.fault = Some(format!("only the first {limit} MiB are kept"));
        }
    }

    /// Words about the file for the agent.
    pub(super) fn words(&self) -> String {
        let path = self.shown.display();
        match &self.fault {
            None => format!("the whole output: {path}"),
            Some(fault) => format!("the output: {path} (cut: {fault})"),
        }
    }

    /// Path of the file in the daemon's own file system.
    #[cfg(test)]
    pub(super) fn on_disk(&self) -> &std::path::Path {
        &self.on_disk
    }
}

/// Folder for logs, and its path inside the sandbox if there is one.
#[cfg(target_os = "linux")]
fn folders(sandbox: Option<&PreparedSandbox>) -> io::Result<(PathBuf, Option<PathBuf>)> {
    match sandbox {
        Some(sandbox) => {
            let (on_disk, inside) = sandbox.temporary_folder();
            Ok((on_disk, Some(inside.to_owned())))
        }
        None => Ok((shared_temporary()?, None)),
    }
}

#[cfg(not(target_os = "linux"))]
fn folders(_sandbox: Option<&PreparedSandbox>) -> io::Result<(PathBuf, Option<PathBuf>)> {
    Ok((std::env::temp_dir(), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_bounded_and_says_that_it_was_cut() {
        let mut log = Log::create(None).unwrap();
        let path = log.on_disk().to_owned();
        assert!(log.words().starts_with("the whole output: "), "{}", log.words());
        let piece = vec![b'x'; 1024 * 1024 + 1];
        (0..20).for_each(|_| log.push(&piece));
        assert_eq!(std::fs::metadata(&path).unwrap().len(), MAX_BYTES);
        assert!(log.words().contains("only the first 16 MiB are kept"), "{}", log.words());
        drop(log);
        assert!(!path.exists());
    }
}
