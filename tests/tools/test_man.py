#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manual says what the programs do: options, commands, keys, and nothing that isn't there."""

import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

from tools import PROGRAMS, SOURCE, run


def page(name):
    """A page's text with the escapes of a manual's source resolved as far as needed here."""
    text = (SOURCE / "man" / name).read_text()
    text = re.sub(r"\\f[RBIP]", "", text)
    return text.replace("\\-", "-")


def help_of(program, *command):
    result = run(program, *command, "--help")
    assert result.returncode == 0, result
    return result.stdout


def commands(text):
    """With what units alone run, which the help does not list."""
    return ["doors", "metrics", *re.findall(r"^  ([a-z-]+) ", text.split("Commands:")[1], re.M)]


def options_of_help(program):
    text = help_of(program)
    if program == "migratectl":
        text = "".join(help_of(program, command) for command in commands(text))
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*|(?<![\w-])-[a-zA-Z](?=,)", text))


def options_of_page(name):
    options = set()
    section = page(name).split(".SH OPTIONS")[1].split(".SH")[0]
    for tag in re.findall(r"^\.TP\n(.*)$", section, re.M):
        options |= set(re.findall(r"(?<![\w-])--[a-z][a-z-]*|(?<![\w-])-[a-zA-Z](?![\w-])", tag))
    return options


def words(text):
    return re.findall(r"[a-z]+(?:-[a-z]+)*", text)


def statuses_of_page(name):
    """The words of each exit status."""
    section = page(name).split(".SH EXIT STATUS")[1].split(".SH")[0]
    return {number: words(text) for number, text in re.findall(r"^\.TP\n\.B (\d)\n((?:(?!\.TP).*\n)+)", section, re.M)}


class Pages(unittest.TestCase):
    def test_options(self):
        for program in PROGRAMS:
            with self.subTest(program=program):
                self.assertEqual(options_of_help(program), options_of_page(program + ".8"))

    def test_commands(self):
        shown = set(commands(help_of("migratectl")))
        section = page("migratectl.8").split(".SH COMMANDS")[1].split(".SH")[0]
        documented = set(re.findall(r'^\.TP\n\.BI? ([a-z-]+)(?: "|$)', section, re.M))
        self.assertEqual(shown, documented)
        # What the retriever takes, but for what the crawler and doors ask, verify --content and retry PATH;
        # and what is not its.
        contract = (SOURCE / "retriever" / "socket" / "control.h").read_text()
        taken = set()
        for line in re.findall(r"^ \*   ([a-z][a-z, ]*)", contract, re.M):
            taken |= set(re.findall(r"[a-z]+", line.split("  ")[0]))
        self.assertEqual(shown - {"abandon", "backup-list", "changes", "check", "cluster", "commit", "cutover",
                                  "discover", "doctor", "doors", "fetch", "map-ids", "metrics", "quota", "rollback",
                                  "rules", "takeover", "volumes"},
                         taken - {"settings", "proof", "source", "mend", "names", "finalizable", "touched"})

    def test_modules(self):
        """The options of the VFS module, and where other modules may stand."""
        source = (SOURCE / "vfs_migrate" / "main.c").read_text()
        text = page("vfs_migrate.8")
        options = text.split(".SH OPTIONS OF A SHARE")[1].split(".SH")[0]
        self.assertEqual(set(re.findall(r'"migrate", "([a-z]+)"', source)),
                         set(re.findall(r'^\.BI "migrate:([a-z]+) = "', options, re.M)))
        order = text.split(".SH ORDER OF MODULES")[1].split(".SH")[0]
        says = {"BEFORE": "must stand before\n.BR migrate", "ANYWHERE": "may stand before it",
                "NOWHERE": "cannot be used"}
        groups = order.split(".IP \\(bu 3")
        for name, place in re.findall(r'^\t\{"([a-z_]+)", (BEFORE|ANYWHERE|NOWHERE)', source, re.M):
            with self.subTest(module=name):
                if not name.endswith("audit") and not name.endswith("_new"):
                    there = [group for group in groups if re.search(rf"(?m)^\.BR? {name}\b", group)]
                    self.assertEqual(len(there), 1)
                    self.assertIn(says[place], there[0])
        others = re.search(r'others\[\] = \{(.*?)\}', source, re.S).group(1)
        refused = text.split(".SH SECURITY DESCRIPTORS")[1].split(".SH")[0]
        for name in re.findall(r'"([a-z0-9_]+)"', others):
            with self.subTest(module=name):
                self.assertRegex(refused, rf"(?m)^\.(?:BR?|RB \() {name}\b")

    def test_keys(self):
        source = (SOURCE / "lib" / "config" / "config.c").read_text()
        table = source.split("} keys[] = {")[1].split("\n};")[0]
        keys = set(re.findall(r'\{"([a-z-]+)"', table))
        self.assertIn("root", keys)
        section = page("quickmigrate.conf.5").split(".SH KEYS")[1].split(".SH")[0]
        self.assertEqual(keys, set(re.findall(r'^\.BI "([a-z-]+) = "', section, re.M)))
        example = (SOURCE / "packaging/etc/quickmigrate.conf").read_text()
        self.assertEqual(keys, set(re.findall(r"^#([a-z-]+) = ", example, re.M)))

    def test_error_codes(self):
        """Each code's cause and remedy, in the words of the program; and no other code."""
        source = (SOURCE / "lib" / "base" / "error_codes.h").read_text()
        for name, text in re.findall(r'#define (ERROR_[A-Z_]+) +("[^\n]*")\n', source):
            source = source.replace(name, text)
        source = re.sub(r'"[\s\\]*"', "", source)  # literals side by side
        table = re.findall(r'X\((\d+), [A-Z_]+,[\s\\]+"((?:[^"\\]|\\.)+)",[\s\\]+"((?:[^"\\]|\\.)+)"\)', source)
        self.assertEqual(len(table), source.count("X(1"))
        said = re.findall(r"^\.TP\n\.B (QM.*)\n(.*)\.\n\.br\nRemedy: (.*)\.$", page("quickmigrate-errors.7"), re.M)
        plain = [[re.sub(r"\\(.)", r"\1", part) for part in row] for row in table]
        self.assertEqual([("QM" + number, cause[0].upper() + cause[1:], remedy) for number, cause, remedy in plain],
                         [(code, cause.replace("\\e", "\\"), remedy) for code, cause, remedy in said])

    def test_clean(self):
        for path in sorted((SOURCE / "man").glob("*.[1-9]")):
            with self.subTest(page=path.name):
                result = subprocess.run(["man", "--warnings", "-l", path], capture_output=True,
                                        text=True, timeout=300, check=False)
                self.assertEqual((result.returncode, result.stderr), (0, ""))


