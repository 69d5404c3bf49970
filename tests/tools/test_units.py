#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The units are valid and stay as hardened as they are."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from tools import SOURCE, UNITS

# As systemd-analyze counts; what the services must be allowed to do is most of it.
MOST_EXPOSED = {"migrate-retriever@": 3.9, "migrate-crawler@": 2.0, "migrate-copy@": 2.0,
                "migrate-journal@": 2.6, "migrate-guard@": 3.0, "migrate-verify@": 1.5,
                "migrate-textfile": 1.7, "migrate-rollback@": 3.8}
# On a mount of their own that is read-only these could not work.
WRITERS = ("migrate-retriever@", "migrate-crawler@", "migrate-copy@", "migrate-journal@")


def analyze(*args):
    return subprocess.run(["systemd-analyze", *args], capture_output=True, text=True, timeout=300,
                          check=False)


def told_text():
    """What administrators read: the papers, and what programs say."""
    for directory in SOURCE.iterdir():
        if directory.name in ("tests", ".git") or directory.name.startswith("build"):
            continue
        for path in directory.rglob("*") if directory.is_dir() else [directory]:
            if path.is_file():
                text = path.read_text(errors="replace").replace("\\-", "-")
                yield re.sub(r'" (\w+) ', r"\1", text)         # .BI "UNIT@" NAME .timer


