#!/bin/sh
# Holds Cairn against third-party software, in all wire formats: a conversation with a small model
# behind llama.cpp's server, then the whole sample task with servers that play it and break it.
# The first run downloads about 150 MB into CAIRN_ORACLE_CACHE; later runs are offline.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cache=${CAIRN_ORACLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cairn/oracle}
aimock='@copilotkit/aimock@1.43.0'

mkdir -p "$cache"
if ! cmp -s "$here/requirements.txt" "$cache/requirements.txt"; then
    rm -rf "$cache/venv"
    python3 -m venv "$cache/venv"
    "$cache/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$cache/requirements.txt"
fi
if [ "$(cat "$cache/aimock" 2>/dev/null || true)" != "$aimock" ]; then
    npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$cache" "$aimock"
    printf '%s\n' "$aimock" >"$cache/aimock"
fi

cd "$here/../.."
cargo build --quiet --locked --package cairn --package cairn-tests --bin cairn --bin oracle

output=$(mktemp -d)
"$cache/venv/bin/python" "$here/serve.py" "$here/template.jinja" >"$output/url" 2>"$output/log" &
server=$!
stop() {
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
}
trap 'stop; rm -rf "$output"' EXIT
trap 'exit 1' INT TERM

tries=0
while ! [ -s "$output/url" ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt 120 ] || ! kill -0 "$server" 2>/dev/null; then
        echo 'oracle: the server did not start:' >&2
        tail -n 20 "$output/log" >&2
        exit 1
    fi
    sleep 0.5
done
target/debug/oracle "$(cat "$output/url")"
stop

node "$here/task.mjs" "$PWD/target/debug/cairn" "$cache"
