# SPDX-License-Identifier: GPL-3.0-or-later
"""Operations on names and directories."""
import nfs3
from harness import Failure, same
from operations import NOISE, OLD_TIME, operation

EXCLUSIVE = b'verified'


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
        try:
            v.door.create(v.dir, 'file', 'exclusive4_1', EXCLUSIVE, size=0, mode=0o640)
            raise Failure('an exclusive open took what was there')
        except nfs3.NfsError as error:
            same(error.status, nfs3.EXIST, 'status of an exclusive open')
        same(v.door.read(v.at('file'), 0, 1 << 20)[0], NOISE, 'content after a refused open')


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
