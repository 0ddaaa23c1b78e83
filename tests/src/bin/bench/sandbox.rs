//! What a sandbox costs a command: `true`, started bare and in each way of building a box that works
//! here, in a workspace with a repository and some folders; and the look at it alone.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use cairn::exec::{
    self, Exit, Spec,
    sandbox::{Boxed, Order, Sandbox, Settings, Tier, Tiers},
};
use cairn_core::policy::sandbox::Needs;
use cairn_tests::lsp_client::binary;
use tokio_util::sync::CancellationToken;

use crate::table::{Aim, Table, Unit};

const COMMANDS: usize = 60;
/// Folders with files in them, as a project of some size has near its top.
const FOLDERS: usize = 200;
const FILES: usize = 10;

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
        for (name, tier) in
            [("bubblewrap", Tier::Bubblewrap), ("namespaces of its own", Tier::Namespaces)]
        {
            let sandbox = Sandbox::new(Some(binary()), Tiers::Only(tier), Vec::new());
            let began = Instant::now();
            if let Err(reason) = sandbox.tier().await {
                eprintln!("no sandbox by {name}: {reason}");
                continue;
            }
            let probed = began.elapsed();
            let (mut looks, mut all) = (Vec::new(), Vec::new());
            for _ in 0..COMMANDS {
                let began = Instant::now();
                let boxed = prepare(&sandbox, &root, false).await;
                looks.push(began.elapsed());
                run(&root, Some(boxed)).await;
                all.push(began.elapsed());
            }
            let mut readers = Vec::new();
            for _ in 0..COMMANDS {
                let began = Instant::now();
                let boxed = prepare(&sandbox, &root, true).await;
                run(&root, Some(boxed)).await;
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

async fn prepare(sandbox: &Sandbox, root: &Path, looks: bool) -> Arc<Boxed> {
    let order = Order {
        command: "true",
        cwd: root,
        folders: &[root.to_owned()],
        needs: Needs::NONE,
        looks,
        settings: &Settings::default(),
    };
    sandbox.prepare(order).await.expect("a box")
}

async fn run(root: &Path, sandbox: Option<Arc<Boxed>>) -> Duration {
    let spec = Spec {
        command: "true".to_owned(),
        cwd: PathBuf::from(root),
        timeout: Duration::from_secs(30),
        input: String::new(),
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
