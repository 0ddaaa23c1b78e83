//! Tables of the allow-list and of secrets: data only.

/// Files of one tool below its root folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Toolchain {
    /// Environment variable that names another root.
    pub variable: Option<&'static str>,
    /// Usual root.
    pub root: &'static str,
    /// Parts that are shown. Empty: the whole root.
    pub shown: &'static [&'static str],
}

const fn tool(root: &'static str, shown: &'static [&'static str]) -> Toolchain {
    Toolchain { variable: None, root, shown }
}

const fn at(
    variable: &'static str,
    root: &'static str,
    shown: &'static [&'static str],
) -> Toolchain {
    Toolchain { variable: Some(variable), root, shown }
}

/// Parts of version managers that follow rbenv.
const ENV_MANAGER: &[&str] =
    &["bin", "completions", "lib", "libexec", "plugins", "shims", "version", "versions"];

/// Toolchains, packages and caches that commands read. Each has no credentials, except in files that
/// [`secrets`] names. Caches that their tool must write at each use (uv, pip, pre-commit, ccache) are
/// not listed: an empty cache works, a read-only one does not.
pub fn tools() -> impl Iterator<Item = Toolchain> {
    IN_PARTS.iter().copied().chain(WHOLE.split_whitespace().map(|root| tool(root, &[])))
}

/// Roots that are shown whole.
const WHOLE: &str = "\
    .local/share/pnpm .pnpm-store .cache/node-gyp .cache/ms-playwright .cache/puppeteer \
    .cache/Cypress .cache/electron .cache/prisma .cache/selenium .local/share/virtualenvs \
    .virtualenvs miniconda3 anaconda3 miniforge3 mambaforge micromamba nltk_data .jdks \
    Library/Java/JavaVirtualMachines Android/Sdk Library/Android/sdk flutter development/flutter \
    .rubies .cache/composer perl5 .opam R .tool-versions .linuxbrew .nix-profile .guix-profile \
    .editorconfig .ripgreprc .terminfo .fonts .local/share/fonts Library/Caches/ms-playwright \
    Library/Python Library/pnpm";

/// Toolchains of which parts are shown.
const IN_PARTS: &[Toolchain] = &[
    // Rust.
    at("RUSTUP_HOME", ".rustup", &["settings.toml", "toolchains", "update-hashes"]),
    at("CARGO_HOME", ".cargo", &["bin", "env", "git", "registry"]),
    // JavaScript.
    at(
        "NVM_DIR",
        ".nvm",
        &["alias", "bash_completion", "default-packages", "nvm-exec", "nvm.sh", "versions"],
    ),
    tool(".fnm", &["aliases", "node-versions"]),
    tool(".local/share/fnm", &["aliases", "node-versions", "fnm"]),
    tool(".volta", &["bin", "cache", "layout.v4", "tools"]),
    tool("n", &["bin", "include", "lib", "n"]),
    tool(".nodenv", ENV_MANAGER),
    tool(".npm", &["_cacache"]),
    tool(".npm-global", &["bin", "lib"]),
    tool(".npm-packages", &["bin", "lib"]),
    tool(".yarn", &["berry/cache", "bin", "releases"]),
    tool(".config/yarn/global", &["node_modules"]),
    tool(".cache/node", &["corepack"]),
    tool(".cache/deno", &["deps", "npm", "remote", "registries"]),
    tool(".deno", &["bin"]),
    tool(".bun", &["bin", "install/cache", "install/global"]),
    // Python.
    at("PYENV_ROOT", ".pyenv", ENV_MANAGER),
    tool(".local/lib", &["python*"]),
    tool(".local/share/uv", &["python", "tools"]),
    tool(".local/share/pipx", &["shared", "venvs"]),
    tool(".local/pipx", &["shared", "venvs"]),
    tool(".local/share/pypoetry", &["venv"]),
    tool(".cache/pypoetry", &["virtualenvs"]),
    tool(".local/share/hatch", &["env", "pythons"]),
    tool(".rye", &["py", "self", "shims", "tools"]),
    tool(".pixi", &["bin", "envs"]),
    tool("opt", &["miniconda3", "anaconda3", "miniforge3"]),
    tool(".conda", &["envs", "pkgs", "environments.txt"]),
    tool(".local/share/mamba", &["envs", "pkgs"]),
    tool(".cache/huggingface", &["hub"]),
    tool(".cache/torch", &["hub"]),
    // Go.
    at("GOPATH", "go", &["bin", "pkg/mod", "pkg/sumdb"]),
    tool("sdk", &["go*"]),
    tool(".goenv", ENV_MANAGER),
    tool(".gvm", &["bin", "gos", "pkgsets", "scripts"]),
    // Java, Kotlin, Scala, Clojure. Gradle's modules are shown elsewhere: see GRADLE_MODULES.
    tool(".m2", &["repository", "wrapper"]),
    tool(".gradle", &["jdks", "wrapper/dists/*/*/*"]),
    tool(".sdkman", &["bin", "candidates", "libexec", "src", "var"]),
    tool(".jenv", ENV_MANAGER),
    tool(".jabba", &["bin", "jdk"]),
    tool(".konan", &["cache", "dependencies", "kotlin-native-prebuilt*"]),
    tool(".cache/coursier", &["arc", "jvm", "v1"]),
    tool(".local/share/coursier", &["bin"]),
    tool(".ivy2", &["cache", "local"]),
    tool(".sbt", &["boot", "launchers"]),
    tool(".lein", &["self-installs"]),
    tool(".gitlibs", &["libs"]),
    // Android, Flutter, Dart, Swift.
    tool("fvm", &["default", "versions"]),
    tool(".pub-cache", &["bin", "git", "global_packages", "hosted", "hosted-hashes"]),
    tool(".swiftly", &["bin", "toolchains"]),
    tool(".local/share/swiftly", &["bin", "toolchains"]),
    // .NET.
    at(
        "DOTNET_ROOT",
        ".dotnet",
        &["dotnet", "host", "packs", "sdk", "sdk-manifests", "shared", "templates", "tools"],
    ),
    tool(".nuget", &["packages"]),
    // Ruby, PHP, Perl, Lua.
    tool(".rbenv", ENV_MANAGER),
    tool(".rvm", &["bin", "environments", "gems", "rubies", "scripts", "wrappers"]),
    tool(".gem", &["ruby"]),
    tool(".local/share/gem", &["ruby"]),
    tool(".bundle", &["cache", "plugin"]),
    tool(".phpenv", ENV_MANAGER),
    tool(".composer", &["vendor"]),
    tool(".config/composer", &["vendor"]),
    tool(".plenv", ENV_MANAGER),
    tool(".luarocks", &["bin", "lib", "share"]),
    // Haskell, OCaml, BEAM, Julia, R, and others.
    tool(".ghcup", &["bin", "cache", "env", "ghc", "hls", "share"]),
    tool(".cabal", &["bin", "lib", "packages", "store"]),
    tool(".local/state/cabal", &["store"]),
    tool(".cache/cabal", &["packages"]),
    tool(".stack", &["pantry", "programs", "setup-exe-cache", "snapshots", "stack.sqlite3"]),
    tool(".mix", &["archives", "elixir"]),
    tool(".hex", &["packages"]),
    tool(".cache/rebar3", &["bin", "hex", "plugins"]),
    tool(".kerl", &["builds", "installs"]),
    tool(".julia", &["artifacts", "compiled", "juliaup", "packages", "registries"]),
    tool(".juliaup", &["bin"]),
    tool(".elan", &["bin", "toolchains"]),
    tool(".nimble", &["bin", "pkgs", "pkgs2"]),
    tool(".choosenim", &["toolchains"]),
    tool(".cache/zig", &["p"]),
    tool(".platformio", &["packages", "penv", "platforms"]),
    tool(".espressif", &["dist", "python_env", "tools"]),
    tool(".arduino15", &["packages"]),
    tool(".conan", &["data"]),
    tool(".conan2", &["p"]),
    tool(".cache/bazelisk", &["downloads"]),
    tool(".foundry", &["bin"]),
    tool(".krew", &["bin", "store"]),
    tool(".terraform.d", &["plugin-cache", "plugins"]),
    tool(".tfenv", ENV_MANAGER),
    // Managers for many languages.
    at("ASDF_DATA_DIR", ".asdf", &["asdf.sh", "bin", "installs", "lib", "plugins", "shims"]),
    tool(".local/share/mise", &["installs", "plugins", "shims"]),
    tool(".proto", &["bin", "shims", "tools"]),
    // Read by many programs, and harmless.
    tool(".config/git", &["attributes", "ignore"]),
    tool("Library/Caches/deno", &["deps", "npm", "remote", "registries"]),
];

