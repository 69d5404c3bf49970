#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every operation on stubs gives what it gives on a plain copy.

One server has two exports: the migrating volume, and a copy of the old tree on plain FSAL VFS.  A
case is a function that does something in a directory of its own; it is called for both exports,
through every version of NFS and with its directory in every state, and what it sees must be the
same: results, errors, attributes, contents.  At the end, after the crawler, it must be so again.
"""
import errno
import hashlib
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import nfs4                                                             # noqa: E402
import tree                                                             # noqa: E402
from doors import MINORS, door, fs_facts                                # noqa: E402
from harness import Failure, case, expect, main, same, shorten          # noqa: E402
from sandbox import BASE, volume, wait_for                           # noqa: E402
from servers import NEW, stack                                          # noqa: E402

PLAIN = BASE + '/plain'
SECOND = '''
EXPORT {
	Export_Id = 78;
	Path = "%s";
	Pseudo = "/plain";
	FSAL {
		Name = VFS;
	}
}
''' % PLAIN
OLD_TIME = 10**18
KIB = 1 << 10
NOSPC, DQUOT = 28, 69
NOISE = random.Random(5).randbytes(200000)
EXCLUSIVE = b'verified'

ONCE = 'once'           # ctime moved, as it may when an object becomes whole

OPERATIONS = {}         # name: (function, versions)


def operation(*versions):
    """Marks a case.  versions: of NFS that have it; none: all."""
    def mark(function):
        OPERATIONS[function.__name__] = (function, versions or tuple(MINORS))
        return function
    return mark


# ---- the tree ----------------------------------------------------------------------------------

def put(path, data=b'', mode=0o644, uid=1000, gid=1000, age=0):
    with open(path, 'wb') as file:
        file.write(data)
    dress(path, mode, uid, gid, age)


def dress(path, mode, uid, gid, age=0):
    os.chown(path, uid, gid, follow_symlinks=False)
    if not os.path.islink(path):
        os.chmod(path, mode)
    os.utime(path, ns=(OLD_TIME + age, OLD_TIME + age + 7), follow_symlinks=False)


def sparse(path):
    with open(path, 'wb') as file:
        file.truncate(1 << 20)
        for offset, length in ((128 * KIB, 4 * KIB), (900000, 5)):
            file.seek(offset)
            file.write(NOISE[:length])
    dress(path, 0o644, 1000, 1000)


SAMPLE = ('file', 'small', 'suid', 'secret', 'group', 'nothing', 'holes', 'one', 'two', 'symlink',
          'fifo', 'full', 'empty', 'other')


def sample(root):
    """What a case finds in its directory."""
    os.mkdir(root)
    put(root + '/file', NOISE, age=1)
    put(root + '/small', NOISE[:100], age=2)
    put(root + '/suid', NOISE[:5000], 0o6755)
    put(root + '/secret', NOISE[:5000], 0o600, 1001, 1001)
    put(root + '/group', NOISE[:5000], 0o660, 1001, 2000)
    put(root + '/nothing', b'')
    sparse(root + '/holes')
    put(root + '/one', NOISE[:10000])
    os.link(root + '/one', root + '/two')
    os.symlink('file', root + '/symlink')
    os.mkfifo(root + '/fifo')
    for name in ('full', 'full/inner', 'empty', 'other'):
        os.mkdir(f'{root}/{name}')
    put(root + '/full/a', NOISE[:3000])
    put(root + '/full/inner/x', NOISE[:30])
    put(root + '/other/b', NOISE[:30000])
    for name in ('fifo', 'symlink'):
        dress(f'{root}/{name}', 0o640, 1000, 1000)
    for name in ('full/inner', 'full', 'empty', 'other', ''):
        dress(f'{root}/{name}', 0o755, 1000, 1000)


# ---- a case's view of one export ---------------------------------------------------------------

class View:
    """One export through one version of NFS, and what was seen there."""

    def __init__(self, version, path, pseudo, migrating):
        self.version, self.migrating = version, migrating
        self.door = door(version, path, pseudo, patience=5)
        self.user = door(version, path, pseudo, uid=1000, gid=1000)
        self.member = door(version, path, pseudo, uid=1002, gid=1002, gids=(7, 2000))
        self.path = path
        self.start = time.time_ns() - 10**9

    def close(self):
        for client in (self.door, self.user, self.member):
            client.close()

    def enter(self, name):
        self.name, self.log, self.seen, self.states, self.whole = name, [], {}, [], set()
        self.dir, _ = self.door.walk(name)

    def when(self, ns):
        return 'now' if ns > self.start else ns

    def note(self, what, value):
        self.log.append((what, value))
        return value

    def look(self, attr):
        """An Attr in words that are the same for both exports.  Of ctime and the change attribute:
        whether they moved since the object was seen last in this case."""
        if attr is None:
            return None
        clocks = attr.ctime, getattr(attr, 'change', None)
        before = self.seen.get(attr.fileid, clocks)
        self.seen[attr.fileid] = clocks
        moved = tuple((a > b) - (a < b) if a is not None else 0 for a, b in zip(clocks, before))
        if any(moved) and self.became_whole(attr.fileid):
            moved = ONCE
        kind, atime = attr.type, self.when(attr.atime)
        if kind == nfs3.DIR and atime in ('now', OLD_TIME):
            atime = 'any'       # a listing moves it, which the server's cache hides for a while
        return {'type': kind, 'mode': attr.mode & 0o7777, 'uid': attr.uid, 'gid': attr.gid,
                'nlink': attr.nlink, 'size': attr.size if kind == nfs3.REG else None,
                'rdev': attr.rdev if kind in (nfs3.BLK, nfs3.CHR) else None,
                'mtime': self.when(attr.mtime), 'atime': atime, 'moved': moved,
                'used': attr.used if kind != nfs3.DIR else None}

    def became_whole(self, fileid):
        """Whether it has no record any more; once for an object."""
        if not self.migrating or fileid in self.whole:
            return False
        for path in tree.every(f'{self.path}/{self.name}'):
            if os.lstat(path).st_ino == fileid and 'security.migrate' in os.listxattr(
                    path, follow_symlinks=False):
                return False
        self.whole.add(fileid)
        return True

    def at(self, name):
        return self.door.walk(name, self.dir)[0]

    def do(self, method, *args, by='door', **kw):
        """An operation's result, or None after an error; what came of it is noted."""
        what = method + str(tuple(a for a in args if not isinstance(a, bytes) or len(a) < 4))
        try:
            result = getattr(getattr(self, by), method)(*args, **kw)
        except nfs3.NfsError as error:
            self.note(what, f'status {error.status}')
            return None
        self.note(what, 'ok')
        return result

    def attr(self, fh, what='attributes'):
        try:
            return self.note(what, self.look(self.door.getattr(fh)))
        except nfs3.NfsError as error:
            return self.note(what, f'status {error.status}')

    def bytes(self, fh, offset=0, count=1 << 20, state=None, by='door'):
        try:
            data, eof = getattr(self, by).read(fh, offset, count, state)
            self.note(f'read {offset} {count}', (len(data), hashlib.md5(data).hexdigest(), eof))
            return data
        except nfs3.NfsError as error:
            return self.note(f'read {offset} {count}', f'status {error.status}')

    def open(self, name, access=3, directory=None):
        fh, state = self.door.open(directory or self.dir, name, access)
        self.states.append((fh, state))
        return fh, state

    def leave(self):
        for fh, state in self.states:
            try:
                self.door.release(fh, state)
            except nfs3.NfsError as error:
                self.note('close', f'status {error.status}')

    def snapshot(self):
        """{path: (attributes, content)} below the case's directory."""
        found = {}

        def walk(fh, path):
            for name, attr in sorted(self.door.names(fh).items()):
                here = f'{path}/{os.fsdecode(name)}'
                child, attr = self.door.lookup(fh, name)
                inside = None
                if attr.type == nfs3.REG:
                    try:
                        inside = hashlib.md5(content(self.door, child)).hexdigest()
                    except nfs3.NfsError as error:
                        inside = f'status {error.status}'
                elif attr.type == nfs3.LNK:
                    inside = self.door.readlink(child)
                look = self.look(attr)
                del look['moved'], look['atime'], look['used']
                found[here] = (look, inside)
                if attr.type == nfs3.DIR:
                    walk(child, here)
        walk(self.dir, '')
        return found


