//! Files and folders that somebody swaps for links as fast as they can: nothing outside is ever
//! read or written.

use std::{
    fs,
    io::Read,
    os::unix::fs::symlink,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::*;

/// `ws/sub/file` says `inside`; `outside/file` says `OUTSIDE`.
struct Place {
    dir: tempfile::TempDir,
    beneath: RootDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("ws/sub")).unwrap();
        fs::create_dir_all(dir.path().join("outside")).unwrap();
        fs::write(dir.path().join("ws/sub/file"), "inside").unwrap();
        fs::write(dir.path().join("outside/file"), "OUTSIDE").unwrap();
        let beneath = RootDir::open(&dir.path().join("ws")).unwrap();
        Self { dir, beneath }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn read(&self, inside: &str) -> io::Result<String> {
        let mut text = String::new();
        self.beneath.open_read(Path::new(inside))?.read_to_string(&mut text)?;
        Ok(text)
    }

    /// Exchanges two names, each time at once, thousands of times, while `work` goes on until it
    /// says that it succeeded often enough in between.
    fn swapping(&self, one: &Path, other: &Path, mut work: impl FnMut() -> bool) {
        use rustix::fs::{RenameFlags, renameat_with};
        const SWAPS: usize = 5_000;
        let (stop, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
        let deadline = Instant::now() + Duration::from_secs(60);
        thread::scope(|scope| {
            let swapping = scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
                    // At another moment each time.
                    for _ in 0..swaps.fetch_add(1, Ordering::Relaxed) * 7 % 4_096 {
                        std::hint::spin_loop();
                    }
                }
            });
            // Also when the work fails: the scope waits for its threads.
            let _stop = Stop(&stop);
            loop {
                let enough = work() && swaps.load(Ordering::Relaxed) > SWAPS;
                if enough || swapping.is_finished() {
                    break;
                }
                assert!(Instant::now() < deadline, "the race was not run: {swaps:?} swaps");
            }
        });
    }

    fn outside(&self) -> Vec<(String, String)> {
        let mut found: Vec<_> = fs::read_dir(self.at("outside"))
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                let text = fs::read_to_string(entry.path()).unwrap_or_default();
                (entry.file_name().into_string().unwrap(), text)
            })
            .collect();
        found.sort();
        found
    }

    fn assert_outside_is_untouched(&self) {
        assert_eq!(self.outside(), [("file".to_owned(), "OUTSIDE".to_owned())]);
    }
}

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_folder_that_is_swapped_for_a_link_leads_nobody_out() {
    let place = Place::new();
    symlink(place.at("outside"), place.at("ws/link")).unwrap();
    let (mut read, mut made) = (0, 0);
    place.swapping(&place.at("ws/sub"), &place.at("ws/link"), || {
        if let Ok(text) = place.read("sub/file") {
            assert_eq!(text, "inside");
            read += 1;
        }
        let new = Path::new("sub/new");
        if place.beneath.create_new(new, b"new").is_ok() {
            made += 1;
        }
        let _ = place.beneath.create_new(Path::new("sub/deep/er/new"), b"new");
        if let Ok(file) = place.beneath.open_read(new) {
            let _ = place.beneath.replace(new, file.try_clone().unwrap(), b"newer");
        }
        if let Ok(file) = place.beneath.open_read(new) {
            let to = Path::new("sub/moved");
            let _ = place.beneath.rename(new, &file, &place.beneath, to);
        }
        for name in ["sub/new", "sub/moved", "sub/deep/er/new"] {
            if let Ok(file) = place.beneath.open_read(Path::new(name)) {
                let _ = place.beneath.remove(Path::new(name), &file);
            }
        }
        let _ = place.beneath.remove_empty(Path::new("sub/deep/er"));
        read > 200 && made > 50
    });
    place.assert_outside_is_untouched();
}

#[test]
fn a_file_that_is_swapped_for_a_link_is_not_followed() {
    let place = Place::new();
    symlink(place.at("outside/file"), place.at("ws/link")).unwrap();
    let (mut read, mut refused) = (0, 0);
    let inside = Path::new("sub/file");
    place.swapping(&place.at("ws/sub/file"), &place.at("ws/link"), || {
        match place.beneath.open_read(inside) {
            Ok(mut opened) => {
                let mut text = String::new();
                opened.read_to_string(&mut text).unwrap();
                assert_eq!(text, "inside");
                read += 1;
            }
            Err(_) => refused += 1,
        }
        read > 200 && refused > 200
    });
    place.assert_outside_is_untouched();
}

