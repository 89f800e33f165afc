# SPDX-License-Identifier: Apache-2.0
"""scripts/model_family.py must accept exactly what the binary opens."""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHOAL = os.environ.get("SHOAL_BINARY", str(ROOT / "build/release/shoal"))


def gguf_with_architecture(name):
    def string(text):
        return struct.pack("<Q", len(text)) + text.encode()
    return (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + string("general.architecture") +
            struct.pack("<I", 8) + string(name))


class ModelFamily(unittest.TestCase):
    def script(self, path):
        return subprocess.run([sys.executable, str(ROOT / "scripts/model_family.py"), "--name",
                               str(path)], capture_output=True, text=True, check=False)

    def binary(self, path):
        return subprocess.run([SHOAL, "inspect", str(path)], capture_output=True, text=True,
                              check=False)

    def test_accepts_what_the_binary_opens(self):
        folders = sorted((ROOT / "tests/golden/models").iterdir())
        models = [next(folder.glob("*.gguf"), folder) for folder in folders]
        self.assertTrue(models)
        for model in models:
            with self.subTest(model=model.name):
                self.assertEqual(self.binary(model).returncode, 0)
                self.assertEqual(self.script(model).returncode, 0)

    def test_refuses_other_families_with_one_line_that_names_the_option(self):
        with tempfile.TemporaryDirectory() as folder:
            gguf = pathlib.Path(folder) / "other.gguf"
            gguf.write_bytes(gguf_with_architecture("mamba"))
            directory = pathlib.Path(folder) / "other"
            directory.mkdir()
            (directory / "config.json").write_text(
                json.dumps({"architectures": ["MambaForCausalLM"], "model_type": "mamba"}))
            for path in (gguf, directory, pathlib.Path(folder) / "missing"):
                with self.subTest(path=path.name):
                    done = self.script(path)
                    self.assertEqual(done.returncode, 1)
                    self.assertEqual(done.stderr.count("\n"), 1)
                    self.assertIn("--model", done.stderr)
                    self.assertEqual(self.binary(path).returncode, 1)


if __name__ == "__main__":
    unittest.main()
