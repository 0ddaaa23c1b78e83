//! Parser of the command line.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum, error::ErrorKind, value_parser};

use crate::exec::sandbox::SUBCOMMAND;

#[derive(Debug, PartialEq, Eq)]
pub enum CliCommand {
    /// Serves an editor: LSP on stdin and stdout.
    Serve,
    Run(Box<RunArguments>),
    CheckModel(CheckArguments),
    /// Prints this text: help or version.
    Print(String),
    /// Runs this process as a part of a command's sandbox, with these arguments.
    Part(Vec<OsString>),
}

#[derive(Parser)]
#[command(
    name = "cairn",
    about = "Cairn, a coding agent that works beside the editor.\n\nWithout a command it serves an editor: LSP and agent/* on standard input and output.",
    disable_help_subcommand = true
)]
struct CommandLine {
    /// Print the version and the version of the protocol
    #[arg(short = 'V', long)]
    version: bool,
    /// Accepted because editors pass it: the transport is always standard input and output
    #[arg(long, hide = true)]
    stdio: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<RunArguments>),
    /// Show whether the agent can work with a model
    #[command(subcommand)]
    Models(ModelsCommand),
}

#[derive(Subcommand)]
enum ModelsCommand {
    Check(CheckArguments),
}

/// Check a model and its server with three small requests
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = AFTER_CHECK)]
pub struct CheckArguments {
    /// Name of the model
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,

    /// Settings to read instead of config.toml in the configuration folder
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Do a task in a folder, without an editor
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = AFTER_HELP, override_usage = "cairn run [OPTIONS] TASK")]
pub struct RunArguments {
    /// Task in words, as one argument; `-` reads it from standard input
    #[arg(required_unless_present = "demo", value_name = "TASK")]
    words: Vec<String>,

    /// Folder to work in
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub workspace: PathBuf,

    /// Continue the newest session of the folder
    #[arg(long = "continue", conflicts_with_all = ["resume", "demo"])]
    pub continue_newest: bool,

    /// Continue this session of the folder
    #[arg(long, value_name = "ID", conflicts_with = "demo")]
    pub resume: Option<String>,

    /// Play a built-in script in a new folder, to see Cairn without a model
    #[arg(long, conflicts_with_all = ["workspace", "replay", "model", "words"])]
    pub demo: bool,

    #[command(flatten)]
    pub allow: Allow,

    /// Run this command without a question, as `npm test` or `cargo test *`; also commands that
    /// only read files of the folder. May be given several times
    #[arg(long = "allow", value_name = "RULE", help_heading = PERMISSIONS)]
    pub rules: Vec<String>,

    /// Folder outside the workspace that commands may write. May be given several times
    #[arg(long, value_name = "DIR", help_heading = PERMISSIONS)]
    pub writable: Vec<PathBuf>,

    /// Name of the model
    #[arg(long, value_name = "NAME", help_heading = MODEL)]
    pub model: Option<String>,

    /// Answer from a script instead of a model
    #[arg(long, value_name = "FILE", help_heading = MODEL)]
    pub replay: Option<PathBuf>,

    /// `auto` makes the changes, `plan` only reads and ends with a plan
    #[arg(long, value_name = "MODE", help_heading = MODEL)]
    pub mode: Option<RunMode>,

    /// Settings to read instead of config.toml in the configuration folder
    #[arg(long, value_name = "FILE", help_heading = MODEL)]
    pub config: Option<PathBuf>,

    /// Maximum number of model requests for one message
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), help_heading = LIMITS)]
    pub max_rounds: Option<u32>,

    /// Longest time of the whole run, as `90s`, `30m` or `2h`
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = LIMITS)]
    pub timeout: Option<Duration>,

    /// Longest time that the agent may ask for, for one command
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), help_heading = LIMITS)]
    pub command_seconds: Option<u32>,

    /// Print one JSON object a line (see docs/run.md); never asks
    #[arg(long, conflicts_with = "quiet", help_heading = OUTPUT)]
    pub json: bool,

    /// Print only the last answer and the diff
    #[arg(long, short, help_heading = OUTPUT)]
    pub quiet: bool,
}

