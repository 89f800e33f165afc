#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants small faults, one at a time, and shows that a named test kills each.

    scripts/mutate.py              all faults of scripts/mutations.json
    scripts/mutate.py NAME ...     some; shell patterns such as 'draw-*' are allowed
    scripts/mutate.py --list       their names and tests
    scripts/mutate.py --check      only whether each still fits the tree; builds nothing

A fault is a literal replacement that must match its file exactly once, and the tests of one target
that must notice it. Work happens on a copy under build/mutate, built as a release; the tree itself
is never touched, and the copy is whole again however a run ends. A fault is killed when one of its
tests fails, aborts or hangs. It counts against the run when its tests pass with it, when it does
not build, or when its tests fail without it. Exit status 0: all killed.
"""

import fcntl
import filecmp
import fnmatch
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FAULTS = ROOT / "scripts/mutations.json"
COPY = ROOT / "build/mutate/source"
# Placed in its tree as a release build of this one is, so that both share the compiler's cache.
BUILD = COPY / "build/release"
TREES = ("src", "tests", "proto", "cmake", "bench")
FILES = ("CMakeLists.txt", "CMakePresets.json")
KEYS = {"name", "file", "find", "replace", "target", "test"}
# A test hangs when it takes this much longer than without the fault; the floor allows for a
# machine that does other work.
HANG_FACTOR = 20
HANG_SECONDS_MIN = 120
BASELINE_SECONDS = 900


def run(arguments, **options):
    return subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, **options)


def tail(text, lines=12):
    return "\n".join("    " + line for line in text.rstrip().split("\n")[-lines:])


# ---- What the list says, against the tree ----


def tests_of(target):
    """The "Suite.Name" of every test in the folder of a test executable."""
    names = set()
    for path in (ROOT / "tests" / target.removesuffix("_tests")).rglob("*.cc"):
        names |= {f"{suite}.{name}" for suite, name in re.findall(
            r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", path.read_text(encoding="utf-8"), re.M)}
    return names


def misfit(fault, tests):
    """What is wrong with a fault; "" when it fits the tree."""
    if set(fault) != KEYS:
        return "needs exactly the keys " + ", ".join(sorted(KEYS))
    path = ROOT / fault["file"]
    if not path.is_file():
        return f"{fault['file']} does not exist"
    matches = path.read_text(encoding="utf-8").count(fault["find"])
    if matches != 1:
        return f"matches {matches} times in {fault['file']}, must be once"
    if fault["find"] == fault["replace"]:
        return "changes nothing"
    for pattern in fault["test"].split(":"):
        # "Instance/Suite.Name/parameter" is the test "Suite.Name" of the sources.
        suite, _, name = pattern.partition(".")
        plain = f"{suite.split('/')[-1]}.{name.split('/')[0]}"
        if not fnmatch.filter(tests, plain):
            return f"no test of {fault['target']} is named {pattern}"
    return ""


def check(faults):
    names = [fault.get("name", "?") for fault in faults]
    tests = {target: tests_of(target) for target in {fault.get("target", "") for fault in faults}}
    bad = [f"{name} is there twice" for name in sorted({n for n in names if names.count(n) > 1})]
    for fault in faults:
        problem = misfit(fault, tests[fault.get("target", "")])
        if problem:
            bad.append(f"{fault.get('name', '?')}: {problem}")
    return bad


# ---- The copy ----


def prepare():
    COPY.mkdir(parents=True, exist_ok=True)
    for tree in TREES:
        # No times: a file restored after a fault must stay newer than the object built with it.
        subprocess.run(["rsync", "-rlp", "--delete", "--checksum", f"{ROOT / tree}/",
                        f"{COPY / tree}/"], check=True)
    for name in FILES:
        if not (COPY / name).exists() or not filecmp.cmp(ROOT / name, COPY / name, shallow=False):
            shutil.copy(ROOT / name, COPY / name)
    configured = run(["cmake", "--preset", "release", "-DSHOAL_TESTS=ON"], cwd=COPY)
    if configured.returncode != 0:
        sys.exit(f"mutate: cmake failed\n{tail(configured.stdout)}")


def build(target):
    """"" or why the target does not build."""
    built = run(["cmake", "--build", str(BUILD), "--target", target])
    return "" if built.returncode == 0 else tail(built.stdout)


def run_tests(target, test, seconds):
    """Returns (status, output); the status is None after `seconds`."""
    arguments = [str(BUILD / target), f"--gtest_filter={test}", "--gtest_fail_fast"]
    try:
        done = run(arguments, timeout=seconds)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        # Bytes, although text was asked for.
        return None, (late.stdout or b"").decode(errors="replace")


def culprit(output):
    """The test that failed, or that was running when the output ends; "" when there is none."""
    failed = re.search(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", output, re.M)
    if failed:
        return failed.group(1)
    started = re.findall(r"^\[ RUN      \] (\S+)", output, re.M)
    ended = re.findall(r"^\[       OK \] (\S+)", output, re.M)
    return started[-1] if len(started) > len(ended) else ""


# ---- Faults ----


def baseline(target, tests):
    """A target as it is: ("" or why it does not build, by test (problem, seconds))."""
    problem = build(target)
    if problem:
        return f"{target} does not build without a fault\n{problem}", {}
    found = {}
    for test in tests:
        began = time.monotonic()
        status, output = run_tests(target, test, BASELINE_SECONDS)
        passed = re.search(r"^\[  PASSED  \] (\d+) test", output, re.M)
        problem = ""
        if status != 0:
            problem = f"fails without a fault: {culprit(output) or test}\n{tail(output)}"
        elif not passed or passed.group(1) == "0":
            problem = f"{test} runs no test"
        found[test] = (problem, time.monotonic() - began)
    return "", found


def try_fault(fault, seconds):
    """Returns (killed, what happened)."""
    path = COPY / fault["file"]
    original = path.read_text(encoding="utf-8")
    if original.count(fault["find"]) != 1:
        return False, f"matches {original.count(fault['find'])} times in {fault['file']}"
    try:
        path.write_text(original.replace(fault["find"], fault["replace"]), encoding="utf-8")
        problem = build(fault["target"])
        if problem:
            return False, f"does not build\n{problem}"
        status, output = run_tests(fault["target"], fault["test"], seconds)
    finally:
        path.write_text(original, encoding="utf-8")
    if status == 0:
        return False, "SURVIVED " + fault["test"]
    name = culprit(output)
    if not name:
        return False, f"no test of {fault['test']} was run\n{tail(output)}"
    if status is None:
        return True, f"killed by {name} (hangs)"
    return True, f"killed by {name}" + (f" (signal {-status})" if status < 0 else "")


def try_target(target, faults):
    """Returns the names of those that were not killed."""
    began = time.monotonic()
    # All of them before the first fault: later the binary is that of the fault before.
    broken, tests = baseline(target, sorted({fault["test"] for fault in faults}))
    print(f"---- {target}: built and tested without a fault in {time.monotonic() - began:.0f} s",
          flush=True)
    alive = []
    for fault in sorted(faults, key=lambda fault: fault["file"]):
        began = time.monotonic()
        killed = False
        what, normal = (broken, 0) if broken else tests[fault["test"]]
        if not what:
            killed, what = try_fault(fault, max(HANG_SECONDS_MIN, HANG_FACTOR * normal))
        if not killed:
            alive.append(fault["name"])
        print(f"{'ok  ' if killed else 'FAIL'} {fault['name']:33} {time.monotonic() - began:4.0f} s"
              f"  {what}", flush=True)
    return alive


def select(faults, patterns):
    chosen = [fault for fault in faults
              if not patterns or any(fnmatch.fnmatch(fault["name"], p) for p in patterns)]
    unknown = [p for p in patterns if not any(fnmatch.fnmatch(f["name"], p) for f in faults)]
    if unknown:
        sys.exit(f"mutate: no such fault: {', '.join(unknown)} (--list shows them)")
    return chosen


def main():
    options = {argument for argument in sys.argv[1:] if argument.startswith("-")}
    if options - {"--list", "--check"}:
        sys.exit(__doc__)
    faults = json.loads(FAULTS.read_text(encoding="utf-8"))
    chosen = select(faults, [a for a in sys.argv[1:] if not a.startswith("-")])
    if "--list" in options:
        for fault in chosen:
            print(f"{fault['name']:33} {fault['target']:16} {fault['test']}")
        return 0
    bad = check(chosen)
    if bad:
        sys.exit("\n".join(["mutate: the list does not fit the tree"] + ["  " + b for b in bad]))
    if "--check" in options:
        print(f"mutate: {len(chosen)} faults fit the tree")
        return 0
    # Ended by the system as by the keyboard: through the code that restores the copy.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    COPY.mkdir(parents=True, exist_ok=True)
    with open(COPY.parent / "lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"mutate: another run works on {COPY}")
        began = time.monotonic()
        prepare()
        alive = []
        for target in dict.fromkeys(fault["target"] for fault in chosen):
            alive += try_target(target, [f for f in chosen if f["target"] == target])
    print(f"mutate: {len(chosen) - len(alive)} of {len(chosen)} faults killed "
          f"in {(time.monotonic() - began) / 60:.0f} min")
    if alive:
        print("mutate: not killed: " + ", ".join(alive))
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
