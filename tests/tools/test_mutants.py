#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests/mutants counts."""
import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

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

    def test_memory(self):
        """What a check program may take is bounded; what a sanitizer watches bounds itself."""
        with tempfile.TemporaryDirectory() as tree, mock.patch.object(mutants, "TOP", tree):
            for build, want in (("build", "8388608"), ("build-asan", "unlimited hard_rss_limit_mb=8192")):
                program = f"{tree}/{build}/test_bound"
                os.mkdir(os.path.dirname(program))
                with open(program, "w", encoding="ascii") as file:
                    file.write(f'#!/bin/sh\ncase "$(ulimit -d) $ASAN_OPTIONS" in "{want}"*) ;; *) exit 1 ;; esac\n')
                os.chmod(program, 0o755)
                self.assertFalse(mutants.fails(program, subprocess.DEVNULL), build)

    def test_change(self):
        """The lines that changed come first, then their files; where that is nothing, or the clone is short, all."""
        def draws(**given):
            args = argparse.Namespace(**{"seed": 5, "kinds": ["return"], "paths": [], "units": True, "since": None,
                                         "change": True, **given})
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                drawn = mutants.drawn(args)
            return [(mutant.path, mutant.line) for mutant in drawn], said.getvalue()

        def commit(**files):
            for name, text in files.items():
                for path in (f"lib/{name}.c", f"tests/lib/test_{name}.c"):
                    os.makedirs(f"{tree}/{os.path.dirname(path)}", exist_ok=True)
                    with open(f"{tree}/{path}", "w", encoding="ascii") as file:
                        file.write(text)
            git("add", "-A")
            git("commit", "-q", "--allow-empty", "-m", "that")

        def git(*command):
            subprocess.run(["git", "-C", tree, "-c", "user.name=x", "-c", "user.email=x@x", *command], check=True)

        two = "int f(void)\n{\n\treturn -EIO;\n}\n\nint g(void)\n{\n\treturn -EPERM;\n}\n"
        with tempfile.TemporaryDirectory() as tree, tempfile.TemporaryDirectory() as clone:
            git("init", "-qb", "main")
            commit(one=two, other=two)
            commit(one=two.replace("EPERM", "ESTALE"))
            with mock.patch.object(mutants, "TOP", tree):
                self.assertEqual(draws(), ([("lib/one.c", 8), ("lib/one.c", 3)], ""))
                self.assertEqual(draws(paths=["lib/one.c:3"]), ([("lib/one.c", 3)], ""))
                commit()
                everything, said = draws()
                self.assertEqual(len(everything), 4)
                self.assertIn("HEAD^: nothing of the product changed since", said)
                self.assertIn("seed 5", said)
                self.assertEqual(draws(since="HEAD~2")[0][0], ("lib/one.c", 8))
            git("clone", "-q", "--depth", "1", f"file://{tree}", clone)
            with mock.patch.object(mutants, "TOP", clone):
                self.assertEqual(draws(), (everything, said.replace("nothing of the product changed since",
                                                                    "not in this clone")))
                git("-C", clone, "checkout", "-qb", "branch")
                with open(f"{clone}/lib/other.c", "a", encoding="ascii") as file:
                    file.write("\nint h(void)\n{\n\treturn -EIO;\n}\n")
                git("-C", clone, "commit", "-qam", "what the branch changed")
                git("-C", clone, "commit", "-q", "--allow-empty", "-m", "more")
                self.assertEqual(draws()[0][0], ("lib/other.c", 13))


if __name__ == "__main__":
    unittest.main()
