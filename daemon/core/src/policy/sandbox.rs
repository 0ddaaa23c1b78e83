//! Sandbox of a command: visible and writable paths, access to the network, and the arguments of
//! bubblewrap that build it.
//!
//! Never reads the file system: the server reports which paths exist. A path without a mount is visible
//! and read-only.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Grants that a command needs beyond the default sandbox. The user approves each for this command
/// only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Needs {
    pub network: bool,
    /// `.git` is writable, except for files that make git run programs.
    pub git: bool,
}

impl Needs {
    pub const NONE: Self = Self { network: false, git: false };

    pub fn is_none(self) -> bool {
        self == Self::NONE
    }
}

/// Paths of this machine that a sandbox is built from, all absolute and without links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxPaths {
    /// Writable folders: those of the workspace, and those that the user names.
    pub writable: Vec<PathBuf>,
    /// Read-only places below the writable folders.
    pub read_only: Vec<PathBuf>,
    pub hidden_folders: Vec<PathBuf>,
    pub hidden_files: Vec<PathBuf>,
    /// Visible places below hidden folders.
    pub shown: Vec<PathBuf>,
    /// Read-only files and folders that appear at another place.
    pub placed: Vec<Placed>,
    /// Package caches of Cairn's own in the place of the user's, writable.
    pub caches: Vec<Placed>,
    /// The user's home folder; a private one replaces it.
    pub home: Option<Home>,
    /// Folders that the private temporary folder replaces.
    pub temporary: Vec<PathBuf>,
}

impl SandboxPaths {
    /// Orders the folders of a search path for programs: last come those of the private folders, which
    /// only commands fill. No command can put another program in the place of a known one.
    #[must_use]
    pub fn search_path(&self, folders: Vec<PathBuf>) -> Vec<PathBuf> {
        let home = self.home.iter().map(|home| &home.at);
        let caches = self.caches.iter().map(|cache| &cache.at);
        let replaced: Vec<&PathBuf> = home.chain(&self.temporary).chain(caches).collect();
        let placed = self.placed.iter().map(|placed| &placed.at);
        let visible = self.writable.iter().chain(&self.read_only).chain(&self.shown).chain(placed);
        let visible: Vec<&PathBuf> = visible.filter(|at| !replaced.contains(at)).collect();
        let is_below =
            |folder: &PathBuf, all: &[&PathBuf]| all.iter().any(|at| folder.starts_with(at));
        let (private, others): (Vec<PathBuf>, Vec<PathBuf>) = folders
            .into_iter()
            .partition(|folder| is_below(folder, &replaced) && !is_below(folder, &visible));
        others.into_iter().chain(private).collect()
    }
}

/// File or folder that a command sees at another place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Placed {
    pub from: PathBuf,
    pub at: PathBuf,
}

/// Home folder that is replaced by a private one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    pub at: PathBuf,
    /// False if the home folder is in the workspace: files that a command makes in the private one
    /// would seem to be lost.
    pub writable: bool,
}

/// Paths of Cairn's own files in each sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnPaths {
    /// The private temporary folder.
    pub temporary: PathBuf,
    /// The private home folder.
    pub home: PathBuf,
    /// An empty file, which replaces hidden files.
    pub empty_file: PathBuf,
    /// The program that restricts the sandbox from inside.
    pub program: PathBuf,
    /// True if the user is the superuser. The kernel's limit of processes does not apply then, so
    /// the program sets another one. This takes a capability, which it drops before the command
    /// starts.
    pub superuser: bool,
}

/// Path of that program in the sandbox.
pub const PROGRAM: &str = "/dev/cairn";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    pub at: PathBuf,
    pub source: MountSource,
}

/// Content of a mount, from the weakest to the strictest: of two for one path, the stricter counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum MountSource {
    Writable {
        from: PathBuf,
    },
    ReadOnly {
        from: PathBuf,
    },
    /// An empty folder that cannot be written.
    Empty,
}

