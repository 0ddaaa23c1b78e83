//! Tests that swap files and folders for links while they are used: nothing outside is ever read or
//! written.

use std::{
    fs::{self, Permissions},
    io::Read,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::fs::CWD;

use super::*;

/// `ws/sub/file` says `inside`; `outside/file` says `OUTSIDE`.
struct SwapTest {
    dir: tempfile::TempDir,
    root: RootDir,
}

impl SwapTest {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("ws/sub")).unwrap();
        fs::create_dir_all(dir.path().join("outside")).unwrap();
        fs::write(dir.path().join("ws/sub/file"), "inside").unwrap();
        fs::write(dir.path().join("outside/file"), "OUTSIDE").unwrap();
        let root = RootDir::open(&dir.path().join("ws")).unwrap();
        Self { dir, root }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn read(&self, inside: &str) -> io::Result<String> {
        let mut text = String::new();
        self.root.open_read(Path::new(inside))?.read_to_string(&mut text)?;
        Ok(text)
    }

    /// Exchanges two names atomically, thousands of times, and calls `work` meanwhile until it returns
    /// that it has succeeded often enough.
    fn swapping(&self, one: &Path, other: &Path, mut work: impl FnMut() -> bool) {
        use rustix::fs::{RenameFlags, renameat_with};
        const SWAPS: usize = 5_000;
        let (stop, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
        let deadline = Instant::now() + Duration::from_secs(60);
        thread::scope(|scope| {
            let swapping = scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
                    // Waits for another time in each round.
                    for _ in 0..swaps.fetch_add(1, Ordering::Relaxed) * 7 % 4_096 {
                        std::hint::spin_loop();
                    }
                }
            });
            // Stops the thread even if the work panics: the scope waits for it.
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
fn a_folder_that_is_swapped_for_a_link_gives_no_access_outside() {
    let test = SwapTest::new();
    symlink(test.at("outside"), test.at("ws/link")).unwrap();
    let (mut read, mut made) = (0, 0);
    test.swapping(&test.at("ws/sub"), &test.at("ws/link"), || {
        if let Ok(text) = test.read("sub/file") {
            assert_eq!(text, "inside");
            read += 1;
        }
        let new = Path::new("sub/new");
        if test.root.create_new(new, b"new", None).is_ok() {
            made += 1;
        }
        let _ = test.root.create_new(Path::new("sub/deep/er/new"), b"new", None);
        if let Ok(file) = test.root.open_read(new) {
            let _ = test.root.replace(new, &file, b"newer");
        }
        if let Ok(file) = test.root.open_read(new) {
            let to = Path::new("sub/moved");
            let _ = test.root.rename(new, &file, &test.root, to);
        }
        for name in ["sub/new", "sub/moved", "sub/deep/er/new"] {
            if let Ok(file) = test.root.open_read(Path::new(name)) {
                let _ = test.root.remove(Path::new(name), &file);
            }
        }
        let _ = test.root.remove_empty(Path::new("sub/deep/er"));
        read > 200 && made > 50
    });
    test.assert_outside_is_untouched();
}

#[test]
fn a_file_that_is_swapped_for_a_link_is_not_followed() {
    let test = SwapTest::new();
    symlink(test.at("outside/file"), test.at("ws/link")).unwrap();
    let (mut read, mut refused) = (0, 0);
    let inside = Path::new("sub/file");
    test.swapping(&test.at("ws/sub/file"), &test.at("ws/link"), || {
        match test.root.open_read(inside) {
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
    test.assert_outside_is_untouched();
}

#[test]
fn only_plain_names_are_paths() {
    for path in ["..", "/etc", "sub/../file", "sub/..", "/"] {
        assert!(plain_names(Path::new(path)).is_err(), "{path}");
    }
}

#[test]
fn a_change_is_made_to_the_file_that_was_read() {
    let test = SwapTest::new();
    let inside = Path::new("sub/file");
    let read = || test.root.open_read(inside).unwrap();
    let now = || fs::read_to_string(test.at("ws/sub/file")).unwrap();

    let before = read();
    fs::rename(test.at("ws/sub/file"), test.at("ws/sub/old")).unwrap();
    fs::write(test.at("ws/sub/file"), "theirs").unwrap();
    assert_eq!(test.root.replace(inside, &before, b"ours").unwrap(), Done::Changed);
    assert_eq!(test.root.remove(inside, &before).unwrap(), Done::Changed);
    let to = Path::new("sub/to");
    let moved = test.root.rename(inside, &before, &test.root, to);
    assert_eq!(moved.unwrap(), Done::Changed);
    assert_eq!(now(), "theirs");

    fs::set_permissions(test.at("ws/sub/file"), Permissions::from_mode(0o640)).unwrap();
    assert_eq!(test.root.replace(inside, &read(), b"ours").unwrap(), Done::Done);
    assert_eq!(now(), "ours");
    assert_eq!(fs::metadata(test.at("ws/sub/file")).unwrap().mode() & 0o777, 0o640);

    fs::hard_link(test.at("ws/sub/file"), test.at("outside/alias")).unwrap();
    assert_eq!(test.root.replace(inside, &read(), b"both").unwrap(), Done::Changed);
    fs::remove_file(test.at("outside/alias")).unwrap();

    let taken = test.root.rename(inside, &read(), &test.root, Path::new("sub/old"));
    assert_eq!(taken.unwrap(), Done::Changed);
    let made = test.root.create_new(inside, b"x", None).unwrap_err();
    assert_eq!(made.kind(), io::ErrorKind::AlreadyExists);
    let left: Vec<_> = fs::read_dir(test.at("ws/sub")).unwrap().collect();
    assert_eq!(left.len(), 2, "no temporary file stays: {left:?}");
}

#[test]
fn a_reader_never_finds_a_part_of_a_new_file() {
    let test = SwapTest::new();
    let (inside, text) = (Path::new("sub/new"), vec![b'x'; 1 << 20]);
    for _ in 0..20 {
        thread::scope(|scope| {
            let reader = scope.spawn(|| {
                loop {
                    if let Ok(read) = fs::read(test.at("ws/sub/new")) {
                        return read.len();
                    }
                }
            });
            test.root.create_new(inside, &text, None).unwrap();
            assert_eq!(reader.join().unwrap(), text.len());
        });
        test.root.remove(inside, &test.root.open_read(inside).unwrap()).unwrap();
    }
}

#[test]
fn another_folder_at_the_path_is_noticed() {
    let test = SwapTest::new();
    assert!(test.root.is_in_place());
    fs::rename(test.at("ws"), test.at("was")).unwrap();
    assert!(!test.root.is_in_place());
    fs::create_dir(test.at("ws")).unwrap();
    assert!(!test.root.is_in_place());
    fs::remove_dir(test.at("ws")).unwrap();
    symlink(test.at("was"), test.at("ws")).unwrap();
    assert!(test.root.is_in_place(), "it is the same folder again");
}
