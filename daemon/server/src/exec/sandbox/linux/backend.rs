//! Sandbox of one daemon: selection of the backend that works on this system, and preparation of a
//! sandbox for each command.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use cairn_core::policy::sandbox::{self as policy, MountSource, OwnPaths, SandboxPaths};
use parking_lot::Mutex;
use tokio::{sync::OnceCell, task::spawn_blocking};
use tokio_util::sync::CancellationToken;

use super::{
    builder::{Builder, SandboxSpec},
    existing_paths,
    home::{detect::Detector, paths::real_path_below, user_settings},
    loopback::{Loopback, Loopbacks},
    prepared::{Held, PreparedSandbox},
    private_folders::{PlaceKind, PrivateFolders, PrivatePlace},
    scan_scope::{HomeView, ScanScope},
};
use crate::exec::{
    command::{CommandSpec, Exit},
    environment::search_path,
    input::CommandInput,
    run::run,
    sandbox::{
        request::SandboxRequest,
        settings::{AllowedBackends, SandboxBackend},
    },
};

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
    private_folders: Mutex<Option<Arc<PrivateFolders>>>,
    detector: Arc<Detector>,
    loopbacks: Arc<Loopbacks>,
}

impl Sandbox {
    pub fn new(program: Option<PathBuf>, backends: AllowedBackends, hidden: Vec<PathBuf>) -> Self {
        Self {
            program,
            backends,
            hidden,
            builder: OnceCell::new(),
            private_folders: Mutex::default(),
            detector: Arc::default(),
            loopbacks: Arc::default(),
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
    pub async fn prepare(&self, mut request: SandboxRequest) -> io::Result<Arc<PreparedSandbox>> {
        let builder = self.builder().await.clone().map_err(io::Error::other)?;
        let private_folders = self.private_folders()?;
        let mut own = self.own(&private_folders)?;
        let (detector, loopbacks) = (Arc::clone(&self.detector), Arc::clone(&self.loopbacks));
        let (hidden, has_grant) = (self.hidden.clone(), !request.needs.is_none());
        request.needs.network |= request.settings.network;
        let preparing = spawn_blocking(move || {
            let home = std::env::home_dir().filter(|home| home.is_absolute());
            let (home, network) = (home.as_deref(), request.needs.network);
            let SandboxRequest { cwd, folders, .. } = &request;
            let view = home.map_or_else(HomeView::default, |home| {
                let git = program_outside("git", folders);
                HomeView {
                    detected: detector.visible_paths(home),
                    user_settings: user_settings::of_user(home, cwd, git, &private_folders),
                    packages: private_folders.packages(),
                }
            });
            let scope = ScanScope { request: &request, home, view: &view, hidden: &hidden };
            let paths = existing_paths::scan(&scope)?;
            let places = private_places(&paths, &own, home, folders);
            let home = private_folders.home(places, has_grant)?;
            own.home = home.path().to_owned();
            // The real path: the private home folder has no mount at a link to a workspace.
            let cwd = &cwd.canonicalize().unwrap_or_else(|_| cwd.clone());
            let spec = SandboxSpec { paths: &paths, own: &own, network, cwd };
            let open = || Loopback::open(&builder, &own.program);
            // After an error the command gets its own loopback, or its start fails with the same error.
            let shares = builder.shares_loopback && !network;
            let loopback = request.session.filter(|_| shares).and_then(|session| {
                let found = loopbacks.of(session, open);
                found.inspect_err(|error| tracing::warn!("no shared loopback: {error}")).ok()
            });
            let held = Held { folders: private_folders, _home: Some(home), loopback };
            Ok(Arc::new(super::prepare(&builder, &spec, request.command.into(), held)))
        });
        preparing.await.map_err(io::Error::other)?
    }

    /// Returns the private folders, which are created again if they were removed.
    fn private_folders(&self) -> io::Result<Arc<PrivateFolders>> {
        let mut created = self.private_folders.lock();
        match created.as_ref().filter(|folders| folders.exist()) {
            Some(folders) => Ok(Arc::clone(folders)),
            None => Ok(Arc::clone(created.insert(Arc::new(PrivateFolders::create()?)))),
        }
    }

    fn own(&self, private_folders: &PrivateFolders) -> io::Result<OwnPaths> {
        let program = self.program.clone();
        Ok(OwnPaths {
            temporary: private_folders.temporary(),
            // Set once its mount points are known.
            home: PathBuf::new(),
            empty_file: private_folders.empty_file(),
            program: program.ok_or_else(|| io::Error::other("Cairn's own program is unknown"))?,
            superuser: rustix::process::geteuid().is_root(),
        })
    }

    async fn builder(&self) -> &Result<Builder, String> {
        self.builder.get_or_init(|| self.find_builder()).await
    }

    async fn find_builder(&self) -> Result<Builder, String> {
        let mut reasons = Vec::new();
        for &backend in self.backends.0 {
            match self.probe(backend).await {
                Ok(builder) => return Ok(builder),
                Err(reason) => {
                    tracing::info!("no sandbox by {}: {reason}", name(backend));
                    reasons.push(format!("{}: {reason}", name(backend)));
                }
            }
        }
        if reasons.is_empty() {
            reasons.push("the environment allows none".to_owned());
        }
        Err(reasons.join("; "))
    }

    /// Tries a backend, and whether its sandboxes can share a loopback.
    async fn probe(&self, backend: SandboxBackend) -> Result<Builder, String> {
        let program = self.program.clone().ok_or("Cairn's own program is unknown")?;
        let builder = super::builder(backend, &program)?;
        self.try_out(&builder, None).await?;
        let opened = builder.clone();
        let loopback = spawn_blocking(move || Loopback::open(&opened, &program)).await;
        let shares = match loopback.map_err(io::Error::other).flatten() {
            Ok(loopback) => self.try_out(&builder, Some(Arc::new(loopback))).await,
            Err(error) => Err(error.to_string()),
        };
        if let Err(reason) = &shares {
            tracing::info!("each command has its own loopback: {reason}");
        }
        Ok(Builder { shares_loopback: shares.is_ok(), ..builder })
    }

    /// Builds a sandbox that differs from a real one only in its protected paths, and runs `true`
    /// in it.
    async fn try_out(
        &self,
        builder: &Builder,
        loopback: Option<Arc<Loopback>>,
    ) -> Result<(), String> {
        let run = async {
            let private_folders = self.private_folders()?;
            let own = self.own(&private_folders)?;
            let (paths, root) = (SandboxPaths::default(), Path::new("/"));
            let spec = SandboxSpec { paths: &paths, own: &own, network: false, cwd: root };
            let held = Held { folders: private_folders, _home: None, loopback };
            let prepared = super::prepare(builder, &spec, "true".into(), held);
            let spec = CommandSpec {
                command: "true".to_owned(),
                cwd: root.to_owned(),
                timeout: Some(PROBE_LIMIT),
                input: CommandInput::none(),
                tap: None,
                env: Vec::new(),
                sandbox: Some(Arc::new(prepared)),
            };
            run(spec, CancellationToken::new()).await.map_err(io::Error::other)
        };
        match run.await {
            Ok(outcome) if outcome.exit == Exit::Code(0) => Ok(()),
            Ok(outcome) => {
                Err(format!("the sandbox started, but `true` failed in it: {:?}", outcome.exit))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Returns all mount points of the private home folder. If the path of a workspace folder leads
/// through a link in the home folder, the private one gets such a link too.
fn private_places(
    paths: &SandboxPaths,
    own: &OwnPaths,
    home_variable: Option<&Path>,
    folders: &[PathBuf],
) -> Vec<PrivatePlace> {
    let places = policy::places_in_home(paths, own).into_iter().map(|(path, source)| {
        let is_folder = match source {
            MountSource::Writable { from } | MountSource::ReadOnly { from } => from.is_dir(),
            MountSource::Empty => true,
        };
        PrivatePlace { path, kind: if is_folder { PlaceKind::Folder } else { PlaceKind::File } }
    });
    let mut places: Vec<PrivatePlace> = places.collect();
    for folder in folders {
        let Some(home) = paths.home.as_ref().map(|home| home.at.as_path()) else { continue };
        let Some(at) = real_path_below(home, home_variable, folder) else { continue };
        let Ok(real) = folder.canonicalize() else { continue };
        let path = at.strip_prefix(home).map(Path::to_owned).unwrap_or_default();
        let contains = |place: &PrivatePlace| path.starts_with(&place.path);
        if real != at && !places.iter().any(contains) {
            places.push(PrivatePlace { path, kind: PlaceKind::Link(real) });
        }
    }
    places
}

/// Finds a program on the search path outside the workspace folders.
fn program_outside(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let is_outside = |path: &PathBuf| !folders.iter().any(|folder| path.starts_with(folder));
    let programs = search_path().into_iter().map(|folder| folder.join(name));
    let leads_to_file =
        |path: &PathBuf| path.canonicalize().is_ok_and(|real| real.is_file() && is_outside(&real));
    programs.filter(is_outside).find(leads_to_file)
}

fn name(backend: SandboxBackend) -> &'static str {
    match backend {
        SandboxBackend::Bubblewrap => "bubblewrap",
        SandboxBackend::Namespaces => "namespaces of Cairn's own",
    }
}