def content(client, fh, most=2 << 20):
    """What is at the beginning, for a file may be sparse and huge."""
    parts, offset = [], 0
    while offset < most:
        data, eof = client.read(fh, offset, 1 << 20)
        parts.append(data)
        offset += len(data)
        if eof:
            break
    return b''.join(parts)


# ---- states ------------------------------------------------------------------------------------

def untouched(view):
    """The directory is unfilled."""


def listed(view):
    """It is filled, and everything in it a stub."""
    for name, attr in view.door.names(view.dir).items():
        if attr.type == nfs3.DIR:
            view.door.names(view.door.walk(name, view.dir)[0])


def partial(view):
    """Some ranges are here; odd ones, so clients wrote them."""
    listed(view)
    for name in ('file', 'suid', 'one', 'other/b'):
        fh = view.at(name)
        for start, end in ((0, 1), (1000, 5000), (70000, 70001), (150000, 180003)):
            size = view.door.getattr(fh).size
            if end <= size:
                view.door.write(fh, start, NOISE[start:end])


def named(view):
    """One name was asked for, so that the others are here, but nothing is known of them."""
    view.door.walk('small', view.dir)
    if view.migrating:
        wait_for('all names', lambda: len(os.listdir(f'{NEW}/{view.name}')) == len(SAMPLE))


STATES = {f.__name__: f for f in (untouched, listed, partial, named)}
EAGER = ('untouched', 'listed', 'partial')


# ---- cases: data -------------------------------------------------------------------------------

def writes(v, pieces, stable=0):
    fh, state = v.open('file')
    v.attr(fh)
    for offset, length in pieces:
        v.do('write', fh, offset, NOISE[7:7 + length], state, stable)
        v.attr(fh)
        v.bytes(fh, max(0, offset - 10), length + 20, state)
    v.do('commit', fh)
    v.attr(fh)
    v.bytes(fh)


@operation()
def write_inside(v):
    writes(v, ((10, 1), (4096, 4096), (65530, 12), (131072, 65536)))


@operation()
def write_stable(v):
    writes(v, ((10, 1), (4096, 4096), (199999, 100)), 2)


@operation()
def write_across_the_end(v):
    writes(v, ((199990, 20), (200010, 5)))


