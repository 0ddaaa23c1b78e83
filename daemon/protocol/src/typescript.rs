//! The contract as one TypeScript file: `make gen` writes it, a test compares it.

use std::collections::{BTreeMap, btree_map::Entry};

use ts_rs::{Config, TS, TypeVisitor};

use crate::{
    ApprovalQuestion, ApprovalReason, Declaration, EditProblem, ErrorData, PROTOCOL_MINOR,
    PROTOCOL_VERSION, ReadOnlyProblem, RequestProblem, RetryReason, ReviewProblem, SandboxState,
    StatusProblem, ToolLabel, TurnNotice, TurnProblem, client_requests, editor, notify, request,
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
    // Flattened into the messages that carry them; the client has a text for each of their codes.
    types.add::<RequestProblem>();
    types.add::<TurnProblem>();
    types.add::<StatusProblem>();
    types.add::<TurnNotice>();
    types.add::<ReviewProblem>();
    types.add::<EditProblem>();
    types.add::<ReadOnlyProblem>();
    types.add::<SandboxState>();
    types.add::<ApprovalQuestion>();
    types.add::<ApprovalReason>();
    types.add::<ToolLabel>();
    types.add::<RetryReason>();
    let tables: [(&str, &str, Vec<&Declaration>); 4] = [
        ("Requests of the editor to the daemon.", "requests", client_requests().collect()),
        (
            "Requests of the daemon to the editor.",
            "editorRequests",
            editor::REQUESTS.iter().collect(),
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
        for Declaration { method, name, typescript, types: add, .. } in methods {
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

pub(crate) fn request_type<P: TS, R: TS>() -> String {
    let config = Config::default();
    format!("RequestMethod<{}, {}>", P::name(&config), R::name(&config))
}

pub(crate) fn notification_type<P: TS>() -> String {
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
