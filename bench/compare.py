#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Interleaved A/B measurement of two programs that speak the protocol of bench/decoder_bench.cc.

    bench/compare.py --model FILE [--threads 1 2] [--pairs 11] [--peer-python PYTHON]
                     [--no-repack] [--json]

Each pair runs ours and the peer back to back (who goes first alternates), pinned to the same cores.
Reported: the median of the pairs' ratios peer seconds / our seconds (above 1: ours is faster) with
a 95 % bootstrap interval, tokens/s, and CPU-seconds per token of each process.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = (("prefill 512", "prefill 512"), ("decode 128", "decode 512 128"))
BOOTSTRAPS = 2000


class Program:
    """A program on fixed cores that measures one command at a time."""

    def __init__(self, arguments, cores):
        self.process = subprocess.Popen(
            ["taskset", "-c", cores, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)

    def measure(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("a measured program ended early")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


def bootstrap(values, generator):
    medians = sorted(statistics.median(generator.choices(values, k=len(values)))
                     for _ in range(BOOTSTRAPS))
    return medians[int(0.025 * BOOTSTRAPS)], medians[int(0.975 * BOOTSTRAPS) - 1]


def compare(ours, peer, command, pairs):
    for program in (ours, peer):
        program.measure(command)  # warm-up
    rows = []
    for pair in range(pairs):
        order = (ours, peer) if pair % 2 == 0 else (peer, ours)
        first, second = order[0].measure(command), order[1].measure(command)
        rows.append((first, second) if pair % 2 == 0 else (second, first))
    ratios = [p["seconds"] / o["seconds"] for o, p in rows]
    low, high = bootstrap(ratios, random.Random(1))

    def rate(index):
        return statistics.median(r[index]["tokens"] / r[index]["seconds"] for r in rows)

    def cpu(index):
        return statistics.median(1e3 * r[index]["cpu_seconds"] / r[index]["tokens"] for r in rows)

    return {"pairs": pairs, "ratio": statistics.median(ratios), "low": low, "high": high,
            "ours_tokens_per_s": rate(0), "peer_tokens_per_s": rate(1),
            "ours_cpu_ms_per_token": cpu(0), "peer_cpu_ms_per_token": cpu(1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--peer-python", default=sys.executable)
    parser.add_argument("--no-repack", action="store_true")
    parser.add_argument("--ours", default=str(ROOT / "build/release/decoder_bench"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if max(options.threads) > os.cpu_count():
        sys.exit("more threads than cores: the figures would mean nothing")
    for threads in options.threads:
        cores = ",".join(str(core) for core in range(threads))
        extra = ["--no-repack"] if options.no_repack else []
        ours = Program([options.ours, options.model, str(threads)], cores)
        peer = Program([options.peer_python, str(ROOT / "bench/llama_cpp_peer.py"), options.model,
                        str(threads), *extra], cores)
        for name, command in CASES:
            result = compare(ours, peer, command, options.pairs)
            result.update({"case": name, "threads": threads})
            if options.json:
                print(json.dumps(result), flush=True)
                continue
            print(f"{name:12} {threads} threads  ratio {result['ratio']:.2f} "
                  f"[{result['low']:.2f}, {result['high']:.2f}]  "
                  f"tokens/s {result['ours_tokens_per_s']:.0f} : "
                  f"{result['peer_tokens_per_s']:.0f}  CPU ms/token "
                  f"{result['ours_cpu_ms_per_token']:.3f} : "
                  f"{result['peer_cpu_ms_per_token']:.3f}", flush=True)
        ours.close()
        peer.close()


if __name__ == "__main__":
    main()
