#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the tests of some folders under a sanitizer preset.
#   scripts/sanitize.sh asan|tsan [FOLDER...]     default: all folders that the preset covers
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:?asan or tsan}
shift
# What is left out of a folder, or the only part of it, as a filter of GoogleTest.
declare -A filter
case "$preset" in
  asan) folders=(base text scheduler kernels parallel model worker) ;;
  tsan)
    # The folders with threads. The other tests of kernels are of arithmetic, and speed says
    # nothing here.
    folders=(base kernels parallel worker router)
    filter[base]='-*WithinASecond'
    filter[kernels]='ThreadPool.*'
    ;;
  *) echo "sanitize: unknown preset '$preset'" >&2; exit 2 ;;
esac

if [ $# -gt 0 ]; then folders=("$@"); fi
cmake --preset "$preset" >/dev/null
targets=()
for folder in "${folders[@]}"; do targets+=("${folder}_tests"); done
cmake --build "build/$preset" --target "${targets[@]}"
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=$PWD/scripts/tsan.supp
for folder in "${folders[@]}"; do
  GTEST_FILTER=${filter[$folder]:-*} ctest --test-dir "build/$preset" --output-on-failure \
    --timeout 900 -R "^$folder\$"
done
