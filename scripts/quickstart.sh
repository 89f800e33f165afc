#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh machine to a chat: installs, builds, fetches a small model, starts a cluster of a
# router and two replicas, asks it one question over HTTP and one over gRPC, and keeps serving.
#   scripts/quickstart.sh [--help] [--check] [--port N] [--model PATH]
#     --check       stop after the answers (exit code 0)
#     --port N      HTTP on N, gRPC on N+1, replicas on N+2 and N+3 (default 8000, 8001, 9000, 9001)
#     --help        show this text
#     --model PATH  your own model (GGUF file or Hugging Face directory) instead of SmolLM2
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

die() { echo "quickstart: $*" >&2; exit 1; }

check=0
http_port=8000 grpc_port=8001 base_port=9000
model=""
while [ $# -gt 0 ]; do
  case "$1" in
    --check) check=1 ;;
    --port)
      [[ "${2:-}" =~ ^[0-9]+$ ]] && [ "$2" -ge 1 ] && [ "$2" -le 65532 ] || die "--port needs a number from 1 to 65532"
      http_port=$2 grpc_port=$(($2 + 1)) base_port=$(($2 + 2))
      shift ;;
    --model)
      [ -n "${2:-}" ] || die "--model needs a path"
      [ -e "$2" ] || die "--model $2 does not exist"
      model=$(realpath "$2")
      shift ;;
    -h | --help)
      sed -n '3,/^set /{/^# \{0,1\}/s///p}' scripts/quickstart.sh
      exit 0 ;;
    *) die "unknown option '$1'; --help lists them" ;;
  esac
  shift
done

# What would fail later is told now.
for port in "$http_port" "$grpc_port" "$base_port" $((base_port + 1)); do
  if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
    die "port $port is taken; choose others with --port N"
  fi
done
disk_mb=$(df -Pm . | awk 'NR == 2 { print $4 }')
[ -d build/release ] || [ "$disk_mb" -ge 3000 ] || die "building needs 3000 MB of disk here, there are $disk_mb"
memory_mb=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
needed_mb=3000
[ "$memory_mb" -ge "$needed_mb" ] || die "building and serving need $needed_mb MB of free memory, there are $memory_mb (a smaller --model does not help the build)"

scripts/setup.sh --build
name=smollm2-135m
if [ -n "$model" ]; then
  name=$(python3 scripts/model_family.py --name "$model") || die "the model given with --model cannot be served"
else
  scripts/fetch_model.sh
  model=$PWD/models/SmolLM2-135M-Instruct.Q4_1.gguf
fi

echo "quickstart: building (some minutes the first time)"
cmake --preset release -DSHOAL_TESTS=OFF >build-configure.log 2>&1 || { cat build-configure.log; die "cmake failed"; }
rm -f build-configure.log
cmake --build build/release --target shoal
shoal=build/release/shoal

"$shoal" serve cluster-configs/quickstart.yaml \
  --set "models.0.name=$name" --set "models.0.path=$model" --set "replicas.0.model=$name" \
  --set "router.http=127.0.0.1:$http_port" --set "router.grpc=127.0.0.1:$grpc_port" \
  --set "ports.base=$base_port" &
server=$!
stop() { kill -TERM "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; }
trap stop EXIT

url=http://127.0.0.1:$http_port
ready=0
for _ in $(seq 1 600); do
  kill -0 "$server" 2>/dev/null || die "the cluster ended; its message is above"
  if curl -sf -o /dev/null --max-time 5 "$url/ready"; then ready=1; break; fi
  sleep 0.2
done
[ "$ready" = 1 ] || die "the cluster was not ready within two minutes"

question="What is the capital of France?"
body="{\"model\": \"$name\", \"temperature\": 0, \"max_tokens\": 64,
  \"messages\": [{\"role\": \"user\", \"content\": \"$question\"}]}"
echo
echo "HTTP  > $question"
curl -sf --max-time 120 "$url/v1/chat/completions" -H 'Content-Type: application/json' -d "$body" |
  python3 -c 'import json, sys; print("HTTP  <", json.load(sys.stdin)["choices"][0]["message"]["content"])'
echo "gRPC  > $question"
printf 'gRPC  < '
"$shoal" chat --url "grpc://127.0.0.1:$grpc_port" --model "$name" --max-tokens 64 --message "$question"
cat <<TEXT

Serving $name: OpenAI HTTP on $url/v1, gRPC (shoal.v1.Inference) on 127.0.0.1:$grpc_port.
  talk to it        $shoal chat --url $url
  metrics           curl $url/metrics
  another model     scripts/quickstart.sh --model PATH
  your own cluster  cluster-configs/quickstart.yaml, README.md
TEXT
if [ "$check" = 1 ]; then
  trap - EXIT
  kill -TERM "$server"
  wait "$server" || die "the cluster did not drain cleanly"
  echo "quickstart: ok"
  exit 0
fi
echo "Ctrl-C stops it."
trap 'trap - INT; kill -TERM "$server" 2>/dev/null' INT TERM
wait "$server" || wait "$server" || true
trap - EXIT