@operation()
def write_beyond_the_end(v):
    writes(v, ((300000, 10), (250000, 10)))


@operation()
def write_all_of_it(v):
    writes(v, ((0, 200000),))


@operation()
def write_nothing(v):
    fh, state = v.open('file')
    v.attr(fh)
    v.do('write', fh, 5, b'', state)
    v.attr(fh)


@operation()
def read_at_the_edges(v):
    fh, state = v.open('file')
    for offset, count in ((0, 0), (0, 1), (199999, 1), (199999, 2), (200000, 1), (10**12, 5),
                          (2**63 - 1, 1), (2**64 - 10, 20), (65535, 2)):
        v.bytes(fh, offset, count, state)
    v.attr(fh)


@operation()
def truncate_down(v):
    for name, size in (('file', 100001), ('small', 1), ('suid', 4096), ('one', 0)):
        fh = v.at(name)
        v.attr(fh)
        v.do('setattr', fh, size=size)
        v.attr(fh)
        v.bytes(fh)


@operation()
def truncate_up(v):
    for name, size in (('file', 300000), ('small', 4097), ('nothing', 10)):
        fh = v.at(name)
        v.attr(fh)
        v.do('setattr', fh, size=size)
        v.attr(fh)
        v.bytes(fh)


@operation()
def truncate_down_and_up(v):
    fh, state = v.open('file')
    v.attr(fh)
    for size in (100001, 150000, 70000, 70001, 1 << 20, 5, 6):
        v.do('setattr', fh, state, size=size)
    v.attr(fh)
    v.bytes(fh)
    v.do('setattr', fh, size=100000)
    v.bytes(fh)


@operation()
def truncate_to_the_same(v):
    fh = v.at('file')
    v.attr(fh)
    v.do('setattr', fh, size=200000)
    v.attr(fh)
    v.bytes(fh)


@operation()
def truncate_with_others(v):
    fh = v.at('file')
    v.attr(fh)
    v.do('setattr', fh, size=100, mode=0o600, uid=5, gid=6, mtime=OLD_TIME + 99)
    v.attr(fh)
    v.bytes(fh)


@operation()
def truncate_too_far(v):
    fh = v.at('file')
    v.attr(fh)
    for size in (2**63, 2**63 - 1, 2**44 + 1):
        v.do('setattr', fh, size=size)
    v.attr(fh)
    v.bytes(fh, 0, 1000)


@operation()
def truncate_what_is_no_file(v):
    for name in ('full', 'empty', 'symlink', 'fifo'):
        v.do('setattr', v.at(name), size=5)
        v.attr(v.at(name))


@operation()
def truncate_by_creating(v):
    v.at('file')
    for name in ('file', 'small', 'suid'):
        v.do('create', v.dir, name, size=0, mode=0o600)
        v.attr(v.at(name))
        v.bytes(v.at(name))
    v.do('create', v.dir, 'one', size=5000, mode=0o600)
    v.attr(v.at('one'))
    v.bytes(v.at('one'))


@operation()
def append(v):
    fh, state = v.open('small')
    for n in range(5):
        size = v.door.getattr(fh).size
        v.do('write', fh, size, b'%d' % n * 30, state)
    v.bytes(fh)


@operation(42)
def allocate(v):
    fh, state = v.open('file')
    v.attr(fh)
    for offset, length in ((0, 10), (60000, 100000), (150000, 100000), (500000, 1000), (5, 0),
                           (2**63 - 5, 10), (2**63, 1), (0, 2**63), (2**64 - 1, 1)):
        v.do('allocate', fh, state, offset, length)
        v.attr(fh)
    v.bytes(fh)


@operation(42)
def deallocate(v):
    fh, state = v.open('file')
    v.attr(fh)
    for offset, length in ((10, 10), (4096, 4096), (60000, 20001), (190000, 50000), (300000, 10),
                           (7, 0), (2**63 - 5, 10), (100000, 2**63 - 1)):
        v.do('deallocate', fh, state, offset, length)
        v.attr(fh)
    v.bytes(fh)
    v.do('deallocate', fh, state, 0, 2**62)
    v.bytes(fh)
    v.attr(fh)


@operation(42)
def allocate_what_was_deallocated(v):
    fh, state = v.open('file')
    v.do('deallocate', fh, state, 5000, 100000)
    v.do('allocate', fh, state, 0, 70000)
    v.do('setattr', fh, state, size=100001)
    v.do('allocate', fh, state, 100000, 50000)
    v.bytes(fh)
    v.attr(fh)


@operation(42)
def allocate_read_only(v):
    fh, state = v.open('file', 1)
    v.do('allocate', fh, state, 0, 10)
    v.do('deallocate', fh, state, 0, 10)
    v.bytes(fh, 0, 100)


@operation(42)
def seek(v):
    for name in ('file', 'nothing', 'small'):
        fh, state = v.open(name)
        v.attr(fh)
        for what in (nfs4.DATA, nfs4.HOLE, 7):
            for offset in (0, 5000, 99, 100, 199999, 200000, 2**63):
                v.note('where', v.do('seek', fh, state, offset, what))
        v.attr(fh)


