//! Bounds of what the editor is told: a line may have megabytes, and a message may not.

use cairn_core::sanitize::excerpt;
use cairn_protocol::Hunk;

/// Most bytes of one text of a hunk, and of all texts of one notification.
const MAX_HUNK_TEXT: usize = 16 * 1024;
const MAX_TEXTS: usize = 256 * 1024;

/// Hunks as they are sent. Their texts are only shown, so they may be cut. Decisions go by id and
/// revision, which follow the whole text.
pub(super) fn bounded<'a>(hunks: impl Iterator<Item = &'a Hunk>) -> Vec<Hunk> {
    let mut left = MAX_TEXTS;
    let mut cut = |text: &str| {
        let cut = excerpt(text, left.min(MAX_HUNK_TEXT));
        left -= left.min(cut.len());
        cut
    };
    hunks
        .map(|hunk| Hunk {
            old_text: cut(&hunk.old_text),
            new_text: cut(&hunk.new_text),
            id: hunk.id.clone(),
            session_id: hunk.session_id.clone(),
            turn_id: hunk.turn_id.clone(),
            plan_item: hunk.plan_item.clone(),
            child: hunk.child.clone(),
            range: hunk.range,
            removed_lines: hunk.removed_lines,
            added_lines: hunk.added_lines,
            mixed: hunk.mixed,
            outdated: hunk.outdated,
            can_apply: hunk.can_apply,
            whole_file: hunk.whole_file,
        })
        .collect()
}