/// Mounts over the read-only root, each folder before the places in it.
pub fn mounts(found: &SandboxPaths, own: &OwnPaths) -> Vec<Mount> {
    let mut places = places(found, own);
    // Folders of the private home folder that lead to a mount are mounts themselves: nothing that is
    // mounted can be moved away or replaced by a link, over which the next command's mount would be laid.
    if let Some(home) = &found.home {
        for at in in_home(&places, home) {
            let between = at.ancestors().skip(1).take_while(|above| *above != home.at);
            for above in between.map(Path::to_owned) {
                let Ok(below) = above.strip_prefix(&home.at) else { continue };
                let source = home_folder(home, own.home.join(below));
                places.entry((above.components().count(), above)).or_insert(source);
            }
        }
    }
    places.into_iter().map(|((_, at), source)| Mount { at, source }).collect()
}

/// Mount points in the private home folder, relative to it, with the content of each.
/// The server creates them before a command sees the folder.
pub fn places_in_home(found: &SandboxPaths, own: &OwnPaths) -> Vec<(PathBuf, MountSource)> {
    let Some(home) = &found.home else { return Vec::new() };
    let places = places(found, own);
    let below = |at: &Path| at.strip_prefix(&home.at).map(Path::to_owned).ok();
    in_home(&places, home)
        .into_iter()
        .filter_map(|at| {
            let source = places.get(&(at.components().count(), at.clone()))?;
            Some((below(&at)?, source.clone()))
        })
        .collect()
}

type Places = BTreeMap<(usize, PathBuf), MountSource>;

/// Places whose nearest mount above is the home folder.
fn in_home(places: &Places, home: &Home) -> Vec<PathBuf> {
    let nearest = |at: &Path| {
        let mut above = at.ancestors().skip(1);
        above.find(|above| places.contains_key(&(above.components().count(), above.to_path_buf())))
            == Some(home.at.as_path())
    };
    let all = places.keys().map(|(_, at)| at);
    all.filter(|at| at.starts_with(&home.at) && nearest(at)).cloned().collect()
}

fn home_folder(home: &Home, from: PathBuf) -> MountSource {
    if home.writable { MountSource::Writable { from } } else { MountSource::ReadOnly { from } }
}

fn places(found: &SandboxPaths, own: &OwnPaths) -> Places {
    let mut places = Places::new();
    let mut put = |at: &Path, source: MountSource| {
        // The root and the sandbox's own places must stay visible.
        let kept = ["/dev", "/proc", "/sys"].iter().any(|kept| Path::new(kept) == at);
        let depth = at.components().count();
        if !at.is_absolute() || depth < 2 || kept {
            return;
        }
        let place = places.entry((depth, at.to_owned())).or_insert_with(|| source.clone());
        let stricter =
            std::mem::discriminant(place) == std::mem::discriminant(&source) || *place < source;
        if stricter {
            *place = source;
        }
    };
    for at in &found.temporary {
        put(at, MountSource::Writable { from: own.temporary.clone() });
    }
    for at in &found.writable {
        put(at, MountSource::Writable { from: at.clone() });
    }
    for at in found.read_only.iter().chain(&found.shown) {
        put(at, MountSource::ReadOnly { from: at.clone() });
    }
    // The user opened this folder of secrets as a workspace.
    let meant = |at: &&PathBuf| !found.writable.contains(at);
    for at in found.hidden_files.iter().filter(meant) {
        put(at, MountSource::ReadOnly { from: own.empty_file.clone() });
    }
    for at in found.hidden_folders.iter().filter(meant) {
        put(at, MountSource::Empty);
    }
    for Placed { from, at } in &found.placed {
        put(at, MountSource::ReadOnly { from: from.clone() });
    }
    for Placed { from, at } in &found.caches {
        put(at, MountSource::Writable { from: from.clone() });
    }
    if let Some(home) = &found.home {
        // A rule for the folder applies to its real path.
        let place = (home.at.components().count(), home.at.clone());
        places.insert(place, home_folder(home, own.home.clone()));
    }
    places
}

/// Returns the paths that a command may write.
pub fn writable(mounts: &[Mount]) -> impl Iterator<Item = &Path> {
    mounts.iter().filter_map(|mount| match mount.source {
        MountSource::Writable { .. } => Some(mount.at.as_path()),
        MountSource::ReadOnly { .. } | MountSource::Empty => None,
    })
}

/// Arguments for bubblewrap (or for Cairn's own launcher, which accepts the same) that run a program in new
/// namespaces, with all files of the machine to read.
pub fn isolated(program: impl IntoIterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    let arguments = ["--unshare-all", "--unshare-user", "--die-with-parent", "--as-pid-1"];
    let files = ["--ro-bind", "/", "/", "--chdir", "/", "--"];
    arguments.into_iter().chain(files).map(OsString::from).chain(program)
}