/// Part of [`tools`] that a package manager writes when it fetches packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackageCache {
    /// Root of the toolchain, as in [`tools`].
    pub root: &'static str,
    pub part: &'static str,
    /// Path below the cache that exists once it has packages, not only an index of them.
    pub filled: &'static str,
}

const fn cache(root: &'static str, part: &'static str, filled: &'static str) -> PackageCache {
    PackageCache { root, part, filled }
}

/// Caches without which their package manager cannot fetch a package.
pub const PACKAGE_CACHES: &[PackageCache] = &[
    cache(".cargo", "git", "db"),
    cache(".cargo", "registry", "cache"),
    cache("go", "pkg/mod", "cache/download"),
    cache("go", "pkg/sumdb", ""),
    cache(".m2", "repository", ""),
    cache(".local/share/pnpm", "store", ""),
    cache(".pnpm-store", "", ""),
];

/// Environment variables that name the root of one toolchain.
pub const ROOT_VARIABLES: &[&str] = &["GOROOT", "JAVA_HOME", "VIRTUAL_ENV"];

/// Source, target and value of the variable for Gradle's modules. Gradle must write its cache, and reads
/// modules from a second, read-only cache that a variable names.
pub const GRADLE_MODULES: (&str, &str) =
    (".gradle/caches/modules-2", ".gradle/read-only/modules-2");
pub const GRADLE_VARIABLE: (&str, &str) = ("GRADLE_RO_DEP_CACHE", ".gradle/read-only");

/// Ending of names that a `*` of [`tools`] never matches: locks, which their tool opens for writing.
pub const LOCK_ENDING: &str = ".lck";

/// Folders with data of many programs: never shown as a whole, even if a search path names them.
pub const SHARED_FOLDERS: &[&str] = &[
    ".cache",
    ".config",
    ".local",
    ".local/share",
    ".local/state",
    "Library",
    "Library/Application Support",
    "AppData",
    "snap",
    ".var",
];

/// Folders with plain names in the home folder that hold the data of programs.
pub const DATA_FOLDERS: &[&str] = &["Library", "AppData", "Application Data", "snap"];

/// Siblings of a `bin` folder that the programs in it load.
pub const BESIDE_BIN: &[&str] =
    &["include", "jmods", "lib", "lib64", "libexec", "pyvenv.cfg", "share", "conf", "boot"];

/// Keys, sessions and histories of the user. Hidden if a folder around them is shown or writable.
pub fn secrets() -> impl Iterator<Item = &'static str> {
    include_str!("secrets.txt").lines().filter(|line| !line.starts_with("# "))
}
