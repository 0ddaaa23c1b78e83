//! The contract as one TypeScript file: `make gen` writes it, a test compares it.

use std::collections::{BTreeMap, btree_map::Entry};

use ts_rs::{Config, TS, TypeVisitor};

use crate::{
    ErrorData, PROTOCOL_MINOR, PROTOCOL_VERSION, RequestMethod, context, editor, library, notify,
    process, queue, request, rules,
};

/// Renders `vscode-extension/src/protocol.ts`.
pub fn render() -> String {
    let mut out = String::from(
        "// Generated from daemon/protocol by `make gen`. Do not edit.\n\n\
         /** A request that is answered by one object. */\n\
         export interface RequestMethod<P, R> { readonly method: string; readonly _p?: P; readonly _r?: R }\n\
         /** A notification with one object. */\n\
         export interface NotificationMethod<P> { readonly method: string; readonly _p?: P }\n\n",
    );
    out.push_str(&format!("export const PROTOCOL_VERSION = {PROTOCOL_VERSION};\n"));
    out.push_str(&format!("export const PROTOCOL_MINOR = {PROTOCOL_MINOR};\n"));
    let mut types = Types::default();
    // `data` of errors, which no method names.
    types.add::<ErrorData>();
    let client_requests = [
        request::REQUESTS.typescript,
        queue::REQUESTS.typescript,
        process::REQUESTS.typescript,
        context::REQUESTS.typescript,
        library::REQUESTS.typescript,
        rules::REQUESTS.typescript,
    ];
    let tables: [(&str, &str, Vec<&TypescriptMethod>); 4] = [
        (
            "Requests of the editor to the daemon.",
            "requests",
            client_requests.into_iter().flatten().collect(),
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
    ];
    for (doc, name, methods) in tables {
        out.push_str(&format!("\n/** {doc} */\nexport const {name} = {{\n"));
        for TypescriptMethod { method, name, typescript, types: add } in methods {
            let (name, typescript) = (lower_first(name), typescript());
            out.push_str(&format!("  {name}: {{ method: \"{method}\" }} as {typescript},\n"));
            add(&mut types);
        }
        out.push_str("} as const;\n");
    }
    for declaration in types.0.values() {
        out.push_str(&format!("\nexport {declaration}\n"));
    }
    out
}

/// `RunTask` becomes `runTask`.
fn lower_first(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().into_iter().flat_map(char::to_lowercase).chain(chars).collect()
}

/// Row of a table of methods, as the generator reads it.
#[derive(Debug)]
pub(crate) struct TypescriptMethod {
    method: &'static str,
    /// Name of its type in this crate.
    name: &'static str,
    /// Returns its type in TypeScript.
    typescript: fn() -> String,
    /// Adds the types of its payload.
    types: fn(&mut Types),
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
#[derive(Default)]
pub(crate) struct Types(BTreeMap<String, String>);

impl Types {
    /// Adds a type and all types of its fields.
    pub(crate) fn add<T: TS + 'static + ?Sized>(&mut self) {
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
