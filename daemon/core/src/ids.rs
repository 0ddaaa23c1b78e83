//! Ids as distinct types, so that one kind does not pass for another.

use std::{fmt, ops::Deref};

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(String);

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> $name {
                $name(id)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> $name {
                $name(id.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl From<&$name> for String {
            fn from(id: &$name) -> String {
                id.0.clone()
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl PartialEq<String> for $name {
            fn eq(&self, other: &String) -> bool {
                self.0 == *other
            }
        }
    };
}

id! {
    /// Id of a session. It is plain text in messages and in the store.
    SessionId
}

id! {
    /// Id of a turn. It is plain text in messages and in the store.
    TurnId
}

id! {
    /// Id of a tool call, unique in its turn. It is plain text in messages and in the store.
    CallId
}

id! {
    /// Canonical URI of a file: the key under which its text, its review and what a model read of it are
    /// kept. It is plain text in the store.
    FileKey
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_plain_text_in_json() {
        let id = TurnId::from("t-1");
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(json, r#""t-1""#);
        assert_eq!(serde_json::from_str::<TurnId>(&json).unwrap(), id);
    }
}
