//! Codes of files that a command left and that were moved to quarantine.

use serde::{Deserialize, Serialize};

use super::{ActionId, CodeRow, Coded, UiArgument, UiMessage, message::Argument};

codes! {
    /// Entry of a list of quarantined files. A later version may add codes.
    QuarantineEntry joined "\n" {
        /// The command made the file.
        NewFile { file: String } = "{file} (new)";
        ChangedFile { file: String } = "{file} (changed)";
        /// The command changed the file, and Cairn restored its former text.
        RestoredFile { file: String } = "{file} (changed; the former one is restored)";
        /// End of a bounded list.
        MoreFiles { count: u32 } = "and {count} more";
    }
}

codes! {
    /// Gap in the search for such files. A later version may add codes.
    QuarantineFault joined "\n" {
        /// A command wrote `file`, which stays in its place.
        FileNotMoved { file: String, reason: String } = "{file} was written by a command and could not be moved to quarantine ({reason}). Check it before you use Git or an editor there.";
        /// The workspace has too many folders, or some cannot be read.
        SearchIncomplete = "Not every folder of the workspace could be searched for such files: there are too many folders, or some cannot be read.";
    }
}
