//! Sandbox backends: selection of one that works on this system, and preparation for a command.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use cairn_core::policy::{
    home::{GRADLE_MODULES, GRADLE_VARIABLE},
    sandbox::{self as policy, Own, SandboxPaths, What},
};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::{
    AllowedBackends, SandboxBackend, SandboxRequest,
    existing_paths::{self, ScanScope},
    home::{self, copies::Copies, detect::Detector},
    private_folders::{Kind, Place, PrivateFolders},
    system,
};
use crate::exec::{self, Exit, Spec};

/// Time limit of the probe. A sandbox takes milliseconds, but the machine may be busy.
const PROBE_LIMIT: Duration = Duration::from_secs(10);

/// Sandbox backend of a daemon and its private folders.
#[derive(Debug)]
pub struct Sandbox {
    /// Path of this program. `None` if unknown; then there are no sandboxes.
    program: Option<PathBuf>,
    backends: AllowedBackends,
    /// Cairn's own folders, which hold sessions of other projects and are hidden.
    hidden: Vec<PathBuf>,
    builder: OnceCell<Result<Builder, String>>,
    private: Mutex<Option<Arc<PrivateFolders>>>,
    detector: Arc<Detector>,
    copies: Arc<Copies>,
}

/// Input of a backend for one sandbox.
pub(super) struct SandboxSpec<'a> {
    pub(super) found: &'a SandboxPaths,
    pub(super) own: &'a Own,
    pub(super) network: bool,
    #[cfg_attr(target_os = "macos", expect(dead_code, reason = "a profile does not say it"))]
    pub(super) cwd: &'a Path,
}

#[derive(Debug, Clone)]
pub(super) struct Builder {
    pub(super) backend: SandboxBackend,
    /// Program to start, followed by `words`.
    pub(super) program: PathBuf,
    pub(super) words: Vec<OsString>,
}

/// Sandbox prepared for one command.
#[derive(Debug)]
pub struct PreparedSandbox {
    pub(in crate::exec) program: PathBuf,
    pub(in crate::exec) arguments: Vec<OsString>,
    /// Path of the temporary folder inside the sandbox.
    pub(super) temporary: PathBuf,
    /// Environment variables for the visible part of the home folder.
    pub(super) variables: Vec<(&'static str, PathBuf)>,
    /// True if a process of Cairn's inside reports the end of the command; else the command is its
    /// own leader.
    pub(in crate::exec) reports: bool,
    /// Paths that the command may write; `read_only` lists exceptions below them.
    pub(super) writable: Vec<PathBuf>,
    pub(super) read_only: Vec<PathBuf>,
    pub(super) _ground: Arc<PrivateFolders>,
}

impl PreparedSandbox {
    /// Variables that redirect caches of tools to the private temporary folder. They affect nothing
    /// but each program's own cache.
    pub(in crate::exec) fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        let mut all = vec![
            ("TMPDIR", self.temporary.clone()),
            ("GOCACHE", self.temporary.join("go-build")),
            ("npm_config_cache", self.temporary.join("npm")),
        ];
        all.extend(self.variables.iter().cloned());
        all
    }

    /// Returns the writable paths and the read-only paths below them.
    pub(super) fn places(&self) -> (&[PathBuf], &[PathBuf]) {
        (&self.writable, &self.read_only)
    }
}

impl SandboxSpec<'_> {
    pub(super) fn variables(&self) -> Vec<(&'static str, PathBuf)> {
        let mut variables = Vec::new();
        let home = self.found.home.as_ref();
        let (_, modules) = GRADLE_MODULES;
        let at = home.map(|home| home.at.join(modules));
        if self.found.placed.iter().any(|placed| Some(&placed.at) == at.as_ref()) {
            let (name, folder) = GRADLE_VARIABLE;
            variables.extend(home.map(|home| (name, home.at.join(folder))));
        }
        // macOS cannot mount a file over the user's own.
        #[cfg(target_os = "macos")]
        {
            let git = self.found.copies.iter().find(|copy| copy.at.ends_with(".gitconfig"));
            variables.extend(git.map(|copy| ("GIT_CONFIG_GLOBAL", copy.from.clone())));
            variables.retain(|(name, _)| *name != GRADLE_VARIABLE.0);
        }
        variables
    }
}

