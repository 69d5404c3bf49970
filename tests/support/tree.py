# SPDX-License-Identifier: GPL-3.0-or-later
"""A sample of what file servers hold, made from a seed, and the comparison of two trees.

    tree.py make DIRECTORY [--files N] [--seed N] [--largest MIB]
    tree.py compare OLD NEW
"""
import argparse
import contextlib
import os
import random
import stat
import subprocess
import sys

KIB, MIB = 1 << 10, 1 << 20
YEAR = 31556952
OWNERS = ((0, 0), (1000, 1000), (1001, 100), (1002, 1000), (65534, 65534), (200000, 300000))
MODES = (0o644, 0o644, 0o644, 0o600, 0o664, 0o755, 0o400, 0o000, 0o4755, 0o2755, 0o6711, 0o1644,
         0o7777)
DIR_MODES = (0o755, 0o755, 0o755, 0o700, 0o2775, 0o1777, 0o3770)
ODD_NAMES = (b' ', b'  two  spaces ', b'-rf', b'--help', b'.hidden', b'...', b'.migrate', b'*',
             b'?', b'~', b'#x#', b'a:b', b'back\\slash', b'"quotes\'', b'new\nline', b'tab\t',
             b'\x01\x7f',
             b'\xff\xfe', b'caf\xc3\xa9', b'cafe\xcc\x81', b'\xe6\x97\xa5\xe6\x9c\xac', b'$HOME',
             b'`id`', b'%s%n', b'name.', b'CON', b'x' * 255, b'\xc3' * 255)


