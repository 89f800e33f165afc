# SPDX-License-Identifier: Apache-2.0
"""The tiny models behind the goldens: seeded random Llama variants (other families are in
golden_families.py), saved as Hugging Face
directories and as GGUF files. Used by make_goldens.py; see there for what must be installed."""

import json
import pathlib

import gguf
import k_quants
import numpy as np
import torch
import transformers
from safetensors.torch import save_file

VOCABULARY = 320
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
BOS, EOS = 0, 2
CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# A sentence or two per line: what the tokenizer's few merges are learned from.
CORPUS = """The quick brown fox jumps over the lazy dog.
A request enters the router and leaves the worker as a stream of tokens.
Paris is the capital of France, and the weather there is fine in the spring.
In the beginning there was one machine; then there were many of them.
What is the answer to the question that the other one asked in the end?
"""

# name -> (seed, weight dtype, LlamaConfig fields)
VARIANTS = {
    "mha": (11, torch.float32, dict(
        hidden_size=64, intermediate_size=160, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4)),
    "gqa-bias": (12, torch.float32, dict(
        hidden_size=72, intermediate_size=136, num_hidden_layers=3, num_attention_heads=6,
        num_key_value_heads=2, head_dim=40, attention_bias=True, mlp_bias=True)),
    "mqa-llama3-tied": (13, torch.bfloat16, dict(
        hidden_size=96, intermediate_size=192, num_hidden_layers=2, num_attention_heads=6,
        num_key_value_heads=1, tie_word_embeddings=True,
        rope_parameters=dict(rope_type="llama3", rope_theta=50000.0, factor=8.0,
                             low_freq_factor=1.0, high_freq_factor=4.0,
                             original_max_position_embeddings=256))),
    "gqa-linear-f16": (14, torch.float16, dict(
        hidden_size=64, intermediate_size=224, num_hidden_layers=2, num_attention_heads=8,
        num_key_value_heads=4, head_dim=24,
        rope_parameters=dict(rope_type="linear", rope_theta=10000.0, factor=4.0))),
}

GGUF_FIELDS = dict(hidden_size=96, intermediate_size=224, num_hidden_layers=2,
                   num_attention_heads=6, num_key_value_heads=2, head_dim=32)
K_FIELDS = dict(hidden_size=256, intermediate_size=256, num_hidden_layers=2,
                num_attention_heads=8, num_key_value_heads=2, head_dim=32)

# name -> (seed, file type, quantisation of the matrices, config fields). Dimensions are multiples
# of the format's block.
GGUF_VARIANTS = {
    "tiny-q8_0": (21, gguf.LlamaFileType.MOSTLY_Q8_0, gguf.GGMLQuantizationType.Q8_0,
                  GGUF_FIELDS),
    "tiny-q4_0": (22, gguf.LlamaFileType.MOSTLY_Q4_0, gguf.GGMLQuantizationType.Q4_0,
                  GGUF_FIELDS),
    "tiny-q4_1": (23, gguf.LlamaFileType.MOSTLY_Q4_1, gguf.GGMLQuantizationType.Q4_1,
                  GGUF_FIELDS),
    "tiny-q5_0": (24, gguf.LlamaFileType.MOSTLY_Q5_0, gguf.GGMLQuantizationType.Q5_0,
                  GGUF_FIELDS),
    "tiny-q5_1": (25, gguf.LlamaFileType.MOSTLY_Q5_1, gguf.GGMLQuantizationType.Q5_1,
                  GGUF_FIELDS),
    "tiny-q4_k": (26, gguf.LlamaFileType.MOSTLY_Q4_K_M, gguf.GGMLQuantizationType.Q4_K, K_FIELDS),
    "tiny-q5_k": (27, gguf.LlamaFileType.MOSTLY_Q5_K_M, gguf.GGMLQuantizationType.Q5_K, K_FIELDS),
    "tiny-q6_k": (28, gguf.LlamaFileType.MOSTLY_Q6_K, gguf.GGMLQuantizationType.Q6_K, K_FIELDS),
}
K_TYPES = (gguf.GGMLQuantizationType.Q4_K, gguf.GGMLQuantizationType.Q5_K,
           gguf.GGMLQuantizationType.Q6_K)


def quantise(rows, kind):
    if kind in K_TYPES:
        return k_quants.quantise(rows, kind)
    return gguf.quants.quantize(rows, kind)


def make_config(fields):
    return transformers.LlamaConfig(
        vocab_size=VOCABULARY, max_position_embeddings=2048, rms_norm_eps=1e-5,
        bos_token_id=BOS, eos_token_id=EOS, **fields)


