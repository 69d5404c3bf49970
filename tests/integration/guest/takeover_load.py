#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest: programs at work while the server behind the address becomes another one, there and back
again.  What they closed, committed and were told must be right after each switch; whoever is refused
in a switch where that may be begins the same thing anew.  Arguments and talk: going_on.py; then

    mounts      nobody holds anything open from one thing to the next; refused may be who just has
    all         files and a data base stay open; on the way there nobody is refused
"""
import errno
import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time

from going_on import EBADHANDLE, GIT, LINK, MORE, TOP, Program, begin, get_on, mount, say

BELOW, SWITCHES, HOLD = *MORE[:2], MORE[2] == 'all'
ROOM = 100                      # closed files
LOAD = TOP + '/load'
ATTRIBUTES = 2                  # s, longer than the client remembers attributes (acdirmax)
MAY_BE_REFUSED = threading.Event()
REFUSED = (errno.ESTALE, EBADHANDLE, errno.EIO)


def content(name):
    """Of a file of that name."""
    chance = random.Random(name)
    return chance.randbytes(chance.randrange(40000))


def read(path):
    """From the server."""
    with open(path, 'rb', buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return file.readall()


class GitFailure(Exception):
    """With what git said."""


class Load(Program):
    refused = 0                 # so often

    def __init__(self):
        self.busy = threading.Lock()
        super().__init__()

    def round(self, n):
        with self.busy:
            while True:
                try:
                    return self.work(n)
                except (OSError, sqlite3.OperationalError, GitFailure) as error:
                    if not MAY_BE_REFUSED.is_set() or getattr(error, 'errno', None) not in (None, *REFUSED):
                        raise
                    self.refused += 1
                    self.again()

    def again(self):
        """After a refusal."""

    def verify(self):
        """Everything that it has been told was done."""


class Reader(Load):
    """Of files that nobody changes.  One of them stays open: it is never refused."""

    def open(self):
        places = (TOP + '/dir/open', *(f'{TOP}/{BELOW}/more/file{n}' for n in range(40)))
        self.known = {path: read(path) for path in places}
        self.file = os.open(places[0], os.O_RDONLY)

    def work(self, n):
        path = list(self.known)[n % len(self.known)]
        assert read(path) == self.known[path], path
        os.statvfs(TOP)

    def round(self, n):
        super().round(n)
        if HOLD:
            os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_DONTNEED)
            at = n * 4096 % (1 << 20)
            assert os.pread(self.file, 4096, at) == self.known[TOP + '/dir/open'][at:at + 4096], at

    def verify(self):
        for path, text in self.known.items():
            assert read(path) == text, path


class Lister(Load):
    def open(self):
        self.names = self.list()
        assert len(self.names) == 5000

    @staticmethod
    def list():
        """From the server."""
        directory = os.open(TOP + '/wide', os.O_RDONLY)
        try:
            os.posix_fadvise(directory, 0, 0, os.POSIX_FADV_DONTNEED)
            return sorted(os.listdir(directory))
        finally:
            os.close(directory)

    def work(self, n):
        may = MAY_BE_REFUSED.is_set()
        found = self.list()
        if found != self.names:
            # cookies mean something else on the old server
            assert HOLD and (may or MAY_BE_REFUSED.is_set()), f'{len(found)} names'
            raise OSError(errno.ESTALE, f'{len(found)} names')


class Files(Load):
    """Makes files; the oldest ones are removed."""

    def open(self):
        os.mkdir(LOAD + '/files')
        self.closed = []

    def work(self, n):
        name = f'f{n}'
        with open(f'{LOAD}/files/{name}', 'wb') as file:
            file.write(content(name))
        if name not in self.closed:
            self.closed.append(name)
        one = random.choice(self.closed)
        assert read(f'{LOAD}/files/{one}') == content(one), one
        while len(self.closed) > ROOM:
            try:
                os.unlink(f'{LOAD}/files/{self.closed[0]}')
            except FileNotFoundError:       # it was removed, and the answer lost
                pass
            self.closed.pop(0)

    def verify(self):
        for name in self.closed:
            assert read(f'{LOAD}/files/{name}') == content(name), name
        assert sorted(os.listdir(LOAD + '/files')) == sorted(self.closed), 'names'


class Log(Load):
    """Appends lines."""

    def open(self):
        self.path, self.text, self.file = LOAD + '/log', b'', None
        self.again()

    def again(self):
        if self.file:
            try:
                self.file.close()
            except OSError:                 # of what was not written
                pass
            self.file = None

    def work(self, n):
        line = f'{n:7d}\n'.encode()
        self.file = self.file or open(self.path, 'a+b', buffering=0)
        os.ftruncate(self.file.fileno(), len(self.text))        # what is of a line that was refused
        self.file.write(line)
        os.fsync(self.file.fileno())
        if not HOLD:
            file, self.file = self.file, None
            file.close()
        self.text += line

    def verify(self):
        found = read(self.path)
        assert found == self.text, (len(found), len(self.text))


class Database(Load):
    def open(self):
        self.rows, self.connection = set(), None
        with sqlite3.connect(LOAD + '/base') as connection:
            connection.execute('create table t (n integer)')
        connection.close()

    def again(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def work(self, n):
        self.connection = self.connection or sqlite3.connect(LOAD + '/base', check_same_thread=False)
        if self.connection.in_transaction:
            self.connection.rollback()
        self.connection.execute('delete from t where n = ?', (n,))     # of a commit without an answer
        self.connection.execute('insert into t values (?)', (n,))
        self.connection.commit()
        if not HOLD:
            self.again()
        self.rows.add(n)

    def verify(self):
        connection = self.connection or sqlite3.connect(LOAD + '/base')
        assert connection.execute('pragma integrity_check').fetchone() == ('ok',)
        rows = [n for n, in connection.execute('select n from t')]
        assert sorted(rows) == sorted(self.rows), (len(rows), len(self.rows))


class Versions(Load):
    """git, in a repository of the old server's."""

    def open(self):
        self.commits, self.where, self.verified = 1, TOP + '/repository', 0

    def git(self, *argv):
        ran = subprocess.run(['git', *argv], cwd=self.where, env=GIT, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        if ran.returncode:
            raise GitFailure(f'git {argv[0]}: {ran.stderr}')
        return ran.stdout

    def again(self):
        for lock in ('index.lock', 'HEAD.lock', 'refs/heads/master.lock'):
            try:
                os.unlink(f'{self.where}/.git/{lock}')
            except OSError:
                pass

    def work(self, n):
        if self.git('log', '-1', '--format=%s') != f'{n}\n':           # a commit without an answer
            with open(self.where + '/file', 'w') as file:
                file.write(f'{n}\n')
            self.git('add', 'file')
            self.git('commit', '-qm', f'{n}')
        self.commits = n + 2

    def verify(self):
        if self.verified % 10 == 0:         # it reads all that there ever was
            self.git('fsck', '--strict')
        self.verified += 1
        assert self.git('log', '--format=%s').split() == [*map(str, range(self.commits - 2, -1, -1)), 'first']
        assert not self.git('status', '--porcelain'), 'changes'


def main():
    mount()
    os.mkdir(LOAD)
    say('mounted')
    programs = begin((Reader, Lister, Files, Log, Database, Versions))
    for n in range(int(SWITCHES)):
        for program in programs:
            program.gap = 0
        if not HOLD or n % 2:
            MAY_BE_REFUSED.set()
        say('ready')
        LINK.readline()
        get_on(programs, 2, time.monotonic() + ATTRIBUTES if MAY_BE_REFUSED.is_set() else 0)
        MAY_BE_REFUSED.clear()
        gap = programs[0].gap
        get_on(programs, 2)
        for program in programs:
            with program.busy:
                program.verify()
        say(f'{gap:.3f}')
    for program in programs:
        program.check()
        program.verify()
    say(json.dumps({'files': programs[2].closed, 'log': programs[3].text.decode(),
                    'rounds': {type(p).__name__: p.rounds for p in programs},
                    'refused': {type(p).__name__: p.refused for p in programs}}))
    for program in programs[3:5]:
        program.again()
    say('after')


main()