class Sample:
    """What make() was told and knows."""

    def __init__(self, seed, files, largest):
        self.random = random.Random(seed)
        self.files, self.largest = files, largest
        self.noise = self.random.randbytes(MIB + 64 * KIB)
        self.made = 0
        self.bytes = 0

    def content(self, size):
        """Bytes that differ from file to file, in pieces of at most a MiB."""
        while size > 0:
            piece = min(size, MIB)
            start = self.random.randrange(64 * KIB)
            yield self.noise[start:start + piece]
            size -= piece

    def a_size(self):
        kind = self.random.random()
        if kind < 0.05:
            return 0
        if kind < 0.70:
            return self.random.randrange(1, 4 * KIB)
        if kind < 0.98:
            return self.random.randrange(4 * KIB, 32 * KIB)
        return self.random.randrange(32 * KIB, 256 * KIB)

    def a_time(self):
        return self.random.randrange(3 * YEAR, 54 * YEAR) * 10**9 + self.random.randrange(10**9)

    def dress(self, directory, name, mode=None):
        """Owner, mode and times of a finished object; mode None: of a symbolic link."""
        uid, gid = self.random.choice(OWNERS)
        os.chown(name, uid, gid, dir_fd=directory, follow_symlinks=False)
        if mode is not None:
            os.chmod(name, mode, dir_fd=directory)
        os.utime(name, ns=(self.a_time(), self.a_time()), dir_fd=directory, follow_symlinks=False)

    def file(self, directory, name, size=None, mode=None):
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=directory)
        try:
            size = self.a_size() if size is None else size
            for piece in self.content(size):
                os.write(fd, piece)
            os.fchown(fd, *self.random.choice(OWNERS))
            os.fchmod(fd, self.random.choice(MODES) if mode is None else mode)
            os.utime(fd, ns=(self.a_time(), self.a_time()))
        finally:
            os.close(fd)
        self.made += 1
        self.bytes += size

    def sparse(self, directory, name, size, *pieces):
        """A file of holes but for (offset, length)."""
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=directory)
        try:
            os.truncate(fd, size)
            for offset, length in pieces:
                for piece in self.content(length):
                    offset += os.pwrite(fd, piece, offset)
        finally:
            os.close(fd)
        self.dress(directory, name, 0o644)
        self.made += 1
        self.bytes += size

    def directory(self, parent, name, fill):
        """Makes a directory, which mkfs may have done, fills it, and sets its own attributes last."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
        fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=parent)
        try:
            fill(fd)
        finally:
            os.close(fd)
        self.dress(parent, name, self.random.choice(DIR_MODES))


def make(root, files=20000, seed=1, largest=64 * MIB):
    """Fills the directory root; returns (objects that are files, bytes).  files: at least so many;
    largest: size in bytes of the largest one."""
    s = Sample(seed, files, largest)
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        s.directory(top, b'odd names', lambda d: [s.file(d, n, 100) for n in ODD_NAMES])
        s.directory(top, b'special', lambda d: special(s, d))
        s.directory(top, b'links', lambda d: links(s, d))
        s.directory(top, b'sparse', lambda d: sparse(s, d))
        s.directory(top, b'large', lambda d: large(s, d))
        s.directory(top, b'deep', lambda d: deep(s, d, 40))
        s.directory(top, b'wide', lambda d: [s.file(d, b'%05d' % i) for i in range(files // 5)])
        s.directory(top, b'departments', lambda d: departments(s, d))
        s.directory(top, b'lost+found', lambda d: s.file(d, b'#12', 5000))
    finally:
        os.close(top)
    os.chmod(root, 0o755)
    os.utime(root, ns=(s.a_time(), s.a_time()))
    return s.made, s.bytes


def special(s, d):
    for name, kind, device in ((b'fifo', stat.S_IFIFO, 0), (b'socket', stat.S_IFSOCK, 0),
                               (b'null', stat.S_IFCHR, os.makedev(1, 3)),
                               (b'block', stat.S_IFBLK, os.makedev(259, 70000))):
        os.mknod(name, kind | 0o600, device, dir_fd=d)
        s.dress(d, name, s.random.choice(MODES))
    for name, target in ((b'relative', b'../links/a'), (b'dangling', b'nowhere/at all'),
                         (b'absolute', b'/etc/hostname'), (b'directory', b'../deep'),
                         (b'long', b'x' * 200 + b'/' + b'y' * 255 + b'/' + b'z' * 250),
                         (b'bytes', b'\xff\n\x01')):
        os.symlink(target, name, dir_fd=d)
        s.dress(d, name)
    for mode in range(0o1000, 0o10000, 0o777):
        s.file(d, b'mode%o' % mode, 10, mode)
    s.directory(d, b'empty directory', lambda inner: None)


def links(s, d):
    """Hard links in one directory and across directories."""
    s.file(d, b'a', 5000)
    os.link(b'a', b'b', src_dir_fd=d, dst_dir_fd=d)
    os.link(b'a', b'c', src_dir_fd=d, dst_dir_fd=d)
    s.file(d, b'far', 70000)
    os.mknod(b'pipe', stat.S_IFIFO | 0o600, dir_fd=d)
    s.dress(d, b'pipe', 0o640)

    def fill(inner, n):
        os.link(b'far', b'name%d' % n, src_dir_fd=d, dst_dir_fd=inner)
        os.link(b'pipe', b'pipe', src_dir_fd=d, dst_dir_fd=inner)
        s.file(inner, b'own%d' % n)

    for n in range(5):
        s.directory(d, b'dir%d' % n, lambda inner, n=n: fill(inner, n))


def sparse(s, d):
    s.sparse(d, b'all hole', 32 * MIB)
    s.sparse(d, b'one byte hole', 1)
    s.sparse(d, b'head', 16 * MIB, (0, 4096))
    s.sparse(d, b'tail', 16 * MIB + 5, (16 * MIB, 5))
    s.sparse(d, b'middle', 20 * MIB, (7 * MIB + 123, 300000))
    s.sparse(d, b'comb', 8 * MIB, *((i * 256 * KIB, 4096) for i in range(32)))


def large(s, d):
    size = 512 * KIB
    while size < s.largest:
        s.file(d, b'%d bytes' % size, size, 0o644)
        s.file(d, b'%d bytes' % (size - 1), size - 1, 0o644)
        size *= 8
    s.file(d, b'%d bytes' % s.largest, s.largest, 0o644)


def deep(s, d, levels):
    s.file(d, b'file at %d' % levels)
    if levels:
        s.directory(d, b'level %d' % levels, lambda inner: deep(s, inner, levels - 1))


def departments(s, d):
    """The rest, like people's directories: a few levels, dozens of entries each."""
    number = 0
    while s.made < s.files:
        number += 1

        def project(fd):
            for i in range(s.random.randrange(5, 80)):
                s.file(fd, b'report-%03d.txt' % i)
            if s.random.random() < 0.2:
                os.symlink(b'report-000.txt', b'latest', dir_fd=fd)
                s.dress(fd, b'latest')

        def department(fd):
            for i in range(s.random.randrange(1, 12)):
                s.directory(fd, b'project-%02d' % i, project)
            s.file(fd, b'README')

        s.directory(d, b'department-%03d' % number, department)


