#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the tests of some folders under a sanitizer preset.
#   scripts/sanitize.sh asan|tsan
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:?asan or tsan}
case "$preset" in
  asan) folders=(base text scheduler kernels parallel model worker) ;;
  tsan) folders=(base kernels parallel worker router) ;;
  *) echo "sanitize: unknown preset '$preset'" >&2; exit 2 ;;
esac

cmake --preset "$preset" >/dev/null
targets=()
for folder in "${folders[@]}"; do targets+=("${folder}_tests"); done
cmake --build "build/$preset" --target "${targets[@]}"
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=$PWD/scripts/tsan.supp
pattern=$(IFS='|'; echo "^(${folders[*]})\$")
ctest --test-dir "build/$preset" --output-on-failure --timeout 900 -R "$pattern"
