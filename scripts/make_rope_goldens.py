#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/rope.json: rotary frequencies and magnitudes as transformers computes them for
many configs, each in the spelling of transformers 4 and of 5. Run it only to change the goldens.

Needs: pip install torch transformers>=5 (made with transformers 5.24).
"""

import copy
import json
import pathlib

import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "rope.json"
SIZES = dict(vocab_size=320, hidden_size=256, intermediate_size=96, num_hidden_layers=1,
             num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=32768)
SHORT = [round(1 + i / 50, 3) for i in range(48)]
LONG = [round(1 + i * 0.7, 3) for i in range(48)]

# name -> (architecture, rope_parameters, whether the long factors are used)
CASES = {
    "default": ("LlamaForCausalLM", dict(rope_type="default", rope_theta=500000.0), False),
    "linear": ("LlamaForCausalLM", dict(rope_type="linear", rope_theta=10000.0, factor=4.0),
               False),
    "dynamic": ("LlamaForCausalLM", dict(rope_type="dynamic", rope_theta=10000.0, factor=4.0),
                False),
    "llama3": ("LlamaForCausalLM", dict(
        rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0,
        high_freq_factor=4.0, original_max_position_embeddings=8192), False),
    "yarn": ("LlamaForCausalLM", dict(
        rope_type="yarn", rope_theta=1000000.0, factor=4.0,
        original_max_position_embeddings=8192), False),
    "yarn-mscale": ("LlamaForCausalLM", dict(
        rope_type="yarn", rope_theta=10000.0, factor=40.0, mscale=1.0, mscale_all_dim=0.707,
        original_max_position_embeddings=4096), False),
    "yarn-equal-mscale": ("LlamaForCausalLM", dict(
        rope_type="yarn", rope_theta=10000.0, factor=40.0, mscale=1.0, mscale_all_dim=1.0,
        beta_fast=16, beta_slow=2, original_max_position_embeddings=4096), False),
    "yarn-without-truncation": ("LlamaForCausalLM", dict(
        rope_type="yarn", rope_theta=150000.0, factor=32.0, truncate=False,
        original_max_position_embeddings=4096), False),
    "yarn-with-its-factor": ("LlamaForCausalLM", dict(
        rope_type="yarn", rope_theta=10000.0, factor=2.0, attention_factor=1.25,
        original_max_position_embeddings=16384), False),
    "longrope-short": ("Phi3ForCausalLM", dict(
        rope_type="longrope", rope_theta=10000.0, partial_rotary_factor=0.75, short_factor=SHORT,
        long_factor=LONG, original_max_position_embeddings=4096), False),
    "longrope-long": ("Phi3ForCausalLM", dict(
        rope_type="longrope", rope_theta=10000.0, partial_rotary_factor=0.75, short_factor=SHORT,
        long_factor=LONG, original_max_position_embeddings=4096), True),
}


def in_version_4(config):
    config = copy.deepcopy(config)
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    kind = rope.pop("rope_type")
    if kind == "longrope":
        config["partial_rotary_factor"] = rope.pop("partial_rotary_factor")
        config["original_max_position_embeddings"] = rope.pop("original_max_position_embeddings")
    # The older of its two words.
    config["rope_scaling"] = None if kind == "default" else dict(
        rope, type="su" if kind == "longrope" else kind)
    return config


def main():
    entries = []
    for name, (architecture, rope, use_long) in CASES.items():
        stated = dict(architectures=[architecture], **SIZES, rope_parameters=rope)
        config_class = getattr(transformers, architecture).config_class
        config = config_class(**copy.deepcopy({k: v for k, v in stated.items()
                                               if k != "architectures"}))
        if rope["rope_type"] == "default":
            dim = 128
            inv_freq = [rope["rope_theta"] ** (-2 * i / dim) for i in range(dim // 2)]
            magnitude = 1.0
        else:
            length = 5000 if use_long else 1
            tensor, magnitude = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config, "cpu", length)
            inv_freq = tensor.tolist()
        entries.append(dict(name=name, config=stated, config4=in_version_4(stated), long=use_long,
                            inv_freq=[float(f"{value:.9g}") for value in inv_freq],
                            magnitude=magnitude))
    OUT.write_text("[\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]\n")


if __name__ == "__main__":
    main()
