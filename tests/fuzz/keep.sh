#!/usr/bin/env bash
# Keeps of all that was learned about a target the inputs that reach the most, if they are small, and
# every finding. Needs a build of `make fuzz`.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$1
most=${2:-40}
largest=${3:-700}
fuzz=target/fuzz/$(rustc -vV | sed -n 's/^host: //p')/fuzz/fuzz
kept=tests/fuzz/$target
small=$(mktemp -d)
trap 'rm -rf "$small"' EXIT
mkdir "$small"/{in,out}
find "$kept" target/fuzz/corpus/"$target" -type f -size -"$largest"c ! -name 'found-*' -exec cp {} "$small/in/" \;
CAIRN_FUZZ=$target "$fuzz" -merge=1 -set_cover_merge=1 "$small/out" "$small/in" >"$small/log" 2>&1
find "$kept" -type f ! -name 'found-*' -delete
# A set cover begins with what covers the most; where the file system tells, the first ones are kept.
find "$small/out" -type f -printf '%T@ %p\n' | sort -n | head -n "$most" | while read -r _ file; do
  cp "$file" "$kept/$(sha256sum "$file" | cut -c1-12)"
done
du -sb "$kept"
