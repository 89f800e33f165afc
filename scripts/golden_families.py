# SPDX-License-Identifier: Apache-2.0
"""Tiny seeded random models of the families other than Llama, for make_goldens.py: Hugging Face
directories in both spellings of the config, and GGUF files."""

import copy

import gguf
import numpy as np
import torch
import transformers
from golden_models import (BOS, EOS, GGUF_NAMES, VOCABULARY, make_model, permute, quantise,
                           write_gguf_tokenizer, write_hugging_face, write_json)

COMMON = dict(vocab_size=VOCABULARY, max_position_embeddings=2048, bos_token_id=BOS,
              eos_token_id=EOS, pad_token_id=None)
ROPE = dict(rope_type="default", rope_theta=10000.0)
SMALL = dict(hidden_size=64, intermediate_size=160, num_attention_heads=4, num_key_value_heads=2)
LENGTHS = [1, 17, 64, 65, 513, 700]


def ramp(low, high, count):
    return [round(low + (high - low) * i / (count - 1), 3) for i in range(count)]


LONGROPE = dict(rope_type="longrope", rope_theta=10000.0, partial_rotary_factor=0.75,
                short_factor=ramp(1.0, 1.5, 9), long_factor=ramp(1.0, 12.0, 9),
                original_max_position_embeddings=64)

# name -> (seed, weight dtype, architecture, config fields, {golden file: prompt lengths})
FAMILIES = {
    "mistral-window": (31, torch.float32, "MistralForCausalLM", dict(
        SMALL, num_hidden_layers=2, sliding_window=100, rope_parameters=ROPE), {
            "golden.bin": LENGTHS}),
    "qwen2-window": (32, torch.bfloat16, "Qwen2ForCausalLM", dict(
        SMALL, num_hidden_layers=3, use_sliding_window=True, sliding_window=48,
        max_window_layers=1, tie_word_embeddings=True, rope_parameters=ROPE), {
            "golden.bin": LENGTHS}),
    "qwen3-yarn": (33, torch.float16, "Qwen3ForCausalLM", dict(
        SMALL, num_hidden_layers=2, head_dim=32, rope_parameters=dict(
            rope_type="yarn", rope_theta=10000.0, factor=4.0,
            original_max_position_embeddings=128)), {
            "golden.bin": LENGTHS}),
    # transformers takes the long factors for prompts above 64 tokens, the short ones below.
    "phi3-longrope": (34, torch.bfloat16, "Phi3ForCausalLM", dict(
        hidden_size=96, intermediate_size=160, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, sliding_window=100, original_max_position_embeddings=64,
        rope_parameters=LONGROPE), {
            "golden.bin": [65, 100, 513, 700], "golden-short.bin": [1, 17, 47]}),
    "gemma3-window": (35, torch.bfloat16, "Gemma3ForCausalLM", dict(
        hidden_size=96, intermediate_size=160, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=1, head_dim=32, sliding_window=72, query_pre_attn_scalar=48,
        final_logit_softcapping=30.0,
        layer_types=["sliding_attention", "sliding_attention", "full_attention",
                     "sliding_attention"],
        rope_parameters=dict(
            sliding_attention=dict(rope_type="default", rope_theta=1000.0),
            full_attention=dict(rope_type="linear", rope_theta=50000.0, factor=8.0))), {
            "golden.bin": LENGTHS}),
    "bloom-alibi": (36, torch.float16, "BloomForCausalLM", dict(
        hidden_size=96, n_layer=2, n_head=6), {
            "golden.bin": LENGTHS}),
}

# name -> (seed, architecture of the file, quantisation, name of the model above, changed fields)
GGUF_FAMILIES = {
    "gguf-mistral-f32": (41, "llama", gguf.GGMLQuantizationType.F32, "mistral-window", {}),
    "gguf-qwen2-bf16": (42, "qwen2", gguf.GGMLQuantizationType.BF16, "qwen2-window",
                        dict(use_sliding_window=False)),
    "gguf-qwen3-f16": (43, "qwen3", gguf.GGMLQuantizationType.F16, "qwen3-yarn", {}),
    "gguf-phi3-q8_0": (44, "phi3", gguf.GGMLQuantizationType.Q8_0, "phi3-longrope", {}),
    # The format fixes the pattern (every sixth layer) and the local base.
    "gguf-gemma3-q4_0": (45, "gemma3", gguf.GGMLQuantizationType.Q4_0, "gemma3-window", dict(
        num_hidden_layers=6, layer_types=["sliding_attention"] * 5 + ["full_attention"],
        query_pre_attn_scalar=32, rope_parameters=dict(
            sliding_attention=dict(rope_type="default", rope_theta=10000.0),
            full_attention=dict(rope_type="linear", rope_theta=50000.0, factor=8.0)))),
    "gguf-bloom-f16": (46, "bloom", gguf.GGMLQuantizationType.F16, "bloom-alibi", {}),
}


def make_family(architecture, fields, seed, dtype):
    """(config, model in float32); the model computes eagerly, as its published code does."""
    model_class = getattr(transformers, architecture)
    fields = copy.deepcopy(fields)  # config classes write into what they are given
    config = model_class.config_class(**{**COMMON, **fields})
    config._attn_implementation = "eager"
    gemma = architecture.startswith("Gemma")
    # The constructor's own value would be that of float32.
    scale = torch.tensor(config.hidden_size**0.5).to(dtype).to(torch.float32)

    def value_of(name, normal):
        if "word_embeddings_layernorm" in name and name.endswith("weight"):
            return normal(0.06) + 0.3
        if gemma and "norm" in name:  # stored as w - 1; outputs of blocks outweigh the embedding
            return normal(0.2) + (6 if "post_" in name else 0)
        return None

    model = make_model(seed, config, dtype, model_class, value_of)
    if gemma:
        model.model.embed_tokens.embed_scale.copy_(scale)
    return config, model


