//! Daily work in the sandbox: builds, tests, git and package managers. Rows whose program is not installed
//! are skipped aloud.

use super::*;
use crate::attacks::{put, ran, skipped};

/// A program that must be installed, a command, and a part of its output. Later rows see what earlier
/// ones did.
const DAILY: &[(&str, &str, &str)] = &[
    // Git.
    ("git", "git status --short --branch", "## main"),
    ("git", "git log --oneline -1", "First"),
    ("git", "echo two >> a.txt && git diff --stat", "1 file changed"),
    ("git", "git blame a.txt | wc -l", "2"),
    ("git", "git grep -n one", "a.txt:1:one"),
    ("git", "git config user.email", "a@example.invalid"),
    ("git", "git status --short", "M a.txt"),
    (
        "git",
        "git init -q /tmp/r && cd /tmp/r && echo x > x && git add x && git commit -qm x && git log --format=%an",
        "At Home",
    ),
    ("git", "git clone -q . /tmp/clone && ls /tmp/clone", "a.txt"),
    // Shell and text.
    ("grep", "grep -rn one --include=*.txt .", "a.txt:1:one"),
    ("find", "find . -name a.txt | xargs wc -l", "a.txt"),
    ("sed", "sed -i s/two/three/ a.txt && tail -1 a.txt", "three"),
    ("awk", "awk 'END { print NR }' a.txt", "2"),
    ("tar", "tar czf /tmp/a.tgz a.txt && tar tzf /tmp/a.tgz", "a.txt"),
    ("diff", "printf 'one\\nthree\\n' | diff a.txt - && echo same", "same"),
    (
        "patch",
        "printf -- '--- a.txt\\n+++ a.txt\\n@@ -1,2 +1,2 @@\\n one\\n-three\\n+four\\n' | patch -p0 && cat a.txt",
        "four",
    ),
    // C, make.
    (
        "gcc",
        "printf '#include <stdio.h>\\nint main(void) { puts(\"hello\"); }\\n' > h.c && gcc -O1 -o h h.c && ./h",
        "hello",
    ),
    (
        "g++",
        "printf '#include <iostream>\\nint main() { std::cout << \"plus\"; }\\n' > p.cc && g++ -o p p.cc && ./p",
        "plus",
    ),
    // Sanitizers and debuggers.
    (
        "gcc",
        "printf '#include <stdlib.h>\\nint main(int c, char **v) { char *p = malloc(1); free(p); return c > 1 ? p[0] : 0; }\\n' > san.c && gcc -g -fsanitize=address san.c -o san && ./san && echo clean",
        "clean",
    ),
    ("gcc", "./san more; echo exit $?", "heap-use-after-free"),
    (
        "gcc",
        "printf '#include <stdlib.h>\\nint main() { volatile char *p = malloc(7); p = 0; }\\n' > leak.c && gcc -g -fsanitize=address leak.c -o leak && ./leak; echo exit $?",
        "7 byte(s) leaked",
    ),
    ("gdb", "gcc -g h.c -o h && gdb -batch -ex 'break main' -ex run -ex bt ./h", "#0  main"),
    ("strace", "strace -f -e trace=execve sh -c ./h", "execve("),
    ("make", "printf 'all: h\\n\\t./h\\ntest:\\n\\t@echo tested\\n' > Makefile && make", "hello"),
    ("make", "make -j2 test", "tested"),
    (
        "cmake",
        "printf 'cmake_minimum_required(VERSION 3.10)\\nproject(h C)\\nadd_executable(hh h.c)\\n' > CMakeLists.txt && cmake -B /tmp/cm . && cmake --build /tmp/cm && /tmp/cm/hh",
        "hello",
    ),
    // Rust.
    (
        "cargo",
        "mkdir -p rs/src && printf '[package]\\nname = \"rs\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n[workspace]\\n' > rs/Cargo.toml && printf 'fn main() {\\n    println!(\"rust\");\\n}\\n#[test]\\nfn works() {}\\n' > rs/src/main.rs && cd rs && cargo build --offline",
        "Finished",
    ),
    ("cargo", "cd rs && cargo run -q", "rust"),
    ("cargo", "cd rs && cargo test -q", "1 passed"),
    ("cargo", "cd rs && cargo metadata --format-version 1 --offline | head -c 12", "packages"),
    ("cargo", "cd rs && cargo tree --offline", "rs v0.1.0"),
    ("cargo-fmt", "cd rs && cargo fmt --check && echo formatted", "formatted"),
    ("cargo-clippy", "cd rs && cargo clippy -q && echo clean", "clean"),
    ("rustc", "rustc --version", "rustc 1"),
    // JavaScript.
    ("node", "node -e 'console.log(6 * 7)'", "42"),
    ("npm", "mkdir -p js && cd js && npm init -y > /dev/null && npm pkg get name", "js"),
    (
        "npm",
        "cd js && npm pkg set scripts.test='node --test' scripts.build='echo built' && npm run build",
        "built",
    ),
    (
        "npm",
        "cd js && echo \"require('node:test')('a', () => {})\" > a.test.js && npm test",
        "pass 1",
    ),
    ("npm", "cd js && npm install --offline --no-audit && npm ls", "js@1.0.0"),
    ("npm", "cd js && npm ci --offline --no-audit && echo clean", "clean"),
    ("npm", "cd js && npm pack --silent", "js-1.0.0.tgz"),
    (
        "npm",
        "npm config get cache && npx --offline --no -- node -e 'console.log(1)'; cd js && npm exec --offline -c 'node -p 2'",
        "2",
    ),
    // Python.
    ("python3", "python3 -m venv .venv && .venv/bin/python -c 'print(\"venv\")'", "venv"),
    ("python3", ". .venv/bin/activate && pip list --disable-pip-version-check", "pip"),
    (
        "python3",
        "printf 'import unittest\\nclass T(unittest.TestCase):\\n    def test_a(self): pass\\n' > test_a.py && python3 -m unittest 2>&1",
        "OK",
    ),
    ("python3", "python3 -m compileall -q test_a.py && echo compiled", "compiled"),
    (
        "pip",
        "mkdir -p py/mod && touch py/mod/__init__.py && printf '[project]\\nname = \"mod\"\\nversion = \"1\"\\n[build-system]\\nrequires = [\"setuptools\"]\\nbuild-backend = \"setuptools.build_meta\"\\n' > py/pyproject.toml && pip --no-cache-dir download --no-index --no-deps -d /tmp ./py 2>&1 | tail -1; pip --version",
        "pip ",
    ),
    // Go.
    (
        "go",
        "mkdir -p g && cd g && printf 'module example.invalid/g\\n' > go.mod && printf 'package main\\nfunc main() { println(\"go\") }\\n' > main.go && go build -o g . && ./g 2>&1",
        "go",
    ),
    (
        "go",
        "cd g && printf 'package main\\nimport \"testing\"\\nfunc TestA(t *testing.T) {}\\n' > a_test.go && go test ./...",
        "ok",
    ),
    ("go", "cd g && go vet ./... && go list ./...", "example.invalid/g"),
    ("go", "cd g && go mod tidy && echo tidy", "tidy"),
    ("gofmt", "cd g && gofmt -l . | wc -l", "2"),
    // Java.
    (
        "javac",
        "mkdir -p jv && printf 'public class A { public static void main(String[] a) { System.out.println(\"java\"); } }\\n' > jv/A.java && javac -d jv jv/A.java && java -cp jv A",
        "java",
    ),
    ("jar", "cd jv && jar cf a.jar A.class && jar tf a.jar", "A.class"),
    // Java takes the home folder from the system's list of users; the test has another one.
    (
        "mvn",
        "mkdir -p mv && cd mv && printf '<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>b</artifactId><version>1</version><packaging>pom</packaging></project>' > pom.xml && mvn -B -o -Duser.home=$HOME validate",
        "BUILD SUCCESS",
    ),
    (
        "gradle",
        "mkdir -p gr && cd gr && touch settings.gradle && gradle --offline --no-daemon help",
        "BUILD SUCCESSFUL",
    ),
    // Ruby.
    ("ruby", "ruby -e 'puts 6 * 7'", "42"),
    ("gem", "gem list --local", "json"),
];

