#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""migratectl volumes: a table becomes groups, exports and shares; its text becomes nothing else."""

import configparser
import csv
import io
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from tools import PROGRAMS, run

COLUMNS = ["name", "root", "source", "wave", "clients", "share", "valid-users"]


class Volumes(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        self.config, self.table = self.place / "conf", self.place / "table.csv"

    def text(self, name):
        return (self.place / name).read_text()

    def volumes(self, *rows, status=0, columns=None, options=("--add", "--yes")):
        """(its output, its complaints); rows: dictionaries, or text"""
        if rows and not isinstance(rows[0], str):
            out = io.StringIO()
            writer = csv.DictWriter(out, columns or COLUMNS, restval="")
            writer.writeheader()
            writer.writerows(rows)
            rows = [out.getvalue()]
        self.table.write_text("".join(rows), newline="")
        done = run("migratectl", "--config", self.config, "volumes", f"--csv={self.table}", *options)
        self.assertEqual(done.returncode, status, done)
        return done.stdout, done.stderr.replace(str(self.place) + "/", "").splitlines()

    def row(self, name, **cells):
        return {"name": name, "root": f"/srv/{name}", "source": f"nfs://old/export/{name}",
                **{key.replace("_", "-"): value for key, value in cells.items()}}

    def groups(self):
        parsed = configparser.RawConfigParser(strict=True)
        parsed.read(self.config)
        return {name: dict(parsed[name]) for name in parsed.sections()}

    def test_groups(self):
        self.config.write_text("# mine\n[defaults]\nwave = 9\n\n[volume b]\nroot = /srv/b\nsource = nfs://old/export/b\nguard = no")
        os.chown(self.config, 0, 7)
        self.config.chmod(0o664)
        before = self.config.read_text()
        out, wrong = self.volumes(self.row("a", wave="1"), self.row("b"))
        self.assertEqual(wrong, [])
        self.assertTrue(self.text("conf").startswith(before + "\n"))
        self.assertEqual(self.groups()["volume a"], {"root": "/srv/a", "source": "nfs://old/export/a", "wave": "1"})
        self.assertEqual((self.config.stat().st_mode & 0o777, self.config.stat().st_gid), (0o664, 7))
        self.assertIn("\n+[volume a]\n+root = /srv/a\n", out)
        # as patch reads it
        was, patch = self.place / "was", self.place / "patch"
        was.write_text(before + "\n")
        patch.write_text(out)
        subprocess.run(["patch", "--quiet", was, patch], check=True)
        self.assertEqual(was.read_text().rstrip(), self.config.read_text().rstrip())
        # once more: nothing is left to do, so nobody is asked
        self.assertEqual(self.volumes(self.row("a"), self.row("b"), options=["--add"]), ("", []))
        # another value is said, and stays
        for changed in self.row("a", wave="2"), self.row("a") | {"root": "/srv/z"}:
            _, wrong = self.volumes(changed, self.row("c" + changed["wave"] if "wave" in changed else "d"), status=2)
            self.assertEqual(len(wrong), 1)
            self.assertRegex(wrong[0], r"table.csv:2: \[volume a\] has another (wave|root) in conf already: (1|/srv/a)$")
        self.assertEqual(set(self.groups()), {"defaults", "volume a", "volume b", "volume c2", "volume d"})
        # a link stays one
        link = self.place / "link"
        link.symlink_to(self.config)
        self.assertEqual(run("migratectl", "--config", link, "volumes", f"--csv={self.table}", "--add", "--yes").returncode, 2)
        self.assertTrue(link.is_symlink())

    def test_asked(self):
        out, wrong = self.volumes(self.row("a"), options=[])
        self.assertEqual((out, wrong, self.config.exists()),
                         ("\n[volume a]\nroot = /srv/a\nsource = nfs://old/export/a\n", [], False))
        out, wrong = self.volumes(self.row("a"), options=["--add"], status=2)
        self.assertIn("--yes", wrong[0])
        self.assertIn("+[volume a]", out)
        out, wrong = self.volumes(self.row("a"), options=["--add", "--dry-run"])
        self.assertIn("+[volume a]", out)
        self.assertFalse(self.config.exists())

    def test_at_once(self):
        """Who has not added his groups is told, and whoever is not told has."""
        runs, names = [], [f"v{n}" for n in range(24)]
        for name in names:
            table = self.place / f"{name}.csv"
            table.write_text(f"name,root,source\n{name},/srv/{name},nfs://o/{name}\n")
            runs.append(subprocess.Popen([PROGRAMS["migratectl"], f"--config={self.config}", "volumes", f"--csv={table}", "--add", "--yes"],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
        added = set()
        for name, done in zip(names, runs):
            wrong = done.communicate(timeout=300)[1]
            if done.returncode:
                self.assertIn("was changed meanwhile: run it again", wrong)
            else:
                added.add(f"volume {name}")
        self.assertEqual(set(self.groups()), added)
        self.assertTrue(added)

    def test_rows(self):
        """Each bad row is its own line, and the others are taken."""
        rows = [("a", "/srv/a", "nfs://o/a"), ("", "/srv/b", "nfs://o/b"), ("a b", "/srv/b", "nfs://o/b"),
                ("a", "/srv/b", "nfs://o/b"), ("c", "srv/c", "nfs://o/c"), ("d", "/srv/a/d", "nfs://o/d"),
                ("e", "/srv/e", "ftp://o/e"), ("f", "", "nfs://o/f"), ("g", '"/srv/g\nsource = file:///"', "nfs://o/g"),
                ("h", "/srv/\x1b[2J", "nfs://o/h"), ("i", '"""/srv/i"""', "nfs://o/i"), ("j", "/srv/j",), ("k", 'x"', "y"),
                ("z", "/srv/z", "nfs://o/z"), ("y", "/srv/e/y", "nfs://o/y")]   # where a bad one would be
        text = "name,root,source\r\n" + "".join(",".join(row) + "\r\n" for row in rows)
        _, wrong = self.volumes(text, status=2)
        self.assertEqual([line.split(":")[1:3] for line in wrong],
                         [[" table.csv", str(n)] for n in (3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15)])
        self.assertEqual(set(self.groups()), {"volume a", "volume y", "volume z"})
        self.assertNotIn("\x1b", "".join(wrong))

    def test_overlaps_that_are_there(self):
        """Also of a volume whose root is above the other's, and of the same."""
        self.config.write_text("[volume c]\nroot = /srv/x/c\nsource = nfs://o/c\n[volume b]\nroot = /srv/x\nsource = nfs://o/b\n"
                               "[volume d]\nroot = /srv/d/\nsource = nfs://o/d\n[volume e]\nroot = /srv/d\nsource = nfs://o/e\n")
        for name, root, other in ("b", "/srv/x", "c"), ("c", "/srv/x/c", "b"), ("d", "/srv/d/", "e"), ("e", "/srv/d", "d"):
            with self.subTest(name=name):
                _, wrong = self.volumes({"name": name, "root": root, "source": f"nfs://o/{name}"}, status=2)
                self.assertEqual(len(wrong), 1)
                self.assertIn(f"overlaps with the root of [volume {other}]", wrong[0])

    def test_header(self):
        for header, what in (("", "column"), ("root,source", "name"), ("name,rot", "rot"), ("name,root,root", "root"),
                             ("name;root;source", "commas"), ('name,"x', "name")):
            with self.subTest(header=header):
                _, wrong = self.volumes(header + "\na,/srv/a,nfs://o/a\n", status=2)
                self.assertEqual(len(wrong), 1)
                self.assertIn(what, wrong[0])
        self.assertFalse(self.config.exists())
        # a byte order mark, keys of any kind, cells and rows that are empty
        self.volumes("\ufeffname,root,source,limits,guard\na,/srv/a,nfs://o/a,Mon-Fri 08:00-18:00 10M 9/s; Sat 00:00-24:00 0,\n,,,,\n\n, ,,"",\n")
        self.assertEqual(self.groups()["volume a"]["limits"], "Mon-Fri 08:00-18:00 10M 9/s; Sat 00:00-24:00 0")
        self.config.write_text("[volume a]\nrot = /srv/a\n")
        self.assertIn("unknown key", self.volumes(self.row("a"), status=2)[1][0])

    def write(self, *rows, status=0, **kw):
        return self.volumes(*rows, status=status, options=["--yes", f"--write={self.place}"], **kw)

    def test_drafts(self):
        """Exports keep their numbers, and what was edited stays."""
        _, wrong = self.write(self.row("a", clients="10.0.0.0/8, 192.0.2.7"), self.row("b", clients="*", share="B", valid_users="@staff, anna"))
        self.assertEqual(wrong, [])
        self.assertFalse(self.config.exists())
        exports = self.text("exports.conf")
        first = [int(n) for n in re.findall(r"Export_Id = (\d+);", exports)]
        self.assertEqual(first[1], first[0] + 1)
        self.assertEqual(re.findall(r"Clients = (.*);\n\t\tAccess_Type = (.*);\n\t\tSquash = (.*);", exports),
                         [("192.0.2.7", "RW", "Root_Squash"), ("10.0.0.0/8", "RW", "Root_Squash"), ("*", "RW", "Root_Squash")])
        self.assertEqual(exports.count("Access_Type = None;"), 2)       # for all others
        self.assertEqual(self.text("shares.conf"), "\n[B]\n\tpath = /srv/b\n\tvalid users = @staff, anna\n\tread only = no\n"
                         "\tvfs objects = migrate\n\tmigrate:volume = b\n")
        (self.place / "exports.conf").write_text(exports.replace("10.0.0.0/8", "10.1.0.0/16"))
        _, wrong = self.write(self.row("a", clients="10.0.0.0/8, 192.0.2.7"), self.row("c", clients="*"),
                              self.row("b", clients="*", share="b", valid_users="otto"), status=2)
        self.assertEqual([line.split(":")[2] for line in wrong], ["2", "4"])
        self.assertEqual(self.text("exports.conf")[:len(exports) + 1], exports.replace("10.0.0.0/8", "10.1.0.0/16"))
        self.assertEqual(re.findall(r"Export_Id = (\d+);", self.text("exports.conf")), [str(first[0] + n) for n in range(3)])
        self.assertNotIn("otto", self.text("shares.conf"))
        # however a block is written, it is there
        more = '[ B ]\r\n\tpath = /x\r\n[\u00c4]\n'
        (self.place / "shares.conf").write_text(more, newline="")
        (self.place / "exports.conf").write_text('EXPORT {\r\n volume="b" ; }\r\nEXPORT { Pseudo=/export/e; }\r\n# \udcff\r\n',
                                                 errors="surrogateescape", newline="")
        _, wrong = self.write(self.row("b", clients="*", share="b", valid_users="u"), self.row("e", clients="*"),
                              self.row("a", share="\u00e4", valid_users="u"), status=2)
        self.assertEqual([line.split(":")[2] for line in wrong], ["2", "2", "3", "4"])
        self.assertEqual((self.place / "shares.conf").read_bytes(), more.encode())
        (self.place / "exports.conf").write_text(exports)
        # two old servers may export the same path, and this one cannot
        _, wrong = self.write(self.row("d", clients="*") | {"source": "nfs://older/export/b"}, status=2)
        self.assertIn("left as it is", wrong[0])

    def test_numbers_of_exports(self):
        (self.place / "exports.conf").write_text("EXPORT { Export_Id = 65534; Path = /x; }\n")
        _, wrong = self.write(self.row("a", clients="*"), self.row("b", clients="*"), status=2)
        self.assertEqual(len(wrong), 1)
        self.assertRegex(wrong[0], "table.csv:3: an Export_Id is at most 65535")
        self.assertEqual(re.findall(r"Export_Id = (\d+);", self.text("exports.conf")), ["65534", "65535"])

    def test_path_of_another_export(self):
        """Under another name it would be served twice, once perhaps past the layer."""
        for path, taken in ('"/srv/a"', True), ("//srv/a/", True), ("/srv/a/b", False):
            (self.place / "exports.conf").write_text(f"EXPORT {{ Export_Id = 7; Path = {path}; Pseudo = /other; }}\n"
                                                     "# EXPORT { Path = /srv/ab; }\n")
            _, wrong = self.write(self.row("a", clients="*"), self.row("ab", clients="*"), status=2 if taken else 0)
            self.assertRegex("".join(wrong), "table.csv:2: .*another block with Path" if taken else "^$")
            self.assertEqual('Pseudo = "/export/a"' in self.text("exports.conf"), not taken)
            self.assertIn('Pseudo = "/export/ab"', self.text("exports.conf"))

    def test_security(self):
        """Nobody gets in by a draft who was not named, or more easily than before."""
        self.write(self.row("a"), self.row("k", clients="*") | {"source": "nfs://old.x/k?sec=krb5p"})
        self.assertEqual(re.findall(r"Volume = (.*);", self.text("exports.conf")), ['"k"'])
        self.assertIn("SecType = krb5p;", self.text("exports.conf"))
        self.assertFalse((self.place / "shares.conf").exists())
        smb = {"name": "s", "root": "/srv/s", "source": "smb://u@old/s", "smb-modes": "open"}
        columns = [*COLUMNS, "smb-modes"]
        _, wrong = self.write(smb | {"clients": "*"}, columns=columns, status=2)
        self.assertIn("smb-modes = open", wrong[0])
        _, wrong = self.write(smb | {"share": "s"}, columns=columns, status=2)
        self.assertIn("valid-users", wrong[0])
        # smb.conf takes an empty list for everybody, and a line that does not fit would be left out
        for users in ",", " , ,", '""', '"",""', "u" * 987, "u," * 494:
            with self.subTest(users=users):
                _, wrong = self.write(smb | {"share": "s", "valid-users": users}, columns=columns, status=2)
                self.assertIn("valid-users", wrong[0])
                self.assertFalse((self.place / "shares.conf").exists())
        self.write(self.row("l", share="l", valid_users="u" * 986))
        self.assertIn("\tvalid users = " + "u" * 986 + "\n", self.text("shares.conf"))
        self.write(smb | {"share": "s", "valid-users": "anna"}, columns=columns)
        self.assertIn("vfs objects = migrate streams_xattr acl_xattr\n", self.text("shares.conf"))

    def test_hostile(self):
        """What a cell has is no other setting."""
        bad = ['"', "'", "\\", "$x", ";", "%u", "\n\tSquash = No_Root_Squash", "\n[global]\n\tinclude = /x", "\r", "{", "}", "#",
               "\u2028x", "\u202ex"]
        for column in "name", "root", "clients", "share", "valid-users":
            for text in bad:
                with self.subTest(column=column, text=text):
                    for name in "exports.conf", "shares.conf":
                        (self.place / name).unlink(missing_ok=True)
                    row = self.row("a", clients="192.0.2.1", share="s", valid_users="u")
                    if column == "valid-users" and text in ('"', "'", "\\", "$x", "{", "}", "#"):
                        continue                        # of no meaning there
                    if column == "share" and text in ("'", "$x", "{", "}") or column == "root" and text in "{}#":
                        continue
                    row[column] += text + "y"
                    _, wrong = self.write(row, self.row("z", clients="192.0.2.1", share="z", valid_users="u"), status=2)
                    self.assertEqual(len(wrong), 1)
                    self.assertRegex(wrong[0], r"table.csv:2: ")
                    self.assertEqual(self.text("exports.conf").count("EXPORT {"), 1)
                    self.assertEqual(self.text("shares.conf").count("path ="), 1)
        # and what is allowed there, the servers' own readers take for what it is
        (self.place / "shares.conf").unlink()
        self.write(self.row("q", clients="192.0.2.1", share="q{$'}", valid_users='"a b", #c') | {"root": "/srv/q{}#"})
        ganesha = self.place / "ganesha.conf"
        ganesha.write_text(f'%include "{self.place}/exports.conf"\n')
        found = subprocess.run(["testparm", "-s", "--section-name=q{$'}", "--parameter-name=path", self.place / "shares.conf"],
                               capture_output=True, text=True, check=True).stdout
        self.assertEqual(found, "/srv/q{}#\n")
        found = run("migratectl", "doors", "nfs-ganesha", str(ganesha))
        self.assertEqual((found.returncode, found.stderr), (0, ""))

    def test_files(self):
        for options in [], ["--csv=/nonexistent"]:
            self.assertEqual(run("migratectl", "volumes", *options).returncode, 2)
        self.table.write_bytes(b"name\0")
        self.assertIn("NUL", run("migratectl", "volumes", f"--csv={self.table}").stderr)
        _, wrong = self.volumes(self.row("a", clients="*"), options=["--yes", "--write=/nonexistent"], status=2)
        self.assertIn("/nonexistent/exports.conf", wrong[0])


if __name__ == "__main__":
    unittest.main()
