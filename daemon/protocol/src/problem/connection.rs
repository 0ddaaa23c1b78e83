//! Codes of the connection to the model server.

use serde::{Deserialize, Serialize};

use super::{ActionId, CodeRow, Coded, UiArgument, UiMessage, message::Argument};

codes! {
    /// Reason for another attempt. `said` are the words of the server or of the system; `status` is
    /// that of HTTP. A later version may add codes.
    RetryReason {
        ServerUnreachable { said: Option<String> } = [
            "no connection to the model server",
            "no connection to the model server: {said}",
        ] at usize::from(said.is_some());
        ServerSilent = "the model server did not answer in time";
        TooManyRequests { status: Option<u16>, said: Option<String> } = [
            "the model server limits the number of requests",
            "the model server limits the number of requests ({status})",
            "the model server limits the number of requests: {said}",
            "the model server limits the number of requests ({status}): {said}",
        ] at usize::from(status.is_some()) + 2 * usize::from(said.is_some());
        ServerFailed { status: Option<u16>, said: Option<String> } = [
            "the model server reported an error",
            "the model server reported an error ({status})",
            "the model server reported an error: {said}",
            "the model server reported an error ({status}): {said}",
        ] at usize::from(status.is_some()) + 2 * usize::from(said.is_some());
        /// The answer ended before it was complete.
        AnswerBroken = "the answer broke off";
        /// The answer was in another format.
        AnswerUnreadable = "the answer could not be read";
    }
}
