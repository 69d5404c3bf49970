# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of takeover handles, as `migratectl takeover` writes them."""
import ctypes
import mmap
import os
import struct

import fake

FUTEX, FUTEX_WAKE = 202, 1                  # of x86-64
COUNT = 48                                  # where the header counts what is named
NAMED = 16                                  # where an entry says that it is
libc = ctypes.CDLL(None)

FIRST = 'quickmigrate old handles 1\n'


def line(old, directory, fileid, fsid=1, path='.'):
    """What clients call `old` is that directory here."""
    bound = fake.binding(directory)
    return f'{old.hex()} {fileid} {fsid} {bound[0]} {bound[2:].hex()} {path}\n'


def write(file, *lines):
    with open(file + '~', 'w') as out:
        out.writelines([FIRST, *lines])
    os.rename(file + '~', file)


class Index:
    """FILE.all, as the retriever writes it: common/old_index.c."""
    BITS, HEAD = 12, 4096

    def __init__(self, file):
        self.end = self.HEAD + 2 * (8 << self.BITS)
        self.last, self.file = 0, open(file, 'w+b', buffering=0)
        self.file.truncate(self.end)
        self.head()
        self.mapped = mmap.mmap(self.file.fileno(), self.HEAD)
        self.count = ctypes.c_uint32.from_buffer(self.mapped, COUNT)

    def head(self, complete=False):
        self.put(0, struct.pack('<8sII16sQQ', b'QMOLDH2\n', self.BITS, complete, bytes(16), self.end,
                                self.last))

    def put(self, at, data):
        self.file.seek(at)
        self.file.write(data)

    def chain(self, table, key):
        """Where the first of it stands, and which that is."""
        at = self.HEAD + (table << self.BITS + 3) + 8 * (fake.crc32c(key) >> 32 - self.BITS)
        self.file.seek(at)
        return at, struct.unpack('<Q', self.file.read(8))[0]

    def add(self, old, path, fileid, named=True):
        """Where it is."""
        inode, bound = os.lstat(path).st_ino, fake.binding(path)
        chains = self.chain(0, old), self.chain(1, struct.pack('<Q', inode))
        rest = struct.pack('<QQiBB', fileid, inode, bound[0], len(old), len(bound) - 2) + old + bound[2:]
        rest += bytes(-len(rest) % 8)
        entry = struct.pack('<QQII', chains[0][1], chains[1][1], 0, fake.crc32c(rest)) + rest
        self.put(self.end, entry)
        for at, _ in chains:
            self.put(at, struct.pack('<Q', self.end))
        self.last, self.end = self.end, self.end + len(entry)
        self.head()
        if named:
            self.name(self.last)
        return self.last

    def name(self, at):
        self.put(at + NAMED, struct.pack('<I', 1))
        self.count.value += 1
        libc.syscall(FUTEX, ctypes.byref(self.count), FUTEX_WAKE, 2**31 - 1, None, None, 0)
