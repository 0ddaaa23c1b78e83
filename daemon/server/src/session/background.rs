//! Background work of sessions.

use super::{SessionEvent, Sessions};
use crate::review::Reviews;

impl Sessions {
    /// Starts work and continues with its result.
    pub(super) fn after<T: Send + 'static>(
        &self,
        wait: impl Future<Output = T> + Send + 'static,
        then: impl FnOnce(&mut Self, T, &mut Reviews) + Send + 'static,
    ) {
        let mailbox = self.mailbox.clone();
        self.services.spawn(async move {
            let found = wait.await;
            let then = move |sessions: &mut Self, reviews: &mut Reviews| {
                then(sessions, found, reviews);
            };
            mailbox.send(SessionEvent::Then(Box::new(then)));
        });
    }
}
