#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the documents say is there: links lead somewhere, commands and units exist, and the drawing is
that of its source."""

import html
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from tools import SOURCE, run

# For developers, and how many words each may have.
PAPERS = {"docs/architecture.md": 1500, "CONTRIBUTING.md": 900, "fsal_migrate/README.md": 1200,
          "vfs_migrate/README.md": 1200, "tests/README.md": 1200, "tests/coverage.md": 1200, "tests/oracle/README.md": 1200,
          **{str(path.relative_to(SOURCE)): 1200 for path in (SOURCE / "docs/design").glob("*.md")}}
DOCUMENTS = [SOURCE / "README.md", SOURCE / "SECURITY.md",
             *sorted({*(SOURCE / "docs").glob("*.md"), *(SOURCE / name for name in PAPERS)})]
THEIRS = {"fsal_api.h", "source3/include/vfs.h"}        # the hosts' files
CHAPTERS = ["plan", "try", "switch", "watch", "finish", "trouble", "reference"]


def anchors(path):
    """As GitHub and GitLab make them of headings."""
    heads = re.findall(r"^#+ (.*)$", path.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", head).lower()).replace(" ", "-")
            for head in heads}


def code(text):
    """Lines of indented blocks, and what stands in `...`."""
    text = re.sub(r"\\\n\s*", " ", text)
    yield from re.findall(r"^ {4,}(.*)$", text, re.M)
    yield from re.findall(r"`([^`]+)`", text)


class Guide(unittest.TestCase):
    def test_links(self):
        for document in DOCUMENTS:
            for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
                if re.match(r"[a-z]+:", link):
                    continue
                name, _, anchor = link.partition("#")
                target = (document.parent / name).resolve() if name else document
                with self.subTest(document=document.name, link=link):
                    self.assertTrue(target.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(target))

    def test_path(self):
        """Each chapter leads to the one before and the one behind it."""
        for before, name in zip(CHAPTERS, CHAPTERS[1:]):
            self.assertIn(f"]({before}.md)", (SOURCE / "docs" / f"{name}.md").read_text().split("\n## ")[0])
            self.assertIn(f"]({name}.md)", (SOURCE / "docs" / f"{before}.md").read_text().split("\n## ")[0])

    def test_commands(self):
        """Every migratectl command with its options, and every unit."""
        known = {}
        units = {unit.name.removesuffix(".in") for unit in (SOURCE / "packaging/systemd").iterdir()}
        found = 0
        for document in DOCUMENTS:
            for line in code(document.read_text()):
                for words in re.findall(r"\bmigratectl ((?:--?[\w=%./:-]+ )*[a-z][a-z-]+[^|;&)]*)", line):
                    words = words.split("#")[0].split()
                    command = next((word for word in words if not word.startswith("-")), None)
                    with self.subTest(document=document.name, line=line):
                        if command not in known:
                            known[command] = run("migratectl", command, "--help").stdout
                        self.assertIn("Usage:", known[command])
                        for option in re.findall(r"(?<!\S)(--[a-z-]+)", " ".join(words)):
                            self.assertIn(option, known[command])
                    found += 1
                for unit in re.findall(r"\bmigrate-[a-z-]+(?:@[\w]*)?\.(?:service|timer|socket)\b", line):
                    with self.subTest(document=document.name, line=line):
                        self.assertIn(re.sub(r"@\w*", "@", unit), units)
        self.assertGreater(found, 80)

    def test_of_tests(self):
        """Each test that is named behind a line on security is there."""
        found = 0
        text = (SOURCE / "docs" / "security.md").read_text()
        for name, cases in re.findall(r"`(\w+/[\w/]+\.(?:c|py))`(?:: (\w+(?:, \w+)*))?", text):
            test = (SOURCE / "tests" / name).read_text()
            for case in re.findall(r"\w+", cases):
                with self.subTest(test=name, case=case):
                    self.assertTrue(re.search(rf"(?m)^START_TEST\({case}\)|^@.*\ndef {case}\(args\)|"
                                              rf"^    def {case}\(self\)", test))
            found += 1
        self.assertGreater(found, 70)

    def test_drawing(self):
        """The picture has the words of its source."""
        pictures = SOURCE / "docs" / "pictures"
        for source in pictures.glob("*.dot"):
            drawn = html.unescape(source.with_suffix(".svg").read_text())
            for label in re.findall(r'label="([^"]*)"', source.read_text()):
                for line in label.split(r"\n"):
                    self.assertIn(f">{line}</text>", drawn)


def prose(path):
    """A file's text in one line: without marks of comments, C's joins of strings and the manual's escapes."""
    text = path.read_text(errors="replace").replace("\\-", "-").replace('\\"', '"')
    text = re.sub(r"(?m)^\.[BI]R? (\S+) ", r"\1", text)
    return re.sub(r"\s+", " ", re.sub(r"\n\s*(?:\*|//|#)? *", " ", re.sub(r"(?<=[^,])([\"'])\s*\n\s*\1", "", text)))


