#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Long runs that CI only samples: the whole product of the exactness matrix, ThreadSanitizer, the
# router under AddressSanitizer, and the seeded simulations and concurrency tests over and over in
# shuffled order. Takes hours; stops at the first failure. Needs scripts/setup.sh and a build with
# tests (scripts/test.sh makes one).
#   scripts/soak.sh [REPEATS]      repeats of the seeded tests (default 20)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

repeats=${1:-20}
[[ "$repeats" =~ ^[0-9]+$ ]] || { echo "soak: '$repeats' is not a number" >&2; exit 2; }
cmake --preset release -DSHOAL_TESTS=ON >/dev/null
cmake --build build/release

if [ -f models/SmolLM2-135M-Instruct.Q4_1.gguf ]; then
  export SHOAL_TEST_MODEL=$PWD/models/SmolLM2-135M-Instruct.Q4_1.gguf
fi
echo "== sanitizers"
scripts/sanitize.sh tsan
scripts/sanitize.sh asan router app
for folder in base scheduler worker router; do
  echo "== $folder, $repeats times"
  "build/release/${folder}_tests" --gtest_repeat="$repeats" --gtest_shuffle --gtest_brief=1 \
    --gtest_break_on_failure
done
echo "== exactness, the whole product"
SHOAL_EXACTNESS=full build/release/exactness_tests
