#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""An old NFSv3 server that shows a directory tree, which it never writes, with the habits of ODDITIES
that it is told.  What chance decides depends on the seed and the path, and is the same after a restart.

    odd.py ADDRESS PORT DIRECTORY SEED [ODDITY...]
"""
import contextlib
import os
import random
import signal
import stat
import struct
import sys
import time
import unicodedata

import nfs3
from liar import Liar, Node, record
from sandbox import Process, wait_for
from xdr import opaque, u32, u64

ODDITIES = {
    'hidden': 'LOOKUP answers to names that READDIR does not list: all of the tree is there once more',
    'spelling': 'LOOKUP answers to any case of letters and any normalization form',
    'numbers': 'a fileid is that of several objects',
    'fsid': 'the fsid is another one every few seconds, and after each restart',
    'seconds': 'times are whole seconds',
    'years': 'times are from 1970 to 2106, which is all that NFSv3 can tell',
    'busy': 'objects are on tape: it says JUKEBOX for a while, or until it is hurried',
    'tiny': 'an entry or two a page, READs that bring less than was asked for, many fragments',
    'bare': 'answers lack attributes and handles that they may lack',
    'cookies': 'they are large and fall, names come in any order, . and .. among them',
    'maxima': 'FSINFO and PATHCONF say what makes no sense',
    'sizes': 'listings tell other sizes than files have',
}
HIDDEN = ('.snapshot', 'hidden', '.\u00e9t\u00e9')
LATEST = 2**32 - 1              # a time of NFSv3, in seconds
PORT = 2049
TYPES = {stat.S_IFREG: nfs3.REG, stat.S_IFDIR: nfs3.DIR, stat.S_IFBLK: nfs3.BLK, stat.S_IFCHR: nfs3.CHR,
         stat.S_IFLNK: nfs3.LNK, stat.S_IFSOCK: nfs3.SOCK, stat.S_IFIFO: nfs3.FIFO}
MULTIPLIER = 0x9e3779b97f4a7c15


def some(seed):
    """Each of them with one of so many seeds in a row, and others."""
    r, kinds = random.Random(f'odd {seed}'), list(ODDITIES)
    return sorted({kinds[seed % len(kinds)], *r.sample(kinds, r.choice((0, 0, 1, 3)))})


def suits(entries, oddities):
    """Of the tree (tests/oracle/source.py): as such a server can have it."""
    for entry in entries:
        if 'years' in oddities:
            r = random.Random(f'years {entry["path"]} {entry["times"]}')
            entry['times'] = [r.choice((0, 1, LATEST, r.randrange(LATEST))) * 10**9 +
                              entry['times'][0] % 10**9 for _ in range(2)]
        if 'seconds' in oddities:
            entry['times'] = [t // 10**9 * 10**9 for t in entry['times']]
    return entries


def folded(name):
    return unicodedata.normalize('NFC', name.decode('utf-8', 'surrogateescape').casefold())


def respelled(r, name):
    """Maybe as it was."""
    form = r.choice(('NFC', 'NFD'))
    with contextlib.suppress(UnicodeDecodeError):
        name = unicodedata.normalize(form, name.decode()).encode()
    return r.choice((name, name.upper(), name.swapcase(), name.title()))


class Object(Node):
    """Of the tree.  shown: b'', or what is before its handle where it is below a hidden name."""

    def __init__(self, tree, path, shown=b''):
        self.tree, self.path, self.shown = tree, path, shown
        self.fd = os.open(path, os.O_PATH | os.O_NOFOLLOW)  # a handle leads to it wherever it is moved
        self.st = os.fstat(self.fd)
        self.type = TYPES[stat.S_IFMT(self.st.st_mode)]
        self.handle = shown + struct.pack('>Q', self.st.st_ino) + b'old'
        self.random = random.Random(f'{tree.seed} {path}')
        self.size, self.children, self.hidden = self.st.st_size, {}, {}
        self.target = os.readlink(path) if self.type == nfs3.LNK else b''
        self.busy = path != tree.top and tree.busy(self.random)
        self.told_size = self.size
        if 'sizes' in tree.odd and self.type == nfs3.REG and self.random.random() < 0.3:
            self.told_size = self.random.choice((0, self.size + 1, self.size // 2, self.size * 2 + 4096))
        self.asked = None
        self.number = 5 + self.st.st_ino % 3 if 'numbers' in tree.odd else self.st.st_ino

    def attributes(self, size=None):
        st, size = self.st, self.size if size is None else size
        whole = 10**9 if 'seconds' in self.tree.odd else 1
        return (b''.join(map(u32, (self.type, stat.S_IMODE(st.st_mode), st.st_nlink, st.st_uid, st.st_gid))) +
                u64(size) + u64(st.st_blocks * 512) + u32(os.major(st.st_rdev)) +
                u32(os.minor(st.st_rdev)) + u64(self.tree.fsid()) + u64(self.number) +
                b''.join(u32(t // 10**9) + u32(t // whole * whole % 10**9)
                         for t in (st.st_atime_ns, st.st_mtime_ns, st.st_ctime_ns)))

    def post(self):
        return u32(0) if self.tree.lacks() else super().post()

    def listed(self):
        return ((u32(0) if self.tree.lacks() else u32(1) + self.attributes(self.told_size)) +
                (u32(0) if self.tree.lacks() else u32(1) + opaque(self.handle)))

    def is_gone(self):
        return not os.fstat(self.fd).st_nlink

    def find(self, name):
        if 'spelling' in self.tree.odd:
            found = self.tree.spelled(self, name)
        else:
            found = self.children.get(name) or self.hidden.get(name)
        return found if found and not found.is_gone() else None

    def entries(self, cookie):
        names, page = self.children, 100
        if 'cookies' in self.tree.odd:
            names = {b'.': self, b'..': self, **names}
            names = dict(random.Random(self.path).sample(list(names.items()), len(names)))
            cookie = cookie * pow(MULTIPLIER, -1, 2**64) % 2**64
        if 'tiny' in self.tree.odd:
            page = self.random.choice((1, 1, 2))
        listed = [(name, node, n + 1) for n, (name, node) in enumerate(names.items())]
        if 'cookies' in self.tree.odd:
            listed = [(name, node, n * MULTIPLIER % 2**64) for name, node, n in listed]
        return listed[cookie:cookie + page], len(listed) <= cookie + page

    def read(self, offset, count):
        if 'tiny' in self.tree.odd:
            count = min(count, self.random.randrange(1, 16 << 10))
        with open(f'/proc/self/fd/{self.fd}', 'rb') as file:
            data = os.pread(file.fileno(), count, offset)
        return len(data), offset + len(data) >= self.size, data

    def put_off(self, procedure):
        if not self.busy or (self.type == nfs3.REG and procedure != nfs3.READ) or \
                (self.busy == self.tree.HURRIED and self.tree.hurried):
            return False
        now = time.monotonic()
        self.asked = self.asked or now
        return now < self.asked + self.busy

    def send(self, connection, xid, procedure, reply):
        if self.put_off(procedure):
            reply = record(xid, u32(nfs3.JUKEBOX) + u32(0) * (procedure != nfs3.GETATTR))
        if 'tiny' in self.tree.odd:
            reply = fragments(self.random, reply[4:])
        connection.sendall(reply)


def fragments(r, body):
    """RFC 5531 section 11."""
    out = b''
    while body:
        piece, body = body[:(size := r.randrange(1, 8000))], body[size:]
        out += u32(len(piece) | (not body) << 31) + piece
    return out


class Odd(Liar):
    HURRIED = 10**6             # seconds: until it is hurried

    def __init__(self, address, top, seed, odd):
        self.seed, self.odd, self.top = seed, odd, os.fsencode(top)
        self.random = random.Random(f'{seed} {time.time_ns()}')
        self.hurried = False
        self.folded = {}
        self.began = time.time_ns()
        root = self.load(self.top, {})
        if 'hidden' in odd:
            again = self.load(self.top, {}, b'again')
            self.hide(root, again)
        super().__init__(root, address)
        if 'hidden' in odd:
            self.nodes.update((node.handle, node) for node in again.all())

    def load(self, path, known, shown=b''):
        """known: by inode, for what has several names."""
        node = Object(self, path, shown)
        node = known.setdefault(node.handle, node)
        if node.type == nfs3.DIR:
            for name in sorted(os.listdir(path)):
                node.children[name] = self.load(os.path.join(path, name), known, shown)
        return node

    def hide(self, node, again):
        """The names of the tree as it is there once more, and of any object in it."""
        if node.type == nfs3.DIR:
            objects = [again, *again.children.values()]
            node.hidden = {name.encode(): again if name == HIDDEN[0] else node.random.choice(objects)
                           for name in HIDDEN}
            for name, child in node.children.items():
                self.hide(child, again.children[name])

    def spelled(self, directory, name):
        if directory.handle not in self.folded:
            self.folded[directory.handle] = {folded(name): child for name, child in
                                             {**directory.hidden, **directory.children}.items()}
        return self.folded[directory.handle].get(folded(name))

    def fsid(self):
        return 7 if 'fsid' not in self.odd else self.began + time.monotonic_ns() // (3 * 10**9)

    def lacks(self):
        return 'bare' in self.odd and self.random.random() < 0.3

    def busy(self, r):
        """Seconds."""
        return ('busy' in self.odd and r.random() < 0.15 and
                r.choice((0.05, 0.5, 3, self.HURRIED)))

    def reply(self, node, procedure, r):
        if node.is_gone():
            return u32(nfs3.STALE) + u32(0) * (procedure != nfs3.GETATTR)
        if 'maxima' in self.odd and procedure == nfs3.FSINFO:
            numbers = [self.random.choice((0, 1, 4096, 2**32 - 1)) for _ in range(7)]
            return (u32(0) + node.post() + b''.join(map(u32, numbers)) + u64(1) + u32(0) + u32(0) + u32(0))
        if 'maxima' in self.odd and procedure == nfs3.PATHCONF:
            return u32(0) + node.post() + u32(0) * 6
        return super().reply(node, procedure, r)


class Server:
    """One in a process of its own, on a host."""

    def __init__(self, host, directory, seed, odd):
        self.host, self.address, self.argv = host, host.address, [directory, seed, *odd]
        self.url = f'nfs://{self.address}:{PORT}/old?mountport={PORT}'
        self.start()

    def start(self):
        self.process = Process('odd-server', [sys.executable, '-B', __file__, self.address, PORT, *self.argv],
                               self.host)
        wait_for('the odd server answers', lambda: nfs3.alive(self.address, PORT), process=self.process)

    def kill(self, number):
        self.process.send_signal(number)

    def hurry(self):
        self.kill(signal.SIGUSR1)

    def be_honest(self):
        """Of sizes."""
        self.argv = [word for word in self.argv if word != 'sizes']
        self.restart()

    def restart(self, number=signal.SIGTERM):
        self.process.stop(number)
        self.start()


def main():
    address, port, directory, seed, *odd = sys.argv[1:]
    server = Odd((address, int(port)), directory, seed, odd)

    def hurry(*_):
        server.hurried = True

    signal.signal(signal.SIGUSR1, hurry)
    while True:
        signal.pause()


if __name__ == '__main__':
    main()