/// Questions that are answered with yes in advance, for this run only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Args)]
pub struct Allow {
    /// Run the agent's commands without a question, in their sandbox and with nothing beyond it
    #[arg(long = "yes", short = 'y', help_heading = PERMISSIONS)]
    pub commands: bool,
    /// With --yes: commands may use the network when they need it
    #[arg(long = "allow-network", requires = "commands", help_heading = PERMISSIONS)]
    pub network: bool,
    /// With --yes: commands may change .git, except hooks and config, when they need to
    #[arg(long = "allow-git", requires = "commands", help_heading = PERMISSIONS)]
    pub git: bool,
    /// With --yes: commands run with your rights where no sandbox works
    #[arg(long = "allow-unsandboxed", requires = "commands", help_heading = PERMISSIONS)]
    pub unsandboxed: bool,
    /// With --yes: protected files may be changed (build manifests, settings of editors, …)
    #[arg(long = "allow-protected", requires = "commands", help_heading = PERMISSIONS)]
    pub protected: bool,
    /// With --yes: files that may hold secrets may be read, and so sent to the model
    #[arg(long = "allow-secrets", requires = "commands", help_heading = PERMISSIONS)]
    pub secrets: bool,
}

impl Allow {
    /// Sentence for the agent about the commands that run without a question. `has_rules`: commands of
    /// some rules do.
    pub fn in_words(self, has_rules: bool) -> String {
        if !self.commands {
            return match has_rules {
                true => "Commands of the person's rules run without a question, and those that only read files.".to_owned(),
                false => "No option of this run allows commands in advance.".to_owned(),
            };
        }
        let with: Vec<&str> = [
            (self.network, "the network where a call asks for it"),
            (self.git, "changes of .git where a call asks for them"),
            (self.unsandboxed, "the rights of the person where no sandbox works"),
        ]
        .into_iter()
        .filter_map(|(given, what)| given.then_some(what))
        .collect();
        match with.as_slice() {
            [] => "Commands run without a question, in a sandbox without the network.".to_owned(),
            with => format!(
                "Commands run without a question, in a sandbox with {}.",
                with.join(" and ")
            ),
        }
    }
}

/// Treatment of edits in a run without an editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RunMode {
    #[value(alias = "review")]
    Auto,
    Plan,
}

const PERMISSIONS: &str = "Permissions";
const MODEL: &str = "Model and settings";
const LIMITS: &str = "Limits";
const OUTPUT: &str = "Output";

const AFTER_CHECK: &str = "\
The server and its key are those of `cairn run`: see `cairn run --help`.

Exit code: 0 the agent can work with it, 1 something is broken, 2 wrong usage or no model.
";

const AFTER_HELP: &str = "\
What is not allowed by an option is asked for on the terminal, and declined where there is none.

The key of a model is read from the environment: ANTHROPIC_API_KEY (and ANTHROPIC_BASE_URL), or
OPENAI_API_KEY and OPENAI_BASE_URL for any OpenAI-compatible server. CAIRN_MODEL names the model, and
CAIRN_MODEL_API=chat or responses the format. Everything else is a setting in config.toml.
NO_COLOR=1 turns colours off. CAIRN_LOG=debug writes a log to standard error.

Exit code: 0 completed, 1 failed, 2 wrong usage or no model, 3 the agent asks something, 4 a limit was
reached, 130 cancelled.
";

/// Task of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskSource {
    Words(String),
    Stdin,
    Demo,
}

impl RunArguments {
    /// Returns the task, or the fault of its arguments.
    pub fn task(&self) -> Result<TaskSource, String> {
        match self.words.as_slice() {
            [] => Ok(TaskSource::Demo),
            [dash] if dash == "-" => Ok(TaskSource::Stdin),
            [task] if task.trim().is_empty() => Err("say what to do: cairn run \"TASK\"".into()),
            [task] => Ok(TaskSource::Words(task.clone())),
            [_, more, ..] => {
                Err(format!("one task at a time: put it in quotes (unexpected \"{more}\")"))
            }
        }
    }
}

/// Parses the arguments, which do not include the program's own name. A fault is a text that ends with
/// the next step.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<CliCommand, String> {
    let mut arguments = arguments.into_iter().peekable();
    if arguments.peek().is_some_and(|first| first == SUBCOMMAND) {
        return Ok(CliCommand::Part(arguments.skip(1).collect()));
    }
    let words = std::iter::once(OsString::from("cairn")).chain(arguments);
    match CommandLine::try_parse_from(words) {
        Ok(CommandLine { version: true, .. }) => {
            let (major, minor) = (cairn_protocol::PROTOCOL_VERSION, cairn_protocol::PROTOCOL_MINOR);
            let version = env!("CARGO_PKG_VERSION");
            Ok(CliCommand::Print(format!("cairn {version} (protocol {major}.{minor})\n")))
        }
        Ok(CommandLine { command: Some(Command::Run(run)), .. }) => match run.task() {
            Ok(_) => Ok(CliCommand::Run(run)),
            Err(fault) => Err(format!("{fault}\nTry: cairn run --help\n")),
        },
        Ok(CommandLine { command: Some(Command::Models(ModelsCommand::Check(check))), .. }) => {
            Ok(CliCommand::CheckModel(check))
        }
        Ok(CommandLine { command: None, .. }) => Ok(CliCommand::Serve),
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            Ok(CliCommand::Print(error.render().to_string()))
        }
        Err(error) => {
            let text = error.render().to_string();
            Err(text.strip_prefix("error: ").unwrap_or(&text).to_owned())
        }
    }
}

