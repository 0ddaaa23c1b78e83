//! Quarantined files, as the model reads about them.

use cairn_protocol::{QuarantineFault, english_of_all};

use super::{QuarantineReport, shown_path};

/// Describes a report for the model, without a question to the user; empty if nothing was moved and
/// nothing failed.
pub fn report(left: &QuarantineReport) -> String {
    let faults = faults(&left.faults());
    let Some(folder) = left.folder() else { return faults.trim().to_owned() };
    let lines = english_of_all(&left.entries(shown_path), "\n");
    format!(
        "Protected files appeared or changed while a command ran. Cairn moved them to {}:\n{lines}{faults}",
        folder.display(),
    )
}

/// Returns a sentence for each fault, each after a line break; empty if there are none.
pub fn faults(faults: &[QuarantineFault]) -> String {
    faults.iter().map(|fault| format!("\n{}", fault.english())).collect()
}
