//! Active form of an item's content, derived for dialects that do not send one.
//!
//! Inflects only verbs of its table. A text that begins otherwise, for example in another language,
//! is unchanged.

const VERBS: &[(&str, &str)] = &[
    ("add", "adding"),
    ("adjust", "adjusting"),
    ("analyze", "analyzing"),
    ("apply", "applying"),
    ("build", "building"),
    ("check", "checking"),
    ("clean", "cleaning"),
    ("compare", "comparing"),
    ("configure", "configuring"),
    ("convert", "converting"),
    ("create", "creating"),
    ("debug", "debugging"),
    ("define", "defining"),
    ("delete", "deleting"),
    ("deploy", "deploying"),
    ("document", "documenting"),
    ("ensure", "ensuring"),
    ("explore", "exploring"),
    ("extend", "extending"),
    ("extract", "extracting"),
    ("find", "finding"),
    ("fix", "fixing"),
    ("format", "formatting"),
    ("handle", "handling"),
    ("identify", "identifying"),
    ("implement", "implementing"),
    ("improve", "improving"),
    ("inspect", "inspecting"),
    ("install", "installing"),
    ("integrate", "integrating"),
    ("investigate", "investigating"),
    ("make", "making"),
    ("measure", "measuring"),
    ("merge", "merging"),
    ("migrate", "migrating"),
    ("move", "moving"),
    ("optimize", "optimizing"),
    ("parse", "parsing"),
    ("read", "reading"),
    ("refactor", "refactoring"),
    ("remove", "removing"),
    ("rename", "renaming"),
    ("replace", "replacing"),
    ("review", "reviewing"),
    ("rewrite", "rewriting"),
    ("run", "running"),
    ("search", "searching"),
    ("simplify", "simplifying"),
    ("split", "splitting"),
    ("test", "testing"),
    ("update", "updating"),
    ("upgrade", "upgrading"),
    ("use", "using"),
    ("validate", "validating"),
    ("verify", "verifying"),
    ("write", "writing"),
];

pub(super) fn derive(content: &str) -> String {
    let (verb, rest) = match content.find(char::is_whitespace) {
        Some(end) => content.split_at(end),
        None => (content, ""),
    };
    let known = VERBS.iter().find(|(plain, _)| plain.eq_ignore_ascii_case(verb));
    match known {
        Some((_, form)) if verb.starts_with(|c: char| c.is_ascii_uppercase()) => {
            format!("{}{}{rest}", form[..1].to_ascii_uppercase(), &form[1..])
        }
        Some((_, form)) => format!("{form}{rest}"),
        None => content.to_owned(),
    }
}
