#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Style as a test: file and function length, columns, purpose comments, and includes against the
dependency DAG (the table in cmake/Dag.cmake, which CMake links by as well).

    scripts/tidy.py             checks; exit code 1 and one line per finding
    scripts/tidy.py --headers   also compiles every header alone (needs build/<preset>/gen)
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE_LINES_MAX = 400
COLUMNS_MAX = 100
FUNCTION_LINES_MAX = 70
KERNEL_LINES_MAX = 100
CODE_FOLDERS = ("src", "tests", "bench")
# Synchronisation that ThreadSanitizer cannot see, and the one file that wraps it.
HIDDEN_LOCKS = r"\babsl::(\w*Mutex\w*|CondVar|Notification|BlockingCounter|Barrier|call_once)\b"
LOCKS_HEADER = "src/base/mutex.h"
# Third-party code behind an edge folder stays there.
EDGE_ONLY = {"grpcpp/": ("router", "worker", "app"), "curl/": ("app",), "yaml-cpp/": ("base",)}


def read_dag():
    text = (ROOT / "cmake/Dag.cmake").read_text(encoding="utf-8")
    rows = re.findall(r'"([\w/]+):([^"]*)"', text)
    return {folder: set(edges.split()) for folder, edges in rows}


def owner(path, dag):
    """The row of the table a path under src/ belongs to (the longest match)."""
    best = None
    for folder in dag:
        if path.startswith(folder + "/") and (best is None or len(folder) > len(best)):
            best = folder
    return best


def code_files():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    for name in listed:
        path = ROOT / name
        if path.suffix in (".cc", ".h") and name.split("/")[0] in CODE_FOLDERS and path.exists():
            yield name, path.read_text(encoding="utf-8")


def check_includes(name, text, dag):
    if not name.startswith("src/"):
        return
    inner = name[len("src/"):]
    mine = owner(inner, dag)
    allowed = dag[mine] | {mine}
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r'#include [<"]([^>"]+)[>"]', line)
        if not match:
            continue
        include = match.group(1)
        other = "proto" if include.startswith("shoal/v1/") else owner(include, dag)
        if other is not None and other not in allowed:
            yield f"{name}:{number}: {mine} must not include {include} (cmake/Dag.cmake)"
        for prefix, folders in EDGE_ONLY.items():
            if include.startswith(prefix) and inner.split("/")[0] not in folders:
                yield f"{name}:{number}: {prefix} belongs to {', '.join(folders)}"


def check_lines(name, lines):
    if len(lines) - 1 > FILE_LINES_MAX:
        yield f"{name}: {len(lines) - 1} lines (at most {FILE_LINES_MAX})"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX and "http" not in line:
            yield f"{name}:{number}: {len(line)} columns (at most {COLUMNS_MAX})"
        if re.search(r"\b(TODO|FIXME|XXX)\b", line):
            yield f"{name}:{number}: finish it or refuse it with an error; no TODO"
    if not lines[0].startswith("// SPDX-License-Identifier: Apache-2.0"):
        yield f"{name}:1: the first line must be the SPDX licence line"
    if name.endswith(".h"):
        if len(lines) < 2 or not lines[1].startswith("//"):
            yield f"{name}:2: a header says what it is and why it exists"
        if "#pragma once" not in lines:
            yield f"{name}: no #pragma once"


def check_locks(name, lines):
    if name == LOCKS_HEADER:
        return
    for number, line in enumerate(lines, 1):
        match = re.search(HIDDEN_LOCKS, line)
        if match:
            yield f"{name}:{number}: {match.group(0)} hides from ThreadSanitizer; {LOCKS_HEADER}"


def check_functions(name, lines):
    """Function bodies: from a line that ends in '{' at the outer level to the '}' that closes it.
    clang-format puts both where this finds them."""
    limit = KERNEL_LINES_MAX if "/kernels/" in name else FUNCTION_LINES_MAX
    depth_start = None
    for number, line in enumerate(lines, 1):
        stripped = line.rstrip()
        if depth_start is None:
            opens = re.match(r"^(\s{0,2})\S.*\)\s*(const|noexcept|override|final|\s)*\{$", stripped)
            opens = opens or re.match(r"^(\s{0,2})\S.*\)( -> [\w:<>]+)? \{$", stripped)
            if opens and not re.match(r"\s*(if|for|while|switch|namespace|struct|class|else)\b",
                                      stripped):
                depth_start = (number, opens.group(1) + "}")
        elif stripped == depth_start[1] or stripped == depth_start[1] + ";":
            if number - depth_start[0] > limit:
                yield (f"{name}:{depth_start[0]}: function of {number - depth_start[0]} lines "
                       f"(at most {limit})")
            depth_start = None


def check_header_alone(name):
    flags = ["-std=c++20", "-fsyntax-only", "-ffp-contract=off", "-I", str(ROOT / "src"), "-I",
             str(ROOT / "tests")]
    for gen in sorted((ROOT / "build").glob("*/gen")):
        flags += ["-I", str(gen)]
        break
    for isa, more in (("avx2", ["-mavx2", "-mfma", "-mf16c"]),
                      ("avx512", ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq",
                                  "-mavx512vnni", "-mfma", "-mf16c"]),
                      ("amx", ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq",
                               "-mavx512vnni", "-mfma", "-mf16c", "-mamx-tile", "-mamx-int8",
                               "-mamx-bf16"])):
        if f"/{isa}/" in name:
            flags += more
    done = subprocess.run(["g++", *flags, "-x", "c++", str(ROOT / name)], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        first = next((l for l in done.stderr.split("\n") if "error" in l), "does not compile")
        return [f"{name}: does not compile alone: {first}"]
    return []


def main():
    dag = read_dag()
    findings = []
    headers = []
    for name, text in code_files():
        lines = text.split("\n")
        findings += check_lines(name, lines)
        findings += check_locks(name, lines)
        findings += check_functions(name, lines)
        findings += check_includes(name, text, dag)
        if name.startswith("src/") and name.endswith(".h"):
            headers.append(name)
    if "--headers" in sys.argv:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for found in pool.map(check_header_alone, headers):
                findings += found
    for finding in findings:
        print(finding)
    print(f"tidy: {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