# ---- comparing -----------------------------------------------------------------------------

class Comparison:
    """differences: sentences; files, bytes: what was compared.  limit: of the sentences; slack: how
    many bytes more a new file may take; data: compare contents and space too; any_mtime(st): true
    where the old object's mtime need not be the new one's; leave_out: paths, with what is below;
    links: whether the numbers of links count too, besides which names are linked."""

    def __init__(self, limit=50, slack=64 * KIB, data=True, any_mtime=lambda st: False,
                 leave_out=(), links=True):
        self.differences = []
        self.limit, self.slack, self.data = limit, slack, data
        self.objects = self.files = self.bytes = 0
        self.partner = {}               # inode of an old hard-linked object -> the new one
        self.taken = {}                 # and back
        self.any_mtime, self.leave_out, self.links = any_mtime, set(leave_out), links

    def say(self, path, what):
        self.differences.append(f'{os.fsdecode(path)!r}: {what}')

    def full(self):
        return len(self.differences) >= self.limit

    def directory(self, old, new, path=b''):
        """old, new: descriptors."""
        names = [{e.name: e for e in os.scandir(fd)} for fd in (old, new)]
        if not path:
            names[1].pop('.migrate', None)
        for name in sorted(names[0].keys() ^ names[1].keys()):
            self.say(path + b'/' + os.fsencode(name),
                     'is missing' if name in names[0] else 'is not in the old tree')
        for name in sorted(names[0].keys() & names[1].keys()):
            if self.full():
                return
            self.object(old, new, name, path + b'/' + os.fsencode(name))

    def object(self, old, new, name, path):
        if path in self.leave_out:
            return
        a = os.stat(name, dir_fd=old, follow_symlinks=False)
        b = os.stat(name, dir_fd=new, follow_symlinks=False)
        self.objects += 1
        if stat.S_IFMT(a.st_mode) != stat.S_IFMT(b.st_mode):
            self.say(path, f'type {stat.S_IFMT(b.st_mode):o}, not {stat.S_IFMT(a.st_mode):o}')
            return
        self.attributes(a, b, path)
        if stat.S_ISDIR(a.st_mode):
            fds = []
            try:
                for parent in (old, new):
                    fds.append(os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOATIME,
                                       dir_fd=parent))
                self.directory(*fds, path)
            finally:
                for fd in fds:
                    os.close(fd)
        elif stat.S_ISLNK(a.st_mode):
            if os.readlink(name, dir_fd=old) != os.readlink(name, dir_fd=new):
                self.say(path, 'another target')
        elif stat.S_ISREG(a.st_mode):
            self.files += 1
            self.bytes += a.st_size
            if self.data and a.st_size == b.st_size:
                self.content(old, new, name, path)

    def attributes(self, a, b, path):
        for what, x, y in (('mode', oct(a.st_mode), oct(b.st_mode)), ('uid', a.st_uid, b.st_uid),
                           ('gid', a.st_gid, b.st_gid), ('device', a.st_rdev, b.st_rdev)):
            if x != y:
                self.say(path, f'{what} {y}, not {x}')
        if a.st_mtime_ns != b.st_mtime_ns and not self.any_mtime(a):
            self.say(path, f'mtime {b.st_mtime_ns}, not {a.st_mtime_ns}')
        if stat.S_ISDIR(a.st_mode):
            return
        if a.st_size != b.st_size:
            self.say(path, f'size {b.st_size}, not {a.st_size}')
        if self.links and a.st_nlink != b.st_nlink:
            self.say(path, f'{b.st_nlink} links, not {a.st_nlink}')
        if (self.partner.setdefault(a.st_ino, b.st_ino) != b.st_ino or
                self.taken.setdefault(b.st_ino, a.st_ino) != a.st_ino):
            self.say(path, 'is linked otherwise')
        if self.data and b.st_blocks * 512 > a.st_blocks * 512 + self.slack:
            self.say(path, f'takes {b.st_blocks * 512} bytes, not {a.st_blocks * 512}')

    def content(self, old, new, name, path):
        with (open(name, 'rb', 0, opener=opener(old)) as a,
              open(name, 'rb', 0, opener=opener(new)) as b):
            offset = 0
            while True:
                x, y = a.read(MIB), b.read(MIB)
                if x != y:
                    at = next((i for i, (p, q) in enumerate(zip(x, y)) if p != q),
                              min(len(x), len(y)))
                    zero = ' (zeros)' if not any(y[at:at + 512]) else ''
                    self.say(path, f'content differs from byte {offset + at} on{zero}')
                    return
                if not x:
                    return
                offset += len(x)


