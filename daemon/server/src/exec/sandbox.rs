//! The box every command of the agent runs in (`policy::sandbox` says what it looks like): which way
//! of building one works here, and what it takes to start a command in it.
//!
//! Bubblewrap builds it where it is installed, else our own launcher (`outer`); inside, `init` closes
//! it further. Where none works there is no box, and who asks is told why: a command never runs
//! outside because its box could not be built.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use cairn_core::policy::sandbox::{Found, Needs, Own};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::{Exit, Spec};

#[cfg(target_os = "linux")]
mod confine;
mod git;
pub(super) mod ground;
mod hold;
#[cfg(target_os = "linux")]
mod init;
#[cfg(target_os = "linux")]
mod linux;
mod look;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "linux")]
mod outer;
pub(super) mod report;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;

use ground::Ground;
use hold::Held;
use look::Scene;

/// Hidden from people: how this program is started inside a box, or as the builder of one.
pub const SUBCOMMAND: &str = "sandbox-run";

/// A box stands within milliseconds; a machine may be busy.
const PROBE_LIMIT: Duration = Duration::from_secs(10);

/// How boxes are built here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    Bubblewrap,
    /// Our own launcher.
    Namespaces,
    /// That of macOS.
    Seatbelt,
}

/// Which of them may be used; for tests, and for whoever looks for a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tiers {
    #[default]
    Any,
    Only(Tier),
    None,
}

impl Tiers {
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "any" => Some(Tiers::Any),
            "bubblewrap" => Some(Tiers::Only(Tier::Bubblewrap)),
            "namespaces" => Some(Tiers::Only(Tier::Namespaces)),
            "none" => Some(Tiers::None),
            _ => None,
        }
    }

    fn has(self, tier: Tier) -> bool {
        match self {
            Tiers::Any => true,
            Tiers::Only(only) => only == tier,
            Tiers::None => false,
        }
    }
}

/// What the user says of boxes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub on: bool,
    /// Folders that commands may write besides the workspace's.
    pub writable: Vec<PathBuf>,
    /// Every command has the network.
    pub network: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { on: true, writable: Vec::new(), network: false }
    }
}

/// A sandbox and what the user says of it.
#[derive(Debug, Clone)]
pub struct Walls {
    pub sandbox: Arc<Sandbox>,
    pub settings: Settings,
}

impl Walls {
    /// How the agent's commands are boxed; or why they are not, and so are asked for, every one.
    pub async fn stand(&self) -> Result<Tier, String> {
        if !self.settings.on {
            return Err(OFF.to_owned());
        }
        self.sandbox.tier().await
    }
}

/// Why there is no box although one could be built.
pub const OFF: &str = "it is turned off (cairn.sandbox.mode)";

/// One for a daemon.
#[derive(Debug)]
pub struct Sandbox {
    /// This program. `None`: unknown, and there are no boxes.
    program: Option<PathBuf>,
    tiers: Tiers,
    /// Cairn's own folders, which hold other projects' sessions.
    hidden: Vec<PathBuf>,
    builder: OnceCell<Result<Builder, String>>,
    ground: Mutex<Option<Arc<Ground>>>,
}

/// What a box is made of.
struct Shape<'a> {
    found: &'a Found,
    own: &'a Own,
    network: bool,
    cwd: &'a Path,
}

#[derive(Debug, Clone)]
struct Builder {
    tier: Tier,
    /// What is started, with these words first.
    program: PathBuf,
    words: Vec<OsString>,
}

/// A command for a box.
pub struct Order<'a> {
    pub command: &'a str,
    pub cwd: &'a Path,
    /// Of the workspace.
    pub folders: &'a [PathBuf],
    pub needs: Needs,
    pub settings: &'a Settings,
}

/// A box as far as it can be prepared. While it lives, the names it protects are held.
#[derive(Debug)]
pub struct Boxed {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    /// What the temporary folder is called in it.
    pub(super) temporary: PathBuf,
    /// Whether a process of ours in it tells how the command ended; else it is its own leader.
    pub(super) reports: bool,
    held: Mutex<Held>,
    _ground: Arc<Ground>,
}

impl Boxed {
    /// The command is over.
    pub(super) fn let_go(&self) {
        drop(std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner)));
    }
}

impl Sandbox {
    pub fn new(program: Option<PathBuf>, tiers: Tiers, hidden: Vec<PathBuf>) -> Self {
        Self { program, tiers, hidden, builder: OnceCell::new(), ground: Mutex::default() }
    }