/// Home folder with programs and files in the layout of real tools. `@` stands for the home folder.
const AT_HOME: &[(&str, &str)] = &[
    ("node --version", "nvm's node"),
    ("tool", "pipx' tool with its data"),
    ("aws", "aws with its data"),
    ("rbenv-program", "shimmed"),
    ("cat ~/.m2/repository/a/a.jar", "a jar"),
    (
        "~/.gradle/wrapper/dists/gradle-8-bin/abc/gradle-8/bin/gradle && echo > ~/.gradle/wrapper/dists/gradle-8-bin/abc/gradle-8-bin.zip.lck && echo locked",
        "gradle 8\nlocked",
    ),
    (
        "cat $GRADLE_RO_DEP_CACHE/modules-2/files-2.1/a && mkdir -p ~/.gradle/caches/modules-2 && echo writes",
        "a module\nwrites",
    ),
    ("cat ~/go/pkg/mod/a.go", "package a"),
    ("cat ~/.cargo/config.toml ~/.cargo/registry/src/a.rs", "jobs = 2\n// a crate"),
    ("mkdir -p ~/.cache/mine && echo kept > ~/.cache/mine/a && cat ~/.cache/mine/a", "kept"),
    ("cat ~/.cache/mine/a", "kept"),
    ("echo x > ~/.cargo/bin/evil", "Read-only"),
    ("cat ~/.config/git/ignore; git check-ignore a.own", "*.own\na.own"),
    ("linked", "by a linked root"),
];

