#!/usr/bin/env bash
# Builds the daemon for the systems that nobody tests on: Windows is linted and linked, macOS is
# linted. What it takes is installed: targets by rustup, a C compiler for Windows by apt (as root),
# one for macOS by pip, into target/. Runs nothing of what it builds.
set -euo pipefail
cd "$(dirname "$0")/.."

WINDOWS=x86_64-pc-windows-gnu
MACOS=x86_64-apple-darwin
ZIG=0.17.1

rustup target add "$WINDOWS" "$MACOS"

if ! command -v x86_64-w64-mingw32-gcc >/dev/null; then
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq gcc-mingw-w64-x86-64
  else
    echo "Please install gcc-mingw-w64-x86-64 (this is Debian's name), then try again." >&2
    exit 1
  fi
fi
echo "== $WINDOWS"
cargo clippy -p cairn --locked --target "$WINDOWS" -- -D warnings
cargo build -p cairn --locked --target "$WINDOWS"

# Only ring has C in it; what it includes of macOS, zig brings along.
if [ "$(uname -s)" != Darwin ] && [ -z "${CC_x86_64_apple_darwin:-}" ]; then
  TOOLS=$PWD/target/platforms
  if ! [ -x "$TOOLS/zig-$ZIG/bin/python" ]; then
    python3 -m venv "$TOOLS/zig-$ZIG"
    "$TOOLS/zig-$ZIG/bin/pip" install --quiet "ziglang==$ZIG"
  fi
  # It is called with words of Apple's compiler that zig has others for.
  cat >"$TOOLS/cc" <<EOF
#!/usr/bin/env bash
words=()
for word in "\$@"; do
  case \$word in
    --target=* | -mmacosx-version-min=* | -arch | x86_64) ;;
    -gfull) words+=(-g) ;;
    *) words+=("\$word") ;;
  esac
done
exec "$TOOLS/zig-$ZIG/bin/python" -m ziglang cc -target x86_64-macos "\${words[@]}"
EOF
  chmod +x "$TOOLS/cc"
  export CC_x86_64_apple_darwin=$TOOLS/cc
fi
echo "== $MACOS"
cargo clippy -p cairn --locked --target "$MACOS" -- -D warnings
