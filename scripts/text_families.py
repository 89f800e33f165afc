# SPDX-License-Identifier: Apache-2.0
"""Small tokenizers with the pipelines that model families publish, for make_text_goldens.py."""

import collections
import io
import itertools
import json
import random
import re

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors, trainers)

from text_hard import SENTENCES

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES
QWEN2 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES
UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
O200K = (r"[^\r\n\p{L}\p{N}]?" + UPPER + "*" + LOWER + "+" + CONTRACTIONS + "?|"
         r"[^\r\n\p{L}\p{N}]?" + UPPER + "+" + LOWER + "*" + CONTRACTIONS + "?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + SPACES)
DEEPSEEK_V3 = (r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"""
               r""" ?[\p{P}\p{S}]+[\r\n]*|""" + SPACES)
# Ranges of letters of the cased scripts, as deepseek-llm's pattern lists them.
CASED_RANGES = (
    "41-5A 61-7A B5 C0-D6 D8-F6 F8-1BA 1BC-1BF 1C4-293 295-2AF 370-373 376-377 37B-37D "
    "37F 386 388-38A 38C 38E-3A1 3A3-3F5 3F7-481 48A-52F 531-556 10A0-10C5 13A0-13F5 "
    "13F8-13FD 1C90-1CBA 1CBD-1CBF 1D00-1D2B 1D6B-1D77 1D79-1D9A 1E00-1F15 1F18-1F1D "
    "1F20-1F45 1F48-1F4D 1F50-1F57 1F59 1F5B 1F5D 1F5F-1F7D 1F80-1FB4 1FB6-1FBC 1FBE "
    "1FC2-1FC4 1FC6-1FCC 1FD0-1FD3 1FD6-1FDB 1FE0-1FEC 1FF2-1FF4 1FF6-1FFC 2102 2107 "
    "210A-2113 2115 2119-211D 2124 2126 2128 212A-212D 212F-2134 2139 213C-213F 2145-2149 "
    "214E 2183-2184 2C00-2C7B 2C7E-2CE4 2CEB-2CEE 2CF2-2CF3 A640-A66D A680-A69B A722-A76F "
    "A771-A787 A78B-A78E AB70-ABBF FB00-FB06 FB13-FB17 FF21-FF3A FF41-FF5A 10400-1044F "
    "104B0-104D3 104D8-104FB 10C80-10CB2 10CC0-10CF2 118A0-118DF 1E900-1E943 ")


def characters(ranges):
    return "".join("-".join(chr(int(end, 16)) for end in r.split("-")) for r in ranges.split())


CASED = r"\s?[" + characters(CASED_RANGES) + "]+"
MARKS = r"\s?[!-/:-~" + characters("FF01-FF0F FF1A-FF5E 2018-201F 3000-3002") + "]+"
CJK = "[" + characters("4E00-9FA5 800-4E00 AC00-D7FF") + "]+"
KANA = "[" + characters("4E00-9FA5 3040-309F 30A0-30FF") + "]+"
ADDED = [
    AddedToken("<tool>", normalized=False), AddedToken("</tool>", normalized=False),
    AddedToken("<strip>", lstrip=True, rstrip=True, normalized=False),
    AddedToken("word", single_word=True, normalized=False), AddedToken("<n>", normalized=True)]


def corpus():
    rng = random.Random(7)
    for _ in range(400):
        yield " ".join(rng.choices(SENTENCES, k=3))


def alphabet(size):
    """The most frequent characters; a trainer's own choice among equals is not always the same."""
    counts = collections.Counter("".join(corpus()).replace(" ", "▁"))
    chosen = sorted(counts, key=lambda c: (-counts[c], c))[:size]
    return {"initial_alphabet": sorted(chosen), "limit_alphabet": len(chosen)}


def invented_words():
    """Words of a few syllables: a Unigram trainer needs more of them than the sentences have."""
    rng = random.Random(5)
    syllables = [a + b for a in "bcdfghklmnprstvwz" for b in ("a", "e", "i", "o", "u", "er", "ing", "st")]
    for _ in range(1500):
        yield " ".join("".join(rng.choices(syllables, k=rng.randrange(1, 4))) for _ in range(6))


def splits(*patterns):
    parts = [p if not isinstance(p, str) else pre_tokenizers.Split(Regex(p), "isolated") for p in patterns]
    return pre_tokenizers.Sequence(
        parts + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def byte_level(pre_tokenizer, special, normalizer=None, bos=None, **model):
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=1000, special_tokens=special, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    tokenizer.add_tokens(ADDED)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    if bos:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{bos} $A", pair=f"{bos} $A {bos} $B:1",
            special_tokens=[(bos, tokenizer.token_to_id(bos))])
    return tokenizer


def byte_level_kinds():
    chatml = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    deepseek = ["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"]
    yield "gpt2", byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), chatml)
    yield "smollm", byte_level(pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]), chatml)
    yield "llama3", byte_level(splits(LLAMA3), ["<|begin_of_text|>", "<|eot_id|>"],
                               bos="<|begin_of_text|>", ignore_merges=True)
    yield "qwen2", byte_level(splits(QWEN2), chatml, normalizer=normalizers.NFC())
    yield "o200k", byte_level(splits(O200K), ["<|endoftext|>"])
    yield "deepseek-v3", byte_level(
        splits(r"\p{N}{1,3}", KANA, DEEPSEEK_V3), deepseek, normalizer=normalizers.Sequence([]))
    yield "deepseek-coder", byte_level(
        splits(r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CJK, pre_tokenizers.Digits(individual_digits=True)), deepseek)
    yield "deepseek-llm", byte_level(
        splits(r"[\r\n]", CASED, MARKS, r"\s+$", CJK,
               pre_tokenizers.Digits(individual_digits=True)), deepseek)
    falcon = byte_level(pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Digits(),
        pre_tokenizers.ByteLevel(add_prefix_space=True)]), ["<|endoftext|>"],
        normalizer=normalizers.Sequence([normalizers.NFKC(), normalizers.Strip(left=True, right=False)]))
    yield "prefixed", falcon