/// Arguments for bubblewrap (or for Cairn's own launcher, which accepts the same) that run `command` in
/// the sandbox. With `network` it has the network of the process that runs bubblewrap.
pub fn arguments(
    mounts: &[Mount],
    network: bool,
    cwd: &Path,
    own: &OwnPaths,
    command: impl IntoIterator<Item = OsString>,
) -> Vec<OsString> {
    let mut all: Vec<OsString> = Vec::new();
    let mut add = |words: &[&dyn AsRef<std::ffi::OsStr>]| {
        all.extend(words.iter().map(|word| word.as_ref().to_owned()));
    };
    add(&[&"--unshare-all", &"--unshare-user"]);
    if network {
        add(&[&"--share-net"]);
    }
    add(&[&"--die-with-parent", &"--as-pid-1", &"--cap-drop", &"ALL"]);
    if own.superuser {
        add(&[&"--cap-add", &"CAP_SYS_ADMIN"]);
    }
    add(&[&"--ro-bind", &"/", &"/", &"--dev", &"/dev", &"--proc", &"/proc"]);
    for Mount { at, source } in mounts {
        match source {
            MountSource::Writable { from } => add(&[&"--bind", from, at]),
            MountSource::ReadOnly { from } => add(&[&"--ro-bind", from, at]),
            MountSource::Empty => add(&[&"--tmpfs", at]),
        }
    }
    add(&[&"--ro-bind", &own.program, &PROGRAM]);
    // After all mounts inside of it.
    for Mount { at, .. } in mounts.iter().filter(|mount| mount.source == MountSource::Empty) {
        add(&[&"--remount-ro", at]);
    }
    add(&[&"--chdir", &cwd, &"--"]);
    all.extend(command);
    all
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_command_cannot_put_a_program_before_a_known_one() {
        let found = SandboxPaths {
            writable: paths(&["/tmp/ws"]),
            shown: paths(&["/home/u/.cargo/bin"]),
            home: Some(Home { at: "/home/u".into(), writable: true }),
            temporary: paths(&["/tmp"]),
            ..SandboxPaths::default()
        };
        let given =
            ["/tmp/bin", "/home/u/.cargo/bin", "/home/u/bin", "/tmp/ws/.venv/bin", "/usr/bin"];
        assert_eq!(
            found.search_path(paths(&given)),
            paths(&[
                "/home/u/.cargo/bin",
                "/tmp/ws/.venv/bin",
                "/usr/bin",
                "/tmp/bin",
                "/home/u/bin"
            ])
        );
    }

    use expect_test::expect;

    use super::*;

    fn paths(paths: &[&str]) -> Vec<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    fn own() -> OwnPaths {
        OwnPaths {
            temporary: "/tmp/private".into(),
            home: "/tmp/home".into(),
            empty_file: "/state/nothing".into(),
            program: "/opt/cairn".into(),
            superuser: false,
        }
    }

    fn lines(found: &SandboxPaths, network: bool) -> String {
        let mounts = mounts(found, &own());
        let words = arguments(&mounts, network, Path::new("/w"), &own(), ["run".into()]);
        let mut text = String::new();
        for word in words {
            let word = word.into_string().unwrap();
            text.push(if word.starts_with("--") { '\n' } else { ' ' });
            text.push_str(&word);
        }
        text.trim().to_owned()
    }

    #[test]
    fn a_folder_is_mounted_before_its_contents() {
        let found = SandboxPaths {
            writable: paths(&["/tmp/a/ws", "/home/me/.config/Code/ws", "/home/me"]),
            read_only: paths(&["/tmp/a/ws/.git", "/tmp/a/ws/sub/.vscode"]),
            hidden_folders: paths(&["/run", "/home/me/.ssh", "/home/me/.config/Code"]),
            hidden_files: paths(&["/home/me/.netrc"]),
            shown: paths(&["/run/systemd/resolve/stub-resolv.conf"]),
            temporary: paths(&["/tmp", "/var/tmp"]),
            ..SandboxPaths::default()
        };
        expect![[r#"
            --unshare-all
            --unshare-user
            --die-with-parent
            --as-pid-1
            --cap-drop ALL
            --ro-bind / /
            --dev /dev
            --proc /proc
            --tmpfs /run
            --bind /tmp/private /tmp
            --bind /home/me /home/me
            --bind /tmp/private /var/tmp
            --ro-bind /state/nothing /home/me/.netrc
            --tmpfs /home/me/.ssh
            --bind /tmp/a/ws /tmp/a/ws
            --tmpfs /home/me/.config/Code
            --ro-bind /run/systemd/resolve/stub-resolv.conf /run/systemd/resolve/stub-resolv.conf
            --ro-bind /tmp/a/ws/.git /tmp/a/ws/.git
            --bind /home/me/.config/Code/ws /home/me/.config/Code/ws
            --ro-bind /tmp/a/ws/sub/.vscode /tmp/a/ws/sub/.vscode
            --ro-bind /opt/cairn /dev/cairn
            --remount-ro /run
            --remount-ro /home/me/.ssh
            --remount-ro /home/me/.config/Code
            --chdir /w
            -- run"#]]
        .assert_eq(&lines(&found, false));
    }

    #[test]
    fn of_two_mounts_at_one_path_the_stricter_is_used() {
        let found = SandboxPaths {
            writable: paths(&["/ws", "/tmp", "/ws/lib", "/", "/dev"]),
            read_only: paths(&["/ws/lib"]),
            temporary: paths(&["/tmp"]),
            // Opened as a workspace.
            hidden_folders: paths(&["/ws"]),
            ..SandboxPaths::default()
        };
        let got = mounts(&found, &own());
        let writable: Vec<_> = writable(&got).collect();
        assert_eq!(writable, [Path::new("/tmp"), Path::new("/ws")]);
        let at =
            |at: &str| got.iter().find(|mount| mount.at == Path::new(at)).unwrap().source.clone();
        // A workspace that is the temporary folder is the real one.
        assert_eq!(at("/tmp"), MountSource::Writable { from: "/tmp".into() });
        assert_eq!(at("/ws/lib"), MountSource::ReadOnly { from: "/ws/lib".into() });
        assert_eq!(got.len(), 3);
    }

    #[test]
    fn folders_on_the_way_to_a_mount_in_the_private_home_are_mounts() {
        let placed = Placed { from: "/state/config".into(), at: "/home/me/.cargo/config".into() };
        let mut found = SandboxPaths {
            writable: paths(&["/home/me", "/home/me/work/ws"]),
            read_only: paths(&["/home/me/work/ws/.git"]),
            shown: paths(&["/home/me/.cargo/bin"]),
            hidden_folders: paths(&["/home/me/.cargo/bin/.git"]),
            placed: vec![placed],
            home: Some(Home { at: "/home/me".into(), writable: true }),
            ..SandboxPaths::default()
        };
        let said = |found: &SandboxPaths| {
            let lines =
                mounts(found, &own()).into_iter().map(|Mount { at, source }| match source {
                    MountSource::Writable { from } => {
                        format!("{} rw {}\n", at.display(), from.display())
                    }
                    MountSource::ReadOnly { from } => {
                        format!("{} ro {}\n", at.display(), from.display())
                    }
                    MountSource::Empty => format!("{} empty\n", at.display()),
                });
            lines.collect::<String>()
        };
        expect![[r#"
            /home/me rw /tmp/home
            /home/me/.cargo rw /tmp/home/.cargo
            /home/me/work rw /tmp/home/work
            /home/me/.cargo/bin ro /home/me/.cargo/bin
            /home/me/.cargo/config ro /state/config
            /home/me/work/ws rw /home/me/work/ws
            /home/me/.cargo/bin/.git empty
            /home/me/work/ws/.git ro /home/me/work/ws/.git
        "#]]
        .assert_eq(&said(&found));
        let inside: Vec<_> = places_in_home(&found, &own()).into_iter().map(|(at, _)| at).collect();
        assert_eq!(inside, paths(&[".cargo/bin", ".cargo/config", "work/ws"]));
        // A home folder in the workspace.
        found.home = Some(Home { at: "/home/me".into(), writable: false });
        assert!(said(&found).starts_with("/home/me ro /tmp/home\n/home/me/.cargo ro "));
    }

    #[test]
    fn the_network_is_shared_only_when_asked() {
        assert!(!lines(&SandboxPaths::default(), false).contains("--share-net"));
        assert!(lines(&SandboxPaths::default(), true).contains("--share-net"));
    }
}
