//! Content that the user attached to the messages of a stored turn.

use std::{io, ops::ControlFlow, path::Path};

use cairn_core::{
    conversation::{Attached, Item},
    ids::TurnId,
    turn::Record,
};

use super::lines::Line;
use crate::store::journal;

/// Most bytes of content that is returned. What follows is left out.
const MOST: usize = 32 * 1024 * 1024;

/// Returns what the user attached to the messages of a turn, in the order of the journal.
pub fn attached(path: &Path, turn: &TurnId) -> io::Result<Vec<Attached>> {
    let (mut found, mut is_inside, mut bytes) = (Vec::new(), false, 0);
    journal::read(path, |record| {
        // A line of a later version is left out.
        let Ok(line) = serde_json::from_slice::<Line>(record.json) else {
            return ControlFlow::Continue(());
        };
        if let Line::Turn(other) = &line {
            if is_inside {
                return ControlFlow::Break(());
            }
            is_inside = other.turn_id == *turn;
        }
        if is_inside {
            for one in line.records().iter().flat_map(of_record) {
                bytes += one.size();
                if bytes > MOST {
                    return ControlFlow::Break(());
                }
                found.push(one.clone());
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

fn of_record(record: &Record) -> impl Iterator<Item = &Attached> {
    let (message, notes) = match record {
        Record::Item(Item::User(message)) => {
            (message.attached.as_slice(), message.notes.as_slice())
        }
        Record::Item(Item::ToolResults { notes, .. }) => (&[] as &[Attached], notes.as_slice()),
        _ => (&[] as &[Attached], &[] as &[_]),
    };
    message.iter().chain(notes.iter().flat_map(|note| &note.attached))
}