/// Reads a time: a whole number above zero with `s`, `m` or `h`; without a unit it means seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        _ => None,
    };
    let number = digits.parse::<u32>().ok().filter(|number| *number > 0);
    match (number, unit) {
        (Some(number), Some(unit)) => Ok(Duration::from_secs(u64::from(number) * unit)),
        _ => Err("a whole number above zero with s, m or h, as 90s, 30m or 2h".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> Result<CliCommand, String> {
        parse(line.split('|').filter(|word| !word.is_empty()).map(Into::into))
    }

    fn run(line: &str) -> RunArguments {
        match check(line) {
            Ok(CliCommand::Run(arguments)) => *arguments,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn command_lines_are_parsed() {
        assert_eq!(check(""), Ok(CliCommand::Serve));
        assert_eq!(check("--stdio"), Ok(CliCommand::Serve));
        for asked in ["--help", "-h", "run|--help", "--version", "-V"] {
            assert!(matches!(check(asked), Ok(CliCommand::Print(_))), "{asked}");
        }
        let part = ["init", "--write", "--help"].map(Into::into).to_vec();
        assert_eq!(check("sandbox-run|init|--write|--help"), Ok(CliCommand::Part(part)));
        let CliCommand::CheckModel(checked) = check("models|check|--model|m").unwrap() else {
            panic!("this checks a model");
        };
        assert_eq!(checked.model.as_deref(), Some("m"));
        let plain = run("run|fix it");
        assert_eq!(plain.task(), Ok(TaskSource::Words("fix it".into())));
        assert_eq!((plain.workspace.as_path(), plain.allow), (".".as_ref(), Allow::default()));
        assert_eq!(run("run|-").task(), Ok(TaskSource::Stdin));
        assert_eq!(run("run|--demo").task(), Ok(TaskSource::Demo));
        assert_eq!(run("run|--|--weird").task(), Ok(TaskSource::Words("--weird".into())));
    }

    #[test]
    fn options_of_a_run_are_read() {
        let yes = Allow { commands: true, ..Allow::default() };
        let given = run("run|fix it|--workspace|d|--yes");
        assert_eq!((given.workspace.as_path(), given.allow), ("d".as_ref(), yes));
        let wider = Allow { network: true, git: true, ..yes };
        assert_eq!(run("run|a|--yes|--allow-git|--allow-network").allow, wider);
        let given =
            run("run|a|--allow|npm test|--allow|cargo test *|--writable|/x|--model|m|--mode|plan|\
             --max-rounds|7|--timeout|30m|--command-seconds|1800|--json|--resume|s-1");
        assert_eq!(given.rules, ["npm test", "cargo test *"]);
        assert_eq!(given.writable, [PathBuf::from("/x")]);
        assert_eq!((given.model.as_deref(), given.mode), (Some("m"), Some(RunMode::Plan)));
        assert_eq!((given.max_rounds, given.command_seconds), (Some(7), Some(1800)));
        assert_eq!(given.timeout, Some(Duration::from_secs(1800)));
        assert_eq!((given.json, given.resume.as_deref()), (true, Some("s-1")));
        for (text, seconds) in [("90", 90), ("90s", 90), ("2m", 120), ("2h", 7200)] {
            let given = run(&format!("run|a|--timeout|{text}"));
            assert_eq!(given.timeout, Some(Duration::from_secs(seconds)));
        }
    }

    #[test]
    fn wrong_usage_is_refused_with_the_next_step() {
        for wrong in [
            "run",
            "run| ",
            "run|a|b",
            "fly",
            "--yes",
            "--what",
            "run|a|--workspace",
            "run|a|--allow-git",
            "run|a|--mode|ask",
            "run|a|--max-rounds|0",
            "run|a|--command-seconds|ten",
            "run|a|--command-seconds|-1",
            "run|a|--timeout|0s",
            "run|a|--timeout|1d",
            "run|a|--json|--quiet",
            "run|a|--continue|--resume|s",
            "run|a|--demo",
            "run|--demo|--workspace|d",
            "models",
            "models|check|m",
        ] {
            let fault = check(wrong).expect_err(wrong);
            assert!(fault.contains("--help") && !fault.starts_with("error"), "{wrong}: {fault}");
        }
        assert!(check("run|a|b").is_err_and(|fault| fault.contains("put it in quotes")));
        assert!(check("run|a|--timout|1h").is_err_and(|fault| fault.contains("--timeout")));
    }
}
