//! Returns the accepted text of a file.

use cairn_protocol::{BaselineParams, BaselineResult};

use crate::review::Reviews;

pub(crate) fn handle(reviews: &Reviews, params: &BaselineParams) -> BaselineResult {
    let files = &reviews.files;
    let entry = files.key_of(&params.uri).and_then(|key| files.entries.get(&key));
    let review = entry.and_then(|entry| entry.state.review.as_ref());
    BaselineResult { text: review.map(|review| review.baseline().to_string()) }
}
