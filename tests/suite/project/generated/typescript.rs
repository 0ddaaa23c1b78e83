//! Writer of the contract in TypeScript.

use cairn_protocol::{
    ErrorData, PROTOCOL_MINOR, PROTOCOL_VERSION,
    typescript::{Types, TypescriptMethod, tables},
};

/// Renders `vscode-extension/src/protocol.ts`.
pub(super) fn render() -> String {
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
    for (doc, name, methods) in tables() {
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
