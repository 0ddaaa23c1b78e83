//! Codes of the connection to the model server.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::CodeRow;

codes! {
    /// Reason for another attempt. `said` are the words of the server or of the system; `status` is
    /// that of HTTP. Since 1.3. A later version may add codes.
    RetryReason {
        ServerUnreachable { said: Option<String> },
        ServerSilent,
        TooManyRequests { status: Option<u16>, said: Option<String> },
        ServerFailed { status: Option<u16>, said: Option<String> },
        /// The answer ended before it was complete.
        AnswerBroken,
        /// The answer was in another format.
        AnswerUnreadable,
    }
}
