#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""migratectl map-ids: owners by name, and nobody by a guess."""

import json
import pathlib
import random
import tempfile
import unittest

from tools import run

SID = "S-1-5-21-1-2-3-"


class MapIds(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)

    def file(self, name, text):
        path = self.place / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def maps(self, old, new, *options, status=0):
        """(maps as dictionaries, lines about who is left, complaints)"""
        done = run("migratectl", "map-ids", f"--old={self.file('old', old)}", f"--new={self.file('new', new)}", *options)
        self.assertEqual(done.returncode, status, done)
        maps, left = {}, []
        for line in done.stdout.splitlines():
            if line.startswith("# "):
                left.append(line[2:])
            else:
                key, value = line.split(" = ")
                maps[key] = dict(pair.split(":") for pair in value.split(" "))
        return maps, left, done.stderr.replace(str(self.place) + "/", "").splitlines()

    def test_by_name(self):
        """Both kinds in one file; who has the same number is not mentioned, who is known twice is one."""
        old = ("# getent\nroot:x:0:0::/:/bin/sh\nanna:x:1000:100:A:/:/bin/sh\nanna:*:1000:100:A:/:/bin/zsh\n"
               "otto:x:1001:100::/:\n\nusers:x:100:anna,otto\nroot:x:0:\n")
        new = "root:x:0:0::/:/bin/sh\r\notto:x:1001:7::/:\r\nanna:x:2000:7::/:\r\nusers:x:7:\r\nroot:x:0:\r\n"
        self.assertEqual(self.maps(old, new), ({"map-users": {"1000": "2000"}, "map-groups": {"100": "7"}}, [], []))
        self.assertEqual(self.maps(old, old), ({}, [], []))
        # a cycle is one for each
        self.assertEqual(self.maps("a:x:1:1:::\nb:x:2:1:::\n", "a:x:2:1:::\nb:x:1:1:::\n")[0],
                         {"map-users": {"1": "2", "2": "1"}})

    def test_nobody_is_guessed(self):
        user = "{}:x:{}:1::/:\n".format
        for old, new, what in (
                (user("a", 5) + user("a", 6), user("a", 7), ["5, a: its name has two ids", "6, a: its name has two ids"]),
                (user("a", 5) + user("b", 5), user("a", 7), ["5, a: its id has two names", "5, b: its id has two names"]),
                (user("a", 5), user("a", 7) + user("a", 8), ["5, a: here two have that name, or that id"]),
                (user("a", 5), user("a", 7) + user("b", 7), ["5, a: here two have that name, or that id"]),
                (user("a", 5), user("a", 0), ["5, a: one of the two is root"]),
                (user("root", 0), user("root", 5), ["0, root: one of the two is root"]),
                (user("Anna", 5), user("anna", 7), ["5, Anna: nobody here has that name in the same case"]),
                (user("a", 5), "a:x:7:\n", ["5, a: nobody here has that name"])):
            with self.subTest(old=old, new=new):
                maps, left, _ = self.maps(old, new, status=1)
                self.assertEqual((maps, left), ({}, [f"user {line}" for line in what]))

    def test_two_become_one(self):
        """Who keeps a number that is somebody's here would share his files."""
        maps, left, _ = self.maps("anna:x:1000:1:::\notto:x:2000:1:::\nberta:x:3000:1:::\n",
                                  "anna:x:2000:1:::\ndora:x:3000:1:::\n", status=1)
        self.assertEqual(maps, {"map-users": {"1000": "2000"}})
        self.assertEqual(left, [
            "user 2000, otto: nobody here has that name; it keeps its number, and is anna here, as 1000 is: two become one",
            "user 3000, berta: nobody here has that name; it keeps its number, and is dora here"])

    def test_of_other_systems(self):
        """What editors and ldapsearch put into dumps is no fault, and what is one is said for what it is."""
        account = "anna:x:{}:1::/:\n".format
        for old in ("\ufeff" + account(1000), "  # mine\n \t\n" + account(1000),
                    "# filter: (&(objectClass=posixAccount)(|(uid=a*)\n (uid=o*)))\n#\n\ndn: uid=anna\nuid: anna\nuidNumber: 1000\n",
                    "\ufeffdn: uid=anna\nuid: anna\nuidNumber: 1000\n"):
            with self.subTest(old=old):
                self.assertEqual(self.maps(old, account(7)), ({"map-users": {"1000": "7"}}, [], []))
        for line in "+::::::", "nobody:x:-2:-2::/:", "x:x:4294967295:1::/:", "x::":
            with self.subTest(line=line):
                maps, left, wrong = self.maps(account(1000) + line + "\n", account(7), status=2)
                self.assertEqual((maps, left, len(wrong)), ({"map-users": {"1000": "7"}}, [], 1))
                self.assertIn("old:2: neither a name and a number up to 4294967294", wrong[0])
        # neither does a long line take for ever
        for line in "x" + "," * 1_000_000 + " x", "x " * 500_000, "," * 1_000_000:
            self.assertEqual(len(self.maps(account(1000) + line + "\n", account(7), status=2)[2]), 1)
        self.assertIn("UTF-8", self.maps((account(1000)).encode("utf-16"), "", status=2)[2][0])

    def test_ldif(self):
        new = ("# by ldapsearch\nversion: 1\n\ndn: ou=people,dc=x\nou: people\n\n"
               "dn: uid=anna,dc=x\nobjectClass: posixAccount\nUID: anna\ncn: A\ncn: Anna\nuidNumber: 20\n 00\ngidNumber: 7\n\n\n"
               "dn:: dWlkPW90dG8=\nuid:: b3R0\n bw==\nuidNumber;x-a: 2001\n\n"
               "dn: cn=users\ncn: users\ngidNumber: 300\n\n"
               "dn: uid=two\nuid: two\nuidNumber: 1\nuidNumber: 2\n\n"
               "dn: uid=nul\nuid:: YQBi\nuidNumber: 3\n\ndn: uid=url\nuid: url\nuidNumber:< file:///x\n")
        maps, left, wrong = self.maps("anna:x:1:1:::\notto:x:2:1:::\nusers:x:3:\n", new, status=2)
        self.assertEqual(maps, {"map-users": {"1": "2000", "2": "2001"}, "map-groups": {"3": "300"}})
        self.assertEqual(left, [])
        lines = new.split("\n")
        self.assertEqual(wrong, [f"migratectl: new:{lines.index(f'dn: uid={name}') + 1}: not one name and one number"
                                 for name in ("two", "nul", "url")])

    def test_sids(self):
        """Names of SIDs are the same in any case; what is a user and a group here has to be told."""
        new = "anna:x:1000:1:::\nOtto:x:1001:1:::\notto:x:1002:1:::\nrita:x:1003:1:::\nrita:x:7:\ndomain users:x:513:\nroot:x:0:0:::\n"
        old = (f"Anna\t{SID}1\nDomain Users, {SID}513\notto {SID}2\nRita {SID}3 USER\nroot {SID}500\n"
               f"B {SID}7\nb {SID}8\nno {SID}9\n")
        maps, left, _ = self.maps(old, new, status=1)
        self.assertEqual(maps, {"sid-users": {SID + "1": "1000", SID + "3": "1003"}, "sid-groups": {SID + "513": "513"}})
        self.assertEqual([line.split(", ", 1)[1] for line in left],
                         ["otto: here two have that name, or that id", "root: one of the two is root",
                          "B: its name has two ids", "b: its name has two ids", "no: nobody here has that name"])
        _, left, _ = self.maps(f"rita {SID}3\n", new, status=1)
        self.assertIn("a user and a group here have that name", left[0])

    def test_any_case(self):
        """A letter has one other case; letters that are alike are two accounts."""
        for old, new, same in (("J\u00dcRGEN", "j\u00fcrgen", True), ("Stra\u00df", "strass", False),
                               ("STRASS", "stra\u00df", False), ("\u212aarl", "karl", False), ("\u017fam", "sam", False)):
            with self.subTest(old=old, new=new):
                maps, left, _ = self.maps(f"{old} {SID}1\n", f"{new}:x:7:1:::\n", status=0 if same else 1)
                self.assertEqual((maps, len(left)), ({"sid-users": {SID + "1": "7"}}, 0) if same else ({}, 1))

    def test_objects(self):
        check = self.file("check.json", json.dumps({"owners": {"user 5": 12, "user 6": 1, "group 77": 3}}))
        maps, left, _ = self.maps("a:x:5:1:::\nb:x:6:1:::\n", "b:x:77:1:::\n", f"--check={check}", status=1)
        self.assertEqual(maps, {"map-users": {"6": "77"}})
        self.assertEqual(left, ["user 5, a: nobody here has that name; objects: 12",
                                "group 77, -: nobody there has it; objects: 3"])
        for text in "", "{", "[]", "{}", '{"owners": 1}':
            check.write_text(text)
            self.assertEqual(self.maps("a:x:5:1:::\n", "a:x:5:1:::\n", f"--check={check}", status=2)[0], {})

    def test_broken_lines(self):
        old = f"a:x:1:1:::\nb:x:-1:1:::\nc:x:4294967295:1:::\n:x:3:1:::\nd:x:4\nS-1-5\nx S-1-x\n\x1b[2J S-1-5-1 z\ne:x:9:1:::\ny {SID}x\n"
        maps, left, wrong = self.maps(old, "a:x:2:1:::\ne:x:8:1:::\n", status=2)
        self.assertEqual((maps, left), ({"map-users": {"1": "2", "9": "8"}}, []))
        self.assertEqual([line.split(":")[1:3] for line in wrong], [[" old", str(n)] for n in (2, 3, 4, 5, 6, 7, 8, 10)])
        self.assertIn("NUL", self.maps("a:x:1:1:::\0\n", "", status=2)[2][0])
        self.assertEqual(run("migratectl", "map-ids", "--old=/dev/null").returncode, 2)
        self.assertEqual(run("migratectl", "map-ids", "--old=/nonexistent", "--new=/dev/null").returncode, 2)
        # a name is a line at most
        self.assertEqual(self.maps("a\x1b[2Jb\xff\n".encode("latin1") + b"q\x07:x:1:1:::\n", "", status=2)[1],
                         ["user 1, q\\007: nobody here has that name"])

    def test_any(self):
        """Whatever the dumps say, the maps are of one to one, by one name, and none touches root."""
        rng = random.Random(42)
        for _ in range(60):
            def dump():
                return [(rng.choice("abcABCdef"), rng.randrange(9)) for _ in range(rng.randrange(12))]
            old, new = dump(), dump()
            done = run("migratectl", "map-ids", *(f"--{side}={self.file(side, ''.join(f'{n}:x:{i}:1:::' + chr(10) for n, i in accounts))}"
                                                  for side, accounts in (("old", old), ("new", new))))
            pairs = [pair.split(":") for line in done.stdout.splitlines() if line.startswith("map-users = ")
                     for pair in line.split(" ")[2:]]
            self.assertEqual(len({a for a, _ in pairs}), len(pairs))
            self.assertEqual(len({b for _, b in pairs}), len(pairs))
            for a, b in pairs:
                names = {n for n, i in old if i == int(a)}, {n for n, i in new if i == int(b)}
                self.assertEqual((len(names[0]), names[0]), (1, names[1]))
                self.assertNotIn("0", (a, b))
                for accounts, number in ((old, a), (new, b)):
                    self.assertEqual({i for n, i in accounts if {n} == names[0]}, {int(number)})


if __name__ == "__main__":
    unittest.main()
