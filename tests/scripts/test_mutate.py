# SPDX-License-Identifier: Apache-2.0
"""What scripts/mutate.py makes of its list and of a test's output; nothing is built."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import mutate  # noqa: E402

FAULT = {
    "name": "two-bos",
    "file": "src/text/pipeline/pipeline_tokenizer.cc",
    "find": "work.tokens[0] != *definition_.bos",
    "replace": "",
    "target": "text_tests",
    "test": "TokensTest.ThereIsExactlyOneBos:Models/GoldenTokenizer.DecodingUndoesEncoding/*",
}


class CheckTest(unittest.TestCase):

    def problems(self, **changes):
        return "\n".join(mutate.check([dict(FAULT, **changes)]))

    def test_a_fault_that_fits(self):
        self.assertEqual(self.problems(), "")

    def test_faults_that_do_not(self):
        self.assertIn("does not exist", self.problems(file="src/text/nothing.cc"))
        self.assertIn("matches 0 times", self.problems(find="no such text"))
        self.assertRegex(self.problems(find="absl::"), r"matches \d\d? times")
        self.assertIn("changes nothing", self.problems(replace=FAULT["find"]))
        self.assertIn("no test", self.problems(test="TokensTest.ThereIsExactlyOneEos"))
        self.assertIn("no test", self.problems(target="base_tests"))
        self.assertIn("keys", self.problems(reason="x"))

    def test_names_are_given_once(self):
        self.assertEqual(mutate.check([FAULT, FAULT]), ["two-bos is there twice"])


class CulpritTest(unittest.TestCase):

    def test_the_test_that_failed(self):
        self.assertEqual(mutate.culprit("[ RUN      ] A.B/0\n[  FAILED  ] A.B/0, where GetParam() ="
                                        " 3 (1 ms)\n[  FAILED  ] 1 test, listed below:\n"), "A.B/0")

    def test_the_test_that_was_running_at_the_end(self):
        self.assertEqual(mutate.culprit("[ RUN      ] A.B\n[       OK ] A.B (0 ms)\n"
                                        "[ RUN      ] A.C\ncheck failed: x\n"), "A.C")

    def test_none(self):
        self.assertEqual(mutate.culprit("[ RUN      ] A.B\n[       OK ] A.B (0 ms)\n"), "")
        self.assertEqual(mutate.culprit("error while loading shared libraries\n"), "")


if __name__ == "__main__":
    unittest.main()