@operation(42)
def seek_in_what_was_punched(v):
    fh, state = v.open('file')
    v.do('deallocate', fh, state, 64 * KIB, 64 * KIB)
    for what in (nfs4.DATA, nfs4.HOLE):
        for offset in (0, 65535, 65536, 131071, 131072, 199999):
            v.note('where', v.do('seek', fh, state, offset, what))
    v.do('setattr', fh, state, size=1 << 20)
    for what in (nfs4.DATA, nfs4.HOLE):
        for offset in (0, 131072, 300000, 800000):
            v.note('where', v.do('seek', fh, state, offset, what))


@operation(42)
def others_of_version_2(v):
    """What the server has of them: IO_ADVISE makes release 4.3 crash, on FSAL VFS, too."""
    fh, state = v.open('file')
    to, to_state = v.open('small')
    v.do('copy', fh, state, to, to_state, 0, 0, 5000)
    v.do('clone', fh, state, to, to_state, 0, 0, 4096)
    v.note('plus', v.do('read_plus', fh, state, 0, 100))
    v.bytes(to)
    v.attr(to)


@operation(42)
def extended_attributes(v):
    fh = v.at('file')
    v.do('setxattr', fh, 'test', b'value')
    v.note('xattr', v.do('getxattr', fh, 'test'))
    v.note('names', v.do('listxattrs', fh))
    v.do('removexattr', fh, 'test')
    v.do('getxattr', fh, 'security.migrate')
    v.do('setxattr', fh, 'security.migrate', b'x')


@operation()
def read_what_was_unlinked(v):
    fh, state = v.open('file')
    v.bytes(fh, 0, 10, state)
    v.do('remove', v.dir, 'file')
    if state:               # else the handle is stale, unless a fill still holds the file
        v.attr(fh)
        v.bytes(fh, 0, 1 << 20, state)
        v.do('write', fh, 100000, b'written', state)
        v.do('setattr', fh, state, size=150000)
        v.bytes(fh, 0, 1 << 20, state)
        v.attr(fh)


@operation()
def read_what_was_replaced(v):
    fh, state = v.open('file')
    v.do('rename', v.dir, 'small', v.dir, 'file')
    if state:               # else the handle is stale, unless a fill still holds the file
        v.bytes(fh, 0, 1 << 20, state)
        v.attr(fh)
    v.bytes(v.at('file'))


# ---- cases: attributes -------------------------------------------------------------------------

@operation()
def change_mode(v):
    for name in ('file', 'full', 'empty', 'fifo', 'one', ''):
        fh = v.at(name)
        v.attr(fh)
        v.do('setattr', fh, mode=0o7751)
        v.attr(fh)
    v.attr(v.at('two'))


@operation()
def change_owner(v):
    for name in ('file', 'suid', 'full', 'empty', 'symlink', 'fifo', 'one'):
        fh = v.at(name)
        v.attr(fh)
        v.do('setattr', fh, uid=77)
        v.do('setattr', fh, gid=78)
        v.attr(fh)


@operation()
def change_times(v):
    for name in ('file', 'full', 'empty', 'symlink', 'fifo', 'one'):
        fh = v.at(name)
        v.attr(fh)
        v.do('setattr', fh, atime=5 * 10**9 + 1, mtime=6 * 10**9 + 2)
        v.attr(fh)
        v.do('setattr', fh, mtime=7 * 10**9)
        v.attr(fh)
        v.do('setattr', fh, mtime=OLD_TIME + 7)
        v.attr(fh)


@operation()
def change_as_others(v):
    for name in ('file', 'secret', 'group', 'full'):
        fh = v.at(name)
        for by in ('user', 'member'):
            v.do('setattr', fh, mode=0o640, by=by)
            v.do('setattr', fh, gid=2000, by=by)
            v.do('setattr', fh, uid=1002, by=by)
            v.do('setattr', fh, mtime=OLD_TIME, by=by)
            v.do('setattr', fh, size=10, by=by)
            v.attr(fh)
        v.do('access', fh, 63)


@operation()
def set_id_bits(v):
    fh = v.at('suid')
    v.attr(fh)
    v.do('write', fh, 0, b'root')
    v.attr(fh)
    v.do('write', fh, 10, b'user', by='user')
    v.attr(fh)
    v.do('setattr', fh, mode=0o6777, by='user')
    v.attr(fh)
    v.do('setattr', fh, size=3000, by='user')
    v.attr(fh)
    v.do('setattr', fh, mode=0o6777)
    v.do('setattr', fh, uid=1000)
    v.attr(fh)
    v.do('setattr', fh, mode=0o6777)
    v.bytes(fh, by='user')
    v.attr(fh)


@operation(42)
def set_id_bits_and_holes(v):
    for fh, state in (v.user.open(v.dir, 'suid'),):
        v.states.append((fh, None))
        v.attr(fh)
        v.do('deallocate', fh, state, 100, 1000, by='user')
        v.attr(fh)
        v.do('setattr', fh, mode=0o6755)
        v.do('allocate', fh, state, 4000, 3000, by='user')
        v.attr(fh)
        v.user.release(fh, state)
    v.states.clear()


@operation()
def access(v):
    for name in ('file', 'secret', 'group', 'suid', 'full', 'symlink', ''):
        fh = v.at(name)
        for by in ('door', 'user', 'member'):
            v.note('access', (name, by, v.do('access', fh, 63, by=by)))
    for name in ('secret', 'group'):
        for by in ('user', 'member'):
            v.bytes(v.at(name), 0, 100, by=by)
            v.do('write', v.at(name), 50, b'as ' + by.encode(), by=by)
        v.bytes(v.at(name))