impl Sandbox {
    pub fn new(program: Option<PathBuf>, backends: AllowedBackends, hidden: Vec<PathBuf>) -> Self {
        Self {
            program,
            backends,
            hidden,
            builder: OnceCell::new(),
            private: Mutex::default(),
            detector: Arc::default(),
            copies: Arc::default(),
        }
    }

    /// Returns Cairn's own folders.
    pub fn hidden(&self) -> &[PathBuf] {
        &self.hidden
    }

    /// Returns the backend of this system, or why there is none. Determined once, by building a
    /// sandbox.
    pub async fn backend(&self) -> Result<SandboxBackend, String> {
        match self.builder().await {
            Ok(builder) => Ok(builder.backend),
            Err(reason) => Err(reason.clone()),
        }
    }

    /// Prepares a sandbox for a command. Reads folders, so it takes a moment.
    pub async fn prepare(&self, request: SandboxRequest<'_>) -> io::Result<Arc<PreparedSandbox>> {
        let builder = self.builder().await.clone().map_err(io::Error::other)?;
        let private = self.private()?;
        let (command, cwd) = (OsString::from(request.command), request.cwd.to_owned());
        let (folders, hidden) = (request.folders.to_vec(), self.hidden.clone());
        let (settings, mut needs, looks) = (request.settings.clone(), request.needs, request.looks);
        needs.network |= settings.network;
        let mut own = self.own(&private)?;
        let control = request.control.unwrap_or_default();
        let (detector, copies) = (Arc::clone(&self.detector), Arc::clone(&self.copies));
        let preparing = tokio::task::spawn_blocking(move || {
            let home = std::env::home_dir().filter(|home| home.is_absolute());
            let view = match &home {
                Some(called) => {
                    let git = program("git", &folders);
                    let real = called.canonicalize().unwrap_or_else(|_| called.clone());
                    home::View {
                        shown: detector.shown(called),
                        copies: copies.of(&real, &cwd, git.as_deref(), &private),
                        readable: settings.readable.clone(),
                    }
                }
                None => home::View::default(),
            };
            let found = existing_paths::look(&ScanScope {
                folders: &folders,
                writable: &settings.writable,
                home: home.as_deref(),
                view: &view,
                hidden: &hidden,
                needs,
                control: &control,
                looks,
            })?;
            own.home = private_home(&found, &own, &private, home.as_deref(), &folders)?;
            // Uses the real path: the private home folder contains no mount at a link to a
            // workspace.
            let cwd = cwd.canonicalize().unwrap_or(cwd);
            let spec = SandboxSpec { found: &found, own: &own, network: needs.network, cwd: &cwd };
            Ok(Arc::new(system::prepared(&builder, &spec, command, private)))
        });
        preparing.await.map_err(io::Error::other)?
    }

    /// Returns the private folders, which are created again if they were removed.
    fn private(&self) -> io::Result<Arc<PrivateFolders>> {
        let mut laid = self.private.lock().unwrap_or_else(PoisonError::into_inner);
        match laid.as_ref().filter(|private| private.is_there()) {
            Some(private) => Ok(Arc::clone(private)),
            None => Ok(Arc::clone(laid.insert(Arc::new(PrivateFolders::lay()?)))),
        }
    }

    fn own(&self, private: &PrivateFolders) -> io::Result<Own> {
        let program = self.program.clone();
        Ok(Own {
            temporary: private.temporary(),
            // Set once its mount points are known.
            home: PathBuf::new(),
            nothing: private.nothing(),
            program: program.ok_or_else(|| io::Error::other("Cairn's own program is unknown"))?,
            superuser: rustix::process::geteuid().is_root(),
        })
    }