def make_model(seed, config, dtype, model_class=transformers.LlamaForCausalLM,
               value_of=lambda name, normal: None):
    """Weights wide enough that logits spread (std about 5) and attention is far from uniform.

    value_of(name, normal) may choose a parameter's values; normal(std) draws some of its shape."""
    model = model_class(config).eval()
    generator = torch.Generator().manual_seed(seed)

    def normal(shape, std):
        return torch.randn(shape, generator=generator) * std

    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            chosen = value_of(name, lambda std, shape=parameter.shape: normal(shape, std))
            if chosen is not None:
                value = chosen
            elif name.endswith(".bias"):
                value = normal(parameter.shape, 0.3)
            elif "norm" in name or "ln_f" in name:
                value = 1 + normal(parameter.shape, 0.2)
            elif "embed" in name or "lm_head" in name:
                value = normal(parameter.shape, 5.0 / config.hidden_size**0.5)
            else:
                value = normal(parameter.shape, 1.4 / parameter.shape[1] ** 0.5)
            # Rounded to the stored type, computed with in float32.
            parameter.copy_(value.to(dtype).to(torch.float32))
    return model.to(torch.float32)


def make_tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(CORPUS.splitlines(), trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=SPECIAL, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    assert tokenizer.get_vocab_size() == VOCABULARY, tokenizer.get_vocab_size()
    return tokenizer


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def write_hugging_face(directory, config, model, dtype, architecture="LlamaForCausalLM"):
    directory.mkdir(parents=True, exist_ok=True)
    fields = config.to_dict()
    fields.pop("transformers_version", None)
    fields["architectures"] = [architecture]
    fields["dtype"] = str(dtype).removeprefix("torch.")
    write_json(directory / "config.json", fields)
    write_json(directory / "generation_config.json",
               {"bos_token_id": BOS, "eos_token_id": [EOS, 0], "do_sample": False})
    state = {name: value.to(dtype).contiguous() for name, value in model.state_dict().items()
             if not (config.tie_word_embeddings and name == "lm_head.weight")}
    save_file(state, directory / "model.safetensors", metadata={"format": "pt"})
    make_tokenizer().save(str(directory / "tokenizer.json"))
    write_json(directory / "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|endoftext|>",
        "eos_token": "<|im_end|>", "add_bos_token": False, "chat_template": CHATML,
        "clean_up_tokenization_spaces": False})


def permute(rows, heads):
    """The GGUF order of q and k: pairs (i, i + d/2) of a head become neighbours (2i, 2i + 1)."""
    shape = rows.shape
    return rows.reshape(heads, 2, shape[0] // heads // 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


GGUF_NAMES = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def gguf_name(name):
    if name == "model.embed_tokens.weight":
        return "token_embd.weight"
    if name == "model.norm.weight":
        return "output_norm.weight"
    if name == "lm_head.weight":
        return "output.weight"
    _, _, layer, rest = name.split(".", 3)
    stem, suffix = rest.rsplit(".", 1)
    return f"blk.{layer}.{GGUF_NAMES[stem]}.{suffix}"


def write_gguf_tokenizer(writer):
    model = json.loads(make_tokenizer().to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    kinds = [gguf.TokenType.CONTROL if token in SPECIAL else gguf.TokenType.NORMAL
             for token in tokens]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(BOS)
    writer.add_eos_token_id(EOS)
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHATML)


def write_gguf(path, config, model, file_type, quantisation):
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name(path.stem)
    writer.add_file_type(file_type)
    writer.add_vocab_size(config.vocab_size)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    write_gguf_tokenizer(writer)
    for name, value in sorted(model.state_dict().items()):
        rows = value.numpy().astype(np.float32)
        if name.endswith("q_proj.weight"):
            rows = permute(rows, config.num_attention_heads)
        if name.endswith("k_proj.weight"):
            rows = permute(rows, config.num_key_value_heads)
        if rows.ndim == 1:
            writer.add_tensor(gguf_name(name), rows)
            continue
        # As files in the wild do, the embedding keeps more bits than the layers, and v and down
        # more than the rest of a Q4_K_M file.
        kind = gguf.GGMLQuantizationType.Q8_0 if "embed_tokens" in name else quantisation
        if file_type == gguf.LlamaFileType.MOSTLY_Q4_K_M and (
                "v_proj" in name or "down_proj" in name):
            kind = gguf.GGMLQuantizationType.Q6_K
        writer.add_tensor(gguf_name(name), quantise(rows, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def load_gguf(path):
    """transformers' own reader, which dequantises and undoes the permutation."""
    path = pathlib.Path(path)
    return transformers.AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32).eval()