@operation()
def looking_changes_nothing(v):
    for name in ('file', 'full', 'one', 'holes', 'symlink', ''):
        fh = v.at(name)
        v.attr(fh)
        if name in ('file', 'holes', 'one'):
            v.bytes(fh)
        elif name in ('full', ''):
            v.note('names', sorted(v.door.names(fh)))
        attr = v.door.getattr(fh)
        v.note('clocks', (v.look(attr)['moved'], v.when(attr.mtime)))


@operation()
def times_beside_fills(v):
    """Whoever asks again, and however, sees the times that clients made."""
    for name in ('file', 'one'):
        fh = v.at(name)
        v.do('write', fh, 6, b'y')              # the server's cache asks at the next look
        v.note('attributes', v.look(v.door.lookup(v.dir, name)[1]))
        v.door.write(fh, 5, b'x', stable=2)
        wrote = v.door.getattr(fh).mtime
        for offset in (9000, 1000):
            v.bytes(fh, offset, 100)
            v.do('setattr', fh, mode=0o600)
            changed = v.do('lookup', v.dir, name)[1]
            v.note('mtime', changed.mtime == wrote)
            v.note('again', v.door.getattr(fh)[-2:] == changed[-2:])
            v.attr(fh)


# ---- cases: names ------------------------------------------------------------------------------

@operation()
def create(v):
    v.attr(v.dir)
    for how in ('unchecked', 'guarded'):
        # FSAL VFS follows a symbolic link that it has not seen yet, unless it creates
        for name in (f'new-{how}', 'file', 'full', 'fifo') + ('symlink',) * (how == 'guarded'):
            fh = v.do('create', v.dir, name, how, mode=0o624, by='user')
            if fh:
                v.attr(fh)
            v.attr(v.dir)


@operation()
def create_with_attributes(v):
    fh = v.do('create', v.dir, 'new', mode=0o6755, size=1000, mtime=10**9, uid=5, gid=6)
    v.attr(fh)
    fh = v.do('create', v.dir, 'file', mode=0o6755, mtime=10**9, uid=5, gid=6)
    v.attr(v.at('file'))
    v.bytes(v.at('file'))


@operation()
def create_empty_with_times(v):
    """The size is set to 0, and then the times."""
    for name in ('new', 'file', 'nothing'):
        v.do('create', v.dir, name, size=0, mode=0o640, mtime=10**18 + 5, atime=10**18)
        v.attr(v.at(name))
        v.bytes(v.at(name))


@operation(41, 42)
def create_exclusively_empty(v):
    """Of a file that is there already FSAL VFS takes the bytes, and then refuses."""
    for name in ('new', 'new'):
        v.do('create', v.dir, name, 'exclusive4_1', EXCLUSIVE, size=0, mode=0o640)
        v.attr(v.at('new'))
    if v.migrating:
        before = v.door.read(v.at('file'), 0, 1 << 20)[0]
        try:
            v.door.create(v.dir, 'file', 'exclusive4_1', EXCLUSIVE, size=0, mode=0o640)
            raise Failure('an exclusive open took what was there')
        except nfs3.NfsError as error:
            same(error.status, nfs3.EXIST, 'status of an exclusive open')
        same(v.door.read(v.at('file'), 0, 1 << 20)[0], before, 'content after a refused open')


@operation()
def create_exclusively(v):
    for verifier in (EXCLUSIVE, EXCLUSIVE, b'anotherv'):
        for name in ('new', 'file'):
            v.do('create', v.dir, name, 'exclusive', verifier)
    fh = v.at('new')
    v.do('write', fh, 0, b'first')
    v.do('create', v.dir, 'new', 'exclusive', EXCLUSIVE)
    v.bytes(fh)
    if v.version > 40:
        for verifier in (EXCLUSIVE, EXCLUSIVE, b'anotherv'):
            for name in ('new41', 'small'):
                v.do('create', v.dir, name, 'exclusive4_1', verifier, mode=0o611, mtime=None)
        v.attr(v.at('new41') if v.log[-6][1] == 'ok' else v.dir)


@operation()
def create_again(v):
    """A name deleted never comes back, a name made is never replaced."""
    for name in ('file', 'small', 'one', 'symlink', 'fifo'):
        v.do('remove', v.dir, name)
        v.do('lookup', v.dir, name)
    v.do('create', v.dir, 'file', 'guarded', mode=0o600)
    v.do('mkdir', v.dir, 'small', mode=0o700)
    v.do('symlink', v.dir, 'one', 'new')
    v.do('mknod', v.dir, 'symlink', 'fifo', mode=0o600)
    v.do('write', v.at('file'), 0, b'mine')
    v.bytes(v.at('file'))
    v.bytes(v.at('two'))
    v.note('names', sorted(v.door.names(v.dir)))


