//! Handshake of LSP: `initialize` and `shutdown`.
//!
//! Never waits: `ingress` needs the answers at once.

use std::sync::Arc;

use tokio::sync::SetOnce;
use tower_lsp::{
    LanguageServer,
    jsonrpc::Result,
    lsp_types::{InitializeParams, InitializeResult, InitializedParams},
};

use super::handshake::{self, Handshake};

pub(super) struct Server {
    handshake: Arc<SetOnce<Handshake>>,
}

impl Server {
    pub(super) fn new(handshake: Arc<SetOnce<Handshake>>) -> Self {
        Self { handshake }
    }
}

#[tower_lsp::async_trait]
impl LanguageServer for Server {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let accepted = handshake::accept(params)?;
        let welcome = handshake::welcome(&accepted);
        // tower-lsp accepts only one `initialize`.
        let _ = self.handshake.set(accepted);
        Ok(welcome)
    }

    async fn initialized(&self, _: InitializedParams) {}

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }
}
