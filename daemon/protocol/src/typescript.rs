//! Methods and types for the contract in TypeScript, which a test of the project writes.

use std::collections::{BTreeMap, btree_map::Entry};

use ts_rs::{Config, TS, TypeVisitor};

use crate::{RequestMethod, editor, method::client_tables, notify, request};

/// Tables of methods, each with its description and its name in TypeScript.
pub fn tables() -> [(&'static str, &'static str, Vec<&'static TypescriptMethod>); 4] {
    [
        (
            "Requests of the editor to the daemon.",
            "requests",
            client_tables!(typescript).into_iter().flatten().collect(),
        ),
        (
            "Requests of the daemon to the editor.",
            "editorRequests",
            editor::REQUESTS.typescript.iter().collect(),
        ),
        ("Notifications of the daemon.", "notifications", notify::NOTICES.iter().collect()),
        (
            "Notifications of the editor.",
            "editorNotifications",
            request::NOTIFICATIONS.iter().collect(),
        ),
    ]
}

/// Row of a table of methods, as the generator reads it.
#[derive(Debug)]
pub struct TypescriptMethod {
    pub method: &'static str,
    /// Name of its type in this crate.
    pub name: &'static str,
    /// Returns its type in TypeScript.
    pub typescript: fn() -> String,
    /// Adds the types of its payload.
    pub types: fn(&mut Types),
}

impl TypescriptMethod {
    pub(crate) const fn request<M: RequestMethod>(name: &'static str) -> Self {
        let types = |types: &mut Types| {
            types.add::<M::Params>();
            types.add::<M::Result>();
        };
        let typescript = request_type::<M::Params, M::Result>;
        Self { method: M::METHOD, name, typescript, types }
    }

    pub(crate) const fn notification<P: TS + 'static>(
        name: &'static str,
        method: &'static str,
    ) -> Self {
        Self { method, name, typescript: notification_type::<P>, types: Types::add::<P> }
    }
}

fn request_type<P: TS, R: TS>() -> String {
    let config = Config::default();
    format!("RequestMethod<{}, {}>", P::name(&config), R::name(&config))
}

fn notification_type<P: TS>() -> String {
    format!("NotificationMethod<{}>", P::name(&Config::default()))
}

/// Declarations of types, by name.
#[derive(Debug, Default)]
pub struct Types(pub BTreeMap<String, String>);

impl Types {
    /// Adds a type and all types of its fields.
    pub fn add<T: TS + 'static + ?Sized>(&mut self) {
        let config = Config::default();
        // Types of the language, lists and options have no path, and no declaration.
        if T::output_path().is_none() {
            return T::visit_generics(self);
        }
        if let Entry::Vacant(place) = self.0.entry(T::ident(&config)) {
            place.insert(T::decl(&config));
            T::visit_dependencies(self);
        }
    }
}

impl TypeVisitor for Types {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        self.add::<T>();
    }
}
