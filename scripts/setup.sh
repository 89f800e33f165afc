#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what Shoal is built, run and tested with: Debian packages, and a Python environment in
# .venv for client tests, and the small model that tests use. Idempotent, and quick when nothing is
# missing.
#   scripts/setup.sh            build, run and test
#   scripts/setup.sh --build    only what building and running needs
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build_packages=(
  g++ cmake ninja-build ccache pkg-config git ca-certificates curl unzip python3 python3-pip
  python3-venv protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libprotoc-dev libgrpc++-dev
  libabsl-dev libyaml-cpp-dev nlohmann-json3-dev libspdlog-dev libfmt-dev prometheus-cpp-dev
  libhttp-parser-dev libcurl4-openssl-dev libutf8proc-dev libxxhash-dev libssl-dev
)
test_packages=(rsync libgtest-dev libgmock-dev libbenchmark-dev)

packages=("${build_packages[@]}")
python=1
case "${1:-}" in
  "") packages+=("${test_packages[@]}") ;;
  --build) python=0 ;;
  *) echo "setup: unknown option '$1' (there is --build)" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
if [ "${#missing[@]}" -gt 0 ]; then
  echo "setup: installing ${missing[*]}"
  sudo=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "setup: not root and no sudo; install: ${missing[*]}" >&2; exit 1; }
    sudo=(sudo)
  fi
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null
fi

if [ "$python" = 1 ]; then
  stamp=.venv/requirements.sha256
  want=$(sha256sum scripts/requirements.txt)
  if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$want" ]; then
    echo "setup: creating .venv"
    rm -rf .venv
    /usr/bin/python3 -m venv .venv
    .venv/bin/pip install -q --disable-pip-version-check -r scripts/requirements.txt
    echo "$want" >"$stamp"
  fi
  scripts/fetch_model.sh
fi
