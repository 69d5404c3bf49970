#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests/mutants counts."""
import importlib.machinery
import importlib.util
import sys
import unittest

from tools import SOURCE

sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("mutants", str(SOURCE / "tests/mutants"))
mutants = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", LOADER))
LOADER.exec_module(mutants)


class Mutants(unittest.TestCase):
    def test_kills(self):
        """A test that fails on the tree as it is kills nothing; each is tried there once."""
        asked = []

        def ask(what):
            asked.append(what[0])
            return {"m1": "good", "m2": "", "m3": "bad", "m4": "lost", "m5": "good", "bad": "bad"}.get(what[0], "")
        said = [mutants.try_one(mutant, "build", ask=ask) for mutant in ("m1", "m2", "m3", "m4", "m5", "m3")]
        self.assertEqual(said, ["good", "", "unsound bad", "lost", "good", "unsound bad"])
        self.assertEqual(asked, ["m1", "good", "m2", "m3", "bad", "m4", "m5", "m3"])


if __name__ == "__main__":
    unittest.main()
