//! Inheritance of hunks: ids, origins and line owners that pass from old hunks to new ones.

use std::{ops::Range, sync::Arc};

use super::{Author, Hunk, HunkId, Origin};

impl Hunk {
    pub(super) fn has_kin(&self) -> bool {
        !self.kin.is_empty()
    }

    /// Its id, and those of all hunks that it was joined with or split from.
    pub(super) fn lineage(&self) -> impl Iterator<Item = HunkId> {
        std::iter::once(self.id).chain(self.kin.iter().copied())
    }
}

/// Hunks of a compared region, built from the differing `blocks`.
///
/// Each inherits id, origin and flags from the former hunk that it shares most lines with. `start`
/// is the first line of the region in the current text, and `user` the owners of its lines.
pub(super) fn heirs(
    former: &[Hunk],
    blocks: Vec<(Range<usize>, Range<usize>)>,
    author: &Author,
    written: &Range<usize>,
    (start, user): (usize, &[bool]),
    fresh_id: &mut impl FnMut() -> HunkId,
) -> Vec<Hunk> {
    let agent: Option<Arc<Origin>> = match author {
        Author::Agent(origin) => Some(Arc::new(origin.clone())),
        Author::User => None,
    };
    let (kept, changed): (Vec<&Hunk>, Vec<&Hunk>) =
        former.iter().partition(|hunk| stays(hunk, former, &blocks));
    let is_one_to_one = changed.len() <= 1 && blocks.len() <= 1 + kept.len();
    let kept: Vec<HunkId> = kept.into_iter().map(|hunk| hunk.id).collect();
    let kin = kin(changed);
    let mut claimed = vec![false; former.len()];
    let mut heirs = Vec::with_capacity(blocks.len());
    let are_parts = blocks.windows(2).any(|pair| pair[0].1.end == pair[1].1.start);
    for (old, new) in blocks {
        let share = |hunk: &Hunk| match (shared(&hunk.old, &old), shared(&hunk.new, &new)?) {
            (Some(before), lines) => Some(before + lines),
            // An insertion below changed lines stands behind more old lines if another one goes.
            (None, lines) => (lines > 0).then_some(lines),
        };
        let nearest = (0..former.len())
            .filter_map(|index| Some((index, share(&former[index])?)))
            // A new part that only borders on a former hunk leaves the id to that hunk.
            .filter(|&(_, lines)| lines > 0 || !are_parts)
            .max_by_key(|&(index, lines)| (lines, std::cmp::Reverse(index)))
            .map(|(index, _)| index);
        let id = match nearest {
            Some(index) if !std::mem::replace(&mut claimed[index], true) => former[index].id,
            Some(_) | None => fresh_id(),
        };
        let parent = nearest.and_then(|index| former.get(index));
        // A part that only borders on what was written is the neighbour's of what was written.
        let borders = !are_parts || written.is_empty();
        let is_written = shared(&new, written).is_some_and(|lines| borders || lines > 0);
        let inherited = parent.or(former.first()).map(|hunk| hunk.origin.clone());
        let origin =
            if is_written { agent.clone().or(inherited) } else { inherited.or(agent.clone()) };
        let Some(origin) = origin else { continue };
        let user = user[new.start - start..new.end - start].to_vec();
        let mixed = user.contains(&true)
            || parent.is_some_and(|hunk| hunk.mixed)
            || (agent.is_none() && is_written);
        let kin = match parent {
            Some(hunk) if is_one_to_one || kept.contains(&hunk.id) => hunk.kin.clone(),
            Some(_) | None => kin.clone(),
        };
        let typed_inside = parent.is_some_and(|hunk| hunk.typed_inside);
        heirs.push(Hunk { id, old, new, origin, mixed, typed_inside, user, kin });
    }
    heirs
}

/// True for a hunk that at most got a neighbor: it was neither joined nor split.
fn stays(hunk: &Hunk, former: &[Hunk], blocks: &[(Range<usize>, Range<usize>)]) -> bool {
    let is_alone = |other: &Hunk| {
        let share = shared(&other.old, &hunk.old).max(shared(&other.new, &hunk.new));
        other.id == hunk.id || share.is_none_or(|lines| lines == 0)
    };
    blocks.iter().any(|(old, new)| hunk.old == *old && hunk.new == *new)
        && former.iter().all(is_alone)
}

/// Sorted ids of hunks and of all hunks that they were joined with or split from.
pub(super) fn kin<'a>(hunks: impl IntoIterator<Item = &'a Hunk>) -> Vec<HunkId> {
    let mut kin: Vec<HunkId> = hunks.into_iter().flat_map(Hunk::lineage).collect();
    kin.sort_unstable();
    kin.dedup();
    kin
}

/// Number of lines that two ranges share; `None` if they do not even border on each other.
fn shared(a: &Range<usize>, b: &Range<usize>) -> Option<usize> {
    a.end.min(b.end).checked_sub(a.start.max(b.start))
}
