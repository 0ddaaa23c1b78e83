//! A message of the daemon to the user, as it is sent: an English template with named arguments.

use std::collections::BTreeMap;

use macro_rules_attribute::apply;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::ActionId;

/// Message to the user. Its text is `template` with each `{name}` replaced by the argument of that
/// name; a client with a translation looks `template` up in it.
#[apply(wire)]
#[derive(Default)]
pub struct UiMessage {
    /// Stable name of the message. A later version may add codes.
    pub code: String,
    /// English text with placeholders.
    pub template: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[ts(optional, as = "Option<BTreeMap<String, UiArgument>>")]
    pub args: BTreeMap<String, UiArgument>,
    /// Action that solves the problem; absent if there is none.
    pub action: Option<ActionId>,
}

/// Argument of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(untagged)]
pub enum UiArgument {
    Text(String),
    Number(u32),
    /// Names that select the template.
    Names(Vec<String>),
    Message(UiMessage),
    /// Messages that the client joins by `separator`.
    List {
        items: Vec<UiMessage>,
        separator: String,
    },
}

impl UiMessage {
    /// Returns the text in English.
    pub fn english(&self) -> String {
        let mut text = String::new();
        let mut rest = self.template.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            let Some((name, following)) = after.split_once('}') else {
                text.push('{');
                rest = after;
                continue;
            };
            if let Some(argument) = self.args.get(name) {
                text.push_str(&argument.english());
            }
            rest = following;
        }
        text.push_str(rest);
        text
    }
}

impl UiArgument {
    fn english(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Names(names) => names.join(", "),
            Self::Message(message) => message.english(),
            Self::List { items, separator } => english_of_all(items, separator),
        }
    }
}

/// A table of messages.
pub trait Coded {
    /// Text between the messages of a list.
    const SEPARATOR: &'static str;

    /// Returns the message as it is sent.
    fn message(&self) -> UiMessage;
}

impl Coded for UiMessage {
    const SEPARATOR: &'static str = " ";

    fn message(&self) -> UiMessage {
        self.clone()
    }
}

/// Returns the texts of messages in English.
pub fn english_of_all<M: Coded>(messages: &[M], separator: &str) -> String {
    let texts: Vec<String> = messages.iter().map(|it| it.message().english()).collect();
    texts.join(separator)
}

/// A value that can be an argument; `None` for one that only selects the template.
pub(super) trait Argument {
    fn argument(&self) -> Option<UiArgument>;
}

impl Argument for String {
    fn argument(&self) -> Option<UiArgument> {
        Some(UiArgument::Text(self.clone()))
    }
}

impl Argument for u32 {
    fn argument(&self) -> Option<UiArgument> {
        Some(UiArgument::Number(*self))
    }
}

impl Argument for u16 {
    fn argument(&self) -> Option<UiArgument> {
        Some(UiArgument::Number((*self).into()))
    }
}

impl<T: Argument> Argument for Option<T> {
    fn argument(&self) -> Option<UiArgument> {
        self.as_ref()?.argument()
    }
}

impl<M: Coded> Argument for M {
    fn argument(&self) -> Option<UiArgument> {
        Some(UiArgument::Message(self.message()))
    }
}

impl<M: Coded> Argument for Vec<M> {
    fn argument(&self) -> Option<UiArgument> {
        let items = self.iter().map(M::message).collect();
        Some(UiArgument::List { items, separator: M::SEPARATOR.to_owned() })
    }
}

impl Argument for Vec<crate::Need> {
    fn argument(&self) -> Option<UiArgument> {
        Some(UiArgument::Names(self.iter().map(super::wire_name).collect()))
    }
}

/// Selects the template.
impl Argument for bool {
    fn argument(&self) -> Option<UiArgument> {
        None
    }
}

/// Count of tokens, shown in thousands: `12k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens(pub u32);

impl Argument for Tokens {
    fn argument(&self) -> Option<UiArgument> {
        let Tokens(count) = *self;
        Some(UiArgument::Text(match count {
            0..1_000 => count.to_string(),
            1_000..999_500 => format!("{}k", (count + 500) / 1_000),
            _ => format!("{:.1}M", f64::from(count) / 1e6),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_its_arguments_in_their_places() {
        let message = |template: &str, args: &[(&str, UiArgument)]| UiMessage {
            code: "sample".to_owned(),
            template: template.to_owned(),
            args: args.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            action: None,
        };
        let text = |text: &str| UiArgument::Text(text.to_owned());
        let inner = message("{n} lines", &[("n", UiArgument::Number(3))]);
        let items = vec![inner.clone(), message("none", &[])];
        let list = UiArgument::List { items, separator: "; ".to_owned() };
        let args = [("a", text("{b}")), ("b", UiArgument::Message(inner)), ("c", list)];
        let whole = message("{a}: {b} ({c}) {open", &args);
        assert_eq!(whole.english(), "{b}: 3 lines (3 lines; none) {open");
        let sent = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<UiMessage>(&sent).unwrap(), whole);
    }
}
