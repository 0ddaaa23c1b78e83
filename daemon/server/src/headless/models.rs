//! `cairn models check`: the check of a model as a table on the terminal.

use std::io::Write;

use cairn_core::sanitize::visible;
use cairn_protocol::{CheckState, ModelCheckRow};
use serde_json::Value;

use super::{Failure, USAGE, no_model, settings};
use crate::{
    cli::CheckArguments,
    config,
    environment::Environment,
    model::{
        check,
        choose::{self, Keys},
        manners::KnownServers,
    },
    secrets::{self, CleanStderr},
};

/// Checks the model of the settings, prints a table, and returns the exit code.
pub async fn check_model(arguments: CheckArguments) -> u8 {
    match table(arguments).await {
        Ok((table, exit_code)) => {
            // Fails only if nobody reads the output.
            let _ = std::io::stdout().write_all(secrets::redactor().text(&table).as_bytes());
            exit_code
        }
        Err(Failure { reason, exit_code }) => {
            say(&format!("cairn: {reason}\n"));
            exit_code
        }
    }
}

async fn table(CheckArguments { model, config }: CheckArguments) -> Result<(String, u8), Failure> {
    let variable = |name: &str| std::env::var(name).ok();
    let environment = Environment::read(variable);
    let config_dir = environment.config_dir.as_deref();
    let mut settings = settings::without_options(config.as_deref(), config_dir, variable)
        .map_err(Failure::usage)?;
    if let Some(name) = model {
        settings.insert("model.name".into(), name.into());
    }
    let (settings, _) = config::read(&Value::Object(settings));
    let servers = KnownServers::default();
    let choice = choose::choose(&settings.model, &Keys::default(), &environment, &servers);
    if choice.info.provider == choose::NO_PROVIDER {
        return Err(no_model(config_dir));
    }
    say(&format!("Asking {}: three small requests…\n", visible(&choice.info.name)));
    let window = check::window(&choice, &settings.model.context);
    let rows = check::check(&choice, window, |_| {}).await;
    let is_broken = rows.iter().any(|row| row.state == CheckState::Broken.message());
    let exit_code = match (is_broken, &choice.unusable) {
        (_, Some(_)) => USAGE,
        (true, None) => 1,
        (false, None) => 0,
    };
    Ok((rendered(&rows), exit_code))
}

/// The rows in three columns: state, part and finding.
fn rendered(rows: &[ModelCheckRow]) -> String {
    let mut out = String::new();
    for ModelCheckRow { part, state, finding } in rows {
        let text = settings::in_words_of_run(&finding.english());
        let (state, part) = (state.english(), part.english());
        out.push_str(&format!("{state:<8} {part:<22} {}\n", visible(&text)));
    }
    out
}

fn say(text: &str) {
    let _ = CleanStderr.write_all(text.as_bytes());
}
