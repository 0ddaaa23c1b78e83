//! Provider that takes the place of one that cannot work.

use cairn_core::{
    conversation::Item,
    model::{Failure, FailureKind, ModelEvent},
};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use super::super::{Provider, Request, failure};

/// Answers every request with the same failure, whose message is the reason.
pub(super) struct Unusable(pub(super) String);

impl Provider for Unusable {
    fn encode(&self, _previous: Option<&Item>, _item: &Item, _out: &mut Vec<u8>) {}

    fn answer(
        &self,
        _request: Request,
        events: mpsc::Sender<ModelEvent>,
    ) -> BoxFuture<'static, ()> {
        let failure = Failure {
            kind: FailureKind::Unusable,
            message: self.0.clone(),
            hint: failure::hint(FailureKind::Unusable).to_owned(),
            retry_after_ms: None,
        };
        Box::pin(async move {
            // Fails only if the receiver was dropped; then nobody waits for the failure.
            let _ = events.send(ModelEvent::Failed(failure)).await;
        })
    }
}
