# SPDX-License-Identifier: GPL-3.0-or-later
"""Somebody else, who writes files on the old server all the time while the way back writes there."""
import os
import random
import threading


class OtherWriter:
    """In a thread, until the block ends.  write(name, data): into what has that name, or anew; what it
    raises says that it was not done.  The last data of each name are kept in `wrote`."""

    def __init__(self, names, write, seed):
        self.names, self.write, self.random = names, write, random.Random(seed)
        self.wrote, self.refused, self.error = {}, 0, None
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        number = 0
        while not self.ended.is_set():
            name, number = self.random.choice(self.names), number + 1
            data = b'theirs %d of %s\n' % (number, name.encode())
            try:
                self.write(name, data)
            except OSError:
                self.refused += 1
            except Exception as error:          # pylint: disable=broad-except
                self.error = error
                return
            else:
                self.wrote[name] = data

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        if self.error:
            raise self.error

    def lost(self, root):
        """Names of which the last data are nowhere below root."""
        found = set()
        for path, _, files in os.walk(root):
            for file in files:
                if not os.path.isfile(f'{path}/{file}'):
                    continue
                with open(f'{path}/{file}', 'rb') as opened:
                    found.add(opened.read(100))
        return sorted(name for name, data in self.wrote.items() if data not in found)


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
