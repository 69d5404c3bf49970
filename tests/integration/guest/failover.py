#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest: programs that read and write by NFSv3 and by NFSv4.1, with locks, while the server moves to
another node.  Arguments and talk: going_on.py; then the old server's tree, a directory for what must be
there in the end, and the names of files that are only read.  A line from the host is
'go on' or 'end'."""
import fcntl
import functools
import os
import random
import subprocess

from going_on import EXPORT, LINK, MORE, Program, begin, get_on, mount, say

OLD, RESULTS, *READ = MORE
MOUNTS = {'/mnt/v3': (EXPORT, 'vers=3,proto=tcp,mountproto=tcp,port=2049,mountport=20048,hard'),
          '/mnt/v4': ('/export', 'vers=4.1,hard')}
WRITTEN = {'/mnt/v3': 'f0', '/mnt/v4': 'f2'}


class Writer(Program):
    """Has a lock on a file, writes into it until it is told that it is durable, and reads what must be there."""

    def __init__(self, top):
        self.top, self.what = top, WRITTEN[top]
        self.path = f'{top}/{self.what}'
        super().__init__()

    def open(self):
        with open(f'{OLD}/{self.what}', 'rb') as old:
            self.content = bytearray(old.read())
        self.opened = os.open(self.path, os.O_RDWR)
        fcntl.lockf(self.opened, fcntl.LOCK_EX, 100)

    def round(self, n):
        at, data = random.randrange(len(self.content) - 5000), os.urandom(5000)
        os.pwrite(self.opened, data, at)
        os.fsync(self.opened)
        self.content[at:at + 5000] = data
        os.posix_fadvise(self.opened, 0, 0, os.POSIX_FADV_DONTNEED)
        at = random.randrange(len(self.content) - 5000)
        assert os.pread(self.opened, 5000, at) == self.content[at:at + 5000], f'{self.path} at {at}'

    def end(self):
        fcntl.lockf(self.opened, fcntl.LOCK_UN, 100)
        os.close(self.opened)
        with open(f'{RESULTS}/{self.what}', 'wb') as out:
            out.write(self.content)


class Reader(Program):
    """Opens files that nobody changes."""

    def __init__(self, top):
        self.top = top
        super().__init__()

    def round(self, n):
        name = random.choice(READ)
        with open(f'{self.top}/{name}', 'rb') as file, open(f'{OLD}/{name}', 'rb') as old:
            assert file.read() == old.read(), f'{self.top}/{name}'
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def end(self):
        pass


def main():
    programs = None
    for line in LINK:
        if line == 'end\n':
            break
        if not programs:
            for top, how in MOUNTS.items():
                mount(top, *how)
            programs = begin([functools.partial(kind, top) for top in MOUNTS for kind in (Writer, Reader)])
        get_on(programs, 3)
        say('on')
    for program in programs:
        program.check()
        program.end()
        print(f'{type(program).__name__} in {program.top}: {program.rounds} rounds, the longest {program.gap:.1f} s',
              flush=True)
    for top in MOUNTS:
        subprocess.run(['umount', top], check=True)
    say('after')


main()
