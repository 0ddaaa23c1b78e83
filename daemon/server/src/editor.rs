//! The port: what the engine needs from an editor, whichever it is. The LSP outbox and the
//! headless run implement it. It knows no session and no tool.

use std::sync::Arc;

use cairn_protocol::{
    ApplyEditParams, ApplyEditResult, ApproveParams, ApproveResult, Notice, SaveParams, SaveResult,
};
use futures_util::future::BoxFuture;

use crate::workspace::Workspace;

pub trait Editor: Send + Sync + 'static {
    /// Tell the user something. Never blocks; an editor that is gone swallows it.
    fn notify(&self, notice: Notice);

    /// Change one file. A refusal without a `reason` says that no answer came within a bound: the
    /// edit may still be applied. `applied: true` is a claim; the hub believes the text. `workspace`: for an editor whose buffer is the disk.
    fn apply(
        &self,
        params: ApplyEditParams,
        workspace: Arc<Workspace>,
    ) -> BoxFuture<'static, ApplyEditResult>;

    fn save(&self, params: SaveParams) -> BoxFuture<'static, SaveResult>;

    /// Ask the user; pending for as long as they think. An editor that cannot ask, or is gone,
    /// answers `Deny` with the reason in `feedback`.
    fn approve(&self, params: ApproveParams) -> BoxFuture<'static, ApproveResult>;
}