class Units(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.dir = pathlib.Path(place.name)
        units = [*UNITS.glob("*.service"),
                 *(unit for kind in ("service", "timer")
                   for unit in (SOURCE / "packaging/systemd").glob(f"*.{kind}"))]
        self.assertEqual(len(units), 14)
        for unit in units:
            # The programs need not be installed.
            text = re.sub(r"^(Exec\w+)=\S+", r"\1=/bin/true", unit.read_text(), flags=re.M)
            (self.dir / unit.name.replace("@", "@projects")).write_text(text)

    def test_valid(self):
        result = analyze("verify", "--man=no", *sorted(map(str, self.dir.iterdir())))
        # a key of systemd 254
        complaints = re.sub(r".*'FileDescriptorStorePreserve'.*\n", "", result.stderr)
        self.assertEqual((result.returncode, complaints), (0, ""))

    def test_hardened(self):
        for name, limit in MOST_EXPOSED.items():
            with self.subTest(unit=name):
                unit = name + "projects" if name.endswith("@") else name
                result = analyze("security", "--offline=true", str(self.dir / f"{unit}.service"))
                level = re.search(r"exposure level .*: ([0-9.]+) ", result.stdout)
                self.assertIsNotNone(level, result)
                self.assertLessEqual(float(level[1]), limit)

    def test_told(self):
        """What auditors read of each unit is what this release says; others count otherwise."""
        text = (SOURCE / "docs/security.md").read_text()
        told = dict(re.findall(r"^\| `(\S+\.service)` \| ([\d.]+) \|$", text, re.M))
        units = [path.name for path in self.dir.glob("*.service")]
        self.assertEqual(sorted(told), sorted(re.sub("@.*[.]", "@.", unit) for unit in units))
        if "systemd 252 " not in analyze("--version").stdout:
            return
        for unit in units:
            with self.subTest(unit=unit):
                result = analyze("security", "--offline=true", str(self.dir / unit))
                self.assertIn(f": {told[re.sub('@.*[.]', '@.', unit)]} ", result.stdout)

    def test_memory(self):
        """A process that the kernel ends for its memory ends no service; what old servers make them use is
        limited.  What keeps the guard's descriptors outlives it."""
        def settings(name):
            text = (self.dir / f"{name}@projects.service").read_text()
            return dict(re.findall(r"^(\w+)=(.*)$", text, re.M))
        for name in ("migrate-retriever", "migrate-rollback", "migrate-guard"):
            self.assertEqual(settings(name).get("OOMPolicy"), "continue", name)
        for name in ("migrate-retriever", "migrate-rollback"):
            self.assertRegex(settings(name).get("MemoryMax", ""), r"^\d+%$", name)
        self.assertEqual(settings("migrate-guard")["KillMode"], "process")

    def test_user_of_workers(self):
        """The package makes the one that they look for."""
        source = (SOURCE / "lib/base/sandbox.c").read_text()
        user = re.search(r'^#define USER\s+"(.*)"', source, re.M)[1]
        self.assertRegex((SOURCE / "packaging/systemd/sysusers.conf").read_text(), rf"(?m)^u {user} - ")

    def test_volume_stays_writable(self):
        """Through descriptors of either service, the retriever makes files anywhere."""
        for name in WRITERS:
            text = (self.dir / f"{name}projects.service").read_text()
            for setting in ("ProtectSystem=strict", "ProtectHome=", "ReadOnlyPaths=",
                            "PrivateTmp=", "InaccessiblePaths="):
                self.assertNotRegex(text, rf"(?m)^{setting}")

    def test_programs(self):
        self.assertIsNotNone(shutil.which("systemd-analyze"))
        for unit in UNITS.glob("*.service"):
            path = re.search(r"^ExecStart=(.+?)( %i)?$", unit.read_text(), re.M)
            self.assertIsNotNone(path)
            self.assertRegex(path[1],
                             r"^/\S*/sbin/(migrate-(retriever|crawler|journal|guard)|"
                             r"migratectl (copy|verify --content|--yes --follow rollback|"
                             r"--textfile /\S+ metrics))$")

    def test_doors(self):
        """Only the answer that a volume is served past its layer keeps a file server from starting: not one that
        does not come, nor a program that fails."""
        places = ("packaging/systemd/50-quickmigrate.conf.in", "docs/cluster.md")
        found = [script for place in places
                 for script in re.findall(r"^ *ExecCondition=/bin/sh -c '(.*)'$", (SOURCE / place).read_text(), re.M)]
        self.assertEqual(len(found), 3)
        scripts = {re.sub(r" doors .*?;", " doors smbd;", script) for script in found}
        scripts = {re.sub("@CMAKE_INSTALL_FULL_SBINDIR@|/usr/sbin", str(self.dir), script) for script in scripts}
        self.assertEqual(len(scripts), 1, "they differ")
        script = scripts.pop().replace("$$", "$").replace(" 2 15 ", " 1 0.5 ")
        for does, expected in (("exit 0", 0), ("exit 1", 255), ("exit 2", 0), ("kill -SEGV $$", 0),
                               ("trap '' TERM; sleep 30", 0)):
            with self.subTest(program=does):
                program = self.dir / "migratectl"
                program.write_text(f'#!/bin/sh\n[ "$*" = "doors smbd" ] || exit 1\n{does}\n')
                program.chmod(0o755)
                result = subprocess.run(["sh", "-c", script], timeout=20, check=False)
                self.assertEqual(result.returncode, expected)

    def test_no_tries_in_vain(self):
        """What is wrong usage, or a mistake in the configuration, is not tried every ten seconds."""
        for unit in UNITS.glob("*.service"):
            text = unit.read_text()
            if "Restart=on-failure" in text:
                self.assertRegex(text, r"(?m)^RestartPreventExitStatus=(1 )?2$", unit.name)

    def test_enabled(self):
        """Whatever we say is to be enabled is started at the next boot."""
        units = {unit for path in told_text()
                 for words in re.findall(r"systemctl (?:-\S+ )*enable((?: [\w@.%-]+)+)", path)
                 for unit in re.findall(r"migrate-\S*\w", re.sub("%s|NAME", "projects", words))}
        self.assertIn("migrate-retriever@projects", units)
        self.assertIn("migrate-rollback@projects", units)
        self.assertIn("migrate-crawler@projects.timer", units)
        there = self.dir / "lib/systemd/system"
        there.mkdir(parents=True)
        for unit in [*UNITS.glob("*.service"), *(SOURCE / "packaging/systemd").glob("*.timer")]:
            shutil.copy(unit, there)
        for unit in units:
            with self.subTest(unit=unit):
                name = unit if unit.endswith(".timer") else unit + ".service"
                result = subprocess.run(["systemctl", f"--root={self.dir}", "enable", name],
                                        capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(result.returncode, 0, result.stderr)
                links = [link.name for link in (self.dir / "etc/systemd/system").glob("*.wants/*")]
                self.assertIn(name, links, result.stderr)

    def test_selinux_module(self):
        """It compiles, and allows what the guide says, and no more."""
        source = SOURCE / "packaging/selinux/quickmigrate.te"
        result = subprocess.run(["checkmodule", "-M", "-m", "-o", self.dir / "quickmigrate.mod", source],
                                capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        self.assertEqual(re.findall(r"^allow (.*);$", source.read_text(), re.M),
                         ["smbd_t initrc_runtime_t:dir { add_name search write }",
                          "smbd_t initrc_runtime_t:file { create getattr lock open read write }",
                          "smbd_t initrc_runtime_t:sock_file write",
                          "smbd_t initrc_t:unix_stream_socket connectto"])


if __name__ == "__main__":
    unittest.main()
