//! Reasons of the policy as codes of the protocol.

use cairn_core::policy::{
    AskReason,
    command::{LONGEST, MOST, NoAutoApproval, Unclear},
    sandbox::Needs,
};
use cairn_protocol::{ApprovalReason, Need, UnclearCommand};

pub(crate) fn needs(needs: Needs) -> Vec<Need> {
    let Needs { network, git } = needs;
    let asked = [(network, Need::Network), (git, Need::Git)];
    asked.into_iter().filter_map(|(asked, need)| asked.then_some(need)).collect()
}

pub(super) fn reason(reason: AskReason) -> ApprovalReason {
    match reason {
        AskReason::ReadsSecret => ApprovalReason::ReadsSecret,
        AskReason::HoldsSecrets => ApprovalReason::HoldsSecrets,
        AskReason::Protected => ApprovalReason::FileProtected,
        AskReason::DenyUndecided { rule } => {
            ApprovalReason::DenyUndecided { rule: rule.to_string() }
        }
        AskReason::Types => ApprovalReason::TextDecides,
        AskReason::Grants(granted) => ApprovalReason::CommandNeeds { needs: needs(granted) },
        AskReason::Command(why) => match why {
            NoAutoApproval::NoSandbox => ApprovalReason::WithoutSandbox,
            NoAutoApproval::ChangesFiles => ApprovalReason::CommandChangesFiles,
            NoAutoApproval::Unclear(why) => ApprovalReason::CommandUnclear { reason: unclear(why) },
            NoAutoApproval::ChangesShell { command } => {
                ApprovalReason::CommandChangesShell { command: command.to_string() }
            }
            NoAutoApproval::MoreThanReading { command } => {
                ApprovalReason::CommandMoreThanReads { command: command.to_string() }
            }
            NoAutoApproval::UnknownProgram { program } => {
                ApprovalReason::ProgramUnknown { program }
            }
        },
    }
}

fn unclear(why: Unclear) -> UnclearCommand {
    let limit = |limit: usize| u32::try_from(limit).unwrap_or(u32::MAX);
    match why {
        Unclear::Empty => UnclearCommand::CommandEmpty,
        Unclear::TooLong => UnclearCommand::CommandTooLong { limit: limit(LONGEST) },
        Unclear::TooMany => UnclearCommand::TooManyCommands { limit: limit(MOST) },
        Unclear::Character => UnclearCommand::CommandNotAscii,
        Unclear::Expansion(c) => UnclearCommand::ShellExpands { character: c.to_string() },
        Unclear::Operator(c) => UnclearCommand::ShellOperator { character: c.to_string() },
        Unclear::Incomplete => UnclearCommand::CommandIncomplete,
        Unclear::Assignment => UnclearCommand::SetsVariable,
        Unclear::Reserved(word) => UnclearCommand::ShellWord { word: word.to_owned() },
    }
}
