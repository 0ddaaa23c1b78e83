//! Codes of files that a command left and that were moved to quarantine.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::CodeRow;

codes! {
    /// Entry of a list of quarantined files. Since 1.4. A later version may add codes.
    QuarantineEntry {
        /// The command made the file.
        NewFile { file: String },
        ChangedFile { file: String },
        /// The command changed the file, and Cairn restored its former text.
        RestoredFile { file: String },
        /// End of a bounded list.
        MoreFiles { count: u32 },
    }
}

codes! {
    /// Gap in the search for such files. Since 1.4. A later version may add codes.
    QuarantineFault {
        /// A command wrote `file`, which stays in its place.
        FileNotMoved { file: String, reason: String },
        /// The workspace has too many folders, or some cannot be read.
        SearchIncomplete,
    }
}