def in_version_4(fields):
    """The config as transformers 4 wrote it."""
    fields = copy.deepcopy(fields)
    fields["torch_dtype"] = fields.pop("dtype")
    rope = fields.pop("rope_parameters", None)
    if rope is None:
        return fields
    if "full_attention" in rope:
        fields["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        rope = rope["full_attention"]
    fields["rope_theta"] = rope.pop("rope_theta")
    kind = rope.get("rope_type")
    for key in ("partial_rotary_factor", "original_max_position_embeddings"):
        if key in rope and kind in ("longrope", "default"):
            fields[key] = rope.pop(key)
    if kind == "longrope":
        rope["type"] = "su"
        del rope["rope_type"]
    fields["rope_scaling"] = None if kind == "default" else rope
    if fields["model_type"] in ("qwen2", "qwen3"):
        fields.pop("layer_types")
    return fields


def write_family(directory, config, model, dtype, architecture):
    write_hugging_face(directory, config, model, dtype, architecture)
    text = (directory / "config.json").read_text()
    import json
    write_json(directory / "config-transformers-4.json", in_version_4(json.loads(text)))


FAMILY_NAMES = {
    "phi3": {"self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"},
    "gemma3": {"post_attention_layernorm": "post_attention_norm",
               "pre_feedforward_layernorm": "ffn_norm",
               "post_feedforward_layernorm": "post_ffw_norm"},
    "bloom": {"self_attention.query_key_value": "attn_qkv", "self_attention.dense": "attn_output",
              "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down"},
}
TOP_NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "transformer.word_embeddings": "token_embd", "transformer.ln_f": "output_norm",
    "transformer.word_embeddings_layernorm": "token_embd_norm",
}


def family_gguf_name(architecture, name):
    stem, suffix = name.rsplit(".", 1)
    if stem in TOP_NAMES:
        return f"{TOP_NAMES[stem]}.{suffix}"
    _, _, layer, rest = stem.split(".", 3)
    names = {**GGUF_NAMES, "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
             **FAMILY_NAMES.get(architecture, {})}
    return f"blk.{layer}.{names[rest]}.{suffix}"


def write_rope(writer, config, head_dim):
    rope = getattr(config, "rope_parameters", None)
    if rope is None:
        return
    rope = rope.get("full_attention", rope)
    writer.add_rope_freq_base(rope["rope_theta"])
    writer.add_rope_dimension_count(int(head_dim * rope.get("partial_rotary_factor", 1)))
    original = rope.get("original_max_position_embeddings")
    if rope["rope_type"] == "longrope":
        ratio = config.max_position_embeddings / original
        writer.add_rope_scaling_orig_ctx_len(original)
        writer.add_rope_scaling_attn_factors(float(np.sqrt(1 + np.log(ratio) / np.log(original))))
        for kind in ("long", "short"):
            writer.add_tensor(f"rope_factors_{kind}.weight",
                              np.array(rope[f"{kind}_factor"], np.float32))
    elif rope["rope_type"] == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(original)
    elif rope["rope_type"] == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])


def write_metadata(writer, architecture, config):
    head_dim = getattr(config, "head_dim", None) or (
        config.hidden_size // config.num_attention_heads)
    bloom = architecture == "bloom"
    writer.add_context_length(2048)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(4 * config.hidden_size if bloom else config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_attention_heads if bloom else config.num_key_value_heads)
    if bloom:
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
        return
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    if getattr(config, "sliding_window", None):
        writer.add_sliding_window(config.sliding_window)
    if getattr(config, "final_logit_softcapping", None):
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    write_rope(writer, config, head_dim)


def write_family_gguf(path, architecture, config, model, quantisation):
    """Writes the file and puts into `model` the weights that it holds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(str(path), architecture)
    writer.add_name(path.stem)
    write_metadata(writer, architecture, config)
    write_gguf_tokenizer(writer)
    state = model.state_dict()
    for name, value in sorted(state.items()):
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        rows = value.numpy().astype(np.float32)
        target = family_gguf_name(architecture, name)
        if rows.ndim == 2 and quantisation != gguf.GGMLQuantizationType.F32:
            kept = gguf.quants.dequantize(quantise(rows, quantisation), quantisation)
            rows = kept.reshape(rows.shape)
            value.copy_(torch.from_numpy(rows))
        if architecture == "llama" and "q_proj" in name:
            rows = permute(rows, config.num_attention_heads)
        if architecture == "llama" and "k_proj" in name:
            rows = permute(rows, config.num_key_value_heads)
        if "query_key_value" in name:  # stored as all q, all k, all v
            heads = config.num_attention_heads
            rows = rows.reshape(heads, 3, -1, *rows.shape[1:]).swapaxes(0, 1).reshape(rows.shape)
        if rows.ndim == 1:
            writer.add_tensor(target, rows + np.float32(architecture == "gemma3"))
        else:
            writer.add_tensor(target, quantise(rows, quantisation), raw_dtype=quantisation)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
