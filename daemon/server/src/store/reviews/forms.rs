//! Records that this version may be unable to read, and the forms of reviews and texts in the store.

use std::{collections::HashSet, io};

use cairn_core::{
    review::{Convert, FileReview, ReviewSnapshot},
    text::Text,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::store::blobs::{Blobs, Sha256Hex};

/// A record, or the JSON of one that this version cannot read. That is written back as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Compat<T> {
    Known(T),
    Unreadable(Value),
}

impl<T> Compat<T> {
    pub(super) fn known(&self) -> Option<&T> {
        match self {
            Compat::Known(record) => Some(record),
            Compat::Unreadable(_) => None,
        }
    }

    /// Name of the record: a field of a known one, or the field of this name.
    pub(super) fn name<'a>(&'a self, of: impl Fn(&'a T) -> &'a str, field: &str) -> &'a str {
        match self {
            Compat::Known(record) => of(record),
            Compat::Unreadable(json) => json.get(field).and_then(Value::as_str).unwrap_or_default(),
        }
    }
}

/// Adds all strings of a value that may be hashes of texts.
pub(super) fn add_hashes(json: &Value, hashes: &mut HashSet<Sha256Hex>) {
    match json {
        Value::String(text) => hashes.extend(text.parse().ok()),
        Value::Array(values) => values.iter().for_each(|value| add_hashes(value, hashes)),
        Value::Object(fields) => fields.values().for_each(|value| add_hashes(value, hashes)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Conversion of reviews into snapshots with hashes, whose texts it stores.
pub(super) struct ToStored<'a> {
    blobs: &'a Blobs,
    /// Recent texts. Records repeat texts, so these are not hashed again.
    recent: Vec<(Text, Sha256Hex)>,
}

impl<'a> ToStored<'a> {
    pub(super) fn new(blobs: &'a Blobs) -> Self {
        Self { blobs, recent: Vec::new() }
    }
}

impl Convert<FileReview, Text> for ToStored<'_> {
    type Review = ReviewSnapshot<Sha256Hex>;
    type Text = Sha256Hex;
    type Error = io::Error;

    fn review(&mut self, review: &FileReview) -> io::Result<Self::Review> {
        review.snapshot().try_map(|text| self.text(&text))
    }

    fn text(&mut self, text: &Text) -> io::Result<Sha256Hex> {
        const MOST_RECENT: usize = 16;
        let same = |other: &Text| other.len_chars() == text.len_chars() && other == text;
        if let Some((_, hash)) = self.recent.iter().find(|(other, _)| same(other)) {
            return Ok(hash.clone());
        }
        let hash = self.blobs.put(text)?;
        if self.recent.len() < MOST_RECENT {
            self.recent.push((text.clone(), hash.clone()));
        }
        Ok(hash)
    }
}

/// Conversion of snapshots with hashes into reviews, with the texts of the store.
pub(super) struct FromStored<'a>(pub(super) &'a Blobs);

impl Convert<ReviewSnapshot<Sha256Hex>, Sha256Hex> for FromStored<'_> {
    type Review = FileReview;
    type Text = Text;
    type Error = io::Error;

    fn review(&mut self, review: &ReviewSnapshot<Sha256Hex>) -> io::Result<FileReview> {
        let snapshot = review.clone().try_map(|hash| self.text(&hash))?;
        FileReview::restore(snapshot).map_err(io::Error::other)
    }

    fn text(&mut self, hash: &Sha256Hex) -> io::Result<Text> {
        let bytes = self.0.get(hash)?.ok_or_else(|| io::Error::other("a text is lost"))?;
        String::from_utf8(bytes).map(|text| Text::new(&text)).map_err(io::Error::other)
    }
}
