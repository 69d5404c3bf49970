#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shells complete commands, options and volumes, and help fits a screen."""

import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest
from unittest import mock

from tools import PROGRAMS, SOURCE, run

COMPLETION = SOURCE / "packaging" / "completion"
LINES, COLUMNS = 32, 80
BASH = r"""
source /usr/share/bash-completion/bash_completion
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
shift 2
compopt() { :; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_migratectl
printf '%s\n' "${COMPREPLY[@]}"
"""
# What the functions of zsh's completion are told is what they would offer.
ZSH = r"""
_describe() { [[ $1 == -o ]] && shift; print -l -- ${(P)2%%:*} }
_alternative() { print -l -- ${=${1##*\(}%\)} }
_files() { print FILES }
compset() { : }
file=$1
shift
words=("$@") CURRENT=$# PREFIX=$words[-1]
complete_it() { source $file }
complete_it
"""


def shell(*argv):
    path = os.path.dirname(PROGRAMS["migratectl"]) + ":" + os.environ["PATH"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False,
                          stdin=subprocess.DEVNULL,
                          env=dict(os.environ, PATH=path, HOME=tempfile.gettempdir()))
    assert not done.stderr, (argv, done)
    return set(filter(None, done.stdout.split("\n")))


def bash(*words):
    split = [part for word in words for part in (re.split("(=)", word) if word else [""])]
    return shell("bash", "-c", BASH, "bash", str(COMPLETION / "migratectl"),
                 " ".join(words), *split)


def zsh(*words):
    return {line.partition(":")[0] for line in
            shell("zsh", "-f", "-c", ZSH, "zsh", str(COMPLETION / "_migratectl"), *words)}


def fish(*words):
    found = shell("fish", "--no-config", "-c",
                  f"source {shlex.quote(str(COMPLETION))}/migratectl.fish; complete -C \"{' '.join(words)}\"")
    return {line.partition("\t")[0] for line in found}


def commands():
    return re.findall(r"^  ([a-z-]+) ", run("migratectl", "--help").stdout, re.M)


def options(command):
    return set(re.findall(r"^  (?:-h, )?(--[a-z-]+=?)", run("migratectl", command, "--help").stdout,
                          re.M))


class Completion(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.config = pathlib.Path(self.dir.name, "conf")
        self.config.write_text("# [volume no]\n[volume homes]\nroot = /h\n[ volume  hosts ]\n")

    def test_commands(self):
        self.assertIn("status", commands())
        for complete in bash, zsh, fish:
            with self.subTest(shell=complete.__name__):
                self.assertLessEqual(set(commands()), complete("migratectl", ""))

    def test_options(self):
        for command in "skip", "verify":
            self.assertIn({"skip": "--because=", "verify": "--sample="}[command], options(command))
            for complete in bash, zsh, fish:
                with self.subTest(shell=complete.__name__, command=command):
                    self.assertEqual(options(command), complete("migratectl", command, "--"))

    def test_parts_of_cluster(self):
        for complete in bash, zsh, fish:
            with self.subTest(shell=complete.__name__):
                parts = {"check", "config"}
                config = f"--config={self.config}"
                self.assertLessEqual(parts, complete("migratectl", config, "cluster", ""))
                found = complete("migratectl", config, "cluster", "check", "ho")
                self.assertLessEqual({"homes", "hosts"}, found)
                self.assertFalse(parts & found)

    def test_codes(self):
        """Of what failed in any volume; the program that says it is one of the test's."""
        program = pathlib.Path(self.dir.name, "migratectl")
        program.write_text("#!/bin/sh\n[ \"$*\" = 'errors --all --summary' ] && "
                           "printf 'a:  7  it is gone: (x) [QM1403]\\nb:  1  later (y) [QM1301]\\n'\n")
        program.chmod(0o755)
        with mock.patch.dict(PROGRAMS, migratectl=str(program)):
            for complete in bash, zsh, fish:
                with self.subTest(shell=complete.__name__):
                    found = {word.removeprefix("--code=") for word in complete("migratectl", "retry", "--code=")}
                    self.assertEqual({"QM1301", "QM1403"}, found - {""})

    def test_volumes(self):
        for complete in bash, zsh, fish:
            with self.subTest(shell=complete.__name__):
                found = complete("migratectl", f"--config={self.config}", "retry", "ho")
                self.assertLessEqual({"homes", "hosts"}, found)
                self.assertNotIn("no", found)


class Help(unittest.TestCase):
    """On a terminal of the usual size, whoever asks."""

    def test_fits(self):
        for argv in [["--help"], *([command, "--help"] for command in commands())]:
            with self.subTest(argv=argv):
                done = run("migratectl", *argv)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                lines = done.stdout.splitlines()
                self.assertLessEqual(len(lines), LINES)
                self.assertLessEqual(max(map(len, lines)), COLUMNS, max(lines, key=len))

    def test_what_is_none(self):
        self.assertEqual(run("migratectl", "nothing", "--help").returncode, 2)


if __name__ == "__main__":
    unittest.main()