@operation()
def make_nodes(v):
    v.attr(v.dir)
    for directory in ('', 'full', 'empty'):
        fh = v.at(directory)
        v.do('mkdir', fh, 'newdir', mode=0o2711)
        v.do('symlink', fh, 'newlink', '../nowhere')
        for kind, device in (('fifo', (0, 0)), ('socket', (0, 0)), ('char', (1, 3)),
                             ('block', (300, 70000))):
            made = v.do('mknod', fh, 'new' + kind, kind, device, mode=0o621)
            if made:
                v.attr(made)
        for name in ('newdir', 'file', 'a'):
            v.do('mkdir', fh, name, mode=0o700)
            v.do('symlink', fh, name, 'x')
            v.do('mknod', fh, name, 'fifo')
        v.attr(fh)


@operation()
def names_that_are_wrong(v):
    for name in (b'', b'.', b'..', b'a/b', b'x' * 256):
        v.do('lookup', v.dir, name)
        v.do('mkdir', v.dir, name, mode=0o700)
        v.do('remove', v.dir, name)
        v.do('rename', v.dir, 'file', v.dir, name)
        v.do('link', v.at('file'), v.dir, name)
    v.do('lookup', v.at('file'), 'x')
    v.do('mkdir', v.at('file'), 'x', mode=0o700)
    v.do('remove', v.at('symlink'), 'x')


@operation()
def remove(v):
    for name in ('file', 'one', 'symlink', 'fifo', 'full', 'empty', 'nowhere'):
        v.do('remove', v.dir, name)
    v.attr(v.dir)
    v.attr(v.at('two'))
    v.bytes(v.at('two'))
    v.do('remove', v.dir, 'two')
    v.note('names', sorted(v.door.names(v.dir)))


@operation()
def remove_directories(v):
    for name in ('full', 'empty', 'other', 'file', 'symlink', 'nowhere', 'full/inner'):
        directory, _, last = name.rpartition('/')
        v.do('rmdir', v.at(directory), last)
    v.do('remove', v.at('full/inner'), 'x')
    v.do('rmdir', v.at('full'), 'inner')
    v.do('remove', v.at('full'), 'a')
    v.do('rmdir', v.dir, 'full')
    v.attr(v.dir)


@operation()
def rename_files(v):
    for name in ('file', 'one', 'small'):
        v.attr(v.at(name))
    v.do('rename', v.dir, 'file', v.dir, 'renamed')
    v.do('rename', v.dir, 'small', v.at('empty'), 'moved')
    v.do('rename', v.dir, 'one', v.at('full'), 'a')
    v.do('rename', v.at('other'), 'b', v.dir, 'b')
    for name in ('renamed', 'empty/moved', 'full/a', 'b', 'two'):
        fh = v.at(name)
        v.attr(fh)
        v.bytes(fh)
    for name in ('file', 'small', 'one'):
        v.do('lookup', v.dir, name)
    for name in ('', 'empty', 'full', 'other'):
        v.note('names', sorted(v.door.names(v.at(name))))


@operation()
def rename_over(v):
    for name, to in (('small', 'file'), ('one', 'two'), ('one', 'suid'), ('full', 'nothing'),
                     ('nothing', 'full'), ('nothing', 'empty'), ('full', 'empty'),
                     ('other', 'empty'), ('empty', 'other'), ('symlink', 'secret'),
                     ('nowhere', 'group'), ('group', 'group'), ('full', 'full')):
        v.do('rename', v.dir, name, v.dir, to)
    v.note('names', sorted(v.door.names(v.dir)))
    v.attr(v.at('two'))


@operation()
def rename_over_a_linked_one(v):
    v.attr(v.at('two'))
    v.do('rename', v.dir, 'small', v.dir, 'one')
    v.attr(v.at('two'))
    v.bytes(v.at('two'))


@operation()
def rename_directory_over_file(v):
    v.do('rename', v.dir, 'full', v.dir, 'file')
    v.do('rename', v.dir, 'file', v.dir, 'other')
    v.do('rename', v.dir, 'full', v.dir, 'other')
    v.do('rename', v.dir, 'other', v.dir, 'empty')
    v.note('names', sorted(v.door.names(v.at('empty'))))


@operation()
def rename_directories(v):
    new = v.door.mkdir(v.dir, 'new', mode=0o755)
    inner = v.at('full/inner')
    v.attr(v.at('full'))
    v.do('rename', v.dir, 'full', new, 'moved')
    v.attr(v.at('new/moved'))
    v.bytes(v.at('new/moved/a'))
    v.do('rename', new, 'moved', inner, 'cycle')
    v.do('rename', new, 'moved', v.at('new/moved'), 'itself')
    v.do('rename', v.at('new/moved'), 'inner', v.at('other'), 'cousin')
    v.bytes(v.at('other/cousin/x'))
    v.attr(inner)
    if v.version > 3:
        v.note('parent', v.do('lookupp', inner) == v.at('other'))
    v.do('rename', v.at('other'), 'cousin', v.at('empty'), 'inner')
    v.do('rename', v.at('empty'), 'inner', new, 'moved')
    for name in ('new', 'new/moved', 'other', 'empty', ''):
        v.attr(v.at(name))
        v.note('names', sorted(v.door.names(v.at(name))))