class References(unittest.TestCase):
    """What documents, manual pages, messages and comments refer to is there, under that title."""

    def texts(self):
        tree = [path for top in SOURCE.iterdir() if not re.match(r"\.|build|packages", top.name)
                for path in ([top] if top.is_file() else top.rglob("*"))]
        for path in tree:
            if path.is_file() and "corpus" not in path.parts and path.suffix in {"", ".c", ".h", ".md", ".py", ".js", ".in", ".8", ".5", ".yml", ".conf", ".cmake"}:
                yield path, prose(path)

    def test_titles(self):
        guide = {path.name: anchors(path) for path in (SOURCE / "docs").glob("*.md")}
        every = set().union(*guide.values())
        pages = {page.stem: page.suffix[1:] for page in (SOURCE / "man").iterdir() if page.suffix in (".8", ".5")}
        found = 0

        def slug(title):
            return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")

        for path, text in self.texts():
            if path == pathlib.Path(__file__):
                continue
            for name, quoted, plain in re.findall(r"\bdocs/([\w-]+\.md)"
                                                  r"(?:,? \"([^\"]+)\"|, ([A-Z][a-z][\w' ]+)[).])?", text):
                with self.subTest(path=path, name=name, title=quoted or plain):
                    self.assertIn(name, guide)
                    self.assertIn(slug(quoted or plain), guide[name] | {""})
                found += 1
            for title in re.findall(r"guide, \"([^\"]+)\"|\"([^\"]+)\",? in (?:the administrator's guide|docs/)|"
                                    r"[Ss]ee \*([A-Z][^*]+)\*", text):
                with self.subTest(path=path, title=title):
                    self.assertIn(slug("".join(title)), every)
                found += 1
            for name, number in re.findall(r"\b((?:migrate|ganesha-migrate|quickmigrate|vfs_migrate)[\w.-]*) ?"
                                           r"\(([58])\)", text):
                with self.subTest(path=path, page=f"{name}({number})"):
                    self.assertEqual(pages.get(name), number)
                found += 1
        self.assertGreater(found, 100)


def words(text):
    """Without where links lead, and what has no letter or digit."""
    return re.findall(r"\S*\w\S*", re.sub(r"\]\([^)]*\)", "]", text))


class Papers(unittest.TestCase):
    def test_length(self):
        for name, most in PAPERS.items():
            with self.subTest(paper=name):
                self.assertLessEqual(len(words((SOURCE / name).read_text())), most)
        self.assertGreater(len(PAPERS), 15)

    def test_files(self):
        """Each file that is named is there: by its path, or somewhere where the name stands alone."""
        files = {path.name for folder in SOURCE.iterdir() if not re.match(r"\.|build", folder.name)
                 for path in folder.rglob("*.*")}
        found = 0
        for name in PAPERS:
            text = re.sub(r"\]\([^)]*\)", "]", (SOURCE / name).read_text())
            for file in re.findall(r"(?<![\w/.<>*-])[\w/.-]+\.(?:c|h|py|pml|md|cmake)\b(?![<>*])", text):
                with self.subTest(paper=name, file=file):
                    self.assertTrue(file in files or (SOURCE / file).exists() or
                                    ((SOURCE / name).parent / file).exists() or file in THEIRS)
                found += 1
        self.assertGreater(found, 200)

    def test_design(self):
        """The architecture leads to each page."""
        text = (SOURCE / "docs/architecture.md").read_text()
        for page in (SOURCE / "docs/design").glob("*.md"):
            self.assertTrue(f"](design/{page.name})" in text, page)


class Plots(unittest.TestCase):
    def test_drawn(self):
        """What a bench has written becomes pictures; nothing becomes a message."""
        facts = {"open-time": {"open_time": [["v3", 1, 10, "B", 2.5], ["v3", 1, 100, "B", 3.5]]},
                 "distant-inside": {"round_trips": [[1, {"migration": 9, "rsync": 2}],
                                                    [5, {"migration": 8, "rsync": 1}]]},
                 "cold": {"progress": [[0, 0, 0, 0, 0], [1, 5, 3, 50, 30]]}}
        with tempfile.TemporaryDirectory() as place:
            plot = [SOURCE / "tests" / "bench" / "plot", place, place]
            environment = {**os.environ, "MPLCONFIGDIR": place}     # else it keeps fonts in the home
            result = subprocess.run(plot, env=environment, capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(result.returncode, 1, result)
            self.assertRegex(result.stderr, r"(\A|\n)plot: .*\n\Z")
            for case, of in facts.items():
                pathlib.Path(place, case + ".json").write_text(json.dumps(of))
            subprocess.run(plot, env=environment, check=True, timeout=120, stdout=subprocess.DEVNULL)
            for name, word in (("open-time", "over NFSv3"), ("distant", "rsync"), ("progress", "whole")):
                self.assertIn(word, pathlib.Path(place, name + ".svg").read_text())


if __name__ == "__main__":
    unittest.main()
