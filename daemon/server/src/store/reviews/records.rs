//! Records of pending reviews, with texts or with their hashes.

use std::{collections::BTreeMap, io};

use cairn_core::{plan::Plan, review::ReviewSnapshot, text::Text};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Stored state of a file. `T` is a text or its hash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept<T> {
    /// Canonical URI of the file.
    pub key: String,
    pub saveable: bool,
    pub standing: Standing<T>,
    /// Edit that was sent to the editor and has not appeared in the text yet.
    pub under_way: Option<UnderWay<T>>,
    /// Edits that timed out and may still reach the text.
    #[serde(default = "Vec::new")]
    pub late: Vec<UnderWay<T>>,
    /// Value that only the hub reads.
    #[serde(default)]
    pub rest: Value,
}

/// Pending changes of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standing<T> {
    pub review: Option<ReviewSnapshot<T>>,
    /// Pending operation on the whole file. Only the hub reads it.
    pub fate: Value,
    /// Encoding with which the file is created again. `None`: UTF-8 without a byte order mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
}

/// Encoding of a file, by its name in the WHATWG Encoding Standard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encoding {
    pub name: String,
    pub bom: bool,
}

/// Edit that was sent to the editor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnderWay<T> {
    /// Text before the edit; `None`: there is no file.
    pub before: Option<T>,
    /// Text after the edit; empty if it deletes the file.
    pub expected: T,
    /// Review after the edit, where the text alone does not determine it.
    pub after: Option<Standing<T>>,
    /// Value that only the hub reads.
    pub what: Value,
    /// Number of restarts since it was sent.
    #[serde(default)]
    pub restarts: u32,
}

/// State of a file before a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Former<T> {
    pub key: String,
    pub standing: Standing<T>,
    /// Text after the decision. `None`: the file does not exist.
    pub after: Option<T>,
    /// Value that only the hub reads.
    pub rest: Value,
}

/// States before a turn of all files that the agent changed in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint<T> {
    pub turn: String,
    pub session: String,
    /// Text of the user's task.
    pub task: String,
    pub plan: Plan,
    /// By canonical URI.
    pub files: BTreeMap<String, Before<T>>,
}

/// State of a file before the agent changed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Before<T> {
    pub standing: Standing<T>,
    /// `None`: the file did not exist.
    pub text: Option<T>,
    /// Text after the agent's last change or the last decision. `None`: the file does not exist.
    pub left: Option<T>,
    /// True if the user or another program changed the file since.
    pub touched: bool,
}

/// Stored reviews of a workspace when it was opened.
#[derive(Debug, Default)]
pub struct Found {
    pub files: Vec<Kept<Text>>,
    /// Oldest first.
    pub decisions: Vec<Vec<Former<Text>>>,
    /// Oldest first.
    pub checkpoints: Vec<Checkpoint<Text>>,
}

impl<T> Kept<T> {
    pub(super) fn try_map<U>(
        &self,
        mut text: impl FnMut(&T) -> io::Result<U>,
    ) -> io::Result<Kept<U>>
    where
        T: Clone,
    {
        Ok(Kept {
            key: self.key.clone(),
            saveable: self.saveable,
            standing: self.standing.try_map(&mut text)?,
            under_way: match &self.under_way {
                Some(edit) => Some(edit.try_map(&mut text)?),
                None => None,
            },
            late: self.late.iter().map(|edit| edit.try_map(&mut text)).collect::<Result<_, _>>()?,
            rest: self.rest.clone(),
        })
    }
}

impl<T> UnderWay<T> {
    pub(super) fn try_map<U>(
        &self,
        text: &mut impl FnMut(&T) -> io::Result<U>,
    ) -> io::Result<UnderWay<U>>
    where
        T: Clone,
    {
        Ok(UnderWay {
            before: self.before.as_ref().map(&mut *text).transpose()?,
            expected: text(&self.expected)?,
            after: match &self.after {
                Some(standing) => Some(standing.try_map(text)?),
                None => None,
            },
            what: self.what.clone(),
            restarts: self.restarts,
        })
    }
}

impl<T: Clone> Checkpoint<T> {
    pub(super) fn try_map<U>(
        &self,
        mut text: impl FnMut(&T) -> io::Result<U>,
    ) -> io::Result<Checkpoint<U>> {
        let mut files = BTreeMap::new();
        for (key, Before { standing, text: before, left, touched }) in &self.files {
            let before = Before {
                standing: standing.try_map(&mut text)?,
                text: before.as_ref().map(&mut text).transpose()?,
                left: left.as_ref().map(&mut text).transpose()?,
                touched: *touched,
            };
            files.insert(key.clone(), before);
        }
        let Checkpoint { turn, session, task, plan, files: _ } = self.clone();
        Ok(Checkpoint { turn, session, task, plan, files })
    }
}

impl<T> Standing<T> {
    pub(super) fn try_map<U>(
        &self,
        text: &mut impl FnMut(&T) -> io::Result<U>,
    ) -> io::Result<Standing<U>>
    where
        T: Clone,
    {
        let review = self.review.clone();
        let review = review.map(|review| review.try_map(|it| text(&it))).transpose()?;
        Ok(Standing { review, fate: self.fate.clone(), encoding: self.encoding.clone() })
    }
}

impl<T> Former<T> {
    pub(super) fn try_map<U>(
        &self,
        mut text: impl FnMut(&T) -> io::Result<U>,
    ) -> io::Result<Former<U>>
    where
        T: Clone,
    {
        Ok(Former {
            key: self.key.clone(),
            standing: self.standing.try_map(&mut text)?,
            after: self.after.as_ref().map(&mut text).transpose()?,
            rest: self.rest.clone(),
        })
    }
}
