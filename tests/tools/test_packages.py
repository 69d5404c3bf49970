#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the packages' scripts ask before they go, and what they leave.  Their paths are a directory's here."""
import pathlib
import subprocess
import tempfile
import unittest

from tools import SOURCE


class Leaving(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.top = pathlib.Path(scratch.name)
        self.state = self.top / "var/lib/quickmigrate"
        for name in ("etc/quickmigrate", "srv/v", "run", "elsewhere", "var/lib/quickmigrate"):
            (self.top / name).mkdir(parents=True)

    def configure(self, *lines):
        (self.top / "etc/quickmigrate/quickmigrate.conf").write_text(
            "\n".join(("[volume v]", f"root = {self.top}/srv/v", *lines)) + "\n")

    def run_script(self, name, *arguments):
        """Its status and what it says."""
        text = (SOURCE / "packaging" / "debian" / name).read_text()
        for path in ("/etc/quickmigrate", "/var/lib/quickmigrate", "/var/log/quickmigrate", "/run/quickmigrate"):
            text = text.replace(path, f"{self.top}{path}")
        result = subprocess.run(["sh", "-s", *arguments], input=text.replace("#DEBHELPER#", ""), text=True,
                                capture_output=True, timeout=60, check=False)
        return result.returncode, result.stdout + result.stderr

    def journal(self, path, *files):
        path.mkdir()
        for name in files:
            (path / name).write_text("")

    def test_a_way_back(self):
        for lines, path in ((), self.state / "v.journal"), ((f"journal = {self.top}/elsewhere/j",),
                                                             self.top / "elsewhere/j"):
            self.configure(*lines)
            self.assertEqual(self.run_script("unfinished"), (0, ""))
            self.journal(path, "data.mdb")
            status, said = self.run_script("unfinished")
            self.assertEqual(status, 1)
            self.assertIn(f"{path} has what clients changed since the switch", said)
            self.assertEqual(self.run_script("unfinished", "module"), (0, ""))
            (path / "closed").write_text("")
            self.assertEqual(self.run_script("unfinished"), (0, ""))

    def test_of_no_configuration(self):
        self.journal(self.state / "gone.journal", "data.mdb")
        self.assertEqual(self.run_script("unfinished")[0], 1)

    def test_an_unfinished_volume(self):
        self.configure()
        (self.top / "srv/v/.migrate").mkdir()
        for arguments in (), ("module",):
            status, said = self.run_script("unfinished", *arguments)
            self.assertEqual(status, 1)
            self.assertIn("the volume v is not finished", said)

    def test_purge(self):
        kept = {"v.report", "v.report.history", "v-report.json", "v-report.json.sig", "v-manifest.mtree.zst"}
        for name in kept | {"v.takeover", "v.check", ".hidden"}:
            (self.state / name).write_text("")
        self.journal(self.state / "open.journal", "data.mdb")
        self.journal(self.state / "closed.journal", "closed")
        self.assertEqual(self.run_script("quickmigrate.postrm", "remove"), (0, ""))
        status, said = self.run_script("quickmigrate.postrm", "purge")
        self.assertEqual(status, 0)
        self.assertIn("still has reports", said)
        self.assertEqual({path.name for path in self.state.iterdir()}, kept | {"open.journal"})
        self.assertFalse((self.top / "etc/quickmigrate").exists())

    def test_purge_of_nothing(self):
        (self.state / "v.takeover").write_text("")
        for _ in range(2):
            self.assertEqual(self.run_script("quickmigrate.postrm", "purge"), (0, ""))
            self.assertFalse(self.state.exists())


if __name__ == "__main__":
    unittest.main()
