//! Table of the requests of the protocol: for each method the function that handles it.
//!
//! A handler gets the components `C`, not the loop, so it cannot start another request.

use std::{any::Any, collections::HashMap};

use cairn_protocol::{ClientRequest, RequestMethod};

use crate::{
    event::{LazyJson, Request, Responder},
    secrets,
};

/// A request, ready to be handled.
pub(super) type BoundHandler<C> = Box<dyn FnOnce(&mut C) + Send>;

/// Function that handles requests of a method.
pub(super) trait Handler<C, M: RequestMethod>:
    Fn(&mut C, M::Params, Responder<M::Result>) + Copy + Send + Sync + 'static
{
}

impl<C, M: RequestMethod, F> Handler<C, M> for F where
    F: Fn(&mut C, M::Params, Responder<M::Result>) + Copy + Send + Sync + 'static
{
}

type Route<C> =
    Box<dyn Fn(Box<dyn Any + Send>, Responder<LazyJson>) -> Option<BoundHandler<C>> + Send + Sync>;

pub(super) struct Router<C>(HashMap<&'static str, Route<C>>);

impl<C: 'static> Router<C> {
    pub(super) fn new() -> Self {
        Self(HashMap::new())
    }

    /// Adds a method. API keys are removed from its answers.
    pub(super) fn on<M: ClientRequest>(&mut self, handler: impl Handler<C, M>) {
        self.add::<M>(handler, false);
    }

    /// Adds a method whose answers are sent byte for byte, because they hold a text of the user.
    pub(super) fn on_exact<M: ClientRequest>(&mut self, handler: impl Handler<C, M>) {
        self.add::<M>(handler, true);
    }

    fn add<M: ClientRequest>(&mut self, handler: impl Handler<C, M>, exact: bool) {
        let route = move |params: Box<dyn Any + Send>, responder: Responder<LazyJson>| {
            let mut params = params.downcast::<M::Params>().ok()?;
            M::each_user_text(&mut params, &mut secrets::clean);
            let responder = responder.accepting(move |result| LazyJson::new(result, exact));
            Some(Box::new(move |components: &mut C| handler(components, *params, responder)) as _)
        };
        self.0.insert(M::METHOD, Box::new(route));
    }

    /// Finds the handler of a request, and removes API keys from the texts of the user in it.
    /// `None` for a request that is not what its declaration says, which is an internal error.
    pub(super) fn route(&self, request: Request) -> Option<BoundHandler<C>> {
        let Request { method, params, responder } = request;
        let call = self.0.get(method).and_then(|route| route(params, responder));
        if call.is_none() {
            tracing::error!(method, "a request has no handler");
        }
        call
    }

    #[cfg(test)]
    pub(super) fn methods(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use cairn_protocol::{
        Baseline, BaselineParams, BaselineResult, QueueAdd, QueueAddParams, QueueAddResult,
    };
    use futures_util::FutureExt as _;
    use secrecy::SecretString;

    use super::*;

    #[test]
    fn keys_are_removed_from_texts_of_the_user_and_from_inexact_answers() {
        const KEY: &str = "key-of-the-router-test";
        secrets::register(&SecretString::from(KEY)).unwrap();
        let mut router = Router::<Vec<String>>::new();
        router.on::<QueueAdd>(|seen, params, responder| {
            seen.extend([params.text, params.session_id]);
            responder.send(Ok(QueueAddResult { started: None }));
        });
        router.on_exact::<Baseline>(|seen, params, responder| {
            seen.push(params.uri);
            responder.send(Ok(BaselineResult { text: None }));
        });
        let mut seen = Vec::new();
        let mut handle = |request| router.route(request).expect("there is a handler")(&mut seen);
        let (responder, added) = Responder::new();
        let text = format!("use {KEY}");
        let params = QueueAddParams {
            session_id: KEY.to_owned(),
            text,
            mode: None,
            attachments: Vec::new(),
        };
        handle(Request::new::<QueueAdd>(params, responder));
        let (responder, baseline) = Responder::new();
        let params = BaselineParams { uri: KEY.to_owned() };
        handle(Request::new::<Baseline>(params, responder));
        // Ids and names of files are no text.
        assert_eq!(seen, ["use [key]", KEY, KEY]);
        assert!(!added.now_or_never().unwrap().unwrap().unwrap().exact);
        assert!(baseline.now_or_never().unwrap().unwrap().unwrap().exact);
        // Its method is known, its params are not those of the method.
        let (responder, answer) = Responder::new();
        let request = Request { method: QueueAdd::METHOD, params: Box::new(()), responder };
        assert!(router.route(request).is_none());
        assert!(answer.now_or_never().unwrap().is_err(), "it is dropped");
    }
}
