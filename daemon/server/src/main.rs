//! Entry point: arguments, runtime, exit code. Contains no logic.

use std::{io::Write, process::ExitCode};

use cairn::{
    cli::{self, CliCommand},
    environment::Environment,
    exec, hardening, headless, hub, lsp, signals, telemetry, watchdog,
};
use tokio::runtime::{Builder, Runtime};

fn main() -> ExitCode {
    match cli::parse(std::env::args_os().skip(1)) {
        // Before anything else, because it needs the only thread.
        Ok(CliCommand::Part(words)) => exec::sandbox::run_subcommand(words),
        Ok(CliCommand::Print(text)) => say(&text),
        Ok(CliCommand::Serve) => with_runtime(telemetry::OF_EDITOR, serve),
        Ok(CliCommand::Run(arguments)) => with_runtime(telemetry::OF_TERMINAL, |runtime| {
            runtime.block_on(headless::run(*arguments)).into()
        }),
        Ok(CliCommand::CheckModel(arguments)) => with_runtime(telemetry::OF_TERMINAL, |runtime| {
            runtime.block_on(headless::check_model(arguments)).into()
        }),
        Err(reason) => {
            complain(&format!("cairn: {reason}"));
            ExitCode::from(2)
        }
    }
}

fn with_runtime(log: &str, job: impl FnOnce(&Runtime) -> ExitCode) -> ExitCode {
    // Before secrets are read, and while there is only one thread.
    let faults = hardening::begin(|name| std::env::var(name).ok());
    telemetry::start(log);
    exec::guard_commands();
    for fault in faults {
        tracing::warn!("{fault}");
    }
    // One thread, because threads that wake each other take longer than their work. What blocks runs in the pool.
    match Builder::new_current_thread().enable_all().build() {
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
    if let Err(error) = watchdog::begin(rustix::stdio::stdin(), exec::kill_all) {
        tracing::warn!("nothing ends a daemon that hangs: {error}");
    }
    let environment = Environment::read(|name| std::env::var(name).ok());
    let start = |editor| hub::spawn(editor, environment);
    let asked_to_end = async {
        if let Err(error) = signals::asked_to_end(true).await {
            tracing::warn!("a signal ends the daemon at once: {error}");
            std::future::pending::<()>().await;
        }
    };
    let farewell = async { exec::kill_all() };
    let _entered = runtime.enter();
    let (input, output) = match lsp::stdio::open() {
        Ok(streams) => streams,
        Err(error) => {
            complain(&format!("cairn: the standard streams cannot be used: {error}\n"));
            return ExitCode::FAILURE;
        }
    };
    let session = lsp::serve(input, output, start, asked_to_end, farewell);
    let code = runtime.block_on(session).code();
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