@operation()
def link(v):
    fh = v.at('file')
    v.attr(fh)
    v.do('link', fh, v.dir, 'linked')
    v.attr(fh)
    v.do('link', fh, v.at('empty'), 'linked')
    v.do('link', fh, v.at('full'), 'a')
    v.do('link', fh, v.dir, 'file')
    v.do('link', v.at('full'), v.dir, 'directory')
    v.do('link', v.at('symlink'), v.dir, 'symlink2')
    v.do('link', v.at('fifo'), v.dir, 'fifo2')
    v.do('write', v.at('linked'), 10, b'through another name')
    v.attr(fh)
    v.bytes(fh)
    v.do('remove', v.dir, 'file')
    v.attr(v.at('linked'))
    new = v.door.mkdir(v.dir, 'new', mode=0o755)
    v.do('link', v.at('linked'), new, 'x')
    v.do('remove', v.dir, 'linked')
    v.bytes(v.at('new/x'))
    v.attr(v.at('new/x'))


@operation()
def names_as_others(v):
    """A directory of another user's."""
    v.do('setattr', v.dir, mode=0o1777)
    v.do('setattr', v.at('full'), mode=0o755, uid=0)
    for by in ('user', 'member'):
        v.do('remove', v.dir, 'secret', by=by)
        v.do('rename', v.dir, 'secret', v.dir, 'x', by=by)
        v.do('create', v.at('full'), 'y', mode=0o644, by=by)
        v.do('mkdir', v.at('full'), 'z', mode=0o755, by=by)
        v.do('link', v.at('file'), v.at('full'), 'w', by=by)
        v.do('create', v.dir, by, mode=0o644, by=by)
        v.do('rename', v.dir, 'small', v.at('empty'), 'small', by=by)
    v.do('setattr', v.at('full'), mode=0)
    v.do('lookup', v.at('full'), 'a', by='user')


@operation()
def setgid_directory(v):
    v.do('setattr', v.at('full'), mode=0o2775, gid=2000)
    for by in ('door', 'member'):
        v.do('create', v.at('full'), 'f' + by, mode=0o644, by=by)
        v.do('mkdir', v.at('full'), 'd' + by, mode=0o755, by=by)
        for kind in 'fd':
            try:
                v.attr(v.at(f'full/{kind}{by}'))
            except nfs3.NfsError:
                pass


@operation()
def change_of_directories(v):
    """Clients trust a listing as long as the directory does not seem to change."""
    for name in ('full', 'empty', ''):
        fh = v.at(name)
        v.door.names(fh)
        v.attr(fh)
        v.do('create', fh, 'new', mode=0o600)
        v.attr(fh)
        v.do('setattr', fh, mtime=OLD_TIME + 7, atime=OLD_TIME)
        v.attr(fh)
        v.do('remove', fh, 'new')
        v.attr(fh)


# ---- comparing ---------------------------------------------------------------------------------

class World:
    def __init__(self, args, names, **settings):
        self.args, self.differences = args, []
        volume(PLAIN)

        def fill(root):
            for name in names:
                sample(f'{root}/{name}')
        fill(PLAIN)

        _, self.migration = stack(args.build, fill, **settings)
        self.migration.attach()
        self.server = self.migration.start_server(blocks=SECOND)

    def views(self, version):
        return [View(version, NEW, '/export', True), View(version, PLAIN, '/plain', False)]

    def differ(self, name, what, new, plain):
        self.differences.append(f'{name}: {what}: {shorten(new)}, not {shorten(plain)}')

    def run(self, views, name, function, state):
        for view in views:
            view.enter(name)
            STATES[state](view)
            try:
                function(view)
            except nfs3.NfsError as error:
                view.note('error', str(error))
            view.leave()
        new, plain = (view.log for view in views)
        for step, (a, b) in enumerate(zip(new, plain)):
            if not alike(a[1], b[1]):
                self.differ(name, f'step {step} {b[0]}', *telling(a[1], b[1]))
        if len(new) != len(plain):
            self.differ(name, 'steps', len(new), len(plain))

    def settled(self, views, name):
        """What is there at the end of a case, or of everything."""
        for view in views:
            view.enter(name)
        new, plain = (view.snapshot() for view in views)
        for path in sorted(new.keys() | plain.keys()):
            if new.get(path) != plain.get(path):
                self.differ(name, path, *telling(new.get(path), plain.get(path)))

    def compare_holes(self):
        """Where a client can see holes, they are those of the plain copy; the retriever leaves
        more of them, for zeros."""
        for base, _, files in os.walk(PLAIN):
            for name in files:
                path = os.path.join(base, name)
                other = NEW + path[len(PLAIN):]
                if os.path.islink(path) or not os.path.isfile(path) or not os.path.isfile(other):
                    continue
                extra = data_of(other) - data_of(path)
                if extra:
                    self.differ(path[len(PLAIN):], 'data in blocks', sorted(extra)[:5], 'holes')

    def check(self):
        if self.differences:
            raise Failure(f'{len(self.differences)} differences:\n  ' +
                          '\n  '.join(self.differences[:400]))


def alike(new, plain):
    """But for what is documented: ctime moves when an object becomes whole; of the space that a
    stub will take, holes are not known, and its record may need a block."""
    if isinstance(new, dict) and isinstance(plain, dict):
        new = dict(new)
        if new['moved'] == ONCE:
            new['moved'] = plain['moved']
        if plain['used'] is not None and plain['used'] <= new['used'] <= most_space(plain):
            new['used'] = plain['used']
    return new == plain


def most_space(plain):
    return max(plain['used'], plain['size'] or 0) + 12 * KIB


