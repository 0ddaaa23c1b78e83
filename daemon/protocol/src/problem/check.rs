//! Codes of the findings of a model check.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{ActionId, CodeRow, TurnProblem};
use crate::{CheckState, FormChange};

problems! {
    /// Finding about a model and its server. Since 1.4. A later version may add codes.
    ModelFinding of CheckState {
        Answered { milliseconds: u32 }: Works,
        NotAnswered { reason: TurnProblem }: Broken,
        /// A failed request left it open.
        NotChecked: Unknown,
        CallsTool: Works,
        /// The tool's name came with marks around it.
        CallRenamed { name: String }: Adapted,
        CallOfUnknownTool { name: String }: Broken,
        /// The arguments are no JSON object.
        CallArguments { error: String }: Broken,
        /// The text of the answer holds a call in the form of the model's template.
        CallAsText: Broken,
        NoCall: Broken,
        /// The answer reached the limit of the check, `tokens`, before its end.
        AnswerTooLong { tokens: u32 }: Unknown,
        CallsTogether { count: u32 }: Works,
        CallsOneByOne: Limited,
        HistoryTaken: Works,
        NothingSaid: Limited,
        Streamed: Works,
        InOnePiece: Limited,
        TooShortToTell: Unknown,
        CountsTokens { input: u32, output: u32 }: Works,
        NoTokenCounts: Limited,
        UsualForm: Works,
        OtherForm { changes: Vec<FormChange> }: Adapted,
        WindowKnown { tokens: u32 }: Works,
        WindowAssumed { tokens: u32, setting: String }: Limited => OpenSettings,
    }
}