def opener(directory):
    return lambda name, flags: os.open(name, flags | os.O_NOATIME, dir_fd=directory)


def on_xfs(path):
    return subprocess.run(['stat', '-f', '-c', '%T', path], stdout=subprocess.PIPE,
                          check=True).stdout == b'xfs\n'


def compare(old, new, **kw):
    """A Comparison of the trees below two directories, their own attributes included.  Before the
    end of a migration, what has several names on the old server may have one more in .migrate:
    until then the numbers of links are not compared."""
    kw.setdefault('links', not os.path.isdir(os.path.join(new, '.migrate')))
    if on_xfs(new):                     # it keeps space behind what grows
        kw['slack'] = kw.get('slack', 0) + 8 * MIB
    c = Comparison(**kw)
    fds = [os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in (old, new)]
    try:
        c.attributes(os.fstat(fds[0]), os.fstat(fds[1]), b'/')
        c.directory(*fds)
    finally:
        for fd in fds:
            os.close(fd)
    return c


def records(root, name='security.migrate'):
    """Paths below root, itself included, that carry the attribute.  What waits in .migrate for its
    names, or has lost them all, does not count: it goes with that directory."""
    found = []
    private = os.path.join(os.fsencode(root), b'.migrate')
    for path in every(root):
        if os.fsencode(path).startswith(private + b'/'):
            continue
        try:
            os.getxattr(path, name, follow_symlinks=False)
            found.append(path)
        except OSError:
            continue
    return found


def every(root):
    yield root
    for base, dirs, files in os.walk(os.fsencode(root)):
        for name in dirs + files:
            yield os.path.join(base, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest='verb', required=True)
    verb = verbs.add_parser('make')
    verb.add_argument('directory')
    verb.add_argument('--files', type=int, default=20000)
    verb.add_argument('--seed', type=int, default=1)
    verb.add_argument('--largest', type=int, default=64, metavar='MIB')
    verb = verbs.add_parser('compare')
    verb.add_argument('old')
    verb.add_argument('new')
    args = parser.parse_args()
    if args.verb == 'make':
        print('%d files, %d bytes' % make(args.directory, args.files, args.seed,
                                          args.largest * MIB))
        return 0
    c = compare(args.old, args.new)
    for line in c.differences:
        print(line)
    print(f'{c.objects} objects, {c.bytes} bytes compared, {len(c.differences)} differences')
    return 1 if c.differences else 0


if __name__ == '__main__':
    sys.exit(main())
