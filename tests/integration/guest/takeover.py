#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest: a client of the old server that mounts two of its directories and goes on, while the
server behind the address becomes another one.  Arguments and talk: going_on.py."""
import errno
import hashlib
import os
import subprocess
import threading
import time

from going_on import EBADHANDLE, EXPORT, LINK, MORE, TOP, mount, say

BELOW, SWITCHES = MORE

LOW = '/mnt/low'


def sums(top):
    """A line for each file, in their order."""
    lines = []
    for directory, names, files in os.walk(top):
        names.sort()
        for name in sorted(files):
            with open(f'{directory}/{name}', 'rb') as file:
                digest = hashlib.md5(file.read()).hexdigest()
            lines.append(f'{digest} {os.path.relpath(directory, top)}/{name}\n')
    return ''.join(sorted(lines))


class Reader(threading.Thread):
    """Reads a closed file again and again, as a program does that knows its path.  back: to the old
    server, which may refuse what was looked up meanwhile until it is looked up again."""

    def __init__(self, back):
        super().__init__(daemon=True)
        self.gap, self.wrong, self.stop, self.back = 0, [], False, back

    @staticmethod
    def read():
        file = os.open(TOP + '/dir/loop', os.O_RDONLY)
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            return os.read(file, 100)
        except OSError as error:
            if error.errno != errno.ESTALE:     # it was open just then
                raise
            return b'loop'
        finally:
            os.close(file)

    def run(self):
        last = time.monotonic()
        while not self.stop:
            try:
                text = self.read()
                os.statvfs(TOP)                 # a request each time
            except OSError as error:
                text = b'loop' if self.back and error.errno == EBADHANDLE else str(error)
            if text != b'loop':
                self.wrong.append(text)
            now = time.monotonic()
            self.gap, last = max(self.gap, now - last), now


def change(n):
    """What a client does with names, through both mounts."""
    for top in (TOP, LOW):
        os.mkdir(f'{top}/made{n}')
        with open(f'{top}/made{n}/file', 'w') as file:
            file.write(f'{n}')
            os.fsync(file.fileno())
        os.rename(f'{top}/made{n}/file', f'{top}/moved{n}')
        os.link(f'{top}/moved{n}', f'{top}/made{n}/link')
        os.unlink(f'{top}/moved{n}')
        with open(f'{top}/made{n}/link') as file:
            assert file.read() == str(n), 'what was written'


def is_known_again():
    """Names have to be looked up again, when what is remembered of them is a second old."""
    try:
        os.statvfs(TOP)                         # a request each time
        return bool(os.listdir(TOP + '/dir') and os.listdir(TOP + '/wide') and
                    os.listdir(LOW + '/more'))
    except OSError as error:
        if error.errno != EBADHANDLE:
            raise
        return False


def main():
    mount()
    mount(LOW, f'{EXPORT}/{BELOW}')
    say('mounted')
    before = sums(TOP), sums(LOW)
    numbers = os.stat(TOP).st_ino, os.stat(LOW).st_ino
    os.chdir(TOP)
    for n in range(int(SWITCHES)):
        back = n % 2 == 1
        reader = Reader(back)
        reader.start()
        say('ready')
        LINK.readline()
        while back and not is_known_again():
            pass
        assert os.getcwd() == TOP and sorted(os.listdir('.')), 'the working directory at the top'
        assert (os.stat(TOP).st_ino, os.stat(LOW).st_ino) == numbers, 'numbers of what is mounted'
        assert len(os.listdir(TOP + '/wide')) == 5000, 'names of a wide directory'
        if n == 0:
            subprocess.run('echo 3 >/proc/sys/vm/drop_caches', shell=True, check=True)
            assert (sums(TOP), sums(LOW)) == before, 'content'
        if not back:                            # the old server may only be read
            change(n)
        os.statvfs(LOW)
        reader.stop = True
        reader.join()
        assert not reader.wrong, reader.wrong[:3]
        say(f'{reader.gap:.3f}')
    with open('/proc/mounts') as mounts:
        assert not [line for line in mounts if ' /mnt/top/' in line], 'mounts below mounts'
    os.chdir('/')
    for where in (TOP, LOW):
        subprocess.run(['umount', where], check=True)
    say('after')


main()
