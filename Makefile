# Everything a person or CI does here is a target; each installs what it needs.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

EXTENSION := vscode-extension
VSIX := $(EXTENSION)/cairn.vsix
EXTENSION_SOURCES := $(shell find $(addprefix $(EXTENSION)/,src webview media l10n test/reporting) -type f) \
  $(addprefix $(EXTENSION)/,package.json package.nls.json package-lock.json esbuild.mjs tsconfig.json README.md .vscodeignore)

# Which build of the daemon is packed: the optimised one for people; for the tests the one they have
# built already, so that they take minutes less.
PACKED := release
test e2e stable: PACKED := debug

# `make test` compiles everything once: Clippy checks the crates of this workspace while it compiles them for the
# tests. `cargo clippy` would compile all dependencies a second time. CLIPPY_ARGS is how `cargo clippy` itself passes
# `-D warnings` to Clippy.
test: export RUSTC_WORKSPACE_WRAPPER := clippy-driver
test: export CLIPPY_ARGS := -D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__

# The version of cargo-deny that `make deny` installs where there is none.
CARGO_DENY := 0.20.2

# The end of a target that says how long it took; each line of a recipe is a shell of its own, which counts its seconds.
TOOK = echo "make $@: $$((SECONDS / 60)) min $$((SECONDS % 60)) s"

# The folder that F5 in VS Code opens: a copy, so that a task may change it.
SAMPLE := target/sample

.PHONY: help run test check test-extension test-runners stable prepare-e2e unit clients recording debug-extension format check-daemon check-platforms deny test-daemon e2e bench bench-editor properties fuzz soak soak-review oracle gen package install check-extension check-lints daemon-release daemon-packed daemon-for-tests system-packages

help: ## say what there is
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

run: package system-packages tests/e2e/node_modules ## try Cairn in a real VS Code (WORKSPACE=folder, else a fresh sample)
	node tests/e2e/run.mjs $(if $(WORKSPACE),'$(WORKSPACE)')

# The extension is checked and the editor installed beside the tests of the daemon, which leave half of two
# cores unused.
test: system-packages ## everything CI runs
	@$(MAKE) --no-print-directory prepare-e2e & prepared=$$!; failed=0; \
	$(MAKE) --no-print-directory check-lints test-daemon || failed=$$?; \
	wait $$prepared || failed=$$?; \
	[ $$failed = 0 ] && $(MAKE) --no-print-directory e2e && $(TOOK)

prepare-e2e: check-extension test-extension test-runners tests/e2e/node_modules
	node tests/e2e/install.mjs

check: ## format, lints and types of everything
	@$(MAKE) --no-print-directory check-daemon check-extension && $(TOOK)

unit: $(EXTENSION)/node_modules ## unit tests of daemon, extension and test runners: no system packages, under a minute once built
	@cargo test --quiet --locked -p cairn-core -p cairn-protocol -p cairn && $(MAKE) --no-print-directory test-extension test-runners && $(TOOK)

debug-extension: $(EXTENSION)/node_modules ## what F5 in VS Code starts: the extension with the debug daemon
	cargo build --locked -p cairn
	mkdir -p $(EXTENSION)/bin $(SAMPLE)
	cp -f target/debug/cairn $(EXTENSION)/bin/cairn
	cd $(EXTENSION) && npm run --silent build
	cp -rn tests/sample/. $(SAMPLE)

format: $(EXTENSION)/node_modules ## format the daemon, the tests and the extension
	cargo fmt
	cd $(EXTENSION) && npm run --silent format

check-daemon:
	cargo fmt --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

# In `make test`: format, and that a warning still fails the build (see CLIPPY_ARGS above).
check-lints:
	cargo fmt --check
	@mkdir -p target/tmp
	@if echo 'fn unused() {}' | clippy-driver --crate-type lib --emit metadata --out-dir target/tmp - 2>/dev/null; then \
	  echo "A warning of Clippy no longer fails the build: CLIPPY_ARGS in the Makefile has no effect." >&2; exit 1; \
	fi

deny: ## licences, sources and known faults of the crates; says so where the database of faults cannot be reached
	@cargo deny --version >/dev/null 2>&1 || cargo install --locked --quiet cargo-deny@$(CARGO_DENY)
	cargo deny --locked check licenses bans sources
	@if [ -n "$${CI:-}" ] || cargo deny fetch db >/dev/null 2>&1; then \
	  cargo deny --locked check advisories; \
	else \
	  echo "The database of advisories cannot be reached: known faults of crates were NOT checked." >&2; \
	fi

check-platforms: ## lint the daemon for macOS; takes minutes
	tests/platforms.sh

test-daemon: system-packages daemon-for-tests ## unit, property, protocol, agent-loop, lifecycle and Neovim tests
	node tests/runner/rust.mjs --workspace
	@cat target/tmp/attacks.txt

bench: daemon-release ## measure and print a table (docs/performance.md)
	cargo run --release --locked -p cairn-tests --bin bench

bench-editor: package system-packages tests/e2e/node_modules ## the same, as seen in a real VS Code
	node tests/bench/latency.mjs

