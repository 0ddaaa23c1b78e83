//! The handshake: `initialize` and `shutdown`, and nothing else of LSP.
//!
//! It must never wait: `ingress` counts on its answers being ready at once.

use std::sync::Arc;

use tokio::sync::SetOnce;
use tower_lsp::{
    LanguageServer,
    jsonrpc::Result,
    lsp_types::{InitializeParams, InitializeResult, InitializedParams},
};

use super::convert::{self, Accepted};

pub(super) struct Server {
    handshake: Arc<SetOnce<Accepted>>,
}

impl Server {
    pub(super) fn new(handshake: Arc<SetOnce<Accepted>>) -> Self {
        Self { handshake }
    }
}

#[tower_lsp::async_trait]
impl LanguageServer for Server {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let accepted = convert::accept(params)?;
        let welcome = convert::welcome(&accepted);
        // tower-lsp lets only one `initialize` succeed.
        let _ = self.handshake.set(accepted);
        Ok(welcome)
    }

    async fn initialized(&self, _: InitializedParams) {}

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }
}