def sentencepiece_bpe(special, added=ADDED, split_digits=False):
    """A vocabulary as converted SentencePiece models have it: control tokens, bytes, then pieces."""
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.Metaspace()
    raw.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=700, show_progress=False, **alphabet(70)))
    learned = json.loads(raw.to_str())["model"]
    pieces = special + [f"<0x{byte:02X}>" for byte in range(256)]
    pieces += ["▁" * n for n in range(8, 1, -1)]
    pieces += [p for p in sorted(learned["vocab"], key=learned["vocab"].get) if p not in pieces]
    merges = [("▁" * a, "▁" * (n - a)) for n in range(2, 9) for a in range(1, n)]
    merges += [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in learned["merges"]]
    tokenizer = Tokenizer(models.BPE(
        vocab={piece: i for i, piece in enumerate(pieces)}, merges=merges, byte_fallback=True,
        fuse_unk=True, unk_token="<unk>"))
    tokenizer.add_special_tokens([AddedToken(s, normalized=False) for s in special])
    tokenizer.add_tokens(added)
    return tokenizer


def with_bos(tokenizer, bos):
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A", pair=f"{bos} $A {bos} $B", special_tokens=[(bos, tokenizer.token_to_id(bos))])
    return tokenizer


def fallback_decoder(strip):
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    return decoders.Sequence(parts + ([decoders.Strip(" ", 1, 0)] if strip else []))


def sentencepiece_bpe_kinds():
    special = ["<unk>", "<s>", "</s>"]
    llama = with_bos(sentencepiece_bpe(special), "<s>")
    llama.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    llama.decoder = fallback_decoder(True)
    yield "llama2", llama
    mistral = with_bos(sentencepiece_bpe(special), "<s>")
    mistral.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    mistral.decoder = fallback_decoder(True)
    yield "mistral", mistral
    phi = sentencepiece_bpe(special, ADDED[2:3])
    phi.add_special_tokens([AddedToken(s, rstrip=True, normalized=False)
                            for s in ("<|user|>", "<|end|>", "<|assistant|>", "<|endoftext|>")])
    phi.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    phi.decoder = fallback_decoder(True)
    yield "phi3", with_bos(phi, "<s>")
    gemma = sentencepiece_bpe(["<pad>", "</s>", "<s>", "<unk>", "<start_of_turn>", "<end_of_turn>"],
                              [AddedToken(t, normalized=False) for t in ("\n\n", "\n\n\n", "▁▁▁▁▁▁", "<tool>")])
    gemma.normalizer = normalizers.Replace(" ", "▁")
    gemma.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    gemma.decoder = fallback_decoder(False)
    yield "gemma", with_bos(gemma, "<s>")


RULES = "".join(f"{' '.join(f'{ord(c):X}' for c in source)}\t{' '.join(f'{ord(c):X}' for c in to)}\n" for source, to in [
    ("\t", " "), ("\n", " "), ("\r", " "), ("\u00a0", " "), ("\u2003", " "), ("\u3000", " "), ("ﬁ", "fi"), ("ﬀ", "ff"),
    ("e\u0301", "é"), ("n\u0303", "ñ"), ("½", "1/2"), ("²", "2"), ("Ⅷ", "VIII"), ("…", "..."), ("１", "1"), ("２", "2"), ("\u200b", ""), ("ａ", "a"),
    ("\u1100\u1161", "가"), ("\u212b", "Å"), ("™", "TM")])


