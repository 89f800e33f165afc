# SPDX-License-Identifier: Apache-2.0
"""Texts that tokenizers get wrong, for scripts/make_text_goldens.py."""

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
    # Letters of every case and script beside each other, and where one pattern ends.
    "XMLHttpRequest HTTPServer iPhone eBay McDONALD", "ABCdefGHIjkl", "ǅungla ǈ ǋ", "ʰʲʷ ªº", "aʼb ʻokina", "Ⅷ ⅷ Ⓐ ⓑ 🄰",
    "naïve café Zürich Ångström", "nai\u0308ve cafe\u0301 Zu\u0308rich A\u030angstro\u0308m", "A\u0300\u0301\u0323\u0328", "\u0301 leading mark",
    " \u0301mark after space", "1\u0301 digit with mark", "!\u0301?\u0301", "\u1100\u1161\u11a8 jamo 각", "\u0958\u0915\u093c", "\u2126\u212b\u212a",
    "'ſ'S'T'RE'Ve'LL'd'M", "I'LL we'Re 'tis o'clock rock'n'roll", "x's x'S x's's", "’s it’s", "a'b'c''d", "'re're", " 's 't", "''", "'", "it's1's",
    # Spaces.
    "a \n b", "a\n\n b", "a \r\n \r\n b", "a\t \tb", "\r\r\n\n\r", " \r", "\n ", "  \n  ", "   a", "a   ", "a\u2003\u2003b", "\u3000\u3000x", "a\u00a0 b", " \u00a0x",
    "\u2028\u2029", "\x0b\x0c x", "\x1c\x1d\x1e\x1f", "a\u200b b\u200c c\u200d d\u2060", "end\n", "end \n", "end \n\n", "\n\nstart", "tab\tsep\tvalues\n1\t2\n",
    "    def f(x):\n        return x  # comment\n\n\n    def g():\n\tpass\n", "x =  1;   y  =   2;", "}\n\n}\n\n}", "  - item\n    - sub\n",
    # Digits.
    "123", "1234", "12345", "1234567", "1,234,567.89", "0x1F 0b101 1e10", "v1.2.3-rc4", "+1 (555) 010-9999", "１２３４ 全角", "๑๒๓ ၁၂၃ 𝟏𝟐𝟑", "a1b2c3d4", "1st 2nd 3rd", "1 2 3", "½⅓¼ ①②③",
    "2³ x₁ 10⁻³", "1/2 50% $9.99 €5 £3 ¥100", "192.168.0.1:8080", "3:45PM", "99bottles", "٠١٢٣٤٥٦٧٨٩",
    # Scripts without spaces, and mixed ones.
    "中文字符测试，标点符号。", "我爱北京天安门123abc", "カタカナ ひらがな 漢字 ﾊﾝｶｸ", "日本go語", "한국어와 English 섞기", "가나다라마바사", "ภาษาไทย ไม่มีช่องว่าง", "ພາສາລາວ ခမျိုး ខ្មែរ",
    "हिन्दी में लिखा हुआ।", "বাংলা தமிழ் తెలుగు ಕನ್ನಡ", "العربية: مَرْحَبًا، كيف الحال؟", "فارسی می‌خواهم", "שָׁלוֹם עוֹלָם", "Ὀδυσσεύς ΣΊΣΥΦΟΣ", "Україна їжак ґанок", "ქართული ႠႡ Აბ", "ᏣᎳᎩ ꮳꮃꭹ", "Հայերեն", "አማርኛ", "ᠮᠣᠩᠭᠣᠯ", "ꙀꙁꚀ Ɐⱻ Ꜣꝯ",
    "𐐀𐐨 𐒰𐓘 𞤀𞤢 𑢠", "𝒜𝓁𝓅𝒽𝒶", "𠀀𠀁 㐀㐁", "〇々〆ヶ", "「引用」『二重』【括弧】〜！？", "ｆｕｌｌ　ｗｉｄｔｈ！＂＃", "‘single’ “double” ‟low‛", "—–‐‑…‥", "¿Qué? ¡Sí!", "«guillemets»",
    # Emoji and symbols.
    "👍🏽👩🏿‍🚀", "🇩🇪🇫🇷", "1️⃣#️⃣", "☀️⛄", "❤️‍🔥", "→←↑↓⇒", "∀x∈ℝ: ⌈x⌉ = −⌊−x⌋", "♠♥♦♣", "©®™", "▁▁▁ block ▂▃", "▁hello", "a▁b", "░▒▓█", "✓✗", "\ufffc\ufffd", "\ud7ff\ue000\uf8ff",
    # Code.
    "for(int i=0;i<n;++i){a[i]+=b[i]*c;}", "x = {'a': [1, 2], \"b\": None}", "SELECT * FROM t WHERE a='x' AND b<>'y';", "<div class=\"a b\">text</div>", "$HOME/bin:${PATH}", "`code` **bold** _it_ ~~no~~", "//// ---- ==== ####",
    "a->b::c.d()[e]", "!@#$%^&*()_+-=[]{}|;':\",./<>?`~", "\\n\\t\\\\", "C:\\Users\\x", "user@example.com", "foo/bar//baz", "{\"k\":\"v\\u00e9\"}", "#!/bin/sh\nset -e\n", "/*!*/ //\n/", "...\n\n...", "end.\nNext", "a,b,,c,,,d", "$x$ $$y$$",
    # Control tokens as users write them.
    "<s>", "</s>", "<unk>", "<pad>", "[CLS] [SEP] [MASK]", "<s>hi</s>", "a <s> b </s> c", "<0x41>", "<0x0A><0xE4>", "<|user|>\nhi<|end|>\n<|assistant|>", "<|begin_of_text|>x<|eot_id|>", "<｜begin▁of▁sentence｜>x", "<start_of_turn>user\nhi<end_of_turn>",
    "[INST] x [/INST]", "<extra_id_0> x <extra_id_1>", "<|endoftext|><|endoftext|>", "<tool>\n</tool>", "<strip> <strip>", "x <strip> \n y", "WORD Word word's word_ 1word", "<n><n>", " <n> ", "<N>", "<s><s>", "</s></s>x",
]

# (unit, count, tail): texts too long to store.
LONG = [("a", 100_000, ""), (" ", 100_000, "x"), ("\n", 50_000, ""), ("1", 30_000, ""), ("ab", 50_000, "!"), ("漢", 30_000, ""), (" the", 20_000, "."), ("\r\n ", 10_000, ""), ("é", 20_000, ""), ("x ", 20_000, "")]