fn put_tools(home: &Path) {
    use std::os::unix::fs::{PermissionsExt, symlink};
    for (path, text) in [
        (".nvm/versions/node/v20/bin/node", "#!/bin/sh\necho \"nvm's node\"\n"),
        (
            ".local/share/pipx/venvs/tool/bin/tool",
            "#!/bin/sh\necho \"pipx' tool with $(cat ~/.local/share/pipx/venvs/tool/lib/data)\"\n",
        ),
        (
            ".local/aws-cli/v2/2.1/dist/aws",
            "#!/bin/sh\necho \"aws with $(cat ~/.local/aws-cli/v2/2.1/dist/data)\"\n",
        ),
        (".rbenv/shims/rbenv-program", "#!/bin/sh\nexec ~/.rbenv/versions/3/bin/p\n"),
        (".rbenv/versions/3/bin/p", "#!/bin/sh\necho shimmed\n"),
        (
            ".gradle/wrapper/dists/gradle-8-bin/abc/gradle-8/bin/gradle",
            "#!/bin/sh\necho gradle 8\n",
        ),
        ("elsewhere/volta/linked", "#!/bin/sh\necho by a linked root\n"),
    ] {
        put(home, &[(path, text.as_bytes())]);
        fs::set_permissions(home.join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }
    put(
        home,
        &[
            (".local/share/pipx/venvs/tool/lib/data", b"its data"),
            (".local/aws-cli/v2/2.1/dist/data", b"its data"),
            (".m2/repository/a/a.jar", b"a jar"),
            (".gradle/wrapper/dists/gradle-8-bin/abc/gradle-8-bin.zip.lck", b""),
            (".gradle/caches/modules-2/files-2.1/a", b"a module\n"),
            ("go/pkg/mod/a.go", b"package a\n"),
            (".cargo/config.toml", b"[build]\njobs = 2\n"),
            (".cargo/registry/src/a.rs", b"// a crate\n"),
            (".cargo/bin/x", b"x"),
            (".config/git/ignore", b"*.own\n"),
        ],
    );
    fs::create_dir_all(home.join(".local/bin")).unwrap();
    symlink("../share/pipx/venvs/tool/bin/tool", home.join(".local/bin/tool")).unwrap();
    symlink("../aws-cli/v2/current/bin/aws", home.join(".local/bin/aws")).unwrap();
    symlink("2.1", home.join(".local/aws-cli/v2/current")).unwrap();
    fs::create_dir_all(home.join(".local/aws-cli/v2/2.1/bin")).unwrap();
    symlink("../dist/aws", home.join(".local/aws-cli/v2/2.1/bin/aws")).unwrap();
    fs::create_dir_all(home.join(".volta")).unwrap();
    symlink(home.join("elsewhere/volta"), home.join(".volta/bin")).unwrap();
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// With `CAIRN_SHOW_TABLE` set, the results are printed.
fn report(way: &str, command: &str, works: bool) {
    if std::env::var_os("CAIRN_SHOW_TABLE").is_some() {
        let line = format!("| {way} | {} | {command} |\n", if works { "works" } else { "FAILS" });
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
}

#[tokio::test]
async fn builds_tests_git_and_package_managers_run_in_the_sandbox() {
    assert!(DAILY.len() >= 40);
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let settings = "[user]\nname = At Home\nemail = a@example.invalid\n";
        put(&test.home(), &[(".gitconfig", settings.as_bytes())]);
        let mut faults = Vec::new();
        for (program, command, says) in DAILY {
            if !is_installed(program) {
                skipped(1, format!("{program} is not installed"));
                continue;
            }
            let got = test.run(command, &[]).await;
            let works = got.ok && got.said.contains(says);
            report(way, command, works);
            if !works {
                faults.push(format!("{way}, {command}: {}", got.said));
            }
            ran(1);
        }
        crate::attacks::assert_none(&faults);
    }
}

/// Commands of package managers that need a network, behind a pipe that hides their exit code.
const WITHOUT_NETWORK: &[(&str, &str)] = &[
    ("cargo", "cargo new -q --vcs none net && cd net && cargo add left-pad 2>&1 | tail -3"),
    ("cargo", "cd net && echo 'left-pad = \"1\"' >> Cargo.toml && cargo build 2>&1 | tail -3"),
    ("npm", "mkdir -p net && cd net && npm install left-pad 2>&1 | tail -12"),
    ("pip", "pip download -d /tmp left-pad 2>&1 | tail -2"),
    (
        "go",
        "mkdir -p go && cd go && go mod init a 2> /dev/null; go get example.org/a 2>&1 | tail -1",
    ),
];

#[tokio::test]
async fn package_managers_give_up_a_missing_network_at_once() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        // They give up at once because they do not ask again.
        let settings = "echo $CARGO_NET_OFFLINE,$PIP_RETRIES,$npm_config_fetch_retries.";
        assert!(test.run(settings, &[]).await.said.contains("true,0,0."), "{way}");
        assert!(test.run(settings, &["network"]).await.said.contains(",,."), "{way}");
        for (program, command) in WITHOUT_NETWORK {
            if !is_installed(program) {
                skipped(1, format!("{program} is not installed"));
                continue;
            }
            let got = test.run(command, &[]).await;
            assert!(got.said.contains("call bash again with needs: [\"network\"]"), "{}", got.said);
            ran(1);
        }
    }
}

#[tokio::test]
async fn toolchains_in_the_home_folder_are_found_and_run() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        put_tools(&test.home());
        let mut faults = Vec::new();
        for (command, says) in AT_HOME {
            let got = test.run(command, &[]).await;
            let works = got.said.contains(says);
            report(way, command, works);
            if !works {
                faults.push(format!("{way}, {command}: {}", got.said));
            }
            ran(1);
        }
        crate::attacks::assert_none(&faults);
    }
}
