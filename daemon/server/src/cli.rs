//! Parser of the command line.

use std::path::PathBuf;

use crate::exec::sandbox::SUBCOMMAND;

#[derive(Debug, PartialEq, Eq)]
pub enum CliCommand {
    /// Serves an editor: LSP on stdin and stdout.
    Serve,
    Run(RunArguments),
    Version,
    Help,
    /// Runs this process as a part of a command's sandbox, with these arguments.
    Part(Vec<std::ffi::OsString>),
}

#[derive(Debug, PartialEq, Eq)]
pub struct RunArguments {
    pub task: String,
    pub workspace: PathBuf,
    pub allow: Allow,
    pub replay: Option<PathBuf>,
    /// Longest time that the agent may ask for, for one command.
    pub command_seconds: Option<u32>,
}

/// Questions that are answered with yes in advance, for this session only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allow {
    /// Commands in their sandbox, without additional access.
    pub commands: bool,
    pub network: bool,
    pub git: bool,
    /// Commands where no sandbox works.
    pub unsandboxed: bool,
    /// Changes of protected files.
    pub protected: bool,
    /// Reads of files that may hold secrets.
    pub secrets: bool,
}

pub const HELP: &str = "\
Cairn, a coding agent that lives beside the editor.

Usage:
  cairn                      Serve an editor: LSP and agent/* on stdin and stdout
  cairn run TASK [options]   Do one task in a folder, without an editor
  cairn --version
  cairn --help

Options of run:
  --workspace DIR   The folder to work in (default: the current one)
  --yes             Run the agent's commands without asking, in their sandbox and with nothing
                    beyond it. What is not allowed by an option is asked for on the terminal, and
                    declined when there is none
  --command-seconds N
                    Longest time that the agent may ask for, for one command (default: 600)
  --replay FILE     Answer from a script instead of a model

Options that widen --yes:
  --allow-network      Commands may use the network when they need it
  --allow-git          Commands may change .git (except hooks and config) when they need to
  --allow-unsandboxed  Commands run with your rights where no sandbox works
  --allow-protected    Protected files may be changed (build manifests, settings of editors, …)
  --allow-secrets      Files that may hold secrets may be read, and so sent to the model

The model is chosen by the environment: ANTHROPIC_API_KEY (and ANTHROPIC_BASE_URL), or
OPENAI_API_KEY and OPENAI_BASE_URL for any OpenAI-compatible server, with CAIRN_MODEL for its
name and CAIRN_MODEL_API=chat or responses for the format; without them a built-in replay answers.
Logs go to stderr (CAIRN_LOG=debug).

Exit code of run: 0 completed, 1 failed, 2 wrong usage, 3 the agent asks something, 4 a limit was
reached, 130 cancelled.
";

/// Parses the arguments, which do not include the program's own name.
pub fn parse(
    arguments: impl IntoIterator<Item = std::ffi::OsString>,
) -> Result<CliCommand, String> {
    use lexopt::prelude::{Long, Short, Value};
    let mut arguments = arguments.into_iter().peekable();
    if arguments.peek().is_some_and(|first| first == SUBCOMMAND) {
        return Ok(CliCommand::Part(arguments.skip(1).collect()));
    }
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut positional: Vec<String> = Vec::new();
    let (mut workspace, mut allow, mut replay) = (None, Allow::default(), None);
    let mut command_seconds = None;
    let text = |error: lexopt::Error| error.to_string();
    while let Some(argument) = parser.next().map_err(text)? {
        match argument {
            Short('h') | Long("help") => return Ok(CliCommand::Help),
            Short('V') | Long("version") => return Ok(CliCommand::Version),
            // Editors pass the transport by convention; it is the only one.
            Long("stdio") => {}
            Long("workspace") => workspace = Some(PathBuf::from(parser.value().map_err(text)?)),
            Long("replay") => replay = Some(PathBuf::from(parser.value().map_err(text)?)),
            Long("command-seconds") => {
                let value = parser.value().map_err(text)?;
                let seconds = value.to_str().and_then(|value| value.parse().ok());
                let seconds = seconds.filter(|seconds| *seconds > 0);
                command_seconds = Some(seconds.ok_or_else(|| {
                    format!("--command-seconds is a whole number above zero, not {value:?}")
                })?);
            }
            Long("yes") => allow.commands = true,
            Long("allow-network") => allow.network = true,
            Long("allow-git") => allow.git = true,
            Long("allow-unsandboxed") => allow.unsandboxed = true,
            Long("allow-protected") => allow.protected = true,
            Long("allow-secrets") => allow.secrets = true,
            Value(value) => positional.push(value.to_string_lossy().into_owned()),
            Short(_) | Long(_) => return Err(argument.unexpected().to_string()),
        }
    }
    let Allow { commands, network, git, unsandboxed, protected, secrets } = allow;
    if !commands && (network || git || unsandboxed || protected || secrets) {
        return Err("the options --allow-… widen --yes, which is missing".into());
    }
    let mut positional = positional.into_iter();
    match positional.next().as_deref() {
        None if workspace.is_none()
            && replay.is_none()
            && command_seconds.is_none()
            && !allow.commands =>
        {
            Ok(CliCommand::Serve)
        }
        None => Err("these options belong to `cairn run TASK`".into()),
        Some("run") => {
            let task = positional.next().filter(|task| !task.trim().is_empty());
            let task = task.ok_or("say what to do: cairn run \"TASK\"")?;
            if let Some(more) = positional.next() {
                return Err(format!(
                    "one task at a time: put it in quotes (unexpected \"{more}\")"
                ));
            }
            let workspace = workspace.unwrap_or_else(|| PathBuf::from("."));
            Ok(CliCommand::Run(RunArguments { task, workspace, allow, replay, command_seconds }))
        }
        Some(other) => Err(format!("unknown command \"{other}\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> Result<CliCommand, String> {
        parse(line.split('|').filter(|word| !word.is_empty()).map(Into::into))
    }

    #[test]
    fn command_lines_are_parsed() {
        assert_eq!(check(""), Ok(CliCommand::Serve));
        assert_eq!(check("--stdio"), Ok(CliCommand::Serve));
        assert_eq!(check("--version"), Ok(CliCommand::Version));
        assert_eq!(check("run|--help"), Ok(CliCommand::Help));
        let run = |task: &str, workspace: &str, allow| {
            Ok(CliCommand::Run(RunArguments {
                task: task.into(),
                workspace: workspace.into(),
                allow,
                replay: None,
                command_seconds: None,
            }))
        };
        assert_eq!(check("run|fix it"), run("fix it", ".", Allow::default()));
        let yes = Allow { commands: true, ..Allow::default() };
        assert_eq!(check("run|fix it|--workspace|d|--yes"), run("fix it", "d", yes));
        let wider = Allow { network: true, git: true, ..yes };
        assert_eq!(check("run|a|--yes|--allow-git|--allow-network"), run("a", ".", wider));
        let Ok(CliCommand::Run(run)) = check("run|a|--command-seconds|1800") else {
            panic!("it is a run")
        };
        assert_eq!(run.command_seconds, Some(1800));
        for seconds in ["0", "ten", "-1"] {
            assert!(check(&format!("run|a|--command-seconds|{seconds}")).is_err());
        }
        assert!(check("run|a|--allow-git").is_err());
        let part = ["init", "--write", "--help"].map(Into::into).to_vec();
        assert_eq!(check("sandbox-run|init|--write|--help"), Ok(CliCommand::Part(part)));
        for wrong in ["run", "run| ", "run|a|b", "fly", "--yes", "--what", "run|a|--workspace"] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
    }
}
