//! Entry point: arguments, runtime, exit code. Contains no logic.

use std::{io::Write, process::ExitCode};

use cairn::{
    cli::{self, CliCommand},
    environment::Environment,
    exec, hardening, headless, hub, lsp, signals, telemetry,
};
use tokio::runtime::{Builder, Runtime};

fn main() -> ExitCode {
    match cli::parse(std::env::args_os().skip(1)) {
        // Before anything else, because it needs the only thread.
        Ok(CliCommand::Part(words)) => exec::sandbox::run_subcommand(words),
        Ok(CliCommand::Help) => say(cli::HELP),
        Ok(CliCommand::Version) => {
            let (major, minor) = (cairn_protocol::PROTOCOL_VERSION, cairn_protocol::PROTOCOL_MINOR);
            say(&format!("cairn {} (protocol {major}.{minor})\n", env!("CARGO_PKG_VERSION")))
        }
        Ok(CliCommand::Serve) => with_runtime(serve),
        Ok(CliCommand::Run(arguments)) => {
            with_runtime(|runtime| runtime.block_on(headless::run(arguments)).into())
        }
        Err(reason) => {
            complain(&format!("cairn: {reason}\nTry: cairn --help\n"));
            ExitCode::from(2)
        }
    }
}

fn with_runtime(job: impl FnOnce(&Runtime) -> ExitCode) -> ExitCode {
    // Before secrets are read, and while there is only one thread.
    let faults = hardening::begin(|name| std::env::var(name).ok());
    telemetry::start();
    exec::guard_commands();
    for fault in faults {
        tracing::warn!("{fault}");
    }
    // Two threads: one may wait for a file while the hub continues.
    match Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => {
            let code = job(&runtime);
            runtime.shutdown_background();
            code
        }
        Err(error) => {
            complain(&format!("cairn: cannot start: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

fn serve(runtime: &Runtime) -> ExitCode {
    let environment = Environment::read(|name| std::env::var(name).ok());
    let start = |editor| {
        let _entered = runtime.enter();
        hub::spawn(editor, environment)
    };
    let farewell = async { exec::kill_all() };
    let code = runtime.block_on(async {
        tokio::select! {
            exit = lsp::serve(tokio::io::stdin(), tokio::io::stdout(), start, farewell) => exit.code(),
            Ok(()) = signals::asked_to_end(true) => {
                exec::kill_all();
                1
            }
        }
    });
    // Not the runtime's shutdown: it would wait for the pending read of stdin.
    #[expect(clippy::exit, reason = "the only place that may")]
    std::process::exit(code.into());
}

/// Prints a command's output for people. A closed pipe is the user's choice.
fn say(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn complain(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
