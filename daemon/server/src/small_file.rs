//! Reading of small files at paths that a project may have prepared: a link to a device or a pipe in
//! their place would fill the memory or block.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use rustix::fs::OFlags;

/// Reads a regular file of at most `most` bytes. Follows links.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let refused = |what| io::Error::new(io::ErrorKind::InvalidInput, what);
    let is_regular = |data: fs::Metadata| match data.is_file() {
        true => Ok(()),
        false => Err(refused("it is not a regular file".to_owned())),
    };
    // Opening a device may do something, so it is not opened at all.
    is_regular(fs::metadata(path)?)?;
    let file = open(path)?;
    is_regular(file.metadata()?)?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 <= most {
        true => Ok(bytes),
        false => Err(refused(format!("it is larger than {most} bytes"))),
    }
}

/// Reads the UTF-8 text of such a file.
pub(crate) fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let text = String::from_utf8(read(path, most)?);
    text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Opens without waiting for the writer of a pipe.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "text").unwrap();
        fs::write(at("bytes"), b"\xff").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("endless")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), 0o600.into()).unwrap();
        for (name, expected) in [
            ("file", "text"),
            ("link", "text"),
            ("bytes", "it is not UTF-8"),
            ("endless", "it is not a regular file"),
            ("pipe", "it is not a regular file"),
            (".", "it is not a regular file"),
        ] {
            let read = read_text(&at(name), 4).unwrap_or_else(|error| error.to_string());
            assert_eq!(read, expected, "{name}");
        }
        assert_eq!(read(&at("file"), 3).unwrap_err().to_string(), "it is larger than 3 bytes");
        assert_eq!(read(&at("missing"), 3).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
