//! Reasons why a deny rule cannot be decided for a command.

/// Reason why it is uncertain whether a deny rule names a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    TooManyWords,
    /// Further words come from elsewhere.
    WordsUnknown,
    SubcommandUnknown,
    TooManyOptions,
    OptionUnknown {
        option: String,
    },
    /// The option may define which programs git runs.
    OptionDecides {
        option: String,
    },
    /// A variable may define which programs git runs.
    VariableDecides,
    /// The input names what it runs.
    InputDecides,
    /// A script among the words is not understood.
    ScriptUnclear,
    /// `option` may be a short or long form of `wanted`.
    OtherForm {
        option: String,
        wanted: String,
    },
    /// A git command that does the same as the forbidden one.
    SameEffect {
        command: String,
        wanted: String,
    },
    /// A git command that may call the forbidden one.
    MayCall {
        command: String,
        wanted: String,
    },
    /// A git command that may run other commands.
    RunsOthers {
        command: String,
    },
    /// None of git's own commands.
    GitAlias {
        name: String,
    },
    /// An unknown subcommand of another program.
    OtherAlias {
        name: String,
    },
    /// An alias that runs another program.
    AliasRuns {
        name: String,
    },
}
