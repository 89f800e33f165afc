# SPDX-License-Identifier: Apache-2.0
"""What scripts/quickstart.sh says before it does anything."""

import pathlib
import subprocess
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/quickstart.sh"


class Quickstart(unittest.TestCase):
    def run_script(self, *arguments):
        return subprocess.run([str(SCRIPT), *arguments], capture_output=True, text=True,
                              check=False, timeout=60)

    def test_help_names_every_option_and_starts_nothing(self):
        for word in ("--help", "-h"):
            result = self.run_script(word)
            self.assertEqual(result.returncode, 0, result.stderr)
            for option in ("--check", "--port N", "--model PATH", "--help"):
                self.assertIn(option, result.stdout)
            self.assertNotIn("set -euo", result.stdout)
            self.assertNotIn("SPDX", result.stdout)

    def test_wrong_options_are_told_in_one_line(self):
        for arguments in (["--nothing"], ["--port", "x"], ["--port"], ["--model"],
                          ["--model", "/does/not/exist"]):
            result = self.run_script(*arguments)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertTrue(result.stderr.startswith("quickstart: "))


if __name__ == "__main__":
    unittest.main()
