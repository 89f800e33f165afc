#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/text/: small tokenizers of every kind with the ids and texts that the reference
implementations (tokenizers, sentencepiece, jinja2) give for hard inputs. Deterministic: the same
packages give the same files. Needs the packages tokenizers, sentencepiece, gguf, protobuf and
jinja2."""

import json
import pathlib
import random

import gguf
import sentencepiece
from sentencepiece import sentencepiece_model_pb2

import text_families as families

from template_environment import environment
from text_hard import HARD, LONG

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "tests" / "golden" / "text"
TEMPLATES = OUT / "templates"

def fnv(ids):
    """A hash of ids too many to store: FNV-1a over their four bytes each."""
    value = 0xCBF29CE484222325
    for token in ids:
        for byte in token.to_bytes(4, "little"):
            value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def replaced(tokens, strip):
    """What Replace, ByteFallback, Fuse and Strip give, except that ill-formed runs of bytes become
    U+FFFD for every maximal subpart, as the Unicode standard recommends and streams need."""
    text, run = "", b""
    for token in tokens + [""]:
        if len(token) == 6 and token.startswith("<0x"):
            run += bytes([int(token[3:5], 16)])
            continue
        text += run.decode("utf-8", "replace") + token.replace("\u2581", " ")
        run = b""
    return text[1:] if strip and text.startswith(" ") else text


def decode_like(tokenizer, ids, skip):
    text = tokenizer.decode(ids, skip_special_tokens=skip)
    form = json.loads(tokenizer.to_str())
    steps = form["decoder"].get("decoders", [])
    if not any(step["type"] == "ByteFallback" for step in steps):
        return text
    special = {token["id"] for token in form["added_tokens"] if token["special"]}
    tokens = [tokenizer.id_to_token(i) for i in ids if not (skip and i in special)]
    ours = replaced(tokens, steps[-1]["type"] == "Strip")
    assert "\ufffd" in text or text == ours, (ids, text, ours)
    return ours


def random_ids(size, rng):
    for length in list(range(1, 12)) * 3 + [200, 600]:
        yield [rng.randrange(size) for _ in range(length)]


def goldens(name, tokenizer):
    """The Unigram model of tokenizers takes a text that spells a byte token for that byte; ours does
    not, as SentencePiece does not."""
    def ids(text):
        return tokenizer.encode(text, add_special_tokens=False).ids

    rng = random.Random(11)
    return {
        "ids": [None if name == "unigram-bytes" and "<0x" in text else ids(text) for text in HARD],
        "long": [fnv(ids(unit * count + tail)) for unit, count, tail in LONG],
        "decode": [{"ids": ids, "skip": decode_like(tokenizer, ids, True),
                    "keep": decode_like(tokenizer, ids, False)}
                   for ids in random_ids(tokenizer.get_vocab_size(), rng)]}


def make_kind(name, tokenizer, config, generation=None):
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    write(folder / "tokenizer_config.json", config)
    if generation:
        write(folder / "generation_config.json", generation)
    write(folder / "golden.json", goldens(name, tokenizer))


def make_parts(spm_unigram):
    """Single parts of pipelines: the pieces they cut, the texts they change (null: not changed)."""
    texts = [text for text in HARD if len(text) < 60]
    cut = [{"part": json.loads(part.__getstate__()),
            "pieces": [[piece for piece, _ in part.pre_tokenize_str(text) if piece] for text in texts[::3]]}
           for part in families.pre_tokenizer_parts()]
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(spm_unigram)
    changed = [{"part": json.loads(part.__getstate__()),
                "texts": [None if part.normalize_str(text) == text else part.normalize_str(text) for text in texts]}
               for part in families.normalizer_parts(proto.normalizer_spec.precompiled_charsmap)]
    write(OUT / "parts.json", {"texts": texts, "pre_tokenizers": cut, "normalizers": changed})


def make_tokenizers():
    write(OUT / "hard.json", {"texts": HARD, "long": [list(entry) for entry in LONG]})
    chatml = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "add_bos_token": False,
              "chat_template": (TEMPLATES / "chatml_default_system.jinja").read_text()}
    for name, tokenizer in families.byte_level_kinds():
        with_template = name in ("gpt2", "smollm")
        make_kind(name, tokenizer, chatml if with_template else {},
                  {"eos_token_id": [2, 0]} if with_template else None)
    for name, tokenizer in families.sentencepiece_bpe_kinds():
        make_kind(name, tokenizer, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"})
    spm = dict(families.sentencepiece_models(OUT))
    make_parts(spm["spm-unigram"])
    for name, tokenizer in families.unigram_kinds(spm["spm-unigram"]):
        make_kind(name, tokenizer, {"eos_token": "</s>"})
    for name, tokenizer in families.word_piece_kinds():
        make_kind(name, tokenizer, {"sep_token": "[SEP]", "cls_token": "[CLS]"})
    vocab = json.loads((OUT / "bert" / "tokenizer.json").read_text())["model"]["vocab"]
    (OUT / "bert" / "vocab.txt").write_text("\n".join(sorted(vocab, key=vocab.get)) + "\n")
    for name, model in spm.items():
        make_sentencepiece(name, model)


def make_sentencepiece(name, model):
    """Texts that spell user-defined or control pieces are left out: SentencePiece and llama.cpp do
    not agree on the spaces beside them."""
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.model").write_bytes(model)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    spelled = [processor.id_to_piece(i) for i in range(processor.get_piece_size())
               if processor.is_control(i) or processor.is_unknown(i)] + ["<tool>", "<n>"]

    def ids(text):
        return None if any(s in text for s in spelled) else processor.encode(text)

    rng = random.Random(11)
    decode = []
    for tokens in random_ids(processor.get_piece_size(), rng):
        tokens = [t for t in tokens if not processor.is_control(t) and not processor.is_unknown(t)]
        text = replaced([processor.id_to_piece(t) for t in tokens], True)
        whole = processor.decode(tokens)
        assert "\ufffd" in whole or whole == text, (tokens, whole, text)
        decode.append({"ids": tokens, "skip": text, "keep": text})
    write(folder / "golden.json", {
        "ids": [ids(text) for text in HARD],
        "long": [fnv(ids(unit * count + tail)) for unit, count, tail in LONG], "decode": decode})
    write_gguf(folder, processor, model)


def write_gguf(folder, processor, model):
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model)
    unigram = proto.trainer_spec.model_type == 1
    writer = gguf.GGUFWriter(str(folder / "model.gguf"), "llama")
    writer.add_tokenizer_model("t5" if unigram else "llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([piece.piece.encode() for piece in proto.pieces])
    writer.add_token_scores([piece.score for piece in proto.pieces])
    writer.add_token_types([int(piece.type) for piece in proto.pieces])
    if processor.bos_id() >= 0:
        writer.add_bos_token_id(processor.bos_id())
    writer.add_eos_token_id(processor.eos_id())
    writer.add_unk_token_id(processor.unk_id())
    writer.add_add_space_prefix(proto.normalizer_spec.add_dummy_prefix)
    if unigram:
        writer.add_remove_extra_whitespaces(proto.normalizer_spec.remove_extra_whitespaces)
        writer.add_precompiled_charsmap(proto.normalizer_spec.precompiled_charsmap)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "Weather \"now\" in <b>a city</b> — naïve",
    "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "The city"},
        "days": {"type": "integer", "minimum": 1, "default": 1.5},
        "units": {"type": "array", "items": {"type": "string"}, "enum": ["C", "F", None, True]}},
        "required": ["city"]}}}]
USER = {"role": "user", "content": "What is the capital of France?"}
CONVERSATIONS = {
    "one user turn": [USER],
    "system first": [{"role": "system", "content": "  Be brief.\n"}, USER],
    "three turns": [USER, {"role": "assistant", "content": " Paris. "},
                    {"role": "user", "content": "And of 대한민국? 🙂\n\n"}],
    "tool call": [USER, {"role": "assistant", "content": "", "tool_calls": [
        {"id": "c1", "type": "function", "function": {
            "name": "get_weather", "arguments": {"city": "Zürich", "days": 2, "deep": {"a": [1, 2.5, None]}}}}]},
        {"role": "tool", "tool_call_id": "c1", "name": "get_weather", "content": "{\"sky\": \"clear\"}"},
        {"role": "tool", "tool_call_id": "c2", "name": "get_weather", "content": "second"}],
    "thinking": [USER, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nParis</think>!"},
                 {"role": "user", "content": "Sure?"}],
    "two users": [USER, USER],
    "unknown role": [{"role": "critic", "content": "no"}],
    "no messages": [],
}


def render_all():
    cases = []
    for path in sorted(TEMPLATES.glob("*.jinja")):
        template = environment().from_string(path.read_text())
        for name, messages in CONVERSATIONS.items():
            for prompt, tools in ((True, None), (False, TOOLS)):
                case = {"template": path.name, "conversation": name, "messages": messages,
                        "tools": tools, "add_generation_prompt": prompt}
                try:
                    case["text"] = template.render(
                        messages=messages, tools=tools, documents=None,
                        add_generation_prompt=prompt, bos_token="<|im_start|>",
                        eos_token="<|im_end|>")
                except Exception as error:  # what refuses here must refuse there
                    case["error"] = str(error)
                cases.append(case)
    write(OUT / "renders.json", cases)


EXPRESSIONS = (OUT / "expressions.txt")


def evaluate_all():
    cases = []
    for source in EXPRESSIONS.read_text().split("\n===\n"):
        source = source.rstrip("\n")
        case = {"source": source}
        try:
            case["text"] = environment().from_string(source).render(
                messages=[USER], tools=TOOLS, n=7, f=2.5, s="Hello, Wörld", empty="", items=[3, 1, 2],
                d={"b": 1, "a": [1, "x"], "items": 5}, yes=True, nothing=None,
                people=[{"name": "bob", "age": 5, "tags": {"k": "v"}}, {"name": "Al", "age": 3}, {"name": "cy"}])
        except Exception as error:
            case["error"] = str(error)
        cases.append(case)
    write(OUT / "expressions.json", cases)


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    make_tokenizers()
    render_all()
    evaluate_all()
