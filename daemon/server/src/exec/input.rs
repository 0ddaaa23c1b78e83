//! Input of a command: a text, or a pipe or terminal that it can be sent later.

use std::{
    io::{self, Seek, Write},
    process::Stdio,
    sync::Arc,
};

use tokio::{io::AsyncWriteExt, net::unix::pipe::Sender};

use super::terminal::Terminal;

/// Standard input of a command.
#[derive(Debug, Clone)]
pub enum CommandInput {
    /// A text, followed by the end of the input.
    Text(String),
    Pipe(Arc<io::PipeReader>),
    /// Input and output are a terminal.
    Terminal(Terminal),
}

impl CommandInput {
    /// No input.
    pub fn none() -> Self {
        Self::Text(String::new())
    }

    /// Creates a pipe, and its end to write to.
    pub fn pipe() -> io::Result<(Self, InputWriter)> {
        let (reader, writer) = io::pipe()?;
        let sender = Sender::from_owned_fd(writer.into())?;
        Ok((Self::Pipe(Arc::new(reader)), InputWriter { sender, is_terminal: false }))
    }

    /// Creates a terminal, and its end to write to.
    pub fn terminal() -> io::Result<(Self, InputWriter)> {
        let terminal = Terminal::open()?;
        let sender = Sender::from_file_unchecked(terminal.user_end()?)?;
        Ok((Self::Terminal(terminal), InputWriter { sender, is_terminal: true }))
    }

    /// Returns the standard input of a command.
    pub(super) fn stdin(&self) -> io::Result<Stdio> {
        match self {
            Self::Text(text) if text.is_empty() => Ok(Stdio::null()),
            Self::Text(text) => {
                // Unlike a pipe, a file needs no writer while the command runs.
                let mut file = tempfile::tempfile()?;
                file.write_all(text.as_bytes())?;
                file.rewind()?;
                Ok(file.into())
            }
            Self::Pipe(reader) => Ok(reader.try_clone()?.into()),
            Self::Terminal(terminal) => Ok(terminal.command_end()?.into()),
        }
    }
}

/// End of a command's input to write to. Dropping it ends the input of a pipe.
#[derive(Debug)]
pub struct InputWriter {
    sender: Sender,
    is_terminal: bool,
}

/// Character that ends the input of a terminal.
const END_OF_TRANSMISSION: &[u8] = &[4];

impl InputWriter {
    /// Writes a part, and returns its length. Waits while the command takes no more.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sender.write(bytes).await
    }

    /// Ends the input. True if the writer must be dropped for it.
    pub async fn end(&mut self) -> io::Result<bool> {
        if self.is_terminal {
            self.write(END_OF_TRANSMISSION).await?;
        }
        Ok(!self.is_terminal)
    }
}