def sentencepiece_model(folder, **options):
    out = io.BytesIO()
    rules = folder / "rules.tsv"
    if options.pop("rules", False):
        rules.write_text(RULES)
        options["normalization_rule_tsv"] = str(rules)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(line for text in itertools.chain(corpus(), invented_words())
                           for line in text.split("\n")), model_writer=out,
        user_defined_symbols=["<tool>", "<n>"], minloglevel=2, **options)
    rules.unlink(missing_ok=True)
    return out.getvalue()


def sentencepiece_models(folder):
    yield "spm-bpe", sentencepiece_model(
        folder, model_type="bpe", vocab_size=800, byte_fallback=True, character_coverage=0.98,
        normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True,
        allow_whitespace_only_pieces=True)
    yield "spm-unigram", sentencepiece_model(
        folder, model_type="unigram", vocab_size=360, character_coverage=0.98, rules=True, bos_id=-1, pad_id=0, eos_id=1, unk_id=2)


def unigram_kinds(spm_unigram):
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(spm_unigram)
    vocab = [(piece.piece, piece.score) for piece in proto.pieces]
    charsmap = proto.normalizer_spec.precompiled_charsmap
    t5 = Tokenizer(models.Unigram(vocab, unk_id=2, byte_fallback=False))
    t5.normalizer = normalizers.Sequence([normalizers.Precompiled(charsmap), normalizers.Strip(left=False),
                                          normalizers.Replace(Regex(" {2,}"), "▁")])
    t5.pre_tokenizer = pre_tokenizers.Metaspace()
    t5.decoder = decoders.Metaspace()
    t5.add_special_tokens(["<pad>", "</s>", "<unk>"])
    t5.add_tokens(ADDED)
    yield "t5", t5
    vocab = [(piece, score) for piece, score in vocab] + [(f"<0x{byte:02X}>", 0.0) for byte in range(256)]
    fallback = Tokenizer(models.Unigram(vocab, unk_id=2, byte_fallback=True))
    fallback.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    fallback.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")])
    fallback.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    fallback.add_special_tokens(["<pad>", "</s>", "<unk>"])
    yield "unigram-bytes", fallback


def pre_tokenizer_parts():
    split = pre_tokenizers.Split
    behaviors = ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")
    for behavior in behaviors:
        yield split(" ", behavior)
        yield split(Regex(r"\p{L}|\d{2}"), behavior)
        yield split(Regex(r"[\p{Lu}\s]+"), behavior, invert=True)
        yield pre_tokenizers.Punctuation(behavior)
    yield pre_tokenizers.CharDelimiterSplit("e")
    yield pre_tokenizers.Whitespace()
    yield pre_tokenizers.WhitespaceSplit()
    yield pre_tokenizers.BertPreTokenizer()
    yield pre_tokenizers.Digits(individual_digits=True)
    yield pre_tokenizers.Digits()
    for scheme in ("always", "first", "never"):
        for whole in (False, True):
            yield pre_tokenizers.Metaspace(prepend_scheme=scheme, split=whole)
    yield pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="first")])
    for pattern in (LLAMA3, QWEN2, O200K, DEEPSEEK_V3, CASED, MARKS, CJK, KANA, r"\s+$", r"\s?\p{P}+"):
        yield split(Regex(pattern), "isolated")


def normalizer_parts(charsmap):
    yield from (normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD(), normalizers.Lowercase(),
                normalizers.StripAccents(), normalizers.Nmt(), normalizers.Prepend("▁"), normalizers.Precompiled(charsmap),
                normalizers.Replace("e", "\u0301"), normalizers.Replace(Regex(r"\s{2,}"), "_"),
                normalizers.Strip(left=True, right=False), normalizers.Strip(left=False, right=True),
                normalizers.BertNormalizer(), normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False),
                normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.NFC()]))


def word_pieces():
    """Characters, frequent words and frequent ends of words; the package's trainer does not always
    find the same ones."""
    words = collections.Counter(re.findall(r"\w+", " ".join(corpus()).lower()))
    ends = collections.Counter()
    for word, count in words.items():
        for length in range(2, len(word)):
            ends["##" + word[-length:]] += count
    most = lambda counter, size: sorted(counter, key=lambda w: (-counter[w], w))[:size]
    letters = [c for c in alphabet(110)["initial_alphabet"] if not c.isspace() and c != "▁"]
    pieces = letters + ["##" + c for c in letters] + most(words, 200) + most(ends, 200)
    return list(dict.fromkeys(pieces))


def word_piece_kinds():
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    for name, cased in (("bert", False), ("bert-cased", True)):
        bert = Tokenizer(models.WordPiece({p: i for i, p in enumerate(special + word_pieces())}, unk_token="[UNK]"))
        bert.normalizer = normalizers.BertNormalizer(lowercase=not cased)
        bert.pre_tokenizer = pre_tokenizers.BertPreTokenizer() if not cased else pre_tokenizers.Whitespace()
        bert.decoder = decoders.WordPiece()
        bert.add_special_tokens(special)
        if cased:
            bert.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.NFKD()])
        bert.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        yield name, bert
