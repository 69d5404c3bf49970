# SPDX-License-Identifier: GPL-3.0-or-later
"""Operations on what files hold."""
import nfs4
from doors import V3
from servers import release
from operations import KIB, NOISE, OLD_TIME, operation


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
    if v.version != V3 or release() != 6:       # which ends at that, whatever the FSAL
        v.bytes(fh, 0, 0, state)
    for offset, count in ((0, 1), (199999, 1), (199999, 2), (200000, 1), (10**12, 5),
                          (2**63 - 1, 1), (2**64 - 10, 20), (65535, 2)):
        v.bytes(fh, offset, count, state)
    v.attr(fh)


def truncates(v, **sizes):
    for name, size in sizes.items():
        fh = v.at(name)
        v.attr(fh)
        v.do('setattr', fh, size=size)
        v.attr(fh)
        v.bytes(fh)


@operation()
def truncate_down(v):
    truncates(v, file=100001, small=1, suid=4096, one=0)


@operation()
def truncate_up(v):
    truncates(v, file=300000, small=4097, nothing=10)


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
    truncates(v, file=200000)


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
