#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A migration of a local tree with the three programs: what they print, and how they end."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import unittest.mock

from tools import PROGRAMS, SOURCE, run

PLACE = pathlib.Path("/mnt/programs")
DIRS, FILES, SIZE = 20, 30, 4096


def listing(top):
    found = {}
    for path, dirs, files in os.walk(top):
        for name in files:
            full = os.path.join(path, name)
            with open(full, "rb") as f:
                found[os.path.relpath(full, top)] = (f.read(), os.stat(full).st_mtime_ns)
        for name in dirs:
            found[os.path.relpath(os.path.join(path, name), top)] = "directory"
    return found


class Volume(unittest.TestCase):
    def setUp(self):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/mnt"], check=True)
        self.addCleanup(subprocess.run, ["umount", "/mnt"], check=True)
        self.old, self.new = PLACE / "old", PLACE / "new"
        self.new.mkdir(parents=True)
        for i in range(DIRS):
            directory = self.old / f"d{i % 4}" / f"s{i}"
            directory.mkdir(parents=True)
            for j in range(FILES):
                (directory / f"f{j}").write_bytes(os.urandom(SIZE))
        self.config = PLACE / "conf"
        self.socket = PLACE / "sock"
        self.config.write_text(f"[volume v]\nroot = {self.new}\nsource = file://{self.old}\n"
                               f"socket = {self.socket}\ncrawler-workers = 2\n"
                               f"report = {PLACE}/kept/v.report\nmap-users = 1000:2000\n")
        self.retriever = self.log = None

    def start(self, *before):
        # pylint: disable=consider-using-with
        log = self.log = tempfile.TemporaryFile()
        self.addCleanup(log.close)
        self.retriever = subprocess.Popen(
            [*before, PROGRAMS["migrate-retriever"], "--config", self.config, "v"], stderr=log)
        self.addCleanup(self.stop)

    def logged(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def stop(self, sig=signal.SIGTERM):
        if self.retriever and self.retriever.poll() is None:
            self.retriever.send_signal(sig)
            self.retriever.wait(timeout=300)

    def ctl(self, *args, status=0):
        result = run("migratectl", "--config", str(self.config), *args)
        self.assertEqual(result.returncode, status, result)
        text = result.stderr if status and status != 1 else result.stdout + result.stderr
        return text.replace("\u00a0", " ")  # before units

    def status(self):
        return json.loads(self.ctl("status", "--json", "v"))

    def crawl(self, *args, status=0):
        result = run("migrate-crawler", "--socket", str(self.socket), *args, "v")
        self.assertEqual(result.returncode, status, result)
        return result.stdout + result.stderr

    def test_from_attach_to_finalize(self):
        self.start()
        self.assertEqual(self.status()["volume"]["state"], "unattached")
        self.assertIn("migratectl attach v", self.crawl(status=1))
        self.ctl("attach", "v")
        self.crawl("--metadata-only")
        status = self.status()
        self.assertTrue(status["namespace"]["complete"])
        self.assertEqual(status["counters"]["files_found"], DIRS * FILES)
        self.assertEqual(status["counters"]["bytes_found"], DIRS * FILES * SIZE)
        self.assertEqual(status["counters"]["files_whole"], 0)
        self.assertIn("unfinished", self.ctl("verify", "v", status=1))
        self.assertIn("unfinished", self.ctl("finalize", "v", status=1))
        self.assertIn("unfinished", self.ctl("finalize", "--dry-run", "v", status=1))
        self.assertIn("v: what clients changed is written over the old server's tree (--plan shows it); nothing was "
                      "done: give --yes", self.ctl("rollback", "v", status=2))
        self.assertIn("everything is whole", self.crawl())
        self.assertIn("100.0 %", self.ctl("status", "v"))
        self.assertIn("whole", self.ctl("status", "--watch", "v"))
        self.assertIn("all whole", self.ctl("verify", "v"))
        self.ctl("finalize", "v")
        self.assertEqual(listing(self.old), listing(self.new))
        self.assertEqual(self.ctl("errors", "v"), "")
        self.crawl()
        self.assertNotIn(" replied ", self.logged())

    def aside(self):
        return [json.loads(line)["aside"]["path"]
                for line in self.ctl("aside", "--json", "v").splitlines()]

    def test_a_copy_whose_crawler_is_stopped(self):
        self.start()
        self.ctl("copy", "v")
        (self.old / "d1" / "s1" / "f1").write_bytes(b"changed")
        self.ctl("pause", "v")
        copy = subprocess.Popen([PROGRAMS["migratectl"], "--config", self.config, "copy", "v"],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(copy.wait)
        children = pathlib.Path(f"/proc/{copy.pid}/task/{copy.pid}/children")
        while not self.status()["now"]["crawlers"]:
            self.assertIsNone(copy.poll())
        os.kill(int(children.read_text().split()[0]), signal.SIGTERM)
        self.assertIn("goes on where it was", copy.communicate()[0])
        self.assertEqual(copy.returncode, 1)
        self.ctl("resume", "v")
        self.assertEqual(json.loads(self.ctl("copy", "--json", "v"))["copy"]["run"], 2)

    def test_copy_first(self):
        (self.old / "123").write_bytes(b"123")
        self.start()
        run = json.loads(self.ctl("copy", "--json", "v"))["copy"]
        self.assertEqual((run["run"], run["whole"], run["made"], run["bytes_fetched"]),
                         (1, True, DIRS * FILES + 1, DIRS * FILES * SIZE + 3))
        self.assertEqual(self.status()["volume"]["state"], "copied")
        text = self.ctl("status", "v")
        self.assertRegex(text, r"(?m)^State +copied; nothing is served$")
        self.assertRegex(text, r"(?m)^Last run +0 objects the same, 2\.3 MiB fetched$")
        self.assertNotIn("Set aside", text)
        self.assertRegex(self.ctl("status"), r"(?m)^v +copied +601 of 601 ")
        self.assertIn("v: copied, files", self.ctl("status", "--watch", "v"))

        (self.old / "d1" / "s1" / "f1").write_bytes(b"changed")
        (self.old / "123").unlink()
        text = self.ctl("copy", "v")
        for line in ("v: run 2: ", "new or changed      1, 7 bytes fetched", "gone there          1",
                     "set aside           1, 4.0 KiB; see migratectl aside v"):
            self.assertIn(line, text)
        self.assertRegex(self.ctl("status", "v"),
                         r"(?m)^Set aside +1 object, 4\.0 KiB; see migratectl aside v$")
        self.assertEqual(self.aside(), ["123"])
        self.assertRegex(self.ctl("aside", "v"), r"^[-\d]{10} [:\d]{8} +3 bytes  123\n$")

        self.assertIn("clients can be switched", self.ctl("attach", "v"))
        self.assertIn("is attached", self.ctl("copy", "v", status=1))
        self.assertRegex(self.ctl("status", "v"),
                         r"(?m)^State +migrating, with a copy made before$")
        self.crawl()
        status = self.status()
        self.assertEqual((status["volume"]["state"], status["volume"]["prior"],
                          status["counters"]["same"], status["counters"]["bytes_fetched"]),
                         ("whole", "copied", DIRS * FILES, 0))
        self.assertRegex(self.ctl("status", "v"), r"(?m)^Compared +25 of 25 directories, "
                         "600 objects the same, 0 bytes fetched$")
        self.assertIn("1 object is set aside", self.ctl("finalize", "v", status=1))
        self.assertEqual(self.ctl("aside", "--discard", "--dry-run", "v"), self.ctl("aside", "v"))
        self.assertIn("v: all that is set aside is destroyed (--dry-run lists it); nothing was done: give --yes",
                      self.ctl("aside", "--discard", "v", status=2))
        self.assertIn("v: discarded", self.ctl("aside", "--discard", "--yes", "v"))
        self.ctl("finalize", "v")
        self.assertEqual(listing(self.old), listing(self.new))

    def test_copy_of_another_tool(self):
        subprocess.run(["cp", "-a", f"{self.old}/.", self.new], check=True)
        (self.new / "d1" / "extra").write_bytes(b"extra")
        (self.new / "d2" / "s2" / "f2").unlink()
        self.start()
        self.assertIn("attach --adopt", self.ctl("attach", "v", status=1))
        self.assertIn("--adopt", self.ctl("copy", "v", status=1))
        self.ctl("attach", "--adopt", "--compare=size-mtime", "v")
        self.assertRegex(self.ctl("status", "v"),
                         r"(?m)^State +migrating, with what another tool had copied$")
        self.crawl()
        status = self.status()
        self.assertEqual((status["volume"]["prior"], status["counters"]["same"],
                          status["counters"]["bytes_fetched"]),
                         ("adopted", DIRS * FILES - 1, SIZE))
        self.assertEqual(self.aside(), ["d1/extra"])
        self.assertIn("not set aside", self.ctl("aside", "--restore", "v", "d1/other", status=1))
        self.assertIn("v: restored", self.ctl("aside", "--restore", "v", "d1/extra"))
        self.assertNotIn("d1/extra", self.aside())
        self.ctl("aside", "--discard", "--yes", "v")
        self.ctl("finalize", "v")
        self.assertEqual({**listing(self.old), "d1/extra": (b"extra", unittest.mock.ANY)},
                         listing(self.new))

    def test_adopted_and_corrected(self):
        subprocess.run(["cp", "-a", f"{self.old}/.", self.new], check=True)
        wrong = self.new / "d1" / "s1" / "f1"
        times = wrong.stat()
        wrong.write_bytes(os.urandom(SIZE))
        os.utime(wrong, ns=(times.st_atime_ns, times.st_mtime_ns))
        self.start()
        self.ctl("attach", "--adopt", "--compare=content", "v")
        self.assertNotIn("Corrected", self.ctl("status", "v"))
        self.crawl()
        self.assertRegex(self.ctl("status", "v"),
                         r"(?m)^Corrected +4\.0 KiB that the copy had wrong$")

    def test_mounts_of_their_own(self):
        """As the units have it: descriptors that come from another mount of the file system."""
        apart = ("unshare", "--mount", "--propagation", "slave")
        os.link(self.old / "d1" / "s1" / "f1", self.old / "d2" / "linked")
        self.start(*apart)
        self.ctl("attach", "v")
        crawler = subprocess.run([*apart, PROGRAMS["migrate-crawler"], "--socket", self.socket,
                                  "--once", "v"], capture_output=True, text=True, timeout=300,
                                 check=False)
        self.assertEqual(crawler.returncode, 0, crawler.stderr + self.ctl("errors", "v"))
        self.ctl("finalize", "v")
        self.assertEqual(listing(self.old), listing(self.new))
        self.assertTrue((self.new / "d2" / "linked").samefile(self.new / "d1" / "s1" / "f1"))

    def test_killed_again_and_again(self):
        self.start()
        self.ctl("attach", "v")
        self.crawl("--metadata-only")
        self.ctl("throttle", "v", "1M")
        for part in (0.05, 0.15, 0.3):
            with subprocess.Popen([PROGRAMS["migrate-crawler"], "--socket", self.socket, "--quiet",
                                   "v"]) as crawler:
                while self.status()["counters"]["files_whole"] < part * DIRS * FILES:
                    self.assertIsNone(crawler.poll())
                crawler.kill()
        before = self.status()["counters"]["files_whole"]
        self.stop(signal.SIGKILL)
        self.start()
        self.assertGreaterEqual(before, 0.3 * DIRS * FILES)
        self.crawl()
        self.assertIn("all whole", self.ctl("verify", "v"))
        self.ctl("finalize", "v")
        self.assertEqual(listing(self.old), listing(self.new))

    def test_stopped_while_paused(self):
        self.start()
        self.ctl("attach", "v")
        self.ctl("pause", "v")
        with subprocess.Popen([PROGRAMS["migrate-crawler"], "--socket", self.socket, "v"],
                              stdout=subprocess.PIPE, text=True) as crawler:
            self.assertTrue(select.select([crawler.stdout], [], [], 60)[0])
            self.assertIn("paused", crawler.stdout.readline())
            crawler.terminate()
            self.assertEqual(crawler.wait(timeout=300), 0)
        self.assertTrue(self.status()["now"]["paused"])
        self.ctl("resume", "v")
        self.assertFalse(self.status()["now"]["paused"])
        self.crawl("--quiet")

    def test_errors(self):
        self.start()
        self.ctl("attach", "v")
        self.crawl("--metadata-only")
        (self.old / "d1" / "s1" / "f0").write_bytes(b"changed")
        self.assertIn("finished with 1 error", self.crawl("--once", status=2))
        listed = json.loads(self.ctl("errors", "--json", "v"))
        self.assertEqual([e["path"] for e in listed], [str(self.new / "d1" / "s1" / "f0")])
        self.assertRegex(self.ctl("errors", "v"), r"^/mnt/\S+/d1/s1/f0: .+ \[QM1401\]\n$")  # the hint is for terminals
        self.assertIn("errors v", self.ctl("status", "v"))
        self.assertEqual(self.ctl("errors", "--below", str(self.new / "d1" / "s"), "v"), "")
        self.assertEqual(self.ctl("errors", "--reason", "no such reason", "v"), "")
        for words in (["--below", str(self.new / "d1")], ["--reason", listed[0]["reason"][3:9]], ["--code", "QM1401"]):
            self.assertEqual(json.loads(self.ctl("errors", "--json", *words, "v")), listed)
        self.assertAlmostEqual(listed[0]["since"], time.time(), delta=400)
        counted = json.loads(self.ctl("errors", "--summary", "--json", "v"))
        self.assertEqual(counted, [{"reason": listed[0]["reason"], "code": "QM1401", "errno": listed[0]["errno"],
                                    "since": listed[0]["since"], "count": 1}])
        self.assertEqual(self.status()["counters"]["errors_since"], listed[0]["since"])
        self.assertIn("Errors      1 (the first since 2", self.ctl("status", "v"))
        self.assertRegex(self.ctl("errors", "--summary", "v"), r"^ +1  .+\n$")
        self.ctl("retry", "v")
        self.assertEqual(self.status()["counters"]["errors"], 0)

    def test_report(self):
        """What could not be carried over is listed, over a restart and after the end."""
        directory, file = self.old / "d1" / "s1", self.old / "d1" / "s1" / "f\udcff\n"
        file.write_bytes(b"x")
        os.chown(file, 2000, 0)  # kept, and 1000 becomes the same
        subprocess.run(["setfacl", "-m", "u:1000:rwx,u:2000:r", directory / "f1"], check=True)
        subprocess.run(["setfacl", "-m", "u:1000:rw", directory / "f2"], check=True)
        lines = [["acl", str(self.new / "d1/s1/f1")],
                 ["owner", str(self.new / "d1/s1") + r"/f\377\n"]]

        def check(*sums):
            first, *rest = json.loads(self.ctl("report", "--json", "v"))
            self.assertEqual((first["acls_carried"], first["xattrs_carried"]), sums)
            self.assertEqual((first["lost"]["acl"], first["lost"]["owner"]), (1, 1))
            objects = [[r["kind"], r["path"]] for r in rest if r["kind"] != "volume"]
            self.assertEqual(sorted(objects), lines)
            self.assertEqual(first["lost"]["volume"], len(rest) - 2)
            text = self.ctl("report", "v")
            self.assertIn("v: not carried over: 2, acl 1, owner 1\n", text)
            self.assertRegex(text, r"(?m)^/mnt/programs/new/d1/s1/f1: acl: .*two of its entries")

        self.start()
        self.ctl("attach", "v")
        self.assertIn("v: not carried over: 0\n", self.ctl("report", "v"))
        self.assertNotIn("Not carried", self.ctl("status", "v"))
        self.crawl()
        check(1, 0)
        self.assertRegex(self.ctl("status", "v"), r"(?m)^Not carried +2; see migratectl report v$")
        self.assertEqual(self.status()["counters"]["losses"], 2)
        self.stop()
        self.assertIn("v: not carried over: 2, acl 1, owner 1\n", self.ctl("report", "v"))
        self.start()
        check(1, 0)
        self.assertIn("2 things could not be carried over; see migratectl report v",
                      self.ctl("finalize", "v"))
        check(1, 0)
        self.stop()
        check(1, 0)
        (PLACE / "kept" / "v.report").unlink()
        self.assertIn("v.report: No such file", self.ctl("report", "v", status=1))

    def test_trace(self):
        """What hangs, and why; and the crawler's requests while somebody looks, and in the log."""
        self.start("env", "G_MESSAGES_DEBUG=all")
        self.ctl("attach", "v")
        self.assertIn("No request is without an answer", self.ctl("status", "--verbose", "v"))
        self.ctl("pause", "v")
        crawler = subprocess.Popen([PROGRAMS["migrate-crawler"], "--socket", self.socket, "--quiet",
                                    "--once", "v"])
        follower = subprocess.Popen([PROGRAMS["migratectl"], "--config", self.config, "trace",
                                     "--follow", "--json", "v"], stdout=subprocess.PIPE, text=True)
        with crawler, follower:
            try:
                waiting = f"crawler {crawler.pid}:"
                while waiting not in (text := self.ctl("status", "--verbose", "v")):
                    self.assertIsNone(crawler.poll())
                self.assertRegex(text, rf"(?m)^ +\d+\.\d+ s  {waiting}\d+  fill of {self.new}, "
                                 "waits for background work to be resumed: migratectl resume$")
                self.ctl("resume", "v")
                steps = set()
                while not {"sent", "answered", "made", "replied"} <= steps:
                    self.assertTrue(select.select([follower.stdout], [], [], 60)[0])
                    step = json.loads(follower.stdout.readline())
                    if step["peer"] == f"crawler {crawler.pid}":
                        steps.add(step["step"])
                self.assertEqual(crawler.wait(timeout=300), 0)
            finally:
                follower.terminate()
                crawler.kill()
        self.assertRegex(self.logged(), rf"crawler {crawler.pid}:\d+ replied fill ")
        self.assertIn("status --verbose", self.ctl("trace", "--id", "57", "v", status=2))
        self.assertIn("takes no --follow", self.ctl("status", "--follow", "v", status=2))
        self.assertIn("--verbose needs the NAME", self.ctl("status", "--verbose", status=2))

    def test_probes(self):
        """Each step of a request is a static probe, where the header for that is installed."""
        if subprocess.run(["cc", "-E", "-include", "sys/sdt.h", "-xc", "/dev/null"], check=False,
                          capture_output=True).returncode:
            self.skipTest("no sys/sdt.h")
        notes = subprocess.run(["readelf", "-n", PROGRAMS["migrate-retriever"]], check=True,
                               capture_output=True, text=True).stdout
        header = (SOURCE / "lib" / "source" / "trace.h").read_text()
        steps = set(re.findall(r"STEP\([A-Z]+, ([a-z]+)\)", header))
        self.assertIn("sent", steps)
        self.assertEqual(set(re.findall(r"Provider: quickmigrate\s+Name: ([a-z]+)", notes)), steps)

    def test_skipped_names(self):
        self.new = self.new.rename(PLACE / "new\\temp")    # what is skipped may well have such a path
        self.config.write_text(re.sub("root = .*", lambda _: f"root = {self.new}", self.config.read_text()))
        (self.old / ".migrate").mkdir()
        name = str(self.new / ".migrate")
        self.start()
        self.ctl("attach", "v")
        self.assertIn("is no name of a directory that failed", self.ctl("skip", "--yes", "v", name, status=1))
        self.crawl(status=2)
        self.assertIn("migratectl skip", self.ctl("errors", "v"))
        for path in (name + "/", str(self.new / "d1"), str(self.new)):
            self.assertIn("is no name", self.ctl("skip", "--yes", "v", path, status=1))
        self.assertIn("is no directory", self.ctl("skip", "--yes", "--all", "v", name, status=1))
        self.assertIn("v: what is skipped is never here, and is lost with the old server (--dry-run lists it); nothing "
                      "was done: give --yes", self.ctl("skip", "--all", "v", f"{self.new}/", status=2))
        self.assertEqual(self.ctl("skip", "--dry-run", "--all", "v", f"{self.new}/"),
                         f"v: would be skipped, of 1 directory or file:\n{self.new}\n")
        self.assertNotIn("Skipped", self.ctl("status", "v"))
        self.assertIn("v: 1 name skipped, 1 directory filled; see migratectl report v",
                      self.ctl("skip", "--yes", "--all", "v", f"{self.new}/"))
        self.crawl()
        self.assertRegex(self.ctl("status", "v"), r"(?m)^Skipped +1 names?; see migratectl report")
        self.assertIn(f"{name}: name: this name is reserved", self.ctl("report", "v"))
        self.assertEqual(self.ctl("finalize", "--dry-run", "v"), "v: everything is whole: it can be finalized\n")
        self.assertEqual(self.status()["volume"]["state"], "whole")
        self.assertIn("names that were skipped: 1", self.ctl("finalize", "v"))
        self.assertIn(f"{name}: name: this name is reserved", self.ctl("report", "v"))
        expected = listing(self.old)
        del expected[".migrate"]
        self.assertEqual(expected, listing(self.new))

    def test_more_errors_than_a_reply_holds(self):
        deep = self.old.joinpath(*["n" * 250] * 4)
        deep.mkdir(parents=True)
        for i in range(150):
            (deep / f"f{i}").write_bytes(b"x")
        self.start()
        self.ctl("attach", "v")
        self.crawl("--metadata-only")
        for path in deep.iterdir():
            path.unlink()
        self.crawl("--once", status=2)
        listed = json.loads(self.ctl("errors", "--json", "v"))
        self.assertEqual({os.path.basename(e["path"]) for e in listed},
                         {f"f{i}" for i in range(150)})
        self.assertEqual(len(listed), 150)
        below = json.loads(self.ctl("errors", "--json", "--below", str(self.new), "v"))
        self.assertEqual(below, listed)

    def test_question(self):
        """On a terminal, and only "yes" is one."""
        self.start()
        self.ctl("attach", "v")
        for answer, status in ("n\n", 1), ("\n", 1), ("\x04", 1), ("yes please\n", 1), ("y\n", 0), ("YES\n", 0):
            with self.subTest(answer=answer):
                master, terminal = pty.openpty()
                os.write(master, answer.encode())
                done = subprocess.run([PROGRAMS["migratectl"], "--config", self.config, "aside", "--discard", "v"],
                                      stdin=terminal, stderr=terminal, stdout=subprocess.PIPE, timeout=300,
                                      check=False)
                os.close(terminal)
                seen = ""
                with contextlib.suppress(OSError):  # the terminal is gone
                    while chunk := os.read(master, 4096):
                        seen += chunk.decode()
                os.close(master)
                self.assertEqual((done.returncode, done.stdout), (status, b"" if status else b"v: discarded\n"), seen)
                self.assertIn("v: all that is set aside is destroyed (--dry-run lists it). Go on? [y/N]", seen)
                self.assertEqual("nothing was done" in seen, bool(status))

    def test_served_after_the_question(self):
        """What a file server's configuration says is read again when somebody has thought about the answer."""
        server, served = PLACE / "ganesha.nfsd", PLACE / "ganesha.conf"
        shutil.copy("/bin/bash", server)
        served.write_text("")
        self.start()
        self.ctl("attach", "v")
        self.stop()
        master, terminal = pty.openpty()
        with subprocess.Popen([server, "-c", "read", "-f", served], stdin=subprocess.PIPE):
            with subprocess.Popen([PROGRAMS["migratectl"], "--config", self.config, "abandon", "--discard", "v"],
                                  stdin=terminal, stderr=terminal, stdout=subprocess.DEVNULL) as abandon:
                os.close(terminal)
                seen = ""
                while "Go on?" not in seen:
                    seen += os.read(master, 4096).decode()
                served.write_text(f"EXPORT {{ Export_Id = 7; Path = {self.new}; FSAL {{ Name = VFS; }} }}")
                os.write(master, b"y\n")
                seen = ""
                with contextlib.suppress(OSError):
                    while chunk := os.read(master, 4096):
                        seen += chunk.decode()
        os.close(master)
        self.assertEqual(abandon.returncode, 1, seen)
        self.assertIn("serves it without the layer", seen)
        self.assertTrue((self.new / ".migrate").exists())

    def takeover(self):
        self.file = PLACE / "kept" / "v.takeover"
        self.config.write_text(self.config.read_text() + f"takeover = mounts\ntakeover-file = {self.file}\n")

    def test_no_takeover_handles(self):
        self.takeover()
        self.start()
        self.assertIn("it is attached, but clients cannot go on", self.ctl("attach", "v", status=1))
        self.assertEqual(self.status()["volume"]["state"], "migrating")

    def test_takeover_handles_are_all_forgotten(self):
        self.takeover()
        self.config.write_text(self.config.read_text().replace(f"file://{self.old}", "nfs://old/x?version=3"))
        self.file.parent.mkdir()
        files = [self.file.with_name(self.file.name + suffix) for suffix in ("", ".all", ".clients")]
        for kept in files:
            kept.mkdir()  # what cannot be removed
            self.assertIn(f"{kept}: Is a directory", self.ctl("takeover", "--yes", "v", "end", status=1))
            kept.rmdir()
        self.assertIn("no takeover handles are known", self.ctl("takeover", "--yes", "v", "end"))
        for kept in files:
            kept.touch()
        self.ctl("takeover", "--yes", "v", "end")
        self.assertFalse(any(kept.exists() for kept in files))

    def test_no_retriever(self):
        # Nor is one needed for what the root tells.
        self.assertIn("is not attached", self.ctl("commit", "--yes", "v", status=1))
        # At the same time: each waits for one.
        commands = [("attach", "v"), ("status", "v"), ("errors", "v"), ("status",)]
        with concurrent.futures.ThreadPoolExecutor(len(commands)) as pool:
            results = pool.map(lambda c: run("migratectl", "--config", str(self.config), *c),
                               commands)
        for command, result in zip(commands, results):
            self.assertEqual(result.returncode, 3, result)
            if len(command) == 2:
                self.assertIn("systemctl start migrate-retriever@v", result.stderr)
            else:
                self.assertIn("no retriever", result.stdout)

    def test_retriever_without_an_answer(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(str(self.socket))
            listener.listen()
            self.assertIn("is running and does not answer", self.ctl("status", "v", status=3))
            result = run("migratectl", "--config", str(self.config), "status")
            self.assertEqual(result.returncode, 3, result)
            self.assertIn("no answer", result.stdout)

    def test_wrong_usage(self):
        for args, message in (
                ((), "give a command"), (("frob", "v"), "no such command"),
                (("attach",), "usage: migratectl attach NAME"),
                (("attach", "--keep-extra", "v"), "give --adopt too"),
                (("attach", "--adopt", "--compare=x", "v"), "size-mtime or content"),
                (("aside", "--restore", "v"), "usage: migratectl aside NAME"),
                (("aside", "v", "x"), "usage: migratectl aside NAME"),
                (("copy", "--adopt", "v"), "takes no --adopt"),
                (("status", "--accept", "v"), "takes no --accept"),
                (("throttle", "v"), "usage: migratectl throttle NAME... BYTES"),
                (("throttle", "v", "fast"), "for example 50M"),
                (("skip", "v"), "give the PATH"),
                (("skip", "v", *["x" * 1000] * 100), "too many for one command"),
                (("retry", "--all", "v"), "without names"),
                (("trace", "--all", "v"), "takes no --all"),
                (("errors", "v", "v2"), "no such volume"),
                (("status", "--verbose"), "--verbose needs the NAME"),
                (("doctor", "--all", f"--bundle={PLACE}/b"), "--bundle needs the NAME"),
                (("doctor", "--all", "--json"), "--json needs the NAME"),
                (("attach", "--json", "v"), "takes no --json"),
                (("cluster", "check"), "usage: migratectl cluster check NAME"),
                (("cluster", "check", "v", "w"), "usage: migratectl cluster check NAME"),
                (("cluster", "move", "v"), "usage: migratectl cluster check NAME"),
                (("cluster", "check", "w"), "[volume w]"),
                (("cluster", "check", "--compare", str(self.config), "v"), "on the other node"),
                (("cluster", "config", "v", "w"), "[volume w]"),
                (("cluster", "config", "v", "v"), "named twice"),
                (("cluster", "config", "--for=k8s", "v"), "crm or pcs"),
                (("cluster", "config", "--doors=ftp", "v"), "is nfs, smb or nfs,smb"),
                (("cluster", "config", "--nodes=a,,b", "v"), "no name of a node"),
                (("errors", "--watch", "v"), "takes no --watch"),
                (("status", "--reason", "x", "v"), "takes no --reason"),
                (("errors", "--code", "QM9", "v"), "QM9 is no code"),
                (("errors", "--summary", "--below", "/x", "v"), "without --reason, --below and --code"),
                (("status", "w"), "[volume w]"), (("--frob",), "--help")):
            with self.subTest(args=args):
                error = self.ctl(*args, status=2)
                self.assertIn(message, error)
                self.assertEqual(error.count("\n"), 1)
        for args in ((), ("a", "b"), ("--workers", "65", "v"), ("--order", "x", "v")):
            with self.subTest(crawler=args):
                result = run("migrate-crawler", *args)
                self.assertEqual(result.returncode, 1)
                self.assertEqual(result.stderr.count("\n"), 1)
        self.assertEqual(run("migrate-crawler", "--workers", "64", "--version").returncode, 0)

    def test_versions(self):
        for program in PROGRAMS:
            result = run(program, "--version")
            self.assertEqual(result.returncode, 0)
            self.assertRegex(result.stdout, rf"^{program} \d+\.\d+")


if __name__ == "__main__":
    unittest.main()