clients: ## install the editors that are tested where they are there (Emacs with eglot and lsp-mode, Vim, Helix: 100 MB)
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends emacs-nox elpa-eglot elpa-lsp-mode tmux vim-nox
	@if apt-cache show hx >/dev/null 2>&1; then DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends hx; \
	else echo "This system has no package of Helix: its scene is skipped."; fi

recording: package system-packages tests/e2e/node_modules ## make the recording of the README again (needs img2webp, Debian's package webp)
	node tests/e2e/record.mjs

properties: ## property tests with new cases, ten times as many (SEED=1 CASES=3000)
	@export PROPTEST_RNG_SEED=$(or $(SEED),$$RANDOM) PROPTEST_CASES=$(or $(CASES),3000); \
	echo "seed $$PROPTEST_RNG_SEED, $$PROPTEST_CASES cases a property"; \
	cargo test --locked -p cairn-core -p cairn --no-fail-fast; \
	cargo test --locked -p cairn-tests --test suite --no-fail-fast -- git_config:: attacks::denied_subcommands attacks::shell_policy

fuzz: system-packages ## look for inputs that break what is promised of all inputs (TARGET=command SECONDS=60)
	tests/fuzz/run.sh $(or $(SECONDS),60) $(TARGET)

soak: daemon-release ## kills, then turns with faults and cancels, at random against the real daemon (MOMENTS=300 TURNS=1000 SEED=1)
	cargo run --release --locked -p cairn-tests --bin soak -- $(or $(TURNS),1000) $(or $(SEED),$$RANDOM) $(or $(MOMENTS),300)

soak-review: package system-packages tests/e2e/node_modules daemon-for-tests ## edits, keys and decisions at random in VS Code (SEED=1 ACTIONS=5000 ROUNDS=500)
	cd tests/e2e && SEED=$(or $(SEED),$$RANDOM) ACTIONS=$(or $(ACTIONS),5000) ROUNDS=$(or $(ROUNDS),500) node --test random.test.mjs

oracle: ## the wire formats against third-party servers, with a small model and with faults
	tests/oracle/run.sh

gen: $(EXTENSION)/node_modules ## write the files that are generated from code
	UPDATE_EXPECT=1 cargo test --locked -p cairn-tests --test suite generated
	cd vscode-extension && UPDATE_EXPECT=1 npx vitest run test/bundle.test.ts

package: $(VSIX) ## the extension with the daemon in it, as a VSIX

install: package ## install the extension into the VS Code of this machine
	@command -v code >/dev/null || { echo "The program 'code' is not on the PATH. Install $(VSIX) by hand: Extensions, …, Install from VSIX." >&2; exit 1; }
	code --install-extension $(VSIX) --force

e2e: package system-packages tests/e2e/node_modules daemon-for-tests ## drive the extension in a real VS Code (FILES="tests/e2e/keys.test.mjs …")
	@node tests/e2e/suite.mjs $(FILES) && $(TOOK)

stable: package system-packages tests/e2e/node_modules daemon-for-tests ## the end-to-end tests RUNS=10 times, every second time on busy cores
	node tests/runner/stable.mjs $(or $(RUNS),10) $(FILES)

check-extension: $(EXTENSION)/node_modules
	cd $(EXTENSION) && npm run --silent check && npm run --silent lint && npm run --silent format:check

test-extension: $(EXTENSION)/node_modules
	cd $(EXTENSION) && npm test --silent

test-runners:
	node --test tests/runner/runner.test.mjs

daemon-release:
	cargo build --release --locked -p cairn

# The daemon and the programs of the tests, as `cargo test --workspace` wants them. Alone the daemon would have
# fewer features of its dependencies, and Cargo would compile these and the daemon a second time.
daemon-for-tests:
	cargo build --locked -p cairn -p cairn-tests --bins

daemon-packed:
	@$(MAKE) --no-print-directory $(if $(filter release,$(PACKED)),daemon-release,daemon-for-tests)

$(VSIX): daemon-packed $(EXTENSION_SOURCES) $(EXTENSION)/node_modules
	mkdir -p $(EXTENSION)/bin
	cp -f target/$(PACKED)/cairn $(EXTENSION)/bin/cairn
	cp -f LICENSE LICENSE-APACHE LICENSE-MIT $(EXTENSION)/
	cd $(EXTENSION) && npm run --silent package

%/node_modules: %/package-lock.json
	cd $* && npm ci --no-audit --no-fund
	touch $@

# A browser for the window, Neovim as an editor that knows nothing of us, the builder of sandboxes,
# and what VS Code's native modules are built with.
system-packages:
	@missing=(); \
	command -v "$${CHROMIUM:-chromium}" >/dev/null || missing+=(chromium); \
	command -v nvim >/dev/null || missing+=(neovim); \
	[ "$$(uname -s)" != Linux ] || command -v bwrap >/dev/null || missing+=(bubblewrap); \
	for tool in python3 g++ make; do command -v "$$tool" >/dev/null || missing+=("$$tool"); done; \
	[ -e /usr/include/gssapi/gssapi.h ] || missing+=(libkrb5-dev); \
	[ $${#missing[@]} -eq 0 ] && exit 0; \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$${missing[@]}"; \
	else \
	  echo "Please install: $${missing[*]} (these are Debian's names), then try again." >&2; exit 1; \
	fi