    /// How boxes are built here, or why they cannot be. Found out once, by building one.
    pub async fn tier(&self) -> Result<Tier, String> {
        match self.builder().await {
            Ok(builder) => Ok(builder.tier),
            Err(reason) => Err(reason.clone()),
        }
    }

    /// Looks what exists, so it takes a moment.
    pub async fn prepare(&self, order: Order<'_>) -> io::Result<Arc<Boxed>> {
        let builder = self.builder().await.clone().map_err(io::Error::other)?;
        let ground = self.ground()?;
        let (command, cwd) = (OsString::from(order.command), order.cwd.to_owned());
        let (folders, hidden) = (order.folders.to_vec(), self.hidden.clone());
        let (settings, mut needs) = (order.settings.clone(), order.needs);
        needs.network |= settings.network;
        let own = self.own(&ground)?;
        let preparing = tokio::task::spawn_blocking(move || {
            let home = std::env::home_dir();
            let (found, held) = look::look(&Scene {
                folders: &folders,
                writable: &settings.writable,
                home: home.as_deref(),
                hidden: &hidden,
                needs,
            })?;
            let shape = Shape { found: &found, own: &own, network: needs.network, cwd: &cwd };
            Ok(Arc::new(system::boxed(&builder, &shape, command, held, ground)))
        });
        preparing.await.map_err(io::Error::other)?
    }

    /// Laid once, and again if somebody cleaned it up.
    fn ground(&self) -> io::Result<Arc<Ground>> {
        let mut laid = self.ground.lock().unwrap_or_else(PoisonError::into_inner);
        match laid.as_ref().filter(|ground| ground.is_there()) {
            Some(ground) => Ok(Arc::clone(ground)),
            None => Ok(Arc::clone(laid.insert(Arc::new(Ground::lay()?)))),
        }
    }

    fn own(&self, ground: &Ground) -> io::Result<Own> {
        let program = self.program.clone();
        Ok(Own {
            temporary: ground.temporary(),
            nothing: ground.nothing(),
            program: program.ok_or_else(|| io::Error::other("Cairn's own program is unknown"))?,
            superuser: rustix::process::geteuid().is_root(),
        })
    }

    async fn builder(&self) -> &Result<Builder, String> {
        self.builder.get_or_init(|| self.find_builder()).await
    }

    async fn find_builder(&self) -> Result<Builder, String> {
        let mut reasons = Vec::new();
        for &tier in system::TIERS {
            if !self.tiers.has(tier) {
                reasons.push(format!("{} was not to be tried", name(tier)));
                continue;
            }
            match self.probe(tier).await {
                Ok(builder) => return Ok(builder),
                Err(reason) => {
                    tracing::info!("no box by {}: {reason}", name(tier));
                    reasons.push(format!("{}: {reason}", name(tier)));
                }
            }
        }
        Err(reasons.join("; "))
    }

    /// Builds a box that differs from a real one only in what it protects, and runs `true` in it.
    async fn probe(&self, tier: Tier) -> Result<Builder, String> {
        let program = self.program.as_deref().ok_or("Cairn's own program is unknown")?;
        let builder = system::builder(tier, program)?;
        let run = async {
            let ground = self.ground()?;
            let own = self.own(&ground)?;
            let (found, root) = (Found::default(), Path::new("/"));
            let shape = Shape { found: &found, own: &own, network: false, cwd: root };
            let boxed = system::boxed(&builder, &shape, "true".into(), Held::default(), ground);
            let spec = Spec {
                command: "true".to_owned(),
                cwd: root.to_owned(),
                timeout: PROBE_LIMIT,
                input: String::new(),
                env: Vec::new(),
                sandbox: Some(Arc::new(boxed)),
            };
            super::run(spec, CancellationToken::new()).await
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

fn name(tier: Tier) -> &'static str {
    match tier {
        Tier::Bubblewrap => "bubblewrap",
        Tier::Namespaces => "namespaces of Cairn's own",
        Tier::Seatbelt => "sandbox-exec",
    }
}

/// This program as a part of a box: before anything else of it has begun. What goes wrong is said on
/// stderr, where the daemon reads it.
pub fn run_as_part(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    system::part(words.into_iter()).unwrap_or_else(|error| {
        let _ = io::Write::write_all(&mut io::stderr(), format!("{error:#}\n").as_bytes());
        ExitCode::FAILURE
    })
}
