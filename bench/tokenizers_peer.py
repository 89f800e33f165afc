#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokenizer throughput against the `tokenizers` package: one thread, the same documents, the two in
turns, so that both see the same phases of the machine. The vocabularies are trained here on this
repository's own files, with the pipelines of Llama-3 and Llama-2.

    cmake --preset release -DSHOAL_BENCH=ON && cmake --build build/release --target tokenizer_bench
    bench/tokenizers_peer.py [--json]        # exit code 1 when a median ratio is below 1
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers  # noqa: E402

import text_families as families  # noqa: E402


def repository_text():
    listed = subprocess.run(["git", "ls-files", "-z", "src", "tests", "docs", "scripts", "bench", "*.md"],
                            cwd=ROOT, check=True, capture_output=True).stdout.split(b"\0")
    for name in listed:
        path = ROOT / os.fsdecode(name)
        if name and path.suffix in (".cc", ".h", ".md", ".py", ".txt", ".json") and path.stat().st_size < 200_000:
            yield path.read_text(encoding="utf-8", errors="ignore").replace("\0", "")


def train_byte_level(texts):
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = families.splits(families.LLAMA3)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=32000, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    return tokenizer


def train_sentencepiece(texts):
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.Metaspace()
    raw.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=30000, show_progress=False))
    learned = json.loads(raw.to_str())["model"]
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    pieces += sorted(learned["vocab"], key=learned["vocab"].get)
    tokenizer = Tokenizer(models.BPE(
        vocab={piece: i for i, piece in enumerate(pieces)}, merges=[tuple(m) for m in learned["merges"]],
        byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = families.fallback_decoder(True)
    return tokenizer


def documents_of(text, size):
    return [text[i:i + size] for i in range(0, len(text), size)]


def measure(tokenizer, folder, documents, pairs, binary):
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "documents").write_bytes(b"\0".join(d.encode() for d in documents))
    ours = subprocess.Popen([binary, str(folder), str(folder / "documents")], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    ratios, speeds, peers = [], [], []
    size = sum(len(d.encode()) for d in documents) / 1e6
    for pair in range(pairs + 1):
        ours.stdin.write("\n")
        ours.stdin.flush()
        seconds, count = ours.stdout.readline().split()
        start = time.perf_counter()
        peer_count = sum(len(tokenizer.encode(d, add_special_tokens=False).ids) for d in documents)
        peer = time.perf_counter() - start
        if int(count) != peer_count:
            sys.exit(f"{count} tokens here, {peer_count} there")
        if pair == 0:
            continue  # warms both up
        ratios.append(peer / float(seconds))
        speeds.append(size / float(seconds))
        peers.append(size / peer)
    ours.stdin.close()
    ours.wait()
    return {"ratio": statistics.median(ratios), "ratios": [round(r, 2) for r in ratios],
            "shoal_mb_s": statistics.median(speeds), "tokenizers_mb_s": statistics.median(peers)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=str(ROOT / "build" / "release" / "tokenizer_bench"))
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    texts = list(repository_text())
    text = "\n".join(texts)[:2_000_000]
    results = {}
    for kind, train in (("byte-level BPE", train_byte_level), ("SentencePiece BPE", train_sentencepiece)):
        tokenizer = train(texts)
        for name, size in (("whole texts of 1 MB", 1_000_000), ("prompts of 4 kB", 4_000)):
            with tempfile.TemporaryDirectory() as folder:
                results[f"{kind}, {name}"] = measure(
                    tokenizer, pathlib.Path(folder), documents_of(text, size), arguments.pairs, arguments.binary)
    if arguments.json:
        print(json.dumps(results, indent=1))
    else:
        for name, result in results.items():
            print(f"{name}: {result['shoal_mb_s']:.2f} MB/s, tokenizers {result['tokenizers_mb_s']:.2f} MB/s, "
                  f"median ratio {result['ratio']:.2f} of {result['ratios']}")
    return 0 if all(result["ratio"] >= 1 for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
