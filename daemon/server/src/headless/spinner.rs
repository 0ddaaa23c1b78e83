//! Line at the end of the terminal that says what the run waits for.
//!
//! Never shown in a pipe, on a dumb terminal, or while the last line of the output is not complete.

use std::{io::IsTerminal, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};

const TICK: Duration = Duration::from_millis(120);

pub(super) struct Spinner {
    enabled: bool,
    /// `None`: nothing is waited for.
    message: Option<String>,
    /// The last line of the output is complete.
    at_line_start: bool,
    bar: Option<ProgressBar>,
}

impl Spinner {
    pub(super) fn new() -> Self {
        let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        let enabled = std::io::stderr().is_terminal() && !dumb;
        Self { enabled, message: None, at_line_start: true, bar: None }
    }

    /// Sets what the run waits for; a new message counts its time from zero.
    pub(super) fn wait_for(&mut self, message: Option<String>) {
        if self.message != message {
            self.clear();
            self.message = message;
            self.show();
        }
    }

    /// Writes to the terminal above the line.
    pub(super) fn write(&mut self, text: &str, write: impl FnOnce(&str)) {
        if let Some(last) = text.chars().next_back() {
            self.at_line_start = last == '\n';
        }
        match &self.bar {
            Some(bar) if self.at_line_start => bar.suspend(|| write(text)),
            _ => {
                self.clear();
                write(text);
                self.show();
            }
        }
    }

    pub(super) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn show(&mut self) {
        let Some(message) = self.message.clone().filter(|_| self.enabled && self.at_line_start)
        else {
            return;
        };
        let bar = ProgressBar::new_spinner();
        // A template that cannot be parsed leaves the library's own.
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
            bar.set_style(style);
        }
        bar.set_message(message);
        bar.enable_steady_tick(TICK);
        self.bar = Some(bar);
    }
}