    async fn builder(&self) -> &Result<Builder, String> {
        self.builder.get_or_init(|| self.find_builder()).await
    }

    async fn find_builder(&self) -> Result<Builder, String> {
        let mut reasons = Vec::new();
        for &backend in system::TIERS {
            if !self.backends.has(backend) {
                reasons.push(format!("{} was not to be tried", name(backend)));
                continue;
            }
            match self.probe(backend).await {
                Ok(builder) => return Ok(builder),
                Err(reason) => {
                    tracing::info!("no box by {}: {reason}", name(backend));
                    reasons.push(format!("{}: {reason}", name(backend)));
                }
            }
        }
        Err(reasons.join("; "))
    }

    /// Builds a sandbox that differs from a real one only in its protected paths, and runs `true`
    /// in it.
    async fn probe(&self, backend: SandboxBackend) -> Result<Builder, String> {
        let program = self.program.as_deref().ok_or("Cairn's own program is unknown")?;
        let builder = system::builder(backend, program)?;
        let run = async {
            let private = self.private()?;
            let own = self.own(&private)?;
            let (found, root) = (SandboxPaths::default(), Path::new("/"));
            let spec = SandboxSpec { found: &found, own: &own, network: false, cwd: root };
            let prepared = system::prepared(&builder, &spec, "true".into(), private);
            let spec = Spec {
                command: "true".to_owned(),
                cwd: root.to_owned(),
                timeout: PROBE_LIMIT,
                input: String::new(),
                env: Vec::new(),
                sandbox: Some(Arc::new(prepared)),
            };
            exec::run(spec, CancellationToken::new()).await
        };
        match run.await {
            Ok(outcome) if outcome.exit == Exit::Code(0) => Ok(builder),
            Ok(outcome) => {
                Err(format!("a box was built, but `true` ended in it: {:?}", outcome.exit))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Returns the private home folder with all mount points, and with the links that lead to workspace
/// folders.
fn private_home(
    found: &SandboxPaths,
    own: &Own,
    private: &PrivateFolders,
    called: Option<&Path>,
    folders: &[PathBuf],
) -> io::Result<PathBuf> {
    let places = policy::places_in_home(found, own).into_iter().map(|(path, what)| {
        let is_folder = match what {
            What::Writable { from } | What::ReadOnly { from } => from.is_dir(),
            What::Empty => true,
        };
        Place { path, kind: if is_folder { Kind::Folder } else { Kind::File } }
    });
    let mut places: Vec<Place> = places.collect();
    for folder in folders {
        let Some(home) = found.home.as_ref().map(|home| home.at.as_path()) else { continue };
        let Some(at) = home::detect::below(home, called, folder) else { continue };
        let Ok(real) = folder.canonicalize() else { continue };
        let path = at.strip_prefix(home).map(Path::to_owned).unwrap_or_default();
        let inside = |place: &Place| path.starts_with(&place.path);
        if real != at && !places.iter().any(inside) {
            places.push(Place { path, kind: Kind::Link(real) });
        }
    }
    private.home(places)
}

/// Finds a program on the search path outside the workspace folders.
fn program(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let outside = |path: &PathBuf| !folders.iter().any(|folder| path.starts_with(folder));
    let programs = exec::search_path().into_iter().map(|folder| folder.join(name));
    let real =
        |path: &PathBuf| path.canonicalize().is_ok_and(|real| real.is_file() && outside(&real));
    programs.filter(outside).find(real)
}

impl AllowedBackends {
    fn has(self, backend: SandboxBackend) -> bool {
        match self {
            AllowedBackends::Any => true,
            AllowedBackends::Only(only) => only == backend,
            AllowedBackends::None => false,
        }
    }
}

fn name(backend: SandboxBackend) -> &'static str {
    match backend {
        SandboxBackend::Bubblewrap => "bubblewrap",
        SandboxBackend::Namespaces => "namespaces of Cairn's own",
        SandboxBackend::Seatbelt => "sandbox-exec",
    }
}
