# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of test_operations.py: what is done, on a migrating volume and on a plain copy, in a
directory that holds sample() of test_operations.py.  v: a View of one of them."""
import random

import nfs3
import nfs4
from doors import MINORS
from harness import Failure, same

OLD_TIME = 10**18
KIB = 1 << 10
NOISE = random.Random(5).randbytes(200000)
EXCLUSIVE = b'verified'

OPERATIONS = {}         # name: (function, versions)


def operation(*versions):
    """Marks a case.  versions: of NFS that have it; none: all."""
    def mark(function):
        OPERATIONS[function.__name__] = (function, versions or tuple(MINORS))
        return function
    return mark


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
