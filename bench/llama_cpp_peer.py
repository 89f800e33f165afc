#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""llama.cpp behind the protocol of bench/decoder_bench.cc.

    llama_cpp_peer.py MODEL THREADS [--no-repack]

Needs a native build of llama-cpp-python with its AMX kernels. GCC 12 miscompiles them (they crash),
and clang before 16 does not define the macros that turn them on:
    CC=clang CXX=clang++ CMAKE_ARGS="-DGGML_NATIVE=ON -DCMAKE_C_FLAGS=-D__AMX_INT8__=1
      -DCMAKE_CXX_FLAGS=-D__AMX_INT8__=1" pip install --no-binary llama-cpp-python
      llama-cpp-python==0.3.36
The system info printed at the start must say AMX_INT8 = 1 on a machine that has it; without AMX its
prefill is some eight times slower here.
The decode loop calls llama_decode once a token through ctypes, which costs some 10 us a token.
"""

import ctypes
import json
import resource
import sys
import time

import llama_cpp

CONTEXT = 2048


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def make_prompt(count, vocab):
    state, tokens = 1, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        tokens.append((state >> 33) % vocab)
    return tokens


class Peer:
    def __init__(self, path, threads, repack):
        llama_cpp.llama_backend_init()
        quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(quiet, None)
        self.keep = quiet
        model_params = llama_cpp.llama_model_default_params()
        if hasattr(model_params, "use_extra_bufts"):
            model_params.use_extra_bufts = repack
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), model_params)
        if not self.model:
            sys.exit(f"cannot load {path}")
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = CONTEXT
        params.n_batch = params.n_ubatch = 512
        params.n_threads = params.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(self.model, params)
        vocab = llama_cpp.llama_model_get_vocab(self.model)
        self.vocab = llama_cpp.llama_vocab_n_tokens(vocab)
        info = llama_cpp.llama_print_system_info().decode()
        print(f"llama.cpp, repack {'on' if repack else 'off'}, {threads} threads: {info}",
              file=sys.stderr, flush=True)

    def clear(self):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)

    def run(self, tokens):
        array = (llama_cpp.llama_token * len(tokens))(*tokens)
        batch = llama_cpp.llama_batch_get_one(array, len(tokens))
        if llama_cpp.llama_decode(self.context, batch) != 0:
            sys.exit("llama_decode failed")
        logits = llama_cpp.llama_get_logits_ith(self.context, -1)
        pointer = ctypes.cast(logits, ctypes.POINTER(ctypes.c_float))
        return int(pointer[0] > 0)  # waits for the result; any token costs the same


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    peer = Peer(sys.argv[1], int(sys.argv[2]), "--no-repack" not in sys.argv)
    for line in sys.stdin:
        words = line.split()
        prompt = make_prompt(int(words[1]), peer.vocab)
        peer.clear()
        if words[0] == "decode":
            token = peer.run(prompt)
            wall, cpu = time.perf_counter(), cpu_seconds()
            for _ in range(int(words[2])):
                token = peer.run([token + 1000])
            count = int(words[2])
        else:
            wall, cpu = time.perf_counter(), cpu_seconds()
            peer.run(prompt)
            count = len(prompt)
        print(json.dumps({"seconds": time.perf_counter() - wall,
                          "cpu_seconds": cpu_seconds() - cpu, "tokens": count}), flush=True)


if __name__ == "__main__":
    main()
