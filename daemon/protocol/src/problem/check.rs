//! Codes of the findings of a model check.

use serde::{Deserialize, Serialize};

use super::{ActionId, CodeRow, Coded, TurnProblem, UiArgument, UiMessage, message::Argument};

problems! {
    /// Finding about a model and its server. A later version may add codes.
    ModelFinding of CheckState {
        Answered { seconds: String }: Works = "the first answer took {seconds} s";
        NotAnswered { reason: TurnProblem }: Broken = "{reason}";
        /// A failed request left it open.
        NotChecked: Unknown = "not checked";
        CallsTool: Works = "the call is complete";
        /// The tool's name came with marks around it.
        CallRenamed { name: String }: Adapted = "the name came as {name}";
        CallOfUnknownTool { name: String }: Broken = "the model called {name}";
        /// The arguments are no JSON object.
        CallArguments { error: String }: Broken = "the arguments are no JSON object: {error}";
        /// The text of the answer holds a call in the form of the model's template.
        CallAsText: Broken = "the call came as text: the server's chat template does not fit the model";
        NoCall: Broken = "the model did not call the tool";
        /// The answer reached the limit of the check, `tokens`, before its end.
        AnswerTooLong { tokens: u32 }: Unknown = "the answer was not complete after {tokens} tokens";
        CallsTogether { count: u32 }: Works = "{count} calls in one answer";
        CallsOneByOne: Limited = "one call in each answer";
        HistoryTaken: Works = "the server accepts its own answers";
        NothingSaid: Limited = "the answer was empty";
        Streamed: Works = "the text comes in pieces";
        InOnePiece: Limited = "the text comes in one piece, at its end";
        TooShortToTell: Unknown = "the text was too short to tell";
        CountsTokens { input: u32, output: u32 }: Works = "{input} in, {output} out for the first request";
        NoTokenCounts: Limited = "the server sends no counts; Cairn estimates";
        UsualForm: Works = "as usual";
        OtherForm { changes: Vec<FormChange> }: Adapted = "the server needs other requests: {changes}";
        WindowKnown { tokens: u32 }: Works = "{tokens} tokens";
        WindowAssumed { tokens: u32, setting: String }: Limited => OpenSettings = "not known; Cairn assumes {tokens} tokens. {setting} sets the size";
    }
}

codes! {
    /// Part of the work with a model, in the order of a table.
    #[derive(Copy, PartialOrd, Ord)]
    CheckedPart {
        PartAnswer = "Answers";
        PartToolCall = "Calls tools";
        PartParallelCalls = "Several calls at once";
        PartHistory = "Second request";
        PartStreaming = "Streams its answers";
        PartTokenCounts = "Counts tokens";
        PartRequestForm = "Form of requests";
        PartContextWindow = "Context window";
    }
}

codes! {
    /// Worth of a finding.
    #[derive(Copy)]
    CheckState {
        Works = "works";
        /// Works because the daemon adapts to the server.
        Adapted = "adapted";
        /// Works, and the user should know the limit.
        Limited = "limited";
        /// The agent cannot work with it.
        Broken = "broken";
        /// Could not be found out.
        Unknown = "unknown";
    }
}

codes! {
    /// Change of the request that a server needs.
    #[derive(Copy, PartialOrd, Ord, Hash)]
    FormChange {
        /// Each message with calls has its reasoning, an empty one where it is not known.
        AlwaysReasoning = "earlier reasoning with each call";
        /// No message has its reasoning.
        NeverReasoning = "no earlier reasoning";
        /// Members that the server sent do not go back.
        NoUnknownMembers = "no unknown members in earlier answers";
        /// Gemini wants a signature with each call, also with those of other models.
        SignedCalls = "a signature with each call";
        NoStreamOptions = "no stream_options";
        /// The limit of the answer has the other one of its two names.
        OtherLimitName = "the other name of the answer's limit";
        /// The chat template demands alternating roles.
        StrictTurns = "user and assistant by turns";
        /// Thinking, effort and the limit of an answer are the server's defaults.
        NoModelOptions = "no thinking or effort options";
    }
}

impl CheckedPart {
    pub const ALL: [Self; 8] = [
        Self::PartAnswer,
        Self::PartToolCall,
        Self::PartParallelCalls,
        Self::PartHistory,
        Self::PartStreaming,
        Self::PartTokenCounts,
        Self::PartRequestForm,
        Self::PartContextWindow,
    ];
}
