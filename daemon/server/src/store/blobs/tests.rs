use std::{
    collections::BTreeSet,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
};

use tempfile::TempDir;

use super::*;

fn fixture() -> (TempDir, Blobs) {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::new(folder.path().join("blobs"));
    (folder, blobs)
}

fn names(blobs: &Blobs) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for folder in entries(&blobs.folder).unwrap() {
        for entry in entries(&folder.unwrap().path()).unwrap() {
            let path = entry.unwrap().path();
            names.insert(path.strip_prefix(&blobs.folder).unwrap().to_str().unwrap().to_owned());
        }
    }
    names
}

fn set_age(path: &Path, age: Duration) {
    File::open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
}

#[test]
fn a_text_is_found_by_its_hash() {
    let (_folder, blobs) = fixture();
    let missing = Sha256Hex::of(b"never put");
    assert_eq!(blobs.get(&missing).unwrap(), None);
    assert!(!blobs.folder.exists(), "nothing is made for a question");
    for text in ["", "abc", "é\r\n\0", &"long ".repeat(100_000)] {
        let hash = blobs.put(&Text::new(text)).unwrap();
        assert_eq!(blobs.get(&hash).unwrap().unwrap(), text.as_bytes());
    }
    assert_eq!(blobs.get(&missing).unwrap(), None);
    // The example of the standard.
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(Sha256Hex::of(b"abc").as_str(), abc);
    assert!(names(&blobs).contains(&format!("ba/{}", &abc[2..])));
    assert!(names(&blobs).iter().all(|name| !name.contains(TEMPORARY)));
}

#[test]
fn a_stored_text_is_not_written_again_and_its_age_is_reset() {
    let (_folder, blobs) = fixture();
    let hash = blobs.put(&Text::new("text")).unwrap();
    let (_, path) = blobs.place(&hash);
    let before = path.metadata().unwrap().ino();
    set_age(&path, Duration::from_secs(1_000));
    assert_eq!(blobs.put(&Text::new("text")).unwrap(), hash);
    assert_eq!(path.metadata().unwrap().ino(), before);
    assert!(path.metadata().unwrap().modified().unwrap().elapsed().unwrap().as_secs() < 900);

    fs::write(&path, "tex").unwrap();
    blobs.put(&Text::new("text")).unwrap();
    assert_eq!(blobs.get(&hash).unwrap().unwrap(), b"text");
}

#[test]
fn a_text_that_does_not_match_its_hash_is_never_returned() {
    let (_folder, blobs) = fixture();
    let hash = blobs.put(&Text::new("text")).unwrap();
    let (_, path) = blobs.place(&hash);
    for harm in ["tixt", "", "text and more"] {
        fs::write(&path, harm).unwrap();
        assert_eq!(blobs.get(&hash).unwrap(), None);
        let aside = PathBuf::from(format!("{}{BAD}", path.display()));
        assert_eq!(fs::read_to_string(&aside).unwrap(), harm);
        assert!(!path.exists());
        blobs.put(&Text::new("text")).unwrap();
        assert_eq!(blobs.get(&hash).unwrap().unwrap(), b"text");
    }
}

#[test]
fn files_are_private_and_links_are_not_followed() {
    let (folder, blobs) = fixture();
    let hash = blobs.put(&Text::new("text")).unwrap();
    let (fan, path) = blobs.place(&hash);
    for (path, expected) in [(&blobs.folder, 0o700), (&fan, 0o700), (&path, 0o600)] {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, expected);
    }
    let outside = folder.path().join("outside");
    fs::write(&outside, "text").unwrap();
    fs::remove_file(&path).unwrap();
    symlink(&outside, &path).unwrap();
    blobs.get(&hash).unwrap_err();
    blobs.put(&Text::new("text")).unwrap();
    assert!(path.symlink_metadata().unwrap().is_file());
    assert_eq!(blobs.get(&hash).unwrap().unwrap(), b"text");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "text");
}

#[test]
fn a_name_that_is_not_a_hash_is_refused() {
    let good = "0123456789abcdef".repeat(4);
    assert_eq!(Sha256Hex::try_from(good.clone()).unwrap().as_str(), good);
    for bad in [
        String::new(),
        good[1..].to_owned(),
        format!("{good}0"),
        good.to_uppercase(),
        format!("../{}", &good[3..]),
        format!("ab/{}", &good[3..]),
        format!("é{}", &good[2..]),
        format!("+{}", &good[1..]),
        format!("\0{}", &good[1..]),
    ] {
        assert!(Sha256Hex::try_from(bad.clone()).is_err(), "{bad:?}");
        let json = serde_json::to_string(&bad).unwrap();
        serde_json::from_str::<Sha256Hex>(&json).unwrap_err();
    }
    let hash = Sha256Hex::of(b"text");
    let json = serde_json::to_string(&hash).unwrap();
    assert_eq!(serde_json::from_str::<Sha256Hex>(&json).unwrap(), hash);
}

#[test]
fn only_old_unused_texts_are_removed() {
    const HOUR: Duration = Duration::from_secs(3_600);
    let (_folder, blobs) = fixture();
    blobs.retain(HOUR, |_| false).unwrap();

    let [old, wanted, young, again, future] = ["old", "wanted", "young", "again", "future"]
        .map(|text| blobs.put(&Text::new(text)).unwrap());
    for hash in [&old, &wanted, &again] {
        set_age(&blobs.place(hash).1, 2 * HOUR);
    }
    let ahead = SystemTime::now() + HOUR;
    File::open(blobs.place(&future).1).unwrap().set_modified(ahead).unwrap();
    blobs.put(&Text::new("again")).unwrap();
    let (fan, _) = blobs.place(&old);
    for (name, age) in [(".new-old", 2 * HOUR), (".new-young", HOUR / 2), ("stranger", 2 * HOUR)] {
        fs::write(fan.join(name), "half").unwrap();
        set_age(&fan.join(name), age);
    }
    fs::write(blobs.folder.join("stranger"), "not ours").unwrap();

    let mut asked = BTreeSet::new();
    let is_wanted = |hash: &Sha256Hex| {
        asked.insert(hash.clone());
        *hash == wanted
    };
    blobs.retain(HOUR, is_wanted).unwrap();
    assert_eq!(asked.len(), 5);
    assert_eq!(blobs.get(&old).unwrap(), None);
    for (hash, text) in
        [(&wanted, "wanted"), (&young, "young"), (&again, "again"), (&future, "future")]
    {
        assert_eq!(blobs.get(hash).unwrap().unwrap(), text.as_bytes());
    }
    assert!(!fan.join(".new-old").exists());
    assert!(fan.join(".new-young").exists() && fan.join("stranger").exists());
    assert!(blobs.folder.join("stranger").exists());

    blobs.retain(Duration::ZERO, |_| false).unwrap();
    for hash in [&wanted, &young, &again] {
        assert_eq!(blobs.get(hash).unwrap(), None);
    }
    assert!(!fan.join(".new-young").exists());
}

#[test]
fn a_text_that_cannot_be_saved_leaves_nothing_behind() {
    let (_folder, blobs) = fixture();
    let long = Text::new(&"x".repeat(MAX_TEXT + 1));
    assert_eq!(blobs.put(&long).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(!blobs.folder.exists());
    // A folder is in its place.
    let hash = Sha256Hex::of(b"text");
    fs::create_dir_all(blobs.place(&hash).1).unwrap();
    blobs.put(&Text::new("text")).unwrap_err();
    assert_eq!(names(&blobs).len(), 1);
}
