# SPDX-License-Identifier: GPL-3.0-or-later
"""Operations on attributes, and by whom."""
from operations import OLD_TIME, operation


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
