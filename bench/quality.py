#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What int8 activations cost in quality, measured through the API and compared with llama.cpp.

    bench/quality.py [--model FILE] [--threads N] [--json]

Needs build/release/shoal, a Python with llama-cpp-python (which brings numpy), and the model as
scripts/fetch_model.sh gets it. `shoal serve` runs once with `numerics.activation: float32` (keys
and values float32 too: the reference of both engines) and once with the defaults (int8). Every
logprob comes from /v1/completions with token ids, echo, logprobs and max_tokens 0; llama.cpp scores
the same ids on its own int8 path. The inputs:
  chats  the answers of tests/golden/real (five chats, 48 tokens each), teacher-forced
  text   bench/quality_text.txt, in chunks of at most 1024 tokens; a chunk's first has no logprob

Three lines must hold, or the exit code is 1:
  greedy      with float32, the best token is the one of transformers wherever its margin is clear
  logprobs    over the chats, mean |int8 - float32| is no larger than llama.cpp's
  perplexity  over the text, with int8, within 1 % of llama.cpp's
"""

import argparse
import concurrent.futures
import hashlib
import json
import math
import pathlib
import statistics
import sys
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests/clients"))

import serving  # noqa: E402

GOLDEN = ROOT / "tests/golden/real/smollm2-135m-instruct.json"
TEXT = ROOT / "bench/quality_text.txt"
CHUNK_TOKENS = 1024
CLEAR_MARGIN = 0.02  # below it, rounding may choose either of the best two
PERPLEXITY_TOLERANCE = 0.01
REQUEST_SECONDS = 600
FLOAT32 = ("numerics.activation=float32", "engine.kv.dtype=float32")
INT8 = ("numerics.activation=auto",)


def check_model(path, golden):
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != golden["sha256"]:
        sys.exit(f"{path}: not the file the reference was made with ({golden['file']}, SHA-256 "
                 f"{golden['sha256']}); scripts/fetch_model.sh gets it")


class LlamaCpp:
    """llama.cpp in this process, without repacked weights: its own int8 path on the CPU.

    One thread: its threads spin at barriers, which takes minutes where other work shares the cores.
    """

    def __init__(self, model):
        import llama_cpp
        import numpy

        import llama_cpp_peer
        self.api, self.numpy = llama_cpp, numpy
        self.peer = llama_cpp_peer.Peer(str(model), 1, repack=False)
        self.batch_tokens = llama_cpp.llama_n_batch(self.peer.context)
        self.batch = llama_cpp.llama_batch_init(self.batch_tokens, 0, 1)

    def tokenize(self, text):
        data = text.encode("utf-8")
        ids = (self.api.llama_token * len(data))()
        vocab = self.api.llama_model_get_vocab(self.peer.model)
        count = self.api.llama_tokenize(vocab, data, len(data), ids, len(data), False, False)
        if count <= 0:
            sys.exit("llama_tokenize failed")
        return list(ids[:count])

    def logprobs(self, ids):
        """One logprob per token but the first."""
        self.peer.clear()
        result = []
        for start in range(0, len(ids), self.batch_tokens):
            piece = ids[start:start + self.batch_tokens]
            self.batch.n_tokens = len(piece)
            for i, token in enumerate(piece):
                self.batch.token[i], self.batch.pos[i] = token, start + i
                self.batch.n_seq_id[i], self.batch.seq_id[i][0] = 1, 0
                self.batch.logits[i] = 1
            if self.api.llama_decode(self.peer.context, self.batch) != 0:
                sys.exit("llama_decode failed")
            for i in range(min(len(piece), len(ids) - 1 - start)):
                result.append(self._logprob(i, ids[start + i + 1]))
        return result

    def _logprob(self, row, token):
        logits = self.numpy.ctypeslib.as_array(
            self.api.llama_get_logits_ith(self.peer.context, row), shape=(self.peer.vocab,))
        logits = logits.astype(self.numpy.float64)
        top = logits.max()
        return float(logits[token] - top - self.numpy.log(self.numpy.exp(logits - top).sum()))


def ask(cluster, ids):
    """(logprob, whether no token is likelier) of every token but the first."""
    body = {"model": serving.MODEL_NAME, "prompt": ids, "echo": True, "logprobs": 1,
            "max_tokens": 0}
    request = urllib.request.Request(cluster.http + "/v1/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=REQUEST_SECONDS) as response:
        scores = json.load(response)["choices"][0]["logprobs"]
    pairs = list(zip(scores["token_logprobs"], scores["top_logprobs"]))[1:]
    if len(pairs) != len(ids) - 1 or any(logprob is None for logprob, _ in pairs):
        sys.exit("the answer lacks logprobs of some prompt tokens")
    return [(logprob, logprob >= max(top.values())) for logprob, top in pairs]


def measure_ours(model, threads, overrides, inputs):
    overrides = ("engine.kv.memory=256MiB", f"replicas.0.threads_per_rank={threads}", *overrides)
    cluster = serving.Cluster(count=1, model=str(model), overrides=overrides)
    try:
        return [ask(cluster, ids) for ids in inputs]
    finally:
        cluster.stop()


def greedy_misses(golden, answers):
    """(clear steps, those of them where another token was likelier)."""
    clear = misses = 0
    for chat, answer in zip(golden["chats"], answers):
        for step, (_, best) in zip(chat["steps"], answer):
            if step["margin"] > CLEAR_MARGIN:
                clear += 1
                misses += not best
    return clear, misses


def flat(lists):
    return [value for values in lists for value in values]


def distance(left, right):
    return statistics.fmean(abs(a - b) for a, b in zip(left, right, strict=True))


def perplexity(logprobs):
    return math.exp(-statistics.fmean(logprobs))


def measure(options, golden):
    llama = LlamaCpp(options.model)
    ids = llama.tokenize(TEXT.read_text(encoding="utf-8"))
    chunks = [ids[i:i + CHUNK_TOKENS] for i in range(0, len(ids), CHUNK_TOKENS)]
    chats = [c["prompt"] + [s["token"] for s in c["steps"]] for c in golden["chats"]]
    inputs = chats + chunks
    steps = [len(c["steps"]) for c in golden["chats"]]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        ours = [pool.submit(measure_ours, options.model, options.threads, overrides, inputs)
                for overrides in (FLOAT32, INT8)]
        peer = [llama.logprobs(row) for row in inputs]
        float32, int8 = (future.result() for future in ours)
    runs = {"float32": [[logprob for logprob, _ in row] for row in float32],
            "int8": [[logprob for logprob, _ in row] for row in int8],
            "llama": peer}
    chat = {name: flat(row[-n:] for row, n in zip(rows, steps)) for name, rows in runs.items()}
    text = {name: flat(rows[len(chats):]) for name, rows in runs.items()}
    reference = flat([s["logprob"] for s in c["steps"]] for c in golden["chats"])
    clear, misses = greedy_misses(golden, [row[-n:] for row, n in zip(float32, steps)])
    return {
        "chat_tokens": len(reference), "text_tokens": len(text["int8"]),
        "greedy_clear": clear, "greedy_misses": misses,
        "chats_reference": {name: distance(row, reference) for name, row in chat.items()},
        "chats": {name: distance(chat[name], chat["float32"]) for name in ("int8", "llama")},
        "text": {name: distance(text[name], text["float32"]) for name in ("int8", "llama")},
        "perplexity": {name: perplexity(row) for name, row in text.items()},
    }


def verdicts(result):
    ratio = result["perplexity"]["int8"] / result["perplexity"]["llama"]
    return {"greedy": result["greedy_misses"] == 0 and result["greedy_clear"] > 0,
            "logprobs": result["chats"]["int8"] <= result["chats"]["llama"],
            "perplexity": abs(ratio - 1) <= PERPLEXITY_TOLERANCE}


def report(result):
    def row(name, ours, peer):
        print(f"{name:44} {ours:9.4f} {peer:9.4f}   ratio {ours / peer:.4f}")

    chats, text, reference = result["chats"], result["text"], result["chats_reference"]
    ppl = result["perplexity"]
    print(f"{'':44} {'shoal':>9} {'llama.cpp':>9}")
    row(f"chats ({result['chat_tokens']} tokens): |int8 - float32|", chats["int8"],
        chats["llama"])
    row(f"text ({result['text_tokens']} tokens): |int8 - float32|", text["int8"], text["llama"])
    row("chats: |int8 - transformers float32|", reference["int8"], reference["llama"])
    row("text: perplexity, int8", ppl["int8"], ppl["llama"])
    print(f"{'text: perplexity, float32':44} {ppl['float32']:9.4f}")
    print(f"{'chats: |float32 - transformers float32|':44} {reference['float32']:9.4f}")
    print(f"greedy, float32: {result['greedy_misses']} of {result['greedy_clear']} clear steps "
          "differ from transformers")
    for name, holds in result["holds"].items():
        print(f"{name}: {'holds' if holds else 'DOES NOT HOLD'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path,
                        default=ROOT / "models/SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--threads", type=int, default=1,
                        help="of each of the two replicas; the bits do not depend on it")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.model = options.model.resolve()
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    check_model(options.model, golden)
    result = measure(options, golden)
    result["holds"] = verdicts(result)
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        report(result)
    sys.exit(0 if all(result["holds"].values()) else 1)


if __name__ == "__main__":
    main()
