# SPDX-License-Identifier: GPL-3.0-or-later
"""Somebody else, who writes files on the old server all the time while the way back writes there."""
import contextlib
import os
import random
import shutil
import threading

from harness import expect, same
from servers import NEW, OLD


class OtherWriter:
    """In a thread, until the block ends.  write(name, data): into what has that name, or anew; an OSError
    of it says that it was not done.  The last data of each name are kept in `wrote`."""

    def __init__(self, names, write, seed):
        self.names, self.write, self.random = names, write, random.Random(seed)
        self.wrote, self.refused, self.error = {}, 0, None
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        number = 0
        while self.names and not self.ended.is_set():
            name, number = self.random.choice(self.names), number + 1
            data = b'theirs %d of %s\n' % (number, os.fsencode(name))
            try:
                self.write(name, data)
            except OSError:
                self.refused += 1
            except Exception as error:          # pylint: disable=broad-except
                self.error = error
                return
            else:
                self.note(name, data)

    def note(self, name, data):
        self.wrote[name] = data

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        if self.error:
            raise self.error

    def found(self, path):
        """What may be his of a file."""
        with open(path, 'rb') as opened:
            return {opened.read(100)}

    def lost(self, root):
        """Names of which the last data are nowhere below root."""
        found = set()
        for path, _, files in os.walk(os.fsencode(root)):
            for file in (os.path.join(path, file) for file in files):
                if os.path.isfile(file) and not os.path.islink(file):
                    found |= self.found(file)
        return sorted(name for name, data in self.wrote.items() if data[:100] not in found)


def through_runs(run, names, change, write, directory, seed, rounds):
    """rounds times clients change what is in a directory of NEW, and it goes back to OLD, where somebody
    writes all the time.  change(number of the name, name, round); run(): the way back."""
    for n in range(rounds):
        for i, name in enumerate(names):
            change(i, name, n)
        with OtherWriter(names, write, seed) as writer:
            run()
        expect(writer.wrote, 'nothing was written meanwhile')
        same(writer.lost(OLD), [], f'what is lost of his, run {n}')
        run()
        same(writer.lost(OLD), [], f'what is lost of his, after run {n}')
        for name in names:                              # as they are here, so that it goes on
            with contextlib.suppress(FileNotFoundError):
                shutil.copy2(f'{NEW}/{directory}/{name}', f'{OLD}/{directory}/{name}')


def write_in_place(directory):
    def write(name, data):
        fd = os.open(f'{directory}/{name}', os.O_WRONLY)
        try:
            os.ftruncate(fd, len(data))
            os.pwrite(fd, data, 0)
        finally:
            os.close(fd)
    return write


def write_or_replace(directory):
    """Each other time as editors do."""
    in_place, turn = write_in_place(directory), [False]

    def write(name, data):
        turn[0] = not turn[0]
        if turn[0]:
            in_place(name, data)
            return
        with open(f'{directory}/{name}.theirs', 'wb') as file:
            file.write(data)
        os.rename(f'{directory}/{name}.theirs', f'{directory}/{name}')
    return write
