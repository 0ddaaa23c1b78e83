//! Provider that takes the place of one that cannot work.

use cairn_core::{
    conversation::Item,
    model::{Failure, ModelEvent},
};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use super::super::{ModelRequest, Provider};

/// Answers every request with the same failure.
pub(super) struct Unusable(pub(super) Failure);

impl Provider for Unusable {
    fn encode(&self, _previous: Option<&Item>, _item: &Item, _out: &mut Vec<u8>) {}

    fn answer(
        &self,
        _request: ModelRequest,
        events: mpsc::Sender<ModelEvent>,
    ) -> BoxFuture<'static, ()> {
        let failure = self.0.clone();
        Box::pin(async move {
            // Fails only if the receiver was dropped; then nobody waits for the failure.
            let _ = events.send(ModelEvent::Failed(failure)).await;
        })
    }
}