#[test]
fn both_ways_down_refuse_the_same() {
    let place = Place::new();
    symlink(place.at("outside"), place.at("ws/out")).unwrap();
    symlink("sub", place.at("ws/alias")).unwrap();
    symlink("/proc/self/root", place.at("ws/magic")).unwrap();
    fs::create_dir_all(place.at("ws/sub/deep")).unwrap();
    let held = place.beneath.held.as_fd();
    for (path, reachable) in [
        ("sub", true),
        ("sub/deep", true),
        ("out", false),
        ("alias", false),
        ("alias/deep", false),
        ("magic/etc", false),
        ("sub/file", false),
        ("missing", false),
    ] {
        let names = plain_names(Path::new(path)).unwrap();
        assert_eq!(step_by_step(held, &names).is_ok(), reachable, "{path}, step by step");
        #[cfg(target_os = "linux")]
        match open_beneath(held, &names) {
            Err(Errno::NOSYS) => eprintln!("NOT TESTED: this kernel has no openat2"),
            opened => assert_eq!(opened.is_ok(), reachable, "{path}, by openat2"),
        }
    }
    for path in ["..", "/etc", "sub/../file", "sub/..", "/"] {
        assert!(plain_names(Path::new(path)).is_err(), "{path}");
    }
}

#[test]
fn a_change_is_made_to_the_file_that_was_read() {
    let place = Place::new();
    let inside = Path::new("sub/file");
    let read = || place.beneath.open_read(inside).unwrap();
    let now = || fs::read_to_string(place.at("ws/sub/file")).unwrap();

    let before = read();
    fs::rename(place.at("ws/sub/file"), place.at("ws/sub/old")).unwrap();
    fs::write(place.at("ws/sub/file"), "theirs").unwrap();
    assert_eq!(
        place.beneath.replace(inside, before.try_clone().unwrap(), b"ours").unwrap(),
        Done::Changed
    );
    assert_eq!(place.beneath.remove(inside, &before).unwrap(), Done::Changed);
    let to = Path::new("sub/to");
    let moved = place.beneath.rename(inside, &before, &place.beneath, to);
    assert_eq!(moved.unwrap(), Done::Changed);
    assert_eq!(now(), "theirs");

    fs::set_permissions(place.at("ws/sub/file"), Permissions::from_mode(0o640)).unwrap();
    assert_eq!(place.beneath.replace(inside, read(), b"ours").unwrap(), Done::Done);
    assert_eq!(now(), "ours");
    assert_eq!(fs::metadata(place.at("ws/sub/file")).unwrap().mode() & 0o777, 0o640);

    fs::hard_link(place.at("ws/sub/file"), place.at("outside/alias")).unwrap();
    assert_eq!(place.beneath.replace(inside, read(), b"both").unwrap(), Done::Changed);
    fs::remove_file(place.at("outside/alias")).unwrap();

    let taken = place.beneath.rename(inside, &read(), &place.beneath, Path::new("sub/old"));
    assert_eq!(taken.unwrap(), Done::Changed);
    let made = place.beneath.create_new(inside, b"x").unwrap_err();
    assert_eq!(made.kind(), io::ErrorKind::AlreadyExists);
    let left: Vec<_> = fs::read_dir(place.at("ws/sub")).unwrap().collect();
    assert_eq!(left.len(), 2, "no temporary file stays: {left:?}");
}

#[test]
fn a_folder_in_the_place_of_this_one_is_noticed() {
    let place = Place::new();
    assert!(place.beneath.is_in_place());
    fs::rename(place.at("ws"), place.at("was")).unwrap();
    assert!(!place.beneath.is_in_place());
    fs::create_dir(place.at("ws")).unwrap();
    assert!(!place.beneath.is_in_place());
    fs::remove_dir(place.at("ws")).unwrap();
    symlink(place.at("was"), place.at("ws")).unwrap();
    assert!(place.beneath.is_in_place(), "it is the same folder again");
}
