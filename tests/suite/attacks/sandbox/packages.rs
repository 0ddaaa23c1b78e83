//! Package managers against registries on loopback: with the network they fetch packages, which later commands
//! without it use; without the network they fail at once. Programs that are not installed are skipped aloud.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener as Listener, TcpStream},
    task::JoinHandle,
};

use super::*;
use crate::attacks::{put, ran, skipped};

/// A package manager. In commands, `@registry` stands for the address of the registry.
struct Manager {
    program: &'static str,
    /// Files of a project that uses the package `hello`.
    project: &'static [(&'static str, &'static str)],
    /// Fetches the package, with the network.
    fetch: &'static str,
    /// Uses it, without the network.
    uses: &'static str,
    /// Fetches a package that is nowhere, without the network.
    lacks: &'static str,
}

const MANAGERS: [Manager; 4] = [
    Manager {
        program: "cargo",
        project: &[
            (
                "rs/Cargo.toml",
                "[package]\nname = \"rs\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
            ),
            ("rs/src/main.rs", "fn main() { println!(\"{}\", hello::TEXT); }\n"),
            (
                "rs/.cargo/config.toml",
                "[source.crates-io]\nreplace-with = \"own\"\n[source.own]\nregistry = \"sparse+@registry/index/\"\n",
            ),
        ],
        fetch: "export CARGO_HOME=$HOME/.cargo; cd rs && cargo add hello && cargo fetch",
        uses: "export CARGO_HOME=$HOME/.cargo; cd rs && cargo run -q",
        lacks: "export CARGO_HOME=$HOME/.cargo; cd rs && cargo add absent",
    },
    Manager {
        program: "npm",
        project: &[("js/package.json", "{\"name\": \"js\"}\n")],
        fetch: "cd js && npm install --registry=@registry/npm/ hello",
        uses: "cd js && node -p 'require(\"hello\").TEXT'",
        lacks: "cd js && npm install absent 2>&1 | tail -5",
    },
    Manager {
        program: "pip",
        project: &[],
        // Not by a shim of pyenv, which wants to write its own folder.
        fetch: "$(python3 -c 'import sys; print(sys.executable)') -m pip install --index-url @registry/simple/ --target py hello",
        uses: "PYTHONPATH=py python3 -c 'import hello; print(hello.TEXT)'",
        lacks: "python3 -m pip install --target py absent 2>&1 | tail -5",
    },
    Manager {
        program: "go",
        project: &[
            ("g/go.mod", "module example.invalid/g\n"),
            (
                "g/main.go",
                "package main\nimport \"example.invalid/hello\"\nfunc main() { println(hello.Text) }\n",
            ),
        ],
        fetch: "cd g && GOFLAGS=-mod=mod GONOSUMDB='*' GOPROXY=@registry/go go get example.invalid/hello",
        uses: "cd g && go run . 2>&1",
        lacks: "cd g && go get example.invalid/absent",
    },
];

#[tokio::test]
async fn fetched_packages_are_there_for_later_commands() {
    let registry = Registry::open().await;
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        // The caches of the user, which stay as they are.
        let caches = [".cargo/registry", "go/pkg/mod"].map(|cache| test.home().join(cache));
        for cache in &caches {
            fs::create_dir_all(cache).unwrap();
        }
        for manager in &MANAGERS {
            if !test.run(&format!("command -v {}", manager.program), &[]).await.ok {
                skipped(1, format!("no {}", manager.program));
                continue;
            }
            for (path, text) in manager.project {
                let text = text.replace("@registry", &registry.address);
                put(&test.ws(), &[(path, text.as_bytes())]);
            }
            let run = async |command: &str, needs: &[&str]| {
                test.run(&command.replace("@registry", &registry.address), needs).await
            };
            let lacks = run(manager.lacks, &[]).await;
            let hint = "call bash again with needs: [\"network\"]";
            assert!(lacks.said.contains(hint), "{way}, {}: {}", manager.program, lacks.said);
            for round in ["first", "second"] {
                let fetched = run(manager.fetch, &["network"]).await;
                assert!(fetched.ok, "{way}, {round} {}: {}", manager.fetch, fetched.said);
            }
            let used = run(manager.uses, &[]).await;
            assert!(used.said.starts_with("hello\n"), "{way}, {}: {}", manager.uses, used.said);
            ran(1);
        }
        for cache in &caches {
            assert_eq!(fs::read_dir(cache).unwrap().count(), 0, "{way}: {}", cache.display());
        }
    }
}

/// A registry that takes connections and sends no byte.
#[tokio::test]
async fn a_registry_that_never_answers_holds_nothing_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        for (program, command) in [
            ("npm", "npm install --registry=http://@registry/ hello"),
            (
                "pip",
                "python3 -m pip install --index-url http://@registry/simple/ --target py hello",
            ),
        ] {
            if !test.run(&format!("command -v {program}"), &[]).await.ok {
                skipped(1, format!("no {program}"));
                continue;
            }
            let command = command.replace("@registry", &address.to_string());
            let needs = json!(["network"]);
            let [waited, next] = test
                .turns([
                    json!({ "command": command, "needs": needs, "timeout_ms": 3_000 }),
                    json!({ "command": "echo next" }),
                ])
                .await;
            assert!(waited.said.contains("still runs after"), "{way}, {program}: {}", waited.said);
            assert!(next.said.starts_with("next\n"), "{way}, {program}: {}", next.said);
            ran(1);
        }
    }
}

