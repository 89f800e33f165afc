#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants small faults, one at a time, and shows that a named test kills each.

    scripts/mutate.py              all faults of scripts/mutations.json
    scripts/mutate.py NAME ...     some
    scripts/mutate.py --list

A fault is a literal replacement that must match its file exactly once. Work happens on a copy under
build/mutate, which is built as a release; the tree itself is never touched. A fault survives when
its test passes with it; a fault whose build fails counts as an error, not as killed.
"""

import filecmp
import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPY = ROOT / "build/mutate/source"
# Placed in its tree as a release build of this one is, so that both share the compiler's cache.
BUILD = COPY / "build/release"
TREES = ("src", "tests", "proto", "cmake", "bench")
FILES = ("CMakeLists.txt", "CMakePresets.json")
TEST_SECONDS = 600


def run(arguments, **options):
    return subprocess.run(arguments, capture_output=True, text=True, check=False, **options)


def prepare():
    COPY.mkdir(parents=True, exist_ok=True)
    for tree in TREES:
        # No times: a file restored after a fault must stay newer than the object built with it.
        subprocess.run(["rsync", "-rlp", "--delete", "--checksum", f"{ROOT / tree}/",
                        f"{COPY / tree}/"], check=True)
    for name in FILES:
        if not (COPY / name).exists() or not filecmp.cmp(ROOT / name, COPY / name, shallow=False):
            shutil.copy(ROOT / name, COPY / name)
    configured = run(["cmake", "--preset", "release"], cwd=COPY)
    if configured.returncode != 0:
        sys.exit(configured.stderr)


def build(target):
    return run(["cmake", "--build", str(BUILD), "--target", target])


def test(fault):
    return run([str(BUILD / fault["target"]), f"--gtest_filter={fault['test']}"],
               timeout=TEST_SECONDS)


def try_fault(fault):
    """Returns (killed, what happened)."""
    path = COPY / fault["file"]
    original = path.read_text(encoding="utf-8")
    if original.count(fault["find"]) != 1:
        return False, f"matches {original.count(fault['find'])} times in {fault['file']}"
    path.write_text(original.replace(fault["find"], fault["replace"]), encoding="utf-8")
    try:
        built = build(fault["target"])
        if built.returncode != 0:
            return False, "does not build: " + built.stdout[-400:]
        try:
            done = test(fault)
        except subprocess.TimeoutExpired:
            return True, "killed by time-out"
        if done.returncode == 0:
            return False, "SURVIVED"
        failed = [line.split("] ")[1].split(" (")[0].split(",")[0]
                  for line in done.stdout.split("\n") if line.startswith("[  FAILED  ] ")]
        return True, "killed by " + (failed[0] if failed else f"exit code {done.returncode}")
    finally:
        path.write_text(original, encoding="utf-8")


def main():
    faults = json.loads((ROOT / "scripts/mutations.json").read_text(encoding="utf-8"))
    names = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if "--list" in sys.argv:
        for fault in faults:
            print(f"{fault['name']:32} {fault['target']} {fault['test']}")
        return 0
    unknown = set(names) - {fault["name"] for fault in faults}
    if unknown:
        sys.exit(f"mutate: no such fault: {', '.join(sorted(unknown))}")
    chosen = [fault for fault in faults if not names or fault["name"] in names]
    prepare()
    # Without a fault every test must pass: a test that always fails kills nothing.
    for target in sorted({fault["target"] for fault in chosen}):
        built = build(target)
        if built.returncode != 0:
            sys.exit(f"mutate: {target} does not build\n{built.stdout[-2000:]}")
    for fault in chosen:
        if test(fault).returncode != 0:
            sys.exit(f"mutate: {fault['test']} fails without a fault")
    alive = 0
    for fault in chosen:
        killed, what = try_fault(fault)
        alive += not killed
        print(f"{'ok  ' if killed else 'FAIL'} {fault['name']:32} {what}", flush=True)
    print(f"mutate: {len(chosen) - alive} of {len(chosen)} faults killed")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
