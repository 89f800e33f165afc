#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/models: tiny seeded random models and what transformers computes for
them on CPU in float32. Run it only to change the goldens; they are committed.

Needs: pip install torch transformers>=5 accelerate safetensors gguf tokenizers numpy (made with
torch 2.15, transformers 5.24, gguf 0.17). Usage: scripts/make_goldens.py [NAME...]

A golden file (golden.bin beside the model, little-endian):
  8 bytes "SHGOLD01", int32 vocabulary, int32 columns per position, int32 prompts; then per prompt
  int32 length, int32 tokens[length];
  per position: float32 max |logit|, float32 log-sum-exp, float32 logits of the columns
    (position + j * vocabulary / columns) mod vocabulary, j = 0, 1, ...: every column comes up;
  int32 continuation length, then int32 token and float32 margin (best minus second logit) each.
"""

import pathlib
import struct
import sys

import numpy as np
import torch

import golden_families
import golden_models

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "models"
LENGTHS = [1, 15, 16, 17, 63, 64, 65, 511, 512, 513, 1100]
GGUF_LENGTHS = [1, 17, 64, 65, 513]
COLUMNS = 40
CONTINUATION = 16
MARGIN = 0.1
TRIES = 400


@torch.no_grad()
def continue_greedily(model, prompt):
    """Logits of the prompt; 16 greedy tokens with margins, or None when one is below MARGIN."""
    out = model(torch.tensor([prompt]), use_cache=True)
    logits, steps, cache = out.logits[0], [], out.past_key_values
    row = logits[-1]
    for _ in range(CONTINUATION):
        best = torch.topk(row, 2)
        margin = float(best.values[0] - best.values[1])
        if margin <= MARGIN:
            return logits, None
        steps.append((int(best.indices[0]), margin))
        out = model(best.indices[:1].reshape(1, 1), past_key_values=cache, use_cache=True)
        cache, row = out.past_key_values, out.logits[0, -1]
    return logits, steps


def make_prompt(model, rng, length):
    for attempt in range(TRIES):
        prompt = rng.integers(0, golden_models.VOCABULARY, length).tolist()
        logits, steps = continue_greedily(model, prompt)
        if steps is not None:
            return prompt, logits, steps, attempt
    raise SystemExit(f"no prompt of {length} tokens keeps margins above {MARGIN}")


def write_golden(path, model, seed, lengths):
    rng = np.random.default_rng(seed)
    vocabulary = golden_models.VOCABULARY
    stride = vocabulary // COLUMNS
    with open(path, "wb") as out:
        out.write(b"SHGOLD01" + struct.pack("<3i", vocabulary, COLUMNS, len(lengths)))
        for length in lengths:
            prompt, logits, steps, tries = make_prompt(model, rng, length)
            rows = logits.double().numpy()
            out.write(struct.pack("<i", length) + np.array(prompt, "<i4").tobytes())
            for position in range(length):
                row = rows[position]
                columns = (position + np.arange(COLUMNS) * stride) % vocabulary
                top = row.max()
                scale = [np.abs(row).max(), top + np.log(np.exp(row - top).sum())]
                out.write(np.array(scale + row[columns].tolist(), "<f4").tobytes())
            out.write(struct.pack("<i", len(steps)))
            for token, margin in steps:
                out.write(struct.pack("<if", token, margin))
            print(f"  length {length}: logit std {rows.std():.2f}, least margin "
                  f"{min(margin for _, margin in steps):.3f}, {tries} prompts rejected", flush=True)


def make_llama(name, directory):
    seed, dtype, fields = golden_models.VARIANTS[name]
    config = golden_models.make_config(fields)
    model = golden_models.make_model(seed, config, dtype)
    golden_models.write_hugging_face(directory, config, model, dtype)
    write_golden(directory / "golden.bin", model, seed, LENGTHS)


def make_llama_gguf(name, directory):
    seed, file_type, quantisation, fields = golden_models.GGUF_VARIANTS[name]
    config = golden_models.make_config(fields)
    model = golden_models.make_model(seed, config, torch.float32)
    path = directory / f"{name}.gguf"
    golden_models.write_gguf(path, config, model, file_type, quantisation)
    write_golden(directory / "golden.bin", golden_models.load_gguf(path), seed, GGUF_LENGTHS)


def make_family(name, directory):
    seed, dtype, architecture, fields, goldens = golden_families.FAMILIES[name]
    config, model = golden_families.make_family(architecture, fields, seed, dtype)
    golden_families.write_family(directory, config, model, dtype, architecture)
    for file, lengths in goldens.items():
        write_golden(directory / file, model, seed, lengths)


def make_family_gguf(name, directory):
    seed, file_architecture, quantisation, base, changes = golden_families.GGUF_FAMILIES[name]
    _, _, architecture, fields, goldens = golden_families.FAMILIES[base]
    config, model = golden_families.make_family(architecture, {**fields, **changes}, seed,
                                                torch.float32)
    golden_families.write_family_gguf(directory / f"{name}.gguf", file_architecture, config, model,
                                      quantisation)
    lengths = [length for length in goldens["golden.bin"] if length < 600]
    write_golden(directory / "golden.bin", model, seed, lengths)


def main():
    makers = {}
    for names, maker in ((golden_models.VARIANTS, make_llama),
                         (golden_models.GGUF_VARIANTS, make_llama_gguf),
                         (golden_families.FAMILIES, make_family),
                         (golden_families.GGUF_FAMILIES, make_family_gguf)):
        makers.update(dict.fromkeys(names, maker))
    torch.set_num_threads(1)
    for name in sys.argv[1:] or makers:
        print(name, flush=True)
        makers[name](name, ROOT / name)


if __name__ == "__main__":
    main()
