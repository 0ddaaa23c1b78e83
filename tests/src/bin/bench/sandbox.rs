//! Cost of a sandbox for a command: `true`, started bare and in each backend that works
//! here, in a workspace with a repository and some folders; and the look at it alone.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use cairn::exec::{
    self, CommandSpec, Exit,
    sandbox::{
        AllowedBackends, PreparedSandbox, Sandbox, SandboxBackend, SandboxRequest, Watch,
        WatchScope, Watching,
    },
};
use cairn_tests::lsp_client::binary;
use tokio_util::sync::CancellationToken;

use crate::table::{Aim, Table, Unit};

const COMMANDS: usize = 60;
/// Folders with files in them, as a project of some size has near its top.
const FOLDERS: usize = 200;
const FILES: usize = 10;
const SCANS: usize = 30;

pub(crate) fn commands(table: &mut Table) {
    let folder = workspace();
    let root = folder.path().canonicalize().expect("it exists");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut bare = Vec::new();
        for _ in 0..COMMANDS {
            bare.push(run(&root, None).await);
        }
        table.times("command `true`, without a sandbox", Unit::Millis, Aim::None, &bare);
        for (name, backends) in [
            ("bubblewrap", AllowedBackends(&[SandboxBackend::Bubblewrap])),
            ("namespaces of its own", AllowedBackends(&[SandboxBackend::Namespaces])),
        ] {
            let sandbox = Sandbox::new(Some(binary()), backends, Vec::new());
            let began = Instant::now();
            if let Err(reason) = sandbox.backend().await {
                eprintln!("no sandbox by {name}: {reason}");
                continue;
            }
            let probed = began.elapsed();
            let state = tempfile::tempdir().expect("a folder");
            let watch = Arc::new(Watch::new(Some(state.path().to_owned())));
            let (mut looks, mut all) = (Vec::new(), Vec::new());
            for _ in 0..COMMANDS {
                let began = Instant::now();
                let (prepared, watching) = prepare(&sandbox, Some(&watch), &root).await;
                looks.push(began.elapsed());
                run(&root, Some(prepared)).await;
                drop(watching.expect("it is watched").finish());
                all.push(began.elapsed());
            }
            let mut readers = Vec::new();
            for _ in 0..COMMANDS {
                let began = Instant::now();
                let (prepared, _) = prepare(&sandbox, None, &root).await;
                run(&root, Some(prepared)).await;
                readers.push(began.elapsed());
            }
            table.times(&format!("the same in one ({name})"), Unit::Millis, Aim::Below(30.0), &all);
            let what = format!("a command that only reads ({name})");
            table.times(&what, Unit::Millis, Aim::Below(30.0), &readers);
            let what = format!("of the others, the look at {FOLDERS} folders ({name})");
            table.times(&what, Unit::Millis, Aim::None, &looks);
            let what = format!("finding out that it works, once ({name})");
            table.times(&what, Unit::Millis, Aim::None, &[probed]);
        }
    });
}

/// A command that may write is watched from before it to behind it.
async fn prepare(
    sandbox: &Sandbox,
    watch: Option<&Arc<Watch>>,
    root: &Path,
) -> (Arc<PreparedSandbox>, Option<Watching>) {
    let watching = watch.map(|watch| watch.begin(&begin(&[root.to_owned()])).expect("a scan"));
    let request = SandboxRequest {
        command: "true".to_owned(),
        cwd: root.to_owned(),
        folders: vec![root.to_owned()],
        read_only: watch.is_none(),
        control: watching.as_ref().map(Watching::control_files).unwrap_or_default(),
        ..SandboxRequest::default()
    };
    let prepared = sandbox.prepare(request).await.expect("a sandbox");
    if let Some(watching) = &watching {
        watching.mounted(Some(&prepared)).expect("a record");
    }
    (prepared, watching)
}

fn begin(folders: &[PathBuf]) -> WatchScope<'_> {
    WatchScope { folders, home: None, hidden: &[], git_writable: false }
}

/// The scan alone: the first one, and those after it in which nothing or one folder changed.
pub(crate) fn scans(table: &mut Table) {
    for (files, aim) in [(200, 5.0), (80_000, 60.0)] {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 0..files / FILES {
            let inner = folder.path().join(format!("part{}/module{number}", number / 20));
            fs::create_dir_all(&inner).expect("a folder");
            for file in 0..FILES {
                fs::write(inner.join(format!("file{file}.rs")), "").expect("a file");
            }
        }
        let state = tempfile::tempdir().expect("a folder");
        let watch = Arc::new(Watch::new(Some(state.path().to_owned())));
        let folders = [folder.path().to_owned()];
        let mut times = Vec::new();
        for round in 0..SCANS {
            fs::write(folder.path().join(format!("part0/new{round}")), "").expect("a file");
            let began = Instant::now();
            let watching = watch.begin(&begin(&folders)).expect("a scan");
            watching.mounted(None).expect("a record");
            let before = began.elapsed();
            let began = Instant::now();
            drop(watching.finish());
            times.push((before, began.elapsed()));
        }
        let first = times.remove(0).0;
        let (before, after): (Vec<_>, Vec<_>) = times.into_iter().unzip();
        let of = |what: &str| format!("scan of {files} files, {what}");
        table.times(&of("the first"), Unit::Millis, Aim::None, &[first]);
        table.times(&of("before a command"), Unit::Millis, Aim::Below(aim), &before);
        table.times(&of("after it"), Unit::Millis, Aim::Below(aim), &after);
    }
}

async fn run(root: &Path, sandbox: Option<Arc<PreparedSandbox>>) -> Duration {
    let spec = CommandSpec {
        command: "true".to_owned(),
        cwd: PathBuf::from(root),
        timeout: Some(Duration::from_secs(30)),
        input: exec::CommandInput::none(),
        tap: None,
        env: Vec::new(),
        sandbox,
    };
    let began = Instant::now();
    let outcome = exec::run(spec, CancellationToken::new()).await.expect("it starts");
    assert_eq!(outcome.exit, Exit::Code(0));
    began.elapsed()
}

fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(folder.path().join(".git/hooks")).expect("a folder");
    fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
    for number in 0..FOLDERS {
        let inner = folder.path().join(format!("part{}/module{number}", number / 20));
        fs::create_dir_all(&inner).expect("a folder");
        for file in 0..FILES {
            fs::write(inner.join(format!("file{file}.rs")), "").expect("a file");
        }
    }
    folder
}
