//! Search for names similar to a missing one, so that a model can correct a wrong path.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use super::{Hidden, Workspace, WorkspacePath};

const MAX_NAMES: usize = 3;
const MAX_SEEN: usize = 20_000;
const MAX_TIME: Duration = Duration::from_secs(10);

impl Workspace {
    /// Files with the same or a similar name, best match first. Blocks.
    pub fn similar_to(&self, missing: &WorkspacePath) -> Vec<WorkspacePath> {
        let wanted = file_name(missing);
        let mut found: Vec<(usize, WorkspacePath)> = Vec::new();
        let mut seen = 0;
        let began = Instant::now();
        let stop = || began.elapsed() > MAX_TIME;
        self.walk(&self.roots(), Hidden::Skip, &stop, |path| {
            seen += 1;
            // A link may have been put in the way of the listing by now.
            if let Some(distance) = distance(&wanted, &file_name(&path))
                && self.is_there(&path)
            {
                found.push((distance, path));
                found.sort();
                found.truncate(MAX_NAMES);
            }
            if seen < MAX_SEEN { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        found.into_iter().map(|(_, path)| path).collect()
    }
}

fn file_name(path: &WorkspacePath) -> String {
    path.as_path().file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// Edit distance of two names, if it is small for their length.
fn distance(a: &str, b: &str) -> Option<usize> {
    let limit = a.chars().count().min(b.chars().count()) / 4;
    Some(strsim::levenshtein(a, b)).filter(|&distance| distance <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_of_similar_names_is_counted() {
        for (a, b, expected) in [
            ("cart.mjs", "cart.mjs", Some(0)),
            ("cart.mjs", "carts.mjs", Some(1)),
            ("cart.mjs", "card.mjs", Some(1)),
            ("cart.mjs", "main.rs", None),
            ("a", "b", None),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }
}
