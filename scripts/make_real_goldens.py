#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/real/smollm2-135m-instruct.json: what transformers answers on the dequantised
GGUF of SmolLM2-135M-Instruct in float32, to five chats, greedily, with the margin of each choice.

Needs: pip install torch transformers>=5 accelerate gguf (made with torch 2.15, transformers 5.24),
and the model file (scripts/fetch_model.sh). Usage: scripts/make_real_goldens.py MODEL.gguf

Per chat: the prompt's token ids and 48 greedy tokens, each with margin (best minus second logit),
logprob, and the id of the second; the model file's size and SHA-256 say what they belong to.
"""

import hashlib
import json
import pathlib
import sys

import torch
import transformers

OUT = (pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "real" /
       "smollm2-135m-instruct.json")
TOKENS = 48
CHATS = [
    "What is the capital of France?",
    "Write a short poem about the sea.",
    "Explain in two sentences why the sky is blue.",
    "List three uses of a paper clip.",
    "Translate to German: The train arrives at nine o'clock.",
]


@torch.no_grad()
def answer(model, prompt):
    out = model(torch.tensor([prompt]), use_cache=True)
    steps = []
    for _ in range(TOKENS):
        row = out.logits[0, -1].double()
        best = torch.topk(row, 2)
        token = int(best.indices[0])
        steps.append({
            "token": token,
            "margin": round(float(best.values[0] - best.values[1]), 5),
            "logprob": round(float(torch.log_softmax(row, -1)[token]), 5),
            "second": int(best.indices[1]),
        })
        out = model(best.indices[:1].reshape(1, 1), past_key_values=out.past_key_values,
                    use_cache=True)
    return steps


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: make_real_goldens.py MODEL.gguf")
    path = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    source = dict(pretrained_model_name_or_path=path.parent, gguf_file=path.name)
    model = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(**source)
    chats = []
    for text in CHATS:
        rendered = tokenizer.apply_chat_template([{"role": "user", "content": text}],
                                                 tokenize=False, add_generation_prompt=True)
        prompt = tokenizer(rendered, add_special_tokens=False)["input_ids"]
        steps = answer(model, prompt)
        chats.append({"user": text, "prompt": prompt, "steps": steps})
        print(text, "->", tokenizer.decode([step["token"] for step in steps]), flush=True)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    result = {"file": path.name, "bytes": path.stat().st_size,
              "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "chats": chats}
    # One step a line: small, and a change shows as a small difference.
    text = json.dumps(result, ensure_ascii=False)
    text = text.replace('{"token"', '\n{"token"').replace('{"user"', '\n{"user"')
    OUT.write_text(text + "\n")


if __name__ == "__main__":
    main()
