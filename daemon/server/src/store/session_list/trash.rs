//! Deleted sessions, which can be restored for a while.
//!
//! ```text
//! trash/<session>.<time of the deletion, in milliseconds since 1970>/
//!   <session>.log, <session>.log.torn-1 …   as they were in `sessions/`
//! ```

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use cairn_core::ids::SessionId;

use super::{Fault, is_id};
use crate::store::{journal, sessions};

/// Time for which a deleted session can be restored.
pub const KEPT: Duration = Duration::from_secs(10 * 60);

/// Deleted session.
struct Trashed {
    folder: PathBuf,
    id: SessionId,
    at: SystemTime,
}

/// Deletes a session: moves its journal and the files next to it to the trash.
pub fn delete(folder: &Path, id: &SessionId) -> Result<(), Fault> {
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let trash = folder.join("trash").join(format!("{id}.{millis}"));
    let moved = journal::move_into(&sessions::journal_path(folder, id), &trash)?;
    if moved { Ok(()) } else { Err(Fault::Locked) }
}

/// Moves a deleted session back to its place.
pub fn restore(folder: &Path, id: &SessionId) -> Result<(), Fault> {
    let newest = trashed(folder)?.into_iter().filter(|it| it.id == *id).max_by_key(|it| it.at);
    let trash = newest.ok_or(Fault::Unknown)?.folder;
    journal::move_out_of(&trash, &sessions::journal_path(folder, id))?;
    // Its files were moved; another deletion makes a separate folder.
    let _ = fs::remove_dir(trash);
    Ok(())
}

/// Removes the sessions whose deletion is at least this long ago.
pub fn empty(folder: &Path, age: Duration) -> io::Result<()> {
    for Trashed { folder, id, at } in trashed(folder)? {
        // A deletion in the future is one before the clock was set back.
        if at.elapsed().is_ok_and(|since| since < age) {
            continue;
        }
        if let Err(error) = fs::remove_dir_all(&folder) {
            tracing::warn!("the deleted session {id} was not removed: {error}");
        }
    }
    Ok(())
}

fn trashed(folder: &Path) -> io::Result<Vec<Trashed>> {
    let folders = match fs::read_dir(folder.join("trash")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        folders => folders?,
    };
    let read = |entry: io::Result<fs::DirEntry>| {
        let entry = entry.ok()?;
        let name = entry.file_name();
        let (id, millis) = name.to_str()?.split_once('.').filter(|(id, _)| is_id(id))?;
        let at = UNIX_EPOCH.checked_add(Duration::from_millis(millis.parse().ok()?))?;
        // Follows no link.
        let is_folder = entry.file_type().ok()?.is_dir();
        is_folder.then(|| Trashed { folder: entry.path(), id: id.into(), at })
    };
    Ok(folders.filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::journal::Journal;

    fn files(folder: &Path) -> Vec<String> {
        let mut found: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.ends_with(".lock"))
            .collect();
        found.sort();
        found
    }

    #[test]
    fn a_deleted_session_comes_back_with_all_its_files_and_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let id = SessionId::from("s-1");
        let path = sessions::journal_path(folder, &id);
        let mut journal = Journal::create(&path).unwrap();
        journal.append(&["\"one\""]).unwrap();
        assert!(matches!(delete(folder, &id), Err(Fault::Locked)), "it is open");
        drop(journal);
        let place = folder.join("sessions");
        fs::write(place.join("s-1.log.torn-1"), "x").unwrap();
        let used = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        journal::set_modified(&path, used).unwrap();
        let before = fs::read(&path).unwrap();
        for _ in 0..2 {
            delete(folder, &id).unwrap();
            assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
            assert!(matches!(delete(folder, &id), Err(Fault::Unknown)));
            empty(folder, KEPT).unwrap();
            restore(folder, &id).unwrap();
            assert_eq!(files(&place), ["s-1.log", "s-1.log.torn-1"]);
            assert_eq!(fs::read(&path).unwrap(), before);
            assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), used);
            assert_eq!(files(&folder.join("trash")), Vec::<String>::new());
        }
        assert!(matches!(restore(folder, &id), Err(Fault::Unknown)));
    }

    #[test]
    fn a_session_is_never_restored_over_another() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let id = SessionId::from("s-1");
        let path = sessions::journal_path(folder, &id);
        drop(Journal::create(&path).unwrap());
        delete(folder, &id).unwrap();
        let mut journal = Journal::create(&path).unwrap();
        journal.append(&["\"two\""]).unwrap();
        assert!(matches!(restore(folder, &id), Err(Fault::Io(_))), "it is open");
        drop(journal);
        assert!(matches!(restore(folder, &id), Err(Fault::Io(_))));
        assert!(fs::read_to_string(&path).unwrap().contains("two"));
    }

    #[test]
    fn the_trash_is_emptied_by_age() {
        let folder = tempfile::tempdir().unwrap();
        let trash = folder.path().join("trash");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let name = |id: &str, at: Duration| format!("{id}.{}", at.as_millis());
        let hour = Duration::from_secs(3_600);
        let names = [
            name("s-new", now),
            name("s-old", now - KEPT),
            name("s-future", now + hour),
            "mine.txt".into(),
        ];
        for name in &names {
            fs::create_dir_all(trash.join(name)).unwrap();
        }
        fs::write(trash.join(&names[1]).join("s-old.log"), "x").unwrap();
        empty(folder.path(), KEPT).unwrap();
        assert_eq!(files(&trash), ["mine.txt", names[0].as_str()]);
        empty(folder.path(), Duration::ZERO).unwrap();
        assert_eq!(files(&trash), ["mine.txt"]);
    }
}
