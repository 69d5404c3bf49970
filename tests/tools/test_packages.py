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
        for name in ("etc/quickmigrate", "srv/v", "run", "elsewhere", "var/lib/quickmigrate", "bin"):
            (self.top / name).mkdir(parents=True)
        for name in ("systemctl", "userdel", "groupdel"):
            (self.top / "bin" / name).write_text(f'#!/bin/sh\necho "{name} $*" >>{self.top}/called\n[ "$2" != is-enabled ]\n')
            (self.top / "bin" / name).chmod(0o755)

    def called(self):
        """What was asked of systemd and of the users' files."""
        path = self.top / "called"
        return path.read_text().splitlines() if path.exists() else []

    def configure(self, *lines):
        (self.top / "etc/quickmigrate/quickmigrate.conf").write_text(
            "\n".join(("[volume v]", f"root = {self.top}/srv/v", *lines)) + "\n")

    def run_script(self, name, *arguments):
        """Its status and what it says."""
        text = (SOURCE / "packaging" / "debian" / name).read_text()
        for path in ("/etc/quickmigrate", "/var/lib/quickmigrate", "/var/log/quickmigrate", "/run/quickmigrate",
                     "/etc/systemd/system", "/run/systemd/system", "/var/lib/prometheus"):
            text = text.replace(path, f"{self.top}{path}")
        result = subprocess.run(["sh", "-s", *arguments], input=text.replace("#DEBHELPER#", ""), text=True,
                                capture_output=True, timeout=60, check=False,
                                env={"PATH": f"{self.top}/bin:/usr/sbin:/usr/bin:/sbin:/bin"})
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
            self.assertIn("or abandon it: migratectl abandon v", said)

    def test_a_byte_order_mark(self):
        """The programs read such a configuration, too."""
        self.configure()
        path = self.top / "etc/quickmigrate/quickmigrate.conf"
        path.write_text("\ufeff" + path.read_text())
        (self.top / "srv/v/.migrate").mkdir()
        self.assertIn("the volume v is not finished", self.run_script("unfinished")[1])

    def test_what_was_attached(self):
        """It is protected without its group, and while it is not mounted; what a cluster has is not here."""
        self.configure()
        root, note = self.top / "srv/gone", self.state / "gone.attached"
        (root / ".migrate").mkdir(parents=True)
        note.write_text(f"{root}\n")
        for arguments in (), ("module",):
            status, said = self.run_script("unfinished", *arguments)
            self.assertEqual(status, 1)
            self.assertIn(f"the volume gone, which has no group in {self.top}/etc", said)
            self.assertIn(f"not finished ({root})", said)
        (root / ".migrate").rmdir()
        status, said = self.run_script("unfinished")
        self.assertEqual(status, 1)
        self.assertIn("nothing of it is there now: mount its file system", said)
        self.assertIn(f"if there is no such volume any more: rm {note}", said)
        note.write_text(f"{root}\nends\n")
        self.assertEqual(self.run_script("unfinished"), (0, ""))
        (root / ".migrate").mkdir()
        self.assertIn("the volume gone, which has no group", self.run_script("unfinished")[1])
        (self.state / "gone.cluster").write_text("")
        self.assertEqual(self.run_script("unfinished"), (0, ""))
        (self.top / "srv/v/.migrate").mkdir()
        (self.state / "v.attached").write_text(f"{self.top}/srv/v\n")
        self.assertEqual(self.run_script("unfinished")[1].count("\n"), 1)

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

    def test_what_runs_is_stopped_and_started_anew(self):
        """Units are read when the package comes, too: a file server's drop-in counts at its next start."""
        (self.top / "run/systemd/system").mkdir(parents=True)
        self.assertEqual(self.run_script("quickmigrate.postinst", "configure"), (0, ""))
        self.assertEqual(self.called(), ["systemctl daemon-reload"])
        (self.top / "called").unlink()
        text = (SOURCE / "packaging/debian/quickmigrate.prerm").read_text()
        self.assertIn("/usr/libexec/quickmigrate/unfinished\n", text)
        self.assertEqual(self.run_script("quickmigrate.postrm", "remove"), (0, ""))
        self.assertEqual(self.called(), ["systemctl daemon-reload", "systemctl reset-failed migrate-*"])

    def test_purge_leaves_nothing(self):
        made = ["run/quickmigrate/v.sock", "var/lib/prometheus/node-exporter/quickmigrate.prom",
                "etc/systemd/system/multi-user.target.wants/migrate-retriever@v.service",
                "etc/systemd/system/sysinit.target.wants/migrate-guard@v.service",
                "etc/systemd/system/timers.target.wants/migrate-crawler@v.timer",
                "etc/systemd/system/timers.target.wants/migrate-textfile.timer",
                "etc/systemd/system/migrate-guard@v.service.d/override.conf"]
        others = ["var/lib/prometheus/node-exporter/other.prom", "etc/systemd/system/migrate-other.service"]
        for name in made + others:
            (self.top / name).parent.mkdir(parents=True, exist_ok=True)
            (self.top / name).write_text("")
        self.assertEqual(self.run_script("quickmigrate.postrm", "remove"), (0, ""))
        for name in made[:2]:
            self.assertFalse((self.top / name).exists(), name)
        self.assertEqual(self.run_script("quickmigrate.postrm", "purge"), (0, ""))
        for name in made:
            self.assertFalse((self.top / name).exists(), name)
        for name in others:
            self.assertTrue((self.top / name).exists(), name)
        self.assertIn("userdel quickmigrate-worker", self.called())
        self.assertIn("groupdel quickmigrate-monitor", self.called())

    def test_purge_of_nothing(self):
        (self.state / "v.takeover").write_text("")
        for _ in range(2):
            self.assertEqual(self.run_script("quickmigrate.postrm", "purge"), (0, ""))
            self.assertFalse(self.state.exists())


if __name__ == "__main__":
    unittest.main()
