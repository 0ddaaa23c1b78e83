use std::{ops::ControlFlow, sync::mpsc};

use proptest::prelude::*;

use super::*;
use crate::store::journal::{
    Journal,
    tests::{Disk, Fault, folder, on_faulty_disk, records},
};

/// A test that waits so long has failed.
const LONG: Duration = Duration::from_secs(30);
/// Longer than any test, so that no timer fires.
const NEVER: Duration = Duration::from_secs(3_600);

struct Fixture {
    _folder: tempfile::TempDir,
    path: std::path::PathBuf,
    disk: Arc<Mutex<Disk>>,
    states: mpsc::Receiver<State>,
    writer: Writer,
}

impl Fixture {
    fn new(limits: Limits) -> Self {
        let (folder, path) = folder();
        let mut journal = Journal::create(&path).unwrap();
        let disk = on_faulty_disk(&mut journal, &path);
        let (told, states) = mpsc::channel();
        let tell = move |state| told.send(state).unwrap();
        let writer = Writer::with(limits, Source::Open(journal), tell).unwrap();
        Self { _folder: folder, path, disk, states, writer }
    }

    fn patient() -> Self {
        Self::new(Limits { unsaved: MAX_UNSAVED, sync_after: NEVER })
    }

    fn fail(&self, faults: impl IntoIterator<Item = Fault>) {
        self.disk.lock().faults.extend(faults);
    }

    fn state(&self) -> State {
        self.states.recv_timeout(LONG).unwrap()
    }

    fn sync(&self) -> Saved {
        self.writer.sync().blocking_recv().unwrap()
    }

