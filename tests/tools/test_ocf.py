#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the resource agents answer, action by action, with programs that stand in for systemd's and for ours.  Needs
a mount namespace of its own: the agents write to /run and /var/lib."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from tools import SOURCE, UNITS, run

DONE, FAILED, INSTALLED, CONFIGURED, NOT_RUNNING = 0, 1, 5, 6, 7
MIGRATE, LOCKS, CONNECTIONS = "migrate", "locks", "connections"
KINDS = ("crawler", "rollback", "verify", "copy", "retriever", "journal", "guard")
HERE, MANAGED = (pathlib.Path(f"{place}/quickmigrate/p.cluster") for place in ("/run", "/var/lib"))
RECURRING = {"OCF_RESKEY_CRM_meta_interval": "10000"}
# A unit's state is in a file; what `stuck` names does not end, and with a pipe `slow` systemctl does not return.
SYSTEMCTL = r"""cd "$STATE"; unit=${3-$2}
case $1 in
show) case $3 in ActiveState) cat "$4" 2>/dev/null || echo inactive ;;
      TasksCurrent) cat "$4.tasks" 2>/dev/null || echo "[not set]" ;; esac ;;
cat) [ ! -e missing ] ;;
is-enabled) [ -e enabled ] ;;
start) echo "$*" >>log; echo active >"$2"
      case $2 in *retriever*) echo active >migrate-journal@p.service; cp served status ;; esac ;;
stop) echo "$*" >>log; [ ! -e slow ] || read -r line <slow
      grep -qs "$2" stuck || rm -f "$2" ;;
kill) [ -e deaf ] || rm -f "$4.tasks" ;;
esac
"""
MIGRATECTL = r"""cd "$STATE"; cat status; exit $(cat exit)"""


def setUpModule():
    for place in "/run", "/var/lib":
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)


