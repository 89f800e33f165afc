#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/text/: two small byte-level BPE tokenizers with the ids and texts that the
reference implementations (tokenizers, jinja2) give for hard inputs. Deterministic: the same
packages give the same files. Needs the packages tokenizers and jinja2."""

import json
import pathlib
import random

import jinja2
import jinja2.sandbox
from jinja2.ext import loopcontrols
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "tests" / "golden" / "text"
TEMPLATES = OUT / "templates"

SENTENCES = [
    "The quick brown fox jumps over the lazy dog, and then it doesn't jump again.",
    "We'll see whether they've finished; I'm sure he'd know what you're after, it's late.",
    "In 1984 there were 12,345 reasons to count from 0 to 9999 and back again.",
    "def main(args):\n    for i in range(10):\n        print(i, args[i])\n    return 0\n",
    "The capital of France is Paris. The capital of Germany is Berlin.",
    "안녕하세요 세계, 한국어 문장입니다.",
    "Привет, мир! Это простой текст на русском языке.",
    "日本語のテキストと漢字。",
    "مرحبا بالعالم",
    "A model reads tokens and writes tokens, one after another, until it stops.",
]

HARD = [
    "", " ", "  ", "a", " a", "a ", "\n", "\r\n", "\n\n\n", " \n ", "\t\tx", "x" * 300,
    " " * 70 + "end", "a  b   c    d", "trailing   ", "line\r\nline\r\n\r\nline",
    "Hello, world!", "HELLO hello HeLLo", "don't we'll I'm you've he'd they're it's DON'T I'M",
    "''s 's'd 'll", "1", "12", "2024-11-30 12:34:56.789", "x1y22z333", "3.14159e-10", "٣٤٥ १२३ ½ ² Ⅷ",
    "👨‍👩‍👧‍👦 family", "🏳️‍🌈🏴‍☠️", "é e\u0301 ñ n\u0303 ö", "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘",
    "안녕하세요 여러분", "각각", "مرحبا بالعالم ١٢٣", "สวัสดีชาวโลก", "नमस्ते दुनिया क्षत्रिय", "日本語テキスト、漢字。",
    "Привет", "Ελληνικά", "עברית", "a\u00a0b\u2003c\u3000d\u180ee\u200bf\ufefff\u0085g\u2028h",
    "zero\u0000byte \u0001\u001f\u007f", "\U0010ffff\ue000\ufffd", "if (a != b && c >= d) { return x->y; }",
    "#include <vector>\n\nint main() {\n\treturn 0;\n}\n", "https://example.com/a?b=c&d=%20#e",
    "<|im_start|>user\nHi<|im_end|>\n", "<|im_start|><|im_end|>", "<|im_start|", "|im_end|>", "<<|im_end|>>",
    "x<|im_end|>y", "<|endoftext|>", "text <tool> more </tool>", "a<tool>b", "<tool>", "<too", "<tool><tool>",
    "left <strip>  right", "left  <strip>x", "<strip>", "  <strip>  <strip>  ", "word wordy aword word", "word",
    "word,word word-word", "norm<n>x", "ab" * 500, "aaaaaaaaaaaaaaaaab" * 20, "the" * 100, "  the  the",
    "\u1e9e\u00df\u0130\u0131", "ﬀ ﬁ", "e=mc²", "snake_case camelCase PascalCase", "___---***", "😀😃😄😁", "a😀b",
]


def corpus():
    rng = random.Random(7)
    for _ in range(400):
        yield " ".join(rng.choices(SENTENCES, k=3))


def train(pre_tokenizer, special, added):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=1000, special_tokens=special, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator(corpus(), trainer)
    tokenizer.add_tokens(added)
    return tokenizer


def make_tokenizers():
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    added = [
        AddedToken("<tool>", normalized=False), AddedToken("</tool>", normalized=False),
        AddedToken("<strip>", lstrip=True, rstrip=True, normalized=False),
        AddedToken("word", single_word=True, normalized=False), AddedToken("<n>", normalized=True)]
    gpt2 = train(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True), special, added)
    smollm = train(pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]), special, added)
    for name, tokenizer in (("gpt2", gpt2), ("smollm", smollm)):
        folder = OUT / name
        folder.mkdir(parents=True, exist_ok=True)
        tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
        write(folder / "tokenizer_config.json", {
            "bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "add_bos_token": False,
            "chat_template": (TEMPLATES / "chatml_default_system.jinja").read_text()})
        write(folder / "generation_config.json", {"eos_token_id": [2, 0]})
        write(folder / "golden.json", goldens(tokenizer))


def goldens(tokenizer):
    encode = [{"text": text, "ids": tokenizer.encode(text).ids} for text in HARD]
    rng = random.Random(11)
    size = tokenizer.get_vocab_size()
    decode = []
    for length in list(range(1, 12)) * 3 + [200, 1000]:
        ids = [rng.randrange(size) for _ in range(length)]
        decode.append({
            "ids": ids,
            "skip": tokenizer.decode(ids, skip_special_tokens=True),
            "keep": tokenizer.decode(ids, skip_special_tokens=False)})
    return {"encode": encode, "decode": decode}


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


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    class Generation(jinja2.ext.Extension):
        tags = {"generation"}

        def parse(self, parser):
            next(parser.stream)
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.Scope(body)

    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, Generation])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda form: __import__("datetime").datetime(
        2026, 2, 3, 4, 5, 6).strftime(form)
    return env


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
