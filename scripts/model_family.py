#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says, before anything is built, whether a model's family is one that Shoal has.

    scripts/model_family.py --name PATH   prints the name to serve it under, or fails with one line

PATH is a GGUF file or a Hugging Face directory. Needs only the standard library.
"""

import json
import os
import re
import struct
import sys

# Must agree with OpenModel (tests/scripts/test_model_family.py compares them).
GGUF_ARCHITECTURES = ("llama", "qwen2", "qwen3", "phi3", "gemma3", "bloom")
HF_ARCHITECTURES = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM",
                    "Qwen3ForCausalLM", "Phi3ForCausalLM", "Gemma3ForCausalLM",
                    "BloomForCausalLM")

SCALAR_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q",
                  11: "q", 12: "d"}
STRING, ARRAY = 8, 9
KEYS_MAX = 10_000
LENGTH_MAX = 1 << 26


class Unusable(Exception):
    """The model cannot be served; the message says why."""


class GgufReader:
    """Reads metadata keys until the architecture is found."""

    def __init__(self, stream):
        self.stream = stream

    def read(self, count):
        if count > LENGTH_MAX:
            raise Unusable("its header is damaged")
        data = self.stream.read(count)
        if len(data) != count:
            raise Unusable("it ends inside its header")
        return data

    def scalar(self, form):
        return struct.unpack("<" + form, self.read(struct.calcsize(form)))[0]

    def string(self):
        return self.read(self.scalar("Q")).decode("utf-8", "replace")

    def value(self, kind):
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            inner, count = self.scalar("I"), self.scalar("Q")
            if inner in SCALAR_FORMATS:
                self.read(count * struct.calcsize(SCALAR_FORMATS[inner]))
            else:
                for _ in range(count):
                    self.value(inner)
            return None
        if kind not in SCALAR_FORMATS:
            raise Unusable("its header is damaged")
        return self.scalar(SCALAR_FORMATS[kind])

    def architecture(self):
        if self.read(4) != b"GGUF":
            raise Unusable("it is neither a GGUF file nor a directory")
        self.scalar("I")  # version
        self.scalar("Q")  # tensors
        for _ in range(min(self.scalar("Q"), KEYS_MAX)):
            key = self.string()
            value = self.value(self.scalar("I"))
            if key == "general.architecture":
                return value
        raise Unusable("it names no general.architecture")


def check(path):
    if os.path.isdir(path):
        config = os.path.join(path, "config.json")
        try:
            with open(config, encoding="utf-8") as stream:
                architectures = json.load(stream).get("architectures") or []
        except (OSError, ValueError) as error:
            raise Unusable(f"its config.json cannot be read ({error})") from error
        if not any(name in HF_ARCHITECTURES for name in architectures):
            raise Unusable(f"its architecture {architectures} is not built; there is: "
                           + ", ".join(HF_ARCHITECTURES))
        return
    with open(path, "rb") as stream:
        architecture = GgufReader(stream).architecture()
    if architecture not in GGUF_ARCHITECTURES:
        raise Unusable(f"its architecture '{architecture}' is not built; there is: "
                       + ", ".join(GGUF_ARCHITECTURES))


def main():
    if len(sys.argv) != 3 or sys.argv[1] != "--name":
        sys.exit(__doc__)
    path = sys.argv[2]
    try:
        check(path)
    except (Unusable, OSError) as error:
        sys.exit(f"--model {path}: {error}")
    name = os.path.basename(os.path.normpath(path))
    name = re.sub(r"\.gguf$", "", name)
    print(re.sub(r"[^A-Za-z0-9._-]", "-", name).lower())


if __name__ == "__main__":
    main()