class Help(unittest.TestCase):
    """Each command's says by an example how it is given, what it changes, and how it ends."""

    def parts(self, program, *command):
        text = help_of(program, *command)
        self.assertLessEqual(max(map(len, text.splitlines())), 80, text)
        found = re.search(r"\n\nExample: (.+)\nChanges: (.+)\nExit status: (.+)\n\Z", text)
        self.assertTrue(found, text)
        example, changes, statuses = found.groups()
        self.assertNotIn("(null)", changes)
        argv = shlex.split(example)
        self.assertEqual(argv[0], program)
        parsed = run(program, *argv[1:], "--help")
        self.assertEqual((parsed.returncode, parsed.stderr, parsed.stdout), (0, "", text), example)
        statuses = dict(re.findall(r"(\d) ([^\d]+?)(?:, |$)", statuses))
        self.assertEqual(list(statuses), sorted(statuses))
        return argv, statuses

    def test_programs(self):
        for program in PROGRAMS:
            if program != "migratectl":
                with self.subTest(program=program):
                    self.assertEqual(set(self.parts(program)[1]), set(statuses_of_page(program + ".8")))

    def test_commands(self):
        """0, 1 and 2 are all commands', 3 is of those that ask a retriever, 4 of those that are named there."""
        said = statuses_of_page("migratectl.8")
        alone = set(words(page("migratectl.8").split("except for\n")[1].split("\n", 1)[0]))
        common = dict(re.findall(r"(\d) ([^\d,]+)", "0 done, 1 refused or failed, 2 wrong usage, 3 no retriever"))
        for command in commands(help_of("migratectl")):
            with self.subTest(command=command):
                argv, statuses = self.parts("migratectl", command)
                self.assertIn(command, argv)
                if command != "discover":  # which would ask somebody
                    given = run("migratectl", "--config=/nonexistent", *argv[1:])
                    self.assertNotRegex(given.stderr, "usage:|takes no|--help")
                self.assertEqual(set(statuses), {number for number in said if number < "3" or
                                                 (number == "3" and command not in alone) or
                                                 (number > "3" and command in said[number])})
                for number, text in statuses.items():
                    if text != common.get(number) and number != "0" and "usage" not in text:
                        self.assertIn(command, said[number], text)


class Messages(unittest.TestCase):
    """The identifiers that those who watch know."""

    def test_identifiers(self):
        source = (SOURCE / "lib/base/log.c").read_text()
        catalog = (SOURCE / "packaging/systemd/quickmigrate.catalog").read_text()
        known = re.findall(r'"([0-9a-f]{32})"', source)
        self.assertEqual(len(known), len(set(known)))
        self.assertEqual(known, re.findall(r"^-- ([0-9a-f]{32})$", catalog, re.M))
        self.assertEqual(known, re.findall(r"^\.B ([0-9a-f]{32})$", page("migrate-retriever.8"), re.M))

    def test_catalog(self):
        """systemd takes it."""
        with tempfile.TemporaryDirectory() as root:
            target = pathlib.Path(root, "usr/lib/systemd/catalog/quickmigrate.catalog")
            target.parent.mkdir(parents=True)
            target.write_text((SOURCE / "packaging/systemd/quickmigrate.catalog").read_text())
            pathlib.Path(root, "var/lib/systemd/catalog").mkdir(parents=True)
            result = subprocess.run(["journalctl", f"--root={root}", "--update-catalog"], capture_output=True,
                                    text=True, timeout=60, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            listed = subprocess.run(["journalctl", f"--root={root}", "--list-catalog"], capture_output=True,
                                    text=True, timeout=60, check=True).stdout
            self.assertEqual(len(listed.splitlines()), 7, listed)


if __name__ == "__main__":
    unittest.main()
