#!/usr/bin/env bash
# Lets libFuzzer look for inputs that break a law of `cairn_tests::fuzz`: one target after the other,
# so many seconds each. What it learned stays in target/fuzz/corpus for the next run.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
only=${2:-}

# What cargo-fuzz asks for, which a stable compiler has too; for what we call as well, as
# JSON is better explored from within.
flags="-Cpasses=sancov-module"
for option in level=4 inline-8bit-counters pc-table trace-compares; do
  flags+=" -Cllvm-args=-sanitizer-coverage-$option"
done
flags+=" -Ccodegen-units=1"
host=$(rustc -vV | sed -n 's/^host: //p')
# Named, so that build scripts and macros stay as they are.
RUSTFLAGS="$flags" cargo build --locked --profile fuzz --target "$host" --target-dir target/fuzz \
  -p cairn-tests --features fuzz --bin fuzz

# A real shell is asked what it makes of one in so many scripts.
[ ! -x /bin/bash ] || export CAIRN_FUZZ_BASH=64

status=0
for target in command jail sse frames todo; do
  [ -z "$only" ] || [ "$only" = "$target" ] || continue
  learned=target/fuzz/corpus/$target
  mkdir -p "$learned" target/fuzz/found
  # Comparisons of whole words are not traced without a sanitizer: the kept inputs have the words.
  grep -ohaE '[A-Za-z_.-]{3,30}' tests/fuzz/"$target"/* | sort -u | sed 's/.*/"&"/' >target/fuzz/"$target".dict
  echo "== $target, $seconds s"
  CAIRN_FUZZ=$target nice -n 10 "target/fuzz/$host/fuzz/fuzz" "$learned" "tests/fuzz/$target" \
    -max_total_time="$seconds" -max_len=4200 -timeout=10 -rss_limit_mb=1024 -verbosity=1 \
    -dict=target/fuzz/"$target".dict -artifact_prefix="target/fuzz/found/$target-" \
    -print_final_stats=1 >target/fuzz/"$target".log 2>&1 || status=1
  grep -aE 'INITED|DONE|panicked|^(assertion|  left|  right)|ERROR|Test unit written|number_of_exec|average_exec|peak_rss' target/fuzz/"$target".log || true
done
if [ $status != 0 ]; then
  echo "A law is broken: see target/fuzz/*.log. Mend it, then keep the input as tests/fuzz/TARGET/found-WHAT." >&2
fi
exit $status
