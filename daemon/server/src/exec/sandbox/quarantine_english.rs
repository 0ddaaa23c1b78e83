//! English texts of quarantined files, for the model and for clients without texts of their own.

use cairn_protocol::{QuarantineEntry, QuarantineFault};

use super::{QuarantineReport, shown_path};

/// Returns one line for each entry.
pub fn lines(entries: &[QuarantineEntry]) -> Vec<String> {
    let line = |entry: &QuarantineEntry| match entry {
        QuarantineEntry::NewFile { file } => format!("{file} (new)"),
        QuarantineEntry::ChangedFile { file } => format!("{file} (changed)"),
        QuarantineEntry::RestoredFile { file } => {
            format!("{file} (changed; the former one is restored)")
        }
        QuarantineEntry::MoreFiles { count } => format!("and {count} more"),
    };
    entries.iter().map(line).collect()
}

/// Describes a report for the model, without a question to the user; empty if nothing was moved and
/// nothing failed.
pub fn report(left: &QuarantineReport) -> String {
    let faults = faults(&left.faults());
    let Some(folder) = left.folder() else { return faults.trim().to_owned() };
    let lines = lines(&left.entries(shown_path)).join("\n");
    format!(
        "Protected files appeared or changed while a command ran. Cairn moved them to {}:\n{lines}{faults}",
        folder.display(),
    )
}

/// Returns a sentence for each fault, each after a line break; empty if there are none.
pub fn faults(faults: &[QuarantineFault]) -> String {
    let sentence = |fault: &QuarantineFault| {
        match fault {
        QuarantineFault::FileNotMoved { file, reason } => format!(
            "\n{file} was written by a command and could not be moved to quarantine ({reason}). Check it before you use git or an editor there."
        ),
        QuarantineFault::SearchIncomplete => {
            "\nNot every folder of the workspace could be searched for files that git, an editor or a shell runs by itself: there are too many folders, or some cannot be read.".to_owned()
        }
    }
    };
    faults.iter().map(sentence).collect()
}
