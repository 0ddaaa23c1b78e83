use std::fs::{File, OpenOptions};

use super::*;

/// Journals, the first of which is the newest, of so many bytes each and more.
fn folder(bytes: &[usize]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (age, bytes) in bytes.iter().enumerate() {
        let path = sessions::journal_path(folder.path(), &format!("s-{age}").into());
        let mut journal = Journal::create(&path).unwrap();
        journal.append(&[format!("\"{}\"", "x".repeat(*bytes))]).unwrap();
        drop(journal);
        let used = SystemTime::now() - Duration::from_secs(60 * age as u64);
        OpenOptions::new().append(true).open(&path).unwrap().set_modified(used).unwrap();
    }
    folder
}

fn left(folder: &Path) -> Vec<String> {
    entries(folder).unwrap().into_iter().map(|entry| entry.id.into()).collect()
}

#[test]
fn a_session_becomes_the_newest_of_one_window_alone() {
    let folder = folder(&[10; 4]);
    let held = ["s-1".into(), "s-2".into(), "s-3".into()];
    mark_newest(folder.path(), &"s-3".into(), &held).unwrap();
    assert_eq!(left(folder.path()), ["s-0", "s-3", "s-1", "s-2"]);
    let time = || entries(folder.path()).unwrap()[1].used;
    let before = time();
    mark_newest(folder.path(), &"s-3".into(), &held).unwrap();
    assert_eq!(time(), before, "it is the newest already");
}

#[test]
fn the_oldest_sessions_beyond_the_limits_are_removed() {
    for (bytes, kept, kept_bytes, always, expected) in [
        (vec![10; 5], 3, 10_000, 1, 3),
        (vec![10; 3], 5, 10_000, 1, 3),
        // By weight: the first that is too much goes, smaller ones behind it may fit.
        (vec![100, 100, 5_000, 100], 10, 1_000, 1, 3),
        (vec![5_000; 4], 10, 1_000, 2, 2),
        (vec![5_000; 4], 1, 1_000, 3, 3),
        (vec![], 1, 1, 1, 0),
    ] {
        let folder = folder(&bytes);
        std::fs::create_dir_all(folder.path().join("sessions")).unwrap();
        let removed = prune_to(folder.path(), kept, kept_bytes, always).unwrap();
        assert_eq!(left(folder.path()).len(), expected, "{bytes:?}");
        assert_eq!(removed, bytes.len() - expected);
    }
}

#[test]
fn a_locked_session_stays_and_files_of_removed_sessions_go() {
    let folder = folder(&[10; 4]);
    let path = |id: &str| sessions::journal_path(folder.path(), &id.into());
    let held = Journal::open(&path("s-3"), |_| Ok(())).unwrap().journal.unwrap();
    let sessions = folder.path().join("sessions");
    for number in 1..=2 {
        File::create(sessions.join(format!("s-2.log.torn-{number}"))).unwrap();
    }
    let old = SystemTime::now() - 2 * STRAY;
    for name in ["s-gone.log.lock", "s-gone.log.torn-1"] {
        File::create(sessions.join(name)).unwrap().set_modified(old).unwrap();
    }
    File::create(sessions.join("s-new.log.lock")).unwrap();
    File::create(sessions.join("mine.txt")).unwrap().set_modified(old).unwrap();
    assert_eq!(prune_to(folder.path(), 1, 1_000, 1).unwrap(), 2);
    assert_eq!(left(folder.path()), ["s-0", "s-3"]);
    let mut names: Vec<String> = fs::read_dir(&sessions)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["mine.txt", "s-0.log", "s-0.log.lock", "s-3.log", "s-3.log.lock", "s-new.log.lock"]
    );
    drop(held);
}

#[test]
fn only_a_valid_session_id_becomes_a_path() {
    for (id, expected) in [
        ("s-0192f", true),
        ("", false),
        ("../x", false),
        ("a/b", false),
        ("a.log", false),
        ("a\0", false),
        (&"x".repeat(65), false),
    ] {
        assert_eq!(is_id(id), expected, "{id:?}");
    }
}

/// A journal without digests, and one whose end is one long line.
#[test]
fn a_list_shows_sessions_without_a_readable_digest() {
    let folder = tempfile::tempdir().unwrap();
    let turn = |number: u32| {
        let turn_id = format!("t{number}");
        let mode = cairn_protocol::ReviewMode::Review;
        Line::Turn(sessions::TurnLine {
            turn_id: turn_id.into(),
            task: format!("Task {number}"),
            mode,
            follow_up: None,
            attachments: Vec::new(),
        })
    };
    let path = sessions::journal_path(folder.path(), &"s-old".into());
    let mut journal = Journal::create(&path).unwrap();
    let lines = [turn(1), turn(2)].map(|line| serde_json::to_vec(&line).unwrap());
    journal.append(&lines).unwrap();
    let expected = Digest { task: "Task 1".into(), turns: 2, running: true, ..Digest::default() };
    assert_eq!(digest(&path), Some(expected));
    journal.append(&[format!("\"{}\"", "x".repeat(TAIL as usize))]).unwrap();
    assert_eq!(digest(&path), Some(Digest::default()));
    let page = page(folder.path(), None, None, &HashMap::new()).unwrap();
    assert!(page.sessions[0].locked_elsewhere, "somebody holds it: this test");
    drop(journal);
    assert!(!journal::is_locked(&path));
}