class Agent(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.addCleanup(lambda: [shutil.rmtree(at.parent, ignore_errors=True) for at in (HERE, MANAGED)])
        self.state = pathlib.Path(place.name)
        self.stand_in("systemctl", SYSTEMCTL)
        self.stand_in("migratectl", MIGRATECTL)
        self.put("exit", "0")
        self.put("log", "")
        for name in "served", "status":
            self.put(name, '{ "volume" : { "state" : "migrating" } }')

    def put(self, name, text):
        (self.state / name).write_text(text)

    def stand_in(self, name, text):
        (self.state / "bin").mkdir(exist_ok=True)
        self.put(f"bin/{name}", "#!/bin/sh\n" + text)
        (self.state / "bin" / name).chmod(0o755)

    def unit(self, kind, state):
        self.put(f"migrate-{kind}@p.service", state)

    def log(self):
        return re.findall(r"(start|stop) migrate-(\w+)@", (self.state / "log").read_text())

    def expect(self, status, action, agent=MIGRATE, said="", **settings):
        environment = {"PATH": f"{self.state}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "STATE": str(self.state),
                       "OCF_RESKEY_volume": "p", "OCF_RESKEY_crawler": "no", **settings}
        result = subprocess.run(["sh", SOURCE / "packaging/ocf" / agent, action], env=environment, text=True,
                                capture_output=True, timeout=60, check=False)
        self.assertEqual(result.returncode, status, (action, settings, result))
        self.assertIn(said, result.stderr)


class Migrate(Agent):
    def test_parameters(self):
        for wrong in ({"OCF_RESKEY_volume": ""}, {"OCF_RESKEY_crawler": "perhaps"}, {"OCF_RESKEY_rollback": "perhaps"}):
            for action in "monitor", "start", "validate-all":
                self.expect(CONFIGURED, action, **wrong)
        self.expect(DONE, "stop", OCF_RESKEY_volume="")

    def test_node_that_is_not_ready(self):
        """It is this node's fault alone, and none of what runs."""
        for fault in "missing", "enabled":
            with self.subTest(fault=fault):
                self.put(fault, "")
                for action in "monitor", "start", "validate-all":
                    self.expect(INSTALLED, action)
                self.expect(NOT_RUNNING, "monitor", **RECURRING)
                self.unit("retriever", "active")
                self.expect(DONE, "monitor")
                self.expect(DONE, "monitor", **RECURRING)
                self.assertTrue(HERE.exists())
                self.expect(DONE, "stop")
                (self.state / fault).unlink()
        self.put("exit", "2")
        self.expect(INSTALLED, "start")

    def test_probe_of_what_the_cluster_did_not_start(self):
        for state in "inactive", "failed", "activating", "active":
            self.unit("retriever", state)
            self.expect(DONE if state == "active" else NOT_RUNNING, "monitor")
        self.put("exit", "3")
        self.expect(NOT_RUNNING, "monitor")
        self.put("exit", "0")
        for status in '"state": "unattached"', '"state": "finished"', '"state": "whole", "root_replaced": "true"':
            self.put("status", '{"volume": {' + status + '}}')
            self.expect(NOT_RUNNING, "monitor")

    def test_probe_of_what_it_started(self):
        self.expect(DONE, "start")
        self.assertTrue(HERE.exists() and MANAGED.exists())
        for interval in {}, RECURRING:
            self.expect(DONE, "monitor", **interval)
            self.put("exit", "3")
            self.expect(FAILED, "monitor", said="does not answer", **interval)
            self.put("exit", "0")
            self.put("status", '{"volume": {"state": "unattached", "root_replaced": "true"}}')
            self.expect(FAILED, "monitor", said="another directory", **interval)
            shutil.copy(self.state / "served", self.state / "status")
            for state, status in (("activating", FAILED), ("failed", NOT_RUNNING), ("active", DONE)):
                self.unit("retriever", state)
                self.expect(status, "monitor", **interval)

    def test_start_ends_what_runs_over_the_empty_mount_point(self):
        for kind in KINDS:
            self.unit(kind, "active")
        self.put("status", '{"volume": {"state": "unattached"}}')
        self.expect(DONE, "start", OCF_RESKEY_crawler="yes", OCF_RESKEY_rollback="yes")
        log = self.log()
        self.assertEqual({kind for verb, kind in log[:len(KINDS)] if verb == "stop"}, set(KINDS))
        self.assertEqual(log[len(KINDS):], [("start", kind) for kind in ("retriever", "crawler", "rollback")])
        self.expect(DONE, "start")
        self.assertEqual(self.log(), log)
        # what was started here, and has another directory open, too
        self.put("status", '{"volume": {"state": "migrating", "root_replaced": "true"}}')
        self.expect(DONE, "start")
        self.assertEqual(len(self.log()), 2 * len(KINDS) + 4)

    def test_start_without_its_file_system(self):
        self.put("served", '{"volume": {"state": "unattached"}}')
        self.expect(FAILED, "start", said="is its file system mounted?")
        self.assertFalse(HERE.exists())
        self.expect(NOT_RUNNING, "monitor")

    def test_stop(self):
        self.expect(DONE, "start")
        self.expect(DONE, "stop")
        self.assertFalse(HERE.exists())
        stopped = [kind for verb, kind in self.log() if verb == "stop"][-len(KINDS):]
        self.assertEqual((set(stopped[:4]), stopped[4]), (set(KINDS[:4]), "retriever"))
        self.unit("retriever", "failed")
        self.expect(DONE, "stop")
        for kind in KINDS:
            with self.subTest(unit=kind):
                self.unit(kind, "deactivating")
                self.put("stuck", f"migrate-{kind}@p.service")
                self.put("deaf", "")
                self.expect(FAILED, "stop", said=f"migrate-{kind}@p does not end")
                self.unit(kind, "failed")
                self.put(f"migrate-{kind}@p.service.tasks", "1")
                self.expect(FAILED, "stop", said=f"migrate-{kind}@p does not end")
                self.put(f"migrate-{kind}@p.service.tasks", "0")
                self.expect(DONE, "stop")

    def test_stop_ends_what_keeps_it_guarded(self):
        self.put("migrate-guard@p.service.tasks", "1")
        self.expect(DONE, "stop")

    def test_stop_says_why_before_its_time_is_over(self):
        self.unit("journal", "active")
        os.mkfifo(self.state / "slow")      # nobody writes to it
        self.expect(FAILED, "stop", said="migrate-journal@p does not end", OCF_RESKEY_CRM_meta_timeout="6000")

    def test_metrics(self):
        self.put("conf", "[volume p]\nroot = /srv/p\nsource = file:///srv/old\n")

        def standby():
            text = run("migratectl", "--config", self.state / "conf", "metrics").stdout
            self.assertIn('quickmigrate_up{volume="p"} 0\n', text)
            return re.findall(r'^quickmigrate_standby.*} (.*)$', text, re.M)
        self.assertEqual(standby(), [])
        self.expect(DONE, "start")
        self.assertEqual(standby(), ["0"])
        self.expect(DONE, "stop")
        self.assertEqual(standby(), ["1"])

    def test_units(self):
        """They begin on the node that has the volume, and end in the time that is announced."""
        limits = {}
        for kind in KINDS:
            text = (UNITS / f"migrate-{kind}@.service").read_text()
            for condition in "|!" + str(MANAGED), "|" + str(HERE):
                self.assertIn("ConditionPathExists=" + condition.replace("/p.", "/%i.") + "\n", text)
            limits[kind] = int(re.search(r"^TimeoutStopSec=(\d+)s$", text, re.M)[1])
        announced = re.search(r'name="stop" timeout="(\d+)s"', (SOURCE / "packaging/ocf/migrate").read_text())[1]
        # an ExecStop has as long by itself
        self.assertLess(2 * max(limits[kind] for kind in KINDS[:4]) + limits["retriever"] +
                        max(limits["journal"], limits["guard"]), int(announced) - 5)


class Others(Agent):
    def test_locks(self):
        for name in "rpc.statd", "sm-notify", "rpcinfo", "ss", "nfsconf", "getent":
            self.stand_in(name, "exit 1")
        for settings in {}, {"OCF_RESKEY_address": "10.79.0.3"}:
            for said in "state-directory-path", "/etc/hosts":
                if said == "/etc/hosts" and not settings:
                    continue
                self.stand_in("nfsconf", "exit 1" if said != "/etc/hosts" else "echo /srv/statd")
                for action in "monitor", "start", "validate-all":
                    self.expect(INSTALLED, action, LOCKS, said, **settings)
                self.expect(NOT_RUNNING, "monitor", LOCKS, **settings, **RECURRING)
                self.expect(DONE, "stop", LOCKS, **settings)
        run = pathlib.Path("/run/quickmigrate-locks")
        run.mkdir()
        (run / "notify").write_text("1\n")
        self.expect(DONE, "monitor", LOCKS, OCF_RESKEY_address="10.79.0.3")
        (run / "statd").write_text("1\n")
        self.expect(FAILED, "monitor", LOCKS, "does not answer")

    def test_connections(self):
        settings = {"OCF_RESKEY_address": "10.79.0.3", "OCF_RESKEY_file": f"{self.state}/list", "OCF_ROOT": "/nowhere"}
        for action in "monitor", "start", "validate-all":
            self.expect(CONFIGURED, action, CONNECTIONS)
            self.expect(INSTALLED, action, CONNECTIONS, "tickle_tcp", **settings)
        self.expect(NOT_RUNNING, "monitor", CONNECTIONS, **settings, **RECURRING)
        self.expect(DONE, "stop", CONNECTIONS, **settings)


if __name__ == "__main__":
    unittest.main()
