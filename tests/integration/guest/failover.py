#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest: programs that read and write by NFSv3 and by NFSv4.1, with locks, while the server moves to
another node.  Arguments and talk: going_on.py; then the old server's tree, a directory for what must be
there in the end, and a plan: the names of files that are only read, and by each mount of those that are written,
the first of which is locked.  A line from the host is 'go on', which is answered with how long each program had to
wait since it was asked last, or 'end', with how often they have written."""
import fcntl
import json
import os
import random
import shutil
import subprocess

from going_on import EXPORT, LINK, MORE, MOVED, Program, begin, get_on, mount, say

OLD, RESULTS, PLAN = MORE[0], MORE[1], json.loads(MORE[2])
MOUNTS = {'v3': (EXPORT, 'vers=3,proto=tcp,mountproto=tcp,port=2049,mountport=20048,hard'),
          'v4': ('/export', 'vers=4.1,hard')}
WRITE = 5000
ROUNDS = 64                             # with a file before the next
PAUSE = 0.1                             # s, after each round: the server may be a guest, too


class File:
    """It is open, and so is a copy with what it must hold."""

    def __init__(self, top, name):
        self.path, copy = f'/mnt/{top}/{name}', f'{RESULTS}/{name}'
        if not os.path.exists(copy):
            shutil.copyfile(f'{OLD}/{name}', copy)
        self.copy, self.opened = os.open(copy, os.O_RDWR), os.open(self.path, os.O_RDWR)
        self.size = os.fstat(self.copy).st_size

    def use(self):
        """Writes until it is told that it is durable, and reads what must be there."""
        at, data = random.randrange(self.size - WRITE), os.urandom(WRITE)
        os.pwrite(self.opened, data, at)
        os.fsync(self.opened)
        os.pwrite(self.copy, data, at)
        os.posix_fadvise(self.opened, 0, 0, os.POSIX_FADV_DONTNEED)
        at = random.randrange(self.size - WRITE)
        assert os.pread(self.opened, WRITE, at) == os.pread(self.copy, WRITE, at), f'{self.path} at {at}'

    def close(self):
        os.close(self.opened)
        os.close(self.copy)


class Client(Program):
    """top: the mount.  does: what it does with files there."""

    does = None

    def __init__(self, top):
        self.top, self.what = top, f'NFS{top}, {self.does}'
        super().__init__()

    def round(self, n):
        self.use(n)
        self.stop.wait(PAUSE)

    def end(self):
        pass


class Holder(Client):
    """Has a lock on a file all the time."""

    does = 'held'

    def open(self):
        self.file = File(self.top, PLAN['written'][self.top][0])
        fcntl.lockf(self.file.opened, fcntl.LOCK_EX, 100)

    def use(self, n):
        self.file.use()

    def end(self):
        fcntl.lockf(self.file.opened, fcntl.LOCK_UN, 100)
        self.file.close()


class Writer(Client):
    """Writes to one file after another."""

    does, file = 'written', None

    def use(self, n):
        if n % ROUNDS == 0:
            self.end()
            self.file = File(self.top, random.choice(PLAN['written'][self.top][1:]))
        self.file.use()

    def end(self):
        if self.file:
            self.file.close()
            self.file = None


class Reader(Client):
    """Opens files that nobody changes."""

    does = 'opened'

    def use(self, n):
        name = random.choice(PLAN['read'])
        with open(f'/mnt/{self.top}/{name}', 'rb') as file, open(f'{OLD}/{name}', 'rb') as old:
            assert file.read() == old.read(), f'{file.name} is as it was'
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def waited(programs):
    """How long each had to wait since this was asked last."""
    with MOVED:
        gaps = {program.what: round(program.gap, 1) for program in programs}
        for program in programs:
            program.gap = 0
    return gaps


def main():
    programs = []
    for line in LINK:
        if line == 'end\n':
            break
        if not programs:
            for top, how in MOUNTS.items():
                mount(f'/mnt/{top}', *how)
            for top in MOUNTS:
                programs += begin([lambda kind=kind, top=top: kind(top) for kind in (Holder, Writer, Reader)])
        get_on(programs, 3)
        say(json.dumps(waited(programs)))
    for program in programs:
        program.check()
        program.end()
    for top in MOUNTS:
        subprocess.run(['umount', f'/mnt/{top}'], check=True)
    say(json.dumps(sum(program.rounds for program in programs if not isinstance(program, Reader))))


main()
