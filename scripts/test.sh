#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs all tests: style, unit and cluster tests, exactness (CI sample), real clients,
# sanitizers. Needs no network once scripts/setup.sh has run.
#   scripts/test.sh             everything
#   scripts/test.sh --quick     without the sanitizer builds
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

quick=0
case "${1:-}" in
  "") ;;
  --quick) quick=1 ;;
  *) echo "test: unknown option '$1' (there is --quick)" >&2; exit 2 ;;
esac

step() { printf '\n== %s (%d s)\n' "$*" "$SECONDS"; }

step "style"
scripts/tidy.py
scripts/mutate.py --check

step "build"
cmake --preset release -DSHOAL_TESTS=ON >/dev/null
cmake --build build/release

if [ -f models/SmolLM2-135M-Instruct.Q4_1.gguf ]; then
  export SHOAL_TEST_MODEL=$PWD/models/SmolLM2-135M-Instruct.Q4_1.gguf
fi

if [ "$quick" = 0 ]; then
  step "address and undefined-behaviour sanitizers"
  scripts/sanitize.sh asan
fi

step "tests"
ctest --test-dir build/release --output-on-failure --timeout 900