/// Server of files on loopback, in the formats of four registries. It has one package, `hello`.
struct Registry {
    address: String,
    serving: JoinHandle<()>,
}

impl Registry {
    async fn open() -> Self {
        let listener = Listener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let files = Arc::new(files(&address));
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&files)));
            }
        });
        Self { address, serving }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Answers one request.
async fn answer(mut stream: TcpStream, files: Arc<BTreeMap<String, Vec<u8>>>) {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut bytes = [0; 4096];
        match stream.read(&mut bytes).await {
            Ok(length) if length > 0 => request.extend_from_slice(&bytes[..length]),
            _ => return,
        }
    }
    let request = String::from_utf8_lossy(&request);
    let path = request.split(' ').nth(1).unwrap_or_default();
    let kind = if path.ends_with('/') { "text/html" } else { "application/octet-stream" };
    let (status, body) = match files.get(path) {
        Some(body) => ("200 OK", body.as_slice()),
        None => ("404 Not Found", &[][..]),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let _ = stream.write_all(&[head.as_bytes(), body].concat()).await;
}

/// Files of the registries by path.
fn files(address: &str) -> BTreeMap<String, Vec<u8>> {
    let crate_ = tar(
        "hello-0.1.0",
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"hello\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
            ),
            ("src/lib.rs", "pub const TEXT: &str = \"hello\";\n"),
        ],
    );
    let checksum: String =
        Sha256::digest(&crate_).iter().map(|byte| format!("{byte:02x}")).collect();
    let index = json!({ "name": "hello", "vers": "0.1.0", "deps": [], "cksum": checksum, "features": {}, "yanked": false });
    let module = "module example.invalid/hello\n";
    let texts = [
        ("/index/config.json", json!({ "dl": format!("{address}/crates") }).to_string()),
        ("/index/he/ll/hello", index.to_string()),
        (
            "/npm/hello",
            json!({
                "name": "hello",
                "dist-tags": { "latest": "0.1.0" },
                "versions": { "0.1.0": {
                    "name": "hello",
                    "version": "0.1.0",
                    "dist": { "tarball": format!("{address}/npm/hello.tgz") },
                } },
            })
            .to_string(),
        ),
        (
            "/simple/hello/",
            "<a href=\"/hello-0.1.0-py3-none-any.whl\">hello-0.1.0-py3-none-any.whl</a>".to_owned(),
        ),
        ("/go/example.invalid/hello/@v/list", "v0.1.0\n".to_owned()),
        ("/go/example.invalid/hello/@v/v0.1.0.info", "{\"Version\":\"v0.1.0\"}".to_owned()),
        ("/go/example.invalid/hello/@v/v0.1.0.mod", module.to_owned()),
    ];
    let archives = [
        ("/crates/hello/0.1.0/download", crate_),
        (
            "/npm/hello.tgz",
            tar(
                "package",
                &[
                    ("package.json", "{\"name\": \"hello\", \"version\": \"0.1.0\"}"),
                    ("index.js", "exports.TEXT = 'hello'\n"),
                ],
            ),
        ),
        (
            "/hello-0.1.0-py3-none-any.whl",
            zip(&[
                ("hello.py", "TEXT = 'hello'\n"),
                (
                    "hello-0.1.0.dist-info/METADATA",
                    "Metadata-Version: 2.1\nName: hello\nVersion: 0.1.0\n",
                ),
                (
                    "hello-0.1.0.dist-info/WHEEL",
                    "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
                ),
                ("hello-0.1.0.dist-info/RECORD", "hello.py,,\n"),
            ]),
        ),
        (
            "/go/example.invalid/hello/@v/v0.1.0.zip",
            zip(&[
                ("example.invalid/hello@v0.1.0/go.mod", module),
                (
                    "example.invalid/hello@v0.1.0/hello.go",
                    "package hello\nconst Text = \"hello\"\n",
                ),
            ]),
        ),
    ];
    let texts = texts.into_iter().map(|(path, text)| (path, text.into_bytes()));
    texts.chain(archives).map(|(path, body)| (path.to_owned(), body)).collect()
}

fn tar(top: &str, files: &[(&str, &str)]) -> Vec<u8> {
    packed(top, files, &["tar", "-czf", "../packed", top])
}

fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let script = "import os, zipfile\nwith zipfile.ZipFile('../packed', 'w') as packed:\n    for folder, _, names in os.walk('.'):\n        for name in names: packed.write(os.path.join(folder, name))";
    packed(".", files, &["python3", "-c", script])
}

/// Archive of files below the folder `top`.
#[expect(clippy::disallowed_methods, reason = "a test is not the daemon")]
fn packed(top: &str, files: &[(&str, &str)], command: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("in");
    for (path, text) in files {
        put(&inside.join(top), &[(path, text.as_bytes())]);
    }
    let done = Command::new(command[0]).args(&command[1..]).current_dir(&inside).status().unwrap();
    assert!(done.success(), "{command:?}");
    fs::read(folder.path().join("packed")).unwrap()
}
