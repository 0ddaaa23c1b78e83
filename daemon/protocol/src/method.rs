//! Declaration of methods. Each module of this crate declares the methods of its types in a table,
//! from which the TypeScript is generated as well.

use std::any::Any;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use ts_rs::TS;

use crate::typescript::TypescriptMethod;

/// A request method.
pub trait RequestMethod: 'static {
    const METHOD: &'static str;
    type Params: Serialize + DeserializeOwned + TS + Send + Sync + 'static;
    type Result: Serialize + DeserializeOwned + TS + Send + Sync + 'static;
}

/// A request of the editor.
pub trait ClientRequest: RequestMethod {
    /// Calls `visit` with each text that the user wrote. It may contain an API key, which the
    /// daemon removes before it stores the text or sends it to a model.
    fn each_user_text(params: &mut Self::Params, visit: &mut dyn FnMut(&mut String));
}

/// A notification method.
pub trait NotificationMethod: 'static {
    const METHOD: &'static str;
    type Params: Serialize + DeserializeOwned + TS + Send + Sync + 'static;
}

/// A field of params with text that the user wrote.
pub trait UserText {
    fn each_user_text(&mut self, visit: &mut dyn FnMut(&mut String));
}

impl UserText for String {
    fn each_user_text(&mut self, visit: &mut dyn FnMut(&mut String)) {
        visit(self);
    }
}

impl<T: UserText> UserText for Option<T> {
    fn each_user_text(&mut self, visit: &mut dyn FnMut(&mut String)) {
        if let Some(text) = self {
            text.each_user_text(visit);
        }
    }
}

/// A request of the editor, as the daemon reads it.
#[derive(Debug)]
pub struct Declaration {
    pub method: &'static str,
    /// Reads its params, and returns them as a value of their type.
    pub read: fn(Value) -> serde_json::Result<Box<dyn Any + Send>>,
}

impl Declaration {
    pub(crate) const fn request<M: RequestMethod>() -> Self {
        Self { method: M::METHOD, read: read::<M::Params> }
    }
}

/// Requests of a module. Two tables, so that the daemon, which uses only the first one, contains no
/// code of the generator.
#[derive(Debug)]
pub(crate) struct Requests {
    pub(crate) declared: &'static [Declaration],
    pub(crate) typescript: &'static [TypescriptMethod],
}

fn read<P: DeserializeOwned + Send + 'static>(
    params: Value,
) -> serde_json::Result<Box<dyn Any + Send>> {
    Ok(Box::new(serde_json::from_value::<P>(params)?))
}

/// Declares requests: `Name("method", Params) -> Result`.
macro_rules! declare_requests {
    ($(#[$doc:meta])* $table:ident: $($name:ident($method:literal, $params:ty) -> $result:ty),+ $(,)?) => {
        $(
            #[doc = concat!("`", $method, "`")]
            #[derive(Debug)]
            pub struct $name;

            impl $crate::RequestMethod for $name {
                const METHOD: &'static str = $method;
                type Params = $params;
                type Result = $result;
            }
        )+

        $(#[$doc])*
        pub(crate) const $table: $crate::method::Requests = $crate::method::Requests {
            declared: &[$($crate::Declaration::request::<$name>()),+],
            typescript: &[
                $($crate::typescript::TypescriptMethod::request::<$name>(stringify!($name))),+
            ],
        };
    };
}

/// Declares requests of the editor: `Name("method", Params { field, … }) -> Result`. The braces
/// name the fields with text that the user wrote; they are empty if there is none.
macro_rules! declare_client_requests {
    ($(#[$doc:meta])* $table:ident: $($name:ident($method:literal, $params:ident { $($text:ident),* }) -> $result:ident),+ $(,)?) => {
        $crate::method::declare_requests! {
            $(#[$doc])*
            $table: $($name($method, $params) -> $result),+
        }

        $(
            impl $crate::ClientRequest for $name {
                #[allow(unused_variables, reason = "most params hold no text of the user")]
                fn each_user_text(params: &mut $params, visit: &mut dyn FnMut(&mut String)) {
                    $($crate::UserText::each_user_text(&mut params.$text, visit);)*
                }
            }
        )+
    };
}

/// Declares notifications of the editor: `Name("method", Params)`.
macro_rules! declare_client_notifications {
    ($(#[$doc:meta])* $table:ident: $($name:ident($method:literal, $params:ident)),+ $(,)?) => {
        $(
            #[doc = concat!("`", $method, "`, a notification of the editor")]
            #[derive(Debug)]
            pub struct $name;

            impl $crate::NotificationMethod for $name {
                const METHOD: &'static str = $method;
                type Params = $params;
            }
        )+

        $(#[$doc])*
        pub(crate) const $table: &[$crate::typescript::TypescriptMethod] = &[
            $($crate::typescript::TypescriptMethod::notification::<$params>(
                stringify!($name),
                <$name as $crate::NotificationMethod>::METHOD,
            )),+
        ];
    };
}

pub(crate) use {declare_client_notifications, declare_client_requests, declare_requests};

/// A part of each table of requests of the editor.
macro_rules! client_tables {
    ($part:ident) => {
        [
            const { $crate::request::REQUESTS.$part },
            const { $crate::queue::REQUESTS.$part },
            const { $crate::process::REQUESTS.$part },
            const { $crate::context::REQUESTS.$part },
            const { $crate::library::REQUESTS.$part },
            const { $crate::rules::REQUESTS.$part },
        ]
    };
}

pub(crate) use client_tables;

/// Returns the requests of the editor.
pub fn client_requests() -> impl Iterator<Item = &'static Declaration> {
    client_tables!(declared).into_iter().flatten()
}

/// Returns the request of the editor with this method.
pub fn client_request(method: &str) -> Option<&'static Declaration> {
    client_requests().find(|declared| declared.method == method)
}