    /// Waits until the file holds so many records, synced or not.
    fn reaches(&self, count: u64) -> bool {
        let deadline = Instant::now() + LONG;
        loop {
            let read = super::super::read(&self.path, |_| Ok(ControlFlow::Continue(())));
            if read.is_ok_and(|recovery| recovery.records == count) {
                return true;
            }
            if Instant::now() > deadline {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn close(writer: Writer) -> Saved {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(writer.close())
}

#[test]
fn waiting_records_are_written_at_once_and_in_order() {
    let fixture = Fixture::patient();
    fixture.writer.append("0").unwrap();
    assert!(fixture.reaches(1));
    // The disk is busy until we let go.
    let busy = fixture.disk.lock();
    let (writes, syncs) = (busy.writes, busy.syncs);
    fixture.writer.append("1").unwrap();
    let mut waiting = vec![fixture.writer.sync()];
    for number in 2..=500 {
        fixture.writer.append(number.to_string()).unwrap();
        waiting.push(fixture.writer.sync());
    }
    drop(busy);
    for answer in waiting {
        assert_eq!(answer.blocking_recv().unwrap(), Ok(()));
    }
    let disk = fixture.disk.lock();
    // What the thread had taken before it met the busy disk, and all the others.
    assert!((1..=2).contains(&(disk.writes - writes)), "{} writes", disk.writes - writes);
    assert!((1..=2).contains(&(disk.syncs - syncs)), "{} syncs", disk.syncs - syncs);
    drop(disk);
    assert_eq!(close(fixture.writer), Ok(()));
    let expected: Vec<String> = (0..=500).map(|number: u32| number.to_string()).collect();
    assert_eq!(records(&fixture.path), expected);
    assert!(fixture.states.try_recv().is_err(), "nothing went wrong");
}

#[test]
fn records_without_a_waiting_caller_are_written_at_once_and_synced_later() {
    let fixture = Fixture::patient();
    fixture.writer.append("1").unwrap();
    assert!(fixture.reaches(1));
    assert_eq!(fixture.disk.lock().syncs, 0);
    // Enough to be worth it.
    fixture.writer.append(vec![b'1'; SYNC_BYTES]).unwrap();
    assert_eq!(fixture.sync(), Ok(()));
    assert!(fixture.disk.lock().syncs >= 1);

    let fixture = Fixture::new(Limits { unsaved: 100, sync_after: Duration::from_millis(1) });
    fixture.writer.append("1").unwrap();
    let deadline = Instant::now() + LONG;
    while fixture.disk.lock().syncs == 0 {
        assert!(Instant::now() < deadline, "it is never synced");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_full_disk_is_reported_once_and_loses_no_record() {
    let fixture = Fixture::patient();
    // More of them than there will be tries, and some leave bytes behind.
    fixture.fail([Fault::Write(3), Fault::WriteAndCut(12, 1)].repeat(50));
    fixture.writer.append("1").unwrap();
    let State::Failing(reason) = fixture.state() else { panic!("a full disk is a failure") };
    assert!(!reason.is_empty());
    for number in 2..=5 {
        fixture.writer.append(number.to_string()).unwrap();
        fixture.sync().expect_err("whoever waits is not left waiting");
    }
    assert!(fixture.states.try_recv().is_err(), "it is told once");
    {
        let mut disk = fixture.disk.lock();
        disk.faults.clear();
        disk.cuts_failing = 0;
    }
    assert_eq!(fixture.sync(), Ok(()));
    assert_eq!(fixture.state(), State::Well);
    assert_eq!(records_when_closed(fixture), ["1", "2", "3", "4", "5"]);
}

#[test]
fn a_failed_write_is_retried_without_a_request() {
    let fixture = Fixture::new(Limits { unsaved: 100, sync_after: Duration::from_millis(1) });
    fixture.fail([Fault::Write(3), Fault::Sync, Fault::WriteAndCut(2, 2), Fault::Sync]);
    fixture.writer.append("1").unwrap();
    assert!(matches!(fixture.state(), State::Failing(_)));
    assert_eq!(fixture.state(), State::Well);
    assert_eq!(records_when_closed(fixture), ["1"]);
}

#[test]
fn a_failed_sync_is_answered_and_its_records_are_written_again() {
    let fixture = Fixture::patient();
    fixture.writer.append("1").unwrap();
    assert!(fixture.reaches(1));
    fixture.fail([Fault::Sync]);
    assert_eq!(fixture.sync(), Err("the disk does not answer".to_owned()));
    assert_eq!(fixture.state(), State::Failing("the disk does not answer".to_owned()));
    assert!(fixture.reaches(0), "what may not be on the disk was taken out");
    fixture.writer.append("2").unwrap();
    assert_eq!(fixture.state(), State::Well);
    assert_eq!(records_when_closed(fixture), ["1", "2"]);
}

#[test]
fn a_full_queue_refuses_records_until_all_are_saved() {
    let fixture = Fixture::new(Limits { unsaved: 10, sync_after: NEVER });
    // More of them than there will be tries.
    fixture.fail([Fault::Write(0); 100]);
    fixture.writer.append("123456").unwrap();
    assert!(matches!(fixture.state(), State::Failing(_)));
    fixture.writer.append("7890").unwrap();
    assert_eq!(fixture.writer.append("\"too much\""), Err(FULL));
    assert_eq!(fixture.state(), State::Full);
    fixture.sync().unwrap_err();
    assert_eq!(fixture.writer.append("1"), Err(FULL), "it would stand behind a hole");
    fixture.disk.lock().faults.clear();
    assert_eq!(fixture.sync(), Ok(()));
    assert_eq!(fixture.state(), State::Well);
    fixture.writer.append("1").unwrap();
    assert_eq!(records_when_closed(fixture), ["123456", "7890", "1"]);
}

#[test]
fn an_invalid_record_is_not_queued() {
    let fixture = Fixture::patient();
    assert_eq!(fixture.writer.append("{\n}"), Err("a record has a line break in it"));
    assert_eq!(fixture.writer.append(""), Err("an empty text is no record"));
    fixture.writer.append("1").unwrap();
    assert_eq!(records_when_closed(fixture), ["1"]);
}

#[test]
fn closing_saves_records_frees_the_lock_and_reports_unsaved_ones() {
    let fixture = Fixture::patient();
    fixture.writer.append("1").unwrap();
    assert_eq!(close(fixture.writer), Ok(()));
    let opened = Journal::open(&fixture.path, |_| Ok(())).unwrap();
    assert!(opened.journal.is_ok());
    drop(opened);
    assert_eq!(records(&fixture.path), ["1"]);

    let fixture = Fixture::patient();
    fixture.fail([Fault::Write(0), Fault::Write(0), Fault::Write(0)]);
    fixture.writer.append("1").unwrap();
    close(fixture.writer).unwrap_err();
    let opened = Journal::open(&fixture.path, |_| Ok(())).unwrap();
    assert!(opened.journal.is_ok());
}

#[test]
fn dropping_the_writer_saves_records_and_ends_the_thread() {
    let fixture = Fixture::patient();
    fixture.writer.append("1").unwrap();
    let waiting = fixture.writer.sync();
    drop(fixture.writer);
    assert_eq!(waiting.blocking_recv().unwrap(), Ok(()));
    // The thread owned the other end.
    assert_eq!(fixture.states.recv_timeout(LONG), Err(mpsc::RecvTimeoutError::Disconnected));
    assert_eq!(records(&fixture.path), ["1"]);
}

#[test]
fn no_caller_waits_for_a_dead_thread() {
    let (_folder, path) = folder();
    let mut journal = Journal::create(&path).unwrap();
    let disk = on_faulty_disk(&mut journal, &path);
    disk.lock().faults = vec![Fault::Write(0)];
    let writer = Writer::spawn(journal, |_| panic!("whoever is told is broken")).unwrap();
    writer.append("1").unwrap();
    // The thread may end before it is asked or after.
    assert!(writer.sync().blocking_recv().is_err());
    let deadline = Instant::now() + LONG;
    while writer.append("2") != Err(CLOSED) {
        assert!(Instant::now() < deadline, "nobody takes this");
    }
    close(writer).unwrap_err();
}

fn records_when_closed(fixture: Fixture) -> Vec<String> {
    assert_eq!(close(fixture.writer), Ok(()));
    records(&fixture.path)
}

fn faults() -> impl Strategy<Value = Vec<Fault>> {
    let fault = prop_oneof![
        (0..60_usize).prop_map(Fault::Write),
        (0..60_usize, 0..3_usize).prop_map(|(room, cuts)| Fault::WriteAndCut(room, cuts)),
        Just(Fault::Sync),
    ];
    proptest::collection::vec(fault, 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Each round: the disk gets its faults, some records come, perhaps somebody waits. In the end
    /// the disk is mended.
    #[test]
    fn each_accepted_record_is_written_once(
        rounds in proptest::collection::vec((faults(), 0..5_usize, any::<bool>()), 1..12),
    ) {
        let fixture = Fixture::new(Limits { unsaved: MAX_UNSAVED, sync_after: Duration::from_millis(1) });
        let mut made = Vec::new();
        for (faults, count, sync) in rounds {
            fixture.fail(faults);
            for _ in 0..count {
                made.push(format!("{{\"n\":{}}}", made.len()));
                fixture.writer.append(made[made.len() - 1].clone()).unwrap();
            }
            if sync && fixture.sync().is_ok() {
                let mut found = Vec::new();
                super::super::read(&fixture.path, |record| {
                    found.push(String::from_utf8(record.json.to_vec()).unwrap());
                    Ok(ControlFlow::Continue(()))
                }).unwrap();
                prop_assert_eq!(&found, &made);
            }
        }
        fixture.disk.lock().faults.clear();
        let told: Vec<State> = fixture.states.try_iter().collect();
        for pair in told.windows(2) {
            prop_assert_ne!(&pair[0], &pair[1], "each state is told once");
        }
        // What cannot be cut can still fail the last try: that is answered, and kept.
        let deadline = Instant::now() + LONG;
        while fixture.sync().is_err() {
            prop_assert!(Instant::now() < deadline);
        }
        prop_assert_eq!(records_when_closed(fixture), made);
    }
}
