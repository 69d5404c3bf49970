#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What clients do to unfinished files, beside the same on a share without the module: the answers
are the same, and so is what is there afterwards, but for OFFLINE."""
import os
import stat
import struct
import sys

from data import bring, stub
from door import ROOT, SHARE, TEXT, World
import sandbox
import smb2
import smbd
import smbfiles
from harness import case, expect, main, same
from sandbox import wait_for
from smbfiles import Files, Refused

PLAIN = sandbox.BASE + '/plain'
H, S, A, R = smb2.A_HIDDEN, smb2.A_SYSTEM, smb2.A_ARCHIVE, smb2.A_READONLY
HERE = smb2.OFFLINE | smbfiles.RECALL
CREATED = 131111111000000000


def dosattrib(attributes):
    return struct.pack('<HHHxxIIQ', 0, 5, 5, 0x11, attributes, CREATED)


class Sides:
    """The same files on a volume and on a plain share.  names: {name: DOS attributes, None: none
    are stored}."""

    def __init__(self, args, names, settings=None, mode=0o666, stack=smbd.STACK, **kw):
        self.names = names
        sandbox.volume(PLAIN, '100M')
        os.chmod(PLAIN, 0o777)

        def fill(world):
            for name, attributes in names.items():
                world.file(name)
                with open(f'{PLAIN}/{name}', 'wb') as out:
                    out.write(TEXT)
                old = stub(world, name)
                os.utime(f'{PLAIN}/{name}', ns=(old.mtime, old.mtime))
                for root in (ROOT, PLAIN):
                    path = f'{root}/{name}'
                    if attributes is not None:
                        os.setxattr(path, 'user.DOSATTRIB', dosattrib(attributes))
                    os.chown(path, 1000, 1000)
                    os.chmod(path, mode)
        self.world = World(args, fill, start=False, settings=settings, stack=stack,
                           **kw)
        server = self.world.server
        plain = {'vfs objects': stack.replace('migrate ', ''), **(settings or {})}
        server.configure({**server.shares, 'plain': (PLAIN, plain)})
        server.start()

    def files(self, user='alice'):
        return [Files(self.world.server.session(user, share)) for share in (SHARE, 'plain')]

    def each(self, files, operation, what):
        """operation(files) on both sides; both say the same, which is returned."""
        said = [result(operation, side) for side in files]
        same(said[0], said[1], f'{what}: on the volume, not as on a plain share')
        return said[1]


def result(operation, *args):
    try:
        return operation(*args)
    except Refused as error:
        return error.name


def inode(root, name):
    st = os.stat(f'{root}/{name}')
    try:
        stored = os.getxattr(f'{root}/{name}', 'user.DOSATTRIB')
    except OSError:
        stored = b''
    return oct(stat.S_IMODE(st.st_mode)), st.st_uid, st.st_size, stored[12:16]


@case()
def overwriting_sets_the_same_mode(args):
    """What smbd compares with what is there is not told that it is offline."""
    shown = (None, 0, A, H, S, H | S | A)
    wanted = (0, A, H, S, H | S, H | S | smb2.OFFLINE, smb2.OFFLINE, R | H)
    dispositions = (smb2.OVERWRITE, smb2.OVERWRITE_IF, smb2.SUPERSEDE)
    names = {f'f{n}-{new}-{how}-{what}': old for n, old in enumerate(shown) for new in wanted
             for how in dispositions for what in ('file', 'stream')}
    # acl_xattr lets nobody change a mode
    sides = Sides(args, names, {'migrate:recall': 'yes'}, stack='migrate streams_xattr')
    files, changed = sides.files(), set()
    for name in names:
        _, new, how, what = name.split('-')

        def overwrite(side):
            with side.open(name + ':stream' * (what == 'stream' and int(how) != smb2.OVERWRITE), access=smb2.GENERIC_WRITE, disposition=int(how),
                           attributes=int(new)) as file:
                return file.action, file.said.attributes & ~HERE
        sides.each(files, overwrite, name)
        modes = [inode(root, name) for root in (ROOT, PLAIN)]
        same(modes[0], modes[1], f'{name}: mode, owner, size and attributes')
        changed.add(modes[1][0])
    expect(len(changed) > 1, f'no mode was changed: {changed}')


@case()
def attributes_that_a_file_shows_are_no_change(args):
    """Not even for a user who may not change any."""
    shown = {'none': None, 'nothing': 0, 'archive': A, 'hidden': H, '.dot': 0, 'system': H | S | A}
    sides = Sides(args, shown)
    others = sides.files('bob')
    opened = {name: [side.open(name, access=smb2.WRITE_ATTRIBUTES | smb2.READ_ATTRIBUTES)
                     for side in others] for name in shown}
    for name in shown:
        for root in (ROOT, PLAIN):
            os.chmod(f'{root}/{name}', 0o600)

    def set_basic(file, **values):
        file.set(smbfiles.BASIC, smbfiles.basic(**values))
        return 'SUCCESS'
    for name, stored in shown.items():
        shows = smbfiles.Times(opened[name][1].query(smbfiles.NETWORK_OPEN)).attributes
        same(shows, (stored or 0) | (H if name == '.dot' else 0) or smb2.A_NORMAL, f'{name} shows')
        before = inode(PLAIN, name)
        sides.world.fake.forget()
        same(sides.each(opened[name], lambda f: set_basic(f, attributes=shows), f'{name}: the same'),
             'SUCCESS', name)
        same(set_basic(opened[name][0], attributes=shows | smb2.OFFLINE), 'SUCCESS',
             f'{name}: what it shows, with OFFLINE')
        same([inode(root, name) for root in (ROOT, PLAIN)], [before] * 2, name)
        same(sides.world.fake.requests(), [], f'{name}: requests')
        for other in (smb2.A_NORMAL, A, H, A | H, R):
            if other != shows:
                same(sides.each(opened[name], lambda f: set_basic(f, attributes=other),
                                f'{name}: {other}'), 'ACCESS_DENIED', f'{name}: {other}')
        expect(smbfiles.Times(opened[name][0].query(smbfiles.NETWORK_OPEN)).offline,
               f'{name} is not offline')


@case()
def what_a_rename_keeps(args):
    """smbd sets ARCHIVE, and keeps for good what a file shows for its new name."""
    sides = Sides(args, {'none': None, 'archive': A, 'nothing': 0, 'both': A | H, 'system': S})
    files = sides.files()
    for name in sides.names:
        for to in ('.' + name, name):
            sides.each(files, lambda side: side.rename('.' * (to == name) + name, to), to)
            sides.each(files, lambda side: side.times(to).attributes & ~HERE, f'{to} shows')
            same(inode(ROOT, to), inode(PLAIN, to), to)


@case()
def a_creation_time_is_set_beside_attributes_that_are_shown(args):
    shown = {'none': None, 'archive': A, 'hidden': H}
    sides = Sides(args, shown)
    files = sides.files()
    for name, attributes in shown.items():
        for side, root in zip(files, (ROOT, PLAIN)):
            side.set_basic(name, created=CREATED + 10**7, attributes=attributes or smb2.A_NORMAL)
            same(os.getxattr(f'{root}/{name}', 'user.DOSATTRIB')[12:],
                 struct.pack('<IQ', attributes or 0, CREATED + 10**7), f'{name}: what is stored')
        same(inode(ROOT, name), inode(PLAIN, name), name)


@case()
def writes_of_nothing(args):
    """smbd answers them, and then marks the file as changed.  That fails while the retriever is
    away, of which clients are not told: no data can be lost."""
    states = {'stub': 0, 'partial': 4096, 'normal': len(TEXT)}
    sides = Sides(args, {f'{state}-{how}-{when}': H for state in states
                         for how in ('alone', 'compound', 'through') for when in ('up', 'down')},
                  hold=1)
    files, fake = sides.files(), sides.world.fake
    for name in sides.names:
        bring(sides.world, name, (0, states[name.split('-')[0]]))
    first = files[0].times(name).written

    def write(side, name):
        with side.open(name, access=smb2.GENERIC_WRITE) as file:
            requests = [smb2.write(file.fid, 100, b'', name.split('-')[1] == 'through')]
            if 'compound' in name:
                requests.append(smb2.query_info(file.fid, smb2.INFO_FILE, smbfiles.INTERNAL))
            return smb2.name_of(side.session.compound(*requests)[0].status)

    def changed(side, name, before):
        times = side.times(name)
        return bool(times.attributes & A), times.written != before
    away = [name for name in sides.names if name.endswith('down')]
    for name in [name for name in sides.names if name not in away] + away:
        if name == away[0]:
            fake.stop()
        before = files[1].times(name).written
        same(sides.each(files, lambda side: write(side, name), name), 'SUCCESS', name)
        wanted = changed(files[1], name, before)
        expect(any(wanted), f'{name}: a plain share marks nothing either')
        if name in away and not name.startswith('normal'):
            wanted = False, False
        same(changed(files[0], name, before), wanted, name)
    fake.start()
    wait_for('the door connects', lambda: (write(files[0], away[0]), fake.connected())[1])
    for name in sides.names:
        same(write(files[0], name), 'SUCCESS', f'{name}, again')
        same(changed(files[0], name, first), changed(files[1], name, first), f'{name}, again')
        same(files[0].read(name), TEXT, f'{name}: data')


def sizes_move(args, settings):
    """{(made what, by what): whether mtime moved} on both sides: of a stub, of what is there in part,
    and of what is whole.  smbd may set the mtime that it saw before."""
    states = {'stub': 0, 'partial': 4096, 'normal': len(TEXT)}
    new = {'shorter': 8192, 'longer': 131072}
    sides = Sides(args, {f'{state}-{to}-{level}': None for state in states for to in new
                         for level in (smbfiles.ALLOCATION, smbfiles.END)}, settings)
    files, moved = sides.files(), {}
    for name in sides.names:
        state, to, level = name.split('-')
        bring(sides.world, name, (0, states[state]))

        def move(side):
            before = side.times(name).written
            with side.open(name, access=smb2.GENERIC_WRITE) as file:
                file.set(int(level), struct.pack('<Q', new[to]))
            return side.times(name).written > before
        moved[to, int(level)] = sides.each(files, move, f'{name}: mtime moved')
        same(*(os.stat(f'{root}/{name}').st_size for root in (ROOT, PLAIN)), f'{name}: size')
    return moved


@case()
def sizes_that_move_mtime(args):
    expect(sizes_move(args, {})['shorter', smbfiles.END], 'mtime of what is shorter did not move')


@case()
def sizes_that_move_mtime_where_space_is_allocated(args):
    """What is made shorter by its allocation keeps its mtime from 4.23 on."""
    moved = sizes_move(args, {'strict allocate': 'yes'})
    expect(moved['shorter', smbfiles.END], 'mtime of what is shorter did not move')
    if sandbox.sh('smbd', '--version').split()[1] >= '4.23':
        expect(not moved['shorter', smbfiles.ALLOCATION], 'mtime of what is shorter moved')


if __name__ == '__main__':
    sys.exit(main())