def data_of(path, block=4 * KIB):
    """The numbers of the first blocks that hold data."""
    found = set()
    with open(path, 'rb') as file:
        end, at = min(os.fstat(file.fileno()).st_size, 2 << 20), 0
        while at < end:
            try:
                start = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                break
            at = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            found.update(range(start // block, -(-min(at, end) // block)))
    return found


def telling(a, b):
    """Of two dictionaries what differs."""
    if isinstance(a, tuple) and isinstance(b, tuple) and a and isinstance(a[0], dict):
        return (telling(a[0], b[0])[0], a[1]), (telling(a[0], b[0])[1], b[1])
    if not isinstance(a, dict) or not isinstance(b, dict):
        return a, b
    keys = [k for k in b if a.get(k) != b[k]]
    return {k: a.get(k) for k in keys}, {k: b[k] for k in keys}


def table(states, versions):
    for version in versions:
        for state in states:
            for name, (function, has) in OPERATIONS.items():
                if version in has:
                    yield version, state, name, function


def run_table(args, states, versions, every=1, **settings):
    """every: one row of so many, unless it may take long; another one for another seed."""
    rows = list(table(states, versions))
    if not args.long and not args.only:
        rows = rows[args.seed % every::every]
    if args.only:
        rows = [r for r in rows if args.only in f'{r[0]}-{r[1]}-{r[2]}']
    names = {(v, s, n): f'{v}-{s}-{n}' for v, s, n, _ in rows}
    world = World(args, names.values(), **settings)
    views = {version: world.views(version) for version in versions}
    for version, state, name, function in rows:
        world.run(views[version], names[version, state, name], function, state)
        world.settled(views[version], names[version, state, name])
    world.migration.crawl()
    for version, state, name, _ in rows:
        world.settled(views[version], names[version, state, name])
    same(tree.records(NEW), [], 'objects with a record')
    world.compare_holes()
    world.check()


@case()
def operations(args):
    run_table(args, EAGER, (3, 42))


@case()
def operations_of_other_versions(args):
    run_table(args, EAGER, (40, 41), 6)


@case()
def operations_on_dummies(args):
    """Names come first, and attributes when they are asked for."""
    run_table(args, ('untouched', 'named'), (3, 42), 3, stub_attributes='lazy')


@case()
def no_space(args):
    """What does not fit is refused, and listed, and comes when there is room; nothing is zeros."""
    large = args.random.randbytes(24 << 20)

    def fill(root):
        put(root + '/large', large)
        put(root + '/other', NOISE)

    _, migration = stack(args.build, fill, size='96M')
    migration.attach()
    migration.start_server()
    doors = [door(version, NEW, '/export') for version in (3, 42)]
    ballast = doors[0].create(doors[0].root, 'ballast', mode=0o600)
    for piece in (1 << 20, 4096):
        same(status_of(fill_up, doors[0], ballast, piece), NOSPC, 'status of a write')
    for client in doors:
        fh, attr = client.walk('large')
        for offset in (0, 12345678, (24 << 20) - 10):
            same(status_of(client.read, fh, offset, 10), NOSPC, 'status of a read')
        same(status_of(client.write, fh, 5 << 20, NOISE), NOSPC, 'status of a write to a stub')
        same(client.getattr(fh)[-2:], attr[-2:], 'times')
    listed_errors = migration.ctl('errors')
    expect('large' in listed_errors and 'space' in listed_errors, f'errors: {listed_errors}')
    doors[0].remove(doors[0].root, 'ballast')
    same(content(doors[0], doors[0].walk('large')[0], 24 << 20), large,
         'content when there is room')
    migration.crawl()
    same(content(doors[1], fh, 24 << 20), large, 'content at the end')
    same(migration.ctl('errors').strip(), '', 'errors at the end')
    same(tree.records(NEW), [], 'objects with a record')


@case()
def access_times(args):
    """Neither filling nor finishing moves them."""
    world = World(args, ['one', 'two'])
    view = world.views(3)[0]
    view.enter('one')
    view.door.create(view.dir, 'new', mode=0o600)       # fills it
    same(os.stat(NEW + '/one').st_atime_ns, OLD_TIME, 'atime of a directory that was filled')
    world.migration.crawl()
    for path in map(os.fsdecode, tree.every(NEW + '/two')):
        wanted = os.lstat(PLAIN + path[len(NEW):]).st_atime_ns
        if not os.path.islink(path):
            same(os.lstat(path).st_atime_ns, wanted, f'atime of {path}')


def fill_up(client, fh, piece):
    """Until it fails."""
    offset = client.getattr(fh).size
    while True:
        client.write(fh, offset, bytes([1]) * piece, stable=2)
        offset += piece


def status_of(call, *args, **kw):
    try:
        call(*args, **kw)
    except nfs3.NfsError as error:
        return error.status
    return 0


@case()
def facts_of_the_file_system(args):
    world = World(args, ['case'])
    new, plain = (fs_facts(view.door) for view in world.views(3))
    for what in ('fsinfo', 'pathconf'):
        same(new[what], plain[what], what)
    for name, a, b in zip(('bytes', 'free', 'available', 'files', 'free files', 'available files'),
                          new['fsstat'], plain['fsstat']):
        expect(abs(a - b) <= max(b // 1000, 1000), f'{name}: {a}, not {b}')


if __name__ == '__main__':
    sys.exit(main(lambda parser: parser.add_argument('--only', help='part of a row\'s name')))
