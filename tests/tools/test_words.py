#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each word of docs/words.md is one of the sources, and what it replaces stands in no document, manual page
or help."""

import re
import subprocess
import unittest

from tools import PROGRAMS, SOURCE, run


def rows():
    """Of all tables: the word, its names in the code, and what is not said."""
    for line in (SOURCE / "docs" / "words.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 4 and cells[0] != "word":
            yield cells[0], re.findall(r"`([^`]+)`", cells[2]), [word for word in cells[3].split(", ") if word]


def sources():
    files = subprocess.run(["git", "-C", SOURCE, "ls-files", "*.c", "*.h"], capture_output=True, text=True,
                           check=False).stdout.split()
    files = [SOURCE / file for file in files] or list(SOURCE.glob("*/**/*.[ch]"))
    return "\n".join(file.read_text() for file in files if "tests" not in file.relative_to(SOURCE).parts)


def manual(path):
    return re.sub(r"\\f[RBIP]", "", path.read_text()).replace("\\-", "-")


def texts():
    """What administrators read, as one line each, with its name."""
    found = {path.name: path.read_text() for path in [SOURCE / "README.md", *(SOURCE / "docs").rglob("*.md")]
             if path.name != "words.md"}
    found |= {path.name: manual(path) for path in (SOURCE / "man").glob("*.[1-9]")}
    found |= {program: run(program, "--help").stdout for program in PROGRAMS}
    for command in re.findall(r"^  ([a-z-]+) ", found["migratectl"], re.M):
        found[f"migratectl {command}"] = run("migratectl", command, "--help").stdout
    return {name: " ".join(text.split()) for name, text in found.items()}


# Numbers of them are written with text_plural(), as one is not "1 files"; but what is a limit.
COUNTED = ("changes clients conflicts crawlers differences directories entries errors events failures files handles "
           "links names objects quotas refusals things volumes").split()


class Words(unittest.TestCase):
    def test_plurals(self):
        said = re.compile(r'(?:%(?:z|l|ll)?[ud]|_FORMAT\s*")\s(?:(?!for )\w+ )?(?:' + "|".join(COUNTED) + r")\b[^:]")
        found = {" ".join(match[0].split()) for match in said.finditer(sources())}
        self.assertEqual(found, set())
        self.assertTrue(said.search('"%" G_GUINT64_FORMAT\n\t" unfinished objects of"'))
        self.assertTrue(said.search('"%u volumes\\n"'))

    def test_code(self):
        known = set(re.findall(r"[\w-]+", re.sub(r"\bstruct (\w+)", r"\1", sources())))
        named = [(word, name) for word, names, _ in rows() for name in names]
        self.assertGreater(len(named), 40)
        for word, name in named:
            with self.subTest(word=word):
                self.assertIn(name.removeprefix("struct "), known)

    def test_not_said(self):
        read = texts()
        self.assertGreater(len(read), 40)
        for word, _, others in rows():
            for other in others:
                said = re.compile(rf"(?i)\b{re.escape(other)}\b")
                for name, text in read.items():
                    with self.subTest(instead_of=word, text=name):
                        self.assertIsNone(said.search(text), f"{name}: {other!r} instead of {word!r}")


if __name__ == "__main__":
    unittest.main()
