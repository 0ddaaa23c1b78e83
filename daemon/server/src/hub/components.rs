//! The two components and their cooperation.

use cairn_protocol::StateResult;

use crate::{
    event::{Pending, RequestError, Responder, StandardRequest},
    review::Reviews,
    session::Sessions,
};

pub(super) struct Components {
    pub(super) sessions: Sessions,
    pub(super) reviews: Reviews,
}

impl Components {
    /// Answers after all effects of the request.
    pub(super) fn ask<T: Send + 'static>(
        &mut self,
        reply: Responder<T>,
        request: impl FnOnce(&mut Sessions) -> Result<T, RequestError>,
    ) {
        let answer = request(&mut self.sessions);
        self.sessions.settle(&mut self.reviews);
        reply.send(answer);
    }

    pub(super) fn standard(&mut self, request: StandardRequest) {
        let Self { sessions, reviews } = self;
        match request {
            StandardRequest::Pending(reply) => {
                // A keystroke just before may have moved every hunk.
                reviews.publish();
                let pending =
                    Pending { reviews: reviews.reviews(), questions: sessions.open_questions() };
                reply.send(Ok(pending));
            }
            StandardRequest::SteerOrStart(params, reply) => {
                self.ask(reply, |it| it.steer_or_start(params))
            }
            StandardRequest::CancelAll(reply) => self.ask(reply, |it| Ok(it.cancel_all())),
            StandardRequest::RunSelection(selection, reply) => {
                let text = reviews.selected_text(&selection);
                sessions.run_selection(text, reply, reviews);
            }
            StandardRequest::Decline(words, reply) => {
                self.ask(reply, |it| Ok(it.decline(None, words.as_deref())))
            }
        }
    }

    /// Passes messages of the reviews on to the sessions.
    pub(super) fn deliver(&mut self) {
        for notice in self.reviews.take_notices() {
            self.sessions.on_review_notice(notice);
        }
    }

    /// Publishes each change since the last call once.
    pub(super) fn publish(&mut self) {
        self.sessions.publish();
        self.reviews.publish();
        self.deliver();
        self.sessions.publish_status();
    }

    /// Returns the state, after its last change was published.
    pub(super) fn state(&mut self) -> StateResult {
        self.publish();
        StateResult {
            sessions: self.sessions.snapshots(),
            reviews: self.reviews.reviews(),
            status: self.sessions.status(),
        }
    }
}
