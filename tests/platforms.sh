#!/usr/bin/env bash
# Lints the daemon for macOS, where nobody tests it. Installs the target by rustup, and a C compiler for it by
# pip, into target/. Runs nothing of what it builds.
set -euo pipefail
cd "$(dirname "$0")/.."

MACOS=x86_64-apple-darwin
ZIG=0.17.1

rustup target add "$MACOS"

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
cargo clippy -p cairn --locked --target "$MACOS" -- -D warnings
